"""Edges, tails, smoothing, medians and correlations of the families, beside their contract."""

from functools import reduce
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.stats import multivariate_normal, norm
from tests.oracles import families as oracle

from credo.decisions import bayes_error, bhattacharyya_bound
from credo.exceptions import InputError, NumericalError, ShapeError
from credo.families import (
    Bernoulli,
    Beta,
    Categorical,
    DiagonalGaussian,
    Dirichlet,
    Exponential,
    Gamma,
    Gaussian,
    Laplace,
    Multinomial,
    MultivariateGaussian,
    Poisson,
)
from credo.families.likelihood import (
    _root,
    dirichlet_concentration,
    excess,
    gamma_shape,
    log_minus_digamma,
    scaled_trigamma_minus_one,
)
from credo.families.summaries import MOST_POINTS

SMOOTHED = [
    (Bernoulli, [1, 1, 0, 1]),
    (Categorical, [2, 0, 2, 1]),
    (Multinomial, [[2, 0, 3], [1, 1, 0]]),
]


class _Highest(np.random.Generator):
    """Draws the largest number below one."""

    def random(self, size):
        return np.full(size, np.nextafter(1.0, 0.0))


def test_certain_outcomes_have_log_probability_zero():
    edge = Bernoulli([0.0, 1.0])
    np.testing.assert_array_equal(edge.log_density([[0], [1]]), [[0, -np.inf], [-np.inf, 0]])
    np.testing.assert_array_equal(edge.natural_parameters[:, 0], [-np.inf, np.inf])
    np.testing.assert_array_equal(edge.log_partition, [0, np.inf])
    np.testing.assert_array_equal(edge.sample(3, 0), [[0, 1]] * 3)


def test_impossible_categories_never_come_and_cost_everything():
    edge = Categorical([0.0, 1.0, 0.0])
    np.testing.assert_array_equal(edge.log_density([0, 1, 2, 3]), [-np.inf, 0, -np.inf, -np.inf])
    np.testing.assert_array_equal(edge.natural_parameters, [-np.inf, 0, -np.inf])
    assert (edge.sample(1000, 0) == 1).all()
    tenths = Categorical([*[0.1] * 10, 0.0])  # the sum of ten tenths is rounded to below one
    assert (tenths.sample(5, _Highest(np.random.PCG64())) == 9).all()


def test_counts_of_impossible_categories_may_be_zero():
    edge = Multinomial([0.5, 0.5, 0.0])
    assert edge.log_density([1, 1, 0]) == pytest.approx(np.log(0.5), rel=1e-14)
    assert edge.log_density([1, 0, 1]) == -np.inf
    assert edge.log_density([0, 0, 0]) == 0


def test_at_rate_zero_nothing_happens():
    np.testing.assert_array_equal(Poisson(0.0).log_density([0, 1]), [0, -np.inf])
    assert Poisson(0.0).natural_parameters == -np.inf
    assert Poisson.fit([0, 0]).rate == 0
    assert (Poisson(0.0).sample(5, 0) == 0).all()


def test_far_counts_are_those_of_scipy():
    x = np.array([0, 1, 50, 1e4, 1e9])
    np.testing.assert_allclose(
        Poisson(3.5).log_density(x), stats.poisson.logpmf(x, 3.5), rtol=1e-13
    )
    p = np.array([1e-12, 0.3, 1 - 0.3 - 1e-12])
    counts = np.array([[30, 0, 0], [0, 400, 1000]])
    expected = [stats.multinomial.logpmf(row, row.sum(), p) for row in counts]
    np.testing.assert_allclose(Multinomial(p).log_density(counts), expected, rtol=1e-12)
    tiny = Bernoulli(1e-300)
    assert tiny.log_density(1) == pytest.approx(np.log(1e-300), rel=1e-15)


def test_a_pseudo_count_is_one_more_row_of_each_kind():
    coins = Bernoulli.estimate(Bernoulli.summarise([1, 1, 0, 1]), pseudo_count=1)
    assert coins.probability == Bernoulli.fit([1, 1, 0, 1, 0, 1]).probability
    codes = Categorical.estimate(Categorical.summarise([2, 0, 2]), pseudo_count=1)
    expected = Categorical.fit([2, 0, 2, 0, 1, 2]).probabilities
    np.testing.assert_allclose(codes.probabilities, expected, rtol=1e-15)
    words = Multinomial.estimate(Multinomial.summarise([[2, 0, 3]]), pseudo_count=0.5)
    np.testing.assert_allclose(words.probabilities, np.array([2.5, 0.5, 3.5]) / 6.5, rtol=1e-15)


