import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import integrate, stats

from credo.decisions import BayesError, bayes_error, bhattacharyya_bound
from credo.exceptions import InputError
from credo.families import Gaussian

ROUND = np.eye(2)
TILTED = np.array([[2.0, 0.6], [0.6, 0.5]])


class Opaque:
    """A distribution that shows nothing but its log density and its draws."""

    def __init__(self, mean, covariance):
        self._inner = stats.multivariate_normal(mean, covariance)

    def logpdf(self, x):
        return self._inner.logpdf(x)

    def rvs(self, size, random_state):
        return self._inner.rvs(size=size, random_state=random_state)


def error_by_grid(densities, priors, reach=9.0, n=1201):
    """Integrate the smaller weighted densities over a square grid of two dimensions."""
    axis = np.linspace(-reach, reach, n)
    x = np.stack(np.meshgrid(axis, axis), axis=-1)
    weighted = np.stack([p * d.pdf(x) for d, p in zip(densities, priors, strict=True)])
    least = weighted.sum(axis=0) - weighted.max(axis=0)
    return np.trapezoid(np.trapezoid(least, axis), axis)


# --- closed form --------------------------------------------------------------------------------


def test_equal_priors_give_phi_of_minus_half_the_distance():
    gap = np.array([1.0, -2.0])
    result = bayes_error({"a": ([0, 0], TILTED), "b": (gap, TILTED)}, [0.5, 0.5])
    distance = math.sqrt(gap @ np.linalg.inv(TILTED) @ gap)
    assert result.method == "closed form"
    assert result.value == result.low == result.high
    assert result.value == pytest.approx(stats.norm.cdf(-distance / 2), rel=1e-12)


@pytest.mark.parametrize("p", [0.5, 0.9, 0.01])
def test_unequal_priors_agree_with_an_integral_over_the_plane(p):
    densities = {"a": ([-1, 0], ROUND), "b": ([1, 0.5], ROUND)}
    result = bayes_error(densities, {"b": 1 - p, "a": p})

    def least(y, x):
        first = p * math.exp(-0.5 * ((x + 1) ** 2 + y**2))
        second = (1 - p) * math.exp(-0.5 * ((x - 1) ** 2 + (y - 0.5) ** 2))
        return min(first, second) / (2 * math.pi)

    # Along x the smaller density changes once for each y; quad is told where.
    def row(y):
        cut = ((math.log(p / (1 - p))) + 0.5 * ((y - 0.5) ** 2 - y**2)) / 2
        points = [cut] if -10 < cut < 10 else None
        return integrate.quad(lambda x: least(y, x), -10, 10, points=points, epsabs=1e-12)[0]

    expected = integrate.quad(row, -9, 10, epsabs=1e-11)[0]
    assert result.method == "closed form"
    assert result.value == pytest.approx(expected, abs=1e-9)


def test_one_dimensional_gaussians_with_one_variance_are_in_closed_form_too():
    pairs = bayes_error({"a": (0, 4), "b": (4, 4)}, [0.5, 0.5])
    ours = bayes_error({"a": Gaussian(0, 4), "b": Gaussian(4, 4)}, [0.5, 0.5])
    theirs = bayes_error({"a": stats.norm(0, 2), "b": stats.norm(4, 2)}, [0.5, 0.5])
    assert {r.method for r in (pairs, ours, theirs)} == {"closed form"}
    np.testing.assert_allclose([pairs.value, ours.value, theirs.value], stats.norm.cdf(-1))


def test_equal_classes_leave_the_smaller_prior():
    result = bayes_error({"a": ([0, 0], ROUND), "b": ([0, 0], ROUND)}, [0.3, 0.7])
    assert result.value == pytest.approx(0.3, rel=1e-15)


def test_a_label_that_never_occurs_is_no_source_of_error():
    assert bayes_error({"a": ([0, 0], ROUND), "b": ([0, 1], TILTED)}, [1, 0]).value == 0
    three = {"a": ([0, 0], ROUND), "b": ([0, 2], ROUND), "c": ([0, 1], TILTED)}
    result = bayes_error(three, [0.5, 0.5, 0])
    assert result.method == "closed form"
    assert result.value == pytest.approx(stats.norm.cdf(-1), rel=1e-13)


