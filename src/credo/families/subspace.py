"""``Projection``: the principal components of all rows, as a subspace to model them in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from credo._types import F64
from credo.exceptions import InputError
from credo.families.class_gaussians import refuse_infinite
from credo.families.moments import ClassMoments, RowsView

#: Variance below this part of the largest, times the number of features, is rounding.
_ROUNDING = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """The first principal components: unit rows of shape (Q, D), about the mean of all rows."""

    components: Annotated[F64, "Q D"]
    centre: Annotated[F64, "D"]
    #: Share of the variance that each component explains.
    shares: Annotated[F64, "Q"]

    @classmethod
    def of(cls, moments: ClassMoments, subspace: float, owner: str) -> Projection:
        """Find them in the scatter of all rows, within and between the classes."""
        centre = moments.grand_mean()
        gaps = moments.means - centre
        total = moments.pooled() + (moments.weights[:, None] * gaps).T @ gaps
        if not np.isfinite(total).all():
            raise InputError(f"{owner}: the scales of the columns are too far apart. Rescale them.")
        values, vectors = np.linalg.eigh(0.5 * (total + total.T))
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1].T
        if not values.sum() > 0:
            raise InputError(f"{owner}: no feature varies, so there are no principal components.")
        shares = values / values.sum()
        spanned = int((values > len(values) * _ROUNDING * values[0]).sum())
        if not isinstance(subspace, (int, np.integer)):
            slack = 1 - spanned * np.finfo(np.float64).eps
            reached = np.cumsum(shares[:spanned]) >= subspace * slack
            kept = int(reached.argmax()) + 1 if reached.any() else spanned
        elif subspace > spanned:
            raise InputError(
                f"{owner}: subspace={subspace}, but the rows span only {spanned} dimensions, "
                f"to rounding. Pass at most {spanned}."
            )
        else:
            kept = int(subspace)
        largest = np.abs(vectors[:kept]).argmax(axis=1)
        signs = np.sign(vectors[np.arange(kept), largest])
        return cls(signs[:, None] * vectors[:kept], centre, shares[:kept])

    def rows(self, X: Any) -> RowsView:
        """Return rows in the subspace, made when they are read."""

        def read(rows: Any) -> F64:
            z = np.subtract(X[rows], self.centre, dtype=np.float64)
            if not np.isfinite(z.sum()):
                refuse_infinite(z, np.arange(len(X))[rows])
                if np.isnan(z).any():
                    raise InputError(
                        "X contains NaN, which cannot be projected on a subspace. Fit with "
                        "subspace=None to marginalise missing values."
                    )
            return np.asarray(z @ self.components.T, dtype=np.float64)

        return RowsView((len(X), len(self.components)), read)

    def moments(self, moments: ClassMoments) -> ClassMoments:
        """Return the moments of rows in the subspace."""
        part = np.matmul(np.matmul(self.components, moments.scatter), self.components.T)
        means = (moments.means - self.centre) @ self.components.T
        scatter = 0.5 * (part + part.swapaxes(-1, -2))
        return ClassMoments(moments.counts, moments.weights, means, moments.detail, scatter)
