"""Trees for slices: what is observed shrinks the tables, and who is observed often repeats."""

from __future__ import annotations

from credo.graphs.evidence import Evidence
from credo.graphs.ordering import find_order
from credo.graphs.problems import Problem, pose
from credo.graphs.wiring import Wiring
from credo.inference._layout import Layout, lay_out

#: Tables of fewer cells are calibrated whole, in less time than slicing takes.
_SMALL = 50_000
#: Slices pay if they have at most this share of the cells: they are filled anew each time.
_SHARE = 0.6
#: How many sets of observed variables are remembered.
_REMEMBERED = 64


class Slices:
    """Remember, per set of observed variables, the tree of what is left, or that it is no use."""

    def __init__(self, n_cells: int) -> None:
        self._n_cells = n_cells
        self._known: dict[tuple[tuple[int, ...], ...], Layout | None] = {}

    def layout_for(self, wiring: Wiring, evidence: Evidence) -> tuple[Problem, Layout] | None:
        """Give the sliced problem and its tree; None where the whole tree is as good."""
        if self._n_cells < _SMALL or not evidence.findings:
            return None
        soft = evidence.soft(wiring)
        hard = sorted(f.variable for f in evidence.findings if f.variable not in soft)
        key = (tuple(hard), tuple(soft))
        if key in self._known and self._known[key] is None:
            return None
        problem = pose(wiring, evidence)
        if key not in self._known:
            if len(self._known) >= _REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[key] = self._plan(problem)
        layout = self._known[key]
        return None if layout is None else (problem, layout)

    def _plan(self, problem: Problem) -> Layout | None:
        """Lay out the slices, if they are small enough."""
        order = find_order(problem.n_states, problem.scope_start, problem.scope)
        if order.cells > _SHARE * self._n_cells:
            return None
        return lay_out(problem, order.sequence)
