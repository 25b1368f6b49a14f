"""The one term of sparse rows: a linear score of the entries that are not zero."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from scipy.special import gammaln

from credo._types import F64
from credo.classifiers.naive.sparse import COUNTS, SparseRows, aligned
from credo.classifiers.naive.terms import Scorer, Term


@final
@dataclass(frozen=True, eq=False)
class SparseTerm(Term):
    """Bernoulli, multinomial or Poisson columns of sparse rows."""

    @cached_property
    def _table(self) -> F64:
        """Give the weight of each column for each class, (D, K); 0 where it is infinite."""
        natural = self.family.natural_parameters
        weights = natural.reshape(len(natural), -1)
        return aligned(np.where(np.isfinite(weights), weights, 0.0).T)

    @cached_property
    def _offsets(self) -> F64:
        """Give the score of a row of zeros, (K, 1), without what is impossible."""
        partitions = self.family.log_partition.reshape(len(self.family.mean), -1)
        total: F64 = np.where(np.isfinite(partitions), partitions, 0.0).sum(axis=1)
        return -total[:, None]

    @cached_property
    def _barred(self) -> tuple[F64, F64] | None:
        """Count impossible entries: 1 if a column must be zero, -1 if it must not; and the latter.

        None if all weights are finite.
        """
        natural = self.family.natural_parameters
        weights = natural.reshape(len(natural), -1)
        if np.isfinite(weights).all():
            return None
        table = np.isneginf(weights).astype(np.float64) - np.isposinf(weights)
        return aligned(table.T), np.isposinf(weights).sum(axis=1, dtype=np.float64)[:, None]

    def scorer(self, rows: SparseRows, *, whole: bool) -> Scorer:
        """Get ready for rows; see ``Term.scorer``."""
        from credo._kernels.sparse_rows import add_scores  # noqa: PLC0415 - compiled, on demand

        kind = COUNTS[self.part.family]

        def score(block: slice) -> F64:
            entries = rows.entries(block, kind)
            n = block.stop - block.start
            scores = np.repeat(self._offsets, n, axis=1)
            add_scores(*entries, self._table, scores)
            if self._barred is not None:
                faults = np.repeat(self._barred[1], n, axis=1)
                present = (entries[2] > 0).astype(np.float64)
                add_scores(entries[0], entries[1], present, self._barred[0], faults)
                scores[faults > 0] = -np.inf
            if whole:
                scores += self._log_base(rows, block)
            return scores

        return score

    def _log_base(self, rows: SparseRows, block: slice) -> F64 | float:
        """Give the base measure of each row: of counts, the coefficient."""
        if self.part.family == "bernoulli":
            return 0.0
        totals, logs = rows.log_factorials(block)
        result: F64 = gammaln(totals + 1.0) - logs if self.part.is_vector else -logs
        return result

    def contributions(self, rows: SparseRows, row: int) -> F64:
        """Give what each column of one row adds, (K, D)."""
        x = rows.X[[row]].toarray()[0].astype(np.float64)
        if self.part.is_vector:
            with np.errstate(invalid="ignore"):
                terms = x * self.family.natural_parameters
            return np.where(x > 0, terms, 0.0)
        return self.family.log_density(x)
