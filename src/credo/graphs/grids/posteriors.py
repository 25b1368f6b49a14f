"""Log potentials of pixels from the posterior that a classifier gave for each."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from credo._types import Labels
from credo._validation.arrays import as_floats, frozen, positive_int
from credo._validation.probabilities import as_priors
from credo.exceptions import InputError, ShapeError
from credo.graphs.grids.axes import Shape
from credo.graphs.grids.nodes import Floats, LogPlanes, as_planes, check_picture
from credo.posterior import Posterior, PosteriorMap


def from_posterior(posterior: Any, shape: Any, priors: Any, owner: str) -> tuple[LogPlanes, Labels]:
    """Give the log probabilities of each pixel, divided by priors if there are some."""
    logs, labels = _log_probabilities(posterior, shape, owner)
    if priors is not None:
        logs = _without(logs, as_priors(priors, labels, owner), labels, owner)
    return as_planes(frozen(logs), owner), labels


def _log_probabilities(posterior: Any, shape: Any, owner: str) -> tuple[Floats, Labels]:
    """Give logs of shape (…, K) and the labels."""
    size = None if shape is None else _as_shape(shape, owner)
    if isinstance(posterior, PosteriorMap) or (
        size is None and not isinstance(posterior, Posterior)
    ):
        return _of_map(_as_pixels(posterior, owner), size, owner)
    rows = posterior if isinstance(posterior, Posterior) else _as_rows(posterior, owner)
    if size is None:
        raise InputError(
            f"{owner} needs the shape of the picture whose pixels are the {rows.n_rows} rows of "
            "the Posterior. Pass shape=(height, width)."
        )
    if math.prod(size) != rows.n_rows:
        raise ShapeError(
            f"{owner} got {rows.n_rows} rows for a picture of shape {size}, which has "
            f"{math.prod(size)} pixels."
        )
    return rows.log_probabilities.reshape(*size, -1), rows.labels


def _of_map(pixels: PosteriorMap, size: Shape | None, owner: str) -> tuple[Floats, Labels]:
    """Give the logs of a map, whose shape may be given again."""
    if size not in (None, pixels.shape):
        raise ShapeError(f"{owner} got the shape {size} for a map of shape {pixels.shape}.")
    with np.errstate(divide="ignore"):
        return np.log(pixels.probabilities), pixels.labels


def _as_rows(p: Any, owner: str) -> Posterior:
    """Turn an array with a row per pixel into a posterior."""
    array = as_floats(p, owner, "probabilities")
    if array.ndim != 2:
        raise ShapeError(
            f"{owner} with a shape needs probabilities of shape (n_pixels, n_labels). Got shape "
            f"{array.shape}."
        )
    return Posterior.from_probabilities(array, range(array.shape[1]))


def _as_pixels(p: Any, owner: str) -> PosteriorMap:
    """Turn an array of shape (…, K) into a map; a map is one already."""
    if isinstance(p, PosteriorMap):
        return p
    n_dimensions = np.ndim(p)
    if n_dimensions not in (3, 4):
        raise ShapeError(
            f"{owner} needs a PosteriorMap, a Posterior with a shape, or probabilities of shape "
            f"(height, width, n_labels) or (depth, height, width, n_labels). Got {n_dimensions} "
            "dimensions."
        )
    return PosteriorMap(p, range(np.shape(p)[-1]))


def _as_shape(shape: Any, owner: str) -> Shape:
    """Check the shape of a picture."""
    if not isinstance(shape, Iterable):
        raise InputError(f"The shape of {owner} must be (height, width). Got {shape!r}.")
    size = tuple(positive_int(length, owner, "shape") for length in shape)
    check_picture(size, owner, "picture")
    return size


def _without(logs: Floats, priors: Any, labels: Labels, owner: str) -> Floats:
    """Subtract log priors; a label whose prior is zero must have no probability anywhere."""
    for k in np.flatnonzero(priors == 0):
        if not np.isneginf(logs[..., k]).all():
            raise InputError(
                f"{owner}: the prior of {labels[k]!r} is 0, yet the posterior gives it some "
                "probability. Pass the priors that the posterior was made with."
            )
    shift = np.log(priors, out=np.zeros_like(priors), where=priors > 0)
    return logs - shift.astype(logs.dtype)
