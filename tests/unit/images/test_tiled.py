import math
import sys
import threading
from itertools import pairwise

import dask.array as da
import numpy as np
import pytest

import credo
from credo._threads import map_in_order
from credo.exceptions import InputError, LabelError, MissingExtraError, ShapeError
from credo.graphs import GridField
from credo.images import add_noise, denoise_dask, denoise_tiled, flip_map, portrait
from credo.images.tiff import let_go
from credo.inference import infer_grid

FACE = portrait(64)
NOISY = add_noise(FACE, 0.1, seed=0)
FIRST, SECOND = False, True
GIVEN = {"flip_probability": 0.1, "coupling": 0.8}


class Recorder:
    """An array that can only be sliced, and remembers how."""

    def __init__(self, array, fail_at=None):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        self.windows, self.threads, self.fail_at = [], set(), fail_at

    def __getitem__(self, window):
        self.windows.append(window)
        self.threads.add(threading.get_ident())
        if self.fail_at == len(self.windows):
            raise OSError("the disk is gone")
        return self.array[window].copy()

    def __setitem__(self, window, values):
        self.windows.append(window)
        self.threads.add(threading.get_ident())
        self.array[window] = values


def whole(image, sweeps=20, flips=0.1, coupling=0.8, **options):
    field = GridField.from_flips(image, flips, coupling)
    return infer_grid(field, sweeps=sweeps, dtype="float32", **options)


