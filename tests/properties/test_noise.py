"""Laws of noisy channels: on any image, coded any way."""

import numpy as np
from hypothesis import assume, given, strategies as st
from hypothesis.extra import numpy as arrays

from credo.images import add_noise, flip_map
from credo.images.coding import read_image

FLIPS = st.sampled_from(["independent", "burst", "varying"])
KINDS = st.sampled_from(["independent", "burst", "varying", "salt_and_pepper"])
RATES = st.floats(0, 0.4)
SEEDS = st.integers(0, 2**32)
SHAPES = st.tuples(st.integers(1, 9), st.integers(1, 9))
BITS = arrays.arrays(bool, SHAPES)

#: Ways to write two values, and their types.
CODINGS = st.sampled_from(
    [
        np.array([False, True]),
        np.array([0, 1]),
        np.array([-1, 1], dtype=np.int8),
        np.array([0, 255], dtype=np.uint8),
        np.array([0.25, 0.75], dtype=np.float32),
        np.array([-3, 1e9]),
    ]
)


@st.composite
def pictures(draw):
    """Images of any type, with or without channels, that are binary or grey for certain."""
    dtype = draw(st.sampled_from([bool, np.uint8, np.uint16, np.int64, np.float32, np.float64]))
    channels = draw(st.sampled_from([(), (1,), (2,), (3,), (4,)]))
    shape = (*draw(SHAPES), *channels)
    if dtype is bool or np.issubdtype(dtype, np.floating):
        entries = None if dtype is bool else st.floats(-1e3, 1e3, width=32)
        picture = draw(arrays.arrays(dtype, shape, elements=entries))
    else:
        picture = draw(arrays.arrays(dtype, shape, elements=st.integers(0, 255)))
    colours = picture[..., :-1] if channels in ((2,), (4,)) else picture
    assume(dtype is bool or len(np.unique(colours)) > 1)
    return picture


@given(pictures())
def test_taking_an_image_apart_and_putting_it_together_changes_nothing(picture):
    seen = read_image(picture, "it")
    again = seen.restore(seen.planes)
    assert again.dtype == picture.dtype
    np.testing.assert_array_equal(again, picture)


@given(pictures(), RATES, KINDS, SEEDS)
def test_noise_keeps_the_shape_the_type_and_the_span(picture, rate, kind, seed):
    noisy = add_noise(picture, rate, kind=kind, length=20, seed=seed)
    seen = read_image(picture, "it")
    assert (noisy.shape, noisy.dtype) == (picture.shape, picture.dtype)
    again = [np.atleast_3d(noisy)[..., c] for c in range(len(seen.planes))]
    low, high = seen.span
    assert all(low <= plane.min() and plane.max() <= high for plane in again)
    if seen.labels is not None:
        assert all(np.isin(plane, seen.labels).all() for plane in again)
    if seen.alpha is not None:
        np.testing.assert_array_equal(noisy[..., -1], seen.alpha)


@given(BITS, CODINGS, RATES, KINDS, SEEDS)
def test_noise_does_not_depend_on_how_two_values_are_coded(bits, values, rate, kind, seed):
    assume(0 < bits.mean() < 1)
    noisy = add_noise(bits, rate, kind=kind, length=20, seed=seed)
    coded = add_noise(values[bits.astype(int)], rate, kind=kind, length=20, seed=seed)
    np.testing.assert_array_equal(coded, values[noisy.astype(int)])


@given(BITS, RATES, FLIPS, SEEDS)
def test_the_same_flips_again_take_them_back(bits, rate, kind, seed):
    noisy = add_noise(bits, rate, kind=kind, length=20, seed=seed)
    again = add_noise(noisy, rate, kind=kind, length=20, seed=seed)
    np.testing.assert_array_equal(again, bits)


@given(BITS, RATES, RATES, st.sampled_from(["independent", "varying"]), SEEDS)
def test_a_higher_rate_only_adds_flips(bits, one, other, kind, seed):
    low, high = sorted([one, other])
    few = add_noise(bits, low, kind=kind, seed=seed) != bits
    many = add_noise(bits, high, kind=kind, seed=seed) != bits
    assert (many | ~few).all()


@given(BITS, RATES, SEEDS)
def test_one_rate_is_the_map_that_has_it_everywhere(bits, rate, seed):
    rates = flip_map(bits.shape, rate, kind="independent")
    np.testing.assert_array_equal(
        add_noise(bits, rates, seed=seed), add_noise(bits, rate, seed=seed)
    )


@given(BITS, RATES, FLIPS, SEEDS)
def test_nothing_flips_where_the_map_of_the_same_seed_is_zero(bits, rate, kind, seed):
    rates = flip_map(bits.shape, rate, kind=kind, length=20, seed=seed)
    flipped = add_noise(bits, rate, kind=kind, length=20, seed=seed) != bits
    assert not flipped[rates == 0].any()
    assert rates.min() >= 0
    assert rates.max() <= (0.5 if kind == "burst" else 2 * rate + 1e-15)


@given(SHAPES, st.floats(0, 0.5), st.sampled_from(["varying", "independent"]))
def test_the_mean_of_a_map_is_the_flip_probability(shape, rate, kind):
    np.testing.assert_allclose(
        flip_map(shape, rate, kind=kind).mean(), rate, rtol=1e-12, atol=1e-300
    )