def test_a_target_draws_the_estimate_towards_itself():
    t = [0.7, 0.2, 0.1]
    summary = Categorical.summarise([2, 0, 2, 1])
    got = Categorical.estimate(summary, pseudo_count=2, target=t).probabilities
    np.testing.assert_allclose(got, (np.array([1, 1, 2]) + 6 * np.array(t)) / 10, rtol=1e-14)
    coins = Bernoulli.estimate(Bernoulli.summarise([1, 0, 0]), pseudo_count=2, target=0.9)
    assert coins.probability == pytest.approx((1 + 4 * 0.9) / 7, rel=1e-15)
    words = Multinomial.estimate(Multinomial.summarise([[1, 0, 0]]), 1e12, target=t)
    np.testing.assert_allclose(words.probabilities, t, rtol=1e-11)


@pytest.mark.parametrize("family", [Categorical, Multinomial])
def test_each_category_may_have_a_pseudo_count_of_its_own(family):
    """(n_c + a_c) / (n + A) with A the sum of all; towards a target (n_c + A t_c) / (n + A)."""
    rows = [2, 0, 2, 1] if family is Categorical else [[1, 1, 2]]
    summary, a, t = family.summarise(rows), [0.5, 0.0, 1.5], np.array([0.7, 0.2, 0.1])
    got = family.estimate(summary, pseudo_count=a).probabilities
    np.testing.assert_allclose(got, [1.5 / 6, 1 / 6, 3.5 / 6], rtol=1e-14)
    got = family.estimate(summary, pseudo_count=a, target=t).probabilities
    np.testing.assert_allclose(got, (np.array([1, 1, 2]) + 2 * t) / 6, rtol=1e-14)
    for wrong, error in (([1.0, 2.0], ShapeError), ([1.0, -2.0, 0.0], InputError)):
        with pytest.raises(error, match=r"pseudo_count of .*estimate must"):
            family.estimate(summary, pseudo_count=wrong)


def test_each_column_of_zeros_and_ones_may_have_a_pseudo_count_of_its_own():
    summary = Bernoulli.summarise([[1, 0], [1, 1], [0, 1]], groups=[0, 1, 1], n_groups=2)
    got = Bernoulli.estimate(summary, pseudo_count=[0.5, 2.0]).probability
    np.testing.assert_allclose(got, [[1.5 / 2, 2 / 5], [1.5 / 3, 4 / 6]], rtol=1e-14)
    got = Bernoulli.estimate(summary, pseudo_count=[0.5, 2.0], target=[0.9, 0.1]).probability
    np.testing.assert_allclose(got, [[1.9 / 2, 0.4 / 5], [1.9 / 3, 2.4 / 6]], rtol=1e-14)


def test_a_target_per_column_and_group_is_broadcast():
    summary = Bernoulli.summarise([[1, 0], [1, 1]], groups=[0, 1], n_groups=2)
    got = Bernoulli.estimate(summary, pseudo_count=1, target=[0.0, 1.0]).probability
    np.testing.assert_allclose(got, [[1 / 3, 2 / 3], [1 / 3, 1.0]], rtol=1e-15)


@pytest.mark.parametrize(("family", "rows"), SMOOTHED, ids=lambda p: getattr(p, "__name__", "rows"))
def test_without_rows_a_smoothed_estimate_is_the_target(family, rows):
    nothing = family.summarise(rows, np.zeros(len(rows)))
    with pytest.raises(InputError, match="nothing was counted. Add rows, or pass a pseudo_count"):
        family.estimate(nothing)
    if family is Categorical:
        got = family.estimate(nothing, pseudo_count=1, n_categories=3)
    else:
        got = family.estimate(nothing, pseudo_count=1)
    uniform = 0.5 if family is Bernoulli else np.full(3, 1 / 3)
    np.testing.assert_allclose(got.mean, uniform, rtol=1e-15)


