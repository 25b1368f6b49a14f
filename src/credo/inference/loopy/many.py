"""Loopy belief propagation for many rows of evidence, or of node potentials, side by side."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._types import F64
from credo.exceptions import BudgetError, InputError, ShapeError
from credo.graphs.wiring import Wiring, ranges, starts
from credo.inference.loopy import row_kernels as kernels
from credo.inference.loopy.engine import Options
from credo.inference.loopy.kernels import TABLE
from credo.inference.loopy.messages import LogMessages
from credo.inference.loopy.net import Draft, Net
from credo.inference.loopy.row_kernels import LANES
from credo.inference.many_rows import EvidenceRows, RowEngine, read_rows, run_in_rooms
from credo.inference.question import as_text

Int64: TypeAlias = npt.NDArray[np.int64]
#: How rows end, in the order of the kernels' numbers; lost ones are not left in the end.
_ENDS = np.array(["", "CONVERGED", "MAX_SWEEPS", "SATISFIED", "IMPOSSIBLE", "LOST"])
#: A residual below which nothing but rounding moves.
_STILL = 1e-12
#: For each type: a number that products of positive numbers may not fall below, well above the
#: least normal one (2e-308 and 1e-38); a floor for messages, so that two of them stay above; and
#: the floor at which rows are not tried: float32 is good for 6e-8 and would show a coarser one.
_LEAST = {
    np.dtype(np.float64): (1e-300, 1e-140, 1.0),
    np.dtype(np.float32): (1e-37, 1e-18, 1e-8),
}
#: Rows of a block, as long as their weights take no more bytes than this; then fewer, but enough to
#: keep the lanes busy until the last rows. And copies of these weights while they are made.
_BLOCK, _BLOCK_BYTES, _LEAST_BLOCK, _COPIES = 1024, 16e6, 2 * LANES, 4
#: Bytes of a line of the cache: numbers of one run that lie on two take twice as long.
_LINE = 64


class _Run(NamedTuple):
    """What becomes of each row; the kernels write into it."""

    beliefs: F64
    log_z: F64
    residuals: F64
    report: Int64  #: the end, as the kernels number it, and the sweeps

    def lost(self) -> Int64:
        """Return the rows whose numbers were too small so far."""
        return np.flatnonzero(self.report[:, 0] == kernels.LOST)


class LoopyRows(RowEngine):
    """A compiled model whose messages pass for many rows side by side."""

    beside = 4

    def __init__(  # noqa: PLR0913 - one parameter per setting, each with a default
        self,
        model: Any,
        query: Iterable[Hashable] | None,
        *,
        schedule: str = "flooding",
        sweeps: int = 1000,
        tolerance: float | None = None,
        momentum: float | str = 1.0,
        temperature: float = 1.0,
        dtype: Any = "float64",
        until: str = "converged",
        log_evidence: bool = True,
        **shared: Any,
    ) -> None:
        check.one_of(schedule, ("flooding",), "schedule of infer_many")
        check.one_of(until, ("converged", "satisfied"), "until of infer_many")
        if isinstance(momentum, str):
            raise InputError(
                "The momentum of infer_many is the share of the new message, above 0 and at most "
                f"1. Got {momentum!r}."
            )
        self._options = Options.of(
            schedule=schedule,
            momentum=momentum,
            temperature=temperature,
            sweeps=sweeps,
            tolerance=tolerance,
            dtype=dtype,
        )
        self._until_possible, self._sums = until == "satisfied", bool(log_evidence)
        super().__init__(model, query, keep_rules=True, **shared)
        evidence, heat = self._question.evidence, self._options.temperature
        self._net = Draft.of(self.wiring, evidence, temperature=heat).net()
        self._column = np.full(len(self._net.problem.n_states), -1)
        self._column[self.wanted] = starts(self.wiring.n_states[self.wanted])[:-1]

    def _read(
        self,
        rows: Any,
        columns: Iterable[Hashable] | None,
        potentials: tuple[Any, Any],
        owner: str,
    ) -> EvidenceRows:
        """Read rows and potentials."""
        if all(given is None for given in potentials):
            if rows is None:
                raise InputError(f"{owner} needs rows of evidence, or potentials. Got neither.")
            return read_rows(self.wiring, rows, columns, owner)
        cells, logs = _read_potentials(self.wiring, *potentials, owner)
        seen = EvidenceRows((), np.zeros((len(logs), 0), np.int32))
        if rows is not None:
            seen = read_rows(self.wiring, rows, columns, owner)
        if len(logs) != len(seen.codes):
            raise ShapeError(
                f"{owner}: there are {len(seen.codes)} rows of evidence and {len(logs)} of "
                "potentials. Give as many of both."
            )
        if self._options.temperature not in (0.0, 1.0):
            logs = logs / self._options.temperature
        return EvidenceRows(seen.variables, seen.codes, cells, logs)

    def _answer(
        self,
        rows: EvidenceRows,
        beliefs: F64,
        log_z: F64,
        report: Callable[[Any], None],
        owner: str,
    ) -> dict[str, Any]:
        """Run rows side by side; those whose numbers are too small in float64, then in logs."""
        n_rows = len(rows.codes)
        run = _Run(beliefs, log_z, np.zeros(n_rows), np.full((n_rows, 2), kernels.LOST))
        for dtype in dict.fromkeys([self._options.dtype, np.dtype(np.float64)]):
            self._side_by_side(rows, run, dtype, report, owner)
        for row in run.lost().tolist():
            self._in_logs(rows, row, run)
            report(row)
        ends = run.report[:, 0]
        bad = (ends == kernels.IMPOSSIBLE) | np.isneginf(log_z)
        ends[bad], run.residuals[bad], log_z[bad] = kernels.IMPOSSIBLE, np.nan, -np.inf
        if not self._sums:
            log_z[~bad] = np.nan
        is_settled = np.isin(ends, (kernels.CONVERGED, kernels.IMPOSSIBLE)).all()
        is_settled &= self._options.dtype == np.float64
        is_still = is_settled and np.nanmax(run.residuals, initial=0.0) <= _STILL
        return {
            "statuses": _ENDS[ends],
            "sweeps": run.report[:, 1],
            "residuals": run.residuals,
            "log_evidence_is": "EXACT" if is_still and self._net.is_forest else "ESTIMATE",
        }

    def _side_by_side(
        self,
        rows: EvidenceRows,
        run: _Run,
        dtype: Any,
        report: Callable[[Any], None],
        owner: str,
    ) -> None:
        """Run the rows that are lost so far, in blocks, on threads, within the budget."""
        switches = self._until_possible, dtype == np.float64, self._sums
        left, lanes = run.lost(), _Lanes(self._net, dtype, self._options, switches)
        if not len(left) or lanes.is_coarse:
            return
        n_states = len(self._net.wires.unary)
        fitting = int(_BLOCK_BYTES / (8.0 * max(n_states, 1)))
        size = max(_LEAST_BLOCK, min(_BLOCK, fitting))
        size = max(LANES, min(size, -(-len(left) // self._threads)))
        each = lanes.n_bytes + _COPIES * 8.0 * n_states * min(size, len(left))
        memory = self._memory - run.beliefs.nbytes
        if each > memory:
            raise BudgetError(
                f"{owner}: the messages of rows side by side take {as_text(each)}; the budget "
                f"leaves {as_text(max(memory, 0.0))}. Raise budget=, or ask row by row: "
                "infer(method='loopy')."
            )
        blocks = [left[i : i + size] for i in range(0, len(left), size)]
        rooms = int(max(1, min(self._threads, memory // each, len(blocks))))

        def work(block: Int64, room: Any) -> None:
            lanes.run(room, self._logs(rows, block), block, self._column, run)

        def tell(block: Int64) -> None:
            report(block[run.report[block, 0] != kernels.LOST])

        run_in_rooms(blocks, [lanes.room() for _ in range(rooms)], work, tell)

    def _logs(self, rows: EvidenceRows, chosen: Int64) -> F64:
        """Return the logs of the weights on all states, of some rows."""
        logs = np.tile(self._net.wires.unary, (len(chosen), 1))
        if rows.logs is not None:
            logs[:, rows.cells] += rows.logs[chosen]
        for v, codes in zip(rows.variables, rows.codes[chosen].T, strict=True):
            states = np.arange(self.wiring.n_states[v])
            hidden = (codes[:, np.newaxis] >= 0) & (codes[:, np.newaxis] != states)
            logs[:, self._start[v] : self._start[v + 1]][hidden] = -np.inf
        return logs

    def _in_logs(self, rows: EvidenceRows, row: int, run: _Run) -> None:
        """Answer one row in the log domain: slower, and nothing is lost."""
        pace, end, number = self._options.pace, kernels.MAX_SWEEPS, 0
        logs, net = self._logs(rows, np.array([row]))[0], self._net
        net = replace(net, wires=net.wires._replace(unary=check.frozen(logs)))
        messages = LogMessages(net, "flooding", maximum=self._options.maximum)
        if messages.is_contradiction:
            end = kernels.IMPOSSIBLE
        while end == kernels.MAX_SWEEPS and number < pace.sweeps:
            number += 1
            run.residuals[row] = messages.sweep(pace.eta)
            if run.residuals[row] == np.inf:
                end = kernels.IMPOSSIBLE
            elif self._until_possible and self._is_possible(messages.beliefs()):
                end = kernels.SATISFIED
            elif run.residuals[row] <= pace.tolerance:
                end = kernels.CONVERGED
        if end != kernels.IMPOSSIBLE:
            run.log_z[row] = messages.log_z()
            run.beliefs[row] = messages.beliefs()[self._cells]
        run.report[row] = end, number

    def _is_possible(self, beliefs: F64) -> bool:
        """Tell whether no factor forbids the most probable states."""
        start = self._net.wires.state_start
        best = np.array([beliefs[a:b].argmax() for a, b in pairwise(start.tolist())], np.int32)
        lanes = np.zeros((4, LANES), np.int64)
        kernels.check(self._net.wires, np.repeat(best, LANES), lanes)
        return not lanes[kernels.BROKEN, 0]


class _Lanes:
    """Where the numbers of rows side by side lie, and how small they may be."""

    def __init__(
        self, net: Net, dtype: Any, options: Options, switches: tuple[bool, bool, bool]
    ) -> None:
        self._log_constant, pace = net.log_constant, options.pace
        wires, n_states = net.wires, net.problem.n_states
        arity, degree = np.diff(wires.scope_start), np.diff(wires.incident_start)
        entries = int(wires.message_start[-1])
        width = int(np.diff(wires.message_start[wires.scope_start]).max(initial=0))
        products = int((n_states * (degree + 1)).max(initial=0))
        work = max(2 * int(arity.max(initial=0)) + 2, products)
        at = kernels.FIXED + starts(np.array([len(wires.unary), entries, entries, width, work]))
        places = kernels.RowPlaces(*at[:-1].tolist())
        self._size, self._dtype = int(at[-1]) * LANES, np.dtype(dtype)
        self.n_bytes = self._size * self._dtype.itemsize
        tiny, floor, coarse = _LEAST[self._dtype]
        tables, gates = wires.kind == TABLE, wires.values[len(wires.logs) :]
        gates = np.minimum(gates, 1.0 - gates)
        deepest = (
            np.full(1, np.log(floor)),
            (np.log(tiny) + wires.span[tables]) / (arity[tables] - 1),
            np.log(tiny / floor) - np.log(gates[gates > 0.0]),
        )
        floor = float(np.exp(min(np.concatenate(deepest).max(), 0.0)))
        self.is_coarse = floor >= coarse
        numbers = 0.0, 1.0, pace.eta, 1.0 - pace.eta, floor, not options.maximum
        settings = np.array([pace.sweeps, *switches], np.int64)
        self._how = np.array(numbers, dtype), pace.tolerance, settings
        with np.errstate(under="ignore"):
            values = wires.values.astype(dtype)
        self._laid = wires, values, places, kernels.plan_products(wires, places)

    def room(self) -> Any:
        """Make room for one thread: lanes that begin with a line of the cache."""
        item = self._dtype.itemsize
        numbers = np.zeros(self._size + _LINE // item, self._dtype)
        skip = -numbers.ctypes.data % _LINE // item
        return numbers[skip : skip + self._size]

    def run(self, room: Any, logs: F64, chosen: Int64, column: Int64, run: _Run) -> None:
        """Run chosen rows, given the logs of their weights; write what becomes of them."""
        empty: Any = (np.zeros((len(chosen), *whole.shape[1:]), whole.dtype) for whole in run)
        part = _Run(*empty)
        kernels.run_rows(room, self._laid, *self._how, logs, column, part)
        part.log_z[:] += self._log_constant
        for whole, some in zip(run, part, strict=True):
            whole[chosen] = some


def _read_potentials(wiring: Wiring, linear: Any, logs: Any, owner: str) -> tuple[Int64, F64]:
    """Read node potentials, by name or all in one array; return their states, and logs by row."""
    if linear is not None and logs is not None:
        raise InputError(f"{owner} takes potentials or log_potentials, not both. Add the logs.")
    given, what = (linear, "potentials") if logs is None else (logs, "log_potentials")
    read = _by_name if isinstance(given, Mapping) else _in_one
    variables, values = read(wiring, given, owner, what)
    sizes = wiring.n_states[variables]
    good = values < np.inf if linear is None else (values >= 0) & (values < np.inf)
    if not good.all():
        row, cell = np.argwhere(~good)[0].tolist()
        name = wiring.names[int(np.repeat(variables, sizes)[cell])]
        range_ = "below infinity" if linear is None else "finite and at least 0"
        raise InputError(
            f"{owner}: {what} must be {range_}. Row {row} has {values[row, cell]} for {name!r}."
        )
    with np.errstate(divide="ignore"):
        values = values if linear is None else np.log(values)
    return ranges(starts(wiring.n_states)[variables], sizes), values


def _by_name(wiring: Wiring, given: Mapping[Any, Any], owner: str, what: str) -> tuple[Int64, F64]:
    """Read ``{variable: array of shape (rows, states)}``."""
    variables: list[int] = []
    parts: list[F64] = []
    for name, values in given.items():
        v = wiring.index(name)
        array = check.floats(values, f"{what} of {name!r}")
        if array.ndim != 2 or array.shape[1] != wiring.n_states[v]:
            raise ShapeError(
                f"{owner}: the {what} of {name!r} must have shape (rows, {wiring.n_states[v]}), a "
                f"column for each state. Got {array.shape}."
            )
        if parts and len(array) != len(parts[0]):
            raise ShapeError(
                f"{owner}: the {what} of {name!r} have {len(array)} rows, those of "
                f"{wiring.names[variables[0]]!r} {len(parts[0])}. Give as many for each."
            )
        variables.append(v)
        parts.append(array)
    if not parts:
        raise InputError(f"{owner}: the {what} name no variable. Leave them out, or name one.")
    return np.array(variables, np.int64), np.concatenate(parts, axis=1)


def _in_one(wiring: Wiring, given: Any, owner: str, what: str) -> tuple[Int64, F64]:
    """Read an array of shape (rows, variables, states)."""
    array = check.floats(given, f"{what} of {owner}")
    sizes = np.asarray(wiring.n_states[: len(wiring.names)])
    if len(sizes) and (sizes != sizes[0]).any():
        raise ShapeError(
            f"{owner}: {what} in one array need variables with equal numbers of states. Here they "
            f"have {sizes.min()} to {sizes.max()}. Pass a mapping {{variable: array}}."
        )
    k = int(sizes[0]) if len(sizes) else 1
    if array.ndim != 3 or array.shape[1:] != (len(sizes), k):
        raise ShapeError(
            f"{owner}: {what} in one array must have shape (rows, {len(sizes)}, {k}): rows, "
            f"variables in the order of the model, states. Got {array.shape}."
        )
    return np.arange(len(sizes)), array.reshape(len(array), len(sizes) * k)
