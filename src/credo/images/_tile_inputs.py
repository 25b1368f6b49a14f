"""Pictures that are read and written in pieces: what they must be like, and what is in them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from credo._types import Bool, Labels
from credo._validation.arrays import in_unit_interval
from credo._validation.labels import as_labels, listing, one_of, plain
from credo.exceptions import InputError, LabelError, ShapeError
from credo.images._tile_regions import Shape, Tile, Window
from credo.images.coding import read_image
from credo.images.tiff import let_go


class Survey(NamedTuple):
    """What a first look at all tiles has found."""

    labels: Labels
    flips: tuple[float, float] | None  #: the least and the largest flip probability of a map


def as_picture(values: Any, who: str, what: str) -> Any:
    """Check for something with a shape and a type that can be sliced; lists become arrays."""
    if not all(hasattr(values, name) for name in ("shape", "dtype", "__getitem__")):
        values = np.asarray(values)
    shape, dtype = tuple(values.shape), np.dtype(values.dtype)
    if len(shape) != 2 or not all(shape):
        raise ShapeError(
            f"The {what} of {who} must have the shape (height, width), both at least 1. Got shape "
            f"{shape}."
        )
    if dtype.kind not in "biuf":
        raise InputError(
            f"The {what} of {who} must be of truth values, whole numbers or floats. Got {dtype}."
        )
    return values


def as_flips(flips: Any, shape: Shape, who: str) -> Any:
    """Check a flip probability: a number, ``"estimate"``, or a map that can be sliced."""
    what = "flip_probability"
    if isinstance(flips, str):
        return one_of(flips, ("estimate",), who, what)
    if not np.ndim(flips) and not hasattr(flips, "__getitem__"):
        return in_unit_interval(flips, who, what)
    plane = as_picture(flips, who, what)
    if tuple(plane.shape) != shape:
        raise ShapeError(
            f"The {what} of {who} must be one number or a map of shape {shape}. Got shape "
            f"{tuple(plane.shape)}."
        )
    return plane


def check_output(output: Any, shape: Shape, who: str, what: str) -> None:
    """Check that something can be written to and has the shape."""
    flags = getattr(output, "flags", None)
    is_locked = flags is not None and not flags.writeable
    if not all(hasattr(output, name) for name in ("__setitem__", "shape", "dtype")) or is_locked:
        raise InputError(
            f"The {what} of {who} must be an array that can be written to. Got "
            f"{type(output).__name__}{', which is read-only' if is_locked else ''}."
        )
    if tuple(output.shape) != shape:
        raise ShapeError(
            f"The {what} of {who} must have the shape {shape} of the source. Got shape "
            f"{tuple(output.shape)}."
        )


def check_holds(output: Any, values: Sequence[Any], who: str, what: str) -> None:
    """Check that the type of an output has some values."""
    dtype = np.dtype(output.dtype)
    with np.errstate(all="ignore"):
        held = [plain(np.asarray(value).astype(dtype)[()]) for value in values]
    if dtype.kind not in "biuf" or held != list(values):
        raise InputError(
            f"The {what} of {who} must hold {listing(values)}. Got an array of {dtype}, which "
            "does not."
        )


def check_apart(outputs: Iterable[Any], others: Iterable[Any], who: str) -> None:
    """Refuse to write over what has still to be read: a tile reads its neighbours' pixels."""
    before = list(others)
    for output in outputs:
        for other in before:
            if output is other or _share(output, other):
                raise InputError(
                    f"{who} cannot write to an array that it reads or writes otherwise: tiles need "
                    "the original pixels of their neighbours. Pass another array or file."
                )
        before.append(output)


def _share(one: Any, other: Any) -> bool:
    """Tell whether two arrays are in the same place, in memory or in a file."""
    in_memory = isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
    if in_memory and np.may_share_memory(one, other):
        return True
    files = [getattr(array, "filename", None) for array in (one, other)]
    paths = [os.path.realpath(name) for name in files if name is not None]
    return len(paths) == 2 and paths[0] == paths[1]


def read_window(source: Any, window: Window, who: str) -> npt.NDArray[Any]:
    """Read a part of a picture."""
    part = source[window]
    if np.ma.is_masked(part):
        raise InputError(f"The source of {who} has masked pixels. Fill them, with .filled(...).")
    array = np.asarray(part)
    wanted = tuple(side.stop - side.start for side in window)
    if array.shape != wanted:
        raise ShapeError(
            f"{who} asked its source for {wanted} pixels and got an array of shape {array.shape}."
        )
    return array


def survey(seen: Any, flips: Any, tiles: Iterable[Tile], labels: Any, who: str) -> Survey:
    """Look at all tiles before anything is written: two values, and probabilities, nothing else."""
    known: list[Any] = [] if labels is None else list(as_two(labels, who))
    ends: list[tuple[float, float]] = []
    for tile in tiles:
        part = read_window(seen, tile.core, who)
        if len(known) < 2:
            _learn(part, known)
        second_in(part, known, who, tile.core)
        if flips is not None:
            ends.append(_ends(read_window(flips, tile.core, who), tile.core, who))
        if tile.ends_row:
            let_go(seen)
            let_go(flips)
    span = (min(low for low, _ in ends), max(high for _, high in ends)) if ends else None
    return Survey(tuple(known) if labels is not None else two_of(known, seen.dtype, who), span)


def two_of(values: Sequence[Any], dtype: Any, who: str) -> Labels:
    """Put the two values of an image in order; guess the other one if there is only one."""
    seen = read_image(np.array([values], dtype=dtype), who, "binary")
    return seen.labels or ()


def as_two(labels: Any, who: str) -> Labels:
    """Check two labels that are numbers."""
    names = as_labels(labels, who)
    if len(names) != 2 or not all(isinstance(name, (bool, int, float)) for name in names):
        raise InputError(f"{who} needs two numbers as labels. Got {listing(names)}.")
    return names


def _learn(part: npt.NDArray[Any], known: list[Any]) -> None:
    """Add the least and the largest value to those known, as long as there are not two."""
    for value in (plain(part.min()), plain(part.max())):
        if len(known) < 2 and value == value and value not in known:  # noqa: PLR0124 - not NaN
            known.append(value)


def second_in(
    part: npt.NDArray[Any], labels: Sequence[Any], who: str, window: Window | None = None
) -> Bool:
    """Tell where a part of a picture shows the second label; refuse any third value."""
    is_second: Bool = part == labels[-1] if labels else np.zeros(part.shape, np.bool_)
    good = is_second | (part == labels[0]) if labels else is_second
    if good.all():
        return is_second
    row, column = (int(i) for i in np.unravel_index(int(np.argmin(good)), good.shape))
    value = plain(part[row, column])
    where = f"at ({row}, {column}) of a block"
    if window is not None:
        where = f"at pixel ({row + window[0].start}, {column + window[1].start})"
    known = f"{listing(labels)} and " if labels else ""
    raise LabelError(
        f"{who} needs an image of two values. Got {known}{value!r} {where}. Threshold the image "
        "first, or pass the two values as labels if they are not these."
    )


def _ends(part: npt.NDArray[Any], window: Window, who: str) -> tuple[float, float]:
    """Give the least and the largest flip probability of a part of a map."""
    low, high = float(part.min()), float(part.max())
    if low >= 0.0 and high <= 1.0:
        return low, high
    row, column = (int(i[0]) for i in np.nonzero(~((part >= 0) & (part <= 1))))
    raise InputError(
        f"The flip_probability of {who} must be between 0 and 1. Got {part[row, column]:g} at "
        f"pixel ({row + window[0].start}, {column + window[1].start})."
    )
