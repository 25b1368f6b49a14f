"""Covariances of seven shapes: shrinkage, rank, features that do not vary, proportions."""

import copy

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf_shrinkage
from tests.oracles import gaussians as oracle

from credo.exceptions import InputError, NumericalError
from credo.families import covariances
from credo.families.covariances import (
    Names,
    Recipe,
    SingularCovarianceError,
    check_spread,
    choose_features,
    detail_for,
    estimate,
    fourth_moments,
    ledoit_wolf_amount,
    oas_amount,
    proportional_covariances,
    whiten,
)
from credo.families.moments import ClassMoments, Rows

X, Y = oracle.rows_of(10)
WEIGHTS = np.random.default_rng(11).uniform(0.2, 3.0, len(Y))
NAMES = Names("Owner", ("x", "y", "z"), ("a", "b", "c"))
shapes = pytest.mark.parametrize("shape", oracle.SHAPES)
correlated = pytest.mark.parametrize("shape", oracle.CORRELATED)


def moments_of(rows=X, weights=WEIGHTS, detail="full"):
    return oracle.as_class_moments(oracle.class_moments(rows, Y, weights), detail)


def correlations(covariance):
    scale = np.sqrt(np.diag(covariance))
    return covariance / np.outer(scale, scale)


def standardised(seed, n, size):
    rows, _ = oracle.rows_of(seed, counts=(n,), n_features=size)
    return (rows - rows.mean(axis=0)) / rows.std(axis=0)


def amount_of(Z, scale=1.0):
    fourth = sum(float(z @ z) ** 2 for z in Z)
    return ledoit_wolf_amount(np.outer(scale, scale) * (Z.T @ Z / len(Z)), len(Z), fourth)


@pytest.mark.parametrize(("n", "size"), [(8, 2), (30, 3), (200, 5), (60, 20)])
def test_amounts_follow_the_papers(n, size):
    """scikit-learn's OAS leaves the two terms 2 / D out, which matters for few features."""
    Z = standardised(0, n, size)
    S, scale = Z.T @ Z / n, np.logspace(-6, 6, size)
    assert amount_of(Z) == pytest.approx(oracle.ledoit_wolf(Z), rel=1e-10)
    assert amount_of(Z) == pytest.approx(ledoit_wolf_shrinkage(Z), rel=1e-10)
    assert oas_amount(S, n) == pytest.approx(oracle.oas(S, n), rel=1e-10)
    assert amount_of(Z, scale) == pytest.approx(amount_of(Z), rel=1e-9)  # whatever the units
    assert oas_amount(S * np.outer(scale, scale), n) == pytest.approx(oas_amount(S, n), rel=1e-9)


def test_amounts_at_their_ends():
    assert oas_amount(np.diag([1.0, 4.0, 9.0]), 50) == 1.0  # uncorrelated
    assert oas_amount(np.array([[4.0]]), 50) == 0.0
    assert ledoit_wolf_amount(np.array([[4.0]]), 50, 150.0) == 0.0
    assert oas_amount(np.zeros((3, 3)), 1.0) == 1.0
    assert ledoit_wolf_amount(np.zeros((3, 3)), 1.0, 0.0) == 1.0
    assert amount_of(np.array([[1.0, 1.0], [-1.0, -1.0]])) == 0.0  # every z zᵀ is their mean
    rng = np.random.default_rng(3)
    for n in (2, 3, 5, 50):
        Z = rng.standard_t(3, size=(n, 4))
        Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
        assert 0 <= amount_of(Z) <= 1
        assert 0 <= oas_amount(Z.T @ Z / n, n) <= 1


def test_features_of_variance_zero_are_left_out_of_amounts():
    Z = standardised(2, 30, 3)
    S, wide = Z.T @ Z / 30, np.zeros((5, 5))
    wide[np.ix_([0, 2, 4], [0, 2, 4])] = S
    fourth = sum(float(z @ z) ** 2 for z in Z)
    assert ledoit_wolf_amount(wide, 30, fourth) == pytest.approx(amount_of(Z), rel=1e-12)
    assert oas_amount(wide, 30) == pytest.approx(oas_amount(S, 30), rel=1e-12)


