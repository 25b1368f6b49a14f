"""The joint table of a whole model, written out from definitions: slow and obvious.

A model is described by ``{name: states}`` and a list of ``(names, function)``, where the function
takes the state of each of these names and gives a number. Tables are kept in logs, one axis per
variable, in extended precision.
"""

import itertools
import math

import numpy as np

from credo.graphs import AtMostOne, Deterministic, Factor, NoisyAnd, NoisyOr, Parity


class Joint:
    """The product of all factors, and of all evidence given so far."""

    def __init__(self, states, logs):
        self.states = {name: list(each) for name, each in states.items()}
        self.names = list(self.states)
        self.logs = np.asarray(logs, dtype=np.longdouble)
        self.top = self.logs.max()
        #: Products, relative to the largest of them.
        self.table = np.exp(self.logs - self.top) if self.is_possible else np.zeros(self.logs.shape)

    @classmethod
    def of(cls, model):
        """Multiply all factors of a model, from their definitions."""
        return cls({v.name: v.states for v in model.variables}, _log(of_model(model)))

    @classmethod
    def product(cls, states, factors, *, log=False):
        """Multiply arrays, each given as (names, array with an axis for each of them)."""
        names = list(states)
        logs = np.zeros([len(each) for each in states.values()])
        for scope, values in factors:
            axes = [names.index(name) for name in scope]
            spread = [logs.shape[axis] if axis in axes else 1 for axis in range(logs.ndim)]
            own = np.asarray(values) if log else _log(values)
            logs = logs + np.transpose(own, np.argsort(axes)).reshape(spread)
        return cls(states, logs)

    @classmethod
    def numbered(cls, sizes, factors, *, log=True):
        """Multiply arrays of logs, or of numbers, over variables that are numbers."""
        return cls.product({v: range(k) for v, k in enumerate(sizes)}, factors, log=log)

    def given(self, evidence=None, likelihood=None):
        """Multiply by evidence: a state, a collection of states, or weights on states."""
        weights = []
        for name, seen in (evidence or {}).items():
            allowed = seen if isinstance(seen, (set, list, np.ndarray)) else [seen]
            weights.append((name, [float(state in allowed) for state in self.states[name]]))
        for name, each in (likelihood or {}).items():
            by_state = isinstance(each, dict)
            weights.append((name, [each[s] for s in self.states[name]] if by_state else each))
        own = [(self.names, self.logs), *(([name], _log(each)) for name, each in weights)]
        return Joint.product(self.states, own, log=True)

    def fitted(self, targets, rounds=2000):
        """Scale until each variable has the distribution wanted of it (Jeffrey's rule)."""
        moved = self
        for _ in range(rounds if len(targets) > 1 else 1):
            for name, wanted in targets.items():
                now = moved.marginal(name)
                ratio = np.divide(wanted, now, out=np.zeros(len(now)), where=now > 0)
                moved = moved.given(likelihood={name: ratio})
        return moved

    @property
    def is_possible(self):
        """Whether any configuration is left."""
        return self.top > -math.inf

    @property
    def log_sum(self):
        """The log of the sum over all configurations."""
        return self.top + np.log(self.table.sum()) if self.is_possible else -math.inf

    def joint(self, names):
        """The joint probability of some variables, with an axis for each in their order."""
        return np.asarray(self._shares(names), dtype=float)

    def marginal(self, name):
        """The probability of each state of a variable."""
        return self.joint([name])

    def largest(self, name):
        """The log of the largest product with each state of a variable."""
        return self.logs.max(axis=self._others([self.names.index(name)]))

    def scores(self):
        """The logs of all products that are not zero, best first."""
        return np.sort(self.logs[self.logs > -math.inf])[::-1]

    def score(self, states):
        """The log of the sum over all configurations that have these states."""
        if not self.is_possible:
            return -math.inf
        places = (self.states[name].index(state) for name, state in states.items())
        return float(_log(self._shares(list(states)))[tuple(places)]) + self.log_sum

    def tops(self, names=None, close=1e-9):
        """The score, the best states of some variables, others summed out, and who is tied."""
        names = self.names if names is None else names
        logs = _log(self._shares(names)) + self.log_sum
        places = [tuple(each) for each in np.argwhere(logs >= logs.max() - close).tolist()]
        tied = [
            n for n, own in zip(names, zip(*places, strict=True), strict=True) if len({*own}) > 1
        ]
        states = [{n: self.states[n][x] for n, x in zip(names, at, strict=True)} for at in places]
        return float(logs.max()), states, tuple(tied)

    def best(self):
        """A configuration with the largest product."""
        place = np.unravel_index(self.logs.argmax(), self.logs.shape)
        return {name: self.states[name][x] for name, x in zip(self.names, place, strict=True)}

    def _shares(self, names):
        axes = [self.names.index(name) for name in names]
        sums = self.table.sum(axis=self._others(axes)) / self.table.sum()
        return np.transpose(sums, [sorted(axes).index(axis) for axis in axes])

    def _others(self, axes):
        return tuple(axis for axis in range(self.logs.ndim) if axis not in axes)


def _log(values):
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(values, dtype=np.longdouble))


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
