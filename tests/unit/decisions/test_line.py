import json
import math
from decimal import Decimal, localcontext
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from tests.strategies import LETTERS, whole_losses

from credo import Loss
from credo.decisions.crossings import gaussian_crossings
from credo.decisions.line import Interval, regions
from credo.exceptions import InputError, LabelError, ShapeError
from credo.families import Gaussian

TWO = Loss.zero_one(["a", "b"])
THREE = Loss.zero_one(["a", "b", "c"])


def normal_density(mean, scale):
    return lambda x: np.exp(-0.5 * ((x - mean) / scale) ** 2) / (scale * math.sqrt(2 * math.pi))


def least_risk(densities, priors, loss, low, high, n=2_000_001):
    """Integrate the least weighted loss on a fine even grid; truths in the order of the loss."""
    x = np.linspace(low, high, n)
    weighted = np.stack([p * d.pdf(x) for d, p in zip(densities, priors, strict=True)])
    return np.trapezoid((loss.matrix.T @ weighted).min(axis=0), x)


# --- thresholds in closed form ------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.5, 0.9, 0.1, 1 - 1e-12])
def test_equal_variances_give_the_textbook_threshold(p):
    cut = regions({"a": Gaussian(-1, 4), "b": Gaussian(2, 4)}, [p, 1 - p], TWO)
    expected = 0.5 + 4 / 3 * math.log(p / (1 - p))
    np.testing.assert_allclose(cut.thresholds, [expected], rtol=1e-13)
    assert [interval.act for interval in cut.intervals] == ["a", "b"]


def test_the_means_may_come_in_any_order():
    cut = regions({"a": Gaussian(2, 4), "b": Gaussian(-1, 4)}, [0.5, 0.5], TWO)
    assert cut.intervals == (Interval(-np.inf, 0.5, "b"), Interval(0.5, np.inf, "a"))


def test_unequal_variances_give_two_thresholds():
    cut = regions({"a": Gaussian(0, 1), "b": Gaussian(0, 9)}, [0.5, 0.5], TWO)
    root = math.sqrt(2 * math.log(3) / (1 - 1 / 9))
    np.testing.assert_allclose(cut.thresholds, [-root, root], rtol=1e-14)
    inside = 2 * stats.norm.cdf(root) - 1
    inside_wide = 2 * stats.norm.cdf(root / 3) - 1
    np.testing.assert_allclose(
        cut.probability_table, [[inside, 1 - inside], [inside_wide, 1 - inside_wide]], rtol=1e-13
    )


def test_unequal_variances_may_give_no_threshold():
    cut = regions({"a": Gaussian(0, 1), "b": Gaussian(0, 9)}, [0.2, 0.8], TWO)
    assert cut.intervals == (Interval(-np.inf, np.inf, "b"),)
    assert cut.thresholds.size == 0
    assert cut.bayes_risk == pytest.approx(0.2, rel=1e-15)


def test_a_loss_moves_the_threshold_by_the_ratio_of_its_losses():
    loss = Loss([[0, 1000], [1, 0]], ["cancer", "normal"], ["treat", "discharge"])
    cut = regions({"normal": Gaussian(0, 1), "cancer": Gaussian(3, 1)}, [0.9, 0.1], loss)
    # treat when 1000 × 0.1 N(x; 3, 1) > 0.9 N(x; 0, 1), that is 3x − 4.5 > log 0.009
    np.testing.assert_allclose(cut.thresholds, [1.5 + math.log(0.009) / 3], rtol=1e-13)


def exact_residual(root, first, second, log_ratio):
    """Evaluate the log ratio of two weighted Gaussians with 60 digits, per unit of its slope."""
    with localcontext() as context:
        context.prec = 60
        x = Decimal(root)
        (m0, v0), (m1, v1) = [tuple(Decimal(v) for v in pair) for pair in (first, second)]
        half = Decimal(1) / 2
        value = (
            Decimal(log_ratio)
            + half * (v1 / v0).ln()
            - (x - m0) ** 2 / (2 * v0)
            + (x - m1) ** 2 / (2 * v1)
        )
        slope = abs((x - m1) / v1 - (x - m0) / v0)
        return float(value / slope)