@pytest.mark.parametrize("size", [1000, 9])
@pytest.mark.parametrize("weighted", [False, True])
def test_fourth_moments_are_those_of_a_loop(size, weighted, monkeypatch):
    monkeypatch.setattr(covariances.check, "block_rows", lambda _: size)
    means, scales = np.ones((3, 3)) * [0.1, 0.2, 0.3], np.array([[1.0, 2, 0], [3, 1, 1], [1, 1, 5]])
    rows, codes, weights = X, Y, None
    if weighted:  # rows of weight zero hold anything
        rows = np.vstack([X, [np.inf, -np.inf, np.nan], [np.inf, 1e300, 0.0]])
        codes = np.append(Y, [0, 1])
        weights = np.append(np.random.default_rng(5).integers(0, 3, len(Y)) * 1.0, [0.0, 0.0])
    expected = np.zeros(3)
    for i, (x, k) in enumerate(zip(X, Y, strict=True)):
        z = (x - means[k]) * scales[k]
        expected[k] += (1.0 if weights is None else weights[i]) * sum(v * v for v in z) ** 2
    found = fourth_moments(Rows(rows, codes, weights, 3), means, scales)
    np.testing.assert_allclose(found, expected)


@correlated
def test_a_given_amount_shrinks_correlations_only(shape):
    plain = estimate(moments_of(), Recipe(shape), NAMES).model
    found = estimate(moments_of(), Recipe(shape, 0.3), NAMES)
    assert found.amounts.shape == ((3,) if shape == "full" else ())
    assert (found.amounts == 0.3).all()
    for k in range(3):
        expected = oracle.shrunk(oracle.covariance_of(plain, k), 0.3)
        np.testing.assert_allclose(oracle.covariance_of(found.model, k), expected, rtol=1e-12)


@correlated
def test_oas_needs_moments_only_and_ledoit_wolf_the_rows(shape):
    ones = np.ones(len(Y))
    plain = estimate(moments_of(weights=ones), Recipe(shape), NAMES).model
    oas = estimate(moments_of(weights=ones), Recipe(shape, "oas"), NAMES).amounts
    with pytest.raises(InputError, match="needs fourth moments.*shrinkage='oas'"):
        estimate(moments_of(), Recipe(shape, "auto"), NAMES)
    rows = Rows(X, Y, None, 3)
    auto = estimate(moments_of(weights=ones), Recipe(shape, "auto"), NAMES, rows).amounts
    gaps = X - np.array([X[k == Y].mean(axis=0) for k in range(3)])[Y]
    if shape == "full":
        for k in range(3):
            n = (k == Y).sum()
            expected = oracle.oas(correlations(oracle.covariance_of(plain, k)), n)
            assert oas[k] == pytest.approx(expected, rel=1e-10)
            Z = gaps[k == Y] / gaps[k == Y].std(axis=0)
            assert auto[k] == pytest.approx(oracle.ledoit_wolf(Z), rel=1e-10)
        return
    factors = np.ones(3) if plain.factors is None else plain.factors
    assert float(oas) == pytest.approx(
        oracle.oas(correlations(plain.covariances), len(Y)), rel=1e-10
    )
    Z = gaps / np.sqrt(np.diag(plain.covariances)) / np.sqrt(factors)[Y][:, None]
    S, n = Z.T @ Z / len(Z), len(Z)
    b2 = sum(np.linalg.norm(np.outer(z, z) - S) ** 2 for z in Z) / n**2
    d2 = np.linalg.norm(S - np.eye(3)) ** 2
    assert float(auto) == pytest.approx(min(b2, d2) / d2, rel=1e-9)


ALL = np.ones(4, dtype=bool)
FOUR = Names("Owner", ("yes", "no"), ("a", "b", "c", "d"))


def whitener(covariance, active=ALL, k=0, n_rows=30):
    """Give the factor and the log determinant."""
    out = np.full(covariance.shape, np.nan)
    return out, whiten(covariance, out, active, FOUR, k, n_rows)


def four_columns(seed, change=lambda _: None):
    rows, _ = oracle.rows_of(seed, counts=(30,), n_features=4)
    change(rows)
    return np.cov(rows.T, bias=True)


def refusal(covariance, k=0, n_rows=30, active=ALL):
    with pytest.raises(SingularCovarianceError) as caught:
        whitener(covariance, active, k, n_rows)
    return str(caught.value)


@pytest.mark.parametrize("units", [1.0, 1e-8, 1e8, 1e-150, 1e150])
def test_a_whitener_turns_the_covariance_into_the_identity(units):
    scale = np.array([units, 1.0, 1 / units, 3.0])
    covariance = four_columns(0) * np.outer(scale, scale)
    w, log_determinant = whitener(covariance)
    np.testing.assert_allclose(w * scale @ four_columns(0) @ (w * scale).T, np.eye(4), atol=1e-11)
    np.testing.assert_array_equal(w, np.tril(w))
    expected = np.linalg.slogdet(four_columns(0))[1] + 2 * np.log(scale).sum()
    assert log_determinant == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("near", [1e-9, 1e-12])
