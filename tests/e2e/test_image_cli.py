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
from credo.cli import image_jobs, main as cli, progress
from credo.cli.image_comparison import errors
from credo.exceptions import InputError
from credo.images.files import open_image, save_image

SIDE = 80
FACE = library.images.portrait(SIDE)
NOISY = library.add_noise(FACE, 0.1, seed=1)
GIVEN = ("--flip", "0.1", "--coupling", "0.7")
BOMB = b"P4 65536 65536\n"


def energy(picture, flip=0.1, coupling=0.7):
    """U(x) by its definition, with spins of the picture and of what was observed."""
    x, y = (np.where(each, 1.0, -1.0) for each in (picture, NOISY))
    pairs = (x[1:] * x[:-1]).sum() + (x[:, 1:] * x[:, :-1]).sum()
    return coupling * pairs + 0.5 * np.log((1 - flip) / flip) * (x * y).sum()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    save_image(tmp_path / "face.png", FACE)
    save_image(tmp_path / "noisy.png", NOISY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def credo(folder, capsys, monkeypatch):  # noqa: ARG001
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["credo", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.run()
        captured = capsys.readouterr()
        return stop.value.code, captured.out, captured.err

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

    def test_a_person_who_watches_sees_a_bar(self, credo, monkeypatch):
        monkeypatch.setattr(progress, "_PATIENCE", 0.0)
        monkeypatch.setattr(image_jobs, "_MANY_PIXELS", 1)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        code, out, err = credo("denoise", "noisy.png", "clean.png", *GIVEN)
        assert code == 0
        assert f"{SIDE} × {SIDE}" in out
        assert "residual" in err


class TestComparison:
    GREY = np.arange(24, dtype=np.uint8).reshape(4, 6)

    def test_levels_are_compared_by_the_root_of_the_mean_square(self):
        found = errors(self.GREY, self.GREY + np.uint8(3), self.GREY, None)
        assert found == {"measure": "root mean square", "noisy": 3.0, "restored": 0.0}

    @pytest.mark.parametrize(("dtype", "white"), [("uint8", 255), ("uint16", 65535)])
    def test_black_and_white_is_darkest_and_lightest(self, dtype, white):
        truth = self.GREY > 11
        levels = np.where(truth, white - 6, 2).astype(dtype)
        noisy = np.where(self.GREY % 2, levels, levels + np.array(2, dtype))
        found = errors(truth, noisy, np.where(truth, white, 0).astype(dtype), None)
        gap = np.where(truth, float(white), 0.0) - noisy
        assert found["noisy"] == pytest.approx(np.sqrt((gap**2).mean()))
        assert found["restored"] == 0

    def test_two_values_are_compared_whatever_they_are(self):
        truth = self.GREY > 11
        coded = np.where(truth, 9, 4).astype(np.uint8)
        wrong = coded.copy()
        wrong[0, 0] = 9
        assert errors(truth, wrong, coded, None)["noisy"] == pytest.approx(1 / 24)
        assert errors(truth, wrong, coded, None)["restored"] == 0
        blank = np.zeros((4, 6), bool)
        assert errors(blank, wrong, np.full((4, 6), 4, np.uint8), None)["restored"] == 0

    def test_nothing_is_said_of_pixels_that_are_kept_if_none_is(self):
        truth = self.GREY > 11
        assert errors(truth, ~truth, ~truth, np.ones((4, 6), bool))["kept"] is None

    def test_colours_are_compared_with_grey(self):
        grey = np.repeat(self.GREY[..., None], 3, axis=2)
        assert errors(self.GREY, grey + np.uint8(1), grey, None)["noisy"] == 1.0

    def test_levels_of_different_types_are_not_compared(self):
        with pytest.raises(InputError, match="pixels of uint8, the noisy one of uint16"):
            errors(self.GREY, self.GREY.astype(np.uint16), self.GREY.astype(np.uint16), None)


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
            (["--flip", "often"], "--flip is a number between 0 and 1, or the word estimate"),
            (["--flip", "1.5"], "--flip is a number between 0 and 1.*Got '1.5'"),
            (["--flip", "nan"], "--flip is a number"),
            (["--coupling", "inf"], "--coupling is a number, or the word estimate. Got 'inf'"),
            (["--sweeps", "0"], "--sweeps must be at least 1. Got 0"),
            (["--threads", "0"], "--threads must be at least 1"),
            (["--momentum", "1.5"], "--momentum must be above 0 and at most 1. Got 1.5"),
            (["--momentum", "nan"], "--momentum must be"),
            (["--method", "sum"], "--method .* must be one of 'sum-product'"),
            (["--reject", "-1"], "--reject must be a cost of at least 0. Got -1"),
            (["--rejected", "left.png"], "Pass --reject with a cost"),
            (["--method", "graph-cut", "--reject", "0.1"], "--reject needs probabilities"),
            (["--method", "graph-cut", "--posterior", "p.png"], "--posterior needs"),
            (["--strip", "strip.doc"], "Cannot tell the format of strip.doc. End its name"),
            (["--strip", "strip.jpg"], "JPEG would blur it. End its name in .png"),
            (["--strip", "clean.png"], "--strip and CLEAN are both clean.png"),
            (["--strip", "face.png", "--compare", "face.png"], "face.png is also the picture to"),
            (["--posterior", "noisy.png"], "noisy.png is also the noisy image"),
            (["--strip", "no/strip.png"], "the folder .* does not exist"),
            (["--compare", "no.png"], "no.png: There is no such file"),
            (["--compare", "wide.png"], "wide.png has 9 × 3 pixels and noisy.png has 80 × 80"),
        ],
    )
    def test_an_option_gets_one_clear_line(self, credo, folder, arguments, message):
        save_image(folder / "wide.png", np.eye(9, dtype=bool)[:3])
        before = sorted(path.name for path in folder.iterdir())
        code, out, err = credo("denoise", "noisy.png", "clean.png", *arguments)
        assert (code, out) == (2, "")
        assert re.match(f"credo: .*{message}", err), err
        assert len(err.splitlines()) == 1
        assert sorted(path.name for path in folder.iterdir()) == before

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "The file is empty"),
            (b"hello", "This is no image"),
            (b"\x89PNG\r\n\x1a\n", "The image is damaged"),
            (BOMB, "The image claims .* pixels; at most 268435456"),
        ],
        ids=["empty", "text", "cut", "bomb"],
    )
    def test_what_is_no_image_gets_one_too(self, credo, folder, content, message):
        (folder / "odd.png").write_bytes(content)
        for command in ("denoise", "noise"):
            code, out, err = credo(command, "odd.png", "clean.png")
            assert (code, out) == (2, "")
            assert re.match(f"credo: odd.png: .*{message}", err), err
            assert len(err.splitlines()) == 1
        assert not (folder / "clean.png").exists()

    def test_what_a_decoder_logs_is_not_shown(self, folder):
        Image.new("RGB", (9, 9)).save(folder / "odd.tiff")
        content = (folder / "odd.tiff").read_bytes()
        samples = struct.pack("<HHII", 277, 3, 1, 3)  # the tag: three numbers per pixel
        assert content.count(samples) == 1
        odd = content.replace(samples, struct.pack("<HHII", 277, 3, 1, 47107))
        (folder / "odd.tiff").write_bytes(odd)
        command = [sys.executable, "-m", "credo", "noise", "odd.tiff", "out.png"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        assert done.returncode == 2
        assert re.fullmatch("credo: odd.tiff: The image is damaged: .*\n", done.stderr)

    def test_two_values_are_not_written_as_jpeg(self, credo, folder):
        code, _, err = credo("denoise", "noisy.png", "clean.jpg", *GIVEN)
        assert code == 2
        assert "JPEG blurs a picture of two values. Name it clean.png" in err
        assert not (folder / "clean.jpg").exists()

    def test_a_picture_is_not_overwritten_by_its_restoration(self, credo, folder):
        before = (folder / "noisy.png").read_bytes()
        for name in ("noisy.png", "./noisy.png"):
            code, _, err = credo("denoise", "noisy.png", name)
            assert (code, "is also the noisy image" in err) == (2, True)
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
        assert re.match("credo: skipped: in/notes.txt: This is no image", second)
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

    def test_a_person_who_watches_sees_a_bar(self, credo, monkeypatch):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        code, out, err = credo("denoise", "in", "out", *GIVEN)
        assert code == 0
        assert len(out.splitlines()) == 4
        assert "3/3" in err

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["in", "in"], "CLEAN and NOISY are both in"),
            (["in", "face.png"], "NOISY is a folder, so CLEAN must be one too"),
            (["in", "out", "--strip", "face.png"], "so --strip must be one too. face.png is a"),
            (["in", "out", "--strip", "out"], "--strip and CLEAN are both out"),
            (["in", "out", "--compare", "face.png"], "--compare must be one with the same names"),
            (["empty", "out"], "There are no files in empty"),
            (["in", "out", "--sweeps", "0"], "--sweeps must be at least 1"),
        ],
    )
    def test_bad_input_gets_one_clear_line(self, credo, folder, arguments, message):
        (folder / "empty").mkdir()
        code, out, err = credo("denoise", *arguments)
        assert (code, out) == (2, "")
        assert re.match(f"credo: .*{message}", err), err
        assert len(err.splitlines()) == 1
        assert not (folder / "out").exists()


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
            (["--kind", "bursts"], "--kind .* must be one of 'independent'.*Did you mean 'burst'"),
            (["--flip", "2"], "must be between 0 and 1. Got 2"),
            (["--kind", "burst", "--flip", "0.7"], "must be at most 0.5"),
            (["--sigma", "3"], "--sigma is for --kind gaussian"),
            (["--kind", "gaussian", "--flip", "0.1"], "--flip is for --kind independent, burst"),
            (["--length", "3"], "--length is for --kind burst"),
            (["--kind", "gaussian", "--sigma", "-3"], "sigma .* must be at least 0"),
            (["--seed", "-3"], "must be a seed"),
        ],
    )
    def test_a_bad_option_gets_one_clear_line(self, credo, folder, arguments, message):
        code, out, err = credo("noise", "face.png", "out.png", *arguments)
        assert (code, out) == (2, "")
        assert re.match(f"credo: .*{message}", err), err
        assert len(err.splitlines()) == 1
        assert not (folder / "out.png").exists()

    @pytest.mark.parametrize(
        ("names", "message"),
        [
            (["face.png", "face.png"], "face.png is also the image to read"),
            (["no.png", "out.png"], "no.png: There is no such file"),
            (["face.png", "out.txt"], "Cannot tell the format of out.txt"),
            (["face.png", "no/out.png"], "the folder .* does not exist"),
        ],
    )
    def test_so_do_bad_names(self, credo, names, message):
        code, out, err = credo("noise", *names)
        assert (code, out) == (2, "")
        assert re.match(f"credo: .*{message}", err), err


class TestProcess:
    def test_restoring_loads_little_beside_the_compiler(self, folder):
        heavy = {
            *("sklearn", "pandas", "polars", "pyarrow", "narwhals", "matplotlib", "rich"),
            *("scipy.optimize", "scipy.sparse", "scipy.stats", "scipy.ndimage"),
            *("credo.classifiers", "credo.formats", "credo.plots", "credo.tables"),
        }
        code = (
            "import sys; sys.argv = ['credo', 'denoise', 'noisy.png', 'clean.png']\n"
            "from credo.cli.main import exit_code\n"
            "assert exit_code() == 0\n"
            "print(*sys.modules, file=sys.stderr)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder
        )
        assert done.returncode == 0, done.stderr
        loaded = set(done.stderr.split())
        assert "numba" in loaded
        assert not heavy & loaded

    def test_noise_needs_no_compiler(self, folder):
        code = (
            "import sys; sys.argv = ['credo', 'noise', 'face.png', 'out.png']\n"
            "from credo.cli.main import exit_code\n"
            "assert exit_code() == 0\n"
            "assert 'numba' not in sys.modules and 'scipy' not in sys.modules"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder
        )
        assert done.returncode == 0, done.stderr
