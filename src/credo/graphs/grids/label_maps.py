"""Maps of labels: from a picture of labels to one of their positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo._types import Labels
from credo._validation.labels import hint, listing, names_in, plain
from credo.exceptions import InputError, LabelError, ShapeError
from credo.graphs.grids.axes import Shape

#: Labels that are whole numbers this near to each other are looked up in a table.
_MOST_SPAN = 2**16


def as_picture(values: Any, owner: str) -> Any:
    """Turn values into an array of labels; in lists of several types each keeps its own."""
    if np.ma.is_masked(values):
        raise InputError(f"{owner} needs a label at every pixel. Some are masked.")
    try:
        array = np.asarray(values)
        if array.dtype.kind == "U" and isinstance(values, (list, tuple)):
            mixed = np.asarray(values, dtype=object)
            return array if all(isinstance(each, str) for each in mixed.flat) else mixed
    except ValueError as error:
        raise InputError(f"{owner} needs labels in a rectangular array. {error}.") from error
    return array


def as_map(values: Any, shape: Shape, owner: str) -> Any:
    """Turn a map into an array of the field's shape."""
    array = as_picture(values, owner)
    if array.shape != shape:
        raise ShapeError(f"{owner} needs a map of shape {shape}. Got shape {array.shape}.")
    return array


def positions_in(values: Any, labels: Labels, owner: str) -> Any:
    """Give the position of the label at each pixel, in the least unsigned integers that hold it."""
    dtype = np.min_scalar_type(len(labels))  # one more than the last position: the unknown
    known = names_in(labels)
    numbers = known.dtype.kind in "biuf" and values.dtype.kind in "biuf"
    if numbers and len(labels) == 2:
        found = _of_two(values, labels, dtype)
    elif _are_near(values, known):
        found = _by_table(values, known, dtype)
    elif numbers or known.dtype.kind == values.dtype.kind == "U":
        found = _by_order(values, known, dtype)
    else:
        found = _one_by_one(values, labels, dtype)
    if found.max(initial=0) == len(labels):
        pixel = tuple(int(i) for i in np.argwhere(found == len(labels))[0])
        wanted = plain(values[pixel])
        raise LabelError(
            f"{owner} has no label {wanted!r} (pixel {pixel}). Known: {listing(labels)}."
            f"{hint(wanted, labels)}"
        )
    return found


def _of_two(values: Any, labels: Labels, dtype: Any) -> Any:
    """Compare numbers with both labels."""
    is_first, is_second = values == labels[0], values == labels[1]
    found = is_second.astype(dtype)
    if not (is_first | is_second).all():
        found[~(is_first | is_second)] = 2
    return found


def _are_near(values: Any, known: Any) -> bool:
    """Tell whether labels and map are whole numbers and the labels span little."""
    whole = values.dtype.kind in "biu" and known.dtype.kind in "biu"
    return whole and int(known.max()) - int(known.min()) < _MOST_SPAN


def _by_table(values: Any, known: Any, dtype: Any) -> Any:
    """Look whole numbers up; those outside of the table are unknown."""
    low, high = int(known.min()), int(known.max())
    table = np.full(high - low + 2, len(known), dtype)
    table[known.astype(np.int64) - low] = np.arange(len(known), dtype=dtype)
    inside = (values >= low) & (values <= high)
    return table[np.where(inside, values.astype(np.int64) - low, high - low + 1)]


def _by_order(values: Any, known: Any, dtype: Any) -> Any:
    """Search the sorted labels."""
    order = np.argsort(known)
    places = order[np.searchsorted(known, values, sorter=order).clip(max=len(known) - 1)]
    return np.where(known[places] == values, places, len(known)).astype(dtype)


def _one_by_one(values: Any, labels: Labels, dtype: Any) -> Any:
    """Look up labels of any kind."""
    lookup = {name: i for i, name in enumerate(labels)}
    codes = (lookup.get(plain(value), len(labels)) for value in values.ravel())
    return np.fromiter(codes, dtype=dtype, count=values.size).reshape(values.shape)
