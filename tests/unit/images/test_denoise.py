"""``denoise``: images of every kind, its settings, losses, traces, cuts and errors."""

import itertools

import numpy as np
import pytest
from scipy import ndimage, stats
from tests.oracles import grids as oracle

import credo
from credo.exceptions import BudgetError, FileFormatError, InputError, LabelError, ShapeError
from credo.images import portrait
from credo.images._denoise import decide_map, loss_for
from credo.images.cut import best_by_cut
from credo.images.files import open_image, save_image
from credo.posterior import PosteriorMap

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


@pytest.mark.parametrize("levels", [None, 8])
def test_the_callback_is_heard_while_numbers_are_learnt(noisy, levels):
    """In each plane: 0 and NaN before each run that is learnt from, then sweep by sweep."""
    image = noisy if levels is None else np.stack([noisy[:30, :30] * 9.0 + np.eye(30)] * 3, -1)
    heard = []
    found = credo.denoise(image, levels=levels, sweeps=5, callback=lambda *a: heard.append(a))
    planes = 1 if levels is None else 3
    numbers = [number for number, _ in heard]
    assert [number for number in numbers if number] == [*range(1, 6)] * planes
    assert all(np.isnan(residual) == (number == 0) for number, residual in heard)
    assert numbers[0] == 0
    assert numbers.count(0) >= 4 * planes
    assert np.array_equal(found.image, credo.denoise(image, levels=levels, sweeps=5).image)


def test_snapshots_are_shorter_runs(noisy):
    found = credo.denoise(noisy, 0.1, 0.8)
    for sweeps, image in zip((0, 3, 20, 25), found.snapshots([0, 3, 20, 25]), strict=True):
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


def test_a_loss_moves_the_threshold(noisy):
    loss = credo.Loss.from_dict(
        {(False, False): 0, (False, True): 9, (True, False): 1, (True, True): 0}
    )
    found = credo.denoise(noisy, 0.1, 0.8, loss=loss)
    assert np.array_equal(found.image, found.posterior.of(WHITE) > 0.9)
    assert np.array_equal(found.snapshots([20])[0], found.image)
    other = credo.Loss.zero_one(["black", "white"])
    with pytest.raises(LabelError):  # before any sweep
        credo.denoise(noisy, 0.1, 0.8, loss=other, callback=lambda *_: pytest.fail("too late"))


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
    assert len(best.plot().get_xticklabels()) == 2


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


@pytest.mark.parametrize("coupling", [0.8, "estimate"])
def test_a_map_of_another_shape_is_refused(noisy, coupling):
    with pytest.raises(ShapeError, match=r"in shape \(128, 128\). Got shape \(3, 3\)"):
        credo.denoise(noisy, np.full((3, 3), 0.1), coupling)


@pytest.mark.parametrize("image", [None, [], np.zeros((0, 4)), np.array([[np.inf, 1]])])
def test_what_is_no_image_is_refused(image):
    with pytest.raises((InputError, ShapeError), match="denoise"):
        credo.denoise(image, 0.1, 0.8)


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_a_path_is_read_as_the_command_line_reads_it(noisy, tmp_path, kind):
    """Two colours are two values, the lighter one True."""
    path, colours = tmp_path / "noisy.png", np.array([[30, 0, 90], [250, 240, 10]], np.uint8)
    save_image(path, colours[noisy.astype(int)])
    found = credo.denoise(kind(path), 0.1, 0.8)
    assert np.array_equal(found.image, credo.denoise(noisy, 0.1, 0.8).image)
    grey = tmp_path / "grey.png"
    save_image(grey, shades())
    expected = credo.denoise(open_image(grey)[0], 0.01, 0.3, sigma=9, levels=8)
    read = credo.denoise(kind(grey), 0.01, 0.3, sigma=9, levels=8)
    assert np.array_equal(read.image, expected.image)


def test_a_path_that_is_no_image_gets_the_words_of_the_reader(tmp_path):
    text = tmp_path / "notes.png"
    text.write_text("no picture")
    with pytest.raises(InputError, match=r"nowhere.png: There is no such file"):
        credo.denoise(tmp_path / "nowhere.png")
    with pytest.raises(InputError, match="is a folder. Name an image file"):
        credo.denoise(str(tmp_path))
    with pytest.raises(FileFormatError, match="This is not an image"):
        credo.denoise(text)
    with pytest.raises(FileFormatError, match="This is not an image"):
        credo.denoise(np.eye(4), mask=text)


