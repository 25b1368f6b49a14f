"""The seven covariance shapes: what each needs, how many numbers it has, its estimate."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from credo._types import F64
from credo._validation.labels import hint, listing
from credo.exceptions import InputError
from credo.families.gaussians.moments import ClassMoments, Detail

Shape = Literal[
    "full", "tied", "diagonal", "tied_diagonal", "spherical", "tied_spherical", "proportional"
]

#: Every shape, from the richest to the poorest.
SHAPES: tuple[Shape, ...] = (
    "full",
    "proportional",
    "tied",
    "diagonal",
    "tied_diagonal",
    "spherical",
    "tied_spherical",
)
#: Shapes with correlations between features.
WITH_CORRELATIONS = ("full", "tied", "proportional")
#: Shapes with the same covariance in all classes: the boundaries are hyperplanes.
LINEAR = ("tied", "tied_diagonal", "tied_spherical")

_NEEDED: dict[Shape, Detail] = {
    "full": "full",
    "proportional": "full",
    "tied": "tied",
    "diagonal": "diagonal",
    "tied_diagonal": "diagonal",
    "spherical": "diagonal",
    "tied_spherical": "diagonal",
}


def checked_shape(name: Any, owner: str) -> Shape:
    """Check the name of a covariance shape."""
    if name not in SHAPES:
        raise InputError(
            f"The covariance of {owner} must be one of {listing(SHAPES)}. Got {name!r}."
            f"{hint(name, SHAPES)}"
        )
    return name


def detail_for(shape: Shape) -> Detail:
    """Give the least detail of scatter that the shape is estimated from."""
    return _NEEDED[shape]


def is_enough(detail: Detail, shape: Shape) -> bool:
    """Tell whether moments of this detail determine the shape."""
    if detail == "full" or detail == _NEEDED[shape]:
        return True
    return detail == "tied" and shape in LINEAR


def n_covariance_parameters(shape: Shape, n_classes: int, n_features: int) -> int:
    """Count the numbers that describe the covariances."""
    matrix = n_features * (n_features + 1) // 2
    return {
        "full": n_classes * matrix,
        "tied": matrix,
        "proportional": matrix + n_classes - 1,
        "diagonal": n_classes * n_features,
        "tied_diagonal": n_features,
        "spherical": n_classes,
        "tied_spherical": 1,
    }[shape]


def maximum_likelihood(moments: ClassMoments, shape: Shape) -> F64:
    """Give the covariances of every shape but the proportional one, without any shrinkage."""
    weights = moments.feature_weights
    if shape == "full":
        return moments.scatter / moments.weights[:, None, None]
    if shape == "tied":
        return moments.pooled() / moments.weights.sum()
    if shape == "diagonal":
        return np.divide(
            moments.diagonals(), weights, out=np.zeros_like(moments.means), where=weights > 0
        )
    if shape == "tied_diagonal":
        return moments.pooled_diagonal() / weights.sum(axis=0)
    if shape == "spherical":
        return moments.diagonals().sum(axis=1) / weights.sum(axis=1)
    return np.asarray(moments.pooled_diagonal().sum() / weights.sum())