@pytest.mark.parametrize(("family", "rows"), SMOOTHED, ids=lambda p: getattr(p, "__name__", "rows"))
def test_bad_smoothing_is_refused(family, rows):
    summary = family.summarise(rows)
    for bad in (-1.0, 1e200, np.nan):
        with pytest.raises(InputError, match="pseudo_count of .*estimate must be"):
            family.estimate(summary, pseudo_count=bad)
    with pytest.raises(InputError, match="target"):
        family.estimate(summary, pseudo_count=1, target=2.0 if family is Bernoulli else [2, 1, 0])
    target = [0.5, 0.5] if family is not Bernoulli else [0.1, 0.2, 0.3]
    with pytest.raises(ShapeError, match="target of .*estimate must fit"):
        family.estimate(summary, pseudo_count=1, target=target)


def test_counts_of_codes_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, (200, 3)).astype(float)
    rows[rng.random(rows.shape) < 0.2] = np.nan
    weight, groups = rng.uniform(0, 2, 200), rng.integers(0, 5, 200)
    got = Categorical.summarise(rows, weight, groups, n_groups=6)
    for g in range(6):
        for column in range(3):
            for code in range(4):
                here = (groups == g) & (rows[:, column] == code)
                assert got.counts[g, column, code] == pytest.approx(weight[here].sum(), rel=1e-13)
    np.testing.assert_allclose(got.weight, got.counts.sum(axis=-1), rtol=1e-13)


def test_the_number_of_categories_may_be_told():
    summary = Categorical.summarise([0, 2])
    got = Categorical.estimate(summary, n_categories=5)
    np.testing.assert_array_equal(got.probabilities, [0.5, 0, 0.5, 0, 0])
    with pytest.raises(InputError, match="code 2 was seen, but n_categories is 2"):
        Categorical.estimate(summary, n_categories=2)
    with pytest.raises(InputError, match="codes below 1048576. Got 1e\\+09"):
        Categorical.fit([0, 1e9])


def test_probabilities_are_checked_and_rescaled():
    with pytest.raises(InputError, match="Categorical, probabilities: row 1 sums to 1.1, not to 1"):
        Categorical([[0.5, 0.5], [0.5, 0.6]])
    with pytest.raises(InputError, match="has the negative entry -0.5"):
        Multinomial([1.5, -0.5])
    with pytest.raises(ShapeError, match="need a last axis"):
        Categorical(0.5)
    with pytest.raises(InputError, match="Bernoulli must be between 0 and 1. Got 1.5"):
        Bernoulli([0.5, 1.5])
    assert Categorical([0.333333, 0.333333, 0.333334]).probabilities.sum() == 1


def test_counts_are_drawn_with_their_total():
    draws = Multinomial([[0.2, 0.8], [0.5, 0.5]]).sample(500, 0, total=12)
    assert draws.shape == (500, 2, 2)
    assert (draws.sum(axis=-1) == 12).all()
    error = 5 * np.sqrt(12 * 0.2 * 0.8 / 500)
    assert abs(draws[:, 0, 0].mean() - 12 * 0.2) <= error


def test_counts_that_do_not_fit_an_integer_are_not_drawn():
    with pytest.raises(InputError, match="so that counts fit into 64 bits. Got 1e\\+30"):
        Poisson(1e30).sample(1)
    with pytest.raises(InputError, match="rate of Poisson must be between 0"):
        Poisson(-1.0)


def test_bernoulli_learns_from_booleans():
    assert Bernoulli.fit(np.array([True, False, True, True])).probability == 0.75


def test_rounded_weights_give_no_probability_above_one():
    weight = np.full(1000, 0.1)
    rows = np.ones((1000, 3))
    assert (Bernoulli.fit(rows, weight).probability == 1).all()


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


@pytest.mark.parametrize("pieces", [1, 7])
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


def test_waiting_times_that_are_all_zero_have_no_rate():
    with pytest.raises(InputError, match=r"all values at index \[1\].* are 0.*rate would be inf"):
        Exponential.fit([[1.0, 0.0], [2.0, 0.0]])


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


def test_it_agrees_with_scipy_far_into_the_tails():
    x = np.array([-40.0, -3.0, 0.5, 3.0, 40.0])
    ours, peer = Gaussian(0.5, 4.0), norm(0.5, 2.0)
    for name in ("pdf", "logpdf", "cdf", "sf", "logcdf"):
        np.testing.assert_allclose(getattr(ours, name)(x), getattr(peer, name)(x), rtol=1e-12)
    q = np.array([1e-300, 0.1, 0.5, 1 - 1e-16])
    np.testing.assert_allclose(ours.ppf(q), peer.ppf(q), rtol=1e-12)
    assert ours.scale == 2.0


