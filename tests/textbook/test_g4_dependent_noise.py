"""Textbook G4: flips that are not independent leave more errors; a map of their chances helps.

Bursts are runs of pixels in which every second one is flipped; varying flips become ever more
frequent from left to right. Both flip the same share of the whole picture as independent ones.
"""

import functools

import numpy as np
import pytest
from tests.oracles import grids as oracle

import credo

LEVELS = (0.05, 0.10, 0.15, 0.20)
SEEDS = range(4)
COUPLING = 0.6
PICTURES = {"portrait": np.where(credo.images.portrait(128), 1, -1), **oracle.pictures_at_hand()}

each_picture = pytest.mark.parametrize("name", PICTURES)
each_level = pytest.mark.parametrize("flip", LEVELS)


@functools.cache
def left_over(name, flip, kind, *, told="one", length=8.0):
    """The share of flips that are still there, or new, after restoring; mean over seeds.

    What is told to the restorer: one share for all pixels, or the map of each pixel's chance. The
    picture and its mirror image are restored, so that neither side is the harder one.
    """
    flips = wrong = 0
    for seed in SEEDS:
        for picture in (PICTURES[name], PICTURES[name][:, ::-1]):
            options = {"kind": kind, "length": length, "seed": seed}
            seen = credo.add_noise(picture, flip, **options)
            chances = (
                credo.images.flip_map(picture.shape, flip, **options) if told == "map" else flip
            )
            found = credo.denoise(seen, chances, COUPLING)
            flips += (seen != picture).sum()
            wrong += (found.image != picture).sum()
    return wrong / flips


@pytest.mark.parametrize("kind", ["burst", "varying"])
@each_level
def test_g4_all_kinds_flip_the_same_share(kind, flip):
    """Bursts come in lumps: a run of 8 pixels is one draw, not eight."""
    seen = [credo.add_noise(PICTURES["portrait"], flip, kind=kind, seed=seed) for seed in range(20)]
    share = np.mean([(each != PICTURES["portrait"]).mean() for each in seen])
    chances = [credo.images.flip_map((128, 128), flip, kind=kind, seed=seed) for seed in range(20)]
    assert share == pytest.approx(flip, rel=0.03)
    assert np.mean(chances) == pytest.approx(flip, rel=0.03)


@each_picture
@each_level
def test_g4_bursts_leave_more_errors_than_independent_flips(name, flip):
    assert left_over(name, flip, "burst") > 1.1 * left_over(name, flip, "independent")


@each_picture
def test_g4_longer_bursts_leave_more(name):
    short, long, longest = (left_over(name, 0.1, "burst", length=n) for n in (2.0, 8.0, 32.0))
    assert short < long < longest


@each_picture
@each_level
def test_g4_a_map_of_the_bursts_halves_what_they_leave(name, flip):
    assert 2 * left_over(name, flip, "burst", told="map") < left_over(name, flip, "burst")


def test_g4_with_the_map_only_pixels_inside_bursts_can_be_wrong():
    """Outside nothing was flipped, and so nothing is changed; inside, what is seen says nothing."""
    picture = PICTURES["portrait"]
    seen = credo.add_noise(picture, 0.1, kind="burst", seed=1)
    chances = credo.images.flip_map(picture.shape, 0.1, kind="burst", seed=1)
    found = credo.denoise(seen, chances, COUPLING)
    outside = chances == 0.0
    np.testing.assert_array_equal(found.image[outside], seen[outside])
    np.testing.assert_array_equal(seen[outside], picture[outside])
    assert (found.field.log_odds[~outside] == 0.0).all()
    beliefs = found.posterior.of(1)
    np.testing.assert_allclose(beliefs[outside], picture[outside] == 1, atol=1e-6)
    assert (np.abs(beliefs[~outside] - 0.5) < 0.499).any()


@each_picture
def test_g4_varying_flips_leave_more_errors_where_they_are_frequent(name):
    assert left_over(name, 0.2, "varying") > 1.1 * left_over(name, 0.2, "independent")


@each_picture
def test_g4_a_map_of_varying_flips_leaves_fewer(name):
    one, each = (left_over(name, 0.2, "varying", told=told) for told in ("one", "map"))
    assert each < 0.99 * one


def test_g4_the_map_sets_beta_pixel_by_pixel():
    chances = credo.images.flip_map((128, 128), 0.2, kind="varying")
    seen = credo.add_noise(PICTURES["portrait"], 0.2, kind="varying", seed=0)
    found = credo.denoise(seen, chances, COUPLING, dtype="float64")
    inner = np.s_[:, 1:]  # in the first column nothing is ever flipped: beta is infinite there
    expected = 2 * oracle.half_log_odds(chances[inner]) * seen[inner]
    np.testing.assert_allclose(found.field.log_odds[inner], expected, rtol=1e-11)
    safe = np.clip(chances, 1e-12, 1 - 1e-12)
    beliefs = oracle.restored(seen, safe, COUPLING, sweeps=20)
    np.testing.assert_allclose(found.posterior.of(1), beliefs, atol=1e-9)
