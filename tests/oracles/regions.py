"""Regions by brute force: sets, counting numbers, belief propagation and free energies.

A model is ``sizes`` and ``factors``, a list of ``(scope, table)`` with one axis per variable.
"""

import itertools

import numpy as np


def spread(scope, table, n):
    """A table over a scope with the axes of all n variables, of length one where it has none."""
    order = np.argsort(scope)
    lengths = np.ones(n, int)
    lengths[list(scope)] = np.shape(table)
    return np.transpose(table, order).reshape(lengths) if len(scope) else np.reshape(table, lengths)


def marginal(joint, variables):
    """Sum a joint table down to ascending variables."""
    others = tuple(v for v in range(joint.ndim) if v not in variables)
    return joint.sum(axis=others)


# --- sets -----------------------------------------------------------------------------------


def closure(outer):
    """All intersections of two or more sets, empty ones left out."""
    found = set()
    grown = {a & b for a, b in itertools.combinations(outer, 2)}
    while grown - found:
        found |= grown
        grown = {a & b for a in found for b in outer} - set(outer)
    return {s for s in found if s}


def counting(outer, inner):
    """One less the numbers of all sets that strictly contain a set."""
    numbers = dict.fromkeys(outer, 1)
    for s in sorted(inner, key=lambda s: -len(s)):
        numbers[s] = 1 - sum(c for other, c in numbers.items() if other > s)
    return numbers


def has_junction_tree(outer):
    """Whether the sets can be taken away one by one, each meeting the rest inside one other set."""
    left = list(outer)
    while len(left) > 1:
        for s in left:
            rest = [t for t in left if t is not s]
            meeting = s & frozenset().union(*rest)
            if any(meeting <= t for t in rest):
                left = rest
                break
        else:
            return False
    return True


def short_cycles(n, edges):
    """Triangles, and cycles of four without a chord, as ascending tuples."""
    edges = {frozenset(e) for e in edges}
    found = []
    for size in (3, 4):
        for group in itertools.combinations(range(n), size):
            pairs = [frozenset(p) in edges for p in itertools.combinations(group, 2)]
            degrees = [sum(frozenset((v, w)) in edges for w in group if w != v) for v in group]
            if sum(pairs) == size and degrees == [2] * size:
                found.append(group)
    return sorted(found)


def cliques(n, edges):
    """Maximal cliques, as ascending tuples."""
    edges = {frozenset(e) for e in edges}
    found = [
        set(group)
        for size in range(1, n + 1)
        for group in itertools.combinations(range(n), size)
        if all(frozenset(p) in edges for p in itertools.combinations(group, 2))
    ]
    return sorted(tuple(sorted(c)) for c in found if not any(c < other for other in found))


def rank(cycles, edges):
    """Rank of cycles as vectors over edges, modulo two."""
    rows = [sum(1 << i for i, e in enumerate(edges) if set(e) <= set(cycle)) for cycle in cycles]
    count = 0
    while rows:
        row = rows.pop()
        if row:
            count += 1
            low = row & -row
            rows = [r ^ row if r & low else r for r in rows]
    return count


# --- beliefs --------------------------------------------------------------------------------


def negative_entropy(table):
    """The sum of p log p."""
    p = table[table > 0]
    return float((p * np.log(p)).sum())


def expected_log(belief, table):
    """The sum of p log t, where p is positive."""
    some = belief > 0
    return float((belief[some] * np.log(table[some])).sum())


def kikuchi_energy(sizes, factors, outer, beliefs):
    """Free energy of the beliefs of outer sets, inner ones being their marginals.

    Every factor's energy is taken in the first outer set that holds it.
    """
    outer = [frozenset(s) for s in outer]
    numbers = counting(outer, closure(outer))
    n = len(sizes)
    wide = [spread(sorted(s), b, n) if s else b for s, b in zip(outer, beliefs, strict=True)]
    energy = 0.0
    for s, c in numbers.items():
        home = next(i for i, a in enumerate(outer) if a >= s)
        table = wide[home].sum(axis=tuple(v for v in range(n) if v not in s))
        energy += c * negative_entropy(table)
    for scope, table in factors:
        home = next(i for i, a in enumerate(outer) if a >= set(scope))
        belief = wide[home].sum(axis=tuple(v for v in range(n) if v not in scope))
        energy -= expected_log(belief, spread(scope, table, n).reshape(belief.shape))
    return energy
