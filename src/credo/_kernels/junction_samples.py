"""Draw configurations from a junction tree after its collect pass, from the roots down."""

from __future__ import annotations

from credo._kernels._jit import kernel


@kernel
def draw_down(table, table_start, row_start, parent, dim_start, dims, residual, n_states, u, out):
    """Fill out[i] with the states of draw i, from one uniform number per draw and node.

    Given its separator's states a node's row of the table is, up to scale, the probability of the
    variables that end in it.
    """
    count = parent.size
    for i in range(out.shape[0]):
        for k in range(count - 1, -1, -1):
            rows = row_start[k + 1] - row_start[k]
            width = (table_start[k + 1] - table_start[k]) // rows
            a, b = dim_start[k], dim_start[k + 1]
            cut = b - residual[k]
            row = 0
            for j in range(a, cut):
                row = row * n_states[dims[j]] + out[i, dims[j]]
            first = table_start[k] + row * width
            total = 0.0
            for c in range(first, first + width):
                total += table[c]
            left = u[i, k] * total
            chosen = -1
            for c in range(first, first + width):
                if table[c] > 0.0:
                    chosen = c - first
                    left -= table[c]
                    if left < 0.0:
                        break
            for j in range(b - 1, cut - 1, -1):
                out[i, dims[j]] = chosen % n_states[dims[j]]
                chosen //= n_states[dims[j]]
