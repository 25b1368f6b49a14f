"""Belief propagation between factors and variables: dictionaries and loops, all in logs.

A factor is ``(scope, logs)``: the numbers of its variables, and an array with an axis for each.
Rules are written out. A message from factor f to variable v is ``messages[f, v]``, logs of which
the exponentials sum to one (for maxima: whose largest is zero). With powers r_f

    b_v = prod_f m_fv^{r_f},   n_vf = b_v / m_fv,   m_fv = sum psi_f^{1/r_f} prod_{u != v} n_uf

where factors of one variable belong to b_v, and r_f = 1 everywhere is belief propagation.
"""

import itertools
import math

import numpy as np
from tests.oracles.joint import Joint


def total(logs, axes=None, *, maximum=False):
    """Add up over some axes, or take the largest."""
    top = np.max(logs, axis=axes, keepdims=True)
    if not maximum:
        shift = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            top = shift + np.log(np.sum(np.exp(logs - shift), axis=axes, keepdims=True))
    return np.squeeze(top, axis=axes)


def scaled(logs, *, maximum=False):
    """Divide by the sum, or by the largest."""
    return logs - total(logs, maximum=maximum)


def logs_of(table):
    """Take logs; zero becomes -inf."""
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(table, float))


def observe(factors, seen):
    """Slice factors at observed states, ``{variable: state}``."""
    sliced = []
    for scope, logs in factors:
        place = tuple(seen.get(v, slice(None)) for v in scope)
        sliced.append((tuple(v for v in scope if v not in seen), logs[place]))
    return sliced


class Net:
    """Messages of a factor graph, all uniform at the start."""

    def __init__(self, sizes, factors, *, powers=None, temperature=1.0):
        self.sizes, self.maximum = list(sizes), temperature == 0
        self.own = [np.zeros(k) for k in sizes]
        self.constant, self.factors = 0.0, []
        for scope, given in factors:
            logs = np.asarray(given, float) / (temperature or 1.0)
            if len(scope) == 0:
                self.constant += float(logs)
            elif len(scope) == 1:
                self.own[scope[0]] = self.own[scope[0]] + logs
            else:
                self.factors.append((tuple(scope), logs))
        m = len(self.factors)
        self.powers = np.ones(m) if powers is None else np.broadcast_to(powers, m).astype(float)
        self.messages = {
            (f, v): scaled(np.zeros(self.sizes[v]), maximum=self.maximum)
            for f, (scope, _) in enumerate(self.factors)
            for v in scope
        }

    def heard(self, v, f=None):
        """What a variable hears: everything, or with m_fv taken out once."""
        logs = self.own[v].copy()
        for (g, u), message in self.messages.items():
            if u == v:
                power = self.powers[g] - (g == f)
                if power != 0:
                    logs = logs + power * message
        return logs

    def product(self, f, but=None):
        """A factor to the power 1/r times what its variables say to it, but one."""
        scope, logs = self.factors[f]
        result = logs / self.powers[f]
        for axis, v in enumerate(scope):
            if v != but:
                shape = [-1 if a == axis else 1 for a in range(len(scope))]
                result = result + self.heard(v, f).reshape(shape)
        return result

    def computed(self, f, v):
        """The message from a factor to a variable, from those that there are now."""
        scope, _ = self.factors[f]
        others = tuple(axis for axis, u in enumerate(scope) if u != v)
        return scaled(total(self.product(f, v), others, maximum=self.maximum), maximum=self.maximum)

    def mixed(self, new, old, eta, *, in_logs):
        """Eta on the new message; what it calls impossible is so at once."""
        if eta == 1.0:
            return new
        if in_logs:
            with np.errstate(invalid="ignore"):
                both = eta * new + (1 - eta) * old
        else:
            p, q = scaled(new), scaled(old)
            both = np.logaddexp(math.log(eta) + p, math.log(1 - eta) + q)
        return scaled(np.where(np.isneginf(new), -np.inf, both), maximum=self.maximum)

    def step(self, keys, eta, *, in_logs):
        """Replace some messages, all computed before the first is replaced; give the change."""
        fresh, change = {}, 0.0
        for f, v in keys:
            new, old = self.computed(f, v), self.messages[f, v]
            change = max(change, np.abs(np.exp(scaled(new)) - np.exp(scaled(old))).max())
            fresh[f, v] = self.mixed(new, old, eta, in_logs=in_logs)
        self.messages.update(fresh)
        return float(change)

    def flood(self, eta=1.0, *, in_logs=False):
        """Replace all messages at once."""
        return self.step(list(self.messages), eta, in_logs=in_logs)

    def visit(self, eta=1.0, *, in_logs=False):
        """Replace the messages of one factor after the other."""
        turns = ([(f, v) for v in scope] for f, (scope, _) in enumerate(self.factors))
        return max(
            (self.step(keys, eta, in_logs=in_logs) for keys in turns),
            default=0.0,
        )

    def sweeps(self, count, eta=1.0, *, in_logs=False, sequential=False):
        """Sweep so many times; give the residuals."""
        way = self.visit if sequential else self.flood
        return [way(eta, in_logs=in_logs) for _ in range(count)]

    def settled(self, most=5000, eta=1.0):
        """Sweep until nothing changes; tell whether that came about."""
        return any(self.flood(eta) < 1e-14 for _ in range(most))

    def belief(self, v):
        """The belief of a variable."""
        return np.exp(scaled(self.heard(v)))

    def beliefs(self):
        """The beliefs of all variables."""
        return [self.belief(v) for v in range(len(self.sizes))]

    def joint(self, f):
        """The belief of a factor."""
        return np.exp(scaled(self.product(f)))

    def bethe(self):
        """The estimate of Bethe by what is summed at variables and factors, with any messages."""
        own = [float(total(self.heard(v), maximum=self.maximum)) for v in range(len(self.sizes))]
        result = self.constant + sum(own)
        for f, (scope, _) in enumerate(self.factors):
            whole = float(total(self.product(f), maximum=self.maximum))
            result += self.powers[f] * (whole - sum(own[v] for v in scope))
        return result

    def log_z(self):
        """Minus the free energy of Bethe, by its definition: energy less entropies."""
        singles = self.beliefs()
        joints = [self.joint(f) for f in range(len(self.factors))]
        return -free_energy(self, singles, joints)


