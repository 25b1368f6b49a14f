"""The messages of a net: in logs on any net by any schedule, or as ratios on pairs, all at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64, Bool
from credo.graphs.problems import Problem
from credo.graphs.wiring import starts
from credo.inference.loopy.kernels import (
    BLOCK,
    TABLE,
    Scratch,
    State,
    add_up,
    bethe,
    collect_pairs,
    flood,
    gather,
    send_pairs,
    send_pairs_of_two,
    sort_slots,
    update_residuals,
    walk,
)
from credo.inference.loopy.net import Draft, Net

Int64: TypeAlias = npt.NDArray[np.int64]
#: Logs of numbers below which float64 has no normal ones.
_LEAST_LOG = -708.0
#: Cells of tables, or pairs, that are worth a thread of their own.
_PER_THREAD = 20_000
#: Sweeps of flooding before the largest residual goes first. Otherwise whoever speaks first decides
#: for its neighbourhood, and attractive grids settle in a worse fixed point: over 96 grids of 8 x 8
#: the mean error of a probability was 0.20 without such sweeps, 0.10 with five, 0.09 with ten.
_FLOODS = 5
#: Logs that a product of all messages to a variable, and a table, may span.
_SPANS = {np.dtype(np.float32): 80.0, np.dtype(np.float64): 300.0}


class LogMessages:
    """Messages in logs, with exact zeros, any power of a factor, and every schedule.

    Parameters
    ----------
    net
        Factors and variables.
    schedule
        "flooding", "sequential", "random", "tree" or "residual".
    in_logs, maximum
        Whether logs are mixed, not probabilities; and whether others are maximised out, not summed.
    tolerance
        What the residual schedule stops at.
    threads, seed, root
        Of flooding, of the random order, and the variable that "tree" walks to first, or -1.
    """

    details: Mapping[str, str] = {}
    rounding = 1e-12  # sums of some thousand logs of the size of one

    def __init__(  # noqa: PLR0913 - one parameter per setting
        self,
        net: Net,
        schedule: str = "sequential",
        *,
        in_logs: bool = False,
        maximum: bool = False,
        tolerance: float = 0.0,
        threads: int = 1,
        seed: int = 0,
        root: int = -1,
    ) -> None:
        self.net, self.wires, self._schedule = net, net.wires, schedule
        self._how, self._tolerance = (in_logs, maximum), tolerance
        size, wires = len(net.wires.unary), net.wires
        messages = np.zeros(int(wires.message_start[-1]))
        self.state = State(messages, np.zeros(size), np.zeros(size, np.int64))
        self.room = self._make_scratch()
        self._parts = _cut(len(wires.kind), len(wires.logs) // _PER_THREAD, threads)
        self._rng = np.random.default_rng(seed)
        self._walks = net.walks(root) if schedule == "tree" else []
        self._priority: F64 | None = None
        self._floods = _FLOODS
        self.updates = 0
        self.add_up()

    def _make_scratch(self) -> Scratch:
        """Make scratch space for one thread."""
        wires = self.wires
        arity = int(np.diff(wires.scope_start).max(initial=1))
        width = int(np.diff(wires.message_start[wires.scope_start]).max(initial=1))
        cells = int(np.diff(wires.cell_start).max(initial=1))
        lengths = width, width, arity, arity, width, arity, cells, 2 * arity
        return Scratch(*(np.zeros(length) for length in lengths))

    def add_up(self) -> None:
        """Sum the messages to each variable anew."""
        add_up(self.wires, self.state)

    def sweep(self, eta: float) -> float:
        """Pass all messages once; return the largest change, infinity for a contradiction."""
        if self._schedule == "flooding":
            largest = self._flood(eta)
        elif self._schedule == "residual":
            is_first = self.updates < self._floods * self.net.n_slots
            largest = self._flood(eta) if is_first else self._update_residuals(eta)
        else:
            largest = self._walk(self._orders(), eta)
        return np.inf if self.state.holes.any() and self.is_contradiction else largest

    def _orders(self) -> list[Int64]:
        """List the slots in the order of a sweep, in parts."""
        if self._schedule == "tree":
            return self._walks
        order = np.arange(self.net.n_slots)
        if self._schedule == "random":
            turn = self._rng.permutation(len(self.wires.kind))
            order = np.argsort(turn[self.wires.factor_of], kind="stable")
        return [order]

    def _walk(self, orders: list[Int64], eta: float) -> float:
        """Compute messages in place, one after the other."""
        largest = 0.0
        for slots in orders:
            self.add_up()
            args = self.wires, self.state, self.room, slots, self._schedule != "tree"
            largest = max(largest, float(walk(*args, eta, *self._how)))
            self.updates += len(slots)
        return largest

    def _flood(self, eta: float) -> float:
        """Compute all messages from those of the sweep before."""
        fresh = self.state.messages.copy()

        def part(begin: int, end: int) -> float:
            room = self.room if len(self._parts) == 1 else self._make_scratch()
            args = self.wires, self.state, room, fresh, begin, end
            return float(flood(*args, eta, *self._how))

        largest = _on_threads(part, self._parts)
        self.state.messages[:] = fresh
        self.add_up()
        self.updates += self.net.n_slots
        return largest

    def _update_residuals(self, eta: float) -> float:
        """Take the message that may change most."""
        self.add_up()
        if self._priority is None:
            self._priority = self._find_residuals()
        floor = 4.0 * self._tolerance  # probabilities move by at most a quarter of the logs
        args = self.wires, self.state, self.room, self._priority
        done, largest = update_residuals(*args, self.net.n_slots, floor, eta, *self._how)
        self.updates += int(done)
        bound = float(self._priority.max(initial=0.0)) / 4.0
        if largest == np.inf or bound > self._tolerance < largest:
            return float(largest)
        if bound <= self._tolerance:
            return bound
        self._priority = None  # logs grow for ever, probabilities do not: look at all of them
        return self._walk([np.arange(self.net.n_slots)], eta)

    def _find_residuals(self) -> F64:
        """Return how far the logs of each message would move; a rule has one number for all.

        Measured by their range over states. That of a rule is the largest, at its first slot.
        """
        wires, old = self.wires, self.state.messages
        is_table, first = wires.kind[wires.factor_of] == TABLE, wires.scope_start[:-1]
        fresh, n = old.copy(), len(wires.kind)
        if flood(wires, self.state, self.room, fresh, 0, n, 1.0, *self._how) == np.inf or not n:
            return np.full(self.net.n_slots, np.inf)  # whoever is computed first will meet it
        with np.errstate(invalid="ignore"):  # a zero that stays has not moved
            starts, moved = wires.message_start[:-1], fresh - old
            found = np.fmax.reduceat(moved, starts) - np.fmin.reduceat(moved, starts)
        found = np.nan_to_num(found, nan=0.0, posinf=np.inf)
        result = np.where(is_table, found, 0.0)
        result[first] = np.where(is_table[first], found[first], np.maximum.reduceat(found, first))
        return result

    def settle(self) -> None:
        """Pass messages along a forest once there and back, without mixing: then all are exact."""
        self._walk(self.net.walks(), 1.0)
        self.add_up()

    @property
    def is_contradiction(self) -> bool:
        """Whether a variable has no possible state left, or a constant is zero."""
        if self.net.log_constant == -np.inf:
            return True
        if not len(self.state.holes):
            return False
        return not np.add.reduceat(self.state.holes == 0, self.wires.state_start[:-1]).all()

    def start_from(self, messages: F64) -> None:
        """Begin with given messages, as logs; zeros held for other evidence, and are forgotten."""
        self.state.messages[:] = np.where(np.isneginf(messages), 0.0, messages)
        self._floods = 0  # each has spoken already
        self.add_up()

    def snapshot(self) -> F64:
        """Return all messages as logs, of which those that are no numbers are cut off."""
        return np.asarray(np.maximum(self.state.messages, _LEAST_LOG))

    def log_messages(self) -> F64:
        """Return all messages, as logs."""
        return np.asarray(self.state.messages)

    def beliefs(self) -> F64:
        """Return the beliefs of all variables, one after the other; for maxima scaled alike."""
        self.add_up()
        start = self.wires.state_start
        if len(start) == 1:
            return np.empty(0)
        logs, sizes = np.where(self.state.holes > 0, -np.inf, self.state.total), np.diff(start)
        weights = np.exp(logs - np.repeat(np.maximum.reduceat(logs, start[:-1]), sizes))
        return np.asarray(weights / np.repeat(np.add.reduceat(weights, start[:-1]), sizes))

    def log_z(self) -> float:
        """Return the Bethe estimate of the log of the sum, or the maximum."""
        self.add_up()
        found = bethe(self.wires, self.state, self.room, self._how[1])
        return float(found) + self.net.log_constant

    def inbox(self, f: int) -> list[F64]:
        """Return what each variable of a factor sends to it, as logs: all from the others."""
        gather(self.wires, self.state, self.room, f)
        first, stop = self.wires.scope_start[f : f + 2]
        ends = self.wires.message_start[first : stop + 1] - self.wires.message_start[first]
        return np.split(self.room.inbox[: ends[-1]].copy(), ends[1:-1])

    def factor_belief(self, f: int) -> F64:
        """Return the belief of a table, one axis for each of its variables, in their order."""
        start = self.wires.cell_start
        said = self.inbox(f)
        belief = self.wires.logs[start[f] : start[f + 1]].reshape([len(one) for one in said])
        for axis, one in enumerate(said):
            belief = belief + one.reshape([-1 if i == axis else 1 for i in range(len(said))])
        belief = np.exp(belief - belief.max())
        return np.asarray(belief / belief.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Positive tables of two variables, all of k states, and potentials of single ones."""

    scope: Int64  #: of shape (m, 2)
    cells: F64  #: in blocks, or one block if all have one table
    unary: F64  #: logs, of shape (n, k)
    cold: float  #: the power that cells are to be raised to
    deep: float  #: bounds the log of a ratio of two cells of a table, hence of a message

    @classmethod
    def of(cls, draft: Draft) -> Pairs | None:
        """Return the pairs of a model, or None if it is not of that kind, or too wide for it."""
        problem, k = draft.problem, draft.problem.n_states
        arity, sizes = np.diff(problem.scope_start), np.diff(problem.cell_start)
        if draft.rules or draft.counting is not None or problem.is_wide or not (arity == 2).any():
            return None
        if (arity > 2).any() or k[0] < 2 or (k != k[0]).any() or not (problem.values > 0).all():
            return None
        scope = problem.scope[np.repeat(arity == 2, arity)].reshape(-1, 2)
        if _have_one_table(problem, arity == 2):
            begin = int(problem.cell_start[np.argmax(arity == 2)])
            cells = np.tile(problem.values[begin : begin + k[0] ** 2], (BLOCK, 1))
        else:
            cells = problem.values[np.repeat(arity == 2, sizes)].reshape(len(scope), -1)
        blocks = in_blocks(cells, 1.0, np.float64)
        over = problem.scope[np.repeat(arity == 1, arity)]
        logs = np.log(problem.values[np.repeat(arity == 1, sizes)]).reshape(-1, k[0])
        said = [np.bincount(over, column, len(k)) for column in logs.T]
        with np.errstate(over="ignore"):
            deep = draft.cold * float(np.log((blocks.max(axis=1) / blocks.min(axis=1)).max()))
        unary: F64 = draft.cold * np.stack(said, axis=1, dtype=np.float64)
        found = cls(scope, blocks, unary, draft.cold, deep)
        return found if found.fit(np.dtype(np.float64)) else None

    def fit(self, dtype: np.dtype[Any]) -> bool:
        """Tell whether all messages to a variable, times a table, stay within a type of number."""
        most = int(np.bincount(self.scope.ravel()).max()) + 1
        own = float(np.abs(self.unary[:, 1:] - self.unary[:, :1]).max(initial=0.0))
        return most * self.deep + own + float(np.log(self.unary.shape[1])) < _SPANS[dtype]


