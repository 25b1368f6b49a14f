"""Grey levels: potentials, and noise and smoothness from one noisy plane."""

import math

import numpy as np
import pytest
from scipy import ndimage, stats

from credo.exceptions import InputError, ShapeError
from credo.graphs import GridField, TruncatedLinear
from credo.images._grey_picture import LEAST_IMPULSE, GreyPicture
from credo.images.grey import (
    DEFAULT_SLOPE,
    JUMP,
    estimate_grey,
    expected_grey,
    grey_levels,
    grey_potentials,
)
from credo.inference.grids import infer_grid


def scene(n=64):
    """Shaded discs before a bright ground: edges, slopes and flat parts."""
    y, x = np.mgrid[:n, :n] / n
    ground = 150 + 50 * y
    for row, column, radius, grey in (
        (0.3, 0.3, 0.2, 60),
        (0.7, 0.6, 0.25, 100),
        (0.2, 0.8, 0.12, 30),
    ):
        inside = (y - row) ** 2 + (x - column) ** 2 < radius**2
        ground = np.where(inside, grey + 80 * (x - column), ground)
    return np.rint(ground)


SCENE = scene()


def noisy(sigma=0.0, extremes=0.0, anything=0.0, seed=0):
    draw = np.random.default_rng(seed)
    seen = np.clip(np.rint(SCENE + sigma * draw.normal(size=SCENE.shape)), 0, 255)
    kind = draw.random(SCENE.shape)
    seen[kind < extremes / 2] = 0
    seen[kind > 1 - extremes / 2] = 255
    hit = draw.random(SCENE.shape) < anything
    seen[hit] = draw.integers(0, 256, hit.sum())
    return seen.astype(np.uint8)


def probabilities(logs, slope, limit, sweeps, momentum=1.0, neighbours=4):
    field = GridField(logs, TruncatedLinear(slope, limit), neighbours=neighbours)
    return infer_grid(field, sweeps=sweeps, momentum=momentum).posterior.probabilities


def learn(plane, count=32, **given):
    return estimate_grey(plane, grey_levels(plane, count), probabilities, **given)


def restore(plane, found, count=32):
    levels = grey_levels(plane, count)
    logs = grey_potentials(plane, levels, found.sigma, found.impulse)
    return expected_grey(probabilities(logs, found.slope, found.limit, 20, 0.5), levels)


def error(plane):
    return float(((plane - SCENE) ** 2).mean())


# --- levels and potentials --------------------------------------------------------------------


def test_levels_go_from_the_darkest_value_to_the_lightest():
    np.testing.assert_allclose(grey_levels(np.array([[7.0, np.nan, 3.0]]), 3), [3, 5, 7])


def test_levels_of_one_value_still_increase():
    np.testing.assert_allclose(grey_levels(np.full((2, 2), 9), 3), [9, 9.5, 10])


def test_without_impulses_a_value_inside_has_the_gaussian_density():
    levels = np.array([0.0, 50.0, 100.0, 200.0])
    logs = grey_potentials(np.array([[80, 120]]), levels, 15.0)
    expected = stats.norm.logpdf([[[80.0], [120.0]]], levels, 15.0)
    np.testing.assert_allclose(logs, expected, rtol=1e-5)


def test_a_value_at_an_end_has_the_whole_tail():
    levels = np.array([0.0, 50.0, 255.0])
    logs = grey_potentials(np.array([[0, 255]]), levels, 30.0)
    np.testing.assert_allclose(logs[0, 0], stats.norm.logcdf(0.5, levels, 30.0), rtol=1e-5)
    np.testing.assert_allclose(logs[0, 1], stats.norm.logsf(254.5, levels, 30.0), rtol=1e-5)


