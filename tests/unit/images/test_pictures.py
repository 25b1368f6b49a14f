"""What a restoration tells of its pictures: energies, errors, and how they are drawn."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

import credo
from credo.exceptions import ShapeError

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
    assert list(clean.table().columns) == ["picture", "energy"]


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
        assert lines[1:] == [f"U {energy:,.0f}", f"error {error:.3g}"]
    plain = [text.get_text() for text in clean.plot().get_xticklabels()]
    assert plain == ["noisy", "restored", "dark: unsure"]


def test_a_truth_of_another_shape_is_refused(clean):
    with pytest.raises(ShapeError, match="shape of the image"):
        clean.table(FACE[:10])
