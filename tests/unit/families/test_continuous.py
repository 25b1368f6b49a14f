"""Exponential, Gamma, Beta, Dirichlet and Laplace: tails, nearly constant data, medians."""

from functools import reduce

import numpy as np
import pytest
from scipy import stats
from tests.oracles import families as oracle

from credo.exceptions import InputError, NumericalError, ShapeError
from credo.families import Beta, Dirichlet, Exponential, Gamma, Laplace
from credo.families.likelihood import (
    _root,
    dirichlet_concentration,
    excess,
    gamma_shape,
    log_minus_digamma,
    scaled_trigamma_minus_one,
)
from credo.families.summaries import MOST_POINTS

SHAPES = [1e-90, 1e-20, 1e-3, 0.1, 1.0, 5.0, 9.999, 10.0, 100.0, 1e6, 1e12, 1e20]
CONCENTRATIONS = {
    "flat": [1.0, 1.0],
    "corners": [1e-3, 1e-3],
    "one corner": [1e-3, 1e3],
    "three scales": [1e-3, 1e-6, 2.0],
    "tiny": [1e-20, 1e-20],
    "narrow": [1e6, 1e6],
    "narrow and skew": [1e6, 1e-3],
    "nearly constant": [1e12, 2e12, 1e9],
    "all scales": [1e-20, 1.0, 1e20],
    "fifty": [0.1] * 50,
    "many narrow": [100.0] * 300,
}


# --- the likelihood equations, against sixty digits ------------------------------------------


@pytest.mark.parametrize("a", SHAPES)
def test_the_difference_of_logarithm_and_digamma_keeps_its_digits(a):
    exact = oracle.log_minus_digamma(a)
    assert log_minus_digamma(np.array(a)) == pytest.approx(exact, rel=4e-15, abs=0)
    # its slope in log a, by differences of the exact function over ±1e-6 (error: their square)
    above, below = a * (1 + 1e-6), a * (1 - 1e-6)
    slope = oracle.log_minus_digamma(above) - oracle.log_minus_digamma(below)
    assert -scaled_trigamma_minus_one(np.array(a)) == pytest.approx(slope / 2e-6, rel=1e-7, abs=0)


@pytest.mark.parametrize("x", [1e-200, 0.3, 0.89, 0.91, 1 - 1e-9, 1.0, 1 + 1e-12, 1.09, 1.11, 1e90])
def test_the_excess_over_the_logarithm_keeps_its_digits(x):
    for centre in (1.0, 1e-3, 7e10):
        got = excess(np.array(x * centre), np.array(centre), np.array(0.0))
        # below half of the centre, logarithms of both are rounded before they are subtracted
        digits = 1e-14 if x > 0.5 else 1e-14 * max(1.0, abs(np.log(centre)))
        assert got == pytest.approx(oracle.excess(x * centre, centre), rel=digits, abs=0)


@pytest.mark.parametrize("name", CONCENTRATIONS)
def test_the_dirichlet_equation_is_solved_to_rounding(name):
    mean, gap = oracle.dirichlet_statistics(CONCENTRATIONS[name])
    got = dirichlet_concentration(mean, gap)
    np.testing.assert_allclose(got, CONCENTRATIONS[name], rtol=1e-13)


def test_all_columns_are_solved_at_once():
    gaps = np.array([[oracle.log_minus_digamma(a) for a in SHAPES]] * 2)
    np.testing.assert_allclose(gamma_shape(gaps), [SHAPES] * 2, rtol=1e-13)
    pairs = [CONCENTRATIONS[k] for k in ("flat", "corners", "one corner", "tiny", "narrow")]
    columns = [oracle.dirichlet_statistics(pair) for pair in pairs]
    mean, gap = (np.array(part) for part in zip(*columns, strict=True))
    np.testing.assert_allclose(dirichlet_concentration(mean, gap), pairs, rtol=1e-13)


def test_the_root_is_bracketed_where_newton_would_run_away():
    def arctangent(y):
        return -np.arctan(y - 3.0), -1.0 / (1.0 + (y - 3.0) ** 2)

    low, high = np.array([-100.0, -100.0]), np.array([100.0, 400.0])
    got = _root(arctangent, np.array([90.0, -80.0]), low, high)
    np.testing.assert_allclose(got, 3.0, rtol=1e-14)


def test_an_equation_that_is_not_solved_is_an_error():
    def restless(y):
        return np.where(y > 0, 1.0, -1.0), np.full(y.shape, -0.1)

    with pytest.raises(NumericalError, match="not solved in 50 steps"):
        _root(restless, np.array([1.0]), np.array([-1e300]), np.array([1e300]))
    with pytest.raises(NumericalError, match="not solved in 50 steps"):
        dirichlet_concentration(np.array([0.5, 0.5]), np.array([0.1, np.nan]))


# --- estimates from rows ---------------------------------------------------------------------


