"""Against scikit-learn 1.9, to 1e-8 wherever both define the same estimate."""

import numpy as np
import pytest
import sklearn
from sklearn.covariance import ledoit_wolf
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from credo import GaussianClassifier

DATA = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}
#: Since 1.9 the 'svd' solvers divide the scatter by N, as maximum likelihood does. Before, that
#: of LDA divided by N - K and that of QDA by n - 1, and probabilities differ from ours by it.
DIVIDES_BY_N = tuple(int(v) for v in sklearn.__version__.split(".")[:2]) >= (1, 9)


@pytest.fixture(params=DATA)
def data(request):
    return DATA[request.param]


def assert_same(ours, peer, X):
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))


@pytest.mark.parametrize("solver", ["lsqr", "eigen", "svd"])
def test_tied_is_linear_discriminant_analysis(solver, data):
    if solver == "svd" and not DIVIDES_BY_N:
        pytest.skip("this version divides by N - K")
    X, y = data
    peer = LinearDiscriminantAnalysis(solver=solver, store_covariance=True).fit(X, y)
    ours = GaussianClassifier("tied").fit(X, y)
    np.testing.assert_allclose(ours.means_, peer.means_, rtol=1e-10)
    np.testing.assert_allclose(ours.covariances_, peer.covariance_, rtol=1e-8, atol=1e-10)
    assert_same(ours, peer, X)


@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_full_is_quadratic_discriminant_analysis(solver, data):
    if not DIVIDES_BY_N:
        pytest.skip("this version divides by n - 1, or has one solver")
    X, y = data
    priors = [0.5, 0.2, 0.3]
    peer = QuadraticDiscriminantAnalysis(solver=solver, store_covariance=True, priors=priors)
    peer.fit(X, y)
    ours = GaussianClassifier(priors=priors).fit(X, y)
    np.testing.assert_allclose(ours.covariances_, peer.covariance_, rtol=1e-7, atol=1e-9)
    assert_same(ours, peer, X)


def test_diagonal_is_gaussian_naive_bayes(data):
    """Without the variance that the peer adds to all features by default."""
    X, y = data
    weights = np.random.default_rng(0).uniform(0.1, 2.0, len(y))
    peer = GaussianNB(var_smoothing=0).fit(X, y, sample_weight=weights)
    ours = GaussianClassifier("diagonal").fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.means_, peer.theta_, rtol=1e-10)
    np.testing.assert_allclose(ours.covariances_, peer.var_, rtol=1e-8)
    np.testing.assert_allclose(ours.log_joint(X), peer.predict_joint_log_proba(X), rtol=1e-8)
    assert_same(ours, peer, X)


def test_auto_shrinkage_of_full_is_ledoit_wolf_of_each_class(data):
    X, y = data
    ours = GaussianClassifier(shrinkage="auto").fit(X, y)
    for k in range(3):
        scaler = StandardScaler().fit(X[y == k])
        covariance, amount = ledoit_wolf(scaler.transform(X[y == k]))
        np.testing.assert_allclose(ours.shrinkage_[k], amount, rtol=1e-8)
        np.testing.assert_allclose(
            ours.covariances_[k], covariance * np.outer(scaler.scale_, scaler.scale_), rtol=1e-8
        )
    if DIVIDES_BY_N:
        peer = QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(X, y)
        assert_same(ours, peer, X)


def test_auto_shrinkage_of_tied_has_one_amount_for_all_rows():
    """The peer shrinks each class by its own amount and then pools; we shrink the pooled one."""
    X, y = DATA["iris"]
    ours = GaussianClassifier("tied", shrinkage="auto").fit(X, y)
    gaps = X - np.array([X[y == k].mean(axis=0) for k in range(3)])[y]
    scale = np.sqrt((gaps**2).mean(axis=0))
    covariance, amount = ledoit_wolf(gaps / scale, assume_centered=True)
    assert ours.shrinkage_ == pytest.approx(amount, rel=1e-8)
    np.testing.assert_allclose(ours.covariances_, covariance * np.outer(scale, scale), rtol=1e-8)
