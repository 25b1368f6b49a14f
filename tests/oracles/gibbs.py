"""Markov chains by their definitions: slow, obvious, in plain loops.

A model is a list of numbers of states, and factors ``(scope, table)`` with one axis per variable.
"""

import itertools
import math
from statistics import NormalDist, fmean, median, variance

import numpy as np

# --- diagnostics: chains are lists of lists of numbers -----------------------------------------


def split(chains):
    """Cut each chain in two; the middle one of an odd number is left out."""
    n = len(chains[0]) // 2
    return [chain[:n] for chain in chains] + [chain[len(chain) - n :] for chain in chains]


def normal_scores(chains):
    """Replace draws by normal quantiles of their ranks, ties sharing the mean of theirs."""
    everything = sorted(x for chain in chains for x in chain)
    ranks = {}
    for x in set(everything):
        places = [i + 1 for i, y in enumerate(everything) if y == x]
        ranks[x] = fmean(places)
    count = len(everything)
    score = {x: NormalDist().inv_cdf((r - 3 / 8) / (count + 1 / 4)) for x, r in ranks.items()}
    return [[score[x] for x in chain] for chain in chains]


def plain_r_hat(chains):
    """Gelman's R-hat of chains as they are."""
    n = len(chains[0])
    within = fmean(variance(chain) for chain in chains)
    between = n * variance([fmean(chain) for chain in chains])
    return math.sqrt(((n - 1) / n * within + between / n) / within)


def r_hat(chains):
    """The larger one of bulk and tail, after Vehtari and others."""
    middle = median([x for chain in chains for x in chain])
    folded = [[abs(x - middle) for x in chain] for chain in chains]
    return max(plain_r_hat(split(normal_scores(chains))), plain_r_hat(split(normal_scores(folded))))


def autocovariance(chain, lag):
    """Divided by n, as usual."""
    mean = fmean(chain)
    n = len(chain)
    return sum((chain[t] - mean) * (chain[t + lag] - mean) for t in range(n - lag)) / n


def effective_sample_size(chains):
    """Bulk effective sample size: sum pairs of autocorrelations while positive, never rising."""
    count = sum(len(chain) for chain in chains)
    cut = split(normal_scores(chains))
    n = len(cut[0])
    within = fmean(variance(chain) for chain in cut)
    total = (n - 1) / n * within + variance([fmean(chain) for chain in cut])

    def rho(lag):
        if lag == 0:
            return 1.0
        return 1 - (within - fmean(autocovariance(chain, lag) for chain in cut)) / total

    tau, smallest, lag = -1.0, math.inf, 0
    while lag + 1 < n:
        pair = rho(lag) + rho(lag + 1)
        if pair <= 0:
            tau += max(rho(lag), 0.0)
            break
        smallest = min(smallest, pair)
        tau += 2 * smallest
        lag += 2
    return count / max(tau, 1 / math.log10(count))


# --- sampling ---------------------------------------------------------------------------------


def weight(factors, state):
    """The product of all factors."""
    return math.prod(float(table[tuple(state[v] for v in scope)]) for scope, table in factors)


def block_marginals(sizes, factors, state, block):
    """The marginal of each variable of a block given all others."""
    found = [np.zeros(sizes[v]) for v in block]
    for inside in itertools.product(*(range(sizes[v]) for v in block)):
        full = list(state)
        for v, x in zip(block, inside, strict=True):
            full[v] = x
        for i, x in enumerate(inside):
            found[i][x] += weight(factors, full)
    return [one / one.sum() for one in found]


def sweep(sizes, factors, state, u):
    """Draw each variable in turn by inverting its distribution; give states and conditionals."""
    state = list(state)
    conditionals = []
    for v in range(len(sizes)):
        (p,) = block_marginals(sizes, factors, state, [v])
        conditionals.append(p)
        state[v] = int(np.searchsorted(np.cumsum(p), u[v], side="right"))
    return state, np.concatenate(conditionals)


def scores(sizes, alone, factors, states, block):
    """The log of every configuration of a block, one axis for each of its variables."""
    table = np.empty([sizes[v] for v in block])
    for inside in np.ndindex(table.shape):
        full = list(states)
        for v, x in zip(block, inside, strict=True):
            full[v] = x
        table[inside] = sum(alone[v][full[v]] for v in block)
        table[inside] += sum(
            logs[tuple(full[v] for v in scope)] for scope, logs in factors if {*scope} & {*block}
        )
    return table


def log_sum(table):
    """The log of the sum over everything."""
    return float(np.logaddexp.reduce(table.ravel()))


def beliefs(table):
    """The marginal of each variable of the block."""
    p = np.exp(table - log_sum(table))
    axes = range(table.ndim)
    return [p.sum(axis=tuple(a for a in axes if a != i)) for i in axes]


def cell_beliefs(table, block, states, scope, shape):
    """The beliefs of a factor's cells; zero where they differ from the states of the others."""
    found = np.zeros(shape)
    for inside, weight in np.ndenumerate(np.exp(table - log_sum(table))):
        now = dict(zip(block, inside, strict=True))
        found[tuple(now.get(v, states[v]) for v in scope)] += weight
    return found
