"""Gaussians in several dimensions, as classes to tell apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from credo._types import F64, Label
from credo._validation.arrays import as_finite
from credo.exceptions import InputError, ShapeError

_EPS = float(np.finfo(np.float64).eps)


class Normal:
    """A Gaussian in d dimensions, by its mean and the Cholesky factor of its covariance."""

    def __init__(self, mean: Any, covariance: Any, name: Label, owner: str) -> None:
        self.mean = np.atleast_1d(as_finite(mean, owner, f"mean of {name!r}"))
        self.covariance = np.atleast_2d(as_finite(covariance, owner, f"covariance of {name!r}"))
        size = len(self.mean)
        if self.mean.ndim > 1 or self.covariance.shape != (size, size):
            raise ShapeError(
                f"{owner}: {name!r} needs a mean of shape (d,) and a covariance of shape (d, d). "
                f"Got {self.mean.shape} and {self.covariance.shape}."
            )
        self.factor = _cholesky(self.covariance, name, owner)
        self.log_determinant = 2 * float(np.log(np.diag(self.factor)).sum())

    def logpdf(self, x: F64) -> F64:
        """Give the log density of each row."""
        z = solve_triangular(self.factor, (x - self.mean).T, lower=True)
        constant = len(self.mean) * np.log(2 * np.pi) + self.log_determinant
        return -0.5 * ((z**2).sum(axis=0) + constant)

    def rvs(self, size: int, random_state: np.random.Generator) -> F64:
        """Draw rows."""
        return self.mean + random_state.standard_normal((size, len(self.mean))) @ self.factor.T


def _cholesky(covariance: F64, name: Label, owner: str) -> F64:
    """Factor a covariance, or say that it is not one."""
    scales = np.sqrt(np.abs(np.diag(covariance)))
    rounding = len(covariance) * _EPS * np.outer(scales, scales)
    if (np.abs(covariance - covariance.T) > 8 * rounding).any():
        raise InputError(f"{owner}: the covariance of {name!r} must be symmetric.")
    try:
        factor = np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
    except np.linalg.LinAlgError:
        factor = np.zeros_like(covariance)
    # What the other coordinates leave unexplained of each; nothing but rounding if singular.
    if (np.diag(factor) ** 2 <= np.diag(rounding)).any():
        raise InputError(
            f"{owner}: the covariance of {name!r} must be positive definite, and it is singular "
            "or worse. Drop features that are combinations of others, or add a little to its "
            "diagonal."
        )
    return factor


def distance(first: Normal, second: Normal) -> float:
    """Give the Bhattacharyya distance of two Gaussians."""
    factor = np.linalg.cholesky(0.5 * first.covariance + 0.5 * second.covariance)
    z = solve_triangular(factor, first.mean - second.mean, lower=True)
    log_determinants = 0.5 * (first.log_determinant + second.log_determinant)
    return float(z @ z / 8 + 0.5 * (2 * np.log(np.diag(factor)).sum() - log_determinants))


def between(first: Normal, second: Normal, share: float) -> Normal | None:
    r"""Give the Gaussian between two, proportional to :math:`p_i(x)^{1-s}\, p_j(x)^s`.

    None if rounding leaves no proper covariance.
    """
    size = np.eye(len(first.mean))
    one, other = (cho_solve((c.factor, True), size) for c in (first, second))
    covariance = np.linalg.inv((1 - share) * one + share * other)
    mean = covariance @ ((1 - share) * one @ first.mean + share * other @ second.mean)
    try:
        return Normal(mean, 0.5 * (covariance + covariance.T), "between", "bayes_error")
    except InputError:
        return None
