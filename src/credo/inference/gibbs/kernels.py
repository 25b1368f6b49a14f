r"""Sweeps of Gibbs sampling, variable by variable or block by block; and a search for a start.

At inverse temperature b in [0, 1] the log of the target is, up to a constant,

    (1 - b) Σ_v base_v(x_v) + b (Σ_v own_v(x_v) + Σ_f log ψ_f(x_f)).

The cell of each factor that the states point to is kept up to date, so that a variable of k states
with d factors takes O(d k), whatever the number of their variables.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from credo._kernels.forest import MEMBERS, SUM, choose_states, collect, condition, distribute, pick
from credo._kernels.supports import propagate
from credo._kernels.tiers import kernel

#: Columns of ``near``, and rows of ``field``.
FACTOR, STRIDE = 0, 1
BASE, OWN = 0, 1
#: Columns of ``plan``, which says for each sweep where its outcome goes, -1 for nowhere; and the
#: blocks to go through.
BATCH, HALF, KEPT, FIRST, LAST = 0, 1, 2, 3, 4


class Target(NamedTuple):
    """What is sampled."""

    start: Any
    near_start: Any
    near: Any  #: (slots, 2): factor and stride of the slots of each variable
    field: Any  #: (2, states): the base, and what depends on a variable alone
    logs: Any


class Record(NamedTuple):
    """What a chain keeps."""

    sums: Any  #: (batches, states): sums of conditional probabilities
    visits: Any  #: (2, states): how often each state was drawn, in each half of the chain
    trace: Any  #: (kept, variables): states


@kernel
def _energy(target, states, cells):
    """Return how much the log of the target grows with the inverse temperature."""
    start, _, _, field, logs = target
    total = 0.0
    for v in range(states.size):
        total += field[OWN, start[v] + states[v]] - field[BASE, start[v] + states[v]]
    for f in range(cells.size):
        total += logs[cells[f]]
    return total


@kernel
def _move(near_start, near, states, cells, v, new):
    """Change the state of a variable."""
    step = new - states[v]
    if step != 0:
        states[v] = new
        for i in range(near_start[v], near_start[v + 1]):
            cells[near[i, FACTOR]] += near[i, STRIDE] * step


@kernel
def _weigh(start, field, near_start, near, logs, beta, states, cells, v, out):
    """Write what the states of v weigh, given all others; the heaviest weighs one. Return the sum.

    The state that v is in is possible, so there is a largest log.
    """
    first, k, x = start[v], start[v + 1] - start[v], states[v]
    for s in range(first, first + k):
        out[s] = field[OWN, s]
    for i in range(near_start[v], near_start[v + 1]):
        stride = near[i, STRIDE]
        cell = cells[near[i, FACTOR]] - x * stride
        for s in range(k):
            out[first + s] += logs[cell + s * stride]
    largest, total = -math.inf, 0.0
    for s in range(first, first + k):
        out[s] = (1.0 - beta) * field[BASE, s] + beta * out[s]
        largest = max(largest, out[s])
    for s in range(first, first + k):
        out[s] = math.exp(out[s] - largest)
        total += out[s]
    return total


@kernel
def _weigh_pair(start, field, near_start, near, logs, beta, states, cells, v, out):
    """Do the same for two states, with one exponential: they are most of what is sampled."""
    first, x = start[v], states[v]
    zero, one = field[OWN, first], field[OWN, first + 1]
    for i in range(near_start[v], near_start[v + 1]):
        stride = near[i, STRIDE]
        cell = cells[near[i, FACTOR]] - x * stride
        zero += logs[cell]
        one += logs[cell + stride]
    ahead = (1.0 - beta) * (field[BASE, first + 1] - field[BASE, first]) + beta * (one - zero)
    less = math.exp(-abs(ahead))
    out[first] = less if ahead > 0.0 else 1.0
    out[first + 1] = 1.0 if ahead > 0.0 else less
    return 1.0 + less


@kernel
def _keep(start, plan, t, states, belief, record):
    """Add what a sweep found to the record, where the plan says so."""
    batch, half, kept = plan[t, BATCH], plan[t, HALF], plan[t, KEPT]
    if batch >= 0:
        for s in range(belief.size):
            record.sums[batch, s] += belief[s]
    for v in range(states.size):
        if half >= 0:
            record.visits[half, start[v] + states[v]] += 1
        if kept >= 0:
            record.trace[kept, v] = states[v]


@kernel(visits=5)
def run_sites(target, record, beta, plan, u, states, cells, belief):
    """Sweep over all variables in order; return the log of the weight gained by cooling.

    Sweep t is at inverse temperature beta[t + 1], after beta[t], and takes the uniform numbers
    u[t]. Where plan[t] says so, conditional probabilities are added to ``sums``, one is added to
    ``visits``, and the states are written to ``trace``.
    """
    start, near_start, near, field, logs = target
    gained = 0.0
    for t in range(u.shape[0]):
        b = beta[t + 1]
        if b != beta[t]:
            gained += (b - beta[t]) * _energy(target, states, cells)
        for v in range(states.size):
            first, k = start[v], start[v + 1] - start[v]
            if k == 2:
                total = _weigh_pair(
                    start, field, near_start, near, logs, b, states, cells, v, belief
                )
                new = np.int64(u[t, v] * total >= belief[first])
            else:
                total = _weigh(start, field, near_start, near, logs, b, states, cells, v, belief)
                new = pick(belief, first, k, total, u[t, v])
            _move(near_start, near, states, cells, v, new)
            if plan[t, BATCH] >= 0:
                for s in range(first, first + k):
                    belief[s] /= total
        _keep(start, plan, t, states, belief, record)
    return gained


@kernel(visits=5)
def run_trees(target, graph, forest, room, record, beta, plan, u, states, cells, drawn):
    """Sweep over blocks; as ``run_sites``, with the blocks that plan[t] names for sweep t."""
    start, near_start, near, field, logs = target
    gained = 0.0
    for t in range(u.shape[0]):
        b = beta[t + 1]
        if b != beta[t]:
            gained += (b - beta[t]) * _energy(target, states, cells)
        for block in range(plan[t, FIRST], plan[t, LAST]):
            low, high = forest.block[block, MEMBERS], forest.block[block + 1, MEMBERS]
            for m in range(low, high):
                v = forest.member[m]
                for s in range(start[v], start[v + 1]):
                    room.total[s] = (1.0 - b) * field[BASE, s] + b * field[OWN, s]
            condition(graph, forest, block, logs, b, states, cells, room.total)
            collect(graph, forest, block, logs, b, states, cells, SUM, room)
            if plan[t, BATCH] >= 0:
                distribute(graph, forest, block, room)
            choose_states(graph, forest, block, room, SUM, u[t], drawn)
            for m in range(low, high):
                v = forest.member[m]
                _move(near_start, near, states, cells, v, drawn[v])
        _keep(start, plan, t, states, room.belief, record)
    return gained


@kernel(visits=5)
def dive(tables, room, order, u, states):
    """Fix variables in order at their states, and remove what that rules out from all others.

    Where a state is out already, any that is left takes its place. Returns the variable at
    which nothing was left for some factor, or -1. ``room`` has the states that are left.
    """
    alive, left, start = room.alive, room.left, tables.state_start
    for v in order:
        if not alive[start[v] + states[v]]:
            aim = np.int64(u[v] * left[v])
            for x in range(start[v], start[v + 1]):
                if alive[x]:
                    if aim == 0:
                        states[v] = x - start[v]
                    aim -= 1
        for x in range(start[v], start[v + 1]):
            alive[x] = x == start[v] + states[v]
        length = np.int64(0)
        if left[v] > 1:
            for i in range(tables.incident_start[v], tables.incident_start[v + 1]):
                room.queue[length] = tables.incident[i]
                room.waiting[tables.incident[i]] = 1
                length += 1
        left[v] = 1
        if not propagate(tables, room, length):
            return v
    return np.int64(-1)
