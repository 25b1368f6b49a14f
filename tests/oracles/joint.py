"""One joint table of a whole model, and every question answered by writing it out.

The table has one axis per variable, in the order of ``names``. It needs few variables and tables of
ordinary size; ``tests.oracles.inference`` counts in forty digits.
"""

import math

import numpy as np
from tests.oracles import graphs


class Joint:
    """The product of all factors, and of all evidence given so far."""

    def __init__(self, states, table):
        self.states = {name: list(each) for name, each in states.items()}
        self.names = list(self.states)
        self.table = np.asarray(table, dtype=float)

    @classmethod
    def of(cls, model):
        """Multiply all factors of a model, from their definitions."""
        return cls({v.name: v.states for v in model.variables}, graphs.of_model(model))

    @classmethod
    def product(cls, states, factors):
        """Multiply arrays, each given as (names, array with an axis for each of them)."""
        names = list(states)
        table = np.ones([len(each) for each in states.values()])
        for scope, values in factors:
            axes = [names.index(name) for name in scope]
            spread = [table.shape[axis] if axis in axes else 1 for axis in range(table.ndim)]
            table = table * np.transpose(values, np.argsort(axes)).reshape(spread)
        return cls(states, table)

    def given(self, evidence=None, likelihood=None):
        """Multiply by evidence: a state, a collection of states, or weights on states."""
        weights = []
        for name, seen in (evidence or {}).items():
            allowed = seen if isinstance(seen, (set, list, np.ndarray)) else [seen]
            weights.append((name, [float(state in allowed) for state in self.states[name]]))
        for name, each in (likelihood or {}).items():
            by_state = isinstance(each, dict)
            weights.append((name, [each[s] for s in self.states[name]] if by_state else each))
        return Joint.product(
            self.states, [(self.names, self.table), *(([n], np.array(w)) for n, w in weights)]
        )

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
        return bool(self.table.any())

    @property
    def log_sum(self):
        """The log of the sum over all configurations."""
        return math.log(math.fsum(self.table.ravel()))

    def joint(self, names):
        """The joint probability of some variables, with an axis for each in their order."""
        return self.sums(names) / math.fsum(self.table.ravel())

    def marginal(self, name):
        """The probability of each state of a variable."""
        return self.joint([name])

    def sums(self, names):
        """The sum over all other variables, with an axis for each of these in their order."""
        axes = [self.names.index(name) for name in names]
        others = tuple(axis for axis in range(self.table.ndim) if axis not in axes)
        kept = sorted(axes)
        return np.transpose(self.table.sum(axis=others), [kept.index(axis) for axis in axes])

    def largest(self, name):
        """The log of the largest product with each state of a variable."""
        axis = self.names.index(name)
        others = tuple(other for other in range(self.table.ndim) if other != axis)
        with np.errstate(divide="ignore"):
            return np.log(self.table.max(axis=others))

    def scores(self):
        """The logs of all products that are not zero, best first."""
        return np.log(np.sort(self.table[self.table > 0])[::-1])

    def score(self, states):
        """The log of the sum over all configurations that have these states."""
        places = (self.states[name].index(state) for name, state in states.items())
        with np.errstate(divide="ignore"):
            return float(np.log(self.sums(list(states))[tuple(places)]))

    def best(self):
        """A configuration with the largest product."""
        place = np.unravel_index(self.table.argmax(), self.table.shape)
        each = zip(self.names, place, strict=True)
        return {name: self.states[name][i] for name, i in each}
