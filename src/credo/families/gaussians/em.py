"""Maximum likelihood with missing entries: expectation, then the closed form, until it stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from credo._types import F64, Bool
from credo._validation.probabilities import BLOCK_BYTES
from credo.families.gaussians.class_gaussians import ClassGaussians
from credo.families.gaussians.definite import Names
from credo.families.gaussians.estimate import Estimate, Recipe, check_moments, estimate
from credo.families.gaussians.likelihood import log_likelihood
from credo.families.gaussians.missing import MissingScorer
from credo.families.gaussians.moments import ClassMoments, Detail
from credo.families.gaussians.observed import reduce_observed
from credo.families.gaussians.patterns import gathered, rows_with_missing, sorted_by_pattern
from credo.families.gaussians.reduction import Rows, reduce_rows
from credo.families.gaussians.shapes import Shape, detail_for
from credo.families.gaussians.variation import active_features, flat_features, refusal

#: Steps before an amount of shrinkage is found: EM forgets its start at about the rate of what is
#: missing, and half of it to the twentieth power is 1e-6.
_WARM_STEPS = 20
#: Bytes of rows with missing entries that are worked on at once.
_HELD_BYTES = 4 * BLOCK_BYTES


@dataclass(frozen=True, slots=True, eq=False)
class Expectation:
    """What expectation-maximisation found."""

    found: Estimate
    #: Weight of each class.
    weights: F64
    #: Log-likelihood of the observed entries before each step and after the last.
    trace: F64
    converged: bool


def fit_missing(
    rows: Rows,
    recipe: Recipe,
    names: Names,
    *,
    tol: float,
    max_iter: int,
    progress: Callable[[int, float], None] | None = None,
) -> Expectation:
    """Fit Gaussians to rows with NaN by EM; the trace never falls unless shrunk or repaired.

    Complete rows are summarised once. Each step fills the others with their conditional means,
    adds the conditional covariances, and estimates from the sum. It stops when the log-likelihood
    of a row gains less than ``tol``. An amount of shrinkage that has to be found is found after
    some steps without, because the first guess knows no correlations, and then kept.
    """
    seen = reduce_observed(rows.X, rows.codes, rows.weights, rows.n_classes)
    check_moments(seen, names)
    work = _Work(rows, recipe.shape)
    start = _start(seen, recipe.shape)
    flat = flat_features(seen, recipe.shape, active_features(start, recipe.shape, names))
    if flat.any() and not recipe.repair:
        raise refusal(flat, seen, names)
    steps = _Steps(work, names, flat, tol * float(seen.weights.sum()), progress)
    plain = Recipe(recipe.shape, repair=recipe.repair or recipe.shrinkage is not None)
    found = estimate(start, plain, names, flat=flat)
    if recipe.shrinkage is None:
        found, converged = steps.run(found, recipe, max_iter)
    else:
        if isinstance(recipe.shrinkage, str):
            found, _ = steps.run(found, plain, min(_WARM_STEPS, max_iter))
            recipe = replace(recipe, shrinkage=steps.amounts(found, recipe))
            found = replace(found, repair=None)  # what follows is shrunk, and tells for itself
        found, converged = steps.run(found, recipe, max_iter)
    return Expectation(found, seen.weights, np.array(steps.trace), converged)


class _Steps:
    """Steps of EM, and their trace."""

    def __init__(
        self,
        work: _Work,
        names: Names,
        flat: Bool,
        least_gain: float,
        progress: Callable[[int, float], None] | None,
    ) -> None:
        self._work, self._names, self._flat = work, names, flat
        self._least_gain, self._progress = least_gain, progress
        self.trace: list[float] = []

    def run(self, found: Estimate, recipe: Recipe, most: int) -> tuple[Estimate, bool]:
        """Take at most so many steps; tell whether the log-likelihood stood still."""
        before = np.nan
        told = found.repair
        for step in range(most + 1):
            moments, now = self._work.expected(found.model)
            self.trace.append(now)
            if self._progress is not None:
                self._progress(len(self.trace) - 1, now)
            if abs(now - before) <= self._least_gain:
                return replace(found, repair=told), True
            if step < most:
                found, before = estimate(moments, recipe, self._names, flat=self._flat), now
                told = told or found.repair
                if recipe.shrinkage is None and found.amounts.any():
                    # Repaired: kept from here on, or EM would run into the same wall again.
                    recipe = replace(recipe, shrinkage=found.amounts)
        return replace(found, repair=told), False

    def amounts(self, found: Estimate, recipe: Recipe) -> F64:
        """Find the shrinkage of what a model expects."""
        moments, _ = self._work.expected(found.model)
        return estimate(moments, recipe, self._names, flat=self._flat).amounts


def _start(seen: ClassMoments, shape: Shape) -> ClassMoments:
    """Make independent features with the observed means and variances, as a first guess."""
    pooled = seen.scatter.sum(axis=0) / seen.feature_weights.sum(axis=0)
    variances = np.divide(
        seen.scatter,
        seen.feature_weights,
        out=np.zeros_like(seen.scatter),
        where=seen.feature_weights > 0,
    )
    variances = np.where(variances > 0, variances, pooled)
    scatter = seen.weights[:, None, None] * np.apply_along_axis(np.diag, 1, variances)
    detail = detail_for(shape)
    if detail == "tied":
        scatter = scatter.sum(axis=0)
    return replace(seen, scatter=scatter, detail=detail, observed=None)


class _Work:
    """The rows of a fit: what is complete, summarised, and what is not, by class and pattern."""

    def __init__(self, rows: Rows, shape: Shape) -> None:
        self.rows, self.detail = rows, detail_for(shape)
        weights = np.ones(len(rows.codes)) if rows.weights is None else rows.weights
        lacking = rows_with_missing(rows.X)
        complete = weights.copy()
        complete[lacking] = 0.0
        self.complete = reduce_rows(rows.X, rows.codes, complete, rows.n_classes, self.detail)
        self.weights = weights
        self.most = max(1, _HELD_BYTES // (8 * rows.X.shape[1]))
        lacking = lacking[weights[lacking] > 0]
        lacking = lacking[np.argsort(rows.codes[lacking], kind="stable")]
        ends = np.searchsorted(rows.codes[lacking], np.arange(rows.n_classes + 1))
        self.parts = [sorted_by_pattern(rows.X, lacking[a:b], self.most) for a, b in pairwise(ends)]

    def expected(self, model: ClassGaussians) -> tuple[ClassMoments, float]:
        """Give the moments expected under a model, and the log-likelihood of what was observed."""
        scorer = MissingScorer(model)
        total = log_likelihood(model, self.complete)
        classes = []
        for k, (rows, keys) in enumerate(self.parts):
            moments = _nothing(model.n_features, self.detail)
            for block, missing in gathered(self.rows.X, rows, keys, self.most):
                weights = self.weights[rows[block]]
                filled = scorer.filled(missing, k, weights)
                total += float(weights @ filled.log_density)
                codes = np.zeros(len(weights), dtype=np.intp)
                part = reduce_rows(filled.values, codes, weights, 1, self.detail)
                part.scatter[...] += 0.5 * (filled.spread + filled.spread.T)
                moments = moments.merge(part)
            classes.append(moments)
        return self.complete.merge(_joined(classes, self.detail)), total


def _nothing(n_features: int, detail: Detail) -> ClassMoments:
    """Give the moments of no rows, of one class."""
    no_rows = np.empty((0, n_features))
    return reduce_rows(no_rows, np.empty(0, dtype=np.intp), None, 1, detail)


def _joined(classes: list[ClassMoments], detail: Detail) -> ClassMoments:
    """Put moments of one class each side by side."""
    scatters = [each.scatter for each in classes]
    return ClassMoments(
        counts=np.concatenate([each.counts for each in classes]),
        weights=np.concatenate([each.weights for each in classes]),
        means=np.concatenate([each.means for each in classes]),
        scatter=np.sum(scatters, axis=0) if detail == "tied" else np.concatenate(scatters),
        detail=detail,
        rests=np.concatenate(
            [np.zeros_like(m.means) if m.rests is None else m.rests for m in classes]
        ),
    )
