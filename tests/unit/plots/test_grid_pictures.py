"""Beliefs on grids as pictures, and moving pictures of sweeps."""

import numpy as np
import pytest
from matplotlib import colors, pyplot as plt
from PIL import Image

import credo
from credo.exceptions import InputError, ShapeError
from credo.graphs import GridField, Potts
from credo.plots.figures import COLOURS

NAMES = np.array(["sky", "sea", "land"])
#: Colours go to classes by their names in order.
INKS = np.array([colors.to_rgb(COLOURS[sorted(NAMES).index(name)]) for name in NAMES])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def scene():
    """Return the labels of a small scene, and the beliefs about it."""
    places = np.repeat([0, 1], 6)[:, None] + np.zeros((12, 15), int)
    places[8:, 8:] = 2
    noise = np.random.default_rng(0).normal(size=(12, 15, 3))
    field = GridField(np.eye(3)[places] + noise, Potts(0.8), labels=NAMES.tolist())
    return NAMES[places], credo.infer_grid(field, sweeps=6)


def panels_of(axes, width):
    """Cut what was drawn into its pictures; the gap between them is one pixel."""
    pixels = np.asarray(axes.images[0].get_array())
    return [pixels[:, i : i + width] for i in range(0, pixels.shape[1], width + 1)]


def places(labels):
    """Return the number of each label."""
    return np.searchsorted(np.sort(NAMES), labels)[..., None] == np.argsort(np.argsort(NAMES))


def test_beliefs_are_drawn_in_the_colours_of_their_classes():
    truth, found = scene()
    axes = found.plot(truth=truth, sweeps=(0, 2))
    first, third, best, true, *beliefs, unsure = panels_of(axes, 15)
    p = found.posterior.probabilities
    early = credo.infer_grid(found.field, sweeps=2)
    assert np.array_equal(first, INKS[found.field.log_potentials.argmax(axis=-1)])
    assert np.array_equal(third, places(early.best) @ INKS)
    assert np.array_equal(best, INKS[p.argmax(axis=-1)])
    assert np.array_equal(true, places(truth) @ INKS)
    for k, belief in enumerate(beliefs):
        assert belief == pytest.approx(p[..., [k]] * INKS[k] + (1 - p[..., [k]]))
    top = p.max()
    assert unsure[..., 0] == pytest.approx((p.max(axis=-1) - 1 / 3) / (top - 1 / 3))
    lines = [text.get_text().split("\n") for text in axes.get_xticklabels()]
    assert lines[2][:3] == [
        "most probable",
        f"U {found.energy:,.0f}",
        f"error {(found.best != truth).mean():.3g}",
    ]
    assert [line[0] for line in lines[4:]] == [
        *("belief in sky", "belief in sea", "belief in land"),
        "dark: unsure",
    ]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == NAMES.tolist()


def test_two_numbers_are_black_and_white_and_one_belief_says_all():
    field = GridField.ising(np.random.default_rng(1).normal(size=(5, 7)), 0.4)
    found = credo.infer_grid(field, sweeps=4)
    best, belief, _ = panels_of(found.plot(), 7)
    assert np.array_equal(best[..., 0], found.best == 1)
    assert np.array_equal(belief[..., 0], found.posterior.of(1))
    assert len(found.plot(labels=[-1, 1]).get_xticklabels()) == 4


def test_pictures_that_cannot_be_drawn_or_compared_are_refused():
    truth, found = scene()
    with pytest.raises(ShapeError, match="shape of the field, \\(12, 15\\)"):
        found.plot(truth=truth[:5])
    with pytest.raises(InputError, match="sweeps of pictures must not go down"):
        found.pictures(sweeps=[3, 1])
    with pytest.raises(InputError, match=r"are numbers, such as \(1, 5\). Got 3"):
        found.plot(sweeps=3)
    volume = credo.infer_grid(GridField.ising(np.zeros((3, 4, 5)), 0.1), sweeps=1)
    with pytest.raises(InputError, match="Only pictures of two dimensions"):
        volume.plot()


# --- moving pictures ------------------------------------------------------------------------------


def frames_of(path):
    """Return the frames of a GIF in RGB, and how long each is shown."""
    with Image.open(path) as gif:
        found, times = [], []
        for number in range(gif.n_frames):
            gif.seek(number)
            found.append(np.asarray(gif.convert("RGB")))
            times.append(gif.info["duration"])
    return found, times