class PairMessages:
    """Messages of pairs as ratios, all from those of the sweep before, in the order of a net.

    Beliefs are ratios too. The product of the new messages is collected while they are computed; on
    several threads afterwards, variable by variable, in the same order, hence with the same bits.
    """

    def __init__(self, pairs: Pairs, dtype: np.dtype[Any], *, maximum: bool, threads: int) -> None:
        self.dtype = dtype if pairs.fit(dtype) else np.dtype(np.float64)
        self.details = {"messages": f"ratios, {self.dtype}"}
        self.rounding = 64 * float(np.finfo(self.dtype).eps)
        self._pairs, self._maximum = pairs, maximum
        m, (n, k) = len(pairs.scope), pairs.unary.shape
        self._shape = m, 2, k
        self._ends = in_blocks(pairs.scope, n, np.int32)
        self._count = np.minimum(BLOCK, m - BLOCK * np.arange(len(self._ends)))
        ratios = pairs.cells[:, 1:] / pairs.cells[:, :1]
        self._tables = (ratios if pairs.cold == 1.0 else ratios**pairs.cold).astype(self.dtype)
        self._potentials = np.ones((n + 1, k - 1), self.dtype)  # the last one fills blocks up
        self._potentials[:n] = np.exp(pairs.unary[:, 1:] - pairs.unary[:, :1])
        self._ratios = np.ones((len(self._ends), 2, k - 1, BLOCK), self.dtype)
        self._beliefs, self._fresh = self._potentials.copy(), self._potentials.copy()
        self._blocks = _cut(len(self._ends), m // _PER_THREAD, threads)
        self._variables = _cut(n, m // _PER_THREAD, threads)
        self.updates = 0

    def sweep(self, eta: float) -> float:
        """Pass all messages once; return the largest change."""
        share = self.dtype.type(eta) if self.dtype == np.float32 else float(eta)
        self._fresh[:] = self._potentials
        into = self._fresh if len(self._blocks) == 1 else self._fresh[:0]
        args = self._ends, self._count, self._tables, self._ratios, self._beliefs, into, share
        compute = send_pairs_of_two if self._shape[2] == 2 else send_pairs

        def send(begin: int, end: int) -> float:
            return float(compute(begin, end, *args, self._maximum))

        largest = _on_threads(send, self._blocks)
        if len(self._blocks) > 1:
            self._collect()
        self._beliefs, self._fresh = self._fresh, self._beliefs
        self.updates += 2 * self._shape[0]
        return largest

    @cached_property
    def _incident(self) -> tuple[Int64, Int64]:
        """Where the messages to each variable start, and which these are."""
        scope = self._pairs.scope.ravel()
        start = starts(np.bincount(scope, minlength=len(self._potentials) - 1))
        return start, sort_slots(scope, start)

    def _collect(self) -> None:
        """Multiply potentials and messages."""
        args = *self._incident, self._ratios, self._fresh

        def collect(begin: int, end: int) -> float:
            collect_pairs(begin, end, *args)
            return 0.0

        _on_threads(collect, self._variables)

    def start_from(self, messages: F64) -> None:
        """Begin with given messages, as logs.

        Those of another temperature may be steeper than any of this one; they are cut.
        """
        logs = messages.reshape(self._shape)
        logs = np.maximum(logs - logs.max(axis=2, keepdims=True), -self._pairs.deep)
        ratios = np.exp(logs[:, :, 1:] - logs[:, :, :1]).reshape(len(logs), -1)
        self._ratios[:] = in_blocks(ratios, 1.0, self.dtype).reshape(self._ratios.shape)
        self._fresh[:] = self._potentials
        self._collect()
        self._beliefs, self._fresh = self._fresh, self._beliefs

    def snapshot(self) -> F64:
        """Return all messages, as the probabilities of all states but the first."""
        return np.asarray(self._ratios / (1 + self._ratios.sum(axis=2, keepdims=True))).ravel()

    def log_messages(self) -> F64:
        """Return the logs of all messages, which sum to one."""
        m, _, k = self._shape
        ratios = np.ones((len(self._ends) * BLOCK, 2, k))
        ratios.reshape(-1, BLOCK, 2, k)[..., 1:] = self._ratios.transpose(0, 3, 1, 2)
        ratios = ratios[:m]
        return np.asarray(np.log(ratios / ratios.sum(axis=2, keepdims=True))).ravel()

    def beliefs(self) -> F64:
        """Return the beliefs of all variables, one after the other."""
        beliefs = np.ones((len(self._beliefs) - 1, self._shape[2]))
        beliefs[:, 1:] = self._beliefs[:-1]
        beliefs /= beliefs.sum(axis=1, keepdims=True)
        return beliefs.ravel()


def _have_one_table(problem: Problem, is_pair: Bool) -> bool:
    """Tell whether all pairs share a table of the model."""
    wiring, keep = problem.wiring, problem.keep
    is_pair = is_pair[: int(keep.sum())]  # weights come after the tables
    table, arity = wiring.table[keep][is_pair], np.diff(wiring.scope_start)[keep][is_pair]
    return bool((arity == 2).all() and (table == table[0]).all())


def in_blocks(rows: npt.NDArray[Any], filler: float, dtype: Any) -> npt.NDArray[Any]:
    """Lay rows out in blocks, of which each column lies together; the last is filled up."""
    (size, width), whole = rows.shape, len(rows) // BLOCK
    blocks = np.full((-(-size // BLOCK), width, BLOCK), filler, dtype)
    blocks[:whole] = rows[: whole * BLOCK].reshape(whole, BLOCK, width).transpose(0, 2, 1)
    blocks[whole:, :, : size - whole * BLOCK] = rows[whole * BLOCK :].T
    return blocks


def _cut(size: int, most: int, threads: int) -> list[tuple[int, int]]:
    """Cut a range into parts, one for each thread that is worth it."""
    edges = np.linspace(0, size, max(1, min(most, threads)) + 1).astype(int).tolist()
    return list(pairwise(edges))


def _on_threads(work: Callable[[int, int], float], parts: list[tuple[int, int]]) -> float:
    """Work on parts that do not depend on each other; return the largest answer."""
    if len(parts) == 1:
        return work(*parts[0])
    with ThreadPoolExecutor(len(parts)) as pool:
        return max(pool.map(lambda part: work(*part), parts))
