"""Planes of two values whose pixels were flipped."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo._validation.arrays import frozen
from credo.exceptions import InputError
from credo.graphs import GridField
from credo.images.coding import CodedImage
from credo.images.deciding import decide_map
from credo.images.request import WHO, Request
from credo.images.restoration import Channel, Learnt
from credo.inference.grids.engine import messages_on, settings_for


def estimated(
    states: Any, flip_probability: Any, coupling: Any, neighbours: int = 4
) -> tuple[Any, Any, str]:
    """Give the flip probability and the coupling, learnt from the image where not given.

    Parameters
    ----------
    states : ndarray of int8
        The noisy image, of -1 and +1.
    flip_probability, coupling
        As given to ``denoise``.
    neighbours
        Which pixels are neighbours.

    Returns
    -------
    flip_probability, coupling
        As given, or numbers in the place of ``"estimate"``.
    status : str
        How learning ended.
    """
    learn_flip, learn_coupling = isinstance(flip_probability, str), isinstance(coupling, str)
    if not (learn_flip or learn_coupling):
        return flip_probability, coupling, "GIVEN"
    from credo.images.estimation import estimate_flips  # noqa: PLC0415 - not for given numbers

    def beliefs(log_odds: Any, strength: Any, sweeps: int, momentum: float) -> Any:
        field = GridField.ising(log_odds / 2, strength, neighbours=neighbours)
        messages = messages_on(field, settings_for(field, "sum-product", momentum, who=WHO))
        messages.advance(sweeps)
        return messages.posterior().of(1)

    found = estimate_flips(
        states,
        beliefs,
        flip_probability=None if learn_flip else flip_probability,
        coupling=None if learn_coupling else coupling,
        neighbours=neighbours,
    )
    return found.flip_probability, found.coupling, found.status


def restore_flips(plane: Any, coded: CodedImage, request: Request) -> Channel:
    """Restore a plane of two values."""
    if request.levels is not None or not isinstance(request.sigma, str):
        raise InputError(
            f"{WHO}: sigma and levels are for grey images, and this one has two values. Leave them "
            "out, or pass noise='gaussian'."
        )
    labels: Any = coded.labels
    flip, coupling, status = request.flip_probability, request.coupling, "GIVEN"
    if isinstance(flip, str) or isinstance(coupling, str):
        states = np.where(plane == labels[1], np.int8(1), np.int8(-1))
        flip, coupling, status = estimated(states, flip, coupling, request.neighbours)
    field = GridField.from_flips(
        plane, flip, coupling, labels=labels, neighbours=request.neighbours
    )
    learnt = Learnt(_own(flip), _own(coupling), None, status)
    seen = frozen(plane.copy())
    if request.method == "graph-cut":
        return _cut(seen, field, learnt)
    posterior, settings, run = request.pass_messages(field)
    choice = decide_map(posterior, request.loss, WHO)
    return Channel(
        seen, choice.labels, choice.labels, posterior, choice.rejected, field, settings,
        run.sweeps, run.status, learnt, loss=request.loss,
    )  # fmt: skip


def _own(given: Any) -> Any:
    """Copy what the caller could still change."""
    if isinstance(given, np.ndarray):
        return frozen(given.copy())
    return tuple(map(_own, given)) if isinstance(given, (list, tuple)) else given


def _cut(seen: Any, field: GridField, learnt: Learnt) -> Channel:
    """Find the best plane of two values."""
    from credo.images.cutting import best_by_cut  # noqa: PLC0415 - only for this method

    best = best_by_cut(field)
    sure = np.zeros(field.shape, dtype=np.bool_)
    return Channel(seen, best, best, None, sure, field, None, 0, "EXACT", learnt)
