r"""Sum-product and max-product on forests: two passes of messages, and beliefs.

Nodes, links and the order are those of ``tree_order``. A link carries two messages, both vectors
over its variable:

    outgoing(v → f) = ψ_v · Π incoming(g → v) over the other factors g of v
    incoming(f → v) = Σ ψ_f · Π outgoing(u → f) over the other variables u of f

An observed variable has one state. If the evidence ``cut`` the graph, its links are closed.

Vectors are slots of one array, slot s beginning at start[s]: the potential of v in slot v,
incoming in n + link, outgoing in n + L + link, then two to work with. ``cells · base**exponent``
is the vector, with base 2 in the linear domain and e in the log domain. Exponents are whole
numbers, so that scales add up without rounding.

In the linear domain everything is a sum or a product of numbers that are zero or at least
``FLOOR``: nothing underflows, and each number has full relative precision. As soon as that cannot
be kept up, the run stops; it has to be done again with logs.
"""

import math

import numpy as np

from credo._kernels.tiers import kernel
from credo._kernels.tree_order import OPEN, ROOT, SHIFT, SMALLEST, STRIDE, WIDTH

#: What the arithmetic is done on.
LINEAR, LOG_SUM, LOG_MAX = 0, 1, 2

#: Numbers below this are about to lose digits (the smallest normal one is 2.2e-308).
FLOOR = 1e-300
#: Sums from this to one are left as they are: scaling each of them would take half of the time.
ENOUGH = 2.0**-64

#: What is known of an axis of the factor at hand, after its width and stride.
SOURCE, PLACE, OFFSET = 2, 3, 4


@kernel
def _settle(cells, low, width, exponent, slot, mode):
    """Scale numbers to a sum of at most one, or logs to a largest near zero; tell if that went."""
    total = 0.0
    least = math.inf
    largest = -math.inf
    for i in range(low, low + width):
        total += cells[i]
        largest = max(largest, cells[i])
        least = cells[i] if 0.0 < cells[i] < least else least
    if mode != LINEAR and largest > -math.inf:
        shift = np.rint(largest)
        exponent[slot] += shift
        for i in range(low, low + width):
            cells[i] -= shift
        return True
    if mode != LINEAR or not 0.0 < total < math.inf:
        return False
    if not ENOUGH <= total <= 1.0:
        power = math.frexp(total)[1]
        factor = math.ldexp(1.0, -power)
        exponent[slot] += power
        least *= factor
        for i in range(low, low + width):
            cells[i] *= factor
    return least >= FLOOR


@kernel
def _copy(cells, start, exponent, target, source, width):
    """Copy a slot."""
    for i in range(width):
        cells[start[target] + i] = cells[start[source] + i]
    exponent[target] = exponent[source]


@kernel
def _multiply(cells, start, exponent, target, source, width, mode):
    """Multiply a slot by another one, entry by entry; tell if that went."""
    a, b = start[target], start[source]
    exponent[target] += exponent[source]
    for i in range(width):
        x, y = cells[a + i], cells[b + i]
        cells[a + i] = x * y if mode == LINEAR else x + y
        if mode == LINEAR and x * y < FLOOR and x > 0.0 and y > 0.0:
            return False
    return _settle(cells, a, width, exponent, target, mode)


@kernel
def _sum(values, cells, axes, weights, last, out, target, totals, mode):
    """Add up a factor, weighed along all axes but ``out``, to the cells from ``target`` on.

    Logs are added up as largest + log Σ exp(log - largest), with the largest so far; for maxima it
    is the answer.
    """
    axis = 0
    while axis >= 0:
        for i in range(axis, last):
            source, place = axes[SOURCE, i], axes[PLACE, i]
            axes[OFFSET, i + 1] = axes[OFFSET, i] + place * axes[STRIDE, i]
            weights[i + 1] = weights[i]
            if source >= 0 and mode == LINEAR:
                weights[i + 1] *= cells[source + place]
            elif source >= 0:
                weights[i + 1] += cells[source + place]
        weight, offset, source = weights[last], axes[OFFSET, last], axes[SOURCE, last]
        if mode == LINEAR and out == last:
            for x in range(axes[WIDTH, last]):
                cells[target + x] += weight * values[offset + x]
        elif mode == LINEAR:
            total = 0.0
            for x in range(axes[WIDTH, last]):
                total += values[offset + x] * (cells[source + x] if source >= 0 else 1.0)
            cells[target + axes[PLACE, out]] += weight * total
        else:
            for x in range(axes[WIDTH, last]):
                term = weight + values[offset + x] + (cells[source + x] if source >= 0 else 0.0)
                at = x if out == last else axes[PLACE, out]
                largest = cells[target + at]
                if term > largest:
                    cells[target + at] = term
                    if mode == LOG_SUM:
                        totals[at] = totals[at] * math.exp(largest - term) + 1.0
                elif mode == LOG_SUM and term > -math.inf:
                    totals[at] += math.exp(term - largest)
        axis = last - 1
        while axis >= 0:
            axes[PLACE, axis] += 1
            if axes[PLACE, axis] < axes[WIDTH, axis]:
                break
            axes[PLACE, axis] = 0
            axis -= 1


