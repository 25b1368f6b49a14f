"""Generalised belief propagation: messages between regions, in one loop or in a convergent two."""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from credo._types import F64
from credo.graphs.problems import Problem
from credo.graphs.wiring import Int64, ranges, starts
from credo.inference.damping import Ending, Pace, drive
from credo.inference.question import Answer, Beliefs, Callback
from credo.inference.regions import kernels
from credo.inference.regions.choose import (
    Choice,
    Regions,
    choose_regions,
    count_cells,
    find_homes,
    live_scopes,
    rows,
    sizes,
)

#: Relaxations that are tried one after the other, then momenta.
RELAXATIONS = (0.0, 0.5, 1.0, 1.5)
LEAST_MOMENTUM = 1 / 16
#: Sweeps in which the residual has to fall, for relaxations below one and from one on, to this
#: share of the least one before. Measured: a smaller momentum seldom helps then, and residuals rest
#: while borders of ordered parts move.
PATIENCE = (20, 100)
SHARE = 0.9
#: An inner loop ends when its beliefs disagree by this share of what the last loop has gained, in
#: nats, and of a ten-thousandth at most. Measured: two sweeps per loop; a smaller share costs more
#: sweeps and saves no loops.
INNER_SHARE = 0.1
MOST_LEFT = 1e-4


def run_generalised(
    problem: Problem,
    *,
    regions: Regions = "auto",
    sweeps: int = 1000,
    tolerance: float = 1e-8,
    momentum: float | str = "adaptive",
    callback: Callback | None = None,
) -> Answer:
    r"""Pass two-way messages between regions and their intersections.

    The beliefs are a stationary point of the Kikuchi free energy

    .. math:: F = \sum_\alpha \sum_{x_\alpha} Q_\alpha \log \frac{Q_\alpha}{\psi_\alpha}
              + \sum_\beta c_\beta \sum_{x_\beta} Q_\beta \log Q_\beta

    among beliefs that agree, :math:`\sum_{x_\alpha \setminus x_\beta} Q_\alpha = Q_\beta`, for
    outer regions :math:`\alpha`, their intersections :math:`\beta` and counting numbers
    :math:`c_\beta = 1 - \sum_{\gamma \supset \beta} c_\gamma`; :math:`\log Z \approx -F`.

    Parameters
    ----------
    problem : Problem
        The factors, with the evidence in them.
    regions : {"auto", "bethe", "plaquettes", "cliques"} or list of lists of names
        The outer regions; scopes of factors inside none of them are added. ``"bethe"`` is ordinary
        belief propagation. ``"plaquettes"`` takes triangles and cycles of four without a chord,
        as many as are independent. ``"auto"`` takes these where they are small, or scopes.
    sweeps : int
        Visits of each inner region at most.
    tolerance : float
        Largest difference between a marginal of an outer belief and the inner one.
    momentum : float or "adaptive"
        Weight of the new log message, in (0, 1]. ``"adaptive"`` starts at one. When the residual
        stops falling, negative counting numbers are relaxed more, and then the weight is halved. A
        junction tree needs neither.
    callback : callable or None
        Called after each sweep with its number and its residual.

    Returns
    -------
    Answer
        ``EXACT`` if the regions have a junction tree: two sweeps along it are enough.

    Raises
    ------
    InputError
        If an option is wrong, or regions are too large or too many.

    See Also
    --------
    run_double_loop : Slower, and sure to converge.

    Notes
    -----
    A sweep costs two visits to each cell of an outer region per inner region that it holds.
    Inner regions that lie in others are taken carefully from the start: a part of their negative
    counting numbers is taken at the last belief. That has the same fixed points, and avoids
    maxima of the free energy. ``details`` tells the final ``momentum`` and ``relaxation``, and
    ``counting_total``, the sum of all counting numbers: above the number of parts that hang
    together, loops are counted twice.

    References
    ----------
    .. [1] T. Heskes, K. Albers and B. Kappen, "Approximate inference and constrained
       optimization", UAI 2003, algorithm 1.
    .. [2] J. Yedidia, W. Freeman and Y. Weiss, "Constructing free-energy approximations and
       generalized belief propagation algorithms", IEEE Trans. Inf. Theory 51, 2005, section VI.

    Examples
    --------
    A square of four, with one region: exact.

    >>> import credo
    >>> from credo.graphs.problems import pose
    >>> from credo.inference.question import ask
    >>> graph = credo.FactorGraph()
    >>> names = [graph.variable(name, 2).name for name in "abcd"]
    >>> for pair in ("ab", "bc", "cd", "da"):
    ...     _ = graph.factor(list(pair), [[2.0, 1.0], [1.0, 2.0]])
    >>> question = ask(graph, None, None, None, "1GB", "example")
    >>> found = run_generalised(pose(question.wiring, question.evidence))
    >>> found.status, round(float(np.exp(found.log_z)), 9), found.details["regions"]
    ('EXACT', 82.0, 1)
    """
    who = "generalised belief propagation"
    pace = Pace.of(who, momentum, sweeps, tolerance, callback)
    return _run(problem, choose_regions(problem, regions, who), pace, convex=False)


