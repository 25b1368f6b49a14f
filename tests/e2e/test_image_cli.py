"""Pictures on the command line, as a user runs it."""

import json
import re
import struct
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import credo as library
from credo.cli import _console
from credo.images.files import open_image, save_image

SIDE = 80
FACE = library.images.portrait(SIDE)
NOISY = library.add_noise(FACE, 0.1, seed=1)
GIVEN = ("--flip", "0.1", "--coupling", "0.7")
MASKED = ("--mask", "mask.png")
BOMB = b"P4 65536 65536\n"


def energy(picture, flip=0.1, coupling=0.7):
    """U(x) by its definition, with spins of the picture and of what was observed."""
    x, y = (np.where(each, 1.0, -1.0) for each in (picture, NOISY))
    pairs = (x[1:] * x[:-1]).sum() + (x[:, 1:] * x[:, :-1]).sum()
    return coupling * pairs + 0.5 * np.log((1 - flip) / flip) * (x * y).sum()


@pytest.fixture
def folder(folder):
    save_image(folder / "face.png", FACE)
    save_image(folder / "noisy.png", NOISY)
    return folder


@pytest.fixture
def watch(credo, monkeypatch):
    """Run a command while somebody without patience looks at the terminal."""

    def run(*arguments):
        monkeypatch.setattr(_console, "_PATIENCE", 0.0)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "120")
        return credo(*arguments)

    return run


