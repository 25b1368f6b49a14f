"""What all structured factors share, and the tables that say the same as they do."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from credo._types import F64
from credo._validation.labels import listing
from credo.exceptions import ExpansionWarning, InputError
from credo.graphs.variables import Variable

#: Cells from which on a rule that is written out is worth a warning: half a megabyte.
WARN_CELLS = 2**16
#: Cells above which no rule is written out: 128 megabytes.
MOST_CELLS = 2**24


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A table over some of a rule's variables (0, 1, …) and auxiliaries (-1, -2, …)."""

    scope: tuple[int, ...]
    values: F64


@dataclass(frozen=True, slots=True, eq=False)
class Expansion:
    """Tables that say what a rule says, with so many two-state auxiliary variables.

    In the tables of a conditional probability the last variable is the child of the others.
    """

    n_auxiliaries: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AbstractStructured(ABC):
    """A rule over variables: what it is worth for given states, and tables that say the same."""

    variables: tuple[Variable, ...]

    #: Whether the last variable is the child of the others, with probabilities that sum to one.
    is_conditional: ClassVar[bool] = False
    #: What the rule is called in messages.
    rule: ClassVar[str] = ""

    @property
    def child(self) -> Variable | None:
        """Give the variable that the others determine, if the rule is a conditional probability."""
        return self.variables[-1] if self.is_conditional else None

    @property
    def n_cells(self) -> int:
        """Count the cells of the rule written out as one table."""
        return math.prod(variable.n_states for variable in self.variables)

    def table(self) -> F64:
        """Write the rule out as one table, one axis per variable.

        Returns
        -------
        ndarray
            The value of each joint state.

        Raises
        ------
        InputError
            If the table would have more than 2**24 cells.
        """
        if self.n_cells > MOST_CELLS:
            raise InputError(
                f"The {self} has {as_power(self.n_cells)} cells as a table; at most "
                f"{as_power(MOST_CELLS)} are written out. Use fewer parents, or put intermediate "
                "variables between them."
            )
        return self._written_out()

    @abstractmethod
    def _written_out(self) -> F64:
        """Give the whole table."""

    @abstractmethod
    def expansion(self, *, sum_product: bool) -> Expansion:
        """Give tables whose product, summed or maximised over the auxiliaries, is the rule.

        Parameters
        ----------
        sum_product : bool
            Whether the auxiliaries are summed out; False if they are maximised out.

        Returns
        -------
        Expansion
            The tables.
        """

    def _as_one_table(self, warn_above: int) -> Expansion:
        """Give the whole table as the only piece, with a warning if it is large."""
        values = self.table()
        if values.size > warn_above:
            warnings.warn(
                f"The {self} was written out as a table of {values.size} cells.",
                ExpansionWarning,
                stacklevel=5,
            )
        return Expansion(0, (Piece(tuple(range(len(self.variables))), values),))

    def __str__(self) -> str:
        """Name the rule and its variables."""
        return f"{self.rule} of {listing([variable.name for variable in self.variables])}"

    __repr__ = __str__


def as_power(cells: int) -> str:
    """Write a count as a power of two: that of a large rule has more digits than anyone reads."""
    return f"2^{math.log2(cells):.6g}"


def two_states(variables: tuple[Variable, ...], rule: str) -> tuple[Variable, ...]:
    """Check that all variables of a rule have two states."""
    for variable in variables:
        if variable.n_states != 2:
            raise InputError(
                f"The {rule} needs variables of two states, off and on in this order. "
                f"{variable.name!r} has {variable.n_states}: {listing(variable.states)}."
            )
    return variables
