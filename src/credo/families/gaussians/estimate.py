"""From moments to fitted Gaussians: shape, shrinkage, factor, and a refusal with a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from credo._types import F64, Bool
from credo.exceptions import InputError
from credo.families.gaussians.class_gaussians import ClassGaussians
from credo.families.gaussians.definite import Names, SingularCovarianceError, Where, whiten
from credo.families.gaussians.moments import ClassMoments
from credo.families.gaussians.proportional import proportional_covariances
from credo.families.gaussians.shapes import (
    WITH_CORRELATIONS,
    Shape,
    is_enough,
    maximum_likelihood,
)
from credo.families.gaussians.shrinkage import ledoit_wolf_amount, oas_amount, shrunk
from credo.families.gaussians.variation import (
    active_features,
    flat_features,
    refusal,
    with_variation,
)

#: One amount, one for each covariance, how to find them, or None for maximum likelihood.
Shrinkage = float | F64 | Literal["auto", "oas"] | None
#: Fourth moments by class from means and inverse deviations (K, D): a second pass over the rows.
SecondPass = Callable[[F64, F64], F64]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How covariances are to be estimated."""

    shape: Shape
    #: Amount, or how to find it; None for maximum likelihood.
    shrinkage: Shrinkage = None
    #: Mend a singular covariance and tell, instead of refusing it.
    repair: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Fitted Gaussians, and what was done to their covariances."""

    model: ClassGaussians
    #: Shrinkage of each covariance, (K,), or of the shared one, ().
    amounts: F64
    #: What was singular and how it was repaired; None if nothing was.
    repair: str | None = None


def estimate(
    moments: ClassMoments,
    recipe: Recipe,
    names: Names,
    second_pass: SecondPass | None = None,
    flat: Bool | None = None,
) -> Estimate:
    """Fit Gaussians; ``second_pass`` is what Ledoit-Wolf needs, None if the rows are gone.

    ``flat`` tells features without spread, if the moments cannot: those that EM expects have some.
    """
    _check(moments, recipe.shape, names)
    active = active_features(moments, recipe.shape, names)
    if flat is None:
        flat = flat_features(moments, recipe.shape, active)
    done = []
    if flat.any():
        fault = refusal(flat, moments, names)
        if not recipe.repair:
            raise fault
        share = _share(moments, recipe, flat)
        moments = with_variation(moments, flat, share)
        given = np.broadcast_to(share, flat.shape)[flat]
        done.append(f"{fault.fault} Repaired with {given[0]:.3g} of its variance elsewhere.")
    if recipe.shape not in WITH_CORRELATIONS:
        found = Estimate(_without_correlations(moments, recipe.shape, active), np.zeros(()))
    else:
        found = _with_correlations(moments, recipe, active, names, second_pass)
    notes = [*done, *([found.repair] if found.repair else [])]
    return replace(found, repair=" ".join(notes) or None)


def _share(moments: ClassMoments, recipe: Recipe, flat: Bool) -> F64:
    """Give the share of its variance elsewhere that a flat feature gets, (K, D) or (D,).

    That of one more row that varies, 1 / (n + 1); for full covariances, the shrinkage of the class
    if that is more.
    """
    weights = moments.feature_weights
    base: F64 = 1 / ((weights.sum(axis=0) if flat.ndim == 1 else weights) + 1)
    if recipe.shape != "full":
        return base
    if isinstance(recipe.shrinkage, (float, np.ndarray)):
        given: F64 = np.reshape(np.asarray(recipe.shrinkage, dtype=np.float64), (-1, 1))
        return np.maximum(base, given)
    bare = maximum_likelihood(with_variation(moments, flat, np.zeros_like(base)), recipe.shape)
    amounts = np.zeros_like(base)
    for k in np.flatnonzero(flat.any(axis=1)):
        amounts[k] = oas_amount(bare[k], float(moments.weights[k]))
    return np.maximum(base, amounts)


def _check(moments: ClassMoments, shape: Shape, names: Names) -> None:
    """Check that the moments determine the shape."""
    if not is_enough(moments.detail, shape):
        raise InputError(
            f"{names.owner}: covariance={shape!r} cannot be estimated from a summary of detail "
            f"{moments.detail!r}. Summarise with covariance='full', which serves every shape."
        )
    check_moments(moments, names)


def check_moments(moments: ClassMoments, names: Names) -> None:
    """Check that every class has seen every feature."""
    unseen = moments.feature_weights == 0
    if unseen.any():
        k, j = (int(i) for i in np.argwhere(unseen)[0])
        raise InputError(
            f"{names.owner}: class {names.classes[k]!r} has no observed value in column "
            f"{names.features[j]!r}, so its mean is unknown. Drop the column or the class."
        )


def _without_correlations(moments: ClassMoments, shape: Shape, active: Bool) -> ClassGaussians:
    """Fit variances only."""
    variances = maximum_likelihood(moments, shape)
    spherical = shape in ("spherical", "tied_spherical")
    full = np.repeat(variances[..., None], moments.n_features, -1) if spherical else variances
    taking_part = np.where(active, full, 1.0)
    whiteners = np.where(active, 1 / np.sqrt(taking_part), 0.0)
    return ClassGaussians(
        shape=shape,
        means=moments.means,
        covariances=variances,
        whiteners=whiteners,
        log_determinants=np.broadcast_to(
            np.log(taking_part).sum(axis=-1), moments.n_classes
        ).copy(),
        active=active,
    )


def _with_correlations(
    moments: ClassMoments,
    recipe: Recipe,
    active: Bool,
    names: Names,
    second_pass: SecondPass | None,
) -> Estimate:
    """Fit matrices, shrink them, and factor them."""
    factors, collapse = None, None
    if recipe.shape == "proportional":
        matrices, factors, collapse = _proportional(moments, recipe, active, names)
    else:
        matrices = maximum_likelihood(moments, recipe.shape)
    amounts = shrinkage_amounts(matrices, moments, factors, recipe.shrinkage, names, second_pass)
    if amounts.any():
        matrices = _shrink(matrices, amounts)
    whiteners = np.empty(matrices.shape).swapaxes(-1, -2)
    determinants, faults = _factor(matrices, whiteners, amounts, moments, active, names, recipe)
    if factors is not None:
        determinants = determinants + active.sum() * np.log(factors)
    model = ClassGaussians(
        shape=recipe.shape,
        means=moments.means,
        covariances=matrices,
        whiteners=whiteners,
        log_determinants=np.broadcast_to(determinants, moments.n_classes).copy(),
        active=active,
        factors=factors,
    )
    more = f" (And {len(faults) - 1} more.)" if len(faults) > 1 else ""
    mended = faults[0] + more if faults else None
    return Estimate(model, amounts, " ".join(x for x in (collapse, mended) if x) or None)


def _factor(  # noqa: PLR0913, PLR0917 - what it writes, and what it tells of
    matrices: F64,
    whiteners: F64,
    amounts: F64,
    moments: ClassMoments,
    active: Bool,
    names: Names,
    recipe: Recipe,
) -> tuple[F64, list[str]]:
    """Write the factor of each matrix; shrink those that are singular first, in place, if allowed.

    Gives the log determinants, and what was repaired.
    """
    shared = matrices.ndim == 2
    weights = moments.weights.sum(keepdims=True) if shared else moments.weights
    counts = moments.counts.sum(keepdims=True) if shared else moments.counts
    used = amounts.reshape(-1)
    determinants, faults = np.empty(len(weights)), []
    for i in range(len(weights)):
        matrix, out = (matrices, whiteners) if shared else (matrices[i], whiteners[i])
        where = Where(names, None if shared else i, int(counts[i]))
        try:
            determinants[i] = whiten(matrix, out, active, where)
        except SingularCovarianceError as singular:
            if not recipe.repair:
                raise
            more = oas_amount(matrix, float(weights[i]))
            matrix[...] = shrunk(matrix, more)
            used[i] = 1 - (1 - used[i]) * (1 - more)
            determinants[i] = whiten(matrix, out, active, where)
            faults.append(f"{singular.fault} Repaired with shrinkage {used[i]:.3g}.")
    return determinants, faults


def _proportional(
    moments: ClassMoments, recipe: Recipe, active: Bool, names: Names
) -> tuple[F64, F64, str | None]:
    """Give the shared matrix, the factors, and what had to be repaired."""
    scatters = moments.scatter[:, active][:, :, active]
    pooled = maximum_likelihood(moments, "tied")
    inner = pooled[np.ix_(active, active)]
    done = None
    try:
        where = Where(names, None, int(moments.counts.sum()))
        whiten(pooled, np.empty_like(pooled), active, where)
        shared, factors = proportional_covariances(scatters, moments.weights, names.owner)
    except SingularCovarianceError as singular:
        if not recipe.repair and recipe.shrinkage is None:
            raise
        # Towards a pooled matrix of full rank, every scatter gets one, and the factors a bound.
        amount = oas_amount(inner, float(moments.weights.sum()))
        done = f"{singular.fault} Repaired: every scatter moved by {amount:.3g} to the pooled one."
        target = moments.weights[:, None, None] * shrunk(inner, amount)
        mixed = (1 - amount) * scatters + amount * target
        shared, factors = proportional_covariances(mixed, moments.weights, names.owner)
    matrix = np.zeros_like(pooled)
    matrix[np.ix_(active, active)] = shared
    return matrix, factors, done


def shrinkage_amounts(
    matrices: F64,
    moments: ClassMoments,
    factors: F64 | None,
    shrinkage: Shrinkage,
    names: Names,
    second_pass: SecondPass | None,
) -> F64:
    """Give the amount of shrinkage of each matrix."""
    shared = matrices.ndim == 2
    if shrinkage is None or not isinstance(shrinkage, str):
        return np.full(() if shared else len(matrices), 0.0 if shrinkage is None else shrinkage)
    weights, total = moments.weights, float(moments.weights.sum())
    if shrinkage == "oas":
        if shared:
            return np.asarray(oas_amount(matrices, total))
        return np.array([oas_amount(m, n) for m, n in zip(matrices, weights, strict=True)])
    if second_pass is None:
        raise InputError(
            f"{names.owner}: shrinkage='auto' (Ledoit-Wolf) needs fourth moments, which a summary "
            "does not give. Pass shrinkage='oas', which needs second moments only, or a number."
        )
    variances = np.diagonal(matrices, axis1=-2, axis2=-1)
    if factors is not None:
        variances = variances * factors[:, None]
    with np.errstate(divide="ignore"):
        inverse = np.where(variances > 0, 1 / np.sqrt(variances), 0.0)
    fourth = second_pass(moments.means, np.broadcast_to(inverse, moments.means.shape))
    if shared:
        return np.asarray(ledoit_wolf_amount(matrices, total, float(fourth.sum())))
    return np.array(
        [ledoit_wolf_amount(*each) for each in zip(matrices, weights, fourth, strict=True)]
    )


def _shrink(matrices: F64, amounts: F64) -> F64:
    """Shrink each matrix by its amount."""
    if matrices.ndim == 2:
        return shrunk(matrices, float(amounts))
    return np.array([shrunk(m, a) for m, a in zip(matrices, amounts, strict=True)])