def denoise(credo, *arguments):
    """Restore with given parameters; give the record."""
    code, out, err = credo("denoise", "noisy.png", "clean.png", *GIVEN, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


class TestDenoise:
    def test_a_picture_is_restored_and_a_short_table_printed(self, credo):
        arguments = ("--compare", "face.png", "--reject", "0.1")
        code, out, err = credo("denoise", "noisy.png", "clean.png", *arguments)
        assert (code, err) == (0, "")
        assert [line[:16].strip() for line in out.splitlines()] == [
            *("size", "flip probability", "coupling", "status", "learning", "U(x)", "rejected"),
            *("wrong", "", "seconds"),
        ]
        assert f"{SIDE} × {SIDE}" in out
        assert out.count("(estimated)") == 2
        assert re.search(r"\nstatus +MAX_SWEEPS after 20 sweeps\nlearning +CONVERGED\n", out)
        restored, info = open_image("clean.png")
        assert info.mode == "1"
        assert (restored != FACE).mean() < 0.7 * (NOISY != FACE).mean()
        assert np.array_equal(restored, library.denoise(NOISY).image)

    def test_the_record_agrees_with_the_definitions(self, credo):
        record = denoise(credo, "--compare", "face.png")
        restored, _ = open_image("clean.png")
        assert record["energy"]["noisy"] == pytest.approx(energy(NOISY), rel=1e-6)
        assert record["energy"]["restored"] == pytest.approx(energy(restored), rel=1e-6)
        assert record["error"] == {
            "measure": "share of pixels",
            "noisy": pytest.approx((NOISY != FACE).mean()),
            "restored": pytest.approx((restored != FACE).mean()),
        }
        assert (record["width"], record["height"], record["sweeps"]) == (SIDE, SIDE, 20)
        assert (record["flip_probability"], record["coupling"]) == (0.1, 0.7)
        assert record["flip_probability_is"] == record["coupling_is"] == "given"
        assert record["rejected"] is None
        assert record["seconds"] > 0

    def test_one_parameter_may_be_given_and_the_other_learnt(self, credo):
        code, out, _ = credo("denoise", "noisy.png", "clean.png", "--flip", "0.1", "--json")
        record = json.loads(out)
        assert code == 0
        assert record["flip_probability_is"] == "given"
        assert record["coupling_is"] == "estimated"
        assert record["coupling"] == pytest.approx(library.denoise(NOISY, 0.1).coupling)

    def test_pixels_are_left_open_where_guessing_costs_more(self, credo):
        files = ("--rejected", "left.png", "--posterior", "p.png")
        record = denoise(credo, "--reject", "0.15", "--compare", "face.png", *files)
        p = library.denoise(NOISY, 0.1, 0.7).posterior.of(True)  # noqa: FBT003 - a label
        left, _ = open_image("left.png")
        assert np.array_equal(left, np.minimum(p, 1 - p) > 0.15)
        assert record["rejected"] == pytest.approx(left.mean())
        restored, _ = open_image("clean.png")
        assert record["error"]["kept"] == pytest.approx((restored != FACE)[~left].mean())
        levels, info = open_image("p.png")
        assert info.mode == "L"
        assert np.array_equal(levels, np.rint(255 * p.astype(float)))

    def test_sweeps_momentum_and_method_matter(self, credo):
        found = [
            tuple(denoise(credo, *arguments)["energy"].values())
            for arguments in ((), ("--sweeps", "1"), ("--momentum", "1", "--sweeps", "2"))
        ]
        assert len(set(found)) == 3
        exact = denoise(credo, "--method", "graph-cut")
        assert (exact["sweeps"], exact["status"], exact["learning_status"]) == (
            None,
            "EXACT",
            "GIVEN",
        )
        rest = denoise(credo, "--tolerance", "1e-3", "--sweeps", "300")
        assert (rest["status"], rest["sweeps"] < 300) == ("CONVERGED", True)
        assert exact["energy"]["restored"] >= max(u for _, u in found)
        best = denoise(credo, "--method", "max-product")["energy"]["restored"]
        assert best <= exact["energy"]["restored"]

    def test_any_number_of_threads_gives_the_same_file(self, credo, folder):
        denoise(credo)
        first = (folder / "clean.png").read_bytes()
        denoise(credo, "--threads", "3")
        assert (folder / "clean.png").read_bytes() == first

    @pytest.mark.parametrize("name", ["clean.pgm", "clean.tiff", "clean.bmp", "clean.gif"])
    def test_the_ending_chooses_the_format(self, credo, name):
        assert credo("denoise", "noisy.png", name, *GIVEN)[0] == 0
        restored, _ = open_image(name)
        assert np.array_equal(restored > 0, library.denoise(NOISY, 0.1, 0.7).image)

    @pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "LA", "P"])
    def test_pixels_are_kept_as_they_were_stored(self, credo, folder, mode):
        image = Image.fromarray(np.where(NOISY, 255, 0).astype(np.uint8)).convert(mode)
        image.save(folder / "noisy.png")
        denoise(credo)
        with Image.open(folder / "clean.png") as restored:
            assert restored.mode == mode
            light = np.asarray(restored.convert("L")) > 127
        assert np.array_equal(light, library.denoise(NOISY, 0.1, 0.7).image)

    def test_a_palette_of_two_colours_is_kept(self, credo, folder):
        image = Image.fromarray(NOISY.astype(np.uint8))
        image.putpalette([20, 30, 90, 250, 240, 220])
        image.save(folder / "noisy.png")
        assert denoise(credo, "--compare", "face.png")["error"]["restored"] < 0.07
        with Image.open(folder / "clean.png") as restored:
            assert restored.mode == "P"
            colours = {colour for _, colour in restored.convert("RGB").getcolors()}
        assert colours == {(20, 30, 90), (250, 240, 220)}

    def test_a_person_who_watches_sees_a_bar(self, watch):
        code, out, err = watch("denoise", "noisy.png", "clean.png", *GIVEN, "--tolerance", "1e-9")
        assert (code, f"{SIDE} × {SIDE}" in out) == (0, True)
        assert "restoring noisy.png" in err
        assert "sweep 20, residual" in err


GREY = np.arange(24, dtype=np.uint8).reshape(4, 6)
LIGHT = GREY > 11


