"""Labels: as class codes, fast for integers; missing ones; those of two summaries joined."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from credo import _checks as check
from credo._types import F64, Bool, Int
from credo.classifiers._base import own_errors
from credo.exceptions import InputError

#: Integers in a range of at most this many, or four per row, are counted instead of sorted.
_RANGE = 2**16
#: Kinds of labels that can be sorted together, by the letters of their dtypes.
_KINDS = {**dict.fromkeys("UO", "text"), **dict.fromkeys("iufb", "number")}
#: Larger integers do not fit where they are counted.
_MOST = 2**62


def encode_labels(y: Any) -> tuple[Any, Int]:
    """Return the sorted classes, and the code of each row."""
    if y.dtype.kind in "iu" and y.size:
        low, high = int(y.min()), int(y.max())
        if high - low < max(_RANGE, 4 * len(y)) and max(-low, high) < _MOST:
            offsets = np.subtract(y, low, dtype=np.intp, casting="unsafe")
            present = np.bincount(offsets) > 0
            classes = np.arange(low, high + 1)[present].astype(y.dtype)
            return classes, (np.cumsum(present) - 1)[offsets]
    try:
        if y.dtype.kind != "b":
            with own_errors("The labels y", "Pass the name of a class for each row."):
                check_classification_targets(y)
        return np.unique(y, return_inverse=True)
    except TypeError as error:
        raise InputError(
            "The labels y must be of one kind, such as text or whole numbers, so that they can be "
            f"sorted. {error}."
        ) from error


def read_target(y: Any, n: int, owner: str) -> Any:
    """Return labels, or the target of a regression, of so many rows as a vector."""
    if np.ma.is_masked(y):
        row = int(np.argmax(np.ma.getmaskarray(y)))
        raise InputError(f"{owner}: y is masked in row {row}. Leave out rows without a label.")
    with own_errors(owner, "Pass y as one column: a label or a target for each row."):
        target = column_or_1d(y, warn=True)
    if len(target) != n:
        raise InputError(
            f"{owner}: X has {n} rows and y has {len(target)} labels or targets, inconsistent "
            "numbers of samples. Pass one per row."
        )
    return target


def read_targets(y: Any, n: int, owner: str) -> Any:
    """Return the target of a regression of so many rows; a matrix if there are several."""
    with own_errors(owner, "Pass y as one column, or one for each target."):
        table: Any = np.empty(0) if np.ma.is_masked(y) else np.asarray(y)
    if table.ndim != 2 or table.shape[1] < 2:
        return read_target(y, n, owner)
    read_target(table[:, 0], n, owner)
    return table


def read_labels(
    y: Any, sample_weight: Any, n: int, owner: str
) -> tuple[Any, Int, F64 | None, Bool | None]:
    """Return classes, codes and weights of the rows that have a weight; and which, unless all."""
    labels = read_target(y, n, owner)
    weights = kept = None
    if sample_weight is not None:
        weights = check.weights(sample_weight, n, f"sample weights of {owner}")
        if not weights.all():
            kept = weights > 0
            labels, weights = labels[kept], weights[kept]
    refuse_missing(labels, owner)
    classes, codes = encode_labels(labels)
    return classes, codes, weights, kept


def refuse_missing(y: Any, owner: str) -> None:
    """Refuse labels, or targets, that are missing or infinite."""
    if y.dtype.kind == "O":
        known = [label is not None and check.equals_itself(label) for label in y.tolist()]
        missing = ~np.array(known, dtype=bool)
    else:
        missing = ~np.isfinite(y) if y.dtype.kind == "f" else np.zeros(0, dtype=bool)
    if missing.any():
        row = int(np.argwhere(missing)[0, 0])
        raise InputError(
            f"{owner}: Input y contains NaN or infinity, in row {row}. Leave out "
            "rows whose y is not known."
        )


def union_of(first: Any, second: Any, owner: str) -> tuple[Any, Int, Int]:
    """Return the sorted union of two sets of classes, and where each of them went."""
    mixed = {first.dtype.kind, second.dtype.kind} == {"i", "u"}
    if mixed:  # NumPy would join them as floats
        first, second = first.astype(object), second.astype(object)
    elif len({_KINDS.get(k := each.dtype.kind, k) for each in (first, second) if each.size}) > 1:
        raise InputError(
            f"{owner}: the labels are of two kinds: {first[:3].tolist()} and "
            f"{second[:3].tolist()}. Use the same kind."
        )
    both = np.union1d(first, second)
    places = np.searchsorted(both, first), np.searchsorted(both, second)
    return check.names_array(both.tolist()) if mixed else both, *places


def join_weights(first: F64, second: F64, here: Int, there: Int) -> F64:
    """Add up the weights of two sets of classes, which went where ``union_of`` says."""
    places, weights = np.concatenate([here, there]), np.concatenate([first, second])
    return np.bincount(places, weights).astype(np.float64)
