"""``ClassGaussians``: fitted Gaussians of K classes, and the log densities of rows under them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.blas import dtrmm

from credo._types import F64, Bool
from credo.families.gaussians.shapes import LINEAR, WITH_CORRELATIONS, Shape

_LOG_2PI = float(np.log(2 * np.pi))

#: Distances are expanded into products if the means are this near to each other in standard
#: deviations, squared: the expansion then loses at most 14 of the 53 bits.
_NEAR = 2.0**14


@dataclass(frozen=True, eq=False)
class ClassGaussians:
    r"""Hold K Gaussians in D dimensions, factored: :math:`W_k \Sigma_k W_k^T = I`.

    Blocks of rows go in as (B, D) and scores come out as (K, B), classes first: reductions over a
    few classes are then vectorised over the rows.
    """

    shape: Shape
    #: (K, D).
    means: F64
    #: In the parsimonious shape; the shared matrix if proportional.
    covariances: F64
    #: Lower triangular W, columns contiguous: (K, D, D), or (D, D) if shared; for shapes without
    #: correlations the inverse standard deviations, (K, D) or (D,).
    whiteners: F64
    #: log |Σ_k|, (K,).
    log_determinants: F64
    #: Features that take part, (D,); the others are constant in all rows.
    active: Bool
    #: α_k of Σ_k = α_k Σ, (K,); None for the other shapes.
    factors: F64 | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.means)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.means.shape[1])

    @property
    def is_linear(self) -> bool:
        """Tell whether all classes share one covariance."""
        return self.shape in LINEAR

    @property
    def has_correlations(self) -> bool:
        """Tell whether covariances are matrices."""
        return self.shape in WITH_CORRELATIONS

    @cached_property
    def centre(self) -> F64:
        """Give the point that rows are centred on: the middle of the means, or the origin.

        The origin if all means are near it in standard deviations: centring would save no digits.
        """
        if self._furthest(self.means) <= _NEAR:
            return np.zeros(self.n_features)
        return self.means.mean(axis=0)

    def _furthest(self, gaps: F64) -> float:
        """Give the largest squared length of one gap per class, in standard deviations."""
        if self.shape == "full":
            return np.inf  # each class is centred on its own mean
        shared = self.is_linear or self.factors is not None
        white = self.whitened(gaps) if shared else gaps * self.whiteners
        return float((white**2).sum(axis=1).max())

    def centred(self, x: Any) -> F64:
        """Give rows less the centre, in float64; the rows themselves if that is the origin."""
        if self.centre.any():
            return np.subtract(x, self.centre, dtype=np.float64)
        return np.asarray(x, dtype=np.float64)

    @cached_property
    def constants(self) -> F64:
        """Give the log density at the mean of each class, (K,)."""
        return -0.5 * (self.active.sum() * _LOG_2PI + self.log_determinants)

    def whitener_of(self, k: int) -> F64:
        """Give the factor of one class: a matrix, or a vector of inverse deviations."""
        shared = self.whiteners.ndim == (2 if self.has_correlations else 1)
        w = self.whiteners if shared else self.whiteners[k]
        return w if self.factors is None else w / np.sqrt(self.factors[k])

    def covariance_of(self, k: int) -> F64:
        """Give the covariance matrix of one class, (D, D)."""
        if self.factors is not None:
            return self.covariances * self.factors[k]
        own: F64 = self.covariances if self.is_linear else self.covariances[k]
        return own if self.has_correlations else np.diag(np.broadcast_to(own, self.n_features))

    def shared_factor(self, k: int) -> tuple[F64, F64]:
        """Give factor and covariance matrix of a class, without the factor if proportional."""
        shared = self.shape != "full"
        return (
            self.whiteners if shared else self.whiteners[k],
            self.covariances if shared else self.covariances[k],
        )

    def precision_of(self, k: int) -> F64:
        """Give the inverse covariance of one class, (D, D), zero for features without part."""
        w = self.whitener_of(k)
        return w.T @ w if w.ndim == 2 else np.diag(w**2)

    @cached_property
    def linear(self) -> tuple[F64, F64]:
        r"""Give :math:`\Sigma^{-1} (\mu_k - c)` and the offsets at the centre c, if shared."""
        gaps = self.means - self.centre
        white = self.whitened(gaps)
        coefficients = white @ self.whiteners if self.has_correlations else white * self.whiteners
        return coefficients, -0.5 * (white**2).sum(axis=1)

    def whitened(self, gaps: F64) -> F64:
        """Multiply rows by the shared factor."""
        w = self.whiteners
        return gaps @ w.T if w.ndim == 2 else gaps * w

    def discriminants(self, x: Any) -> F64:
        """Give log densities up to a term that is the same for all classes of a row, (K, B)."""
        if not (self.is_linear and self.are_near):
            return self.log_densities(x)
        coefficients, offsets = self.linear
        scores: F64 = coefficients @ self.centred(x).T
        scores += offsets[:, None]
        return scores

    def log_densities(self, x: Any) -> F64:
        """Give the log density of each row under each class, (K, B)."""
        scores = self.distances(x)
        scores *= -0.5
        scores += self.constants[:, None]
        return scores

    def distances(self, x: Any) -> F64:
        """Give squared Mahalanobis distances of rows to each mean, (K, B)."""
        if self.has_correlations and not self.is_linear:
            return self._distances_by_class(x)
        z = self.centred(x)
        if self.has_correlations:
            z = z @ self.whiteners.T
            return _gaps(z, self._white_means, np.ones(1), near=self.are_near)
        scales = np.broadcast_to(self.whiteners, self.means.shape)
        return _gaps(z, self.means - self.centre, scales, near=self.are_near)

    @cached_property
    def _white_means(self) -> F64:
        """Give the means about the centre, whitened by the shared factor."""
        return self.whitened(self.means - self.centre)

    @cached_property
    def are_near(self) -> bool:
        """Tell whether the means are so near that distances may be expanded."""
        return self._furthest(self.means - self.centre) <= _NEAR

    def _distances_by_class(self, x: Any) -> F64:
        """Whiten the rows for each class, in place."""
        result = np.empty((self.n_classes, len(x)))
        z = np.empty((len(x), self.n_features))
        w = self.whiteners
        for k in range(self.n_classes):
            np.subtract(x, self.means[k], out=z)
            if len(x):
                dtrmm(1.0, w if w.ndim == 2 else w[k], z.T, lower=1, overwrite_b=1)
            np.einsum("ij,ij->i", z, z, out=result[k])
        if self.factors is not None:
            result /= self.factors[:, None]
        return result


def _gaps(z: F64, means: F64, scales: F64, *, near: bool) -> F64:
    """Give the squared distance of each row to each mean, scaled by feature."""
    if near:
        inverse = scales**2
        result: F64 = (-2 * means * inverse) @ z.T
        result += np.broadcast_to(inverse, means.shape) @ np.square(z).T
        result += (means**2 * inverse).sum(axis=1)[:, None]
        return np.maximum(result, 0.0, out=result)
    result = np.empty((len(means), len(z)))
    scales = np.broadcast_to(scales, means.shape)
    for k, mean in enumerate(means):
        gap = (z - mean) * scales[k]
        np.einsum("ij,ij->i", gap, gap, out=result[k])
    return result
