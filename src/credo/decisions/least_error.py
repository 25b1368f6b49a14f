"""The least error any classifier can have, and a bound on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import ndtr, ndtri

from credo._types import F64, Int, Label, Labels, PerLabel, RandomState
from credo._validation.arrays import as_finite, in_unit_interval, positive_int
from credo._validation.labels import as_labels
from credo._validation.probabilities import as_priors
from credo.decisions._text import number
from credo.decisions.densities import METHODS, as_normal
from credo.decisions.gaussian import Gaussian
from credo.decisions.line import regions
from credo.decisions.loss import Loss
from credo.exceptions import InputError, ShapeError
from credo.posterior.rows import log_sum_exp

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, repr=False)
class BayesError:
    """The least error, and how it was found.

    Attributes
    ----------
    value : float
        The error, or its estimate.
    low, high : float
        Ends of the confidence interval; both are ``value`` if it is exact.
    method : str
        ``"closed form"``, ``"quadrature"`` or ``"Monte Carlo"``.
    """

    value: float
    low: float
    high: float
    method: str

    def to_dict(self) -> dict[str, Any]:
        """Give value, interval and method as plain numbers and text."""
        return {"value": self.value, "low": self.low, "high": self.high, "method": self.method}

    def __repr__(self) -> str:
        exact = self.low == self.high
        span = "" if exact else f" ({number(self.low)} to {number(self.high)})"
        return f"Bayes error {number(self.value)}{span}, {self.method}"


def bayes_error(
    densities: Mapping[Any, Any],
    priors: PerLabel,
    *,
    n_samples: int = 100_000,
    level: float = 0.95,
    random_state: RandomState = 0,
) -> BayesError:
    r"""Find the error of the best classifier that the densities allow.

    .. math:: E = \int \bigl(1 - \max_k p(k \mid x)\bigr)\, p(x)\, dx

    Two Gaussians that share a covariance have a closed form. With
    :math:`\Delta^2 = (\mu_0 - \mu_1)^\top \Sigma^{-1} (\mu_0 - \mu_1)` and
    :math:`\rho = \log(\pi_0 / \pi_1)`,

    .. math:: E = \pi_0\, \Phi\!\left(-\frac{\Delta}{2} - \frac{\rho}{\Delta}\right)
                + \pi_1\, \Phi\!\left(-\frac{\Delta}{2} + \frac{\rho}{\Delta}\right) .

    Parameters
    ----------
    densities : {label: density}
        Each a pair ``(mean, covariance)``, a ``credo.decisions.Gaussian``, a SciPy distribution
        with its parameters set, or anything with ``logpdf(x)`` and ``rvs(size=, random_state=)``.
    priors : {label: p}, or K numbers in the order of the densities
        Probability of each label.
    n_samples
        Points drawn, if it comes to Monte Carlo.
    level
        Confidence of the interval.
    random_state
        Seed or generator for Monte Carlo.

    Returns
    -------
    BayesError
        With ``value``, ``low``, ``high`` and ``method``.

    Raises
    ------
    InputError
        If a covariance is not symmetric and positive definite; the label is named.
    ShapeError
        If dimensions differ.

    See Also
    --------
    bhattacharyya_bound : An upper bound at almost no cost.
    credo.decisions.regions : Thresholds and risks in one dimension, for any loss.

    Notes
    -----
    Exact for two Gaussians with one covariance ("closed form", O(d³)) and for one-dimensional
    distributions ("quadrature", through the decision regions). Otherwise ``n_samples`` points,
    spread over the classes in proportion to the priors, are averaged over
    :math:`1 - \max_k p(k \mid x)`, which varies less than counting mistakes would. The interval is
    the normal one, so it needs samples enough for a mean to be normal. Time O(n K d²).

    References
    ----------
    .. [1] K. Fukunaga, *Introduction to Statistical Pattern Recognition*, 2nd ed., 1990,
       section 3.3.

    Examples
    --------
    Two round clouds, two standard deviations apart: :math:`\Phi(-1)`.

    >>> from credo.decisions import bayes_error
    >>> clouds = {"a": ([0, 0], [[1, 0], [0, 1]]), "b": ([0, 2], [[1, 0], [0, 1]])}
    >>> print(bayes_error(clouds, [0.5, 0.5]))
    Bayes error 0.158655, closed form
    """
    owner = "bayes_error"
    labels = _labels(densities, owner)
    p = as_priors(priors, labels, owner)
    draws = positive_int(n_samples, owner, "n_samples", 2 * len(labels))
    confidence = in_unit_interval(level, owner, "level", open_ends=True)
    classes = [_as_class(source, name, owner) for name, source in _pairs(densities, labels)]
    _check_dimensions(classes, labels, owner)
    # A label that never occurs is never right and never missed.
    kept = np.flatnonzero(p)
    classes, p = [classes[k] for k in kept], p[kept]
    closed = _closed_form(classes, p)
    if closed is not None:
        return BayesError(closed, closed, closed, "closed form")
    lines = [_on_the_line(c) for c in classes]
    if all(line is not None for line in lines):
        error = regions(dict(enumerate(lines)), p, Loss.zero_one(range(len(p)))).bayes_risk
        return BayesError(error, error, error, "quadrature")
    value, spread = _monte_carlo(classes, p, draws, np.random.default_rng(random_state))
    reach = float(ndtri(0.5 + confidence / 2)) * spread
    return BayesError(value, max(0.0, value - reach), min(1.0, value + reach), "Monte Carlo")


def bhattacharyya_bound(densities: Mapping[Any, Any], priors: PerLabel) -> float:
    r"""Bound the Bayes error of Gaussian classes from above.

    .. math:: E \le \sum_{i<j} \sqrt{\pi_i \pi_j}\; e^{-B_{ij}}, \qquad
              B_{ij} = \tfrac18 d^\top \bar\Sigma^{-1} d
              + \tfrac12 \log \frac{|\bar\Sigma|}{\sqrt{|\Sigma_i|\,|\Sigma_j|}}

    with :math:`d = \mu_i - \mu_j` and :math:`\bar\Sigma = (\Sigma_i + \Sigma_j)/2`. Always naming
    the most probable label has error :math:`1 - \max_k \pi_k`, which bounds E too; the smaller of
    the two is given.

    Parameters
    ----------
    densities : {label: (mean, covariance)}
        Or SciPy's ``multivariate_normal`` or a ``credo.decisions.Gaussian``.
    priors : {label: p}, or K numbers in the order of the densities
        Probability of each label.

    Returns
    -------
    float
        At least the Bayes error.

    Raises
    ------
    InputError
        If a density is not Gaussian, or a covariance is not symmetric and positive definite.

    See Also
    --------
    bayes_error : The error itself.

    Notes
    -----
    A bound, not an estimate; it is the tighter the nearer the classes are. Time O(K² d³).

    References
    ----------
    .. [1] K. Fukunaga, *Introduction to Statistical Pattern Recognition*, 2nd ed., 1990,
       section 3.4.

    Examples
    --------
    >>> from credo.decisions import bhattacharyya_bound
    >>> round(bhattacharyya_bound({"a": (0, 1), "b": (2, 1)}, [0.5, 0.5]), 4)
    0.3033
    """
    owner = "bhattacharyya_bound"
    labels = _labels(densities, owner)
    p = as_priors(priors, labels, owner)
    classes = [_as_class(source, name, owner) for name, source in _pairs(densities, labels)]
    _check_dimensions(classes, labels, owner)
    normals = [c for c in classes if isinstance(c, _Normal)]
    if len(normals) < len(classes):
        odd = next(n for n, c in zip(labels, classes, strict=True) if not isinstance(c, _Normal))
        raise InputError(f"{owner} is for Gaussians only, and the density of {odd!r} is none.")
    total = sum(
        np.sqrt(p[i] * p[j]) * np.exp(-_distance(normals[i], normals[j]))
        for i, j in combinations(range(len(labels)), 2)
    )
    return float(min(total, 1 - p.max()))


# --- classes ----------------------------------------------------------------------------------


class _Normal:
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
        result: F64 = -0.5 * ((z**2).sum(axis=0) + constant)
        return result

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


def _labels(densities: Any, owner: str) -> Labels:
    """Check that densities come with names, and give these."""
    if not isinstance(densities, Mapping):
        raise InputError(
            f"{owner} needs the densities by label, {{label: density}}. Got "
            f"{type(densities).__name__}."
        )
    return as_labels(densities, owner)


def _pairs(densities: Mapping[Any, Any], labels: Labels) -> list[tuple[Label, Any]]:
    """Pair canonical labels with the densities."""
    return list(zip(labels, densities.values(), strict=True))


def _as_class(source: Any, name: Label, owner: str) -> Any:
    """Make a Gaussian of whatever describes one; leave other distributions as they are."""
    if isinstance(source, (tuple, list)) and len(source) == 2:
        return _Normal(source[0], source[1], name, owner)
    normal = as_normal(source)
    if normal is not None:
        return _Normal(normal.mean, normal.variance, name, owner)
    if hasattr(source, "cov") and not callable(getattr(source, "mean", None)):
        return _Normal(source.mean, source.cov, name, owner)
    if callable(getattr(source, "logpdf", None)) and callable(getattr(source, "rvs", None)):
        return source
    raise InputError(
        f"{owner}: the density of {name!r} must be (mean, covariance), a credo.decisions.Gaussian, "
        f"or something with logpdf and rvs. Got {type(source).__name__}."
    )


def _check_dimensions(classes: list[Any], labels: Labels, owner: str) -> None:
    """Check that all Gaussians live in the same number of dimensions."""
    known = [(n, c) for n, c in zip(labels, classes, strict=True) if isinstance(c, _Normal)]
    sizes = [(name, len(c.mean)) for name, c in known]
    for name, size in sizes[1:]:
        if size != sizes[0][1]:
            raise ShapeError(
                f"{owner}: {sizes[0][0]!r} has {sizes[0][1]} dimensions and {name!r} has {size}."
            )


def _on_the_line(source: Any) -> Any:
    """Give the one-dimensional distribution that a class is, or None."""
    if isinstance(source, _Normal):
        return Gaussian(source.mean[0], source.covariance[0, 0]) if len(source.mean) == 1 else None
    return source if all(hasattr(source, method) for method in METHODS) else None


# --- three ways -------------------------------------------------------------------------------


def _closed_form(classes: list[Any], priors: F64) -> float | None:
    """Give the error if one class is left, or two Gaussians with one covariance."""
    if len(classes) == 1:
        return 0.0
    if len(classes) > 2 or not all(isinstance(c, _Normal) for c in classes):
        return None
    first, second = classes
    scales = np.sqrt(np.diag(first.covariance))
    rounding = 8 * _EPS * np.outer(scales, scales)
    if (np.abs(first.covariance - second.covariance) > rounding).any():
        return None
    z = solve_triangular(first.factor, first.mean - second.mean, lower=True)
    apart = float(np.sqrt(z @ z))
    if apart == 0:
        return float(priors.min())
    shift = (np.log(priors[0]) - np.log(priors[1])) / apart
    return float(priors @ ndtr([-apart / 2 - shift, -apart / 2 + shift]))


def _monte_carlo(
    classes: list[Any], priors: F64, n_samples: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Average the posterior error over points drawn class by class; give it with its spread."""
    errors = [
        _posterior_errors(classes, priors, x)
        for x in _draws(classes, _shares(priors, n_samples), rng)
    ]
    means = [e.mean() for e in errors]
    variances = [e.var(ddof=1) / len(e) for e in errors]
    return float(priors @ means), float(np.sqrt(priors**2 @ variances))


