"""From values to codes through a dictionary, each distinct value looked at once."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from credo.classifiers.columns.appearance import order_of_appearance, renumber
from credo.classifiers.columns.kinds import Words
from credo.classifiers.columns.refusals import check_category
from credo.exceptions import InputError

#: Spellings of "missing" that are kept; each NaN may be an object of its own, equal to no other.
_MOST_SPELLINGS = 16
#: Rows looked up at a time.
_BLOCK = 2**16
#: Floats below are whole numbers that an int shows exactly.
_EXACT = 2.0**53
_FLOATING = (float, np.floating, np.datetime64, np.timedelta64, Decimal)


def is_missing(cell: Any) -> bool:
    """Tell None, NaN, NA and NaT from values."""
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(cell, _FLOATING) and bool(cell != cell)  # noqa: PLR0124 - NaN alone does


def plain(value: Any) -> Any:
    """Give a value as Python's own: no NumPy scalars or subclasses; an int if it is whole."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (Decimal, Fraction, np.floating)):
        value = float(value)
    if isinstance(value, str):
        return value if type(value) is str else str.__str__(value)
    if isinstance(value, float):
        whole = abs(value) < _EXACT and value.is_integer()
        return int(value) if whole else float(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    return value


class Dictionary(dict[Any, int]):
    """Places of values in the order of first appearance, from one; zero for anything missing.

    Looking up a new value gives it the next place.
    """

    __slots__ = ("categories", "spellings", "where")

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where
        self.categories: list[Any] = []
        self.spellings = 0

    def __missing__(self, cell: Any) -> int:
        if is_missing(cell):
            if self.spellings < _MOST_SPELLINGS:
                self.spellings += 1
                self[cell] = 0
            return 0
        check_category(cell, self.where)
        value = plain(cell)
        place = self.get(value)
        if place is None:
            self.categories.append(value)
            place = len(self.categories)
            self[value] = place
        self[cell] = place
        return place


def encode(cells: Any, where: str) -> Words:
    """Encode cells of any hashable kind, an array or a list."""
    dictionary = Dictionary(where)
    codes = np.empty(len(cells), dtype=np.int32)
    try:
        for start in range(0, len(cells), _BLOCK):
            part = cells[start : start + _BLOCK]
            codes[start : start + _BLOCK] = _places(dictionary, part)
    except TypeError as error:
        raise InputError(_unhashable(cells, where)) from error
    codes -= 1
    return Words(codes, tuple(dictionary.categories))


def words_of_codes(codes: Any, values: Any, where: str) -> Words:
    """Encode cells that come as codes of values, which may repeat, be missing or not occur."""
    order = order_of_appearance(codes, len(values))
    dictionary = Dictionary(where)
    new = [dictionary[values[i]] - 1 for i in order]
    return Words(renumber(codes, order, len(values), new), tuple(dictionary.categories))


def _places(dictionary: Dictionary, cells: Any) -> Any:
    """Look up each cell; as bytes while they hold all places, which saves a sixth of the time."""
    if len(dictionary.categories) < 255:
        with suppress(ValueError):  # a place of 256, or an error that is met again below
            return np.frombuffer(bytes(map(dictionary.__getitem__, cells)), dtype=np.uint8)
    return np.fromiter(map(dictionary.__getitem__, cells), np.int32, len(cells))


def _unhashable(cells: Any, where: str) -> str:
    """Name the first cell that cannot be a category."""
    row, cell = next((i, cell) for i, cell in enumerate(cells) if not _is_hashable(cell))
    return (
        f"{where}, row {row}, holds a {type(cell).__name__}, which can be neither a "
        "number nor a category. Use numbers, truth values or text."
    )


def _is_hashable(cell: Any) -> bool:
    """Tell whether a dictionary takes it."""
    try:
        hash(cell)
    except TypeError:
        return False
    return True
