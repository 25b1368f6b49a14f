"""``denoise``: images of every kind, its settings, losses, traces and errors."""

import numpy as np
import pytest
from PIL import Image
from tests.oracles import grids as oracle

import credo
from credo.exceptions import InputError, LabelError, ShapeError
from credo.images import denoise_tiled, portrait

WHITE = True


@pytest.fixture(scope="module")
def face():
    return portrait()


@pytest.fixture(scope="module")
def noisy(face):
    return credo.add_noise(face, 0.1, seed=0)


@pytest.mark.parametrize("values", [(False, True), (0, 1), (-1, 1), (0, 255), (3, 7)], ids=str)
def test_the_image_comes_back_in_the_coding_that_it_had(noisy, values):
    plain = credo.denoise(noisy, 0.1, 0.8)
    coded = np.where(noisy, values[1], values[0]).astype(
        np.uint8 if values[1] == 255 else type(values[1])
    )
    found = credo.denoise(coded, 0.1, 0.8)
    assert found.image.dtype == coded.dtype
    assert np.array_equal(found.image == values[1], plain.image)
    assert found.posterior.labels == values


def test_the_caller_may_write_to_the_image_and_the_map_afterwards(noisy):
    mine, flips = noisy.copy(), np.full(noisy.shape, 0.1)
    found = credo.denoise(mine, flips, 0.8)
    expected = credo.denoise(noisy, 0.1, 0.8).energy
    mine[...] = found.image
    flips[...] = 0.4
    assert found.energy == expected
    assert (found.flip_probability == 0.1).all()


def test_it_is_told_how_learning_ended(noisy):
    assert credo.denoise(noisy, 0.1, 0.8).learning_status == "GIVEN"
    learnt = credo.denoise(noisy)
    assert (learnt.learning_status, learnt.status) == ("CONVERGED", "MAX_SWEEPS")
    assert repr(learnt).endswith("20 sweeps, MAX_SWEEPS; learning: CONVERGED>")
    assert credo.denoise(np.eye(2, dtype=bool)).learning_status == "TOO_SMALL"
    coins = np.random.default_rng(0).random((64, 64)) < 0.5
    assert credo.denoise(coins).learning_status == "NO_STRUCTURE"


def test_the_status_tells_how_the_messages_ended(noisy):
    """Twenty sweeps leave something moving; with a tolerance they go on until nothing does."""
    given = credo.denoise(noisy, 0.1, 0.6)
    assert (given.status, given.sweeps) == ("MAX_SWEEPS", 20)
    rest = credo.denoise(noisy, 0.1, 0.6, sweeps=500, tolerance=1e-4)
    assert (rest.status, rest.learning_status) == ("CONVERGED", "GIVEN")
    assert rest.sweeps == len(rest.trace.residuals) < 500
    assert rest.trace.residuals[-1] <= 1e-4 < rest.trace.residuals[-2]
    assert np.array_equal(rest.snapshots([rest.sweeps])[0], rest.image)
    few = credo.denoise(noisy, 0.1, 0.6, sweeps=3, tolerance=1e-4)
    assert (few.status, few.sweeps) == ("MAX_SWEEPS", 3)
    assert credo.denoise(noisy, 0.1, 0.6, method="graph-cut").status == "EXACT"
    with pytest.raises(InputError, match="tolerance of denoise must be at least 0"):
        credo.denoise(noisy, 0.1, 0.6, tolerance=-1.0)


def test_each_colour_has_its_own_status():
    """A channel that has come to rest makes no more sweeps, and the trace knows."""
    rng = np.random.default_rng(0)
    image = np.zeros((8, 9, 3), np.uint8)
    image[..., 1:] = rng.integers(0, 255, (8, 9, 2))
    found = credo.denoise(image, 0.1, 0.2, sigma=20.0, levels=8, sweeps=60, tolerance=1e-3)
    assert found.status == ("CONVERGED",) * 3
    assert found.learning_status == ("GIVEN",) * 3
    assert len(found.trace.residuals) == found.sweeps
    assert "CONVERGED; learning: GIVEN>" in repr(found)


def test_whole_numbers_of_64_bits_come_back():
    checks = np.indices((6, 6)).sum(axis=0) % 2
    image = np.where(checks, np.uint64(2**64 - 1), np.uint64(0))
    assert np.array_equal(credo.denoise(image, 0.1, -1.0).image, image)


def test_a_map_of_flips_with_a_learnt_coupling_never_fails():
    rng = np.random.default_rng(0)
    picture = np.zeros((13, 11), bool)
    picture[:6] = True
    for _ in range(25):
        found = credo.denoise(picture, rng.random(picture.shape))
        assert np.isfinite(found.coupling)