# --- pixels that were not observed ----------------------------------------------------------------


SEEN = np.array([[10.0, 40.0, 200.0, 90.0, 60.0]])
GAPS = np.array([[False, True, False, False, True]])
LEVELS = np.array([10.0, 105.0, 200.0])


def likelihoods(image, gaps, sigma, impulse):
    """Log p(value | level): a Gaussian, its tail at the ends, and impulses; nothing in gaps."""
    quantum = 190 / 255
    inside = stats.norm.pdf(image[..., None], LEVELS, sigma) * quantum
    edge = quantum / 2
    dark = stats.norm.cdf(LEVELS[0] + edge, LEVELS, sigma)
    light = stats.norm.sf(LEVELS[-1] - edge, LEVELS, sigma)
    ends = [image[..., None] == LEVELS[0], image[..., None] == LEVELS[-1]]
    gaussian = np.select(ends, [dark, light], inside)
    anything = 0.5 * quantum / (190 + quantum) + 0.25 * (ends[0] | ends[1])
    return np.where(gaps[..., None], 0.0, np.log((1 - impulse) * gaussian + impulse * anything))


@pytest.mark.parametrize("turned", [False, True])
def test_an_unobserved_grey_pixel_has_no_evidence_but_its_neighbours(turned):
    """On a chain messages are exact: all labellings, one by one."""
    image, gaps = (SEEN.T, GAPS.T) if turned else (SEEN, GAPS)
    found = credo.denoise(
        image, 0.05, 0.6, 50, 1.0, sigma=30.0, levels=3, mask=gaps, dtype="float64"
    )
    logs, limit = likelihoods(image, gaps, 30.0, 0.05), 3.2 / 0.6
    table = oracle.joint(logs, "TruncatedLinear", 0.6, limit=limit)
    exact = oracle.marginals(table).reshape(*image.shape, 3)
    np.testing.assert_allclose(found.posterior.probabilities, exact, rtol=2e-6)
    np.testing.assert_allclose(found.image, exact @ LEVELS, rtol=2e-6)


@pytest.mark.parametrize("method", ["sum-product", "max-product"])
def test_messages_around_gaps_are_those_of_the_slow_twin(method):
    draw = np.random.default_rng(3)
    image, gaps = draw.choice(LEVELS, (3, 4)), draw.random((3, 4)) < 0.4
    image[~gaps] = np.resize([10.0, 200.0, 90.0, 140.0], np.count_nonzero(~gaps))
    found = credo.denoise(
        image, 0.05, 0.6, 7, sigma=30.0, levels=3, mask=gaps, method=method, dtype="float64"
    )
    maximum = method == "max-product"
    grid = oracle.Grid(
        likelihoods(image, gaps, 30.0, 0.05),
        *("TruncatedLinear", 0.6),
        limit=3.2 / 0.6,
        neighbours=4,
        maximum=maximum,
        in_logs=maximum,
    )
    grid.sweeps(7, 0.5, "flooding")
    np.testing.assert_allclose(found.posterior.probabilities, grid.beliefs(), rtol=1e-5)


def test_an_unobserved_pixel_of_two_values_has_no_evidence_either():
    image = np.array([[True, False, True, False, False]])
    found = credo.denoise(image, 0.1, 0.6, 50, 1.0, mask=GAPS, dtype="float64")
    h = np.where(GAPS, 0.0, np.where(image, 1, -1) * oracle.half_log_odds(0.1))
    exact = oracle.marginals(oracle.joint(np.stack([-h, h], -1), "Ising", 0.6))
    np.testing.assert_allclose(found.posterior.of(WHITE)[0], exact[:, 1], rtol=1e-9)
    cut = credo.denoise(image, 0.1, 0.6, mask=GAPS, method="graph-cut")
    assert cut.energy.restored == pytest.approx(
        np.log(oracle.joint(np.stack([-h, h], -1), "Ising", 0.6).max())
    )


def as_learnt(found):
    return found.flip_probability, found.coupling, found.sigma, found.image.tolist()