@pytest.mark.parametrize("impulse", [0.0, 0.1, 0.9])
def test_potentials_of_all_values_sum_to_one(impulse):
    """Whole numbers from 0 to 255 are all there is, whatever the level."""
    logs = grey_potentials(np.arange(256)[None], grey_levels(np.arange(256), 5), 12.0, impulse)
    np.testing.assert_allclose(np.exp(logs.astype(float)).sum(axis=1), 1, atol=0.005)


def test_an_unobserved_value_says_nothing():
    logs = grey_potentials(np.array([[np.nan, 1.0]]), [0.0, 1.0, 2.0], 0.5, 0.1)
    np.testing.assert_array_equal(logs[0, 0], 0)
    assert logs[0, 1].argmax() == 1


def test_the_mean_of_the_levels_has_the_least_expected_squared_error():
    chances, levels = np.array([0.2, 0.5, 0.3]), np.array([0.0, 10.0, 40.0])
    mean = expected_grey(chances[None], levels)[0]
    losses = [(chances * (levels - guess) ** 2).sum() for guess in (mean - 0.1, mean, mean + 0.1)]
    assert np.argmin(losses) == 1


# --- the objective ----------------------------------------------------------------------------


def evidence(rows, unit):
    """p(y) of a chain up to a constant, by going along it."""
    state = rows[0]
    for row in rows[1:]:
        state = (state @ unit) * row
    return state.sum()


def test_the_objective_is_the_mean_log_probability_of_a_pixel_given_all_others():
    """p(y_i | others) = p(y) / p(y without i), and a row of ones takes a pixel out."""
    levels, noise, slope, limit = np.array([0.0, 1.0, 2.0, 3.0]), (0.8, 0.1), 0.7, 2.0
    plane = np.array([[1, 3, 2, 0]])
    rows = np.exp(grey_potentials(plane, levels, *noise)[0].astype(float))
    steps = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    unit = np.exp(-slope * np.minimum(steps, limit))
    without = [np.where(np.arange(4)[:, None] == place, 1.0, rows) for place in range(4)]
    logs = [math.log(evidence(rows, unit) / evidence(each, unit)) for each in without]
    picture = GreyPicture.of(plane, levels, probabilities, (None, None))
    assert picture.at(noise, slope, limit).objective == pytest.approx(np.mean(logs), rel=1e-5)


def test_a_given_number_does_not_move():
    picture = GreyPicture.of(noisy(10), grey_levels(noisy(10), 16), probabilities, (7.0, None))
    sigma, impulse = picture.at((7.0, 0.2), 0.5, 5.0).next_noise
    assert sigma == 7.0
    assert impulse < 0.2


# --- what is learnt ---------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [5.0, 10.0, 20.0, 40.0])
def test_the_spread_of_gaussian_noise_is_found_to_a_fifth(sigma):
    found = learn(noisy(sigma))
    assert found.sigma == pytest.approx(sigma, rel=0.2)
    assert found.impulse < 0.05


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_the_share_of_salt_and_pepper_is_found_to_a_quarter(share):
    assert learn(noisy(0, share)).impulse == pytest.approx(share, rel=0.25)


CASES = {
    "gaussian 10": (10, 0, 0),
    "gaussian 20": (20, 0, 0),
    "gaussian 40": (40, 0, 0),
    "salt and pepper 5 %": (0, 0.05, 0),
    "salt and pepper 20 %": (0, 0.2, 0),
    "gaussian 20 with salt and pepper": (20, 0.1, 0),
    "any value 10 %": (0, 0, 0.1),
    "gaussian 10 with any value": (10, 0, 0.1),
}


@pytest.mark.parametrize("case", CASES)
def test_planes_are_restored_better_than_by_a_median_or_a_gaussian_filter(case):
    plane = noisy(*CASES[case])
    filters = (ndimage.median_filter(plane, 3), ndimage.gaussian_filter(plane.astype(float), 1.0))
    assert error(restore(plane, learn(plane))) < min(error(each) for each in filters)


