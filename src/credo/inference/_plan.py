"""``plan``: choose an engine and an elimination order, and count what they cost."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from credo import _checks as check
from credo._kernels.cliques import TINY
from credo._results import Drawable, duration, html_table
from credo._types import Label
from credo.exceptions import InputError
from credo.graphs.evidence import Evidence
from credo.graphs.ordering import Order, evaluate_order, find_order
from credo.graphs.problems import Problem, pose
from credo.graphs.wiring import Wiring
from credo.inference.cliques import CliqueTree, plant
from credo.inference.messages import is_tree
from credo.inference.question import (
    Question,
    as_text,
    ask,
    check_search,
    indices,
    refuse_copies,
)

#: With more variables than this it pays to ask first whether the graph is a tree.
_MANY = 2000
#: Seconds of a pass, per variable or factor, per multiplication, and per cell of a table and pass
#: (to look for an order, make, scale and read it): fitted to first answers on 70 networks, of
#: 0.2 ms to 12 s, on one core. ``benchmarks/plans.py`` tells how far they are off.
_PASS, _PART, _PRODUCT, _CELL = 2e-4, 6e-7, 4e-10, 5e-9
#: How much longer it takes in logs, and per variable or factor of a tree of messages.
_LOGS, _LINK = 4.0, 2e-7
#: Tables of an order with more cells than this are not laid out, only counted.
_COUNTABLE = 2.0**50


def plan(  # noqa: PLR0913 - the question, and how hard to think about it
    model: Any,
    evidence: Mapping[Hashable, Any] | None = None,
    query: Iterable[Hashable] | None = None,
    *,
    likelihood: Mapping[Hashable, Any] | None = None,
    order: Iterable[Hashable] | None = None,
    effort: float = 2.0,
    seed: int = 0,
) -> Plan:
    r"""Find out what an exact answer will cost, without computing it.

    Variables that the question does not need are left out: children that are neither observed nor
    asked for, and parts that the evidence cuts off. For the rest an elimination order is looked
    for, greedily by several rules and then, where it pays, by eliminating pieces of the clique tree
    again in random orders, and the cost of the best one is counted exactly:

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
    order : iterable of Hashable, optional
        An elimination order to count, in place of one that is looked for. It has to name every
        variable that takes part, but the queried one may be left out; others are passed over.
    effort : float, default 2.0
        About how many seconds may go into looking for a better order. It is counted in steps, not
        by the clock, so the plan is the same on every machine.
    seed : int, default 0
        Seed of the random orders.

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
    check_search(effort, seed, "plan")
    question = ask(model, evidence, likelihood, query, None, "plan")
    given = given_order(question.wiring, order, "plan")
    return make_plan(question, order=given, effort=effort, seed=seed)


def make_plan(
    question: Question,
    *,
    method: str = "auto",
    order: list[int] | None = None,
    effort: float = 2.0,
    seed: int = 0,
) -> Plan:
    """Plan an answer for a question about a compiled model."""
    return _planned(question, "auto" if method == "exact" else method, Orders(order, effort, seed))


def plan_again(plan: Plan, question: Question) -> Plan:
    """Return the plan for a question like its own: the same, or with other states and weights."""
    if not isinstance(plan, Plan):
        raise InputError(f"The plan of infer must be one of credo.plan. Got {type(plan).__name__}.")
    own = plan.question
    difference = _difference(own, question)
    if difference:
        raise InputError(f"infer: the plan was made for {difference}. Call credo.plan again.")
    same = own.wiring is question.wiring and np.array_equal(own.observed, question.observed)
    if same and not question.evidence.soft(question.wiring):
        return plan
    return _planned(question, plan.engine, Orders(None, 0.0, 0, plan.steps))


def _difference(planned: Question, asked: Question) -> str:
    """Say in what a question differs from the one that was planned; numbers may differ."""
    there, here = planned.wiring, asked.wiring
    if there is not here:
        names = set(there.names) ^ set(here.names)
        if names:
            return f"another model: only one of the two has {check.listing(sorted(names, key=str))}"
        parts = ("n_states", "scope_start", "scope")
        same = all(np.array_equal(getattr(there, part), getattr(here, part)) for part in parts)
        if not same or list(there.names) != list(here.names):
            return "another model: it has other factors, or variables in another order"
    kinds = ("evidence on", "a likelihood of", "a query of")
    for what, before, now in zip(kinds, _pattern(planned), _pattern(asked), strict=True):
        if before != now:
            words = [
                "everything" if v is None else check.listing(v) or "nothing" for v in (before, now)
            ]
            return f"{what} {words[0]}, not {words[1]}"
    return ""


