"""Noise and smoothness learnt from one noisy plane: flips of two values, noise of grey levels."""

import itertools
import math

import numpy as np
import pytest
from scipy import ndimage, stats
from tests.oracles import grids as oracle

import credo
from credo.images import estimate
from credo.images.estimate import Climb, GreyValues, Point, Sample, Scale

LEVELS = (0.05, 0.10, 0.15, 0.20)
CHECKERS = np.indices((128, 128)).sum(axis=0) % 2 == 1


def drawing(n=128):
    """A head with hair, eyes, a nose and a mouth, on striped shoulders."""
    y, x = np.mgrid[:n, :n] / n * 2 - 1
    face = (x / 0.45) ** 2 + ((y + 0.1) / 0.6) ** 2 < 1
    face &= ~((y < -0.45) & ((x / 0.55) ** 2 + ((y + 0.35) / 0.5) ** 2 < 1))
    for side in (-0.18, 0.18):
        face &= ((x - side) / 0.09) ** 2 + ((y + 0.15) / 0.045) ** 2 >= 1
    face &= (x / 0.2) ** 2 + ((y - 0.25) / 0.05) ** 2 >= 1
    face &= (abs(x) >= 0.03) | (abs(y) >= 0.1)
    face |= (y > 0.55) & (abs(x) < 1.44 * y - 0.64)
    return face & ((y <= 0.7) | (x * 8 % 1 >= 0.35) | (abs(x) >= 0.6))


PICTURES = {"drawing": drawing()}
PICTURES |= {name: picture > 0 for name, picture in oracle.pictures_at_hand().items()}


def flipped(picture, flip, seed=0):
    return picture ^ (np.random.default_rng(seed).random(picture.shape) < flip)


def learn(noisy, **given):
    return credo.denoise(noisy, sweeps=0, noise="flip", **given)


def wrong(picture, noisy, flip, coupling):
    return int((credo.denoise(noisy, flip, coupling).image != picture).sum())


def of_states(states, **given):
    array = np.asarray(states, np.int8)
    return estimate.estimate_flips(array, Sample.of(array.shape), **given)


# --- flips ----------------------------------------------------------------------------------------


def evidence(rows, unit):
    """p(y) of a chain up to a constant, by going along it."""
    state = rows[0]
    for row in rows[1:]:
        state = (state @ unit) * row
    return state.sum()


def without(rows, place):
    """A row of ones takes a pixel out, so that p(y_i | others) = p(y) / p(y without i)."""
    return np.where(np.arange(len(rows))[:, None] == place, 1.0, rows)


def test_a_pixel_is_foretold_from_all_others_and_em_takes_the_mean_belief(monkeypatch):
    """On a chain, with sweeps enough to go along it, both are known exactly."""
    monkeypatch.setattr(estimate, "_SWEEPS", 40)
    monkeypatch.setattr(estimate, "_MOST_ROUNDS", 1)
    y = np.repeat([1, -1, 1], [12, 1, 11])
    found = of_states([y], coupling=0.7)
    flip = min(max(estimate._guess_flip(np.array([y], np.int8)), 0.01), 0.4)
    unit = np.exp(0.7 * np.array([[1, -1], [-1, 1]]))
    same = np.stack([y == -1, y == 1], axis=1)
    rows = np.where(same, 1 - flip, flip)
    total, places = evidence(rows, unit), range(len(y))
    logs = [math.log(total / evidence(without(rows, i), unit)) for i in places]
    assert found.objective[0] == pytest.approx(np.mean(logs), rel=1e-5)
    only = [np.where((np.arange(len(y)) == i)[:, None] & same, 0.0, rows) for i in places]
    differing = np.mean([evidence(each, unit) / total for each in only])
    assert found.noise[0] == pytest.approx(differing, rel=1e-5)


@pytest.fixture(scope="module")
def restored():
    """Flips found over those there are, wrong pixels as learnt and by default, by picture."""
    found = {}
    for (name, picture), flip in itertools.product(PICTURES.items(), LEVELS):
        noisy = flipped(picture, flip, 1)
        one = credo.denoise(noisy)
        default = wrong(picture, noisy, estimate.DEFAULT_FLIP_PROBABILITY, 0.75)
        share = one.flip_probability / (noisy != picture).mean()
        found[name, flip] = share, int((one.image != picture).sum()), default, one.coupling
    return found


