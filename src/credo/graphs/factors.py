"""Factors: tables over variables, read from arrays or dictionaries and checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
import numpy.typing as npt

from credo._types import F64, Label
from credo._validation.arrays import as_floats, frozen
from credo._validation.labels import check_frame, hint, listing, order_of, plain
from credo._validation.probabilities import by_name
from credo.exceptions import InputError, LabelError, ShapeError
from credo.graphs.variables import Variable

#: Range of logs above which their exponentials are not all float64 numbers with full precision:
#: the smallest of these is exp(-708); the rest is room for products with other tables.
WIDE_LOGS = 600.0


class Potentials(NamedTuple):
    """A table in the linear domain, its log scale, and its logs if they are too wide."""

    values: F64
    log_scale: float
    log_values: F64 | None


def as_potentials(
    table: Any, variables: Sequence[Variable], owner: str, *, log: bool
) -> Potentials:
    """Check a table of potentials, or of their logs, over variables."""
    array = as_table(table, variables, owner)
    return _from_logs(array, variables, owner) if log else _linear(array, variables, owner)


def as_table(table: Any, variables: Sequence[Variable], owner: str) -> F64:
    """Turn an array, or a dictionary of joint states, into a new array with an axis each."""
    shape = tuple(variable.n_states for variable in variables)
    if len(variables) == 1 and by_name(table, variables[0].states) is not None:
        table = by_name(table, variables[0].states)
    check_axes(table, variables, owner)
    if isinstance(table, Mapping):
        table = np.reshape(_numbers(in_order(table, variables, owner), owner), shape)
    array = np.array(as_floats(table, owner, "table"), order="C")
    if array.shape != shape:
        raise ShapeError(
            f"{owner} needs a table of shape {shape}, one axis for each of "
            f"{listing([variable.name for variable in variables])}. Got shape {array.shape}."
        )
    return array


def check_axes(table: Any, variables: Sequence[Variable], owner: str) -> None:
    """Refuse a data frame whose rows or columns are the states in another order."""
    if len(variables) == 2 and hasattr(table, "columns"):
        check_frame(table, variables[0].states, owner, "index")
        check_frame(table, variables[1].states, owner)


def joint_state(index: int, variables: Sequence[Variable]) -> str:
    """Describe the joint state at a flat index, for a message."""
    places = np.unravel_index(index, tuple(variable.n_states for variable in variables))
    pairs = zip(variables, places, strict=True)
    return ", ".join(f"{v.name!r} = {v.states[int(i)]!r}" for v, i in pairs)


def row_name(row: int, parents: Sequence[Variable]) -> str:
    """Name a row by the states of the parents, for a message."""
    return f"the row for {joint_state(row, parents)}" if parents else "it"


def _linear(array: F64, variables: Sequence[Variable], owner: str) -> Potentials:
    """Check potentials: finite, at least zero, and not all zero."""
    if not (array.min() >= 0 and array.max() < np.inf):
        place = int(np.argmax(~((array >= 0) & (array < np.inf))))
        raise InputError(
            f"{owner} needs finite potentials that are at least 0. Got {array.flat[place]:g} for "
            f"{joint_state(place, variables)}. If these are logs, pass log=True."
        )
    if not array.any():
        raise InputError(f"{owner} has a table of zeros, with which no joint state is possible.")
    return Potentials(frozen(array), 0.0, None)


def _from_logs(array: F64, variables: Sequence[Variable], owner: str) -> Potentials:
    """Turn logs, of which some may be minus infinity, into scaled potentials."""
    top = float(array.max())
    if not top < np.inf:
        place = int(np.argmax(~(array < np.inf)))
        raise InputError(
            f"{owner} needs logs that are finite or minus infinity. Got {array.flat[place]:g} for "
            f"{joint_state(place, variables)}."
        )
    if top == -np.inf:
        raise InputError(f"{owner} has logs of zeros, with which no joint state is possible.")
    logs = array - top
    wide = float(logs.min(where=logs > -np.inf, initial=0.0)) < -WIDE_LOGS
    with np.errstate(under="ignore"):
        return Potentials(frozen(np.exp(logs)), top, frozen(logs) if wide else None)


def _numbers(cells: list[Any], owner: str) -> F64:
    """Turn the cells of a dictionary into one number each."""
    array = as_floats(cells, owner, "table")
    if array.ndim != 1:
        raise ShapeError(f"{owner} needs one number for each joint state in its dictionary.")
    return array


def in_order(cells: Mapping[Any, Any], variables: Sequence[Variable], owner: str) -> list[Any]:
    """List the values of ``{(state, ...): value}``, which must name every joint state once."""
    lookups = [{state: i for i, state in enumerate(v.states)} for v in variables]
    places: dict[int, Any] = {}
    for key, value in cells.items():
        place = _place(_joint_key(key, variables), lookups, variables, owner)
        if place in places:
            raise InputError(f"{owner} has two values for {joint_state(place, variables)}.")
        places[place] = value
    size = math.prod(len(lookup) for lookup in lookups)
    if len(places) < size:
        missing = next(place for place in range(size) if place not in places)
        raise InputError(
            f"{owner} has no value for {joint_state(missing, variables)}. A dictionary must name "
            f"every joint state."
        )
    return [places[place] for place in range(size)]


def _joint_key(key: Any, variables: Sequence[Variable]) -> tuple[Any, ...]:
    """Read a key as one state per variable; for a single variable it may be the state itself."""
    if len(variables) == 1 and (not isinstance(key, tuple) or key in variables[0].states):
        return (key,)
    return key if isinstance(key, tuple) else (key,)


def _place(
    key: tuple[Any, ...],
    lookups: Sequence[Mapping[Label, int]],
    variables: Sequence[Variable],
    owner: str,
) -> int:
    """Find the flat index of a joint state."""
    if len(key) != len(variables):
        raise InputError(
            f"{owner}: the key {key!r} must have one state for each of "
            f"{listing([variable.name for variable in variables])}, in this order."
        )
    place = 0
    for state, lookup, variable in zip(key, lookups, variables, strict=True):
        where = lookup.get(plain(state))
        if where is None:
            raise LabelError(
                f"{owner}: variable {variable.name!r} has no state {state!r}. Known: "
                f"{listing(variable.states)}.{hint(state, variable.states)}"
            )
        place = place * len(lookup) + where
    return place


@final
@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    r"""Hold a table of potentials over variables, one axis each.

    .. math:: \psi(x) = \text{values}(x) \, e^{\text{log\_scale}}

    Made by ``factor``, ``cpt``, ``node`` or ``edge`` of a model. Two factors are never equal:
    each counts.

    Attributes
    ----------
    variables : tuple of Variable
        The variables, in the order of the axes.
    values : ndarray
        Potentials up to their common scale; read-only.
    log_scale : float
        Log of the scale; zero unless the table was given in logs.
    log_values : ndarray or None
        Logs of ``values``, kept if their range is too wide for ``values``.
    name : Hashable or None
        A name for people.
    child : Variable or None
        The variable whose conditional probability this is; it is on the last axis.

    See Also
    --------
    FactorGraph : Made of these.

    Examples
    --------
    >>> from credo.graphs import FactorGraph
    >>> graph = FactorGraph()
    >>> rain = graph.variable("rain", ["no", "yes"])
    >>> graph.factor([rain], {"yes": 0.2, "no": 0.8}).table
    array([0.8, 0.2])
    """

    variables: tuple[Variable, ...]
    values: F64
    log_scale: float = 0.0
    log_values: F64 | None = None
    name: Label | None = None
    child: Variable | None = None

    @property
    def table(self) -> F64:
        """Give the potentials; infinite or zero where float64 cannot hold them."""
        if not self.log_scale and self.log_values is None:
            return self.values
        with np.errstate(over="ignore", under="ignore"):
            result: F64 = np.exp(self.log_table)
        return result

    @property
    def log_table(self) -> F64:
        """Give the logs of the potentials; minus infinity for zero."""
        if self.log_values is not None:
            return self.log_values + self.log_scale
        with np.errstate(divide="ignore"):
            result: F64 = np.log(self.values) + self.log_scale
        return result

    def __repr__(self) -> str:
        kind = "Factor" if self.child is None else f"CPT of {self.child.name!r}"
        label = "" if self.name is None else f" {self.name!r}"
        over = listing([variable.name for variable in self.variables])
        return f"<{kind}{label} over {over}, {self.values.size} cells>"


class Rows(NamedTuple):
    """Rows divided by their sums, and the first that is no distribution, or -1, with its sum."""

    values: F64
    fault: int
    total: float


def divided(values: F64, lengths: npt.NDArray[np.int64], tolerance: float) -> Rows:
    """Divide contiguous rows of the given lengths by their sums, if these are nearly one.

    The sum of k numbers that add up to one is off by less than k roundings, so that rows that
    were divided once are within four times that and are left alone the second time.
    """
    starts = np.cumsum(lengths) - lengths
    slack = 4 * np.finfo(np.float64).eps * lengths
    with np.errstate(invalid="ignore", over="ignore"):
        totals = np.add.reduceat(values, starts)
        gaps = np.abs(totals - 1.0)
    wrong = ~(gaps <= tolerance + slack)
    wrong |= ~(totals > 0)
    if not values.min() >= 0:
        wrong |= np.minimum.reduceat(values, starts) < 0
    if wrong.any():
        fault = int(np.argmax(wrong))
        return Rows(values, fault, float(totals[fault]))
    off = gaps > slack
    if off.any():
        values = values / np.repeat(np.where(off, totals, 1.0), lengths)
    return Rows(values, -1, 1.0)


def fault_of(
    row: F64, total: float, tolerance: float, remedy: str = ", or pass a larger tolerance"
) -> str:
    """Say what is wrong with a row, a sentence without its subject, and what to do."""
    if np.isnan(row).any():
        return "has NaN."
    if (row < 0).any():
        return f"has the negative entry {row[row < 0][0]:g}."
    if not total:
        return "is all zeros. A row of probabilities must sum to 1."
    return f"sums to {total:.9g}, not to 1 within {tolerance:g}. Mend the row{remedy}."


def as_conditional(table: Any, variables: tuple[Variable, ...], tolerance: float) -> F64:
    """Check conditional probabilities over parents and child, the last; rows are divided."""
    *parents, child = variables
    owner = f"CPT of {child.name!r}"
    if table is None:
        raise InputError(f"{owner} needs a table. Got none.")
    shape = tuple(variable.n_states for variable in variables)
    array = _from_rows(table, parents, child, owner).ravel()
    lengths = np.full(array.size // child.n_states, child.n_states, dtype=np.int64)
    rows = divided(array, lengths, tolerance)
    if rows.fault >= 0:
        start = rows.fault * child.n_states
        fault = fault_of(array[start : start + child.n_states], rows.total, tolerance)
        raise InputError(f"{owner}: {row_name(rows.fault, parents)} {fault}")
    return rows.values.reshape(shape)


def _from_rows(table: Any, parents: list[Variable], child: Variable, owner: str) -> F64:
    """Turn an array, or rows by the parents' states, into a new array."""
    if not parents:
        return _row(table, child, owner)
    shape = tuple(variable.n_states for variable in (*parents, child))
    if not isinstance(table, Mapping):
        check_axes(table, [*parents, child], owner)
        array = np.array(as_floats(table, owner, "table"), order="C")
        if array.shape != shape:
            names = listing([parent.name for parent in parents])
            raise ShapeError(
                f"{owner} given {names} needs a table of shape {shape}: one axis per parent, in "
                f"this order, and the child on the last. Got shape {array.shape}."
            )
        return array
    rows = in_order(table, parents, owner)
    return np.array([_row(row, child, owner) for row in rows])


def _row(row: Any, child: Variable, owner: str) -> F64:
    """Turn one row, in the order of the states or by state, into a new array."""
    named = by_name(row, child.states)
    if named is not None:
        given = tuple(plain(state) for state in named)
        order = order_of(child.states, given, owner, "row")
        return as_floats(list(named.values()), owner, "probabilities")[order]
    array = np.array(as_floats(row, owner, "probabilities"))
    if array.shape != (child.n_states,):
        raise ShapeError(
            f"{owner} needs rows of {child.n_states} probabilities, one for each of "
            f"{listing(child.states)}. Got shape {array.shape}."
        )
    return array
