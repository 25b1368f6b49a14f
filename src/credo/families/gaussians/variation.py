"""Features that do not vary within a class: refused with their names, or given a little spread."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from credo._types import F64, Bool
from credo.exceptions import InputError
from credo.families.gaussians.definite import Names, SingularCovarianceError
from credo.families.gaussians.moments import ClassMoments, rounding_variance
from credo.families.gaussians.shapes import LINEAR, Shape

#: Shapes with one number of spread per class: single features may well be constant.
_ONE_SPREAD = ("spherical", "tied_spherical", "proportional")


def active_features(moments: ClassMoments, shape: Shape, names: Names) -> Bool:
    """Tell which features take part: those that are not constant in all rows.

    The spherical shapes have no use for leaving any out.
    """
    constant = moments.constant_features()
    if constant.all():
        raise InputError(
            f"{names.owner}: every feature is constant ({int(moments.counts.sum())} sample(s)), so "
            "there is nothing to learn from. Check the columns, or give more rows."
        )
    spherical = shape in ("spherical", "tied_spherical")
    return np.ones_like(constant) if spherical else ~constant


def flat_features(moments: ClassMoments, shape: Shape, active: Bool) -> Bool:
    """Tell which features have no spread but rounding: (K, D), or (D,) if it is shared.

    Of shapes with one number of spread per class, only classes that are points are told.
    """
    rounding = moments.feature_weights * rounding_variance(moments.means)
    if shape in LINEAR:
        flat = (moments.pooled_diagonal() <= rounding.sum(axis=0)) & active
    else:
        flat = (moments.diagonals() <= rounding) & active
    if shape in _ONE_SPREAD:
        points = (flat | ~active).all(axis=-1, keepdims=True)
        nowhere = flat.all(axis=0) if shape == "proportional" else np.zeros_like(active)
        flat &= points | nowhere
    return flat


def with_variation(moments: ClassMoments, flat: Bool, share: F64) -> ClassMoments:
    r"""Give flat features a share of the variance that they have over all classes.

    That is their pooled variance within classes, or the total variance if that is zero too. They
    get no correlations. ``share`` broadcasts against ``flat``.
    """
    weights = moments.feature_weights
    n = weights.sum(axis=0) if flat.ndim == 1 else weights
    extra = np.where(flat, n * share * _spare(moments), 0.0)
    scatter = moments.scatter.copy()
    each = flat if flat.ndim == 2 else np.broadcast_to(flat, moments.means.shape)
    part = (
        extra if flat.ndim == 2 else np.broadcast_to(extra / moments.n_classes, moments.means.shape)
    )
    if moments.detail == "diagonal":
        scatter[each] = part[each]
    elif moments.detail == "tied":
        scatter[flat] = 0.0
        scatter[:, flat] = 0.0
        scatter[flat, flat] = extra[flat]
    else:
        scatter[each[:, :, None] | each[:, None, :]] = 0.0
        diagonal = np.einsum("kii->ki", scatter)
        diagonal[each] = part[each]
    return replace(moments, scatter=scatter)


def _spare(moments: ClassMoments) -> F64:
    """Give the variance of each feature within classes, or over all rows if that is zero."""
    weights = moments.feature_weights
    total = weights.sum(axis=0)
    within = moments.pooled_diagonal()
    rounding = (weights * rounding_variance(moments.means)).sum(axis=0)
    between = (weights * (moments.means - moments.grand_mean()) ** 2).sum(axis=0)
    return np.where(within > rounding, within, within + between) / total


def refusal(flat: Bool, moments: ClassMoments, names: Names) -> SingularCovarianceError:
    """Say which class and which columns do not vary."""
    if flat.ndim == 1:
        return SingularCovarianceError(
            f"{names.owner}: the shared covariance is singular: constant within every class "
            f"({int(moments.counts.sum())} rows): {names.columns(np.flatnonzero(flat))}.",
            "Drop these columns, or pass singular='repair'.",
        )
    k = int(flat.any(axis=1).argmax())
    return SingularCovarianceError(
        f"{names.owner}: the covariance of {names.classes[k]!r} is singular: constant in "
        f"{'its' if moments.observed is None else 'what is observed of its'} {moments.counts[k]} "
        f"rows: {names.columns(np.flatnonzero(flat[k]))}.",
        "Drop these columns, share the covariance between classes (covariance='tied'), or pass "
        "singular='repair'.",
    )