def test_pillow_images_are_taken(noisy):
    found = credo.denoise(Image.fromarray(noisy), 0.1, 0.8)
    assert np.array_equal(found.image, credo.denoise(noisy, 0.1, 0.8).image)


def test_beliefs_are_those_of_the_lecture(noisy):
    signs = np.where(noisy, 1, -1)
    found = credo.denoise(noisy, 0.1, 0.8, dtype="float64")
    np.testing.assert_allclose(
        found.posterior.of(WHITE), oracle.restored(signs, 0.1, 0.8), atol=1e-12
    )
    single = credo.denoise(noisy, 0.1, 0.8)
    assert single.posterior.of(WHITE).dtype == np.float32
    np.testing.assert_allclose(single.posterior.of(WHITE), found.posterior.of(WHITE), atol=1e-5)


def test_the_energy_is_the_lectures(noisy):
    found = credo.denoise(noisy, 0.1, 0.8)
    signs, restored = np.where(noisy, 1, -1), np.where(found.image, 1, -1)
    half = oracle.half_log_odds(0.1) * signs
    assert found.energy.noisy == pytest.approx(oracle.lecture_energy(signs, half, 0.8))
    assert found.energy.restored == pytest.approx(oracle.lecture_energy(restored, half, 0.8))


def test_the_trace_has_a_number_for_each_sweep_and_ends_where_the_run_did(noisy):
    found = credo.denoise(noisy, 0.1, 0.8, sweeps=12)
    assert found.trace.residuals.shape == found.trace.energies.shape == (12,)
    assert found.trace.energies[-1] == found.energy.restored
    heard = []
    credo.denoise(noisy, 0.1, 0.8, sweeps=12, callback=lambda *seen: heard.append(seen))
    assert [number for number, _ in heard] == list(range(1, 13))
    assert [change for _, change in heard] == found.trace.residuals.tolist()


def test_snapshots_are_shorter_runs(noisy):
    found = credo.denoise(noisy, 0.1, 0.8)
    for sweeps, image in zip((0, 3, 20), found.snapshots([0, 3, 20]), strict=True):
        assert np.array_equal(image, credo.denoise(noisy, 0.1, 0.8, sweeps=sweeps).image)
    with pytest.raises(InputError, match=r"must not go down. Got \[5, 2\]"):
        found.snapshots([5, 2])


def test_a_map_of_flips_leaves_sure_pixels_alone(noisy):
    flips = np.zeros(noisy.shape)
    flips[:, 64:] = 0.1
    found = credo.denoise(noisy, flips, 0.8)
    assert np.array_equal(found.image[:, :64], noisy[:, :64])
    assert not np.array_equal(found.image[:, 64:], noisy[:, 64:])
    assert (found.posterior.confidence[:, :64] == 1).all()


def test_a_cost_of_rejecting_marks_the_pixels_that_are_not_sure(noisy):
    found = credo.denoise(noisy, 0.1, 0.8, loss=0.1)
    unsure = found.posterior.confidence < 0.9
    assert np.array_equal(found.rejected, unsure)
    assert 0 < unsure.mean() < 0.5
    best = credo.denoise(noisy, 0.1, 0.8)
    assert np.array_equal(found.image, best.image)
    assert not best.rejected.any()


@pytest.mark.parametrize("sweeps", [1, 2, 20])
def test_a_picture_in_tiles_is_restored_as_the_whole(noisy, sweeps):
    beliefs = np.empty(noisy.shape, np.float32)
    given = {"flip_probability": 0.1, "coupling": 0.8, "sweeps": sweeps}
    found = denoise_tiled(noisy, tile=23, posterior=beliefs, **given)
    whole = credo.denoise(noisy, dtype="float32", **given)
    assert found.tiles > 1
    assert np.array_equal(found.image, whole.image)
    assert np.array_equal(beliefs, whole.posterior.of(WHITE))


def test_a_loss_moves_the_threshold(noisy):
    loss = credo.Loss.from_dict(
        {(False, False): 0, (False, True): 9, (True, False): 1, (True, True): 0}
    )
    found = credo.denoise(noisy, 0.1, 0.8, loss=loss)
    assert np.array_equal(found.image, found.posterior.of(WHITE) > 0.9)
    assert np.array_equal(found.snapshots([20])[0], found.image)
    other = credo.Loss.zero_one(["black", "white"])
    with pytest.raises(LabelError):
        credo.denoise(noisy, 0.1, 0.8, loss=other)


