"""Mean field and structured mean field: lower bounds on log Z from independent blocks.

Mean field is the case of blocks of one variable. Each block is a forest, within which sums are
exact; blocks in turn are set to the best, given the others, which never lowers the bound. The
ascent begins with states of which no factor between blocks has a zero cell.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import entr

from credo import _checks as check
from credo._kernels import forest as kernel
from credo._kernels.supports import shrink
from credo._types import F64
from credo.graphs.problems import Problem
from credo.graphs.wiring import ranges, starts
from credo.inference.bounding.kernels import Parts, average_logs, begin, sweep
from credo.inference.bounding.reduce import (
    Flags,
    Int64,
    Reduced,
    digits,
    fold,
    largest,
    named_blocks,
    reduce,
    states_of,
    tables_of,
)
from credo.inference.bounding.upper import (
    EPS,
    Dual,
    Slots,
    cell_places,
    impossible,
    make_pace,
    read_joint,
    rough_marginals,
)
from credo.inference.damping import Pace
from credo.inference.question import Answer, Callback

_BLOCKS = "structured mean field"
#: Random orders in which states are dropped, before giving up on a start without zero cells.
_ATTEMPTS = 20
#: Breaks ties at a start between states that look alike, and keeps unlikely states in play.
_LEAST = 1e-2


def run_mean_field(
    problem: Problem,
    *,
    sweeps: int = 1000,
    tolerance: float = 1e-8,
    restarts: int = 1,
    seed: int = 0,
    callback: Callback | None = None,
) -> Answer:
    r"""Bound log Z from below by a distribution of independent variables.

    .. math:: \log Z \ge \sum_f E_q \log \psi_f + \sum_i H(q_i), \qquad q(x) = \prod_i q_i(x_i)

    Each marginal in turn is set to the best, given the others, which never lowers the bound.

    Parameters
    ----------
    problem : Problem
        Factors over free variables.
    sweeps : int, default 1000
        Times at most that every variable is updated, from each start.
    tolerance : float, default 1e-8
        Largest change of a marginal in a sweep at which it stops.
    restarts : int, default 1
        Starts; the first is near tree-reweighted marginals, others are random. The best is kept.
    seed : int, default 0
        Seed of the starts.
    callback : callable, optional
        Called after each sweep with its number and its residual.

    Returns
    -------
    Answer
        ``log_z`` is a lower bound at any time, less an allowance for rounding. ``details`` has the
        ``bounds`` after each sweep and the allowance ``rounding``.

    Notes
    -----
    A sweep costs a few operations for each cell and variable of the factors. Zeros of the model
    need states that q leaves out; a start is found by dropping unlikely states until no zero cell
    is left. Where that fails the bound is minus infinity, which is true and useless.

    References
    ----------
    .. [1] T. S. Jaakkola, Tutorial on variational approximation methods, in *Advanced Mean Field
       Methods*, MIT Press, 2001, section 10.3.
    .. [2] M. J. Wainwright and M. I. Jordan, Graphical models, exponential families, and
       variational inference, Foundations and Trends in Machine Learning 1 (2008), section 5.3.

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
    >>> found = run_mean_field(pose(graph.compile(), Evidence(())))
    >>> found.log_z_is, round(float(np.exp(found.log_z)), 2)  # the sum is 28
    ('LOWER_BOUND', 22.63)
    """
    effort = Effort.of("mean field", sweeps, tolerance, restarts, seed, callback)
    reduced = reduce(problem)
    if not reduced.is_possible:
        return impossible(reduced)
    guide = rough_marginals(reduced)
    return _answer(reduced, ascend_alone(reduced, guide, effort), guide)


def run_structured_mean_field(  # noqa: PLR0913 - one parameter per setting
    problem: Problem,
    *,
    blocks: str | Sequence[Iterable[Hashable]] = "forest",
    sweeps: int = 1000,
    tolerance: float = 1e-8,
    restarts: int = 3,
    seed: int = 0,
    callback: Callback | None = None,
) -> Answer:
    r"""Bound log Z from below by a distribution of independent blocks.

    .. math:: \log Z \ge \sum_f E_q \log \psi_f + \sum_B H(q_B), \qquad q(x) = \prod_B q_B(x_B)

    Each block is a forest, within which sums are exact. Blocks in turn are set to the best, given
    the others, which never lowers the bound.

    Parameters
    ----------
    problem : Problem
        Factors over free variables.
    blocks : "forest" or list of lists of names
        "forest" looks for few blocks that hold the strongest factors whole. Given blocks must have
        no cycle of factors; variables in none of them are blocks of their own.
    sweeps : int, default 1000
        Times at most that every block is updated, from each start.
    tolerance : float, default 1e-8
        Largest change of a marginal in a sweep at which it stops.
    restarts : int, default 3
        Ways to choose blocks, and starts; the best is kept. The first also starts from mean field,
        so that the bound is at least as high.
    seed : int, default 0
        Seed of the starts.
    callback : callable, optional
        Called after each sweep with its number and its residual.

    Returns
    -------
    Answer
        ``log_z`` is a lower bound at any time, less an allowance for rounding; exact where one
        forest holds all factors. ``details`` has the ``bounds`` after each sweep, the allowance
        ``rounding``, and the ``blocks`` as lists of variables of the wiring.

    Raises
    ------
    InputError
        If given blocks share a variable, or have a cycle of factors.

    Notes
    -----
    A sweep costs a few operations for each cell and variable of the factors. A factor in two blocks
    acts on each by its logs, averaged over the other.

    References
    ----------
    .. [1] L. K. Saul and M. I. Jordan, Exploiting tractable substructures in intractable networks,
       NIPS 8 (1996), section 3.
    .. [2] M. J. Wainwright and M. I. Jordan, Graphical models, exponential families, and
       variational inference, Foundations and Trends in Machine Learning 1 (2008), section 5.5.

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
    >>> found = run_structured_mean_field(pose(graph.compile(), Evidence(())))
    >>> found.log_z_is, round(float(np.exp(found.log_z)), 2)  # the sum is 28
    ('LOWER_BOUND', 24.0)
    """
    effort = Effort.of(_BLOCKS, sweeps, tolerance, restarts, seed, callback)
    reduced = reduce(problem)
    if not reduced.is_possible:
        return impossible(reduced)
    is_free = isinstance(blocks, str) and blocks == "forest"
    given = None if is_free else named_blocks(reduced, blocks, _BLOCKS, "forest")
    guide = rough_marginals(reduced)
    start = ascend_alone(reduced, guide, replace(effort, restarts=1))
    found = ascend_blocks(reduced, guide, effort, start, given)
    answer = _answer(reduced, found, guide)
    if found is None:
        return answer
    members = np.argsort(found.blocking.block, kind="stable")
    sizes = np.bincount(found.blocking.block)
    listed = np.split(problem.variables[reduced.kept[members]], np.cumsum(sizes)[:-1])
    return replace(answer, details={**answer.details, "blocks": listed})


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to climb, and from how many starts."""

    pace: Pace
    restarts: int
    seed: int

    @classmethod
    def of(
        cls,
        who: str,
        sweeps: Any,
        tolerance: Any,
        restarts: Any,
        seed: int,
        callback: Callback | None,
    ) -> Effort:
        """Check the settings of an ascent."""
        pace = make_pace(who, sweeps, tolerance, callback)
        return cls(pace, check.count(restarts, f"restarts of {who}"), seed)


