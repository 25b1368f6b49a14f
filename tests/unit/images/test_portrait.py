import numpy as np
import pytest

from credo.exceptions import InputError
from credo.images.drawn_portrait import portrait


def components(mask):
    """Sizes of the connected areas of a mask, largest first, by flooding."""
    left, sizes = mask.copy(), []
    while left.any():
        stack, size = [tuple(np.argwhere(left)[0])], 0
        left[stack[0]] = False
        while stack:
            r, c = stack.pop()
            size += 1
            for y, x in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)):
                if 0 <= y < len(mask) and 0 <= x < len(mask) and left[y, x]:
                    left[y, x] = False
                    stack.append((y, x))
        sizes.append(size)
    return sorted(sizes, reverse=True)


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
        sizes = components(mask)
        assert sizes[0] > 1500
        assert sum(size <= 10 for size in sizes) >= 2
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
