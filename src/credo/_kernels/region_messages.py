r"""Two-way messages between outer and inner regions, in the log domain.

For an inner region b with counting number c_b in n_b outer regions a, one after the other:

    μ_ab = Q_a(x_b) / μ_ba,   Q_b ∝ (R_b^extra Π_a μ_ab)^(1 / divisor),   μ_ba = Q_b / μ_ab

and Q_a ∝ ψ_a Π_b μ_ba all along. With divisor = n_b + c_b and extra = 0 this is the single loop;
with c' in the place of c_b and extra = c' - c_b, R_b being an earlier Q_b, it has the same
fixed points. Cells that are impossible (-inf) stay so, in every region that holds them.

Outer region a has the cells ``cells[a]:cells[a + 1]``, inner region b ``inner_cells[b]:...``, and
link j has a message of the inner region's size at ``message_start[j]``. ``maps`` gives, for each
cell of an outer region, the cell of the inner one; alike links share a map.
"""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.tiers import kernel

#: Sums of exponentials above this have lost nothing to underflow that float64 could show: a table
#: of 2**30 terms, all of them below the least normal number, adds up to less than 1e-298.
SAFE = 1e-280


@kernel
def _marginal(p, q, begin, end, maps, m, sums, log_sums, s, size):
    """Sum p = exp(q) to an inner region; write shares and their logs at s.

    Gives the log of the total, and whether no sum gets near the ends of float64. If one does, each
    inner cell is summed below its own maximum.
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
    top = -math.inf
    for x in range(begin, end):
        y = s + maps[m + x - begin]
        log_sums[y] = max(log_sums[y], q[x])
        top = max(top, q[x])
    for x in range(begin, end):
        y = s + maps[m + x - begin]
        if q[x] > -math.inf:
            sums[y] += math.exp(q[x] - log_sums[y])
    total = 0.0
    for y in range(s, s + size):
        if log_sums[y] > -math.inf:
            log_sums[y] += math.log(sums[y])
            total += math.exp(log_sums[y] - top)
    log_total = top + math.log(total)
    for y in range(s, s + size):
        log_sums[y] -= log_total
        sums[y] = math.exp(log_sums[y])
    return log_total


@kernel
def _agree(belief, reference, b, size, extra, divisor, log_sums, message, m, n):
    """Set the log belief of an inner region from its n marginals and messages; False if all zero.

    The first marginal is at the start of ``log_sums``, the first message at m.
    """
    top = -math.inf
    for y in range(size):
        total = extra * reference[b + y] if extra > 0.0 else 0.0
        for k in range(n):
            z = k * size + y
            if log_sums[z] == -math.inf:
                total = -math.inf
                break
            total += log_sums[z] - message[m + z]
        belief[b + y] = total / divisor if total > -math.inf else total
        top = max(top, belief[b + y])
    if top == -math.inf:
        return False
    total = 0.0
    for y in range(b, b + size):
        total += math.exp(belief[y] - top)
    shift = top + math.log(total)
    for y in range(b, b + size):
        belief[y] -= shift
    return True


@kernel
def _multiply(p, q, begin, end, maps, m, sums, log_sums, s, size, is_safe):
    """Add the log factors at s to q and multiply p by them; exp(q) is p.

    Where sums were safe, so are the factors: the logs of shares are above that of SAFE. A product
    that has become tiny is taken from its log, so that it can come back.
    """
    if is_safe:
        for y in range(s, s + size):
            sums[y] = math.exp(log_sums[y])
        for x in range(begin, end):
            y = s + maps[m + x - begin]
            q[x] += log_sums[y]
            p[x] *= sums[y]
            if p[x] < SAFE:
                p[x] = math.exp(q[x])
    else:
        for x in range(begin, end):
            q[x] += log_sums[s + maps[m + x - begin]]
            p[x] = math.exp(q[x])


@kernel
def sweep(
    p,
    q,
    cells,
    belief,
    reference,
    inner_cells,
    extra,
    divisor,
    link_start,
    link,
    map_start,
    maps,
    message_start,
    message,
    momentum,
    backward,
    widest,
):
    """Visit each inner region once; give how far marginals were from the beliefs they should have.

    That is the largest difference, and the sum of all Kullback-Leibler divergences; -1 and 0 if
    nothing is possible. ``p`` (Q_a), ``q`` (log Q_a), ``belief`` (log Q_b) and ``message`` (log
    μ_ba) change in place. The momentum multiplies the new log message. ``widest`` is the largest
    number of message cells of one inner region. An outer region keeps every cell whose inner cell
    is possible, so that its belief is never all zero if it was not so before.
    """
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
        for k in range(n):
            a, o = link[first + k], map_start[first + k]
            log_totals[k], are_safe[k] = _marginal(
                p, q, cells[a], cells[a + 1], maps, o, sums, log_sums, k * size, size
            )
        m = message_start[first]
        if not _agree(belief, reference, b, size, extra[r], divisor[r], log_sums, message, m, n):
            return -1.0, 0.0
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


@kernel
def rebuild(
    p, q, psi, cells, inner_cells, link_start, link, map_start, maps, message_start, message
):
    """Set Q_a ∝ ψ_a Π_b μ_ba afresh, scaled to one; give Σ_a log of what it was divided by."""
    for x in range(q.size):
        q[x] = psi[x]
    for r in range(inner_cells.size - 1):
        for j in range(link_start[r], link_start[r + 1]):
            a, i, m = link[j], map_start[j], message_start[j]
            for x in range(cells[a + 1] - cells[a]):
                q[cells[a] + x] += message[m + maps[i + x]]
    log_total = 0.0
    for a in range(cells.size - 1):
        top = -math.inf
        for x in range(cells[a], cells[a + 1]):
            top = max(top, q[x])
        if top == -math.inf:
            return top
        total = 0.0
        for x in range(cells[a], cells[a + 1]):
            total += math.exp(q[x] - top)
        shift = top + math.log(total)
        for x in range(cells[a], cells[a + 1]):
            q[x] -= shift
            p[x] = math.exp(q[x])
        log_total += shift
    return log_total


@kernel
def inner_energy(belief, inner_cells, counting, link_start, message_start, message):
    """Sum Q_b(x) (c_b log Q_b(x) + Σ_a log μ_ba(x)) over all inner regions and their cells."""
    energy = 0.0
    for r in range(counting.size):
        size = inner_cells[r + 1] - inner_cells[r]
        for y in range(size):
            log_share = belief[inner_cells[r] + y]
            if log_share == -math.inf:
                continue
            total = counting[r] * log_share
            for j in range(link_start[r], link_start[r + 1]):
                total += message[message_start[j] + y]
            energy += math.exp(log_share) * total
    return energy
