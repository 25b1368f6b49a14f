"""Draw configurations from a junction tree after its collect pass, from the roots down."""

from __future__ import annotations

import numpy as np

from credo._kernels.junction_decode import put, row_of
from credo._kernels.tiers import kernel


@kernel
def draw_down(table, table_start, row_start, parent, dim_start, dims, residual, n_states, u, out):
    """Fill out[i] with the states of draw i, from one uniform number per draw and node.

    Given its separator's states a node's row of the table is, up to scale, the probability of the
    variables that end in it.
    """
    for i in range(out.shape[0]):
        states = out[i]
        for k in range(parent.size - 1, -1, -1):
            rows = row_start[k + 1] - row_start[k]
            width = (table_start[k + 1] - table_start[k]) // rows
            row = row_of(k, dim_start, dims, residual, n_states, states)
            first = table_start[k] + row * width
            total = 0.0
            for c in range(first, first + width):
                total += table[c]
            left = u[i, k] * total
            chosen = np.int64(-1)
            for c in range(first, first + width):
                if table[c] > 0.0:
                    chosen = c - first
                    left -= table[c]
                    if left < 0.0:
                        break
            put(k, chosen, dim_start, dims, residual, n_states, states)