class TestAnswers:
    def test_pixels_not_observed_are_those_of_which_half_are_flipped(self):
        gaps = np.random.default_rng(1).random(NOISY.shape) < 0.3
        flips = np.where(gaps, 0.5, 0.1)
        found = denoise_tiled(NOISY, flip_probability=flips, coupling=0.8, tile=23)
        assert np.array_equal(found.image, credo.denoise(NOISY, 0.1, 0.8, mask=gaps).image)

    @pytest.mark.parametrize("sweeps", [1, 2, 20])
    def test_a_picture_in_tiles_is_restored_as_the_whole(self, sweeps):
        posterior = np.empty(NOISY.shape, np.float32)
        options = {"tile": 23, "threads": 2, "sweeps": sweeps, **GIVEN}
        found = denoise_tiled(NOISY, posterior=posterior, **options)
        expected = whole(NOISY, sweeps)
        assert np.array_equal(found.image, expected.best)
        assert np.array_equal(posterior, expected.posterior.of(SECOND))
        assert found.image.dtype == NOISY.dtype
        assert found.posterior is posterior
        assert (found.tiles, found.sweeps, found.labels) == (9, sweeps, (False, True))
        assert found.changed == np.count_nonzero(found.image != NOISY)
        field = GridField.from_flips(NOISY, 0.1, 0.8)
        energies = field.energy(NOISY), field.energy(found.image)
        assert found.energy == pytest.approx(energies, rel=1e-13)
        assert repr(found).startswith(f"<TiledRestoration: 64x64 pixels in 9 tiles, {sweeps} sw")

    @pytest.mark.parametrize(
        "shape", [(64, 64), (300, 700), (40, 3000), (3000, 40), (600, 257), (1, 70000)]
    )
    def test_estimates_are_those_of_denoise(self, shape):
        image = add_noise(np.resize(np.kron(FACE, np.ones((5, 5), bool)), shape), 0.12, seed=1)
        expected = credo.denoise(image, sweeps=3)
        found = denoise_tiled(image, sweeps=3, tile=200)
        assert found.flip_probability == expected.flip_probability
        assert found.coupling == expected.coupling
        assert np.array_equal(found.image, expected.image)

    def test_a_coupling_is_estimated_for_a_map_of_flips(self):
        flips = flip_map((300, 400), 0.1, kind="varying")
        picture = np.resize(np.kron(FACE, np.ones((5, 5), bool)), (300, 400))
        noisy = add_noise(picture, 0.1, kind="varying", seed=2)
        found = denoise_tiled(noisy, flip_probability=flips, tile=100, sweeps=5)
        assert found.coupling == credo.denoise(noisy, flips, sweeps=5).coupling
        assert found.flip_probability is flips

    def test_only_some_pixels_are_read_to_learn_from(self):
        source = Recorder(np.tile(NOISY, (20, 20)))
        denoise_tiled(source, sweeps=0, tile=1280)
        first, *sample, last = source.windows
        areas = [math.prod(s.stop - s.start for s in window) for window in sample]
        assert first == last
        assert areas == [32 * 32] * 64

    @pytest.mark.parametrize("flips", [0.0, 1.0, 0.5, 0.9])
    def test_energies_are_those_of_the_field_at_any_flip_probability(self, flips):
        found = denoise_tiled(NOISY, flip_probability=flips, coupling=(0.3, -0.2), tile=17)
        field = GridField.from_flips(NOISY, flips, (0.3, -0.2))
        assert found.energy.noisy == pytest.approx(field.energy(NOISY), rel=1e-12)
        assert found.energy.restored == pytest.approx(field.energy(found.image), rel=1e-12)

    def test_certain_pixels_of_a_map_stay(self):
        flips = np.full(NOISY.shape, 0.2)
        flips[20:30, 20:30] = 0
        found = denoise_tiled(NOISY, flip_probability=flips, coupling=0.8, tile=25)
        field = GridField.from_flips(NOISY, flips, 0.8)
        assert np.array_equal(found.image[20:30, 20:30], NOISY[20:30, 20:30])
        assert found.energy.noisy == pytest.approx(field.energy(NOISY), rel=1e-12)
        assert found.energy.restored == pytest.approx(field.energy(found.image), rel=1e-12)

    def test_values_are_those_of_the_image(self):
        for values in [(0, 255), (-1, 1), (3, 7)]:
            image = np.where(NOISY, values[1], values[0]).astype(np.int16)
            found = denoise_tiled(image, tile=30, **GIVEN)
            assert found.labels == values
            assert np.array_equal(found.image, np.where(whole(NOISY).best, *values[::-1]))

    def test_labels_may_be_given_in_another_order(self):
        posterior = np.empty(NOISY.shape, np.float32)
        found = denoise_tiled(NOISY, labels=(True, False), posterior=posterior, **GIVEN)
        turned = infer_grid(
            GridField.from_flips(NOISY, 0.1, 0.8, labels=(True, False)), sweeps=20, dtype="float32"
        )
        assert np.array_equal(posterior, turned.posterior.of(FIRST))
        assert np.array_equal(found.image, turned.best)

    def test_an_image_of_one_value_stays_it(self):
        found = denoise_tiled(np.full((30, 40), 255, np.uint8), tile=16, **GIVEN)
        assert found.labels == (0, 255)
        assert found.changed == 0
        assert (found.image == 255).all()

    def test_no_type_of_number_is_chosen_tile_by_tile(self):
        flips = np.full((40, 40), 0.1)
        flips[0, 0] = 0.0  # float32 would not do for this pixel with so strong a coupling
        image = NOISY[:40, :40]
        posterior = np.empty((40, 40))
        options = {"flip_probability": flips, "coupling": 9.0, "sweeps": 3}
        denoise_tiled(image, dtype=None, tile=8, posterior=posterior, **options)
        field = GridField.from_flips(image, flips, 9.0)
        expected = infer_grid(field, sweeps=3, dtype=None).posterior.of(SECOND)
        assert expected.dtype == np.float64
        assert np.array_equal(posterior, expected)
        with pytest.raises(InputError, match="too strong for messages in float32"):
            denoise_tiled(image, dtype="float32", tile=8, **options)

    def test_lists_are_images_too(self):
        assert denoise_tiled([[0, 1], [1, 1]], **GIVEN).image.tolist() == [[1, 1], [1, 1]]


