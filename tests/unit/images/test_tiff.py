import io
import pickle  # noqa: TID251 - a way to another process
import struct
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
import tifffile
from PIL import Image

from credo.exceptions import FileFormatError, InputError, MissingExtraError, ShapeError
from credo.images import tiff
from credo.images.files import open_image
from credo.images.tiff import TiffTarget, open_tiff

RNG = np.random.default_rng(0)
BITS = RNG.random((83, 101)) < 0.3
GREY = RNG.integers(0, 256, (83, 101), dtype=np.uint8)
DEEP = RNG.integers(0, 65536, (83, 101), dtype=np.uint16)
FRACTIONS = RNG.random((83, 101), dtype=np.float32)
WINDOWS = [np.s_[0:83, 0:101], np.s_[17:63, 33:72], np.s_[80:83, 100:101], np.s_[5:5, 0:9]]


def same(path, expected):
    """Any region that is read is that of the array."""
    with open_tiff(path) as source:
        assert (source.shape, source.dtype, source.ndim) == (expected.shape, expected.dtype, 2)
        for window in WINDOWS:
            tiff.let_go(source)
            found = source[window]
            assert found.dtype == expected.dtype
            assert np.array_equal(found, expected[window])


def with_tags(path, **tags):
    """Change numbers in the directory of a little-endian file, by their tags."""
    data = bytearray(path.read_bytes())
    start = struct.unpack_from("<I", data, 4)[0]
    for place in range(struct.unpack_from("<H", data, start)[0]):
        tag, kind = struct.unpack_from("<HH", data, start + 2 + 12 * place)
        if f"t{tag}" in tags:
            form = {3: "<H", 4: "<I"}[kind]
            struct.pack_into(form, data, start + 2 + 12 * place + 8, tags.pop(f"t{tag}"))
    assert not tags
    path.write_bytes(data)


def sent(thing):
    """What arrives at another process."""
    return pickle.loads(pickle.dumps(thing))  # noqa: S301