def _shares(priors: F64, n_samples: int) -> Int:
    """Share out the draws in proportion to the priors, at least two to each class."""
    wanted = priors * n_samples
    sizes = np.floor(wanted).astype(np.intp)
    most = np.argsort(sizes - wanted, kind="stable")[: n_samples - sizes.sum()]
    sizes[most] += 1
    return np.maximum(sizes, 2)


def _draws(classes: list[Any], sizes: Int, rng: np.random.Generator) -> list[F64]:
    """Draw rows of features from each class."""
    drawn = [
        np.asarray(c.rvs(size=size, random_state=rng), dtype=np.float64).reshape(size, -1)
        for c, size in zip(classes, sizes.tolist(), strict=True)
    ]
    widths = [x.shape[1] for x in drawn]
    if len(set(widths)) > 1:
        raise ShapeError(
            f"bayes_error: draws of all labels must have the same number of columns. Got {widths}."
        )
    return drawn


def _posterior_errors(classes: list[Any], priors: F64, x: F64) -> F64:
    """Give the posterior probability of all labels but the most probable one, for each row."""
    columns = [np.log(p) + np.ravel(c.logpdf(x)) for p, c in zip(priors, classes, strict=True)]
    joint = np.stack(columns, axis=-1)
    p = np.exp(joint - log_sum_exp(joint)[:, None])
    np.put_along_axis(p, joint.argmax(axis=1)[:, None], 0.0, axis=1)
    # Added up from the small side, so that an error of 1e-20 is not lost beside the one.
    result: F64 = p.sum(axis=1)
    return result


def _distance(first: _Normal, second: _Normal) -> float:
    """Give the Bhattacharyya distance of two Gaussians."""
    factor = np.linalg.cholesky(0.5 * first.covariance + 0.5 * second.covariance)
    z = solve_triangular(factor, first.mean - second.mean, lower=True)
    log_determinants = 0.5 * (first.log_determinant + second.log_determinant)
    return float(z @ z / 8 + 0.5 * (2 * np.log(np.diag(factor)).sum() - log_determinants))
