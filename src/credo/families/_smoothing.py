"""Counts to probabilities, with pseudo-counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo._types import F64
from credo._validation.arrays import as_number
from credo.exceptions import InputError, ShapeError
from credo.families._degenerate import place
from credo.families._parameters import MOST


def smoothed(counts: F64, pseudo_count: Any, target: F64 | None, owner: str) -> F64:
    r"""Give :math:`(n_c + a C t_c) / (n + a C)` on the last axis of C categories.

    t is the target, uniform if None: each category then gets the pseudo-count a.
    """
    amount = _checked(pseudo_count, owner)
    more = amount if target is None else amount * counts.shape[-1] * _fitting(target, counts, owner)
    numerators = counts + more
    totals = numerators.sum(axis=-1, keepdims=True)
    _refuse_empty(totals[..., 0], owner)
    return numerators / totals


def shares(
    weight: F64, ones: F64, pseudo_count: Any, target: F64 | None, owner: str
) -> tuple[F64, F64]:
    r"""Give :math:`(n_1 + 2 a t) / (n + 2 a)` and the same of zeros, neither from the other."""
    amount = _checked(pseudo_count, owner)
    t: Any = 0.5 if target is None else _fitting(target, ones, owner)
    first: F64 = ones + 2.0 * amount * t
    second: F64 = np.maximum(weight - ones, 0.0)  # the sums are rounded
    second = second + 2.0 * amount * (1.0 - t)
    total = first + second
    _refuse_empty(total, owner)
    return np.asarray(first / total), np.asarray(second / total)


def _checked(pseudo_count: Any, owner: str) -> float:
    """Check a pseudo-count."""
    amount = as_number(pseudo_count, owner, "pseudo_count")
    if not 0 <= amount <= MOST:
        raise InputError(
            f"The pseudo_count of {owner} must be between 0 and {MOST:g}. Got {amount:g}."
        )
    return amount


def _refuse_empty(totals: F64, owner: str) -> None:
    """Refuse distributions of which nothing was counted."""
    empty = ~(totals > 0)
    if empty.any():
        raise InputError(
            f"{owner}: nothing was counted{place(empty)}. Add rows, or pass a pseudo_count."
        )


def _fitting(target: F64, counts: F64, owner: str) -> F64:
    """Broadcast the target against the counts, or say that it does not fit."""
    try:
        return np.broadcast_to(target, counts.shape)
    except ValueError:
        raise ShapeError(
            f"The target of {owner} must fit the estimate, of shape {counts.shape}. "
            f"Got shape {target.shape}."
        ) from None
