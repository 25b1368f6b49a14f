"""Figures of restorations and segmentations."""

import numpy as np

import credo
from credo.plots._draw import COLOURS


def test_a_restoration_shows_the_noisy_image_the_restored_one_and_what_is_not_sure():
    noisy = credo.add_noise(np.zeros((20, 32), bool), 0.2, seed=1)
    found = credo.denoise(noisy, 0.2, 0.5, loss=0.2)
    axes = found.plot()
    (picture,) = axes.images
    pixels = picture.get_array()
    assert np.array_equal(pixels[:, :32, 0], noisy)
    rejected = pixels[:, 33:65][found.rejected]
    assert len(rejected) > 0
    assert np.allclose(rejected * 255, [int(COLOURS[1][i : i + 2], 16) for i in (1, 3, 5)])
    kept = pixels[:, 33:65, 0][~found.rejected]
    assert np.array_equal(kept, found.image[~found.rejected])


def test_a_segmentation_shows_labels_before_and_after():
    rng = np.random.default_rng(0)
    posterior = rng.dirichlet([1.0, 1.0, 1.0], size=(6, 9))
    found = credo.segment(credo.PosteriorMap(posterior, ["sky", "sea", "land"]), 0.7)
    axes = found.plot()
    assert [t.get_text() for t in axes.get_xticklabels()] == ["before", "smoothed", "unsure"]
    before = axes.images[0].get_array()[:, :9, 0]
    assert set(np.unique(before)) == {0.0, 0.5, 1.0}
    assert np.array_equal(before, np.argmax(posterior, axis=-1) / 2)
