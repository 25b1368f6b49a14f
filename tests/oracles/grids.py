"""Belief propagation on pictures, as slow and as plain as can be, in float64.

``Planes`` is the lecture's: signs on a square grid, messages as planes of 2-vectors, all at once.
``Grid`` has any labels, axes and tables, one small vector for each directed edge, and schedules.

    m_pq(b) = sum_a psi_pq(a, b) phi_p(a) prod_{o in N(p) - q} m_op(a)      (or max_a)

Momentum eta multiplies the new message. Sums mix messages that sum to one; maxima mix logs, whose
largest is zero, unless ``in_logs`` says otherwise. A residual is the largest change of a message
before it is mixed, both the new and the old one written as probabilities.
"""

import itertools
import os
from pathlib import Path

import numpy as np
from PIL import Image

FOUR = ((1, 0), (0, 1))
EIGHT = ((1, 0), (0, 1), (1, 1), (1, -1))
SIX = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


# --- the lecture's signs --------------------------------------------------------------------


def half_log_odds(flip):
    """The lecture's beta, 1/2 log((1 - e) / e); a map gives a map."""
    flip = np.asarray(flip, float)
    return 0.5 * np.log((1 - flip) / flip)


def lecture_energy(signs, field, coupling):
    """U(x) = J sum over edges of x_i x_j + sum of h_i x_i, where h = beta y."""
    x = np.asarray(signs, float)
    pairs = (x[1:] * x[:-1]).sum() + (x[:, 1:] * x[:, :-1]).sum()
    return float(coupling * pairs + (field * x).sum())


def hears(way):
    """Which pixels hear a message that goes this way: all but the first row, for one from above."""
    first, last = {1: 1, 0: None, -1: None}, {1: None, 0: None, -1: -1}
    return tuple(slice(first[step], last[step]) for step in way)


class Planes:
    """Signs on a square grid: a message is a 2-vector (for +1, for -1), a direction is a plane."""

    #: The way a message goes: from above, from below, from the left, from the right.
    WAYS = ((1, 0), (-1, 0), (0, 1), (0, -1))

    def __init__(self, field, coupling, *, maximum=False, in_logs=None):
        h = np.asarray(field, float)
        self.phi = np.stack([np.exp(h), np.exp(-h)], axis=-1)
        self.psi = np.exp([[coupling, -coupling], [-coupling, coupling]])
        self.maximum, self.in_logs = maximum, maximum if in_logs is None else in_logs
        self.messages = {way: np.full(self.phi.shape, 0.5) for way in self.WAYS}

    def product(self, but=None):
        """The node potential times all that a pixel hears, but for one way."""
        result = self.phi.copy()
        for way, message in self.messages.items():
            if way != but:
                result = result * message
        return result

    def computed(self, way):
        """The messages of one way; pixels at the border that hear nobody keep one half."""
        back = (-way[0], -way[1])
        heard = self.product(but=back)[..., :, None] * self.psi
        said = heard.max(axis=-2) if self.maximum else heard.sum(axis=-2)
        said = said / said.sum(axis=-1, keepdims=True)
        fresh = np.full(self.phi.shape, 0.5)
        fresh[hears(way)] = said[hears(back)]
        return fresh

    def flood(self, eta=0.5):
        """Replace all messages at once; give the residual."""
        fresh = {way: self.computed(way) for way in self.WAYS}
        change = max(np.abs(fresh[way] - self.messages[way]).max() for way in self.WAYS)
        for way, new in fresh.items():
            old = self.messages[way]
            if self.in_logs:
                both = new**eta * old ** (1 - eta)
                self.messages[way] = both / both.sum(axis=-1, keepdims=True)
            else:
                self.messages[way] = eta * new + (1 - eta) * old
        return float(change)

    def sweeps(self, count, eta=0.5):
        """Sweep so many times; give the residuals."""
        return [self.flood(eta) for _ in range(count)]

    def beliefs(self):
        """The plane of b(x = +1)."""
        product = self.product()
        return product[..., 0] / product.sum(axis=-1)

    def signs(self):
        """The likelier sign of each pixel; -1, the first label, if both are as likely."""
        return np.where(self.beliefs() > 0.5, 1, -1)


