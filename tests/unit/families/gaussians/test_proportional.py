import numpy as np
import pytest
from tests.oracles import gaussians as oracle

from credo.families import proportional
from credo.families.covariances import SingularCovarianceError
from credo.families.covariances import proportional_covariances


def scatters_of(seed, counts=(14, 19, 23), n_features=3):
    found = oracle.class_moments(*oracle.rows_of(seed, counts, n_features)).values()
    return np.array([m.scatter for m in found]), np.array([m.weight for m in found])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("counts", "size"), [((30, 60), 2), ((14, 19, 23), 3), ((9, 5, 7, 50), 4)])
def test_it_is_the_numeric_maximum_of_the_likelihood(seed, counts, size):
    scatters, weights = scatters_of(seed, counts, size)
    shared, factors = proportional_covariances(scatters, weights, "test")
    expected, alphas = oracle.proportional(scatters, weights)
    np.testing.assert_allclose(factors, alphas, rtol=1e-5)
    np.testing.assert_allclose(shared, expected, rtol=1e-5, atol=1e-5)
    # minus twice the log-likelihood: no point that the search found is better
    assert np.linalg.slogdet(shared)[1] <= np.linalg.slogdet(expected)[1] + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_it_solves_the_likelihood_equations_to_rounding(seed):
    scatters, weights = scatters_of(seed)
    shared, factors = proportional_covariances(scatters, weights, "test")
    traces = [np.trace(np.linalg.solve(shared, s)) for s in scatters]
    np.testing.assert_allclose(traces / factors, weights * 3, rtol=1e-11)
    pooled = sum(s / a for s, a in zip(scatters, factors, strict=True)) / weights.sum()
    np.testing.assert_allclose(shared, pooled, rtol=1e-13)
    assert weights @ np.log(factors) == pytest.approx(0.0, abs=1e-11)


def test_scatters_that_are_proportional_give_their_factors():
    base = np.array([[2.0, 0.7, 0.1], [0.7, 1.0, -0.3], [0.1, -0.3, 0.5]])
    weights, alphas = np.array([10.0, 20.0, 40.0]), np.array([0.25, 1.0, 9.0])
    shared, factors = proportional_covariances(
        (weights * alphas)[:, None, None] * base, weights, "test"
    )
    scale = np.exp(weights @ np.log(alphas) / weights.sum())
    np.testing.assert_allclose(factors, alphas / scale, rtol=1e-12)
    np.testing.assert_allclose(shared, base * scale, rtol=1e-12)


def test_one_class_has_the_factor_one():
    scatters, weights = scatters_of(0, counts=(20,))
    shared, factors = proportional_covariances(scatters, weights, "test")
    assert factors.tolist() == [1.0]
    np.testing.assert_allclose(shared, scatters[0] / 20, rtol=1e-14)


def test_a_class_with_fewer_rows_than_features_takes_part():
    scatters, weights = scatters_of(1, counts=(2, 30, 40), n_features=4)
    shared, factors = proportional_covariances(scatters, weights, "test")
    traces = [np.trace(np.linalg.solve(shared, s)) for s in scatters]
    np.testing.assert_allclose(traces / factors, weights * 4, rtol=1e-11)


@pytest.mark.parametrize("units", [1e-8, 1e8])
def test_units_of_measure_only_rescale_the_shared_matrix(units):
    scatters, weights = scatters_of(2)
    scale = np.array([units, 1.0, 1 / units])
    shared, factors = proportional_covariances(scatters, weights, "test")
    other, same = proportional_covariances(scatters * np.outer(scale, scale), weights, "test")
    np.testing.assert_allclose(same, factors, rtol=1e-10)
    np.testing.assert_allclose(other / np.outer(scale, scale), shared, rtol=1e-10)


def test_wide_data_of_many_classes_take_a_moment():
    rng = np.random.default_rng(3)
    scatters = np.array([z.T @ z for z in rng.normal(size=(10, 60, 40))])
    weights = np.full(10, 60.0)
    shared, factors = proportional_covariances(scatters, weights, "test")
    traces = [np.trace(np.linalg.solve(shared, s)) for s in scatters]
    np.testing.assert_allclose(traces / factors, weights * 40, rtol=1e-11)


@pytest.mark.parametrize("seed", range(5))
def test_strong_correlations_do_not_keep_it_from_stopping(seed, monkeypatch):
    """Rounding moves the factors by more than the last place when the matrix is near singular."""
    rng = np.random.default_rng(seed)
    mixer = np.linalg.qr(rng.normal(size=(4, 4)))[0] * [100.0, 1.0, 1.0, 0.01]
    found = oracle.class_moments(oracle.rows_of(seed, (30, 40), 4)[0] @ mixer.T, np.arange(70) % 2)
    scatters = np.array([m.scatter for m in found.values()])
    steps = []
    original = proportional.cho_factor

    def counted(*args, **kwargs):
        steps.append(1)
        return original(*args, **kwargs)

    monkeypatch.setattr(proportional, "cho_factor", counted)
    weights = np.array([35.0, 35.0])
    shared, factors = proportional_covariances(scatters, weights, "test")
    traces = [np.trace(np.linalg.solve(shared, s)) for s in scatters]
    np.testing.assert_allclose(traces / factors, weights * 4, rtol=1e-6)
    assert len(steps) < 500


def test_a_likelihood_without_bound_is_refused():
    """One class varies along one axis only, the other along the other.

    With Σ = diag(1/α₁, 1/α₂) / N and n₁ log α₁ + n₂ log α₂ = 0, log |Σ| falls without end with
    α₁ if n₁ < n₂.
    """
    scatters = np.array([np.diag([10.0, 0.0]), np.diag([0.0, 30.0])])
    with pytest.raises(SingularCovarianceError, match="collapse"):
        proportional_covariances(scatters, np.array([10.0, 30.0]), "test")
