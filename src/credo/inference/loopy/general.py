"""Messages of any net in logs: every schedule, any power of a factor, exact zeros."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo._validation.arrays import frozen
from credo.graphs.wiring import ranges, starts
from credo.inference.loopy._old_net import TABLE, Net
from credo.inference.loopy.options import Options

Int64: TypeAlias = npt.NDArray[np.int64]
#: Messages that are looked at to find out whether a run goes round in circles.
_SAMPLE = 4096
#: Logs of numbers below which float64 has no normal ones.
_LEAST_LOG = -708.0
#: Cells of tables that are worth a thread of their own.
_PER_THREAD = 20_000


class General:
    """The messages of a net, and ways to pass them."""

    def __init__(self, net: Net, options: Options, counting: F64 | None = None) -> None:
        from credo._kernels import loopy_messages as m  # noqa: PLC0415

        self.net = net
        self._options = options
        self.wires, self.shift = wires_of(net, options.temperature, counting)
        self.state = m.State(
            np.zeros(int(net.message_start[-1])),
            np.zeros(int(self.wires.state_start[-1])),
            np.zeros(int(self.wires.state_start[-1]), np.int64),
        )
        self._state_unary()
        self.updates = 0
        self._n_moving = int(net.is_moving.sum())
        self._sweep = self._ways()[options.schedule]()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the way of sweeping behind: what travels can be read, not run."""
        left = ("_sweep", "_reading_room")
        return {name: value for name, value in self.__dict__.items() if name not in left}

    @property
    def rounding(self) -> float:
        """How far equal messages may be apart by rounding."""
        return 1e-12  # sums of some thousand logs of the size of one

    def sweep(self, eta: float) -> float:
        """Pass all messages once; give the largest change, infinity for a contradiction."""
        largest = self._sweep(eta)
        return np.inf if self.state.holes.any() and self.is_contradiction else largest

    def snapshot(self) -> F64:
        """Give a copy of all messages as logs, of which those that are no numbers are cut off."""
        return np.asarray(np.maximum(self.state.messages, _LEAST_LOG))

    def sample(self) -> F64:
        """Give a copy of some of them."""
        step = max(1, len(self.state.messages) // _SAMPLE)
        return np.asarray(np.maximum(self.state.messages[::step], _LEAST_LOG))

    def settle(self) -> None:
        """Pass messages along a forest once there and back, without mixing: then all are exact."""
        self._along_trees()(1.0)
        self._add_up()

    def start_from(self, messages: F64) -> None:
        """Begin with given messages, as logs, in the order of the slots.

        Their zeros held for other evidence, and are forgotten.
        """
        messages = np.where(np.isneginf(messages), 0.0, messages)
        moving = np.repeat(self.net.is_moving, np.diff(self.net.message_start))
        self.state.messages[moving] = messages[moving]
        self._add_up()

    def room(self) -> Any:
        """Make scratch space for one thread."""
        from credo._kernels.loopy_messages import Room  # noqa: PLC0415

        lengths = np.diff(self.net.scope_start)
        arity = int(lengths.max(initial=1))
        first = self.net.message_start[self.net.scope_start]
        width = int(np.diff(first).max(initial=1))
        tables = np.diff(self.net.cell_start)[self.net.kind == TABLE]
        return Room(
            np.zeros(width),
            np.zeros(width),
            np.zeros(arity),
            np.zeros(width + 2),
            np.zeros(int(tables.max(initial=1))),
            np.zeros(4 * arity),
        )

    def log_z(self) -> float:
        """Give the Bethe estimate of the log of the sum, or the maximum, of the tempered model."""
        from credo._kernels.loopy_sums import log_sums  # noqa: PLC0415

        self._add_up()
        return float(log_sums(self.wires, self.state, self.room(), self._options.maximum))

    def beliefs(self) -> F64:
        """Give the beliefs of all variables, one after the other; for maxima scaled alike."""
        self._add_up()
        logs = np.where(self.state.holes > 0, -np.inf, self.state.total)
        start = self.wires.state_start
        top = np.maximum.reduceat(logs, start[:-1]) if len(start) > 1 else np.empty(0)
        sizes = np.diff(start)
        weights = np.exp(logs - np.repeat(top, sizes))
        sums = np.add.reduceat(weights, start[:-1]) if len(start) > 1 else np.empty(0)
        return np.asarray(weights / np.repeat(sums, sizes))

    @cached_property
    def _reading_room(self) -> Any:
        """Scratch space for reading."""
        return self.room()

    @property
    def is_contradiction(self) -> bool:
        """Whether a variable has no possible state left, or a constant is zero."""
        net = self.net
        nothing = np.flatnonzero(np.diff(net.scope_start) == 0)
        if (self.wires.values[net.cell_start[nothing]] == 0.0).any():
            return True
        free = np.add.reduceat(self.state.holes == 0, self.wires.state_start[:-1])
        return bool((free == 0).any()) if len(net.n_states) else False

    def cavity(self, slot: int) -> F64:
        """Give what a variable says to a factor, as logs: all it hears but from that factor."""
        from credo._kernels.loopy_messages import listen  # noqa: PLC0415

        net, room = self.net, self._reading_room
        f = int(self.wires.factor_of[slot])
        listen(self.wires, self.state, room, f)
        base = net.message_start[net.scope_start[f]]
        begin, end = net.message_start[slot] - base, net.message_start[slot + 1] - base
        return np.array(room.inbox[begin:end])

    def factor_belief(self, f: int) -> F64:
        """Give the belief of a table, one axis for each of its variables, in their order."""
        net = self.net
        scope = net.scope[net.scope_start[f] : net.scope_start[f + 1]]
        logs = self.wires.logs[net.cell_start[f] : net.cell_start[f + 1]]
        belief = logs.reshape(tuple(net.n_states[scope])).copy()
        for axis, slot in enumerate(range(net.scope_start[f], net.scope_start[f + 1])):
            shape = [-1 if i == axis else 1 for i in range(len(scope))]
            belief += self.cavity(slot).reshape(shape)
        belief = np.exp(belief - belief.max())
        return np.asarray(belief / belief.sum())

    def _state_unary(self) -> None:
        """Say what tables of one variable say, which never changes."""
        net = self.net
        single = np.flatnonzero(np.diff(net.scope_start) == 1)
        slots = net.scope_start[single]
        sizes = np.diff(net.message_start)[slots]
        said = self.wires.logs[ranges(net.cell_start[single], sizes)]
        self.state.messages[ranges(net.message_start[slots], sizes)] = said
        self._add_up()

    def _add_up(self) -> None:
        """Sum the messages to each variable anew."""
        from credo._kernels.loopy_messages import add_up  # noqa: PLC0415

        add_up(self.wires, self.state)

    def _ways(self) -> dict[str, Callable[[], Callable[[float], float]]]:
        """Give the schedules by name."""
        return {
            "flooding": self._flooding,
            "sequential": lambda: self._in_order(shuffled=False),
            "random": lambda: self._in_order(shuffled=True),
            "tree": self._along_trees,
            "residual": self._by_residual,
        }

    def _flooding(self) -> Callable[[float], float]:
        """Compute all messages from those of the sweep before."""
        from credo._kernels.loopy_sweeps import flood  # noqa: PLC0415

        options, net = self._options, self.net
        fresh = self.state.messages.copy()
        cuts = _cuts(net, options.threads)
        rooms = [self.room() for _ in cuts]

        def part(i: int, eta: float) -> float:
            return float(
                flood(
                    self.wires,
                    self.state,
                    rooms[i],
                    fresh,
                    cuts[i],
                    eta,
                    options.in_logs,
                    options.maximum,
                )
            )

        def sweep(eta: float) -> float:
            if len(cuts) == 1:
                largest = part(0, eta)
            else:
                with ThreadPoolExecutor(len(cuts)) as pool:
                    largest = max(pool.map(part, range(len(cuts)), [eta] * len(cuts)))
            self.state.messages[:] = fresh
            self._add_up()
            self.updates += self._n_moving
            return largest

        return sweep

    def _in_order(self, *, shuffled: bool) -> Callable[[float], float]:
        """Go from factor to factor, each time with the newest messages."""
        from credo._kernels.loopy_sweeps import visit  # noqa: PLC0415

        options = self._options
        order = np.flatnonzero(np.diff(self.net.scope_start) > 1).astype(np.int64)
        chance = np.random.default_rng(options.seed)
        room = self.room()

        def sweep(eta: float) -> float:
            self._add_up()
            turn = chance.permutation(order) if shuffled else order
            self.updates += self._n_moving
            args = (room, turn, eta, options.in_logs, options.maximum)
            return float(visit(self.wires, self.state, *args))

        return sweep

    def _along_trees(self) -> Callable[[float], float]:
        """Go from leaves to roots and back, on forests that together hold every message."""
        from credo._kernels.loopy_sweeps import walk  # noqa: PLC0415

        options = self._options
        walks, room = walks_of(self.net, self.wires.factor_of), self.room()

        def sweep(eta: float) -> float:
            largest = 0.0
            for order in walks:
                self._add_up()
                args = (room, order, eta, options.in_logs, options.maximum)
                largest = max(largest, float(walk(self.wires, self.state, *args)))
                self.updates += len(order)
            return largest

        return sweep

    def _by_residual(self) -> Callable[[float], float]:
        """Take the message that may change most."""
        from credo._kernels.loopy_residual import chase  # noqa: PLC0415

        options = self._options
        queue, room = self._queue(), self.room()
        heap, _, priority, _ = queue
        over_all = self._in_order(shuffled=False)

        def sweep(eta: float) -> float:
            self._add_up()
            floor = 4.0 * options.tolerance  # probabilities move by at most a quarter of the logs
            args = (room, queue, self._n_moving, floor, eta, options.in_logs, options.maximum)
            done, largest = chase(self.wires, self.state, *args)
            if done < 0:
                return np.inf
            self.updates += int(done)
            bound = float(priority[heap[0]]) / 4.0 if len(heap) else 0.0
            if bound <= options.tolerance:
                return bound
            if largest > options.tolerance:
                return float(largest)
            priority[heap] = (
                np.inf
            )  # logs grow for ever, and probabilities do not: look at them all
            return over_all(eta)

        return sweep

    def _queue(self) -> tuple[Any, ...]:
        """Give the priority queue: heap, place and priority of each slot, and how it contracts.

        A rule has one entry, at its first slot.
        """
        from credo._kernels.loopy_residual import contractions  # noqa: PLC0415

        net = self.net
        is_first = np.zeros(net.n_slots, np.bool_)
        is_first[net.scope_start[:-1][np.diff(net.scope_start) > 0]] = True
        is_rule = np.repeat(net.kind != TABLE, np.diff(net.scope_start))
        heap = np.flatnonzero(net.is_moving & (is_first | ~is_rule)).astype(np.int64)
        place = np.zeros(net.n_slots, np.int64)
        place[heap] = np.arange(len(heap))
        priority = np.zeros(net.n_slots)
        priority[heap] = np.inf
        shrink = np.ones(net.n_slots)
        if not self._options.maximum:  # maxima may hand a change on undiminished
            contractions(self.wires, heap, shrink)
        return heap, place, priority, shrink


def _cuts(net: Net, threads: int) -> list[Int64]:
    """Cut the factors into parts of about as many cells each."""
    cells = np.concatenate([[0], np.cumsum(np.diff(net.cell_start) + np.diff(net.scope_start))])
    count = int(max(1, min(threads, cells[-1] // _PER_THREAD)))
    edges = np.searchsorted(cells, np.linspace(0, cells[-1], count + 1)[1:-1])
    edges = np.concatenate([[0], edges, [net.n_factors]]).astype(np.int64)
    return [edges[i : i + 2].copy() for i in range(count)]


def walks_of(net: Net, factor_of: Int64) -> list[Int64]:
    """List the messages along spanning forests, one after the other, that cover all of them."""
    from credo._kernels.loopy_forest import choose, climb_and_fall  # noqa: PLC0415

    n, moving = len(net.n_states), np.flatnonzero(net.is_moving).astype(np.int64)
    used = np.zeros(net.n_slots, np.int64)
    walks: list[Int64] = []
    while not walks or not used[moving].all():
        order = moving[np.argsort(used[moving], kind="stable")]
        taken = choose(n, net.scope_start, net.scope, factor_of, order)
        args = (net.scope_start, net.scope, factor_of, net.incident_start, net.incident, taken)
        walks.append(climb_and_fall(n, *args))
        used += taken
    return walks


def wires_of(net: Net, temperature: float, counting: F64 | None) -> tuple[Any, F64]:
    """Give the fixed arrays that kernels read, and the log of what each table was divided by."""
    from credo._kernels.loopy_messages import Wires  # noqa: PLC0415

    power = np.ones(net.n_factors)
    if counting is not None:
        power[np.diff(net.scope_start) > 1] = counting
    heat = temperature or 1.0
    is_table = net.kind == TABLE
    sizes = np.diff(net.cell_start)
    logs = net.log_values() / np.repeat(np.where(is_table, power * heat, 1.0), sizes)
    top = np.zeros(net.n_factors)
    some = np.flatnonzero(is_table & (sizes > 0))
    if len(some):
        begin = net.cell_start[some]
        ends = np.append(begin[1:], net.cell_start[some[-1] + 1])
        cut = logs[begin[0] : ends[-1]]
        top[some] = np.maximum.reduceat(cut, begin - begin[0])
    top[~np.isfinite(top)] = 0.0
    logs -= np.repeat(top, sizes)
    values = np.where(np.repeat(is_table, sizes), np.exp(logs), net.values)
    wires = Wires(
        scope_start=net.scope_start,
        scope=net.scope,
        kind=net.kind,
        cell_start=net.cell_start,
        values=values,
        logs=logs,
        span=_spans(net, values, logs),
        message_start=net.message_start,
        state_start=starts(net.n_states).astype(np.int64),
        incident_start=net.incident_start,
        incident=net.incident,
        factor_of=net.factor_of,
        counting=power,
    )
    return Wires(*(frozen(np.ascontiguousarray(array).view()) for array in wires)), top


def _spans(net: Net, values: F64, logs: F64) -> F64:
    """Give minus the log of the least positive product that a factor may bring in by itself."""
    spans = np.zeros(net.n_factors)
    sizes = np.diff(net.cell_start)
    some = np.flatnonzero((net.kind == TABLE) & (sizes > 0))
    if len(some):
        begin = net.cell_start[some]
        cut = np.where(np.isinf(logs), 0.0, logs)[begin[0] : net.cell_start[some[-1] + 1]]
        spans[some] = -np.minimum.reduceat(cut, begin - begin[0])
    for f in np.flatnonzero((net.kind != TABLE) & (sizes > 0)).tolist():
        p = values[net.cell_start[f] : net.cell_start[f + 1]]
        both = np.concatenate([p, 1.0 - p])
        spans[f] = -np.log(both[both > 0]).sum()
    return spans
