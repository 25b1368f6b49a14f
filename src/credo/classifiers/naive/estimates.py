"""From summaries to terms: smoothing, and the least variance."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import Any, Self, final

import numpy as np

from credo._types import F64
from credo._validation.arrays import as_number
from credo._validation.labels import one_of
from credo.classifiers.naive.learning import PartSummary
from credo.classifiers.naive.parts import ColumnNames, Part
from credo.classifiers.naive.sparse_term import SparseTerm
from credo.classifiers.naive.terms import (
    CategoricalTerm,
    CountsTerm,
    GaussianTerm,
    GeneralTerm,
    LaplaceTerm,
    LinearTerm,
    Term,
)
from credo.exceptions import InputError, NumericalError
from credo.families import Gaussian, Laplace
from credo.families.class_gaussians import ClassGaussians
from credo.families.covariances import with_variation
from credo.families.moments import ClassMoments, rounding_variance

#: Families of which the user's smoothing adds artificial observations of each value.
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
    def checked(
        cls, owner: str, smoothing: Any, target: Any, unknown: Any = "ignore", floor: Any = 0.0
    ) -> Self:
        """Check the options of an estimator."""
        amount = as_number(smoothing, owner, "smoothing")
        floor = as_number(floor, owner, "variance_floor")
        if not 0 <= amount <= 1e100:
            raise InputError(
                f"The smoothing of {owner} must be between 0 and 1e100. Got {amount:g}."
            )
        if not 0 <= floor <= 1:
            raise InputError(
                f"The variance_floor of {owner} is a share of each feature's variance, between 0 "
                f"and 1. Got {floor:g}."
            )
        one_of(target, ("uniform", "marginal"), owner, "smoothing_target")
        one_of(unknown, ("smooth", "ignore", "error"), owner, "unknown")
        return cls(amount, target, unknown, floor)


def estimate_term(
    learned: PartSummary, smoothing: Smoothing, names: ColumnNames, *, sparse: bool
) -> Term:
    """Estimate the distributions of one part, and get ready to score."""
    part = learned.part
    try:
        if part.family == "gaussian":
            return gaussian_term(learned, smoothing.variance_floor, names)
        if part.family == "laplace":
            return _laplace_term(learned, smoothing.variance_floor, names)
        family = _estimate(learned, smoothing)
    except (InputError, NumericalError) as error:
        raise InputError(
            f"{names.owner}, {part.family} of {names.of(part.columns)}, by class and column: "
            f"{error}"
        ) from error
    if learned.categories is not None:
        return CategoricalTerm(part, family, names, learned.categories, smoothing.unknown)
    return _kind_of_term(part, family, sparse=sparse)(part, family, names)


def _kind_of_term(part: Part, family: Any, *, sparse: bool) -> type[Term]:
    """Choose how a family of numbers is scored."""
    if sparse:
        return SparseTerm
    if part.family == "multinomial":
        return CountsTerm
    linear = part.family != "multivariate_gaussian"
    return LinearTerm if linear and np.isfinite(family.natural_parameters).all() else GeneralTerm


def _estimate(learned: PartSummary, smoothing: Smoothing) -> Any:
    """Estimate by maximum likelihood, or with artificial observations."""
    part, summary, amount = learned.part, learned.summary, smoothing.amount
    make: Any = part.distribution.estimate
    if part.family in _PULLED:
        return make(_pulled(summary, amount, counts=part.family == "poisson"))
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


def _laplace_term(learned: PartSummary, share: float, names: ColumnNames) -> LaplaceTerm:
    """Estimate medians and mean deviations; the variance, twice its square, has the same floor."""
    summary = learned.summary
    arrays = [field.name for field in fields(summary) if field.name != "family"]
    classes = [
        replace(summary, **{name: getattr(summary, name)[k] for name in arrays})
        for k in range(len(summary.weight))
    ]
    overall = Laplace.estimate(reduce(lambda one, other: one.merge(other), classes))
    unseen, centres = summary.weight == 0, summary.median()
    weights = np.where(unseen, 0.0, summary.weight)
    with np.errstate(invalid="ignore"):
        own = np.where(unseen, 0.0, summary.mean_deviation(centres))
    flat = (own**2 <= rounding_variance(centres)) & ~unseen
    within = (weights * own).sum(axis=0) / weights.sum(axis=0)
    spare = np.where((flat | unseen).all(axis=0), overall.scale, within)
    least = np.where(flat, spare / np.sqrt(weights + 1), np.sqrt(share) * overall.scale)
    family = Laplace(
        np.where(unseen, overall.location, centres),
        np.where(unseen, overall.scale, np.maximum(own, least)),
    )
    return LaplaceTerm(learned.part, family, names, (own < least) & ~unseen, unseen)


def gaussian_term(learned: PartSummary, share: float, names: ColumnNames) -> GaussianTerm:
    r"""Estimate means and variances, the latter at least a share of the feature's own variance.

    What is constant in a class of n rows gets 1 / (n + 1) of its variance within classes, as one
    more row that varies would give. A class in which a feature was never observed takes its
    distribution over all classes.
    """
    moments: ClassMoments = learned.summary
    weights, centre = moments.feature_weights, moments.grand_mean()
    unseen = weights == 0
    overall = _overall_variance(moments, weights, centre)
    active = ~moments.constant_features() & (overall > 0)
    flat = moments.flat() & active & ~unseen
    varied = with_variation(moments, flat) if flat.any() else moments
    means, squares = moments.means, varied.diagonals()
    if unseen.any():
        means = np.where(unseen, centre, means)
        variances = np.where(unseen, overall, squares / np.where(unseen, 1.0, weights))
    else:
        variances = squares / weights
    low = (variances < share * overall) & active
    if low.any():
        variances = np.where(low, share * overall, variances)
    used = variances if active.all() else np.where(active, variances, 1.0)
    model = ClassGaussians.of_variances("diagonal", means, variances, active)
    family = Gaussian(model.means, used)
    return GaussianTerm(learned.part, family, names, model, flat | low, unseen)


def _overall_variance(moments: ClassMoments, weights: F64, centre: F64) -> F64:
    """Give the variance of each feature over all rows, zero if it was never observed."""
    between = (weights * (moments.means - centre) ** 2).sum(axis=0)
    total = weights.sum(axis=0)
    return (moments.pooled_diagonal() + between) / np.where(total > 0, total, 1.0)
