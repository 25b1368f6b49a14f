"""Messages between neighbours of a grid against every pair of labels, and bit by bit.

Rows of two pixels, of which the left one knows something and the right one hears it.
"""

import itertools
import math

import numpy as np
import pytest
from tests.oracles import grid_messages as oracle

import credo
from credo.graphs import GridField, Potts, TruncatedLinear, TruncatedQuadratic

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
@pytest.mark.parametrize("k", [3, 4, 5, 8, 13, 64])
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


@pytest.mark.parametrize("k", [3, 4, 11, 64])
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
@pytest.mark.parametrize("limit", [3.5, 60.0, math.inf])
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