def run_double_loop(
    problem: Problem,
    *,
    regions: Regions = "auto",
    sweeps: int = 10_000,
    tolerance: float = 1e-8,
    callback: Callback | None = None,
) -> Answer:
    r"""Minimise the Kikuchi free energy by a sequence of convex bounds.

    Entropies that are counted negatively are replaced by their tangents at the last beliefs,

    .. math:: c_\beta \sum Q_\beta \log Q_\beta \le c_\beta \sum Q_\beta \log Q_\beta^{old}
              \qquad (c_\beta < 0),

    and two-way messages minimise what is left, which is convex.

    Parameters
    ----------
    problem : Problem
        The factors, with the evidence in them.
    regions : {"auto", "bethe", "plaquettes", "cliques"} or list of lists of names
        The outer regions, as for ``run_generalised``.
    sweeps : int
        Visits of each inner region at most, in all inner loops together.
    tolerance : float
        Largest difference between beliefs that should agree, and between inner beliefs before and
        after the last bound.
    callback : callable or None
        Called after each sweep with its number and its residual.

    Returns
    -------
    Answer
        ``details["free_energies"]`` holds the free energy after each bound.

    Raises
    ------
    InputError
        If an option is wrong, or regions are too large or too many.

    See Also
    --------
    run_generalised : Usually several times faster.

    Notes
    -----
    The free energy never rises, but for what an inner loop leaves unsolved: 1e-4 nats were seen
    with frustrated couplings of 2 and Bethe regions, 1e-12 elsewhere. A bound takes two sweeps or
    so. A junction tree needs no bounds.

    References
    ----------
    .. [1] T. Heskes, K. Albers and B. Kappen, "Approximate inference and constrained
       optimization", UAI 2003, sections 3 and 4.

    Examples
    --------
    >>> import credo
    >>> from credo.graphs.problems import pose
    >>> from credo.inference.question import ask
    >>> graph = credo.FactorGraph()
    >>> names = [graph.variable(name, 2).name for name in "abcde"]
    >>> for pair in ("ab", "bc", "cd", "de", "ea"):
    ...     _ = graph.factor(list(pair), [[1.0, 4.0], [4.0, 1.0]])
    >>> question = ask(graph, None, None, None, "1GB", "example")
    >>> found = run_double_loop(pose(question.wiring, question.evidence), regions="bethe")
    >>> found.status, found.log_z_is
    ('CONVERGED', 'ESTIMATE')
    """
    who = "the double loop"
    pace = Pace.of(who, 1.0, sweeps, tolerance, callback)
    return _run(problem, choose_regions(problem, regions, who), pace, convex=True)


