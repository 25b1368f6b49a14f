import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf_shrinkage
from tests.oracles import gaussians as oracle

from credo.families import shrinkage
from credo.families.covariances import (
    fourth_moments,
    ledoit_wolf_amount,
    oas_amount,
    shrunk,
)

SIZES = [(8, 2), (30, 3), (200, 5), (12, 20)]


def standardised(seed, n, size):
    X, _ = oracle.rows_of(seed, counts=(n,), n_features=size)
    return (X - X.mean(axis=0)) / X.std(axis=0)


def amount_of(Z):
    fourth = sum(float(z @ z) ** 2 for z in Z)
    return ledoit_wolf_amount(Z.T @ Z / len(Z), len(Z), fourth)


@pytest.mark.parametrize(("n", "size"), SIZES)
@pytest.mark.parametrize("seed", range(3))
def test_ledoit_wolf_follows_the_lemmas_of_the_paper(n, size, seed):
    Z = standardised(seed, n, size)
    assert amount_of(Z) == pytest.approx(oracle.ledoit_wolf(Z), rel=1e-10)


@pytest.mark.parametrize(("n", "size"), SIZES)
def test_ledoit_wolf_is_that_of_scikit_learn_on_standardised_rows(n, size):
    Z = standardised(0, n, size)
    assert amount_of(Z) == pytest.approx(ledoit_wolf_shrinkage(Z), rel=1e-10)


@pytest.mark.parametrize("units", [1e-6, 1e6])
def test_units_of_measure_do_not_change_an_amount(units):
    Z = standardised(1, 40, 3)
    scale = np.array([units, 1.0, 3.0])
    S = Z.T @ Z / 40
    scaled = S * np.outer(scale, scale)
    fourth = sum(float(z @ z) ** 2 for z in Z)
    assert ledoit_wolf_amount(scaled, 40, fourth) == pytest.approx(amount_of(Z), rel=1e-10)
    assert oas_amount(scaled, 40) == pytest.approx(oas_amount(S, 40), rel=1e-10)


@pytest.mark.parametrize(("n", "size"), [(8, 2), (30, 3), (200, 5), (60, 20)])
@pytest.mark.parametrize("seed", range(3))
def test_oas_is_equation_23_of_the_paper(n, size, seed):
    """scikit-learn leaves the two terms 2 / D out, which matters for few features."""
    Z = standardised(seed, n, size)
    S = Z.T @ Z / n
    assert oas_amount(S, n) == pytest.approx(oracle.oas(S, n), rel=1e-10)


def test_uncorrelated_features_are_shrunk_entirely_by_oas():
    assert oas_amount(np.diag([1.0, 4.0, 9.0]), 50) == 1.0


def test_one_feature_has_nothing_to_shrink_and_one_row_nothing_to_keep():
    assert oas_amount(np.array([[4.0]]), 50) == 0.0
    assert ledoit_wolf_amount(np.array([[4.0]]), 50, 150.0) == 0.0
    assert oas_amount(np.zeros((3, 3)), 1.0) == 1.0
    assert ledoit_wolf_amount(np.zeros((3, 3)), 1.0, 0.0) == 1.0


def test_features_of_variance_zero_are_left_out():
    Z = standardised(2, 30, 3)
    S = Z.T @ Z / 30
    wide = np.zeros((5, 5))
    wide[np.ix_([0, 2, 4], [0, 2, 4])] = S
    fourth = sum(float(z @ z) ** 2 for z in Z)
    assert ledoit_wolf_amount(wide, 30, fourth) == pytest.approx(amount_of(Z), rel=1e-12)
    assert oas_amount(wide, 30) == pytest.approx(oas_amount(S, 30), rel=1e-12)


def test_an_amount_lies_between_zero_and_one():
    rng = np.random.default_rng(3)
    for n in (2, 3, 5, 50):
        Z = rng.standard_t(3, size=(n, 4))
        Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
        assert 0 <= amount_of(Z) <= 1
        assert 0 <= oas_amount(Z.T @ Z / n, n) <= 1


def test_rows_that_agree_perfectly_are_not_shrunk():
    Z = np.array([[1.0, 1.0], [-1.0, -1.0]])
    # every z zᵀ equals their mean, so nothing is uncertain
    assert amount_of(Z) == 0.0


def test_shrinking_moves_correlations_and_leaves_variances():
    covariance = np.array([[4.0, 1.0, 0.5], [1.0, 9.0, -2.0], [0.5, -2.0, 1.0]])
    np.testing.assert_allclose(shrunk(covariance, 0.3), oracle.shrunk(covariance, 0.3))
    np.testing.assert_allclose(shrunk(covariance, 0.0), covariance)
    np.testing.assert_allclose(shrunk(covariance, 1.0), np.diag([4.0, 9.0, 1.0]))


@pytest.mark.parametrize("size", [1000, 9])
@pytest.mark.parametrize("weighted", [False, True])
def test_fourth_moments_are_those_of_a_loop(size, weighted, monkeypatch):
    monkeypatch.setattr(shrinkage, "block_rows", lambda _: size)
    X, y = oracle.rows_of(4)
    means, scales = np.ones((3, 3)) * [0.1, 0.2, 0.3], np.array([[1.0, 2, 0], [3, 1, 1], [1, 1, 5]])
    weights = np.random.default_rng(5).integers(0, 3, len(y)).astype(float) if weighted else None
    expected = np.zeros(3)
    for i, (x, k) in enumerate(zip(X, y, strict=True)):
        z = (x - means[k]) * scales[k]
        expected[k] += (1.0 if weights is None else weights[i]) * sum(v * v for v in z) ** 2
    np.testing.assert_allclose(fourth_moments(X, y, weights, means, scales), expected)


def test_fourth_moments_skip_rows_of_weight_zero_whatever_they_hold():
    X, y = oracle.rows_of(4)
    means, scales = np.zeros((3, 3)), np.ones((3, 3))
    scales[0, 1] = 0.0
    rubbish = np.vstack([X, [np.inf, -np.inf, np.nan], [np.inf, 1e300, 0.0]])
    weights = np.append(np.ones(len(y)), [0.0, 0.0])
    found = fourth_moments(rubbish, np.append(y, [0, 1]), weights, means, scales)
    np.testing.assert_allclose(found, fourth_moments(X, y, None, means, scales))