# --- blocks ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Blocking:
    """A reduced problem cut into blocks, as the kernels of mean field read it."""

    reduced: Reduced
    block: Int64  #: of each variable
    parts: Parts
    graph: Any  #: of the forests: its factors are the parts of two or more variables
    forest: Any
    crossing: Int64  #: the factors that lie in more than one block
    tables: F64  #: the logs of the parts that are whole factors; zero for others


def _forest_blocks(reduced: Reduced, strengths: F64) -> Int64:
    """Put variables in few blocks, each a forest, that hold the strongest factors whole."""
    graph, n = reduced.graph, reduced.n
    strong = kernel.span(graph, np.argsort(-strengths, kind="stable"))
    order = kernel.plant(graph, np.zeros(n, np.int64), strong).member
    return np.asarray(kernel.grow(graph, order, strengths, n))


def _cut(reduced: Reduced, block: Int64) -> Blocking:
    """Cut a problem into blocks."""
    graph, n_states, its_block = reduced.graph, len(reduced.unary), block[reduced.graph.scope]
    order = np.lexsort((its_block, graph.factor))
    keys = np.stack([graph.factor, its_block])[:, order]
    first = np.flatnonzero(np.append(True, (np.diff(keys) != 0).any(axis=0))[: len(order)])
    edges = np.append(first, len(order))
    size = np.diff(edges)
    part = np.empty(len(order), np.int64)
    part[order] = np.repeat(np.arange(len(first)), size)
    several, factor = size > 1, keys[0, first]
    inside = order[np.repeat(several, size)]
    cells = fold(np.multiply, reduced.n_states[graph.scope[order]], edges)
    table_start = starts(np.where(several, cells, 0))
    own = kernel.make_graph(
        reduced.n_states, starts(size[several]), graph.scope[inside], starts(cells[several])
    )
    stride = np.ones(len(order), np.int64)
    stride[inside] = own.stride
    alone = graph.start[graph.scope[order[first]]]
    places = np.where(several, n_states + table_start[:-1], alone)
    count = np.bincount(factor, minlength=len(graph.scope_start) - 1)
    whole = np.flatnonzero(several & (count[factor] == 1))
    tables = np.zeros(int(table_start[-1]))
    to, source = table_start[whole], graph.cell_start[factor[whole]]
    tables[ranges(to, cells[whole])] = reduced.logs[ranges(source, cells[whole])]
    n_blocks = int(block.max(initial=-1)) + 1
    parts = Parts(
        graph.cell_start,
        reduced.logs,
        starts(count),
        *cell_places(graph, part, stride, places),
        starts(np.bincount(keys[1, first], minlength=n_blocks)),
        np.argsort(keys[1, first], kind="stable"),
        factor,
        table_start,
    )
    forest = kernel.plant(own, block)
    return Blocking(reduced, block, parts, own, forest, np.flatnonzero(count > 1), tables)