@pytest.mark.parametrize("kind", ["binary", "grey", "colour"])
def test_nan_a_mask_and_a_masked_array_say_the_same_and_what_is_behind_does_not_count(kind):
    draw = np.random.default_rng(5)
    clean = shades()[:40, :48].astype(float)
    image = clean + draw.normal(0, 9, clean.shape)
    image = {"binary": np.where(image > 110, 1.0, 0.0), "grey": image}.get(
        kind, np.stack([image, image[::-1], 255 - image], axis=-1)
    )
    gaps = draw.random(clean.shape) < 0.3
    every = gaps if image.ndim == 2 else np.broadcast_to(gaps[..., None], image.shape)
    behind = np.where(every, -77.0, image)
    expected = as_learnt(credo.denoise(behind, mask=gaps))
    assert as_learnt(credo.denoise(np.where(every, np.nan, image))) == expected
    assert as_learnt(credo.denoise(np.ma.array(behind, mask=every))) == expected
    assert as_learnt(credo.denoise(image, mask=np.where(gaps, 255, 0))) == expected
    assert np.isfinite(expected[-1]).all()


def test_a_gap_in_one_channel_leaves_the_others_alone():
    colours = np.stack([shades()[:40, :40].astype(float)] * 3, axis=-1)
    colours[5:9, 5:9, 1] = np.nan
    options = {"coupling": 0.3, "flip_probability": 0.01, "sigma": 9, "levels": 8}
    found = credo.denoise(colours, **options)
    assert np.array_equal(found.image[..., 0], found.image[..., 2])
    assert not np.array_equal(found.image[..., 0], found.image[..., 1])
    alone = credo.denoise(colours[..., 1], **options)
    assert np.array_equal(found.image[..., 1], alone.image)


@pytest.mark.parametrize("kind", ["random", "scratches"])
def test_flat_parts_are_filled_in_and_noise_is_learnt_from_what_was_seen(kind):
    """The truth is known: two flat halves, of 60 and 180, with noise of 12."""
    draw = np.random.default_rng(7)
    clean = np.where(np.arange(64) < 32, 60.0, 180.0) * np.ones((64, 1))
    gaps = draw.random(clean.shape) < 0.4
    if kind == "scratches":
        gaps = np.arange(64)[:, None] % 12 < 3 * np.ones(64)
    image = np.where(gaps, draw.integers(0, 255, clean.shape), clean + draw.normal(0, 12, (64, 64)))
    found = credo.denoise(image, mask=gaps)
    assert found.sigma == pytest.approx(12, rel=0.15)
    assert found.flip_probability < 0.01
    inner = gaps & (np.abs(np.arange(64) - 31.5) > 4)
    assert far(found.image[inner], clean[inner]) < 6
    signs = credo.add_noise(clean > 100, 0.1, seed=1)
    lost = np.where(gaps, draw.random(clean.shape) < 0.5, signs)
    two = credo.denoise(lost, mask=gaps)
    share = (signs != (clean > 100))[~gaps].mean()
    assert two.flip_probability == pytest.approx(share, rel=0.2)
    assert (two.image == (clean > 100))[inner].mean() > 0.98


def test_where_nothing_was_observed_nothing_is_learnt():
    """One corner of a large picture is seen, and no tile that is learnt from lies in it."""
    gaps = np.ones((400, 400), bool)
    gaps[:3, :3] = False
    draw = np.random.default_rng(0)
    for image in (draw.random((400, 400)) < 0.5, draw.normal(size=(400, 400))):
        found = credo.denoise(image, mask=gaps, sweeps=1)
        assert found.learning_status == "TOO_SMALL"
        assert np.isfinite(found.image).all()


@pytest.mark.parametrize(
    ("image", "mask", "error", "message"),
    [
        (np.eye(4), np.ones((4, 4), bool), InputError, "Got none of 16: all are NaN or masked"),
        (np.full((3, 3), np.nan), None, InputError, "at least one pixel that was observed"),
        (np.eye(4), np.ones((4, 5), bool), ShapeError, r"shape \(4, 4\) .* Got shape \(4, 5\)"),
        (np.eye(4), np.arange(16).reshape(4, 4), InputError, "must be of booleans"),
        (np.eye(4), np.full((4, 4), "x"), InputError, "must be of booleans"),
        (
            np.dstack([np.eye(4), np.full((4, 4), np.nan), np.eye(4)]),
            *(None, InputError, "Got none of 16 in channel 1"),
        ),
        (np.dstack([np.eye(4)] * 3 + [np.full((4, 4), np.nan)]), None, InputError, "be finite"),
    ],
    ids=["all", "nan", "shape", "numbers", "text", "channel", "opacity"],
)
def test_a_mask_that_says_nothing_sensible_is_refused(image, mask, error, message):
    with pytest.raises(error, match=message):
        credo.denoise(image, mask=mask)