class TestComparison:
    @pytest.fixture
    def error(self, credo):
        """Compare a noisy picture with the true one."""

        def run(truth, noisy, *arguments):
            save_image("truth.png", truth)
            save_image("noisy.png", noisy)
            return denoise(credo, "--sweeps", "1", "--compare", "truth.png", *arguments)["error"]

        return run

    def test_levels_are_compared_by_the_root_of_the_mean_square(self, error):
        found = error(GREY, GREY + np.uint8(3))
        restored = open_image("clean.png")[0].astype(float)
        assert (found["measure"], found["noisy"]) == ("root mean square", 3.0)
        assert found["restored"] == pytest.approx(np.sqrt(((restored - GREY) ** 2).mean()))
        colours = np.stack([GREY + np.uint8(1)] * 2 + [GREY + np.uint8(3)], axis=2)
        assert error(GREY, colours)["noisy"] == pytest.approx(np.sqrt(11 / 3))

    @pytest.mark.parametrize(("dtype", "white"), [("uint8", 255), ("uint16", 65535)])
    def test_black_and_white_is_darkest_and_lightest(self, error, dtype, white):
        levels = np.where(LIGHT, white - 6, 2).astype(dtype)
        noisy = np.where(GREY % 2, levels, levels + np.array(2, dtype))
        gap = np.where(LIGHT, float(white), 0.0) - noisy
        assert error(LIGHT, noisy)["noisy"] == pytest.approx(np.sqrt((gap**2).mean()))

    def test_two_values_are_compared_whatever_they_are(self, error):
        wrong = np.where(LIGHT, 9, 4).astype(np.uint8)
        wrong[0, 0] = 9
        found = error(LIGHT, wrong)
        assert (found["measure"], found["noisy"]) == ("share of pixels", pytest.approx(1 / 24))
        assert error(np.zeros((4, 6), bool), wrong)["noisy"] == pytest.approx((wrong == 9).mean())

    def test_nothing_is_said_of_pixels_that_are_kept_if_none_is(self, error):
        assert error(LIGHT, ~LIGHT, "--reject", "0")["kept"] is None

    def test_levels_of_different_types_are_not_compared(self, error, refused):
        error(LIGHT, GREY.astype(np.uint16) * 2000)
        save_image("truth.png", GREY)
        arguments = ("denoise", "noisy.png", "clean.png", *GIVEN, "--compare", "truth.png")
        refused("pixels of uint8, the noisy one of uint16", *arguments)