def _run(problem: Problem, choice: Choice, pace: Pace, *, convex: bool) -> Answer:
    """Pass messages until beliefs agree; read beliefs and the free energy.

    On a junction tree, whose leaves come first, one sweep to the root and one back are exact.
    """
    messages = RegionMessages(problem, choice, pace, convex=convex)
    ending = Ending("CONVERGED", np.empty(0), is_impossible=True)
    if not messages.is_impossible:
        if choice.is_forest or pace.is_adaptive:  # caution is the messages' own
            pace = pace.fixed(min(pace.sweeps, 2) if choice.is_forest else pace.sweeps)
        ending = drive(messages, pace)
    if ending.is_impossible:
        beliefs = Beliefs(problem.variables, starts(problem.n_states), np.empty(0), -np.inf)
        return Answer(beliefs, "EXACT", -np.inf, "EXACT", ending.residuals)
    energy = messages.free_energy()
    log_z = messages.log_constant - energy
    is_exact = choice.is_forest and len(ending.residuals) == 2
    course: dict[str, Any] = {"free_energies": np.array(messages.energies)}
    if not convex:
        course = {"momentum": ending.eta * messages.momentum, "relaxation": messages.relaxation}
    return Answer(
        messages.marginals(log_z if problem.is_complete else None),
        "EXACT" if is_exact else ending.status,
        log_z,
        "EXACT" if is_exact else "ESTIMATE",
        ending.residuals,
        updates=2 * choice.links.nnz * len(ending.residuals),
        period=ending.period,
        joints=partial(_joint, messages),
        details={
            "kind": choice.kind,
            "regions": choice.outer.shape[0],
            "inner": choice.inner.shape[0],
            "counting": choice.counting,
            "counting_total": choice.total,
            "free_energy": energy,
            **course,
        },
    )