# --- grey levels ----------------------------------------------------------------------------------


def shades():
    """Smooth shading with edges: what a grey picture is made of."""
    y, x = np.mgrid[:72, :80]
    picture = 60 + 1.2 * x + 15 * np.sin(y / 9)
    picture[20:50, 25:60] += 70
    picture[(y - 52) ** 2 + (x - 20) ** 2 < 150] = 30
    return picture.astype(np.uint8)


def far(a, b):
    return float(np.sqrt(np.mean((a.astype(float) - b.astype(float)) ** 2)))


@pytest.mark.parametrize("method", ["sum-product", "max-product"])
def test_the_mean_of_the_levels_is_shown(method):
    noisy = credo.add_noise(shades(), kind="gaussian", sigma=20, seed=1).astype(float)
    mean = credo.denoise(noisy, 0.01, 0.3, sigma=20, levels=16, method=method)
    expected = mean.posterior.probabilities @ np.array(mean.posterior.labels)
    np.testing.assert_allclose(mean.image, expected, rtol=1e-5)
    learnt = credo.denoise(noisy, method=method)
    assert far(learnt.image, shades()) < far(learnt.posterior.best, shades())
    assert mean.snapshots([20])[0] == pytest.approx(mean.image)
    assert len(mean.trace.residuals) == 20


def flat():
    """Six greys in ellipses, as in a phantom."""
    y, x = np.mgrid[:96, :96] / 48 - 1
    picture = np.full((96, 96), 20)
    for row, column, height, width, grey in (
        *((0, 0, 0.92, 0.69, 230), (0, 0, 0.86, 0.63, 90), (0, 0.22, 0.31, 0.13, 50)),
        *((0, -0.22, 0.41, 0.16, 60), (-0.35, 0, 0.22, 0.2, 130), (0.55, 0, 0.12, 0.2, 150)),
    ):
        picture[((y - row) / height) ** 2 + ((x - column) / width) ** 2 < 1] = grey
    return picture.astype(np.uint8)


@pytest.mark.parametrize("sigma", [10, 20, 40])
def test_flat_pictures_are_restored_as_well_by_sums_as_by_maxima(sigma):
    """And in little more than half the error of a median filter."""
    noisy = credo.add_noise(flat(), kind="gaussian", sigma=sigma, seed=0)
    found = credo.denoise(noisy)
    assert found.posterior.n_labels == 32
    left = far(found.image, flat())
    assert left < 0.55 * min(far(ndimage.median_filter(noisy, n), flat()) for n in (3, 5))
    flatter = credo.denoise(noisy, method="max-product").image
    assert left < 1.05 * far(flatter, flat())


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
def test_bad_settings_of_grey_images_are_named(options, message):
    with pytest.raises(InputError, match=message):
        credo.denoise(shades(), **options)


def test_settings_of_grey_images_are_refused_for_two_values():
    for options in ({"sigma": 3.0}, {"levels": 7}):
        with pytest.raises(InputError, match="sigma and levels are for grey images"):
            credo.denoise(np.eye(4), 0.1, 0.5, **options)


def test_a_picture_that_does_not_fit_is_refused_before_anything_is_allocated():
    photograph = np.broadcast_to(np.arange(256, dtype=np.uint8), (40_000, 256))
    with pytest.raises(BudgetError, match=r"denoise needs about 10.5 GB .* budget is 4GB"):
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


# --- graph cuts -----------------------------------------------------------------------------------


SHAPES = {(1, 0): (2, 4), (0, 1): (3, 3), (1, 1): (2, 3), (1, -1): (2, 3)}


def most_energy(field):
    """Try all labellings, adding up potentials pixel by pixel and edge by edge."""
    pixels = list(np.ndindex(*field.shape))
    every = np.array(list(itertools.product((0, 1), repeat=len(pixels))))
    state = {pixel: every[:, i] for i, pixel in enumerate(pixels)}
    unit = field.smoothness.unit_table(2)
    total = sum(field.log_potentials[pixel][state[pixel]] for pixel in pixels)
    for axis, strength in zip(field.axes, field.strengths, strict=True):
        inside = SHAPES[axis]
        for place in np.ndindex(*inside):
            one = tuple(np.add(place, np.maximum(np.negative(axis), 0)))
            other = tuple(np.add(one, axis))
            weight = np.broadcast_to(strength, inside)[place]
            total = total + weight * unit[state[one], state[other]]
    return total.max()