class TestStrip:
    def panels(self, path, times=2):
        """Cut a strip into its pictures; a picture of 80 pixels is drawn twice as large."""
        with Image.open(path) as image:
            strip, side = np.asarray(image.convert("L")), SIDE * times
        count = (strip.shape[1] - 4) // (side + 4)
        assert strip.shape == (side + 22, count * (side + 4) + 4)
        starts = [4 + i * (side + 4) for i in range(count)]
        assert all((strip[:17, i : i + side] < 128).any() for i in starts)  # captions
        return [strip[18 : 18 + side : times, i : i + side : times] for i in starts]

    def test_it_shows_noisy_sweeps_and_uncertainty(self, credo):
        denoise(credo, "--strip", "strip.png")
        noisy, *sweeps, unsure = self.panels("strip.png")
        assert len(sweeps) == 5
        found = library.denoise(NOISY, 0.1, 0.7)
        assert np.array_equal(noisy > 127, NOISY)
        for number, picture in zip((1, 2, 5, 10, 20), sweeps, strict=True):
            expected = library.denoise(NOISY, 0.1, 0.7, sweeps=number).image
            assert np.array_equal(picture > 127, expected)
        sure = 2 * found.posterior.confidence - 1
        assert np.abs(unsure - 255 * sure).max() <= 0.51

    @pytest.mark.parametrize(("sweeps", "count"), [(1, 3), (4, 5), (5, 5), (40, 8)])
    def test_it_shows_no_more_sweeps_than_are_made(self, credo, sweeps, count):
        denoise(credo, "--strip", "strip.png", "--sweeps", sweeps)
        panels = self.panels("strip.png")
        assert len(panels) == count
        assert np.array_equal(panels[-2] > 127, open_image("clean.png")[0])

    def test_a_graph_cut_has_no_sweeps_to_show(self, credo):
        denoise(credo, "--strip", "strip.png", "--method", "graph-cut")
        noisy, restored = self.panels("strip.png")
        assert np.array_equal(noisy > 127, NOISY)
        assert np.array_equal(restored > 127, open_image("clean.png")[0])

    @pytest.mark.parametrize(
        ("shape", "size"), [((3, 2), (144, 96)), ((300, 1), (300, 1)), ((2, 300), (2, 300))]
    )
    def test_captions_fit_above_any_picture(self, credo, folder, shape, size):
        save_image(folder / "noisy.png", np.arange(np.prod(shape)).reshape(shape) % 2 == 0)
        denoise(credo, "--strip", "strip.png", "--sweeps", "1")
        height, width = size
        expected = (height + 22, 3 * (max(width, 96) + 4) + 4)
        assert open_image("strip.png")[0].shape[:2] == expected

    def test_large_pictures_are_reduced(self, credo, folder):
        save_image(folder / "noisy.png", library.images.portrait(1500))
        denoise(credo, "--strip", "strip.png", "--sweeps", "1")
        assert open_image("strip.png")[0].shape[:2] == (500 + 22, 3 * 504 + 4)


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("--flip often", "--flip of denoise must be .*'estimate'.*Got 'often'"),
            ("--flip 1.5", "--flip of denoise must be between 0 and 1. Got 1.5"),
            ("--flip nan", "--flip of denoise must be"),
            ("--coupling inf", "--coupling of .* must be finite. Got inf"),
            ("--sweeps 0", "'--sweeps': .* 1"),
            ("--threads 0", "'--threads': .* 1"),
            ("--momentum 1.5", "--momentum of denoise .* at most 1. Got 1.5"),
            ("--momentum nan", "--momentum of denoise must be"),
            ("--tolerance nan", "'--tolerance': .* 0"),
            ("--method sum", "'--method': .*'sum-product', 'max-product', 'graph-cut'"),
            ("--reject -1", "'--reject': .* 0"),
            ("--rejected left.png", "Pass --reject with a cost"),
            ("--method graph-cut --reject 0.1", "cannot weigh a loss. Use --method sum-product"),
            ("--method graph-cut --posterior p.png", "--posterior needs probabilities"),
            ("--strip strip.doc", "Cannot tell the format of strip.doc. End its name"),
            ("--strip strip.jpg", "JPEG would blur it. End its name in .png"),
            ("--strip clean.png", "--strip and CLEAN are both clean.png"),
            ("--strip face.png --compare face.png", "face.png is also the picture to"),
            ("--posterior noisy.png", "noisy.png is also the noisy image"),
            ("--strip no/strip.png", "the folder .* does not exist"),
            ("--compare no.png", "no.png: There is no such file"),
            ("--mask no.png", "no.png: There is no such file"),
            ("--mask wide.png", r"--mask of denoise must have the shape \(80, 80\)"),
            ("--mask white.png", "at least one pixel that was observed. Got none of 6400"),
            ("--mask face.png --strip face.png", "face.png is also the mask"),
            ("--compare wide.png", "wide.png has 9 × 3 pixels and noisy.png has 80 × 80"),
        ],
    )
    def test_an_option_gets_one_clear_line(self, refused, folder, arguments, message):
        save_image(folder / "wide.png", np.eye(9, dtype=bool)[:3])
        save_image(folder / "white.png", np.ones((SIDE, SIDE), dtype=bool))
        before = sorted(path.name for path in folder.iterdir())
        refused(message, "denoise", "noisy.png", "clean.png", *arguments.split())
        assert sorted(path.name for path in folder.iterdir()) == before

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "This is not an image"),
            (b"hello", "This is not an image"),
            (b"\x89PNG\r\n\x1a\n", "its header is damaged"),
            (BOMB, "The image claims .* pixels; at most 268435456"),
        ],
        ids=["empty", "text", "cut", "bomb"],
    )
    def test_what_is_no_image_gets_one_too(self, refused, folder, content, message):
        (folder / "odd.png").write_bytes(content)
        for command in ("denoise", "noise"):
            refused(f"credo: odd.png: .*{message}", command, "odd.png", "clean.png")
        assert not (folder / "clean.png").exists()

    def test_what_a_decoder_logs_is_not_shown(self, folder, process):
        Image.new("RGB", (9, 9)).save(folder / "odd.tiff")
        content = (folder / "odd.tiff").read_bytes()
        samples = struct.pack("<HHII", 277, 3, 1, 3)  # the tag: three numbers per pixel
        assert content.count(samples) == 1
        odd = content.replace(samples, struct.pack("<HHII", 277, 3, 1, 47107))
        (folder / "odd.tiff").write_bytes(odd)
        done = process("noise", "odd.tiff", "out.png", text=True)
        assert done.returncode == 2
        assert re.fullmatch(
            "credo: odd.tiff: This is not an image, or its header is damaged: .*\n", done.stderr
        )

    def test_a_picture_is_not_blurred_nor_overwritten(self, refused, folder):
        before = (folder / "noisy.png").read_bytes()
        message = "JPEG blurs a picture of two values. Name it clean.png"
        refused(message, "denoise", "noisy.png", "clean.jpg", *GIVEN)
        for name in ("noisy.png", "./noisy.png"):
            refused("is also the noisy image", "denoise", "noisy.png", name)
        assert not (folder / "clean.jpg").exists()
        assert (folder / "noisy.png").read_bytes() == before


