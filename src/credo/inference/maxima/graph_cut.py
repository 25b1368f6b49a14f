"""The best configuration of an attractive field of two states, by a minimum cut."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64, Bool
from credo.exceptions import InputError
from credo.graphs.problems import Problem
from credo.inference.maxima.cuts import Cut, minimum_cut
from credo.inference.maxima.fields import Field, make_field
from credo.inference.maxima.outcomes import Maximum, impossible, log_score

Int64: TypeAlias = npt.NDArray[np.int64]


def run_graph_cut(problem: Problem) -> Maximum:
    r"""Find the best configuration exactly, where every pair of variables attracts.

    .. math:: \psi_{ij}(0,0)\, \psi_{ij}(1,1) \ge \psi_{ij}(0,1)\, \psi_{ij}(1,0)

    for every pair, possibly after some variables' states are swapped. The costs of a configuration,
    minus its log score, are then the value of a cut of a network with a node for each variable.

    Parameters
    ----------
    problem
        Factors over at most two variables of two states; variables of one state do not count.

    Returns
    -------
    Maximum
        ``OPTIMAL``. The bound is that of the largest flow; ``tied`` marks the variables on which
        best configurations differ.

    Raises
    ------
    InputError
        If the field has other factors, or repels around a cycle; says where.

    Notes
    -----
    Exact up to rounding. Zeros become infinite capacities.

    References
    ----------
    .. [1] V. Kolmogorov and R. Zabih, What energy functions can be minimized via graph cuts?, IEEE
       Transactions on Pattern Analysis and Machine Intelligence 26 (2004), section 4.

    Examples
    --------
    >>> from credo.graphs import FactorGraph
    >>> from credo.graphs.evidence import resolve
    >>> from credo.graphs.problems import pose
    >>> graph = FactorGraph()
    >>> a, b = graph.variable("a", 2), graph.variable("b", 2)
    >>> _ = graph.factor([a, b], [[1, 3], [2, 1]])
    >>> wiring = graph.compile()
    >>> run_graph_cut(pose(wiring, resolve(wiring, None, None, "example"))).states
    array([0, 1])
    """
    _check_sizes(problem)
    logs = problem.log_values()
    field = make_field(problem, logs)
    energies = -field.tables.reshape(-1, 2, 2)
    flip = _flips(problem, field, energies)
    network = _network(field, _flipped(energies, flip, field.pairs), flip)
    if field.constant == -math.inf or network is None:
        return impossible(problem, "graph_cut")
    cut = network.cut()
    if cut.value == math.inf:
        return impossible(problem, "graph_cut")
    tied = (cut.side == 0) & (problem.n_states == 2)
    states = np.where(problem.n_states == 2, (cut.side < 0) ^ flip, 0).astype(np.int64)
    score = log_score(problem, logs, states)
    bound = score + max(cut.value - cut.flow, 0.0)
    return Maximum("graph_cut", states, score, bound, "OPTIMAL", tied=tied)


def _check_sizes(problem: Problem) -> None:
    """Refuse variables of more than two states, and factors of more than two variables."""
    if problem.n_states.max(initial=1) > 2:
        v = int(np.argmax(problem.n_states > 2))
        raise InputError(
            f"graph_cut needs variables of two states. {_name(problem, v)!r} has "
            f"{problem.n_states[v]}. Use method='tree_reweighted'."
        )
    wide = np.concatenate([[0], np.cumsum(problem.n_states[problem.scope] == 2)])
    arity = np.diff(wide[problem.scope_start])
    if arity.max(initial=0) > 2:
        f = int(np.argmax(arity > 2))
        scope = problem.scope[problem.scope_start[f] : problem.scope_start[f + 1]]
        raise InputError(
            "graph_cut needs factors of at most two variables. There is one over "
            f"{[_name(problem, int(v)) for v in scope]}. Use method='tree_reweighted'."
        )


def _name(problem: Problem, variable: int) -> object:
    """Name a variable; those that a rule brings with it have none."""
    v, names = int(problem.variables[variable]), problem.wiring.names
    return names[v] if v < len(names) else f"auxiliary {v - len(names)}"


def _flips(problem: Problem, field: Field, energies: F64) -> Bool:
    """Choose the variables whose states to swap so that every pair attracts."""
    from credo._kernels.graph_cut import flips  # noqa: PLC0415

    sign = _signs(energies)
    joined = sign != 0
    flip = np.zeros(field.n_variables, np.bool_)
    tail, head = field.pairs[joined, 0], field.pairs[joined, 1]
    e = flips(tail, head, sign[joined] < 0, flip)
    if e >= 0:
        pair = [_name(problem, int(v)) for v in (tail[e], head[e])]
        raise InputError(
            f"graph_cut needs pairs that attract, after swapping states. A cycle through {pair} "
            "repels whatever is swapped. Use method='tree_reweighted'."
        )
    return flip


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
    rows = np.array([0, 1]) ^ flip[pairs[:, 0], None]
    columns = np.array([0, 1]) ^ flip[pairs[:, 1], None]
    every = np.arange(len(pairs))[:, None, None]
    return energies[every, rows[:, :, None], columns[:, None, :]]


@dataclass(frozen=True, slots=True, eq=False)
class _Network:
    """Capacities whose cuts cost what configurations do; state 0 is with the source."""

    source: F64
    sink: F64
    edges: Int64
    capacity: F64
    reverse: F64

    def cut(self) -> Cut:
        """Find the least cut."""
        return minimum_cut(self.source, self.sink, self.edges, self.capacity, self.reverse)


def _network(field: Field, energies: F64, flip: Bool) -> _Network | None:
    """Write energies as capacities; None if a table is infinite all over."""
    dead = np.isinf(energies)
    if dead.all(axis=(1, 2)).any():
        return None
    cost, forced = _node_costs(field, flip)
    first, second, capacity = _pair_costs(energies)
    loose = np.ones(len(energies), np.bool_)
    for end, each in enumerate((first, second)):
        np.add.at(cost, field.pairs[:, end], each)
        for state in (0, 1):
            never = dead.take(state, axis=1 + end).all(axis=1)
            forced[field.pairs[never, end], state] = True
            loose &= ~never
    source = np.where(forced[:, 1], np.inf, np.maximum(cost, 0.0))
    sink = np.where(forced[:, 0], np.inf, np.maximum(-cost, 0.0))
    there = np.where(loose & dead[:, 0, 1], np.inf, capacity)
    back = np.where(loose & dead[:, 1, 0], np.inf, capacity)
    kept = np.flatnonzero((there > 0) | (back > 0))
    return _Network(source, sink, field.pairs[kept], there[kept], back[kept])


def _node_costs(field: Field, flip: Bool) -> tuple[F64, Bool]:
    """Give the cost of state 1 less that of state 0, and which states are impossible."""
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
