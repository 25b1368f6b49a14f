"""Separated classes, small losses and rows of little weight."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_breast_cancer
from tests.oracles import logistic as oracle

from credo.classifiers.logistic import LogisticClassifier
from credo.classifiers.logistic_solver import link
from credo.exceptions import InputError, NumericalError, SeparationWarning

RNG = np.random.default_rng(11)
X = RNG.normal(size=(120, 4))
NAMES = ["age", "dose", "sex", "site"]


def separated(X, y, **options):
    with pytest.warns(SeparationWarning) as caught:
        model = LogisticClassifier(**options).fit(X, y)
    return model, str(caught[0].message)


def proves(separation, X, codes):
    """The least margin of any row under the direction that was named."""
    scores = X @ separation.coef.T + separation.intercept
    if scores.shape[1] == 1:
        scores = np.column_stack([0 * scores, scores])
    own = scores[np.arange(len(X)), codes]
    scores[np.arange(len(X)), codes] = -np.inf
    return (own - scores.max(axis=1)).min()


class TestCompleteSeparation:
    def test_is_told_with_classes_and_the_feature(self):
        y = np.where(X[:, 1] > 0.2, "ill", "well")
        gap = X[:, 1] + np.where(X[:, 1] > 0.2, 1.0, -1.0)
        rows = pd.DataFrame(np.column_stack([X[:, 0], gap, X[:, 2:]]), columns=NAMES)
        model, text = separated(rows, y)
        found = model.separation_
        assert found.kind == "complete"
        assert found.features[0] == "dose"
        assert found.classes == ("ill", "well")
        assert "complete separation: 'ill' from 'well' by 'dose'" in text
        assert "penalty='l2'" in text
        assert proves(found, rows.to_numpy(), (y == "well").astype(int)) > 1e-3

    def test_keeps_coefficients_that_predict_but_no_table(self):
        y = (X[:, 1] > 0.2).astype(int)
        model, _ = separated(X, y)
        assert np.isfinite(model.coef_).all()
        assert model.score(X, y) == 1.0
        assert not model.converged_
        with pytest.raises(NumericalError, match="The fit met complete separation"):
            model.coefficient_table()
        assert repr(model.separation_).startswith("Separation(complete, 0 from 1 by 1 (")
        with pytest.raises(ValueError, match="read-only"):
            model.separation_.shares[0] = 0.0

    def test_of_three_classes_is_told(self):
        y = np.digitize(X[:, 2], [-0.5, 0.5])
        rows = X + np.outer(y - 1.0, [0, 0, 0.5, 0])
        model, _ = separated(rows, y)
        assert model.separation_.kind == "complete"
        assert model.separation_.features[0] == 2
        assert len(model.separation_.pairs) == 3
        assert proves(model.separation_, rows, y) > 1e-6

    def test_of_sparse_rows_in_many_dimensions_is_told(self):
        wide = sp.random_array((200, 3000), density=0.02, rng=RNG, format="csr")
        y = RNG.integers(0, 2, 200)
        model, _ = separated(wide, y)
        assert model.separation_.kind == "complete"
        assert proves(model.separation_, wide.toarray(), y) > 0

    def test_can_be_refused_and_leaves_the_model_as_it_was(self):
        y = (X[:, 1] > 0.2).astype(int)
        model = LogisticClassifier(separation="error")
        with pytest.raises(InputError, match="complete separation: 0 from 1 by 1.*the feature[.]$"):
            model.fit(X, y)
        assert not hasattr(model, "coef_")

    def test_is_no_matter_with_a_penalty(self):
        y = (X[:, 1] > 0.2).astype(int)
        for penalty in ("l2", "l1"):
            model = LogisticClassifier(penalty).fit(X, y)
            assert model.converged_
            assert model.separation_ is None


class TestQuasiCompleteSeparation:
    def test_by_an_indicator_is_told(self):
        y = (X[:, 0] + RNG.normal(size=120) > 0).astype(int)
        flag = np.zeros(120)
        flag[np.flatnonzero(y == 1)[:9]] = 1.0  # all rows that have it are of one class
        rows = np.column_stack([X, flag])
        assert oracle.separation(rows, y) == "quasi-complete"
        model, text = separated(rows, y)
        assert model.separation_.kind == "quasi-complete"
        assert model.separation_.features == (4,)
        np.testing.assert_allclose(model.separation_.shares, [1.0])
        assert "quasi-complete separation: 0 from 1 by 4 (100%)" in text
        assert abs(proves(model.separation_, rows, y)) < 1e-9
        assert separated(sp.csr_array(rows), y)[0].separation_.features == (4,)
        batches = [(rows[i : i + 7], y[i : i + 7]) for i in range(0, 120, 7)]
        with pytest.warns(SeparationWarning, match="quasi-complete separation: 0 from 1 by 4"):
            LogisticClassifier().fit_batches(batches)

    def test_of_one_class_from_two_that_overlap_is_told(self):
        y = (X[:, 0] + RNG.normal(size=120) > 0).astype(int)
        y[X[:, 2] > 1.0] = 2
        assert oracle.separation(X, y) == "quasi-complete"
        model, text = separated(X, y)
        assert model.separation_.pairs == ((0, 2), (1, 2))
        assert "2 from 0, 1 by 2" in text
        assert proves(model.separation_, X, y) > -1e-9

    def test_of_many_rows_is_told(self):
        many = RNG.normal(size=(40_000, 3))
        y = (many[:, 0] + RNG.normal(size=40_000) > 0).astype(int)
        flag = np.zeros(40_000)
        flag[np.flatnonzero(y == 1)[:50]] = 1.0
        model, _ = separated(np.column_stack([many, flag]), y)
        assert model.separation_.features == (3,)


def test_the_ridge_instead_comes_within_a_thousandth_of_the_highest_likelihood():
    rng = np.random.default_rng(3)
    groups = rng.integers(0, 5, size=(900, 2))  # the third class never has one of the categories
    rows = np.column_stack([np.eye(5)[groups[:, j]][:, 1:] for j in range(2)])
    scores = rows @ rng.normal(0, 2, size=(8, 3)) + rng.gumbel(size=(900, 3))
    scores[groups[:, 0] == 2, 2] = -np.inf
    y = scores.argmax(axis=1)
    assert oracle.separation(rows, y) == "quasi-complete"
    model, text = separated(rows, y)
    best = oracle.highest_likelihood(rows, y)
    assert best - 1e-3 < model.log_likelihood_ / len(y) <= best + 1e-9
    assert "those of a ridge of 0.01 on columns at one scale" in text
    assert text.index("penalty='l2'") < text.index("ridge")
    scale = rows.std(axis=0)
    told = LogisticClassifier("l2", strength=0.01).fit(rows / scale, y)
    np.testing.assert_allclose(model.coef_ * scale, told.coef_, atol=1e-5)
    assert model.n_iter_ > told.n_iter_
    assert not model.converged_
    with pytest.warns(SeparationWarning):
        other = LogisticClassifier().fit_batches([(rows[:500], y[:500]), (rows[500:], y[500:])])
    np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-6)


class TestNoSeparation:
    @pytest.mark.parametrize("overlap", [1e-3, 1e-5])
    def test_is_claimed_of_a_single_row_that_just_overlaps(self, overlap):
        line = np.linspace(-1, 1, 41)[:, None]
        y = (line[:, 0] > 0).astype(int)
        rows = np.vstack([line, [[overlap]], [[-overlap]]])
        codes = np.append(y, [0, 1])
        assert oracle.separation(rows, codes) is None
        model = LogisticClassifier(max_iter=200).fit(rows, codes)
        assert model.separation_ is None
        slope = oracle.gradient(rows, codes, model.coef_, model.intercept_)
        assert np.abs(slope).max() < 1e-6

    def test_is_claimed_because_of_rows_without_weight(self):
        y = (X[:, 1] > 0.2).astype(int)
        mixed = np.where(np.arange(120) < 20, 1 - y, y)
        weights = np.where(np.arange(120) < 20, 0.0, 1.0)
        assert LogisticClassifier().fit(X, mixed).separation_ is None
        with pytest.warns(SeparationWarning):
            LogisticClassifier().fit(X, mixed, weights)


OTHER = np.random.default_rng(5)
MIXED = OTHER.normal(size=(300, 3))
LABELS = (MIXED @ [1.0, -1.0, 0.5] + OTHER.logistic(size=300) > 0).astype(int)


def wide_problem(seed):
    """Few rows, strong classes and weights over twelve orders: margins are long, not endless."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(60, 2))
    codes = (rows @ [4.0, -3.0] + rng.logistic(size=60) > 0).astype(int)
    return rows, codes, 10.0 ** rng.uniform(-6, 6, 60)


