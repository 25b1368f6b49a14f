"""Loopy belief propagation by flooding, one row at a time, on whole tables: slow and obvious.

A factor is ``(scope, table)``: the numbers of its variables, and an array with an axis for each;
rules are written out. Weights are one array of states for each variable. Messages sum to one.
"""

import math
import string

import numpy as np


class Row:
    """Messages of one row: those from factors to variables, by (factor, variable)."""

    def __init__(self, sizes, factors, weights, *, maximum=False):
        self.sizes, self.maximum = sizes, maximum
        self.weights = [np.array(w, float) for w in weights]
        self.factors = []
        for scope, table in factors:
            if len(scope) == 1:
                self.weights[scope[0]] = self.weights[scope[0]] * table
            else:
                self.factors.append((tuple(scope), np.asarray(table, float)))
        self.messages = {
            (f, v): np.full(sizes[v], 1.0 / sizes[v])
            for f, (scope, _) in enumerate(self.factors)
            for v in scope
        }

    def heard(self, variable, but=None):
        """The product of all that a variable hears, but from one factor."""
        product = self.weights[variable].copy()
        for (f, v), message in self.messages.items():
            if v == variable and f != but:
                product = product * message
        return product

    def product(self, f, but=None):
        """A table times what its variables say, but one."""
        scope, table = self.factors[f]
        for axis, v in enumerate(scope):
            if v != but:
                shape = [-1 if a == axis else 1 for a in range(len(scope))]
                table = table * self.heard(v, but=f).reshape(shape)
        return table

    def total(self, table, axes=None):
        """Sum, or the largest."""
        return table.max(axis=axes) if self.maximum else table.sum(axis=axes)

    def sweep(self, eta=1.0):
        """All new messages from all old ones; give the largest change, NaN for a contradiction."""
        fresh, change = {}, 0.0
        for (f, v), old in self.messages.items():
            scope, _ = self.factors[f]
            others = tuple(a for a, u in enumerate(scope) if u != v)
            new = self.total(self.product(f, but=v), others)
            if not new.any() or not self.heard(v, but=f).any():
                return math.nan
            new = new / new.sum()
            change = max(change, float(np.abs(new - old).max()))
            mixed = np.where(new > 0, eta * new + (1 - eta) * old, 0.0)
            fresh[f, v] = mixed / mixed.sum()
        self.messages = fresh
        return change

    def beliefs(self):
        """What each variable hears, as probabilities."""
        heard = [self.heard(v) for v in range(len(self.sizes))]
        return [h / h.sum() for h in heard]

    def log_z(self):
        """The Bethe estimate of the log of the sum, or of the largest product."""
        own = [math.log(self.total(self.heard(v))) for v in range(len(self.sizes))]
        result = sum(own)
        for f, (scope, _) in enumerate(self.factors):
            result += math.log(self.total(self.product(f))) - sum(own[v] for v in scope)
        return result


def enumerate_marginals(sizes, factors, weights):
    """Exact marginals and log sum, by the whole table; None if all of it is zero."""
    letters = string.ascii_letters
    terms = [letters[v] for v in range(len(sizes))]
    terms += ["".join(letters[v] for v in scope) for scope, _ in factors]
    arrays = [*weights, *(table for _, table in factors)]
    whole = np.einsum(f"{','.join(terms)}->{letters[: len(sizes)]}", *arrays)
    if not whole.any():
        return None
    marginals = []
    for v in range(len(sizes)):
        axes = tuple(u for u in range(len(sizes)) if u != v)
        marginals.append(whole.sum(axis=axes) / whole.sum())
    return marginals, math.log(whole.sum())
