import os
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from credo.exceptions import CredoWarning, FileFormatError, InputError
from credo.images import files
from credo.images.files import MOST_PIXELS, image_format, open_image, save_image

RNG = np.random.default_rng(0)
BLACK_WHITE = RNG.random((9, 13)) < 0.5
GREY = RNG.integers(0, 256, (9, 13), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (9, 13, 3), dtype=np.uint8)
DEEP = RNG.integers(0, 65536, (9, 13), dtype=np.uint16)


def png(width, height, depth=8, colour=0, rows=b""):
    """A PNG file by its specification; without rows it only claims to hold pixels."""

    def chunk(name, data):
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


class TestRoundTrip:
    @pytest.mark.parametrize(
        "ending", ["png", "pbm", "pgm", "pnm", "bmp", "tif", "tiff", "gif", "webp", "ppm", "PNG"]
    )
    def test_two_values_stay_two(self, tmp_path, ending):
        path = tmp_path / f"picture.{ending}"
        save_image(path, BLACK_WHITE)
        for _ in range(2):
            array, info = open_image(path)
            assert np.array_equal(array if array.dtype == bool else array == 255, BLACK_WHITE)
            assert len(np.unique(array)) == 2
            save_image(path, array, info)

    @pytest.mark.parametrize(
        ("pixels", "endings"),
        [
            (GREY, "png pgm pnm bmp tiff gif webp ppm"),
            (COLOUR, "png ppm pnm bmp tiff webp"),
            (DEEP, "png pgm pnm tiff"),
        ],
        ids=["grey", "colour", "16 bits"],
    )
    def test_pixels_stay_what_they_are(self, tmp_path, pixels, endings):
        for ending in endings.split():
            save_image(tmp_path / f"picture.{ending}", pixels)
            array, info = open_image(tmp_path / f"picture.{ending}")
            assert array.dtype == pixels.dtype
            assert np.array_equal(array, pixels)
            assert (info.mode == "I;16") == (pixels is DEEP)

    @pytest.mark.parametrize("dtype", ["float32", "int32"])
    def test_rare_types_stay_in_a_tiff(self, tmp_path, dtype):
        values = (RNG.standard_normal((9, 13)) * 1e5).astype(dtype)
        Image.fromarray(values).save(tmp_path / "in.tiff")
        array, info = open_image(tmp_path / "in.tiff")
        save_image(tmp_path / "out.tiff", array, info)
        again, _ = open_image(tmp_path / "out.tiff")
        assert again.dtype == values.dtype
        assert np.array_equal(again, values)

    def test_fractions_of_double_precision_are_rounded_to_single(self, tmp_path):
        values = RNG.standard_normal((4, 5))
        save_image(tmp_path / "out.tiff", values)
        assert np.array_equal(open_image(tmp_path / "out.tiff")[0], values.astype(np.float32))

    def test_one_bit_pixels_are_written_as_such(self, tmp_path):
        save_image(tmp_path / "out.png", BLACK_WHITE)
        with Image.open(tmp_path / "out.png") as image:
            assert image.mode == "1"
        array, info = open_image(tmp_path / "out.png")
        assert (array.dtype, info.mode, info.format) == (np.bool_, "1", "PNG")
        assert set(np.unique(array.view(np.uint8))) == {0, 1}

    @pytest.mark.parametrize("values", [(-1, 1), (0.0, 1.0), (3, 7)])
    def test_any_two_values_are_black_and_white(self, tmp_path, values):
        save_image(tmp_path / "out.png", np.where(BLACK_WHITE, values[1], values[0]))
        assert np.array_equal(open_image(tmp_path / "out.png")[0], BLACK_WHITE)

    def test_jpeg_is_close_for_smooth_grey_pictures(self, tmp_path):
        smooth = np.add.outer(np.arange(64), np.arange(64)).astype(np.uint8)
        save_image(tmp_path / "out.jpg", smooth)
        array, _ = open_image(tmp_path / "out.jpg")
        assert np.abs(array.astype(int) - smooth).max() <= 2