# --- ascent ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Ascent:
    """Where an ascent has ended."""

    blocking: Blocking
    value: float  #: the lower bound, as computed
    rounding: float  #: how far rounding may have moved it
    marginals: F64
    cells: F64  #: the beliefs of the parts of two or more variables
    bounds: F64  #: the value after each sweep
    residuals: F64
    settled: bool

    @property
    def log_z(self) -> float:
        """The lower bound, lowered by what rounding may have added."""
        return float(np.nextafter(self.value - self.rounding, -np.inf))


def ascend_alone(reduced: Reduced, guide: F64, effort: Effort) -> Ascent | None:
    """Climb with every variable in a block of its own."""
    blocking = _cut(reduced, np.arange(reduced.n))
    rng = np.random.default_rng(effort.seed)
    return _best(_ascend_from_boxes(blocking, guide, effort, rng))


def ascend_blocks(
    reduced: Reduced, guide: F64, effort: Effort, start: Ascent | None, given: Int64 | None = None
) -> Ascent | None:
    """Climb with several ways to choose blocks, and from an ascent with independent variables."""
    rng = np.random.default_rng(effort.seed)
    strong = Dual(reduced).strengths
    found: list[Ascent | None] = []
    for turn in range(effort.restarts):
        noise = np.exp(rng.standard_normal(len(strong))) if turn else 1.0
        block = _forest_blocks(reduced, strong * noise) if given is None else given
        blocking = _cut(reduced, block)
        if start is not None and not turn:
            with np.errstate(divide="ignore"):
                logs = np.log(start.marginals)
            found.append(_ascend(blocking, logs, np.zeros(len(blocking.tables)), effort.pace))
        found += _ascend_from_boxes(blocking, guide, replace(effort, restarts=1), rng)
        if not len(blocking.crossing):
            break  # exact
    return _best(found)


def _best(found: list[Ascent | None]) -> Ascent | None:
    """Return the highest, the first of equals."""
    ended = (ascent for ascent in found if ascent is not None)
    return max(ended, key=lambda ascent: ascent.value, default=None)


def _ascend_from_boxes(
    blocking: Blocking, guide: F64, effort: Effort, rng: np.random.Generator
) -> list[Ascent | None]:
    """Climb from several starts.

    The first is near ``guide``, marginals that tell likely states; the others are random.
    """
    found = []
    for start in range(effort.restarts):
        noise = rng.standard_normal(len(guide))
        states = _box(blocking, guide * np.exp(noise) if start else guide, rng)
        if states is None:
            continue
        with np.errstate(divide="ignore"):
            logs = 2.0 * noise if start else np.log(guide + _LEAST) + _LEAST * noise
            logs = logs + np.log(states)
        found.append(_ascend(blocking, logs, blocking.tables, effort.pace))
    return found


def _box(blocking: Blocking, score: F64, rng: np.random.Generator) -> Flags | None:
    """Return states of all variables such that no factor between blocks has a zero cell; or None.

    States of least score go first; after a failure scores are multiplied by random numbers.
    """
    own = blocking.reduced
    tables = tables_of(own.n_states, own.scope_start, own.scope, own.cell_start, own.logs)
    for attempt in range(_ATTEMPTS):
        alive = np.ones(len(score), np.uint8)
        noise = np.exp(rng.standard_normal(len(score))) if attempt else 1.0
        room = states_of(tables, alive)
        if shrink(tables, room, blocking.crossing, score * noise, digits(tables)):
            return alive
    return None


