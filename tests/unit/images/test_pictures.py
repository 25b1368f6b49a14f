"""What a restoration tells of its pictures: energies, errors, times, and how they are drawn."""

import re

import numpy as np
import pytest
from matplotlib import pyplot as plt

import credo
from credo.exceptions import InputError, ShapeError

FACE = credo.images.portrait(64)
NOISY = credo.add_noise(FACE, 0.12, seed=3)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def clean():
    return credo.denoise(NOISY, 0.12, 0.8)


def ising(image, flip, coupling):
    """Return U(x) with spins, summed pair by pair."""
    x, y = (np.where(each, 1.0, -1.0) for each in (image, NOISY))
    pairs = (x[1:] * x[:-1]).sum() + (x[:, 1:] * x[:, :-1]).sum()
    return coupling * pairs + 0.5 * np.log((1 - flip) / flip) * (x * y).sum()


def test_the_table_has_energies_and_shares_of_wrong_pixels(clean):
    table = clean.table(FACE, sweeps=(1, 3)).set_index("picture")
    assert list(table.index) == ["noisy", "after 1", "after 3", "restored", "true"]
    third = clean.snapshots([3])[0]
    images = {"noisy": NOISY, "after 3": third, "restored": clean.image, "true": FACE}
    for name, image in images.items():
        assert table["error"][name] == (image != FACE).mean()
        assert table["energy"][name] - table["energy"]["true"] == pytest.approx(
            ising(image, 0.12, 0.8) - ising(FACE, 0.12, 0.8), rel=1e-9
        )
    assert list(clean.table().columns) == ["picture", "energy", "seconds"]
    assert table["seconds"].isna().tolist() == [True, False, False, False, True]
    assert 0 <= table["seconds"]["after 1"] <= table["seconds"]["after 3"]


def test_grey_pictures_have_the_root_of_the_mean_square():
    steps = np.repeat(np.arange(8, dtype=np.uint8) * 30, 8)
    truth = np.tile(steps, (32, 1))
    rng = np.random.default_rng(0)
    noisy = np.clip(truth + rng.normal(0, 10, truth.shape), 0, 255).astype(np.uint8)
    found = credo.denoise(noisy)
    table = found.table(truth).set_index("picture")
    off = noisy.astype(float) - truth
    assert table["error"]["noisy"] == pytest.approx(np.sqrt((off**2).mean()))
    assert table["error"]["restored"] < table["error"]["noisy"]
    assert table["energy"]["restored"] == found.energy.restored
    assert table["energy"]["noisy"] == pytest.approx(found.energy.noisy)


def test_the_figure_shows_sweeps_and_truth_with_their_numbers(clean):
    axes = clean.plot(truth=FACE, sweeps=iter((1, 3)))  # may be read once
    names = [text.get_text().split("\n") for text in axes.get_xticklabels()]
    assert [lines[0] for lines in names][:5] == ["noisy", "after 1", "after 3", "restored", "true"]
    table = clean.table(FACE, sweeps=(1, 3))
    for lines, energy, error in zip(names, table["energy"], table["error"], strict=False):
        assert lines[1:3] == [f"U {energy:,.0f}", f"error {error:.3g}"]
        time = [] if lines[0] in {"noisy", "true"} else [True]
        assert [bool(re.fullmatch(r"[\d.e+]+ (µs|ms|s)", line)) for line in lines[3:]] == time
    plain = [text.get_text() for text in clean.plot().get_xticklabels()]
    assert plain == ["noisy", "restored", "dark: unsure"]


def panels_of(axes, width):
    """Cut what was drawn into its pictures."""
    pixels = np.asarray(axes.images[0].get_array())
    step = width + max(1, width // 32)
    return [pixels[:, left : left + width] for left in range(0, pixels.shape[1], step)]


def test_the_pictures_of_the_figure_are_the_images(clean):
    *shown, unsure = panels_of(clean.plot(truth=FACE, sweeps=(0, 3)), 64)
    images = [NOISY, *clean.snapshots([0, 3]), clean.image, FACE]
    for panel, image in zip(shown, images, strict=True):
        assert np.array_equal(panel, np.repeat(image[..., None], 3, axis=-1))
    sure = clean.posterior.confidence
    assert unsure[..., 0] == pytest.approx((sure - 0.5) / (sure.max() - 0.5), abs=1e-6)


def test_black_and_white_are_the_same_levels_in_all_pictures_of_a_grey_image():
    truth = np.full((16, 32), 100, np.uint8)
    truth[:, 16:] = 140
    noisy = credo.add_noise(truth, kind="gaussian", sigma=20, seed=0)
    found = credo.denoise(noisy, sigma=20, coupling=1.0, flip_probability=0.01, sweeps=4)
    shown = panels_of(found.plot(truth=truth), 32)
    low, high = float(noisy.min()), float(noisy.max())
    for panel, image in zip(shown, (noisy, found.image, truth), strict=False):
        assert panel[..., 1] == pytest.approx((image - low) / (high - low))


def test_pixels_that_were_not_observed_are_marked_in_the_noisy_image():
    gone = np.zeros(FACE.shape, bool)
    gone[20:30, 10:40] = True
    axes = credo.denoise(NOISY, 0.12, 0.8, mask=gone, sweeps=2).plot()
    blue = np.all(panels_of(axes, 64)[0] == [86 / 255, 180 / 255, 233 / 255], axis=-1)
    assert np.array_equal(blue, gone)
    assert axes.get_xticklabels()[0].get_text() == "noisy\nblue: not observed"


def test_a_truth_of_another_shape_is_refused(clean):
    with pytest.raises(ShapeError, match="shape of the image"):
        clean.table(FACE[:10])


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        (np.where(FACE, 255, 0), "values of the image, False and True. Got 255"),
        (FACE * np.nan, "nan"),
    ],
)
def test_a_truth_of_another_coding_is_refused(clean, truth, message):
    with pytest.raises(InputError, match=message):
        clean.table(truth)