class TestReadingAndWriting:
    def test_nothing_is_read_but_tiles_and_their_halos(self):
        source, target = Recorder(NOISY), Recorder(np.empty_like(NOISY))
        denoise_tiled(source, target, tile=16, sweeps=5, **GIVEN)
        sides = [side.stop - side.start for window in source.windows for side in window]
        assert max(sides) == 16 + 2 * (5 + 1)
        assert len(source.windows) == 2 * 16
        assert [(r.start, c.start) for r, c in target.windows] == [
            (row, column) for row in range(0, 64, 16) for column in range(0, 64, 16)
        ]
        assert np.array_equal(target.array, whole(NOISY, sweeps=5).best)

    def test_only_the_callers_thread_reads_and_writes(self):
        source, target = Recorder(NOISY), Recorder(np.empty_like(NOISY))
        flips = Recorder(np.full(NOISY.shape, 0.1))
        given = {"flip_probability": flips, "coupling": 0.8}
        denoise_tiled(source, target, tile=16, threads=3, **given)
        assert source.threads | target.threads | flips.threads == {threading.get_ident()}

    def test_files_in_memory_are_read_and_written(self, tmp_path):
        noisy = np.lib.format.open_memmap(tmp_path / "in.npy", "w+", np.uint8, (64, 64))
        noisy[:] = NOISY
        clean = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", np.uint8, (64, 64))
        posterior = np.lib.format.open_memmap(tmp_path / "p.npy", "w+", np.float32, (64, 64))
        denoise_tiled(noisy, clean, tile=20, posterior=posterior, threads=2, **GIVEN)
        clean.flush()
        posterior.flush()
        assert np.array_equal(np.load(tmp_path / "out.npy"), whole(NOISY).best)
        assert np.array_equal(np.load(tmp_path / "p.npy"), whole(NOISY).posterior.of(SECOND))

    def test_letting_go_loses_nothing(self, tmp_path):
        shared = np.memmap(tmp_path / "file", np.uint8, "w+", shape=(100, 100))
        shared[:] = 3
        private = np.memmap(tmp_path / "file", np.uint8, "c", shape=(100, 100))
        private[:] = 4
        for array in (shared, shared[10:20, 5:], private, private[3:], np.zeros(3), None):
            let_go(array)
        assert (shared == 3).all()
        assert (private == 4).all()

    def test_the_callback_counts_tiles(self):
        calls = []
        denoise_tiled(NOISY, tile=30, threads=2, callback=lambda *n: calls.append(n), **GIVEN)
        assert calls == [(i, 9) for i in range(1, 10)]

    def test_an_error_on_the_way_says_how_far_it_went(self):
        target = np.full(NOISY.shape, 7, np.uint8)
        source = Recorder(NOISY, fail_at=16 + 6)
        with pytest.raises(OSError, match="the disk is gone") as caught:
            denoise_tiled(source, target, tile=16, **GIVEN)
        assert caught.value.__notes__ == ["denoise_tiled has written 5 of 16 tiles, row by row."]
        assert np.array_equal(target[:16], whole(NOISY).best[:16])
        assert (target[16:, 16:] == 7).all()

    def test_a_callback_may_stop_it(self):
        def stop(done, _):
            if done == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt) as caught:
            denoise_tiled(NOISY, tile=16, threads=2, callback=stop, **GIVEN)
        assert caught.value.__notes__ == ["denoise_tiled has written 3 of 16 tiles, row by row."]