@pytest.mark.parametrize("case", CASES)
def test_every_round_rises_and_says_so(case):
    found = learn(noisy(*CASES[case]))
    assert found.status in ("CONVERGED", "MAX_ROUNDS")
    assert found.rounds == len(found.objective) - 1
    assert (np.diff(found.objective) > 0).all()


def test_the_unit_of_the_image_does_not_matter():
    plane = noisy(20)
    found, scaled = learn(plane.astype(float)), learn(plane / 255)
    assert scaled.sigma * 255 == pytest.approx(found.sigma, rel=1e-3)
    assert scaled.slope == pytest.approx(found.slope, rel=1e-3)


def test_a_jump_costs_the_same_for_any_slope_and_is_shared_by_the_neighbours():
    plane = noisy(20)
    found = learn(plane)
    assert found.slope * found.limit == pytest.approx(JUMP)
    given = learn(plane, sigma=20.0, impulse=0.01, slope=0.4, neighbours=8)
    assert given.slope * given.limit == pytest.approx(JUMP / 2)


def test_what_is_given_is_kept():
    plane = noisy(20)
    found = learn(plane, sigma=15.0, impulse=0.02, slope=0.5, limit=4.0)
    assert (found.sigma, found.impulse, found.slope, found.limit) == (15.0, 0.02, 0.5, 4.0)
    assert (found.status, found.objective, found.rounds) == ("GIVEN", (), 0)
    assert learn(plane, sigma=15.0).sigma == 15.0
    assert learn(plane, slope=0.5).slope == 0.5


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (1, 5)])
def test_a_few_pixels_get_the_defaults(shape):
    found = learn(np.arange(math.prod(shape), dtype=float).reshape(shape), 64)
    assert found.status == "TOO_SMALL"
    assert found.impulse == LEAST_IMPULSE
    assert found.slope == pytest.approx(DEFAULT_SLOPE)


LINE = np.arange(40)[None]


@pytest.mark.parametrize("plane", [np.full((20, 20), 7), LINE, LINE.T])
def test_one_value_and_lines_are_learnt_from_without_complaint(plane):
    found = learn(plane)
    assert np.isfinite([found.sigma, found.impulse, found.slope]).all()


def test_unobserved_pixels_are_no_impulses():
    plane = noisy(10).astype(float)
    plane[np.random.default_rng(1).random(plane.shape) < 0.3] = np.nan
    found = learn(plane)
    assert found.sigma == pytest.approx(10, rel=0.25)
    assert found.impulse < 0.05


# --- wrong input ------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 257, 2.5])
def test_the_number_of_levels_is_from_2_to_256(count):
    with pytest.raises(InputError, match="count of grey_levels"):
        grey_levels(SCENE, count)


@pytest.mark.parametrize("plane", [np.empty((0, 3)), np.full((2, 2), np.nan)])
def test_levels_need_a_value(plane):
    with pytest.raises(InputError, match="at least one observed value"):
        grey_levels(plane, 4)


@pytest.mark.parametrize("levels", [[1.0], [1.0, 1.0], [2.0, 1.0]])
def test_levels_increase(levels):
    with pytest.raises(InputError, match="two or more increasing numbers"):
        grey_potentials(SCENE, levels, 1.0)


@pytest.mark.parametrize(("sigma", "impulse"), [(0.0, 0.1), (-1.0, 0.1), (1.0, 1.1)])
def test_potentials_need_noise_and_a_probability(sigma, impulse):
    with pytest.raises(InputError, match="of grey_potentials must be"):
        grey_potentials(SCENE, [0.0, 255.0], sigma, impulse)


@pytest.mark.parametrize("name", ["sigma", "slope", "limit", "impulse"])
def test_given_numbers_are_not_negative(name):
    with pytest.raises(InputError, match=f"{name} of estimate_grey"):
        learn(SCENE, **{name: -1.0})


def test_a_plane_has_pixels():
    with pytest.raises(ShapeError, match="at least one pixel"):
        estimate_grey(np.empty((0, 3)), [0.0, 1.0], probabilities)
