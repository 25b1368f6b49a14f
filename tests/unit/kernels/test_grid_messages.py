"""Messages between neighbours of a grid against every pair of labels, and bit by bit."""

import importlib
import itertools
import math

import numpy as np
import pytest
from tests.oracles import grid_messages as oracle
from tests.speeds import plain_kernels

KINDS = oracle.KINDS
LABELS = (*range(1, 21), 64)
LIMITS = (0.3, 1.0, 1.5, 2.0, 3.7, 4.0, 9.0, 16.5, 30.0, math.inf)
#: Hardly any decay, as good as none left, and between.
STRENGTHS = (0.0, 1e-17, 1e-12, 1e-3, 0.1, 1.0, 3.0, 30.0, 300.0, 700.0)


@pytest.fixture(params=["compiled", "plain"])
def sends(request, monkeypatch):
    if request.param == "plain":
        plain_kernels(monkeypatch)
    return importlib.import_module("credo._kernels.grid_messages")


@pytest.fixture
def compiled():
    return importlib.import_module("credo._kernels.grid_messages")


def scratch(sends, q):
    """Scratch that nobody has cleaned."""
    return np.full((sends.work_rows(len(q)), q.shape[1]), np.nan, q.dtype)


def sum_of(sends, kind, q, s, limit, *, eta, old):
    """Give the message after sending, from copies; also decay and floor."""
    q, message, s = q.copy(), old.astype(q.dtype), np.asarray(s, float)
    decay = np.exp(-s).astype(q.dtype)
    floor = (np.exp(-s * limit) if limit < math.inf else 0 * s).astype(q.dtype)
    reach = oracle.reach_of(kind, len(q), limit)
    work = scratch(sends, q)
    eta = q.dtype.type(eta)
    if len(q) > 1 and (kind == "potts" or reach == 0):
        sends.send_potts_sum(q, decay if kind == "potts" else floor, eta, message, work)
    elif len(q) == 1 or (kind == "linear" and reach >= len(q) - 1):
        sends.send_linear_sum(q, decay, eta, message, work)
    elif kind == "linear":
        sends.send_cut_linear_sum(q, decay, floor, reach, eta, message, work)
    else:
        sends.send_quadratic_sum(q, decay, floor, reach, eta, message, work)
    return message, decay, floor


def max_of(sends, kind, logs, s, limit, *, eta, old):
    """Give the message after sending, from copies."""
    logs, message = logs.copy(), old.astype(logs.dtype)
    slope, work = np.asarray(s, logs.dtype), scratch(sends, logs)
    eta = logs.dtype.type(eta)
    if kind == "potts":
        sends.send_potts_max(logs, slope, eta, message, work)
    elif kind == "linear":
        sends.send_linear_max(logs, slope, limit, eta, message, work)
    else:
        sends.send_quadratic_max(logs, slope, limit, eta, message, work)
    return message


def old_of(rng, k, n):
    """Some message to start from."""
    return rng.dirichlet(np.ones(k), size=n).T.copy()


def positive(rng, k, n, decades):
    """Numbers that span some decades; one in five is zero, but never all of a pixel."""
    q = 10.0 ** rng.uniform(-decades, 0, size=(k, n))
    q[rng.random((k, n)) < 0.2] = 0.0
    q[rng.integers(k, size=n), range(n)] = 10.0 ** rng.uniform(-decades, 0, size=n)
    return q


def bound_of(kind, k, reach, unit):
    """The relative error that grid_sums promises, and that of the oracle, three units."""
    sizes = {
        "potts": 2 * (k + 6),
        "linear": 10 * (k + 2),
        "quadratic": 2 * (reach**2 + 2 * k + 4),
    }
    return (sizes[kind] + 3) * unit


