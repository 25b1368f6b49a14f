"""``infer_grid``: messages as every pair of labels gives them; settings, extremes."""

import itertools
import math

import numpy as np
import pytest
from tests.oracles import grids as oracle

import credo
from credo.exceptions import InputError
from credo.graphs import GridField, MarkovNetwork, Potts, TruncatedLinear, TruncatedQuadratic

KINDS = {"potts": Potts, "linear": TruncatedLinear, "quadratic": TruncatedQuadratic}
LIMITS = (0.3, 1.0, 1.5, 3.7, 4.0, 16.5, math.inf)
#: Shares of the most that sums can bear: hardly any decay, as good as none left, and between.
SHARES = np.array([0.0, 1e-17, 1e-12, 1e-5, 1e-3, 0.03, 0.3, 1.0])


def smoothness(kind, strength, limit):
    return Potts(strength) if kind == "potts" else KINDS[kind](strength, limit)


def heard(kind, logs, s, limit, *, maximum=False, eta=1.0, dtype="float64"):
    """Return what the right pixels hear after a sweep; rows say nothing to each other."""
    nodes = np.zeros((len(s), 2, logs.shape[1]))
    nodes[:, 0] = logs
    strength = [np.zeros((len(s) - 1, 2)), np.reshape(s, (-1, 1))]
    method = "max-product" if maximum else "sum-product"
    field = GridField(nodes, smoothness(kind, strength, limit))
    found = credo.infer_grid(field, method=method, sweeps=1, momentum=eta, dtype=dtype)
    return found.posterior.probabilities[:, 1]


def strengths(kind, k, limit, most):
    """Return strengths such that labels differ by so much in logs."""
    return SHARES * most / min(oracle.difference(kind, 0, k - 1), limit if kind != "potts" else 1)


def positive(rng, n, k, decades):
    """Return logs that span some decades; one in five is -inf, but never all of a pixel."""
    logs = rng.uniform(-decades * math.log(10), 0, size=(n, k))
    logs[rng.random((n, k)) < 0.2] = -math.inf
    logs[range(n), rng.integers(k, size=n)] = 0.0
    return logs


def assert_sums(kind, logs, s, limit, found, *, eta=1.0, dtype=np.float64):
    """Compare with the oracle, within what is promised and a few roundings of the belief."""
    unit, k = np.finfo(dtype).eps / 2, logs.shape[1]
    least = 1e-290 if dtype == np.float64 else 1e-36
    reach = oracle.reach_of(kind, k, limit)
    sizes = {"potts": 2 * (k + 6), "linear": 10 * (k + 2)}
    bound = (sizes.get(kind, 2 * (reach**2 + 2 * k + 4)) + 12) * unit
    decay, floor = np.exp(-s), np.exp(-s * limit) if limit < math.inf else 0 * s
    for row, d, f, belief in zip(
        np.exp(logs).astype(dtype), decay.astype(dtype), floor.astype(dtype), found, strict=True
    ):
        new = oracle.new_sum(kind, row.astype(float).tolist(), float(d), float(f))
        wanted = oracle.mixed(new, [1 / k] * k, eta)
        np.testing.assert_allclose(belief, wanted, rtol=bound, atol=least)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [3, 5, 13])
class TestMessages:
    @pytest.mark.parametrize(
        ("dtype", "eta", "most", "decades"),
        [
            (np.float64, 1.0, 200.0, 1),
            (np.float64, 1.0, 200.0, 150),
            (np.float64, 0.3, 5.0, 3),
            (np.float32, 1.0, 20.0, 10),
        ],
    )
    def test_sums_are_as_exact_as_promised(self, kind, k, dtype, eta, most, decades):
        rng = np.random.default_rng(k)
        for limit in LIMITS:
            s = strengths(kind, k, limit, most)
            logs = positive(rng, len(s), k, decades)
            found = heard(kind, logs, s, limit, eta=eta, dtype=dtype)
            assert found.dtype == dtype
            assert_sums(kind, logs, s, limit, found, eta=eta, dtype=dtype)

    @pytest.mark.parametrize("eta", [1.0, 0.3])
    def test_maxima_are_those_of_all_pairs(self, kind, k, eta):
        rng = np.random.default_rng(k)
        for limit, width, dtype in itertools.product(
            LIMITS, (1.0, 100.0), (np.float64, np.float32)
        ):
            s = strengths(kind, k, limit, 300.0)
            logs = width * rng.normal(size=(len(s), k)) - 70
            logs[rng.random(logs.shape) < 0.2] = -math.inf
            logs[:, k // 2] = 0.1
            found = heard(kind, logs, s, limit, maximum=True, eta=eta, dtype=dtype)
            size = 6 * width + 70 + 300
            for row, strength, belief in zip(logs, s, found, strict=True):
                new = np.array(oracle.new_max(kind, row.tolist(), float(strength), limit))
                wanted = np.exp(eta * new)
                bound = 4 * (k + 2) * float(np.finfo(dtype).eps) * size
                np.testing.assert_allclose(belief, wanted / wanted.sum(), rtol=bound, atol=1e-30)


@pytest.mark.parametrize("k", [3, 11])
def test_ends_that_want_to_differ_hear_what_a_likely_label_would_hide(k):
    """One label may outweigh the others by hundreds of decades."""
    rng, s = np.random.default_rng(k), -200.0 * SHARES
    logs = positive(rng, len(s), k, 150)
    assert_sums("potts", logs, s, math.inf, heard("potts", logs, s, math.inf))
    for eta in (1.0, 0.3):
        found = heard("potts", logs, s, math.inf, maximum=True, eta=eta)
        for row, strength, belief in zip(logs, s, found, strict=True):
            wanted = np.exp(eta * np.array(oracle.new_max("potts", row.tolist(), strength, 1.0)))
            np.testing.assert_allclose(belief, wanted / wanted.sum(), rtol=1e-10, atol=1e-290)


def test_one_edge_that_repels_changes_no_other():
    rng = np.random.default_rng(0)
    logs, s = rng.normal(size=(50, 7)), rng.exponential(size=50)
    other = np.where(np.arange(50) == 20, -2.0, s)
    for maximum in (False, True):
        before, after = (heard("potts", logs, x, 1.0, maximum=maximum) for x in (s, other))
        np.testing.assert_array_equal(np.delete(after, 20, 0), np.delete(before, 20, 0))
        assert (after[20] != before[20]).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("limit", [3.5, math.inf])
def test_a_part_of_a_picture_has_the_bits_of_the_whole(kind, dtype, maximum, limit):
    """Pixels are computed together, smooth ones and rough ones, and it must not show."""
    rng = np.random.default_rng(0)
    logs = -0.05 * (np.arange(14) - rng.uniform(0, 14, (3, 2500, 1))) ** 2
    logs[:, 1200:] -= 50 * rng.random((3, 1300, 14)) * (rng.random((3, 1300, 14)) < 0.9)
    options = {"method": "max-product" if maximum else "sum-product", "dtype": dtype, "sweeps": 2}

    def beliefs(logs):
        field = GridField(logs, smoothness(kind, 0.05, limit))
        return credo.infer_grid(field, **options).posterior.probabilities

    whole = beliefs(logs)
    for begin, end in ((0, 7), (300, 1350), (1020, 1029), (1100, 1300), (2100, 2500)):
        low, high = max(0, begin - 2), min(2500, end + 2)
        part = beliefs(logs[:, low:high])
        inner = slice(begin - low, end - low)
        np.testing.assert_array_equal(part[:, inner], whole[:, begin:end])


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