def test_strong_correlations_are_not_singular(near):
    covariance = np.array([[1.0, 1 - near], [1 - near, 1.0]])
    w, log_determinant = whitener(covariance, ALL[:2])
    gap = 1.0 - covariance[0, 1]  # |Σ| = (1 - r)(1 + r), with 1 - r as it was rounded
    assert log_determinant == pytest.approx(np.log(gap) + np.log(2 - gap), rel=1e-6)
    assert np.isfinite(w).all()


def test_columns_are_called_by_their_own_number_when_others_are_left_out():
    def twin(rows):
        rows[:, 3] = rows[:, 1]

    text = refusal(four_columns(9, twin), active=np.array([False, True, True, True]))
    assert "column 'b'" in text or "column 'd'" in text


def test_the_error_is_numerical_and_survives_the_way_from_another_process():
    error = SingularCovarianceError("It is flat.", "Shake it.")
    assert isinstance(error, NumericalError)
    again = copy.copy(error)  # by the same door as a message between processes
    assert str(again) == "It is flat. Shake it."
    assert (again.fault, again.remedy) == ("It is flat.", "Shake it.")


def flat_in_one_class(rows):
    rows[Y == 1, 2] = 0.7


def flat_in_every_class(rows):
    rows[:, 0] = 2.0 * Y


def one_point(rows):
    rows[Y == 2] = [1.0, 2.0, 3.0]


def rows_where(change):
    rows = X.copy()
    change(rows)
    return rows


NONE = [[False] * 3] * 3
ONE = [[False] * 3, [False, False, True], [False] * 3]
EVERY = [[True, False, False]] * 3
POINT = [[False] * 3, [False] * 3, [True] * 3]


def flat_of(rows, shape):
    """Tell flat features by class; a shared answer is that of every class."""
    moments = moments_of(rows, None, detail_for(shape))
    active, flat = choose_features(moments, Recipe(shape, repair=True), NAMES)
    assert active.all()
    assert flat.shape == ((3,) if shape in oracle.LINEAR else (3, 3))
    return np.broadcast_to(flat, (3, 3)).tolist()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda _: None, {}),
        (flat_in_one_class, {"full": ONE, "diagonal": ONE}),
        (
            flat_in_every_class,
            dict.fromkeys(["full", "diagonal", "tied", "tied_diagonal", "proportional"], EVERY),
        ),
        (one_point, dict.fromkeys(["full", "diagonal", "spherical", "proportional"], POINT)),
    ],
    ids=["varied", "one class", "every class", "point"],
)
@shapes
def test_a_feature_is_flat_where_the_shape_cannot_do_with_it(shape, change, expected):
    """A shared variance, or one number of spread per class, bears single flat features."""
    rows = rows_where(change)
    assert flat_of(rows, shape) == expected.get(shape, NONE)
    if shape in expected:
        with pytest.raises(SingularCovarianceError, match="singular: constant"):
            estimate(moments_of(rows, None, detail_for(shape)), Recipe(shape), NAMES)


def test_rounding_is_no_spread():
    rows = rows_where(flat_in_one_class)
    rows[Y == 1, 2] = 1e8 + 1e-8 * np.arange(19)
    assert flat_of(rows, "full") == ONE
    rows[Y == 1, 2] = 1e8 + 1e-3 * np.arange(19)
    assert flat_of(rows, "full") == NONE