def assert_promised(kind, q, limit, result, *, unit, least):
    """Compare new messages of all pixels with the oracle's."""
    new, decay, floor = result
    bound = bound_of(kind, len(q), oracle.reach_of(kind, len(q), limit), unit)
    for p in range(q.shape[1]):
        wanted = oracle.new_sum(kind, q[:, p].tolist(), float(decay[p]), float(floor[p]))
        np.testing.assert_allclose(new[:, p], wanted, rtol=bound, atol=least)
    assert (new >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
class TestSums:
    @pytest.mark.parametrize("k", LABELS)
    @pytest.mark.parametrize("decades", [1, 300])
    def test_are_as_exact_as_promised(self, compiled, kind, k, decades):
        rng = np.random.default_rng(k)
        n = len(STRENGTHS)
        for limit in LIMITS:
            q = positive(rng, k, n, decades)
            result = sum_of(compiled, kind, q, STRENGTHS, limit, eta=1.0, old=old_of(rng, k, n))
            assert_promised(kind, q, limit, result, unit=2.0**-53, least=1e-290)

    @pytest.mark.parametrize("k", [1, 2, 3, 8, 17])
    def test_are_so_in_single_precision(self, compiled, kind, k):
        rng = np.random.default_rng(k)
        strengths = STRENGTHS[:7]
        for limit in LIMITS:
            q = positive(rng, k, len(strengths), 30).astype(np.float32)
            old = old_of(rng, k, len(strengths))
            result = sum_of(compiled, kind, q, strengths, limit, eta=1.0, old=old)
            assert result[0].dtype == np.float32
            assert_promised(kind, q, limit, result, unit=2.0**-24, least=1e-36)

    def test_hold_for_many_labels_and_any_reach(self, compiled, kind):
        k, rng = 200, np.random.default_rng(0)
        for limit in (2.0, 7.3, 100.5, 199.0, 4e4, math.inf):
            q = positive(rng, k, 2, 200)
            result = sum_of(compiled, kind, q, [1e-4, 0.3], limit, eta=1.0, old=old_of(rng, k, 2))
            assert_promised(kind, q, limit, result, unit=2.0**-53, least=1e-290)

    @pytest.mark.parametrize("eta", [1.0, 0.3])
    def test_are_mixed_with_the_old_message(self, sends, kind, eta):
        rng = np.random.default_rng(1)
        for k, limit in itertools.product((1, 2, 5, 9), (0.5, 2.0, 4.5, math.inf)):
            q, old, s = rng.random((k, 3)), old_of(rng, k, 3), rng.exponential(size=3)
            message, decay, floor = sum_of(sends, kind, q, s, limit, eta=eta, old=old)
            for p in range(3):
                new = oracle.new_sum(kind, q[:, p].tolist(), decay[p], floor[p])
                wanted = oracle.mixed(new, old[:, p], eta)
                np.testing.assert_allclose(message[:, p], wanted, rtol=1e-13)
            np.testing.assert_allclose(message.sum(axis=0), 1.0, rtol=1e-14)

    def test_take_q_at_any_scale(self, compiled, kind):
        rng = np.random.default_rng(2)
        q, old, s = positive(rng, 12, 40, 5), old_of(rng, 12, 40), rng.exponential(size=40)
        first = sum_of(compiled, kind, q, s, 6.0, eta=0.5, old=old)[0]
        for scale in (2.0**-900, 2.0**800):
            again = sum_of(compiled, kind, q * scale, s, 6.0, eta=0.5, old=old)[0]
            np.testing.assert_array_equal(again, first)

    def test_say_nothing_where_nothing_is_known(self, sends, kind):
        """Products that have underflowed at every label must not end in NaN."""
        q = np.random.default_rng(3).random((6, 5))
        q[:, 3] = 0.0
        old = np.full((6, 5), 1 / 6)
        for limit in (0.5, 3.0, math.inf):
            message = sum_of(sends, kind, q, np.ones(5), limit, eta=1.0, old=old)[0]
            ones = np.ones((6, 5))
            same = sum_of(sends, kind, ones, np.ones(5), limit, eta=1.0, old=old)[0]
            np.testing.assert_array_equal(message[:, 3], same[:, 3])
            np.testing.assert_allclose(message.sum(axis=0), 1.0, rtol=1e-15)


class TestRepulsion:
    """Potts edges whose ends want to differ."""

    @pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 11, 64])
    def test_sums_are_as_exact_as_promised(self, compiled, k):
        """The other labels must be heard beside one that outweighs them by hundreds of decades."""
        rng = np.random.default_rng(k)
        s = -np.array(STRENGTHS)
        q = positive(rng, k, s.size, 300)
        result = sum_of(compiled, "potts", q, s, math.inf, eta=1.0, old=old_of(rng, k, s.size))
        assert_promised("potts", q, math.inf, result, unit=2.0**-53, least=1e-290)

    def test_of_one_pixel_changes_no_other(self, compiled):
        rng = np.random.default_rng(0)
        q, old, s = rng.random((7, 50)), old_of(rng, 7, 50), rng.exponential(size=50)
        logs, mixed = np.log(q), s.copy()
        mixed[20] = -2.0
        others = np.arange(50) != 20
        for send, given in ((sum_of, q), (max_of, logs)):
            before = send(compiled, "potts", given, s, math.inf, eta=0.5, old=old)
            after = send(compiled, "potts", given, mixed, math.inf, eta=0.5, old=old)
            before, after = (x[0] if send is sum_of else x for x in (before, after))
            np.testing.assert_array_equal(after[:, others], before[:, others])
            assert (after[:, 20] != before[:, 20]).any()


