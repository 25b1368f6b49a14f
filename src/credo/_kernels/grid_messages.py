"""Messages between neighbours of a grid, for K labels at many pixels at once, kind by kind.

All mix new messages with the old ones in place: message = eta new + (1 - eta) message, (K, n).
``q`` holds what the senders know, products of numbers for sums and sums of logs for maxima, and is
overwritten; ``decay``, ``floor`` and ``slope`` are those of the pixels, (n,); ``work`` has
``work_rows(K)`` rows of n. All are C-contiguous and of one type. New sums add up to one; the
largest of new maxima is zero. Pixels are the last axis, and every loop runs along it, so that
vectors of them are computed together. Nothing is added up over pixels: a message has the same bits
however pixels are grouped.
"""

from __future__ import annotations

from credo._kernels.grid_linear_sums import cut_linear_sum, find_scale, linear_sum
from credo._kernels.grid_maxima import linear_max, potts_max, quadratic_max
from credo._kernels.grid_rows import STEP, scratch, typed, work_rows
from credo._kernels.grid_sums import mix, potts_sum, quadratic_sum
from credo._kernels.tiers import kernel

__all__ = [
    "send_cut_linear_sum",
    "send_linear_max",
    "send_linear_sum",
    "send_potts_max",
    "send_potts_sum",
    "send_quadratic_max",
    "send_quadratic_sum",
    "work_rows",
]


@kernel
def send_potts_sum(q, decay, eta, message, work):
    """Sum over labels that are equal, or not."""
    k, n = q.shape
    rows = scratch(work, k, n)
    new, side = rows[:k], rows[2 * k :]
    for at in range(0, n, STEP):
        part, here = slice(at, min(at + STEP, n)), slice(0, min(STEP, n - at))
        row0, row1, row2, row3 = side[0, here], side[1, here], side[2, here], side[3, here]
        one, rate = typed(1.0, row0), typed(eta, row0)
        potts_sum(message, q, decay[part], rate, one, new, row0, row1, row2, row3, part)


@kernel
def send_linear_sum(q, decay, eta, message, work):
    """Sum over labels that weigh less the further they are."""
    k, n = q.shape
    side = scratch(work, k, n)[2 * k :]
    for at in range(0, n, STEP):
        part, here = slice(at, min(at + STEP, n)), slice(0, min(STEP, n - at))
        row0, row1, row2 = side[0, here], side[1, here], side[2, here]
        one, rate = typed(1.0, row0), typed(eta, row0)
        find_scale(row0, q, one, part)
        linear_sum(q, decay[part], one, row0, row1, row2, part)
        mix(message, q, part, row1, rate, one, part)


@kernel
def send_cut_linear_sum(q, decay, floor, reach, eta, message, work):
    """Sum over labels that weigh less the further they are, up to a limit."""
    k, n = q.shape
    rows = scratch(work, k, n)
    new, side = rows[:k], rows[2 * k :]
    for at in range(0, n, STEP):
        part, here = slice(at, min(at + STEP, n)), slice(0, min(STEP, n - at))
        d, f = decay[part], floor[part]
        row0, row1, row2 = side[0, here], side[1, here], side[2, here]
        row3, row4, row5 = side[3, here], side[4, here], side[5, here]
        one, rate = typed(1.0, row0), typed(eta, row0)
        find_scale(row0, q, one, part)
        cut_linear_sum(q, d, f, reach, one, new, row0, row1, row2, row3, row4, row5, part)
        mix(message, new, here, row1, rate, one, part)


@kernel
def send_quadratic_sum(q, decay, floor, reach, eta, message, work):
    """Sum over labels that weigh less by the square of how far they are, up to a limit."""
    k, n = q.shape
    rows = scratch(work, k, n)
    new, weights, side = rows[:k], rows[k : 2 * k], rows[2 * k :]
    for at in range(0, n, STEP):
        part, here = slice(at, min(at + STEP, n)), slice(0, min(STEP, n - at))
        row0, row1, row2, row3 = side[0, here], side[1, here], side[2, here], side[3, here]
        one, rate = typed(1.0, row0), typed(eta, row0)
        d, f = decay[part], floor[part]
        find_scale(row0, q, one, part)
        quadratic_sum(q, d, f, reach, one, new, weights, row0, row1, row2, row3, part)
        mix(message, new, here, row1, rate, one, part)


@kernel
def send_potts_max(q, slope, eta, message, work):
    """Take the best of labels that are equal, or not; slopes may be below zero."""
    k, n = q.shape
    side = scratch(work, k, n)[2 * k :]
    for at in range(0, n, STEP):
        part, here = slice(at, min(at + STEP, n)), slice(0, min(STEP, n - at))
        one, rate = typed(1.0, side[6]), typed(eta, side[6])
        potts_max(message, q, slope[part], rate, one, side[0, here], side[1, here], part)


@kernel
def send_linear_max(q, slope, limit, eta, message, work):
    """Take the best of labels that lose by how far they are, up to a limit."""
    k, n = q.shape
    side = scratch(work, k, n)[2 * k :]
    for at in range(0, n, STEP):
        part, here = slice(at, min(at + STEP, n)), slice(0, min(STEP, n - at))
        one, rate = typed(1.0, side[6]), typed(eta, side[6])
        linear_max(message, q, slope[part], limit, rate, one, side[0, here], side[1, here], part)


@kernel
def send_quadratic_max(q, slope, limit, eta, message, work):
    """Take the best of labels that lose by the square of how far they are, up to a limit."""
    k, n = q.shape
    side = scratch(work, k, n)[2 * k :]
    for at in range(0, n, STEP):
        part, here = slice(at, min(at + STEP, n)), slice(0, min(STEP, n - at))
        s, cell = slope[part], side[6]
        row0, row1, row2 = side[0, here], side[1, here], side[2, here]
        row3, row4 = side[3, here], side[4, here]
        one, rate = typed(1.0, cell), typed(eta, cell)
        quadratic_max(message, q, s, limit, rate, one, row0, row1, row2, row3, row4, cell, part)
