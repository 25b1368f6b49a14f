r"""The Hessian of a softmax from its pairs of classes, and steps that solve with it.

With :math:`A_{kj} = \sum_i w_i p_{ik} p_{ij} u_i u_i^T`, the blocks are :math:`H_{kj} = -A_{kj}`
and :math:`H_{kk} = \sum_{j \ne k} A_{kj}`: one product per pair of classes is enough.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from credo._types import F64
from credo.classifiers.softmax.links import pairs_of
from credo.exceptions import NumericalError

#: Eigenvalues of a matrix with unit diagonal below this times its size are rounding.
RANK = 1e-12


def hessian_of(moments: F64, n_classes: int, ridge: F64, *, reduced: bool = True) -> F64:
    """Assemble the Hessian, shape (M P, M P).

    ``reduced`` leaves out the last of several classes: coefficients are then differences from
    its own, and the ridge is that of the symmetric form, whose coefficients sum to zero.
    """
    if n_classes == 2:
        return moments[0] + np.diag(ridge)
    size = moments.shape[1]
    blocks = np.zeros((n_classes, size, n_classes, size))
    for pair, (k, j) in zip(moments, pairs_of(n_classes), strict=True):
        blocks[k, :, j] -= pair
        blocks[j, :, k] -= pair
        blocks[k, :, k] += pair
        blocks[j, :, j] += pair
    kept = n_classes - 1 if reduced else n_classes
    places = np.arange(size)
    contrast = np.eye(kept) - (1.0 / n_classes if reduced else 0.0)
    blocks = blocks[:kept, :, :kept]
    blocks[:, places, :, places] += ridge[:, None, None] * contrast
    return blocks.reshape(kept * size, kept * size)


def symmetric(reduced: F64) -> F64:
    """Turn differences from the last class into coefficients that sum to zero over classes."""
    full = np.vstack([reduced, np.zeros((1, reduced.shape[1]))])
    return full - full.mean(axis=0)


def null_space(moments: F64) -> F64:
    """Give an orthonormal basis (P, r) of the directions that second moments do not see."""
    pooled = moments.sum(axis=0)
    scale = np.sqrt(np.maximum(np.diagonal(pooled), 0.0))
    scale[scale <= np.sqrt(RANK) * scale.max()] = np.inf  # columns of zeros, but for rounding
    values, vectors = np.linalg.eigh(pooled / scale / scale[:, None])
    loose = vectors[:, values <= len(scale) * RANK]
    scale[np.isinf(scale)] = 1.0
    basis = np.linalg.qr(loose / scale[:, None])[0]
    return basis if loose.size else loose


class Metric:
    """A factored Hessian."""

    def __init__(self, moments: F64, n_classes: int, ridge: F64, null: F64 | None = None) -> None:
        self._n_classes = n_classes
        matrix = hessian_of(moments, n_classes, ridge)
        if null is not None and null.size:
            n_blocks = len(matrix) // len(null)
            loose = null @ null.T * np.diagonal(matrix).max()
            matrix += np.kron(np.eye(n_blocks), loose)
        self._factor = _factored(matrix)

    def solve(self, gradient: F64) -> F64:
        """Give the inverse Hessian times a gradient, in symmetric form."""
        if self._n_classes == 2:
            return cho_solve(self._factor, gradient[0], check_finite=False)[None]
        part = cho_solve(self._factor, gradient[:-1].ravel(), check_finite=False)
        return symmetric(part.reshape(self._n_classes - 1, -1))


def _factored(matrix: F64) -> tuple[F64, bool]:
    """Factor a matrix, with as little added to its diagonal as it takes."""
    if not np.isfinite(matrix).all():
        raise NumericalError(
            "The Hessian of the log-likelihood is not a matrix of finite numbers. Check the units "
            "of the columns and the weights."
        )
    diagonal, extra = np.diagonal(matrix).copy(), 0.0
    least = 1e-14 * max(float(diagonal.max()), float(np.finfo(np.float64).tiny) / 1e-14)
    while True:
        try:
            factor, lower = cho_factor(matrix, lower=True, check_finite=False)
        except LinAlgError:
            extra = max(10 * extra, least)
            np.fill_diagonal(matrix, diagonal + extra)
        else:
            return factor, bool(lower)
