"""From terms to joint scores, block by block."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo._types import F64
from credo._validation.labels import listing
from credo._validation.probabilities import block_rows, blocks
from credo.classifiers._base import Blocks
from credo.classifiers.columns.table import Table
from credo.classifiers.naive.counts import located
from credo.classifiers.naive.parts import ColumnNames
from credo.classifiers.naive.sparse import SparseRows
from credo.classifiers.naive.terms import Scorer, Term
from credo.exceptions import InputError


def score_rows(
    terms: tuple[Term, ...],
    log_priors: F64,
    rows: Table | SparseRows,
    names: ColumnNames,
    *,
    whole: bool,
) -> Blocks:
    """Add up the terms of all rows; yield each block of scores (K, B)."""
    scorers = [term.scorer(rows, whole=whole) for term in terms]
    priors = log_priors[:, None]
    for block in _blocks(terms, rows, len(log_priors)):
        with np.errstate(over="ignore", invalid="ignore"):
            scores = np.repeat(priors, block.stop - block.start, axis=1)
            for term, scorer in zip(terms, scorers, strict=True):
                scores += _scored(term, scorer, rows, block)
            best = scores.max(axis=0)
        if not np.isfinite(best).all():
            _refuse(terms, log_priors, rows, names, block.start + int(np.isfinite(best).argmin()))
        yield block, scores


def _scored(term: Term, scorer: Scorer, rows: Any, block: slice) -> F64:
    """Score a block; if a family refuses it, say which cell it was."""
    try:
        return scorer(block)
    except InputError as error:
        if isinstance(rows, SparseRows) or str(error).startswith(term.names.owner):
            raise
        x = rows.floats(term.part.columns, block)
        part = term.part, term.names
        raise located(error, type(term.family), x, block, part) from error


def _blocks(terms: tuple[Term, ...], rows: Table | SparseRows, n_classes: int) -> Any:
    """Cut rows so that what is worked on stays in a core's cache."""
    if isinstance(rows, SparseRows):
        return rows.blocks(n_classes)
    widest = max((term.width for term in terms), default=1)
    return blocks(rows.n_rows, block_rows(max(widest, n_classes)))


def _refuse(
    terms: tuple[Term, ...], log_priors: F64, rows: Any, names: ColumnNames, row: int
) -> None:
    """Say why a row has no posterior."""
    possible = np.isfinite(log_priors)
    wrong: list[Any] = []
    for term in terms:
        logs = term.contributions(rows, row)[possible]
        impossible = np.isneginf(logs.max(axis=0)) | np.isnan(logs.max(axis=0))
        columns = term.part.columns
        if len(impossible) < len(columns):  # one event
            wrong += [names.of(columns)] * int(impossible[0])
        else:
            wrong += [names.names[columns[j]] for j in np.flatnonzero(impossible).tolist()]
    where = f"the values in {listing(wrong)} are" if wrong else "its values together are"
    raise InputError(
        f"{names.owner}: row {row} has probability zero under every class: {where} impossible or "
        "beyond what numbers hold. Pass smoothing > 0, or check the row."
    )