class TestStoredAlike:
    def again(self, path, image):
        """Open, save under another name, and let Pillow open that."""
        image.save(path)
        array, info = open_image(path)
        save_image(path.with_stem("again"), array, info)
        with Image.open(path.with_stem("again")) as found:
            found.load()
        return array, info, found

    @pytest.mark.parametrize("ending", ["png", "gif", "bmp", "tiff"])
    def test_two_colours_of_a_palette_are_two_values(self, tmp_path, ending):
        image = Image.fromarray(BLACK_WHITE.astype(np.uint8))
        image.putpalette([250, 240, 220, 10, 20, 90])  # paper, ink
        array, info, found = self.again(tmp_path / f"in.{ending}", image)
        assert info.colours == ((10, 20, 90), (250, 240, 220))
        assert np.array_equal(array, ~BLACK_WHITE)
        assert found.mode == "P"
        assert np.array_equal(np.asarray(found.convert("RGB")), np.asarray(image.convert("RGB")))

    def test_two_colours_in_three_channels_are_two_values(self, tmp_path):
        pixels = np.where(BLACK_WHITE[..., None], [255, 0, 0], [0, 0, 255]).astype(np.uint8)
        array, info, found = self.again(tmp_path / "in.png", Image.fromarray(pixels))
        assert array.dtype == bool
        assert np.array_equal(array, BLACK_WHITE)  # red is lighter than blue
        assert info.mode == found.mode == "RGB"
        assert np.array_equal(np.asarray(found), pixels)

    def test_a_coloured_file_without_colours_is_grey(self, tmp_path):
        pixels = np.repeat(GREY[..., None], 3, axis=2)
        array, _, found = self.again(tmp_path / "in.png", Image.fromarray(pixels))
        assert np.array_equal(array, GREY)
        assert found.mode == "RGB"
        assert np.array_equal(np.asarray(found), pixels)

    @pytest.mark.parametrize("kind", ["grey", "colour"])
    def test_a_palette_of_many_is_grey_or_colour(self, tmp_path, kind):
        image = Image.fromarray(GREY)
        palette = RNG.integers(0, 256, (256, 1 if kind == "grey" else 3), dtype=np.uint8)
        palette = np.broadcast_to(palette, (256, 3))
        image.putpalette(palette.ravel().tolist())
        array, _, found = self.again(tmp_path / "in.png", image)
        assert np.array_equal(array, palette[GREY][..., 0] if kind == "grey" else palette[GREY])
        assert found.mode == {"grey": "L", "colour": "RGB"}[kind]

    @pytest.mark.parametrize("mode", ["LA", "RGBA"])
    def test_transparency_is_handed_through(self, tmp_path, mode):
        planes = 2 if mode == "LA" else 4
        pixels = RNG.integers(0, 256, (9, 13, planes), dtype=np.uint8)
        array, info, found = self.again(tmp_path / "in.png", Image.fromarray(pixels))
        assert np.array_equal(array, pixels[..., 0] if planes == 2 else pixels[..., :3])
        assert np.array_equal(info.alpha, pixels[..., -1])
        assert found.mode == mode
        assert np.array_equal(np.asarray(found), pixels)

    def test_a_transparent_colour_of_a_palette_is_transparency(self, tmp_path):
        image = Image.fromarray(BLACK_WHITE.astype(np.uint8))
        image.putpalette([0, 0, 0, 255, 255, 255])
        image.save(tmp_path / "in.png", transparency=0)
        array, info = open_image(tmp_path / "in.png")
        assert np.array_equal(array, BLACK_WHITE)
        assert np.array_equal(info.alpha, np.where(BLACK_WHITE, 255, 0))

    def test_opacity_everywhere_needs_no_plane(self, tmp_path):
        pixels = np.dstack([COLOUR, np.full((9, 13), 255, np.uint8)])
        Image.fromarray(pixels).save(tmp_path / "in.png")
        save_image(tmp_path / "out.bmp", *open_image(tmp_path / "in.png"))
        assert np.array_equal(open_image(tmp_path / "out.bmp")[0], COLOUR)

    def test_other_colour_spaces_become_red_green_blue(self, tmp_path):
        image = Image.fromarray(COLOUR).convert("CMYK")
        image.save(tmp_path / "in.tiff")
        assert np.array_equal(open_image(tmp_path / "in.tiff")[0], np.asarray(image.convert("RGB")))

    @pytest.mark.parametrize("turn", range(1, 9))
    def test_a_picture_is_turned_as_the_camera_was_held(self, tmp_path, turn):
        exif = Image.Exif()
        exif[0x0112] = turn
        image = Image.fromarray(GREY)
        image.save(tmp_path / "in.png", exif=exif)
        upright = {
            1: GREY,
            2: GREY[:, ::-1],
            3: GREY[::-1, ::-1],
            4: GREY[::-1],
            5: GREY.T,
            6: GREY.T[:, ::-1],
            7: GREY[::-1, ::-1].T,
            8: GREY.T[::-1],
        }
        assert np.array_equal(open_image(tmp_path / "in.png")[0], upright[turn])

    def test_the_name_may_lie_about_the_format(self, tmp_path):
        save_image(tmp_path / "in.tiff", GREY)
        (tmp_path / "in.tiff").rename(tmp_path / "in.png")
        array, info = open_image(tmp_path / "in.png")
        assert info.format == "TIFF"
        assert np.array_equal(array, GREY)

    def test_a_picture_beside_a_preview_is_read(self, tmp_path):
        smooth = Image.fromarray(np.full((16, 16), 99, np.uint8))
        smooth.save(tmp_path / "in.jpg", "MPO", save_all=True, append_images=[smooth])
        assert np.array_equal(open_image(tmp_path / "in.jpg")[0], np.asarray(smooth))


