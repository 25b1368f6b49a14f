"""Fields on grids and belief propagation on them, as slow and as plain as can be, in float64.

``energy`` and ``joint`` are the definition, by loops over pixels and joint states. ``Grid`` passes
messages by any schedule, one small vector for each directed edge:

    m_pq(b) = sum_a psi_pq(a, b) phi_p(a) prod_{o in N(p) - q} m_op(a)      (or max_a)

``restored`` is the lecture's: signs on a square grid, messages as planes of 2-vectors, all at once,
which is fast enough for pictures. Momentum eta multiplies the new message. ``new_sum`` and
``new_max`` are one message as a list over labels, every pair of labels one after the other.
"""

import itertools
import math
import os
from pathlib import Path

import numpy as np
from PIL import Image

#: The unit log potential of positions a and b, by the name of the smoothness.
UNITS = {
    "Ising": lambda a, b, _: 1.0 if a == b else -1.0,
    "Potts": lambda a, b, _: 1.0 if a == b else 0.0,
    "TruncatedLinear": lambda a, b, limit: -min(abs(a - b), limit),
    "TruncatedQuadratic": lambda a, b, limit: -min((a - b) ** 2, limit),
}


# --- fields -----------------------------------------------------------------------------------


def edges(shape, neighbours):
    """Per axis a list of (entry, lower pixel, upper pixel), in row-major order."""
    found = [_straight(shape, axis) for axis in range(len(shape))]
    if neighbours == 8:
        height, width = shape
        places = list(itertools.product(range(height - 1), range(width - 1)))
        found.append([((r, c), (r, c), (r + 1, c + 1)) for r, c in places])
        found.append([((r, c), (r, c + 1), (r + 1, c)) for r, c in places])
    return found


def _straight(shape, axis):
    found = []
    for pixel in itertools.product(*map(range, shape)):
        upper = tuple(p + (i == axis) for i, p in enumerate(pixel))
        if upper[axis] < shape[axis]:
            found.append((pixel, pixel, upper))
    return found


def strength_at(strength, axis, entry):
    """The strength of an edge: one for all, one per axis, or one per edge."""
    if isinstance(strength, (int, float)):
        return float(strength)
    along = strength[axis]
    return float(along) if np.ndim(along) == 0 else float(along[entry])


def energy(positions, logs, kind, strength, *, limit=math.inf, neighbours=4):
    """U of a map of positions: a term per pixel and a term per edge, added one by one."""
    shape = logs.shape[:-1]
    total = 0.0
    for pixel in itertools.product(*map(range, shape)):
        total += float(logs[pixel][positions[pixel]])
    for axis, along in enumerate(edges(shape, neighbours)):
        for entry, lower, upper in along:
            unit = UNITS[kind](int(positions[lower]), int(positions[upper]), limit)
            total += strength_at(strength, axis, entry) * unit
    return total


def joint(logs, kind, strength, *, limit=math.inf, neighbours=4):
    """``exp(U)`` of every map; one axis per pixel, in row-major order."""
    shape, k = logs.shape[:-1], logs.shape[-1]
    n = math.prod(shape)
    table = np.empty((k,) * n)
    for state in itertools.product(range(k), repeat=n):
        positions = np.reshape(state, shape)
        table[state] = math.exp(
            energy(positions, logs, kind, strength, limit=limit, neighbours=neighbours)
        )
    return table


def marginals(table):
    """p(pixel = label), one row per pixel."""
    axes = range(table.ndim)
    rows = [table.sum(axis=tuple(a for a in axes if a != i)) for i in axes]
    return np.array(rows) / table.sum()


# --- messages ---------------------------------------------------------------------------------


def as_probabilities(logs):
    """Exponentials that sum to one."""
    values = np.exp(logs - np.max(logs))
    return values / values.sum()


class Grid:
    """A picture's messages: ``messages[p, q]`` are logs, what pixel p says to its neighbour q.

    The field is given as to ``energy``. Messages are mixed as numbers that sum to one, or as logs
    whose largest is zero. A residual is the largest change of a message before it is mixed, both
    the new and the old one written as probabilities.
    """

    def __init__(self, logs, kind, strength, *, limit, neighbours, maximum, in_logs):
        self.logs, self.maximum, self.in_logs = logs, maximum, in_logs
        self.shape, self.k = logs.shape[:-1], logs.shape[-1]
        self.around = {p: [] for p in itertools.product(*map(range, self.shape))}
        self.tables = {}
        unit = np.array([[UNITS[kind](a, b, limit) for b in range(self.k)] for a in range(self.k)])
        for axis, along in enumerate(edges(self.shape, neighbours)):
            for entry, p, q in along:
                self.tables[p, q] = self.tables[q, p] = strength_at(strength, axis, entry) * unit
                self.around[q].append(p)
                self.around[p].append(q)
        self.messages = {edge: np.zeros(self.k) for edge in self.tables}

    def heard(self, p, but=None):
        """The logs of the node potential times all messages to a pixel, but one."""
        return self.logs[p] + sum(self.messages[o, p] for o in self.around[p] if o != but)

    def computed(self, p, q):
        """The message from p to q, from those that there are now."""
        logs = self.heard(p, but=q)[:, None] + self.tables[p, q]
        return logs.max(axis=0) if self.maximum else np.logaddexp.reduce(logs, axis=0)

    def mixed(self, new, old, eta):
        """Eta of the new message and the rest of the old one."""
        if self.in_logs:
            return eta * (new - new.max()) + (1 - eta) * (old - old.max())
        with np.errstate(divide="ignore"):
            return np.log(eta * as_probabilities(new) + (1 - eta) * as_probabilities(old))

    def step(self, sent, eta):
        """Replace some messages, all computed before the first is replaced; give the change."""
        fresh, change = {}, 0.0
        for edge in sent:
            new, old = self.computed(*edge), self.messages[edge]
            away = np.abs(as_probabilities(new) - as_probabilities(old)).max()
            change = max(change, float(away))
            fresh[edge] = self.mixed(new, old, eta)
        self.messages.update(fresh)
        return change

    def steps(self, schedule):
        """The messages that are sent together, step by step.

        A sweep goes along each dimension forwards, slice by slice, and back: slice s says what it
        has to say to slice s + 1, which then goes on from there.
        """
        every = list(self.messages)
        if schedule == "flooding":
            yield every
        elif schedule == "checkerboard":
            for odd in (0, 1):
                yield [(p, q) for p, q in every if sum(p) % 2 == odd]
        else:
            for d, size in enumerate(self.shape):
                ways = itertools.chain(
                    ((s, s + 1) for s in range(size - 1)),
                    ((s, s - 1) for s in range(size - 1, 0, -1)),
                )
                for s, t in ways:
                    yield [(p, q) for p, q in every if (p[d], q[d]) == (s, t)]

    def sweeps(self, count, eta, schedule):
        """Sweep so many times by a schedule; give the residuals."""
        return [
            max((self.step(sent, eta) for sent in self.steps(schedule)), default=0.0)
            for _ in range(count)
        ]

    def beliefs(self):
        """Beliefs that sum to one at every pixel, in shape (*shape, K)."""
        rows = [as_probabilities(self.heard(p)) for p in self.around]
        return np.array(rows).reshape(*self.shape, self.k)


