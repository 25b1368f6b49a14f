import json
import math
from decimal import Decimal, localcontext
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from tests.strategies import LETTERS, whole_losses

from credo import Loss
from credo.decisions import regions
from credo.exceptions import InputError, LabelError, ShapeError
from credo.families import Gaussian

TWO = Loss.zero_one(["a", "b"])
THREE = Loss.zero_one(["a", "b", "c"])
EVEN = [0.5, 0.5]
NEAR = {"a": Gaussian(0, 1), "b": Gaussian(2, 1)}


def least_risk(densities, priors, loss, low, high, n=2_000_001):
    """Integrate the least weighted loss on a fine even grid; truths in the order of the loss."""
    x = np.linspace(low, high, n)
    weighted = np.stack([p * d.pdf(x) for d, p in zip(densities, priors, strict=True)])
    return np.trapezoid((loss.matrix.T @ weighted).min(axis=0), x)


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


ROOT = math.sqrt(2 * math.log(3) / (1 - 1 / 9))
HALF = math.sqrt(1 - 2 * (0.5 * math.log(2 * math.pi) - math.log(2)))
ARC = 3 * math.sqrt(0.25 - 1 / math.pi**2)
NEXT = np.nextafter(1.0, 2.0)
#: What is cut: densities of a, b, …; priors, loss, thresholds, acts from left to right.
LINES = {
    "equal variances": ([Gaussian(-1, 4), Gaussian(2, 4)], EVEN, TWO, [0.5], "ab"),
    "means the other way round": ([Gaussian(2, 4), Gaussian(-1, 4)], EVEN, TWO, [0.5], "ba"),
    "unequal variances": ([Gaussian(0, 1), Gaussian(0, 9)], EVEN, TWO, [-ROOT, ROOT], "bab"),
    "one variance covers the other": ([Gaussian(0, 1), Gaussian(0, 9)], [0.2, 0.8], TWO, [], "b"),
    "SciPy's normals": ([stats.norm(0, 1), stats.norm(0, 3)], EVEN, TWO, [-ROOT, ROOT], "bab"),
    # treat when 0.9 N(x; 0, 1) < 1000 × 0.1 N(x; 3, 1), that is 3x − 4.5 > log 0.009
    "dear misses": (
        [Gaussian(0, 1), Gaussian(3, 1)],
        [0.9, 0.1],
        Loss([[0, 1], [1000, 0]], ["a", "b"], ["x", "y"]),
        [1.5 + math.log(0.009) / 3],
        "xy",
    ),
    # 4 + (x − 3)² = 2 (1 + x²)
    "cauchy": (
        [stats.cauchy(0, 1), stats.cauchy(3, 2)],
        EVEN,
        TWO,
        [-3 - math.sqrt(20), -3 + math.sqrt(20)],
        "bab",
    ),
    "laplace and normal": (
        [stats.laplace(), stats.norm()],
        EVEN,
        TWO,
        [-1 - HALF, -1 + HALF, 1 - HALF, 1 + HALF],
        "ababa",
    ),
    "half a line": ([stats.expon(), stats.expon(scale=3)], EVEN, TWO, [1.5 * math.log(3)], "ab"),
    # Gamma(1/2) has an infinite density at 0: x^(−1/2) / Γ(1/2) = w / (1 − w)
    "close to a singular end": (
        [stats.gamma(0.5), stats.expon()],
        [1e-9, 1 - 1e-9],
        TWO,
        [(1e-9 / (1 - 1e-9)) ** 2 / math.pi],
        "ab",
    ),
    # (1 − w) e^{−x} = w e^{−x/2} / 2 has its root where both densities underflow
    "far out in the tails": (
        [stats.expon(), stats.expon(scale=2)],
        [1.0, 1e-200],
        TWO,
        [-2 * math.log(1e-200 / 2)],
        "ab",
    ),
    # Beta(1/2, 1/2) on [−3, 0]: so close to 0 that SciPy rounds to the end, it is infinite.
    "infinite at both ends": (
        [stats.beta(0.5, 0.5, -3, 3), stats.uniform(-3, 3)],
        EVEN,
        TWO,
        [-1.5 - ARC, -1.5 + ARC],
        "aba",
    ),
    "a gap is shared": ([stats.uniform(0, 1), stats.uniform(2, 1)], EVEN, TWO, [1.5], "ab"),
    "a gap within one act": (
        [stats.uniform(0, 1), stats.uniform(2, 1)],
        EVEN,
        Loss([[0, 1], [0, 1]], ["a", "b"], ["x", "y"]),
        [],
        "x",
    ),
    "ties go to the first": ([stats.uniform(0, 2), stats.uniform(1, 2)], EVEN, TWO, [2], "ab"),
    "mixed supports": ([stats.expon(), stats.norm(0, 1)], EVEN, TWO, [0], "ba"),
    "neighbouring floats": ([stats.uniform(0, 1), stats.uniform(NEXT, 1)], EVEN, TWO, [1], "ab"),
    "no prior, no say": ([stats.uniform(0, 1), stats.uniform(2, 1)], [0, 1], TWO, [], "b"),
    "equal Gaussians": ([Gaussian(1, 2), Gaussian(1, 2)], [0.4, 0.6], TWO, [], "b"),
    "equal and even": ([Gaussian(1, 2), Gaussian(1, 2)], EVEN, TWO, [], "a"),
    "equal densities": ([stats.t(3), stats.t(3)], [0.4, 0.6], TWO, [], "b"),
    "equal in other clothes": ([stats.t(1), stats.cauchy()], EVEN, TWO, [], "a"),
    "one class": ([stats.t(3)], [1], Loss([[2, 1]], ["a"], ["x", "y"]), [], "y"),
    "never worse": (
        [stats.norm(0, 1), stats.t(5)],
        EVEN,
        Loss([[1, 0], [1, 1]], ["a", "b"], ["x", "y"]),
        [],
        "y",
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_the_line_is_cut_where_algebra_says(name):
    densities, priors, loss, thresholds, acts = LINES[name]
    cut = regions(dict(zip("ab", densities, strict=False)), priors, loss)
    np.testing.assert_allclose(cut.thresholds, thresholds, rtol=1e-12)
    assert [interval.act for interval in cut.intervals] == list(acts)


@pytest.mark.parametrize(
    ("first", "second", "priors"),
    [
        ((0.0, 1.0), (2.0, 1.0), [0.57, 0.43]),
        ((0.0, 1.0), (2.0, 1.0 + 2**-50), [0.57, 0.43]),
        ((5.0, 1e-8), (5.0, 1e8), EVEN),
        ((1e6, 1.0), (1e6 + 1, 4.0), [0.45, 0.55]),
        ((0.0, 1.0), (0.0, 1.0 + 2**-30), EVEN),
        ((0.0, 1.0), (30.0, 2.0), [1.0, 7e-218]),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_thresholds_of_two_gaussians_are_exact_to_rounding(first, second, priors, turned):
    if turned:
        first, second, priors = second, first, priors[::-1]
    cut = regions({"a": Gaussian(*first), "b": Gaussian(*second)}, priors, TWO)
    assert cut.thresholds.size
    for root in cut.thresholds:
        with localcontext() as context:
            context.prec = 60
            log_ratio = (Decimal(priors[0]) / Decimal(priors[1])).ln()
        error = abs(exact_residual(root, first, second, log_ratio))
        reach = max(abs(root), abs(first[0] - second[0]), abs(root - first[0]))
        assert error <= 8 * np.finfo(float).eps * reach


def test_gaussians_that_only_touch_leave_one_act_to_its_neighbours():
    # Heights 1 and 1/2 at the common mean, weights 1/3 and 2/3: the narrow one never wins alone.
    cut = regions({"a": Gaussian(3, 1), "b": Gaussian(3, 4)}, [1 / 3, 2 / 3], TWO)
    assert cut.act_at([0.0, 6.0]).tolist() == ["b", "b"]
    assert cut.bayes_risk == pytest.approx(1 / 3, rel=1e-12)


@pytest.mark.parametrize("narrow", [1e-3, 1e-6])
def test_a_narrow_class_on_a_broad_one_is_not_overlooked(narrow):
    densities = {"a": Gaussian(0, 1), "b": stats.t(3, 0.5, 2), "c": Gaussian(0.7, narrow**2)}
    cut = regions(densities, [0.5, 0.4, 0.1], THREE.with_reject(0.45))
    inside = [i for i in cut.intervals if i.low < 0.7 < i.high]
    assert [i.act for i in inside] == ["c"]
    assert 1 < (inside[0].high - inside[0].low) / narrow < 10


def test_a_region_that_appears_for_an_instant_is_found():
    # The log ratio of the two touches zero at ±1 when p = e^{1/2} / (e^{1/2} + √(π/2)).
    touching = math.exp(0.5) / (math.exp(0.5) + math.sqrt(math.pi / 2))
    densities = {"a": stats.laplace(), "b": stats.norm()}
    for step, count in ((-1e-9, 4), (1e-9, 0)):
        priors = [touching + step, 1 - touching - step]
        assert len(regions(densities, priors, TWO).thresholds) == count


def test_far_out_where_rounding_hides_the_difference_the_act_goes_on():
    # Both fall like e^{−x}; their ratio is a power of x, lost beside x from 1e16 on.
    assert regions({"a": stats.gamma(0.3), "b": stats.expon()}, EVEN, TWO).thresholds.size == 1


class Underflowing:
    """A Gaussian that knows no more than its density, as plain numbers, and no upper tail."""

    def __init__(self, mean):
        self._inner = stats.norm(mean)
        self.cdf, self.ppf = self._inner.cdf, self._inner.ppf

    def logpdf(self, x):
        return np.log(self._inner.pdf(x))


def test_any_object_with_three_methods_is_a_density():
    cut = regions({"a": Underflowing(0), "b": Gaussian(2, 1)}, EVEN, TWO)
    np.testing.assert_allclose(cut.thresholds, [1.0], rtol=1e-12)
    assert cut.bayes_risk == pytest.approx(stats.norm.cdf(-1), rel=1e-12)


def test_where_all_densities_underflow_the_stretch_is_shared():
    cut = regions({"a": Underflowing(0), "b": Underflowing(1000)}, EVEN, TWO)
    assert [i.act for i in cut.intervals] == ["a", "b"]
    assert 40 < cut.thresholds[0] < 960


def test_a_density_that_underflows_is_not_taken_for_the_smaller_one():
    cut = regions({"a": Underflowing(0), "b": Gaussian(0, 0.25)}, EVEN, TWO)
    assert cut.act_at([1e5, -1e5]).tolist() == ["a", "a"]
    assert len(cut.thresholds) == 2


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


def test_a_class_without_prior_keeps_its_row():
    cut = regions({"a": stats.uniform(0, 1), "b": stats.uniform(2, 1)}, [0, 1], TWO)
    assert cut.intervals == ((0, 3, "b"),)
    np.testing.assert_array_equal(cut.probability_table, [[0, 1], [0, 1]])


@pytest.mark.parametrize("support", [(-20, 20), (-20, np.inf), (-np.inf, 20), (-np.inf, np.inf)])
def test_a_given_support_bounds_the_regions(support):
    cut = regions(NEAR, EVEN, TWO, support)
    assert cut.intervals == ((support[0], 1, "a"), (1, support[1], "b"))
    assert cut.support == support
    assert cut.bayes_risk == pytest.approx(stats.norm.cdf(-1), rel=1e-12)
    if support[1] == 20:
        with pytest.raises(InputError, match=r"21 lies outside the support"):
            cut.act_at([0, 21])


# --- numbers that come with them ----------------------------------------------------------------


def test_error_and_reject_are_told_apart():
    cut = regions(NEAR, EVEN, TWO.with_reject(1 / (1 + math.e**2)))
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
    cut = regions({"a": Gaussian(0, 1), "b": Gaussian(40, 1)}, EVEN, TWO.with_reject(0.01))
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
    best = regions(NEAR, EVEN, TWO)
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
    cut = regions(NEAR, EVEN, TWO, (-20, 20))
    with pytest.raises(InputError, match=message):
        cut.moved(thresholds)
    with pytest.raises(InputError, match="must ascend strictly"):
        regions({"a": Gaussian(0, 1), "b": Gaussian(0, 9)}, EVEN, TWO).moved([1.0, -1.0])


def test_regions_print_as_a_table():
    cut = regions(NEAR, EVEN, TWO)
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
    cut = regions(NEAR, EVEN, TWO)
    with pytest.raises(AttributeError):
        cut.bayes_risk = 0.0
    with pytest.raises(ValueError, match="read-only"):
        cut.probability_table[0, 0] = 1.0


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("density", "error", "message"),
    [
        (stats.poisson(3), InputError, "'a' is of whole numbers, and others are continuous"),
        (3.0, InputError, "Got float"),
        (lambda x: 0 * x, InputError, "Got function. A function can be the _pdf of a subclass"),
        (stats.multivariate_normal([0, 0]), InputError, "one-dimensional"),
        (Gaussian([0, 1], 1), ShapeError, r"Got an array of them, of shape \(2,\)"),
        (stats.norm([0, 1], 1), ShapeError, r"shape \(2,\)"),
        (stats.gamma(-1), InputError, "parameters are out of range"),
    ],
)
def test_what_is_not_a_density_is_refused(density, error, message):
    with pytest.raises(error, match=message):
        regions({"a": density, "b": Gaussian(0, 1)}, EVEN, TWO)


def test_a_support_that_cuts_off_mass_names_the_class_and_its_mass():
    with pytest.raises(InputError, match=r"'b' must integrate to 1 .* integrates to 0.841344746"):
        regions({"a": Gaussian(0, 1), "b": Gaussian(9, 1)}, EVEN, TWO, support=(-10, 10))


def test_a_distribution_that_does_not_add_up_is_refused():
    odd = {"a": stats.cauchy(0, 0.6), "b": stats.vonmises(2.0)}
    with pytest.raises(InputError, match="the distribution of 'b' adds up to .*, not to 1"):
        regions(odd, [0.3, 0.7], TWO.with_reject(0.05))


@pytest.mark.parametrize(
    ("support", "message"),
    [(ends, r"must be \(low, high\)") for ends in [(1, 0), (0, 0), (0, 1, 2), (np.nan, 1)]]
    + [("ab", "support of regions must be numbers")],
)
def test_a_support_has_two_ends_in_order(support, message):
    with pytest.raises(InputError, match=message):
        regions(NEAR, EVEN, TWO, support)


@pytest.mark.parametrize(
    ("densities", "priors", "loss", "error", "message"),
    [
        ({"a": 0, "B": 0}, EVEN, TWO, LabelError, "differ in 'B'. Did you mean 'b'"),
        (NEAR, {"a": 0.5, "b": 0.5, "c": 0}, TWO, LabelError, "not know 'c', given in the priors"),
        (list(NEAR.values()), EVEN, TWO, InputError, "by truth"),
        (NEAR, EVEN, TWO.per_row(np.ones((3, 2, 2))), InputError, "one matrix for all rows"),
        (NEAR, EVEN, [[0, 1], [1, 0]], InputError, "Got list"),
    ],
)
def test_names_priors_and_losses_must_fit(densities, priors, loss, error, message):
    with pytest.raises(error, match=message):
        regions(densities, priors, loss)


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


# --- whole numbers --------------------------------------------------------------------------------


def test_counts_of_both_signs_are_cut_and_reach_to_infinity():
    first, second = stats.skellam(3, 4), stats.skellam(10, 2)
    cut = regions({"a": first, "b": second}, EVEN, TWO)
    x = np.arange(-100, 100)
    least = 0.5 * np.minimum(first.pmf(x), second.pmf(x)).sum()
    assert cut.bayes_risk == pytest.approx(least, rel=1e-9)
    assert cut.intervals[0].low == -np.inf


def test_moved_counts_keep_what_is_below_a_threshold():
    best = regions({"a": stats.poisson(2), "b": stats.poisson(6)}, EVEN, TWO)
    assert best.moved([2.2]).risk == best.moved([2]).risk
    error = 0.5 * stats.poisson(2).sf(2) + 0.5 * stats.poisson(6).cdf(2)
    assert best.moved([2]).risk == pytest.approx(error, rel=1e-12)
    assert best.moved([2]).act_at([2, 3]).tolist() == ["a", "b"]


def test_numbers_that_are_impossible_are_in_no_set_and_cut_nothing():
    twos = stats.rv_discrete(values=([0, 2, 4], [0.5, 0.25, 0.25]))
    cut = regions({"a": twos, "b": stats.rv_discrete(values=([2, 6], [0.5, 0.5]))}, EVEN, TWO)
    assert {act: v.tolist() for act, v in cut.values().items()} == {"a": [0, 4], "b": [2, 6]}
    assert cut.thresholds.tolist() == [1.5, 3.5, 5.5]
    assert cut.bayes_risk == pytest.approx(0.5 * 0.25)


def test_what_is_no_distribution_of_whole_numbers_is_refused():
    halves = stats.rv_discrete(values=([0, 0.5, 1], [0.25, 0.5, 0.25]))
    with pytest.raises(InputError, match="'a' at whole numbers add up to 0.5, not to 1"):
        regions({"a": halves, "b": stats.poisson(1)}, EVEN, TWO)
    with pytest.raises(InputError, match="'b' spreads over more than 1048576 whole numbers"):
        regions({"a": stats.poisson(1), "b": stats.nbinom(1, 1e-8)}, EVEN, TWO)
    with pytest.raises(InputError, match="these regions are of densities"):
        regions(NEAR, EVEN, TWO).values()


@pytest.mark.parametrize("support", [(0, np.inf), (0, 40), (-3, 39.2)])
def test_the_ends_of_a_support_of_counts_belong_to_it(support):
    counts = {"a": stats.poisson(1), "b": stats.poisson(3)}
    cut, whole = (regions(counts, EVEN, TWO, support=each) for each in (support, None))
    assert cut.bayes_risk == pytest.approx(whole.bayes_risk, rel=1e-12)
    assert cut.act_at(0) == "a"


def test_counts_too_large_for_their_quantiles_are_refused():
    with pytest.raises(InputError, match="'a' spreads over more than"):
        regions({"a": stats.poisson(1e13), "b": stats.poisson(1.1e13)}, EVEN, TWO)
