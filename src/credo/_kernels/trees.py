r"""Sum-product and max-product on forests: an order, two passes of messages, and beliefs.

Variables are nodes 0 … n - 1, factors nodes n … n + F - 1. A *link* is an entry of ``scope``: a
factor of two variables or more, and one of its variables. It carries two messages, both vectors
over its variable:

    outgoing(v → f) = ψ_v · Π incoming(g → v) over the other factors g of v
    incoming(f → v) = Σ ψ_f · Π outgoing(u → f) over the other variables u of f

Vectors are slots of one array, slot s beginning at start[s]: ψ_v in slot v, beliefs in n + v,
incoming in 2 n + link, outgoing in 2 n + L + link, and one to work with. ``cells · base**exponent``
is the vector, with base 2 for numbers and e for logs. Exponents are whole numbers, so that scales
add up without rounding; NaN stands for a vector that is all zero, or that was lost.

Numbers are zero or at least ``FLOOR``: nothing underflows, and each has full relative precision.
What falls below is NaN from there on, and everything has to be done again with logs.
"""

import math

import numpy as np

from credo._kernels.tiers import kernel

#: What the arithmetic is done on.
NUMBERS, LOGS, MAXIMA = 0, 1, 2
#: In the place of the link up: not reached, and reached first.
UNSEEN, ROOT = -2, -1
#: Numbers below this are about to lose digits (the smallest normal one is 2.2e-308).
FLOOR = 1e-300
#: Sums from this to one are left as they are: scaling each of them would take half of the time.
ENOUGH = 2.0**-64
#: The largest power of two by which small numbers are scaled at once: float64 holds it.
MOST = 1000


@kernel
def grow(scope_start, scope, factor, var_start, links, order, up, root):
    """Write nodes in breadth first order, and the link up from each; ``ROOT`` at a root.

    The links of v are links[var_start[v]:var_start[v + 1]]. Factors of fewer than two variables
    are not reached. Returns how many nodes are, and a link that closes a cycle, or -1.
    """
    n = var_start.size - 1
    up[:] = UNSEEN
    count = 0
    head = 0
    for first in range(-1, n):
        node = root if first < 0 else first
        if node < 0 or up[node] != UNSEEN:
            continue
        up[node] = ROOT
        order[count] = node
        count += 1
        while head < count:
            node = order[head]
            head += 1
            low = var_start[node] if node < n else scope_start[node - n]
            high = var_start[node + 1] if node < n else scope_start[node - n + 1]
            for i in range(low, high):
                link = links[i] if node < n else i
                if link != up[node]:
                    other = n + factor[link] if node < n else scope[link]
                    if up[other] != UNSEEN:
                        return count, link
                    up[other] = link
                    order[count] = other
                    count += 1
    return count, -1


@kernel
def times(x, y, mode):
    """Return a product, as numbers or as logs; NaN if it underflows."""
    if mode != NUMBERS:
        return x + y
    product = x * y
    return product if product >= FLOOR or x == 0.0 or y == 0.0 else math.nan


@kernel
def settle(cells, low, width, mode):
    """Scale numbers to a sum of at most one, or logs to a largest near zero; return the exponent.

    NaN if all are zero, or if one is lost.
    """
    total = 0.0
    largest = -math.inf
    for i in range(low, low + width):
        total += cells[i]
        largest = max(largest, cells[i])
    if mode != NUMBERS:
        if largest == -math.inf:
            return math.nan
        shift = np.rint(largest)
        for i in range(low, low + width):
            cells[i] -= shift
        return shift
    if ENOUGH <= total <= 1.0:
        return 0.0
    if not 0.0 < total < math.inf:
        return math.nan
    power = max(math.frexp(total)[1], -MOST)
    factor = math.ldexp(1.0, -power)
    shift = float(power)
    for i in range(low, low + width):
        cells[i] = times(cells[i], factor, mode)
        if math.isnan(cells[i]):
            shift = math.nan
    return shift


@kernel
def multiply(cells, low, other, at, width, mode):
    """Multiply a vector by another one, entry by entry; return the exponent that it takes."""
    for i in range(width):
        cells[low + i] = times(cells[low + i], other[at + i], mode)
    return settle(cells, low, width, mode)


