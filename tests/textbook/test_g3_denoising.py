"""Textbook G3: the lecture's picture restored: U(x), errors, and how many sweeps it takes.

p(x | y) ~ exp(J sum x_i x_j + beta sum y_i x_i), beta = 1/2 log((1 - e) / e), on 128 x 128 signs.
"""

import math

import numpy as np
import pytest
from tests.oracles import grids as oracle

import credo

LEVELS = (0.05, 0.10, 0.15, 0.20)
COUPLING = 0.6
PICTURES = {"portrait": np.where(credo.images.portrait(128), 1, -1), **oracle.pictures_at_hand()}

each_picture = pytest.mark.parametrize("name", PICTURES)
each_level = pytest.mark.parametrize("flip", LEVELS)


def noisy(name, flip):
    return credo.add_noise(PICTURES[name], flip, seed=7)


def restore(name, flip, **options):
    return credo.denoise(noisy(name, flip), flip, COUPLING, **options)


def share_wrong(image, name):
    return float((image != PICTURES[name]).mean())


@each_level
def test_g3_the_channel_flips_this_share_of_the_pixels(flip):
    """16384 flips: four standard deviations are 4 sqrt(e (1 - e)) / 128."""
    share = share_wrong(noisy("portrait", flip), "portrait")
    assert share == pytest.approx(flip, abs=4 * math.sqrt(flip * (1 - flip)) / 128)


@each_level
def test_g3_a_pixel_is_pulled_to_what_was_seen_by_beta(flip):
    found = restore("portrait", flip, sweeps=1)
    beta = 0.5 * math.log((1 - flip) / flip)
    np.testing.assert_allclose(found.field.log_odds, 2 * beta * noisy("portrait", flip), rtol=1e-11)
    assert found.flip_probability == flip
    assert found.coupling == COUPLING


def table(name):
    """The lecture's table: U of the true, the noisy and the restored picture, and errors."""
    rows = []
    for flip in LEVELS:
        seen, found = noisy(name, flip), restore(name, flip)
        h = oracle.half_log_odds(flip) * seen
        u = [oracle.lecture_energy(x, h, COUPLING) for x in (PICTURES[name], seen, found.image)]
        told = [found.field.energy(PICTURES[name]), *found.energy]
        np.testing.assert_allclose(told, u, rtol=1e-11)
        rows.append((*u, share_wrong(seen, name), share_wrong(found.image, name)))
    return np.array(rows)


@each_picture
def test_g3_the_table(name):
    true, seen, restored, wrong_before, wrong_after = table(name).T
    assert (true > seen).all()
    assert (restored > true).all()  # the picture painted is not the likeliest one
    for column in (true, seen, restored):
        assert (np.diff(column) < 0).all()  # beta falls as flips become more frequent
    assert (np.diff(true - seen) > 0).all()  # noise costs energy
    assert (np.diff(wrong_after) > 0).all()
    assert (3 * wrong_after < wrong_before).all()


@each_picture
@each_level
def test_g3_beliefs_are_those_of_the_lectures_own_messages(name, flip):
    found = restore(name, flip, dtype="float64")
    beliefs = oracle.restored(noisy(name, flip), flip, COUPLING, sweeps=20)
    np.testing.assert_allclose(found.posterior.of(1), beliefs, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found.image, np.where(beliefs > 0.5, 1, -1))


@each_picture
@each_level
def test_g3_the_error_is_no_larger_than_with_the_lectures_own_messages(name, flip):
    beliefs = oracle.restored(noisy(name, flip), flip, COUPLING, sweeps=20)
    found = restore(name, flip)
    np.testing.assert_allclose(found.posterior.of(1), beliefs, atol=2e-5)
    assert share_wrong(found.image, name) <= share_wrong(np.where(beliefs > 0.5, 1, -1), name)


@each_picture
def test_g3_ten_to_twenty_sweeps_are_enough(name):
    """Messages still move, but few pixels change sides, and errors do not become fewer."""
    for flip in LEVELS:
        first, ten, twenty, many = (restore(name, flip, sweeps=n).image for n in (1, 10, 20, 200))
        assert (first != many).mean() > 0.5 * flip
        assert (ten != many).mean() < 0.025
        assert (twenty != many).mean() < 0.0125
        for image in (ten, twenty):
            assert share_wrong(image, name) < share_wrong(many, name) + 0.001


@each_picture
def test_g3_no_picture_has_a_larger_u_than_that_of_the_cut(name):
    for flip in LEVELS:
        sums, cut = restore(name, flip), restore(name, flip, method="graph-cut")
        maxima = restore(name, flip, method="max-product")
        for other in (sums.energy.restored, maxima.energy.restored):
            assert other <= cut.energy.restored + 1e-6 * abs(other)
        assert sums.field.energy(PICTURES[name]) < cut.energy.restored


@each_picture
def test_g3_what_one_picture_teaches_is_better_than_one_setting_for_all(name):
    """Neither e nor J is told; the setting for all levels is e = 0.1 and J = 0.6."""
    fixed = learnt = 0.0
    for flip in LEVELS:
        for seed in range(4):
            seen = credo.add_noise(PICTURES[name], flip, seed=seed)
            found = credo.denoise(seen)
            assert found.flip_probability == pytest.approx(flip, abs=0.02)
            learnt += share_wrong(found.image, name)
            fixed += share_wrong(credo.denoise(seen, 0.1, COUPLING).image, name)
    assert learnt < fixed