@kernel
def _send(
    scope_start,
    of_link,
    base,
    index,
    values,
    of_table,
    cells,
    start,
    exponent,
    axes,
    weights,
    totals,
    link,
    f,
    mode,
):
    """Write what a factor sends along a link, from what it hears along others; tell if it went."""
    low, last = scope_start[f], scope_start[f + 1] - scope_start[f] - 1
    n_links = of_link.shape[1]
    incoming = start.size - 3 - 2 * n_links
    slot, width = incoming + link, of_link[WIDTH, link]
    exponent[slot] = of_table[SHIFT, index[f]]
    least = of_table[SMALLEST, index[f]]
    axes[OFFSET, 0] = base[f]
    weights[0] = 1.0 if mode == LINEAR else 0.0
    for axis in range(last + 1):
        a = low + axis
        axes[PLACE, axis] = 0
        axes[WIDTH, axis] = of_link[WIDTH, a]
        axes[STRIDE, axis] = of_link[STRIDE, a]
        axes[SOURCE, axis] = -1
        if of_link[OPEN, a] and a != link:
            other = incoming + n_links + a
            axes[SOURCE, axis] = start[other]
            exponent[slot] += exponent[other]
            smaller = 1.0
            for i in range(start[other], start[other + 1]):
                smaller = cells[i] if 0.0 < cells[i] < smaller else smaller
            least *= smaller
    if mode == LINEAR and least < FLOOR:
        return False
    target = start[slot]
    for x in range(width):
        cells[target + x] = 0.0 if mode == LINEAR else -math.inf
        totals[x] = 0.0
    _sum(values, cells, axes, weights, last, link - low, target, totals, mode)
    for x in range(width):
        if totals[x] > 0.0:
            cells[target + x] += math.log(totals[x])
    return _settle(cells, target, width, exponent, slot, mode)


@kernel
def _tell(var_start, links, up, cells, start, exponent, v, down, mode):
    """Write what v sends up, or what it sends down; and its belief, to the first work slot.

    All but one of many messages are multiplied as those before it times those after it. Tells if
    that went.
    """
    incoming, outgoing = start.size - 3 - 2 * links.size, start.size - 3 - links.size
    work, after = start.size - 3, start.size - 2
    width = start[v + 1] - start[v]
    slot = work if down or up[v] < 0 else outgoing + up[v]
    _copy(cells, start, exponent, slot, v, width)
    went = True
    if down and up[v] >= 0:
        went &= _multiply(cells, start, exponent, slot, incoming + up[v], width, mode)
    for i in range(var_start[v], var_start[v + 1]):
        if links[i] != up[v]:
            if down:
                _copy(cells, start, exponent, outgoing + links[i], slot, width)
            went &= _multiply(cells, start, exponent, slot, incoming + links[i], width, mode)
    if not down:
        return went
    is_last = True
    for i in range(var_start[v + 1] - 1, var_start[v] - 1, -1):
        if links[i] == up[v]:
            continue
        slot = outgoing + links[i]
        if is_last:
            _copy(cells, start, exponent, after, incoming + links[i], width)
        else:
            went &= _multiply(cells, start, exponent, slot, after, width, mode)
            went &= _multiply(cells, start, exponent, after, incoming + links[i], width, mode)
        is_last = False
    return went


@kernel
def run_passes(
    scope_start,
    of_link,
    base,
    index,
    values,
    of_table,
    cells,
    start,
    exponent,
    axes,
    weights,
    totals,
    var_start,
    links,
    order,
    up,
    both,
    mode,
    beliefs,
):
    """Pass messages up, and down if ``both``; write beliefs, laid out as node potentials are.

    ``of_link`` is (3, L) and ``of_table`` (2, T), as in ``tree_order``; ``axes`` is (5, A + 1),
    ``weights`` (A + 1,) and ``totals`` (K,) for factors of at most A variables of at most K states.
    Beliefs come without exponents. Tells if that went, and the sum of the exponents of the roots:
    logs fail only where all configurations have weight zero.
    """
    n, count = var_start.size - 1, order.size
    work = start.size - 3
    exponents = 0.0
    went = True
    for step in range(2 * count if both else count):
        down = step >= count
        node = order[step - count if down else count - 1 - step]
        if node < n:
            went &= _tell(var_start, links, up, cells, start, exponent, node, down, mode)
            if up[node] == ROOT and not down:
                exponents += exponent[work]
            if up[node] == ROOT or down:
                for i in range(start[node + 1] - start[node]):
                    beliefs[start[node] + i] = cells[start[work] + i]
        else:
            for link in range(scope_start[node - n], scope_start[node - n + 1]):
                if of_link[OPEN, link] and (link == up[node]) != down:
                    went &= _send(
                        scope_start,
                        of_link,
                        base,
                        index,
                        values,
                        of_table,
                        cells,
                        start,
                        exponent,
                        axes,
                        weights,
                        totals,
                        link,
                        node - n,
                        mode,
                    )
        if not went:
            return False, exponents
    return True, exponents
