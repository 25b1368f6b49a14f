"""The two kinds of column, numbers and words, and what can be read as either."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt

#: Codes of categories, -1 where missing.
Codes: TypeAlias = npt.NDArray[np.int32]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Hold a column of numbers.

    Attributes
    ----------
    values : ndarray of shape (n,)
        Truth values, integers, float32 or float64; NaN where missing.
    is_bool : bool
        True for truth values, also if missing ones made them float64.
    """

    values: Any
    is_bool: bool


@final
@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Hold a column of categories.

    Attributes
    ----------
    codes : ndarray of int32, shape (n,)
        Position among the categories; -1 where missing.
    categories : tuple
        Distinct plain values that occur, in the order of their first appearance.
    """

    codes: Codes
    categories: tuple[Any, ...]


class AbstractCells(ABC):
    """The cells of one column as they came, read when asked."""

    __slots__ = ()

    @abstractmethod
    def read(self) -> Numbers | Words:
        """Give the column as what it is."""

    @abstractmethod
    def words(self) -> Words:
        """Give the column as categories, whatever it is."""
