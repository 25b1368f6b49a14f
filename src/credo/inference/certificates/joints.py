"""Joint beliefs of a few variables, read from the belief of a factor that holds them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from credo._types import F64
from credo.graphs.wiring import starts
from credo.inference.certificates.forests import factor_of
from credo.inference.certificates.reduction import Int64, Reduced


def joints_of(
    reduced: Reduced, graph: Any, marginals: F64, beliefs: F64, block: Int64 | None = None
) -> Callable[[Int64], F64 | None]:
    """Make a function that gives the joint belief of variables of the wiring.

    ``graph`` has the scopes of the beliefs. It gives None where a variable is not free, or none of
    them holds all variables. Variables of different blocks, if there are any, are independent.
    """
    return partial(_joint, reduced, (graph, marginals, beliefs), block)


def _joint(
    reduced: Reduced, held: tuple[Any, F64, F64], block: Int64 | None, variables: Int64
) -> F64 | None:
    """Give the joint belief of some variables."""
    problem = reduced.problem
    state_start = starts(problem.n_states)
    places = np.searchsorted(problem.variables, variables)
    if not np.isin(variables, problem.variables).all():
        return None
    moving = places[np.isin(places, reduced.kept)]
    wanted = np.searchsorted(reduced.kept, moving)
    own = np.zeros(len(wanted), np.int64) if block is None else block[wanted]
    table = _product(*held, wanted, own)
    if table is None:
        return None
    alive = [
        np.flatnonzero(reduced.alive[state_start[v] : state_start[v + 1]]) for v in places.tolist()
    ]
    whole = np.zeros(tuple(problem.n_states[places]))
    whole[np.ix_(*alive)] = table.reshape([len(states) for states in alive])
    return whole


def _product(
    graph: Any, marginals: F64, beliefs: F64, variables: Int64, block: Int64
) -> F64 | None:
    """Multiply the joint beliefs of the variables of each block; None if one is not known."""
    result = np.ones(())
    listed: list[int] = []
    for own in np.unique(block):
        places = np.flatnonzero(block == own)
        table = _table(graph, marginals, beliefs, variables[places])
        if table is None:
            return None
        result = np.multiply.outer(result, table)
        listed += places.tolist()
    return np.asarray(np.transpose(result, np.argsort(listed)))


def _table(graph: Any, marginals: F64, beliefs: F64, variables: Int64) -> F64 | None:
    """Give the joint belief of variables of the reduced problem, in their order."""
    if len(variables) == 1:
        first, stop = graph.state_start[variables[0] : variables[0] + 2]
        return marginals[first:stop]
    n_factors = len(graph.scope_start) - 1
    its_factor = factor_of(graph)[np.isin(graph.scope, variables)]
    holders = np.flatnonzero(np.bincount(its_factor, minlength=n_factors) == len(variables))
    if not len(holders):
        return None
    f = int(holders[0])
    scope = graph.scope[graph.scope_start[f] : graph.scope_start[f + 1]]
    table = beliefs[graph.cell_start[f] : graph.cell_start[f + 1]]
    others = tuple(np.flatnonzero(~np.isin(scope, variables)).tolist())
    left = table.reshape(tuple(graph.n_states[scope])).sum(axis=others)
    stay = scope[np.isin(scope, variables)]
    order = [int(np.flatnonzero(stay == v)[0]) for v in variables]
    return np.asarray(np.transpose(left, order))
