"""Textbook G5: argmax b(x_i) treats 0.9 and 0.51 alike; a loss with reject marks the doubtful."""

import itertools

import numpy as np
import pytest
from tests.oracles import grids as oracle

import credo

PICTURES = {"portrait": np.where(credo.images.portrait(128), 1, -1), **oracle.pictures_at_hand()}
COSTS = (0.4, 0.3, 0.2, 0.1, 0.05)

each_picture = pytest.mark.parametrize("name", PICTURES)


def restore(name, loss=None):
    return credo.denoise(credo.add_noise(PICTURES[name], 0.15, seed=3), 0.15, 0.6, loss=loss)


#: Without neighbours a belief is what the channel says: 1 - e in what was seen.
SEEN = np.array([[1, 1, 1], [-1, -1, -1]])
CHANCES = np.array([[0.1, 0.49, 0.3], [0.1, 0.49, 0.3]])


def test_g5_the_most_probable_label_does_not_tell_0_9_from_0_51():
    found = credo.denoise(SEEN, CHANCES, 0.0)
    np.testing.assert_allclose(found.posterior.of(1)[0], [0.9, 0.51, 0.7], atol=1e-6)
    np.testing.assert_array_equal(found.image, SEEN)
    assert not found.rejected.any()


@pytest.mark.parametrize(
    ("cost", "rejected"),
    [
        (0.5, [False, False, False]),
        (0.4, [False, True, False]),
        (0.2, [False, True, True]),
        (0.05, [True, True, True]),
    ],
)
def test_g5_a_pixel_is_rejected_if_a_mistake_is_likelier_than_the_cost(cost, rejected):
    """The risk of deciding is 0.1, 0.49 and 0.3; that of rejecting is the cost."""
    found = credo.denoise(SEEN, CHANCES, 0.0, loss=cost)
    np.testing.assert_array_equal(found.rejected, [rejected, rejected])
    np.testing.assert_array_equal(found.image, SEEN)  # what is rejected keeps the likelier label


def test_g5_losses_that_differ_by_truth_move_the_threshold():
    """Black for white costs 4, white for black 1, rejecting 0.45.

    With p = b(+1): white costs 1 - p, black 4 p, so white unless p < 1/5, and rejecting is cheaper
    than white if 1 - p > 0.45 and than black if 4 p > 0.45: between 0.1125 and 0.55.
    """
    loss = credo.Loss([[0, 1], [4, 0]], [-1, 1], [-1, 1]).with_reject(0.45)
    chances = np.array([[0.1, 0.44, 0.46, 0.3], [0.1, 0.12, 0.3, 0.44]])
    seen = np.array([[1, 1, 1, 1], [-1, -1, -1, -1]])
    found = credo.denoise(seen, chances, 0.0, loss=loss)
    # b(+1) is 0.9, 0.56, 0.54, 0.7 above and 0.1, 0.12, 0.3, 0.44 below
    expected = [[False, False, True, False], [False, True, True, True]]
    np.testing.assert_array_equal(found.rejected, expected)
    decided = credo.denoise(seen, chances, 0.0, loss=credo.Loss([[0, 1], [4, 0]], [-1, 1], [-1, 1]))
    np.testing.assert_array_equal(decided.image, [[1, 1, 1, 1], [-1, -1, 1, 1]])
    assert not decided.rejected.any()


@each_picture
def test_g5_rejected_pixels_are_those_whose_belief_is_below_one_minus_the_cost(name):
    sure = restore(name)
    for cost in COSTS:
        found = restore(name, cost)
        beliefs = found.posterior.of(1)
        best = np.maximum(beliefs, 1 - beliefs)
        clear = np.abs(best - (1 - cost)) > 1e-6
        np.testing.assert_array_equal(found.rejected[clear], (best < 1 - cost)[clear])
        np.testing.assert_array_equal(found.image, sure.image)
        np.testing.assert_array_equal(beliefs, sure.posterior.of(1))


@each_picture
def test_g5_rejected_pixels_are_wrong_more_often_and_accepted_ones_less(name):
    wrong = restore(name).image != PICTURES[name]
    for cost in COSTS:
        rejected = restore(name, cost).rejected
        assert 0 < rejected.mean() < 0.25
        assert wrong[~rejected].mean() < wrong.mean() < wrong[rejected].mean()
        assert wrong[rejected].mean() > 3 * wrong.mean()


@each_picture
def test_g5_the_cheaper_rejecting_is_the_more_is_rejected_and_the_fewer_errors_stay(name):
    wrong = restore(name).image != PICTURES[name]
    rejected = [restore(name, cost).rejected for cost in COSTS]
    for fewer, more in itertools.pairwise(rejected):
        assert (more | fewer == more).all()
        assert more.sum() > fewer.sum()
    errors = [wrong[~each].mean() for each in rejected]
    assert (np.diff(errors) < 0).all()
    assert errors[-1] < 0.5 * wrong.mean()


@each_picture
def test_g5_the_risk_by_hand(name):
    """At each pixel the act with the least sum over truths of p(truth) L(truth, act)."""
    loss = credo.Loss([[0, 1], [5, 0]], [-1, 1], [-1, 1]).with_reject(0.4)
    found = restore(name, loss)
    p = found.posterior.of(1).astype(float)
    black, white = 5 * p, 1 - p
    risk = np.minimum(np.minimum(black, white), 0.4)
    # no pixel is within rounding of a tie, or it is left out
    clear = np.min([np.abs(black - white), np.abs(black - 0.4), np.abs(white - 0.4)], axis=0) > 1e-6
    np.testing.assert_array_equal(found.rejected[clear], (risk == 0.4)[clear])
    decided = clear & ~found.rejected
    np.testing.assert_array_equal(found.image[decided], np.where(black < white, -1, 1)[decided])
    paid = np.where(PICTURES[name] == 1, 5 * (found.image == -1), 1 * (found.image == 1))
    plain = restore(name).image
    before = np.where(PICTURES[name] == 1, 5 * (plain == -1), 1 * (plain == 1))
    assert np.where(found.rejected, 0.4, paid).mean() < before.mean()