class TestFolders:
    @pytest.fixture(autouse=True)
    def pictures(self, folder):
        (folder / "in" / "below").mkdir(parents=True)
        for seed in range(3):
            save_image(folder / "in" / f"n{seed}.png", library.add_noise(FACE, 0.1, seed=seed))
        (folder / "in" / ".hidden").write_text("not looked at")

    def test_all_pictures_are_restored_under_their_names(self, credo, folder):
        code, out, err = credo("denoise", "in", "out/deep", *GIVEN)
        assert (code, err) == (0, "")
        names = ["n0.png", "n1.png", "n2.png"]
        assert [line.split()[0] for line in out.splitlines()] == ["file", *names]
        assert sorted(path.name for path in (folder / "out" / "deep").iterdir()) == names
        for seed, name in enumerate(names):
            expected = library.denoise(library.add_noise(FACE, 0.1, seed=seed), 0.1, 0.7).image
            assert np.array_equal(open_image(folder / "out" / "deep" / name)[0], expected)

    def test_files_that_are_no_images_are_named_and_skipped(self, credo, folder):
        (folder / "in" / "notes.txt").write_text("hello")
        (folder / "in" / "cut.png").write_bytes((folder / "in" / "n0.png").read_bytes()[:60])
        code, out, err = credo("denoise", "in", "out", *GIVEN)
        assert code == 2
        assert len(out.splitlines()) == 4
        first, second = err.splitlines()
        assert re.match("credo: skipped: in/cut.png: The image is damaged", first)
        assert re.match("credo: skipped: in/notes.txt: This is not an image", second)
        assert len(list((folder / "out").iterdir())) == 3

    def test_json_is_an_array_with_failures_in_it(self, credo, folder):
        (folder / "in" / "notes.txt").write_text("hello")
        (folder / "truth").mkdir()
        for seed in range(3):
            save_image(folder / "truth" / f"n{seed}.png", FACE)
        arguments = ("--json", "--compare", "truth", "--reject", "0.1")
        code, out, _ = credo("denoise", "in", "out", *GIVEN, *arguments)
        records = json.loads(out)
        assert code == 2
        assert [record["noisy"] for record in records] == [
            *("in/n0.png", "in/n1.png", "in/n2.png", "in/notes.txt")
        ]
        assert all(record["error"]["restored"] < record["error"]["noisy"] for record in records[:3])
        assert set(records[3]) == {"noisy", "failure"}
        rows = credo("denoise", "in", "out", *GIVEN, *arguments[1:])[1].splitlines()
        assert rows[0].split() == [
            *("file", "size", "flip", "coupling", "U(x)", "noisy", "restored", "rejected"),
            *("error", "noisy", "restored", "seconds"),
        ]
        assert rows[1].count("%") == 3

    def test_extra_pictures_go_to_folders_too(self, credo, folder):
        save_image(folder / "in" / "n0.bmp", NOISY)
        extras = ("--strip", "strips", "--reject", "0.1", "--rejected", "left", "--posterior", "p")
        code, _, err = credo("denoise", "in", "out", *GIVEN, *extras)
        assert (code, err) == (0, "")
        names = ["n0.bmp.png", "n0.png", "n1.png", "n2.png"]
        for extra in ("strips", "left", "p"):
            assert sorted(path.name for path in (folder / extra).iterdir()) == names

    def test_a_person_who_watches_sees_a_bar(self, watch):
        code, out, err = watch("denoise", "in", "out", *GIVEN)
        assert (code, len(out.splitlines())) == (0, 4)
        assert "restoring n2.png" in err
        assert "2 of 3" in err

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("in in", "CLEAN and NOISY are both in"),
            ("in face.png", "NOISY is a folder, so CLEAN must be one too"),
            ("in out --strip face.png", "so --strip must be one too. face.png is a"),
            ("in out --strip out", "--strip and CLEAN are both out"),
            ("in out --compare face.png", "--compare must be one with the same names"),
            ("empty out", "There are no files in empty"),
        ],
    )
    def test_bad_input_gets_one_clear_line(self, refused, folder, arguments, message):
        (folder / "empty").mkdir()
        refused(message, "denoise", *arguments.split())
        assert not (folder / "out").exists()


