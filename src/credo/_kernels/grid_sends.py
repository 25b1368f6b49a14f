"""Messages between neighbours of a grid, for K labels at many pixels at once.

Pixels are the last axis, and every loop runs along it, so that vectors of them are computed
together. Nothing is added up over pixels: a message has the same bits however pixels are grouped.
"""

from __future__ import annotations

from typing import Final

from credo._kernels._jit import strict_kernel
from credo._kernels.grid_linear_sums import cut_linear_sum, find_scale, linear_sum
from credo._kernels.grid_maxima import linear_max, potts_max, quadratic_max
from credo._kernels.grid_rows import STEP, scratch, typed, work_rows
from credo._kernels.grid_sums import mix, potts_sum, quadratic_sum

__all__ = ["LINEAR", "POTTS", "QUADRATIC", "send_max", "send_sum", "work_rows"]

POTTS: Final = 0
LINEAR: Final = 1
QUADRATIC: Final = 2


@strict_kernel
def send_sum(kind, q, decay, floor, reach, eta, message, work):
    """Mix new sums with the old messages: message = eta new + (1 - eta) message, (K, n).

    ``q`` holds the products of what the senders know, at any scale, and is overwritten; ``decay``
    and ``floor`` are those of the pixels, (n,); ``work`` has ``work_rows(K)`` rows of n. All are
    C-contiguous and of one type. A pixel whose q are all zero counts as one that knows nothing.
    """
    k, n = q.shape
    rows = scratch(work, k, n)
    new, weights, side = rows[:k], rows[k : 2 * k], rows[2 * k :]
    for at in range(0, n, STEP):
        part, here = slice(at, min(at + STEP, n)), slice(0, min(STEP, n - at))
        one, rate = typed(1.0, side), typed(eta, side)
        if k > 1 and (kind == POTTS or reach == 0):
            unequal = decay if kind == POTTS else floor
            potts_sum(q, unequal, rate, one, message, new, side, part)
            continue
        find_scale(q, side, one, part)
        if k == 1 or (kind == LINEAR and reach >= k - 1):
            linear_sum(q, decay, one, side, part)
            mix(message, q, part, side, rate, one - rate, part)
            continue
        if kind == LINEAR:
            cut_linear_sum(q, decay, floor, reach, one, new, side, part)
        else:
            quadratic_sum(q, decay, floor, reach, one, new, weights, side, part)
        mix(message, new, here, side, rate, one - rate, part)


@strict_kernel
def send_max(kind, q, slope, limit, eta, message, work):
    """Mix new maxima with the old messages, both logs: message = eta new + (1 - eta) message.

    New messages are shifted so that their largest entry is zero. ``q`` holds the sums of the logs
    of what the senders know, and is overwritten; ``slope`` is s of each pixel, (n,); below zero it
    may be for Potts edges only, which take no limit. Some q of every pixel must be finite.
    """
    k, n = q.shape
    side = scratch(work, k, n)[2 * k :]
    for at in range(0, n, STEP):
        part = slice(at, min(at + STEP, n))
        one, rate = typed(1.0, side), typed(eta, side)
        if kind == POTTS:
            potts_max(q, slope, rate, one, message, side, part)
        elif kind == LINEAR:
            linear_max(q, slope, limit, rate, one, message, side, part)
        else:
            quadratic_max(q, slope, limit, rate, one, message, side, part)


@strict_kernel
def send_potts_sum(q, decay, eta, message, work):
    """Mix sums over labels that are equal, or not, with the old messages."""
    k, n = q.shape
    rows = scratch(work, k, n)
    new, side = rows[:k], rows[2 * k :]
    for at in range(0, n, STEP):
        part = slice(at, min(at + STEP, n))
        potts_sum(q, decay, typed(eta, side), typed(1.0, side), message, new, side, part)


@strict_kernel
def send_linear_sum(q, decay, eta, message, work):
    """Mix sums over labels that weigh less the further they are."""
    k, n = q.shape
    side = scratch(work, k, n)[2 * k :]
    for at in range(0, n, STEP):
        part = slice(at, min(at + STEP, n))
        one, rate = typed(1.0, side), typed(eta, side)
        find_scale(q, side, one, part)
        linear_sum(q, decay, one, side, part)
        mix(message, q, part, side, rate, one - rate, part)


@strict_kernel
def send_cut_linear_sum(q, decay, floor, reach, eta, message, work):
    """Mix sums over labels that weigh less the further they are, up to a limit."""
    k, n = q.shape
    rows = scratch(work, k, n)
    new, side = rows[:k], rows[2 * k :]
    for at in range(0, n, STEP):
        part, here = slice(at, min(at + STEP, n)), slice(0, min(STEP, n - at))
        one, rate = typed(1.0, side), typed(eta, side)
        find_scale(q, side, one, part)
        cut_linear_sum(q, decay, floor, reach, one, new, side, part)
        mix(message, new, here, side, rate, one - rate, part)


@strict_kernel
def send_quadratic_sum(q, decay, floor, reach, eta, message, work):
    """Mix sums over labels that weigh less by the square of how far they are, up to a limit."""
    k, n = q.shape
    rows = scratch(work, k, n)
    new, weights, side = rows[:k], rows[k : 2 * k], rows[2 * k :]
    for at in range(0, n, STEP):
        part, here = slice(at, min(at + STEP, n)), slice(0, min(STEP, n - at))
        one, rate = typed(1.0, side), typed(eta, side)
        find_scale(q, side, one, part)
        quadratic_sum(q, decay, floor, reach, one, new, weights, side, part)
        mix(message, new, here, side, rate, one - rate, part)


@strict_kernel
def send_potts_max(q, slope, eta, message, work):
    """Mix the best of labels that are equal, or not, in logs."""
    k, n = q.shape
    side = scratch(work, k, n)[2 * k :]
    for at in range(0, n, STEP):
        part = slice(at, min(at + STEP, n))
        potts_max(q, slope, typed(eta, side), typed(1.0, side), message, side, part)


@strict_kernel
def send_linear_max(q, slope, limit, eta, message, work):
    """Mix the best of labels that lose by how far they are, up to a limit, in logs."""
    k, n = q.shape
    side = scratch(work, k, n)[2 * k :]
    for at in range(0, n, STEP):
        part = slice(at, min(at + STEP, n))
        linear_max(q, slope, limit, typed(eta, side), typed(1.0, side), message, side, part)


@strict_kernel
def send_quadratic_max(q, slope, limit, eta, message, work):
    """Mix the best of labels that lose by the square of how far they are, in logs."""
    k, n = q.shape
    side = scratch(work, k, n)[2 * k :]
    for at in range(0, n, STEP):
        part = slice(at, min(at + STEP, n))
        quadratic_max(q, slope, limit, typed(eta, side), typed(1.0, side), message, side, part)