def _ascend(blocking: Blocking, unary: F64, tables: F64, pace: Pace) -> Ascent | None:
    """Sweep from given logs until no marginal changes by more than the tolerance."""
    graph, forest, own = blocking.graph, blocking.forest, blocking.reduced.unary
    room, cells = kernel.make_scratch(graph, forest), np.zeros(len(tables))
    states, before = np.zeros(len(blocking.block), np.int64), np.empty(len(own))
    given = tables.copy(), states, room, cells
    begin(graph, forest, unary, *given)
    values, residuals = [], []
    for number in range(1, pace.sweeps + 1):
        residuals.append(float(sweep(blocking.parts, graph, forest, own, *given, before)))
        if residuals[-1] < 0:
            return None
        values.append(float(np.sum(_terms(blocking, room.belief, cells))))
        if pace.callback is not None:
            pace.callback(number, residuals[-1])
        if residuals[-1] <= pace.tolerance:
            break
    value, rounding = _certify(blocking, room.belief, cells)
    found = value, rounding, room.belief, cells, np.array(values), np.array(residuals)
    return Ascent(blocking, *found, residuals[-1] <= pace.tolerance)


def _terms(blocking: Blocking, marginals: F64, cells: F64) -> F64:
    """Return what adds up to the bound: average logs of all factors, and entropies.

    The entropy of a forest is that of its factors, less that of each variable once for every factor
    that holds it but the first.
    """
    reduced, graph = blocking.reduced, blocking.graph
    logs = np.empty(len(blocking.parts.part_start) - 1)
    average_logs(blocking.parts, marginals, cells, logs)
    by_state = np.repeat(1.0 - np.diff(graph.near_start), reduced.n_states) * entr(marginals)
    alone = marginals * reduced.unary + by_state
    return np.concatenate([logs, alone, entr(cells), [reduced.constant]])


def _certify(blocking: Blocking, marginals: F64, cells: F64) -> tuple[float, float]:
    """Return the bound, and how far rounding may have moved it at most.

    Derived in docs/explanation/bounds_numerics.md.
    """
    reduced, graph, parts, block = blocking.reduced, blocking.graph, blocking.parts, blocking.block
    sizes, inside = reduced.n_states, np.diff(graph.cell_start)
    slots, n_blocks = Slots(graph), len(parts.piece_start) - 1
    gaps = fold(np.add, np.abs(slots.sum(cells) - marginals[slots.state]), slots.start)
    gaps += EPS * (inside[graph.factor] + sizes[graph.scope] + 4.0)
    off = np.abs(fold(np.add, marginals, graph.start) - 1.0) + EPS * (sizes + 4.0)
    eta = np.bincount(block, off, n_blocks) + np.bincount(block[graph.scope], gaps, n_blocks)
    of_part = np.empty(len(parts.factor))
    of_part[parts.piece] = np.repeat(eta, np.diff(parts.piece_start))
    of_factor = np.bincount(parts.factor, of_part, len(parts.part_start) - 1)
    cell_counts = np.diff(parts.cell_start) + np.diff(parts.part_start) + 4.0
    worn = [
        *largest(reduced.logs, parts.cell_start) * (2.0 * of_factor + EPS * cell_counts),
        *largest(reduced.unary, graph.start) * (eta[block] + EPS * (sizes + 4.0)),
        *_entropy_error(eta[block[graph.scope[graph.scope_start[:-1]]]], inside),
        *np.abs(1.0 - np.diff(graph.near_start)) * _entropy_error(eta[block], sizes),
    ]
    value = math.fsum(_terms(blocking, marginals, cells))
    return value, math.fsum(worn) + EPS * (reduced.wear + 2.0 * abs(value))


def _entropy_error(eta: Any, count: Int64) -> Any:
    """Bound how far an entropy may move if the probabilities of so many states do by eta in all."""
    return eta * np.log(count / eta) + EPS * (count + 4.0) * np.log(count)


def _answer(reduced: Reduced, found: Ascent | None, guide: F64) -> Answer:
    """Return the outcome as an Answer.

    Without a start that has no zero cells the bound is minus infinity: it is given as a function,
    so that it is not taken for a proof that nothing is possible.
    """
    if found is None:
        beliefs = reduced.beliefs(guide, None)
        return Answer(beliefs, "MAX_SWEEPS", math.nan, "LOWER_BOUND", find_log_z=lambda: -math.inf)
    blocking = found.blocking
    exact = not len(blocking.crossing)
    log_z = found.value if exact else found.log_z
    held = reduced, blocking.graph, found.marginals, found.cells, blocking.block
    return Answer(
        beliefs=reduced.beliefs(found.marginals, log_z),
        status="EXACT" if exact else "CONVERGED" if found.settled else "MAX_SWEEPS",
        log_z=log_z,
        log_z_is="EXACT" if exact else "LOWER_BOUND",
        residuals=found.residuals,
        updates=len(found.residuals) * (len(blocking.parts.piece_start) - 1),
        joints=partial(read_joint, *held),
        details={"bounds": found.bounds, "rounding": found.rounding},
    )
