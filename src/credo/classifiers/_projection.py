"""Principal components of the rows, from their moments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo._types import F64
from credo.exceptions import InputError
from credo.families.gaussians.moments import ClassMoments
from credo.families.gaussians.patterns import refuse_infinite

#: Variance below this part of the largest, times the number of features, is rounding.
_ROUNDING = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """The first principal components: unit rows of shape (Q, D), about the mean of all rows."""

    components: F64
    centre: F64
    #: Share of the variance that each component explains, (Q,).
    shares: F64

    @classmethod
    def of(cls, moments: ClassMoments, subspace: float, owner: str) -> Projection:
        """Find them in the scatter of all rows, within and between the classes."""
        centre = moments.grand_mean()
        gaps = moments.means - centre
        total = moments.pooled() + (moments.weights[:, None] * gaps).T @ gaps
        values, vectors = np.linalg.eigh(0.5 * (total + total.T))
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1].T
        if not values.sum() > 0:
            raise InputError(f"{owner}: no feature varies, so there are no principal components.")
        shares = values / values.sum()
        kept = _number(subspace, shares[values > len(values) * _ROUNDING * values[0]], owner)
        largest = np.abs(vectors[:kept]).argmax(axis=1)
        signs = np.sign(vectors[np.arange(kept), largest])
        return cls(signs[:, None] * vectors[:kept], centre, shares[:kept])

    def rows(self, X: Any) -> ProjectedRows:
        """Give rows that are projected when they are read."""
        return ProjectedRows(X, self)


def _number(subspace: float, shares: F64, owner: str) -> int:
    """Tell how many components are meant, of those that are no rounding: a number, or a share."""
    if isinstance(subspace, (int, np.integer)):
        if subspace > len(shares):
            raise InputError(
                f"{owner}: subspace={subspace}, but the rows span only {len(shares)} dimensions, "
                f"to rounding. Pass at most {len(shares)}."
            )
        return int(subspace)
    reached = np.cumsum(shares) >= subspace * (1 - len(shares) * np.finfo(np.float64).eps)
    return int(reached.argmax()) + 1 if reached.any() else len(shares)


class ProjectedRows:
    """Rows in the subspace, made block by block; the rest of the world sees an array."""

    dtype = np.dtype(np.float64)

    def __init__(self, X: Any, projection: Projection) -> None:
        self._X, self._projection = X, projection
        self.shape = (len(X), len(projection.components))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> F64:
        p = self._projection
        z = np.subtract(self._X[rows], p.centre, dtype=np.float64)
        if np.isfinite(z.sum()):
            return np.asarray(z @ p.components.T, dtype=np.float64)
        numbers = np.arange(len(self))[rows] if isinstance(rows, slice) else rows
        refuse_infinite(z, numbers)
        if np.isnan(z).any():
            raise InputError(
                "GaussianClassifier: X contains NaN, which cannot be projected on a subspace. "
                "Fit with subspace=None to marginalise missing values."
            )
        return z @ p.components.T
