"""The text of a UAI model, from a compiled one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from credo._types import F64
from credo.exceptions import InputError
from credo.graphs.wiring import Wiring


def lines(wiring: Wiring, *, log: bool) -> Iterator[str]:
    """Give the lines of the file; a table that several factors share is turned to text once."""
    yield f"{'BAYES' if _is_directed(wiring) else 'MARKOV'}\n{len(wiring.n_states)}\n"
    yield f"{' '.join(map(str, wiring.n_states.tolist()))}\n{len(wiring.table)}\n"
    starts = wiring.scope_start.tolist()
    for start, stop in pairwise(starts):
        yield f"{stop - start} {' '.join(map(str, wiring.scope[start:stop].tolist()))}\n"
    used = np.bincount(wiring.table, minlength=len(wiring.log_scale))
    kept: dict[int, str] = {}
    for table in wiring.table.tolist():
        text = kept.get(table) or _table(wiring, table, log=log)
        if used[table] > 1:
            kept[table] = text
        yield text


def _is_directed(wiring: Wiring) -> bool:
    """Tell whether there is one table per variable: its probabilities given those before it."""
    ends = wiring.scope[wiring.scope_start[1:] - 1]
    return bool(
        len(wiring.table) == len(wiring.n_states)
        and (wiring.owner == ends).all()
        and (np.bincount(ends, minlength=len(ends)) == 1).all()
    )


def _table(wiring: Wiring, table: int, *, log: bool) -> str:
    """Write one table: its size, and its numbers as they are read back bit for bit."""
    cells = slice(*wiring.table_start[table : table + 2].tolist())
    values = wiring.values[cells]
    logs = None if wiring.log_values is None else wiring.log_values[cells]
    scale = float(wiring.log_scale[table])
    numbers = _logs(values, logs, scale) if log else _linear(values, logs, scale)
    return f"\n{values.size}\n{' '.join(map(repr, numbers.tolist()))}\n"


def _logs(values: F64, logs: F64 | None, scale: float) -> F64:
    """Give natural logs."""
    with np.errstate(divide="ignore"):
        return (np.log(values) if logs is None else logs) + scale


def _linear(values: F64, logs: F64 | None, scale: float) -> F64:
    """Give potentials, if float64 can hold them."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        numbers = values * np.exp(scale) if scale else values
    possible = values > 0 if logs is None else logs > -np.inf
    if not (np.isfinite(numbers).all() and (numbers > 0)[possible].all()):
        raise InputError(
            "write_uai: a table given in logs is too large or too small for plain numbers. "
            "Pass log=True to write logs."
        )
    return numbers
