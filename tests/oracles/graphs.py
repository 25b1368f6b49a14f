"""Joint tables by plain loops over joint states: slow, obvious, and made from definitions only.

A model is described by ``{name: states}`` and a list of ``(names, function)``, where the function
takes the state of each of these names and gives a number.
"""

import itertools
import math

import numpy as np

from credo.graphs import AtMostOne, Deterministic, Factor, NoisyAnd, NoisyOr, Parity


def joint(variables, factors):
    """Multiply all factors for every joint state; one axis per variable, in order."""
    names = list(variables)
    table = np.empty([len(variables[name]) for name in names])
    places = [range(len(variables[name])) for name in names]
    for place in itertools.product(*places):
        state = {name: variables[name][i] for name, i in zip(names, place, strict=True)}
        product = 1.0
        for scope, function in factors:
            product *= function(*(state[name] for name in scope))
        table[place] = product
    return table


def cells(table, *states):
    """A table, given by cells ``{(state, ...): number}`` or as an array, as a function."""
    if isinstance(table, dict):
        return lambda *at: table[at]
    return lambda *at: float(table[tuple(s.index(a) for s, a in zip(states, at, strict=True))])


def parity(*, even=True):
    """One if the number of ones is even, or odd."""
    return lambda *bits: float((sum(bits) % 2 == 0) == even)


def at_most_one(*bits):
    """One if at most one of them is one."""
    return float(sum(bits) <= 1)


def noisy_or(probabilities, leak):
    """P(last | all before): off if neither the leak nor any active parent turned it on."""

    def value(*bits):
        *parents, child = bits
        off = 1 - leak
        for active, p in zip(parents, probabilities, strict=True):
            off *= 1 - p if active else 1
        return 1 - off if child else off

    return value


def noisy_and(probabilities, leak):
    """P(last | all before): on if neither the leak nor any parent that is off inhibited it."""

    def value(*bits):
        *parents, child = bits
        on = 1 - leak
        for active, p in zip(parents, probabilities, strict=True):
            on *= 1 if active else 1 - p
        return on if child else 1 - on

    return value


def of_model(model):
    """The joint table of a model, factor by factor from their definitions."""
    variables = {v.name: v.states for v in model.variables}
    return joint(variables, [_described(factor) for factor in model.factors])


def of_wiring(wiring):
    """The product of all tables of a wiring; one axis per variable, auxiliaries last."""
    assert not wiring.structured
    shape = wiring.n_states.tolist()
    result = np.empty(shape)
    for place in itertools.product(*(range(k) for k in shape)):
        result[place] = math.prod(_cell(wiring, f, place) for f in range(len(wiring.table)))
    return result


def visible(wiring, reduce):
    """The product of all tables with the auxiliaries reduced by ``np.sum`` or ``np.max``."""
    full = of_wiring(wiring)
    auxiliaries = tuple(range(len(wiring.names), full.ndim))
    return reduce(full, axis=auxiliaries) if auxiliaries else full


def _cell(wiring, factor, place):
    scope = wiring.scope[wiring.scope_start[factor] : wiring.scope_start[factor + 1]]
    table = wiring.table[factor]
    cell = 0
    for variable in scope:
        cell = cell * int(wiring.n_states[variable]) + place[variable]
    value = wiring.values[wiring.table_start[table] + cell]
    return float(value) * math.exp(wiring.log_scale[table])


def _described(factor):
    names = [v.name for v in factor.variables]
    states = [v.states for v in factor.variables]
    if isinstance(factor, Factor):
        return names, cells(factor.table, *states)
    if isinstance(factor, Deterministic):
        answer = cells(factor.answers, *states[:-1])
        return names, lambda *at: float(states[-1].index(at[-1]) == answer(*at[:-1]))
    function = _rule(factor)
    return names, lambda *at: function(*(s.index(a) for s, a in zip(states, at, strict=True)))


def _rule(factor):
    if isinstance(factor, Parity):
        return parity(even=factor.even)
    if isinstance(factor, AtMostOne):
        return at_most_one
    kind = {NoisyOr: noisy_or, NoisyAnd: noisy_and}[type(factor)]
    return kind(factor.probabilities.tolist(), factor.leak)
