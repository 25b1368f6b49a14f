"""The contract of a summary: it merges, and its groups can be placed among others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from credo._types import F64, Int
from credo._validation.arrays import frozen
from credo.exceptions import InputError, ShapeError


@dataclass(frozen=True, slots=True, eq=False)
class AbstractSummary(ABC):
    """Hold the sufficient statistics of a family.

    Attributes
    ----------
    family : str
        Name of the family that made it.
    weight : ndarray of shape (groups, batch)
        Total weight of the rows that were observed, in each column.

    Notes
    -----
    Immutable, and a monoid: ``merge`` is associative and commutative to rounding, and a summary
    of no rows changes nothing.
    """

    family: str
    weight: F64

    #: What an empty group holds, where that is not 0.
    _empty: ClassVar[dict[str, float]] = {}

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                frozen(value)

    @abstractmethod
    def merge(self, other: Self) -> Self:
        """Give the summary of the rows of both.

        Parameters
        ----------
        other : summary of the same family and shape
            Made from other rows.

        Returns
        -------
        summary
            As if all rows had been summarised at once.

        Raises
        ------
        InputError
            If the other is not a summary of the same family.
        ShapeError
            If it has another shape.
        """

    def spread(self, places: Int, n_groups: int) -> Self:
        """Put group i at ``places[i]`` among ``n_groups``; the others are empty.

        Parameters
        ----------
        places : array of int of shape (groups,)
            Distinct positions.
        n_groups : int
            How many groups there will be.

        Returns
        -------
        summary
            It merges with others of as many groups.
        """
        changed: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                wide = np.full((n_groups, *value.shape[1:]), self._empty.get(field.name, 0.0))
                wide[places] = value
                changed[field.name] = wide
        return replace(self, **changed)

    def _check_mergeable(self, other: object) -> None:
        """Check that the other is of the same family, batch and number of groups."""
        if not isinstance(other, type(self)) or other.family != self.family:
            kind = getattr(other, "family", type(other).__name__)
            raise InputError(
                f"A summary of {self.family} merges with another of {self.family} only. Got {kind}."
            )
        if other.weight.shape != self.weight.shape:
            raise ShapeError(
                f"Summaries of {self.family} merge if groups and columns agree. Got shapes "
                f"{self.weight.shape} and {other.weight.shape}."
            )
