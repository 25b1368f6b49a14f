"""``denoise`` on grey and colour images."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, median_filter

import credo
from credo.exceptions import BudgetError, InputError


def shades():
    """Smooth shading with edges: what a grey picture is made of."""
    y, x = np.mgrid[:72, :80]
    picture = 60 + 1.2 * x + 15 * np.sin(y / 9)
    picture[20:50, 25:60] += 70
    picture[(y - 52) ** 2 + (x - 20) ** 2 < 150] = 30
    return picture.astype(np.uint8)


def far(a, b):
    return float(np.sqrt(np.mean((a.astype(float) - b.astype(float)) ** 2)))


@pytest.mark.parametrize(
    ("noise", "sigma", "share"),
    [
        ({"kind": "gaussian", "sigma": 15}, 15, 0),
        ({"kind": "gaussian", "sigma": 30}, 30, 0),
        ({"kind": "salt_and_pepper"}, None, 0.1),
    ],
    ids=["gaussian 15", "gaussian 30", "salt and pepper"],
)
def test_it_is_nearer_than_filters_and_learns_the_noise(noise, sigma, share):
    clean = shades()
    noisy = credo.add_noise(clean, 0.1, seed=0, **noise)
    found = credo.denoise(noisy)
    assert found.image.dtype == np.uint8
    filters = (median_filter(noisy, 3), gaussian_filter(noisy.astype(float), 1))
    assert far(found.image, clean) < min(far(other, clean) for other in filters)
    if sigma is not None:
        assert found.sigma == pytest.approx(sigma, rel=0.2)
    assert found.flip_probability == pytest.approx(share, abs=0.05)
    assert found.energy.restored > found.energy.noisy


def test_the_mean_is_shown_for_sums_and_a_level_for_maxima():
    noisy = credo.add_noise(shades(), kind="gaussian", sigma=20, seed=1).astype(float)
    mean = credo.denoise(noisy, 0.01, 0.3, sigma=20, levels=16)
    levels = np.array(mean.posterior.labels)
    expected = mean.posterior.probabilities @ levels
    np.testing.assert_allclose(mean.image, expected, rtol=1e-5)
    best = credo.denoise(noisy, 0.01, 0.3, sigma=20, levels=16, method="max-product")
    assert set(np.unique(best.image)) <= set(levels)
    assert mean.snapshots([20])[0] == pytest.approx(mean.image)
    assert len(mean.trace.residuals) == 20


def test_a_loss_chooses_levels_and_leaves_some_open():
    noisy = credo.add_noise(shades(), kind="gaussian", sigma=20, seed=1)
    found = credo.denoise(noisy, 0.01, 0.3, sigma=20, levels=8, loss=0.3)
    assert 0 < found.rejected.mean() < 1
    assert np.array_equal(found.rejected, found.posterior.confidence < 0.7)


def test_channels_are_restored_one_by_one_and_opacity_is_kept():
    grey = shades()[:40, :40]
    opacity = np.arange(1600, dtype=np.uint8).reshape(40, 40)
    picture = np.stack([grey, grey.T, 255 - grey, opacity], axis=-1)
    found = credo.denoise(picture, 0.01, 0.3, sigma=9, levels=16)
    assert np.array_equal(found.image[..., 3], opacity)
    alone = credo.denoise(grey.T, 0.01, 0.3, sigma=9, levels=16)
    assert np.array_equal(found.image[..., 1], alone.image)
    assert len(found.posterior) == 3


def test_no_impulses_and_two_values_with_gaussian_noise():
    noisy = credo.add_noise(shades(), kind="gaussian", sigma=20, seed=1)
    found = credo.denoise(noisy, 0, sigma=20, levels=16)
    assert found.flip_probability == 0
    assert far(found.image, shades()) < far(noisy, shades()) / 2
    sharp = credo.denoise(shades(), 0, 0.3, sigma=0.05, levels=16)  # 38 sigma is out of sight
    assert np.abs(sharp.image - shades().astype(float)).max() <= np.ptp(shades()) / 30 + 1
    two = credo.denoise(np.eye(12), noise="gaussian", sigma=0.2, levels=5)
    assert two.posterior.n_labels == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"levels": 1}, "levels of denoise"),
        ({"levels": 300}, "levels of denoise are 256 at most. Got 300"),
        ({"sigma": 0}, "sigma of denoise must be above 0 for a grey image. Got 0"),
        ({"sigma": "guess"}, "sigma of denoise must be one of 'estimate'"),
        ({"coupling": -1}, "coupling of denoise must be above 0"),
        ({"flip_probability": np.full((72, 80), 0.1)}, "must be one number, or 'estimate'"),
        ({"method": "graph-cut"}, "graph cuts are for images of two values"),
    ],
)
def test_bad_settings_are_named(options, message):
    with pytest.raises(InputError, match=message):
        credo.denoise(shades(), **options)


def test_settings_of_grey_images_are_refused_for_two_values():
    for options in ({"sigma": 3.0}, {"levels": 7}):
        with pytest.raises(InputError, match="sigma and levels are for grey images"):
            credo.denoise(np.eye(4), 0.1, 0.5, **options)


def test_a_picture_that_does_not_fit_is_refused_before_anything_is_allocated():
    photograph = np.broadcast_to(np.arange(256, dtype=np.uint8), (40_000, 256))
    with pytest.raises(BudgetError, match=r"denoise needs about 21 GB .* budget is 4GB"):
        credo.denoise(photograph)
    field = credo.GridField.ising(np.zeros((100, 100)), 0.5)
    with pytest.raises(BudgetError, match="infer_grid needs about 560 kB"):
        credo.infer_grid(field, budget="500kB")


def test_noise_is_rounded_to_whole_numbers_without_a_lean():
    """Two standard errors of the mean are 0.03; of numbers that are cut off it is 0.5 lower."""
    grey = np.full((200, 200), 100, np.uint8)
    noisy = credo.add_noise(grey, kind="gaussian", sigma=3.0, seed=1)
    assert noisy.dtype == np.uint8
    assert noisy.mean() == pytest.approx(100, abs=0.03)