@pytest.mark.parametrize("name", PICTURES)
def test_the_flip_probability_is_found_to_a_fifth_and_pixels_are_restored_better(restored, name):
    for flip in LEVELS:
        assert restored[name, flip][0] == pytest.approx(1, abs=0.2)
    learnt, default = (sum(restored[name, flip][i] for flip in LEVELS) for i in (1, 2))
    assert learnt < default


@pytest.mark.parametrize("name", PICTURES)
def test_no_coupling_is_much_better_than_the_one_learnt(restored, name):
    picture = PICTURES[name]
    for flip in LEVELS:
        noisy = flipped(picture, flip, 1)
        share = restored[name, flip][0] * (noisy != picture).mean()
        best = min(wrong(picture, noisy, share, J) for J in np.arange(0.4, 1.3, 0.1))
        assert restored[name, flip][1] <= 1.2 * best


@pytest.mark.parametrize("neighbours", [4, 8])
@pytest.mark.parametrize("flip", [0.01, *LEVELS, 0.3])
def test_every_round_rises_and_says_so(flip, neighbours):
    states = np.where(flipped(PICTURES["drawing"], flip), 1, -1)
    found = of_states(states, neighbours=neighbours)
    assert found.status in ("CONVERGED", "MAX_ROUNDS")
    assert (np.diff(found.objective) > 0).all()
    assert found.objective[-1] > -math.log(2)


def test_a_picture_its_inverse_its_transpose_and_its_checkered_twin_teach_the_same():
    """Turning every other pixel round turns the sign of J and changes nothing else."""
    noisy = flipped(PICTURES["drawing"], 0.1)
    found, inverse, transpose = learn(noisy), learn(~noisy), learn(noisy.T)
    assert (inverse.flip_probability, inverse.coupling) == (found.flip_probability, found.coupling)
    turned = learn(noisy ^ CHECKERS)
    for other, sign in ((transpose, 1), (turned, -1)):
        assert other.flip_probability == pytest.approx(found.flip_probability, rel=1e-4)
        assert other.coupling == pytest.approx(sign * found.coupling, rel=1e-4)


def test_checkers_are_restored():
    noisy = flipped(CHECKERS, 0.2)
    found = credo.denoise(noisy)
    assert found.coupling < -0.5
    assert found.flip_probability == pytest.approx((noisy != CHECKERS).mean(), rel=0.05)
    assert (found.image != CHECKERS).mean() < 0.01


def test_what_is_given_is_kept_and_only_the_other_number_moves():
    noisy = flipped(PICTURES["drawing"], 0.1)
    one = learn(noisy, flip_probability=0.12)
    assert (one.flip_probability, one.learning_status) == (0.12, "CONVERGED")
    found = learn(noisy, coupling=0.9)
    assert found.coupling == 0.9
    assert found.flip_probability == pytest.approx((noisy != PICTURES["drawing"]).mean(), rel=0.1)
    same = learn(noisy, coupling=0.7).flip_probability
    for given in ([0.7, 0.7], [np.full((127, 128), 0.7), np.full((128, 127), 0.7)]):
        assert learn(noisy, coupling=given).flip_probability == pytest.approx(same, rel=1e-5)
    flips = np.where(np.arange(128) < 64, 0.02, 0.3) * np.ones((128, 1))
    assert 0.5 < learn(flipped(PICTURES["drawing"], flips), flip_probability=flips).coupling < 1.6
    even = learn(noisy, flip_probability=np.full(noisy.shape, 0.12)).coupling
    assert even == pytest.approx(one.coupling, rel=1e-4)


@pytest.mark.parametrize("flip", [0.0, 1.0, 0.5])
def test_certain_and_idle_probabilities_can_be_given(flip):
    found = learn(flipped(PICTURES["drawing"], 0.1), flip_probability=flip)
    assert found.flip_probability == flip
    assert np.isfinite(found.coupling)


def test_flips_beyond_one_half_turn_the_picture_round():
    noisy = flipped(PICTURES["drawing"], 0.1)
    found, turned = learn(noisy, flip_probability=0.1), learn(~noisy, flip_probability=0.9)
    assert turned.coupling == pytest.approx(found.coupling, rel=1e-3)