def test_errors_far_in_the_tails_keep_their_digits():
    result = bayes_error({"a": ([0, 0], ROUND), "b": ([40, 0], ROUND)}, [0.5, 0.5])
    assert result.value == pytest.approx(stats.norm.sf(20), rel=1e-12)


# --- quadrature ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("densities", "priors"),
    [
        ([stats.norm(0, 1), stats.norm(1, 3)], [0.4, 0.6]),
        ([stats.norm(0, 1), stats.norm(2, 1), stats.norm(5, 2)], [0.2, 0.5, 0.3]),
        ([stats.laplace(0, 1), stats.norm(2, 1)], [0.5, 0.5]),
    ],
)
def test_one_dimension_agrees_with_a_fine_grid(densities, priors):
    x = np.linspace(-40, 40, 1_000_001)
    weighted = np.stack([p * d.pdf(x) for d, p in zip(densities, priors, strict=True)])
    expected = np.trapezoid(weighted.sum(axis=0) - weighted.max(axis=0), x)
    result = bayes_error(dict(enumerate(densities)), priors)
    assert result.method == "quadrature"
    assert result.value == pytest.approx(expected, abs=1e-8)


# --- Monte Carlo --------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.5, 0.8])
def test_monte_carlo_finds_the_closed_form_within_its_interval(p):
    exact = bayes_error({"a": ([0, 0], ROUND), "b": ([1, 1], ROUND)}, [p, 1 - p])
    drawn = bayes_error(
        {"a": Opaque([0, 0], ROUND), "b": ([1, 1], ROUND)}, [p, 1 - p], random_state=0, level=0.999
    )
    assert drawn.method == "Monte Carlo"
    assert drawn.low < exact.value < drawn.high
    assert drawn.high - drawn.low < 0.01


def test_monte_carlo_agrees_with_a_grid_for_three_classes():
    densities = [
        stats.multivariate_normal([0, 0], ROUND),
        stats.multivariate_normal([1, 1], TILTED),
        stats.multivariate_t([-1, 1], 0.5 * ROUND, df=8),
    ]
    priors = [0.5, 0.3, 0.2]
    result = bayes_error(dict(zip("abc", densities, strict=True)), priors, random_state=1)
    expected = error_by_grid(densities, priors, reach=20.0)
    assert result.low < expected < result.high
    assert result.value == pytest.approx(expected, abs=2e-3)


@pytest.mark.slow
def test_the_interval_covers_as_often_as_it_says():
    densities = {"a": ([0, 0], ROUND), "b": ([1, 0], TILTED)}
    frozen = [stats.multivariate_normal(mean, cov) for mean, cov in densities.values()]
    expected = error_by_grid(frozen, [0.5, 0.5])
    hits = 0
    for seed in range(200):
        result = bayes_error(densities, [0.5, 0.5], n_samples=500, level=0.8, random_state=seed)
        hits += result.low <= expected <= result.high
    # Binomial(200, 0.8) lies in this range with probability above 0.9999.
    assert 137 <= hits <= 181


def test_the_same_seed_gives_the_same_estimate():
    densities = dict(TWO)
    first, again = (bayes_error(densities, [0.5, 0.5], random_state=7) for _ in range(2))
    assert first == again
    assert first != bayes_error(densities, [0.5, 0.5], random_state=8)


def test_rare_labels_are_drawn_too():
    densities = {"a": ([0, 0], ROUND), "b": ([1, 0], TILTED), "c": ([2, 2], TILTED)}
    result = bayes_error(densities, [0.998, 0.001, 0.001], n_samples=100, random_state=0)
    assert 0 <= result.low <= result.value <= result.high <= 0.01


# --- the bound ----------------------------------------------------------------------------------