@pytest.mark.parametrize(
    ("first", "second", "log_ratio", "count"),
    [
        ((0.0, 1.0), (2.0, 1.0), 0.3, 1),
        ((0.0, 1.0), (2.0, 1.0 + 2**-50), 0.3, 2),
        ((0.0, 1.0 + 2**-50), (2.0, 1.0), 0.3, 2),
        ((5.0, 1e-8), (5.0, 1e8), 0.0, 2),
        ((5.0, 1e8), (5.0, 1e-8), 0.0, 2),
        ((1e6, 1.0), (1e6 + 1, 4.0), -0.2, 2),
        ((0.0, 1.0), (0.0, 1.0 + 2**-30), 0.0, 2),
        ((0.0, 1.0), (30.0, 2.0), 500.0, 2),
    ],
)
def test_roots_of_two_gaussians_are_exact_to_rounding(first, second, log_ratio, count):
    roots = gaussian_crossings(first, second, log_ratio)
    assert len(roots) == count
    for root in roots:
        error = abs(exact_residual(root, first, second, log_ratio))
        reach = max(abs(root), abs(first[0] - second[0]), abs(root - first[0]))
        assert error <= 8 * np.finfo(float).eps * reach


def test_gaussians_that_only_touch_have_one_common_point():
    ratio = -0.5 * math.log(4)  # heights 1 and 1/2 at the common mean, weights 1/2 and 1
    assert gaussian_crossings((3.0, 1.0), (3.0, 4.0), ratio) == [3.0]


def test_equal_gaussians_have_no_crossing():
    assert gaussian_crossings((3.0, 1.0), (3.0, 1.0), 0.0) == []
    assert gaussian_crossings((3.0, 1.0), (3.0, 1.0), 1.0) == []


def test_scipy_normals_are_recognised_as_gaussians():
    ours = regions({"a": Gaussian(0, 1), "b": Gaussian(1, 4)}, [0.4, 0.6], TWO)
    theirs = regions({"a": stats.norm(0, 1), "b": stats.norm(1, 2)}, [0.4, 0.6], TWO)
    assert theirs.intervals == ours.intervals


# --- thresholds by search -----------------------------------------------------------------------


def test_cauchy_densities_cross_where_algebra_says():
    # 4 + (x − 3)² = 2 (1 + x²)
    cut = regions({"a": stats.cauchy(0, 1), "b": stats.cauchy(3, 2)}, [0.5, 0.5], TWO)
    np.testing.assert_allclose(cut.thresholds, -3 + np.sqrt(20) * np.array([-1, 1]), rtol=1e-13)
    assert [interval.act for interval in cut.intervals] == ["b", "a", "b"]


def test_laplace_and_normal_cross_four_times():
    cut = regions({"a": stats.laplace(), "b": stats.norm()}, [0.5, 0.5], TWO)
    half = math.sqrt(1 - 2 * (0.5 * math.log(2 * math.pi) - math.log(2)))
    expected = [-1 - half, -1 + half, 1 - half, 1 + half]
    np.testing.assert_allclose(cut.thresholds, expected, rtol=1e-13)
    assert [interval.act for interval in cut.intervals] == list("ababa")


def test_exponentials_live_on_the_half_line():
    cut = regions({"a": stats.expon(), "b": stats.expon(scale=3)}, [0.5, 0.5], TWO)
    assert cut.support == (0, np.inf)
    np.testing.assert_allclose(cut.thresholds, [1.5 * math.log(3)], rtol=1e-13)
    root = 1.5 * math.log(3)
    expected = 0.5 * math.exp(-root) + 0.5 * (1 - math.exp(-root / 3))
    assert cut.bayes_risk == pytest.approx(expected, rel=1e-13)


def test_a_threshold_close_to_a_singular_end_is_found():
    # Gamma(1/2) has an infinite density at 0: x^(−1/2) / Γ(1/2) = w / (1 − w)
    cut = regions({"a": stats.gamma(0.5), "b": stats.expon()}, [1e-9, 1 - 1e-9], TWO)
    expected = (1e-9 / (1 - 1e-9)) ** 2 / math.pi
    np.testing.assert_allclose(cut.thresholds, [expected], rtol=1e-12)


def test_a_threshold_far_out_in_the_tails_is_found():
    # (1 − w) e^{−x} = w e^{−x/2} / 2 has its root where both densities underflow
    prior = 1e-200
    weights = {"a": 1.0, "b": prior}
    cut = regions({"a": stats.expon(), "b": stats.expon(scale=2)}, weights, TWO)
    np.testing.assert_allclose(cut.thresholds, [-2 * math.log(prior / 2)], rtol=1e-12)


def test_an_infinite_density_at_the_end_of_a_support_wins_there():
    # Beta(1/2, 1/2) on [−3, 0]: so close to 0 that SciPy rounds to the end, it is infinite.
    density = stats.beta(0.5, 0.5, -3, 3)
    assert density.pdf(np.nextafter(0.0, -1.0)) == np.inf
    cut = regions({"a": density, "b": stats.uniform(-3, 3)}, [0.5, 0.5], TWO)
    half = 3 * math.sqrt(0.25 - 1 / math.pi**2)
    np.testing.assert_allclose(cut.thresholds, [-1.5 - half, -1.5 + half], rtol=1e-12)
    assert [i.act for i in cut.intervals] == ["a", "b", "a"]


