"""The best number under a loss: closed forms, integrals, and the search for any loss."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from scipy.optimize import brentq
from tests.cases import LOSSES
from tests.oracles import values as oracle

import credo
from credo import decide_value
from credo.decisions import (
    Absolute,
    AsymmetricLinear,
    Linex,
    Pinball,
    Quantiles,
    Samples,
    Squared,
    SquaredSplit,
    ZeroOne,
    split_squared,
)
from credo.exceptions import InputError, LabelError, NumericalError, ShapeError
from credo.families import Gaussian

DENSITIES = {
    "gaussian": (stats.norm(3, 2), [-40, -5, 3, 11, 46]),
    "gamma": (stats.gamma(2.5), [0, 1, 4, 15, 120]),
    "gumbel": (stats.gumbel_l(), [-150, -40, -8, -1, 2, 5]),
    "beta": (stats.beta(2, 5), [0, 0.2, 1]),
    "triangular": (stats.triang(0.3), [0, 0.3, 1]),
    "laplace": (stats.laplace(1, 0.5), [-25, -2, 1, 4, 27]),
}
#: The losses that SciPy's distributions take too.
PLAIN = [name for name in LOSSES if "linex" not in name]
PREDICTIVES = {
    "gaussian": Gaussian(3.0, 4.0),
    "samples": Samples(np.random.default_rng(0).gamma(2.0, size=51)),
    "quantiles": Quantiles([0.1, 0.3, 0.6, 0.9], [-1.0, 0.0, 2.0, 5.0]),
    "scipy": stats.gamma(2.0),
    "discrete": stats.binom(12, 0.3),
}


def _moved(name, shift, scale):
    """The same predictive in other units: truth * scale + shift."""
    return {
        "gaussian": lambda: Gaussian(3.0 * scale + shift, 4.0 * scale**2),
        "samples": lambda: Samples(PREDICTIVES["samples"].values * scale + shift),
        "quantiles": lambda: Quantiles(
            PREDICTIVES["quantiles"].levels, PREDICTIVES["quantiles"].values * scale + shift
        ),
        "scipy": lambda: stats.gamma(2.0, loc=shift, scale=scale),
    }[name]()


class TestLosses:
    @pytest.mark.parametrize("name", LOSSES)
    def test_are_functions_of_value_and_truth(self, name):
        truths = np.linspace(-3, 3, 13)
        expected = [oracle.LOSSES[name](0.5, t) for t in truths]
        assert LOSSES[name](0.5, truths) == pytest.approx(expected, rel=1e-13)
        assert LOSSES[name](0.5, [0.5])[0] == 0.0

    def test_zero_one_forgives_half_a_width(self):
        assert ZeroOne(2.0)(1.0, [-0.5, 0.0, 1.5, 2.0, 2.5]).tolist() == [1, 0, 0, 0, 1]
        assert ZeroOne()(1.0, [1.0, 1.001]).tolist() == [0, 1]

    def test_asymmetric_linear_is_a_multiple_of_pinball(self):
        truths = np.linspace(-3, 3, 13)
        assert AsymmetricLinear(3, 1)(0.2, truths) == pytest.approx(4 * Pinball(0.75)(0.2, truths))

    def test_linex_is_exact_near_the_truth_and_infinite_far_away(self):
        assert Linex(1.0)(1e-9, 0.0) == pytest.approx(0.5e-18, rel=1e-8)
        assert Linex(1.0)(1000.0, 0.0) == math.inf
        assert Linex(1.0)(-1000.0, 0.0) == pytest.approx(999.0, rel=1e-14)

    def test_compare_by_their_parameters(self):
        assert Pinball(0.5) == Pinball(0.5) != Pinball(0.6)
        assert repr(AsymmetricLinear(2, 1)) == "AsymmetricLinear(under=2.0, over=1.0)"

    @pytest.mark.parametrize("q", [0, 1, -0.1, 2])
    def test_pinball_needs_a_level_inside_the_unit_interval(self, q):
        with pytest.raises(InputError, match="level q of Pinball must be strictly between 0 and 1"):
            Pinball(q)

    def test_asymmetric_linear_needs_two_prices(self):
        with pytest.raises(InputError, match="'under' of AsymmetricLinear must be positive. Got 0"):
            AsymmetricLinear(under=0, over=1)
        with pytest.raises(InputError, match="'over' of AsymmetricLinear must be positive. Got -1"):
            AsymmetricLinear(under=1, over=-1)

    def test_zero_one_needs_a_width(self):
        with pytest.raises(InputError, match="width of ZeroOne must be at least 0. Got -1"):
            ZeroOne(-1)

    def test_linex_needs_an_asymmetry(self):
        with pytest.raises(InputError, match=r"must not be 0.*Use Squared\(\)"):
            Linex(0)
        with pytest.raises(InputError, match="asymmetry a of Linex must be finite"):
            Linex(math.inf)


class TestGaussians:
    def test_have_closed_forms(self):
        p = Gaussian(3.0, 4.0)
        z = stats.norm.ppf(0.8)
        for loss, value, expected in [
            (Squared(), 3.0, 4.0),
            (Absolute(), 3.0, 2 * math.sqrt(2 / math.pi)),
            (Pinball(0.8), 3 + 2 * z, 2 * stats.norm.pdf(z)),
            (ZeroOne(1.0), 3.0, 2 * stats.norm.cdf(-0.25)),
            (ZeroOne(), 3.0, 1.0),
            (Linex(0.5), 3 - 0.5 * 4 / 2, 0.25 * 4 / 2),
        ]:
            chosen = decide_value(p, loss)
            assert chosen.value == pytest.approx(value, rel=1e-14)
            assert chosen.expected_loss == pytest.approx(expected, rel=1e-14)

    def test_come_in_arrays_of_any_shape(self):
        mean, variance = np.arange(6.0).reshape(2, 3), np.full((2, 3), 4.0)
        for loss in [*LOSSES.values(), ZeroOne(1.0)]:
            many = decide_value(Gaussian(mean, variance), loss)
            one = decide_value(Gaussian(5.0, 4.0), loss)
            assert many.value.shape == (2, 3)
            assert many.value[1, 2] == pytest.approx(one.value, rel=1e-14)
            assert many.expected_loss == pytest.approx(np.full((2, 3), one.expected_loss))

    def test_in_arrays_are_searched_row_by_row(self):
        many = decide_value(Gaussian([0.0, 10.0], [1.0, 9.0]), Pinball(0.8).__call__)
        assert many.value == pytest.approx(stats.norm.ppf(0.8, [0, 10], [1, 3]), abs=3e-6)

    @pytest.mark.parametrize("name", LOSSES)
    def test_agree_with_the_search_for_any_loss(self, name):
        closed = decide_value(Gaussian(1e4, 4.0), LOSSES[name])
        searched = decide_value(Gaussian(1e4, 4.0), LOSSES[name].__call__)
        assert searched.value == pytest.approx(closed.value, abs=2e-6)
        assert searched.expected_loss == pytest.approx(closed.expected_loss, rel=1e-10)


class TestDensities:
    @pytest.mark.parametrize("name", PLAIN)
    @pytest.mark.parametrize("density", DENSITIES)
    def test_agree_with_a_search_by_quadrature(self, density, name):
        distribution, cuts = DENSITIES[density]
        chosen = decide_value(distribution, LOSSES[name])

        def risk(v):
            return oracle.expected_of_density(distribution.pdf, oracle.LOSSES[name], v, cuts)

        best = risk(chosen.value)
        step = 1e-3 * distribution.std()
        assert chosen.expected_loss == pytest.approx(best, rel=1e-8)
        assert best < risk(chosen.value - step)
        assert best < risk(chosen.value + step)

    @pytest.mark.parametrize("name", PLAIN)
    @pytest.mark.parametrize("density", ["gamma", "triangular"])
    def test_agree_with_the_search_for_any_loss(self, density, name):
        distribution, _ = DENSITIES[density]
        closed = decide_value(distribution, LOSSES[name])
        searched = decide_value(distribution, LOSSES[name].__call__)
        assert searched.value == pytest.approx(closed.value, abs=1e-6 * distribution.std())
        assert searched.expected_loss == pytest.approx(closed.expected_loss, rel=1e-9)

    def test_have_known_answers(self):
        # An exponential distribution with mean 2: median and expected loss are 2 log 2.
        chosen = decide_value(stats.expon(scale=2), Absolute())
        assert chosen.value == pytest.approx(2 * math.log(2), rel=1e-14)
        assert chosen.expected_loss == pytest.approx(2 * math.log(2), rel=1e-12)
        arcsine = decide_value(stats.beta(0.5, 0.5), Absolute())  # has poles at both ends
        assert arcsine.expected_loss == pytest.approx(1 / math.pi, rel=1e-7)

    @pytest.mark.parametrize(
        "distribution", [stats.gamma(4), stats.gamma([4, 5]), stats.poisson(3)]
    )
    def test_are_drawn_from_for_linex_and_for_the_best_interval(self, distribution):
        with pytest.raises(InputError, match=r"^Linex\(a=0.7\) needs .*Draw from it.*Samples\("):
            decide_value(distribution, Linex(0.7))
        if hasattr(distribution.dist, "pdf"):
            with pytest.raises(InputError, match=r"^ZeroOne\(width=1\) needs a Gaussian, Samples"):
                decide_value(distribution, ZeroOne(1.0))

    @pytest.mark.parametrize("a", [1e-8, 1.0, 100.0, -1e4])
    def test_far_in_a_gaussian_tail_keep_linex_exact(self, a):
        chosen = decide_value(stats.norm(1, 2), Linex(a))
        assert chosen.value == pytest.approx(1 - 2 * a, rel=1e-10)
        assert chosen.expected_loss == pytest.approx(2 * a * a, rel=1e-10)

    @pytest.mark.parametrize(
        ("distribution", "mode"),
        [
            (stats.gamma(4), 3.0),
            (stats.lognorm(0.8), math.exp(-0.64)),
            (stats.expon(2.0), 2.0),
            (stats.gamma(0.5), 0.0),
            (stats.triang(0.3), 0.3),
            (stats.cauchy(5), 5.0),
        ],
    )
    def test_have_their_mode_where_the_density_is_highest(self, distribution, mode):
        chosen = decide_value(distribution, ZeroOne())
        assert chosen.value == pytest.approx(mode, abs=1e-6)
        assert chosen.expected_loss == 1.0

    def test_with_heavy_tails_have_quantiles_but_no_mean(self):
        median = decide_value(stats.cauchy(2), Absolute())
        assert median.value == pytest.approx(2.0)
        assert median.expected_loss == math.inf
        pareto = decide_value(stats.pareto(1.5), Absolute())
        assert pareto.expected_loss == pytest.approx(3 * (2 ** (2 / 3) - 1), rel=1e-9)

    def test_without_a_variance_have_no_squared_loss(self):
        with pytest.raises(
            NumericalError, match=r"has mean nan and variance nan. Use Absolute\(\)"
        ):
            decide_value(stats.cauchy(), Squared())
        with pytest.raises(NumericalError, match="predictive of row 1 has mean 0 and variance inf"):
            decide_value(stats.t([5.0, 2.0]), Squared())

    def test_that_nearly_lack_a_mean_are_refused_rather_than_rounded(self):
        with pytest.raises(NumericalError, match="grows too fast for the tails"):
            decide_value(stats.t(1.01), Absolute())

    def test_without_spread_in_double_precision_are_refused(self):
        with pytest.raises(NumericalError, match="quantiles of the predictive are all equal"):
            decide_value(stats.laplace(1e20, 1), Absolute())

    def test_with_arrays_of_parameters_are_rows(self):
        rows = stats.norm([0.0, 1.0, 2.0], scale=[[1.0], [2.0]])
        for loss in [*LOSSES.values(), ZeroOne(1.0)]:
            many = decide_value(rows, loss)
            assert many.value.shape == (2, 3)
            one = decide_value(Gaussian(2.0, 4.0), loss)
            assert many.value[1, 2] == pytest.approx(one.value, abs=1e-8)
            assert many.expected_loss[1, 2] == pytest.approx(one.expected_loss, rel=1e-9)
        searched = decide_value(stats.expon([0.0, 5.0]), Absolute().__call__)
        assert searched.value == pytest.approx([math.log(2), 5 + math.log(2)], abs=2e-6)


class TestDiscreteDistributions:
    @pytest.mark.parametrize("name", PLAIN)
    @pytest.mark.parametrize(
        "distribution",
        [stats.poisson(4.3), stats.binom(12, 0.3), stats.poisson(2.0, loc=0.5)],
        ids=["poisson", "binomial", "shifted"],
    )
    def test_are_sums_over_their_support(self, distribution, name):
        atoms = distribution.support()[0] + np.arange(90.0)
        masses = distribution.pmf(atoms)

        def risk(v):
            return oracle.expected_of_atoms(atoms, masses, oracle.LOSSES[name], v)

        chosen = decide_value(distribution, LOSSES[name])
        assert chosen.expected_loss == pytest.approx(risk(chosen.value), rel=1e-11)
        assert risk(chosen.value) <= risk(oracle.best_by_grid(risk, -5, 15)) * (1 + 1e-12)
        searched = decide_value(distribution, LOSSES[name].__call__)
        assert searched.expected_loss == pytest.approx(chosen.expected_loss, rel=1e-10)

    def test_have_their_mode_at_the_most_probable_number(self):
        chosen = decide_value(stats.poisson(4.3), ZeroOne())
        assert chosen.value == 4.0
        assert chosen.expected_loss == pytest.approx(1 - stats.poisson.pmf(4, 4.3), rel=1e-12)

    def test_with_two_endless_sides_are_summed_on_both(self):
        chosen = decide_value(stats.skellam(3.0, 2.0), Absolute())
        atoms = np.arange(-60.0, 60.0)
        expected = np.sum(stats.skellam.pmf(atoms, 3.0, 2.0) * np.abs(atoms - 1))
        assert chosen.value == 1.0
        assert chosen.expected_loss == pytest.approx(expected, rel=1e-10)

    def test_with_arrays_of_parameters_are_rows(self):
        many = decide_value(stats.binom(n=[4, 8], p=0.5), ZeroOne(2.0))
        assert many.value.tolist() == [2.0, 4.0]
        assert many.expected_loss == pytest.approx([1 - 14 / 16, 1 - (70 + 56 + 56) / 256])

    def test_that_spread_too_far_are_refused(self):
        with pytest.raises(NumericalError, match="spreads over more than 1048576 numbers"):
            decide_value(stats.zipf(2.0), Absolute())

    def test_between_the_whole_numbers_are_refused(self):
        halves = stats.rv_discrete(values=([0, 0.5, 1], [0.25, 0.5, 0.25]))
        with pytest.raises(InputError, match=r"sum to 0.5, not to 1. Pass Samples\("):
            decide_value(halves, Absolute())

    def test_refuse_a_loss_that_outgrows_their_tail(self):
        with pytest.raises(NumericalError, match="grows too fast for the tails"):
            decide_value(stats.geom(0.2), Linex(-0.3).__call__)


class TestAnyLoss:
    def test_finds_an_expectile(self):
        def steep(value, truth):
            return np.where(truth > value, 10.0, 1.0) * (truth - value) ** 2

        def balance(z):
            above = stats.norm.pdf(z) - z * stats.norm.sf(z)
            return 10 * above - (above + z)

        expected = 20 + 3 * brentq(balance, -3, 3)
        assert decide_value(Gaussian(20.0, 9.0), steep).value == pytest.approx(expected, abs=3e-6)
        assert decide_value(stats.norm(20, 3), steep).value == pytest.approx(expected, abs=3e-6)

    def test_finds_the_better_of_two_minima(self):
        def saturated(value, truth):
            return 1 - np.exp(-((value - truth) ** 2))

        draws = Samples([-3.0, -3.1, -2.9, 5.0, 5.05, 4.95, 5.0])
        assert decide_value(draws, saturated).value == pytest.approx(5.0, abs=0.01)
        assert decide_value(stats.cauchy(7), saturated).value == pytest.approx(7.0, abs=1e-5)

    def test_may_lie_far_outside_the_predictive(self):
        chosen = decide_value(Gaussian(0.0, 1.0), lambda v, t: (v - t - 1000.0) ** 2)
        assert chosen.value == pytest.approx(1000.0, abs=1e-6)
        chosen = decide_value(Samples([0.0, 1.0]), lambda v, t: (v - t + 1000.0) ** 2)
        assert chosen.value == pytest.approx(-999.5, abs=1e-6)

    def test_may_be_flat_or_negative(self):
        assert decide_value(Gaussian(0.0, 1.0), lambda _, t: 0 * t).expected_loss == 0.0
        chosen = decide_value(Gaussian(0.0, 1.0), lambda v, t: -np.exp(-0.5 * (v - t) ** 2))
        assert chosen.expected_loss == pytest.approx(-math.sqrt(0.5), rel=1e-10)

    def test_may_jump(self):
        gamma = stats.gamma(4)
        centre = brentq(lambda v: gamma.pdf(v + 1) - gamma.pdf(v - 1), 1, 4)
        searched = decide_value(gamma, ZeroOne(2.0).__call__)
        assert searched.value == pytest.approx(centre, abs=2e-2)
        best = gamma.cdf(centre - 1) + gamma.sf(centre + 1)
        assert searched.expected_loss == pytest.approx(best, abs=1e-4)

    def test_is_scanned_over_a_part_of_many_draws(self):
        draws = Samples(np.random.default_rng(4).normal(size=2000))
        searched = decide_value(draws, Squared().__call__)
        assert searched.value == pytest.approx(draws.values.mean(), abs=1e-6)

    def test_must_have_a_minimum(self):
        with pytest.raises(NumericalError, match="found no minimum: the expected loss still falls"):
            decide_value(Gaussian(0.0, 1.0), lambda v, t: v + 0 * t)
        with pytest.raises(NumericalError, match=r"still falls at value [0-9.]+e\+"):
            decide_value(Samples([0.0]), lambda v, t: -v + 0 * t)

    def test_must_have_an_expectation(self):
        with pytest.raises(NumericalError, match="grows too fast for the tails"):
            decide_value(stats.t(2), Squared().__call__)

    def test_must_give_one_number_for_each_truth(self):
        with pytest.raises(ShapeError, match=r"one number per truth, shape \(3,\). Got shape \(\)"):
            decide_value(Samples([0.0, 1.0, 2.0]), lambda v, t: float(np.sum(v - t)))

    def test_must_be_finite(self):
        with pytest.raises(InputError, match="the loss must be finite. Got nan for value"):
            decide_value(Samples([0.0, 1.0]), lambda v, t: np.where(t > v, np.nan, 0.0))
        with pytest.raises(InputError, match="may be no expectation under the predictive's tails"):
            decide_value(stats.t(5), Linex(1.0).__call__)

    def test_must_be_numbers(self):
        with pytest.raises(InputError, match="losses of decide_value must be numbers"):
            decide_value(Samples([0.0, 1.0]), lambda _, t: ["a"] * len(t))

    def test_that_is_too_rough_to_integrate_is_refused(self):
        def noise(value, truth):
            return np.sin(1e9 * truth**2) * np.sign(np.sin(1e7 * truth)) + (value - truth) ** 2

        with pytest.raises(NumericalError, match="did not settle.*pass Samples"):
            decide_value(stats.norm(), noise)


class TestLaws:
    @pytest.mark.parametrize(
        ("name", "loss"),
        [
            (name, loss)
            for name in ["gaussian", "samples", "quantiles", "scipy"]
            for loss in [*LOSSES.values(), ZeroOne(0.5)]
            if name != "scipy" or not isinstance(loss, (Linex, ZeroOne))
        ],
        ids=str,
    )
    def test_a_shift_of_the_truth_shifts_the_value(self, name, loss):
        here, there = decide_value(PREDICTIVES[name], loss), decide_value(_moved(name, 7, 1), loss)
        assert there.value == pytest.approx(here.value + 7, abs=1e-7)
        assert there.expected_loss == pytest.approx(here.expected_loss, rel=1e-9)

    @pytest.mark.parametrize("name", ["gaussian", "samples", "quantiles", "scipy"])
    @pytest.mark.parametrize(
        ("loss", "power"), [(Squared(), 2), (Absolute(), 1), (Pinball(0.8), 1)], ids=str
    )
    def test_a_change_of_unit_changes_only_the_unit(self, name, loss, power):
        here, there = decide_value(PREDICTIVES[name], loss), decide_value(_moved(name, 0, 3), loss)
        assert there.value == pytest.approx(3 * here.value, rel=1e-10)
        assert there.expected_loss == pytest.approx(3**power * here.expected_loss, rel=1e-10)

    @pytest.mark.parametrize("name", PREDICTIVES)
    def test_half_the_absolute_loss_is_the_pinball_loss_at_one_half(self, name):
        absolute = decide_value(PREDICTIVES[name], "absolute")
        pinball = decide_value(PREDICTIVES[name], Pinball(0.5))
        assert pinball.value == absolute.value
        assert pinball.expected_loss == pytest.approx(absolute.expected_loss / 2, rel=1e-14)

    @pytest.mark.parametrize("name", PREDICTIVES)
    def test_asymmetric_linear_is_pinball_times_both_prices(self, name):
        linear = decide_value(PREDICTIVES[name], AsymmetricLinear(under=6, over=2))
        pinball = decide_value(PREDICTIVES[name], Pinball(0.75))
        assert linear.value == pinball.value
        assert linear.expected_loss == pytest.approx(8 * pinball.expected_loss, rel=1e-14)

    @given(
        st.lists(st.floats(-50, 50), min_size=1, max_size=8),
        st.sampled_from([*LOSSES, "zero-one"]),
        st.floats(-60, 60),
    )
    def test_no_other_value_is_expected_to_cost_less(self, draws, name, other):
        loss = ZeroOne(3.0) if name == "zero-one" else LOSSES[name]
        chosen = decide_value(Samples(draws), loss)
        assert chosen.expected_loss <= np.mean(loss(other, np.array(draws))) * (1 + 1e-9) + 1e-12

    @given(st.floats(0.02, 0.98), st.floats(0.02, 0.98))
    def test_a_higher_price_below_raises_the_value(self, first, second):
        low, high = sorted([first, second])
        for predictive in PREDICTIVES.values():
            values = [decide_value(predictive, Pinball(q)).value for q in (low, high)]
            assert values[0] <= values[1]

    def test_the_newsvendor_orders_up_to_the_critical_ratio(self):
        price, cost, rate = 5.0, 2.0, 30.0

        def profit(order):
            demand = np.arange(150)
            return np.sum(
                stats.poisson.pmf(demand, rate) * (price * np.minimum(order, demand) - cost * order)
            )

        order = decide_value(stats.poisson(rate), AsymmetricLinear(under=price - cost, over=cost))
        assert order.value == max(range(100), key=profit)
        # What is lost against knowing the demand: the loss is what ignorance costs.
        assert order.expected_loss == pytest.approx((price - cost) * rate - profit(order.value))


class TestSplit:
    @pytest.mark.parametrize("name", PREDICTIVES)
    def test_adds_up_to_the_expected_squared_loss(self, name):
        best = decide_value(PREDICTIVES[name], "squared")
        split = split_squared(PREDICTIVES[name], best.value + 3)
        assert split.squared_bias == pytest.approx(9)
        assert split.variance == pytest.approx(best.expected_loss)
        assert split.total == pytest.approx(9 + best.expected_loss)

    def test_takes_one_value_or_one_for_each_row(self):
        p = Gaussian([0.0, 1.0], [1.0, 4.0])
        assert split_squared(p, 3.0).squared_bias.tolist() == [9.0, 4.0]
        assert split_squared(p, [0.0, 3.0]).total.tolist() == [1.0, 8.0]
        assert split_squared(Gaussian(0.0, 1.0), [1.0, 2.0]).total.tolist() == [2.0, 5.0]

    def test_is_plain_data(self):
        split = SquaredSplit(9.0, 4.0)
        assert split.to_dict() == {"squared_bias": 9.0, "variance": 4.0, "total": 13.0}
        rows = split_squared(Gaussian([0.0, 1.0], 4.0), 1.0)
        assert rows.to_dict()["total"] == [5.0, 4.0]
        assert repr(rows) == (
            "SquaredSplit(2 rows, mean squared_bias 0.5, mean variance 4, mean total 4.5)"
        )

    def test_needs_values_that_fit(self):
        with pytest.raises(ShapeError, match=r"values of shape \(3,\) do not fit.*shape \(2,\)"):
            split_squared(Gaussian([0.0, 1.0], 1.0), [1, 2, 3])
        with pytest.raises(InputError, match="value of split_squared must be finite"):
            split_squared(Gaussian(0.0, 1.0), math.nan)
        with pytest.raises(NumericalError, match="finite mean and variance"):
            split_squared(stats.cauchy(), 0.0)
        with pytest.raises(InputError, match="split_squared cannot tell"):
            split_squared([1.0, 2.0], 0.0)


class TestInput:
    def test_a_loss_may_be_named(self):
        assert decide_value(Gaussian(1.0, 4.0), "squared").expected_loss == 4.0
        assert decide_value(Gaussian(1.0, 4.0), "absolute").value == 1.0

    def test_an_unknown_name_gets_the_nearest_one(self):
        with pytest.raises(LabelError, match="Unknown loss 'square'.*Did you mean 'squared'?"):
            decide_value(Gaussian(1.0, 4.0), "square")

    def test_a_loss_is_not_a_class_and_not_a_matrix(self):
        with pytest.raises(InputError, match="not its class. Pass an instance of Squared"):
            decide_value(Gaussian(1.0, 4.0), Squared)
        with pytest.raises(InputError, match=r"Got Loss. For labels use credo.decide"):
            decide_value(Gaussian(1.0, 4.0), credo.Loss.zero_one(["a", "b"]))

    @pytest.mark.parametrize("plain", [np.arange(3.0), [1.0, 2.0], 1.0, np.float64(2.0)], ids=str)
    def test_plain_numbers_are_ambiguous(self, plain):
        with pytest.raises(
            InputError, match=r"Samples\(values\), Quantiles\(levels, values\) or G"
        ):
            decide_value(plain, "squared")

    def test_another_object_is_told_what_it_lacks(self):
        with pytest.raises(InputError, match="Got object, which has no method 'ppf'"):
            decide_value(object(), "squared")

    def test_a_distribution_needs_a_density_or_probabilities(self):
        class Half:
            ppf = isf = cdf = sf = mean = var = support = print

        with pytest.raises(InputError, match="Got Half, which has no method 'pdf or pmf'"):
            decide_value(Half(), "squared")

    def test_a_distribution_needs_its_parameters(self):
        with pytest.raises(InputError, match="no parameters yet. Freeze it first"):
            decide_value(stats.gamma, "squared")
        with pytest.raises(InputError, match="has no median. Check its parameters"):
            decide_value(stats.gamma(-1), "squared")
        with pytest.raises(InputError, match=r"has no median \(row 1\)"):
            decide_value(stats.gamma([1, -1]), "squared")
        with pytest.raises(InputError, match="its scale must be positive"):
            decide_value(stats.norm(0, -1), "squared")

    def test_an_overflow_is_an_error_and_not_an_infinity(self):
        with pytest.raises(NumericalError, match="variance inf"):
            decide_value(Samples([-1e200, 1e200]), "squared")


class TestDecision:
    def test_is_a_number_for_one_case_and_an_array_for_many(self):
        one = decide_value(Gaussian(1.0, 4.0), "squared")
        assert isinstance(one.value, float)
        assert isinstance(one.expected_loss, float)
        many = decide_value(Gaussian([1.0], 4.0), "squared")
        assert many.value.shape == many.expected_loss.shape == (1,)
        with pytest.raises(ValueError, match="read-only"):
            many.value[0] = 2.0

    def test_is_plain_data(self):
        many = decide_value(Gaussian([1.0, 2.0], 4.0), "squared")
        assert many.to_dict() == {"value": [1.0, 2.0], "expected_loss": [4.0, 4.0]}
        assert repr(many) == "ValueDecision(2 rows, mean value 1.5, mean expected_loss 4)"
        assert repr(decide_value(Gaussian(1.0, 4.0), "squared")) == (
            "ValueDecision(value=1, expected_loss=4)"
        )
        assert repr(decide_value(Samples(np.empty((0, 1))), "squared")) == "ValueDecision(0 rows)"


class TestExtremes:
    def test_a_frozen_normal_is_a_gaussian(self):
        ours = decide_value(Gaussian(1e12, 1e-6), "absolute").expected_loss
        assert decide_value(stats.norm(1e12, 1e-3), "absolute").expected_loss == pytest.approx(ours)

    def test_a_side_that_costs_next_to_nothing_is_refused(self):
        for under, over in ((1e17, 1), (1e308, 1e308)):
            with pytest.raises(InputError, match="costs so much more"):
                AsymmetricLinear(under, over)

    def test_a_value_lost_in_the_rounding_of_the_mean_is_an_error(self):
        with pytest.raises(NumericalError, match="that float64 can hold"):
            decide_value(Samples([1.0, 2.0, 1e18]), Linex(0.01))

    def test_the_mode_of_a_wide_discrete_distribution(self):
        assert decide_value(stats.binom(10**9, 0.5), ZeroOne()).value == 500_000_000

    def test_equal_sums_of_rounded_masses_are_tied(self):
        draws = Samples([1.0, 1.0, 2.0], weights=[0.1, 0.2, 0.3])
        assert decide_value(draws, ZeroOne()).value == 1.0

    def test_masses_that_scipy_rounds_are_accepted(self):
        assert decide_value(stats.poisson(1e8), "absolute").value == pytest.approx(1e8, rel=1e-6)

    def test_an_overflow_inside_scipy_is_explained(self):
        with pytest.raises(NumericalError, match="overflows. Draw from it and pass Samples"):
            decide_value(stats.beta(0.01, 5), "absolute")

    def test_weights_whose_sum_overflows_are_refused(self):
        with pytest.raises(InputError, match="positive and finite sum. Got a sum of inf"):
            Samples([1.0, 2.0], [1e308, 1e308])