def test_the_bound_is_the_overlap_of_square_roots():
    x = np.linspace(-40, 40, 400_001)
    first, second = stats.norm(0, 1), stats.norm(1.5, 3)
    overlap = np.trapezoid(np.sqrt(first.pdf(x) * second.pdf(x)), x)
    bound = bhattacharyya_bound({"a": first, "b": second}, [0.2, 0.8])
    assert bound == pytest.approx(min(0.2, math.sqrt(0.16) * overlap), rel=1e-9)
    closer = bhattacharyya_bound({"a": Gaussian(0, 1), "b": (8, 9)}, [0.5, 0.5])
    far = stats.norm(8, 3)
    overlap = np.trapezoid(np.sqrt(first.pdf(x) * far.pdf(x)), x)
    assert closer == pytest.approx(0.5 * overlap, rel=1e-9)


def test_the_bound_never_exceeds_that_of_guessing():
    assert bhattacharyya_bound({"a": (0, 1), "b": (0.1, 1)}, [0.9, 0.1]) == pytest.approx(0.1)


@st.composite
def plane_problems(draw):
    """Two or three Gaussians in the plane and priors."""
    n = draw(st.integers(2, 3))
    place = st.integers(-8, 8).map(lambda i: i / 4)
    densities = {}
    for name in "abc"[:n]:
        entry = st.integers(-4, 4).map(lambda i: i / 4)
        root = np.array([[draw(entry), draw(entry)], [draw(entry), draw(entry)]])
        densities[name] = ([draw(place), draw(place)], root @ root.T + 0.2 * ROUND)
    weights = np.array([draw(st.integers(0, 9)) for _ in range(n)], dtype=float) + 0.1
    return densities, weights / weights.sum()


@given(plane_problems())
def test_the_bound_is_at_least_the_error(problem):
    densities, priors = problem
    error = bayes_error(densities, priors, n_samples=2000, random_state=0, level=0.99999)
    assert bhattacharyya_bound(densities, priors) >= error.low - 1e-12


# --- results and errors -------------------------------------------------------------------------


def test_results_print_with_their_interval_and_method():
    assert str(BayesError(0.25, 0.2, 0.3, "Monte Carlo")) == (
        "Bayes error 0.25 (0.2 to 0.3), Monte Carlo"
    )
    exact = BayesError(0.25, 0.25, 0.25, "closed form")
    assert str(exact) == "Bayes error 0.25, closed form"
    assert json.loads(json.dumps(exact.to_dict())) == {
        "value": 0.25,
        "low": 0.25,
        "high": 0.25,
        "method": "closed form",
        "what": "error",
    }
    assert str(BayesError(2, 2, 2, "quadrature", "risk")) == "Bayes risk 2, quadrature"


@pytest.mark.parametrize("function", [bayes_error, bhattacharyya_bound])
@pytest.mark.parametrize(
    ("density", "message"),
    [
        (([0, 0], [[1, 1], [1, 1]]), "covariance of 'b' must be positive definite"),
        (([0, 0], [[1, 2], [2, 1]]), "covariance of 'b' must be positive definite"),
        (([0, 0], [[1, 1 / 3], [1 / 3, 1 / 9]]), "covariance of 'b' must be positive definite"),
        (([0, 0], [[1, 0.5], [0, 1]]), "covariance of 'b' must be symmetric"),
        (([0, np.nan], ROUND), "mean of 'b'"),
        (([0, 0], [1, 1]), r"'b' needs a mean of shape \(d,\)"),
        (([0, 0, 0], np.eye(3)), "'a' has 2 dimensions and 'b' has 3"),
        (stats.poisson(1), "density of 'b' (must be one of vectors|is not one)"),
        ("normal", "Got str"),
    ],
)
def test_what_is_not_a_density_is_refused_by_name(function, density, message):
    with pytest.raises(InputError, match=message):
        function({"a": ([0, 0], ROUND), "b": density}, [0.5, 0.5])


TWO = {"a": ([0, 0], ROUND), "b": ([1, 0], TILTED)}
WIDER = {"a": ([0, 0], ROUND), "b": Opaque([0, 0, 0], np.eye(3))}
ODD = {"a": stats.dirichlet([1, 2, 3]), "b": stats.dirichlet([3, 2, 1])}


