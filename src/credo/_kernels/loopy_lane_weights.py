"""Weights on states, row by row: node potentials, or their logs, and what was observed."""

from __future__ import annotations

import math

from credo._kernels.tiers import kernel


@kernel
def tempered(value, top, are_logs, coolness):
    """Divide a potential, or its log, by the largest one, and raise it to a power."""
    if are_logs:
        return math.exp((value - top) * coolness) if value > -math.inf else 0.0
    share = value / top
    return share**coolness if coolness != 1.0 and share > 0.0 else share


@kernel
def weigh(row, base, given, potentials, are_logs, coolness, out, i):
    """Multiply potentials, the largest being one, into row i; give their scale, and any loss.

    ``given`` has for each variable its first cell, its number of states and its first potential.
    """
    log_scale, is_lost = 0.0, False
    for c in range(base.size):
        out[i, c] = base[c]
    for g in range(given.shape[0]):
        cell, k, at = given[g, 0], given[g, 1], given[g, 2]
        top = potentials[row, at]
        for x in range(1, k):
            top = max(top, potentials[row, at + x])
        none = -math.inf if are_logs else 0.0
        if top == none:
            top = 0.0 if are_logs else 1.0
        log_scale += (top if are_logs else math.log(top)) * coolness
        for x in range(k):
            share = tempered(potentials[row, at + x], top, are_logs, coolness)
            is_lost = is_lost or (share == 0.0 and potentials[row, at + x] > none)
            out[i, cell + x] *= share
    return log_scale, is_lost


@kernel
def weigh_rows(
    rows, base, given, potentials, are_logs, coolness, seen, codes, out, log_scale, are_lost
):
    """Write the weights of rows; ``seen`` has the first cell and the states of each column."""
    for i in range(rows.size):
        log_scale[i], are_lost[i] = weigh(
            rows[i], base, given, potentials, are_logs, coolness, out, i
        )
        for e in range(seen.shape[0]):
            state = codes[rows[i], e]
            for x in range(seen[e, 1]):
                if state >= 0 and x != state:
                    out[i, seen[e, 0] + x] = 0.0
