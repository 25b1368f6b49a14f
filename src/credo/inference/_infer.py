"""``infer``: all single marginals of a graph, exactly within a memory budget, or nearly."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from credo import _checks as check
from credo.exceptions import (
    ApproximationWarning,
    BudgetError,
    ConvergenceWarning,
    InputError,
    NumericalError,
)
from credo.graphs.bayesian_network import BayesianNetwork
from credo.graphs.evidence import Evidence
from credo.graphs.problems import pose
from credo.inference._explain import impossible
from credo.inference._plan import Plan, given_order, make_plan, plan_again
from credo.inference.engines import ENGINES, Engine, check_options, lookup
from credo.inference.exact import fit_jeffrey
from credo.inference.graph_posterior import GraphPosterior
from credo.inference.question import (
    ADVICE,
    Answer,
    Budget,
    Question,
    as_bytes,
    as_targets,
    ask,
    check_callback,
    check_search,
)

OnFailure: TypeAlias = Literal["return", "warn", "raise"]

_SETTLED = ("EXACT", "CONVERGED", "SAMPLED")
#: R-hat above which chains are said to disagree: the customary 1.01 is too strict for draws of
#: thousands of variables, of which the worst counts.
_MIXED = 1.05
#: Independent draws below which a probability may have a standard error above 0.05: that of a
#: probability of one half is 0.5 / sqrt(n).
_FEW = 100


def infer(  # noqa: PLR0913 - a question has these parts, each with a default
    model: Any,
    evidence: Mapping[Hashable, Any] | None = None,
    *,
    likelihood: Mapping[Hashable, Any] | None = None,
    jeffrey: Mapping[Hashable, Any] | None = None,
    query: Iterable[Hashable] | None = None,
    method: str = "auto",
    budget: Budget = "4GB",
    order: Iterable[Hashable] | None = None,
    plan: Plan | None = None,
    tables: Mapping[Hashable, Any] | None = None,
    effort: float = 2.0,
    seed: int = 0,
    on_failure: OnFailure = "warn",
    **options: Any,
) -> GraphPosterior:
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
        "structured_mean_field", "generalised", "double_loop", "gibbs", and of Bayesian networks
        "samples" (likelihood weighting). "auto" is "exact"; where that does not fit the budget it
        passes messages, and warns. Usual short names do as well: "bp", "gbp", "jt", "ve", "trw",
        "mf", "mcmc", "forward_backward". The :doc:`reference </reference/api>` has all of them,
        with their options.
    budget : str, int or None, default "4GB"
        Memory for the clique tables. Above it nothing is computed and ``BudgetError`` says why.
    order : iterable of Hashable, optional
        An elimination order, in place of one that is looked for. It changes the cost, never the
        answer.
    plan : Plan, optional
        What :func:`credo.plan` found for the same model and query, and evidence on the same
        variables: its engine runs, in its order, and no other is looked for.
    tables : mapping, optional
        What if: other conditional probabilities for this question, ``{variable: table}``, as
        ``BayesianNetwork.replace`` takes them.
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
        ``start`` (an earlier answer), ``root`` (of schedule "tree"), ``callback`` (called with
        sweep and residual, and with the beliefs so far if it has a parameter ``beliefs``). For the
        others see :doc:`the guide </how-to/loopy>`.

    Returns
    -------
    GraphPosterior
        ``post[variable]`` is a :class:`credo.Posterior`; also ``engine``, ``status``, ``joint``,
        ``log_evidence`` and ``log_evidence_is``, ``message``; for exact answers ``sample`` and
        ``plan``, for approximate ones ``residuals`` and ``sweeps``.

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
    often overconfident.

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
    engine = lookup(method, ENGINES, "method of infer")
    check.one_of(on_failure, ("return", "warn", "raise"), "on_failure of infer")
    check_search(effort, seed, "infer")
    as_bytes(budget, "infer")
    check_options(engine, options, ENGINES, "infer")
    check_callback(options, "infer", has_beliefs=engine.name == "loopy")
    _refuse_together(engine, plan=plan, jeffrey=jeffrey, order=order)
    if tables is not None:
        model = _with_tables(model, tables)
    question = ask(model, evidence, likelihood, query, budget, "infer", keep_rules=True)
    if engine.needs != "plan":
        settings = options | ({"seed": seed} if "seed" in engine.options else {})
        post = _run(question, engine, settings)
        _report(post, on_failure)
        return post
    try:
        asked = question.tabulated()
        if jeffrey:
            targets = as_targets(asked.wiring, jeffrey, "infer")
            asked = fit_jeffrey(asked, targets, _quick_answer)
        if plan is None:
            given = given_order(asked.wiring, order, "infer")
            made = make_plan(asked, method=engine.name, order=given, effort=effort, seed=seed)
        else:
            made = plan_again(plan, asked)
        return GraphPosterior(asked, _follow(asked, made), made.engine, plan=made)
    except BudgetError as error:
        if engine.name != "auto" or jeffrey or order is not None or plan is not None:
            raise
        return _instead(question, error, on_failure)


def _with_tables(model: Any, tables: Mapping[Hashable, Any]) -> BayesianNetwork:
    """Return a network with other tables."""
    if not isinstance(model, BayesianNetwork):
        raise InputError(
            f"The tables of infer replace those of a BayesianNetwork. Got {type(model).__name__}; "
            "change a copy of it."
        )
    return model.replace(tables)


def _refuse_together(engine: Engine, **given: Any) -> None:
    """Refuse what only exact engines can do, and what a plan has decided already."""
    names = [name for name, value in given.items() if value is not None]
    if names and engine.needs != "plan":
        raise InputError(
            f"infer: {names[0]} needs an exact method. Got method={engine.name!r}; leave "
            f"{names[0]} out, or use method='exact'."
        )
    names += [f"method={engine.name!r}"] * (engine.name != "auto")
    if given["plan"] is not None and len(names) > 1:
        raise InputError(
            f"infer: a plan says which engine runs in which order. Leave out {names[-1]}, or plan."
        )


def _quick_answer(question: Question) -> Answer:
    """Answer exactly by whatever is cheapest, without a search for orders."""
    return _follow(question, make_plan(question, effort=0.0))


def _follow(question: Question, plan: Plan) -> Answer:
    """Run the engine of a plan; or say which findings conflict."""
    answer: Answer = ENGINES[plan.engine].run(question, plan)
    if answer.log_z == float("-inf"):
        raise impossible(question.wiring, question.evidence, "infer", question.budget)
    return answer


def _run(
    question: Question, engine: Engine, options: Mapping[str, Any], why: Iterable[str] = ()
) -> GraphPosterior:
    """Run an approximate engine; name the findings that conflict, if it finds out."""
    judge = None
    if engine.needs == "rules":
        answer: Answer = engine.run(question, **options)
        judge = _judge(question)
    else:
        question = question.tabulated()
        answer = engine.run(pose(question.wiring, question.evidence), **options)
    if answer.log_z == float("-inf"):
        tables = question.tabulated()
        raise impossible(tables.wiring, tables.evidence, "infer", tables.budget, judge)
    return GraphPosterior(question, answer, engine.name, why=why)


def _judge(question: Question) -> Callable[[Evidence], bool]:
    """Let messages tell whether findings are possible: a contradiction between them is a proof."""

    def is_possible(evidence: Evidence) -> bool:
        answer = ENGINES["loopy"].run(replace(question, evidence=evidence), schedule="sequential")
        return bool(answer.log_z > float("-inf"))

    return is_possible


def _report(post: GraphPosterior, on_failure: OnFailure) -> None:
    """Warn, or raise, if an engine did not settle, or draws are worth little."""
    said = _describe_end(post)
    if not said or on_failure == "return":
        return
    if on_failure == "raise":
        raise NumericalError(said)
    warnings.warn(said, ConvergenceWarning, stacklevel=3)


def _describe_end(post: GraphPosterior) -> str:
    """Say how a run ended that did not settle, and what to try; nothing if it did."""
    who = f"infer: method={post.engine!r}"
    if post.status == "SAMPLED":
        return _describe_draws(post, who)
    if post.status in _SETTLED:
        return ""
    if not post.sweeps:
        return f"{who} found no possible state to start from, and returns its starting beliefs."
    moved = float(post.residuals[-1])
    last = (
        f"the last one changed a probability by {moved:.2g}"
        if moved > 1e-12
        else "messages stand still, but the outer loop does not"
    )
    known = ENGINES[post.engine].options
    remedies = ["allow more sweeps"] if post.status == "MAX_SWEEPS" else []
    remedies += ["mix in old messages (momentum='adaptive', or below 0.5)"] * ("momentum" in known)
    remedies += ["use method='double_loop', which cannot oscillate"] * ("momentum" in known)
    ended = (
        f"oscillates: its messages come back every {post.period} sweeps; {last}"
        if post.status == "OSCILLATING"
        else f"did not converge within {post.sweeps} sweeps; {last}"
    )
    return f"{who} {ended}. Remedies: {'; '.join(remedies)}."


def _describe_draws(post: GraphPosterior, who: str) -> str:
    """Say why draws are worth little; nothing if they are not."""
    worst = post.details.get("worst_r_hat", 1.0)
    if worst > _MIXED:
        together = "" if post.details.get("blocks") == "trees" else " use blocks='trees',"
        return (
            f"{who}: its chains disagree (R-hat {worst:.3g}, where 1 is perfect), so its beliefs "
            f"are not those of the model. Draw more,{together} or use another method."
        )
    worth = post.details["effective_sample_size"]
    if post.engine != "samples" or worth >= _FEW:
        return ""
    return (
        f"{who}: its {post.details['draws']} draws are worth {worth:.3g} independent ones, so a "
        f"standard error may be as large as {0.5 / worth**0.5:.2g}. Evidence that is improbable "
        "given what is drawn above it makes most draws weigh next to nothing: draw more, or use "
        "another method."
    )


def _instead(question: Question, error: BudgetError, on_failure: OnFailure) -> GraphPosterior:
    """Answer where no exact engine fits: loopy, and if that does not settle, what always does."""
    reason = str(error).removesuffix(ADVICE).strip()
    why = [f"no exact engine fits: {reason}", "loopy belief propagation with adaptive damping"]
    post = _run(question, ENGINES["loopy"], {"momentum": "adaptive"}, why)
    for method, words in (
        ("generalised", "generalised belief propagation on regions"),
        ("double_loop", "the double loop, which cannot oscillate"),
    ):
        if post.status in _SETTLED:
            break
        why[-1] += f" ended as {post.status}"
        why.append(words)
        post = _run(question, ENGINES[method], {}, why)
    if post.status not in _SETTLED and on_failure == "raise":
        raise NumericalError(_describe_end(post))
    if post.status == "EXACT":  # on trees, for which messages take less memory than cliques
        return post
    warnings.warn(
        f"infer gives an approximate answer (engine {post.engine!r}, {post.status}): {reason} "
        "Use method='exact' to get an error instead.",
        ApproximationWarning,
        stacklevel=3,
    )
    return post
