"""The engines of ``mpe`` that need no junction tree, and which of them answers for "auto"."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from credo import _checks as check
from credo._types import Label
from credo.exceptions import ApproximationWarning, InputError
from credo.graphs.problems import Problem, pose
from credo.graphs.wiring import Int64
from credo.inference._explain import impossible
from credo.inference.configurations import Configuration, all_states, named
from credo.inference.engines import Engine
from credo.inference.loopy import engine as loopy
from credo.inference.maxima.field import Maximum, is_below, make_field
from credo.inference.maxima.graph_cut import run_graph_cut
from credo.inference.maxima.moves import Mover
from credo.inference.maxima.trws import sweep_until
from credo.inference.messages import is_tree
from credo.inference.question import Budget, Callback, Question

#: From this many variables on a grid takes seconds on a junction tree, milliseconds by a cut.
_MANY = 400
#: Sweeps of single moves at most; far more than were ever needed.
_SWEEPS = 1000
#: Forests to polish with: on frustrated grids of some thousand nodes they gain little after these.
_FORESTS = 50
#: Restarts of annealing: four short runs come nearer to the best of frustrated grids than one.
_ANNEALED = 3


def run_tree_reweighted(
    problem: Problem,
    *,
    sweeps: int = 500,
    tolerance: float = 1e-9,
    seed: int = 0,
    callback: Callback | None = None,
) -> Maximum:
    """Run TRW-S, and improve what it found by moves.

    Parameters
    ----------
    problem
        Factors over any numbers of states. Those of more than two variables become nodes whose
        states are their cells.
    sweeps
        The most sweeps to make.
    tolerance
        Distances are zero up to this much, relative to the score if that is larger than one.
    seed
        Of the forests that are moved.
    callback
        Called after each sweep with its number and the gap.

    Returns
    -------
    Maximum
        A configuration, and a bound on all.

    Notes
    -----
    A sweep takes two visits to each table, and never raises the bound. Trees are solved in one
    sweep. For two states per variable the bound converges to that of the linear relaxation; for
    more it may stall above it.

    References
    ----------
    .. [1] V. Kolmogorov, Convergent tree-reweighted message passing for energy minimization, IEEE
       Transactions on Pattern Analysis and Machine Intelligence 28 (2006), section 4, figure 3.
    """
    check.count(sweeps, "sweeps of tree_reweighted")
    check.number(tolerance, "tolerance of tree_reweighted", 0)
    mover = Mover(problem)
    field = make_field(problem, mover.logs)
    states, bound = sweep_until(field, sweeps, tolerance, callback)
    if bound == -math.inf:
        return Maximum.impossible("tree_reweighted", problem)
    states = states[: len(problem.variables)]
    score = mover.score(states)
    if is_below(score, bound):
        moved, better = mover.improve(states, np.random.default_rng(seed), _SWEEPS, _FORESTS)
        states, score = (moved, better) if better > score else (states, score)
    return Maximum("tree_reweighted", states, score, max(score, bound))


def run_loopy(question: Question, problem: Problem, *, seed: int = 0, **messages: Any) -> Maximum:
    """Pass messages of maxima around the loops, decode, and improve by moves.

    Parameters
    ----------
    question
        The model of tables, and the evidence.
    problem
        The same as factors over free variables.
    seed
        Of the order of messages, if it is random, and of the forests that are moved.
    **messages
        Other settings of loopy belief propagation: its schedule, momentum, domain, sweeps,
        tolerance, threads and callback.

    Returns
    -------
    Maximum
        A configuration and its score; the bound is infinite unless the graph is a tree.
    """
    tables = replace(question, wiring=question.model.compile())
    found = loopy.run_loopy(tables, temperature=0.0, seed=seed, **messages)
    if found.log_z == -math.inf:
        return Maximum.impossible("loopy", problem)
    mover, rng = Mover(problem), np.random.default_rng(seed)
    states, score = mover.improve(mover.decode(found.beliefs), rng, _SWEEPS, _FORESTS)
    bound = max(score, found.log_z) if found.status == "EXACT" else math.inf
    return Maximum("loopy", states, score, bound)


def run_icm(  # noqa: PLR0913 - where to begin, and how often to move what
    problem: Problem,
    *,
    start: str = "single",
    sweeps: int = _SWEEPS,
    restarts: int = 0,
    forests: int = 0,
    seed: int = 0,
    callback: Callback | None = None,
) -> Maximum:
    r"""Improve a configuration one variable at a time until no single change helps.

    .. math:: x_i \leftarrow \arg\max_{x_i} \sum_{f \ni i} \ln \psi_f(x_f)

    Parameters
    ----------
    problem
        Factors over any numbers of variables and states.
    start
        ``"single"``: each variable in the state that its factors of one variable favour;
        ``"random"``; ``"annealed"``: draws of forests at a falling temperature; or the states of
        the free variables, as numbers from zero.
    sweeps
        The most sweeps from each start.
    restarts
        How many more starts to try, annealed or random; the best configuration is kept.
    forests
        How many random forests to move, each as a whole, after the single moves from each start.
    seed
        Of the random starts and forests.
    callback
        Called after each start with its number and the best log score so far.

    Returns
    -------
    Maximum
        Its score is never below that of the start. There is no bound: it is infinite.

    Notes
    -----
    A sweep looks at the variables whose neighbours moved. Of two configurations that are
    impossible, the one with fewer zeros is better, so an impossible start can be left. The move of
    a forest finds its best states given the other variables, exactly.

    References
    ----------
    .. [1] J. Besag, On the statistical analysis of dirty pictures, Journal of the Royal Statistical
       Society B 48 (1986), section 2.5.
    .. [2] S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, Optimization by simulated annealing, Science
       220 (1983).
    """
    check.count(sweeps, "sweeps of icm")
    check.count(restarts, "restarts of icm", 0)
    check.count(forests, "forests of icm", 0)
    rng = np.random.default_rng(seed)
    mover = Mover(problem)
    best, top = _begin(mover, start, rng), -math.inf
    again = start if isinstance(start, str) and start == "annealed" else "random"
    for turn in range(restarts + 1):
        states = best if turn == 0 else _begin(mover, again, rng)
        states, score = mover.improve(states, rng, sweeps, forests)
        if turn == 0 or score > top:
            best, top = states, score
        if callback is not None:
            callback(turn + 1, top)
    return Maximum("icm", best, top)


def _begin(mover: Mover, start: Any, rng: np.random.Generator) -> Int64:
    """Return the first states."""
    if isinstance(start, str):
        if start not in {"single", "random", "annealed"}:
            raise InputError(
                f"The start of icm must be 'single', 'random', 'annealed' or states. Got {start!r}."
            )
        if start == "annealed":
            return mover.anneal(rng)
        return mover.best_alone() if start == "single" else mover.random(rng)
    problem, states = mover.problem, np.array(start)
    n_states = problem.n_states[problem.variables < len(problem.wiring.names)]
    if (
        states.shape != n_states.shape
        or states.dtype.kind not in "iu"
        or ((states < 0) | (states >= n_states)).any()
    ):
        raise InputError(
            f"The start of icm must have one state, as a number from zero, for each of the "
            f"{len(n_states)} free variables. Got {start!r:.80}."
        )
    begun: Int64 = np.zeros(len(problem.variables), np.int64)  # auxiliaries of rules follow
    begun[: len(states)] = states
    return begun


def run_auto(
    question: Question,
    problem: Problem,
    *,
    sweeps: int = 500,
    tolerance: float = 1e-9,
    seed: int = 0,
    callback: Callback | None = None,
) -> Maximum:
    """Cut, if a cut can solve it; otherwise keep the best of several, with the bound of TRW-S.

    If TRW-S proves nothing, max-product and annealed forests are tried as well.
    """
    try:
        return run_graph_cut(problem)
    except InputError:  # not a field that a cut can solve
        pass
    found = run_tree_reweighted(
        problem, sweeps=sweeps, tolerance=tolerance, seed=seed, callback=callback
    )
    if found.is_impossible or found.is_proven:
        return found
    for other in (
        run_loopy(question, problem, seed=seed),
        run_icm(problem, start="annealed", restarts=_ANNEALED, forests=_FORESTS, seed=seed),
    ):
        if other.log_score > found.log_score:
            found = replace(found, states=other.states, log_score=other.log_score)
    return found


def search(
    question: Question, engine: Engine, seed: int, options: Mapping[str, Any]
) -> Configuration:
    """Find a configuration by an engine that needs no clique tables."""
    check.count(seed, "seed of mpe", 0)
    problem = pose(question.wiring, question.evidence)
    seeded = {"seed": seed} if "seed" in engine.options else {}
    given = (question, problem) if engine.needs == "rules" else (problem,)
    return _by_name(question, problem, engine.run(*given, **seeded, **options))


def cut_at_once(question: Question) -> Configuration | None:
    """Cut a large field, if a cut can solve it and it is no tree, which is easier still."""
    if len(question.wiring.n_states) <= _MANY or is_tree(question.wiring, question.observed):
        return None
    problem = pose(question.wiring, question.evidence)
    try:
        found = run_graph_cut(problem)
    except InputError:  # not a field that a cut can solve
        return None
    return _by_name(question, problem, found)


def _by_name(question: Question, problem: Problem, found: Maximum) -> Configuration:
    """Name the states of all variables, observed ones too; raise if nothing is possible."""
    wiring = problem.wiring
    if found.is_impossible and question.evidence.findings:
        raise impossible(wiring, question.evidence, "mpe", question.budget)
    if found.is_impossible:
        raise InputError(
            "mpe: the model allows no configuration at all: its factors multiply to zero "
            "everywhere. Look for a factor whose table is zero where the others are not."
        )
    shown = range(len(wiring.names))
    states = named(wiring, all_states(problem, found.states), shown)
    tied: tuple[Label, ...] = ()
    if found.tied is not None:
        places = problem.variables[found.tied].tolist()
        tied = tuple(wiring.names[v] for v in places if v in shown)
    bound = found.bound if found.bound < math.inf else None
    if found.log_score == -math.inf:
        warnings.warn(
            f"mpe: {found.engine} found no configuration of positive probability, which does not "
            "prove that there is none. Use method='junction_tree' to find out.",
            ApproximationWarning,
            stacklevel=4,
        )
    return Configuration(states, found.log_score, tied, bound, found.engine)


def warn_of_gap(found: Configuration, budget: Budget) -> None:
    """Warn if it is not proven that a configuration is the best."""
    if found.is_exact or found.log_score == -math.inf:
        return
    warnings.warn(
        f"mpe: an exact answer does not fit the budget of {budget}. The configuration found by "
        f"{found.engine} is at most {found.gap:.3g} below the best in log score. Raise budget=, "
        "add evidence, or give more sweeps=.",
        ApproximationWarning,
        stacklevel=3,
    )