class TestRefusals:
    @pytest.mark.parametrize(("place", "value"), [((0, 0), 9), ((63, 63), 9), ((40, 17), 128)])
    def test_a_third_value_is_named_before_anything_is_written(self, place, value):
        image = np.where(NOISY, 255, 0).astype(np.uint8)
        image[place] = value
        target = np.full(NOISY.shape, 77, np.uint8)
        with pytest.raises(LabelError, match=r"Got .* at pixel ") as caught:
            denoise_tiled(image, target, tile=20, **GIVEN)
        assert (target == 77).all()
        if place != (0, 0):
            assert f"0, 255 and {value} at pixel {place}" in str(caught.value)

    def test_a_value_that_is_no_label_is_named(self):
        with pytest.raises(LabelError, match=r"Got 0, 1 and 255 at pixel \(0, \d+\)"):
            denoise_tiled(np.where(NOISY, 255, 0), labels=(0, 1), **GIVEN)

    def test_nan_is_named(self):
        image = NOISY.astype(float)
        image[33, 44] = np.nan
        with pytest.raises(
            LabelError, match=r"and nan at pixel \(33, 44\).*a flip_probability of 0.5"
        ):
            denoise_tiled(image, tile=20, **GIVEN)
        with pytest.raises(LabelError, match=r"Got nan at pixel \(0, 0\)"):
            denoise_tiled(np.full((3, 3), np.nan), **GIVEN)

    def test_masked_pixels_are_refused(self):
        image = np.ma.masked_array(NOISY, mask=FACE)
        with pytest.raises(InputError, match="masked pixels"):
            denoise_tiled(image, **GIVEN)

    @pytest.mark.parametrize("wrong", [-0.1, 1.1, np.nan])
    def test_a_wrong_flip_probability_of_a_map_is_named(self, wrong):
        flips = np.full(NOISY.shape, 0.1)
        flips[50, 3] = wrong
        with pytest.raises(InputError, match=r"between 0 and 1. Got .* at pixel \(50, 3\)"):
            denoise_tiled(NOISY, flip_probability=flips, coupling=0.8, tile=20)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"method": "graph-cut"}, "The method of denoise_tiled must be one of"),
            ({"momentum": 0.0}, "The momentum of denoise_tiled"),
            ({"sweeps": -1}, "The sweeps of denoise_tiled"),
            ({"tile": 0}, "The tile of denoise_tiled"),
            ({"threads": 0}, "The threads of denoise_tiled"),
            ({"dtype": "int8"}, "The dtype of denoise_tiled"),
            ({"neighbours": 6}, "neighbours"),
            ({"coupling": "guess"}, "The coupling of denoise_tiled must be one of 'estimate'"),
            ({"flip_probability": "guess"}, "The flip_probability of denoise_tiled must be one of"),
            ({"flip_probability": 1.5}, "The flip_probability of denoise_tiled must be between"),
            ({"flip_probability": np.ones((3, 3))}, "a map of shape"),
            ({"coupling": np.nan}, "coupling"),
            (
                {"coupling": (np.ones((1, 2)), np.ones((2, 1)))},
                "one for each direction. For one per edge",
            ),
            ({"target": np.empty((3, 3))}, "The target of denoise_tiled must have the shape"),
            ({"target": [[0]]}, "The target of denoise_tiled must be an array"),
            ({"posterior": np.empty((64, 64), np.uint8)}, "The posterior of denoise_tiled must"),
        ],
    )
    def test_wrong_settings_are_refused_before_the_image_is_read(self, options, message):
        source = Recorder(NOISY)
        with pytest.raises(InputError, match=message):
            denoise_tiled(source, **{**GIVEN, **options})
        assert not source.windows

    def test_a_target_that_does_not_hold_the_labels_is_refused(self):
        image = np.where(NOISY, 300, 0)
        with pytest.raises(InputError, match="must hold 0, 300. Got an array of uint8"):
            denoise_tiled(image, np.empty(NOISY.shape, np.uint8), **GIVEN)

    def test_a_read_only_target_is_refused(self):
        target = np.empty(NOISY.shape, bool)
        target.flags.writeable = False
        with pytest.raises(InputError, match="Got ndarray, which is read-only"):
            denoise_tiled(NOISY, target, **GIVEN)

    def test_what_is_read_is_not_written_to(self, tmp_path):
        image, flips = NOISY.astype(np.float32), np.full(NOISY.shape, 0.1, np.float32)
        file = np.memmap(tmp_path / "file", np.float32, "w+", shape=(64, 64))
        again = np.memmap(tmp_path / "file", np.float32, "r+", shape=(64, 64))
        file[:] = image
        before = image.copy()
        for source, target, posterior in [
            (image, image, None),
            (image, image[:], None),
            (image, None, image),
            (image, flips, None),
            (image, file, again),
            (file, again, None),
        ]:
            with pytest.raises(InputError, match="cannot write to an array that it reads"):
                denoise_tiled(
                    source, target, flip_probability=flips, coupling=0.8, posterior=posterior
                )
        assert np.array_equal(image, before)

    @pytest.mark.parametrize("shape", [(3,), (2, 2, 2), (0, 4)])
    def test_an_image_has_two_sides(self, shape):
        with pytest.raises(ShapeError, match=r"must have the shape \(height, width\)"):
            denoise_tiled(np.zeros(shape), **GIVEN)

    def test_text_is_no_image(self):
        with pytest.raises(InputError, match="booleans, whole numbers or floats"):
            denoise_tiled(np.array([["a", "b"]]), **GIVEN)

    def test_a_source_that_gives_something_else_is_told(self):
        class Liar(Recorder):
            def __getitem__(self, window):
                return self.array[window][:-1]

        with pytest.raises(ShapeError, match="asked its source for"):
            denoise_tiled(Liar(NOISY), **GIVEN)