class TestReading:
    @pytest.mark.parametrize("rows", [None, 16])
    @pytest.mark.parametrize(
        "compression",
        [None, "group3", "group4", "tiff_ccitt", "tiff_lzw", "tiff_adobe_deflate", "packbits"],
    )
    def test_bits_as_pillow_writes_them(self, tmp_path, compression, rows):
        options = {} if rows is None else {"tiffinfo": {278: rows}}
        Image.fromarray(BITS).save(tmp_path / "x.tif", compression=compression, **options)
        same(tmp_path / "x.tif", BITS)

    @pytest.mark.parametrize("compression", [None, "tiff_lzw", "tiff_deflate", "packbits"])
    @pytest.mark.parametrize("image", [GREY, DEEP, FRACTIONS], ids=["grey", "deep", "fractions"])
    def test_other_pixels_as_pillow_writes_them(self, tmp_path, image, compression):
        path = tmp_path / "x.tif"
        Image.fromarray(image).save(path, compression=compression, tiffinfo={278: 16})
        same(path, image)

    @pytest.mark.parametrize("image", [GREY, DEEP, FRACTIONS], ids=["grey", "deep", "fractions"])
    def test_differences_are_added_up(self, tmp_path, image):
        path, predictor = tmp_path / "x.tif", 3 if image is FRACTIONS else 2
        Image.fromarray(image).save(path, compression="tiff_lzw", tiffinfo={317: predictor})
        with tifffile.TiffFile(path) as file:
            assert file.pages[0].predictor == predictor
        same(path, image)

    @pytest.mark.parametrize("bigtiff", [False, True], ids=["classic", "big"])
    @pytest.mark.parametrize("order", ["<", ">"])
    @pytest.mark.parametrize("image", [GREY, DEEP, FRACTIONS], ids=["grey", "deep", "fractions"])
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"rowsperstrip": 7},
            {"tile": (32, 48)},
            {"tile": (16, 112)},
            {"compression": "zlib", "rowsperstrip": 7},
            {"compression": "zlib", "tile": (32, 48)},
        ],
        ids=["plain", "strips", "tiles", "wide tiles", "deflated strips", "deflated tiles"],
    )
    def test_strips_and_tiles_as_tifffile_writes_them(
        self, tmp_path, image, options, order, bigtiff
    ):
        path = tmp_path / "x.tif"
        tifffile.imwrite(path, image, byteorder=order, bigtiff=bigtiff, **options)
        same(path, image)

    @pytest.mark.parametrize("image", [DEEP, FRACTIONS], ids=["deep", "fractions"])
    def test_differences_of_big_endian_numbers(self, tmp_path, image):
        path = tmp_path / "x.tif"
        tifffile.imwrite(path, image, byteorder=">", compression="zlib", predictor=True)
        same(path, image)

    @pytest.mark.parametrize("image", [BITS, GREY, DEEP], ids=["bits", "grey", "deep"])
    @pytest.mark.parametrize("options", [{}, {"compression": "zlib"}], ids=["plain", "deflated"])
    def test_large_values_are_light_whatever_zero_is(self, tmp_path, image, options):
        path = tmp_path / "x.tif"
        stored = image.view(np.uint8) if image is BITS and options else image
        tifffile.imwrite(path, stored, photometric="miniswhite", **options)
        same(path, ~stored)
        if stored is BITS:
            assert np.array_equal(open_image(path)[0], ~stored)

    @pytest.mark.parametrize("compression", [None, "group4", "tiff_lzw"])
    def test_bits_may_begin_with_the_lowest(self, tmp_path, compression):
        path, turned = (
            tmp_path / "x.tif",
            np.packbits(np.unpackbits(np.arange(256, dtype=np.uint8))),
        )
        turned = np.packbits(np.unpackbits(turned).reshape(256, 8)[:, ::-1])
        Image.fromarray(BITS).save(path, compression=compression, tiffinfo={266: 1})
        with tifffile.TiffFile(path) as file:
            (start,), (count,) = file.pages[0].dataoffsets, file.pages[0].databytecounts
        data = bytearray(path.read_bytes())
        data[start : start + count] = turned[list(data[start : start + count])].tobytes()
        path.write_bytes(data)
        with_tags(path, t266=2)
        same(path, BITS)

    def test_missing_tiles_are_black(self, tmp_path):
        path = tmp_path / "x.tif"
        tiles = [np.full((32, 48), 9, np.uint8), None, np.full((32, 48), 7, np.uint8), None]
        tifffile.imwrite(
            path, iter(tiles), shape=(64, 96), dtype="uint8", tile=(32, 48), compression="zlib"
        )
        with open_tiff(path) as source:
            found = source[:, :]
        expected = np.kron([[9, 0], [7, 0]], np.ones((32, 48), np.uint8))
        assert np.array_equal(found, expected)

    def test_only_the_tiles_that_a_region_touches_are_read(self, tmp_path):
        path = tmp_path / "x.tif"
        tifffile.imwrite(path, np.zeros((512, 512), np.uint8), tile=(64, 64), compression="zlib")
        with open_tiff(path) as source:
            source[10:60, 70:120]
            assert source.reads == 1
            source[10:70, 70:130]
            assert source.reads == 4
            source[0:64, 64:128]
            assert source.reads == 4

    def test_what_is_kept_is_bounded(self, tmp_path, monkeypatch):
        monkeypatch.setattr(tiff, "_KEPT", 3 * 64 * 64)
        path = tmp_path / "x.tif"
        tifffile.imwrite(path, np.zeros((512, 512), np.uint8), tile=(64, 64), compression="zlib")
        with open_tiff(path) as source:
            for _ in range(2):
                source[:, :64]
            assert source.reads == 16
            source[320:, :64]
            assert source.reads == 16

    def test_a_region_of_a_large_file_takes_little_memory(self, tmp_path):
        for options in ({}, {"tile": (256, 256), "compression": "zlib"}):
            path = tmp_path / "x.tif"
            tifffile.imwrite(path, np.zeros((4000, 4000), np.uint8), **options)
            with open_tiff(path) as source:
                tracemalloc.start()
                source[1000:1200, 1000:1200]
                _, peak = tracemalloc.get_traced_memory()
                tracemalloc.stop()
            assert peak < 2_000_000

    def test_threads_may_read_at_the_same_time(self, tmp_path):
        path, image = tmp_path / "x.tif", RNG.integers(0, 256, (512, 512), dtype=np.uint8)
        tifffile.imwrite(path, image, tile=(32, 32), compression="zlib")
        corners = RNG.integers(0, 448, (200, 2)).tolist()
        with open_tiff(path) as source, ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda c: source[c[0] : c[0] + 64, c[1] : c[1] + 64], corners))
        for (row, column), part in zip(corners, found, strict=True):
            assert np.array_equal(part, image[row : row + 64, column : column + 64])

    def test_a_copy_in_another_process_opens_the_file_there(self, tmp_path):
        path = tmp_path / "x.tif"
        tifffile.imwrite(path, GREY, compression="zlib")
        with open_tiff(path) as source, sent(source) as copy:
            assert np.array_equal(copy[:, :], GREY)
            assert repr(copy) == f"<TiffSource: 83x101 pixels of uint8, {path}>"

    def test_a_window_is_two_slices(self, tmp_path):
        tifffile.imwrite(tmp_path / "x.tif", GREY, tile=(16, 32), compression="zlib")
        with open_tiff(tmp_path / "x.tif") as source:
            for window in [np.s_[:, 3:-1], np.s_[40:2], np.s_[..., :2], np.s_[5:]]:
                assert np.array_equal(source[window], GREY[window])
            for wrong in [3, (0, 1), np.s_[::2], np.s_[:1, :1, :1], [1, 2]]:
                with pytest.raises(InputError, match="TiffSource takes rows and columns as slices"):
                    source[wrong]

    def test_a_page_is_chosen(self, tmp_path):
        path = tmp_path / "x.tif"
        with tifffile.TiffWriter(path) as writer:
            writer.write(GREY, metadata=None)
            writer.write(GREY[::2, ::2], subfiletype=1, metadata=None)
            writer.write(DEEP, metadata=None)
        with pytest.raises(FileFormatError, match="There are 2 pictures in the file. Say which"):
            open_tiff(path)
        with pytest.raises(FileFormatError, match="There is no page 2; pages are from 0 to 1"):
            open_tiff(path, page=2)
        for page, expected in enumerate([GREY, DEEP]):
            with open_tiff(path, page) as source:
                assert np.array_equal(source[:, :], expected)

    def test_a_closed_file_is_not_read(self, tmp_path):
        for options in ({}, {"compression": "zlib"}):
            tifffile.imwrite(tmp_path / "x.tif", GREY, **options)
            with open_tiff(tmp_path / "x.tif") as source:
                pass
            with pytest.raises(InputError, match="has been closed. Open it again"):
                source[:, :]