def assert_maxima(kind, logs, s, limit, message, *, eta, old, unit):
    """Compare messages of all pixels with the oracle's, up to what adding up costs rounds off."""
    k = len(logs)
    for p in range(logs.shape[1]):
        finite = logs[:, p][np.isfinite(logs[:, p])]
        highest = abs(s[p]) * min(oracle.difference(kind, 0, k - 1), limit)
        size = np.abs(finite).max() + highest + np.abs(old[:, p]).max()
        wanted = oracle.mixed(
            oracle.new_max(kind, logs[:, p].tolist(), float(s[p]), limit), old[:, p], eta
        )
        np.testing.assert_allclose(message[:, p], wanted, rtol=0, atol=2 * (k + 2) * unit * size)


@pytest.mark.parametrize("kind", KINDS)
class TestMaxima:
    @pytest.mark.parametrize("k", LABELS)
    def test_are_those_of_all_pairs(self, compiled, kind, k):
        rng, eta = np.random.default_rng(k), (1.0, 0.3)[k % 2]
        s, n = np.array(STRENGTHS), len(STRENGTHS)
        for limit, width in itertools.product(LIMITS, (1.0, 1000.0)):
            logs, old = width * rng.normal(size=(k, n)), rng.normal(size=(k, n))
            logs[rng.random((k, n)) < 0.2] = -math.inf
            logs[rng.integers(k, size=n), range(n)] = 0.1
            message = max_of(compiled, kind, logs, s, limit, eta=eta, old=old)
            assert_maxima(kind, logs, s, limit, message, eta=eta, old=old, unit=2.0**-53)

    def test_have_zero_as_their_largest_entry(self, sends, kind):
        rng = np.random.default_rng(0)
        for k, limit in itertools.product((1, 2, 3, 6, 11), (0.5, 4.0, math.inf)):
            s = rng.exponential(size=4) * (rng.choice([-1, 1], size=4) if kind == "potts" else 1)
            logs = 5 * rng.normal(size=(k, 4)) - 70
            old = rng.normal(size=(k, 4))
            message = max_of(sends, kind, logs, s, limit, eta=1.0, old=old)
            assert_maxima(kind, logs, s, limit, message, eta=1.0, old=old, unit=2.0**-53)
            np.testing.assert_array_equal(message.max(axis=0), 0.0)

    def test_in_single_precision_are_near(self, compiled, kind):
        rng = np.random.default_rng(1)
        for k, limit in itertools.product((2, 7, 40), (1.5, 20.0, math.inf)):
            logs = (10 * rng.normal(size=(k, 30))).astype(np.float32)
            s = rng.exponential(size=30).astype(np.float32)
            old = rng.normal(size=(k, 30)).astype(np.float32)
            message = max_of(compiled, kind, logs, s, limit, eta=np.float32(0.3), old=old)
            assert message.dtype == np.float32
            wide = logs.astype(float)
            assert_maxima(kind, wide, s, limit, message, eta=0.3, old=old, unit=2.0**-24)

    def test_of_smooth_pixels_and_rough_ones_do_not_mix(self, compiled, kind):
        """How far it pays to look is found for all pixels at once, and must not show."""
        rng = np.random.default_rng(2)
        smooth = -0.01 * (np.arange(50.0)[:, None] - 50 * rng.random(6)) ** 2
        rough = np.where(rng.random((50, 6)) < 0.1, 0.0, -1e4 * rng.random((50, 6)))
        both, old = np.concatenate([smooth, rough], axis=1), np.zeros((50, 12))
        s = np.full(12, 0.07)
        for dtype, limit in itertools.product((np.float32, np.float64), (300.0, math.inf)):
            whole = max_of(compiled, kind, both.astype(dtype), s, limit, eta=1.0, old=old)
            alone = max_of(
                compiled, kind, smooth.astype(dtype), s[:6], limit, eta=1.0, old=old[:, :6]
            )
            np.testing.assert_array_equal(whole[:, :6], alone)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
