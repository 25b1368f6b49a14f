"""Joint beliefs of a few variables, by eliminating all the others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from credo._types import F64
from credo.exceptions import BudgetError, InputError
from credo.graphs.ordering import Order, find_order
from credo.graphs.problems import Int64, Problem, pose
from credo.inference._budget import Budget, as_bytes, as_text, refuse_above
from credo.inference._layout import Layout, lay_out
from credo.inference._log_tables import LogTables, as_probabilities
from credo.inference._questions import Question, indices
from credo.inference._tables import SumTables
from credo.inference.conflicts import impossible
from credo.posterior import JointTable


def eliminate(
    problem: Problem,
    query: Sequence[int],
    owner: str,
    budget: Budget,
    order: Order | None = None,
) -> tuple[F64, float]:
    """Sum out everything but the query; give its table, axes in the query's order, and log Z.

    One pass to the root, whose clique holds the query. The table sums to one; it is empty where
    nothing is possible. An order that is given has to end with the query.
    """
    if not len(problem.variables):
        return np.ones(()), _constant(problem)
    _check_size(problem.n_states[list(query)], owner, budget)
    asked = problem.with_clique(query) if len(query) > 1 else problem
    if order is None:
        order = find_order(asked.n_states, asked.scope_start, asked.scope, last=list(query))
    refuse_above(budget, asked, order, owner)
    layout = lay_out(asked, order.sequence)
    root = int(layout.node[-1])
    found = None if problem.is_wide else _scaled(asked, layout, root, query)
    return _in_logs(asked, layout, root, query) if found is None else found


def _scaled(
    asked: Problem, layout: Layout, root: int, query: Sequence[int]
) -> tuple[F64, float] | None:
    """Collect in scaled arithmetic; None if a term was lost, or nothing is possible."""
    tables = SumTables(asked, layout)
    log_z, lost = tables.collect()
    if lost or log_z == -np.inf:
        return None
    return _root_table(tables.table, asked, layout, root, query), log_z


def _in_logs(asked: Problem, layout: Layout, root: int, query: Sequence[int]) -> tuple[F64, float]:
    """Collect in the log domain."""
    logs = LogTables(asked, layout, maximum=False)
    log_z = logs.collect()
    if log_z == -np.inf:
        return np.empty(0), log_z
    cells = _root_cells(logs.table, layout, root)
    cells[:] = as_probabilities(cells)
    return _root_table(logs.table, asked, layout, root, query), log_z


def joint_of(question: Question, names: Iterable[Any]) -> JointTable:
    """Compute the joint table of some variables of a question."""
    wiring = question.wiring
    wanted = indices(wiring, names, "joint") or []
    if not 1 <= len(wanted) <= 64:
        raise InputError(f"joint needs 1 to 64 variables, one axis each. Got {len(wanted)}.")
    _check_size(wiring.n_states[wanted], "joint", question.budget)
    problem = pose(wiring, question.evidence, wanted)
    free = [v for v in wanted if problem.observed[v] < 0]
    local = np.searchsorted(problem.variables, free).tolist()
    table, log_z = eliminate(problem, local, "joint", question.budget)
    if log_z == -np.inf:
        raise impossible(wiring, question.evidence, "joint", question.budget)
    whole = np.zeros(wiring.n_states[wanted])
    whole[tuple(slice(None) if v in free else int(problem.observed[v]) for v in wanted)] = table
    axes: dict[Any, Any] = {wiring.names[v]: wiring.states[v] for v in wanted}
    return JointTable(whole, axes)


def _check_size(shape: Int64, owner: str, budget: Budget) -> None:
    """Refuse a joint table that does not fit, before it is made."""
    cells = math.prod(float(n) for n in shape)
    if 8 * cells > min(as_bytes(budget, owner), 2.0**60):
        raise BudgetError(
            f"{owner} needs {as_text(8 * cells)} for one table of {len(shape)} variables; the "
            f"budget is {budget}. Ask for fewer variables at a time."
        )


def _constant(problem: Problem) -> float:
    """Give the log of a product of constants."""
    return problem.log_constant + float(problem.log_values().sum())


def _root_cells(table: F64, layout: Layout, root: int) -> F64:
    return table[layout.table_start[root] : layout.table_start[root + 1]]


def _root_table(
    table: F64, problem: Problem, layout: Layout, root: int, query: Sequence[int]
) -> F64:
    """Sum the root's table down to the query and bring its axes into the query's order."""
    axes = [int(v) for v in layout.variables_of(root) if problem.n_states[v] > 1]
    shape = problem.n_states[axes]
    cells = _root_cells(table, layout, root).reshape(shape)
    summed = cells.sum(axis=tuple(i for i, v in enumerate(axes) if v not in query))
    kept = [v for v in axes if v in query]
    wanted = [v for v in query if problem.n_states[v] > 1]
    ordered = np.transpose(summed, [kept.index(v) for v in wanted])
    shaped = ordered.reshape(problem.n_states[list(query)])
    return np.asarray(shaped / shaped.sum())
