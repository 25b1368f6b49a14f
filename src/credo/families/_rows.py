"""Rows of data at the door of a summary: checked once, then summed by group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from scipy.sparse import csc_array

from credo._types import F64, Bool, Int
from credo._validation.arrays import as_finite, as_floats, positive_int
from credo.exceptions import InputError, ShapeError
from credo.families._parameters import MOST
from credo.families._support import Support
from credo.families.moments import two_sum


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Values on the first axis, their weights and their groups; sums over rows are made here.

    Rows of weight zero are gone, and what is missing holds the filler of the support. The shape
    of a sum is ``lead`` (one axis of groups, or nothing) and then that of a row.
    """

    family: str
    values: F64
    observed: Bool | None
    row_weight: F64
    groups: Int | None
    lead: tuple[int, ...]
    batch: tuple[int, ...]

    @classmethod
    def of(
        cls, family: str, support: Support, x: Any, weight: Any, grouping: tuple[Any, Any]
    ) -> Self:
        """Check rows, weights and groups, ``grouping`` being the codes and how many there are."""
        owner = f"{family}.summarise"
        values = _as_values(x, owner, support)
        weights = _as_weights(weight, len(values), owner)
        groups, lead = _as_groups(*grouping, len(values), owner)
        kept = weights > 0
        numbers = np.flatnonzero(kept)
        if not kept.all():
            values, weights = values[kept], weights[kept]
            groups = None if groups is None else groups[kept]
        support.refuse_others(values, owner, numbers)
        _refuse_huge(values, owner, numbers)
        missing = support.missing(values)
        observed = None
        if missing.any():
            support.refuse_missing(missing, owner, numbers)
            observed, values = ~missing, support.filled(values, ~missing)
        return cls(family, values, observed, weights, groups, lead, missing.shape[1:])

    @property
    def weight(self) -> F64:
        """Total weight of what was observed, of shape ``lead`` and then the batch."""
        if self.observed is not None:
            return self.sum(self.observed.astype(np.float64))
        per_group = self.sum(np.ones(len(self.values)))
        wide = per_group.reshape(self.lead + (1,) * len(self.batch))
        return np.broadcast_to(wide, self.lead + self.batch).copy()

    def sum(self, statistics: F64) -> F64:
        """Add up weight × statistic over the observed rows, by group; one pass."""
        terms = statistics
        if self.observed is not None:
            hidden = terms.ndim - self.observed.ndim
            seen = self.observed.reshape(self.observed.shape + (1,) * hidden)
            terms = np.where(seen, terms, 0.0)
        shape = terms.shape[1:]
        flat = terms.reshape(len(terms), int(np.prod(shape)))
        result: F64 = self._adder() @ flat
        return result.reshape(self.lead + shape)

    def _adder(self) -> Any:
        """Make what adds rows up: the weights, or one row of them per group, sparse."""
        if self.groups is None:
            return self.row_weight
        n = len(self.groups)
        entries = (self.row_weight, self.groups, np.arange(n + 1))
        return csc_array(entries, shape=(*self.lead, n))

    def mean(self, values: F64, weight: F64) -> tuple[F64, F64]:
        """Average by group: the mean, and the rest that its rounding takes away; 0 if empty.

        The second sum corrects the first, so that the mean of equal numbers is that number.
        """
        safe = np.where(weight > 0, weight, 1.0)
        near = self.sum(values) / safe
        return two_sum(near, self.sum(values - self.per_row(near)) / safe)

    def products(self, gaps: F64) -> F64:
        """Add up weight × gap gapᵀ by group, gaps being on the last axis; symmetric."""
        columns = (1,) * (gaps.ndim - 1)
        z = np.sqrt(self.row_weight).reshape(-1, *columns) * gaps
        if self.groups is None:
            return _squared(z)
        order = np.argsort(self.groups, kind="stable")
        ends = np.cumsum(np.bincount(self.groups, minlength=self.lead[0]))
        parts = np.split(z[order], ends[:-1])
        return np.stack([_squared(part) for part in parts])

    def per_row(self, statistics: F64) -> F64:
        """Give each row the statistic of its group."""
        return statistics[None] if self.groups is None else statistics[self.groups]


def _squared(z: F64) -> F64:
    """Sum the products z zᵀ of vectors on the last axis over the first one."""
    rows = np.moveaxis(z, 0, -2)
    result: F64 = rows.swapaxes(-1, -2) @ rows
    return 0.5 * (result + result.swapaxes(-1, -2))


def _as_values(x: Any, owner: str, support: Support) -> F64:
    """Check that there is an axis of rows, and one of events if they are vectors."""
    values = as_floats(x, owner, "values")
    least = 2 if support.vectors else 1
    if values.ndim < least or (support.vectors and not values.shape[-1]):
        shape = "(n, ..., D)" if support.vectors else "(n, ...)"
        raise ShapeError(f"{owner} needs values of shape {shape}. Got shape {values.shape}.")
    return values


def _refuse_huge(values: F64, owner: str, numbers: Int) -> None:
    """Refuse values whose weighted squares might not be numbers."""
    with np.errstate(invalid="ignore"):
        huge = np.abs(values) > MOST
    if huge.any():
        first = tuple(np.argwhere(huge)[0])
        raise InputError(
            f"{owner} needs values up to {MOST:g}, so that weighted squares are numbers. Got "
            f"{values[first]:g} in row {numbers[first[0]]}. Rescale the unit; a missing value is "
            "NaN."
        )


def _as_weights(weight: Any, n: int, owner: str) -> F64:
    """Check one weight per row, 0 or more; all zero is allowed, and is no data."""
    if weight is None:
        return np.ones(n)
    weights = as_finite(weight, owner, "weight")
    if weights.shape != (n,):
        raise ShapeError(f"{owner} needs one weight per row, {n}. Got shape {weights.shape}.")
    if weights.min(initial=0.0) < 0 or weights.max(initial=0.0) > MOST:
        raise InputError(
            f"The weights of {owner} must be between 0 and {MOST:g}. Got {weights.min():g} to "
            f"{weights.max():g}."
        )
    return weights


def _as_groups(
    groups: Any, n_groups: int | None, n: int, owner: str
) -> tuple[Int | None, tuple[int, ...]]:
    """Check one code per row, and give the leading axis of sums by group."""
    if groups is None:
        if n_groups is not None:
            raise InputError(f"{owner} has n_groups but no groups. Pass one code per row.")
        return None, ()
    codes = np.asarray(groups)
    if codes.dtype.kind not in "iub" or codes.shape != (n,):
        raise ShapeError(
            f"{owner} needs groups as one whole number per row, {n}. Got {codes.dtype} of shape "
            f"{codes.shape}."
        )
    top = int(codes.max(initial=-1))
    size = top + 1 if n_groups is None else positive_int(n_groups, owner, "n_groups")
    if top >= size or codes.min(initial=0) < 0:
        row = int(np.argmax((codes < 0) | (codes >= size)))
        raise InputError(
            f"The groups of {owner} must be from 0 to {size - 1}. Got {codes[row]} in row {row}."
        )
    return codes.astype(np.intp), (size,)