class TestMask:
    @pytest.fixture
    def gaps(self, folder):
        lost = np.random.default_rng(0).random(FACE.shape) < 0.2
        save_image(folder / "mask.png", np.where(lost, 255, 0).astype(np.uint8))
        return lost

    def test_pixels_under_the_white_of_a_mask_are_filled_in(self, credo, folder, gaps):
        save_image(folder / "holes.png", NOISY & ~gaps)
        code, _, err = credo("denoise", "holes.png", "clean.png", "--mask", "mask.png")
        assert (code, err) == (0, "")
        found = open_image("clean.png")[0]
        assert np.array_equal(found, library.denoise(NOISY, mask=gaps).image)
        assert (found != FACE)[gaps].mean() < 0.15 < FACE[gaps].mean()

    def test_grey_levels_and_nan(self, credo, folder, gaps):
        grey = np.where(FACE, 180.0, 60.0) + np.random.default_rng(0).normal(0, 9, FACE.shape)
        truth = np.where(FACE, 180.0, 60.0).astype(np.float32)
        lost = np.where(gaps, np.nan, grey).astype(np.float32)
        save_image(folder / "lost.tif", lost)
        save_image(folder / "black.tif", np.nan_to_num(lost))
        Image.fromarray(truth).save(folder / "truth.tif")
        far = ((np.nan_to_num(lost) - truth) ** 2).mean() ** 0.5
        for name, more in {"lost.tif": ("--strip", "s.png"), "black.tif": MASKED}.items():
            arguments = ("denoise", name, f"of_{name}", "--compare", "truth.tif", "--json", *more)
            code, out, _ = credo(*arguments)
            assert code == 0
            assert json.loads(out)["error"]["restored"] < 0.3 * far
        first, second = (open_image(f"of_{name}")[0] for name in ("lost.tif", "black.tif"))
        assert np.array_equal(first, second)

    def test_a_folder_takes_one_mask_or_a_folder_of_them(self, credo, folder, gaps):
        for name in ("in", "masks"):
            (folder / name).mkdir()
        for seed in range(2):
            save_image(folder / "in" / f"n{seed}.png", library.add_noise(FACE, 0.1, seed=seed))
            save_image(folder / "masks" / f"n{seed}.png", gaps)
        assert credo("denoise", "in", "one", *GIVEN, *MASKED)[0] == 0
        assert credo("denoise", "in", "many", *GIVEN, "--mask", "masks")[0] == 0
        for seed in range(2):
            noisy = library.add_noise(FACE, 0.1, seed=seed)
            expected = library.denoise(noisy, 0.1, 0.7, mask=gaps).image
            for made in ("one", "many"):
                assert np.array_equal(open_image(folder / made / f"n{seed}.png")[0], expected)


