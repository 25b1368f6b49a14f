"""Tiles, threads and blocks change nothing, not even the last bit."""

from itertools import product

import dask.array as da
import numpy as np
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays

from credo.graphs import GridField
from credo.images import TiffTarget, denoise_dask, denoise_tiled, open_tiff
from credo.inference import infer_grid

SIDES = st.integers(1, 30)
SHAPES = st.one_of(
    st.tuples(SIDES, SIDES), st.tuples(st.just(1), SIDES), st.tuples(SIDES, st.just(1))
)
COUPLINGS = st.floats(-1.5, 1.5, allow_subnormal=False)
FIRST, SECOND = 0, 255


@st.composite
def images(draw):
    return np.where(draw(arrays.arrays(bool, draw(SHAPES))), SECOND, FIRST).astype(np.uint8)


@st.composite
def problems(draw):
    """An image, and what to restore it with: the same for the whole and for tiles."""
    image = draw(images())
    neighbours = draw(st.sampled_from([4, 8]))
    per_direction = st.tuples(*[COUPLINGS] * (neighbours // 2))
    kind = draw(st.sampled_from([np.float32, np.float64]))
    chances = st.floats(0, 1, width=32) | st.sampled_from([0.0, 0.1, 0.5, 1.0])
    maps = arrays.arrays(kind, image.shape, elements=chances)
    return image, {
        "flip_probability": draw(st.floats(0, 1) | maps),
        "coupling": draw(COUPLINGS | per_direction),
        "neighbours": neighbours,
        "sweeps": draw(st.integers(0, 7)),
        "momentum": draw(st.floats(0.05, 1.0)),
        "method": draw(st.sampled_from(["sum-product", "max-product"])),
        "dtype": draw(st.sampled_from(["float32", "float64", None])),
    }


def restored_whole(image, options):
    names = "flip_probability", "coupling", "neighbours"
    flips, coupling, neighbours = (options[name] for name in names)
    field = GridField.from_flips(
        image, flips, coupling, labels=(FIRST, SECOND), neighbours=neighbours
    )
    rest = {name: value for name, value in options.items() if name not in names}
    return field, infer_grid(field, **rest)


@given(problem=problems(), tile=st.integers(1, 33), threads=st.integers(1, 3))
def test_tiles_and_threads_change_no_bit(problem, tile, threads):
    image, options = problem
    field, expected = restored_whole(image, options)
    wanted = expected.posterior.of(SECOND)
    posterior = np.empty(image.shape, wanted.dtype)
    found = denoise_tiled(
        image, labels=(FIRST, SECOND), tile=tile, threads=threads, posterior=posterior, **options
    )
    assert np.array_equal(posterior, wanted)
    assert np.array_equal(found.image, expected.best)
    for energy, shown in zip(found.energy, (image, found.image), strict=True):
        np.testing.assert_allclose(energy, field.energy(shown), rtol=1e-9, atol=1e-6)


@given(problem=problems(), data=st.data())
def test_blocks_and_schedulers_of_dask_change_no_bit(problem, data):
    image, options = problem
    _, expected = restored_whole(image, options)
    chunks = tuple(data.draw(partitions(length)) for length in image.shape)
    blocks = da.from_array(image, chunks=chunks)
    clean = denoise_dask(blocks, labels=(FIRST, SECOND), **options)
    sure = denoise_dask(blocks, labels=(FIRST, SECOND), posterior=True, **options)
    scheduler = data.draw(st.sampled_from(["synchronous", "threads"]))
    for lazy, wanted in [(clean, expected.best), (sure, expected.posterior.of(SECOND))]:
        found = lazy.compute(scheduler=scheduler)
        assert np.array_equal(found, wanted)
        assert found.dtype == lazy.dtype
    assert clean.dtype == image.dtype


@st.composite
def partitions(draw, length):
    """Lengths of blocks that make up a side."""
    cuts = draw(st.sets(st.integers(1, length - 1), max_size=4)) if length > 1 else set()
    return tuple(np.diff([0, *sorted(cuts), length]).tolist())


@given(
    image=SHAPES.flatmap(lambda shape: arrays.arrays(bool, shape)),
    kind=st.sampled_from([bool, np.uint8, np.uint16, np.float32]),
    tile=st.sampled_from([16, 32]),
    step=st.integers(1, 40),
    data=st.data(),
)
def test_a_tiff_file_gives_back_any_region_of_what_was_written(
    tmp_path_factory, image, kind, tile, step, data
):
    path = tmp_path_factory.getbasetemp() / "regions.tif"
    image = image.astype(kind)
    corners = list(product(*(range(0, length, step) for length in image.shape)))
    with TiffTarget(path, image.shape, kind, tile=tile) as target:
        for row, column in data.draw(st.permutations(corners)):
            window = slice(row, row + step), slice(column, column + step)
            target[window] = image[window]
    with open_tiff(path) as source:
        assert (source.shape, source.dtype) == (image.shape, image.dtype)
        for _ in range(3):
            window = tuple(data.draw(st.slices(length)) for length in image.shape)
            window = tuple(slice(s.start, s.stop) for s in window)
            assert np.array_equal(source[window], image[window])
