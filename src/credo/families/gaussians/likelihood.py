"""The log-likelihood of rows from their moments, without a second pass."""

from __future__ import annotations

import numpy as np

from credo._types import F64
from credo.families.gaussians.class_gaussians import ClassGaussians
from credo.families.gaussians.moments import ClassMoments

_LOG_2PI = float(np.log(2 * np.pi))


def log_likelihood(model: ClassGaussians, moments: ClassMoments) -> float:
    r"""Give :math:`\sum_i w_i \log p(x_i \mid y_i)` of the rows behind the moments.

    .. math:: -\tfrac12 \sum_k n_k (D \log 2\pi + \log |\Sigma_k|)
              + \operatorname{tr}(\Sigma_k^{-1} S_k), \qquad
              S_k \text{ about the model's mean}

    """
    gaps = moments.means - model.means
    weights = moments.feature_weights
    if not model.has_correlations:
        scales = np.broadcast_to(model.whiteners, model.means.shape)[:, model.active]
        n, gap = weights[:, model.active], gaps[:, model.active]
        inverse = scales**2
        if moments.detail == "tied":
            inner = float(moments.pooled_diagonal()[model.active] @ inverse[0])
        else:
            inner = float((moments.diagonals()[:, model.active] * inverse).sum())
        inner += float((n * (_LOG_2PI - 2 * np.log(scales) + gap**2 * inverse)).sum())
        return -0.5 * inner
    constants = model.active.sum() * _LOG_2PI + model.log_determinants
    inner = float(moments.weights @ constants)
    if model.is_linear:
        inner += _trace(model.whiteners, moments.pooled())
        inner += float(moments.weights @ (model.whitened(gaps) ** 2).sum(axis=1))
        return -0.5 * inner
    for k, (n, gap) in enumerate(zip(moments.weights, gaps, strict=True)):
        w = model.whitener_of(k)
        inner += _trace(w, moments.scatter[k]) + n * float(((w @ gap) ** 2).sum())
    return -0.5 * inner


def _trace(w: F64, scatter: F64) -> float:
    """Give tr(W S Wᵀ)."""
    return float(((w @ scatter) * w).sum())


def maximum_log_likelihood(model: ClassGaussians, moments: ClassMoments) -> float:
    r"""Give the log-likelihood of rows under the Gaussians of maximum likelihood fitted to them.

    For these :math:`\sum_k \operatorname{tr}(\Sigma_k^{-1} S_k) = N D`, so nothing is multiplied.
    """
    size = model.active.sum()
    inner = moments.weights @ (size * (_LOG_2PI + 1) + model.log_determinants)
    return -0.5 * float(inner)
