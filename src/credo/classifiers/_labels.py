"""From labels to class codes, fast for integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from credo._types import F64, Int
from credo.exceptions import InputError

#: Integers in a range of at most this many, or four per row, are counted instead of sorted.
_RANGE = 2**16
#: Larger integers do not fit where they are counted.
_MOST = 2**62


def encode_labels(y: Any, weights: F64 | None) -> tuple[Any, Int]:
    """Give the sorted classes of rows with positive weight, and the code of each row.

    Rows of weight zero whose class occurs nowhere else get code 0.
    """
    if y.dtype.kind in "iu" and y.size:
        low, high = int(y.min()), int(y.max())
        if high - low < max(_RANGE, 4 * len(y)) and max(-low, high) < _MOST:
            return _counted(y, weights, low, high)
    try:
        if y.dtype.kind != "b":
            check_classification_targets(y)
        return _sorted(y, weights)
    except TypeError as error:
        raise InputError(
            "The labels y must be of one kind, such as text or whole numbers, so that they can be "
            f"sorted. {error}."
        ) from error


def _sorted(y: Any, weights: F64 | None) -> tuple[Any, Int]:
    """Encode labels by sorting them."""
    if weights is None or weights.min(initial=1.0) > 0:
        return np.unique(y, return_inverse=True)
    classes = np.unique(y[weights > 0])
    places = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return classes, np.where(classes[places] == y, places, 0)


def _counted(y: Any, weights: F64 | None, low: int, high: int) -> tuple[Any, Int]:
    """Encode integers by counting them."""
    offsets = np.subtract(y, low, dtype=np.intp, casting="unsafe")
    counts = np.bincount(offsets, weights=None if weights is None else weights > 0)
    present = counts > 0
    lookup = np.maximum(np.cumsum(present) - 1, 0)
    classes = np.arange(low, high + 1)[present].astype(y.dtype)
    return classes, lookup[offsets]


def without_mask(X: Any) -> Any:
    """Give a masked array as plain numbers, NaN where masked; anything else as it is."""
    return np.ma.filled(X.astype(np.float64), np.nan) if np.ma.isMaskedArray(X) else X


def union_of(first: Any, second: Any, owner: str) -> tuple[Any, Int, Int]:
    """Give the sorted union of two sets of classes, and where each of them went."""
    if {first.dtype.kind, second.dtype.kind} == {"i", "u"}:
        first, second = _as_integers(first, second)
    kinds = {_kind(a) for a in (first, second) if a.size}
    if len(kinds) > 1:
        raise InputError(
            f"{owner}: the labels are of two kinds: {first[:3].tolist()} and "
            f"{second[:3].tolist()}. Use the same kind."
        )
    both = np.union1d(first, second)
    return both, np.searchsorted(both, first), np.searchsorted(both, second)


def _kind(labels: Any) -> str:
    """Tell text, numbers and the rest apart."""
    kind = labels.dtype.kind
    return "text" if kind in "UO" else "number" if kind in "iufb" else str(kind)


def _as_integers(first: Any, second: Any) -> tuple[Any, Any]:
    """Bring signed and unsigned integers to one type that holds them; floats would not."""
    high = max(int(a.max(initial=0)) for a in (first, second))
    low = min(int(a.min(initial=0)) for a in (first, second))
    if high < 2**63:
        return first.astype(np.int64), second.astype(np.int64)
    if low >= 0:
        return first.astype(np.uint64), second.astype(np.uint64)
    return first.astype(object), second.astype(object)