def _pattern(question: Question) -> list[list[Label] | None]:
    """List which variables are observed, weighted and asked for; None for all."""
    observed: list[int] = np.flatnonzero(question.observed >= 0).tolist()
    soft = question.evidence.soft(question.wiring)
    parts: tuple[Iterable[int] | None, ...] = (observed, soft, question.query)
    names = question.wiring.names
    return [None if part is None else [names[v] for v in sorted(part)] for part in parts]


def _planned(question: Question, method: str, orders: Orders) -> Plan:
    """Plan an answer with orders from somewhere."""
    wiring, evidence, query = question.wiring, question.evidence, question.query
    targets = _targets(question)
    if (
        method == "auto"
        and query is None
        and len(wiring.names) > _MANY
        and is_tree(wiring, question.observed)
    ):
        method = "tree"
    if method == "tree":
        return Plan(method, (TreeStep(partial(pose, wiring, evidence), wiring),), question)
    refuse_copies(wiring, question.observed, question.budget)
    if method == "elimination" or (method == "auto" and len(targets) == 1):
        return Plan("elimination", _one_by_one(wiring, evidence, targets, orders), question)
    problem = pose(wiring, evidence, query)
    if method == "enumeration":
        return Plan(method, (Step(problem, None),), question)
    found = orders.quick(problem)
    if method == "auto" and orders.given is None and _is_hard(problem, found):
        cost = Plan("junction_tree", (Step(problem, found),), question).seconds
        steps = _cheaper_one_by_one(wiring, evidence, targets, cost)
        if steps is not None:
            return Plan("elimination", steps, question)
    return Plan("junction_tree", (Step(problem, orders.better(problem, found)),), question)


class Orders:
    """Where elimination orders come from: the user, an earlier plan, or a search of some effort."""

    def __init__(
        self,
        given: list[int] | None,
        effort: float,
        seed: int,
        planned: Sequence[Step] = (),
    ) -> None:
        self.given = given
        self._effort = effort
        self._seed = seed
        self._planned = {step.variable: step for step in planned}

    def quick(self, problem: Problem, last: Sequence[int] = ()) -> Order:
        """Return the order asked for, or one that is found at once."""
        if self.given is not None:
            return _check_order(problem, self.given, last)
        step = self._planned.get(int(problem.variables[last[0]]) if last else None)
        if step and np.array_equal(step.problem.variables, problem.variables):
            return step.order
        return _order(problem, 0.0, self._seed, last)

    def better(self, problem: Problem, found: Order, last: Sequence[int] = ()) -> Order:
        """Look for a better order, where that can pay."""
        if self.given is not None or self._effort <= 0 or not _is_hard(problem, found):
            return found
        return _order(problem, self._effort, self._seed, last)


def _check_order(problem: Problem, order: list[int], last: Sequence[int]) -> Order:
    """Check that an order names all that takes part, and count its cost."""
    wiring = problem.wiring
    place = {int(v): i for i, v in enumerate(problem.variables)}
    sequence = [place[v] for v in order if v in place and place[v] not in last]
    missing = sorted(set(range(len(place))) - set(sequence) - set(last))
    if missing:
        names = [wiring.names[problem.variables[v]] for v in missing]
        raise InputError(
            f"The order leaves out {check.listing(names)}, which the answer needs. Name every "
            "variable that is neither observed nor queried."
        )
    return evaluate_order(problem.n_states, problem.scope_start, problem.scope, [*sequence, *last])


def given_order(wiring: Wiring, names: Iterable[Hashable] | None, owner: str) -> list[int] | None:
    """Find the variables of an order that the user gives."""
    if names is not None and len(wiring.n_states) > len(wiring.names):
        raise InputError(
            f"{owner} cannot follow an order here: rules without tables have auxiliary variables "
            "that have no name. Leave order out."
        )
    return indices(wiring, names, owner, "order")


def _order(problem: Problem, effort: float, seed: int, last: Sequence[int] = ()) -> Order:
    return find_order(
        problem.n_states, problem.scope_start, problem.scope, last=last, effort=effort, seed=seed
    )


def _is_hard(problem: Problem, order: Order) -> bool:
    """Tell whether thinking longer can pay: a million cells take some milliseconds.

    Tables that are hardly larger than the factors themselves cannot shrink.
    """
    return order.cells > max(1e6, 4.0 * len(problem.values))


