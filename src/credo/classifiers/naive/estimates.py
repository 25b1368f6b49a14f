"""From summaries to terms: smoothing, and the least variance."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import Any, Self, final

import numpy as np

from credo._types import F64
from credo._validation.arrays import as_number
from credo.classifiers.naive.learning import PartSummary
from credo.classifiers.naive.parts import ColumnNames
from credo.classifiers.naive.sparse_term import SparseTerm
from credo.classifiers.naive.terms import (
    CategoricalTerm,
    CountsTerm,
    GaussianTerm,
    GeneralTerm,
    LinearTerm,
    Term,
)
from credo.exceptions import InputError
from credo.families import Laplace
from credo.families.gaussians.class_gaussians import ClassGaussians
from credo.families.gaussians.moments import ClassMoments

#: Families of which the user's smoothing adds artificial observations, and what it adds.
_SMOOTHED = ("bernoulli", "multinomial", "categorical")
#: Families of which it adds observations of the mean over all classes.
_PULLED = ("poisson", "exponential")


@final
@dataclass(frozen=True, slots=True)
class Smoothing:
    """Checked options of the estimates."""

    amount: float
    target: str
    unknown: str
    variance_floor: float

    @classmethod
    def checked(cls, classifier: Any, owner: str) -> Self:
        """Read the options of an estimator."""
        amount = as_number(classifier.smoothing, owner, "smoothing")
        floor = as_number(classifier.variance_floor, owner, "variance_floor")
        if not 0 <= amount <= 1e100:
            raise InputError(f"The smoothing of {owner} must be 0 or more. Got {amount:g}.")
        if not 0 <= floor <= 1:
            raise InputError(
                f"The variance_floor of {owner} is a share of each feature's variance, between 0 "
                f"and 1. Got {floor:g}."
            )
        _one_of(classifier.smoothing_target, ("uniform", "marginal"), owner, "smoothing_target")
        _one_of(classifier.unknown, ("smooth", "ignore", "error"), owner, "unknown")
        return cls(amount, classifier.smoothing_target, classifier.unknown, floor)


def _one_of(value: Any, known: tuple[str, ...], owner: str, what: str) -> None:
    """Check a choice."""
    if value not in known:
        raise InputError(f"The {what} of {owner} must be one of {known}. Got {value!r}.")


def estimate_term(
    learned: PartSummary, smoothing: Smoothing, names: ColumnNames, *, sparse: bool
) -> Term:
    """Estimate the distributions of one part, and get ready to score."""
    part = learned.part
    if part.family == "gaussian":
        return gaussian_term(learned, smoothing.variance_floor)
    try:
        family = _estimate(learned, smoothing)
    except InputError as error:
        raise InputError(
            f"{names.owner}, {part.family} of {names.of(part.columns)}, by class and column: "
            f"{error}"
        ) from error
    if part.family == "categorical":
        assert learned.categories is not None  # noqa: S101 - counted with them
        return CategoricalTerm(part, family, learned.categories, names, smoothing.unknown)
    if sparse:
        return SparseTerm(part, family)
    if part.family == "multinomial" and np.isfinite(family.natural_parameters).all():
        return CountsTerm(part, family, names)
    linear = part.family not in ("laplace", "multivariate_gaussian")
    if linear and np.isfinite(family.natural_parameters).all():
        return LinearTerm(part, family)
    return GeneralTerm(part, family)


def _estimate(learned: PartSummary, smoothing: Smoothing) -> Any:
    """Estimate by maximum likelihood, or with artificial observations."""
    part, summary, amount = learned.part, learned.summary, smoothing.amount
    make: Any = part.distribution.estimate
    if part.family in _PULLED:
        return make(_pulled(summary, amount, counts=part.family == "poisson"))
    if part.family == "laplace":
        return _laplace(summary, smoothing.variance_floor)
    if part.family not in _SMOOTHED:
        return make(summary)
    more = {}
    if learned.categories is not None:
        spare = smoothing.unknown == "smooth"
        more["n_categories"] = max(1, len(learned.categories.values) + spare)
    if smoothing.target == "uniform":
        return make(summary, amount, **more)
    marginal = make(_pooled(summary), amount, **more).mean
    return make(summary, amount, marginal, **more)


def _pooled(summary: Any) -> Any:
    """Add up the classes of a summary of sums or counts."""
    values = {
        name: getattr(summary, name)
        for name in ("weight", "total", "counts")
        if hasattr(summary, name)
    }
    return replace(summary, **{name: value.sum(axis=0) for name, value in values.items()})


def _pulled(summary: Any, amount: float, *, counts: bool) -> Any:
    r"""Add so many observations of the mean m over all classes.

    For counts m is :math:`(S + a) / (N + a)`, so that nothing is impossible.
    """
    both = _pooled(summary)
    extra = amount if counts else 0.0
    weight = both.weight + extra
    mean = np.divide(both.total + extra, weight, out=np.zeros_like(weight), where=weight > 0)
    return replace(summary, weight=summary.weight + amount, total=summary.total + amount * mean)


def _laplace(summary: Any, share: float) -> Laplace:
    """Estimate medians and mean deviations; the variance, twice its square, has the same floor."""
    names = [field.name for field in fields(summary) if field.name != "family"]
    classes = [
        replace(summary, **{name: getattr(summary, name)[k] for name in names})
        for k in range(len(summary.weight))
    ]
    overall = Laplace.estimate(reduce(lambda one, other: one.merge(other), classes))
    return Laplace.estimate(summary, np.sqrt(share) * overall.scale)


def gaussian_term(learned: PartSummary, share: float) -> GaussianTerm:
    r"""Estimate means and variances, the latter at least a share of the feature's own variance.

    A class in which a feature was never observed takes its distribution over all classes.
    """
    moments: ClassMoments = learned.summary
    weights, centre = moments.feature_weights, moments.grand_mean()
    unseen = weights == 0
    overall = _overall_variance(moments, weights, centre)
    active = ~moments.constant_features() & (overall > 0)
    safe = np.where(unseen, 1.0, weights)
    variances = np.where(unseen, overall, moments.diagonals() / safe)
    floor = share * overall
    floored = (variances < floor) & active
    variances = np.where(floored, floor, variances)
    active &= (variances > 0).all(axis=0)
    used = np.where(active, variances, 1.0)
    model = ClassGaussians(
        shape="diagonal",
        means=np.where(unseen, centre, moments.means),
        covariances=variances,
        whiteners=np.where(active, 1 / np.sqrt(used), 0.0),
        log_determinants=np.log(used).sum(axis=1),
        active=active,
    )
    return GaussianTerm.of(learned.part, model, floored & active, unseen & active)


def _overall_variance(moments: ClassMoments, weights: F64, centre: F64) -> F64:
    """Give the variance of each feature over all rows, zero if it was never observed."""
    between = (weights * (moments.means - centre) ** 2).sum(axis=0)
    total = weights.sum(axis=0)
    result: F64 = (moments.pooled_diagonal() + between) / np.where(total > 0, total, 1.0)
    return result
