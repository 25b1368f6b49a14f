"""``infer``: all single marginals of a graph, exactly, within a memory budget."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Literal

import numpy as np

from credo._validation.labels import one_of
from credo.exceptions import BudgetError
from credo.inference._beliefs import Beliefs, calibrate
from credo.inference._budget import Budget, as_bytes, as_text, refuse_above
from credo.inference._jeffrey import fitted
from credo.inference._joints import eliminate
from credo.inference._layout import lay_out
from credo.inference._questions import Question, as_targets, ask, check_search, tree_of
from credo.inference.conflicts import impossible
from credo.inference.planning import given_order, make_plan
from credo.inference.plans import Plan
from credo.inference.result import GraphPosterior

Method = Literal["auto", "tree", "junction_tree", "elimination", "enumeration"]
_METHODS = ("auto", "tree", "junction_tree", "elimination", "enumeration")


def infer(  # noqa: PLR0913 - a question has these parts, each with a default
    model: Any,
    evidence: Mapping[Hashable, Any] | None = None,
    *,
    likelihood: Mapping[Hashable, Any] | None = None,
    jeffrey: Mapping[Hashable, Any] | None = None,
    query: Iterable[Hashable] | None = None,
    method: Method = "auto",
    budget: Budget = "4GB",
    order: Iterable[Hashable] | None = None,
    effort: float = 2.0,
    seed: int = 0,
) -> GraphPosterior:
    r"""Compute the marginals of a graph's variables, given evidence, exactly.

    .. math:: p(x_v \mid e) = \frac{1}{Z^E} \sum_{x \setminus x_v} \prod_f \psi_f(x_f)

    Parameters
    ----------
    model : BayesianNetwork, MarkovNetwork or FactorGraph
        The model. It is compiled, and not changed.
    evidence : mapping, optional
        What was observed: ``{variable: state}``, or a set of states one of which is true.
    likelihood : mapping, optional
        Virtual evidence, ``{variable: weights}``: how likely what was seen is under each state, as
        from a sensor. Weights need not sum to one; they multiply the model.
    jeffrey : mapping, optional
        ``{variable: probabilities}`` that the variable's posterior must have, whatever the rest
        says (Jeffrey's rule). Several at once are fitted together by proportional fitting, which
        changes the distribution as little as possible (in relative entropy).
    query : iterable of Hashable, optional
        The variables that are wanted; all by default. What they do not need is left out.
    method : {"auto", "tree", "junction_tree", "elimination", "enumeration"}
        The engine; "auto" plans, and takes the cheapest.
    budget : str, int or None, default "4GB"
        Memory for the clique tables. Above it nothing is computed and ``BudgetError`` says why.
    order : iterable of Hashable, optional
        An elimination order, in place of one that is looked for. It changes the cost, never the
        answer.
    effort : float, default 2.0
        About how many seconds may go into looking for a better elimination order, where the
        answer itself is expensive.
    seed : int, default 0
        Seed of that search.

    Returns
    -------
    GraphPosterior
        ``post[variable]`` is a :class:`credo.Posterior`; also ``joint``, ``log_evidence``,
        ``sample``, ``message`` and ``plan``.

    Raises
    ------
    ImpossibleEvidence
        If the evidence has probability zero; names a smallest set of findings that conflict.
    BudgetError
        If the tables do not fit; names the largest clique and the alternatives.
    LabelError
        If a variable or a state is unknown; suggests the nearest.

    See Also
    --------
    plan : The cost, before anything is computed.
    JunctionTree : Compile once, ask often.
    infer_many : A table of evidence rows.
    mpe : The most probable configuration.

    Notes
    -----
    Exact up to rounding. Time and memory are exponential in the width of the elimination order that
    was found, see ``plan``; linear in the length of a chain. Products run in scaled arithmetic, and
    in the log domain where that could lose a term, so nothing underflows.

    References
    ----------
    .. [1] S. L. Lauritzen and D. J. Spiegelhalter, Local computations with probabilities on
       graphical structures, JRSS B 50 (1988), section 3.
    .. [2] D. Koller and N. Friedman, *Probabilistic Graphical Models*, 2009, chapters 9 and 10.
    .. [3] A. Darwiche, *Modeling and Reasoning with Bayesian Networks*, 2009, section 3.6.

    Examples
    --------
    >>> import credo
    >>> net = credo.BayesianNetwork()
    >>> for name in ("rain", "sprinkler", "wet"):
    ...     _ = net.variable(name, ["no", "yes"])
    >>> _ = net.cpt("rain", table=[0.8, 0.2])
    >>> _ = net.cpt("sprinkler", given=["rain"], table={"no": [0.6, 0.4], "yes": [0.99, 0.01]})
    >>> _ = net.cpt("wet", given=["sprinkler", "rain"], table=[
    ...     [[1.0, 0.0], [0.2, 0.8]], [[0.1, 0.9], [0.01, 0.99]]])
    >>> post = credo.infer(net, {"wet": "yes"})
    >>> post["rain"]
    Posterior(no 0.6423, yes 0.3577)
    >>> round(post.joint(["rain", "sprinkler"])[{"rain": "yes", "sprinkler": "no"}], 4)
    0.3533
    """
    one_of(method, _METHODS, "infer", "method")
    check_search(effort, seed, "infer")
    question = ask(model, evidence, likelihood, query, budget, "infer")
    if jeffrey:
        targets = as_targets(question.wiring, jeffrey, "infer")
        question = fitted(question, targets, answer)
    given = given_order(question.wiring, order, "infer")
    plan = make_plan(question, method=method, order=given, effort=effort, seed=seed)
    return GraphPosterior(question, _follow(plan, question), plan)


def answer(question: Question) -> Beliefs:
    """Compute a question's beliefs by whatever is cheapest."""
    return _follow(make_plan(question, effort=0.0), question)


def _follow(plan: Plan, question: Question) -> Beliefs:
    """Check the budget and run; or say which findings conflict."""
    wiring, evidence, budget = question.wiring, question.evidence, question.budget
    as_bytes(budget, "infer")
    if plan.engine == "tree":
        _refuse_messages(plan, budget)
        beliefs = _tree_beliefs(question)
    elif plan.engine == "enumeration":
        from credo.inference.enumeration import enumerate_beliefs  # noqa: PLC0415

        beliefs = enumerate_beliefs(plan.steps[0].problem, budget)
    elif plan.engine == "elimination":
        beliefs = _eliminated(plan, budget)
    else:
        step = plan.steps[0]
        refuse_above(budget, step.problem, step.order, "infer")
        beliefs = calibrate(step.problem, lay_out(step.problem, step.order.sequence))
    if beliefs.are_impossible:
        raise impossible(wiring, evidence, "infer", budget)
    return beliefs


def _refuse_messages(plan: Plan, budget: Budget) -> None:
    """Refuse the messages of a tree that do not fit."""
    if plan.n_bytes > as_bytes(budget, "infer"):
        raise BudgetError(
            f"infer needs {as_text(plan.n_bytes)} for messages and marginals; the budget is "
            f"{budget}. Raise budget=, or ask for fewer variables (query=[...])."
        )


def _tree_beliefs(question: Question) -> Beliefs:
    """Run the tree engine."""
    run = tree_of(question)
    n = len(question.wiring.n_states)
    return Beliefs(np.arange(n), run.start, run.marginals, run.log_z)


def _eliminated(plan: Plan, budget: Budget) -> Beliefs:
    """Run one pass per queried variable."""
    variables, tables = [], []
    log_z: float | None = None
    for step in plan.steps:
        target = [] if step.target is None else [step.target]
        table, log_z = eliminate(step.problem, target, "infer", budget, step.order)
        if log_z == -np.inf:
            break
        if target:
            variables += step.problem.variables[target].tolist()
            tables.append(table)
        log_z = log_z if step.problem.is_complete else None
    by_index = np.argsort(variables)
    start = np.zeros(len(tables) + 1, np.int64)
    np.cumsum([tables[i].size for i in by_index], out=start[1:])
    values = np.concatenate([np.empty(0), *(tables[i].ravel() for i in by_index)])
    return Beliefs(np.array(variables, np.int64)[by_index], start, values, log_z)
