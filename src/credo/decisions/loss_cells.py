"""Loss matrices from pairs of names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from credo._types import F64, Label, Labels
from credo._validation.arrays import as_finite
from credo._validation.labels import as_labels, check_frame, listing, plain
from credo.exceptions import InputError, ShapeError

#: The largest matrix that is made for the user; it is copied once or twice on the way.
_MOST_BYTES = 2**30
#: The largest loss. A sum of a hundred million of them is still below the largest float64.
_MOST = 1e300


def cells_of(
    losses: Mapping[tuple[Any, Any], float], owner: str, what: str
) -> tuple[F64, Labels, Labels]:
    """Turn ``{(truth, act): number}`` into a full matrix with names in order of appearance."""
    if not isinstance(losses, Mapping):
        raise InputError(
            f"{owner} needs {{(truth, act): {what}}}. Got {type(losses).__name__}. For a matrix, "
            "use credo.Loss(matrix, truths, acts)."
        )
    pairs: dict[tuple[Label, Label], float] = {}
    for key, value in losses.items():
        if not isinstance(key, tuple) or len(key) != 2:
            raise InputError(f"{owner}: each key must be a pair (truth, act). Got {key!r}.")
        pairs[plain(key[0]), plain(key[1])] = value
    truths = as_labels(dict.fromkeys(truth for truth, _ in pairs), owner, "truths")
    acts = as_labels(dict.fromkeys(act for _, act in pairs), owner, "acts")
    missing = [(truth, act) for truth in truths for act in acts if (truth, act) not in pairs]
    if missing:
        turned = [cell for cell in missing if cell[::-1] in pairs]
        truth, act = (turned or missing)[0]
        raise InputError(
            f"{owner}: no {what} for truth {truth!r} and act {act!r}."
            f"{' The pair is there the other way round.' if turned else ''} Truths: "
            f"{listing(truths)}. Acts: {listing(acts)}."
        )
    cells = [[pairs[truth, act] for act in acts] for truth in truths]
    return as_finite(cells, owner, f"{what} matrix"), truths, acts


def checked_cells(matrix: Any, truths: Labels, acts: Labels) -> F64:
    """Copy a matrix of losses, or one per row, after checking it against its names."""
    check_frame(matrix, acts, "Loss")
    check_frame(matrix, truths, "Loss", axis="index")
    cells: F64 = np.array(as_finite(matrix, "Loss", "matrix"))
    expected = (len(truths), len(acts))
    if cells.ndim not in (2, 3) or cells.shape[-2:] != expected:
        turned = cells.ndim >= 2 and cells.shape[-2:] == expected[::-1]
        raise ShapeError(
            f"Loss needs one row per truth and one column per act, shape {expected}"
            f" or (n, {len(truths)}, {len(acts)}). Got shape {cells.shape}."
            f"{' It looks transposed: pass matrix.T.' if turned else ''}"
        )
    if np.abs(cells).max(initial=0.0) > _MOST:
        raise InputError(
            f"A loss must be at most {_MOST:g} in size, so that sums of losses stay finite. Got "
            f"{cells.flat[np.abs(cells).argmax()]:g}."
        )
    return cells


def off_diagonal(n_labels: int, owner: str) -> F64:
    """Give ones everywhere but on the diagonal, unless the matrix would fill the memory."""
    size = 8 * n_labels**2
    if size > _MOST_BYTES:
        raise InputError(
            f"{owner}: a matrix of {n_labels} labels by {n_labels} acts would take "
            f"{size / 2**30:.3g} GB. For the most probable label and its probability use "
            "Posterior.mode() and Posterior.confidence(), which need no matrix."
        )
    return 1.0 - np.eye(n_labels)
