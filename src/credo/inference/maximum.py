"""Best configurations of a graph: of all variables, of some, the k best, and max-marginals."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from credo.exceptions import BudgetError, InputError
from credo.inference._beliefs import Beliefs
from credo.inference._budget import Budget, as_bytes, as_text
from credo.inference._maximum_results import Configuration, MaxMarginals
from credo.inference._maximum_runs import (
    all_states,
    configuration,
    maximise,
    maximise_sums,
    named,
)
from credo.inference._questions import ask
from credo.inference._tables import Homes
from credo.inference.maxima.answers import cut_at_once, proven, warn_of_gap, without_tree
from credo.inference.maxima.choosing import check_options

__all__ = ["Configuration", "MaxMarginals", "k_best", "marginal_map", "max_marginals", "mpe"]


def mpe(
    model: Any,
    evidence: Mapping[Hashable, Any] | None = None,
    *,
    likelihood: Mapping[Hashable, Any] | None = None,
    method: str = "auto",
    budget: Budget = "4GB",
    seed: int = 0,
    **options: Any,
) -> Configuration:
    r"""Find the most probable configuration of all variables.

    .. math:: x^* = \arg\max_{x} \prod_f \psi_f(x_f)

    over the configurations that agree with the evidence. It is not made of each variable's most
    probable state: see the example, and :func:`credo.infer` for those.

    Parameters
    ----------
    model : BayesianNetwork, MarkovNetwork or FactorGraph
        The model. It is compiled, and not changed.
    evidence : mapping, optional
        What was observed: ``{variable: state}``, or a set of states one of which is true.
    likelihood : mapping, optional
        Virtual evidence, ``{variable: weights}``: one weight per state, which multiply the model.
    method : str, default "auto"
        ``"junction_tree"`` is exact. ``"graph_cut"`` is exact too, for pairs of two-state variables
        that attract. ``"tree_reweighted"`` is TRW-S: any graph, and a bound on how much better a
        configuration could be. ``"loopy"`` decodes max-product beliefs, ``"icm"`` moves single
        variables; neither has a bound. ``"auto"`` takes the first of the first three that fits,
        but cuts large fields at once.
    budget : str, int or None, default "4GB"
        Memory for the clique tables.
    seed : int, default 0
        Seed of the search for a good elimination order, and of random starts.
    **options
        Settings of the method. ``"tree_reweighted"`` and ``"auto"``: ``sweeps`` (500),
        ``tolerance`` (1e-9), ``callback(sweep, gap)``. ``"icm"``: ``start`` (``"single"`` or
        ``"random"``), ``restarts`` (0), ``forests`` (0), ``sweeps``, ``callback``. ``"loopy"``:
        ``schedule``, ``momentum``, ``domain``, ``sweeps``, ``tolerance``, ``threads`` and
        ``callback``.

    Returns
    -------
    Configuration
        ``states`` of all variables, ``log_score``, the variables that are ``tied``, ``bound`` and
        ``gap``: how much better any other can be, 0 if it is proven that none is.

    Warns
    -----
    ApproximationWarning
        If ``"auto"`` cannot prove that the configuration is the best.

    Raises
    ------
    ImpossibleEvidence
        If the evidence has probability zero; names a smallest set of findings that conflict.
    BudgetError
        If the tables of ``"junction_tree"`` do not fit; names the largest clique.
    InputError
        If ``"graph_cut"`` is asked for a field that it cannot solve; says why.
    LabelError
        If a variable or a state is unknown.

    See Also
    --------
    marginal_map : The best states of some variables, the others summed out.
    k_best : The next best configurations too.
    max_marginals : For each state of each variable, the best score with it.

    Notes
    -----
    The junction tree: max-product in the log domain, one pass up and one decoding pass down, so
    nothing underflows. Exact. Scores closer than the rounding errors of the pass, which are bounded
    cell by cell, are ties; the lowest state then wins, in the order in which the tree is decoded.

    Whatever the method, ``log_score`` is the sum of the factors' logs at the configuration. TRW-S
    [3]_ and max-product end with moves of single variables and of forests, which never lose.

    References
    ----------
    .. [1] A. P. Dawid, Applications of a general propagation algorithm for probabilistic expert
       systems, Statistics and Computing 2 (1992), section 4.
    .. [2] D. Koller and N. Friedman, *Probabilistic Graphical Models*, 2009, section 13.3.
    .. [3] V. Kolmogorov, Convergent tree-reweighted message passing for energy minimization, IEEE
       Transactions on Pattern Analysis and Machine Intelligence 28 (2006), section 4.

    Examples
    --------
    State 1 of ``a`` has more weight in all, 4 against 3, but the best pair has ``a`` in state 0.

    >>> from credo.graphs import FactorGraph
    >>> from credo.inference.maximum import mpe
    >>> graph = FactorGraph()
    >>> a, b = graph.variable("a", 2), graph.variable("b", 2)
    >>> _ = graph.factor([a, b], [[0, 3], [2, 2]])
    >>> mpe(graph)
    Configuration({'a': 0, 'b': 1}, log_score=1.09861)
    >>> mpe(graph, {"a": 1})
    Configuration({'a': 1, 'b': 0}, log_score=0.693147, tied: 'b')
    >>> mpe(graph, method="tree_reweighted").is_exact
    True
    """
    check_options(method, options, "mpe")
    question = ask(model, evidence, likelihood, None, budget, "mpe", sum_product=False)
    if method not in ("auto", "junction_tree"):
        return without_tree(question, method, seed, options)
    found = cut_at_once(question) if method == "auto" else None
    if found is not None:
        return found
    try:
        tables = maximise(question, seed, "mpe")
    except BudgetError:
        if method == "junction_tree":
            raise
        found = without_tree(question, method, seed, options)
        warn_of_gap(found, budget)
        return found
    return proven(configuration(question.wiring, tables, range(len(question.wiring.names))))


def max_marginals(
    model: Any,
    evidence: Mapping[Hashable, Any] | None = None,
    *,
    likelihood: Mapping[Hashable, Any] | None = None,
    budget: Budget = "4GB",
    seed: int = 0,
) -> MaxMarginals:
    r"""Find for each state of each variable the best score with it, exactly.

    .. math:: m_v(x_v) = \max_{x \setminus x_v} \ln \prod_f \psi_f(x_f)

    Parameters
    ----------
    model : BayesianNetwork, MarkovNetwork or FactorGraph
        The model. It is compiled, and not changed.
    evidence : mapping, optional
        ``{variable: state}``, or a set of states one of which is true.
    likelihood : mapping, optional
        ``{variable: weights}``: one weight per state, which multiply the model.
    budget : str, int or None, default "4GB"
        Memory for the clique tables.
    seed : int, default 0
        Seed of the search for a good elimination order.

    Returns
    -------
    MaxMarginals
        ``[variable]`` is ``{state: log score}``; ``best`` is a best configuration.

    Raises
    ------
    ImpossibleEvidence
        If the evidence has probability zero; names a smallest set of findings that conflict.
    BudgetError
        If the tables do not fit; names the largest clique and the alternatives.

    See Also
    --------
    mpe : The best configuration alone, in half the time.

    Notes
    -----
    One pass up a junction tree and one down, in the log domain. Exact up to rounding.

    References
    ----------
    .. [1] D. Koller and N. Friedman, *Probabilistic Graphical Models*, 2009, section 13.3.

    Examples
    --------
    >>> from credo.graphs import FactorGraph
    >>> from credo.inference.maximum import max_marginals
    >>> graph = FactorGraph()
    >>> a, b = graph.variable("a", ["no", "yes"]), graph.variable("b", 2)
    >>> _ = graph.factor([a, b], [[1, 1], [1, 0]])
    >>> max_marginals(graph)["a"]
    {'no': 0.0, 'yes': 0.0}
    >>> max_marginals(graph).best.tied
    ('a', 'b')
    """
    question = ask(model, evidence, likelihood, None, budget, "max_marginals", sum_product=False)
    tables = maximise(question, seed, "max_marginals")
    wiring, problem = question.wiring, tables.problem
    best = proven(configuration(wiring, tables, range(len(wiring.names))))
    homes = Homes(problem, tables.layout)
    values = tables.log_max_marginals(homes)
    values += best.log_score
    return MaxMarginals(
        wiring, Beliefs(problem.variables, homes.start, values, best.log_score), best
    )


def marginal_map(
    model: Any,
    variables: Iterable[Hashable],
    evidence: Mapping[Hashable, Any] | None = None,
    *,
    likelihood: Mapping[Hashable, Any] | None = None,
    budget: Budget = "4GB",
    seed: int = 0,
) -> Configuration:
    r"""Find the most probable states of some variables together, exactly.

    .. math:: x_M^* = \arg\max_{x_M} \sum_{x \setminus x_M} \prod_f \psi_f(x_f)

    Parameters
    ----------
    model : BayesianNetwork, MarkovNetwork or FactorGraph
        The model. It is compiled, and not changed.
    variables : iterable of Hashable
        The variables :math:`M` whose states are wanted; all others are summed out.
    evidence : mapping, optional
        ``{variable: state}``, or a set of states one of which is true.
    likelihood : mapping, optional
        ``{variable: weights}``: one weight per state, which multiply the model.
    budget : str, int or None, default "4GB"
        Memory for the clique tables.
    seed : int, default 0
        Seed of the search for a good elimination order.

    Returns
    -------
    Configuration
        ``states`` of these variables, ``log_score``, the log of the sum, and who is ``tied``.

    Raises
    ------
    ImpossibleEvidence
        If the evidence has probability zero; names a smallest set of findings that conflict.
    BudgetError
        If the tables do not fit; names the largest clique and the alternatives.
    InputError
        If a variable is named twice.

    See Also
    --------
    mpe : The best states of all variables.
    infer : The probabilities of each variable alone.

    Notes
    -----
    Sums come before maxima, so the other variables have to be eliminated first. That can make the
    cliques much larger than those of :func:`credo.infer`: the problem is harder than either.
    Children that are neither observed nor asked for are left out. In the log domain; exact up to
    rounding.

    References
    ----------
    .. [1] J. D. Park and A. Darwiche, Complexity results and approximation strategies for MAP
       explanations, Journal of Artificial Intelligence Research 21 (2004), section 3.
    .. [2] D. Koller and N. Friedman, *Probabilistic Graphical Models*, 2009, section 13.2.3.

    Examples
    --------
    >>> from credo.graphs import FactorGraph
    >>> from credo.inference.maximum import marginal_map
    >>> graph = FactorGraph()
    >>> a, b = graph.variable("a", 2), graph.variable("b", 2)
    >>> _ = graph.factor([a, b], [[0, 3], [2, 2]])
    >>> marginal_map(graph, ["a"])
    Configuration({'a': 1}, log_score=1.38629)
    """
    question = ask(model, evidence, likelihood, variables, budget, "marginal_map")
    tables = maximise_sums(question, seed, "marginal_map")
    return proven(configuration(question.wiring, tables, question.query or []))


def k_best(
    model: Any,
    k: int,
    evidence: Mapping[Hashable, Any] | None = None,
    *,
    likelihood: Mapping[Hashable, Any] | None = None,
    budget: Budget = "4GB",
    seed: int = 0,
) -> list[Configuration]:
    r"""Find the k most probable configurations, best first, exactly.

    .. math:: x^{(i)} = \arg\max_{x \notin \{x^{(1)}, \dots, x^{(i-1)}\}} \prod_f \psi_f(x_f),
              \qquad i = 1, \dots, k

    Parameters
    ----------
    model : BayesianNetwork, MarkovNetwork or FactorGraph
        The model. It is compiled, and not changed.
    k : int
        How many are wanted, at least one.
    evidence : mapping, optional
        ``{variable: state}``, or a set of states one of which is true.
    likelihood : mapping, optional
        ``{variable: weights}``: one weight per state, which multiply the model.
    budget : str, int or None, default "4GB"
        Memory for the clique tables, and for the configurations.
    seed : int, default 0
        Seed of the search for a good elimination order.

    Returns
    -------
    list of Configuration
        All different, with scores that never rise; fewer than k if fewer are possible. ``tied``
        is not filled in: ties have equal scores.

    Raises
    ------
    ImpossibleEvidence
        If the evidence has probability zero; names a smallest set of findings that conflict.
    BudgetError
        If the tables, or k configurations, do not fit.
    InputError
        If k is not a whole number of at least one.

    See Also
    --------
    mpe : The best one.

    Notes
    -----
    One pass up a junction tree. Then every configuration costs a visit to one row of each table:
    the ones not yet found are parted by the first node in which they leave a found one, and the
    score of the best of each part is read off the tables.

    References
    ----------
    .. [1] D. Nilsson, An efficient algorithm for finding the M most probable configurations in
       probabilistic expert systems, Statistics and Computing 8 (1998), section 4.
    .. [2] E. L. Lawler, A procedure for computing the k best solutions to discrete optimization
       problems, Management Science 18 (1972), section 3.

    Examples
    --------
    >>> from credo.graphs import FactorGraph
    >>> from credo.inference.maximum import k_best
    >>> graph = FactorGraph()
    >>> a, b = graph.variable("a", 2), graph.variable("b", 2)
    >>> _ = graph.factor([a, b], [[0, 3], [2, 1]])
    >>> for best in k_best(graph, 10):
    ...     print(best)
    Configuration({'a': 0, 'b': 1}, log_score=1.09861)
    Configuration({'a': 1, 'b': 0}, log_score=0.693147)
    Configuration({'a': 1, 'b': 1}, log_score=0)
    """
    question = ask(model, evidence, likelihood, None, budget, "k_best", sum_product=False)
    tables = maximise(question, seed, "k_best")
    wiring, problem = question.wiring, tables.problem
    found = []
    score = np.inf
    for states in tables.k_best(_room_for(k, problem.n_states, budget)):
        score = min(score, tables.score(states))  # in order, where rounding would swap equals
        by_name = named(wiring, all_states(problem, states), range(len(wiring.names)))
        found.append(proven(Configuration(by_name, score)))
    return found


def _room_for(k: int, n_states: npt.NDArray[np.int64], budget: Budget) -> int:
    """Check the number of configurations, and that as many as there can be fit the budget."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise InputError(f"The k of k_best must be a whole number of at least one. Got {k!r}.")
    most = math.prod(n_states.tolist()) if np.log2(n_states).sum() < 63 else k
    count = min(int(k), most)
    needed = 8.0 * count * (len(n_states) + 10)  # their states, and a line of the list of parts
    if needed > as_bytes(budget, "k_best"):
        raise BudgetError(
            f"k_best needs {as_text(needed)} for {count} configurations of {len(n_states)} free "
            f"variables; the budget is {budget}. Ask for fewer, or raise budget=."
        )
    return count
