"""The least error any classifier can have, and a bound on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import ndtr, ndtri

from credo._types import F64, Label, Labels, PerLabel, RandomState
from credo._validation.arrays import generator, in_unit_interval, positive_int
from credo._validation.labels import as_labels
from credo._validation.probabilities import as_priors
from credo.decisions._plain import plain_fields
from credo.decisions._text import number
from credo.decisions.densities import METHODS, as_normal
from credo.decisions.error_sampling import monte_carlo
from credo.decisions.line import regions
from credo.decisions.loss import Loss
from credo.decisions.normal_classes import Normal, distance
from credo.exceptions import InputError, ShapeError
from credo.families.gaussian import Gaussian, MultivariateGaussian

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
        return plain_fields(self)

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
        Each a pair ``(mean, covariance)``, a ``credo.families.Gaussian`` or
        ``MultivariateGaussian``, a SciPy distribution with its parameters set, or anything with
        ``logpdf(x)`` and ``rvs(size=, random_state=)``.
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
    distributions ("quadrature", through the decision regions). Otherwise ``n_samples`` points are
    drawn from the classes and, for Gaussians, from between them as well, where the mistakes are
    made; each counts by its importance, so that errors of 1e-12 are found too. The interval is the
    normal one; without Gaussians it is widened by what so many draws may miss altogether. Time
    O(n K² d²).

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
    rng = generator(random_state, owner)
    value, spread = monte_carlo(classes, tuple(labels[k] for k in kept), p, draws, rng)
    reach = float(ndtri(0.5 + confidence / 2)) * spread
    # What never came up in n draws from the classes may still have this probability.
    unseen = 0.0 if _all_normal(classes) else -np.log((1 - confidence) / 2) / draws
    high = min(1.0, value + max(reach, unseen))
    return BayesError(value, max(0.0, value - reach), high, "Monte Carlo")


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
        Or SciPy's ``multivariate_normal``, or a ``credo.families.Gaussian`` or
        ``MultivariateGaussian``.
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
    normals = [c for c in classes if isinstance(c, Normal)]
    if len(normals) < len(classes):
        odd = next(n for n, c in zip(labels, classes, strict=True) if not isinstance(c, Normal))
        raise InputError(f"{owner} is for Gaussians only, and the density of {odd!r} is none.")
    total = sum(
        np.sqrt(p[i] * p[j]) * np.exp(-distance(normals[i], normals[j]))
        for i, j in combinations(range(len(labels)), 2)
    )
    return float(min(total, 1 - p.max()))


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
        return Normal(source[0], source[1], name, owner)
    if isinstance(source, MultivariateGaussian):
        return Normal(source.mean, source.covariance, name, owner)
    normal = as_normal(source)
    if normal is not None:
        return Normal(normal.mean, normal.variance, name, owner)
    if hasattr(source, "cov") and not callable(getattr(source, "mean", None)):
        return Normal(source.mean, source.cov, name, owner)
    if callable(getattr(source, "logpdf", None)) and callable(getattr(source, "rvs", None)):
        return source
    raise InputError(
        f"{owner}: the density of {name!r} must be (mean, covariance), a credo.families.Gaussian "
        f"or MultivariateGaussian, or something with logpdf and rvs. Got {type(source).__name__}."
    )


def _check_dimensions(classes: list[Any], labels: Labels, owner: str) -> None:
    """Check that all Gaussians live in the same number of dimensions."""
    known = [(n, c) for n, c in zip(labels, classes, strict=True) if isinstance(c, Normal)]
    sizes = [(name, len(c.mean)) for name, c in known]
    for name, size in sizes[1:]:
        if size != sizes[0][1]:
            raise ShapeError(
                f"{owner}: {sizes[0][0]!r} has {sizes[0][1]} dimensions and {name!r} has {size}."
            )


def _all_normal(classes: list[Any]) -> bool:
    """Tell whether every class is a Gaussian."""
    return all(isinstance(c, Normal) for c in classes)


def _on_the_line(source: Any) -> Any:
    """Give the one-dimensional distribution that a class is, or None."""
    if isinstance(source, Normal):
        return Gaussian(source.mean[0], source.covariance[0, 0]) if len(source.mean) == 1 else None
    return source if all(hasattr(source, method) for method in METHODS) else None


def _closed_form(classes: list[Any], priors: F64) -> float | None:
    """Give the error if one class is left, or two Gaussians with one covariance."""
    if len(classes) == 1:
        return 0.0
    if len(classes) > 2 or not _all_normal(classes):
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
