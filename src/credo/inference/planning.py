"""``plan``: choose an engine and an elimination order, and count what they cost."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from credo._types import Label
from credo._validation.labels import listing
from credo.exceptions import InputError
from credo.graphs.evidence import Evidence
from credo.graphs.ordering import Order, evaluate_order, find_order
from credo.graphs.problems import Problem, pose
from credo.graphs.wiring import Wiring
from credo.inference.plans import ANYWAY, PER_FILL, PER_VISIT, Plan, Step, TreeStep
from credo.inference.question import Question, ask, check_search, indices, refuse_copies

#: With more variables than this it pays to ask first whether the graph is a tree.
_MANY = 2000


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
            return f"another model: only one of the two has {listing(sorted(names, key=str))}"
        parts = ("n_states", "scope_start", "scope")
        same = all(np.array_equal(getattr(there, part), getattr(here, part)) for part in parts)
        if not same or list(there.names) != list(here.names):
            return "another model: it has other factors, or variables in another order"
    kinds = ("evidence on", "a likelihood of", "a query of")
    for what, before, now in zip(kinds, _pattern(planned), _pattern(asked), strict=True):
        if before != now:
            words = ["everything" if v is None else listing(v) or "nothing" for v in (before, now)]
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
    if method == "auto" and query is None and len(wiring.names) > _MANY and _is_tree(question):
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
        """Give the order asked for, or one that is found at once."""
        if self.given is not None:
            return _as_given(problem, self.given, last)
        step = self._planned.get(int(problem.variables[last[0]]) if last else None)
        if step and np.array_equal(step.problem.variables, problem.variables):
            return step.order
        return _order(problem, 0.0, self._seed, last)

    def better(self, problem: Problem, found: Order, last: Sequence[int] = ()) -> Order:
        """Look for a better order, where that can pay."""
        if self.given is not None or self._effort <= 0 or not _is_hard(problem, found):
            return found
        return _order(problem, self._effort, self._seed, last)


def _as_given(problem: Problem, order: list[int], last: Sequence[int]) -> Order:
    """Check that an order names all that takes part, and count its cost."""
    wiring = problem.wiring
    place = {int(v): i for i, v in enumerate(problem.variables)}
    sequence = [place[v] for v in order if v in place and place[v] not in last]
    missing = sorted(set(range(len(place))) - set(sequence) - set(last))
    if missing:
        names = [wiring.names[problem.variables[v]] for v in missing]
        raise InputError(
            f"The order leaves out {listing(names)}, which the answer needs. Name every variable "
            "that is neither observed nor queried."
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


def _is_tree(question: Question) -> bool:
    """Tell whether the tree engine can answer: it needs no order."""
    from credo.inference.messages import is_tree  # noqa: PLC0415

    return is_tree(question.wiring, question.observed)


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
    thinking = len(targets) * (ANYWAY + 4e-7 * len(wiring.table))
    if not targets or thinking > 0.3 * limit:
        return None
    at_once = Orders(None, 0.0, 0)
    steps: list[Step] = []
    spent = thinking
    for v in targets:
        step = _pass_for(wiring, evidence, v, at_once)
        spent += ANYWAY + (2 * PER_VISIT + PER_FILL) * step.order.cells_all
        if spent > limit:
            return None
        steps.append(step)
    return tuple(steps)