class TestRefusals:
    def test_a_file_that_is_not_there(self, tmp_path):
        for path in (tmp_path / "no.tif", tmp_path):
            with pytest.raises(InputError, match="There is no such file"):
                open_tiff(path)

    @pytest.mark.parametrize(
        "content", [b"", b"II", b"hello, world", b"II*\0\x08\0\0\0", bytes(99)]
    )
    def test_a_file_that_is_no_tiff(self, tmp_path, content):
        (tmp_path / "x.tif").write_bytes(content)
        with pytest.raises(FileFormatError, match=r"x.tif: "):
            open_tiff(tmp_path / "x.tif")

    @pytest.mark.parametrize(
        ("image", "options", "message"),
        [
            (np.zeros((9, 9, 3), np.uint8), {"photometric": "rgb"}, "3 channels"),
            (np.zeros((9, 9), np.int32), {}, "Pixels of 32 bits"),
            (np.zeros((9, 9), np.float64), {}, "Pixels of 64 bits"),
            (np.zeros((9, 9), np.uint8), {"extratags": [(274, 3, 1, 6, True)]}, "stored turned"),
            (
                np.zeros((9, 9), np.uint8),
                {"photometric": "palette", "colormap": np.zeros((3, 256), np.uint16)},
                "1 channels, kind 3",
            ),
        ],
        ids=["colour", "whole", "double", "turned", "palette"],
    )
    def test_pictures_of_other_kinds(self, tmp_path, image, options, message):
        tifffile.imwrite(tmp_path / "x.tif", image, **options)
        with pytest.raises(FileFormatError, match=message):
            open_tiff(tmp_path / "x.tif")

    def test_compressions_of_other_kinds(self, tmp_path):
        Image.fromarray(GREY).save(tmp_path / "x.tif", compression="jpeg")
        with pytest.raises(FileFormatError, match="The compression .* is not read here"):
            open_tiff(tmp_path / "x.tif")

    @pytest.mark.parametrize("options", [{}, {"tile": (32, 48)}, {"compression": "zlib"}])
    def test_a_file_that_is_cut_off(self, tmp_path, options):
        path = tmp_path / "x.tif"
        tifffile.imwrite(path, GREY, **options)
        data = path.read_bytes()
        path.write_bytes(data[:-100])
        with pytest.raises(FileFormatError, match="cut off or damaged: strip or tile"):
            open_tiff(path)

    @pytest.mark.parametrize("cut", range(0, 400, 7))
    def test_a_file_that_is_cut_off_anywhere(self, tmp_path, cut):
        path = tmp_path / "x.tif"
        with TiffTarget(path, GREY.shape, np.uint8, tile=32) as target:
            target[:, :] = GREY
        data = path.read_bytes()
        path.write_bytes(data[: len(data) - 1 - cut])
        with pytest.raises(InputError):
            open_tiff(path)

    @pytest.mark.parametrize(
        ("tags", "message"),
        [
            ({"t256": 2**31, "t257": 2**31}, "claims 2147483648 × 2147483648 pixels"),
            ({"t256": 0}, "claims 83 × 0 pixels"),
            ({"t257": 2**20, "t278": 1}, "should have 1048576 strips or tiles. Got 1"),
            ({"t257": 2**20, "t278": 2**20}, "would have to be unpacked at once"),
            ({"t273": 2**31}, "cut off or damaged"),
            ({"t279": 2**31}, "cut off or damaged"),
        ],
    )
    def test_absurd_claims(self, tmp_path, tags, message):
        path = tmp_path / "x.tif"
        tifffile.imwrite(path, GREY, compression="zlib", rowsperstrip=83)
        with_tags(path, **tags)
        with pytest.raises(FileFormatError, match=message):
            open_tiff(path)

    def test_pixels_that_are_not_there(self, tmp_path):
        path = tmp_path / "x.tif"
        tifffile.imwrite(path, GREY, rowsperstrip=83)
        with_tags(path, t257=2000, t278=2000)
        with pytest.raises(FileFormatError, match="should have 202000 bytes at least"):
            open_tiff(path)

    def test_what_a_strip_becomes_is_bounded_by_what_it_claims(self, tmp_path):
        path = tmp_path / "x.tif"
        tifffile.imwrite(
            path, np.zeros((8000, 8000), np.uint8), compression="zlib", rowsperstrip=8000
        )
        with_tags(path, t257=20, t278=20)
        with open_tiff(path) as source:
            tracemalloc.start()
            with pytest.raises(FileFormatError, match="Strip or tile 0 is damaged"):
                source[:, :]
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert peak < 4_000_000

    def test_damaged_strips(self, tmp_path):
        path = tmp_path / "x.tif"
        tifffile.imwrite(path, GREY, compression="zlib")
        with tifffile.TiffFile(path) as file:
            start = file.pages[0].dataoffsets[0]
        data = bytearray(path.read_bytes())
        data[start : start + 50] = bytes(50)
        path.write_bytes(data)
        with open_tiff(path) as source, pytest.raises(FileFormatError, match="tile 0 is damaged"):
            source[:, :]

    def test_a_file_that_is_cut_off_while_it_is_open(self, tmp_path):
        path = tmp_path / "x.tif"
        tifffile.imwrite(path, GREY, compression="zlib")
        with open_tiff(path) as source:
            path.write_bytes(path.read_bytes()[:200])
            with pytest.raises(FileFormatError, match="has lost strip or tile 0"):
                source[:, :]

    def test_bytes_changed_at_random_give_pixels_or_a_clear_error(self, tmp_path):
        path, rng = tmp_path / "x.tif", np.random.default_rng(1)
        files = []
        for compression in (None, "group4", "tiff_lzw", "packbits"):
            stream = io.BytesIO()
            Image.fromarray(BITS).save(stream, "TIFF", compression=compression)
            files.append(stream.getvalue())
        for _ in range(300):
            data = bytearray(files[rng.integers(len(files))])
            for place in rng.integers(0, min(300, len(data)), 3):
                data[place] = rng.integers(256)
            path.write_bytes(data)
            with suppress(InputError), open_tiff(path) as source:
                source[:100, :100]

    @pytest.mark.parametrize("package", ["tifffile", "imagecodecs"])
    def test_without_a_package_the_extra_is_named(self, monkeypatch, tmp_path, package):
        monkeypatch.setitem(sys.modules, package, None)
        for use in (open_tiff, lambda path: TiffTarget(path, (3, 3), bool)):
            with pytest.raises(MissingExtraError, match=r"pip install 'credo\[tiff\]'"):
                use(tmp_path / "x.tif")
        assert not list(tmp_path.iterdir())


