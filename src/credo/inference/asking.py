"""``infer``: all single marginals of a graph, exactly within a memory budget, or nearly."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Literal

import numpy as np

from credo._validation.labels import one_of
from credo.exceptions import BudgetError, InputError
from credo.inference._beliefs import Beliefs
from credo.inference._budget import Budget, as_bytes, as_text, refuse_above
from credo.inference._questions import Question, as_targets, check_search, tree_of
from credo.inference.approximate_result import ApproximatePosterior
from credo.inference.approximating import (
    METHODS,
    OnFailure,
    Request,
    approximate,
    instead,
    takes_seed,
)
from credo.inference.cliques import calibrate, plant
from credo.inference.conflicts import impossible
from credo.inference.exact import eliminate, enumerate_beliefs, fit_jeffrey
from credo.inference.planning import given_order, make_plan
from credo.inference.plans import Plan
from credo.inference.result import GraphPosterior

Method = Literal[
    "auto",
    "exact",
    "tree",
    "junction_tree",
    "elimination",
    "enumeration",
    "loopy",
    "tree_reweighted",
    "mean_field",
    "structured_mean_field",
    "generalised",
    "double_loop",
    "gibbs",
]
_EXACT = ("auto", "exact", "tree", "junction_tree", "elimination", "enumeration")


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
    on_failure: OnFailure = "warn",
    **options: Any,
) -> GraphPosterior | ApproximatePosterior:
    r"""Compute the marginals of a graph's variables, given evidence.

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
    method : str, default "auto"
        The engine. Exact: "tree", "junction_tree", "elimination", "enumeration", or "exact" for
        the cheapest of them. Approximate: "loopy", "tree_reweighted", "mean_field",
        "structured_mean_field", "generalised", "double_loop", "gibbs". "auto" is "exact"; where
        that does not fit the budget it passes messages, and warns.
    budget : str, int or None, default "4GB"
        Memory for the clique tables. Above it nothing is computed and ``BudgetError`` says why.
    order : iterable of Hashable, optional
        An elimination order, in place of one that is looked for. It changes the cost, never the
        answer.
    effort : float, default 2.0
        About how many seconds may go into looking for a better elimination order, where the
        answer itself is expensive.
    seed : int, default 0
        Seed of that search, and of whatever else is random.
    on_failure : {"warn", "return", "raise"}
        What to do if an approximate engine does not settle: its ``status`` says so in any case.
    **options
        Settings of an approximate engine. Of "loopy": ``schedule`` ("auto", "flooding",
        "sequential", "residual", "random", "tree"), ``momentum`` (the share of the new message,
        or "adaptive"), ``domain`` ("linear", "log": which messages are mixed), ``temperature``
        (1 sums, 0 maximises), ``counting``, ``sweeps``, ``tolerance``, ``dtype``, ``threads``,
        ``start`` (an earlier answer), ``callback`` (called with sweep and residual). For the others
        see :doc:`the guide </how-to/loopy>`.

    Returns
    -------
    GraphPosterior or ApproximatePosterior
        ``post[variable]`` is a :class:`credo.Posterior`; also ``status``, ``joint``,
        ``log_evidence``, ``message``; for exact answers ``sample`` and ``plan``, for approximate
        ones ``residuals``, ``sweeps`` and ``log_evidence_is``.

    Raises
    ------
    ImpossibleEvidence
        If the evidence has probability zero; names a smallest set of findings that conflict.
    BudgetError
        If the tables of an exact method do not fit; names the largest clique and the alternatives.
    NumericalError
        If an approximate engine did not settle and ``on_failure="raise"``.
    LabelError
        If a variable or a state is unknown; suggests the nearest.

    See Also
    --------
    plan : The cost, before anything is computed.
    bounds : Certified intervals, where no exact answer is possible.
    JunctionTree : Compile once, ask often.
    infer_many : A table of evidence rows.
    mpe : The most probable configuration.

    Notes
    -----
    Exact methods are exact up to rounding; their time and memory are exponential in the width of
    the elimination order that was found, see ``plan``; linear in the length of a chain. Products
    run in scaled arithmetic, and in the log domain where that could lose a term, so nothing
    underflows.

    Loopy belief propagation costs time linear in the cells of the factors per sweep; parity and
    at-most-one rules of n variables cost n, as do noisy gates where sums are taken. It is exact on
    trees, says so, and needs two passes there. On graphs with cycles it may not converge, and is
    often too sure of itself.

    References
    ----------
    .. [1] S. L. Lauritzen and D. J. Spiegelhalter, Local computations with probabilities on
       graphical structures, JRSS B 50 (1988), section 3.
    .. [2] D. Koller and N. Friedman, *Probabilistic Graphical Models*, 2009, chapters 9 and 10.
    .. [3] A. Darwiche, *Modeling and Reasoning with Bayesian Networks*, 2009, section 3.6.
    .. [4] J. S. Yedidia, W. T. Freeman, Y. Weiss, Constructing free-energy approximations and
       generalized belief propagation algorithms, IEEE Trans. Information Theory 51 (2005).
    .. [5] G. Elidan, I. McGraw, D. Koller, Residual belief propagation, UAI 2006.

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
    one_of(method, (*_EXACT, *METHODS), "infer", "method")
    one_of(on_failure, ("return", "warn", "raise"), "infer", "on_failure")
    check_search(effort, seed, "infer")
    as_bytes(budget, "infer")
    request = Request(model, evidence, likelihood, query, budget)
    if method in METHODS:
        _refuse(method, jeffrey=jeffrey, order=order)
        settings = options | ({"seed": seed} if takes_seed(method) else {})
        return approximate(request, method, settings, on_failure)
    _refuse_options(method, options)
    try:
        return exact(request, method, jeffrey=jeffrey, order=order, effort=effort, seed=seed)
    except BudgetError as error:
        if method != "auto" or jeffrey or order is not None:
            raise
        return instead(request, error, on_failure)


def exact(
    request: Request,
    method: str = "exact",
    *,
    jeffrey: Mapping[Hashable, Any] | None = None,
    order: Iterable[Hashable] | None = None,
    effort: float = 2.0,
    seed: int = 0,
) -> GraphPosterior:
    """Answer exactly, or raise BudgetError."""
    question = request.question(keep_rules=False)
    if jeffrey:
        targets = as_targets(question.wiring, jeffrey, "infer")
        question = fit_jeffrey(question, targets, answer)
    given = given_order(question.wiring, order, "infer")
    wanted = "auto" if method == "exact" else method
    plan = make_plan(question, method=wanted, order=given, effort=effort, seed=seed)
    return GraphPosterior(question, _follow(plan, question), plan)


def _refuse(method: str, **given: Any) -> None:
    """Refuse what only exact engines can do."""
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"infer: {name} needs an exact method. Got method={method!r}; leave {name} out, or "
                "use method='exact'."
            )


def _refuse_options(method: str, options: dict[str, Any]) -> None:
    """Refuse the settings of approximate engines where an exact one is asked for."""
    if options:
        raise InputError(
            f"infer: {next(iter(options))} is no option of method={method!r}. Options such as "
            "schedule, momentum and sweeps belong to approximate methods: method='loopy'."
        )


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
        beliefs = enumerate_beliefs(plan.steps[0].problem, budget)
    elif plan.engine == "elimination":
        beliefs = _eliminated(plan, budget)
    else:
        step = plan.steps[0]
        refuse_above(budget, step.problem, step.order, "infer")
        beliefs = calibrate(step.problem, plant(step.problem, step.order.sequence))
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
