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
        d, f = decay[part], floor[part]
        row0, row1, row2 = side[0, here], side[1, here], side[2, here]
        row3, row4, row5 = side[3, here], side[4, here], side[5, here]
        one, rate = typed(1.0, row0), typed(eta, row0)
        if k > 1 and (kind == POTTS or reach == 0):
            unequal = d if kind == POTTS else f
            potts_sum(message, q, unequal, rate, one, new, row0, row1, row2, row3, part)
            continue
        find_scale(row0, q, one, part)
        if k == 1 or (kind == LINEAR and reach >= k - 1):
            linear_sum(q, d, one, row0, row1, row2, part)
            mix(message, q, part, row1, rate, one, part)
            continue
        if kind == LINEAR:
            cut_linear_sum(q, d, f, reach, one, new, row0, row1, row2, row3, row4, row5, part)
        else:
            quadratic_sum(q, d, f, reach, one, new, weights, row0, row1, row2, row3, part)
        mix(message, new, here, row1, rate, one, part)


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
        part, here = slice(at, min(at + STEP, n)), slice(0, min(STEP, n - at))
        s, cell = slope[part], side[6]
        row0, row1, row2 = side[0, here], side[1, here], side[2, here]
        row3, row4 = side[3, here], side[4, here]
        one, rate = typed(1.0, cell), typed(eta, cell)
        if kind == POTTS:
            potts_max(message, q, s, rate, one, row0, row1, part)
        elif kind == LINEAR:
            linear_max(message, q, s, limit, rate, one, row0, row1, part)
        else:
            quadratic_max(message, q, s, limit, rate, one, row0, row1, row2, row3, row4, cell, part)
