import numpy as np
import pytest
from PIL import Image

from credo.exceptions import InputError, ShapeError
from credo.images.coding import read_image

RNG = np.random.default_rng(0)
BITS = RNG.integers(0, 2, (5, 7))
BYTES = RNG.integers(0, 256, (5, 7, 4), dtype=np.uint8)

BINARY = {
    "truth values": (BITS.astype(bool), (False, True)),
    "0 and 1": (BITS, (0, 1)),
    "-1 and 1": (2 * BITS - 1, (-1, 1)),
    "-1 and 1 in int8": ((2 * BITS - 1).astype(np.int8), (-1, 1)),
    "0 and 255": ((255 * BITS).astype(np.uint8), (0, 255)),
    "0 and 65535": ((65535 * BITS).astype(np.uint16), (0, 65535)),
    "two bytes": ((40 + 3 * BITS).astype(np.uint8), (40, 43)),
    "two floats": (BITS * 0.1 + 0.2, (0.2, 0.1 + 0.2)),
    "two singles": ((BITS * 0.1).astype(np.float32), (0.0, float(np.float32(0.1)))),
}
GREY = {
    "bytes": BYTES[..., 0],
    "uint16": RNG.integers(0, 65536, (5, 7), dtype=np.uint16),
    "big-endian": RNG.integers(0, 65536, (5, 7), dtype=np.uint16).astype(">u2"),
    "int64": RNG.integers(-(2**62), 2**62, (5, 7)),
    "half floats": RNG.random((5, 7)).astype(np.float16),
    "floats": RNG.random((5, 7), dtype=np.float32),
    "doubles": RNG.normal(size=(5, 7)),
}
COLOUR = {
    "one channel": (BYTES[..., :1], 1, False),
    "grey and opacity": (BYTES[..., :2], 1, True),
    "colour": (BYTES[..., :3], 3, False),
    "colour and opacity": (BYTES, 3, True),
    "colour in floats": (RNG.random((5, 7, 3)), 3, False),
    "black and white in colour": ((255 * BITS[..., None].repeat(3, 2)).astype(np.uint8), 3, False),
}


def assert_same(found, expected):
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", BINARY)
def test_two_values_of_any_kind_are_a_binary_image(name):
    image, labels = BINARY[name]
    seen = read_image(image, "it")
    assert (seen.labels, seen.span, seen.shape) == (labels, labels, (5, 7))
    assert [type(label) for label in seen.labels] == [type(label) for label in labels]
    assert_same(seen.restore(seen.planes), image)
    # planes of labels, as a map of posteriors gives them, come back in the image's own type
    assert_same(seen.restore([np.where(BITS, *labels[::-1])]), image)


@pytest.mark.parametrize("name", GREY)
def test_more_values_are_a_grey_image(name):
    seen = read_image(GREY[name], "it")
    assert (seen.labels, seen.dtype) == (None, GREY[name].dtype)
    assert seen.planes[0].dtype.isnative
    assert_same(seen.restore(seen.planes), GREY[name])


@pytest.mark.parametrize("name", COLOUR)
def test_channels_come_apart_and_together_again(name):
    image, n_planes, has_alpha = COLOUR[name]
    seen = read_image(image, "it")
    assert len(seen.planes) == n_planes
    assert (seen.alpha is not None) == has_alpha
    assert_same(seen.restore(seen.planes), image)


def test_opacity_is_kept_while_the_planes_change():
    seen = read_image(BYTES, "it")
    np.testing.assert_array_equal(seen.alpha, BYTES[..., 3])
    restored = seen.restore([255 - plane for plane in seen.planes])
    np.testing.assert_array_equal(restored[..., :3], 255 - BYTES[..., :3])
    np.testing.assert_array_equal(restored[..., 3], BYTES[..., 3])


def test_opacity_does_not_count_among_the_values():
    image = np.dstack([255 * BITS, RNG.integers(0, 256, (5, 7))]).astype(np.uint8)
    assert read_image(image, "it").labels == (0, 255)


def test_black_and_white_in_colour_is_binary():
    assert read_image(COLOUR["black and white in colour"][0], "it").labels == (0, 255)


@pytest.mark.parametrize(
    ("image", "labels"),
    [
        (np.zeros((2, 2), bool), (False, True)),
        (np.ones((2, 2), bool), (False, True)),
        (np.zeros((2, 2), np.uint8), (0, 255)),
        (np.full((2, 2), 255, np.uint8), (0, 255)),
        (np.ones((2, 2), np.uint8), (0, 1)),
        (np.zeros((2, 2), np.uint16), (0, 65535)),
        (np.full((2, 2), 255, np.uint16), (0, 255)),
        (np.zeros((2, 2), int), (0, 1)),
        (np.full((2, 2), -1), (-1, 1)),
        (np.full((2, 2), 255), (0, 255)),
        (np.ones((2, 2)), (0.0, 1.0)),
        (-np.ones((2, 2)), (-1.0, 1.0)),
        (np.zeros((2, 2, 3), np.uint8), (0, 255)),
    ],
    ids=lambda it: f"{it.dtype} {it.flat[0]}" if isinstance(it, np.ndarray) else None,
)
def test_a_single_value_is_told_by_the_pair_it_belongs_to(image, labels):
    seen = read_image(image, "it")
    assert seen.labels == labels
    assert type(seen.labels[0]) is type(labels[0])
    assert_same(seen.restore(seen.planes), image)


