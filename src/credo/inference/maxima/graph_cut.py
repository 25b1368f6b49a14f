"""Minimum cuts, and the best configurations of attractive fields that they give."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from credo._types import F64, Bool, Label
from credo.exceptions import InputError
from credo.graphs.problems import Problem
from credo.graphs.wiring import Int64, starts
from credo.inference.maxima.field import Maximum, log_score, make_field
from credo.inference.maxima.kernels import SOURCE, Field, arc_lists, cut_network
from credo.inference.messages import name_of


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """A minimum cut, and the largest flow, which proves that no cut is smaller."""

    #: 1 for the source, -1 for the sink; 0 for nodes that all fit either side
    side: npt.NDArray[np.int8]
    flow: float  #: what the source can send to the sink
    value: float  #: the capacities that are cut, added up; equal to the flow up to rounding


def minimum_cut(source: F64, sink: F64, edges: Int64, capacity: F64, reverse: F64) -> Cut:
    """Part the nodes of a network between source and sink at the least cost.

    Parameters
    ----------
    source
        Capacity from the source to each node: the cost of putting the node with the sink.
    sink
        Capacity from each node to the sink: the cost of putting the node with the source.
    edges
        Pairs of nodes, of shape (edges, 2); pairs may repeat.
    capacity
        Of each edge, from its first node to its second: the cost of having the first with the
        source and the second with the sink.
    reverse
        The same the other way.

    Returns
    -------
    Cut
        The sides, the flow and the value of the cut; both are infinite if every cut is.

    Notes
    -----
    Boykov and Kolmogorov's two search trees [1]_. Capacities may be infinite. They are rounded to
    multiples of :math:`2^{-53}` of the largest finite one, rounded up to a power of two: then no
    sum in the algorithm is rounded, so that it ends, and its cut is the best for these.

    References
    ----------
    .. [1] Y. Boykov and V. Kolmogorov, An experimental comparison of min-cut/max-flow algorithms
       for energy minimization in vision, IEEE Transactions on Pattern Analysis and Machine
       Intelligence 26 (2004), section 3.

    Examples
    --------
    Node 0 wants to be with the source, node 1 with the sink; to part them costs less than either.

    >>> import numpy as np
    >>> two = minimum_cut(
    ...     np.array([3.0, 0.0]), np.array([0.0, 2.0]), np.array([[0, 1]]), np.ones(1), np.ones(1)
    ... )
    >>> two.side, two.flow, two.value
    (array([ 1, -1], dtype=int8), 1.0, 1.0)
    """
    n = len(source)
    unit = _unit(source, sink, capacity + reverse)
    through = np.minimum(source, sink)
    side = np.zeros(n, np.int8)
    if through.max(initial=0.0) == np.inf:
        return Cut(side, math.inf, math.inf)
    tail, head = np.ascontiguousarray(edges[:, 0]), np.ascontiguousarray(edges[:, 1])
    arcs = arc_lists(n, tail, head, _rounded(capacity, unit), _rounded(reverse, unit))
    terminal = _rounded(source - through, unit) - _rounded(sink - through, unit)
    sent = np.zeros(n)
    if not cut_network(terminal, side, sent, arcs):
        return Cut(np.zeros(n, np.int8), math.inf, math.inf)
    with_source = side == SOURCE
    first, second = with_source[tail], with_source[head]
    costs = (
        source[~with_source],
        sink[with_source],
        capacity[first & ~second],
        reverse[second & ~first],
    )
    value = sum(float(cost.sum()) for cost in costs)
    return Cut(side, float(sent.sum() + through.sum()), value)


def _unit(*capacities: F64) -> float:
    """Return what all capacities are rounded to multiples of, so that sums of two stay exact."""
    largest = max(float(c.max(initial=0.0, where=c < np.inf)) for c in capacities)
    return math.ldexp(1.0, max(math.frexp(largest)[1] - 53, -1074))


def _rounded(capacity: F64, unit: float) -> F64:
    """Round to multiples of a unit."""
    return np.asarray(np.rint(capacity / unit) * unit)


def run_graph_cut(problem: Problem) -> Maximum:
    r"""Find the best configuration exactly, where every pair of variables attracts.

    .. math:: \psi_{ij}(0,0)\, \psi_{ij}(1,1) \ge \psi_{ij}(0,1)\, \psi_{ij}(1,0)

    for every pair, possibly after some variables' states are swapped. Exact up to rounding.

    Parameters
    ----------
    problem
        Factors over at most two variables of two states; variables of one state do not count.

    Returns
    -------
    Maximum
        The bound is that of the largest flow; ``tied`` marks the variables on which best
        configurations differ.

    Raises
    ------
    InputError
        If the field has other factors, or repels around a cycle; says where.

    Notes
    -----
    The costs of a configuration, minus its log score, are the value of a cut of a network with a
    node for each variable. Zeros become infinite capacities.

    References
    ----------
    .. [1] V. Kolmogorov and R. Zabih, What energy functions can be minimized via graph cuts?, IEEE
       Transactions on Pattern Analysis and Machine Intelligence 26 (2004), section 4.
    """
    _check_sizes(problem)
    logs = problem.log_values()
    field = make_field(problem, logs)
    energies = -field.tables.reshape(-1, 2, 2)
    flip = _flips(problem, field, energies)
    pairs = np.column_stack([field.first, field.second])
    cut = _cut(field, pairs, _flipped(energies, flip, pairs), flip)
    if field.constant == -math.inf or cut is None or cut.value == math.inf:
        return Maximum.impossible("graph_cut", problem)
    tied = (cut.side == 0) & (problem.n_states == 2)
    states = np.where(problem.n_states == 2, (cut.side < 0) ^ flip, 0).astype(np.int64)
    score = log_score(problem, logs, states)
    bound = score + max(cut.value - cut.flow, 0.0)
    return Maximum("graph_cut", states, score, bound, tied)


def _check_sizes(problem: Problem) -> None:
    """Refuse variables of more than two states, and factors of more than two variables."""
    if problem.n_states.max(initial=1) > 2:
        v = int(np.argmax(problem.n_states > 2))
        raise InputError(
            f"graph_cut needs variables of two states. {_names(problem, [v])[0]!r} has "
            f"{problem.n_states[v]}. Use method='tree_reweighted'."
        )
    arity = np.diff(starts(problem.n_states[problem.scope] == 2)[problem.scope_start])
    if arity.max(initial=0) > 2:
        f = int(np.argmax(arity > 2))
        scope = problem.scope[problem.scope_start[f] : problem.scope_start[f + 1]]
        raise InputError(
            "graph_cut needs factors of at most two variables. There is one over "
            f"{_names(problem, scope)}. Use method='tree_reweighted'."
        )


def _names(problem: Problem, variables: Any) -> list[Label]:
    """Return the names of variables of a problem."""
    return [name_of(problem.wiring, v) for v in problem.variables[variables].tolist()]


def _flips(problem: Problem, field: Field, energies: F64) -> Bool:
    """Choose the variables whose states to swap so that every pair attracts.

    Each variable has a twin that is swapped. A pair that attracts joins two variables and their
    twins, one that repels joins each to the twin of the other. Who is connected with their own
    twin cannot be chosen; of the others, the first of each part stays as it is.
    """
    sign, n = _signs(energies), field.n_variables
    if (sign >= 0).all():
        return np.zeros(n, np.bool_)
    one, other, is_odd = field.first[sign != 0], field.second[sign != 0], sign[sign != 0] < 0
    tail = np.append(one, one + n)
    head = np.append(other + n * is_odd, other + n * ~is_odd)
    joined = scipy.sparse.coo_array(
        (np.ones(len(tail), np.int8), (tail, head)), (2 * n, 2 * n)
    ).tocsr()
    part = scipy.sparse.csgraph.connected_components(joined, directed=False)[1]
    if (part[:n] == part[n:]).any():
        start = int(np.argmax(part[:n] == part[n:]))
        before = scipy.sparse.csgraph.breadth_first_order(joined, start, directed=False)[1]
        way = [start + n]
        while way[-1] != start:
            way.append(int(before[way[-1]]))
        middle = len(way) // 2  # there and back it is the same way, but for a cycle in the middle
        pair = _names(problem, np.array(way[middle - 1 : middle + 1]) % n)
        raise InputError(
            f"graph_cut needs pairs that attract, after swapping states. A cycle through {pair} "
            "repels whatever is swapped. Use method='tree_reweighted'."
        )
    return np.asarray(part[:n] > part[n:])


def _signs(energies: F64) -> npt.NDArray[np.int8]:
    """Tell pairs that attract, 1, from those that repel, -1, and those that do neither."""
    equal = energies[:, 0, 0] + energies[:, 1, 1]
    unequal = energies[:, 0, 1] + energies[:, 1, 0]
    gain = np.zeros(len(energies))
    np.subtract(unequal, equal, out=gain, where=np.isfinite(unequal) | np.isfinite(equal))
    # four logs, each with a rounding error of half a unit, and three sums of them with one each
    size = np.abs(np.where(np.isfinite(energies), energies, 0.0)).sum(axis=(1, 2))
    gain[np.abs(gain) <= 4 * np.finfo(float).eps * size] = 0.0
    return np.sign(gain).astype(np.int8)


def _flipped(energies: F64, flip: Bool, pairs: Int64) -> F64:
    """Swap the states of some variables in all tables."""
    if not flip.any():
        return energies
    rows = np.array([0, 1]) ^ flip[pairs[:, 0], None]
    columns = np.array([0, 1]) ^ flip[pairs[:, 1], None]
    every = np.arange(len(pairs))[:, None, None]
    return energies[every, rows[:, :, None], columns[:, None, :]]


def _cut(field: Field, pairs: Int64, energies: F64, flip: Bool) -> Cut | None:
    """Cut a network whose cuts cost what configurations do; None if a table is infinite all over.

    State 0 is with the source.
    """
    dead = np.isinf(energies)
    if dead.all(axis=(1, 2)).any():
        return None
    cost, forced = _node_costs(field, flip)
    first, second, capacity = _pair_costs(energies)
    loose = np.ones(len(energies), np.bool_)
    for end, each in enumerate((first, second)):
        np.add.at(cost, pairs[:, end], each)
        for state in (0, 1):
            never = dead.take(state, axis=1 + end).all(axis=1)
            forced[pairs[never, end], state] = True
            loose &= ~never
    source = np.where(forced[:, 1], np.inf, np.maximum(cost, 0.0))
    sink = np.where(forced[:, 0], np.inf, np.maximum(-cost, 0.0))
    there = np.where(loose & dead[:, 0, 1], np.inf, capacity)
    back = np.where(loose & dead[:, 1, 0], np.inf, capacity)
    kept = np.flatnonzero((there > 0) | (back > 0))
    return minimum_cut(source, sink, pairs[kept], there[kept], back[kept])


def _node_costs(field: Field, flip: Bool) -> tuple[F64, Bool]:
    """Return the cost of state 1 less that of state 0, and which states are impossible."""
    two = np.flatnonzero(field.n_states == 2)
    energy = np.zeros((field.n_variables, 2))
    place = field.start[two, None] + (np.array([0, 1]) ^ flip[two, None])
    energy[two] = -field.values[place]
    forced = np.isinf(energy)
    return np.where(forced.any(axis=1), 0.0, _difference(energy[:, 1], energy[:, 0])), forced


def _difference(one: F64, other: F64) -> F64:
    """Subtract where both are finite; zero elsewhere."""
    out = np.zeros(len(one))
    np.subtract(one, other, out=out, where=np.isfinite(one) & np.isfinite(other))
    return out


def _pair_costs(energies: F64) -> tuple[F64, F64, F64]:
    """Split tables E into costs of state 1 of either end, and of being unequal.

    Where all is finite, E = E(0,0) + a x + b y + w |x - y|. An infinite entry is left to an
    infinite capacity, so that it may be read as any number that makes w zero.
    """
    a, b, c, d = (energies[:, x, y] for x in (0, 1) for y in (0, 1))
    through_c = _difference(c, a), _difference(d, c)  # E(0,1) is infinite, or does not matter
    through_b = _difference(d, b), _difference(b, a)
    half = 0.5 * _difference(d, a)
    first = np.where(np.isfinite(c), through_c[0], np.where(np.isfinite(b), through_b[0], half))
    second = np.where(np.isfinite(c), through_c[1], np.where(np.isfinite(b), through_b[1], half))
    whole = np.isfinite(energies).all(axis=(1, 2))
    first = np.where(whole, 0.5 * (through_c[0] + through_b[0]), first)
    second = np.where(whole, 0.5 * (through_c[1] + through_b[1]), second)
    capacity = np.where(whole, 0.5 * (_difference(b, a) - _difference(d, c)), 0.0)
    return first, second, np.maximum(capacity, 0.0)
