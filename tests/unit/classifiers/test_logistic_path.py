import numpy as np
import pytest
import scipy.sparse as sp
from tests.oracles import logistic as oracle

from credo.classifiers.logistic import LogisticClassifier
from credo.exceptions import InputError

CASES = {n: oracle.rows_of(30 + n, n_features=5, n_classes=n) for n in (2, 3)}
CASES = {n: (X / X.std(axis=0), y) for n, (X, y) in CASES.items()}


@pytest.mark.parametrize("n_classes", CASES)
class TestPath:
    def test_of_l1_starts_where_a_feature_enters_and_meets_the_conditions(self, n_classes):
        X, y = CASES[n_classes]
        path = LogisticClassifier("l1").path(X, y, n=12)
        assert path.n_nonzero[0] == 0
        assert path.n_nonzero[1] >= 1
        residuals = np.bincount(y) / len(y) - np.eye(n_classes)[y]
        assert path.strengths[0] == pytest.approx(np.abs(residuals.T @ X).max())
        assert path.strengths[-1] == pytest.approx(path.strengths[0] / 1000)
        assert path.converged.all()
        for strength, coef, intercept in zip(
            path.strengths, path.coefs, path.intercepts, strict=True
        ):
            slope = oracle.gradient(X, y, coef, intercept)[:, :-1]
            zero = coef == 0
            np.testing.assert_allclose(slope[~zero], -strength * np.sign(coef[~zero]), atol=1e-5)
            assert (np.abs(slope[zero]) <= strength + 1e-5).all()

    @pytest.mark.parametrize("penalty", ["l1", "l2"])
    def test_equals_single_fits(self, n_classes, penalty):
        X, y = CASES[n_classes]
        strengths = [0.1, 10.0, 1.0]
        path = LogisticClassifier(penalty).path(X, y, strengths)
        np.testing.assert_array_equal(path.strengths, [10.0, 1.0, 0.1])
        for i, strength in enumerate(path.strengths):
            model = LogisticClassifier(penalty, strength=strength).fit(X, y)
            np.testing.assert_allclose(path.coefs[i], model.coef_, atol=1e-6)
            np.testing.assert_allclose(path.intercepts[i], model.intercept_, atol=1e-6)
            # the penalised sum is at its minimum, the likelihood alone has slope `strength`
            slack = 1e-6 * strength + 1e-9
            assert path.log_likelihoods[i] == pytest.approx(model.log_likelihood_, abs=slack)

    @pytest.mark.parametrize("penalty", ["l1", "l2"])
    def test_has_rising_likelihoods(self, n_classes, penalty):
        X, y = CASES[n_classes]
        path = LogisticClassifier(penalty).path(X, y, n=8)
        assert (np.diff(path.log_likelihoods) > 0).all()
        assert len(path) == 8


def test_a_path_of_many_rows_takes_its_metric_from_a_sample():
    X, y = oracle.rows_of(37, n=40_000, n_features=2)
    X = X / X.std(axis=0)
    path = LogisticClassifier("l2").path(X, y, n=4)
    assert path.converged.all()
    for strength, coef, intercept in zip(path.strengths, path.coefs, path.intercepts, strict=True):
        slope = oracle.gradient(X, y, coef, intercept)
        slope[:, :-1] += strength * coef
        assert np.abs(slope).max() / len(y) < 1e-7


def test_a_path_leaves_the_classifier_as_it_was():
    X, y = CASES[3]
    model = LogisticClassifier("l2")
    model.path(X, y, n=3)
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "n_features_in_")


def test_a_path_of_sparse_rows_equals_that_of_dense_ones():
    X, y = CASES[2]
    one = LogisticClassifier("l1").path(sp.csr_array(X), y, n=5)
    other = LogisticClassifier("l1").path(X, y, n=5)
    np.testing.assert_allclose(one.coefs, other.coefs, atol=1e-6)


def test_a_path_can_be_read():
    X, y = CASES[2]
    path = LogisticClassifier("l1").path(X, y, [100.0, 0.01])
    assert repr(path) == "StrengthPath(l1, 2 strengths from 100 to 0.01, 0 to 5 of 5 features)"
    assert path.classes == (0, 1)


def test_a_path_needs_a_penalty_and_positive_strengths():
    X, y = CASES[2]
    with pytest.raises(InputError, match="needs a penalty"):
        LogisticClassifier().path(X, y)
    with pytest.raises(InputError, match="must be positive. Got -1"):
        LogisticClassifier("l2").path(X, y, [1.0, -1.0])
