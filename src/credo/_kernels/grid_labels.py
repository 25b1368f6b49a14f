"""Messages of any number of labels on grids, as a list of small jobs.

Slabs and directions are those of ``grid_ratios``; each message has a line for every label:
``messages[slab, direction, label, place]``. A job is a row of five numbers: what to do, in which
direction, at which slab, in which room, and for which colour. ``GATHER`` puts together what the
pixels of a slab know, laid where their messages arrive; any other job makes messages of that.
There is a runner for each kind of message, alike but for the send: functions that are handed to a
kernel are not kept compiled, and only the kind that is needed should be.
``weights[slab, direction, 0]`` are, where messages arrive, what a step between labels weighs (in
logs for maxima), and ``weights[slab, direction, 1]`` what all labels beyond the reach do.
"""

from __future__ import annotations

from typing import Final

from credo._kernels.grid_messages import (
    send_cut_linear_sum,
    send_linear_max,
    send_linear_sum,
    send_potts_max,
    send_potts_sum,
    send_quadratic_max,
    send_quadratic_sum,
)
from credo._kernels.tiers import kernel

GATHER: Final = 0


@kernel(visits=8)
def potts_sums(jobs, nodes, messages, weights, places, rooms, old, work, eta):
    """Sum over labels that are equal or not."""
    for at in range(len(jobs)):
        if _begin(jobs[at], nodes, messages, places, rooms, old, maximum=False):
            product, step, _, message = _parts(jobs[at], messages, weights, rooms)
            send_potts_sum(product, step, eta, message, work)
            _settle(jobs[at], message, places, 1.0 / len(message), old)


@kernel(visits=8)
def linear_sums(jobs, nodes, messages, weights, places, rooms, old, work, eta):
    """Sum over labels that weigh less the further they are."""
    for at in range(len(jobs)):
        if _begin(jobs[at], nodes, messages, places, rooms, old, maximum=False):
            product, step, _, message = _parts(jobs[at], messages, weights, rooms)
            send_linear_sum(product, step, eta, message, work)
            _settle(jobs[at], message, places, 1.0 / len(message), old)


@kernel(visits=8)
def cut_linear_sums(jobs, nodes, messages, weights, places, rooms, old, work, eta, reach):
    """Sum over labels that weigh less the further they are, up to a limit."""
    for at in range(len(jobs)):
        if _begin(jobs[at], nodes, messages, places, rooms, old, maximum=False):
            product, step, beyond, message = _parts(jobs[at], messages, weights, rooms)
            send_cut_linear_sum(product, step, beyond, reach, eta, message, work)
            _settle(jobs[at], message, places, 1.0 / len(message), old)


@kernel(visits=8)
def quadratic_sums(jobs, nodes, messages, weights, places, rooms, old, work, eta, reach):
    """Sum over labels that weigh less by the square of how far they are."""
    for at in range(len(jobs)):
        if _begin(jobs[at], nodes, messages, places, rooms, old, maximum=False):
            product, step, beyond, message = _parts(jobs[at], messages, weights, rooms)
            send_quadratic_sum(product, step, beyond, reach, eta, message, work)
            _settle(jobs[at], message, places, 1.0 / len(message), old)


@kernel(visits=8)
def potts_maxima(jobs, nodes, messages, weights, places, rooms, old, work, eta):
    """Take the best of labels that are equal or not."""
    for at in range(len(jobs)):
        if _begin(jobs[at], nodes, messages, places, rooms, old, maximum=True):
            product, step, _, message = _parts(jobs[at], messages, weights, rooms)
            send_potts_max(product, step, eta, message, work)
            _settle(jobs[at], message, places, 0.0, old)


@kernel(visits=8)
def linear_maxima(jobs, nodes, messages, weights, places, rooms, old, work, eta, limit):
    """Take the best of labels that lose by how far they are."""
    for at in range(len(jobs)):
        if _begin(jobs[at], nodes, messages, places, rooms, old, maximum=True):
            product, step, _, message = _parts(jobs[at], messages, weights, rooms)
            send_linear_max(product, step, limit, eta, message, work)
            _settle(jobs[at], message, places, 0.0, old)


@kernel(visits=8)
def quadratic_maxima(jobs, nodes, messages, weights, places, rooms, old, work, eta, limit):
    """Take the best of labels that lose by the square of how far they are."""
    for at in range(len(jobs)):
        if _begin(jobs[at], nodes, messages, places, rooms, old, maximum=True):
            product, step, _, message = _parts(jobs[at], messages, weights, rooms)
            send_quadratic_max(product, step, limit, eta, message, work)
            _settle(jobs[at], message, places, 0.0, old)


@kernel
def _begin(job, nodes, messages, places, rooms, old, maximum):
    """Gather, if the job is that; if it is to send, keep old messages where a colour waits."""
    if job[0] == GATHER:
        _gather(job, nodes, messages, places, maximum, rooms[job[3]])
        return False
    if job[4] >= 0:
        message = messages[job[2], job[1]]
        for label in range(len(message)):
            _copy(message[label], old[label])
    return True


@kernel
def _parts(job, messages, weights, rooms):
    """Give the products of a job, what steps weigh, what lies beyond, and the messages."""
    way, slab = job[1], job[2]
    own = slab if weights.shape[0] > 1 else 0
    return rooms[job[3]], weights[own, way, 0], weights[own, way, 1], messages[slab, way]


@kernel
def _settle(job, message, places, uniform, old):
    """Leave messages that come from outside as they began, and those that another colour sends.

    ``places[direction, 0]`` is the offset of a direction, ``places[direction, 1]`` how many of the
    places that follow nothing comes to.
    """
    own = places[job[1]]
    for label in range(len(message)):
        line = message[label]
        for at in range(2, 2 + own[1]):
            line[own[at]] = uniform
        if job[4] >= 0:
            for place in range((job[4] + job[2] + 1) % 2, len(line), 2):
                line[place] = old[label, place]


@kernel
def _gather(job, nodes, messages, places, maximum, out):
    """Put together what pixels know, but for what they have from the pixel that they send to."""
    way, slab = job[1], job[2]
    labels, length = out.shape
    offset = places[way, 0]
    begin, end = max(0, -offset), length - max(0, offset)
    for label in range(labels):
        line = out[label, begin + offset : end + offset]
        only = messages[slab, way, label, begin:end]
        if maximum:
            _add(nodes[slab, label, begin:end], only, line)
        else:
            _multiply(nodes[slab, label, begin:end], only, line)
        for other in range(0, messages.shape[1], 2):
            if other != way and other + 1 != way:
                one = messages[slab, other, label, begin:end]
                two = messages[slab, other + 1, label, begin:end]
                if maximum:
                    _add_both(line, one, two)
                else:
                    _multiply_both(line, one, two)


@kernel
def _copy(line, out):
    """Copy a line."""
    for j in range(len(line)):
        out[j] = line[j]


@kernel
def _add(a, b, out):
    """Add two lines."""
    for j in range(len(out)):
        out[j] = a[j] + b[j]


@kernel
def _multiply(a, b, out):
    """Multiply two lines."""
    for j in range(len(out)):
        out[j] = a[j] * b[j]


@kernel
def _add_both(line, one, two):
    """Add the sum of two lines to a line."""
    for j in range(len(line)):
        line[j] += one[j] + two[j]


@kernel
def _multiply_both(line, one, two):
    """Multiply a line by the product of two."""
    for j in range(len(line)):
        line[j] *= one[j] * two[j]
