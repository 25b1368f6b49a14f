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

    def test_linex_is_exact_near_the_truth_and_infinite_far_away(self):
        assert Linex(1.0)(1e-9, 0.0) == pytest.approx(0.5e-18, rel=1e-8)
        assert Linex(1.0)(1000.0, 0.0) == math.inf
        assert Linex(1.0)(-1000.0, 0.0) == pytest.approx(999.0, rel=1e-14)

    def test_compare_by_their_parameters(self):
        assert Pinball(0.5) == Pinball(0.5) != Pinball(0.6)
        assert repr(AsymmetricLinear(2, 1)) == "AsymmetricLinear(under=2.0, over=1.0)"


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

    @given(
        st.lists(st.floats(-50, 50), min_size=1, max_size=8),
        st.sampled_from([*LOSSES, "zero-one"]),
        st.floats(-60, 60),
    )
    def test_no_other_value_is_expected_to_cost_less(self, draws, name, other):
        loss = ZeroOne(3.0) if name == "zero-one" else LOSSES[name]
        chosen = decide_value(Samples(draws), loss)
        assert chosen.expected_loss <= np.mean(loss(other, np.array(draws))) * (1 + 1e-9) + 1e-12


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


class TestInput:
    def test_a_loss_may_be_named(self):
        assert decide_value(Gaussian(1.0, 4.0), "squared").expected_loss == 4.0
        assert decide_value(Gaussian(1.0, 4.0), "absolute").value == 1.0

        with pytest.raises(InputError, match="Got Half, which has no method 'pdf or pmf'"):
            decide_value(Half(), "squared")


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

    def test_the_mode_of_a_wide_discrete_distribution(self):
        assert decide_value(stats.binom(10**9, 0.5), ZeroOne()).value == 500_000_000

    def test_equal_sums_of_rounded_masses_are_tied(self):
        draws = Samples([1.0, 1.0, 2.0], weights=[0.1, 0.2, 0.3])
        assert decide_value(draws, ZeroOne()).value == 1.0

    def test_masses_that_scipy_rounds_are_accepted(self):
        assert decide_value(stats.poisson(1e8), "absolute").value == pytest.approx(1e8, rel=1e-6)


class Half:
    """A distribution without a density."""

    ppf = isf = cdf = sf = mean = var = support = print


AT, TWO_DRAWS = Gaussian(1.0, 4.0), Samples([0.0, 1.0])
HALVES = stats.rv_discrete(values=([0, 0.5, 1], [0.25, 0.5, 0.25]))
FAST, RATIO = "grows too fast for the tails", "strictly between 0 and 1"
REFUSED = {
    InputError: [
        *((lambda q=q: Pinball(q), f"level q of Pinball must be {RATIO}") for q in (0, 1, -0.1, 2)),
        (lambda: AsymmetricLinear(0, 1), "'under' of AsymmetricLinear must be positive. Got 0"),
        (lambda: AsymmetricLinear(1, -1), "'over' of AsymmetricLinear must be positive. Got -1"),
        (lambda: AsymmetricLinear(1e17, 1), "so much more"),
        (lambda: AsymmetricLinear(1e308, 1e308), "so much more"),
        (lambda: ZeroOne(-1), "width of ZeroOne must be at least 0. Got -1"),
        (lambda: Linex(0), r"must not be 0.*Use Squared\(\)"),
        (lambda: Linex(math.inf), "asymmetry a of Linex must be finite"),
        (lambda: decide_value(AT, Squared), "not its class. Pass an instance of Squared"),
        (lambda: decide_value(AT, credo.Loss.zero_one(["a"])), "For labels use credo.decide"),
        *(
            (lambda plain=plain: decide_value(plain, "squared"), r"Samples\(values\), Quantiles")
            for plain in (np.arange(3.0), [1.0, 2.0], 1.0, np.float64(2.0))
        ),
        (lambda: decide_value(object(), "squared"), "Got object, which has no method 'ppf'"),
        (lambda: decide_value(Half(), "squared"), "Got Half, which has no method 'pdf or pmf'"),
        (lambda: decide_value(stats.gamma, "squared"), "no parameters yet. Freeze it first"),
        (lambda: decide_value(stats.gamma(-1), "squared"), "no median. Check its parameters"),
        (lambda: decide_value(stats.gamma([1, -1]), "squared"), r"has no median \(row 1\)"),
        (lambda: decide_value(stats.norm(0, -1), "squared"), "its scale must be positive"),
        (lambda: decide_value(HALVES, "absolute"), r"sum to 0.5, not to 1. Pass Samples\("),
        (lambda: decide_value(TWO_DRAWS, lambda v, t: np.where(t > v, np.nan, 0.0)), "Got nan"),
        (lambda: decide_value(TWO_DRAWS, lambda _, t: ["a"] * len(t)), "must be numbers"),
        (lambda: decide_value(stats.t(5), Linex(1.0).__call__), "under the predictive's tails"),
        (lambda: split_squared(AT, math.nan), "value of split_squared must be finite"),
        (lambda: split_squared([1.0, 2.0], 0.0), "split_squared cannot tell"),
    ],
    LabelError: [
        (lambda: decide_value(AT, "square"), "Unknown loss 'square'.*Did you mean 'squared'?"),
    ],
    ShapeError: [
        (lambda: decide_value(TWO_DRAWS, lambda v, t: float(np.sum(v - t))), r"Got shape \(\)"),
        (lambda: split_squared(Gaussian([0, 1], 1.0), [1, 2, 3]), r"\(3,\) do not fit.*\(2,\)"),
    ],
    NumericalError: [
        (lambda: decide_value(stats.cauchy(), Squared()), r"variance nan. Use Absolute\(\)"),
        (lambda: decide_value(stats.t([5.0, 2.0]), Squared()), "row 1 has mean 0 and variance inf"),
        (lambda: decide_value(stats.t(1.01), Absolute()), FAST),
        (lambda: decide_value(stats.t(2), Squared().__call__), FAST),
        (lambda: decide_value(stats.geom(0.2), Linex(-0.3).__call__), FAST),
        (lambda: decide_value(stats.laplace(1e20, 1), Absolute()), "quantiles .* are all equal"),
        (lambda: decide_value(stats.zipf(2.0), Absolute()), "over more than 1048576 numbers"),
        (lambda: decide_value(stats.beta(0.01, 5), "absolute"), "overflows. Draw from it"),
        (lambda: decide_value(Samples([-1e200, 1e200]), "squared"), "variance inf"),
        (lambda: decide_value(Samples([1.0, 2.0, 1e18]), Linex(0.01)), "that float64 can hold"),
        (lambda: decide_value(AT, lambda v, t: v + 0 * t), "no minimum: .* loss still falls"),
        (lambda: decide_value(Samples([0.0]), lambda v, t: -v + 0 * t), r"falls at value .*e\+"),
        (lambda: split_squared(stats.cauchy(), 0.0), "finite mean and variance"),
    ],
}


@pytest.mark.parametrize("error", REFUSED)
def test_what_has_no_best_value_is_refused_with_the_reason(error):
    for ask, message in REFUSED[error]:
        with pytest.raises(error, match=message):
            ask()
