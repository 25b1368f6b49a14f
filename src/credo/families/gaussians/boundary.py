"""Where two classes are equally probable: a hyperplane or a quadric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from credo._types import F64
from credo._validation.arrays import as_finite, frozen
from credo.exceptions import InputError, ShapeError
from credo.families.gaussians.class_gaussians import ClassGaussians


@final
@dataclass(frozen=True, slots=True, eq=False)
class Hyperplane:
    r"""Describe the boundary :math:`w^T (x - x_0) = 0` of two classes with one covariance.

    .. math:: w = \Sigma^{-1} (\mu_i - \mu_j), \qquad
              x_0 = \frac{\mu_i + \mu_j}{2} - \frac{\log(\pi_i / \pi_j)}
              {(\mu_i - \mu_j)^T \Sigma^{-1} (\mu_i - \mu_j)} (\mu_i - \mu_j)

    Calling it with rows gives :math:`w^T (x - x_0)`, the log odds of i against j.

    Attributes
    ----------
    normal : ndarray of shape (D,)
        The vector w, which points to class i.
    point : ndarray of shape (D,)
        The point x₀, where the line between the means meets the boundary.

    See Also
    --------
    credo.GaussianClassifier.boundary : Makes one.
    Quadric : The boundary if the covariances differ.

    Notes
    -----
    Exact to rounding.

    References
    ----------
    .. [1] R. O. Duda, P. E. Hart and D. G. Stork, *Pattern Classification*, 2nd ed., 2001,
       section 2.6.2.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.families import Hyperplane
    >>> float(Hyperplane(normal=np.array([2.0]), point=np.array([1.5]))(np.array([[2.0]]))[0])
    1.0
    """

    normal: F64
    point: F64

    def __call__(self, X: Any) -> F64:
        """Give the log odds of class i against class j for each row."""
        rows = _rows(X, len(self.normal), "Hyperplane")
        return (rows - self.point) @ self.normal


@final
@dataclass(frozen=True, slots=True, eq=False)
class Quadric:
    r"""Describe the boundary :math:`x^T A x + b^T x + c = 0` of two classes.

    .. math:: A = \tfrac12 (\Sigma_j^{-1} - \Sigma_i^{-1}), \quad
              b = \Sigma_i^{-1} \mu_i - \Sigma_j^{-1} \mu_j, \quad
              c = \log \frac{\pi_i}{\pi_j} - \tfrac12 \log \frac{|\Sigma_i|}{|\Sigma_j|}
              - \tfrac12 \mu_i^T \Sigma_i^{-1} \mu_i + \tfrac12 \mu_j^T \Sigma_j^{-1} \mu_j

    Calling it with rows gives the log odds of i against j.

    Attributes
    ----------
    matrix : ndarray of shape (D, D)
        The symmetric matrix A.
    vector : ndarray of shape (D,)
        The vector b.
    constant : float
        The number c.

    See Also
    --------
    credo.GaussianClassifier.boundary : Makes one.
    Hyperplane : The boundary if the covariance is shared.

    Notes
    -----
    Written about the origin, as in the formula; means far from it cost digits.

    References
    ----------
    .. [1] R. O. Duda, P. E. Hart and D. G. Stork, *Pattern Classification*, 2nd ed., 2001,
       section 2.6.3.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.families import Quadric
    >>> circle = Quadric(matrix=np.eye(1), vector=np.zeros(1), constant=-4.0)
    >>> circle.thresholds()
    array([-2.,  2.])
    """

    matrix: F64
    vector: F64
    constant: float

    def __call__(self, X: Any) -> F64:
        """Give the log odds of class i against class j for each row."""
        rows = _rows(X, len(self.vector), "Quadric")
        result: F64 = np.einsum("ij,ij->i", rows @ self.matrix, rows) + rows @ self.vector
        return result + self.constant

    def thresholds(self) -> F64:
        """Give the points where the log odds are zero, sorted: two, one or none; D must be 1."""
        if len(self.vector) != 1:
            raise InputError(
                f"Quadric.thresholds needs one feature. Got {len(self.vector)}; call the quadric "
                "with rows instead."
            )
        a, b, c = float(self.matrix[0, 0]), float(self.vector[0]), self.constant
        if a == 0:
            return np.array([-c / b]) if b else np.empty(0)
        inside = b * b - 4 * a * c
        if inside < 0:
            return np.empty(0)
        # The root of larger size has no cancellation; the other follows from their product.
        q = -0.5 * (b + np.copysign(np.sqrt(inside), b))
        roots = [q / a] if q == 0 else [q / a, c / q]
        return np.unique(roots)


def boundary_between(
    model: ClassGaussians, log_priors: F64, i: int, j: int, owner: str
) -> Hyperplane | Quadric:
    """Give the boundary between two classes of a model."""
    log_odds = float(log_priors[i] - log_priors[j])
    if not np.isfinite(log_odds):
        raise InputError(
            f"{owner} needs positive priors of both classes. One is 0, so the other always wins."
        )
    if model.is_linear:
        gap = model.means[i] - model.means[j]
        normal = _pull(model, i, gap)
        length = float(gap @ normal)
        if length <= 0:
            raise InputError(f"{owner}: the two classes have the same mean, so nothing parts them.")
        middle = 0.5 * (model.means[i] + model.means[j])
        return Hyperplane(frozen(normal), frozen(middle - log_odds / length * gap))
    one, other = model.precision_of(i), model.precision_of(j)
    pulls = one @ model.means[i], other @ model.means[j]
    determinants = float(model.log_determinants[i] - model.log_determinants[j])
    lengths = float(model.means[i] @ pulls[0] - model.means[j] @ pulls[1])
    return Quadric(
        frozen(0.5 * (other - one)),
        frozen(pulls[0] - pulls[1]),
        log_odds - 0.5 * determinants - 0.5 * lengths,
    )


def _pull(model: ClassGaussians, k: int, gap: F64) -> F64:
    """Give Σ⁻¹ gap."""
    w = model.whitener_of(k)
    return w.T @ (w @ gap) if w.ndim == 2 else gap * w**2


def _rows(X: Any, size: int, owner: str) -> F64:
    """Check rows of so many features."""
    rows = as_finite(X, owner, "rows")
    if rows.ndim != 2 or rows.shape[1] != size:
        raise ShapeError(
            f"{owner} needs rows of {size} features, shape (n, {size}). Got shape {rows.shape}."
        )
    return rows