@pytest.mark.parametrize(
    ("densities", "options", "message"),
    [
        ([([0, 0], ROUND)], {}, "by label"),
        (WIDER, {}, r"Got \[2, 3\]"),
        (ODD, {}, "the logpdf of 'a' must take rows of draws"),
        (TWO, {"n_samples": 3}, "at least 4"),
        (TWO, {"level": 1.0}, "strictly between 0 and 1"),
        (TWO, {"level": 0.0}, "strictly between 0 and 1"),
        (TWO, {"random_state": -1}, "random_state of bayes_error must be a seed"),
    ],
    ids=range(7),
)
def test_what_has_no_error_is_refused(densities, options, message):
    with pytest.raises(InputError, match=message):
        bayes_error(densities, [0.5, 0.5], **options)
    with pytest.raises(InputError, match="the density of 'b' is not one"):
        bhattacharyya_bound({"a": (0, 1), "b": stats.laplace()}, [0.5, 0.5])


@pytest.mark.parametrize("stretch", [1 + 1e-12, 1.0001])
def test_errors_too_rare_to_turn_up_are_found_all_the_same(stretch):
    unit = np.eye(2)
    clouds = {"a": ([0, 0], unit), "b": ([14, 0], unit * stretch)}
    result = bayes_error(clouds, [0.5, 0.5], level=0.9999)
    assert result.method == "Monte Carlo"
    # Stretching by 1e-4 moves the error by about 7²/2 · 1e-4 of itself, far less than 5 %.
    assert result.value == pytest.approx(stats.norm.cdf(-7), rel=0.05)
    assert result.low < result.value < result.high


def test_three_far_clouds_add_up_their_pairs():
    unit = np.eye(2)
    clouds = {"a": ([0, 0], unit), "b": ([14, 0], unit), "c": ([0, 100], unit)}
    result = bayes_error(clouds, [1 / 3, 1 / 3, 1 / 3])
    assert result.value == pytest.approx(2 / 3 * stats.norm.cdf(-7), rel=0.05)


def test_what_draws_may_have_missed_widens_the_interval_of_other_densities():
    far = {"a": stats.multivariate_t([0, 0], df=5), "b": stats.multivariate_t([1e6, 0], df=5)}
    result = bayes_error(far, [0.5, 0.5], n_samples=1000)
    assert result.high >= np.log(40) / 1000 * 0.99


@pytest.mark.parametrize(
    ("apart", "tight"), [pytest.param(7.0, 0.05, marks=pytest.mark.slow), (3.0, 0.1)]
)
def test_a_tight_class_far_from_a_wide_one(apart, tight):
    clouds = {"a": ([0.0, 0.0], tight**2 * ROUND), "b": ([apart, 0.0], ROUND)}

    def smaller(y, x):
        one = -0.5 * (x**2 + y**2) / tight**2 - 2 * np.log(tight)
        two = -0.5 * ((x - apart) ** 2 + y**2)
        return 0.5 * np.exp(min(one, two)) / (2 * np.pi)

    reach = 14 * tight
    cuts = np.linspace(-reach, reach, 15)
    truth = sum(
        integrate.dblquad(smaller, a, b, -reach, reach, epsabs=0, epsrel=1e-7)[0]
        for a, b in pairwise(cuts)
    )
    hits = 0
    for seed in range(20):
        result = bayes_error(clouds, [0.5, 0.5], n_samples=20_000, random_state=seed)
        hits += result.low <= truth <= result.high
        assert result.value == pytest.approx(truth, rel=0.25)
    assert hits >= 15  # twenty intervals of 95 %: fewer hits have a probability below 1e-3


def test_without_a_gaussian_between_the_classes_themselves_are_drawn_from(monkeypatch):
    clouds = {"a": ([0, 0], ROUND), "b": ([2, 0], TILTED)}
    usual = bayes_error(clouds, [0.5, 0.5], level=0.9999)
    monkeypatch.setattr(np.linalg, "inv", np.zeros_like)  # leaves no proper covariance
    plain = bayes_error(clouds, [0.5, 0.5], level=0.9999)
    assert plain.value != usual.value
    assert max(plain.low, usual.low) <= min(plain.high, usual.high)
