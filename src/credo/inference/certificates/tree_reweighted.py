"""Tree-reweighted belief propagation: an upper bound on log Z from spanning forests."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from credo._types import F64
from credo._validation.arrays import positive_int
from credo._validation.labels import one_of
from credo.graphs.problems import Problem
from credo.inference.certificates.descent import minimised
from credo.inference.certificates.dual import Dual, Evaluation
from credo.inference.certificates.forests import Mixture, covering_mixture, heaviest_forest
from credo.inference.certificates.joints import joints_of
from credo.inference.certificates.passing import Passer
from credo.inference.certificates.reduction import Reduced, reduce
from credo.inference.drive import Pace
from credo.inference.question import Answer, Callback, Status

_WHO = "tree-reweighted propagation"


#: While weights change, and for steps of descent, a fifth of the sweeps has to do: weights need no
#: settled messages to improve, and a step costs about as much as five sweeps.
_PER_STEP = 5
#: Sweeps for marginals that only have to tell likely from unlikely.
_FEW = 50


@dataclass(slots=True)
class _Run:
    """One run: what is minimised, how, and what has been seen on the way."""

    dual: Dual
    passer: Passer
    sweeps: int
    tolerance: float
    settled: bool = False  #: whether the messages were at rest, last time
    residuals: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)  #: the bound after each round

    def fit(self, mixture: Mixture, shift: F64, sweeps: int) -> Evaluation:
        """Pass messages for given weights of forests; give the bound there."""
        found, ending = self.passer.pass_messages(mixture.rho, shift, sweeps=sweeps)
        self.residuals += ending.residuals.tolist()
        self.settled = ending.status == "CONVERGED"
        return self.dual.evaluate(mixture, found)

    def polish(self, start: Evaluation) -> Evaluation:
        """Pass messages until they settle; else minimise the bound directly.

        It is convex and smooth in the messages.
        """

        def evaluate(shift: F64) -> Evaluation:
            seen = self.dual.evaluate(start.mixture, shift)
            self.residuals.append(seen.residual)
            return seen

        best = self.fit(start.mixture, start.shift, self.sweeps)
        if not self.settled:
            best = best if best.value < start.value else start
            best = minimised(evaluate, best, max(1, self.sweeps // _PER_STEP), self.tolerance)
            self.settled = best.residual <= self.tolerance
        return best

    def descend(self, start: Evaluation) -> Evaluation:
        """Move weight to the forest of most information, as far as it helps.

        At the best messages the derivative of the bound by rho_f is minus the information of
        factor f. The step is one over the number of forests, corrected by a secant if too long.
        """
        known = self.dual.information(start.beliefs, start.at_slot)
        forest = heaviest_forest(self.dual.graph, known)
        towards = -start.mixture.rho
        towards[forest.edges] += 1.0
        slope = -float((towards * known).sum())
        if slope >= -self.tolerance:
            return start
        step, few = 1.0 / (len(start.mixture.forests) + 1.0), max(1, self.sweeps // _PER_STEP)
        there = self.fit(start.mixture.moved(forest, step), start.shift, few)
        tried = [start, there]
        end = -float((towards * self.dual.information(there.beliefs, there.at_slot)).sum())
        if end > 0:
            step *= slope / (slope - end)
            tried.append(self.fit(start.mixture.moved(forest, step), there.shift, few))
        return min(tried, key=lambda seen: seen.value)


def run_tree_reweighted(  # noqa: PLR0913 - one parameter per setting
    problem: Problem,
    *,
    forests: Literal["optimise", "uniform"] = "optimise",
    rounds: int = 10,
    sweeps: int = 500,
    tolerance: float = 1e-8,
    seed: int = 0,
    callback: Callback | None = None,
) -> Answer:
    r"""Bound log Z from above by a mixture of spanning forests.

    .. math:: \log Z(\theta) \le \sum_T \mu_T \log Z(\theta_T), \qquad
              \sum_T \mu_T \theta_T = \theta

    Parameters
    ----------
    problem : Problem
        Factors over free variables.
    forests : {"optimise", "uniform"}
        Whether the weights of the forests are optimised, or those that cover all factors are
        weighed alike.
    rounds : int, default 10
        Steps of that optimisation, each of which adds a forest at most.
    sweeps : int, default 500
        Sweeps of messages at most, for each set of weights.
    tolerance : float, default 1e-8
        Largest change of a message at which they count as settled.
    seed : int, default 0
        Seed that breaks ties between forests.
    callback : callable, optional
        Called after each sweep with its number and its residual.

    Returns
    -------
    Answer
        ``log_z`` is an upper bound, whether or not the messages have settled: each forest is summed
        exactly, and an allowance for rounding is added. ``EXACT`` where one forest holds all
        factors. ``details`` has the allowance ``rounding``, the appearance probabilities
        ``rho`` of the factors over ``scopes``, the weights of the forests and the bound after each
        round.

    Notes
    -----
    A sweep, and a sum over all forests, cost a few operations for each cell of the factors (times
    the number of forests that hold it). States that arc consistency rules out are left out
    first, and factors inside others multiplied into them. A factor of three or more variables
    is in a forest as a whole or not at all.

    References
    ----------
    .. [1] M. J. Wainwright, T. S. Jaakkola and A. S. Willsky, A new class of upper bounds on the
       log partition function, IEEE Trans. Information Theory 51 (2005), sections III to V.

    Examples
    --------
    >>> import numpy as np
    >>> from credo import FactorGraph
    >>> from credo.graphs.evidence import Evidence
    >>> from credo.graphs.problems import pose
    >>> graph = FactorGraph()
    >>> for name in "abc":
    ...     _ = graph.variable(name, 2)
    >>> for pair in ("ab", "bc", "ca"):
    ...     _ = graph.factor(list(pair), [[2.0, 1.0], [1.0, 2.0]])
    >>> found = run_tree_reweighted(pose(graph.compile(), Evidence(())))
    >>> found.log_z_is, round(float(np.exp(found.log_z)), 2)  # the sum is 28
    ('UPPER_BOUND', 29.31)
    """
    one_of(forests, ("optimise", "uniform"), _WHO, "forests")
    positive_int(rounds, _WHO, "rounds", least=0)
    pace = as_pace(sweeps, tolerance, callback)
    positive_int(seed, _WHO, "seed", least=0)
    reduced = reduce(problem)
    if not reduced.is_possible:
        return impossible(reduced)
    return bound_above(reduced, pace, rounds if forests == "optimise" else 0, seed).answer()


@dataclass(frozen=True, slots=True, eq=False)
class Above:
    """A bound from above, and how it was found."""

    run: _Run
    found: Evaluation
    status: Status

    @property
    def marginals(self) -> F64:
        """Give the marginals of the reduced problem."""
        return self.found.marginals

    @property
    def rounding(self) -> float:
        """How far rounding may have moved the value."""
        return self.found.rounding

    @property
    def log_z(self) -> float:
        """The sum of one forest as computed; or the bound, raised by what rounding may take."""
        if self.status == "EXACT":
            return self.found.value
        return float(np.nextafter(self.found.value + self.found.rounding, np.inf))

    def answer(self) -> Answer:
        """Word the outcome for the door."""
        reduced, graph, found = self.run.dual.reduced, self.run.dual.graph, self.found
        scopes = reduced.problem.variables[reduced.kept[reduced.scope]]
        return Answer(
            beliefs=reduced.beliefs(found.marginals, self.log_z),
            status=self.status,
            log_z=self.log_z,
            log_z_is="EXACT" if self.status == "EXACT" else "UPPER_BOUND",
            residuals=np.array(self.run.residuals),
            updates=self.run.passer.updates,
            joints=joints_of(reduced, graph, found.marginals, found.beliefs),
            details={
                "rounding": found.rounding,
                "rho": found.mixture.rho,
                "scopes": np.split(scopes, reduced.scope_start[1:-1]),
                "weights": found.mixture.weights,
                "rounds": np.array(self.run.values),
            },
        )


def bound_above(reduced: Reduced, pace: Pace, rounds: int, seed: int) -> Above:
    """Do so for a reduced problem, in which something is possible as far as is known."""
    dual = Dual(reduced)
    run = _Run(dual, Passer(reduced, pace), pace.sweeps, pace.tolerance)
    start = covering_mixture(dual.graph, strengths(dual), np.random.default_rng(seed))
    if len(start.forests) == 1:
        found = dual.evaluate(start, np.zeros(dual.n_messages))
        return Above(run, found, "EXACT")
    found = run.fit(start, np.zeros(dual.n_messages), pace.sweeps)
    run.values.append(found.value)
    for _ in range(rounds):
        better = run.descend(found)
        if better is found:
            break
        found = better
        run.values.append(found.value)
    found = run.polish(found)
    return Above(run, found, "CONVERGED" if run.settled else "MAX_SWEEPS")


def rough_marginals(reduced: Reduced) -> F64:
    """Give marginals that need not be good, for a start: forests weighed alike, few sweeps."""
    return bound_above(reduced, as_pace(_FEW, 1e-3, None), 0, 0).marginals


def as_pace(sweeps: int, tolerance: float, callback: Callback | None) -> Pace:
    """Check the settings; sweeps of all runs are counted as one."""
    pace = Pace.of(_WHO, "adaptive", sweeps, tolerance, callback)
    if callback is None:
        return pace
    count = itertools.count(1)
    return replace(pace, callback=lambda _, residual: callback(next(count), residual))


def strengths(dual: Dual) -> F64:
    """Give the multi-information of each factor's table, taken as a distribution of its own."""
    graph, logs = dual.graph, dual.reduced.logs
    if not len(logs):
        return np.empty(0)
    cells = np.exp(logs)
    sums = np.add.reduceat(cells, graph.cell_start[:-1])
    alone = cells / np.repeat(sums, np.diff(graph.cell_start))
    from credo._kernels.tree_bounds import slot_sums  # noqa: PLC0415

    at_slot = np.zeros(dual.n_messages)
    slot_sums(graph, alone, at_slot)
    return dual.information(alone, at_slot)


def impossible(reduced: Reduced) -> Answer:
    """Say that nothing is possible, which arc consistency proves."""
    beliefs = reduced.beliefs(np.empty(0), -np.inf)
    return Answer(beliefs, "EXACT", -np.inf, "EXACT")
