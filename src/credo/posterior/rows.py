"""Rows of log-probabilities: normalising, checking, naming and printing them."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo._types import F64, Labels
from credo._validation.probabilities import wrong_rows
from credo.exceptions import InputError


def log_sum_exp(rows: F64) -> F64:
    """Give log Σ exp of each row of a 2-D array; minus infinity for a row of zeros.

    The largest term is taken out of the sum and the rest goes through log1p, so that a rest of
    1e-18 is not lost beside the one.
    """
    best = rows.argmax(axis=1)[:, None]
    top = np.take_along_axis(rows, best, axis=1)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(over="ignore"):
        terms = np.exp(rows - shift)
    np.put_along_axis(terms, best, 0.0, axis=1)
    result: F64 = np.where(np.isfinite(top), shift + np.log1p(terms.sum(axis=1)[:, None]), top)
    return result[:, 0]


def check_normalised(rows: F64, normalisers: F64, owner: str, *, single: bool) -> None:
    """Check that each row of log-probabilities sums to one after exp; name the first that does not.

    ``normalisers`` are the logarithms of the rows' sums.
    """
    with np.errstate(over="ignore"):
        totals = np.exp(normalisers)
    bad = wrong_rows(totals, rows.shape[1])
    if not bad.size:
        return
    where = "they sum" if single else f"row {bad[0]} sums"
    holds_nan = np.isnan(rows[bad[0]])
    if holds_nan.any():
        where = "they have" if single else f"row {bad[0]} has"
        raise InputError(f"{owner}: {where} NaN at position {int(np.argmax(holds_nan))}.")
    raise InputError(
        f"{owner}: {where} to {totals[bad[0]]:.9g} after exp, not to 1. Pass unnormalised scores "
        "to Posterior.from_log_joint(...)."
    )


def check_scores(rows: F64, owner: str, *, single: bool) -> None:
    """Check that each row of log scores can be normalised; name the first that cannot."""
    bad = np.flatnonzero(~np.isfinite(rows.max(axis=1)))
    if not bad.size:
        return
    row = rows[bad[0]]
    if np.isnan(row).any():
        fault = "NaN"
    elif row.max() > 0:
        fault = "plus infinity"
    else:
        fault = "minus infinity for every label: the case is impossible under all of them"
    where = "the scores hold" if single else f"row {bad[0]} holds"
    raise InputError(f"{owner}: {where} {fault}.")


def check_odds(top: F64, bottom: F64, names: str) -> None:
    """Check that two log-probabilities are nowhere both minus infinity; name the first row."""
    lost = np.flatnonzero(np.isneginf(np.atleast_1d(top)) & np.isneginf(np.atleast_1d(bottom)))
    if lost.size:
        where = f" in row {lost[0]}" if np.ndim(top) else ""
        raise InputError(
            f"Posterior.log_odds: {names} both have probability 0{where}, so their odds are "
            "undefined."
        )


def table_text(shown: F64, labels: Labels, n_rows: int) -> str:
    """Write the first rows of probabilities under their labels."""
    names = [str(label) for label in labels]
    width = max(7, *(len(name) for name in names))
    lines = [f"Posterior of {n_rows} rows over {len(labels)} labels"]
    lines.append("  ".join(name.rjust(width) for name in names))
    lines += ["  ".join(f"{value:.4g}".rjust(width) for value in row) for row in shown]
    more = [f"… {n_rows - len(shown)} more"] if n_rows > len(shown) else []
    return "\n".join([*lines, *more])


def check_which(which: Any, n_rows: int) -> None:
    """Check that rows asked for by number or by a mask are there."""
    if isinstance(which, slice):
        return
    chosen = np.asarray(which)
    is_mask = chosen.dtype.kind == "b"
    if chosen.ndim > 1 or not (chosen.dtype.kind in "iub" or not chosen.size):
        raise InputError("Posterior.rows needs a slice, a list of row numbers or a mask.")
    if is_mask and chosen.shape != (n_rows,):
        raise InputError(f"Posterior.rows: the mask has {chosen.size} entries for {n_rows} rows.")
    if not is_mask and chosen.size:
        odd = chosen[(chosen < -n_rows) | (chosen >= n_rows)]
        if odd.size:
            raise InputError(f"Posterior.rows: there is no row {odd[0]}; there are {n_rows} rows.")
