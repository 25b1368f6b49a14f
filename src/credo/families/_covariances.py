"""Covariance matrices of a family: checked, factored, and applied to vectors of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo._types import F64, Int
from credo._validation.arrays import as_finite, frozen
from credo.exceptions import InputError, ShapeError
from credo.families.covariances import Names, SingularCovarianceError, whiten
from credo.families.gaussian import checked_moments

_LOG_2PI = float(np.log(2 * np.pi))
_EPS = float(np.finfo(np.float64).eps)


def checked_covariance(mean: Any, covariance: Any, owner: str) -> tuple[F64, F64]:
    """Check means and symmetric covariances, and broadcast them to read-only copies."""
    mu = as_finite(mean, owner, "mean")
    matrix = as_finite(covariance, owner, "covariance")
    size = mu.shape[-1] if mu.ndim else 0
    if not size or matrix.shape[-2:] != (size, size):
        raise ShapeError(
            f"{owner} needs a mean of shape (..., D) and a covariance of shape (..., D, D). Got "
            f"{mu.shape} and {matrix.shape}. For single numbers use Gaussian."
        )
    variance = np.diagonal(matrix, axis1=-2, axis2=-1)
    mu, variance = checked_moments(mu, variance, owner)
    matrix = np.broadcast_to(matrix, (*mu.shape, size))
    turned, scales = matrix.swapaxes(-1, -2), np.sqrt(variance)
    products = scales[..., :, None] * scales[..., None, :]
    if (np.abs(matrix / 2 - turned / 2) > 4 * size * _EPS * products).any():
        raise InputError(f"The covariance of {owner} must be symmetric.")
    beyond = np.abs(matrix) > products * (1 + 4 * size * _EPS)
    if beyond.any():
        *_, i, j = np.argwhere(beyond)[0]
        raise InputError(
            f"The covariance of {owner} must be positive definite. That of features {i} and {j} "
            "exceeds the product of their standard deviations."
        )
    return mu, frozen(0.5 * matrix + 0.5 * turned)


def whitening(covariance: F64, owner: str) -> tuple[F64, F64]:
    r"""Give lower triangular W with :math:`W \Sigma W^T = I` and :math:`\log |\Sigma|`."""
    factors = np.empty(covariance.shape).swapaxes(-1, -2)
    determinants = np.empty(covariance.shape[:-2])
    for index in np.ndindex(determinants.shape):
        try:
            determinants[index] = _whiten(covariance[index], factors[index], owner)
        except SingularCovarianceError:
            least = _least_eigenvalue(covariance[index])
            raise InputError(
                f"The covariance of {owner} must be positive definite. With unit variances its "
                f"least eigenvalue is {least:.3g}. Drop features that are combinations of others, "
                "or add a little to the diagonal."
            ) from None
    return factors, determinants


def refuse_singular(covariance: F64, owner: str) -> None:
    """Refuse estimates that are singular; name the columns."""
    size = covariance.shape[-1]
    for index in np.ndindex(covariance.shape[:-2]):
        name = f"index {list(index)}" if index else "the rows"
        try:
            _whiten(covariance[index], np.empty((size, size)), owner, name)
        except SingularCovarianceError as singular:
            raise SingularCovarianceError(
                singular.fault,
                f"Drop it, add rows (at least {size + 1} are needed), or fit a "
                "credo.GaussianClassifier, which can shrink.",
            ) from None


def _whiten(covariance: F64, out: F64, owner: str, name: str = "") -> float:
    """Write the factor of one covariance and give its log determinant, or refuse it.

    How many rows there were is unknown, and is taken to be enough.
    """
    size = len(covariance)
    names = Names(owner, (name,), tuple(range(size)))
    return whiten(covariance, out, np.ones(size, dtype=bool), names, 0, size + 1)


def _least_eigenvalue(covariance: F64) -> float:
    """Give the least eigenvalue of the correlations."""
    scales = np.sqrt(np.diagonal(covariance))
    return float(np.linalg.eigvalsh(covariance / scales / scales[:, None])[0])


def cholesky(covariance: F64) -> F64:
    """Give lower triangular L with L Lᵀ = Σ, for covariances that were checked."""
    return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)


def times(rows: F64, matrices: F64) -> F64:
    """Multiply vectors of shape (..., batch, D) by matrices of shape (batch, D, D).

    The batch comes first, so that all vectors of an entry are multiplied at once.
    """
    lead = rows.ndim + 1 - matrices.ndim
    flat = rows.reshape(int(np.prod(rows.shape[:lead])), *rows.shape[lead:])
    product = np.moveaxis(flat, 0, -2) @ matrices.swapaxes(-1, -2)
    return np.moveaxis(product, -2, 0).reshape(rows.shape)


def log_normal(z: F64, log_determinants: Any) -> F64:
    """Give log densities from whitened gaps; minus infinity where their squares are no numbers."""
    squares = np.einsum("...i,...i->...", z, z)
    squares = np.where(np.isnan(squares), np.inf, squares)
    return -0.5 * (squares + log_determinants + z.shape[-1] * _LOG_2PI)


def as_columns(columns: Any, size: int, owner: str) -> Int:
    """Check numbers of columns, at least one and each once."""
    numbers = np.asarray(columns)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not numbers.size:
        raise InputError(f"{owner} needs a list of whole numbers, at least one. Got {columns!r}.")
    if numbers.min() < 0 or numbers.max() >= size or len(np.unique(numbers)) < len(numbers):
        raise InputError(
            f"{owner} needs columns from 0 to {size - 1}, each once. Got {numbers.tolist()}."
        )
    return numbers.astype(np.intp)
