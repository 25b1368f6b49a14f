"""Scores in float32, where a model is tame enough for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.blas import strmm

from credo._types import F64
from credo.families.gaussians.class_gaussians import ClassGaussians

#: Rounding of a score in float32, in units of its terms: log odds are the difference of two scores,
#: and each has its products and its sums rounded.
_ROUNDING = 4 * float(np.finfo(np.float32).epsneg)
#: Float32 is used if it moves the log odds of rows near the classes by less than this, which moves
#: a probability by at most a quarter of it: about 6e-5.
_MOST_ERROR = 2.0**-12


@dataclass(frozen=True, slots=True, eq=False)
class SingleScorer:
    """Discriminants of float32 rows in float32."""

    #: (D,), or (K, D) if the covariances are full.
    centre: Any
    #: Linear weights (K, D); whiteners (K, D, D) if the covariances are full.
    weights: Any
    #: Weights of the squares (K, D) if the covariances are diagonal.
    squares: Any
    offsets: F64

    @classmethod
    def of(cls, model: ClassGaussians) -> SingleScorer | None:
        """Make one, or None if float32 would cost too much."""
        with np.errstate(over="ignore"):  # what float32 cannot hold is declined
            if model.is_linear:
                return _linear(model)
            return _full(model) if model.has_correlations else _diagonal(model)

    def discriminants(self, x: Any) -> Any:
        """Give log densities up to a term that all classes of a row share, (K, B), in float32."""
        if self.weights.ndim == 3:
            return self._by_class(x)
        z = np.subtract(x, self.centre) if self.centre.any() else x
        scores = self.weights @ z.T
        if self.squares is not None:
            scores += self.squares @ np.square(z).T
        scores += self.offsets.astype(np.float32)[:, None]
        return scores

    def _by_class(self, x: Any) -> Any:
        """Whiten the rows for each class, in place."""
        scores = np.empty((len(self.weights), len(x)), dtype=np.float32)
        z = np.empty_like(x, order="C")
        for k, w in enumerate(self.weights):
            np.subtract(x, self.centre[k], out=z)
            if len(x):
                strmm(1.0, w, z.T, lower=1, overwrite_b=1)
            np.einsum("ij,ij->i", z, z, out=scores[k])
            scores[k] *= -0.5
            scores[k] += self.offsets[k]
        return scores


def _linear(model: ClassGaussians) -> SingleScorer | None:
    """Prepare linear scores about a centre that float32 can hold."""
    centre = model.centre.astype(np.float32)
    gaps = model.means - centre
    white = model.whitened(gaps)
    w = model.whiteners
    weights = white @ w if model.has_correlations else white * w
    offsets = -0.5 * (white**2).sum(axis=1)
    spread = np.sqrt(_variances(model)).max(axis=0) + np.abs(gaps).max(axis=0)
    error = _ROUNDING * max((np.abs(weights) @ spread).max(), np.abs(offsets).max())
    return _if_tame(error, centre, weights.astype(np.float32), None, offsets)


def _diagonal(model: ClassGaussians) -> SingleScorer | None:
    """Prepare quadratic scores without products of features."""
    centre = model.centre.astype(np.float32)
    gaps, inverse = model.means - centre, np.broadcast_to(model.whiteners, model.means.shape) ** 2
    offsets = model.constants - 0.5 * (gaps**2 * inverse).sum(axis=1)
    weights, squares = (gaps * inverse).astype(np.float32), (-0.5 * inverse).astype(np.float32)
    reach = np.sqrt(_variances(model)).max(axis=0) + np.abs(gaps).max(axis=0)
    error = _ROUNDING * max((inverse @ reach**2).max(), np.abs(offsets).max())
    return _if_tame(error, centre, weights, squares, offsets)


def _full(model: ClassGaussians) -> SingleScorer | None:
    """Prepare one factor per class."""
    centre = model.means.astype(np.float32)
    weights = np.array([model.whitener_of(k) for k in range(model.n_classes)])
    deviations = np.sqrt(_variances(model))
    sums = np.einsum("kij,kj->ki", np.abs(weights), deviations)
    lost = np.einsum("kij,kj->ki", weights, centre - model.means)
    error = 2 * (_ROUNDING * np.sqrt((sums**2).sum(axis=1)) + np.sqrt((lost**2).sum(axis=1)))
    worst = max(error.max(), _ROUNDING * np.abs(model.constants).max())
    return _if_tame(worst, centre, weights.astype(np.float32), None, model.constants)


def _if_tame(
    error: float, centre: Any, weights: Any, squares: Any, offsets: F64
) -> SingleScorer | None:
    """Make a scorer if the error is small, and every number fits into float32."""
    arrays = [centre, weights] if squares is None else [centre, weights, squares]
    tame = error <= _MOST_ERROR and all(np.isfinite(array).all() for array in arrays)
    return SingleScorer(centre, weights, squares, offsets) if tame else None


def _variances(model: ClassGaussians) -> F64:
    """Give the variance of each feature in each class, (K, D); zero for those without part."""
    each = [np.diagonal(model.covariance_of(k)) for k in range(model.n_classes)]
    return np.array(each) * model.active
