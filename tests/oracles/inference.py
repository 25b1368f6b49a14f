"""Exact inference by visiting every configuration, in decimal arithmetic of forty digits.

A factor is ``(scope, cells)``: the numbers of its variables, and a Decimal for each place, a place
being a tuple with the number of a state for each of them. Nothing underflows, nothing overflows.
"""

import decimal
import itertools
import math
from decimal import Decimal

import numpy as np

CONTEXT = decimal.Context(prec=40, Emax=10**9, Emin=-(10**9))


def factor(scope, values, *, log=False):
    """Turn an array, of potentials or of their logs, into a factor."""
    array = np.asarray(values, dtype=float)
    cells = {}
    for place in np.ndindex(array.shape):
        x = float(array[place])
        if log:
            cells[place] = CONTEXT.exp(Decimal(x)) if x > -math.inf else Decimal(0)
        else:
            cells[place] = Decimal(x)
    return tuple(scope), cells


def rule(scope, sizes, function):
    """Write a function of states, given by their numbers, out as a factor."""
    places = itertools.product(*(range(sizes[v]) for v in scope))
    return tuple(scope), {place: Decimal(function(*place)) for place in places}


def weigh(configurations, weights):
    """Multiply by weights on single variables, ``[(variable, weights)]``."""
    with decimal.localcontext(CONTEXT):
        for v, w in weights:
            values = [Decimal(float(x)) for x in w]
            configurations = [(x, p * values[x[v]]) for x, p in configurations if values[x[v]]]
    return configurations


def configurations(sizes, factors):
    """List ``(place, product of all factors)`` for every configuration that is possible."""
    found = []
    with decimal.localcontext(CONTEXT):
        for place in itertools.product(*(range(k) for k in sizes)):
            product = Decimal(1)
            for scope, cells in factors:
                product *= cells[tuple(place[v] for v in scope)]
                if not product:
                    break
            if product:
                found.append((place, product))
    return found


def total(configurations):
    """Sum over everything."""
    with decimal.localcontext(CONTEXT):
        return sum((p for _, p in configurations), Decimal(0))


def log_total(configurations):
    """Give the log of the sum over everything."""
    return float(CONTEXT.ln(total(configurations)))


def joint(configurations, sizes, variables):
    """Give the joint probability of some variables, one axis each, in their order."""
    sums = {}
    with decimal.localcontext(CONTEXT):
        for place, p in configurations:
            key = tuple(place[v] for v in variables)
            sums[key] = sums.get(key, Decimal(0)) + p
        whole = total(configurations)
        table = np.zeros([sizes[v] for v in variables])
        for key, p in sums.items():
            table[key] = float(p / whole)
    return table


def marginals(configurations, sizes):
    """Give the marginal of every variable."""
    return [joint(configurations, sizes, [v]) for v in range(len(sizes))]


def jeffrey(configurations, sizes, variable, probabilities):
    """Give p(x | v) q(v): every state of one variable keeps what goes with it."""
    with decimal.localcontext(CONTEXT):
        of_state = [Decimal(0)] * sizes[variable]
        for place, p in configurations:
            of_state[place[variable]] += p
        ratio = [
            Decimal(float(q)) / p if q else Decimal(0)
            for q, p in zip(probabilities, of_state, strict=True)
        ]
        return [(x, p * ratio[x[variable]]) for x, p in configurations if ratio[x[variable]]]