class TestWhatIsNoImage:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "This is not an image, or .*begins b''"),
            (b"hello, world", "begins b'hello, world'. Known are PNG, PGM.*Save it again"),
            (b"%PDF-1.7 and so on", "This is not an image"),
            (b"\x89PNG\r\n\x1a\n", "its header is damaged"),
            (b"\xff\xd8\xff\xe0 and nothing", "The image is damaged"),
            (b"II*\x00\xff\xff\xff\xff", "its header is damaged"),
            (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "The image is damaged"),
            (b"GIF89a", "its header is damaged"),
            (b"BM", "its header is damaged"),
            (b"P5 4 4 255\n123", "The image is damaged"),
            (b"P5 0 4 255\n", "header is damaged"),
            (b"P5 -4 4 255\n1234", "header is damaged"),
            (png(0, 5), "header is damaged"),
            (png(5, 0), "header is damaged"),
            (png(4, 4), "The image is damaged"),
        ],
        ids=range(15),
    )
    def test_it_is_named_with_what_is_wrong(self, tmp_path, content, message):
        path = tmp_path / "in.png"
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match=message) as caught:
            open_image(path)
        assert str(caught.value).startswith(f"{path}: ")

    @pytest.mark.parametrize("ending", ["png", "bmp", "tiff", "jpg", "gif", "webp", "pgm"])
    def test_a_file_that_was_cut_off_is_damaged(self, tmp_path, ending):
        path = tmp_path / f"in.{ending}"
        save_image(path, RNG.integers(0, 256, (99, 99), dtype=np.uint8))
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises(FileFormatError, match="The image is damaged: .*Save it again"):
            open_image(path)

    def test_folders_pipes_and_missing_files_are_no_images(self, tmp_path):
        os.mkfifo(tmp_path / "pipe.png")
        with pytest.raises(InputError, match="is a folder. Name an image file"):
            open_image(tmp_path)
        with pytest.raises(InputError, match="There is no such file"):
            open_image(tmp_path / "no.png")
        with pytest.raises(InputError, match="is a pipe or a device"):
            open_image(tmp_path / "pipe.png")

    def test_a_file_that_may_not_be_read_is_named(self, tmp_path, monkeypatch):
        save_image(tmp_path / "in.png", GREY)

        def refused(*_):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("pathlib.Path.open", refused)
        with pytest.raises(InputError, match="Cannot read .*in.png: Permission denied"):
            open_image(tmp_path / "in.png")

    @pytest.mark.parametrize("ending", ["gif", "tiff", "png", "webp"])
    def test_several_pictures_are_one_too_many(self, tmp_path, ending):
        frames = [Image.fromarray(RNG.integers(0, 256, (9, 9), dtype=np.uint8)) for _ in range(3)]
        path = tmp_path / f"in.{ending}"
        frames[0].save(path, save_all=True, append_images=frames[1:])
        with pytest.raises(FileFormatError, match="There are 3 pictures in the file. Save one"):
            open_image(path)

    def test_colours_of_sixteen_bits_are_cut_with_a_warning(self, tmp_path):
        rows = RNG.integers(0, 65536, (2, 3, 3)).astype(">u2")
        data = b"".join(b"\x00" + row.tobytes() for row in rows)
        (tmp_path / "in.png").write_bytes(png(3, 2, 16, 2, data))
        with pytest.warns(CredoWarning, match="colours of 16 bits were cut to 8 bits"):
            array, _ = open_image(tmp_path / "in.png")
        assert np.array_equal(array, rows >> 8)

    def test_odd_metadata_are_no_reason_to_complain(self, tmp_path):
        Image.fromarray(GREY).save(
            tmp_path / "in.jpg", exif=b"Exif\x00\x00II*\x00\x08\x00\x00\x00\x05"
        )
        assert open_image(tmp_path / "in.jpg")[0].shape == GREY.shape


