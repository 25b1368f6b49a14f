"""The least error any classifier can have, and a bound on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy

from credo import _checks as check
from credo._results import Plain, number
from credo._types import F64, Label, PerLabel, RandomState
from credo.decisions.crossings import on_a_line
from credo.decisions.line import regions
from credo.decisions.loss import Loss, as_loss
from credo.decisions.predictive import as_normal
from credo.exceptions import InputError, ShapeError
from credo.families import Gaussian, MultivariateGaussian
from credo.posterior.posterior import log_sum_exp

_EPS = float(np.finfo(np.float64).eps)
#: Points on the way from one Gaussian to another, as the weight of the second.
_WAY = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
#: Pairs drawn between; the mistakes of the others are found by draws from the classes.
_MOST_PAIRS = 8


@dataclass(frozen=True, slots=True, repr=False)
class BayesError(Plain):
    """The least error, or the least risk under a loss, and how it was found.

    Attributes
    ----------
    value : float
        The error, or its estimate.
    low, high : float
        Ends of the confidence interval; both are ``value`` if it is exact.
    method : str
        ``"closed form"``, ``"quadrature"``, ``"sum"`` or ``"Monte Carlo"``.
    what : str
        ``"error"``, or ``"risk"`` if a loss was given.
    """

    value: float
    low: float
    high: float
    method: str
    what: str = "error"

    def __repr__(self) -> str:
        span = f" ({number(self.low)} to {number(self.high)})" * (self.low != self.high)
        return f"Bayes {self.what} {number(self.value)}{span}, {self.method}"


def bayes_error(
    densities: Mapping[Any, Any],
    priors: PerLabel,
    *,
    loss: Loss | None = None,
    n_samples: int = 100_000,
    level: float = 0.95,
    random_state: RandomState = 0,
) -> BayesError:
    r"""Find the error of the best classifier that the densities allow, or its risk under a loss.

    .. math:: E = \int \bigl(1 - \max_k p(k \mid x)\bigr)\, p(x)\, dx , \qquad
              R = \int \min_a \sum_k L_{ka}\, \pi_k\, p_k(x)\, dx

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
    loss : Loss, optional
        Losses by true class and act, a reject act included; by default every error costs one.
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
    credo.decisions.regions : Thresholds and risks in one dimension.

    Notes
    -----
    Exact for two Gaussians with one covariance ("closed form", O(d³)) and for one-dimensional
    distributions ("quadrature", or a "sum" over whole numbers, through the decision regions).
    Otherwise ``n_samples`` points are drawn from the classes and, for Gaussians, from between them
    as well, where the mistakes are made; each counts by its importance, so that errors of 1e-12
    are found too. The interval is the normal one; without Gaussians it is widened by what so many
    draws may miss altogether. Time
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
    classes = _as_classes(densities, "bayes_error")
    p = check.priors(priors, tuple(classes), "priors of bayes_error")
    what = "error" if loss is None else "risk"
    own = Loss.zero_one(classes) if loss is None else as_loss(loss, "bayes_error", per_row=False)
    losses = own.matrix[own.rows_for(tuple(classes), "bayes_error")][p > 0]
    draws = check.count(n_samples, "n_samples of bayes_error", 2 * len(classes))
    confidence = check.level(level, "level of bayes_error")
    # A label that never occurs is never right and never missed.
    classes = {name: c for (name, c), share in zip(classes.items(), p, strict=True) if share}
    p = p[p > 0]
    closed = _closed_form(list(classes.values()), p) if loss is None else None
    if closed is not None:
        return BayesError(closed, closed, closed, "closed form")
    lines = {name: _on_the_line(c) for name, c in classes.items()}
    if None not in lines.values():
        error = regions(lines, p, Loss(losses, tuple(lines), own.acts)).bayes_risk
        how = "sum" if hasattr(next(iter(lines.values())), "logpmf") else "quadrature"
        return BayesError(error, error, error, how, what)
    for name, each in classes.items():
        if hasattr(each, "logpmf"):
            raise InputError(
                f"bayes_error: the density of {name!r} must be one of vectors, as others are. "
                "It is of whole numbers."
            )
    rng = check.generator(random_state, "random_state of bayes_error")
    # What no act can spare is no matter of chance.
    sure, regrets = float(p @ losses.min(axis=1)), losses - losses.min(axis=1, keepdims=True)
    value, spread = _monte_carlo(classes, p, regrets, draws, rng)
    reach = float(scipy.special.ndtri(0.5 + confidence / 2)) * spread
    # What never came up in n draws from the classes may still have this probability.
    unseen = 0.0 if _all_gaussian(classes) else -np.log((1 - confidence) / 2) / draws
    low, high = max(0.0, value - reach), value + max(reach, unseen * float(regrets.max()))
    high = min(float((p @ regrets).min()), high)  # one act for all costs so much
    return BayesError(sure + value, sure + low, sure + high, "Monte Carlo", what)


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
    who = "bhattacharyya_bound"
    classes = _as_classes(densities, who)
    p = check.priors(priors, tuple(classes), f"priors of {who}")
    for name, each in classes.items():
        if not isinstance(each, MultivariateGaussian):
            raise InputError(f"{who} is for Gaussians, and the density of {name!r} is not one.")
    pairs = combinations(zip(classes.values(), p, strict=True), 2)
    total = sum(np.sqrt(v * w) * np.exp(-_distance(a, b)) for (a, v), (b, w) in pairs)
    return float(min(total, 1 - p.max()))


