"""Planes of grey levels with Gaussian noise and impulses."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo._validation.arrays import as_number, frozen, positive_int
from credo._validation.labels import one_of
from credo.exceptions import InputError
from credo.graphs import GridField, TruncatedLinear
from credo.images._grey_picture import LEAST_IMPULSE
from credo.images.deciding import decide_map
from credo.images.grey import (
    DEFAULT_LEVELS,
    MOST_LEVELS,
    estimate_grey,
    grey_levels,
    grey_potentials,
)
from credo.images.request import WHO, Request
from credo.images.restoration import Channel, Learnt, values_of
from credo.inference.grids.engine import messages_on, refuse_memory, settings_for


def restore_grey(plane: Any, request: Request) -> Channel:
    """Restore a plane of grey levels: their posterior mean, or the best of them."""
    if request.method == "graph-cut":
        raise InputError(
            f"{WHO}: graph cuts are for images of two values, and this one is grey. Use "
            "method='max-product' or 'sum-product'."
        )
    count = _count(request.levels)
    each = 4 * count * (request.neighbours + 4)  # messages, twice potentials, beliefs, their mean
    refuse_memory(plane.size, each, count, request.budget, WHO)
    levels = grey_levels(plane, count)
    impulse = _given(request.flip_probability, "flip_probability", above=None)
    found = estimate_grey(
        plane,
        levels,
        lambda logs, slope, limit, sweeps: _beliefs(logs, slope, limit, sweeps, request.neighbours),
        sigma=_given(request.sigma, "sigma"),
        impulse=None if impulse is None else min(max(impulse, LEAST_IMPULSE), 1 - LEAST_IMPULSE),
        slope=_given(request.coupling, "coupling"),
        neighbours=request.neighbours,
    )
    share = found.impulse if impulse is None else impulse
    field = GridField(
        grey_potentials(plane, levels, found.sigma, share),
        TruncatedLinear(found.slope, found.limit),
        labels=levels.tolist(),
        neighbours=request.neighbours,
    )
    learnt = Learnt(share, found.slope, found.sigma, found.status)
    nearest = np.clip(
        np.rint((plane.astype(np.float64) - levels[0]) / (levels[1] - levels[0])),
        0,
        len(levels) - 1,
    )
    seen = frozen(levels[nearest.astype(np.intp)])
    return _channel(seen, field, levels, learnt, request)


def _channel(seen: Any, field: GridField, levels: Any, learnt: Learnt, request: Request) -> Channel:
    """Pass messages and decide on values."""
    posterior, settings, run = request.pass_messages(field)
    choice = decide_map(posterior, request.loss, WHO)
    mean = levels if request.method == "sum-product" and request.loss is None else None
    return Channel(
        seen,
        choice.labels,
        choice.labels if mean is None else values_of(posterior, mean, None),
        posterior,
        choice.rejected,
        field,
        settings,
        run.sweeps,
        run.status,
        learnt,
        mean,
        request.loss,
    )


def _beliefs(logs: Any, slope: float, limit: float, sweeps: int, neighbours: int) -> Any:
    """Give the probabilities of levels after some sweeps."""
    smooth = TruncatedLinear(slope, limit)
    field = GridField(logs, smooth, neighbours=neighbours)
    messages = messages_on(field, settings_for(field, "sum-product", 1.0, who=WHO))
    messages.advance(sweeps)
    return messages.posterior().probabilities


def _count(levels: Any) -> int:
    """Check the number of levels."""
    count = DEFAULT_LEVELS if levels is None else positive_int(levels, WHO, "levels", least=2)
    if count > MOST_LEVELS:
        raise InputError(f"The levels of {WHO} are {MOST_LEVELS} at most. Got {count}.")
    return count


def _given(value: Any, what: str, above: float | None = 0.0) -> float | None:
    """Check a number, which must be above another; None if it is to be learnt."""
    if isinstance(value, str):
        one_of(value, ("estimate",), WHO, what)
        return None
    if np.ndim(value):
        raise InputError(
            f"{WHO}: the {what} of a grey image must be one number, or 'estimate'. Got an array of "
            f"shape {np.shape(value)}. Make a GridField of it for infer_grid."
        )
    number = as_number(value, WHO, what)
    if above is not None and number <= above:
        raise InputError(
            f"The {what} of {WHO} must be above {above:g} for a grey image. Got {number:g}."
        )
    return number
