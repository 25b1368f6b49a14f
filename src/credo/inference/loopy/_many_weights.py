"""Weights on states, row by row: what was observed, and node potentials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64, Bool
from credo._validation.arrays import as_floats
from credo.exceptions import InputError, ShapeError
from credo.graphs.wiring import Wiring, ranges, starts
from credo.inference.many_rows import EvidenceRows

Int64: TypeAlias = npt.NDArray[np.int64]


class Block(NamedTuple):
    """Weights of some rows, largest one for each variable before the base; the rest as a log."""

    weights: F64
    log_scale: F64
    are_lost: Bool  #: rows in which a positive weight is zero here


@dataclass(frozen=True, slots=True, eq=False)
class Potentials:
    """Node potentials of rows, or their logs."""

    variables: Int64
    sizes: Int64
    values: F64  #: rows by states, variable after variable
    are_logs: bool


@dataclass(frozen=True, slots=True, eq=False)
class RowWeights:
    """The weights of all rows, made block by block."""

    rows: EvidenceRows
    potentials: Potentials | None
    n_states: Int64
    heat: float

    def __len__(self) -> int:
        return len(self.rows.codes)

    def block(self, chosen: Int64, base: F64) -> Block:
        """Give the weights of some rows, times those that all rows have in common."""
        from credo._kernels.loopy_lane_weights import weigh_rows  # noqa: PLC0415

        given = self.potentials
        nobody = np.empty(0, np.int64)
        size = len(chosen)
        block = Block(np.empty((size, len(base))), np.empty(size), np.empty(size, np.bool_))
        weigh_rows(
            chosen,
            base,
            self._cells(nobody if given is None else given.variables),
            np.empty((0, 0)) if given is None else given.values,
            given is not None and given.are_logs,
            1.0 / self.heat,
            self._cells(np.asarray(self.rows.variables, np.int64)),
            self.rows.codes,
            *block,
        )
        return block

    def _cells(self, variables: Int64) -> Int64:
        """Give the first cell of each variable, its states, and where they begin side by side."""
        sizes = self.n_states[variables]
        cells = starts(self.n_states)[variables], sizes, starts(sizes)[:-1]
        return np.ascontiguousarray(np.stack(cells, axis=1), np.int64)

    def logs(self, row: int) -> F64:
        """Give the logs of the weights of one row, without those that all rows have in common."""
        logs, start = np.zeros(int(self.n_states.sum())), starts(self.n_states)
        given = self.potentials
        if given is not None and len(given.variables):
            part = given.values[row]
            with np.errstate(divide="ignore"):
                part = part if given.are_logs else np.log(part)
            logs[ranges(start[given.variables], given.sizes)] = part / self.heat
        for v, x in zip(self.rows.variables, self.rows.codes[row], strict=True):
            if x >= 0:
                states = np.arange(self.n_states[v])
                logs[start[v] : start[v + 1]][states != x] = -np.inf
        return logs


def read_potentials(wiring: Wiring, linear: Any, logs: Any, owner: str) -> Potentials | None:
    """Read node potentials, given as they are or as logs: by name, or all in one array."""
    if linear is None and logs is None:
        return None
    if linear is not None and logs is not None:
        raise InputError(f"{owner} takes potentials or log_potentials, not both. Add the logs.")
    given, what = (linear, "potentials") if logs is None else (logs, "log_potentials")
    found = _by_name if isinstance(given, Mapping) else _in_one
    potentials = found(wiring, given, owner, what, are_logs=logs is not None)
    _refuse_bad(wiring, potentials, owner, what)
    return potentials


def _by_name(
    wiring: Wiring, given: Mapping[Any, Any], owner: str, what: str, *, are_logs: bool
) -> Potentials:
    """Read ``{variable: array of shape (rows, states)}``."""
    variables: list[int] = []
    parts: list[F64] = []
    for name, values in given.items():
        v = wiring.index(name)
        array = as_floats(values, owner, f"{what} of {name!r}")
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
    places = np.array(variables, np.int64)
    values = np.ascontiguousarray(np.concatenate(parts, axis=1))
    return Potentials(places, wiring.n_states[places], values, are_logs)


def _in_one(wiring: Wiring, given: Any, owner: str, what: str, *, are_logs: bool) -> Potentials:
    """Read an array of shape (rows, variables, states)."""
    array = as_floats(given, owner, what)
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
    values = np.ascontiguousarray(array.reshape(len(array), len(sizes) * k))
    return Potentials(np.arange(len(sizes)), sizes, values, are_logs)


def _refuse_bad(wiring: Wiring, potentials: Potentials, owner: str, what: str) -> None:
    """Refuse what is no number, negative, or infinite; a log may be -inf."""
    values = potentials.values
    good = values < np.inf if potentials.are_logs else (values >= 0) & (values < np.inf)
    if good.all():
        return
    row, cell = np.argwhere(~good)[0].tolist()
    place = int(np.searchsorted(starts(potentials.sizes), cell, side="right")) - 1
    name = wiring.names[int(potentials.variables[place])]
    range_ = "below infinity" if potentials.are_logs else "finite and at least 0"
    raise InputError(
        f"{owner}: {what} must be {range_}. Row {row} has {values[row, cell]} for {name!r}."
    )
