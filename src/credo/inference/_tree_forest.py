"""Order a wiring as a forest, or name the cycle that it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from credo._types import Bool, Label
from credo._validation.arrays import frozen
from credo._validation.labels import listing
from credo.exceptions import InputError, ShapeError
from credo.graphs.wiring import Int32, Int64, Wiring


def checked(wiring: Wiring, observed: Any) -> Int64:
    """Check that there are tables only, and one observed state or -1 for each variable."""
    if wiring.structured:
        raise InputError(
            f"A tree is run on tables. Got {len(wiring.structured)} structured factors; use "
            "wiring.tabulated(...) first."
        )
    states = np.ascontiguousarray(observed, dtype=np.int64)
    if states.shape != wiring.n_states.shape:
        raise ShapeError(
            f"A tree needs one observed state, or -1, for each of its {len(wiring.n_states)} "
            f"variables. Got shape {states.shape}."
        )
    return states


@final
@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """A factor graph in breadth first order; the words are those of the kernels."""

    n_states: Int64
    observed: Int64
    cut: bool  #: whether links of observed variables are closed
    scope_start: Int64
    scope: Int32
    factor: Int32  #: of each link
    of_link: Int64  #: states left, stride, whether it is open; (3, L)
    base: Int64  #: of each factor
    var_start: Int64
    links: Int64
    order: Int64
    up: Int64  #: the link towards the root, of each node that is reached

    @property
    def n(self) -> int:
        """Count the variables; the node of factor f is n + f."""
        return len(self.n_states)

    @property
    def is_open(self) -> Bool:
        """Tell which links carry messages."""
        return self.of_link[2] > 0


def forest_of(wiring: Wiring, observed: Int64, *, cut: bool, root: int = -1) -> tuple[Forest, int]:
    """Order the factor graph breadth first; give a link that closes a cycle, or -1.

    With ``cut`` the links of observed variables do not count.
    """
    from credo._kernels.tree_order import connect, grow  # noqa: PLC0415 - loads Numba

    n, n_factors, n_links = len(wiring.n_states), len(wiring.table), len(wiring.scope)
    n_states, observed = fixed(wiring.n_states), fixed(observed)
    scope_start, scope = fixed(wiring.scope_start), fixed(wiring.scope)
    factor, of_link = np.empty(n_links, np.int32), np.empty((3, n_links), np.int64)
    links = np.empty(n_links, np.int64)
    base, var_start = np.empty(n_factors, np.int64), np.zeros(n + 1, np.int64)
    order, up = np.empty((2, n + n_factors), np.int64)
    tables = fixed(wiring.table), fixed(wiring.table_start)
    graph = n_states, observed, cut, scope_start, scope
    connect(*graph, *tables, factor, of_link, base, var_start, links)
    found = grow(scope_start, scope, factor, of_link, var_start, links, root, order, up)
    forest = Forest(*graph, factor, of_link, base, var_start, links, order[: found[0]], up)
    return forest, int(found[1])


def is_forest(wiring: Wiring, observed: Int64) -> bool:
    """Tell whether the factor graph has no cycle once observed variables are cut off."""
    arity = np.diff(wiring.scope_start)
    n_links = int((np.repeat(arity > 1, arity) & (observed[wiring.scope] < 0)).sum())
    if n_links >= len(observed) + int((arity > 1).sum()):
        return False  # more links than any forest has: no need to look where
    return forest_of(wiring, observed, cut=True)[1] < 0


def planted(wiring: Wiring, observed: Int64, root: int) -> Forest:
    """Order the graph as it is, or cut at observed variables if it has cycles otherwise."""
    forest, closing = forest_of(wiring, observed, cut=False, root=root)
    if closing >= 0 and (observed >= 0).any():
        forest, closing = forest_of(wiring, observed, cut=True, root=root)
    if closing < 0:
        return forest
    names = [_name(wiring, v) for v in _cycle(forest, closing)]
    raise InputError(
        f"The graph is not a tree: it has the cycle {listing([*names, names[0]], 12)}. Use "
        "method='junction_tree', which is exact on any graph."
    )


def _name(wiring: Wiring, v: int) -> Label:
    """Name a variable, also one that stands in for a rule."""
    return wiring.names[v] if v < len(wiring.names) else f"auxiliary {v}"


def _cycle(forest: Forest, closing: int) -> list[int]:
    """List the variables of the cycle that a link closes, in order."""
    n = forest.n
    ends = int(forest.scope[closing]), n + int(forest.factor[closing])
    one, two = (_path(forest, node) for node in ends)
    while len(one) > 1 and len(two) > 1 and one[-2] == two[-2]:
        one.pop()
        two.pop()
    return [node for node in [*one, *two[-2::-1]] if node < n]


def _path(forest: Forest, node: int) -> list[int]:
    """List the nodes from one of them to the root of its tree."""
    n = forest.n
    path = [node]
    while (link := forest.up[path[-1]]) >= 0:
        path.append(int(forest.scope[link] if path[-1] >= n else n + forest.factor[link]))
    return path


def fixed(array: Any) -> Any:
    """View an array read-only: kernels are compiled for that kind once."""
    return frozen(np.ascontiguousarray(array).view())
