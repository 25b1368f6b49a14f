"""Shrinking correlations towards zero: Ledoit-Wolf, OAS, or a given amount."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo._types import F64, Int
from credo._validation.probabilities import block_rows, blocks


def shrunk(covariance: F64, amount: float) -> F64:
    r"""Give :math:`(1 - \lambda) \Sigma + \lambda \operatorname{diag}(\Sigma)`.

    The variances stay, so the unit of a feature does not matter.
    """
    result = (1 - amount) * covariance
    np.fill_diagonal(result, np.diagonal(covariance))
    return result


def oas_amount(covariance: F64, weight: float) -> float:
    r"""Give the oracle-approximating amount of Chen et al. (2010), equation 23, for correlations.

    .. math:: \min\left(1, \frac{(1 - 2/D) \operatorname{tr} R^2 + D^2}
              {(n + 1 - 2/D)(\operatorname{tr} R^2 - D)}\right)
    """
    correlation = _correlation(covariance)
    size = len(correlation)
    if size < 2 or weight <= 1:
        return 1.0 if weight <= 1 else 0.0
    squares = float((correlation**2).sum())
    denominator = (weight + 1 - 2 / size) * (squares - size)
    numerator = (1 - 2 / size) * squares + size**2
    return 1.0 if denominator <= numerator else numerator / denominator


def ledoit_wolf_amount(covariance: F64, weight: float, fourth: float) -> float:
    r"""Give the amount of Ledoit and Wolf (2004), section 3.3, for correlations.

    ``fourth`` is :math:`\sum_i w_i (\sum_d z_{id}^2)^2` of the standardised rows.
    """
    correlation = _correlation(covariance)
    size = len(correlation)
    if size < 2 or weight <= 1:
        return 1.0 if weight <= 1 else 0.0
    squares = float((correlation**2).sum())
    spread = squares - size  # the squared distance from the target, times the size
    error = min((fourth / weight - squares) / weight, spread)
    return 0.0 if error <= 0 else error / spread


def fourth_moments(X: Any, codes: Int, weights: F64 | None, means: F64, scales: F64) -> F64:
    r"""Give :math:`\sum_i w_i (\sum_d z_{id}^2)^2` of each class, z standardised by its class.

    ``scales`` holds the inverse standard deviation of each class and feature, zero to leave a
    feature out. A second pass over the rows, in blocks.
    """
    result = np.zeros(len(means))
    for block in blocks(len(codes), block_rows(X.shape[1])):
        part = codes[block]
        with np.errstate(over="ignore", invalid="ignore"):  # rows of weight zero hold anything
            z = (X[block] - means[part]) * scales[part]
            fourth = np.einsum("ij,ij->i", z, z) ** 2
        if weights is not None:
            fourth = np.where(weights[block] > 0, fourth, 0.0) * weights[block]
        result += np.bincount(part, weights=fourth, minlength=len(means))
    return result


def _correlation(covariance: F64) -> F64:
    """Standardise; features of variance zero are left out."""
    scale = np.sqrt(np.diagonal(covariance))
    varying = scale > 0
    scale = scale[varying]
    return covariance[np.ix_(varying, varying)] / scale[:, None] / scale
