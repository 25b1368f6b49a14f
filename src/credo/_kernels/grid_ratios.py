"""Messages of two labels on grids, as ratios of their two numbers; no exponential, no logarithm.

A picture is cut into slabs: the rows of a plane, the planes of a volume. A slab is a line of
``length`` numbers. An axis has an offset within the line, and either stays in its slab or leads to
the next one. ``messages[slab, 2 * axis]`` are those that travel towards higher positions,
``messages[slab, 2 * axis + 1]`` those that come back; each stands where it arrives, and so does the
weight of its edge. Lines of products have ``margin`` ones at either end, in the place of neighbours
that do not exist: whatever the weight, one gives a message of one.
"""

from __future__ import annotations

from credo._kernels._jit import strict_kernel


@strict_kernel
def flood(phi, messages, weights, axes, outside, margin, eta, maximum, colours, here, held):
    """Make a sweep for each of ``colours``, one slab behind the other, so that slabs stay in cache.

    Sweep s + 1 works on a slab as soon as sweep s has left the next one. ``axes`` has a row for
    each axis: its offset, and whether it leads to the next slab; ``outside`` are the positions of
    a slab that are no pixels. A colour of -1 updates all messages; 0 and 1 only those that go to
    pixels of that colour of the checkerboard. ``here`` and ``held`` are room to work in, of ones.
    """
    slabs = len(phi)
    n_axes, levels = len(axes), len(colours)
    for step in range(slabs + levels - 1):
        for level in range(levels):
            slab = step - level
            if 0 <= slab < slabs:
                before, after = held[level, 1 - slab % 2], held[level, slab % 2]
                for way in range(2 * n_axes):
                    is_held = way % 2 == 0 and axes[way // 2, 1] == 1
                    line = after[way // 2] if is_held else here[way]
                    _gather(slab, way, phi, messages, outside, margin, line)
                for way in range(2 * n_axes):
                    offset, is_cross = axes[way // 2, 0], axes[way // 2, 1] == 1
                    line = before[way // 2] if way % 2 == 0 and is_cross else here[way]
                    begin = margin + offset if way % 2 else margin - offset
                    target = slab - 1 if way % 2 and is_cross else slab
                    if slab > 0 or not is_cross:
                        _spread(
                            target, way, messages, weights, line, begin, eta, maximum,
                            colours[level],
                        )  # fmt: skip


@strict_kernel
def sweep(phi, messages, weights, axes, outside, margin, eta, maximum, backward, here):
    """Pass messages from slab to slab, each made of those that have just arrived."""
    slabs = len(phi)
    way = 1 if backward else 0
    for step in range(slabs - 1):
        source = slabs - 1 - step if backward else step
        target = source + 1 - 2 * way
        for axis in range(len(axes)):
            if axes[axis, 1]:
                begin = margin + (axes[axis, 0] if backward else -axes[axis, 0])
                _gather(source, 2 * axis + way, phi, messages, outside, margin, here[0])
                _spread(target, 2 * axis + way, messages, weights, here[0], begin, eta, maximum, -1)


@strict_kernel
def _spread(slab, way, messages, weights, source, begin, eta, maximum, colour):
    """Send to a slab one way; ``source`` is a line of products, read from ``begin`` on."""
    own = slab if weights.shape[0] > 1 else 0
    message = messages[slab, way]
    product = source[begin : begin + len(message)]
    send(product, weights[own, way], message, eta, maximum, colour, slab)


@strict_kernel
def _gather(slab, way, phi, messages, outside, margin, line):
    """Multiply what each pixel knows, but for what it has from the pixel that it will send to."""
    length = phi.shape[1]
    out = line[margin : margin + length]
    only = messages[slab, way]
    axis, n_axes = way // 2, messages.shape[1] // 2
    if n_axes == 2:
        left, right = messages[slab, 2 - 2 * axis], messages[slab, 3 - 2 * axis]
        _product(phi[slab], left, right, only, out)
    else:
        known = phi[slab]
        for other in range(n_axes):
            if other != axis:
                _multiply(known, messages[slab, 2 * other], messages[slab, 2 * other + 1], out)
                known = out
        for j in range(length):
            out[j] = known[j] * only[j]
    for position in outside:
        out[position] = 1


@strict_kernel
def _product(a, b, c, d, out):
    """Multiply four lines; a loop that wrote to two lines would not be vectorised."""
    for j in range(len(out)):
        out[j] = a[j] * (b[j] * c[j]) * d[j]


@strict_kernel
def _multiply(a, b, c, out):
    """Multiply three lines."""
    for j in range(len(out)):
        out[j] = a[j] * (b[j] * c[j])


@strict_kernel
def send(product, weight, message, eta, maximum, colour, parity):
    """Update a line of messages: the new one, of which both numbers sum to one, and the old, mixed.

    The ratio of a mixture of probabilities is one fraction: with x / y the new ratio and r the old,
    (eta x (1 + r) + (1 - eta) r (x + y)) / (eta y (1 + r) + (1 - eta) (x + y)).
    """
    one = eta / eta
    keep = one - eta
    if colour >= 0:
        _send_some(product, weight, message, eta, maximum, colour + parity)
    elif maximum:
        for j in range(len(message)):
            q, a, r = product[j], weight[j], message[j]
            x = max(one, a * q)
            y = max(a, q)
            share, rest = eta * (one + r), keep * (x + y)
            message[j] = (x * share + r * rest) / (y * share + rest)
    else:
        for j in range(len(message)):
            q, a, r = product[j], weight[j], message[j]
            x, y = a * q + one, q + a
            share, rest = eta * (one + r), keep * (x + y)
            message[j] = (x * share + r * rest) / (y * share + rest)


@strict_kernel
def _send_some(product, weight, message, eta, maximum, first):
    """Update every second message of a line, from the first or from the second on.

    All are computed and half of them kept, which is quicker than to skip every other one.
    """
    one = eta / eta
    keep = one - eta
    first = first % 2
    for j in range(len(message)):
        q, a, r = product[j], weight[j], message[j]
        if maximum:
            x = max(one, a * q)
            y = max(a, q)
        else:
            x, y = a * q + one, q + a
        share, rest = eta * (one + r), keep * (x + y)
        new = (x * share + r * rest) / (y * share + rest)
        message[j] = new if j % 2 == first else r
