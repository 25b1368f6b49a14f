r"""Sequential tree-reweighted max-product, in logs: sweeps over the nodes of a field of pairs.

Nodes are visited in order and back. A pair has one message at a time, to the end that is visited
next. With the message m of a pair (i, j) that comes from below and the one it is replaced by on the
way back,

    D_i(x)  = θ_i(x) + Σ messages to i
    m'(x_j) = max_x γ_i D_i(x) - m(x) + θ_ij(x, x_j)

less its largest entry, with γ_i = 1 / max(pairs to later nodes, pairs to earlier nodes). States
with D = -∞ have no possible configuration. What is subtracted adds up to an upper bound on every
configuration's score, because a node hands on no more than the whole of D_i.

A pair has a table over (lower, higher) node, or ties a variable to a cluster, whose states stand
for cells of a larger table: ``stride`` then tells how the variable's state is read from the number
of the cell, ``codes``; it is negative if the cluster is the lower node. Messages have room for the
longer of both ends.
"""

import math

import numpy as np

from credo._kernels.tiers import kernel

#: States whose log scores are nearer than this are tied, and the first is taken. On frustrated
#: fields messages settle at ties, which the last bit of a logarithm would decide otherwise, and
#: processors differ in that bit. Thousands of logs, added up, are rounded by some 1e-12.
_NEAR = 1e-9


@kernel
def add_pairs(logs, cell_start, rows, columns, flipped, target, tables):
    """Add the tables of factors to those of their pairs, with the lower variable's axis first."""
    for f in range(target.shape[0]):
        for x in range(rows[f]):
            for y in range(columns[f]):
                at = y * rows[f] + x if flipped[f] else x * columns[f] + y
                tables[target[f] + at] += logs[cell_start[f] + x * columns[f] + y]


@kernel
def leaves(n, pairs, order, edge):
    """List nodes that hang by one pair when their turn comes, and that pair; give their number.

    The last ones hang by none, and have the pair -1. The neighbours of a node are kept as their
    exclusive or: of a leaf, it is the neighbour.
    """
    degree = np.zeros(n, np.int64)
    others = np.zeros(n, np.int64)
    through = np.zeros(n, np.int64)
    for e in range(pairs.shape[0]):
        a, b = pairs[e, 0], pairs[e, 1]
        degree[a] += 1
        degree[b] += 1
        others[a] ^= b
        others[b] ^= a
        through[a] ^= e
        through[b] ^= e
    count = np.int64(0)
    for i in range(n):
        leaf = np.int64(i)
        while degree[leaf] == 1:
            order[count] = leaf
            edge[count] = through[leaf]
            count += 1
            above = others[leaf]
            degree[leaf] = -1
            degree[above] -= 1
            others[above] ^= leaf
            through[above] ^= through[leaf]
            if above > i:
                break  # its turn comes
            leaf = above
    for i in range(n):
        if degree[i] == 0:
            order[count] = i
            edge[count] = -1
            count += 1
    return count