def test_a_single_value_of_no_pair_is_told_only_if_it_is_said_what_it_is():
    flat = np.full((3, 3), 128, dtype=np.uint8)
    with pytest.raises(InputError, match="it cannot tell whether.*binary or grey: all.*are 128"):
        read_image(flat, "it")
    assert read_image(flat, "it", "grey").span == (0, 255)
    with pytest.raises(InputError, match="cannot tell"):
        read_image(flat, "it", "binary")


def test_the_kind_that_is_wanted_is_the_kind_that_is_read():
    assert read_image(BITS, "it", "grey").labels is None
    assert read_image(BITS, "it", "binary").labels == (0, 1)
    with pytest.raises(
        InputError, match="it needs an image of two values. Got 0, 9 and 5 at least"
    ):
        read_image([[0, 5, 9]], "it", "binary")
    with pytest.raises(InputError, match="it needs a grey image. Got booleans"):
        read_image(BITS.astype(bool), "it", "grey")


def test_a_third_value_at_the_very_end_makes_it_grey():
    image = np.zeros((3000, 300), dtype=np.uint8)
    image[0, 0], image[-1, -1] = 255, 7
    assert read_image(image, "it").labels is None
    image[-1, -1] = 255
    assert read_image(image, "it").labels == (0, 255)


@pytest.mark.parametrize(
    ("image", "span"),
    [
        (np.array([[1, 2, 3]], np.uint8), (0, 255)),
        (np.array([[1, 2, 3]], np.int8), (-128, 127)),
        (np.array([[1, 2, 3]], np.uint16), (0, 65535)),
        (np.array([[1, 2, 3]], np.int64), (1, 3)),
        (np.array([[0.25, 0.5, 0.75]]), (0.0, 1.0)),
        (np.array([[0.25, 0.5, 1.5]]), (0.25, 1.5)),
        (np.array([[-0.5, 0.0, 0.5]]), (-0.5, 0.5)),
    ],
    ids=str,
)
def test_the_span_of_a_grey_image_is_that_of_its_coding(image, span):
    assert read_image(image, "it").span == span


def test_whole_numbers_are_rounded_and_clipped():
    seen = read_image(GREY["bytes"][:1, :5], "it")
    new = seen.restore([np.array([[-3.0, 0.4, 0.6, 254.7, 1e9]])])
    assert_same(new, np.array([[0, 0, 1, 255, 255]], dtype=np.uint8))
    new = seen.restore([np.array([[-3, 0, 1, 254, 10**9]])])
    assert_same(new, np.array([[0, 0, 1, 254, 255]], dtype=np.uint8))
    signed = read_image(np.array([[-5, 3, 9]], dtype=np.int8), "it")
    assert_same(signed.restore([np.array([[200, 3, 0]], np.uint8)]), np.int8([[127, 3, 0]]))
    long = read_image(GREY["int64"][:1, :2], "it", "grey").restore([np.array([[-1e30, 1e30]])])
    assert_same(long, np.array([[-(2**63), 2**63 - 1024]]))


def test_floats_are_not_clipped():
    seen = read_image(GREY["floats"][:1, :2], "it", "grey")
    assert_same(seen.restore([np.array([[-3.0, 1.25]])]), np.float32([[-3.0, 1.25]]))


def test_the_image_is_neither_held_open_nor_handed_out():
    image = BITS.copy()
    seen = read_image(image, "it")
    assert np.shares_memory(seen.planes[0], image)
    with pytest.raises(ValueError, match="read-only"):
        seen.planes[0][0, 0] = 1
    again = seen.restore(seen.planes)
    again[:] = 7
    assert image.flags.writeable
    np.testing.assert_array_equal(image, BITS)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "RGB", "RGBA", "I", "I;16", "I;16B", "F"])
def test_an_image_of_pillow_is_its_pixels(mode):
    picture = Image.new(mode, (3, 2))
    channels = len(picture.getbands())
    colours = [tuple(range(k, k + channels)) if channels > 1 else k for k in range(6)]
    picture.putdata([bool(k % 2) for k in range(6)] if mode == "1" else colours)
    expected = np.asarray(picture)
    seen = read_image(picture, "it")
    assert seen.shape == (2, 3)
    assert (seen.labels is not None) == (mode == "1")
    assert_same(seen.restore(seen.planes), expected)