def _as_classes(densities: Any, who: str) -> dict[Label, Any]:
    """Return the densities by label, each Gaussian as one; check that dimensions agree."""
    if not isinstance(densities, Mapping):
        kind = type(densities).__name__
        raise InputError(f"{who} needs the densities by label, {{label: density}}. Got {kind}.")
    labels = check.labels(densities, f"labels of {who}")
    classes = {n: _as_class(d, n, who) for n, d in zip(labels, densities.values(), strict=True)}
    sizes = {n: len(c.mean) for n, c in classes.items() if isinstance(c, MultivariateGaussian)}
    for name, size in sizes.items():
        first = next(iter(sizes))
        if size != sizes[first]:
            raise ShapeError(
                f"{who}: {first!r} has {sizes[first]} dimensions and {name!r} has {size}."
            )
    return classes


def _as_class(source: Any, name: Label, who: str) -> Any:
    """Return a Gaussian for what describes one; leave other distributions as they are."""
    normal = as_normal(source)
    if isinstance(source, MultivariateGaussian):
        mean, covariance = source.mean, source.covariance
    elif isinstance(source, (tuple, list)) and len(source) == 2:
        mean, covariance = source
    elif normal is not None:
        mean, covariance = normal.mean, normal.variance
    elif hasattr(source, "cov") and not callable(getattr(source, "mean", None)):  # SciPy's
        mean, covariance = source.mean, source.cov
    elif on_a_line(source) or (
        callable(getattr(source, "logpdf", None)) and callable(getattr(source, "rvs", None))
    ):
        return source
    else:
        raise InputError(
            f"{who}: the density of {name!r} must be (mean, covariance), a credo.families.Gaussian "
            f"or MultivariateGaussian, or something with logpdf and rvs. Got "
            f"{type(source).__name__}."
        )
    mean, covariance = np.atleast_1d(mean), np.atleast_2d(covariance)
    if mean.ndim > 1 or covariance.shape != (len(mean), len(mean)):
        raise ShapeError(
            f"{who}: {name!r} needs a mean of shape (d,) and a covariance of shape (d, d). Got "
            f"{mean.shape} and {covariance.shape}."
        )
    try:
        return MultivariateGaussian(mean, covariance)
    except InputError as error:  # say which one it is
        raise type(error)(str(error).replace("MultivariateGaussian", repr(name))) from None


def _all_gaussian(classes: Mapping[Label, Any]) -> bool:
    """Tell whether every class is a Gaussian."""
    return all(isinstance(c, MultivariateGaussian) for c in classes.values())


def _on_the_line(source: Any) -> Any:
    """Return the one-dimensional distribution that a class is, or None."""
    if isinstance(source, MultivariateGaussian):
        return Gaussian(source.mean[0], source.covariance[0, 0]) if len(source.mean) == 1 else None
    return source if on_a_line(source) else None


def _closed_form(classes: list[Any], priors: F64) -> float | None:
    """Return the error of one class, or of two Gaussians with one covariance."""
    if len(classes) == 1:
        return 0.0
    if len(classes) > 2 or not all(isinstance(c, MultivariateGaussian) for c in classes):
        return None
    first, second = classes
    scales = np.sqrt(np.diag(first.covariance))
    rounding = 8 * _EPS * np.outer(scales, scales)
    if (np.abs(first.covariance - second.covariance) > rounding).any():
        return None
    gap = first.mean - second.mean
    apart = float(np.sqrt(gap @ np.linalg.solve(first.covariance, gap)))
    if apart == 0:
        return float(priors.min())
    shift = (np.log(priors[0]) - np.log(priors[1])) / apart
    return float(priors @ scipy.special.ndtr([-apart / 2 - shift, -apart / 2 + shift]))