@kernel
def _carry(here, size, to, low_first, table, stride, tables, codes, from_code, to_code, out, at):
    """Set out(y) to the maximum over x of here(x) + table(x, y), less the largest; give that."""
    largest = -math.inf
    for y in range(to):
        best = -math.inf
        if stride == 0 and low_first:
            for x in range(size):
                best = max(best, here[x] + tables[table + x * to + y])
        elif stride == 0:
            for x in range(size):
                best = max(best, here[x] + tables[table + y * size + x])
        elif (stride > 0) == low_first:
            best = here[codes[to_code + y] // abs(stride) % size]
        out[at + y] = best
        largest = max(largest, best)
    if stride != 0 and (stride > 0) != low_first:
        for x in range(size):
            y = codes[from_code + x] // abs(stride) % to
            out[at + y] = max(out[at + y], here[x])
            largest = max(largest, here[x])
    if largest > -math.inf:
        for y in range(to):
            out[at + y] -= largest
    return largest


@kernel
def absorb_leaves(order, edge, pairs, n_states, start, values, codes, stride, table, tables):
    """Add the best that each leaf can do to the node above; give what is subtracted."""
    widest = 1
    for i in range(n_states.shape[0]):
        widest = max(widest, n_states[i])
    here, out = np.empty(widest), np.empty(widest)
    rest = 0.0
    for k in range(order.shape[0]):
        i, e = order[k], edge[k]
        if e < 0:
            largest = -math.inf
            for x in range(n_states[i]):
                largest = max(largest, values[start[i] + x])
            rest += largest
            continue
        is_low = pairs[e, 0] == i
        above = pairs[e, 1] if is_low else pairs[e, 0]
        for x in range(n_states[i]):
            here[x] = values[start[i] + x]
        rest += _carry(
            here, n_states[i], n_states[above], is_low, table[e], stride[e], tables, codes,
            start[i], start[above], out, 0,
        )  # fmt: skip
        for x in range(n_states[above]):
            values[start[above] + x] += out[x]
    return rest


@kernel
def _entry(x, y, high_size, table, stride, tables, low_code, high_code, codes, low_size):
    """Give the entry of a pair for state x of the lower node and y of the higher one."""
    if stride == 0:
        return tables[table + x * high_size + y]
    if stride > 0:
        fits = codes[high_code + y] // stride % low_size == x
    else:
        fits = codes[low_code + x] // -stride % high_size == y
    return 0.0 if fits else -math.inf


@kernel
def condition(chosen, states, pairs, n_states, start, values, codes, stride, table, tables):
    """Add the entries of the pairs with one chosen end, the other in its state, to that end."""
    for e in range(pairs.shape[0]):
        low, high = pairs[e, 0], pairs[e, 1]
        if chosen[low] == chosen[high]:
            continue
        i = low if chosen[low] else high
        for x in range(n_states[i]):
            values[start[i] + x] += _entry(
                x if low == i else states[low], x if high == i else states[high],
                n_states[high], table[e], stride[e], tables, start[low], start[high], codes,
                n_states[low],
            )  # fmt: skip


@kernel
def decode_leaves(
    states, order, edge, pairs, n_states, start, values, codes, stride, table, tables
):
    """Set the states of the leaves, last first, given those of the nodes above them."""
    for k in range(order.shape[0] - 1, -1, -1):
        i, e = order[k], edge[k]
        best, largest = 0, -math.inf
        for x in range(n_states[i]):
            score = values[start[i] + x]
            if e >= 0:
                low, high = pairs[e, 0], pairs[e, 1]
                score += _entry(
                    x if low == i else states[low], x if high == i else states[high],
                    n_states[high], table[e], stride[e], tables, start[low], start[high], codes,
                    n_states[low],
                )  # fmt: skip
            if score > largest:
                best, largest = x, score
        states[i] = best


@kernel
def _add_code(size, state, is_cluster, step, other_size, code, codes, own):
    """Add zero to the states that fit the other node's state, minus infinity to others."""
    for x in range(size):
        if is_cluster:
            fits = codes[code + x] // step % other_size == state
        else:
            fits = codes[code + state] // step % size == x
        if not fits:
            own[x] = -math.inf


@kernel
def _best(size, own, coming, total):
    """Find the best state given earlier states and messages of what comes; else by messages."""
    best, largest = 0, -math.inf
    for x in range(size):
        if own[x] + coming[x] > largest + _NEAR:
            best, largest = x, own[x] + coming[x]
    if largest == -math.inf:
        for x in range(size):
            if total[x] > largest:
                best, largest = x, total[x]
    return best


@kernel
def sweep(
    forward, widest, n_states, start, values, codes, low, high, stride, table, tables,
    ahead_start, ahead, behind_start, behind, gamma, message, message_at, states, parts,
):  # fmt: skip
    """Visit all nodes once; write their states and parts of the bound; give the score of these.

    ``ahead`` are the pairs of each node with nodes that come later, ``behind`` those with earlier
    ones. The bound is the sum of the parts. It stops where nothing is possible: a part is -inf.
    All is written out here, because a call with so many arrays costs more than a small table.
    """
    total, here = np.empty(widest), np.empty(widest)
    own, coming = np.empty(widest), np.empty(widest)
    nodes = n_states.shape[0]
    score = 0.0
    for turn in range(nodes):
        p = turn if forward else nodes - 1 - turn
        size = n_states[p]
        for x in range(size):
            coming[x] = 0.0
            own[x] = values[start[p] + x]
        for k in range(ahead_start[p], ahead_start[p + 1]):
            for x in range(size):
                coming[x] += message[message_at[ahead[k]] + x]
        for x in range(size):
            total[x] = own[x] + coming[x]
        for k in range(behind_start[p], behind_start[p + 1]):
            e = behind[k]
            for x in range(size):
                total[x] += message[message_at[e] + x]
            other = low[e] if forward else high[e]
            if stride[e] != 0:
                mine = (stride[e] > 0) == forward
                code = start[p] if mine else start[other]
                _add_code(
                    size, states[other], mine, abs(stride[e]), n_states[other], code, codes, own
                )
                continue
            step = 1 if forward else n_states[other]
            cell = table[e] + states[other] * (size if forward else 1)
            for x in range(size):
                own[x] += tables[cell + x * step]
        states[p] = _best(size, own, coming, total)
        score += own[states[p]]
        part = -math.inf
        for x in range(size):
            part = max(part, total[x])
        for x in range(size):
            total[x] = gamma[p] * (total[x] - part) if total[x] > -math.inf else -math.inf
        for k in range(ahead_start[p], ahead_start[p + 1]):
            at, other = message_at[ahead[k]], high[ahead[k]] if forward else low[ahead[k]]
            for x in range(size):
                here[x] = total[x] - message[at + x] if total[x] > -math.inf else -math.inf
            part += _carry(
                here, size, n_states[other], forward, table[ahead[k]], stride[ahead[k]], tables,
                codes, start[p], start[other], message, at,
            )  # fmt: skip
        parts[p] = part
        if part == -math.inf:
            return part
    return score


@kernel
def sweep_two(
    forward, values, low, high, table, tables, ahead_start, ahead, behind_start, behind, gamma,
    message, states, parts,
):  # fmt: skip
    """Do the same where all nodes have two states and all pairs tables."""
    nodes = gamma.shape[0]
    score = 0.0
    s, t = (2, 1) if forward else (1, 2)
    for step in range(nodes):
        p = step if forward else nodes - 1 - step
        own0, own1 = values[2 * p], values[2 * p + 1]
        coming0, coming1 = 0.0, 0.0
        for k in range(ahead_start[p], ahead_start[p + 1]):
            at = 2 * ahead[k]
            coming0 += message[at]
            coming1 += message[at + 1]
        total0, total1 = own0 + coming0, own1 + coming1
        for k in range(behind_start[p], behind_start[p + 1]):
            e = behind[k]
            total0 += message[2 * e]
            total1 += message[2 * e + 1]
            cell = table[e] + s * states[low[e] if forward else high[e]]
            own0 += tables[cell]
            own1 += tables[cell + t]
        best = own1 + coming1 > own0 + coming0 + _NEAR or (
            max(own0 + coming0, own1 + coming1) == -math.inf and total1 > total0
        )
        states[p] = 1 if best else 0
        score += own1 if best else own0
        part = max(total0, total1)
        if part == -math.inf:
            parts[p] = part
            return part
        total0, total1 = gamma[p] * (total0 - part), gamma[p] * (total1 - part)
        for k in range(ahead_start[p], ahead_start[p + 1]):
            at, cell = 2 * ahead[k], table[ahead[k]]
            here0 = total0 - message[at] if total0 > -math.inf else total0
            here1 = total1 - message[at + 1] if total1 > -math.inf else total1
            there0 = max(here0 + tables[cell], here1 + tables[cell + s])
            there1 = max(here0 + tables[cell + t], here1 + tables[cell + 3])
            largest = max(there0, there1)
            part += largest
            message[at] = there0 - largest if largest > -math.inf else 0.0
            message[at + 1] = there1 - largest if largest > -math.inf else 0.0
        parts[p] = part
        if part == -math.inf:
            return part
    return score
