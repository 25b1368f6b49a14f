"""A question put to a model: the factors it needs, with the evidence already in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._kernels.evidence_slices import (
    copied_tables,
    idle_parts,
    needed_factors,
    sliced_factors,
)
from credo._types import F64, Bool
from credo.graphs.evidence import Evidence
from credo.graphs.wiring import Wiring

Int64: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Factors over free variables: all that a sum or a maximum has to visit.

    Variables are renumbered; ``variables`` gives their place in the wiring. Observed variables are
    gone: their factors are slices. Weights on states are factors of one variable.
    """

    wiring: Wiring
    variables: Int64  #: the free variables, as numbered in the wiring
    n_states: Int64
    scope_start: Int64
    scope: Int64
    cell_start: Int64  #: where each factor's table starts
    values: F64
    log_constant: float  #: to be added to the log of every sum
    is_complete: bool  #: whether the sum over everything is the probability of the evidence
    keep: Bool = field(repr=False)  #: the factors of the wiring that take part
    observed: Int64 = field(repr=False)
    soft: dict[int, F64] = field(repr=False)
    ones: int = 0  #: cells, at the end of the values, of factors that are one everywhere

    @property
    def is_wide(self) -> bool:
        """Whether the factors span more than float64 holds, so that logs have to be used."""
        return self.wiring.log_values is not None

    def log_values(self) -> F64:
        """Return the logarithms of the cells, also of those that are zero in float64."""
        with np.errstate(divide="ignore"):
            if self.wiring.log_values is None:
                return np.asarray(np.log(self.values))
            none = np.zeros(len(self.wiring.n_states), np.int64)
            logs = _slices(self.wiring, self.wiring.log_values, self.keep, self.observed, none)[3]
            soft = (np.log(w) for w in self.soft.values())
            return np.concatenate([logs, *soft, np.zeros(self.ones)])

    def with_clique(self, query: Sequence[int]) -> Problem:
        """Add a factor of ones over the query, so that one clique holds all of it."""
        cells = int(np.prod(self.n_states[list(query)]))
        return replace(
            self,
            scope=np.concatenate([self.scope, np.asarray(query, np.int64)]),
            scope_start=np.append(self.scope_start, self.scope_start[-1] + len(query)),
            cell_start=np.append(self.cell_start, self.cell_start[-1] + cells),
            values=check.frozen(np.concatenate([self.values, np.ones(cells)])),
            ones=self.ones + cells,
        )


def pose(
    wiring: Wiring,
    evidence: Evidence,
    query: Sequence[int] | None = None,
    *,
    whole: bool = False,
) -> Problem:
    """Reduce a wiring to what a question needs.

    Parameters
    ----------
    wiring
        A compiled model of tables.
    evidence
        What is observed.
    query
        The variables whose beliefs are wanted; None for all. Children that nobody needs are left
        out, and so are parts that the evidence separates from the query, unless they hold a zero
        and so might make the evidence impossible.
    whole
        Keep the separated parts: for the probability of the evidence.
    """
    n = len(wiring.n_states)
    observed = evidence.observed(n)
    soft = evidence.soft(wiring)
    keep = np.ones(len(wiring.table), np.bool_)
    if query is None:
        return _problem(wiring, keep, observed, soft, observed < 0)
    wanted = np.zeros(n, np.bool_)
    wanted[list(query)] = True
    needed = wanted | (observed >= 0)
    needed[list(soft)] = True
    keep = needed_factors(n, wiring.scope_start, wiring.scope, wiring.owner, needed)
    free = _mark_variables(wiring, keep, needed)
    if len(wiring.table) < n or (wiring.owner < 0).any():
        free |= ~_mark_variables(
            wiring, np.ones_like(keep), wanted
        )  # free of factors, they count too
    free &= observed < 0
    problem = _problem(wiring, keep, observed, soft, free)
    return problem if whole else _without_idle_parts(problem, wanted)


def _mark_variables(wiring: Wiring, keep: Bool, needed: Bool) -> Bool:
    """Mark the variables of the kept factors, and those needed anyway."""
    marks = needed.copy()
    marks[wiring.scope[np.repeat(keep, np.diff(wiring.scope_start))]] = True
    return marks


def _problem(
    wiring: Wiring, keep: Bool, observed: Int64, soft: dict[int, F64], free: Bool
) -> Problem:
    """Slice the kept factors and append the weights on single variables."""
    new = np.cumsum(free) - 1
    if keep.all() and free.all():
        start, scope = wiring.scope_start.copy(), wiring.scope.astype(np.int64)
        cells, values = wiring.table_start.copy(), wiring.values
        if not _has_own_tables(wiring):
            cells, values = copied_tables(wiring.table, cells, values)
    else:
        start, scope, cells, values = _slices(wiring, wiring.values, keep, observed, new)
    if soft:
        weights = list(soft.values())
        scope = np.concatenate([scope, new[list(soft)]])
        start = np.concatenate([start, start[-1] + 1 + np.arange(len(soft))])
        sizes = np.cumsum([len(w) for w in weights])
        cells = np.concatenate([cells, cells[-1] + sizes])
        values = np.concatenate([values, *weights])
    constant = float(wiring.log_scale[wiring.table[keep]].sum()) if wiring.log_scale.any() else 0.0
    variables = np.flatnonzero(free)
    return Problem(
        wiring=wiring,
        variables=variables,
        n_states=wiring.n_states[variables],
        scope_start=start,
        scope=scope,
        cell_start=cells,
        values=check.frozen(values),
        log_constant=constant,
        is_complete=True,
        keep=keep,
        observed=observed,
        soft=soft,
    )


def _has_own_tables(wiring: Wiring) -> bool:
    """Tell whether the tables lie in the order of the factors, one each: no need to copy them."""
    table = wiring.table
    return len(table) == len(wiring.table_start) - 1 and bool((np.diff(table) == 1).all())


def _slices(
    wiring: Wiring, values: F64, keep: Bool, observed: Int64, new: Int64
) -> tuple[Int64, Int64, Int64, F64]:
    """Slice the kept factors at what was observed."""
    scopes = wiring.n_states, wiring.scope_start, wiring.scope, wiring.scope
    return sliced_factors(*scopes, wiring.table, wiring.table_start, values, keep, observed, new)


def _without_idle_parts(whole: Problem, wanted: Bool) -> Problem:
    """Leave out the parts that are not connected with the query.

    Conditional probabilities of unobserved children sum to one, whatever the part is.
    """
    n_tables = len(whole.scope_start) - 1 - len(whole.soft)
    owner = whole.wiring.owner[whole.keep]
    is_free_child = np.zeros(n_tables + len(whole.soft), np.bool_)
    is_free_child[:n_tables] = (owner >= 0) & (whole.observed[owner] < 0)
    scopes = len(whole.variables), whole.scope_start, whole.scope
    idle = idle_parts(
        *scopes, whole.cell_start, whole.values, wanted[whole.variables], is_free_child
    )
    if not idle.any():
        return whole
    found = zip(whole.soft.items(), idle[n_tables:], strict=True)
    soft = {v: w for (v, w), is_idle in found if not is_idle}
    keep = whole.keep.copy()
    keep[np.flatnonzero(keep)[idle[:n_tables]]] = False
    needed = wanted.copy()
    needed[list(soft)] = True
    free = _mark_variables(whole.wiring, keep, needed) & (whole.observed < 0)
    part = _problem(whole.wiring, keep, whole.observed, soft, free)
    return replace(part, is_complete=False)