def restored(signs, flip, coupling, sweeps=20, eta=0.5, *, maximum=False):
    """Restore a noisy picture of signs as the lecture does; give the beliefs in +1."""
    planes = Planes(half_log_odds(flip) * signs, coupling, maximum=maximum)
    planes.sweeps(sweeps, eta)
    return planes.beliefs()


# --- any labels, axes and tables ------------------------------------------------------------


def ising():
    """Plus one if equal, minus one if not."""
    return np.array([[1.0, -1.0], [-1.0, 1.0]])


def potts(k):
    """One if equal."""
    return np.eye(k)


def truncated_linear(k, limit=np.inf):
    """Minus the distance of positions, up to a limit."""
    return -np.array([[min(abs(a - b), limit) for b in range(k)] for a in range(k)], float)


def truncated_quadratic(k, limit=np.inf):
    """Minus the squared distance of positions, up to a limit."""
    return -np.array([[min((a - b) ** 2, limit) for b in range(k)] for a in range(k)], float)


def neighbour(pixel, axis):
    """Where an axis leads."""
    return tuple(p + d for p, d in zip(pixel, axis, strict=True))


def place(pixel, axis):
    """Where the strength of the edge from a pixel along an axis stands in the axis's array."""
    return tuple(p + min(d, 0) for p, d in zip(pixel, axis, strict=True))


def edges_shape(shape, axis):
    """The shape of such an array."""
    return tuple(n - abs(d) for n, d in zip(shape, axis, strict=True))


def as_probabilities(logs):
    """Exponentials that sum to one."""
    values = np.exp(logs - np.max(logs))
    return values / values.sum()