@pytest.mark.parametrize(
    ("family", "parameters", "message"),
    [
        (Gamma, ([1.0, 2.0], [1.0, 2.0, 3.0]), r"shape \(2,\) and rate \(3,\) do not fit"),
        (Dirichlet, ([1.0],), "at least two shares"),
        (Beta, (1.0, 0.0), "beta of Beta must be positive. Got 0"),
        (Laplace, (0.0, -1.0), "scale of Laplace must be positive. Got -1"),
        (Laplace, (0.0, 1e-200), "between 1e-100 and 1e\\+100.*Rescale"),
        (Laplace, (1e200, 1.0), "location of Laplace must be between .*Rescale"),
        (Gaussian, (0, -1), "must be positive. Got -1. It is the square"),
        (Gaussian, (np.nan, 1), "mean of Gaussian must be finite"),
        (Gaussian, ([0, 1], [1, 1, 1]), "do not fit together"),
        (Gaussian, (1e160, 1), "squares are no longer numbers. Rescale"),
        (Gaussian, (0, 1e308), "squares are no longer numbers. Rescale"),
        (Gaussian, (0, 1e-320), "squares are no longer numbers. Rescale"),
        (DiagonalGaussian, (0.0, 1.0), "last axis of features.*use Gaussian"),
        (MultivariateGaussian, (0.0, 1.0), "needs a mean of shape"),
        (MultivariateGaussian, ([0.0, 1.0], [1.0, 1.0]), "needs a mean of shape"),
        (MultivariateGaussian, ([0.0, 1.0], np.eye(3)), "needs a mean of shape"),
        (MultivariateGaussian, ([0.0], np.eye(2)), "needs a mean of shape"),
        (MultivariateGaussian, (np.zeros((2, 0)), np.zeros((0, 0))), "needs a mean of shape"),
        (MultivariateGaussian, (np.zeros((3, 2)), [2 * np.eye(2)] * 2), "do not fit together"),
    ],
)
def test_bad_parameters_are_refused(family, parameters, message):
    with pytest.raises((InputError, ShapeError), match=message):
        family(*parameters)


@pytest.mark.parametrize("family", [Gaussian, DiagonalGaussian, MultivariateGaussian])
@pytest.mark.parametrize("pieces", [1, 7])
def test_a_mean_of_a_hundred_million_costs_no_digits_of_the_variance(family, pieces):
    rng = np.random.default_rng(3)
    rows = 1e8 + rng.normal(size=(200, 2)) @ [[1.0, 0.3], [0.0, 1e-2]]
    weight = rng.uniform(0.1, 3.0, 200)
    parts = zip(np.array_split(rows, pieces), np.array_split(weight, pieces), strict=True)
    summaries = [family.summarise(x, w) for x, w in parts]
    fitted = family.estimate(reduce(lambda left, right: right.merge(left), reversed(summaries)))
    for column in range(2):
        mean, scatter = oracle.weighted_moments(rows[:, column], weight)
        assert fitted.mean[column] == pytest.approx(mean, rel=1e-15)
        assert fitted.variance[column] == pytest.approx(scatter / weight.sum(), rel=1e-12)
    if family is MultivariateGaussian:
        # x y = ((x + y)² - (x - y)²) / 4, with sums of the rows that are exact
        x, y = (rows - 1e8).T
        plus, minus = (oracle.weighted_moments(x + sign * y, weight)[1] for sign in (1, -1))
        cross = (plus - minus) / 4 / weight.sum()
        assert fitted.covariance[0, 1] == pytest.approx(cross, rel=1e-10)


def test_a_feature_that_is_missing_is_left_out_of_the_sum():
    normal = DiagonalGaussian([0.0, 1.0, 2.0], [1.0, 4.0, 9.0])
    row = [0.3, np.nan, -5.0]
    expected = norm.logpdf([0.3, -5.0], [0.0, 2.0], [1.0, 3.0]).sum()
    assert normal.log_density(row) == pytest.approx(expected, rel=1e-14)
    assert normal.log_density([np.nan, np.inf, 0.0]) == -np.inf


@pytest.mark.parametrize("family", [Gaussian, Laplace])
def test_values_that_differ_by_rounding_only_are_constant(family):
    with pytest.raises(InputError, match="all values are equal, up to rounding"):
        family.fit([0.1 + 0.2, 0.3, 0.3])
    family.fit([0.3, 0.3 + 1e-10])
    with pytest.raises(InputError, match="up to 1e\\+100.*Got 1e\\+120 in row 1. Rescale"):
        family.fit([0.0, 1e120])


