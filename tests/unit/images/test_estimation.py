"""Flip probability and coupling from one noisy picture."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from tests.oracles import grids as oracle

from credo.exceptions import InputError, ShapeError
from credo.graphs import GridField
from credo.images._estimate_climb import Climb, Parabola, Point, Scale
from credo.images._estimate_picture import MOST_FLIP, NoisyPicture
from credo.images._estimate_sample import MOST_PIXELS, TILE, Sample
from credo.images.estimation import (
    DEFAULT_COUPLING,
    DEFAULT_FLIP_PROBABILITY,
    estimate_flips,
)
from credo.inference.grids import infer_grid

LEVELS = (0.05, 0.10, 0.15, 0.20)
CHECKERS = np.where(np.indices((128, 128)).sum(axis=0) % 2, 1, -1).astype(np.int8)


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
    face &= (y <= 0.7) | (x * 8 % 1 >= 0.35) | (abs(x) >= 0.6)
    return np.where(face, 1, -1)


PICTURES = {"drawing": drawing(), **oracle.pictures_at_hand()}


def beliefs_of(neighbours=4, dtype=None):
    def beliefs(log_odds, coupling, sweeps, momentum):
        field = GridField.ising(log_odds / 2, coupling, neighbours=neighbours)
        return infer_grid(field, sweeps=sweeps, momentum=momentum, dtype=dtype).posterior.of(1)

    return beliefs


def estimate(states, neighbours=4, **given):
    return estimate_flips(states, beliefs_of(neighbours), neighbours=neighbours, **given)


def flipped(picture, flip, seed=0):
    flips = np.random.default_rng(seed).random(picture.shape) < flip
    return np.where(flips, -picture, picture).astype(np.int8)


def errors(picture, noisy, flip, coupling):
    second = beliefs_of()(math.log((1 - flip) / flip) * noisy, coupling, 20, 0.5)
    return int((np.where(second > 0.5, 1, -1) != picture).sum())


# --- the objective ----------------------------------------------------------------------------


def joint(y, flip, coupling):
    """p(x, y) of a chain up to a constant, for all x."""
    for x in itertools.product((-1, 1), repeat=len(y)):
        agree = sum(a * b for a, b in itertools.pairwise(x))
        seen = math.prod(1 - flip if a == b else flip for a, b in zip(x, y, strict=True))
        yield x, math.exp(coupling * agree) * seen


def evidence(y, flip, coupling):
    return math.fsum(weight for _, weight in joint(y, flip, coupling))


def test_the_objective_is_the_mean_log_probability_of_a_pixel_given_all_others():
    y, flip, coupling = (1, 1, -1, 1, -1, -1), 0.2, 0.7
    logs = []
    for i in range(len(y)):
        other = (*y[:i], -y[i], *y[i + 1 :])
        both = evidence(y, flip, coupling) + evidence(other, flip, coupling)
        logs.append(math.log(evidence(y, flip, coupling) / both))
    picture = NoisyPicture.of(np.array([y], np.int8), beliefs_of(dtype="float64"), None, None, 4)
    found = picture.at((flip,), coupling)
    assert found.objective == pytest.approx(np.mean(logs), rel=1e-12)


def test_em_makes_the_flip_probability_the_mean_belief_that_a_pixel_was_flipped():
    y, flip, coupling = (1, 1, -1, 1, -1, -1), 0.2, 0.7
    total = evidence(y, flip, coupling)
    differing = math.fsum(
        weight * sum(a != b for a, b in zip(x, y, strict=True))
        for x, weight in joint(y, flip, coupling)
    )
    picture = NoisyPicture.of(np.array([y], np.int8), beliefs_of(dtype="float64"), None, None, 4)
    (found,) = picture.at((flip,), coupling).next_noise
    assert found == pytest.approx(differing / total / len(y), rel=1e-12)


def test_a_map_of_equal_probabilities_is_as_good_as_the_one_number():
    noisy = flipped(PICTURES["drawing"], 0.1)
    one, each = (
        NoisyPicture.of(noisy, beliefs_of(dtype="float64"), given, None, 4)
        for given in (0.1, np.full(noisy.shape, 0.1))
    )
    values = [picture.at((picture.given,), 0.6).objective for picture in (one, each)]
    assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_the_line_through_two_distances_meets_zero_at_the_noise():
    """Half black, half white: products fall by 2 / 256 a step, exactly on a line."""
    half = np.where(np.arange(256) < 128, -1, 1) * np.ones((256, 1))
    found = NoisyPicture.of(flipped(half, 0.2), beliefs_of(), None, None, 4).nugget()
    assert found == pytest.approx(0.2, abs=4 * math.sqrt(0.2 * 0.8) / 256)


# --- what is learnt ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def restored():
    """Flips in all and found, wrong pixels as learnt and by default, by picture and level."""
    found = {}
    for (name, picture), flip in itertools.product(PICTURES.items(), LEVELS):
        noisy = [flipped(picture, flip, seed) for seed in (1, 2)]
        learnt = [estimate(seen) for seen in noisy]
        true = np.mean([(seen != picture).mean() for seen in noisy])
        found[name, flip] = (
            np.mean([one.flip_probability for one in learnt]) / true,
            sum(
                errors(picture, seen, one.flip_probability, one.coupling)
                for seen, one in zip(noisy, learnt, strict=True)
            ),
            sum(
                errors(picture, seen, DEFAULT_FLIP_PROBABILITY, DEFAULT_COUPLING) for seen in noisy
            ),
        )
    return found


@pytest.mark.parametrize("flip", LEVELS)
@pytest.mark.parametrize("name", PICTURES)
def test_the_flip_probability_is_found_to_a_fifth(restored, name, flip):
    assert restored[name, flip][0] == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("name", PICTURES)
def test_pixels_are_restored_better_than_by_default(restored, name):
    learnt, default = (sum(restored[name, flip][i] for flip in LEVELS) for i in (1, 2))
    assert learnt < default


@pytest.mark.parametrize("name", PICTURES)
def test_no_coupling_is_much_better_than_the_one_learnt(name):
    picture = PICTURES[name]
    for flip in LEVELS:
        noisy = flipped(picture, flip, 3)
        found = estimate(noisy)
        wrong = errors(picture, noisy, found.flip_probability, found.coupling)
        best = min(
            errors(picture, noisy, found.flip_probability, coupling)
            for coupling in np.arange(0.4, 1.3, 0.1)
        )
        assert wrong <= 1.2 * best


@pytest.mark.parametrize("neighbours", [4, 8])
@pytest.mark.parametrize("flip", [0.01, *LEVELS, 0.3])
def test_every_round_rises_and_says_so(flip, neighbours):
    found = estimate(flipped(PICTURES["drawing"], flip), neighbours)
    assert found.status in ("CONVERGED", "MAX_ROUNDS")
    assert found.rounds == len(found.objective) - 1
    assert (np.diff(found.objective) > 0).all()
    assert found.objective[-1] > -math.log(2)


def test_a_picture_its_inverse_and_its_transpose_teach_the_same():
    noisy = flipped(PICTURES["drawing"], 0.1)
    found = estimate(noisy)
    inverse, transpose = estimate(-noisy), estimate(np.ascontiguousarray(noisy.T))
    assert (inverse.flip_probability, inverse.coupling) == (found.flip_probability, found.coupling)
    assert transpose.flip_probability == pytest.approx(found.flip_probability, rel=1e-4)
    assert transpose.coupling == pytest.approx(found.coupling, rel=1e-4)


def test_neighbours_that_differ_have_a_negative_coupling():
    """Turning every other pixel round turns the sign of J and changes nothing else."""
    noisy = flipped(PICTURES["drawing"], 0.1)
    found, turned = estimate(noisy), estimate(noisy * CHECKERS)
    assert turned.coupling == pytest.approx(-found.coupling, rel=1e-4)
    assert turned.flip_probability == pytest.approx(found.flip_probability, rel=1e-4)


def test_checkers_are_restored():
    noisy = flipped(CHECKERS, 0.2)
    found = estimate(noisy)
    assert found.coupling < -0.5
    assert found.flip_probability == pytest.approx((noisy != CHECKERS).mean(), rel=0.05)
    assert errors(CHECKERS, noisy, found.flip_probability, found.coupling) < 0.01 * noisy.size


def test_a_volume_is_learnt_from_like_a_picture():
    half = np.where(np.arange(40) < 20, -1, 1) * np.ones((20, 30, 1))
    noisy = flipped(half, 0.1)
    found = estimate(noisy, 6)
    assert found.flip_probability == pytest.approx((noisy != half).mean(), rel=0.05)


# --- what is given ----------------------------------------------------------------------------


def test_what_is_given_is_kept():
    noisy = flipped(PICTURES["drawing"], 0.1)
    assert estimate(noisy, flip_probability=0.12).flip_probability == 0.12
    assert estimate(noisy, coupling=0.6).coupling == 0.6
    both = estimate(noisy, flip_probability=0.12, coupling=0.6)
    assert (both.flip_probability, both.coupling) == (0.12, 0.6)
    assert (both.status, both.objective, both.rounds) == ("GIVEN", (), 0)


def test_with_a_given_coupling_only_the_flip_probability_moves():
    noisy = flipped(PICTURES["drawing"], 0.1)
    found = estimate(noisy, coupling=0.9)
    assert found.flip_probability == pytest.approx((noisy != PICTURES["drawing"]).mean(), rel=0.1)


@pytest.mark.parametrize("couplings", ["axes", "edges"])
def test_couplings_of_axes_and_edges_can_be_given(couplings):
    noisy = flipped(PICTURES["drawing"], 0.1)
    given = {"axes": [0.7, 0.7], "edges": [np.full((127, 128), 0.7), np.full((128, 127), 0.7)]}
    found = estimate(noisy, coupling=given[couplings])
    same = estimate(noisy, coupling=0.7)
    assert found.flip_probability == pytest.approx(same.flip_probability, rel=1e-5)


def test_with_a_given_map_only_the_coupling_moves():
    flips = np.where(np.arange(128) < 64, 0.02, 0.3) * np.ones((128, 1))
    noisy = flipped(PICTURES["drawing"], flips)
    found = estimate(noisy, flip_probability=flips)
    assert found.flip_probability is flips
    assert 0.5 < found.coupling < 1.6


def test_flips_beyond_one_half_turn_the_picture_round():
    noisy = flipped(PICTURES["drawing"], 0.1)
    found, turned = (
        estimate(seen, flip_probability=flip) for seen, flip in ((noisy, 0.1), (-noisy, 0.9))
    )
    assert turned.coupling == pytest.approx(found.coupling, rel=1e-3)


@pytest.mark.parametrize("flip", [0.0, 1.0, 0.5])
def test_certain_and_idle_probabilities_can_be_given(flip):
    found = estimate(flipped(PICTURES["drawing"], 0.1), flip_probability=flip)
    assert found.flip_probability == flip
    assert np.isfinite(found.coupling)


# --- where there is little to learn -----------------------------------------------------------


def test_pure_noise_is_called_so():
    coins = np.random.default_rng(0).choice(np.array([-1, 1], np.int8), (128, 128))
    found = estimate(coins)
    assert found.status == "NO_STRUCTURE"
    assert (found.flip_probability, found.coupling, found.objective) == (MOST_FLIP, 0.0, ())


def test_three_of_a_thousand_random_pictures_are_taken_for_more():
    """Products of neighbouring fair coins are uncorrelated, so that their sum has variance E."""
    draw = np.random.default_rng(1)
    statuses = [
        estimate_flips(
            draw.choice(np.array([-1, 1], np.int8), (24, 24)),
            lambda log_odds, *_: np.full(log_odds.shape, 0.5),
        ).status
        for _ in range(500)
    ]
    share = 2 * stats.norm.sf(3)
    assert stats.binomtest(500 - statuses.count("NO_STRUCTURE"), 500, share).pvalue > 1e-4


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_without_noise_stays_as_it_is(name):
    picture = PICTURES[name].astype(np.int8)
    found = estimate(picture)
    assert found.flip_probability < 1e-3
    assert errors(picture, picture, found.flip_probability, found.coupling) == 0


@pytest.mark.parametrize("value", [-1, 1])
def test_one_value_has_no_noise(value):
    found = estimate(np.full((40, 50), value, np.int8))
    assert found.flip_probability == pytest.approx(0.5 / 2000)
    assert found.coupling > 0.5


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (2, 2), (3, 1), (2, 3)])
def test_a_few_pixels_get_the_defaults(shape):
    found = estimate(np.ones(shape, np.int8))
    assert found.status == "TOO_SMALL"
    assert found.flip_probability == DEFAULT_FLIP_PROBABILITY
    assert found.coupling == DEFAULT_COUPLING
    assert estimate(np.ones(shape, np.int8), coupling=0.3).coupling == 0.3


def test_eight_neighbours_share_the_default():
    assert estimate(np.ones((1, 2), np.int8), 8).coupling == DEFAULT_COUPLING / 2


@pytest.mark.parametrize("turn", [False, True])
def test_a_line_of_pixels_is_a_picture_too(turn):
    line = np.where(np.arange(600) // 50 % 2, 1, -1)[None]
    noisy = flipped(line, 0.1)
    found = estimate(noisy.T.copy() if turn else noisy)
    assert found.flip_probability == pytest.approx((noisy != line).mean(), rel=0.15)


# --- large pictures ---------------------------------------------------------------------------


def test_a_small_picture_is_taken_whole():
    plane = np.arange(256 * 256).reshape(256, 256)
    sample = Sample.of(plane.shape)
    assert sample.take(plane) is plane
    assert sample.count(plane) is plane


@pytest.mark.parametrize(
    "shape", [(257, 256), (4096, 4096), (300, 5000), (40, 100_000), (1, 1_000_000), (80, 90, 100)]
)
def test_a_large_picture_is_seen_through_tiles_from_all_its_parts(shape):
    sample = Sample.of(shape)
    sizes = [len(each) for each in sample.taken]
    assert MOST_PIXELS / 3 <= math.prod(sizes) <= MOST_PIXELS
    for taken, size in zip(sample.taken, shape, strict=True):
        assert taken.min() >= 0
        assert taken.max() < size
        assert np.diff(taken).max(initial=0) <= max(size / 4, TILE * size / len(taken))


def test_pixels_at_seams_are_taken_but_not_counted():
    sample = Sample.of((5000, 5000))
    taken, counted = sample.taken[0], sample.counted[0]
    for place in counted:
        near = taken[place - 4 : place + 5]
        np.testing.assert_array_equal(near, np.arange(near[0], near[0] + 9))
    assert len(counted) == len(taken) * (TILE - 8) // TILE


def test_a_picture_and_its_transpose_are_sampled_alike():
    plane = np.random.default_rng(0).random((700, 400))
    sample, turned = Sample.of(plane.shape), Sample.of(plane.T.shape)
    np.testing.assert_array_equal(sample.take(plane), turned.take(plane.T).T)


def test_tiles_teach_what_the_whole_picture_does():
    picture = np.kron(PICTURES["drawing"], np.ones((6, 6)))
    noisy = flipped(picture, 0.1)
    assert Sample.of(noisy.shape).taken is not None
    found = estimate(noisy)
    assert found.flip_probability == pytest.approx(0.1, rel=0.05)
    assert found.coupling > 0.7


def test_tiles_carry_their_own_probabilities():
    flips = np.where(np.arange(600) < 300, 0.05, 0.2) * np.ones((600, 1))
    picture = np.kron(drawing(100), np.ones((6, 6)))
    found = estimate(flipped(picture, flips), flip_probability=flips)
    assert found.status == "CONVERGED"
    assert found.objective[-1] > -0.45


# --- climbing ---------------------------------------------------------------------------------


PLAIN = Scale(float, float, least=-9.0, most=9.0, least_step=0.1, most_step=1.0, least_gain=1e-9)


def hill(noise, pull):
    """A hill with its top at noise 3 and pull 2; EM goes half the way."""
    (x,) = noise
    return Point(noise, pull, -((x - 3) ** 2) - (pull - 2) ** 2, ((x + 3) / 2,))


def test_a_climb_ends_at_the_top():
    climb = Climb(hill, hill((1.0,), -1.0), PLAIN, moves_noise=True, moves_pull=True)
    trace, ending = climb.to_the_top()
    assert ending == "CONVERGED"
    assert (np.diff(trace) > 0).all()
    assert climb.here.pull == pytest.approx(2)
    assert climb.here.noise[0] == pytest.approx(3, abs=0.05)


def test_a_climb_that_takes_too_long_is_stopped():
    def ridge(noise, pull):
        return Point(noise, pull, pull, noise)

    far = PLAIN._replace(most=1e9)
    climb = Climb(ridge, ridge((1.0,), 0.0), far, moves_noise=True, moves_pull=True)
    trace, ending = climb.to_the_top()
    assert ending == "MAX_ROUNDS"
    assert (np.diff(trace) > 0).all()


def test_a_step_of_em_that_does_not_rise_is_not_taken():
    def wrong(noise, pull):
        return hill(noise, pull)._replace(next_noise=(2 * noise[0],))

    climb = Climb(wrong, wrong((3.0,), 0.0), PLAIN, moves_noise=True, moves_pull=True)
    climb.to_the_top()
    assert climb.here.noise == (3.0,)
    assert climb.here.pull == pytest.approx(2)


def test_a_parabola_goes_through_its_points_and_knows_its_top():
    heights = tuple(5 - 2 * (place - 1.5) ** 2 for place in (0.0, 1.0, 4.0))
    parabola = Parabola((0.0, 1.0, 4.0), heights)
    assert parabola(3.0) == pytest.approx(5 - 2 * 1.5**2)
    assert parabola.top(-10, 10) == pytest.approx(1.5)
    assert parabola.top(2, 10) == 2
    assert parabola.top(-10, 1) == 1


def test_a_parabola_without_a_top_is_highest_at_an_end():
    bowl = Parabola((0.0, 1.0, 4.0), (0.0, 1.0, 16.0))
    assert bowl.top(-2, 3) == 3
    assert bowl.top(-4, 3) == -4


# --- wrong input ------------------------------------------------------------------------------


def test_other_states_are_refused():
    with pytest.raises(InputError, match=r"states of -1 and \+1 only"):
        estimate(np.array([[1, 0, -1]], np.int8))


@pytest.mark.parametrize("shape", [(0, 5), (5,), (2, 2, 2, 2)])
def test_a_picture_has_pixels_in_two_or_three_dimensions(shape):
    with pytest.raises(ShapeError, match="two or three dimensions"):
        estimate(np.ones(shape, np.int8))


def test_a_map_has_the_shape_of_the_picture():
    with pytest.raises(ShapeError, match=r"one per pixel, \(4, 5\). Got shape \(5, 4\)"):
        estimate(np.ones((4, 5), np.int8), flip_probability=np.full((5, 4), 0.1))


@pytest.mark.parametrize("flip", [-0.1, 1.5])
def test_probabilities_are_between_zero_and_one(flip):
    with pytest.raises(InputError, match="between 0 and 1"):
        estimate(np.ones((4, 5), np.int8), flip_probability=flip)


def test_five_neighbours_are_refused():
    with pytest.raises(InputError, match="4 or 8 neighbours. Got 5"):
        estimate(np.ones((4, 5), np.int8), 5)
