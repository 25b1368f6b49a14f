"""Log potentials of pixels from what was observed and how it came about."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo._types import F64, Labels
from credo._validation.arrays import as_finite, as_floats, frozen
from credo._validation.labels import as_labels, distinct, listing, names_in, plain
from credo._validation.probabilities import check_rows
from credo.exceptions import InputError, ShapeError
from credo.graphs.grids.axes import Shape
from credo.graphs.grids.label_maps import as_picture, positions_in
from credo.graphs.grids.nodes import (
    Floats,
    LogPlanes,
    OddsPlane,
    as_plane,
    as_planes,
    check_picture,
    first_pixel,
    floats_as_given,
)


def from_flips(
    image: Any, flip_probability: Any, labels: Any, owner: str
) -> tuple[OddsPlane, Labels]:
    """Give half the log odds of two labels of which each pixel shows the wrong one by chance."""
    seen = as_picture(image, owner)
    check_picture(seen.shape, owner, "image")
    names = _two_values(seen, owner) if labels is None else as_labels(labels, owner)
    if len(names) != 2:
        raise InputError(f"{owner} needs two labels. Got {len(names)}: {listing(names)}.")
    second = positions_in(seen, names, owner)
    flip = per_pixel(flip_probability, seen.shape, owner, "flip probability")
    _check_within(flip, (flip >= 0) & (flip <= 1), "be between 0 and 1", owner, "flip probability")
    with np.errstate(divide="ignore", over="ignore"):
        beta = np.log((1 - flip) / flip) / 2
    return as_plane(frozen(np.where(second, beta, -beta)), owner), names


def _two_values(seen: Any, owner: str) -> Labels:
    """Find the two values of an image, in order; a third one is found when they are looked up."""
    numbers = seen.dtype.kind in "biuf"
    found = dict.fromkeys((seen.min(), seen.max())) if numbers else distinct(seen.ravel(), owner)
    if len(found) != 2:
        raise InputError(
            f"{owner} needs an image of two values. Got {len(found)}: "
            f"{listing([plain(value) for value in found])}. Pass "
            "the two labels, such as labels=(0, 1)."
        )
    return as_labels(found, owner, "values")


def from_gaussian(
    image: Any, levels: Any, sigma: Any, labels: Any, owner: str
) -> tuple[LogPlanes, Labels]:
    """Give the log density of each pixel around each level, up to a constant."""
    seen = floats_as_given(image, owner, "image")
    check_picture(seen.shape, owner, "image")
    _check_within(seen, ~np.isinf(seen), "be finite, or NaN if unobserved", owner, "image")
    means = as_finite(levels, owner, "levels")
    if means.ndim != 1 or not means.size:
        raise ShapeError(f"The levels of {owner} must be a list of numbers. Got {means.shape}.")
    spread = per_pixel(sigma, seen.shape, owner, "sigma")
    good = (spread > 0) & (spread < np.inf)
    _check_within(spread, good, "be above 0 and finite", owner, "sigma")
    names = as_labels(names_in(levels) if labels is None else labels, owner)
    return as_planes(_log_densities(seen, means, spread), owner), names


def _log_densities(seen: Floats, means: F64, spread: Floats) -> Floats:
    """Fill in -(y - level)²/2σ², in the precision of the image; zero where it is NaN."""
    logs = np.subtract(seen[..., np.newaxis], means, dtype=seen.dtype)
    with np.errstate(over="ignore"):
        logs /= spread[..., np.newaxis].astype(seen.dtype)
        np.square(logs, out=logs)
    logs *= -0.5
    logs[np.isnan(seen)] = 0
    return frozen(logs)


def from_confusion(
    image: Any, confusion: Any, labels: Any, observed: Any, owner: str
) -> tuple[LogPlanes, Labels]:
    """Give the log probability of what each pixel shows under each label."""
    seen = as_picture(image, owner)
    check_picture(seen.shape, owner, "image")
    names = as_labels(labels, owner)
    symbols = names if observed is None else as_labels(observed, owner, "observed symbols")
    table = as_floats(confusion, owner, "confusion")
    if table.shape != (len(names), len(symbols)):
        raise ShapeError(
            f"The confusion of {owner} must have shape {(len(names), len(symbols))}: a row per "
            f"label, a column per value that is observed. Got shape {table.shape}."
        )
    check_rows(table, f"The confusion of {owner}", "A row is p(observed | label).")
    with np.errstate(divide="ignore"):
        logs = np.log(table).T
    return as_planes(frozen(logs[positions_in(seen, symbols, owner)]), owner), names


def per_pixel(values: Any, shape: Shape, owner: str, what: str) -> Floats:
    """Check one number, or one per pixel."""
    array = floats_as_given(values, owner, what)
    if array.ndim and array.shape != shape:
        raise ShapeError(
            f"The {what} of {owner} must be one number or a map of shape {shape}. Got shape "
            f"{array.shape}."
        )
    return array


def _check_within(values: Floats, good: Any, must: str, owner: str, what: str) -> None:
    """Refuse numbers of which one is not good; name the first pixel that has one."""
    if good.all():
        return
    pixel = first_pixel(~good)
    where = f" at pixel {pixel}" if pixel else ""
    raise InputError(f"The {what} of {owner} must {must}. Got {values[pixel]:g}{where}.")
