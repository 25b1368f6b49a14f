import numpy as np
import pytest
import scipy.sparse as sp
from tests.oracles import logistic as oracle

from credo.classifiers.logistic import LogisticClassifier
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
        import pandas as pd

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

    def test_of_more_columns_than_rows_is_told(self):
        wide = RNG.normal(size=(30, 60))
        y = RNG.integers(0, 2, 30)
        model, _ = separated(wide, y)
        assert model.separation_.kind == "complete"
        assert proves(model.separation_, wide, y) > 0

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

    def test_by_a_threshold_with_ties_is_told(self):
        rows = np.round(X, 1)
        y = (rows[:, 3] > 0).astype(int)
        rows = np.vstack([rows, [[0.3, 1, 1, 0], [0.4, -1, 0, 0]] * 3])
        y = np.append(y, [0, 0, 1, 1, 0, 1])
        assert oracle.separation(rows, y) == "quasi-complete"
        model, _ = separated(rows, y)
        assert model.separation_.kind == "quasi-complete"
        assert model.separation_.features[0] == 3

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

    def test_is_claimed_of_rare_but_mixed_indicators(self):
        y = RNG.integers(0, 2, 500)
        flag = np.zeros(500)
        flag[np.flatnonzero(y == 1)[:20]] = 1.0
        flag[np.flatnonzero(y == 0)[0]] = 1.0
        model = LogisticClassifier().fit(flag[:, None], y)
        assert model.separation_ is None
        assert model.coef_[0, 0] + model.intercept_[0] == pytest.approx(np.log(20.0))

    def test_is_claimed_because_of_rows_without_weight(self):
        y = (X[:, 1] > 0.2).astype(int)
        mixed = np.where(np.arange(120) < 20, 1 - y, y)
        weights = np.where(np.arange(120) < 20, 0.0, 1.0)
        assert LogisticClassifier().fit(X, mixed).separation_ is None
        with pytest.warns(SeparationWarning):
            LogisticClassifier().fit(X, mixed, weights)