def _distance(first: MultivariateGaussian, second: MultivariateGaussian) -> float:
    """Return the Bhattacharyya distance of two Gaussians."""
    middle, gap = 0.5 * first.covariance + 0.5 * second.covariance, first.mean - second.mean
    logs = [np.linalg.slogdet(c)[1] for c in (middle, first.covariance, second.covariance)]
    return float(gap @ np.linalg.solve(middle, gap) / 8 + 0.5 * logs[0] - 0.25 * sum(logs[1:]))


# --- Monte Carlo ----------------------------------------------------------------------------------


def _monte_carlo(
    classes: Mapping[Label, Any],
    priors: F64,
    regrets: F64,
    n_samples: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    r"""Estimate the risk of regrets and its standard error.

    The risk is the integral of :math:`\min_a \sum_k r_{ka} \pi_k p_k`. Draws come from a mixture
    of the classes and, for Gaussians, of Gaussians between them; each draw counts the integrand
    over the mixture's density. That ratio is at most twice the largest regret, and draws between
    the classes find errors far too rare to turn up by themselves.
    """
    sources, shares = dict(classes), priors
    if _all_gaussian(classes):
        between, weights = _between(list(classes.values()), priors)
        sources |= between
        shares = np.concatenate([0.5 * priors, 0.5 * weights]) if between else priors
    wanted = shares * n_samples
    sizes = np.floor(wanted).astype(np.intp)
    sizes[np.argsort(sizes - wanted, kind="stable")[: n_samples - sizes.sum()]] += 1
    drawn = [_draw(c, n, rng) for c, n in zip(sources.values(), np.maximum(sizes, 2), strict=True)]
    widths = [x.shape[1] for x in drawn]
    if len(set(widths)) > 1:
        raise ShapeError(
            f"bayes_error: draws of all labels must have the same number of columns. Got {widths}."
        )
    means, variances = [], []
    for x in drawn:
        log_p = np.stack([_log_density(c, name, x) for name, c in sources.items()], axis=1)
        rest = np.log(priors) + log_p[:, : len(priors)]
        mixed = log_sum_exp(np.log(shares) + log_p)
        ratio = (np.exp(rest - mixed[:, None]) @ regrets).min(axis=1)
        means.append(ratio.mean())
        variances.append(ratio.var(ddof=1) / len(ratio))
    return float(shares @ means), float(np.sqrt(shares**2 @ np.array(variances)))


def _between(classes: list[MultivariateGaussian], priors: F64) -> tuple[dict[Any, Any], F64]:
    r"""Return Gaussians proportional to :math:`p_i(x)^{1-s} p_j(x)^s`, and how often to draw them.

    The pairs with most of the Bhattacharyya bound share the draws in proportion to it, each over
    several s: where a tight class meets a wide one, mistakes are made far from the middle.
    """
    pairs = list(combinations(range(len(classes)), 2))
    logs = [np.log(priors[[i, j]]).mean() - _distance(classes[i], classes[j]) for i, j in pairs]
    inverses = [np.linalg.inv(c.covariance) for c in classes]
    found: dict[Any, Any] = {}
    for k in np.argsort(-np.array(logs), kind="stable")[:_MOST_PAIRS]:
        (i, j), weight = pairs[k], np.exp(logs[k] - max(logs)) / len(_WAY)
        for s in _WAY if weight > 0 else ():
            covariance = np.linalg.inv((1 - s) * inverses[i] + s * inverses[j])
            mean = (1 - s) * inverses[i] @ classes[i].mean + s * inverses[j] @ classes[j].mean
            try:
                own = MultivariateGaussian(covariance @ mean, 0.5 * (covariance + covariance.T))
            except InputError:  # next to singular: the classes themselves are drawn from
                continue
            found["between", i, j, s] = own, weight
    weights = np.array([weight for _, weight in found.values()])
    return {key: own for key, (own, _) in found.items()}, weights / weights.sum()


def _draw(source: Any, size: int, rng: np.random.Generator) -> F64:
    """Draw rows of features."""
    if isinstance(source, MultivariateGaussian):
        return source.sample(int(size), rng)
    drawn = source.rvs(size=int(size), random_state=rng)
    return np.asarray(drawn, dtype=np.float64).reshape(size, -1)


def _log_density(source: Any, name: Label, x: F64) -> F64:
    """Return the log density of each row."""
    if isinstance(source, MultivariateGaussian):
        return source.log_density(x)
    try:
        return np.broadcast_to(np.ravel(source.logpdf(x)), len(x))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"bayes_error: the logpdf of {name!r} must take rows of draws, shape {x.shape}, and "
            f"give one number for each. {error}."
        ) from error