def test_pure_noise_is_called_so_and_three_of_a_thousand_are_taken_for_more(monkeypatch):
    """Products of neighbouring fair coins are uncorrelated, so that their sum has variance E."""
    draw = np.random.default_rng(1)
    found = of_states(draw.choice([-1, 1], (128, 128)))
    assert found == ((estimate.MOST_FLIP,), (0.0,), (), "NO_STRUCTURE")
    monkeypatch.setattr(estimate, "_MOST_ROUNDS", 0)
    statuses = [of_states(draw.choice([-1, 1], (24, 24))).status for _ in range(500)]
    share = 2 * stats.norm.sf(3)
    assert stats.binomtest(500 - statuses.count("NO_STRUCTURE"), 500, share).pvalue > 1e-4


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_without_noise_stays_as_it_is(name):
    found = credo.denoise(PICTURES[name])
    assert found.flip_probability < 1e-3
    assert np.array_equal(found.image, PICTURES[name])


def test_one_value_has_no_noise():
    for value in (False, True):
        found = learn(np.full((40, 50), value))
        assert found.flip_probability == pytest.approx(0.5 / 2000)
        assert found.coupling > 0.5


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (2, 2), (3, 1), (2, 3)])
def test_a_few_pixels_get_the_defaults(shape):
    found = learn(np.ones(shape, bool))
    assert found.learning_status == "TOO_SMALL"
    assert (found.flip_probability, found.coupling) == (0.1, 0.75)
    assert learn(np.ones(shape, bool), coupling=0.3).coupling == 0.3
    assert learn(np.ones((1, 2), bool), neighbours=8).coupling == 0.375


def test_a_line_of_pixels_is_a_picture_too():
    line = np.arange(600)[None] // 50 % 2 == 1
    noisy = flipped(line, 0.1)
    for turned in (noisy, noisy.T):
        assert learn(turned).flip_probability == pytest.approx((noisy != line).mean(), rel=0.15)


# --- large pictures -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape", [(257, 256), (4096, 4096), (300, 5000), (40, 100_000), (1, 1_000_000), (700, 400)]
)
def test_a_large_picture_is_seen_through_tiles_from_all_its_parts(shape):
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    sample, turned = Sample.of(shape), Sample.of(shape[::-1])
    taken = [sample.take(np.broadcast_to(side, shape)) for side in (rows, columns)]
    assert estimate.MOST_PIXELS / 3 <= taken[0].size <= estimate.MOST_PIXELS
    for places, size in zip((taken[0][:, 0], taken[1][0]), shape, strict=True):
        assert np.diff(places).max(initial=0) <= max(size / 4, 32 * size / len(places))
    for places, counted, size in zip(sample.taken, sample.counted, shape, strict=True):
        if len(places) > 1:  # pixels at seams are taken but not counted
            assert [c.start % 32 for c in counted] == [4] * len(places)
            assert [c.stop - c.start for c in counted] == [24] * len(places)
            assert all(p.start >= 0 and p.stop == p.start + 32 <= size for p in places)
    assert sample.taken == turned.taken[::-1]


@pytest.mark.parametrize("shape", [(256, 256), (2, 3), (1, 2**16), (95, 97)])
def test_a_small_picture_is_taken_whole(shape):
    plane = np.arange(np.prod(shape)).reshape(shape)
    assert np.array_equal(Sample.of(shape).take(plane), plane)
    assert np.array_equal(Sample.of(shape).count(plane), plane)


def test_tiles_teach_what_the_whole_picture_does_and_carry_their_own_probabilities():
    picture = np.kron(PICTURES["drawing"], np.ones((6, 6), bool))
    found = learn(flipped(picture, 0.1))
    assert found.flip_probability == pytest.approx(0.1, rel=0.05)
    assert found.coupling > 0.7
    flips = np.where(np.arange(768) < 384, 0.05, 0.2) * np.ones((768, 1))
    each = learn(flipped(picture, flips), flip_probability=flips)
    assert each.learning_status == "CONVERGED"
    assert each.coupling > 0.7


# --- climbing -------------------------------------------------------------------------------------

PLAIN = Scale(float, float, least=-9.0, most=9.0, least_step=0.1, most_step=1.0, least_gain=1e-9)


def hill(noise, pull):
    """A hill with its top at noise 3 and pull 2; EM goes half the way."""
    (x,) = noise
    return Point(noise, pull, -((x - 3) ** 2) - (pull - 2) ** 2, ((x + 3) / 2,))


def astray(noise, pull):
    """The same hill, with steps of EM that lead away."""
    return hill(noise, pull)._replace(next_noise=(2 * noise[0],))


def ridge(noise, pull):
    """A slope without a top."""
    return Point(noise, pull, pull, noise)