def test_a_graph_cut_is_not_worse_than_any_messages(noisy):
    best = credo.denoise(noisy, 0.1, 0.8, method="graph-cut")
    for method in ("sum-product", "max-product"):
        found = credo.denoise(noisy, 0.1, 0.8, method=method, sweeps=50)
        assert found.energy.restored <= best.energy.restored + 1e-9
    for attribute in ("posterior", "trace"):
        with pytest.raises(InputError, match="graph cut"):
            getattr(best, attribute)
    with pytest.raises(InputError, match="cannot weigh a loss"):
        credo.denoise(noisy, 0.1, 0.8, method="graph-cut", loss=0.1)
    with pytest.raises(InputError, match="makes no sweeps"):
        best.snapshots()


@pytest.mark.parametrize("schedule", ["flooding", "checkerboard", "sweep"])
@pytest.mark.parametrize("neighbours", [4, 8])
def test_schedules_and_neighbourhoods_restore(face, noisy, schedule, neighbours):
    if (schedule, neighbours) == ("checkerboard", 8):
        with pytest.raises(InputError, match="denoise: on a checkerboard"):
            credo.denoise(noisy, 0.1, 0.5, schedule=schedule, neighbours=neighbours)
        return
    coupling = 0.8 if neighbours == 4 else 0.4
    found = credo.denoise(noisy, 0.1, coupling, schedule=schedule, neighbours=neighbours)
    assert (found.image != face).mean() < 0.6 * (noisy != face).mean()


def test_threads_give_the_same_bits(noisy):
    one = credo.denoise(noisy, 0.1, 0.8)
    two = credo.denoise(noisy, 0.1, 0.8, threads=2)
    assert np.array_equal(one.posterior.of(WHITE), two.posterior.of(WHITE))


def test_colours_in_black_and_white_are_restored_channel_by_channel(noisy):
    colour = np.stack([noisy, noisy.T, ~noisy], axis=-1)
    found = credo.denoise(colour, 0.1, 0.8)
    for channel, plane in enumerate((noisy, noisy.T, ~noisy)):
        expected = credo.denoise(plane, 0.1, 0.8).image
        assert np.array_equal(found.image[..., channel], expected)
    assert len(found.posterior) == len(found.field) == 3
    assert found.flip_probability == (0.1, 0.1, 0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"flip_probability": 1.5}, "between 0 and 1"),
        ({"flip_probability": -0.1}, "between 0 and 1"),
        ({"flip_probability": "guess"}, "flip_probability of denoise must be one of 'estimate'"),
        ({"coupling": "guess"}, "coupling of denoise must be one of 'estimate'"),
        ({"coupling": np.nan}, "coupling"),
        ({"method": "magic"}, "method of denoise must be one of"),
        ({"noise": "pink"}, "noise of denoise must be one of"),
        ({"sweeps": -3}, "sweeps of denoise"),
        ({"momentum": 0}, "momentum of denoise"),
        ({"neighbours": 5}, "denoise in 2 dimensions needs 4 or 8 neighbours"),
        ({"neighbours": "8"}, "denoise in 2 dimensions needs 4 or 8 neighbours"),
        ({"method": "graph-cut", "momentum": 7}, "momentum of denoise"),
        ({"method": "max-product", "loss": 0.1}, "cannot weigh a loss"),
        ({"coupling": None}, "coupling of denoise must be one of 'estimate'"),
        ({"callback": 3}, "callback of denoise must be a function"),
        ({"loss": -1.0}, "cost of rejecting"),
        ({"threads": 0}, "threads"),
        ({"dtype": "int8"}, "dtype of denoise"),
    ],
)
def test_bad_settings_are_named(noisy, options, message):
    given = {"flip_probability": 0.1, "coupling": 0.8, **options}
    with pytest.raises(InputError, match=message):
        credo.denoise(noisy, **given)


def test_a_map_of_another_shape_is_refused(noisy):
    with pytest.raises(ShapeError):
        credo.denoise(noisy, np.full((3, 3), 0.1), 0.8)


@pytest.mark.parametrize("image", ["face.png", None, [], np.zeros((0, 4)), np.array([[np.nan, 1]])])
def test_what_is_no_image_is_refused(image):
    with pytest.raises((InputError, ShapeError), match="denoise"):
        credo.denoise(image, 0.1, 0.8)


def test_the_figure_shows_what_was_found(noisy):
    axes = credo.denoise(noisy, 0.1, 0.8, loss=0.2).plot()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["noisy", "restored", "unsure"]
    (picture,) = axes.images
    assert picture.get_array().shape == (128, 3 * 128 + 2 * 4, 3)
    cut = credo.denoise(noisy, 0.1, 0.8, method="graph-cut").plot()
    assert len(cut.get_xticklabels()) == 2
