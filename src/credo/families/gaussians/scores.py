"""From rows to joint densities, posteriors and labels, block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from credo._types import F64, Int
from credo._validation.probabilities import BLOCK_BYTES, block_rows, blocks
from credo.exceptions import InputError
from credo.families.gaussians.class_gaussians import ClassGaussians
from credo.families.gaussians.missing import MissingScorer
from credo.families.gaussians.patterns import (
    MissingRows,
    by_pattern,
    gathered,
    keys_of,
    refuse_infinite,
)
from credo.families.gaussians.reduction import rows_at_once
from credo.families.gaussians.single import SingleScorer

#: What rows are scored by: log p(x | k); the same less a term of the row; squared distances.
Kind = Literal["densities", "discriminants", "distances"]
#: Takes joint scores (K, B) and the rows they belong to, and writes them where they go.
Finish = Callable[[F64, Any], None]

#: Bytes of rows that are multiplied by a few columns at once: measured, a core's own cache.
_THIN_BYTES = 2 * 2**20
#: Rows with missing entries are held back, to be gathered by pattern: this many at most, so that
#: their keys and numbers stay small beside the rows.
_MOST_HELD = 2**20
#: Bytes of them that are worked on at once.
_HELD_BYTES = 4 * BLOCK_BYTES


def score_rows(
    model: ClassGaussians,
    log_priors: F64,
    X: Any,
    finish: Finish,
    kind: Kind,
    single: SingleScorer | None = None,
) -> None:
    """Score all rows of ``X``, add the priors, and hand each block of scores to ``finish``.

    Rows with NaN are scored by their observed entries. ``single`` scores rows in float32.
    """
    score = scoring(model, kind) if single is None else single.discriminants
    held = _Held(MissingScorer(model), kind, log_priors, X, finish)
    priors: Any = log_priors[:, None].astype(np.float64 if single is None else np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for block in blocks(len(X), _block_size(model, X.shape[1], kind)):
            rows, x = held.taken_out(X[block], block) if held.any_yet else (None, X[block])
            if not len(x):
                continue
            scores = score(x)
            odd = np.flatnonzero(~np.isfinite(scores.sum(axis=0)))
            scores[:, odd] = 0.0  # written for now, and again when they are released
            scores += priors
            finish(scores, block if rows is None else rows)
            if odd.size:
                held.add(x[odd], odd + block.start if rows is None else rows[odd])
        held.release()


def _block_size(model: ClassGaussians, n_features: int, kind: Kind) -> int:
    """Tell how many rows to score at once: more if each is multiplied by a large matrix."""
    linear = model.is_linear and kind == "discriminants" and model.are_near
    thin = not model.has_correlations or linear
    size = _THIN_BYTES // (8 * n_features) if thin else rows_at_once(n_features)
    return max(1, min(size, block_rows(model.n_classes)))


def scoring(scorer: ClassGaussians | MissingScorer, kind: Kind) -> Callable[[Any], F64]:
    """Give the method of a scorer that gives this kind of scores."""
    return {
        "densities": scorer.log_densities,
        "discriminants": scorer.discriminants,
        "distances": scorer.distances,
    }[kind]


class _Held:
    """Rows that wait until enough of them share their pattern."""

    def __init__(
        self, scorer: MissingScorer, kind: Kind, log_priors: F64, X: Any, finish: Finish
    ) -> None:
        self._score = scoring(scorer, kind)
        self._waits = scorer.model.has_correlations  # else nothing is shared by a pattern
        self._log_priors, self._X, self._finish = log_priors, X, finish
        self._most = max(1, _HELD_BYTES // (8 * max(X.shape[1], len(log_priors))))
        self._rows: list[Int] = []
        self._keys: list[Any] = []
        self._seen = False

    @property
    def any_yet(self) -> bool:
        """Tell whether a row has been held, so that others are to be expected."""
        return bool(self._rows) or self._seen

    def taken_out(self, x: Any, block: slice) -> tuple[Int, Any]:
        """Hold the rows of a block that have missing entries; give the others, with numbers."""
        lacking = ~np.isfinite(x.sum(axis=1, dtype=np.float64))
        rows = np.arange(block.start, block.stop)
        if lacking.all():
            self.add(x, rows)
            return rows[:0], x[:0]
        if lacking.any():
            self.add(x[lacking], rows[lacking])
        return rows[~lacking], x[~lacking]

    def add(self, x: Any, rows: Int) -> None:
        """Hold rows back, or score them at once if there is nothing to wait for."""
        refuse_infinite(x, rows)
        self._seen = True
        if not self._waits:
            self._finish_rows(MissingRows.unsorted(x), rows)
            return
        self._rows.append(rows)
        self._keys.append(keys_of(x))
        if sum(len(each) for each in self._rows) >= _MOST_HELD:
            self.release()

    def release(self) -> None:
        """Score all rows that are held."""
        if not self._rows:
            return
        rows, keys = np.concatenate(self._rows), np.concatenate(self._keys)
        self._rows, self._keys = [], []
        order = by_pattern(keys)
        rows, keys = rows[order], keys[order]
        for block, missing in gathered(self._X, rows, keys, self._most):
            self._finish_rows(missing, rows[block])

    def _finish_rows(self, missing: MissingRows, rows: Int) -> None:
        """Score rows and hand the scores on."""
        scores = self._score(missing)
        refuse_far(scores, rows)
        scores += self._log_priors[:, None]
        self._finish(scores, rows)


def refuse_far(scores: F64, rows: Int) -> None:
    """Refuse rows whose densities are not numbers."""
    far = ~np.isfinite(scores.sum(axis=0))
    if far.any():
        raise InputError(
            f"Row {int(rows[far.argmax()])} is so far from a class that its density is not a "
            "number. Check its values and their unit."
        )


def probabilities_into(out: Any) -> Finish:
    """Write posteriors, rows of ``out``."""

    def finish(scores: F64, rows: Any) -> None:
        scores -= scores.max(axis=0)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=0)
        out[rows] = scores.T

    return finish


def log_probabilities_into(out: Any) -> Finish:
    """Write log posteriors, rows of ``out``; in float32, zero where the probability is one."""
    nearly_one = -np.finfo(out.dtype).epsneg if out.dtype == np.float32 else 0.0

    def finish(scores: F64, rows: Any) -> None:
        scores -= scores.max(axis=0)  # first, so that log p is exact next to zero
        scores -= log_totals(scores)
        if nearly_one:
            scores[scores > nearly_one] = 0.0
        out[rows] = scores.T

    return finish


def labels_into(out: Any) -> Finish:
    """Write the index of the best class; the first of equals."""

    def finish(scores: F64, rows: Any) -> None:
        out[rows] = scores.argmax(axis=0)

    return finish


def scores_into(out: Any) -> Finish:
    """Write the scores themselves, rows of ``out``."""

    def finish(scores: F64, rows: Any) -> None:
        out[rows] = scores.T

    return finish


def totals_into(out: Any) -> Finish:
    """Write log p(x), the sum over the classes."""

    def finish(scores: F64, rows: Any) -> None:
        out[rows] = log_totals(scores)

    return finish


def log_totals(scores: F64) -> F64:
    """Give log Σ_k exp of each column; the largest term stays out of the sum, for its rest."""
    best = scores.argmax(axis=0)
    columns = np.arange(scores.shape[1])
    top = scores[best, columns]
    terms = np.exp(scores - top)
    terms[best, columns] = 0.0
    return top + np.log1p(terms.sum(axis=0))
