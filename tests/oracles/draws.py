"""Forward draws of Bayesian networks and their weights, loop by loop.

Weights on states are ``{name: {state: weight}}``; what was observed has weight one, all else zero.
"""

import itertools
import math


def weights_of(net, evidence, likelihood):
    """Put a state, several states, and weights into one form; where they meet they multiply."""
    found = {}
    for name, seen in evidence.items():
        allowed = seen if isinstance(seen, set) else {seen}
        found[name] = {state: float(state in allowed) for state in net[name].states}
    for name, given in likelihood.items():
        by_state = dict(zip(net[name].states, given, strict=True))
        before = found.get(name, dict.fromkeys(by_state, 1.0))
        found[name] = {state: before[state] * by_state[state] for state in by_state}
    return found


def conditional(net, name, states):
    """The probabilities of a variable given the states of its parents, by state."""
    row = net.table(name)
    for parent in net.parents(name):
        row = row[net[parent].states.index(states[parent])]
    return dict(zip(net[name].states, row.tolist(), strict=True))


def draw(net, weights, u):
    """One configuration and its weight, from one uniform number for each variable."""
    states, weight, todo = {}, 1.0, list(net.names)
    while todo:
        name = next(v for v in todo if all(parent in states for parent in net.parents(v)))
        todo.remove(name)
        shares = conditional(net, name, states)
        if name in weights:
            shares = {state: p * weights[name][state] for state, p in shares.items()}
            weight *= sum(shares.values())
        total, below = sum(shares.values()), 0.0
        if total == 0.0:
            return None, 0.0
        for state, share in shares.items():
            below += share
            if u[list(net.names).index(name)] < below / total:
                states[name] = state
                break
    return states, weight


def estimate(draws, net):
    """Marginals, their standard errors, the effective sample size, and log Z with its error."""
    total = sum(w for _, w in draws)
    squares = sum(w * w for _, w in draws)
    worth = total**2 / squares
    marginals, errors = {}, {}
    for name in net.names:
        for state in net[name].states:
            hits = [(w, float(x is not None and x[name] == state)) for x, w in draws]
            p = sum(w * hit for w, hit in hits) / total
            variance = sum((w * (hit - p)) ** 2 for w, hit in hits) / total**2
            marginals[name, state] = p
            errors[name, state] = max(math.sqrt(variance), 1 / worth)
    mean = total / len(draws)
    spread = math.sqrt(sum((w - mean) ** 2 for _, w in draws)) / len(draws) / mean
    return marginals, errors, worth, math.log(mean), spread


def spread_of(net, weights):
    """What the errors of marginals and of the mean weight tend to, times the root of the draws.

    By the sum over all configurations x, which are drawn with probability q and weigh w:
    the root of Σ q w² ([x_v = s] - p)² / Z², and the share Z² / Σ q w² that draws are worth.
    """
    every = []
    for each in itertools.product(*(net[name].states for name in net.names)):
        states = dict(zip(net.names, each, strict=True))
        q, w = 1.0, 1.0
        for name in net.names:
            shares = conditional(net, name, states)
            if name in weights:
                shares = {state: p * weights[name][state] for state, p in shares.items()}
            total = sum(shares.values())
            w *= total if name in weights else 1.0
            q *= shares[states[name]] / total if total else 0.0
        every.append((states, q, w))
    z = sum(q * w for _, q, w in every)
    errors = {}
    for name in net.names:
        for state in net[name].states:
            p = sum(q * w for x, q, w in every if x[name] == state) / z
            terms = (q * w * w * (float(x[name] == state) - p) ** 2 for x, q, w in every)
            errors[name, state] = math.sqrt(sum(terms)) / z
    return errors, z**2 / sum(q * w * w for _, q, w in every)
