"""Probabilities and losses lined up by name, and their products block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from credo._types import F64, Labels
from credo._validation.arrays import as_floats
from credo._validation.labels import as_labels, check_frame, names_of
from credo._validation.probabilities import (
    block_rows,
    blocks,
    check_rows,
    check_width,
    tolerance,
)
from credo.decisions.loss import Loss
from credo.decisions.loss_matching import as_loss, loss_of_rows, rows_for
from credo.exceptions import InputError
from credo.posterior import Posterior


def rounding(n_labels: int) -> float:
    r"""Bound the rounding error of an expected loss, relative to :math:`\sum_k p_k |L_{ka}|`.

    A sum of K products is off by at most K units of rounding, a unit being eps/2, and the
    probabilities and losses were each rounded once before: K/2 + 1 times eps.
    """
    return (n_labels / 2 + 1) * float(np.finfo(np.float64).eps)


class LinedUp:
    """Probabilities (rows) and losses (truths in the order of the columns)."""

    def __init__(self, posterior: Any, loss: Loss, labels: Iterable[Any] | None) -> None:
        names = column_names(posterior, labels)
        self.loss = as_loss(loss, "decide")
        self._posterior = posterior if isinstance(posterior, Posterior) else None
        array = numeric(posterior) if self._posterior is None else posterior.log_probabilities
        check_width(array, names, "decide")
        self._array = np.atleast_2d(array)
        self._order = rows_for(loss, names, "decide")
        self.is_single = array.ndim == 1
        self.n_rows = len(self._array)
        loss_of_rows(loss, None, self.n_rows, "decide")

    def expected(self, *, check: bool = True) -> Iterator[tuple[slice, F64, F64, F64]]:
        """Yield (block, losses (A, b), totals (b,), sizes (A, b)) for consecutive rows.

        ``totals`` are the rows' sums, one up to rounding. ``sizes`` are expected losses without
        their signs, to which rounding errors are relative; they are the losses themselves if no
        loss is negative. The arrays are overwritten by the next block. ``check`` tells whether
        rows of an array must be looked at.
        """
        n_labels, n_acts = self.loss.matrix.shape[-2:]
        width = n_labels * n_acts if self.loss.is_per_row else n_labels + 2 * n_acts
        size = block_rows(width)
        product = self._products_per_row() if self.loss.is_per_row else self._products(size)
        for block in blocks(self.n_rows, size):
            p = self._probabilities(block)
            table = product(block, p)
            totals = table[n_acts]
            if check and self._posterior is None and not _are_rows(p, totals):
                check_rows(p, "decide", _REMEDY, first_row=None if self.is_single else block.start)
            losses = table[:n_acts]
            yield block, losses, totals, table[n_acts + 1 :] if len(table) > n_acts + 1 else losses

    def _products(self, size: int) -> Callable[[slice, F64], F64]:
        """Multiply by one matrix: its acts, a column of ones, and its sizes if it has signs."""
        matrix = self.loss.matrix[self._order]
        columns = [matrix, np.ones((len(matrix), 1))]
        if (matrix < 0).any():
            columns.append(np.abs(matrix))
        factor = np.ascontiguousarray(np.concatenate(columns, axis=1).T)
        buffer = np.empty((len(factor), min(self.n_rows, size)))

        def product(_: slice, p: F64) -> F64:
            full = p.shape[0] == buffer.shape[1]
            return np.dot(factor, p.T, out=buffer) if full else factor @ p.T

        return product

    def _products_per_row(self) -> Callable[[slice, F64], F64]:
        """Multiply each row by its own matrix, with the same extra columns."""

        def product(block: slice, p: F64) -> F64:
            part = self.loss.matrix[block][:, self._order]
            rows = [np.einsum("bk,bka->ab", p, part), p.sum(axis=1)[None]]
            if (part < 0).any():
                rows.append(np.einsum("bk,bka->ab", p, np.abs(part)))
            return np.concatenate(rows)

        return product

    def _probabilities(self, block: slice) -> F64:
        """Give the probabilities of some rows as float64."""
        if self._posterior is None:
            return np.asarray(self._array[block], dtype=np.float64)
        if self.is_single:
            return self._posterior.probabilities[None]
        return self._posterior.rows(block).probabilities


_REMEDY = "Divide the rows by their sums, or pass Posterior.from_probabilities(…, normalise=True)."


def _are_rows(p: F64, totals: F64) -> bool:
    """Check a block of rows at a glance."""
    return bool(p.min() >= 0 and np.abs(totals - 1).max() <= tolerance(p.shape[1]))


def column_names(posterior: Any, labels: Iterable[Any] | None) -> Labels:
    """Find the names of the columns: a Posterior's, those given, or those of a data frame."""
    if isinstance(posterior, Posterior):
        if labels is not None:
            raise InputError("A Posterior has its own labels; leave labels out.")
        return posterior.labels
    if labels is None:
        labels = names_of(posterior)
    if labels is None:
        raise InputError(
            "Which column is which label? Pass labels=[...] with an array, or pass a Posterior."
        )
    names = as_labels(labels, "decide")
    check_frame(posterior, names, "decide")
    return names


def numeric(array: Any) -> npt.NDArray[Any]:
    """Look at an array without copying it; integers and float32 are converted block by block."""
    if not np.ma.is_masked(array) and getattr(array, "dtype", None) is not None:
        values = np.asarray(array)
        if values.dtype.kind in "fiub":
            return values
    return as_floats(array, "decide", "probabilities")