@pytest.mark.parametrize("narrow", [1e-3, 1e-6])
def test_a_narrow_class_on_a_broad_one_is_not_overlooked(narrow):
    loss = THREE.with_reject(0.45)
    densities = {"a": Gaussian(0, 1), "b": stats.t(3, 0.5, 2), "c": Gaussian(0.7, narrow**2)}
    cut = regions(densities, [0.5, 0.4, 0.1], loss)
    inside = [i for i in cut.intervals if i.low < 0.7 < i.high]
    assert [i.act for i in inside] == ["c"]
    assert 1 < (inside[0].high - inside[0].low) / narrow < 10


def test_a_region_that_appears_for_an_instant_is_found():
    # The log ratio of the two touches zero at ±1 when p = e^{1/2} / (e^{1/2} + √(π/2)).
    touching = math.exp(0.5) / (math.exp(0.5) + math.sqrt(math.pi / 2))
    densities = {"a": stats.laplace(), "b": stats.norm()}
    above = {"a": touching - 1e-9, "b": 1 - touching + 1e-9}
    below = {"a": touching + 1e-9, "b": 1 - touching - 1e-9}
    assert len(regions(densities, above, TWO).thresholds) == 4
    assert len(regions(densities, below, TWO).thresholds) == 0


@pytest.mark.parametrize(
    ("densities", "priors", "loss", "span"),
    [
        ([stats.norm(0, 1), stats.norm(2, 1)], [0.7, 0.3], TWO, (-12, 14)),
        ([stats.norm(0, 1), stats.norm(2, 1)], [0.7, 0.3], TWO.with_reject(0.1), (-12, 14)),
        (
            [stats.norm(0, 1), stats.norm(2, 1), stats.norm(4, 2)],
            [0.3, 0.3, 0.4],
            THREE.with_reject(0.3),
            (-20, 24),
        ),
        (
            [stats.norm(0, 1), stats.norm(2, 1), stats.norm(4, 2)],
            [0.3, 0.3, 0.4],
            Loss([[0, 3, 5, 1], [2, 0, 4, 1], [7, 2, -1, 1]], ["a", "b", "c"], list("wxyz")),
            (-20, 24),
        ),
        ([stats.laplace(1), stats.logistic(0, 0.2)], [0.5, 0.5], TWO, (-30, 30)),
        ([stats.norm(0, 1), stats.t(5, 1)], [0.6, 0.4], TWO.with_reject(0.2), (-400, 400)),
    ],
)
def test_the_bayes_risk_is_the_integral_of_the_least_weighted_loss(densities, priors, loss, span):
    cut = regions(dict(zip(loss.truths, densities, strict=True)), priors, loss)
    expected = least_risk(densities, priors, loss, *span)
    assert cut.bayes_risk == pytest.approx(expected, abs=2e-8)
    x = np.random.default_rng(0).uniform(*span, 1000)
    weighted = np.stack([p * d.pdf(x) for d, p in zip(densities, priors, strict=True)])
    best = (loss.matrix.T @ weighted).argmin(axis=0)
    clear = weighted.max(axis=0) > 1e-300
    np.testing.assert_array_equal(cut.act_at(x[clear]), np.array(loss.acts)[best[clear]])


# --- supports -----------------------------------------------------------------------------------


def test_a_gap_between_two_uniforms_is_shared_by_its_neighbours():
    cut = regions({"a": stats.uniform(0, 1), "b": stats.uniform(2, 1)}, [0.5, 0.5], TWO)
    assert cut.intervals == (Interval(0, 1.5, "a"), Interval(1.5, 3, "b"))
    assert cut.bayes_risk == 0


def test_a_gap_within_one_act_belongs_to_it():
    densities = {"a": stats.uniform(0, 1), "b": stats.uniform(2, 1)}
    loss = Loss([[0, 1], [0, 1]], ["a", "b"], ["x", "y"])
    assert regions(densities, [0.5, 0.5], loss).intervals == (Interval(0, 3, "x"),)


def test_where_uniforms_overlap_evenly_the_first_act_is_taken():
    cut = regions({"a": stats.uniform(0, 2), "b": stats.uniform(1, 2)}, [0.5, 0.5], TWO)
    assert cut.intervals == (Interval(0, 2, "a"), Interval(2, 3, "b"))
    assert cut.bayes_risk == pytest.approx(0.25, rel=1e-15)