@pytest.mark.parametrize("shape", [1e-2, 0.3, 5.0, 1e3, 1e6])
def test_the_shape_of_drawn_gammas_is_found(shape):
    n = 4000
    rows = Gamma(shape, 2.0).sample(n, 1)
    found = float(Gamma.fit(rows).shape)
    # Fisher information of log a, the rate being estimated too: a (a psi'(a) - 1)
    error = 1 / np.sqrt(n * shape * float(scaled_trigamma_minus_one(np.array(shape))))
    assert abs(np.log(found / shape)) <= 5 * error


@pytest.mark.parametrize("spread", [1e-4, 1e-7, 1e-9])
def test_nearly_constant_data_keep_their_digits(spread):
    """Exact: values m (1 ± d) have the gap -log(1 - d²) / 2, and the shape solves the equation."""
    rows = np.array([3.0 * (1 - spread), 3.0 * (1 + spread)])
    d = (rows[1] - rows[0]) / rows.sum()
    gap = -0.5 * np.log1p(-(d**2))
    summary = Gamma.summarise(rows)
    assert float(summary.divergence) == pytest.approx(2 * gap, rel=1e-7, abs=0)
    assert float(Gamma.fit(rows).shape) == pytest.approx(0.5 / gap, rel=1e-6)
    # two shares 1/4 (1 ± d): Dirichlet and beta are nearly Gaussian, of variance m (1 - m) / s
    shares = rows / 12.0
    total = 0.25 * 0.75 / (0.25 * d) ** 2
    fitted = Beta.fit(shares)
    assert float(fitted.alpha + fitted.beta) == pytest.approx(total, rel=1e-6)
    both = Dirichlet.fit(np.stack([shares, 1 - shares], axis=-1))
    assert float(both.concentration.sum()) == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize("pieces", [1, 2, 7])
def test_a_spread_of_a_hundred_millionth_keeps_its_digits_when_merged(pieces):
    rows = 5.0 + 5e-8 * np.random.default_rng(3).normal(size=100)
    parts = [Gamma.summarise(part) for part in np.array_split(rows, pieces)]
    summary = reduce(lambda left, right: right.merge(left), parts)
    mean, scatter = oracle.weighted_moments(rows, np.ones(100))
    # to second order the divergence is half of the squared deviations over the squared mean
    assert float(summary.divergence) == pytest.approx(scatter / (2 * mean**2), rel=1e-7, abs=0)
    terms = [oracle.excess(x, mean) for x in rows]
    assert float(summary.divergence) == pytest.approx(sum(terms), rel=1e-13, abs=0)


def test_shares_of_six_decimals_are_rescaled():
    rounded = [[0.333333, 0.333333, 0.333333], [0.2, 0.3, 0.5]]
    exact = [[1 / 3, 1 / 3, 1 / 3], [0.2, 0.3, 0.5]]
    got, expected = Dirichlet.fit(rounded), Dirichlet.fit(exact)
    np.testing.assert_allclose(got.concentration, expected.concentration, rtol=1e-12)
    with pytest.raises(InputError, match=r"that sum to 1. Got \[0.2, 0.3\] in row"):
        Dirichlet.fit([[0.2, 0.3]])


def test_a_row_with_a_missing_share_is_missing_as_a_whole():
    rows = np.random.default_rng(0).dirichlet([1.0, 2.0, 3.0], 30)
    expected = Dirichlet.fit(rows[1:])
    rows[0, 1] = np.nan
    got = Dirichlet.fit(rows).concentration
    np.testing.assert_allclose(got, expected.concentration, rtol=1e-13)
    assert Dirichlet([1.0, 2.0, 3.0]).log_density(rows[0]) == 0


# --- tails and tiny parameters ---------------------------------------------------------------


def test_far_tails_are_those_of_scipy():
    x = np.array([1e-300, 1e-10, 0.5, 1e4, 1e8])
    np.testing.assert_allclose(
        Gamma(2.5, 3.0).log_density(x), stats.gamma.logpdf(x, 2.5, scale=1 / 3), rtol=1e-13
    )
    np.testing.assert_allclose(
        Exponential(3.0).log_density(x), stats.expon.logpdf(x, scale=1 / 3), rtol=1e-13
    )
    x = np.array([1e-300, 1e-10, 0.5, 1 - 1e-10])
    np.testing.assert_allclose(
        Beta(0.3, 40.0).log_density(x), stats.beta.logpdf(x, 0.3, 40.0), rtol=1e-12
    )
    assert Exponential(2.0).log_density(0.0) == np.log(2.0)
    assert Gamma(1.0, 2.0).log_density(0.0) == -np.inf
    x = np.array([-1e15, -800.0, 3.25, 1e15])  # SciPy's logpdf is -inf at three of these
    expected = np.array([-2e15 - 6, -1606.0, -0.5, -2e15 + 6])
    np.testing.assert_allclose(Laplace(3.0, 0.5).log_density(x), expected, rtol=1e-15)


