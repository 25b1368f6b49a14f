"""Plans: what an exact answer will cost, before it is computed."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from credo._types import Label
from credo._validation.labels import listing
from credo.graphs.evidence import Evidence
from credo.graphs.ordering import Order, find_order
from credo.graphs.problems import Problem, pose
from credo.graphs.wiring import Wiring
from credo.inference._budget import as_text, largest_clique
from credo.inference._layout import lay_out
from credo.inference._questions import ask

#: Seconds per cell that one message touches at one of its ends, and per cell and factor that is
#: multiplied in, as measured on one core of an everyday machine; and what an answer costs anyway.
_PER_VISIT, _PER_FILL, _ANYWAY = 1.2e-9, 1.0e-9, 2e-4
#: Tables of an order with more cells than this are not laid out, only counted.
_COUNTABLE = 2.0**50
#: With more variables than this it pays to ask first whether the graph is a tree.
_MANY = 2000


class Step:
    """One run over a tree of cliques: what to sum, in which order, and for which variable.

    Parameters
    ----------
    problem
        What to sum.
    order
        In which order; looked for when it is needed, if None.
    target
        The queried variable, in the problem's numbers; None for all.
    """

    __slots__ = ("_order", "problem", "target")

    def __init__(self, problem: Problem, order: Order | None, target: int | None = None) -> None:
        self.problem = problem
        self.target = target
        self._order = order

    @property
    def order(self) -> Order:
        """The elimination order."""
        if self._order is None:
            self._order = _order(self.problem, 0.0, 0)
        return self._order

    @property
    def visits(self) -> float:
        """Cells that the messages touch, each at both of its ends; one pass for a target."""
        order = self.order
        passes = 2.0 if self.target is None else 1.0
        if order.cells > _COUNTABLE or not len(order.sequence):
            return 2 * passes * order.cells_all
        layout = lay_out(self.problem, order.sequence)
        cells = np.diff(layout.table_start).astype(float)
        inner = layout.parent >= 0
        return float(
            passes * (cells[inner].sum() + cells[layout.parent[inner]].sum()) + cells.sum()
        )


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Say how an exact answer will be found and what it costs.

    Made by :func:`plan`; printing it shows everything.

    Attributes
    ----------
    engine : str
        ``"junction_tree"``: one calibration gives all marginals; ``"elimination"``: one pass per
        queried variable, each without what that variable does not need.

    See Also
    --------
    plan : Makes one.
    credo.infer : Follows it.

    Notes
    -----
    All counts are exact for the order found; ``seconds`` is an estimate for one core.

    Examples
    --------
    >>> import credo
    >>> print(credo.plan(credo.chain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], length=1000)))
    engine           junction_tree
    ...
    """

    engine: str
    steps: tuple[Step, ...] = field(repr=False)
    n_in_model: int = field(repr=False)

    @property
    def _hardest(self) -> Step:
        return max(self.steps, key=lambda step: (step.order.log2_largest, step.order.cells))

    @property
    def heuristic(self) -> str:
        """How the order was found."""
        return self._hardest.order.heuristic

    @property
    def n_variables(self) -> int:
        """How many variables take part."""
        return len(self._hardest.problem.variables)

    @property
    def n_pruned(self) -> int:
        """How many are observed, or not needed for the question."""
        return self.n_in_model - self.n_variables

    @property
    def width(self) -> int:
        """The number of variables of the widest clique, less one."""
        return max(step.order.width for step in self.steps)

    @property
    def largest_table(self) -> int:
        """The cells of the largest clique's table."""
        step = self._hardest
        clique = largest_clique(step.problem, step.order)
        return math.prod(int(step.problem.n_states[v]) for v in clique)

    @property
    def n_bytes(self) -> float:
        """The bytes of all clique tables that exist at one time."""
        return 8.0 * max(step.order.cells for step in self.steps)

    @property
    def multiplications(self) -> float:
        """The products and additions of one answer."""
        return float(sum(step.visits for step in self.steps))

    @property
    def seconds(self) -> float:
        """What the answer takes on one core, roughly."""
        cells = sum(step.order.cells for step in self.steps)
        return _ANYWAY * len(self.steps) + _PER_VISIT * self.multiplications + _PER_FILL * cells

    @property
    def order(self) -> tuple[Label, ...]:
        """The elimination order, by name."""
        step = self._hardest
        return tuple(_names(step.problem, step.order.sequence.tolist()))

    @property
    def largest_clique(self) -> tuple[Label, ...]:
        """The names of the variables of the largest clique."""
        step = self._hardest
        return tuple(_names(step.problem, largest_clique(step.problem, step.order)))

    def __str__(self) -> str:
        tries = self._hardest.order.tries
        passes = f", {len(self.steps)} passes" if self.engine == "elimination" else ""
        return (
            f"engine           {self.engine}{passes}\n"
            f"variables        {self.n_variables} ({self.n_pruned} observed or not needed)\n"
            f"order            {self.heuristic}, best of {tries}: {listing(self.order, 6)}\n"
            f"width            {self.width}\n"
            f"largest table    {float(self.largest_table):.3g} cells: "
            f"{listing(self.largest_clique, 6)}\n"
            f"memory           {as_text(self.n_bytes)}\n"
            f"multiplications  {self.multiplications:.3g}\n"
            f"estimated time   {_duration(self.seconds)}"
        )