@pytest.mark.parametrize("family", [Gaussian, DiagonalGaussian, MultivariateGaussian])
def test_units_do_not_matter_until_squares_are_no_numbers(family):
    """Powers of two are exact; the variance must be within 1e-150 and 1e150."""
    rows = np.random.default_rng(0).normal(3.0, 1.0, (40, 2))
    fitted = family.fit(rows)
    for unit in (2.0**-200, 2.0**200):
        np.testing.assert_array_equal(family.fit(rows * unit).variance, fitted.variance * unit**2)
    for unit in (1e-90, 1e-170, 1e-300):
        halves = [family.summarise(part * unit) for part in np.array_split(rows, 2)]
        for summary in (family.summarise(rows * unit), halves[0].merge(halves[1])):
            with pytest.raises(InputError, match="squares are no longer numbers. Rescale the unit"):
                family.estimate(summary)


def _covariance(size, seed=0):
    root = np.random.default_rng(seed).normal(size=(size, size + 2))
    return root @ root.T


def _normal(size, seed=0):
    mean = np.random.default_rng(seed + 1).normal(size=size)
    return MultivariateGaussian(mean, _covariance(size, seed))


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_row_is_scored_by_what_is_observed_of_it_whatever_the_pattern(size):
    normal = _normal(size)
    full = np.random.default_rng(3).normal(size=size)
    patterns = np.array(list(product([False, True], repeat=size)))
    rows = np.where(patterns, np.nan, full)
    for missing, log in zip(patterns, normal.log_density(rows), strict=True):
        seen = ~missing
        sub = normal.covariance[np.ix_(seen, seen)]
        expected = (
            multivariate_normal.logpdf(full[seen], normal.mean[seen], sub) if seen.any() else 0
        )
        assert log == pytest.approx(expected, rel=1e-12, abs=0)


def test_patterns_differ_between_the_entries_of_a_batch():
    rng = np.random.default_rng(0)
    covariances = np.array([_covariance(4, seed) for seed in range(6)]).reshape(2, 3, 4, 4)
    batch = MultivariateGaussian(rng.normal(size=(2, 3, 4)), covariances)
    rows = rng.normal(size=(25, 2, 3, 4))
    rows[rng.random(rows.shape) < 0.4] = np.nan
    rows[0, 0, 0] = np.nan
    logs = batch.log_density(rows)
    for index in np.ndindex(2, 3):
        single = MultivariateGaussian(batch.mean[index], batch.covariance[index])
        here = (slice(None), *index)
        np.testing.assert_allclose(logs[here], single.log_density(rows[here]), rtol=1e-13)
    assert logs[0, 0, 0] == 0
    shared = batch.log_density(rows[:, :1, :1])
    np.testing.assert_allclose(shared[:, 0, 0], logs[:, 0, 0], rtol=1e-13)
    assert shared.shape == (25, 2, 3)


