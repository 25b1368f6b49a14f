"""The Bayes error by sampling, with most draws where mistakes are made."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from credo._types import F64, Int, Labels
from credo.decisions.normal_classes import Normal, between, distance
from credo.exceptions import InputError, ShapeError
from credo.posterior.posterior import log_sum_exp

#: Points on the way from one Gaussian to another, as the weight of the second.
_WAY = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
#: Pairs drawn between; the mistakes of the others are found by draws from the classes.
_MOST_PAIRS = 8


def monte_carlo(
    classes: list[Any], labels: Labels, priors: F64, n_samples: int, rng: np.random.Generator
) -> tuple[float, float]:
    r"""Estimate the error and its standard error.

    The error is the integral of :math:`\sum_k \pi_k p_k - \max_k \pi_k p_k`. Draws come from a
    mixture of the classes and, for Gaussians, of Gaussians between them; each draw counts the
    integrand over the mixture's density. That ratio is at most two, and draws between the classes
    find errors far too rare to turn up by themselves.
    """
    sources, shares = _sources(classes, priors)
    drawn = _draws(sources, _sizes(shares, n_samples), rng)
    means, variances = [], []
    for x in drawn:
        log_p = _log_densities(sources, labels, x)
        log_joint = np.log(priors) + log_p[:, : len(classes)]
        ratio = np.exp(_log_mistake(log_joint) - log_sum_exp(np.log(shares) + log_p))
        means.append(ratio.mean())
        variances.append(ratio.var(ddof=1) / len(ratio))
    return float(shares @ means), float(np.sqrt(shares**2 @ np.array(variances)))


def _sources(classes: list[Any], priors: F64) -> tuple[list[Any], F64]:
    """Give what is drawn from and in which shares: the classes, and for Gaussians what is between.

    The pairs with most of the Bhattacharyya bound share half of the draws in proportion to it, each
    over several points on the way from one class to the other: where a tight class meets a wide
    one, mistakes are made far from the middle.
    """
    if not all(isinstance(c, Normal) for c in classes):
        return list(classes), priors
    pairs = list(combinations(range(len(priors)), 2))
    log_parts = np.array(
        [0.5 * np.log(priors[i] * priors[j]) - distance(classes[i], classes[j]) for i, j in pairs]
    )
    sources, log_shares = [], []
    for k in np.argsort(-log_parts, kind="stable")[:_MOST_PAIRS]:
        i, j = pairs[k]
        ways = [w for s in _WAY if (w := between(classes[i], classes[j], s)) is not None]
        sources += ways
        log_shares += [log_parts[k] - np.log(max(1, len(ways)))] * len(ways)
    if not sources:
        return list(classes), priors
    shares = np.exp(np.array(log_shares) - log_sum_exp(np.array([log_shares]))[0])
    kept = np.flatnonzero(shares > 0)
    mixed = np.concatenate([0.5 * priors, 0.5 * shares[kept]])
    return [*classes, *(sources[k] for k in kept)], mixed / mixed.sum()


def _sizes(shares: F64, n_samples: int) -> Int:
    """Share out the draws in proportion, at least two to each source."""
    wanted = shares * n_samples
    sizes = np.floor(wanted).astype(np.intp)
    most = np.argsort(sizes - wanted, kind="stable")[: n_samples - sizes.sum()]
    sizes[most] += 1
    return np.maximum(sizes, 2)


def _draws(sources: list[Any], sizes: Int, rng: np.random.Generator) -> list[F64]:
    """Draw rows of features from each source."""
    drawn = [
        np.asarray(c.rvs(size=size, random_state=rng), dtype=np.float64).reshape(size, -1)
        for c, size in zip(sources, sizes.tolist(), strict=True)
    ]
    widths = [x.shape[1] for x in drawn]
    if len(set(widths)) > 1:
        raise ShapeError(
            f"bayes_error: draws of all labels must have the same number of columns. Got {widths}."
        )
    return drawn


def _log_densities(sources: list[Any], labels: Labels, x: F64) -> F64:
    """Give the log density of each row under each source, shape (n, S)."""
    columns = np.empty((len(x), len(sources)))
    for i, source in enumerate(sources):
        try:
            columns[:, i] = np.ravel(source.logpdf(x))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"bayes_error: the logpdf of {labels[i]!r} must take rows of draws, shape "
                f"{x.shape}, and give one number for each. {error}."
            ) from error
    return columns


def _log_mistake(log_joint: F64) -> F64:
    """Give the log of Σ_k π_k p_k without its largest term, for each row."""
    rest = log_joint.copy()
    np.put_along_axis(rest, log_joint.argmax(axis=1)[:, None], -np.inf, axis=1)
    return log_sum_exp(rest)
