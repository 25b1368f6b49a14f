"""Messages of two labels on grids, as ratios of their two numbers; no exponential, no logarithm.

A picture is cut into slabs: the rows of a plane, the planes of a volume. A slab is a line of
numbers. An axis has an offset within the line, and either stays in its slab or leads to the next
one. ``messages[slab, 2 * axis]`` are those that travel towards higher positions,
``messages[slab, 2 * axis + 1]`` those that come back; each stands where it arrives, and so does the
weight of its edge. Rooms are lines of products with ``margin`` ones at either end, in place of
neighbours that do not exist: whatever the weight, one gives a message of one.

Lines are not cut out of arrays, which costs as much as two hundred pixels, but found by indices;
these have no sign, since an index that might count from the end keeps loops from being vectorised.
A loop writes to one line only, for the same reason.
"""

from __future__ import annotations

import numpy as np

from credo._kernels.tiers import kernel


@kernel(visits=20)
def flood(phi, messages, weights, axes, outside, margin, eta, maximum, colours, rooms):
    """Make a sweep for each of ``colours``, one slab behind the other, so that slabs stay in cache.

    Sweep s + 1 works on a slab as soon as sweep s has left the next one. ``axes`` has a row for
    each axis: its offset, and whether it leads to the next slab; ``outside`` are the positions of
    a slab that are no pixels. A colour of -1 updates all messages; 0 and 1 only those that go to
    pixels of that colour of the checkerboard. There are rooms for each direction, and two for each
    axis and sweep: what goes to the next slab is held there until that has gathered.
    """
    slabs, n_axes, levels = len(phi), len(axes), len(colours)
    for step in range(slabs + levels - 1):
        for level in range(levels):
            slab = step - level
            if slab < 0 or slab >= slabs:
                continue
            for way in range(2 * n_axes):
                is_held = way % 2 == 0 and axes[way // 2, 1] == 1
                held = 2 * n_axes + (2 * level + slab % 2) * n_axes + way // 2
                room = held if is_held else way
                _gather(slab, way, phi, messages, outside, margin, rooms, room)
            for way in range(2 * n_axes):
                offset, is_cross = axes[way // 2, 0], axes[way // 2, 1] == 1
                held = 2 * n_axes + (2 * level + 1 - slab % 2) * n_axes + way // 2
                room = held if way % 2 == 0 and is_cross else way
                begin = margin + offset if way % 2 else margin - offset
                target = slab - 1 if way % 2 and is_cross else slab
                if slab > 0 or not is_cross:
                    _send(
                        target, way, messages, weights, rooms, room, begin, eta, maximum,
                        colours[level],
                    )  # fmt: skip


@kernel
def sweep(phi, messages, weights, axes, outside, margin, eta, maximum, backward, rooms):
    """Pass messages from slab to slab, each made of those that have just arrived."""
    slabs = len(phi)
    way = 1 if backward else 0
    for step in range(slabs - 1):
        source = slabs - 1 - step if backward else step
        target = source + 1 - 2 * way
        for axis in range(len(axes)):
            if axes[axis, 1]:
                begin = margin + (axes[axis, 0] if backward else -axes[axis, 0])
                _gather(source, 2 * axis + way, phi, messages, outside, margin, rooms, 0)
                _send(target, 2 * axis + way, messages, weights, rooms, 0, begin, eta, maximum, -1)


@kernel
def _gather(slab, way, phi, messages, outside, margin, rooms, room):
    """Multiply what each pixel knows, but for what it has from the pixel that it will send to."""
    here, only, to = np.uint64(slab), np.uint64(way), np.uint64(room)
    start, length = np.uint64(margin), np.uint64(phi.shape[1])
    axis, n_axes = way // 2, messages.shape[1] // 2
    if n_axes == 2:
        left, right = np.uint64(2 - 2 * axis), np.uint64(3 - 2 * axis)
        for j in range(length):
            others = messages[here, left, j] * messages[here, right, j]
            rooms[to, start + j] = phi[here, j] * others * messages[here, only, j]
    else:
        for j in range(length):
            rooms[to, start + j] = phi[here, j]
        for other in range(n_axes):
            left, right = np.uint64(2 * other), np.uint64(2 * other + 1)
            if other != axis:
                for j in range(length):
                    rooms[to, start + j] *= messages[here, left, j] * messages[here, right, j]
        for j in range(length):
            rooms[to, start + j] *= messages[here, only, j]
    for position in outside:
        rooms[to, start + np.uint64(position)] = 1


@kernel
def _send(slab, way, messages, weights, rooms, room, begin, eta, maximum, colour):
    """Update a line of messages: the new one, of which both numbers sum to one, and the old, mixed.

    The ratio of a mixture of probabilities is one fraction: with x / y the new ratio and r the old,
    (eta x (1 + r) + (1 - eta) r (x + y)) / (eta y (1 + r) + (1 - eta) (x + y)). It is written once
    for sums, once for maxima and once for a colour, of which all messages are computed and half of
    them kept: a loop that chose among these would not be vectorised.
    """
    here, to, start, own = np.uint64(slab), np.uint64(way), np.uint64(begin), np.uint64(0)
    source, length = np.uint64(room), np.uint64(messages.shape[2])
    if weights.shape[0] > 1:
        own = here
    one = eta / eta
    keep = one - eta
    if colour >= 0:
        first, two = np.uint64((colour + slab) % 2), np.uint64(2)
        for j in range(length):
            q, a, r = rooms[source, start + j], weights[own, to, j], messages[here, to, j]
            if maximum:
                x = max(one, a * q)
                y = max(a, q)
            else:
                x, y = a * q + one, q + a
            share, rest = eta * (one + r), keep * (x + y)
            new = (x * share + r * rest) / (y * share + rest)
            messages[here, to, j] = new if j % two == first else r
    elif maximum:
        for j in range(length):
            q, a, r = rooms[source, start + j], weights[own, to, j], messages[here, to, j]
            x = max(one, a * q)
            y = max(a, q)
            share, rest = eta * (one + r), keep * (x + y)
            messages[here, to, j] = (x * share + r * rest) / (y * share + rest)
    else:
        for j in range(length):
            q, a, r = rooms[source, start + j], weights[own, to, j], messages[here, to, j]
            x, y = a * q + one, q + a
            share, rest = eta * (one + r), keep * (x + y)
            messages[here, to, j] = (x * share + r * rest) / (y * share + rest)
