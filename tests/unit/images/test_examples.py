"""The portrait and the picture of two textures are what they say they are."""

import numpy as np
import pytest
from scipy import ndimage

import credo
from credo.exceptions import InputError, ShapeError
from credo.images import block_features, portrait, texture_pair


def test_the_picture_is_black_and_white_in_equal_parts():
    picture = portrait()
    assert (picture.shape, picture.dtype) == ((128, 128), np.bool_)
    assert 0.4 < picture.mean() < 0.6


def test_it_has_a_face_with_hair_around_and_features_in_it():
    picture = portrait()
    assert picture[30:40, 60:68].all()  # forehead
    assert not picture[8:18, 62:67].any()  # hair above it
    assert not picture[60:95, 44:46].all()
    for eye in (51, 75):
        assert not picture[50:53, eye].any()
        assert picture[44, eye]
        assert not picture[40, eye]  # the brow
    assert not picture[74:76, 56:69].any()  # mouth
    assert picture[71, 63]
    assert picture[110:114, 50:75].all()  # chest


def test_it_has_large_areas_and_fine_detail():
    picture = portrait()
    for mask in (picture, ~picture):
        sizes = np.bincount(ndimage.label(mask)[0].ravel())[1:]
        assert sizes.max() > 1500
        assert (sizes <= 10).sum() >= 2
    edges = (picture[1:] != picture[:-1]).mean() + (picture[:, 1:] != picture[:, :-1]).mean()
    assert 0.1 < edges < 0.2


def test_it_is_the_same_picture_at_any_size():
    small, large = portrait(64), portrait(512)
    shares = large.reshape(64, 8, 64, 8).mean(axis=(1, 3))
    sure = (shares < 0.05) | (shares > 0.95)
    assert sure.mean() > 0.75
    assert np.array_equal(small[sure], shares[sure] > 0.5)
    assert np.array_equal(large, portrait(512))


def test_odd_sizes_are_drawn_too():
    assert portrait(16).shape == (16, 16)
    assert portrait(131).shape == (131, 131)


@pytest.mark.parametrize("size", [15, 0, -3, 12.5, "128", True, None])
def test_a_bad_size_is_refused(size):
    with pytest.raises(InputError, match="size of portrait must be a whole number, at least 16"):
        portrait(size)


@pytest.mark.parametrize("seed", range(4))
def test_the_foreground_is_one_smooth_shape_inside_the_picture(seed):
    image, labels = texture_pair(seed=seed)
    assert image.shape == labels.shape == (128, 160)
    assert image.min() >= 0
    assert image.max() <= 1
    assert set(np.unique(labels)) == {0, 1}
    assert 0.2 < labels.mean() < 0.4
    border = np.concatenate([labels[[0, -1]].ravel(), labels[:, [0, -1]].ravel()])
    assert not border.any()
    assert [ndimage.label(labels == k)[1] for k in (0, 1)] == [1, 1]
    opened = ndimage.binary_opening(labels, iterations=3)
    assert (opened != labels).mean() < 0.01


def test_grey_values_tell_nothing_and_directions_do():
    image, labels = texture_pair((512, 512), seed=3)
    inside, outside = image[labels == 1], image[labels == 0]
    # means and standard deviations of 80 000 correlated pixels or more
    assert inside.mean() == pytest.approx(outside.mean(), abs=0.005)
    assert inside.std() == pytest.approx(outside.std(), abs=0.005)
    steps = np.abs(np.diff(image, axis=0)[:, :-1]) - np.abs(np.diff(image, axis=1)[:-1])
    here = labels[:-1, :-1] == 1
    assert steps[here].mean() > 0.003  # the waves of the foreground run down the picture
    assert steps[~here].mean() < -0.003


def test_the_seed_is_all_there_is_to_chance():
    one, again, other = texture_pair(seed=5), texture_pair(seed=5), texture_pair(seed=6)
    assert (one[0] == again[0]).all()
    assert (one[1] == again[1]).all()
    assert (one[0] != other[0]).any()
    assert (one[1] != other[1]).any()


@pytest.mark.parametrize("seed", range(3))
def test_a_gaussian_of_blocks_gets_8_to_20_percent_wrong(seed):
    image, labels = texture_pair(seed=100)
    model = credo.GaussianClassifier().fit(
        block_features(image, n_features=15).reshape(-1, 15), labels.ravel()
    )
    image, labels = texture_pair(seed=seed)
    found = model.predict(block_features(image, n_features=15).reshape(-1, 15))
    assert 0.08 < (found != labels.ravel()).mean() < 0.2


def test_a_size_that_is_none_is_refused():
    with pytest.raises(ShapeError, match="height, width"):
        texture_pair((3, 4, 5))
    with pytest.raises(InputError, match="size of texture_pair"):
        texture_pair((0, 4))