@pytest.mark.parametrize(
    ("at", "start", "most", "ending", "top"),
    [
        (hill, (1.0, -1.0), 9.0, "CONVERGED", (3, 2)),
        (astray, (3.0, 0.0), 9.0, "CONVERGED", (3, 2)),
        (ridge, (1.0, 0.0), 1e9, "MAX_ROUNDS", None),
    ],
    ids=["hill", "a step that does not rise is not taken", "ridge"],
)
def test_a_climb_rises_to_the_top(at, start, most, ending, top):
    noise, pull = start
    climb = Climb(at, at((noise,), pull), PLAIN._replace(most=most), True, True)  # noqa: FBT003
    trace, found = climb.to_the_top()
    assert found == ending
    assert (np.diff(trace) > 0).all()
    if top is not None:
        assert (climb.here.noise[0], climb.here.pull) == pytest.approx(top, abs=0.05)


def test_a_parabola_goes_through_its_points_and_knows_its_top():
    places = [0.0, 1.0, 4.0]
    heights = [5 - 2 * (place - 1.5) ** 2 for place in places]
    assert estimate.find_top(places, heights, -10, 10) == (1.5, 5)
    assert estimate.find_top(places, heights, 2, 10) == (2, 4.5)
    assert estimate.find_top(places, heights, -10, 1) == (1, 4.5)
    bowl = [0.0, 1.0, 16.0]
    assert estimate.find_top(places, bowl, -2, 3) == (3, 9)
    assert estimate.find_top(places, bowl, -4, 3) == (-4, 16)


# --- grey levels ----------------------------------------------------------------------------------


def scene(n=64):
    """Shaded discs before a bright ground: edges, slopes and flat parts."""
    y, x = np.mgrid[:n, :n] / n
    ground = 150 + 50 * y
    discs = (0.3, 0.3, 0.2, 60), (0.7, 0.6, 0.25, 100), (0.2, 0.8, 0.12, 30)
    for row, column, radius, grey in discs:
        inside = (y - row) ** 2 + (x - column) ** 2 < radius**2
        ground = np.where(inside, grey + 80 * (x - column), ground)
    return np.rint(ground)


SCENE = scene()
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


def spoilt(sigma=0.0, extremes=0.0, anything=0.0, seed=0):
    draw = np.random.default_rng(seed)
    seen = np.clip(np.rint(SCENE + sigma * draw.normal(size=SCENE.shape)), 0, 255)
    kind = draw.random(SCENE.shape)
    seen[kind < extremes / 2] = 0
    seen[kind > 1 - extremes / 2] = 255
    hit = draw.random(SCENE.shape) < anything
    seen[hit] = draw.integers(0, 256, hit.sum())
    return seen.astype(np.uint8)


def potentials(plane, levels, *noise):
    plane = np.asarray(plane)
    return GreyValues.of(plane, np.asarray(levels, float)).log_potentials(*noise)


def test_levels_go_from_the_darkest_value_to_the_lightest_or_to_one_more():
    np.testing.assert_allclose(estimate.grey_levels(np.array([[7.0, 4.0, 3.0]]), 3), [3, 5, 7])
    np.testing.assert_allclose(estimate.grey_levels(np.full((2, 2), 9), 3), [9, 9.5, 10])


def test_a_value_has_the_gaussian_density_and_at_an_end_the_whole_tail():
    levels = np.array([0.0, 50.0, 100.0, 255.0])
    logs = potentials([[80, 120]], levels, 15.0, 0.0)
    np.testing.assert_allclose(logs, stats.norm.logpdf([[[80.0], [120.0]]], levels, 15), rtol=1e-5)
    dark, light = potentials([[0, 255]], levels, 30.0, 0.0)[0]
    np.testing.assert_allclose(dark, stats.norm.logcdf(0.5, levels, 30.0), rtol=1e-5)
    np.testing.assert_allclose(light, stats.norm.logsf(254.5, levels, 30.0), rtol=1e-5)


@pytest.mark.parametrize("impulse", [0.0, 0.1, 0.9])
def test_potentials_of_all_values_sum_to_one(impulse):
    """Whole numbers from 0 to 255 are all there is, whatever the level."""
    logs = potentials(np.arange(256)[None], np.linspace(0, 255, 5), 12.0, impulse)
    np.testing.assert_allclose(np.exp(logs.astype(float)).sum(axis=1), 1, atol=0.005)