class RegionMessages:
    """Log messages and log beliefs of regions, which sweeps change in place.

    The single loop divides by relaxed counting numbers c + relaxation (max(c, 0) - c): the rest of
    a negative number is taken at the last belief. At relaxation one, inner regions are counted as
    in the convex bound of the double loop. Measured on grids and on random, complete and bipartite
    graphs of couplings from 0.3 to 2: nested inner regions need one, and 1.5 if some are counted
    below -1, or beliefs end at maxima of the free energy, or circle. Single variables converge with
    less.

    The double loop takes negative counting numbers at the beliefs before an inner loop, which then
    has a convex problem and converges by ascending its dual. The free energy after an inner loop
    never rises by more than that has left to gain. A junction tree, where the free energy itself
    is convex, needs no bounds.
    """

    def __init__(self, problem: Problem, choice: Choice, pace: Pace, *, convex: bool) -> None:
        self.choice, self.problem = choice, problem
        self.held = choice.outer.T.tocsr()  #: the outer regions of each variable
        self.layout, self._factors, constant = _lay_out(problem, choice)
        self.log_constant = problem.log_constant + constant
        self.outer, self._shares = np.empty_like(self._factors), np.empty_like(self._factors)
        cells = np.diff(self.layout.inner_cells)
        self.inner: F64 = np.repeat(-np.log(cells), cells)
        self.message: F64 = np.zeros(int(self.layout.message_start[-1]))
        self.is_impossible = constant == -np.inf or self._rebuild() == -np.inf
        self._counting = choice.counting.astype(float)
        self._repeats = sizes(choice.links).astype(float)
        self._widest = int((cells * self._repeats).max(initial=0))
        self.rounding = float(np.finfo(float).eps * np.diff(self.layout.cells).max(initial=1))
        self._tolerance = pace.tolerance
        self._is_convex = convex and not choice.is_forest
        self._can_grow = pace.is_adaptive and not choice.is_forest
        self.momentum, self.relaxation = 1.0, 1.0 if self._is_convex else _first_relaxation(choice)
        self._since: list[float] = []  # residuals since the rule of motion has changed
        self._sweeps = 0
        self.energies: list[float] = []
        self._allowed = INNER_SHARE * MOST_LEFT
        self._reference = self.inner.copy() if self._is_convex else self.inner

    def sweep(self, eta: float) -> float:
        """Visit all inner regions, to and fro; return the largest gap between two beliefs."""
        relaxed = self.relaxation * (np.maximum(self._counting, 0.0) - self._counting)
        extra = np.maximum(relaxed, 1.0 - self._repeats - self._counting)  # no divisor below one
        divisor = self._counting + extra + self._repeats
        pace = extra, divisor, eta * self.momentum, self._sweeps % 2 == 1, self._widest
        tables = self._shares, self.outer, self.inner, self.message
        residual, divergence = kernels.sweep(*tables, self.layout, self._reference, *pace)
        self._sweeps += 1
        if self._is_convex and residual < np.inf:
            gap = float(np.abs(np.exp(self.inner) - np.exp(self._reference)).max(initial=0.0))
            if divergence <= self._allowed or residual <= INNER_SHARE * self._tolerance:
                self._tighten()
            return max(gap, residual)
        self._since.append(residual)
        if self._can_grow and self._is_stalled():
            self._grow()
        return float(residual)

    def beliefs(self) -> F64:
        """Return the beliefs of inner regions."""
        return np.exp(self.inner)

    def snapshot(self) -> F64:
        """Return the direction of the next sweep and all beliefs, to find circles by.

        Whoever gets more careful after a while is not back where he was, and neither is a free
        energy that falls: then the number of sweeps takes the place of the direction.
        """
        is_new = self._can_grow or self._is_convex
        return np.append(self._sweeps if is_new else self._sweeps % 2, self.beliefs())

    def _tighten(self) -> None:
        """Begin an inner loop with a bound that is tight at the present beliefs."""
        self.energies.append(self.free_energy())
        self._reference = self.inner.copy()
        if len(self.energies) > 1:
            gained = abs(self.energies[-1] - self.energies[-2])
            self._allowed = INNER_SHARE * min(MOST_LEFT, gained)

    def _is_stalled(self) -> bool:
        """Tell whether the residual has not fallen for as long as patience lasts."""
        window = PATIENCE[self.relaxation >= 1.0]
        before = self._since[:-window]
        return bool(before) and min(self._since[-window:]) > SHARE * min(before)

    def _grow(self) -> None:
        """Relax the updates more, or lower the share of the new messages."""
        self._since = []
        if self.relaxation < RELAXATIONS[-1]:
            self.relaxation = next(r for r in RELAXATIONS if r > self.relaxation)
        else:
            self.momentum /= 2
            self._can_grow = self.momentum > LEAST_MOMENTUM

    def _rebuild(self) -> float:
        """Make the outer beliefs from factors and messages afresh; return the log of their sums."""
        self.outer[:] = self._factors
        return float(kernels.rebuild(self._shares, self.outer, self.message, self.layout))

    def free_energy(self) -> float:
        """Return the Kikuchi free energy, right to second order in what beliefs disagree by.

        It is that of the Lagrangian: the terms of the messages vanish where beliefs agree.
        """
        inner = kernels.inner_energy(self.inner, self.message, self.layout, self._counting)
        return float(inner) - self._rebuild()

    def marginals(self, log_z: float | None) -> Beliefs:
        """Read the beliefs of single variables from the smallest regions that hold them."""
        choice, layout, n_states = self.choice, self.layout, self.problem.n_states
        regions = vstack([choice.inner, choice.outer], format="csr")
        cells = np.append(layout.inner_cells[:-1], layout.inner_cells[-1] + layout.cells)
        order = np.lexsort((np.diff(cells)[rows(regions)], regions.indices))
        variables, first = np.unique(regions.indices[order], return_index=True)
        home, step = np.full(len(n_states), -1), np.ones(len(n_states), np.int64)
        home[variables] = rows(regions)[order[first]]
        step[variables] = _steps(regions.indptr, regions.indices, n_states)[order[first]]
        start = starts(n_states)
        values = np.ones(int(start[-1]))
        tables = np.concatenate([self.inner, self.outer])
        kernels.read_marginals(n_states, home, step, tables, cells, start, values)
        return Beliefs(self.problem.variables, start, values, log_z)


def _first_relaxation(choice: Choice) -> float:
    """Start carefully where there are loops and inner regions lie inside others."""
    if choice.is_forest or sizes(choice.inner).max(initial=1) == 1:
        return 0.0
    return 1.0 if choice.counting.min() >= -1 else 1.5


def _joint(messages: RegionMessages, variables: Int64) -> F64 | None:
    """Return the joint belief of free variables of the wiring, one axis each in their order.

    None if no outer region holds them.
    """
    problem, outer, cells = messages.problem, messages.choice.outer, messages.layout.cells
    asked = np.searchsorted(problem.variables, variables)
    live = asked[problem.n_states[asked] > 1]
    belief = np.ones(())
    if len(live):
        common = np.flatnonzero(messages.held[live].sum(axis=0) == len(live))
        if not len(common):
            return None
        region = common[np.argmin(np.diff(cells)[common])]
        members = outer.indices[slice(*outer.indptr[region : region + 2])]
        table = np.exp(messages.outer[slice(*cells[region : region + 2])])
        axes = np.searchsorted(members, live)
        others = tuple(np.setdiff1d(np.arange(len(members)), axes).tolist())
        kept = table.reshape(problem.n_states[members]).sum(axis=others)
        belief = kept.transpose(np.argsort(np.argsort(axes)))
    return np.asarray((belief / belief.sum()).reshape(problem.n_states[asked]))