@pytest.mark.parametrize("units", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("shape", ["full", "tied", "tied_diagonal"])
def test_a_feature_that_is_flat_in_every_class_gets_a_share_of_its_total_variance(shape, units):
    rows = rows_where(flat_in_every_class) * [units, 1.0, 1.0]
    moments = moments_of(rows, None, detail_for(shape))
    with pytest.raises(SingularCovarianceError, match="constant (within every class|in its)"):
        estimate(moments, Recipe(shape), NAMES)
    found = estimate(moments, Recipe(shape, repair=True), NAMES).model
    n = [14, 19, 23] if shape == "full" else [56] * 3
    for k in range(3):
        expected = rows[:, 0].var() / (n[k] + 1)
        assert oracle.covariance_of(found, k)[0, 0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("units", "told"), [(1e-160, "little.*multiply"), (1e160, "much.*divide")])
@shapes
def test_a_spread_that_float64_cannot_hold_is_refused_by_name(shape, units, told):
    alone = X * [1.0, units, 1.0] if "spherical" not in shape else X * units
    with np.errstate(over="ignore", invalid="ignore"):
        moments = ClassMoments.of(alone, Y, None, 3, "full")
        for repair in (False, True):
            with pytest.raises(InputError, match=f"Owner: column '[ab]' varies so {told}"):
                estimate(moments, Recipe(shape, repair=repair), NAMES)


def test_the_least_spread_is_told_by_class_unless_it_is_shared():
    rows = X.copy()
    rows[Y == 1, 2] *= 1e-170
    moments, every = ClassMoments.of(rows, Y, None, 3, "full"), np.ones(3, dtype=bool)
    check_spread(moments, "tied", every, NAMES)
    check_spread(moments, "full", np.array([True, True, False]), NAMES)
    for shape in ("full", "diagonal"):
        with pytest.raises(InputError, match="column 'c' varies so little"):
            check_spread(moments, shape, every, NAMES)


def test_redundant_columns_of_one_class_are_refused_or_shrunk():
    rows = X.copy()
    rows[Y == 0, 2] = 3 * rows[Y == 0, 0] - 1
    moments = moments_of(rows, weights=None)
    with pytest.raises(SingularCovarianceError, match="'x' is singular: column '[ac]'"):
        estimate(moments, Recipe("full"), NAMES)
    found = estimate(moments, Recipe("full", repair=True), NAMES)
    plain = np.cov(rows[Y == 0].T, bias=True)
    amount = oracle.oas(correlations(plain), 14)
    np.testing.assert_allclose(found.amounts, [amount, 0, 0], rtol=1e-10)
    expected = oracle.shrunk(plain, amount)
    np.testing.assert_allclose(oracle.covariance_of(found.model, 0), expected, rtol=1e-9)
    assert f"Repaired with shrinkage {amount:.3g}" in found.repair


def scatters_of(seed, counts=(14, 19, 23), n_features=3):
    found = oracle.class_moments(*oracle.rows_of(seed, counts, n_features)).values()
    return np.array([m.scatter for m in found]), np.array([m.weight for m in found])


def assert_solved(scatters, weights, rtol=1e-11):
    """The likelihood equations: tr(Σ⁻¹ S_k) = n_k D α_k, and Σ the mean of S_k / α_k."""
    shared, factors = proportional_covariances(scatters, weights, "test")
    traces = [np.trace(np.linalg.solve(shared, s)) for s in scatters]
    np.testing.assert_allclose(traces / factors, weights * len(shared), rtol=rtol)
    pooled = sum(s / a for s, a in zip(scatters, factors, strict=True)) / weights.sum()
    np.testing.assert_allclose(shared, pooled, rtol=1e-13, atol=1e-16 * np.abs(pooled).max())
    assert weights @ np.log(factors) == pytest.approx(0.0, abs=1e-10)
    return shared, factors


@pytest.mark.parametrize("case", ["one class", "few rows", "wide", "units"])
def test_proportions_solve_the_equations_of_odd_data(case):
    rng = np.random.default_rng(3)
    scatters, weights = {
        "one class": scatters_of(0, counts=(20,)),
        "few rows": scatters_of(1, counts=(2, 30, 40), n_features=4),
        "wide": (np.array([z.T @ z for z in rng.normal(size=(10, 60, 40))]), np.full(10, 60.0)),
        "units": (scatters_of(2)[0] * np.outer([1e-8, 1, 1e8], [1e-8, 1, 1e8]), scatters_of(2)[1]),
    }[case]
    _, factors = assert_solved(scatters, weights)
    if case == "one class":
        assert factors.tolist() == [1.0]
    if case == "units":
        expected = proportional_covariances(*scatters_of(2), "test")[1]
        np.testing.assert_allclose(factors, expected, rtol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_strong_correlations_do_not_keep_the_steps_from_stopping(seed, monkeypatch):
    """Rounding moves the factors by more than the last place when the matrix is near singular."""
    monkeypatch.setattr(covariances, "_MOST_STEPS", 500)
    rng = np.random.default_rng(seed)
    mixer = np.linalg.qr(rng.normal(size=(4, 4)))[0] * [100.0, 1.0, 1.0, 0.01]
    found = oracle.class_moments(oracle.rows_of(seed, (30, 40), 4)[0] @ mixer.T, np.arange(70) % 2)
    scatters = np.array([m.scatter for m in found.values()])
    assert_solved(scatters, np.array([35.0, 35.0]), rtol=1e-6)


def test_a_likelihood_without_bound_is_refused():
    """One class varies along one axis only, the other along the other.

    With Σ = diag(1/α₁, 1/α₂) / N and n₁ log α₁ + n₂ log α₂ = 0, log |Σ| falls without end with
    α₁ if n₁ < n₂.
    """
    scatters = np.array([np.diag([10.0, 0.0]), np.diag([0.0, 30.0])])
    with pytest.raises(SingularCovarianceError, match="collapse"):
        proportional_covariances(scatters, np.array([10.0, 30.0]), "test")