def per_edge(sign, *axes):
    return tuple(sign * np.random.default_rng(0).random(SHAPES[axis]) for axis in axes)


@pytest.mark.parametrize(
    ("coupling", "neighbours"),
    [
        (0.6, 4),
        ((0.4, 1.3), 4),
        (per_edge(1, (1, 0), (0, 1)), 4),
        (0.0, 4),
        (-0.8, 4),
        (per_edge(-1, (1, 0), (0, 1)), 4),
        ((0.3, 0.8, *per_edge(1, (1, 1)), 0.5), 8),
    ],
    ids=["one", "axes", "edges", "none", "repulsive", "repulsive edges", "diagonals"],
)
def test_a_cut_is_the_best_of_all_labellings(coupling, neighbours):
    rng = np.random.default_rng(1)
    for _ in range(4):
        image, flips = rng.random((3, 4)) < 0.5, rng.random((3, 4))
        options = {"method": "graph-cut", "neighbours": neighbours}
        found = credo.denoise(image, flips, coupling, **options)
        assert found.energy.restored == pytest.approx(most_energy(found.field), abs=1e-9)


@pytest.mark.parametrize("coupling", [0.9, -0.9])
def test_certain_pixels_stay_what_they_are_and_the_general_search_agrees(coupling):
    rng = np.random.default_rng(2)
    image, flips = rng.random((13, 17)) < 0.5, rng.uniform(0.01, 0.99, (13, 17))
    flips[0, :3] = 0.0
    found = credo.denoise(image, flips, coupling, method="graph-cut")
    assert np.array_equal(found.image[0, :3], image[0, :3])
    general = credo.mpe(found.field)
    assert general.is_exact
    assert found.energy.restored == pytest.approx(general.log_score, rel=1e-11)
    assert (found.image.ravel() == [general[name] for name in found.field.names]).all()


@pytest.mark.parametrize(
    ("coupling", "neighbours", "text"),
    [((1.0, -0.5), 4, "some repel; the least .* is -0.5"), (-2.0, 8, "across corners")],
    ids=["mixed", "diagonals"],
)
def test_a_field_that_no_cut_solves_is_refused(noisy, coupling, neighbours, text):
    with pytest.raises(InputError, match=text):
        credo.denoise(noisy, 0.1, coupling, method="graph-cut", neighbours=neighbours)
    with pytest.raises(InputError, match=r"two labels. This one has 3. Use credo.mpe"):
        best_by_cut(credo.GridField(np.zeros((2, 2, 3)), credo.graphs.Potts(1.0)))


# --- maps decided under a loss --------------------------------------------------------------------


LABELS = ("sky", "sea", "land")
KINDS = [np.float32, np.float64]


def some_map(n_labels, kind=np.float64, shape=(7, 11), seed=0):
    p = np.random.default_rng(seed).dirichlet(np.ones(n_labels), size=shape)
    return PosteriorMap(p.astype(kind), LABELS[:n_labels])


def decided(posterior, loss):
    return decide_map(posterior, loss_for(loss, posterior.labels, "segment"))


def check_like_rows(posterior, loss_given, loss):
    """Compare a decided map with rows decided; rejected pixels keep their most probable label."""
    table = posterior.probabilities.reshape(-1, posterior.n_labels).astype(float)
    table /= table.sum(axis=1, keepdims=True)
    choice, rows = decided(posterior, loss_given), credo.decide(table, loss, posterior.labels)
    rejected = np.reshape(rows.rejected, posterior.shape)
    expected = np.where(rejected, posterior.best, np.reshape(rows.acts, posterior.shape))
    assert (choice.rejected == rejected).all()
    assert (choice.labels == expected).all()
    assert choice.labels.shape == choice.rejected.shape == choice.risk.shape == posterior.shape
    slack = 4 * np.finfo(choice.risk.dtype).eps * np.abs(loss.matrix).max()
    assert np.allclose(choice.risk, np.reshape(rows.risk, posterior.shape), rtol=0, atol=slack)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_without_a_loss_the_most_probable_label_is_chosen(n_labels, kind):
    posterior = some_map(n_labels, kind)
    choice = decided(posterior, None)
    assert (choice.labels == np.array(LABELS)[posterior.probabilities.argmax(axis=-1)]).all()
    assert not choice.rejected.any()
    assert choice.risk.dtype == kind
    assert np.allclose(choice.risk, 1 - posterior.probabilities.max(axis=-1))


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cost", [0, 0.3, 0.5, 2])
def test_a_cost_is_zero_one_loss_with_a_reject_act(n_labels, kind, cost):
    loss = credo.Loss.zero_one(LABELS[:n_labels]).with_reject(cost)
    check_like_rows(some_map(n_labels, kind), cost, loss)