# --- the lecture's signs ----------------------------------------------------------------------


def half_log_odds(flip):
    """The lecture's beta, 1/2 log((1 - e) / e); a map gives a map."""
    flip = np.asarray(flip, float)
    return 0.5 * np.log((1 - flip) / flip)


def lecture_energy(signs, field, coupling):
    """U(x) = J sum over edges of x_i x_j + sum of h_i x_i, where h = beta y."""
    x = np.asarray(signs, float)
    pairs = (x[1:] * x[:-1]).sum() + (x[:, 1:] * x[:, :-1]).sum()
    return float(coupling * pairs + (field * x).sum())


def restored(signs, flip, coupling, sweeps=20, eta=0.5):
    """Restore a noisy picture of signs as the lecture does; give the beliefs in +1.

    The messages of each way (down, up, right, left) are a plane of 2-vectors, for +1 and for -1;
    pixels at the border that hear nobody keep one half.
    """
    h = half_log_odds(flip) * signs
    phi, psi = np.stack([np.exp(h), np.exp(-h)], axis=-1), np.exp(coupling * (2 * np.eye(2) - 1))
    messages = {way: np.full(phi.shape, 0.5) for way in ((1, 0), (-1, 0), (0, 1), (0, -1))}

    def product(but=None):
        return math.prod((m for way, m in messages.items() if way != but), start=phi)

    for _ in range(sweeps):
        fresh = {}
        for way in messages:
            back = (-way[0], -way[1])
            said = product(but=back) @ psi
            fresh[way] = np.full(phi.shape, 0.5)
            fresh[way][_hears(way)] = (said / said.sum(axis=-1, keepdims=True))[_hears(back)]
        messages = {way: eta * fresh[way] + (1 - eta) * old for way, old in messages.items()}
    return product()[..., 0] / product().sum(axis=-1)


def _hears(way):
    """Which pixels hear a message that goes this way: all but the first row, for one from above."""
    return tuple({1: slice(1, None), 0: slice(None), -1: slice(None, -1)}[step] for step in way)


def pictures_at_hand():
    """Signs of 128 x 128 pictures by name: those of ``CREDO_DATA``, if there is such a folder."""
    beside = Path(__file__).parents[3] / "shared" / "data"
    folder = Path(os.environ.get("CREDO_DATA", beside)) / "images"
    found = {}
    for path in sorted(folder.glob("*_128_binary.png")):
        with Image.open(path) as image:
            found[path.stem] = np.where(np.asarray(image.convert("L")) > 127, 1, -1)
    return found


def difference(kind, a, b):
    """What an edge without a limit and with s = 1 costs."""
    if kind == "potts":
        return float(a != b)
    return abs(a - b) if kind == "linear" else (a - b) ** 2


def reach_of(kind, k, limit):
    """Count the differences of labels, from one on, whose cost is below the limit."""
    return sum(difference(kind, 0, m) < limit for m in range(1, k))


def new_sum(kind, q, decay, floor):
    """Sum over the sender's labels; the message sums to one."""
    k = len(q)

    def weight(a, b):
        power = decay ** difference(kind, a, b)
        return power if kind == "potts" else max(power, floor)

    top = max(q)
    new = [math.fsum(weight(a, b) * (q[b] / top) for b in range(k)) for a in range(k)]
    return [x / math.fsum(new) for x in new]


def new_max(kind, q, slope, limit):
    """Maximise over the sender's labels; the largest entry is zero."""
    k = len(q)

    def cost(a, b):
        unlimited = difference(kind, a, b)
        return slope * (unlimited if kind == "potts" else min(unlimited, limit))

    new = [max(q[b] - cost(a, b) for b in range(k)) for a in range(k)]
    return [x - max(new) for x in new]


def mixed(new, old, eta):
    """Mix with the old message."""
    return [eta * x + (1 - eta) * y for x, y in zip(new, old, strict=True)]
