"""Messages between the factors and variables of a net, in logs, with exact zeros.

A *slot* is the place of a variable in the scope of a factor. The message of slot s, from the factor
to the variable, lies at ``message_start[s]:message_start[s + 1]``; its largest entry is zero. For
each state of each variable ``total`` is the sum of all messages but those that are -inf, and
``holes`` counts these, so that any one message can be taken out of the sum again.

Factors are tables, or rules: chains of two inner states, whose messages take linear time.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from credo._kernels.tiers import kernel

#: Kinds of factors.
TABLE, EVEN, ODD, AT_MOST_ONE, NOISY_OR, NOISY_AND = range(6)


class Wires(NamedTuple):
    """Factors of two variables or more, and what is known of single variables."""

    state_start: Any
    unary: Any  #: logs, for each state: tables of one variable, and evidence
    scope_start: Any
    scope: Any
    factor_of: Any  #: of each slot
    message_start: Any
    incident_start: Any
    incident: Any  #: the slots of each variable
    kind: Any
    cell_start: Any  #: where the cells of a table start, or the numbers of a rule
    values: Any  #: cells, the largest of each table being one; probabilities and leak of a gate
    logs: Any  #: of the cells
    span: Any  #: of each table: minus the log of the least positive cell
    power: Any  #: counting number of each factor, one for belief propagation


@kernel
def level(logs, start, power, span):
    """Bring the largest log of each table to zero, and write how far the least lies below.

    Returns the sum of what was taken off, to the power of each table. -inf counts for neither.
    """
    taken = 0.0
    for f in range(start.size - 1):
        top, least = -math.inf, math.inf
        for c in range(start[f], start[f + 1]):
            top = max(top, logs[c])
            if logs[c] > -math.inf:
                least = min(least, logs[c])
        if top > -math.inf:
            for c in range(start[f], start[f + 1]):
                logs[c] -= top
            taken += power[f] * top
            span[f] = top - least
    return taken


@kernel
def sort_slots(scope, incident_start):
    """List the slots of each variable, one variable after the other."""
    place = incident_start[:-1].copy()
    slots = np.empty(scope.size, np.int64)
    for s in range(scope.size):
        slots[place[scope[s]]] = s
        place[scope[s]] += 1
    return slots