def free_energy(net, singles, joints):
    """The free energy of Bethe of any beliefs: F = U - H.

    U = - sum_f b_f log psi_f,  H = sum_f r_f H(b_f) + sum_v (1 - sum_{f around v} r_f) H(b_v)
    """
    energy = -net.constant
    for v, b in enumerate(singles):
        energy -= expected(b, net.own[v])
    for f, b in enumerate(joints):
        energy -= expected(b, net.factors[f][1])
    count = np.ones(len(singles))
    for f, (scope, _) in enumerate(net.factors):
        count[list(scope)] -= net.powers[f]
    entropies = sum(r * entropy(b) for r, b in zip(net.powers, joints, strict=True))
    entropies += sum(c * entropy(b) for c, b in zip(count, singles, strict=True))
    return float(energy - entropies)


def expected(probabilities, logs):
    """The mean of logs, where there is any probability."""
    some = probabilities > 0
    return float((probabilities[some] * logs[some]).sum())


def entropy(probabilities):
    """The entropy of a table."""
    some = probabilities[probabilities > 0]
    return float(-(some * np.log(some)).sum())


def marginals(sizes, factors, *, maximum=False):
    """Sum, or maximise, over all configurations: the marginals and the log of the whole."""
    whole = Joint.numbered(sizes, factors)
    if maximum:
        return [np.exp(scaled(whole.largest(v))) for v in whole.names], float(whole.top)
    return [whole.marginal(v) for v in whole.names], float(whole.log_sum)


def written_out(n, value):
    """The table, as logs, of a rule of n variables of two states."""
    table = np.empty((2,) * n)
    for place in itertools.product((0, 1), repeat=n):
        table[place] = value(*place)
    return logs_of(table)
