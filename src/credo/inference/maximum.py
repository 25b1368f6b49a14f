"""Best configurations of a graph: of all variables, of some, the k best, and max-marginals."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from credo._kernels import configurations as kernels
from credo._kernels.cliques import LOG_MAX
from credo._types import Bool, Label
from credo.exceptions import BudgetError, InputError
from credo.graphs.problems import pose
from credo.graphs.wiring import Int64
from credo.inference._explain import impossible
from credo.inference._plan import Orders
from credo.inference.cliques import CliqueTables, CliqueTree, plant
from credo.inference.configurations import Configuration, MaxMarginals, all_states, named
from credo.inference.engines import MAXIMISERS, check_options, lookup
from credo.inference.maxima.engine import cut_at_once, search, warn_of_gap
from credo.inference.maxima.field import log_score
from credo.inference.question import (
    Beliefs,
    Budget,
    Question,
    as_bytes,
    as_text,
    ask,
    check_callback,
    check_search,
    refuse_above,
)

#: Seconds that may go into a better order, where it can pay.
_EFFORT = 2.0


def mpe(  # noqa: PLR0913 - a question has these parts, each with a default
    model: Any,
    evidence: Mapping[Hashable, Any] | None = None,
    *,
    likelihood: Mapping[Hashable, Any] | None = None,
    query: Iterable[Hashable] | None = None,
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
    query : iterable of Hashable, optional
        The variables whose states are wanted, the others summed out: :func:`marginal_map`.
    method : str, default "auto"
        ``"junction_tree"`` is exact. ``"graph_cut"`` is exact too, for pairs of two-state variables
        that attract. ``"tree_reweighted"`` is TRW-S: any graph, and a bound on how much better a
        configuration could be. ``"loopy"`` decodes max-product beliefs, ``"icm"`` moves single
        variables; neither has a bound. ``"auto"`` takes the first of the first three that fits,
        but cuts large fields at once; where the third proves nothing, it keeps the best of that,
        max-product and annealed forests. Usual short names do as well: ``"viterbi"``,
        ``"min_cut"``, ``"trws"``, ``"max_product"``.
    budget : str, int or None, default "4GB"
        Memory for the clique tables.
    seed : int, default 0
        Seed of the search for a good elimination order, and of random starts.
    **options
        Settings of the method. ``"tree_reweighted"`` and ``"auto"``: ``sweeps`` (500),
        ``tolerance`` (1e-9), ``callback(sweep, gap)``. ``"icm"``: ``start`` (``"single"``,
        ``"random"`` or ``"annealed"``), ``restarts`` (0), ``forests`` (0), ``sweeps``,
        ``callback``. ``"loopy"``: ``schedule``, ``momentum``, ``domain``, ``sweeps``,
        ``tolerance``, ``threads`` and ``callback``.

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
    >>> from credo.inference import mpe
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
    engine = lookup(method, MAXIMISERS, "method of mpe")
    check_options(engine, options, MAXIMISERS, "mpe")
    check_callback(options, "mpe")
    if query is not None:
        if engine.name not in ("auto", "junction_tree"):
            raise InputError(
                "The query of mpe is answered by sums and maxima on a junction tree. Leave out "
                f"method={engine.name!r}, or query."
            )
        return marginal_map(model, query, evidence, likelihood=likelihood, budget=budget, seed=seed)
    question = ask(model, evidence, likelihood, None, budget, "mpe", sum_product=False)
    if engine.name not in ("auto", "junction_tree"):
        return search(question, engine, seed, options)
    found = cut_at_once(question) if engine.name == "auto" else None
    if found is not None:
        return found
    try:
        found = _Maxima(question, seed, "mpe").best()
    except BudgetError:
        if engine.name == "junction_tree":
            raise
        found = search(question, engine, seed, options)
        warn_of_gap(found, budget)
    return found


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
    maxima = _Maxima(question, seed, "max_marginals")
    best, tables = maxima.best(), maxima.tables
    tables.distribute()
    values = tables.marginals()
    values += best.log_score
    found = Beliefs(tables.problem.variables, tables.tree.start, values, best.log_score)
    return MaxMarginals(question.wiring, found, best)


def marginal_map(
    model: Any,
    query: Iterable[Hashable],
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
    query : iterable of Hashable
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
    question = ask(model, evidence, likelihood, query, budget, "marginal_map")
    return _Maxima(question, seed, "marginal_map", of_sums=True).best()


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
    maxima = _Maxima(question, seed, "k_best")
    return maxima.k_best(_room_for(k, maxima.tables.problem.n_states, budget))


class _Maxima:
    """Maxima on a clique tree, after they were sent to the roots.

    Parameters
    ----------
    question
        What to maximise over: everything that is not observed, or the query.
    seed
        Seed of the search for an order.
    owner
        Who asks.
    of_sums
        Whether what was not asked for is summed out first.
    """

    def __init__(self, question: Question, seed: int, owner: str, *, of_sums: bool = False) -> None:
        check_search(_EFFORT, seed, owner)
        self.wiring = question.wiring
        self.chosen = (question.query or []) if of_sums else range(len(self.wiring.names))
        query = question.query if of_sums else None
        problem = pose(self.wiring, question.evidence, query, whole=of_sums)
        is_summed = np.isin(problem.variables, self.chosen, invert=True) & of_sums
        last = np.flatnonzero(~is_summed).tolist() if is_summed.any() else ()
        orders = Orders(None, _EFFORT, seed)  # what is summed out comes first
        order = orders.better(problem, orders.quick(problem, last), last)
        refuse_above(question.budget, problem, order, owner)
        tree = plant(problem, order.sequence)
        summed = _runs(tree, problem.n_states, is_summed)
        self.tables = CliqueTables(problem, tree, LOG_MAX, summed=summed)
        self.log_best = self.tables.collect()
        if self.log_best == -np.inf:
            raise impossible(self.wiring, question.evidence, owner, question.budget)
        tables = self.tables
        messages = tree.parent, tree.row_start, tables.message, summed
        error = kernels.bound_errors(tree.home, problem.cell_start, tables.logs, *messages)
        bar = tables.scale - 2.0 * error
        self._rows = tables.table, (*tree.shapes, problem.n_states), bar, tables.message

    def best(self) -> Configuration:
        """Read the best configuration of the chosen variables, and which of them are tied."""
        tables, wiring = self.tables, self.wiring
        problem, tree = tables.problem, tables.tree
        states = np.zeros(len(problem.variables), np.int64)
        tied: tuple[Label, ...] = ()
        if kernels.decode(len(tree.parent) - 1, states, *self._rows):
            is_tied: Bool = np.zeros(len(wiring.n_states), np.bool_)
            is_tied[problem.variables] = kernels.tied_variables(*self._rows, *tree.loops)
            tied = tuple(wiring.names[v] for v in self.chosen if is_tied[v])
        is_mixed = tables.summed.size > 0
        score = self.log_best if is_mixed else log_score(problem, tables.logs, states)
        by_name = named(wiring, all_states(problem, states), self.chosen)
        return Configuration(by_name, score, tied, score, "junction_tree")

    def k_best(self, k: int) -> list[Configuration]:
        """Read the k best configurations, or all that are possible."""
        problem, score, found = self.tables.problem, math.inf, []
        states = np.zeros((k, len(problem.variables)), np.int64)
        for each in states[: kernels.k_best(states, *self._rows)]:
            score = min(score, log_score(problem, self.tables.logs, each))  # rounding swaps equals
            by_name = named(self.wiring, all_states(problem, each), self.chosen)
            found.append(Configuration(by_name, score, (), score, "junction_tree"))
        return found


def _runs(tree: CliqueTree, n_states: Int64, is_summed: Bool) -> Int64:
    """Count the cells in a row of each node that are summed: those of its last variables."""
    if not is_summed.any():
        return np.empty(0, np.int64)
    ends = np.repeat(tree.dim_start[1:] - tree.residual, np.diff(tree.dim_start))
    is_run = is_summed[tree.dims] & (np.arange(len(tree.dims)) >= ends)
    sizes = np.where(is_run, n_states[tree.dims], 1)
    return np.asarray(np.multiply.reduceat(sizes, tree.dim_start[:-1]))


def _room_for(k: int, n_states: Int64, budget: Budget) -> int:
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