class TestNoise:
    @pytest.mark.parametrize("kind", ["independent", "burst", "varying", "salt-and-pepper"])
    def test_flips_are_those_of_the_library(self, credo, kind):
        code, out, err = credo(
            *("noise", "face.png", "out.png", "--kind", kind, "--flip", "0.2", "--seed", "7")
        )
        assert (code, out) == (0, "")
        expected = library.add_noise(FACE, 0.2, kind=kind.replace("-", "_"), seed=7)
        noisy, info = open_image("out.png")
        assert info.mode == "1"
        assert np.array_equal(noisy, expected)
        share = (expected != FACE).mean()
        assert err == f"out.png: {SIDE} × {SIDE} pixels, {share:.2%} of them changed.\n"

    def test_defaults_are_a_tenth_and_seed_zero(self, credo):
        assert credo("noise", "face.png", "out.png")[0] == 0
        assert np.array_equal(open_image("out.png")[0], library.add_noise(FACE, 0.1, seed=0))

    def test_bursts_have_a_length(self, credo):
        arguments = ("--kind", "burst", "--length", "20")
        assert credo("noise", "face.png", "out.png", *arguments)[0] == 0
        expected = library.add_noise(FACE, 0.1, kind="burst", length=20, seed=0)
        assert np.array_equal(open_image("out.png")[0], expected)

    def test_gaussian_noise_gives_black_and_white_the_levels_between(self, credo, folder):
        arguments = ("--kind", "gaussian", "--sigma", "15")
        assert credo("noise", "face.png", "out.png", *arguments)[0] == 0
        noisy, info = open_image("out.png")
        levels = np.where(FACE, 255, 0).astype(np.uint8)
        assert info.mode == "L"
        expected = library.add_noise(levels, kind="gaussian", sigma=15, seed=0)
        assert np.array_equal(noisy, expected)
        save_image(folder / "grey.png", levels)
        assert credo("noise", "grey.png", "again.png", *arguments)[0] == 0
        assert np.array_equal(open_image("again.png")[0], expected)

    def test_gaussian_noise_gives_two_colours_those_between(self, credo, folder):
        colours = np.array([[20, 30, 90], [250, 240, 220]], np.uint8)
        save_image(folder / "ink.png", colours[FACE.astype(int)])
        assert credo("noise", "ink.png", "out.png", "--kind", "gaussian", "--sigma", "9")[0] == 0
        noisy, _ = open_image("out.png")
        gap = noisy.astype(float) - colours[FACE.astype(int)]
        assert noisy.shape == (SIDE, SIDE, 3)
        assert gap[:, :, 0][~FACE].std() == pytest.approx(9, rel=0.1)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("face.png out.png --kind bursts", "'--kind': .*'independent', 'burst'"),
            ("face.png out.png --flip 2", "--flip .*must be between 0 and 1. Got 2"),
            ("face.png out.png --kind burst --flip 0.7", "must be at most 0.5"),
            ("face.png out.png --sigma 3", "--sigma is for --kind gaussian"),
            ("face.png out.png --kind gaussian --flip 0.1", "--flip is for --kind independent, b"),
            ("face.png out.png --length 3", "--length is for --kind burst"),
            ("face.png out.png --kind gaussian --sigma -3", "--sigma .* must be at least 0"),
            ("face.png out.png --seed -3", "'--seed': .* 0"),
            ("face.png face.png", "face.png is also the image to read"),
            ("no.png out.png", "no.png: There is no such file"),
            ("face.png out.txt", "Cannot tell the format of out.txt"),
            ("face.png no/out.png", "the folder .* does not exist"),
        ],
    )
    def test_a_bad_option_or_name_gets_one_clear_line(self, refused, folder, arguments, message):
        refused(message, "noise", *arguments.split())
        assert not (folder / "out.png").exists()


class TestProcess:
    @pytest.mark.parametrize(
        ("arguments", "heavy"),
        [
            ("noise face.png out.png", {"numba", "sklearn", "pyarrow", "rich"}),
            (
                "denoise noisy.png clean.png",
                {"sklearn", "pandas", "pyarrow", "matplotlib", "rich", "scipy.stats"},
            ),
        ],
    )
    def test_pictures_load_little(self, folder, arguments, heavy):
        code = "import atexit, sys; from credo.cli.main import run\n"
        code += "atexit.register(lambda: print(*sys.modules, file=sys.stdout))\nrun()"
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments.split()],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
        )
        assert done.returncode == 0, done.stderr
        assert not heavy & set(done.stdout.split())
