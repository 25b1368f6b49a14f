"""Features of blocks: SciPy's cosine transform of every block, cut out by hand."""

import tracemalloc

import numpy as np
import pytest
from scipy.fft import dctn

from credo.exceptions import InputError, ShapeError
from credo.images import block_features

IMAGE = np.random.default_rng(0).normal(size=(9, 13))

#: The first sixteen steps of the walk through a square of side four, by hand.
WALK = [(0, 0), (0, 1), (1, 0), (2, 0), (1, 1), (0, 2), (0, 3), (1, 2), (2, 1), (3, 0)]
WALK += [(3, 1), (2, 2), (1, 3), (2, 3), (3, 2), (3, 3)]


def slow_features(image, size, order, *, before, step=1):
    """Cut out each block, transform it, and put it in order."""
    padded = np.pad(image, [(before, size - 1 - before)] * 2, mode="symmetric")
    rows = range(0, image.shape[0], step)
    columns = range(0, image.shape[1], step)
    cut = [[padded[r : r + size, c : c + size] for c in columns] for r in rows]
    return np.array([[dctn(block, norm="ortho").ravel()[order] for block in row] for row in cut])


def walk(size):
    """Diagonals in turn; odd ones downwards, even ones upwards."""
    cells = sorted(np.ndindex(size, size), key=lambda c: (sum(c), c[sum(c) % 2 == 0]))
    return np.array([row * size + column for row, column in cells])


def test_zigzag_walks_along_the_diagonals():
    assert [tuple(np.divmod(place, 4)) for place in walk(4)] == WALK


@pytest.mark.parametrize("size", [1, 2, 3, 8, 12])
@pytest.mark.parametrize("step", [1, 2, 5])
def test_features_are_transforms_of_blocks_in_zigzag_order(size, step):
    for align, before in (("corner", 0), ("centre", (size - 1) // 2)):
        found = block_features(IMAGE, size, step=step, align=align)
        assert np.allclose(
            found, slow_features(IMAGE, size, walk(size), before=before, step=step), atol=1e-13
        )


@pytest.mark.parametrize("n", [1, 2, 5, 64])
def test_few_features_are_the_first_of_all(n):
    assert np.allclose(block_features(IMAGE, n_features=n), block_features(IMAGE)[..., :n])


def test_without_a_transform_features_are_the_pixels_of_the_block():
    found = block_features(IMAGE, 3, transform=None)
    assert (found[4, 5] == IMAGE[3:6, 4:7].ravel()).all()
    assert (found[0, 0] == IMAGE[np.ix_([0, 0, 1], [0, 0, 1])].ravel()).all()


def test_integers_and_booleans_are_pictures_too():
    bits = IMAGE > 0
    assert (block_features(bits, 4) == block_features(bits.astype(float), 4)).all()


def test_a_large_picture_needs_little_beyond_the_answer():
    image = np.random.default_rng(1).normal(size=(700, 600))
    tracemalloc.start()
    found = block_features(image, n_features=2)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < found.nbytes + 2 * image.nbytes + 2**24  # all features at once are 215 MB
    assert np.allclose(found[300:302], block_features(image[297:309], n_features=2)[3:5])


@pytest.mark.parametrize(
    ("image", "options", "error", "text"),
    [
        (np.zeros((4, 4, 3)), {}, ShapeError, "one channel"),
        (np.zeros((0, 4)), {}, ShapeError, "of shape"),
        ([[np.nan]], {}, InputError, "must be finite"),
        (IMAGE, {"size": 0}, InputError, "size of block_features"),
        (IMAGE, {"step": 0}, InputError, "step of block_features"),
        (IMAGE, {"transform": "dst"}, InputError, "transform of block_features"),
        (IMAGE, {"align": "middle"}, InputError, "align of block_features"),
        (IMAGE, {"n_features": 65}, InputError, "has 64 features. Asked for 65"),
        (IMAGE, {"n_features": 2, "transform": None}, InputError, "leave it out"),
    ],
    ids=["colour", "empty", "nan", "size", "step", "transform", "align", "many", "raw"],
)
def test_what_makes_no_features_is_refused(image, options, error, text):
    with pytest.raises(error, match=text):
        block_features(image, **options)