def _names(problem: Problem, variables: Iterable[int]) -> list[Label]:
    """Name the variables of a problem, leaving out auxiliaries."""
    names = problem.wiring.names
    indices = (int(problem.variables[v]) for v in variables)
    return [names[v] for v in indices if v < len(names)]


def _duration(seconds: float) -> str:
    """Write a duration for people."""
    for limit, unit, scale in ((1e-3, "µs", 1e6), (1.0, "ms", 1e3), (120.0, "s", 1.0)):
        if seconds < limit:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds / 3600:.2g} h" if seconds < 1e6 else f"{seconds / 31_557_600:.2g} years"


def plan(
    model: Any,
    evidence: Mapping[Hashable, Any] | None = None,
    query: Iterable[Hashable] | None = None,
    *,
    likelihood: Mapping[Hashable, Any] | None = None,
    effort: float = 2.0,
    seed: int = 0,
) -> Plan:
    r"""Find out what an exact answer will cost, without computing it.

    Variables that the question does not need are left out: children that are neither observed nor
    asked for, and parts that the evidence cuts off. For the rest an elimination order is looked for
    (minimum fill, weighted minimum fill, minimum degree, random restarts), and the cost of the best
    one is counted exactly:

    .. math:: \text{bytes} = 8 \sum_C \prod_{v \in C} K_v

    over the cliques :math:`C` that eliminating in that order makes.

    Parameters
    ----------
    model : BayesianNetwork, MarkovNetwork or FactorGraph
        The model; it is compiled.
    evidence : mapping, optional
        ``{variable: state}``; only which variables are observed matters for the cost.
    query : iterable of Hashable, optional
        The variables asked for; all by default.
    likelihood : mapping, optional
        ``{variable: weights}``, as for :func:`credo.infer`.
    effort : float, default 2.0
        About how many seconds may go into looking for a better order. It is counted in steps, not
        by the clock, so the plan is the same on every machine.
    seed : int, default 0
        Seed of the random restarts.

    Returns
    -------
    Plan
        Engine, order, width, largest table, bytes, multiplications, seconds.

    See Also
    --------
    credo.infer : Computes the answer.

    Notes
    -----
    Finding the best order is NP-hard; the order found is not always the best, its cost is exact.
    Tables over observed variables are slices, so evidence makes an answer cheaper.

    References
    ----------
    .. [1] D. Koller and N. Friedman, *Probabilistic Graphical Models*, 2009, section 9.4.

    Examples
    --------
    >>> import credo
    >>> net = credo.BayesianNetwork()
    >>> _ = net.variable("rain", ["no", "yes"]), net.variable("wet", ["no", "yes"])
    >>> _ = net.cpt("rain", table=[0.8, 0.2])
    >>> _ = net.cpt("wet", given=["rain"], table=[[0.9, 0.1], [0.2, 0.8]])
    >>> credo.plan(net).width
    1
    >>> credo.plan(net, query=["rain"]).n_variables
    1
    """
    question = ask(model, evidence, likelihood, query, None, "plan")
    return make_plan(question.wiring, question.evidence, question.query, effort=effort, seed=seed)


