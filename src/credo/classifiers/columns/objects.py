"""Columns of Python objects: numbers if all of them are, else words."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, final

import numpy as np

from credo.classifiers.columns.dictionary import encode, is_missing
from credo.classifiers.columns.identity import encode_shared, shares_objects
from credo.classifiers.columns.kinds import AbstractCells, Numbers, Words
from credo.exceptions import InputError

_BOOLS = (bool, np.bool_)
_WHOLE = (*_BOOLS, int, np.integer)
_FLOATS = (float, np.floating, Decimal, Fraction)


@final
@dataclass(frozen=True, slots=True, eq=False)
class ObjectCells(AbstractCells):
    """A 1-D array of objects."""

    cells: Any
    where: str

    def read(self) -> Numbers | Words:
        """Give numbers if all that is there are numbers or truth values."""
        first = next((cell for cell in self.cells if not is_missing(cell)), None)
        if not isinstance(first, (str, bytes)):
            numbers = self._numbers()
            if numbers is not None:
                return numbers
        return self.words()

    def words(self) -> Words:
        """Encode by value."""
        if shares_objects(self.cells):
            with suppress(InputError):  # said again below, with the row
                return encode_shared(self.cells, self.where)
        return encode(self.cells, self.where)

    def _numbers(self) -> Numbers | None:
        """Give the numbers, or None if something else is among them."""
        types = sorted(set(map(type, self.cells)), key=lambda kind: kind.__name__)
        gaps = [kind for kind in types if kind.__name__ in {"NoneType", "NAType", "NaTType"}]
        kinds = [kind for kind in types if kind not in gaps]
        if not all(issubclass(kind, (*_WHOLE, *_FLOATS)) for kind in kinds):
            return None
        try:
            if kinds and not gaps and all(issubclass(kind, _WHOLE) for kind in kinds):
                return _whole(self.cells, is_bool=_all_of(kinds, _BOOLS))
            return Numbers(_floats(self.cells, gaps), self._is_bool(kinds))
        except OverflowError as error:
            raise InputError(
                f"{self.where} holds a whole number that no float can hold. Scale the column, or "
                "turn it into text if its values are categories."
            ) from error

    def _is_bool(self, kinds: Iterable[type]) -> bool:
        """Tell whether all that is not missing are truth values."""
        others = [kind for kind in kinds if not issubclass(kind, _BOOLS)]
        if others == list(kinds) or not _all_of(others, _FLOATS):
            return False
        return all(isinstance(cell, _BOOLS) or is_missing(cell) for cell in self.cells)


def _all_of(kinds: Iterable[type], families: tuple[type, ...]) -> bool:
    """Tell whether each type belongs to one of the families."""
    return all(issubclass(kind, families) for kind in kinds)


def _whole(cells: Any, *, is_bool: bool) -> Numbers:
    """Give whole numbers as integers, or as floats if no integer type holds them."""
    values = np.array(cells.tolist())
    return Numbers(values if values.dtype.kind in "biu" else cells.astype(np.float64), is_bool)


def _floats(cells: Any, gaps: list[type]) -> Any:
    """Give numbers as floats, NaN for cells of the types in ``gaps``."""
    if any(kind is not type(None) for kind in gaps):
        missing = np.fromiter((type(cell) in gaps for cell in cells), bool, len(cells))
        cells = np.where(missing, np.nan, cells)
    return cells.astype(np.float64)
