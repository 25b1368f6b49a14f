"""``ClassMoments``: weight, mean and centred scatter of each class, a monoid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from credo._types import F64, Bool, Int
from credo.exceptions import InputError, ShapeError
from credo.families._rows import two_sum

#: How much of the scatter is kept: one matrix per class, their sum, or the diagonals.
Detail = Literal["full", "tied", "diagonal"]

#: A summary above this many bytes is refused before it is made.
MOST_BYTES = 4 * 2**30

#: Spread below this many units in the last place of the mean is the values' own rounding.
_ULPS = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class ClassMoments:
    r"""Hold the sufficient statistics of K Gaussians with D features.

    .. math:: n_k = \sum_i w_i, \quad m_k = \frac{1}{n_k} \sum_i w_i x_i, \quad
              S_k = \sum_i w_i (x_i - m_k)(x_i - m_k)^T

    Merged with Chan's formula, never from sums of squares, and with twice the digits for the means,
    so that a large mean costs no digits of the scatter.
    """

    #: Rows of positive weight, and the sum of their weights, in each class: (K,).
    counts: Int
    weights: F64
    #: Mean of each class, rounded, (K, D); zero where nothing was observed.
    means: F64
    #: (K, D, D), (D, D) or (K, D), by the detail.
    scatter: F64
    detail: Detail
    #: Weight of the observed entries of each feature, (K, D); None if no entry was missing.
    observed: F64 | None = None
    #: What rounding took from the means, (K, D); None for nothing.
    rests: F64 | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.means)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.means.shape[1])

    @property
    def feature_weights(self) -> F64:
        """Weight behind each mean, (K, D)."""
        if self.observed is not None:
            return self.observed
        return np.broadcast_to(self.weights[:, None], self.means.shape)

    def merge(self, other: ClassMoments) -> ClassMoments:
        """Join the moments of two sets of rows; classes and features must line up."""
        if self.means.shape != other.means.shape or self.detail != other.detail:
            raise ShapeError(
                "ClassMoments.merge needs the same classes, features and detail. Got "
                f"{self.means.shape} {self.detail!r} and {other.means.shape} {other.detail!r}."
            )
        mine, theirs = self.feature_weights, other.feature_weights
        total = mine + theirs
        share = np.divide(theirs, total, out=np.zeros_like(total), where=total > 0)
        gap = (other.means - self.means) + (_or_zero(other.rests) - _or_zero(self.rests))
        means, rests = two_sum(self.means, _or_zero(self.rests) + share * gap)
        complete = self.observed is None and other.observed is None
        scatter = self.scatter + other.scatter
        _add_gap(scatter, gap, mine * share, self.detail)
        return ClassMoments(
            counts=self.counts + other.counts,
            weights=self.weights + other.weights,
            means=means,
            scatter=scatter,
            detail=self.detail,
            observed=None if complete else total,
            rests=rests,
        )

    def spread(self, places: Int, n_classes: int) -> ClassMoments:
        """Put class i at ``places[i]`` among ``n_classes``; the others are empty."""
        check_size(n_classes, self.n_features, self.detail)

        def placed(array: Any) -> Any:
            result = np.zeros((n_classes, *array.shape[1:]), dtype=array.dtype)
            result[places] = array
            return result

        return ClassMoments(
            counts=placed(self.counts),
            weights=placed(self.weights),
            means=placed(self.means),
            scatter=self.scatter if self.detail == "tied" else placed(self.scatter),
            detail=self.detail,
            observed=None if self.observed is None else placed(self.observed),
            rests=None if self.rests is None else placed(self.rests),
        )

    def pooled(self) -> F64:
        """Give the sum of the class scatters: (D, D), or (D,) if only diagonals are kept."""
        return self.scatter if self.detail == "tied" else self.scatter.sum(axis=0)

    def diagonals(self) -> F64:
        """Give the diagonal of each class scatter, (K, D)."""
        if self.detail == "full":
            return np.ascontiguousarray(np.diagonal(self.scatter, axis1=1, axis2=2))
        return self.scatter

    def pooled_diagonal(self) -> F64:
        """Give the diagonal of the pooled scatter, (D,)."""
        return self.pooled() if self.detail == "diagonal" else np.diagonal(self.pooled()).copy()

    def grand_mean(self) -> F64:
        """Give the mean of all rows, (D,)."""
        if self.observed is None and self.weights.sum() > 0:
            return (self.weights / self.weights.sum()) @ self.means
        weights = self.feature_weights
        total = weights.sum(axis=0)
        share = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
        return (share * self.means).sum(axis=0)

    def constant_features(self) -> Bool:
        """Tell which features have one value in all rows, but for rounding."""
        centre, weights = self.grand_mean(), self.feature_weights
        apart = (weights > 0) & (np.abs(self.means - centre) > _ULPS * np.abs(centre))
        within = self.pooled_diagonal() > (weights * rounding_variance(self.means)).sum(axis=0)
        return ~(within | apart.any(axis=0))

    def projected(self, components: F64, centre: F64) -> ClassMoments:
        """Give the moments of (x - centre) @ components.T, components of shape (Q, D)."""
        part = np.matmul(np.matmul(components, self.scatter), components.T)
        return ClassMoments(
            counts=self.counts,
            weights=self.weights,
            means=(self.means - centre) @ components.T,
            scatter=0.5 * (part + part.swapaxes(-1, -2)),
            detail=self.detail,
        )


def _or_zero(rests: F64 | None) -> Any:
    """Give what rounding took away, zero if that is not known."""
    return 0.0 if rests is None else rests


def rounding_variance(means: F64) -> F64:
    """Give the variance that rounding alone may leave in values of this mean."""
    return (_ULPS * means) ** 2


def _add_gap(scatter: F64, gap: F64, factor: F64, detail: Detail) -> None:
    """Add the scatter between two means, factor * gap gapᵀ of each class, in place."""
    if detail == "diagonal":
        scatter += factor * gap**2
        return
    part = np.sqrt(factor) * gap  # squared as a whole, so that the sum stays symmetric
    if detail == "tied":
        scatter += part.T @ part
    else:
        scatter += part[:, :, None] * part[:, None, :]


def check_size(n_classes: int, n_features: int, detail: Detail) -> None:
    """Refuse moments that would not fit into memory, and say what would."""
    cells = {"full": n_classes * n_features**2, "tied": n_features**2, "diagonal": 0}[detail]
    n_bytes = 8 * (cells + n_classes * n_features)
    if n_bytes > MOST_BYTES:
        remedy = "'tied' or 'diagonal'" if detail == "full" else "'diagonal'"
        raise InputError(
            f"{n_classes} classes with {n_features} features need {n_bytes / 2**30:.1f} GiB for "
            f"{detail} scatter, above {MOST_BYTES / 2**30:.0f} GiB. Use covariance={remedy}, or "
            "fewer features."
        )