def test_mixed_supports_cut_at_the_end_of_the_bounded_one():
    cut = regions({"a": stats.expon(), "b": stats.norm(0, 1)}, [0.5, 0.5], TWO)
    assert cut.intervals == (Interval(-np.inf, 0, "b"), Interval(0, np.inf, "a"))


def test_supports_that_end_at_neighbouring_floats_are_handled():
    end = np.nextafter(1.0, 2.0)
    cut = regions({"a": stats.uniform(0, 1), "b": stats.uniform(end, 1)}, [0.5, 0.5], TWO)
    np.testing.assert_allclose(cut.thresholds, [1.0], rtol=1e-15)


def test_a_class_without_prior_gets_its_row_but_no_say():
    cut = regions({"a": stats.uniform(0, 1), "b": stats.uniform(2, 1)}, [0, 1], TWO)
    assert cut.intervals == (Interval(0, 3, "b"),)
    np.testing.assert_array_equal(cut.probability_table, [[0, 1], [0, 1]])


def test_equal_densities_leave_it_to_the_prior():
    for density in (Gaussian(1, 2), stats.t(3)):
        cut = regions({"a": density, "b": density}, [0.4, 0.6], TWO)
        assert cut.intervals == (Interval(-np.inf, np.inf, "b"),)
        assert regions({"a": density, "b": density}, [0.5, 0.5], TWO).intervals[0].act == "a"


def test_equal_densities_in_other_clothes_do_not_flicker():
    cut = regions({"a": stats.t(1), "b": stats.cauchy()}, [0.5, 0.5], TWO)
    assert cut.intervals == (Interval(-np.inf, np.inf, "a"),)


def test_far_out_where_rounding_hides_the_difference_the_act_goes_on():
    # Both fall like e^{−x}; their ratio is a power of x, lost beside x from 1e16 on.
    cut = regions({"a": stats.gamma(0.3), "b": stats.expon()}, [0.5, 0.5], TWO)
    assert cut.thresholds.size == 1


def test_one_class_takes_its_best_act_everywhere():
    cut = regions({"a": stats.t(3)}, [1], Loss([[2, 1]], ["a"], ["x", "y"]))
    assert cut.intervals == (Interval(-np.inf, np.inf, "y"),)
    assert cut.bayes_risk == pytest.approx(1, rel=1e-12)


def test_an_act_that_is_never_worse_is_taken_in_the_tails_too():
    loss = Loss([[1, 0], [1, 1]], ["a", "b"], ["x", "y"])
    cut = regions({"a": stats.norm(0, 1), "b": stats.t(5)}, [0.5, 0.5], loss)
    assert cut.intervals == (Interval(-np.inf, np.inf, "y"),)


def test_a_given_support_bounds_the_regions():
    cut = regions({"a": Gaussian(0, 1), "b": Gaussian(2, 1)}, [0.5, 0.5], TWO, support=(-20, 20))
    assert cut.intervals == (Interval(-20, 1, "a"), Interval(1, 20, "b"))
    assert cut.bayes_risk == pytest.approx(stats.norm.cdf(-1), rel=1e-12)
    with pytest.raises(InputError, match=r"outside the support \(-20, 20\)"):
        cut.act_at([0, 21])


def test_half_bounded_supports_work_for_gaussians():
    densities = {"a": Gaussian(0, 1), "b": Gaussian(2, 1)}
    assert regions(densities, [0.5, 0.5], TWO, (-9, np.inf)).support == (-9, np.inf)
    assert regions(densities, [0.5, 0.5], TWO, (-np.inf, 9)).thresholds == pytest.approx([1])


# --- functions ----------------------------------------------------------------------------------


def test_functions_give_the_same_as_the_distributions():
    expected = regions({"a": Gaussian(0, 1), "b": Gaussian(2, 4)}, [0.7, 0.3], TWO)
    cut = regions({"a": normal_density(0, 1), "b": normal_density(2, 2)}, [0.7, 0.3], TWO)
    np.testing.assert_allclose(cut.thresholds, expected.thresholds, rtol=1e-12)
    np.testing.assert_allclose(cut.probability_table, expected.probability_table, atol=1e-11)


def test_functions_of_one_number_will_do():
    def laplace(x):
        return math.exp(-abs(x)) / 2

    def logistic(x):
        return 1 / (2 + math.exp(x) + math.exp(-x))  # overflows beyond 709

    cut = regions({"a": laplace, "b": logistic}, [0.5, 0.5], TWO)
    expected = regions({"a": stats.laplace(), "b": stats.logistic()}, [0.5, 0.5], TWO)
    np.testing.assert_allclose(cut.thresholds, expected.thresholds, rtol=1e-11)
    assert cut.bayes_risk == pytest.approx(expected.bayes_risk, abs=1e-10)


