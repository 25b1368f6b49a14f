"""Exact, independent draws from a posterior over all variables."""

from __future__ import annotations

import numpy as np

from credo._types import F64, Label, RandomState
from credo._validation.arrays import generator, positive_int
from credo.exceptions import BudgetError
from credo.graphs.ordering import find_order
from credo.graphs.problems import Problem, pose
from credo.inference._budget import as_bytes, as_text, refuse_above
from credo.inference._layout import Layout, lay_out
from credo.inference._log_tables import LogTables
from credo.inference._questions import Question
from credo.inference._tables import SumTables

#: Draws per block, so that the uniform numbers of a large network stay small.
_BLOCK = 1024


def draw(question: Question, n: int, random_state: RandomState) -> dict[Label, list[Label]]:
    """Draw ``n`` configurations given the question's evidence."""
    positive_int(n, "sample", "n", least=0)
    rng = generator(random_state, "sample")
    wiring = question.wiring
    needed = 16.0 * n * len(wiring.n_states)  # a state's index and a reference to it
    if needed > as_bytes(question.budget, "sample"):
        raise BudgetError(
            f"sample needs {as_text(needed)} for {n} draws of {len(wiring.names)} variables; the "
            f"budget is {question.budget}. Draw fewer at a time."
        )
    problem = pose(wiring, question.evidence)
    drawn = _free_states(problem, question, n, rng)
    columns = {}
    for v, name in enumerate(wiring.names):
        known = wiring.states[v]
        i = int(np.searchsorted(problem.variables, v))
        if problem.observed[v] >= 0:
            columns[name] = [known[problem.observed[v]]] * n
        else:
            columns[name] = [known[x] for x in drawn[:, i].tolist()]
    return columns


def _free_states(
    problem: Problem, question: Question, n: int, rng: np.random.Generator
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Collect once, then draw from the roots down."""
    from credo._kernels.junction_samples import draw_down  # noqa: PLC0415

    out = np.empty((n, len(problem.variables)), np.int64)
    if not out.size:
        return out
    order = find_order(problem.n_states, problem.scope_start, problem.scope)
    refuse_above(question.budget, problem, order, "sample")
    layout = lay_out(problem, order.sequence)
    table = _row_scaled(problem, layout)
    for first in range(0, n, _BLOCK):
        block = out[first : first + _BLOCK]
        draw_down(
            table,
            layout.table_start,
            layout.row_start,
            layout.parent,
            layout.dim_start,
            layout.dims,
            layout.residual,
            problem.n_states,
            rng.random((len(block), len(layout.parent))),
            block,
        )
    return out


def _row_scaled(problem: Problem, layout: Layout) -> F64:
    """Give the tables after collecting; only the ratios within a row count."""
    table = None if problem.is_wide else _scaled(problem, layout)
    if table is not None:
        return table
    logs = LogTables(problem, layout, maximum=False)
    logs.collect()
    rows = np.diff(layout.row_start)
    widths = np.diff(layout.table_start) // rows
    start = np.cumsum(np.repeat(widths, rows)) - np.repeat(widths, rows)
    largest = np.maximum.reduceat(logs.table, start)
    largest[largest == -np.inf] = 0.0
    return np.asarray(np.exp(logs.table - np.repeat(largest, np.repeat(widths, rows))))


def _scaled(problem: Problem, layout: Layout) -> F64 | None:
    """Collect in scaled arithmetic; None if a term was lost."""
    tables = SumTables(problem, layout)
    _, lost = tables.collect()
    return None if lost else tables.table
