"""The Bethe estimate of log Z, from any messages, and the beliefs of factors."""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.loopy_messages import listen
from credo._kernels.loopy_rules import utter
from credo._kernels.tiers import kernel


@kernel
def factor_log_sum(wires, state, room, f, own, maximum):
    """Give the log of the sum of a factor times what it hears, less that of its variables."""
    first, stop = wires.scope_start[f], wires.scope_start[f + 1]
    base, heard = wires.message_start[first], 0.0
    for s in range(first, stop):  # what listen took out so that the largest is zero
        at, begin = wires.state_start[wires.scope[s]], wires.message_start[s]
        top = -math.inf
        for x in range(wires.message_start[s + 1] - begin):
            said = state.messages[begin + x]
            own_hole = 1 if said == -math.inf else 0
            if state.holes[at + x] == own_hole:
                top = max(top, state.total[at + x] - (0.0 if own_hole else said))
        heard += top - own[wires.scope[s]]
    utter(wires, room, f, first, maximum)
    k = wires.message_start[first + 1] - base
    top = -math.inf
    for x in range(k):
        room.outs[x] += room.inbox[x]
        top = max(top, room.outs[x])
    if maximum or top == -math.inf:
        return heard + top
    sum_ = 0.0
    for x in range(k):
        sum_ += math.exp(room.outs[x] - top)
    return heard + top + math.log(sum_)


@kernel
def log_sums(wires, state, room, maximum):
    """Give the log of the Bethe estimate of the sum over all configurations.

    With any messages m, Z_i the sum of what a variable hears and Z_f that of a factor times what it
    hears, it is the sum of log Z_i plus, for each factor, its counting number times log Z_f less
    the log Z_i of its variables.
    """
    n = wires.state_start.size - 1
    own = np.empty(n)
    result = 0.0
    for v in range(n):
        own[v] = -math.inf
        for i in range(wires.state_start[v], wires.state_start[v + 1]):
            if state.holes[i] == 0:
                own[v] = max(own[v], state.total[i])
        if own[v] == -math.inf:
            return -math.inf
        if not maximum:
            top, sum_ = own[v], 0.0
            for i in range(wires.state_start[v], wires.state_start[v + 1]):
                if state.holes[i] == 0:
                    sum_ += math.exp(state.total[i] - top)
            own[v] = top + math.log(sum_)
        result += own[v]
    for f in range(wires.scope_start.size - 1):
        first, stop = wires.scope_start[f], wires.scope_start[f + 1]
        if stop - first > 1:
            if listen(wires, state, room, f):
                return -math.inf
            result += wires.counting[f] * factor_log_sum(wires, state, room, f, own, maximum)
    return result
