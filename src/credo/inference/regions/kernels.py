r"""Two-way messages between outer and inner regions, in the log domain.

For an inner region b with counting number c_b in n_b outer regions a, one after the other:

    μ_ab = Q_a(x_b) / μ_ba,   Q_b ∝ (R_b^extra Π_a μ_ab)^(1 / divisor),   μ_ba = Q_b / μ_ab

and Q_a ∝ ψ_a Π_b μ_ba all along. With divisor = n_b + c_b and extra = 0 this is the single loop;
with c' in place of c_b and extra = c' - c_b, R_b being an earlier Q_b, it has the same
fixed points. Cells that are impossible (-inf) stay so, in every region that holds them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from credo._kernels.tiers import kernel

#: Sums of exponentials above this have lost nothing to underflow that float64 could show: a table
#: of 2**30 terms, all of them below the least normal number, adds up to less than 1e-298.
SAFE = 1e-280


class RegionLayout(NamedTuple):
    """Where the tables of regions and messages are; links are sorted by inner region."""

    cells: Any  #: where the table of each outer region starts
    inner_cells: Any
    link_start: Any  #: of each inner region
    link: Any  #: the outer region of each link
    message_start: Any  #: of each link; a message has the size of the inner region's table
    map_start: Any  #: of each link; alike links share a map
    maps: Any  #: the cell of the inner region, for each cell of the outer one


@kernel(visits=4)
def multiply_in(table, cells, home, logs, start, map_start, maps):
    """Add the logs at each start to the table of their home, cell by cell as a map tells."""
    for f in range(home.size):
        begin = cells[home[f]]
        for x in range(cells[home[f] + 1] - begin):
            table[begin + x] += logs[start[f] + maps[map_start[f] + x]]


@kernel
def _marginal(p, q, begin, end, maps, m, sums, log_sums, s, size):
    """Sum p = exp(q) to an inner region; write shares and their logs at s.

    Returns the log of the total, and whether no sum gets near the ends of float64. If one does,
    each inner cell is summed below its own maximum.
    """
    for y in range(s, s + size):
        sums[y] = 0.0
    for x in range(begin, end):
        sums[s + maps[m + x - begin]] += p[x]
    total = 0.0
    is_safe = True
    for y in range(s, s + size):
        total += sums[y]
        if sums[y] < SAFE:
            is_safe = False
    if not is_safe:
        return _careful_marginal(q, begin, end, maps, m, sums, log_sums, s, size), False
    scale = 1.0 / total
    for y in range(s, s + size):
        sums[y] *= scale
        log_sums[y] = math.log(sums[y])
    return math.log(total), True


@kernel
def _careful_marginal(q, begin, end, maps, m, sums, log_sums, s, size):
    """Do the same for logs of any range, zeros included, but not all of them."""
    for y in range(s, s + size):
        log_sums[y] = -math.inf
        sums[y] = 0.0
    for x in range(begin, end):
        y = s + maps[m + x - begin]
        log_sums[y] = max(log_sums[y], q[x])
    for x in range(begin, end):
        y = s + maps[m + x - begin]
        if q[x] > -math.inf:
            sums[y] += math.exp(q[x] - log_sums[y])
    for y in range(s, s + size):
        if log_sums[y] > -math.inf:
            log_sums[y] += math.log(sums[y])
    log_total = _scale(log_sums, s, s + size)
    for y in range(s, s + size):
        sums[y] = math.exp(log_sums[y])
    return log_total


@kernel
def _scale(logs, begin, end):
    """Scale logs so that their exponentials sum to one; return the log of what that was before."""
    top = -math.inf
    for x in range(begin, end):
        top = max(top, logs[x])
    if top == -math.inf:
        return top
    total = 0.0
    for x in range(begin, end):
        total += math.exp(logs[x] - top)
    log_total = top + math.log(total)
    for x in range(begin, end):
        logs[x] -= log_total
    return log_total


@kernel
def _agree(belief, reference, b, size, extra, divisor, log_sums, message, m, n):
    """Set the log belief of an inner region from its n marginals and messages; False if all zero.

    The first marginal is at the start of ``log_sums``, the first message at m.
    """
    for y in range(size):
        total = extra * reference[b + y] if extra > 0.0 else 0.0
        for k in range(n):
            z = k * size + y
            if log_sums[z] == -math.inf:
                total = -math.inf
                break
            total += log_sums[z] - message[m + z]
        belief[b + y] = total / divisor
    return _scale(belief, b, b + size) > -math.inf


@kernel
def _multiply(p, q, begin, end, maps, m, sums, log_sums, s, size, is_safe):
    """Add the log factors at s to q and multiply p by them; exp(q) is p.

    Where sums were safe, so are the factors: the logs of shares are above that of SAFE. A product
    that has become tiny is taken from its log, so that it can come back.
    """
    for y in range(s, s + size):
        sums[y] = math.exp(log_sums[y]) if is_safe else 0.0
    for x in range(begin, end):
        y = s + maps[m + x - begin]
        q[x] += log_sums[y]
        p[x] *= sums[y]
        if p[x] < SAFE:
            p[x] = math.exp(q[x])


@kernel(visits=4)
def sweep(p, q, belief, message, layout, reference, extra, divisor, momentum, backward, widest):
    """Visit each inner region once; return how far marginals were from their common belief.

    That is the largest difference, and the sum of all Kullback-Leibler divergences; infinity and 0
    if nothing is possible. ``p`` (Q_a), ``q`` (log Q_a), ``belief`` (log Q_b) and ``message`` (log
    μ_ba) change in place. The momentum multiplies the new log message. ``widest`` is the largest
    number of message cells of one inner region. An outer region keeps every cell whose inner cell
    is possible, so that its belief is never all zero if it was not so before.
    """
    cells, inner_cells, link_start, link, message_start, map_start, maps = layout
    n_inner = divisor.size
    sums = np.empty(widest)
    log_sums = np.empty(widest)
    log_totals = np.empty(widest)
    are_safe = np.empty(widest, np.bool_)
    residual = 0.0
    divergence = 0.0
    for i in range(n_inner):
        r = n_inner - 1 - i if backward else i
        b, size = inner_cells[r], inner_cells[r + 1] - inner_cells[r]
        first, n = link_start[r], link_start[r + 1] - link_start[r]
        m = message_start[first]
        for k in range(n):
            a, o = link[first + k], map_start[first + k]
            log_totals[k], are_safe[k] = _marginal(
                p, q, cells[a], cells[a + 1], maps, o, sums, log_sums, k * size, size
            )
        if not _agree(belief, reference, b, size, extra[r], divisor[r], log_sums, message, m, n):
            return math.inf, 0.0
        for k in range(n):
            for y in range(size):
                z = k * size + y
                new = belief[b + y]
                share = math.exp(new)
                residual = max(residual, abs(share - sums[z]))
                if new > -math.inf:
                    step = new - log_sums[z]
                    divergence += share * step
                    message[m + z] += momentum * step
                    log_sums[z] = momentum * step - log_totals[k]
                else:
                    message[m + z] = new
                    log_sums[z] = new
            a, o = link[first + k], map_start[first + k]
            _multiply(
                p, q, cells[a], cells[a + 1], maps, o, sums, log_sums, k * size, size, are_safe[k]
            )
    return residual, divergence


@kernel(visits=4)
def rebuild(p, q, message, layout):
    """Multiply the messages into Q_a, which is ψ_a; return Σ_a log of what it was divided by."""
    multiply_in(
        q, layout.cells, layout.link, message, layout.message_start, layout.map_start, layout.maps
    )
    log_total = 0.0
    for a in range(layout.cells.size - 1):
        log_total += _scale(q, layout.cells[a], layout.cells[a + 1])
    for x in range(q.size):
        p[x] = math.exp(q[x])
    return log_total


@kernel
def inner_energy(belief, message, layout, counting):
    """Sum Q_b(x) (c_b log Q_b(x) + Σ_a log μ_ba(x)) over all inner regions and their cells."""
    energy = 0.0
    for r in range(counting.size):
        begin = layout.inner_cells[r]
        for y in range(layout.inner_cells[r + 1] - begin):
            log_share = belief[begin + y]
            if log_share == -math.inf:
                continue
            total = counting[r] * log_share
            for j in range(layout.link_start[r], layout.link_start[r + 1]):
                total += message[layout.message_start[j] + y]
            energy += math.exp(log_share) * total
    return energy


@kernel
def read_marginals(n_states, home, step, table, cells, start, out):
    """Sum log beliefs of regions, which are scaled to one, down to single variables.

    ``home[v]`` is the region to read variable v from, if any, and ``step[v]`` the number of cells
    in a row that have the same state of it.
    """
    for v in range(home.size):
        if home[v] < 0:
            continue
        total = 0.0
        for k in range(start[v], start[v + 1]):
            out[k] = 0.0
        for x in range(cells[home[v] + 1] - cells[home[v]]):
            weight = math.exp(table[cells[home[v]] + x])
            out[start[v] + x // step[v] % n_states[v]] += weight
            total += weight
        for k in range(start[v], start[v + 1]):
            out[k] /= total
