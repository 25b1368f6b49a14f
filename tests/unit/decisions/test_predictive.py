"""Samples and Quantiles: what they accept, and what follows from them exactly."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.cases import LOSSES
from tests.oracles import values as oracle

from credo import decide_value
from credo.decisions import (
    Absolute,
    Linex,
    Pinball,
    Quantiles,
    Samples,
    Squared,
    ZeroOne,
)
from credo.exceptions import InputError, ShapeError

DRAWS = np.random.default_rng(5).gamma(2.0, size=60).round(3)
WEIGHTS = np.random.default_rng(6).integers(0, 4, size=60).astype(float)
LEVELS = [0.05, 0.2, 0.5, 0.8, 0.95]
CUTS = [-1.0, 0.5, 1.0, 3.0, 7.0]

WHOLE = st.lists(st.integers(-20, 20), min_size=1, max_size=9)


@st.composite
def weighted_wholes(draw):
    """Whole numbers with whole weights, some of them zero."""
    values = draw(WHOLE)
    weight = st.lists(st.integers(0, 5), min_size=len(values), max_size=len(values))
    return values, draw(weight.filter(any))


class TestSamples:
    @pytest.mark.parametrize("name", LOSSES)
    def test_have_no_better_value_than_the_chosen_one(self, name):
        w = WEIGHTS / WEIGHTS.sum()

        def risk(v):
            return oracle.expected_of_atoms(DRAWS, w, oracle.LOSSES[name], v)

        chosen = decide_value(Samples(DRAWS, WEIGHTS), LOSSES[name])
        best = oracle.best_by_grid(risk, DRAWS.min() - 3, DRAWS.max() + 3)
        assert chosen.expected_loss == pytest.approx(risk(chosen.value), rel=1e-12)
        assert risk(chosen.value) <= risk(best) * (1 + 1e-12)
        assert chosen.value == pytest.approx(best, abs=1e-5)

    @given(weighted_wholes(), st.integers(1, 19))
    def test_have_the_lower_quantile_exactly(self, case, twentieth):
        values, weights = case
        masses = [Fraction(w, sum(weights)) for w in weights]
        level = Fraction(twentieth, 20)
        total, expected = Fraction(0), None
        for value, mass in sorted(zip(values, masses, strict=True)):
            total += mass
            if mass and total >= level and expected is None:
                expected = value
        assert decide_value(Samples(values, weights), Pinball(float(level))).value == expected

    def test_reach_a_level_that_rounding_just_misses(self):
        assert np.cumsum(np.full(10, 0.1))[7] < 0.8
        assert decide_value(Samples(np.arange(10.0), np.full(10, 0.1)), Pinball(0.8)).value == 7.0

    def test_without_weight_are_never_chosen(self):
        draws = Samples([-9.0, 1.0, 9.0], [0.0, 1.0, 0.0])
        for loss in [*LOSSES.values(), Pinball(1e-17), Pinball(1 - 1e-16), ZeroOne(0.0)]:
            assert decide_value(draws, loss).value == 1.0
            assert decide_value(draws, loss).expected_loss == 0.0

    @given(weighted_wholes(), st.integers(0, 12))
    def test_have_the_heaviest_window(self, case, width):
        values, weights = case
        chosen = decide_value(Samples(values, weights), ZeroOne(width))

        def inside(v):
            pairs = zip(values, weights, strict=True)
            return sum(w for t, w in pairs if abs(t - v) <= width / 2) / sum(weights)

        candidates = np.arange(-30, 30.25, 0.25)
        best = max(inside(v) for v in candidates)
        assert inside(chosen.value) == pytest.approx(best, abs=1e-12)
        assert chosen.expected_loss == pytest.approx(1 - best, abs=1e-12)

    def test_forgive_rounding_at_the_ends_of_the_window(self):
        chosen = decide_value(Samples([0.1, 0.4, 9.0]), ZeroOne(0.3))  # 0.4 - 0.1 > 0.3 in binary
        assert chosen.value == pytest.approx(0.25)
        assert chosen.expected_loss == pytest.approx(1 / 3)
        assert ZeroOne(0.3)(chosen.value, [0.1, 0.4, 9.0]).tolist() == [0.0, 0.0, 1.0]

    def test_of_many_rows_are_decided_one_by_one(self):
        rows = np.random.default_rng(1).normal(size=(4, 25))
        weights = np.random.default_rng(2).uniform(size=(4, 25))
        for loss in [*LOSSES.values(), ZeroOne(0.5), lambda v, t: np.abs(v - t) ** 1.5]:
            many = decide_value(Samples(rows, weights), loss)
            single = [decide_value(Samples(x, w), loss) for x, w in zip(rows, weights, strict=True)]
            assert many.value == pytest.approx([d.value for d in single], rel=1e-14)
            assert many.expected_loss == pytest.approx([d.expected_loss for d in single], rel=1e-14)

    def test_may_share_one_row_of_weights(self):
        rows = np.arange(6.0).reshape(2, 3)
        shared = decide_value(Samples(rows, [1, 0, 1]), Squared())
        assert shared.value.tolist() == [1.0, 4.0]
        assert shared.expected_loss.tolist() == [1.0, 1.0]

    def test_with_a_large_offset_keep_their_digits(self):
        chosen = decide_value(Samples(np.array([1.0, 2.0, 3.0]) + 2.0**40), Squared())
        assert chosen.value == 2.0**40 + 2
        assert chosen.expected_loss == pytest.approx(2 / 3, rel=1e-12)

    @pytest.mark.parametrize("a", [1e-12, 1e-6, -1e-6])
    def test_under_a_weak_linex_are_nearly_squared(self, a):
        chosen = decide_value(Samples([0.0, 1.0, 5.0]), Linex(a))
        variance = 14 / 3  # (4 + 1 + 9) / 3
        assert chosen.value == pytest.approx(2 - a * variance / 2, abs=1e-14 + 10 * a * a)
        assert chosen.expected_loss == pytest.approx(a * a * variance / 2, rel=1e-5)

    def test_under_a_strong_linex_do_not_overflow(self):
        chosen = decide_value(Samples([-2000.0, 0.0]), Linex(1.0))
        assert chosen.value == pytest.approx(-2000 + math.log(2), rel=1e-14)
        assert chosen.expected_loss == pytest.approx(1000 - math.log(2), rel=1e-14)

    def test_of_no_rows_give_no_decisions(self):
        for loss in ["squared", "absolute", ZeroOne(1.0), Linex(1.0), lambda v, t: (v - t) ** 2]:
            assert decide_value(Samples(np.empty((0, 3))), loss).value.shape == (0,)

    def test_do_not_change_with_the_array_they_were_made_from(self):
        array = np.array([1.0, 2.0])
        draws = Samples(array)
        array[0] = 9
        assert draws.values.tolist() == [1.0, 2.0]
        with pytest.raises(ValueError, match="read-only"):
            draws.values[0] = 3


class TestQuantiles:
    @pytest.mark.parametrize("name", LOSSES)
    def test_have_no_better_value_than_the_chosen_one(self, name):
        def risk(v):
            return oracle.expected_of_quantiles(LEVELS, CUTS, oracle.LOSSES[name], v)

        chosen = decide_value(Quantiles(LEVELS, CUTS), LOSSES[name])
        best = oracle.best_by_grid(risk, -5, 12, rounds=9)
        assert chosen.expected_loss == pytest.approx(risk(chosen.value), rel=1e-10)
        assert chosen.value == pytest.approx(best, abs=2e-5)

    def test_return_the_given_value_at_a_given_level(self):
        for level, value in zip(LEVELS, CUTS, strict=True):
            chosen = decide_value(Quantiles(LEVELS, CUTS), Pinball(level)).value
            assert chosen == pytest.approx(value, abs=1e-14)
        assert decide_value(Quantiles(LEVELS, CUTS), Pinball(0.01)).value == CUTS[0]
        assert decide_value(Quantiles(LEVELS, CUTS), Pinball(0.99)).value == CUTS[-1]

    def test_with_all_the_mass_inside_are_a_uniform_distribution(self):
        uniform = Quantiles([0.0, 1.0], [2.0, 4.0])
        assert decide_value(uniform, Squared()).to_dict() == pytest.approx(
            {"value": 3.0, "expected_loss": 1 / 3}
        )
        assert decide_value(uniform, Absolute()).expected_loss == pytest.approx(0.5)
        linex = decide_value(uniform, Linex(2.0))
        expected = -0.5 * math.log((math.exp(-4) - math.exp(-8)) / 4)
        assert linex.value == pytest.approx(expected, rel=1e-14)
        assert linex.expected_loss == pytest.approx(2 * (3 - expected), rel=1e-13)

    @pytest.mark.parametrize("a", [1e-9, 1e-4, 0.999, 1.001, 300.0])
    def test_keep_the_digits_of_a_weak_and_of_a_strong_linex(self, a):
        chosen = decide_value(Quantiles([0.0, 1.0], [-1.0, 1.0]), Linex(a))
        # log(sinh(a) / a), by its series where sinh(a) / a is nearly one.
        exact = (
            a * a / 6 - a**4 / 180
            if a < 0.01
            else a + math.log(-math.expm1(-2 * a)) - math.log(2 * a)
        )
        assert chosen.expected_loss == pytest.approx(exact, rel=1e-12)
        assert chosen.value == pytest.approx(-exact / a, rel=1e-12)

    @pytest.mark.parametrize("width", [0.4, 1.0, 2.5, 20.0])
    def test_have_the_most_probable_interval(self, width):
        chosen = decide_value(Quantiles(LEVELS, CUTS), ZeroOne(width))

        def outside(v):
            low, high = v - width / 2, v + width / 2
            middle = np.interp(high, CUTS, LEVELS) - np.interp(low, CUTS, LEVELS)
            ends = LEVELS[0] * (low <= CUTS[0] <= high) + 0.05 * (low <= CUTS[-1] <= high)
            return 1 - middle - ends

        best = min(outside(v) for v in np.arange(-12, 20, 0.05).round(2))
        assert chosen.expected_loss == pytest.approx(best, abs=1e-12)
        assert outside(chosen.value) == pytest.approx(best, abs=1e-9)

    def test_have_their_mode_in_the_middle_of_the_steepest_piece(self):
        chosen = decide_value(Quantiles(LEVELS, CUTS), ZeroOne())
        assert chosen.value == 0.75  # 0.3 of mass between 0.5 and 1.0
        assert chosen.expected_loss == pytest.approx(1.0)

    def test_have_their_mode_where_a_value_is_repeated(self):
        repeated = Quantiles([0.1, 0.2, 0.5, 0.6, 0.9], [0.0, 0.0, 2.0, 2.0, 2.0])
        chosen = decide_value(repeated, ZeroOne())
        assert chosen.value == 2.0
        assert chosen.expected_loss == pytest.approx(0.5)  # from 0.5 up to 1 sits at 2
        assert decide_value(repeated, Pinball(0.7)).value == 2.0

    def test_with_repeated_values_agree_with_the_search(self):
        repeated = Quantiles([0.1, 0.2, 0.5, 0.6, 0.9], [0.0, 0.0, 2.0, 2.0, 5.0])
        for loss in LOSSES.values():
            closed = decide_value(repeated, loss)
            searched = decide_value(repeated, loss.__call__)
            assert searched.value == pytest.approx(closed.value, abs=2e-6)
            assert searched.expected_loss == pytest.approx(closed.expected_loss, rel=1e-10)

    def test_that_are_all_alike_leave_no_doubt(self):
        certain = Quantiles([0.1, 0.9], [3.0, 3.0])
        for loss in [*LOSSES.values(), ZeroOne(), ZeroOne(1.0)]:
            closed = decide_value(certain, loss)
            assert closed.expected_loss == pytest.approx(0.0, abs=1e-15)
        assert decide_value(certain, lambda v, t: (v - t) ** 2).value == 3.0

    def test_of_many_rows_are_decided_one_by_one(self):
        rows = np.sort(np.random.default_rng(3).normal(size=(5, 5)), axis=1)
        for loss in [*LOSSES.values(), ZeroOne(0.5), ZeroOne()]:
            many = decide_value(Quantiles(LEVELS, rows), loss)
            single = [decide_value(Quantiles(LEVELS, row), loss) for row in rows]
            assert many.value == pytest.approx([d.value for d in single], rel=1e-13)
            assert many.expected_loss == pytest.approx([d.expected_loss for d in single], rel=1e-13)


def test_they_show_their_size():
    assert repr(Samples([1, 2])) == "Samples(2 draws)"
    assert repr(Samples([[1, 2]], [1, 2])) == "Samples(2 weighted draws for each of 1 rows)"
    assert repr(Quantiles(LEVELS, CUTS)) == "Quantiles(5 levels)"
    assert repr(Quantiles(LEVELS, [CUTS])) == "Quantiles(5 levels for each of 1 rows)"


ASCENDING, PAIRS = "strictly increasing from at least 0 to at most 1", [[1.0, 2.0], [1.0, 2.0]]


@pytest.mark.parametrize(
    ("make", "given", "error", "message"),
    [
        (Samples, ([1.0, math.nan],), InputError, "values of Samples must be finite. Got nan at"),
        (Samples, ([],), ShapeError, r"\(S,\) or \(n, S\) with at least one draw"),
        (Samples, ([[[1.0]]],), ShapeError, r"Got shape \(1, 1, 1\)"),
        (Samples, ([1.0, 2.0], [1, 2, 3]), ShapeError, r"\(2,\), one for each draw.*Got shape \(3"),
        (Samples, (PAIRS, [[1, 2], [1, -2]]), InputError, "negative weight in row 1"),
        (Samples, ([1.0, 2.0], [0, 0]), InputError, "sum of 0 in row 0"),
        (Samples, ([1.0, 2.0], [1e308, 1e308]), InputError, "finite sum. Got a sum of inf"),
        *(
            (Quantiles, (levels, [1.0, 2.0]), InputError, ASCENDING)
            for levels in ([0.5, 0.5], [0.9, 0.1], [-0.1, 0.5], [0.5, 1.1])
        ),
        (Quantiles, ([0.1, 0.9], [2.0, 1.0]), InputError, "Got 2 before 1. Sort each row"),
        (Quantiles, ([0.1, 0.9], [[1, 2], [5, 4]]), InputError, r"Got 5 before 4 \(row 1\)"),
        (Quantiles, ([0.1, 0.9], [1.0, 2.0, 3.0]), ShapeError, "2 levels but 3 values per row"),
        (Quantiles, ([0.5], [1.0]), ShapeError, r"least two.*Got shapes \(1,\) and \(1,\)"),
        (Quantiles, ([0.1, 0.9], 1.0), ShapeError, r"and \(\)"),
    ],
    ids=range(16),
)
def test_what_is_no_predictive_is_refused(make, given, error, message):
    with pytest.raises(error, match=message):
        make(*given)
