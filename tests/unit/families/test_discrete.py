"""Bernoulli, Categorical, Multinomial and Poisson: edges, smoothing, counts."""

import numpy as np
import pytest
from scipy import stats

from credo.exceptions import InputError, ShapeError
from credo.families import Bernoulli, Categorical, Multinomial, Poisson

SMOOTHED = [
    (Bernoulli, [1, 1, 0, 1]),
    (Categorical, [2, 0, 2, 1]),
    (Multinomial, [[2, 0, 3], [1, 1, 0]]),
]


class _Highest(np.random.Generator):
    """Draws the largest number below one."""

    def random(self, size):
        return np.full(size, np.nextafter(1.0, 0.0))


# --- the edge of the parameters --------------------------------------------------------------


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


# --- tails -----------------------------------------------------------------------------------


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


# --- smoothing -------------------------------------------------------------------------------


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


# --- categories ------------------------------------------------------------------------------


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


def test_batches_that_saw_different_categories_merge():
    few, many = Categorical.summarise([0, 0]), Categorical.summarise([3, 1])
    np.testing.assert_array_equal(few.merge(many).counts, [2, 1, 0, 1])
    np.testing.assert_array_equal(many.merge(few).counts, [2, 1, 0, 1])


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


def test_categorical_statistics_name_a_code_too_large():
    with pytest.raises(InputError, match="codes from 0 to 1. Got 2"):
        Categorical([0.5, 0.5]).sufficient_statistics([0, 2])


# --- draws and rows --------------------------------------------------------------------------


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
