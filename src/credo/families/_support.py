"""Supports: which values a family knows, and how a value outside is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from credo._checks import listing
from credo._types import F64, Bool
from credo._validation.probabilities import tolerance
from credo.exceptions import InputError
from credo.families._parameters import MOST


@final
@dataclass(frozen=True, slots=True)
class Support:
    """The values of a family, elementwise or, if ``whole``, vectors on the last axis.

    ``inside`` is False for NaN, which means missing. ``filler`` is a value inside, put where there
    is none, so that formulas stay free of warnings. ``vectors`` says that an event is the last
    axis; ``whole`` that one missing entry hides all of it. ``complete`` says why a summary takes
    no missing values, and what to do; nothing if it takes them.
    """

    inside: Callable[[F64], Bool]
    needs: str
    filler: float
    vectors: bool = False
    whole: bool = False
    complete: str = ""

    def missing(self, values: F64) -> Bool:
        """Tell where values are missing."""
        hidden: Bool = np.isnan(values)
        return np.asarray(hidden.any(axis=-1)) if self.whole else hidden

    def filled(self, values: F64, inside: Bool) -> F64:
        """Put the filler where a value is not inside."""
        return np.where(inside[..., None] if self.whole else inside, values, self.filler)

    def refuse_others(
        self, values: F64, owner: str, row_numbers: Any = None, columns: Any = None
    ) -> None:
        """Refuse values outside; name the first, its row if the first axis holds rows, its column.

        ``columns`` are the names of the columns, the last axis.
        """
        wrong = ~(self.inside(values) | self.missing(values))
        if not wrong.any():
            return
        first = tuple(int(i) for i in np.argwhere(wrong)[0])
        where = _place(first, row_numbers, columns)
        got = values[first].tolist() if values[first].ndim else f"{values[first]:g}"
        raise InputError(f"{owner} needs {self.needs}. Got {got}{where}.")

    def refuse_missing(self, missing: Bool, owner: str, row_numbers: Any) -> None:
        """Refuse missing values if summaries must be complete; name the first row with one."""
        if self.complete:
            where = _place(tuple(int(i) for i in np.argwhere(missing)[0]), row_numbers)
            raise InputError(
                f"{owner} needs rows without missing values. Got NaN{where}. {self.complete}"
            )


def _place(index: tuple[int, ...], row_numbers: Any, columns: Any = None) -> str:
    """Say where an entry is, as the user counts."""
    if row_numbers is None:
        return f" at index {list(index)}" if index else ""
    row, *column = index
    if columns is not None:
        named = f"column {columns[column[0]]!r}" if column else f"columns {listing(columns)}"
        return f" in row {row_numbers[row]}, {named}"
    return f" in row {row_numbers[row]}" + (f", column {column}" if column else "")


def _on_simplex(values: F64) -> Bool:
    """Tell which vectors are strictly positive and sum to one."""
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(values.sum(axis=-1) - 1.0) <= tolerance(values.shape[-1])
    return (values > 0).all(axis=-1) & near


def _is_count(values: F64) -> Bool:
    """Tell which values are whole numbers from 0 to so many that logarithms of factorials end."""
    return (values >= 0) & (values <= MOST) & (values == np.floor(values))


REALS = Support(lambda x: ~np.isnan(x), "numbers", 0.0)
REAL_VECTORS = Support(REALS.inside, "numbers", 0.0, vectors=True)
REAL_ROWS = Support(
    lambda x: np.asarray(~np.isnan(x).any(axis=-1)),
    "rows of numbers",
    0.0,
    vectors=True,
    whole=True,
    complete="A full covariance has no finite summary of rows with missing entries: drop those "
    "rows, or fit a credo.GaussianClassifier, which runs EM.",
)
POSITIVE = Support(lambda x: (x > 0) & (x < np.inf), "numbers above 0", 1.0)
NON_NEGATIVE = Support(lambda x: (x >= 0) & (x < np.inf), "numbers that are 0 or more", 1.0)
UNIT = Support(lambda x: (x > 0) & (x < 1), "numbers strictly between 0 and 1", 0.5)
BINARY = Support(lambda x: (x == 0) | (x == 1), "0 or 1 (or False or True)", 0.0)
COUNTS = Support(_is_count, "whole numbers, 0 or more", 0.0)
CODES = Support(_is_count, "the codes of categories, whole numbers from 0", 0.0)
COUNT_VECTORS = Support(
    lambda x: np.asarray(_is_count(x).all(axis=-1)),
    "rows of counts, whole numbers, 0 or more",
    0.0,
    vectors=True,
    whole=True,
)
SIMPLEX = Support(
    _on_simplex,
    "rows of positive numbers that sum to 1",
    1.0,
    vectors=True,
    whole=True,
)