def shown(frame, place, image, times, step):
    """Cut a picture out of a frame, one pixel of each block."""
    height, width = image.shape[:2]
    left = 8 + place * step
    return frame[8 : 8 + times * height : times, left : left + times * width : times]


def test_a_moving_restoration_has_a_frame_for_each_sweep_and_ends_in_the_image(tmp_path):
    face = credo.images.portrait(64)
    noisy = credo.add_noise(face, 0.12, seed=3)
    clean = credo.denoise(noisy, 0.12, 0.8, sweeps=6)
    clean.animate(tmp_path / "face.gif", truth=face, milliseconds=100)
    assert [path.name for path in tmp_path.iterdir()] == ["face.gif"]
    frames, times = frames_of(tmp_path / "face.gif")
    assert times == [100] * 6 + [800]
    assert {frame.shape for frame in frames} == {frames[0].shape}
    assert frames[0].shape[1] == 8 + 4 * (4 * 64 + 8)  # four pictures of 64 pixels, each 4 by 4
    for frame, image in zip(frames, clean.snapshots(range(7)), strict=True):
        for place, each in enumerate((noisy, image, face)):
            pixels = shown(frame, place, each, 4, 4 * 64 + 8)
            assert np.array_equal(pixels, np.repeat(255 * each[..., None], 3, axis=-1))
    sure = [
        credo.denoise(noisy, 0.12, 0.8, sweeps=n).posterior.confidence.astype(float)
        for n in range(7)
    ]
    top = np.max(sure)
    for frame, each in zip(frames, sure, strict=True):
        unsure = shown(frame, 3, face, 4, 4 * 64 + 8)[..., 0] / 255
        assert unsure == pytest.approx((each - 0.5) / (top - 0.5), abs=0.5 / 127 + 0.5 / 255)


def test_rejected_pixels_are_orange_and_sweeps_can_be_chosen(tmp_path):
    noisy = credo.add_noise(credo.images.portrait(64), 0.12, seed=3)
    clean = credo.denoise(noisy, 0.12, 0.8, sweeps=6, loss=0.2)
    clean.animate(tmp_path / "face.gif", sweeps=(1, 6))
    (_, last), _ = frames_of(tmp_path / "face.gif")
    pixels = shown(last, 1, noisy, 4, 4 * 64 + 8).astype(int)
    orange = np.abs(pixels - [213, 94, 0]).max(axis=-1) <= 2
    assert np.array_equal(orange, clean.rejected)


def test_beliefs_in_classes_move_in_the_colours_of_the_classes(tmp_path):
    truth, found = scene()
    found.animate(tmp_path / "scene.gif", truth=truth)
    frames, _ = frames_of(tmp_path / "scene.gif")
    assert len(frames) == found.sweeps + 1
    last = shown(frames[-1], 0, truth, 14, 14 * 15 + 8) / 255
    assert last == pytest.approx(places(found.best) @ INKS, abs=0.01)


def test_a_large_picture_is_reduced(tmp_path):
    field = GridField.ising(np.ones((8, 1100)), 0.1)
    credo.infer_grid(field, sweeps=1).animate(tmp_path / "wide.gif")
    frames, _ = frames_of(tmp_path / "wide.gif")
    assert frames[0].shape[1] < 2 * 400


def test_what_cannot_move_is_refused_and_nothing_is_written(tmp_path):
    noisy = credo.add_noise(credo.images.portrait(64), 0.12, seed=3)
    clean = credo.denoise(noisy, 0.12, 0.8, sweeps=2)
    with pytest.raises(InputError, match="animate writes GIF files. Got .*png"):
        clean.animate(tmp_path / "face.png")
    with pytest.raises(InputError, match="at least one number of sweeps"):
        clean.animate(tmp_path / "face.gif", sweeps=[])
    with pytest.raises(InputError, match="milliseconds of animate"):
        clean.animate(tmp_path / "face.gif", milliseconds=0)
    with pytest.raises(InputError, match="A graph cut makes no sweeps"):
        credo.denoise(noisy, 0.12, 0.8, method="graph-cut").animate(tmp_path / "face.gif")
    assert list(tmp_path.iterdir()) == []
