"""Reading beliefs of several variables from the region that holds them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

import numpy as np

from credo._types import F64
from credo.graphs.problems import Problem
from credo.inference.regions._messages import RegionMessages
from credo.inference.regions._sets import Int64, Sets


def joint_reader(problem: Problem, messages: RegionMessages) -> Callable[[Int64], F64 | None]:
    """Give a function from variables of the wiring to their joint belief.

    It has one axis per variable, in the order asked for. Observed variables are certain. None if
    no outer region holds the others.
    """
    holders = messages.graph.outer.holders(len(problem.n_states))
    return partial(_joint, problem, messages, holders)


def _joint(
    problem: Problem, messages: RegionMessages, holders: Sets, variables: Int64
) -> F64 | None:
    """Give the joint belief of some variables."""
    asked = np.asarray(variables, np.int64)
    is_free = problem.observed[asked] < 0
    free = np.searchsorted(problem.variables, asked[is_free])
    live = free[problem.n_states[free] > 1]
    region = _smallest_holder(messages, holders, live)
    if region is None:
        return None
    whole = np.zeros(problem.wiring.n_states[asked])
    seen = problem.observed[asked]
    place = tuple(int(state) if state >= 0 else slice(None) for state in seen)
    whole[place] = _summed(messages, region, live).reshape(problem.n_states[free])
    return whole


def _smallest_holder(messages: RegionMessages, holders: Sets, live: Int64) -> int | None:
    """Find the outer region with the fewest cells that holds all variables."""
    parts = [holders.members[holders.start[v] : holders.start[v + 1]] for v in live]
    common = reduce(np.intersect1d, parts) if parts else np.arange(len(messages.graph.outer))
    if not len(common):
        return None if parts else -1
    return int(common[np.argmin(np.diff(messages.graph.cells)[common])])


def _summed(messages: RegionMessages, region: int, live: Int64) -> F64:
    """Sum the belief of an outer region down to some of its variables, in their order."""
    graph = messages.graph
    if not len(live):
        return np.ones(())
    members = graph.outer.members[graph.outer.start[region] : graph.outer.start[region + 1]]
    table = np.exp(messages.outer[graph.cells[region] : graph.cells[region + 1]])
    axes = np.searchsorted(members, live)
    others = tuple(np.setdiff1d(np.arange(len(members)), axes).tolist())
    kept = table.reshape(graph.n_states[members]).sum(axis=others)
    ordered = kept.transpose(np.argsort(np.argsort(axes)))
    return np.asarray(ordered / ordered.sum())
