"""From rows or moments to fitted Gaussians, with the options of the estimators."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from credo._types import F64
from credo._validation.arrays import in_unit_interval, positive_int
from credo.classifiers._projection import Projection
from credo.exceptions import InputError
from credo.families.gaussians.definite import Names
from credo.families.gaussians.em import fit_missing
from credo.families.gaussians.estimate import Estimate, Recipe, SecondPass, Shrinkage, estimate
from credo.families.gaussians.likelihood import log_likelihood, maximum_log_likelihood
from credo.families.gaussians.moments import ClassMoments, Detail
from credo.families.gaussians.reduction import Rows
from credo.families.gaussians.shapes import (
    LINEAR,
    WITH_CORRELATIONS,
    Shape,
    checked_shape,
    detail_for,
    n_covariance_parameters,
)
from credo.families.gaussians.shrinkage import fourth_moments

#: Called with the step and the log-likelihood so far.
Progress = Callable[[int, float], None]


@dataclass(frozen=True, slots=True)
class Options:
    """What a fit is to do, checked."""

    owner: str
    recipe: Recipe
    subspace: float | None
    tol: float
    max_iter: int
    progress: Progress | None

    @classmethod
    def checked(cls, estimator: Any) -> Options:
        """Check the parameters of an estimator."""
        owner = type(estimator).__name__
        shape = checked_shape(getattr(estimator, "covariance", "full"), owner)
        return cls(
            owner=owner,
            recipe=Recipe(
                shape,
                _shrinkage(estimator.shrinkage, shape, owner),
                _repair(estimator.singular, owner),
            ),
            subspace=_subspace(getattr(estimator, "subspace", None), owner),
            tol=_tolerance(estimator.tol, owner),
            max_iter=positive_int(estimator.max_iter, owner, "max_iter"),
            progress=estimator.progress,
        )

    def warn_of_stopping(self) -> None:
        """Say that EM stopped before its time, to who called ``fit``."""
        warnings.warn(
            f"{self.owner}: EM stopped after max_iter={self.max_iter} steps before the "
            f"log-likelihood stood still to tol={self.tol:g}. Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )

    @property
    def recipe_for_missing(self) -> Recipe:
        """Give the recipe for rows with NaN, which have no fourth moments: OAS for Ledoit-Wolf."""
        if self.recipe.shrinkage != "auto":
            return self.recipe
        return replace(self.recipe, shrinkage="oas")

    @property
    def detail(self) -> Detail:
        """Give the least detail of scatter that the options need."""
        if self.subspace is None:
            return detail_for(self.recipe.shape)
        return "tied" if self.recipe.shape in LINEAR else "full"


def _shrinkage(value: Any, shape: Shape, owner: str) -> Shrinkage:
    """Check the shrinkage."""
    if value is None:
        return None
    if shape not in WITH_CORRELATIONS:
        raise InputError(
            f"{owner}: shrinkage moves correlations towards zero, and covariance={shape!r} has "
            "none. Pass shrinkage=None, or another covariance."
        )
    if isinstance(value, str):
        if value not in ("auto", "oas"):
            raise InputError(
                f"The shrinkage of {owner} must be None, 'auto', 'oas' or a number between 0 and "
                f"1. Got {value!r}."
            )
        return "auto" if value == "auto" else "oas"
    if isinstance(value, bool):
        raise InputError(f"The shrinkage of {owner} must not be a truth value. Got {value!r}.")
    return in_unit_interval(value, owner, "shrinkage")


def _repair(value: Any, owner: str) -> bool:
    """Check what is to be done about singular covariances."""
    if value not in ("repair", "error"):
        raise InputError(f"The singular of {owner} must be 'repair' or 'error'. Got {value!r}.")
    return bool(value == "repair")


def _subspace(value: Any, owner: str) -> float | None:
    """Check the subspace: a number of components, or a share of the variance."""
    if value is None:
        return None
    if isinstance(value, bool):
        raise InputError(f"The subspace of {owner} must be None or a number. Got {value!r}.")
    if isinstance(value, (int, np.integer)):
        return positive_int(int(value), owner, "subspace")
    return in_unit_interval(value, owner, "subspace (if not a whole number)", open_ends=True)


def _tolerance(value: Any, owner: str) -> float:
    """Check the tolerance of EM."""
    if not isinstance(value, (int, float, np.number)) or not 0 <= value < np.inf:
        raise InputError(f"The tol of {owner} must be a number, at least 0. Got {value!r}.")
    return float(value)


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """What a fit found, whatever the priors."""

    found: Estimate
    #: Weight of each class, (K,).
    weights: F64
    #: Σ w log p(x | y) before each step of EM and at the end; one entry if closed form.
    trace: F64
    converged: bool
    projection: Projection | None = None

    @property
    def n_parameters(self) -> int:
        """Count the numbers of means and covariances."""
        model = self.found.model
        classes, size = model.n_classes, int(model.active.sum())
        return classes * size + n_covariance_parameters(model.shape, classes, size)


def fit_rows(rows: Rows, moments: ClassMoments | None, options: Options, names: Names) -> Fitted:
    """Fit from rows and their moments; without moments, the rows hold NaN: by EM."""
    if moments is not None:
        return fit_moments(moments, options, names, rows)
    if options.subspace is not None:
        raise InputError(
            f"{options.owner}: X contains NaN, which cannot be projected on a subspace. Pass "
            "subspace=None to fit by EM, or impute first."
        )
    found = fit_missing(
        rows,
        options.recipe_for_missing,
        names,
        tol=options.tol,
        max_iter=options.max_iter,
        progress=options.progress,
    )
    return Fitted(found.found, found.weights, found.trace, found.converged)


def fit_moments(
    moments: ClassMoments, options: Options, names: Names, rows: Rows | None = None
) -> Fitted:
    """Fit in closed form; Ledoit-Wolf needs the rows too."""
    projection = None
    if options.subspace is not None:
        projection = Projection.of(moments, options.subspace, options.owner)
        moments = moments.projected(projection.components, projection.centre)
        components = tuple(f"component {i}" for i in range(moments.n_features))
        names = Names(names.owner, names.classes, components)
    second_pass = None if rows is None else second_pass_over(rows, projection)
    found = estimate(moments, options.recipe, names, second_pass)
    plain = not found.amounts.any() and found.repair is None and found.model.has_correlations
    likelihood = maximum_log_likelihood if plain else log_likelihood
    trace = np.array([likelihood(found.model, moments)])
    return Fitted(found, moments.weights, trace, converged=True, projection=projection)


def second_pass_over(rows: Rows, projection: Projection | None) -> SecondPass:
    """Give a function that finds fourth moments of the rows."""
    X = rows.X if projection is None else projection.rows(rows.X)

    def fourth(means: F64, scales: F64) -> F64:
        return fourth_moments(X, rows.codes, rows.weights, means, scales)

    return fourth