def test_a_heavy_tailed_function_is_integrated_to_its_end():
    def cauchy(x):
        return 1 / (np.pi * (1 + x**2))

    cut = regions({"a": cauchy, "b": stats.norm()}, [0.5, 0.5], TWO)
    expected = regions({"a": stats.cauchy(), "b": stats.norm()}, [0.5, 0.5], TWO)
    np.testing.assert_allclose(cut.thresholds, expected.thresholds, rtol=1e-12)
    assert cut.bayes_risk == pytest.approx(expected.bayes_risk, abs=1e-10)


def test_functions_far_apart_share_the_stretch_where_both_underflow():
    densities = {"a": normal_density(0, 1), "b": normal_density(1000, 1)}
    cut = regions(densities, [0.5, 0.5], TWO)
    assert [i.act for i in cut.intervals] == ["a", "b"]
    assert 40 < cut.thresholds[0] < 960


def test_a_function_that_underflows_is_not_taken_for_the_smaller_one():
    # Beyond 745 the exponential underflows as a function; the Gaussian is smaller all the same.
    def laplace(x):
        return np.exp(-np.abs(x)) / 2

    cut = regions({"a": laplace, "b": Gaussian(0, 1)}, [0.5, 0.5], TWO)
    assert len(cut.thresholds) == 4
    assert cut.act_at(1e5) == "a"


@pytest.mark.parametrize("support", [None, (0, 3), (0, np.inf), (-np.inf, 3)])
def test_functions_may_jump(support):
    def short(x):
        return 1.0 * ((x > 0) & (x < 1))

    def long(x):
        return 0.5 * ((x > 0.5) & (x < 2.5))

    cut = regions({"a": short, "b": long}, [0.5, 0.5], TWO, support)
    np.testing.assert_allclose(cut.thresholds, [1.0], rtol=1e-12)
    assert cut.bayes_risk == pytest.approx(0.125, abs=1e-10)
    np.testing.assert_allclose(cut.probability_table.sum(axis=1), 1, atol=1e-9)


def test_a_narrow_interval_of_a_function_is_integrated_by_itself():
    densities = {"a": normal_density(0, 1), "b": normal_density(0, 3)}
    cut = regions(densities, [0.5, 0.5], TWO).moved([0.1, 0.1 + 1e-6])
    assert cut.probability_table[0, 0] == pytest.approx(1e-6 * stats.norm.pdf(0.1), rel=1e-6)
    np.testing.assert_allclose(cut.probability_table.sum(axis=1), 1, atol=1e-9)


def test_functions_may_be_infinite_at_the_ends_of_their_support():
    def arcsine(x):
        return 1 / (np.pi * np.sqrt(x * (1 - x)))

    cut = regions({"a": arcsine, "b": np.ones_like}, [0.5, 0.5], TWO, (0, 1))
    half = math.sqrt(0.25 - 1 / math.pi**2)
    np.testing.assert_allclose(cut.thresholds, [0.5 - half, 0.5 + half], rtol=1e-12)
    outer = 2 * (2 / math.pi) * math.asin(math.sqrt(0.5 - half))
    assert cut.shares["a"] == pytest.approx(0.5 * outer + 0.5 * (1 - 2 * half), abs=1e-10)


def test_a_kernel_density_estimate_is_a_function():
    sample = stats.gaussian_kde(np.random.default_rng(0).normal(size=20))
    cut = regions({"a": sample, "b": stats.norm(4, 1)}, [0.5, 0.5], TWO)
    root = cut.thresholds[cut.thresholds > 0][0]
    assert sample(root)[0] == pytest.approx(stats.norm.pdf(root, 4, 1), rel=1e-9)
    assert cut.probability_table[0, 1] > sample.integrate_box_1d(root, 10) - 1e-9


# --- numbers that come with them ----------------------------------------------------------------


def test_error_and_reject_are_told_apart():
    cut = regions(
        {"a": Gaussian(0, 1), "b": Gaussian(2, 1)}, [0.5, 0.5], TWO.with_reject(1 / (1 + math.e**2))
    )
    # Reject while the larger posterior is below e²/(1 + e²): |2x − 2| < 2.
    np.testing.assert_allclose(cut.thresholds, [0, 2], atol=1e-14)
    assert [i.act for i in cut.intervals] == ["a", "reject", "b"]
    assert cut.probability_of_error == pytest.approx(stats.norm.cdf(-2), rel=1e-13)
    assert cut.shares["reject"] == pytest.approx(stats.norm.cdf(2) - 0.5, rel=1e-13)
    expected = stats.norm.cdf(-2) + cut.shares["reject"] / (1 + math.e**2)
    assert cut.risk == cut.bayes_risk == pytest.approx(expected, rel=1e-13)


