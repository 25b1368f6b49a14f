import numpy as np
import pytest
from tests.oracles import gaussians as oracle

from credo.families.class_gaussians import log_likelihood, maximum_log_likelihood
from credo.families.moments import ClassMoments
from credo.families.covariances import is_enough

X, Y = oracle.rows_of(50)
WEIGHTS = np.random.default_rng(51).uniform(0.2, 3.0, len(Y))


@pytest.mark.parametrize("detail", ["full", "tied", "diagonal"])
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_moments_are_enough_for_the_log_likelihood_of_the_rows(shape, detail):
    if not is_enough(detail, shape):
        return
    model = oracle.fit(X, Y, shape, WEIGHTS, priors=np.ones(3))
    moments = oracle.as_class_moments(oracle.class_moments(X, Y, WEIGHTS), detail)
    found = log_likelihood(oracle.as_class_gaussians(model, shape), moments)
    assert found == pytest.approx(oracle.log_likelihood(X, Y, model, WEIGHTS), rel=1e-10)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_the_maximum_needs_determinants_only(shape, weights):
    model = oracle.fit(X, Y, shape, weights, priors=np.ones(3))
    moments = oracle.as_class_moments(oracle.class_moments(X, Y, weights), "full")
    found = maximum_log_likelihood(oracle.as_class_gaussians(model, shape), moments)
    assert found == pytest.approx(oracle.log_likelihood(X, Y, model, weights), rel=1e-8)


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_other_rows_than_those_fitted_have_their_own_likelihood(shape):
    model = oracle.fit(X, Y, shape, priors=np.ones(3))
    rows, y = oracle.rows_of(52)
    detail = "full" if shape in ("full", "proportional") else "tied"
    if not is_enough(detail, shape):
        detail = "diagonal"
    moments = oracle.as_class_moments(oracle.class_moments(rows, y), detail)
    found = log_likelihood(oracle.as_class_gaussians(model, shape), moments)
    assert found == pytest.approx(oracle.log_likelihood(rows, y, model), rel=1e-10)


@pytest.mark.parametrize("shape", ["diagonal", "tied_diagonal", "spherical", "tied_spherical"])
def test_only_observed_entries_count(shape):
    holes = oracle.with_holes(X, 53)
    model = oracle.fit(X, Y, shape, priors=np.ones(3))
    parts = oracle.observed_variances(holes, Y, WEIGHTS).values()
    seen, means, scatter = (np.array(each) for each in zip(*parts, strict=True))
    weights = np.bincount(Y, WEIGHTS)
    moments = ClassMoments(np.bincount(Y), weights, means, scatter, "diagonal", seen)
    found = log_likelihood(oracle.as_class_gaussians(model, shape), moments)
    assert found == pytest.approx(oracle.log_likelihood(holes, Y, model, WEIGHTS), rel=1e-10)


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_a_mean_of_a_hundred_million_keeps_eight_digits(shape):
    model = oracle.fit(X, Y, shape, priors=np.ones(3))
    far = X + 1e8
    moved = oracle.fit(far, Y, shape, priors=np.ones(3))
    detail = "full" if shape in oracle.CORRELATED else "diagonal"
    moments = oracle.as_class_moments(oracle.class_moments(far, Y), detail)
    found = log_likelihood(oracle.as_class_gaussians(moved, shape), moments)
    # adding 1e8 rounds the rows themselves to 1.5e-8
    assert found == pytest.approx(oracle.log_likelihood(X, Y, model), rel=1e-7)
