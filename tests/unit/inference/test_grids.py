"""``infer_grid``: its settings, extremes, and kernels as plain Python."""

import numpy as np
import pytest
from tests.speeds import both_speeds

import credo
from credo.exceptions import InputError
from credo.graphs import GridField, Ising, MarkovNetwork, Potts, TruncatedLinear, TruncatedQuadratic


def ising(shape=(6, 7), coupling=0.4, seed=0, **options):
    rng = np.random.default_rng(seed)
    return GridField.ising(rng.normal(size=shape), coupling, **options)


STRONG = GridField(np.random.default_rng(0).normal(size=(4, 4, 200)), TruncatedLinear(5.0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "sum"}, "method of infer_grid must be one of 'sum-product', 'max-product'"),
        ({"momentum": 0.0}, "share of the new message, at least 0.0001 and at most 1. Got 0.0"),
        ({"momentum": 1e-50}, "at least 0.0001 and at most 1. Got 1e-50"),
        ({"momentum": 1.5}, "at most 1. Got 1.5"),
        ({"sweeps": -1}, "sweeps"),
        ({"sweeps": 2.5}, "sweeps"),
        ({"schedule": "raster"}, "schedule of infer_grid must be one of"),
        ({"dtype": "float16"}, "dtype of infer_grid must be 'float64', 'float32' or None"),
        ({"threads": 0}, "threads"),
        ({"callback": 3}, "callback of infer_grid must be a function"),
        ({"tolerance": "small"}, "tolerance"),
        ({"field": MarkovNetwork()}, "infer_grid needs a GridField. Got MarkovNetwork"),
        ({"field": ising(neighbours=8), "schedule": "checkerboard"},
         "needs 4 neighbours. Got a field of 8"),
        ({"field": STRONG}, "differ by up to 995 in logs are too strong for sums"),
    ],
)  # fmt: skip
def test_bad_settings_are_named(options, message):
    with pytest.raises(InputError, match=message):
        credo.infer_grid(**{"field": ising(), **options})


def test_strong_smoothness_is_not_refused_for_maxima():
    found = credo.infer_grid(STRONG, sweeps=2, method="max-product")
    assert np.isfinite(found.posterior.probabilities).all()


def test_a_run_stops_where_nothing_moves():
    field = ising()
    found = credo.infer_grid(field, tolerance=1e-6, sweeps=500)
    assert found.energy == field.energy(found.best)
    assert found.status == "CONVERGED"
    assert found.sweeps == len(found.residuals) < 100
    assert found.residuals[-1] <= 1e-6 < found.residuals[-2]
    assert repr(found) == f"<GridPosterior: 6x7 pixels, {found.sweeps} sweeps, CONVERGED>"


@pytest.mark.parametrize("coupling", [0.9, 3.0, 20.0])
def test_certain_pixels_stay_certain_and_pull_their_neighbours(coupling):
    half = np.zeros((3, 3))
    half[1, 1] = np.inf
    field = GridField.ising(half, coupling)
    found = credo.infer_grid(field, sweeps=40, momentum=1.0)
    assert found.posterior.of(1)[1, 1] == 1.0
    exact = credo.infer(field)
    assert exact[1, 1][1] == 1.0
    assert (found.posterior.of(1) > 0.5).all()


def test_certain_pixels_that_disagree_do_not_overflow():
    half = np.where(np.indices((8, 8)).sum(axis=0) % 2, np.inf, -np.inf)
    found = credo.infer_grid(GridField.ising(half, 2.0), dtype="float32", sweeps=50)
    assert np.array_equal(found.best, np.sign(half))


@pytest.mark.parametrize(
    ("dtype", "taken", "refused"), [("float32", 5.0, 10.0), ("float64", 50.0, 100.0)]
)
def test_strong_edges_are_summed_without_overflow_or_refused(dtype, taken, refused):
    half = np.random.default_rng(1).normal(size=(9, 9))
    for coupling in (1.0, 3.0, taken):
        found = credo.infer_grid(GridField.ising(half, coupling), dtype=dtype, sweeps=30)
        assert np.isfinite(found.posterior.of(1)).all()
    with pytest.raises(InputError, match=f"too strong for messages in {dtype}"):
        credo.infer_grid(GridField.ising(half, refused), dtype=dtype)


def test_the_type_of_number_grows_with_the_strength():
    weak, strong = ising(coupling=0.5), ising(coupling=8.0)
    assert credo.infer_grid(weak, dtype=None).posterior.of(1).dtype == np.float32
    assert credo.infer_grid(strong, dtype=None).posterior.of(1).dtype == np.float64


def test_labels_that_are_impossible_stay_so_and_a_single_one_is_certain():
    only = credo.infer_grid(GridField(np.zeros((3, 4, 1)), Potts(1.0)), sweeps=3)
    assert (only.posterior.probabilities == 1).all()
    logs = np.zeros((3, 3, 3))
    logs[1, 1, :2] = -np.inf
    for method in ("sum-product", "max-product"):
        found = credo.infer_grid(GridField(logs, Potts(1.0)), method=method, sweeps=20)
        assert found.posterior.probabilities[1, 1].tolist() == [0, 0, 1]
        assert (found.best == 2).all()


def test_pictures_are_not_written_to():
    half = np.random.default_rng(0).normal(size=(5, 5))
    field = GridField.ising(half, 0.3)
    before = field.log_odds.copy()
    first = credo.infer_grid(field, sweeps=5)
    second = credo.infer_grid(field, sweeps=5)
    assert np.array_equal(field.log_odds, before)
    assert first.posterior == second.posterior


@pytest.mark.parametrize("schedule", ["flooding", "checkerboard", "sweep"])
@pytest.mark.parametrize("method", ["sum-product", "max-product"])
@pytest.mark.parametrize(
    ("labels", "smooth"),
    [
        (2, Ising(0.4)),
        (3, Potts([0.6, -0.4])),
        (3, TruncatedLinear(0.5, 1.5)),
        (5, TruncatedQuadratic(0.3, 5.0)),
    ],
    ids=str,
)
def test_plain_python_gives_the_same_bits(schedule, method, labels, smooth, monkeypatch):
    field = GridField(np.random.default_rng(5).normal(size=(4, 5, labels)), smooth)
    both_speeds(monkeypatch)
    credo.infer_grid(field, schedule=schedule, method=method, sweeps=3)