def palette_image(colours, opacity=None):
    picture = Image.new("P", (3, 1))
    picture.putpalette([part for colour in colours for part in colour])
    picture.putdata([0, 1, 2])
    if opacity is not None:
        picture.info["transparency"] = bytes(opacity)
    return picture


def test_a_palette_becomes_its_colours():
    picture = palette_image([(255, 0, 0), (1, 2, 3), (0, 9, 0)])
    seen = read_image(picture, "it")
    expected = np.array([[[255, 0, 0], [1, 2, 3], [0, 9, 0]]], dtype=np.uint8)
    assert_same(seen.restore(seen.planes), expected)


def test_a_palette_of_greys_becomes_grey():
    seen = read_image(palette_image([(7, 7, 7), (255, 255, 255), (0, 0, 0)]), "it")
    assert_same(seen.restore(seen.planes), np.array([[7, 255, 0]], dtype=np.uint8))


def test_a_palette_with_opacity_keeps_it():
    seen = read_image(palette_image([(7, 7, 7), (9, 9, 9), (0, 0, 0)], [0, 128, 255]), "it")
    expected = np.array([[[7, 0], [9, 128], [0, 255]]], dtype=np.uint8)
    assert_same(seen.restore(seen.planes), expected)
    seen = read_image(palette_image([(7, 7, 8), (9, 9, 9), (0, 0, 0)], [0, 128, 255]), "it")
    assert seen.restore(seen.planes).shape == (1, 3, 4)
    np.testing.assert_array_equal(seen.alpha, [[0, 128, 255]])


@pytest.mark.parametrize("mode", ["CMYK", "HSV", "YCbCr"])
def test_a_mode_of_other_colours_is_refused_with_a_way_out(mode):
    with pytest.raises(InputError, match=f"mode '{mode}'; known are.*convert\\('RGB'\\)"):
        read_image(Image.new(mode, (2, 2)), "it")


def test_a_file_that_ends_early_is_no_image(tmp_path):
    path = tmp_path / "cut.png"
    Image.fromarray(RNG.integers(0, 256, (64, 64), dtype=np.uint8)).save(path)
    path.write_bytes(path.read_bytes()[:2000])
    with (
        Image.open(path) as picture,
        pytest.raises(InputError, match="image of it cannot be read as pixels.*truncated"),
    ):
        read_image(picture, "it")


@pytest.mark.parametrize(
    ("image", "error", "message"),
    [
        (np.empty((0, 5)), ShapeError, r"at least one pixel. Got shape \(0, 5\)"),
        (np.empty((4, 5, 0)), ShapeError, "at least one pixel"),
        (Image.new("L", (0, 0)), ShapeError, "at least one pixel"),
        (np.zeros(5), ShapeError, r"shape \(H, W\), or \(H, W, C\).*Got shape \(5,\)"),
        (0.5, ShapeError, r"Got shape \(\)"),
        (np.zeros((10, 9, 8)), ShapeError, r"1 to 4 channels. Got shape \(10, 9, 8\).*volume"),
        (np.zeros((3, 9, 8)), ShapeError, "channels last: numpy.moveaxis"),
        (np.zeros((2, 2, 2, 2)), ShapeError, r"Got shape \(2, 2, 2, 2\)"),
        ([[1j, 0]], InputError, "booleans, whole numbers or floats. Got complex128.*real part"),
        (np.array([[None, 1]]), InputError, "Got object in shape"),
        ([["a", "b"]], InputError, "Got <U1"),
        ("noisy.png", InputError, "Got <U9.*Open a file first"),
        (np.zeros((2, 2), "M8[s]"), InputError, r"Got datetime64\[s\]"),
        ([[1, 2], [3]], InputError, "cannot be read as pixels"),
        (np.ma.masked_equal([[0, 1]], 1), InputError, "masked pixels. Fill them"),
    ],
    ids=range(15),
)
def test_what_is_no_image_is_refused(image, error, message):
    with pytest.raises(error, match=f"image of it .*{message}"):
        read_image(image, "it")


def test_pixels_that_are_not_finite_are_counted_and_the_first_is_named():
    image = RNG.random((4, 5))
    image[1, 3], image[2, 0], image[3, 3] = np.nan, np.inf, -np.inf
    with pytest.raises(InputError, match=r"Got 3 of 20 pixels.*the first nan at \(1, 3\)"):
        read_image(image, "it")
    with pytest.raises(InputError, match=r"Got 2 of 10 pixels.*the first inf at \(0, 0\)"):
        read_image(image[2:], "it")
    with pytest.raises(InputError, match="must be finite"):
        read_image(np.dstack([np.ones((4, 5)), image]), "it")