def test_exact_ties_go_to_the_first_act_and_a_label_goes_before_rejecting():
    quarters = PosteriorMap.of_two([[0.25, 0.5, 0.75]], ["a", "b"])
    assert decided(quarters, 0.25).rejected.tolist() == [[False, True, False]]
    assert decided(quarters, 0.5).rejected.tolist() == [[False] * 3]
    assert decided(quarters, 0.5).labels.tolist() == [["a", "a", "b"]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reject", [None, 0.4])
def test_a_loss_is_matched_by_name_in_any_order(kind, reject):
    loss = credo.Loss([[0, 3, 1], [2, 0, 5], [1, 1, 0]], ["land", "sky", "sea"], LABELS)
    loss = loss if reject is None else loss.with_reject(reject, "ask")
    check_like_rows(some_map(3, kind), loss, loss)


def test_a_loss_may_leave_out_labels_and_have_gains():
    loss = credo.Loss([[-2, 1], [0.5, -0.5]], ["sea", "sky"], ["sea", "?"], reject="?")
    check_like_rows(some_map(2), loss, loss)


def test_many_pixels_are_decided_block_by_block():
    second = np.random.default_rng(1).random((300, 801), dtype=np.float32)
    posterior = PosteriorMap.of_two(second, [-1, 1])
    loss = credo.Loss.class_costs({-1: 1, 1: 4}).with_reject(0.3)
    check_like_rows(posterior, loss, loss)
    check_like_rows(posterior, 0.3, credo.Loss.zero_one([-1, 1]).with_reject(0.3))


def test_sums_that_float32_left_off_one_are_divided_out():
    p = np.full((2, 2, 3), 1 / 3, dtype=np.float32)
    p[..., 0] += np.float32(9e-6)
    choice = decided(PosteriorMap(p, LABELS), 0.5)
    assert (choice.labels == "sky").all()
    assert choice.rejected.all()


def test_a_label_called_reject_is_no_obstacle():
    posterior = PosteriorMap.of_two([[0.1, 0.45]], ["keep", "reject"])
    assert decided(posterior, 0.2).rejected.tolist() == [[False, True]]


def test_labels_keep_their_type():
    assert decided(PosteriorMap.of_two([[0.1]], [0, 255]), 0.2).labels.dtype.kind == "i"
    mixed = PosteriorMap(np.full((1, 1, 3), 1 / 3), [0, "b", (1, 2)])
    loss = credo.Loss([[1], [1], [0]], mixed.labels, [(1, 2)])
    assert decided(mixed, loss).labels[0, 0] == (1, 2)


@pytest.mark.parametrize(
    ("loss", "error", "text"),
    [
        (-0.1, InputError, "segment, as a number, is the cost of rejecting a pixel: at least 0"),
        ("high", InputError, "The loss of segment must be a number"),
        (float("nan"), InputError, "must be finite"),
        (credo.Loss.zero_one(["sky", "see"]), LabelError, "differ in 'sea'"),
        (
            credo.Loss([[0, 1, 9], [1, 0, 9]], ["sky", "sea"], ["sky", "sea", "ask"]),
            LabelError,
            "the act 'ask' of the loss is neither a label",
        ),
        (
            credo.Loss.zero_one(["sky", "sea"]).per_row(np.zeros((1, 2, 2))),
            InputError,
            "one matrix",
        ),
    ],
    ids=["negative", "text", "nan", "truths", "act", "per row"],
)
def test_a_loss_that_does_not_fit_is_refused(loss, error, text):
    with pytest.raises(error, match=text):
        decided(some_map(2), loss)