@pytest.mark.parametrize("size", [1e-99, 1e-5, 1e5, 1e99])
def test_extreme_parameters_make_no_nan(size):
    x = np.array([1e-300, 0.2, 0.5, 1 - 1e-16])
    made = [
        Gamma(size, 1.0),
        Gamma(1.0, size),
        Exponential(size),
        Beta(size, 1.0),
        Beta(size, size),
    ]
    for one in made:
        assert np.isfinite(one.log_density(x)).all()
        assert np.isfinite([one.mean, one.variance]).all()
        assert np.isfinite(one.log_density(one.sample(200, 0))).all()
    three = Dirichlet([size, 1.0, size])
    assert np.isfinite(three.log_density(three.sample(200, 0))).all()


# --- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "parameters", "message"),
    [
        (Gamma, ([1.0, 2.0], [1.0, 2.0, 3.0]), r"shape \(2,\) and rate \(3,\) do not fit"),
        (Dirichlet, ([1.0],), "at least two shares"),
        (Beta, (1.0, 0.0), "beta of Beta must be positive. Got 0"),
        (Laplace, (0.0, -1.0), "scale of Laplace must be positive. Got -1"),
        (Laplace, (0.0, 1e-200), "between 1e-100 and 1e\\+100.*Rescale"),
        (Laplace, (1e200, 1.0), "location of Laplace must be between .*Rescale"),
    ],
)
def test_bad_parameters_are_refused(family, parameters, message):
    with pytest.raises((InputError, ShapeError), match=message):
        family(*parameters)


def test_waiting_times_that_are_all_zero_have_no_rate():
    with pytest.raises(InputError, match=r"all values at index \[1\].* are 0.*rate would be inf"):
        Exponential.fit([[1.0, 0.0], [2.0, 0.0]])


# --- medians from sketches -------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1.0, 0.1, 1e-80])
def test_weighted_medians_split_the_weight(unit):
    rng = np.random.default_rng(5)
    for _ in range(30):
        rows = rng.integers(-5, 5, 12).astype(float)
        weight = rng.integers(0, 4, 12) * unit
        expected = oracle.weighted_median(rows, np.round(weight / unit))
        assert Laplace.fit(rows, weight).location == expected


def test_one_batch_of_any_size_is_exact():
    rng = np.random.default_rng(1)
    rows = rng.standard_cauchy((5 * MOST_POINTS, 2))
    rows[:, 1] = np.floor(rows[:, 1])  # some values are heavy
    rows = np.clip(rows, -1e6, 1e6)
    summary = Laplace.summarise(rows)
    assert summary.points.shape[-1] <= MOST_POINTS
    fitted = Laplace.estimate(summary)
    median = np.median(rows, axis=0)
    np.testing.assert_array_equal(fitted.location, median)
    np.testing.assert_allclose(fitted.scale, np.abs(rows - median).mean(axis=0), rtol=1e-13)


def test_points_are_exact_while_they_fit():
    rows = np.random.default_rng(1).normal(size=MOST_POINTS)
    parts = [Laplace.summarise(part) for part in np.array_split(rows, 5)]
    merged = parts[0].merge(parts[1]).merge(parts[2].merge(parts[3]).merge(parts[4]))
    assert merged.rank_error == 0
    np.testing.assert_array_equal(merged.points, np.sort(rows))
    many = Laplace.summarise(np.random.default_rng(1).integers(0, 50, 10**5))
    assert (many.rank_error, many.points.size) == (0, 50)


@pytest.mark.parametrize("order", ["drawn", "sorted"])
@pytest.mark.parametrize("shape", ["chain", "tree"])
def test_merging_past_the_limit_keeps_to_the_bound_on_ranks(order, shape):
    n_batches = 16
    rows = np.random.default_rng(2).gamma(0.5, size=n_batches * 6000)
    if order == "sorted":
        rows.sort()
    parts = [Laplace.summarise(part) for part in np.array_split(rows, n_batches)]
    summary = reduce(type(parts[0]).merge, parts) if shape == "chain" else _tree(parts)
    share = float(summary.rank_error / summary.weight)
    assert share <= ((n_batches + 3) / 1024 if shape == "chain" else 5 / 512)
    assert summary.points.size <= MOST_POINTS
    assert summary.point_weights.sum() == pytest.approx(len(rows), rel=1e-12)
    assert (np.diff(summary.points) >= 0).all()
    ranks = np.searchsorted(np.sort(rows), summary.points, side="right")
    gaps = np.abs(np.cumsum(summary.point_weights) - ranks)
    assert gaps.max() <= summary.rank_error
    location = float(Laplace.estimate(summary).location)
    middle = (rows <= location).mean()
    assert abs(middle - 0.5) <= share + summary.point_weights.max() / summary.weight


def _tree(parts):
    while len(parts) > 1:
        parts = [a.merge(b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def test_columns_are_padded_behind_their_points():
    summary = Laplace.summarise([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    np.testing.assert_array_equal(summary.points, [[1, 2, 3], [5, np.nan, np.nan]])
    np.testing.assert_array_equal(summary.point_weights, [[1, 1, 1], [3, 0, 0]])
