"""The kernels of Gaussians with missing entries: compiled, and as plain Python."""

from itertools import product

import numpy as np
import pytest
from tests.oracles import gaussians as oracle
from tests.speeds import plain_kernels

from credo._kernels import missing_gaussian

SIZE = 4


@pytest.fixture(params=["compiled", "plain"])
def kernels(request, monkeypatch):
    if request.param == "plain":
        plain_kernels(monkeypatch)
    return missing_gaussian


def patterned(seed=0, each=2):
    """Complete rows, a mean, a covariance, and every pattern of missing entries in turn."""
    rng = np.random.default_rng(seed)
    missing = np.array(list(product([False, True], repeat=SIZE)))
    starts = np.arange(0, each * len(missing) + 1, each)
    mixer = rng.normal(size=(SIZE, SIZE))
    covariance = mixer @ mixer.T + 0.5 * np.eye(SIZE)
    X = rng.normal(size=(each * len(missing), SIZE)) * 2
    X[np.repeat(missing, each, axis=0)] = np.nan
    return X, rng.normal(size=SIZE), covariance, starts, missing


def run_marginal(kernels, X, mean, covariance, starts, missing, *, stable, fill=False):
    precision = np.linalg.inv(covariance)
    z = np.where(np.isnan(X), 0.0, X - mean)
    weights = np.linspace(0.5, 2.0, len(X))
    distances, determinants = np.full((2, len(X)), np.nan)
    spread = np.zeros(covariance.shape)
    kernels.marginal_rows(
        z,
        z @ precision,
        starts,
        missing,
        precision,
        covariance,
        np.linalg.slogdet(covariance)[1],
        stable,
        distances,
        determinants,
        fill,
        weights if fill else np.empty(0),
        spread if fill else np.empty((0, 0)),
    )
    return z, distances, determinants, weights, spread


def log_determinant(x, covariance):
    seen = ~np.isnan(x)
    return np.linalg.slogdet(covariance[np.ix_(seen, seen)])[1] if seen.any() else 0.0


@pytest.mark.parametrize("stable", [True, False])
def test_distances_and_determinants_are_those_of_the_observed_block(kernels, stable):
    X, mean, covariance, starts, missing = patterned()
    z, distances, determinants, _, _ = run_marginal(
        kernels, X, mean, covariance, starts, missing, stable=stable
    )
    expected = [oracle.distance(x, mean, covariance) for x in X]
    np.testing.assert_allclose(distances, expected, rtol=1e-10, atol=1e-10)
    expected = [log_determinant(x, covariance) for x in X]
    np.testing.assert_allclose(determinants, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(z, np.where(np.isnan(X), 0.0, X - mean))


@pytest.mark.parametrize("stable", [True, False])
def test_filling_writes_conditional_means_and_adds_their_spread(kernels, stable):
    X, mean, covariance, starts, missing = patterned(1)
    z, _, _, weights, spread = run_marginal(
        kernels, X, mean, covariance, starts, missing, stable=stable, fill=True
    )
    pairs = [oracle.conditional(x, mean, covariance) for x in X]
    np.testing.assert_allclose(z + mean, [f for f, _ in pairs], rtol=1e-9, atol=1e-9)
    expected = sum(w * left for w, (_, left) in zip(weights, pairs, strict=True))
    np.testing.assert_allclose(spread, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("stable", [True, False])
@pytest.mark.parametrize("n_classes", [1, 3])
def test_classes_that_share_a_covariance_are_scored_together(kernels, stable, n_classes):
    X, centre, covariance, starts, missing = patterned(2)
    rng = np.random.default_rng(3)
    means = centre + rng.normal(size=(n_classes, SIZE))
    precision = np.linalg.inv(covariance)
    z = np.where(np.isnan(X), 0.0, X - centre)
    gaps = means - centre
    pulls = gaps @ precision
    scores = np.full((len(X), n_classes), np.nan)
    distances, determinants = np.full((2, len(X)), np.nan)
    kernels.marginal_shared(
        z,
        z @ precision,
        z @ pulls.T,
        starts,
        missing,
        precision,
        covariance,
        gaps,
        pulls,
        np.einsum("ij,ij->i", gaps, pulls),
        np.linalg.slogdet(covariance)[1],
        stable,
        scores,
        distances,
        determinants,
    )
    # gᵀ Σ⁻¹ (z - g / 2) is half of the distance to the centre less that to the mean
    to_centre = np.array([oracle.distance(x, centre, covariance) for x in X])
    to_means = np.array([[oracle.distance(x, m, covariance) for m in means] for x in X])
    np.testing.assert_allclose(scores, (to_centre[:, None] - to_means) / 2, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(distances, to_centre, rtol=1e-9, atol=1e-9)
    expected = [log_determinant(x, covariance) for x in X]
    np.testing.assert_allclose(determinants, expected, rtol=1e-10, atol=1e-10)


def test_a_strong_correlation_is_exact_by_the_covariance(kernels):
    covariance = np.eye(SIZE)
    covariance[0, 1] = covariance[1, 0] = 1 - 1e-9
    X, mean, _, starts, missing = patterned(4)
    X = np.random.default_rng(6).normal(size=X.shape)
    X[:, 1] = X[:, 0] + 1e-5
    X[np.repeat(missing, 2, axis=0)] = np.nan
    _, distances, determinants, _, _ = run_marginal(
        kernels, X, mean, covariance, starts, missing, stable=False
    )
    exact = [oracle.exact_parts(x, mean, covariance) for x in X]
    # the pivot 1 - r² keeps seven of its digits in double precision
    np.testing.assert_allclose(distances, [d for d, _, _ in exact], rtol=1e-6)
    np.testing.assert_allclose(determinants, [d for _, d, _ in exact], rtol=1e-6, atol=1e-12)


def test_a_pivot_that_is_not_positive_gives_a_determinant_of_zero(kernels):
    factor = np.empty((SIZE, SIZE))
    assert kernels._factor(np.zeros((SIZE, SIZE)), np.arange(SIZE), 1, factor) == -np.inf
    assert kernels._factor(-np.ones((SIZE, SIZE)), np.arange(SIZE), 1, factor) == -np.inf
    assert factor[0, 0] == 0.0