@pytest.mark.parametrize("far", [np.inf, -np.inf, 1e308])
def test_far_away_the_log_density_is_minus_infinity(far):
    normal = MultivariateGaussian([0.0, 0.0, 0.0], 1e-4 * (np.eye(3) + 1.0))
    for row in ([far, 0.0, 1.0], [far, -far, far], [far, np.nan, 0.0], [np.nan, far, far]):
        assert normal.log_density(row) == -np.inf
    near = normal.log_density([[far, 0.0, 1.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(near[1], normal.log_density([0.0, 0.0, 0.0]), rtol=1e-14)


def test_units_of_the_features_do_not_matter():
    """Scaling by powers of two is exact, and moves the log density by their logarithms."""
    normal, scale = _normal(3), np.array([2.0**60, 1.0, 2.0**-60])
    other = MultivariateGaussian(normal.mean * scale, normal.covariance * np.outer(scale, scale))
    rows = np.random.default_rng(0).normal(size=(9, 3))
    rows[4:, 1] = np.nan
    expected = normal.log_density(rows) - np.log(scale).sum()
    np.testing.assert_allclose(other.log_density(rows * scale), expected, rtol=1e-13)
    np.testing.assert_allclose(other.sample(9, 1), normal.sample(9, 1) * scale, rtol=1e-13)


def test_the_joint_density_is_the_marginal_times_the_conditional():
    normal = _normal(5)
    row = np.random.default_rng(8).normal(size=5)
    for pattern in product([False, True], repeat=5):
        missing = np.array(pattern)
        if not missing.any():
            continue
        given = np.where(missing, np.nan, row)
        conditional = normal.condition(given)
        total = conditional.log_density(row[missing])
        if not missing.all():
            total += normal.marginal(np.flatnonzero(~missing)).log_density(row[~missing])
        assert total == pytest.approx(float(normal.log_density(row)), rel=1e-12)


def test_a_nearly_certain_feature_keeps_a_small_variance():
    r = np.sqrt(1 - 2.0**-39)
    normal = MultivariateGaussian([0.0, 0.0], [[1.0, r], [r, 1.0]])
    left = (1 - r) * (1 + r)  # exact to rounding, where 1 - r² has the rounding of 1
    found = normal.condition([1.0, np.nan]).variance[0]
    assert found == pytest.approx(left, abs=2.0**-51)


def test_a_marginal_keeps_the_order_it_is_asked_for_and_the_batch():
    batch = MultivariateGaussian(np.tile([0.0, 1.0, 2.0], (2, 1)), _covariance(3))
    part = batch.marginal([2, 0])
    assert part.batch_shape == (2,)
    np.testing.assert_array_equal(part.mean[1], [2.0, 0.0])
    np.testing.assert_array_equal(part.covariance[1], _covariance(3)[np.ix_([2, 0], [2, 0])])
    with pytest.raises(ShapeError, match=r"a single distribution. Got a batch of shape \(2,\)"):
        batch.condition([0.0, np.nan, 0.0])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([], "needs a list of columns, at least one"),
        ([0.0], "must be whole numbers"),
        (1, "needs a list of columns"),
        ([True, False, True], "must be whole numbers"),
        ([0, 3], r"from 0 to 2. Got 3 at index \[1\]"),
        ([-1], "from 0 to 2"),
        ([1, 1], "each once"),
    ],
)
def test_columns_that_are_none_are_refused(columns, message):
    with pytest.raises(InputError, match=f"MultivariateGaussian.marginal .*{message}"):
        _normal(3).marginal(columns)


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([1.0, 2.0, 3.0], InputError, "Got no NaN"),
        ([np.inf, np.nan, 0.0], InputError, "Got infinity"),
        ([np.nan, 0.0], ShapeError, r"one value per feature, 3.*Got shape \(2,\)"),
        ([[np.nan, 0.0, 1.0]], ShapeError, r"Got shape \(1, 3\)"),
        (["a", "b", "c"], InputError, "must be numbers"),
    ],
)
def test_values_that_leave_nothing_open_or_fit_nothing_are_refused(values, error, message):
    with pytest.raises(error, match=message):
        _normal(3).condition(values)


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        ([[1.0, 0.5], [0.0, 1.0]], "must be symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], "positive definite. That of features 0 and 1 exceeds"),
        ([[1.0, 1.0], [1.0, 1.0]], "positive definite. With unit variances its least eigenvalue"),
        ([[1.0, 1 / 3], [1 / 3, 1 / 9]], "must be positive definite"),
        ([[1.0, 0.0], [0.0, 0.0]], "variance of MultivariateGaussian must be positive. Got 0"),
        ([[1.0, 0.0], [0.0, -1.0]], "variance of MultivariateGaussian must be positive. Got -1"),
        ([[1e-200, 0.0], [0.0, 1.0]], "Rescale the unit"),
        ([[1.0, 1e308], [1e308, 1.0]], "must be positive definite"),
        ([[1.0, 1e308], [-1e308, 1.0]], "must be symmetric"),
        ([[1.0, np.nan], [np.nan, 1.0]], "covariance of MultivariateGaussian must be finite"),
        (1.9 * np.eye(3) - 0.9, "least eigenvalue is -0.8"),  # 1 - 2 · 0.9
    ],
)
def test_what_is_no_covariance_is_refused(covariance, message):
    size = len(covariance)
    for given in (covariance, np.stack([np.eye(size), covariance])):
        with pytest.raises(InputError, match=message):
            MultivariateGaussian(np.zeros(size), given)


def test_asymmetry_within_rounding_is_evened_out():
    matrix = _covariance(4)
    matrix[0, 1] *= 1 + 4e-16
    normal = MultivariateGaussian(np.zeros(4), matrix)
    np.testing.assert_array_equal(normal.covariance, normal.covariance.T)


