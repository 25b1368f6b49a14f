"""Proportional covariances: one matrix, and one factor per class."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from credo._types import F64
from credo.families.gaussians.definite import SingularCovarianceError

#: Factors that differ by more are on their way to zero: half of the digits are gone.
_LEAST_RATIO = float(np.sqrt(np.finfo(np.float64).eps))
#: Changes below this that do not shrink for so many steps are rounding.
_NEARLY = 1e-8
_IDLE_STEPS = 10
#: Enough for the linear convergence of the alternation on any data met so far.
_MOST_STEPS = 10_000


def proportional_covariances(scatters: F64, weights: F64, owner: str) -> tuple[F64, F64]:
    r"""Fit :math:`\Sigma_k = \alpha_k \Sigma` by alternating maximum likelihood.

    .. math:: \Sigma = \frac{1}{N} \sum_k \frac{S_k}{\alpha_k}, \qquad
              \alpha_k = \frac{\operatorname{tr}(\Sigma^{-1} S_k)}{n_k D},
              \qquad \sum_k n_k \log \alpha_k = 0

    Neither step can lower the likelihood. ``scatters`` are positive definite in sum, and none is
    zero. References: B. Flury, "Proportionality of k covariance matrices", Statistics &
    Probability Letters 4, 1986, section 2.
    """
    size = scatters.shape[1]
    total = weights.sum()
    factors = np.ones(len(weights))
    tolerance = 4 * size * float(np.finfo(np.float64).eps)
    least, idle = np.inf, 0
    for _ in range(_MOST_STEPS):
        shared = np.tensordot(1 / factors, scatters, axes=1) / total
        new = np.einsum("ij,kij->k", _inverse(shared, owner), scatters) / (weights * size)
        if not (new.min() > new.max() * _LEAST_RATIO):
            raise _collapse(owner)
        new /= np.exp(weights @ np.log(new) / total)
        change = np.abs(new / factors - 1).max()
        factors = new
        least, idle = (change, 0) if change < least else (least, idle + 1)
        if change <= tolerance or (idle >= _IDLE_STEPS and least <= _NEARLY):
            break
    if least > _NEARLY:
        raise _collapse(owner)
    shared = np.tensordot(1 / factors, scatters, axes=1) / total
    return 0.5 * (shared + shared.T), factors


def _inverse(matrix: F64, owner: str) -> F64:
    """Invert a covariance."""
    try:
        factor = cho_factor(matrix, lower=True)
    except np.linalg.LinAlgError:
        raise _collapse(owner) from None
    return np.asarray(cho_solve(factor, np.eye(len(matrix))), dtype=np.float64)


def _collapse(owner: str) -> SingularCovarianceError:
    """Say that the likelihood has no maximum."""
    return SingularCovarianceError(
        f"{owner}: the proportional covariances collapse: the factor of a class goes to zero.",
        "Pass covariance='tied' or singular='repair'.",
    )