def exact_slope(rows, codes, model):
    """Gradient of minus the log-likelihood, the own class as minus the sum of the others."""
    scores = rows @ model.coef_.T + model.intercept_
    two = scores.shape[1] == 1
    residuals = softmax(np.column_stack([0 * scores, scores]) if two else scores, axis=1)
    places = np.arange(len(rows)), codes
    residuals[places] = 0.0
    residuals[places] = -residuals.sum(axis=1)
    return (residuals[:, 1:] if two else residuals).T @ oracle.with_ones(rows)


class TestTheLastStep:
    @pytest.mark.parametrize("seed", range(6))
    @pytest.mark.filterwarnings("ignore::credo.exceptions.SeparationWarning")
    def test_never_leaves_the_likelihood_that_is_reported(self, seed):
        rows, codes, weights = wide_problem(seed)
        model = LogisticClassifier().fit(rows, codes, weights)
        own = oracle.log_likelihood(rows, codes, model.coef_, model.intercept_, weights)
        assert model.log_likelihood_ == pytest.approx(own, rel=1e-9)

    def test_with_rows_of_little_weight_is_at_the_maximum(self):
        rows = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 2, axis=0)
        codes = np.tile([0, 1], 4)
        weights = np.array([1e6, 1e6, 1e-6, 3e-6, 1.0, 2.0, 1e-3, 6e-3])
        model = LogisticClassifier().fit(rows, codes, weights)
        slope = oracle.gradient(rows, codes, model.coef_, model.intercept_, weights)
        assert np.abs(slope).max() < 1e-8 * weights.sum()
        assert model.separation_ is None
        assert model.coefficient_table().standard_error[0, 1] < 1e3


