"""Memory budgets: how they are written, and refusing before anything is allocated."""

from __future__ import annotations

import re

import numpy as np

from credo._validation.labels import listing
from credo.exceptions import BudgetError, InputError
from credo.graphs.ordering import Order
from credo.graphs.problems import Problem
from credo.graphs.wiring import Int64, Wiring

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
#: Beyond this many cells a table cannot even be addressed.
_ADDRESSABLE = 2.0**58

#: Copies of tables with no more cells in all are made without asking.
_SMALL = 1_000_000
#: What to do about an answer that is too large.
ADVICE = (
    "Ask for fewer variables (query=[...]), add evidence on some of them, condition on a cut set "
    "(one run per state of a variable in the clique, weighted by its probability), raise budget=, "
    "or approximate the answer, for instance by loopy belief propagation."
)

Budget = str | int | float | None


def as_bytes(budget: Budget, owner: str) -> float:
    """Turn a budget such as ``"4GB"`` into bytes; None is no limit."""
    if budget is None:
        return float("inf")
    if isinstance(budget, str):
        found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)\s*", budget)
        if found and found[2].lower() in _UNITS:
            return float(found[1]) * _UNITS[found[2].lower()]
    elif (
        isinstance(budget, (int, float, np.number)) and not isinstance(budget, bool) and budget >= 0
    ):
        return float(budget)
    raise InputError(
        f"The budget of {owner} must be bytes or text such as '4GB' or '500 MiB', or None for no "
        f"limit. Got {budget!r}."
    )


def as_text(size: float) -> str:
    """Write bytes for people."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} PB" if size < 1e4 else f"{size * 1e15:.1e} B"


def refuse_above(
    budget: Budget,
    problem: Problem,
    order: Order,
    owner: str,
    *,
    copies: float = 1.0,
    advice: str = ADVICE,
) -> None:
    """Raise BudgetError if the clique tables of an order do not fit; name the largest clique."""
    needed = 8.0 * order.cells * copies
    if needed <= as_bytes(budget, owner) and order.cells < _ADDRESSABLE:
        return
    names = [_name(problem, int(v)) for v in order.clique]
    least = "" if order.exact else "at least "
    raise BudgetError(
        f"{owner} needs {least}{as_text(needed)} for its clique tables; the budget is "
        f"{budget if budget is not None else 'what can be addressed'}. The largest clique has "
        f"{len(names)} variables and 2^{order.log2_largest:.1f} cells: {listing(names)}. {advice}"
    )


def refuse_copies(wiring: Wiring, observed: Int64, budget: Budget) -> None:
    """Raise BudgetError if tables that factors share, copied for each of them, do not fit."""
    limit = as_bytes(budget, "infer")
    if len(wiring.table) < len(wiring.table_start):  # as many tables as factors: none is shared
        return
    cells = np.diff(wiring.table_start)[wiring.table].astype(float)
    if 8.0 * cells.sum() <= limit or cells.sum() <= max(len(wiring.values), _SMALL):
        return
    sizes = np.where(observed >= 0, 1.0, wiring.n_states)[wiring.scope]
    needed = 8.0 * np.multiply.reduceat(sizes, wiring.scope_start[:-1]).sum()
    if needed > limit:
        raise BudgetError(
            f"The factors alone take {as_text(needed)}, each with its own table; the budget is "
            f"{budget}. Raise budget=, or add evidence."
        )


def _name(problem: Problem, variable: int) -> object:
    """Name a variable of a problem; auxiliaries of structured factors have none of their own."""
    v = int(problem.variables[variable])
    names = problem.wiring.names
    return names[v] if v < len(names) else f"auxiliary {v - len(names)}"
