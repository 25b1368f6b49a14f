import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_breast_cancer
from tests.oracles import logistic as oracle

from credo.classifiers.logistic import LogisticClassifier
from credo.classifiers.logistic_solver import link
from credo.exceptions import SeparationWarning

RNG = np.random.default_rng(5)
X = RNG.normal(size=(300, 3))
Y = (X @ [1.0, -1.0, 0.5] + RNG.logistic(size=300) > 0).astype(int)


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
    @pytest.mark.parametrize("seed", range(12))
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
        codes = np.digitize(X[:, 0], [0.0] if n_classes == 2 else [-0.4, 0.4])
        rows = X + 3.0 * np.outer(codes, [1.0, 0.0, 0.0])
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
        flag[np.flatnonzero(Y == 1)[0]] = 1.0
        with pytest.warns(SeparationWarning, match="quasi-complete"):
            LogisticClassifier().fit(np.column_stack([X, flag]), Y, np.full(300, weight))

    def test_by_a_row_of_little_weight_is_told(self):
        flag = np.zeros(300)
        flag[np.flatnonzero(Y == 1)[0]] = 1.0
        weights = np.where(flag == 1, 1e-7, 1.0)
        with pytest.warns(SeparationWarning, match="by 3"):
            LogisticClassifier().fit(np.column_stack([X, flag]), Y, weights)

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
        codes = Y + (RNG.random(300) < 0.3)
        flag = np.zeros(300)
        flag[np.flatnonzero(codes == 2)[:5]] = 1.0
        with pytest.warns(SeparationWarning, match="by 3"):
            LogisticClassifier().fit(as_rows(np.column_stack([X, flag])), codes)


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