class TestWriting:
    @pytest.mark.parametrize("big", [False, True], ids=["classic", "big"])
    @pytest.mark.parametrize("tile", [16, 48, 256])
    @pytest.mark.parametrize(
        "image", [BITS, GREY, DEEP, FRACTIONS], ids=["bits", "grey", "deep", "fractions"]
    )
    def test_others_read_what_was_written(self, tmp_path, monkeypatch, image, tile, big):
        if big:
            monkeypatch.setattr(tiff, "_MOST_CLASSIC", 0)
        path = tmp_path / "x.tif"
        with TiffTarget(path, image.shape, image.dtype, tile=tile) as target:
            for row in range(0, 83, 30):
                for column in range(0, 101, 40):
                    window = np.s_[row : row + 30, column : column + 40]
                    target[window] = image[window]
        with tifffile.TiffFile(path) as file:
            assert file.is_bigtiff == big
            assert file.pages[0].is_tiled
            assert np.array_equal(file.asarray(), image)
        with Image.open(path) as picture:
            assert np.array_equal(np.asarray(picture), image)
        same(path, image)

    def test_the_file_appears_when_it_is_complete(self, tmp_path):
        path = tmp_path / "x.tif"
        with TiffTarget(path, (40, 60), np.uint8) as target:
            target[:, :30] = 1
            target[:20, 30:] = 2
            assert not path.exists()
            target[20:, 30:] = 3
            assert not path.exists()
        assert [p.name for p in tmp_path.iterdir()] == ["x.tif"]
        assert np.unique(tifffile.imread(path)).tolist() == [1, 2, 3]
        target.close()

    def test_missing_pixels_are_told_and_nothing_is_left(self, tmp_path):
        path = tmp_path / "x.tif"
        path.write_bytes(b"before")
        target = TiffTarget(path, (30, 40), np.uint8, tile=16)
        target[:, :39] = 0
        target[:16, 39:] = 0
        with pytest.raises(InputError, match=r"1 of 6 tiles lack pixels, .* at pixel \(16, 32\)"):
            target.close()
        assert path.read_bytes() == b"before"
        assert [p.name for p in tmp_path.iterdir()] == ["x.tif"]

    def test_an_error_leaves_nothing(self, tmp_path):
        def fail():
            with TiffTarget(tmp_path / "x.tif", (30, 40), np.uint8) as target:
                target[:10, :] = 0
                raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            fail()
        assert not list(tmp_path.iterdir())

    def test_a_pixel_is_written_once(self, tmp_path):
        def twice(second):
            with TiffTarget(tmp_path / "x.tif", (30, 40), np.uint8, tile=16) as target:
                target[:20, :20] = 0
                target[second] = 0

        for second in (np.s_[19:22, 19:25], np.s_[:3, :3]):
            with pytest.raises(InputError, match="a pixel is written twice"):
                twice(second)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        ("options", "kind", "message"),
        [
            ({"dtype": np.int32}, InputError, "writes bool, uint8, uint16, float32. Got int32"),
            ({"tile": 100}, InputError, "must be a multiple of 16. Got 100"),
            ({"tile": 0}, InputError, "The tile of TiffTarget"),
            ({"shape": (3,)}, ShapeError, "The shape of TiffTarget must be"),
            ({"shape": (0, 3)}, InputError, "The sides of TiffTarget"),
        ],
    )
    def test_what_cannot_be_written_is_refused(self, tmp_path, options, kind, message):
        usual = {"path": tmp_path / "x.tif", "shape": (3, 3), "dtype": np.uint8}
        with pytest.raises(kind, match=message):
            TiffTarget(**{**usual, **options})
        assert not list(tmp_path.iterdir())

    def test_a_folder_that_is_not_there(self, tmp_path):
        with pytest.raises(InputError, match="does not exist"):
            TiffTarget(tmp_path / "no" / "x.tif", (3, 3), np.uint8)

    def test_memory_is_for_tiles_that_are_not_complete(self, tmp_path):
        with TiffTarget(tmp_path / "x.tif", (4096, 4096), bool) as target:
            part = np.ones((512, 512), bool)
            tracemalloc.start()
            for row in range(0, 4096, 512):
                for column in range(0, 4096, 512):
                    target[row : row + 512, column : column + 512] = part
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert peak < 2_000_000
        assert repr(target).startswith("<TiffTarget: 4096x4096 pixels of bool, ")


def test_segments_that_are_too_large_are_those_that_must_be_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(tiff, "_MOST_IN_SEGMENT", 100)
    tifffile.imwrite(tmp_path / "plain.tif", GREY)
    same(tmp_path / "plain.tif", GREY)
    tifffile.imwrite(tmp_path / "packed.tif", GREY, compression="zlib")
    with pytest.raises(FileFormatError, match="Save the image in tiles, or in strips"):
        open_tiff(tmp_path / "packed.tif")
