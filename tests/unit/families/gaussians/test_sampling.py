import numpy as np
import pytest
from scipy.stats import chi2
from tests.oracles import gaussians as oracle

from credo.families.class_gaussians import ClassGaussians
from credo.families.class_gaussians import sample_rows

X, Y = oracle.rows_of(90)
PRIORS = np.array([0.2, 0.0, 0.8])
N = 40_000


def models(shape):
    model = oracle.fit(X, Y, shape)
    return model, oracle.as_class_gaussians(model, shape)


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_rows_have_the_moments_of_their_class(shape):
    """Six standard errors: of a mean √(v/n), of a covariance √((v_i v_j + c_ij²)/n)."""
    model, ours = models(shape)
    rows, codes = sample_rows(ours, PRIORS, N, np.random.default_rng(0))
    assert rows.shape == (N, 3)
    for k in (0, 2):
        own, covariance = rows[codes == k], model.covariances[k]
        n, variances = len(own), np.diag(covariance)
        assert n == pytest.approx(N * PRIORS[k], abs=6 * np.sqrt(N * 0.16))
        wrong = np.abs(own.mean(axis=0) - model.means[k]) / np.sqrt(variances / n)
        assert wrong.max() < 6
        error = np.sqrt((np.outer(variances, variances) + covariance**2) / n)
        assert (np.abs(np.cov(own.T, bias=True) - covariance) / error).max() < 6


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_distances_of_rows_are_chi_square(shape):
    model, ours = models(shape)
    rows, _ = sample_rows(ours, np.array([0.0, 1.0, 0.0]), N, np.random.default_rng(1))
    gaps = rows - model.means[1]
    distances = np.einsum("ij,ij->i", gaps @ np.linalg.inv(model.covariances[1]), gaps)
    for q in (0.05, 0.5, 0.95):
        share = (distances <= chi2.ppf(q, 3)).mean()
        assert share == pytest.approx(q, abs=6 * np.sqrt(q * (1 - q) / N))


def test_a_class_of_prior_zero_is_never_drawn():
    _, codes = sample_rows(models("full")[1], PRIORS, N, np.random.default_rng(2))
    assert set(codes) == {0, 2}


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_the_same_seed_draws_the_same_rows(shape):
    _, ours = models(shape)
    one, other = (sample_rows(ours, PRIORS, 50, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_array_equal(one[1], other[1])


def test_a_constant_feature_keeps_its_value():
    _, inner = models("diagonal")
    active = np.array([True, False, True])
    means = inner.means.copy()
    means[:, 1] = 0.1
    ours = ClassGaussians(
        "diagonal",
        means,
        inner.covariances * active,
        inner.whiteners * active,
        inner.log_determinants,
        active,
    )
    rows, _ = sample_rows(ours, PRIORS, 100, np.random.default_rng(4))
    assert (rows[:, 1] == 0.1).all()
    assert (rows[:, [0, 2]].std(axis=0) > 0.1).all()
