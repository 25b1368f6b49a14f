"""Columns at one scale: the solvers' units, and the way back to the user's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from credo._types import F64

#: Rows are centred before they are multiplied if a mean is so many deviations from zero: the
#: square of this times the rounding of float64, 2e-13, is what a Hessian loses otherwise, and
#: less than what counts as collinear.
_FAR = 30.0
#: Rows are scaled before they are multiplied if a scale is beyond this or its inverse.
_EXTREME = 1e60


@dataclass(frozen=True, slots=True)
class Scaling:
    r"""The map :math:`u = ((x - c) / s, 1)`, without c and 1 if there is no intercept.

    Coefficients θ of u, shape (n_logits, P), belong to coefficients θ / s of x.
    """

    centre: Annotated[F64, "D"]
    scale: Annotated[F64, "D"]
    intercept: bool

    @property
    def n_columns(self) -> int:
        """Give P, the number of coefficients per logit."""
        return len(self.scale) + self.intercept

    @property
    def is_needed(self) -> bool:
        """Tell whether rows must be mapped one by one, because sums of x would lose digits."""
        far = np.abs(self.centre) > _FAR * self.scale
        extreme = (self.scale > _EXTREME) | (self.scale < 1 / _EXTREME)
        return bool((far | extreme).any())

    @classmethod
    def none(cls, n_features: int, *, intercept: bool) -> Scaling:
        """Give the map that changes nothing."""
        return cls(np.zeros(n_features), np.ones(n_features), intercept)

    def rows(self, x: F64) -> F64:
        """Map dense rows, without the column of ones."""
        mapped: F64 = x - self.centre
        mapped /= self.scale
        return mapped

    def coefficients(self, theta: F64) -> tuple[F64, F64]:
        """Give the coefficients of x, shape (n_logits, D), and the intercepts."""
        n_features = len(self.scale)
        coefficients = theta[:, :n_features] / self.scale
        if not self.intercept:
            return coefficients, np.zeros(len(theta))
        return coefficients, theta[:, n_features] - coefficients @ self.centre

    def gradient(self, sums: F64, totals: F64) -> F64:
        """Give the gradient for θ from sums of residual times x and of residuals."""
        gradient = (sums - totals[:, None] * self.centre) / self.scale
        return np.column_stack([gradient, totals]) if self.intercept else gradient

    def hessian(self, moments: F64) -> F64:
        """Give sums of weight times u uᵀ from those of (x, 1)(x, 1)ᵀ, shape (D + 1, D + 1)."""
        total, firsts = moments[-1, -1], moments[-1, :-1]
        cross = np.outer(firsts, self.centre)
        inner = moments[:-1, :-1] - cross - cross.T + total * np.outer(self.centre, self.centre)
        inner /= self.scale
        inner /= self.scale[:, None]
        if not self.intercept:
            return np.asarray(inner, dtype=np.float64)
        edge = (firsts - total * self.centre) / self.scale
        return np.block([[inner, edge[:, None]], [edge, np.array([[total]])]])

    def diagonal(self, squares: F64, sums: F64, totals: F64) -> F64:
        """Give sums of weight times u² from sums of x², of x and of weights, per logit."""
        shifted = squares - 2 * self.centre * sums + totals[:, None] * self.centre**2
        shifted = np.maximum(shifted / self.scale**2, 0.0)
        return np.column_stack([shifted, totals]) if self.intercept else shifted