class TestBombs:
    @pytest.mark.parametrize("side", [16385, 30_000, 2**31 - 1])
    def test_a_claim_of_too_many_pixels_is_refused_unread(self, tmp_path, side):
        path = tmp_path / "bomb.png"
        path.write_bytes(png(side, side, 1))
        with pytest.raises(FileFormatError, match="claims .*at most 268435456 .16384 × 16384."):
            open_image(path)

    @pytest.mark.parametrize(
        "head", [b"P4 99999 99999\n", b"P6 99999 99999 255\n"], ids=["P4", "P6"]
    )
    def test_so_is_one_of_another_format(self, tmp_path, head):
        (tmp_path / "bomb.ppm").write_bytes(head)
        with pytest.raises(FileFormatError, match="at most 268435456"):
            open_image(tmp_path / "bomb.ppm")

    def test_the_limit_is_ours_not_pillows(self, tmp_path, monkeypatch):
        save_image(tmp_path / "in.png", GREY)
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 5)
        assert np.array_equal(open_image(tmp_path / "in.png")[0], GREY)
        assert Image.MAX_IMAGE_PIXELS == 5
        monkeypatch.setattr(files, "MOST_PIXELS", 9 * 13 - 1)
        with pytest.raises(FileFormatError, match="at most 116"):
            open_image(tmp_path / "in.png")
        assert Image.MAX_IMAGE_PIXELS == 5

    def test_pillows_limit_may_be_off(self, tmp_path, monkeypatch):
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
        (tmp_path / "bomb.png").write_bytes(png(16384, 16385, 1))
        with pytest.raises(FileFormatError, match="at most 268435456"):
            open_image(tmp_path / "bomb.png")
        assert Image.MAX_IMAGE_PIXELS is None
        assert MOST_PIXELS == 16384**2

    def test_too_little_memory_is_said(self, tmp_path, monkeypatch):
        def full(*_):
            raise MemoryError

        save_image(tmp_path / "in.png", GREY)
        monkeypatch.setattr(files, "_read", full)
        with pytest.raises(InputError, match="not enough memory to decode"):
            open_image(tmp_path / "in.png")


class TestSaving:
    def test_the_ending_says_the_format(self):
        assert image_format("a/B.JPG") == "JPEG"
        with pytest.raises(
            InputError, match=r"Cannot tell the format of b.xyz. End its name in .png"
        ):
            image_format("b.xyz")
        with pytest.raises(InputError, match="Cannot tell the format of picture"):
            save_image("picture", GREY)

    @pytest.mark.parametrize("ending", ["jpg", "jpeg"])
    def test_jpeg_is_refused_for_two_values(self, tmp_path, ending):
        for pixels in (BLACK_WHITE, np.where(BLACK_WHITE, 255, 0).astype(np.uint8)):
            with pytest.raises(
                InputError, match="JPEG blurs a picture of two values. Name it .*.png"
            ):
                save_image(tmp_path / f"out.{ending}", pixels)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        ("ending", "pixels", "message"),
        [
            ("gif", COLOUR, "does not hold colour pixels. End its name in .png or"),
            ("pgm", COLOUR, "does not hold colour pixels"),
            ("pbm", GREY, "does not hold grey pixels"),
            ("jpg", DEEP, "does not hold 16-bit grey pixels. End its name in .png or .pgm or"),
            ("bmp", DEEP, "does not hold 16-bit grey"),
            ("png", GREY / 7, "does not hold fractional grey pixels. End its name in .tif"),
            ("png", GREY.astype(int), "Got int64. Pass"),
            ("png", DEEP[..., None] * np.ones(3, np.uint16), "of bytes. Got shape .9, 13, 3. of"),
            ("png", GREY[:0], "Got shape .0, 13."),
            ("png", GREY[0], "Got shape .13,."),
            ("png", GREY.astype(complex), "Got complex128"),
        ],
        ids=range(11),
    )
    def test_pixels_that_a_format_lacks_are_refused(self, tmp_path, ending, pixels, message):
        with pytest.raises(InputError, match=f"Cannot write .*out.{ending}: .*{message}"):
            save_image(tmp_path / f"out.{ending}", pixels)
        assert not list(tmp_path.iterdir())

    def test_transparency_that_a_format_lacks_is_refused(self, tmp_path):
        pixels = np.dstack([COLOUR, GREY])
        with pytest.raises(InputError, match="does not hold colour with transparency"):
            save_image(tmp_path / "out.jpg", pixels)

    def test_grey_pixels_that_are_black_and_white_fit_a_bitmap(self, tmp_path):
        save_image(tmp_path / "out.pbm", np.where(BLACK_WHITE, 255, 0).astype(np.uint8))
        assert np.array_equal(open_image(tmp_path / "out.pbm")[0], BLACK_WHITE)

    def test_a_failure_leaves_the_old_file_and_nothing_else(self, tmp_path, monkeypatch):
        path = tmp_path / "out.png"
        save_image(path, GREY)
        before = path.read_bytes()

        def fail(*_, **__):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("pathlib.Path.replace", fail)
        with pytest.raises(OSError, match="No space"):
            save_image(path, BLACK_WHITE)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]

    def test_what_the_encoder_refuses_is_worded(self, tmp_path):
        wide = np.zeros((1, 70_000), np.uint8)
        wide[0, ::3], wide[0, 1::3] = 5, 9
        with pytest.raises(InputError, match="Cannot write .*out.jpg: "):
            save_image(tmp_path / "out.jpg", wide)
        with pytest.raises(InputError, match="the folder .* does not exist"):
            save_image(tmp_path / "no" / "out.png", GREY)