def test_samples_have_the_covariance():
    n, batch = 40_000, MultivariateGaussian([[0.0, 5.0], [1.0, 2.0]], [_covariance(2), np.eye(2)])
    draws = batch.sample(n, 3) - batch.mean
    cross = (draws[..., 0] * draws[..., 1]).mean(axis=0)
    # The product of two Gaussians has variance v0 v1 + c²; five standard errors are allowed.
    spread = batch.variance.prod(axis=-1) + batch.covariance[:, 0, 1] ** 2
    assert (np.abs(cross - batch.covariance[:, 0, 1]) < 5 * np.sqrt(spread / n)).all()


def test_rows_with_missing_entries_are_refused_with_their_number_and_a_way_out():
    rows = np.random.default_rng(0).normal(size=(9, 2))
    rows[4, 1] = np.nan
    message = "summarise needs rows without missing values. Got NaN in row 4.*GaussianClassifier"
    with pytest.raises(InputError, match=message):
        MultivariateGaussian.fit(rows)
    weight = np.ones(9)
    weight[:3] = 0
    with pytest.raises(InputError, match="in row 4"):
        MultivariateGaussian.fit(rows, weight)
    weight[4] = 0
    assert MultivariateGaussian.summarise(rows, weight).weight == 5
    with pytest.raises(InputError, match=r"in row 3, column \[1\]"):
        MultivariateGaussian.fit(np.where(np.arange(36).reshape(9, 2, 2) == 15, np.nan, 1.0))


def test_columns_that_are_combinations_of_others_are_named():
    rows = np.random.default_rng(0).normal(size=(40, 4)) * [1.0, 1e6, 1e-6, 1.0]
    rows[:, 3] = rows[:, 1] - 1e12 * rows[:, 2]
    message = r"column (1|2|3) is, to rounding, a combination of .*1 of 4 columns"
    with pytest.raises(NumericalError, match=message) as caught:
        MultivariateGaussian.fit(rows)
    assert "MultivariateGaussian.estimate: the covariance of 'the rows' is singular" in str(
        caught.value
    )
    assert "a combination of 0" not in str(caught.value)
    assert "fit a credo.GaussianClassifier, which can shrink." in str(caught.value)
    groups = np.zeros(40, dtype=int)
    with pytest.raises(NumericalError, match=r"the covariance of 'index \[0\]' is singular"):
        MultivariateGaussian.estimate(MultivariateGaussian.summarise(rows, groups=groups))


def test_too_few_rows_are_refused_and_told_how_many_are_needed():
    rows = np.random.default_rng(0).normal(size=(4, 4))
    with pytest.raises(NumericalError, match=r"add rows \(at least 5 are needed\)"):
        MultivariateGaussian.fit(rows)
    assert MultivariateGaussian.fit(np.vstack([rows, rows[0] ** 2])).batch_shape == ()


def test_classes_given_as_distributions_have_the_errors_of_their_means_and_covariances():
    pairs = {"a": ([0.0, 0.0], np.eye(2)), "b": ([0.0, 2.0], np.eye(2))}
    normals = {name: MultivariateGaussian(*pair) for name, pair in pairs.items()}
    exact = bayes_error(normals, [0.5, 0.5])
    assert exact == bayes_error(pairs, [0.5, 0.5])
    assert exact.value == pytest.approx(norm.cdf(-1.0), rel=1e-13)
    # Equal covariances: the distance is d² / 8, and the bound half of exp(-d² / 8).
    assert bhattacharyya_bound(normals, [0.5, 0.5]) == pytest.approx(0.5 * np.exp(-0.5), rel=1e-13)


def test_a_batch_is_no_class():
    batch = MultivariateGaussian(np.zeros((2, 2)), np.eye(2))
    with pytest.raises(ShapeError, match=r"'b' needs a mean of shape \(d,\)"):
        bayes_error({"a": MultivariateGaussian(np.zeros(2), np.eye(2)), "b": batch}, [0.5, 0.5])


def test_a_laplace_scale_is_raised_where_it_is_below_the_least():
    summary = Laplace.summarise([[1.0, 10.0], [2.0, 10.0], [6.0, 10.0]])
    np.testing.assert_allclose(Laplace.estimate(summary, [0.1, 0.5]).scale, [5 / 3, 0.5])
    np.testing.assert_allclose(Laplace.estimate(summary, 3.0).location, [2.0, 10.0])
    with pytest.raises(InputError, match="least_scale"):
        Laplace.estimate(summary, np.nan)