class TestBits:
    """A pixel's message is the same wherever it stands, and in plain Python."""

    def inputs(self, kind, dtype, k, n):
        rng = np.random.default_rng([k, n])
        q, s = positive(rng, k, n, 12).astype(dtype), rng.exponential(size=n)
        if kind == "potts":
            s *= rng.choice([-1, 1, 1, 1], size=n)
        with np.errstate(divide="ignore"):
            logs = np.log(q)
        return q, logs, s, old_of(rng, k, n).astype(dtype)

    def messages(self, sends, kind, inputs, limit, pieces):
        """Send the pixels piece by piece; give all messages side by side."""
        for begin, end in itertools.pairwise(pieces):
            q, logs, s, old = (np.ascontiguousarray(x[..., begin:end]) for x in inputs)
            yield np.concatenate(
                [
                    sum_of(sends, kind, q, s, limit, eta=0.3, old=old)[0],
                    max_of(sends, kind, logs, s, limit, eta=0.3, old=old),
                ]
            )

    @pytest.mark.parametrize("limit", [3.5, 10.0, math.inf])
    def test_do_not_depend_on_how_pixels_are_grouped(self, compiled, kind, dtype, limit):
        inputs = self.inputs(kind, dtype, 14, 2500)
        (whole,) = self.messages(compiled, kind, inputs, limit, [0, 2500])
        for pieces in ([0, 1, 2, 5, 12, 29, 300, 1023, 2050, 2500], range(0, 2501, 100)):
            parts = self.messages(compiled, kind, inputs, limit, pieces)
            np.testing.assert_array_equal(np.concatenate(list(parts), axis=1), whole)

    def test_are_those_of_plain_python(self, compiled, monkeypatch, kind, dtype):
        cases = list(itertools.product((1, 2, 5, 13), (0.5, 3.0, 6.5, math.inf)))
        inputs = {k: self.inputs(kind, dtype, k, 7) for k, _ in cases}
        fast = [next(self.messages(compiled, kind, inputs[k], x, [0, 7])) for k, x in cases]
        plain_kernels(monkeypatch)
        plain = importlib.import_module("credo._kernels.grid_messages")
        for (k, limit), wanted in zip(cases, fast, strict=True):
            (found,) = self.messages(plain, kind, inputs[k], limit, [0, 7])
            np.testing.assert_array_equal(found, wanted)


def test_no_pixels_are_no_trouble(sends):
    for kind in KINDS:
        q = np.empty((3, 0))
        assert sum_of(sends, kind, q, [], 2.0, eta=1.0, old=q)[0].shape == (3, 0)
        assert max_of(sends, kind, q, [], 2.0, eta=1.0, old=q).shape == (3, 0)


class Counted(np.ndarray):
    """An array that counts how often it is read."""

    reads = 0

    def __getitem__(self, place):
        Counted.reads += 1
        return super().__getitem__(place)


class TestEffort:
    """How often q is read, by kernels that run as plain Python."""

    @pytest.fixture
    def reads(self, monkeypatch):
        plain_kernels(monkeypatch)
        plain = importlib.import_module("credo._kernels.grid_messages")

        def count(kind, k, limit):
            rng = np.random.default_rng(0)
            q, s, old = rng.random((k, 4)), np.full(4, 0.01), np.full((k, 4), 1 / k)
            counts = []
            for send, given in ((sum_of, q), (max_of, 50 * q)):
                Counted.reads = 0
                send(plain, kind, given.view(Counted), s, limit, eta=0.5, old=old)
                counts.append(Counted.reads)
            return np.array(counts)

        return count

    @pytest.mark.parametrize("kind", ["potts", "linear"])
    @pytest.mark.parametrize("limit", [4.0, math.inf])
    def test_grows_with_the_labels(self, reads, kind, limit):
        assert (reads(kind, 16, limit) > 0).all()
        assert (reads(kind, 128, limit) < 2.2 * reads(kind, 64, limit)).all()

    def test_of_linear_edges_does_not_grow_with_the_reach(self, reads):
        few, many = reads("linear", 60, 2.0), reads("linear", 60, 40.0)
        assert (many <= 1.1 * few).all()

    def test_of_quadratic_edges_grows_with_the_reach(self, reads):
        few, many = reads("quadratic", 60, 5.0), reads("quadratic", 60, 400.0)
        assert (many > 3 * few).all()
        assert (reads("quadratic", 120, 5.0) < 2.2 * few).all()