def test_a_grey_pixel_is_foretold_from_all_others(monkeypatch):
    monkeypatch.setattr(estimate, "_FEWEST_PAIRS", 0)
    levels, slope = np.arange(4.0), 0.7
    plane = np.array([[1, 3, 2, 0]])
    found = estimate.estimate_grey(plane, levels, sigma=0.8, slope=slope)
    rows = np.exp(potentials(plane, levels, 0.8, 0.05)[0].astype(float))
    steps = np.abs(np.subtract.outer(levels, levels))
    unit = np.exp(-slope * np.minimum(steps, estimate.JUMP / slope))
    logs = [math.log(evidence(rows, unit) / evidence(without(rows, i), unit)) for i in range(4)]
    assert found.objective[0] == pytest.approx(np.mean(logs), rel=1e-5)


@pytest.mark.parametrize("sigma", [5.0, 10.0, 20.0, 40.0])
def test_the_spread_of_gaussian_noise_is_found_to_a_fifth(sigma):
    found = credo.denoise(spoilt(sigma), levels=32, sweeps=0)
    assert found.sigma == pytest.approx(sigma, rel=0.2)
    assert found.flip_probability < 0.05


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_the_share_of_salt_and_pepper_is_found_to_a_quarter(share):
    found = credo.denoise(spoilt(0, share), levels=32, sweeps=0)
    assert found.flip_probability == pytest.approx(share, rel=0.25)


@pytest.mark.parametrize("case", CASES)
def test_planes_are_restored_better_than_by_filters_and_every_round_rises(case):
    plane = spoilt(*CASES[case])
    filters = ndimage.median_filter(plane, 3), ndimage.gaussian_filter(plane.astype(float), 1.0)
    errors = [((each - SCENE) ** 2).mean() for each in filters]
    image = credo.denoise(plane.astype(float), levels=32).image
    assert ((image - SCENE) ** 2).mean() < min(errors)
    found = estimate.estimate_grey(plane, estimate.grey_levels(plane, 32))
    assert found.status in ("CONVERGED", "MAX_ROUNDS")
    assert (np.diff(found.objective) > 0).all()


def test_the_unit_of_the_image_does_not_matter():
    plane = spoilt(20)
    found, scaled = (credo.denoise(p, levels=32, sweeps=0) for p in (plane * 1.0, plane / 255))
    assert scaled.sigma * 255 == pytest.approx(found.sigma, rel=1e-3)
    assert scaled.coupling == pytest.approx(found.coupling, rel=1e-3)


def test_a_jump_costs_the_same_for_any_slope_and_is_shared_by_the_neighbours():
    plane = spoilt(20)
    smooth = credo.denoise(plane, levels=32, sweeps=0).field.smoothness
    assert smooth.strength * smooth.limit == pytest.approx(estimate.JUMP)
    found = credo.denoise(plane, 0.01, 0.4, sigma=20.0, neighbours=8, sweeps=0)
    assert found.field.smoothness.limit * 0.4 == pytest.approx(estimate.JUMP / 2)


def test_numbers_of_grey_planes_that_are_given_are_kept():
    plane = spoilt(20)
    found = credo.denoise(plane, 0.02, 0.5, sigma=15.0, levels=32, sweeps=0)
    assert (found.sigma, found.flip_probability, found.coupling) == (15.0, 0.02, 0.5)
    assert found.learning_status == "GIVEN"
    assert credo.denoise(plane, sigma=15.0, levels=32, sweeps=0).sigma == 15.0
    assert credo.denoise(plane, coupling=0.5, levels=32, sweeps=0).coupling == 0.5


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (1, 5)])
def test_a_few_grey_pixels_get_the_defaults(shape):
    plane = np.arange(math.prod(shape), dtype=float).reshape(shape)
    found = credo.denoise(plane, noise="gaussian", sweeps=0)
    assert found.learning_status == "TOO_SMALL"
    assert found.flip_probability == estimate.LEAST_IMPULSE
    assert found.coupling == pytest.approx(estimate.DEFAULT_SLOPE * 63 / 31)


@pytest.mark.parametrize(
    "plane", [np.full((20, 20), 7), np.arange(40)[None], np.arange(40)[:, None]]
)
def test_one_value_and_lines_are_learnt_from_without_complaint(plane):
    found = credo.denoise(plane, noise="gaussian", levels=32, sweeps=0)
    assert np.isfinite([found.sigma, found.flip_probability, found.coupling]).all()