class Grid:
    """A picture's messages: ``messages[p, q]`` are logs, what pixel p says to its neighbour q.

    ``logs`` has shape (*shape, K). ``units`` is one (K, K) table, or one for each axis, whose rows
    belong to the lower pixel; ``strengths`` a number, one for each axis, or one array for each.
    """

    def __init__(self, logs, units, strengths=1.0, *, axes=FOUR, maximum=False, in_logs=None):
        self.logs = np.asarray(logs, float)
        self.shape, self.k = self.logs.shape[:-1], self.logs.shape[-1]
        self.axes, self.maximum = tuple(axes), maximum
        self.in_logs = maximum if in_logs is None else in_logs
        n = len(self.axes)
        self.units = [np.asarray(units, float)] * n if np.ndim(units) == 2 else list(units)
        self.strengths = [strengths] * n if np.isscalar(strengths) else list(strengths)
        self.pixels = list(itertools.product(*(range(size) for size in self.shape)))
        self.around = {p: [] for p in self.pixels}
        self.tables = {}
        for p, q, table in self.edges():
            self.tables[p, q], self.tables[q, p] = table, table.T
            self.around[q].append(p)
            self.around[p].append(q)
        self.messages = {edge: np.zeros(self.k) for edge in self.tables}

    def edges(self):
        """All edges, axis by axis: the lower pixel, the other one, and the logs of the table."""
        for axis, unit, strength in zip(self.axes, self.units, self.strengths, strict=True):
            each = np.broadcast_to(strength, edges_shape(self.shape, axis))
            for p in self.pixels:
                q = neighbour(p, axis)
                if q in self.around:
                    yield p, q, each[place(p, axis)] * unit

    def heard(self, p, but=None):
        """The logs of the node potential times all messages to a pixel, but one."""
        logs = self.logs[p].copy()
        for o in self.around[p]:
            if o != but:
                logs = logs + self.messages[o, p]
        return logs

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

    def step(self, edges, eta):
        """Replace some messages, all computed before the first is replaced; give the change."""
        fresh, change = {}, 0.0
        for edge in edges:
            new, old = self.computed(*edge), self.messages[edge]
            away = np.abs(as_probabilities(new) - as_probabilities(old)).max()
            change = max(change, float(away))
            fresh[edge] = self.mixed(new, old, eta)
        self.messages.update(fresh)
        return change

    def flooding(self, eta=1.0):
        """Replace all messages at once."""
        return self.step(list(self.messages), eta)

    def checkerboard(self, eta=1.0):
        """Pixels whose places have an even sum send all their messages at once, then the others."""
        halves = ([(p, q) for p, q in self.messages if sum(p) % 2 == odd] for odd in (0, 1))
        return max(self.step(edges, eta) for edges in halves)

    def sweep(self, eta=1.0):
        """Along each dimension forwards, slice by slice, and back.

        Slice s says what it has to say to slice s + 1, which then goes on from there.
        """
        change = 0.0
        for dimension, size in enumerate(self.shape):
            for way, slices in ((1, range(size - 1)), (-1, range(size - 1, 0, -1))):
                for s in slices:
                    edges = [
                        (p, q)
                        for p, q in self.messages
                        if p[dimension] == s and q[dimension] == s + way
                    ]
                    change = max(change, self.step(edges, eta))
        return change

    def sweeps(self, count, eta=1.0, schedule="flooding"):
        """Sweep so many times by a schedule; give the residuals."""
        way = {"flooding": self.flooding, "checkerboard": self.checkerboard, "sweep": self.sweep}
        return [way[schedule](eta) for _ in range(count)]

    def settled(self, most=2000, eta=0.5, schedule="flooding", tolerance=1e-13):
        """Sweep until nothing changes; tell whether that came about."""
        return any(self.sweeps(1, eta, schedule)[0] < tolerance for _ in range(most))

    def log_beliefs(self):
        """Logs of beliefs, not normalised, in shape (*shape, K)."""
        rows = [self.heard(p) for p in self.pixels]
        return np.array(rows).reshape(*self.shape, self.k)

    def beliefs(self):
        """Beliefs that sum to one at every pixel, in shape (*shape, K)."""
        rows = [as_probabilities(self.heard(p)) for p in self.pixels]
        return np.array(rows).reshape(*self.shape, self.k)

    def best(self):
        """The position of each pixel's largest belief, the first if there are several."""
        return self.beliefs().argmax(axis=-1)

    def energy(self, positions):
        """U(x), the log of all potentials at positions of labels: larger is better."""
        x = np.asarray(positions)
        value = sum(self.logs[p][x[p]] for p in self.pixels)
        value += sum(table[x[p], x[q]] for p, q, table in self.edges())
        return float(value)

    def best_of_all(self):
        """The largest energy and where it is, by trying all: tiny pictures only."""
        tried = itertools.product(range(self.k), repeat=len(self.pixels))
        return max(
            ((self.energy(np.reshape(x, self.shape)), x) for x in tried), key=lambda found: found[0]
        )

    def marginals(self):
        """Exact marginals by adding up all configurations: tiny pictures only."""
        totals = np.full((len(self.pixels), self.k), -np.inf)
        rows = np.arange(len(self.pixels))
        for x in itertools.product(range(self.k), repeat=len(self.pixels)):
            energy = self.energy(np.reshape(x, self.shape))
            totals[rows, x] = np.logaddexp(totals[rows, x], energy)
        return np.array([as_probabilities(row) for row in totals]).reshape(*self.shape, self.k)


# --- pictures -------------------------------------------------------------------------------


def pictures_at_hand():
    """Signs of 128 x 128 pictures by name: those of ``CREDO_DATA``, if there is such a folder."""
    beside = Path(__file__).parents[3] / "shared" / "data"
    folder = Path(os.environ.get("CREDO_DATA", beside)) / "images"
    found = {}
    for path in sorted(folder.glob("*_128_binary.png")):
        with Image.open(path) as image:
            found[path.stem] = np.where(np.asarray(image.convert("L")) > 127, 1, -1)
    return found
