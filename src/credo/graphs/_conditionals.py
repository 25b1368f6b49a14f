"""Conditional probabilities from users: arrays or dictionaries of rows in, checked arrays out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from credo._types import F64
from credo._validation.arrays import as_floats
from credo._validation.labels import listing, order_of, plain
from credo._validation.probabilities import by_name
from credo.exceptions import InputError, ShapeError
from credo.graphs._rows import divided, fault_of
from credo.graphs._tables import check_axes, in_order, row_name
from credo.graphs.variables import Variable


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