def _targets(question: Question) -> list[int]:
    """List the variables whose beliefs have to be computed; the rest is observed."""
    if question.query is None:
        visible = question.observed[: len(question.wiring.names)]
        return np.flatnonzero(visible < 0).tolist()
    return [v for v in question.query if question.observed[v] < 0]


def _one_by_one(
    wiring: Wiring, evidence: Evidence, targets: list[int], orders: Orders
) -> tuple[Step, ...]:
    """Plan one pass per queried variable; one for the evidence alone if all are observed."""
    if not targets:
        problem = pose(wiring, evidence, [])
        return (Step(problem, orders.quick(problem)),)
    return tuple(_pass_for(wiring, evidence, v, orders) for v in targets)


def _pass_for(wiring: Wiring, evidence: Evidence, variable: int, orders: Orders) -> Step:
    """Plan the pass that gives one variable's belief."""
    problem = pose(wiring, evidence, [variable])
    last = [int(np.searchsorted(problem.variables, variable))]
    found = orders.better(problem, orders.quick(problem, last), last)
    return Step(problem, found, last[0])


def _cheaper_one_by_one(
    wiring: Wiring, evidence: Evidence, targets: list[int], limit: float
) -> tuple[Step, ...] | None:
    """Plan passes for single variables if together they cost less than ``limit`` seconds."""
    thinking = len(targets) * (_PASS + _PART * len(wiring.table))
    if not targets or thinking > 0.3 * limit:
        return None
    at_once = Orders(None, 0.0, 0)
    steps: list[Step] = []
    spent = thinking
    for v in targets:
        step = _pass_for(wiring, evidence, v, at_once)
        spent += _PASS + (2 * _PRODUCT + _CELL) * step.order.cells_all
        if spent > limit:
            return None
        steps.append(step)
    return tuple(steps)


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

    @cached_property
    def problem(self) -> Problem:
        """What to sum."""
        return self._problem if isinstance(self._problem, Problem) else self._problem()

    @cached_property
    def order(self) -> Order:
        """The elimination order."""
        return self._order or _order(self.problem, 0.0, 0)

    @property
    def variable(self) -> int | None:
        """The queried variable, as numbered in the wiring; None for all."""
        return None if self.target is None else int(self.problem.variables[self.target])

    @property
    def n_bytes(self) -> float:
        """The bytes of the clique tables."""
        return 8.0 * self.order.cells

    @cached_property
    def multiplications(self) -> float:
        """Each factor into the cells of its clique, each message into those of its receiver.

        One pass for a target; otherwise each table is multiplied once more on the way back.
        """
        tree, order = self.tree, self.order
        if tree is None:
            return 3.0 * order.cells_all
        cells = np.diff(tree.table_start).astype(float)
        inner, home = tree.parent >= 0, tree.home[tree.home >= 0]
        back = 0.0 if self.target is not None else cells[inner].sum()
        return float(cells[home].sum() + cells[tree.parent[inner]].sum() + back)

    @property
    def seconds(self) -> float:
        """What it takes on one core, roughly, with the search for the order."""
        problem = self.problem
        parts = len(problem.n_states) + len(problem.cell_start)
        products = _PRODUCT * self.multiplications * (_LOGS if self._is_in_logs else 1.0)
        passes = 1 if self.target is not None else 2
        return _PASS + _PART * parts + products + passes * _CELL * self.order.cells

    @cached_property
    def tree(self) -> CliqueTree | None:
        """The tree of cliques; None if it is too large to be laid out."""
        order = self.order
        if order.cells > _COUNTABLE or not len(order.sequence):
            return None
        return plant(self.problem, order.sequence)

    @property
    def _is_in_logs(self) -> bool:
        """Tell whether a product of the factors of a clique can be too small for float64."""
        problem, tree = self.problem, self.tree
        if problem.is_wide or tree is None or tree.home.max(initial=-1) < 0:
            return problem.is_wide
        first, has_home = problem.cell_start[:-1], tree.home >= 0
        some = np.where(problem.values > 0.0, problem.values, np.inf)
        largest = np.maximum.reduceat(problem.values, first)
        ratio = np.minimum.reduceat(some, first) / np.maximum(largest, TINY)
        logs = np.log(np.clip(ratio, TINY, 1.0))
        return bool(np.bincount(tree.home[has_home], logs[has_home]).min() < math.log(TINY))


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

    @cached_property
    def multiplications(self) -> float:
        """Messages to a factor's other variables into its cells, and to a variable, both ways."""
        wiring = self._wiring
        cells = np.diff(wiring.table_start)[wiring.table].astype(float)
        arity = np.diff(wiring.scope_start)
        return float((cells * arity * (arity - 1)).sum() + 2 * wiring.n_states[wiring.scope].sum())

    @property
    def n_bytes(self) -> float:
        """The bytes of two messages per factor and variable, and of the marginals."""
        n_states = self._wiring.n_states
        return 8.0 * float(2 * n_states[self._wiring.scope].sum() + n_states.sum())

    @property
    def seconds(self) -> float:
        """What it takes on one core, roughly."""
        parts = len(self._wiring.n_states) + len(self._wiring.table)
        return _PASS + _LINK * parts + _PRODUCT * self.multiplications


