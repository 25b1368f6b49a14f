"""Tree-reweighted belief propagation: an upper bound on log Z from spanning forests.

With a log message ``shift`` at each slot and the probability rho_f that a forest holds factor f,
every forest has the unary logs theta_i + sum_f rho_f shift_fi and, for each of its factors, the
logs theta_f / rho_f - sum_i shift_fi. Whatever the messages are, the weighted mean of these is
theta. So the weighted mean of the logs of the forests' sums is an upper bound, convex and smooth in
the messages.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import attrgetter
from typing import Any

import numpy as np
import scipy
from scipy.special import xlogy
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it has no stubs

from credo import _checks as check
from credo._kernels import forest as kernel
from credo._types import F64
from credo.graphs.problems import Problem
from credo.graphs.wiring import ranges, starts
from credo.inference.bounding.kernels import average_forests
from credo.inference.bounding.reduce import Int64, Reduced, fold, largest, reduce
from credo.inference.damping import Pace, drive
from credo.inference.loopy.messages import LogMessages
from credo.inference.loopy.net import Net, wire
from credo.inference.question import Answer, Callback, Status

_WHO = "tree-reweighted propagation"
EPS = float(np.finfo(np.float64).eps)
#: While weights change, and for steps of descent, a fifth of the sweeps has to do: weights need no
#: settled messages to improve, and a step costs about as much as five sweeps.
_PER_STEP = 5
#: Sweeps, and their tolerance, for marginals that only have to tell likely from unlikely.
_ROUGH = Pace(1.0, is_adaptive=True, sweeps=50, tolerance=1e-3)
#: Pairs of steps and changes of slope that L-BFGS remembers, as in most implementations.
_MEMORY = 10
_value = attrgetter("value")


@dataclass(frozen=True, eq=False)
class Mixture:
    """Forests with positive weights of sum one, such that each factor lies in some of them."""

    taken: Any  #: (forests, factors): whether a forest holds a factor
    weights: F64

    @property
    def rho(self) -> F64:
        """Of each factor: the weight of the forests that hold it."""
        return np.asarray((self.taken * self.weights[:, None]).sum(axis=0))

    def moved(self, forest: Any, step: float) -> Mixture:
        """Move a share of the weight to one forest, which may be among them already."""
        known = (self.taken == forest).all(axis=1)
        taken, weights = self.taken, (1.0 - step) * self.weights + step * known
        if not known.any():
            taken, weights = np.vstack([taken, forest]), np.append(weights, step)
        return Mixture(taken, weights / weights.sum())


@dataclass(frozen=True, slots=True, eq=False)
class DualPoint:
    """The bound at some messages, and the weighted means of the forests' marginals."""

    mixture: Mixture
    shift: F64  #: the messages, as logs, slot after slot
    value: float  #: the bound on log Z, as computed
    slope: F64  #: its derivative by the messages
    marginals: F64  #: over all forests, for each state
    beliefs: F64  #: over the forests that hold a factor, for each cell

    @property
    def residual(self) -> float:
        """How far the forests' marginals of one variable are apart, at most."""
        return float(np.abs(self.slope).max(initial=0.0))


class Slots:
    """Messages of a graph: a number for each state of each slot, slot after slot."""

    def __init__(self, graph: Any) -> None:
        sizes = np.diff(graph.start)[graph.scope]
        self.start = starts(sizes)
        #: the factor, and the place among all states, of each number
        self.factor = np.repeat(graph.factor, sizes)
        self.state = ranges(graph.start[graph.scope], sizes)
        slots = np.arange(len(graph.scope))
        #: the numbers that each cell meets, cell after cell
        self._met = cell_places(graph, slots, np.ones_like(slots), self.start[:-1])[1]
        self._arity = np.repeat(np.diff(graph.scope_start), np.diff(graph.cell_start))
        self._met_start = starts(self._arity)

    def meet(self, shift: F64) -> F64:
        """Return, for each cell, the sum of the numbers that it meets."""
        return fold(np.add, shift[self._met], self._met_start)

    def sum(self, beliefs: F64) -> F64:
        """Sum the belief of each factor over all but one of its variables, slot after slot."""
        found = np.bincount(self._met, np.repeat(beliefs, self._arity), len(self.state))
        return np.asarray(found, np.float64)