@kernel
def contract(target, source, at, outer, width, inner, cells, low, mode):
    """Weigh the middle axis of (outer, width, inner) cells by a message, and sum it out.

    ``target`` may be the source itself, from its beginning.
    """
    for o in range(outer):
        for i in range(inner):
            first = at + o * width * inner + i
            total = 0.0
            largest = -math.inf
            for x in range(width):
                term = times(source[first + x * inner], cells[low + x], mode)
                if mode == NUMBERS:
                    total += term
                elif term > largest:
                    largest = term
            if mode == LOGS and largest > -math.inf:
                for x in range(width):
                    total += math.exp(source[first + x * inner] + cells[low + x] - largest)
                largest += math.log(total)
            target[o * inner + i] = total if mode == NUMBERS else largest


@kernel
def copy(cells, start, exponent, target, source):
    """Copy a slot."""
    for i in range(start[source + 1] - start[source]):
        cells[start[target] + i] = cells[start[source] + i]
    exponent[target] = exponent[source]


@kernel
def take(cells, start, exponent, target, source, mode):
    """Multiply a slot by another one; the slot to work with is as wide as the other."""
    width = min(start[target + 1] - start[target], start[source + 1] - start[source])
    exponent[target] += exponent[source]
    exponent[target] += multiply(cells, start[target], cells, start[source], width, mode)


@kernel
def run(forest, tables, store, both, mode):
    """Multiply potentials, pass messages up, and down if ``both``; write beliefs, or the roots'.

    Takes what ``grow`` wrote; the table of each factor, where tables begin, their cells and whole
    exponents; and the slots, with weights on states in place of potentials and exponents of zero,
    with room for the largest table.

    Of many messages, all but one are multiplied as those before it times those after it.
    """
    scope_start, scope, _, var_start, links, order, up = forest
    index, table_start, values, shift = tables
    cells, start, exponent, room = store
    n, n_links, count = var_start.size - 1, scope.size, order.size
    incoming, outgoing, after = 2 * n, 2 * n + n_links, 2 * (n + n_links)
    for v in range(n):
        exponent[v] = settle(cells, start[v], start[v + 1] - start[v], mode)
    for f in range(index.size):
        if scope_start[f + 1] - scope_start[f] == 1:
            v, at = scope[scope_start[f]], table_start[index[f]]
            exponent[v] += shift[index[f]]
            exponent[v] += multiply(cells, start[v], values, at, start[v + 1] - start[v], mode)
    for step in range(2 * count if both else count):
        down = step >= count
        node = order[step - count if down else count - 1 - step]
        if node >= n:  # a factor
            f = node - n
            for link in range(scope_start[f], scope_start[f + 1]):
                if (link == up[node]) == down:
                    continue
                slot, at = incoming + link, table_start[index[f]]
                outer, inner = table_start[index[f] + 1] - at, 1
                exponent[slot] = shift[index[f]]
                is_first = True
                for other in range(scope_start[f + 1] - 1, scope_start[f] - 1, -1):
                    width = start[incoming + other + 1] - start[incoming + other]
                    outer //= width
                    if other == link:
                        inner = width
                        continue
                    low = start[outgoing + other]
                    exponent[slot] += exponent[outgoing + other]
                    if is_first:
                        contract(room, values, at, outer, width, inner, cells, low, mode)
                    else:
                        contract(room, room, 0, outer, width, inner, cells, low, mode)
                    is_first = False
                for x in range(inner):
                    cells[start[slot] + x] = room[x]
                exponent[slot] += settle(cells, start[slot], inner, mode)
        elif not down and up[node] != ROOT:  # a variable, towards the root
            slot = outgoing + up[node]
            copy(cells, start, exponent, slot, node)
            for i in range(var_start[node], var_start[node + 1]):
                if links[i] != up[node]:
                    take(cells, start, exponent, slot, incoming + links[i], mode)
        elif down or not both:  # a variable that has heard all there is
            belief = n + node
            copy(cells, start, exponent, belief, node)
            if up[node] != ROOT:
                take(cells, start, exponent, belief, incoming + up[node], mode)
            for i in range(var_start[node], var_start[node + 1]):
                if links[i] != up[node]:
                    if down:
                        copy(cells, start, exponent, outgoing + links[i], belief)
                    take(cells, start, exponent, belief, incoming + links[i], mode)
            is_first = True
            for i in range(var_start[node + 1] - 1, var_start[node] - 1, -1):
                if links[i] == up[node] or not down:
                    continue
                if is_first:
                    copy(cells, start, exponent, after, incoming + links[i])
                else:
                    take(cells, start, exponent, outgoing + links[i], after, mode)
                    take(cells, start, exponent, after, incoming + links[i], mode)
                is_first = False
