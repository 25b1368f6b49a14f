"""Factors: tables over variables, read from arrays or dictionaries and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np

from credo import _checks as check
from credo._types import F64, Int, Label
from credo.exceptions import InputError, ShapeError
from credo.graphs.variables import Variable
from credo.graphs.wiring import Int64, from_logs


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
        """Return the potentials; infinite or zero where float64 cannot hold them."""
        if not self.log_scale and self.log_values is None:
            return self.values
        with np.errstate(over="ignore", under="ignore"):
            result: F64 = np.exp(self.log_table)
        return result

    @property
    def log_table(self) -> F64:
        """Return the logs of the potentials; minus infinity for zero."""
        if self.log_values is not None:
            return self.log_values + self.log_scale
        with np.errstate(divide="ignore"):
            result: F64 = np.log(self.values) + self.log_scale
        return result

    def __repr__(self) -> str:
        kind = "Factor" if self.child is None else f"CPT of {self.child.name!r}"
        label = "" if self.name is None else f" {self.name!r}"
        over = check.listing([variable.name for variable in self.variables])
        return f"<{kind}{label} over {over}, {self.values.size} cells>"


# --- tables of users ------------------------------------------------------------------------------


def read_factor(
    table: Any, variables: tuple[Variable, ...], owner: str, *, log: bool, name: Label | None = None
) -> Factor:
    """Return a factor of potentials, or of logs: an array, or a dictionary of joint states."""
    shape = tuple(variable.n_states for variable in variables)
    _check_axes(table, variables, owner)
    named = table if len(variables) > 1 else check.by_name(table, variables[0].states)
    if isinstance(named, Mapping):
        table = _in_order(named, variables, owner)
    array = np.array(check.floats(table, f"table of {owner}"), order="C")
    if isinstance(named, Mapping) and array.ndim == 1:
        array = array.reshape(shape)
    if array.shape != shape:
        raise ShapeError(
            f"{owner} needs a table of shape {shape}, one axis for each of "
            f"{check.listing([variable.name for variable in variables])}, one number for each "
            f"joint state. Got shape {array.shape}."
        )
    ends = np.array([0, array.size])
    found = as_potentials(array.ravel(), ends, lambda _: (owner, variables), log=log)
    logs = None if found.log_values is None else check.frozen(found.log_values.reshape(shape))
    values = check.frozen(found.values.reshape(shape))
    return Factor(variables, values, float(found.log_scale[0]), logs, name)


#: What a table is called, and the variables that it is over, by its number: for messages.
Who: TypeAlias = Callable[[int], tuple[str, Sequence[Variable]]]


class Potentials(NamedTuple):
    """Tables one after the other, their log scales, and their logs if these are too wide."""

    values: F64
    log_scale: F64
    log_values: F64 | None


def as_potentials(cells: F64, start: Int, who: Who, *, log: bool) -> Potentials:
    """Check tables of potentials, or of logs, that lie one after the other."""
    if not (log or cells.min(initial=0.0) >= 0) or not cells.max(initial=0.0) < np.inf:
        place = int(np.argmin((cells < np.inf) & (log | (cells >= 0))))
        number = int(np.searchsorted(start, place, "right")) - 1
        owner, variables = who(number)
        needs = "logs that are finite or minus infinity" if log else "finite potentials, at least 0"
        raise InputError(
            f"{owner} needs {needs}. Got {cells[place]:g} for "
            f"{_joint_state(place - int(start[number]), variables)}."
            f"{'' if log else ' If these are logs, pass log=True.'}"
        )
    top = np.maximum.reduceat(cells, start[:-1]) if cells.size else np.empty(0)
    none = top == (-np.inf if log else 0.0)
    if none.any():
        owner = who(int(np.argmax(none)))[0]
        zeros = "logs of zeros" if log else "a table of zeros"
        raise InputError(
            f"{owner} allows no state: it has {zeros}, with which no joint state is possible."
        )
    return Potentials(*from_logs(cells, start) if log else (cells, np.zeros(len(top)), None))


def _check_axes(table: Any, variables: Sequence[Variable], owner: str) -> None:
    """Refuse a data frame whose rows or columns are the states in another order."""
    if len(variables) == 2 and hasattr(table, "columns"):
        check.frame(table, variables[0].states, f"names given to {owner}", "index")
        check.frame(table, variables[1].states, f"names given to {owner}")


def _joint_state(index: int, variables: Sequence[Variable]) -> str:
    """Return the joint state at a flat index in words."""
    places = np.unravel_index(index, tuple(variable.n_states for variable in variables))
    pairs = zip(variables, places, strict=True)
    return ", ".join(f"{v.name!r} = {v.states[int(i)]!r}" for v, i in pairs)


def _in_order(cells: Mapping[Any, Any], variables: Sequence[Variable], owner: str) -> list[Any]:
    """List the values of ``{(state, ...): value}``, which must name every joint state once.

    For a single variable a key may be the state itself.
    """
    values: dict[int, Any] = {}
    for key, value in cells.items():
        is_joint = isinstance(key, tuple) and (len(variables) > 1 or key not in variables[0].states)
        joint = key if is_joint else (key,)
        if len(joint) != len(variables):
            raise InputError(
                f"{owner}: the key {joint!r} must have one state for each of "
                f"{check.listing([variable.name for variable in variables])}, in this order."
            )
        place = 0
        for state, variable in zip(joint, variables, strict=True):
            holder = f"{owner}: variable {variable.name!r}"
            where = check.position(state, variable.states, "state", holder)
            place = place * variable.n_states + where
        if place in values:
            raise InputError(f"{owner} has two values for {_joint_state(place, variables)}.")
        values[place] = value
    every = range(int(np.prod([variable.n_states for variable in variables])))
    if len(values) < len(every):
        missing = next(place for place in every if place not in values)
        raise InputError(
            f"{owner} has no value for {_joint_state(missing, variables)}. A dictionary must name "
            f"every joint state."
        )
    return [values[place] for place in every]


# --- conditional probabilities --------------------------------------------------------------------


def read_conditional(table: Any, variables: tuple[Variable, ...], tolerance: float) -> F64:
    """Return conditional probabilities over parents and child, the last; rows are divided.

    They come as an array, or as rows by the states of the parents.
    """
    *parents, child = variables
    owner = f"CPT of {child.name!r}"
    shape = tuple(variable.n_states for variable in variables)
    if table is None:
        raise InputError(f"{owner} needs a table. Got none.")
    if not parents:
        array = np.array(check.per_label(table, child.states, f"probabilities of {owner}"))
    elif isinstance(table, Mapping):
        rows = (
            check.per_label(row, child.states, f"probabilities of {owner}, {name_row(i, parents)},")
            for i, row in enumerate(_in_order(table, parents, owner))
        )
        array = np.array(list(rows))
    else:
        _check_axes(table, variables, owner)
        array = np.array(check.floats(table, f"table of {owner}"), order="C")
        if array.shape != shape:
            names = check.listing([parent.name for parent in parents])
            raise ShapeError(
                f"{owner} given {names} needs a table of shape {shape}: one axis per parent, in "
                f"this order, and the child on the last. Got shape {array.shape}."
            )
    lengths = np.full(array.size // child.n_states, child.n_states)
    named = divide_rows(
        array.ravel(), lengths, tolerance, lambda row: f"{owner}: {name_row(row, parents)}"
    )
    return check.frozen(named.reshape(shape))


def name_row(row: int, parents: Sequence[Variable]) -> str:
    """Name a row by the states of the parents, for a message."""
    return f"the row for {_joint_state(row, parents)}" if parents else "it"


def divide_rows(
    values: F64,
    lengths: Int64,
    tolerance: float,
    who: Callable[[int], str],
    remedy: str = "Correct the row, or pass a larger tolerance.",
) -> F64:
    """Divide contiguous rows of the given lengths by their sums, which must be nearly one.

    The sum of k numbers that add up to one is off by less than k roundings, so that rows that
    were divided once are within four times that and are left alone the second time. ``who`` is
    what a row is called in messages.
    """
    starts = np.cumsum(lengths) - lengths
    slack = 4 * np.finfo(np.float64).eps * lengths
    with np.errstate(invalid="ignore", over="ignore"):
        totals = np.add.reduceat(values, starts)
        gaps = np.abs(totals - 1.0)
    wrong = ~(gaps <= tolerance + slack) | ~(totals > 0)
    if not values.min() >= 0:
        wrong |= np.minimum.reduceat(values, starts) < 0
    if wrong.any():
        number = int(np.argmax(wrong))
        row = values[starts[number] : starts[number] + lengths[number]]
        raise InputError(f"{who(number)} {check.row_fault(row, remedy)}")
    off = gaps > slack
    return values / np.repeat(np.where(off, totals, 1.0), lengths) if off.any() else values