# --- tables ---------------------------------------------------------------------------------------


def _lay_out(problem: Problem, choice: Choice) -> tuple[kernels.RegionLayout, F64, float]:
    """Lay out tables and messages; multiply every factor into one outer region.

    Returns also the log tables, and the log of the factors that are constants.
    """
    n_states, outer, inner, links = problem.n_states, choice.outer, choice.inner, choice.links
    cells = starts(count_cells(outer, n_states))
    inner_cells = starts(count_cells(inner, n_states))
    link = links.indices.astype(np.int64)
    held = ranges(inner.indptr[rows(links)], sizes(inner)[rows(links)])
    item = np.repeat(np.arange(links.nnz), sizes(inner)[rows(links)])
    steps = _steps(inner.indptr, inner.indices, n_states)[held]
    entries = (item, inner.indices[held], steps)
    layout = kernels.RegionLayout(
        cells,
        inner_cells,
        links.indptr.astype(np.int64),
        link,
        starts(np.diff(inner_cells)[rows(links)]),
        *_make_maps(n_states, outer, link, entries),
    )
    home = find_homes(live_scopes(problem), outer)
    factor, number = np.flatnonzero(home >= 0), np.cumsum(home >= 0) - 1
    live = n_states[problem.scope] > 1
    item = np.repeat(number, np.diff(problem.scope_start))
    steps = _steps(problem.scope_start, problem.scope, n_states)
    where = _make_maps(
        n_states, outer, home[factor], (item[live], problem.scope[live], steps[live])
    )
    logs, table = np.array(problem.log_values()), np.zeros(int(cells[-1]))
    kernels.multiply_in(table, cells, home[factor], logs, problem.cell_start[factor], *where)
    return layout, table, float(logs[problem.cell_start[:-1][home < 0]].sum())


def _steps(start: Any, members: Any, n_states: Int64) -> Int64:
    """Return how far apart neighbouring states of each member are in the table of its set."""
    steps = np.ones(len(members), np.int64)
    sizes = np.diff(start)
    for k in range(int(sizes.max(initial=1)) - 2, -1, -1):
        at = start[:-1][sizes > k + 1] + k
        steps[at] = steps[at + 1] * n_states[members[at + 1]]
    return steps


def _make_maps(
    n_states: Int64, outer: csr_array, home: Int64, entries: tuple[Int64, Int64, Int64]
) -> tuple[Int64, Int64]:
    """Map cells of outer regions to those of smaller tables; alike ones share a map.

    Each table is at home in an outer region; entries are its number, a variable, and how far its
    states are apart in the table. Returns where the map of each table starts, and the maps.
    """
    item, variable, step = entries
    width = int(sizes(outer).max(initial=0))
    keys = rows(outer) * outer.shape[1] + outer.indices
    place = np.searchsorted(keys, home[item] * outer.shape[1] + variable)
    shapes = np.zeros((outer.shape[0], width), np.int64)
    shapes[rows(outer), np.arange(outer.nnz) - outer.indptr[rows(outer)]] = n_states[outer.indices]
    steps = np.zeros((len(home), width), np.int64)
    steps[item, place - outer.indptr[home[item]]] = step
    sample, pattern = np.zeros(min(len(home), 1), np.int64), np.zeros(len(home), np.int64)
    for column in (*shapes[home].T, *steps.T):
        codes = pattern * (1 + column.max(initial=0)) + column
        _, sample, pattern = np.unique(codes, return_index=True, return_inverse=True)
    maps = [
        reduce(np.add.outer, map(np.multiply, steps[i][:n], map(np.arange, shapes[home[i]][:n])))
        for i, n in zip(sample, sizes(outer)[home[sample]], strict=True)
    ]
    start = starts([one.size for one in maps])
    return start[:-1][pattern], np.concatenate([np.empty(0, np.int64), *map(np.ravel, maps)])
