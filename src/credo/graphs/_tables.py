"""Tables from users: arrays or dictionaries in, checked arrays out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from credo._types import F64, Label
from credo._validation.arrays import as_floats, frozen
from credo._validation.labels import check_frame, hint, listing, plain
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