def test_an_error_is_an_act_dearer_than_the_best_for_the_truth():
    loss = Loss([[5, 5, 9], [4, 3, 1]], ["a", "b"], ["x", "y", "z"])
    cut = regions({"a": Gaussian(0, 1), "b": Gaussian(3, 1)}, [0.5, 0.5], loss)
    shares = dict(zip(loss.acts, cut.probability_table.T, strict=True))
    wrong = 0.5 * shares["z"][0] + 0.5 * (shares["x"][1] + shares["y"][1])
    assert cut.probability_of_error == pytest.approx(wrong, rel=1e-14)
    assert wrong > 0


def test_rare_errors_keep_all_their_digits():
    cut = regions({"a": Gaussian(0, 1), "b": Gaussian(40, 1)}, [0.5, 0.5], TWO)
    expected = stats.norm.sf(20)
    np.testing.assert_allclose(
        [cut.probability_table[0, 1], cut.probability_table[1, 0]], expected, rtol=1e-12
    )
    assert cut.bayes_risk == pytest.approx(expected, rel=1e-12)


def test_an_interval_in_the_upper_tail_keeps_its_digits():
    loss = TWO.with_reject(0.01)
    cut = regions({"a": Gaussian(0, 1), "b": Gaussian(40, 1)}, [0.5, 0.5], loss)
    low, high = cut.thresholds
    expected = stats.norm.sf(low) - stats.norm.sf(high)
    assert cut.probability_table[0, 2] == pytest.approx(expected, rel=1e-10)
    assert cut.probability_table[0, 2] > 0


def test_on_a_threshold_the_first_act_of_the_loss_is_taken():
    cut = regions({"b": Gaussian(0, 1), "a": Gaussian(2, 1)}, [0.5, 0.5], TWO)
    assert cut.act_at(1.0) == "a"
    assert cut.act_at([0.9, 1.0, 1.1]).tolist() == ["b", "a", "a"]
    assert cut.act_at([[0.0], [5.0]]).tolist() == [["b"], ["a"]]


def test_moved_regions_keep_the_acts_and_know_the_least_risk():
    best = regions({"a": Gaussian(0, 1), "b": Gaussian(2, 1)}, [0.5, 0.5], TWO)
    other = best.moved(1.5)
    expected = 0.5 * stats.norm.sf(1.5) + 0.5 * stats.norm.cdf(-0.5)
    assert other.risk == pytest.approx(expected, rel=1e-14)
    assert other.bayes_risk == best.bayes_risk < other.risk
    assert other.act_at(1.2) == "a"
    assert "least possible 0.158655" in str(other)
    assert regions({"a": Gaussian(0, 1)}, [1], Loss([[0]], ["a"], ["x"])).moved([]).risk == 0


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ([1.0, 2.0], "needs 1 thresholds"),
        ([25.0], r"inside the support \(-20, 20\)"),
        ([np.nan], "must be finite"),
    ],
)
def test_thresholds_that_cannot_be_moved_to_are_refused(thresholds, message):
    cut = regions({"a": Gaussian(0, 1), "b": Gaussian(2, 1)}, [0.5, 0.5], TWO, (-20, 20))
    with pytest.raises(InputError, match=message):
        cut.moved(thresholds)


def test_thresholds_must_ascend():
    cut = regions({"a": Gaussian(0, 1), "b": Gaussian(0, 9)}, [0.5, 0.5], TWO)
    with pytest.raises(InputError, match="must ascend strictly"):
        cut.moved([1.0, -1.0])


def test_regions_print_as_a_table():
    cut = regions({"a": Gaussian(0, 1), "b": Gaussian(2, 1)}, [0.5, 0.5], TWO)
    assert repr(cut).splitlines() == [
        "from   to  act",
        "-inf    1  a",
        "   1  inf  b",
        "risk 0.158655, probability of error 0.158655",
        "shares: a 0.5, b 0.5",
    ]