class Dual:
    """The bound of one reduced problem."""

    def __init__(self, reduced: Reduced) -> None:
        self.reduced, self.graph = reduced, reduced.graph
        self.slots = Slots(self.graph)
        self._arity = np.diff(self.graph.scope_start)
        self._cells = np.diff(self.graph.cell_start)
        self._last: Any = None, None

    def reparametrise(self, rho: F64, shift: F64) -> tuple[F64, F64]:
        """Return the unary logs and the tables that all forests share."""
        own, slots = self.reduced, self.slots
        spread = np.bincount(slots.state, rho[slots.factor] * shift, len(own.unary))
        return own.unary + spread, own.logs / np.repeat(rho, self._cells) - slots.meet(shift)

    def evaluate(self, mixture: Mixture, shift: F64) -> DualPoint:
        """Sum every forest, and average."""
        reduced, rho = self.reduced, mixture.rho
        forest, room, states = self._plant(mixture)
        given = self.reparametrise(rho, shift)
        marginals, cells = np.zeros(len(reduced.unary)), np.zeros((2, len(reduced.logs)))
        out = room, cells[0], marginals, cells[1]
        value = average_forests(self.graph, forest, *given, mixture.weights, states, *out)
        slope = rho[self.slots.factor] * marginals[self.slots.state] - self.slots.sum(cells[1])
        beliefs = cells[1] / np.repeat(rho, self._cells)
        return DualPoint(mixture, shift, value + reduced.constant, slope, marginals, beliefs)

    def certify(self, found: DualPoint) -> tuple[float, float]:
        """Return the bound, and how far rounding may have moved it at most.

        Derived in docs/explanation/bounds_numerics.md.
        """
        reduced, graph, mixture, rho = self.reduced, self.graph, found.mixture, found.mixture.rho
        forest, room, states = self._plant(mixture)
        unary, tables = self.reparametrise(rho, found.shift)
        sizes, degree = reduced.n_states, np.diff(graph.near_start)
        shifts, terms = largest(found.shift, self.slots.start), len(mixture.weights) + 3.0
        own = largest(reduced.logs, graph.cell_start)
        met = own + rho * np.bincount(graph.factor, shifts, len(rho))
        alone = largest(reduced.unary, graph.start)
        heard = alone + np.bincount(graph.scope, rho[graph.factor] * shifts, len(degree))
        wear = [*((terms + self._arity) * met), *((terms + degree) * heard), reduced.wear]
        logs, table = [], largest(tables, graph.cell_start)
        for t in range(len(forest.block) - 1):
            room.total[:] = unary
            given = tables, 1.0, states, graph.cell_start[:-1]
            logs.append(kernel.collect(graph, forest, t, *given, kernel.SUM, room))
            held = np.maximum(largest(unary, graph.start), largest(room.total, graph.start))
            size = table + np.bincount(graph.factor, held[graph.scope], len(rho))
            by_factor = (5.0 + self._arity) * size + 3.0 * self._cells + 4.0
            by_variable = (3.0 + degree) * held + 3.0 * sizes + 4.0
            whole = by_factor[mixture.taken[t]].sum() + by_variable.sum() + terms * abs(logs[-1])
            wear.append(mixture.weights[t] * whole)
        value = math.fsum([*(mixture.weights * logs), reduced.constant])
        return value, EPS * (math.fsum(wear) + 2.0 * abs(value))

    def information(self, beliefs: F64) -> F64:
        """Return the multi-information of each factor's belief: how far from independent it is."""
        at_slot = self.slots.sum(beliefs)
        joint = fold(np.add, xlogy(beliefs, beliefs), self.graph.cell_start)
        start = self.slots.start[self.graph.scope_start]
        return joint - fold(np.add, xlogy(at_slot, at_slot), start)

    @cached_property
    def strengths(self) -> F64:
        """The multi-information of each factor's table, taken as a distribution of its own."""
        cells = np.exp(self.reduced.logs)
        sums = fold(np.add, cells, self.graph.cell_start)
        return self.information(cells / np.repeat(sums, self._cells))

    def heaviest_forest(self, weights: F64) -> Any:
        """Return a forest of great weight that no other factor fits in, by Kruskal's algorithm.

        It is the heaviest one where all factors have two variables; ties go to the lower index.
        """
        return kernel.span(self.graph, np.argsort(-weights, kind="stable"))

    def covering_mixture(self, rng: np.random.Generator) -> Mixture:
        """Return forests that hold all factors between them, of equal weight.

        Each takes the factors first that the earlier ones hold least often, then the strongest.
        """
        uses, forests = np.zeros(len(self.strengths)), list[Any]()
        scale = 2.0 * max(float(np.abs(self.strengths).max(initial=0.0)), np.finfo(float).tiny)
        while len(forests) < 1 or not uses.all():
            chance = 1e-3 * rng.random(len(uses))  # breaks ties only
            forests.append(self.heaviest_forest(self.strengths / scale + chance - uses))
            uses += forests[-1]
        return Mixture(np.array(forests), np.full(len(forests), 1.0 / len(forests)))

    def _plant(self, mixture: Mixture) -> tuple[Any, Any, Int64]:
        """Root the forests; return them, room for one, and any state of each variable."""
        if self._last[0] is not mixture:
            block_of = np.zeros((len(mixture.weights), self.reduced.n), np.int64)
            forest = kernel.plant(self.graph, block_of, mixture.taken)
            self._last = mixture, (forest, kernel.make_scratch(self.graph, forest))
        return *self._last[1], np.zeros(self.reduced.n, np.int64)