class TestSmallLosses:
    @pytest.mark.parametrize("weight", [1.0, 1e8])
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_are_minimised_to_the_same_share(self, weight, n_classes):
        codes = np.digitize(MIXED[:, 0], [0.0] if n_classes == 2 else [-0.4, 0.4])
        rows = MIXED + 3.0 * np.outer(codes, [1.0, 0.0, 0.0])
        model = LogisticClassifier("l2", strength=1e-3)
        model.fit(rows, codes, np.full(300, weight))
        slope = weight * exact_slope(rows, codes, model)
        slope[:, :-1] += 1e-3 * model.coef_
        assert np.abs(slope).max() < 1e-5 * 1e-3 * np.abs(model.coef_).max()

    def test_of_three_classes_do_not_cancel(self):
        scores = np.array([[0.0, 2.0], [-50.0, 3.0], [-60.0, 1e3]])
        codes = np.array([0, 1])
        losses, residuals, probabilities = link(scores.copy(), codes)
        small = np.exp(-50.0) + np.exp(-60.0)
        assert losses[0] == pytest.approx(small, rel=1e-14, abs=0)
        assert residuals[0, 0] == pytest.approx(-small, rel=1e-14, abs=0)
        assert losses[1] == pytest.approx(-log_softmax(scores[:, 1])[1], rel=1e-14)
        np.testing.assert_allclose(probabilities.sum(axis=0), 1.0, rtol=1e-15)


class TestRareSeparation:
    @pytest.mark.parametrize("weight", [1e-6, 1.0, 1e9])
    def test_does_not_depend_on_the_unit_of_the_weights(self, weight):
        flag = np.zeros(300)
        flag[np.flatnonzero(LABELS == 1)[0]] = 1.0
        with pytest.warns(SeparationWarning, match="quasi-complete"):
            LogisticClassifier().fit(np.column_stack([MIXED, flag]), LABELS, np.full(300, weight))

    def test_by_a_row_of_little_weight_is_told(self):
        flag = np.zeros(300)
        flag[np.flatnonzero(LABELS == 1)[0]] = 1.0
        weights = np.where(flag == 1, 1e-7, 1.0)
        with pytest.warns(SeparationWarning, match="by 3"):
            LogisticClassifier().fit(np.column_stack([MIXED, flag]), LABELS, weights)

    def test_by_a_row_that_no_sample_holds_is_told(self):
        n = 200_001
        x = np.random.default_rng(0).normal(size=n)
        y = (x + np.random.default_rng(1).logistic(size=n) > 0).astype(int)
        flag = np.zeros(n)
        flag[np.flatnonzero(y[1::2] == 1)[0] * 2 + 1] = 1.0
        with pytest.warns(SeparationWarning, match="by 1"):
            LogisticClassifier().fit(np.column_stack([x, flag]), y)

    @pytest.mark.parametrize("as_rows", [np.asarray, csr_array])
    def test_is_told_where_no_hessian_is_formed(self, monkeypatch, as_rows):
        monkeypatch.setattr("credo.classifiers.logistic_solver.MOST_FOR_HESSIAN", 1)
        codes = LABELS + (OTHER.random(300) < 0.3)
        flag = np.zeros(300)
        flag[np.flatnonzero(codes == 2)[:5]] = 1.0
        with pytest.warns(SeparationWarning, match="by 3"):
            LogisticClassifier().fit(as_rows(np.column_stack([MIXED, flag])), codes)


@pytest.mark.parametrize("strength", [1e5, 1e4, 1e3])
def test_lasso_steps_are_exact_though_penalties_of_other_columns_are_huge(strength):
    X, y = load_breast_cancer(return_X_y=True)  # deviations from 0.003 to 570
    model = LogisticClassifier("l1", strength=strength).fit(X, y)
    assert model.converged_
    residuals = model.predict_proba(X)[:, 1] - y
    slopes, active = X.T @ residuals, model.coef_[0] != 0
    assert active.any()
    assert (np.abs(slopes[~active]) <= strength * (1 + 1e-9)).all()
    np.testing.assert_allclose(slopes[active], -strength * np.sign(model.coef_[0][active]), 1e-6)


def test_many_columns_that_separate_need_no_large_programme(monkeypatch):
    def refuse(*_args, **_options):
        raise AssertionError

    monkeypatch.setattr("credo.classifiers.separation.linprog", refuse)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 300)), rng.integers(0, 2, 200)
    with pytest.warns(SeparationWarning, match="complete separation"):
        model = LogisticClassifier().fit(X, y)
    margins = (X @ model.separation_.coef[0] + model.separation_.intercept[0]) * (2 * y - 1)
    assert margins.min() > 0