@dataclass(frozen=True, slots=True, eq=False)
class Plan(Drawable):
    """Say how an exact answer will be found and what it costs.

    Made by :func:`plan`; printing it shows everything, ``plot`` draws the tree of cliques.

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
        """Every factor and message into each cell of the table it belongs to, in one answer."""
        return math.fsum(step.multiplications for step in self.steps)

    @property
    def seconds(self) -> float:
        """What the answer takes on one core, roughly, with the search for its order."""
        return math.fsum(step.seconds for step in self.steps)

    @property
    def order(self) -> tuple[Label, ...]:
        """The elimination order, by name."""
        step = self._hardest
        return tuple(_names(step.problem, step.order.sequence.tolist()))

    @property
    def largest_clique(self) -> tuple[Label, ...]:
        """The names of the variables of the largest clique."""
        step = self._hardest
        return tuple(_names(step.problem, sorted(step.order.clique.tolist())))

    @property
    def cliques(self) -> tuple[tuple[Label, ...], ...]:
        """The variables of each clique, children before parents; of several passes the hardest."""
        tree = self._laid_out
        return self._named(() if tree is None else map(tree.variables_of, range(len(tree.parent))))

    @property
    def parents(self) -> tuple[int | None, ...]:
        """The parent of each clique, by its place in ``cliques``; None for roots."""
        tree = self._laid_out
        return () if tree is None else tuple(None if p < 0 else int(p) for p in tree.parent)

    @property
    def separators(self) -> tuple[tuple[Label, ...], ...]:
        """The variables that each clique shares with its parent; none for roots."""
        tree = self._laid_out
        return self._named(() if tree is None else map(tree.separator_of, range(len(tree.parent))))

    @property
    def clique_sizes(self) -> tuple[int, ...]:
        """The cells of the table of each clique."""
        tree = self._laid_out
        return () if tree is None else tuple(np.diff(tree.table_start).tolist())

    @property
    def _laid_out(self) -> CliqueTree | None:
        """The tree of the hardest pass; None without variables."""
        step = self._hardest
        if step.order.cells > _COUNTABLE:
            raise InputError(
                f"The tree of cliques is too large to be laid out: its tables have "
                f"{as_text(self.n_bytes)}. The largest clique is in largest_clique."
            )
        return step.tree

    def _named(self, cliques: Iterable[Iterable[int]]) -> tuple[tuple[Label, ...], ...]:
        problem = self._hardest.problem
        return tuple(tuple(_names(problem, sorted(clique))) for clique in cliques)

    def __str__(self) -> str:
        tries = self._hardest.order.tries
        least = "" if self.is_exact else "at least "
        n = len(self.steps)
        passes = f", {n} pass{'es' * (n > 1)}" if self.engine == "elimination" else ""
        return (
            f"engine           {self.engine}{passes}\n"
            f"variables        {self.n_variables} ({self.n_pruned} observed or not needed)\n"
            f"order            {self.heuristic}, best of {tries}: {check.listing(self.order, 6)}\n"
            f"width            {least}{self.width}\n"
            f"largest table    {least}{float(self.largest_table):.3g} cells: "
            f"{check.listing(self.largest_clique, 6)}\n"
            f"memory           {least}{as_text(self.n_bytes)}\n"
            f"multiplications  {least}{self.multiplications:.3g}\n"
            f"estimated time   {least}{duration(self.seconds)}"
        )

    def _repr_html_(self) -> str:
        lines = (re.split("  +", line, maxsplit=1) for line in str(self).split("\n"))
        return html_table("Plan", ("", ""), lines)


def _names(problem: Problem, variables: Iterable[int]) -> list[Label]:
    """Name the variables of a problem, leaving out auxiliaries of rules."""
    names = problem.wiring.names
    indices = (int(problem.variables[v]) for v in variables)
    return [names[v] for v in indices if v < len(names)]