def cell_places(graph: Any, part: Int64, stride: Int64, begin: Int64) -> tuple[Int64, Int64]:
    """Return where each cell of a factor lies in each of its parts, cell after cell.

    ``part`` and ``stride`` are those of each slot, ``begin`` is of each part; the parts of a factor
    come after those of the factors before. With that goes where the places of each factor start.
    """
    arity, cells = np.diff(graph.scope_start), np.diff(graph.cell_start)
    first = np.minimum.reduceat(part, graph.scope_start[:-1]) if len(arity) else arity
    counts = np.diff(np.append(first, len(begin)))
    start = starts(cells * counts)
    number = np.repeat(np.arange(len(arity)), cells)  # the factor of each cell, and
    cell = np.arange(len(number)) - graph.cell_start[number]  # its place there
    places = begin[ranges(first[number], counts[number])]
    at = start[number] + cell * counts[number]
    for a in range(int(arity.max(initial=0))):
        here = arity[number] > a
        slot = graph.scope_start[number[here]] + a
        size = np.diff(graph.start)[graph.scope[slot]]
        digit = cell[here] // graph.stride[slot] % size
        places[at[here] + part[slot] - first[number[here]]] += digit * stride[slot]
    return start, places


class _Descent:
    """One run: what is minimised, how, and what has been seen on the way."""

    def __init__(self, reduced: Reduced, pace: Pace) -> None:
        self.dual, self.pace = Dual(reduced), pace
        self.settled = False  #: whether the messages were at rest, last time
        self.updates = 0
        self.residuals: list[float] = []
        self.values: list[float] = []  #: the bound after each round

    @property
    def _few(self) -> int:
        """Steps, or sweeps, while weights change."""
        return max(1, self.pace.sweeps // _PER_STEP)

    def fit(self, mixture: Mixture, shift: F64, sweeps: int) -> DualPoint:
        """Pass messages for given weights of forests; return the bound there."""
        reduced, rho = self.dual.reduced, mixture.rho
        wires, _ = wire(reduced, reduced.logs, reduced.unary.copy(), rho)
        net = Net(reduced.problem, np.arange(len(rho)), wires, 0.0)
        messages = LogMessages(net, "sequential", in_logs=True)
        messages.start_from(shift)
        ending = drive(messages, replace(self.pace, sweeps=sweeps))
        self.updates += messages.updates
        self.residuals += ending.residuals.tolist()
        self.settled = ending.status == "CONVERGED"
        return self.dual.evaluate(mixture, messages.log_messages().copy())

    def polish(self, start: DualPoint) -> DualPoint:
        """Pass messages until they settle; else minimise the bound directly, by L-BFGS."""
        best = self.fit(start.mixture, start.shift, self.pace.sweeps)
        if self.settled:
            return best
        last = best = min(best, start, key=_value)

        def evaluate(shift: F64) -> tuple[float, F64]:
            nonlocal best, last
            last = self.dual.evaluate(start.mixture, shift.copy())
            self.residuals.append(last.residual)
            best = min(best, last, key=_value)
            return last.value, last.slope

        options = {"maxiter": self._few, "maxcor": _MEMORY, "gtol": self.pace.tolerance, "ftol": 0}
        with threadpool_limits(1, "blas"):  # sums of many threads depend on their number
            scipy.optimize.minimize(
                evaluate, best.shift, method="L-BFGS-B", jac=True, options=options
            )
        self.settled = last.residual <= self.pace.tolerance
        return last if self.settled else best  # at rest, others are lower by rounding only

    def descend(self, start: DualPoint) -> DualPoint:
        """Move weight to the forest of most information, as far as it helps.

        At the best messages the derivative of the bound by rho_f is minus the information of
        factor f. The step is one over the number of forests, corrected by a secant if too long.
        """
        known = self.dual.information(start.beliefs)
        forest = self.dual.heaviest_forest(known)
        towards = forest - start.mixture.rho
        slope = -float((towards * known).sum())
        if slope >= -self.pace.tolerance:
            return start
        step = 1.0 / (len(start.mixture.weights) + 1.0)
        there = self.fit(start.mixture.moved(forest, step), start.shift, self._few)
        tried = [start, there]
        end = -float((towards * self.dual.information(there.beliefs)).sum())
        if end > 0:
            step *= slope / (slope - end)
            tried.append(self.fit(start.mixture.moved(forest, step), there.shift, self._few))
        return min(tried, key=_value)


@dataclass(frozen=True, slots=True, eq=False)
class Above:
    """A bound from above, and how it was found."""

    run: _Descent
    found: DualPoint
    status: Status
    value: float  #: the bound, as computed
    rounding: float  #: how far rounding may have moved it

    @property
    def log_z(self) -> float:
        """The sum of one forest as computed; or the bound, raised by what rounding may take."""
        if self.status == "EXACT":
            return self.value
        return float(np.nextafter(self.value + self.rounding, np.inf))

    def answer(self) -> Answer:
        """Return the outcome as an Answer."""
        dual, found = self.run.dual, self.found
        reduced, graph = dual.reduced, dual.graph
        scopes = reduced.problem.variables[reduced.kept[graph.scope]]
        return Answer(
            beliefs=reduced.beliefs(found.marginals, self.log_z),
            status=self.status,
            log_z=self.log_z,
            log_z_is="EXACT" if self.status == "EXACT" else "UPPER_BOUND",
            residuals=np.array(self.run.residuals),
            updates=self.run.updates,
            joints=partial(read_joint, reduced, graph, found.marginals, found.beliefs, None),
            details={
                "rounding": self.rounding,
                "rho": found.mixture.rho,
                "scopes": np.split(scopes, graph.scope_start[1:-1]),
                "weights": found.mixture.weights,
                "rounds": np.array(self.run.values),
            },
        )


def bound_above(reduced: Reduced, pace: Pace, rounds: int, seed: int) -> Above:
    """Bound the sum of a reduced problem, in which something is possible as far as is known."""
    run = _Descent(reduced, pace)
    start = run.dual.covering_mixture(np.random.default_rng(seed))
    nothing = np.zeros(len(run.dual.slots.state))
    found = run.dual.evaluate(start, nothing)
    if len(start.weights) == 1:
        return Above(run, found, "EXACT", *run.dual.certify(found))
    # without messages the bound is at most what factors at their largest cells would give
    found = min(found, run.fit(start, nothing, pace.sweeps), key=_value)
    run.values.append(found.value)
    for _ in range(rounds):
        better = run.descend(found)
        if better is found:
            break
        found = better
        run.values.append(found.value)
    found = run.polish(found)
    status: Status = "CONVERGED" if run.settled else "MAX_SWEEPS"
    return Above(run, found, status, *run.dual.certify(found))


def rough_marginals(reduced: Reduced) -> F64:
    """Return marginals that need not be good, for a start: forests weighed alike, few sweeps."""
    return bound_above(reduced, _ROUGH, 0, 0).found.marginals


def make_pace(who: str, sweeps: Any, tolerance: Any, callback: Callback | None) -> Pace:
    """Check the settings; sweeps of all runs are counted as one."""
    pace = Pace.of(who, "adaptive", sweeps, tolerance, callback)
    if callback is None:
        return pace
    count = itertools.count(1)
    return replace(pace, callback=lambda _, residual: callback(next(count), residual))


def read_joint(
    reduced: Reduced, graph: Any, marginals: F64, cells: F64, block: Int64 | None, variables: Int64
) -> F64 | None:
    """Return the joint belief of variables of the wiring, from factors of ``graph`` that hold them.

    None where a variable is not free, or no factor holds all of a block. Variables of different
    blocks, if there are any, are independent.
    """
    problem = reduced.problem
    if not np.isin(variables, problem.variables).all():
        return None
    places = np.searchsorted(problem.variables, variables)
    wanted = np.searchsorted(reduced.kept, places[np.isin(places, reduced.kept)])
    block = np.zeros(len(reduced.kept), np.int64) if block is None else block
    tables: list[Any] = [np.ones(()), []]  # pairs of a table and its axes
    for own in np.unique(block[wanted]):
        group = wanted[block[wanted] == own]
        scope, table = group, marginals[graph.start[group[0]] : graph.start[group[0] + 1]]
        if len(group) > 1:
            held = np.bincount(graph.factor[np.isin(graph.scope, group)], minlength=1)
            f = int(held.argmax())
            if held[f] < len(group):
                return None
            scope = graph.scope[graph.scope_start[f] : graph.scope_start[f + 1]]
            sizes = reduced.n_states[scope]
            table = cells[graph.cell_start[f] : graph.cell_start[f + 1]].reshape(sizes)
            table = table.sum(axis=tuple(np.flatnonzero(~np.isin(scope, group)).tolist()))
            scope = scope[np.isin(scope, group)]
        tables += [table, [int(np.flatnonzero(wanted == v)[0]) for v in scope]]
    start = starts(problem.n_states)
    alive = [np.flatnonzero(reduced.alive[start[v] : start[v + 1]]) for v in places]
    whole = np.zeros(problem.n_states[places])
    found = np.einsum(*tables, list(range(len(wanted))))
    whole[np.ix_(*alive)] = found.reshape([len(states) for states in alive])
    return whole


def impossible(reduced: Reduced) -> Answer:
    """Say that nothing is possible, which arc consistency proves."""
    return Answer(reduced.beliefs(np.empty(0), -np.inf), "EXACT", -np.inf, "EXACT")


def run_tree_reweighted(  # noqa: PLR0913 - one parameter per setting
    problem: Problem,
    *,
    forests: str = "optimise",
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
    check.one_of(forests, ("optimise", "uniform"), f"forests of {_WHO}")
    check.count(rounds, f"rounds of {_WHO}", 0)
    pace = make_pace(_WHO, sweeps, tolerance, callback)
    reduced = reduce(problem)
    if not reduced.is_possible:
        return impossible(reduced)
    return bound_above(reduced, pace, rounds if forests == "optimise" else 0, seed).answer()
