"""``Plan``: what an exact answer will cost, before it is computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from credo._types import Label
from credo._validation.labels import listing
from credo.graphs.ordering import Order, find_order
from credo.graphs.problems import Problem
from credo.graphs.wiring import Wiring
from credo.inference.cliques import plant
from credo.inference.question import Question, as_text

#: Seconds per cell that one message touches at one of its ends, and per cell and factor that is
#: multiplied in, as measured on one core of an everyday machine; and what an answer costs anyway.
PER_VISIT, PER_FILL, ANYWAY = 1.2e-9, 1.0e-9, 2e-4
#: Tables of an order with more cells than this are not laid out, only counted.
_COUNTABLE = 2.0**50


class Step:
    """One run over a tree of cliques: what to sum, in which order, and for which variable.

    Parameters
    ----------
    problem
        What to sum, or a function that gives it, called when it is needed.
    order
        In which order; looked for when it is needed, if None.
    target
        The queried variable, in the problem's numbers; None for all.
    """

    def __init__(
        self,
        problem: Problem | Callable[[], Problem],
        order: Order | None,
        target: int | None = None,
    ) -> None:
        self._problem = problem
        self._order = order
        self.target = target

    @property
    def problem(self) -> Problem:
        """What to sum."""
        if not isinstance(self._problem, Problem):
            self._problem = self._problem()
        return self._problem

    @property
    def variable(self) -> int | None:
        """The queried variable, as numbered in the wiring; None for all."""
        return None if self.target is None else int(self.problem.variables[self.target])

    @property
    def order(self) -> Order:
        """The elimination order."""
        if self._order is None:
            problem = self.problem
            self._order = find_order(
                problem.n_states, problem.scope_start, problem.scope, effort=0.0
            )
        return self._order

    @property
    def n_bytes(self) -> float:
        """The bytes of the clique tables."""
        return 8.0 * self.order.cells

    @property
    def visits(self) -> float:
        """Cells that the messages touch, each at both of its ends; one pass for a target."""
        order = self.order
        passes = 2.0 if self.target is None else 1.0
        if order.cells > _COUNTABLE or not len(order.sequence):
            return 2 * passes * order.cells_all
        layout = plant(self.problem, order.sequence)
        cells = np.diff(layout.table_start).astype(float)
        inner = layout.parent >= 0
        return float(
            passes * (cells[inner].sum() + cells[layout.parent[inner]].sum()) + cells.sum()
        )


class TreeStep(Step):
    """One run of messages along the edges of a tree: no tables but the factors' own.

    Parameters
    ----------
    problem
        The same as for cliques, for those who want to compare.
    wiring
        The compiled model.
    """

    def __init__(self, problem: Callable[[], Problem], wiring: Wiring) -> None:
        super().__init__(problem, None)
        self._wiring = wiring

    @property
    def visits(self) -> float:
        """Cells that the messages touch: each factor's, twice for each of its variables."""
        wiring = self._wiring
        cells = np.diff(wiring.table_start)[wiring.table].astype(float)
        return float(2 * (cells * np.diff(wiring.scope_start)).sum())

    @property
    def n_bytes(self) -> float:
        """The bytes of two messages per factor and variable, and of the marginals."""
        n_states = self._wiring.n_states
        return 8.0 * float(2 * n_states[self._wiring.scope].sum() + n_states.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Say how an exact answer will be found and what it costs.

    Made by :func:`plan`; printing it shows everything.

    Attributes
    ----------
    engine : str
        ``"junction_tree"``: one calibration gives all marginals; ``"elimination"``: one pass per
        queried variable, each without what that variable does not need; ``"tree"``: messages along
        the edges of a large tree; ``"enumeration"`` if asked for.

    See Also
    --------
    plan : Makes one.
    credo.infer : Follows it: ``infer(..., plan=plan)``.

    Notes
    -----
    All counts are exact for the order found, or bounds where ``is_exact`` is False; ``seconds`` is
    an estimate for one core.

    Examples
    --------
    >>> import credo
    >>> print(credo.plan(credo.chain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], length=1000)))
    engine           junction_tree
    ...
    """

    engine: str
    steps: tuple[Step, ...] = field(repr=False)
    question: Question = field(repr=False)  #: what it was made for

    @property
    def _hardest(self) -> Step:
        return max(self.steps, key=lambda step: (step.order.log2_largest, step.order.cells))

    @property
    def is_exact(self) -> bool:
        """Whether the figures are exact; where nothing could ever hold the tables they are bounds.

        They say what the order costs at least: counting stops at a table that cannot be addressed.
        """
        return all(step.order.exact for step in self.steps)

    @property
    def heuristic(self) -> str:
        """How the order was found."""
        return self._hardest.order.heuristic

    @property
    def n_variables(self) -> int:
        """How many variables take part."""
        problem = self._hardest.problem
        return int((problem.variables < len(problem.wiring.names)).sum())

    @property
    def n_pruned(self) -> int:
        """How many are observed, or not needed for the question."""
        return len(self.question.wiring.names) - self.n_variables

    @property
    def width(self) -> int:
        """The number of variables of the widest clique, less one."""
        return max(step.order.width for step in self.steps)

    @property
    def largest_table(self) -> int:
        """The cells of the largest clique's table."""
        step = self._hardest
        return math.prod(int(step.problem.n_states[v]) for v in step.order.clique)

    @property
    def n_bytes(self) -> float:
        """The bytes of all tables that exist at one time."""
        return max(step.n_bytes for step in self.steps)

    @property
    def multiplications(self) -> float:
        """The products and additions of one answer."""
        return float(sum(step.visits for step in self.steps))

    @property
    def seconds(self) -> float:
        """What the answer takes on one core, roughly."""
        cells = sum(step.order.cells for step in self.steps)
        return ANYWAY * len(self.steps) + PER_VISIT * self.multiplications + PER_FILL * cells

    @property
    def order(self) -> tuple[Label, ...]:
        """The elimination order, by name."""
        step = self._hardest
        return tuple(_names(step.problem, step.order.sequence.tolist()))

    @property
    def largest_clique(self) -> tuple[Label, ...]:
        """The names of the variables of the largest clique."""
        step = self._hardest
        return tuple(_names(step.problem, step.order.clique))

    def __str__(self) -> str:
        tries = self._hardest.order.tries
        least = "" if self.is_exact else "at least "
        passes = f", {len(self.steps)} passes" if self.engine == "elimination" else ""
        return (
            f"engine           {self.engine}{passes}\n"
            f"variables        {self.n_variables} ({self.n_pruned} observed or not needed)\n"
            f"order            {self.heuristic}, best of {tries}: {listing(self.order, 6)}\n"
            f"width            {least}{self.width}\n"
            f"largest table    {least}{float(self.largest_table):.3g} cells: "
            f"{listing(self.largest_clique, 6)}\n"
            f"memory           {least}{as_text(self.n_bytes)}\n"
            f"multiplications  {least}{self.multiplications:.3g}\n"
            f"estimated time   {least}{_duration(self.seconds)}"
        )


def _names(problem: Problem, variables: Iterable[int]) -> list[Label]:
    """Name the variables of a problem, leaving out auxiliaries of rules."""
    names = problem.wiring.names
    indices = (int(problem.variables[v]) for v in variables)
    return [names[v] for v in indices if v < len(names)]


def _duration(seconds: float) -> str:
    """Write a duration for people."""
    for limit, unit, scale in ((1e-3, "µs", 1e6), (1.0, "ms", 1e3), (120.0, "s", 1.0)):
        if seconds < limit:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds / 3600:.2g} h" if seconds < 1e6 else f"{seconds / 31_557_600:.2g} years"
