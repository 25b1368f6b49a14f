"""Exact, independent draws from a posterior over all variables."""

from __future__ import annotations

import numpy as np

from credo._types import F64, Label, RandomState
from credo._validation.arrays import generator, positive_int
from credo.graphs.ordering import find_order
from credo.graphs.problems import Problem, pose
from credo.inference._budget import refuse_above
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
    problem = pose(wiring, question.evidence)
    states = np.empty((n, len(wiring.n_states)), np.int64)
    states[:] = problem.observed
    if len(problem.variables):
        states[:, problem.variables] = _free_states(problem, question, n, rng)
    columns = {}
    for v, name in enumerate(wiring.names):
        known = wiring.states[v]
        columns[name] = [known[i] for i in states[:, v].tolist()]
    return columns


def _free_states(
    problem: Problem, question: Question, n: int, rng: np.random.Generator
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Collect once, then draw from the roots down."""
    from credo._kernels.junction_samples import draw_down  # noqa: PLC0415

    order = find_order(problem.n_states, problem.scope_start, problem.scope)
    refuse_above(question.budget, problem, order, "sample")
    layout = lay_out(problem, order.sequence)
    table = _row_scaled(problem, layout)
    out = np.empty((n, len(problem.variables)), np.int64)
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
    if not problem.is_wide:
        tables = SumTables(problem, layout)
        _, lost = tables.collect()
        if not lost:
            return tables.table
    logs = LogTables(problem, layout, maximum=False)
    logs.collect()
    rows = np.diff(layout.row_start)
    widths = np.diff(layout.table_start) // rows
    start = np.cumsum(np.repeat(widths, rows)) - np.repeat(widths, rows)
    largest = np.maximum.reduceat(logs.table, start)
    largest[largest == -np.inf] = 0.0
    return np.asarray(np.exp(logs.table - np.repeat(largest, np.repeat(widths, rows))))