class Counted:
    """A source for Dask that counts how often it is read."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.ndim = array, array.shape, array.dtype, 2
        self.reads = 0

    def __getitem__(self, window):
        self.reads += 1
        return self.array[window]


class TestDask:
    @pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
    @pytest.mark.parametrize("chunks", [64, 25, (64, 3), (1, 64), ((60, 4), (2, 2, 60))])
    def test_blocks_are_restored_as_the_whole(self, chunks, scheduler):
        blocks = da.from_array(NOISY, chunks=chunks)
        clean = denoise_dask(blocks, **GIVEN)
        sure = denoise_dask(blocks, posterior=True, **GIVEN)
        expected = whole(NOISY)
        assert np.array_equal(clean.compute(scheduler=scheduler), expected.best)
        assert np.array_equal(sure.compute(scheduler=scheduler), expected.posterior.of(SECOND))

    def test_nothing_is_computed_if_everything_is_given(self):
        source = Counted(NOISY)
        blocks = da.from_array(source, chunks=32, meta=np.empty((0, 0), bool))
        clean = denoise_dask(blocks, labels=(FIRST, SECOND), **GIVEN)
        assert source.reads == 0
        assert (clean.shape, clean.dtype) == (NOISY.shape, NOISY.dtype)
        clean.compute(scheduler="synchronous")
        assert source.reads > 0

    def test_a_graph_in_pieces_reads_only_what_it_needs(self):
        source = Counted(np.tile(NOISY, (4, 4)))
        blocks = da.from_array(source, chunks=64, meta=np.empty((0, 0), bool))
        clean = denoise_dask(blocks, labels=(FIRST, SECOND), **GIVEN)
        corner = clean[:10, :10].compute(scheduler="synchronous")
        assert source.reads == 4
        assert np.array_equal(corner, whole(source.array).best[:10, :10])

    def test_estimates_are_those_of_denoise(self):
        image = add_noise(np.kron(FACE, np.ones((6, 6), bool)), 0.12, seed=1)
        found = denoise_dask(da.from_array(image, chunks=(100, 300)), sweeps=5)
        assert np.array_equal(found.compute(), credo.denoise(image, sweeps=5).image)

    def test_a_map_may_be_any_array(self):
        flips = np.linspace(0.05, 0.3, NOISY.size).reshape(NOISY.shape)
        expected = whole(NOISY, flips=flips).best
        blocks = da.from_array(NOISY, chunks=20)
        for plane in (flips, da.from_array(flips, chunks=50), flips.tolist()):
            found = denoise_dask(blocks, flip_probability=plane, coupling=0.8)
            assert np.array_equal(found.compute(), expected)
        learnt = denoise_dask(blocks, flip_probability=flips).compute()
        assert np.array_equal(learnt, credo.denoise(NOISY, flips).image)

    def test_a_third_value_is_found_when_its_block_is_computed(self):
        image = NOISY.astype(np.uint8) * 2
        image[40, 50] = 1
        lazy = denoise_dask(da.from_array(image, chunks=32), **GIVEN)
        with pytest.raises(LabelError, match=r"Got 0, 2 and 1 at \(28, 38\) of a block"):
            lazy.compute(scheduler="synchronous")

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"image": NOISY}, "denoise_dask needs a Dask array. Got ndarray"),
            ({"image": da.zeros((2, 2, 2))}, "must have the shape"),
            ({"image": da.zeros((2, 2), dtype="c16")}, "booleans"),
            ({"image": da.zeros((9, 3))[da.ones(9) > 0]}, "compute_chunk_sizes"),
            ({"method": "graph-cut"}, "The method of denoise_dask"),
            ({"coupling": "guess"}, "The coupling of denoise_dask"),
            ({"labels": (1, 2, 3)}, "needs two numbers as labels"),
            ({"labels": "ab"}, "labels"),
            ({"flip_probability": da.full((64, 64), 2.0)}, "Got a map from 2 to 2"),
            ({"flip_probability": np.full((64, 64), np.nan)}, "Got a map from nan to nan"),
            ({"flip_probability": np.full((3, 3), 0.1)}, "a map of shape"),
        ],
    )
    def test_what_cannot_be_right_is_refused_at_once(self, change, message):
        options = {"image": da.from_array(NOISY, chunks=20), **GIVEN, **change}
        with pytest.raises(InputError, match=message):
            denoise_dask(options.pop("image"), **options)

    def test_without_dask_the_extra_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "dask.array", None)
        with pytest.raises(MissingExtraError, match=r"pip install 'credo\[dask\]'"):
            denoise_dask(NOISY)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_jobs_are_taken_only_as_they_are_needed(threads):
    taken, lead = [], []

    def jobs():
        for number in range(20):
            taken.append(number)
            yield number

    found = []
    for result in map_in_order(lambda number: number**2, jobs(), threads):
        found.append(result)
        lead.append(len(taken) - len(found))
    assert found == [number**2 for number in range(20)]
    assert max(lead) <= threads


def test_a_failing_job_ends_the_others():
    def work(number):
        if number == 4:
            raise ValueError("four")
        return number

    found = []
    with pytest.raises(ValueError, match="four"):
        found.extend(map_in_order(work, range(100), 2))
    assert all(a < b for a, b in pairwise(found))
    assert max(found, default=0) < 4