def test_regions_become_plain_numbers():
    cut = regions({"a": Gaussian(0, 1), "b": Gaussian(2, 1)}, {"b": 0.5, "a": 0.5}, TWO)
    plain = json.loads(json.dumps(cut.to_dict(), allow_nan=False))
    assert plain["intervals"] == [
        {"low": None, "high": 1.0, "act": "a"},
        {"low": 1.0, "high": None, "act": "b"},
    ]
    assert plain["thresholds"] == [1.0]
    assert plain["priors"] == {"a": 0.5, "b": 0.5}
    assert plain["bayes_risk"] == plain["risk"] == cut.risk
    assert plain["probability_table"] == cut.probability_table.tolist()
    assert set(plain["shares"]) == {"a", "b"}
    assert plain["probability_of_error"] == cut.probability_of_error


def test_regions_do_not_change():
    cut = regions({"a": Gaussian(0, 1), "b": Gaussian(2, 1)}, [0.5, 0.5], TWO)
    with pytest.raises(AttributeError):
        cut.bayes_risk = 0.0
    with pytest.raises(ValueError, match="read-only"):
        cut.probability_table[0, 0] = 1.0


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("density", "message"),
    [
        (stats.poisson(3), "'a' is discrete"),
        (3.0, "Got float"),
        (stats.multivariate_normal([0, 0]), "one-dimensional"),
        (Gaussian([0, 1], 1), "Got an array of them"),
        (stats.gamma(-1), "parameters are out of range"),
        (lambda x: 0 * x, "integral found is 0. If its mass"),
        (lambda x: 2 * normal_density(0, 1)(x), "integral found is 2"),
        (lambda x: x, "must be at least 0. Got -1e"),
        (normal_density(1e12, 1), r"pass support=\(low, high\)"),
    ],
)
def test_what_is_not_a_density_is_refused(density, message):
    with pytest.raises(InputError, match=message):
        regions({"a": density, "b": Gaussian(0, 1)}, [0.5, 0.5], TWO)


def test_an_array_of_distributions_has_the_wrong_shape():
    with pytest.raises(ShapeError, match=r"shape \(2,\)"):
        regions({"a": stats.norm([0, 1], 1), "b": Gaussian(0, 1)}, [0.5, 0.5], TWO)


def test_a_support_that_cuts_off_mass_names_the_class_and_its_mass():
    with pytest.raises(InputError, match=r"'b' must integrate to 1 .* integrates to 0.841344746"):
        regions({"a": Gaussian(0, 1), "b": Gaussian(9, 1)}, [0.5, 0.5], TWO, support=(-10, 10))
    with pytest.raises(InputError, match=r"'a' must integrate to 1 .* found is 0.5\. If it jumps"):
        regions({"a": lambda x: 0.5 + 0 * x}, [1], Loss([[0]], ["a"], ["x"]), support=(0, 1))


@pytest.mark.parametrize("support", [(1, 0), (0, 0), (0, 1, 2), (np.nan, 1)])
def test_a_support_has_two_ends_in_order(support):
    with pytest.raises(InputError, match=r"must be \(low, high\)"):
        regions({"a": Gaussian(0, 1), "b": Gaussian(2, 1)}, [0.5, 0.5], TWO, support)


def test_names_must_agree():
    with pytest.raises(LabelError, match="differ in 'B'. Did you mean 'b'"):
        regions({"a": Gaussian(0, 1), "B": Gaussian(2, 1)}, [0.5, 0.5], TWO)
    with pytest.raises(LabelError, match="does not know 'c', given in the priors"):
        regions({"a": Gaussian(0, 1), "b": Gaussian(2, 1)}, {"a": 0.5, "b": 0.5, "c": 0}, TWO)
    with pytest.raises(InputError, match="by truth"):
        regions([Gaussian(0, 1), Gaussian(2, 1)], [0.5, 0.5], TWO)


def test_the_loss_must_be_one_matrix():
    densities = {"a": Gaussian(0, 1), "b": Gaussian(2, 1)}
    with pytest.raises(InputError, match="one matrix for all rows"):
        regions(densities, [0.5, 0.5], TWO.per_row(np.ones((3, 2, 2))))
    with pytest.raises(InputError, match="Got list"):
        regions(densities, [0.5, 0.5], [[0, 1], [1, 0]])


# --- laws ---------------------------------------------------------------------------------------


@st.composite
def line_problems(draw, n_acts=None):
    """Two or three classes of several families, positive priors, a loss of whole numbers."""
    n = draw(st.integers(2, 3))
    place = st.integers(-12, 12).map(lambda i: i / 4)
    spread = st.sampled_from([0.25, 0.5, 1.0, 2.0])
    family = st.sampled_from([stats.norm, stats.norm, stats.laplace, stats.uniform, stats.t])
    densities = {}
    for name in LETTERS[:n]:
        kind = draw(family)
        shape = (3,) if kind is stats.t else ()
        densities[name] = kind(*shape, loc=draw(place), scale=draw(spread))
    weights = np.array([draw(st.integers(1, 9)) for _ in range(n)], dtype=float)
    columns = draw(st.integers(1, 4)) if n_acts is None else n_acts
    matrix = draw(whole_losses(n, columns, low=0, high=20))
    loss = Loss(matrix, list(LETTERS[:n]), [f"act {i}" for i in range(columns)])
    return densities, weights / weights.sum(), loss