def make_plan(
    wiring: Wiring,
    evidence: Evidence,
    query: list[int] | None,
    *,
    method: str = "auto",
    effort: float = 2.0,
    seed: int = 0,
) -> Plan:
    """Plan an answer for a compiled model and resolved evidence."""
    n = len(wiring.n_states)
    targets = _targets(wiring, evidence, query)
    if method == "elimination" or (method == "auto" and len(targets) == 1):
        return Plan("elimination", _one_by_one(wiring, evidence, targets, effort, seed), n)
    problem = pose(wiring, evidence, None if method == "tree" else query)
    if method == "auto" and query is None and n > _MANY and _is_tree(wiring, evidence):
        method = "tree"
    if method in ("tree", "enumeration"):
        return Plan(method, (Step(problem, None),), n)
    order = _order(problem, 0.0, seed)
    if method == "auto" and _is_hard(problem, order):
        cost = Plan("junction_tree", (Step(problem, order),), n).seconds
        steps = _cheaper_one_by_one(wiring, evidence, targets, cost)
        if steps is not None:
            return Plan("elimination", steps, n)
    if effort > 0 and _is_hard(problem, order):
        order = _order(problem, effort, seed)
    return Plan("junction_tree", (Step(problem, order),), n)


def _order(problem: Problem, effort: float, seed: int, last: Sequence[int] = ()) -> Order:
    return find_order(
        problem.n_states, problem.scope_start, problem.scope, last=last, effort=effort, seed=seed
    )


def _is_tree(wiring: Wiring, evidence: Evidence) -> bool:
    """Tell whether the tree engine can answer: it needs no order."""
    from credo.inference.tree import is_tree  # noqa: PLC0415

    return is_tree(wiring, evidence.observed(len(wiring.n_states)))


def _is_hard(problem: Problem, order: Order) -> bool:
    """Tell whether thinking longer can pay: a million cells take some milliseconds.

    Tables that are hardly larger than the factors themselves cannot shrink.
    """
    return order.cells > max(1e6, 4.0 * len(problem.values))


def _targets(wiring: Wiring, evidence: Evidence, query: list[int] | None) -> list[int]:
    """List the variables whose beliefs have to be computed; the rest is observed."""
    observed = evidence.observed(len(wiring.n_states))
    wanted = range(len(wiring.names)) if query is None else query
    return [v for v in wanted if observed[v] < 0]


def _one_by_one(
    wiring: Wiring, evidence: Evidence, targets: list[int], effort: float, seed: int
) -> tuple[Step, ...]:
    """Plan one pass per queried variable; one for the evidence alone if all are observed."""
    if not targets:
        problem = pose(wiring, evidence, [])
        return (Step(problem, _order(problem, effort, seed)),)
    return tuple(_pass_for(wiring, evidence, v, effort, seed) for v in targets)


def _pass_for(wiring: Wiring, evidence: Evidence, variable: int, effort: float, seed: int) -> Step:
    """Plan the pass that gives one variable's belief."""
    problem = pose(wiring, evidence, [variable])
    target = int(np.searchsorted(problem.variables, variable))
    order = _order(problem, 0.0, seed, [target])
    if effort > 0 and _is_hard(problem, order):
        order = _order(problem, effort, seed, [target])
    return Step(problem, order, target)


def _cheaper_one_by_one(
    wiring: Wiring, evidence: Evidence, targets: list[int], limit: float
) -> tuple[Step, ...] | None:
    """Plan passes for single variables if together they cost less than ``limit`` seconds."""
    thinking = len(targets) * (_ANYWAY + 4e-7 * len(wiring.table))
    if not targets or thinking > 0.3 * limit:
        return None
    steps: list[Step] = []
    spent = thinking
    for v in targets:
        step = _pass_for(wiring, evidence, v, 0.0, 0)
        spent += _ANYWAY + (2 * _PER_VISIT + _PER_FILL) * step.order.cells_all
        if spent > limit:
            return None
        steps.append(step)
    return tuple(steps)
