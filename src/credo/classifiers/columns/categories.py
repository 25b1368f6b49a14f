"""The categories a column is known to have, and their codes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self, final

import numpy as np

from credo._types import Int
from credo.classifiers.columns.kinds import Words
from credo.exceptions import InputError


@final
@dataclass(frozen=True, slots=True, eq=False)
class Categories:
    """Hold the dictionary of one column, from value to code.

    Attributes
    ----------
    values : tuple
        The categories; the code of each is its position.

    Notes
    -----
    Immutable. Values are equal if Python says so: 1, 1.0 and True are one category, "1" another.
    Rows are translated through a table of the categories that occur, never one by one.

    Examples
    --------
    >>> from credo.classifiers.columns.table import read_table
    >>> known = Categories.of(["red", "blue"])
    >>> known.codes(read_table([["blue"], [None], ["green"]], "Example").words(0))
    array([ 1, -1,  2])
    """

    values: tuple[Any, ...]
    _codes: dict[Any, int] = field(repr=False)

    @classmethod
    def of(cls, values: Iterable[Any]) -> Self:
        """Give codes to distinct values in the order given.

        Parameters
        ----------
        values : iterable
            Distinct and hashable.

        Returns
        -------
        Categories
            With these values.

        Raises
        ------
        InputError
            If two values are equal.
        """
        kept = tuple(values)
        codes = {value: code for code, value in enumerate(kept)}
        if len(codes) < len(kept):
            twice = next(value for code, value in enumerate(kept) if codes[value] != code)
            raise InputError(f"Categories must be distinct. Got {twice!r} twice: give it once.")
        return cls(kept, codes)

    def codes(self, words: Words) -> Int:
        """Translate the codes of a column into those of this dictionary.

        Parameters
        ----------
        words : Words
            A column.

        Returns
        -------
        ndarray of shape (n,)
            -1 where missing; the number of categories where unknown.
        """
        unknown = len(self.values)
        lookup = [self._codes.get(value, unknown) for value in words.categories]
        return np.array([*lookup, -1], dtype=np.intp)[words.codes]

    def merged(self, other: Categories) -> tuple[Categories, Int]:
        """Append the categories of another dictionary that are not known yet.

        Parameters
        ----------
        other : Categories
            Of the same column in other rows.

        Returns
        -------
        Categories
            The union; the ones of this dictionary keep their codes.
        ndarray of shape (len(other.values),)
            The new code of each category of the other.
        """
        union = self._with(other.values)
        places = [union._codes[value] for value in other.values]  # noqa: SLF001 - of its own kind
        return union, np.array(places, dtype=np.intp)

    def _with(self, values: tuple[Any, ...]) -> Categories:
        """Append those of distinct values that are new."""
        fresh = tuple(value for value in values if value not in self._codes)
        return Categories.of((*self.values, *fresh)) if fresh else self