@given(line_problems(), st.data())
def test_no_other_thresholds_and_no_single_act_have_less_risk(problem, data):
    densities, priors, loss = problem
    best = regions(densities, priors, loss)
    assert best.bayes_risk <= (priors @ loss.matrix).min() + 1e-12
    low, high = (max(best.support[0], -50), min(best.support[1], 50))
    cut = st.floats(0.001, 0.999).map(lambda t: low + t * (high - low))
    n = len(best.thresholds)
    other = sorted(data.draw(st.lists(cut, min_size=n, max_size=n, unique=True)))
    assert best.moved(other).risk >= best.bayes_risk - 1e-12
    assert best.moved(best.thresholds).risk == pytest.approx(best.bayes_risk, abs=1e-12)


@given(line_problems())
def test_the_intervals_cover_the_support_and_the_shares_add_up(problem):
    cut = regions(*problem)
    ends = [cut.intervals[0].low, *(i.high for i in cut.intervals)]
    assert (ends[0], ends[-1]) == cut.support
    assert all(a.high == b.low and a.act != b.act for a, b in pairwise(cut.intervals))
    assert np.all(np.diff(cut.thresholds) > 0)
    assert sum(cut.shares.values()) == pytest.approx(1, abs=1e-9)
    np.testing.assert_allclose(cut.probability_table.sum(axis=1), 1, atol=1e-9)
    assert 0 <= cut.probability_of_error <= 1 + 1e-9


@given(line_problems())
def test_the_order_of_the_classes_does_not_matter(problem):
    densities, priors, loss = problem
    cut = regions(densities, priors, loss)
    turned = regions(dict(reversed(densities.items())), priors[::-1], loss)
    assert [i.act for i in turned.intervals] == [i.act for i in cut.intervals]
    np.testing.assert_allclose(turned.thresholds, cut.thresholds, rtol=1e-9, atol=1e-9)
    assert turned.bayes_risk == pytest.approx(cut.bayes_risk, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(turned.probability_table[::-1], cut.probability_table, atol=1e-9)


@given(line_problems(), st.sampled_from([0.001, 3.0, 1e6]))
def test_scaling_the_loss_scales_the_risk(problem, factor):
    densities, priors, loss = problem
    cut = regions(densities, priors, loss)
    scaled = Loss(factor * loss.matrix, loss.truths, loss.acts)
    assert regions(densities, priors, scaled).bayes_risk == pytest.approx(
        factor * cut.bayes_risk, rel=1e-9, abs=1e-12 * factor
    )


@settings(max_examples=settings().max_examples // 4)
@given(line_problems(n_acts=1), st.floats(0.01, 0.6), st.floats(0.01, 0.6))
def test_rejecting_gets_no_rarer_as_it_gets_cheaper(problem, one, other):
    densities, priors, _ = problem
    loss = Loss.zero_one(densities)
    cheap, dear = sorted([one, other])
    often = regions(densities, priors, loss.with_reject(cheap))
    seldom = regions(densities, priors, loss.with_reject(dear))
    assert often.shares["reject"] >= seldom.shares["reject"] - 1e-9
    assert often.bayes_risk <= seldom.bayes_risk + 1e-12
    assert often.probability_of_error <= seldom.probability_of_error + 1e-9


def test_a_distribution_that_does_not_add_up_is_refused():
    odd = {"a": stats.cauchy(0, 0.6), "b": stats.vonmises(2.0)}
    with pytest.raises(InputError, match="the distribution of 'b' adds up to .*, not to 1"):
        regions(odd, [0.3, 0.7], Loss.zero_one(["a", "b"]).with_reject(0.05))


def test_supports_and_densities_must_be_numbers():
    two = {"a": Gaussian(0, 1), "b": Gaussian(1, 1)}
    with pytest.raises(InputError, match="support of regions must be numbers"):
        regions(two, [0.5, 0.5], Loss.zero_one(["a", "b"]), support="ab")
    with pytest.raises(InputError, match="density of 'a' of regions must be numbers"):
        regions({"a": lambda _: "much", "b": Gaussian(0, 1)}, [0.5, 0.5], Loss.zero_one(["a", "b"]))
