"""``ConditionalTable``: the conditional probabilities of a variable, an array with its names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product
from typing import Any, Self, final

import numpy as np

from credo._results import SHOWN, Share, as_frame, html_table, number, table_text
from credo._types import F64
from credo.exceptions import InputError
from credo.graphs.variables import Variable


@final
class ConditionalTable(np.ndarray[tuple[Any, ...], np.dtype[np.float64]]):
    """Hold the conditional probabilities of a variable: an array that prints with its names.

    One axis per parent, then the variable. Parts of it, and what is computed from it, are arrays
    without names.

    Parameters
    ----------
    cells : array of float64
        The probabilities.
    child : Variable
        Whose they are.
    given : sequence of Variable
        Its parents, in the order of the axes.

    See Also
    --------
    credo.BayesianNetwork.table : Returns it.

    Examples
    --------
    >>> import credo
    >>> net = credo.BayesianNetwork()
    >>> _ = net.variable("rain", ["no", "yes"]), net.variable("wet", ["no", "yes"])
    >>> _ = net.cpt("rain", table=[0.8, 0.2])
    >>> _ = net.cpt("wet", ["rain"], [[0.9, 0.1], [0.2, 0.8]])
    >>> table = net.table("wet")
    >>> table
    rain  wet = no  wet = yes
    no         0.9        0.1
    yes        0.2        0.8
    >>> table[1]
    array([0.2, 0.8])
    """

    _ends: tuple[Variable, tuple[Variable, ...]] | None

    def __new__(cls, cells: F64, child: Variable, given: Sequence[Variable]) -> Self:
        """Give names to an array."""
        made = np.asarray(cells).view(cls)
        made._ends = child, tuple(given)  # noqa: SLF001 - a new object of this very class
        return made

    def __array_finalize__(self, whole: Any) -> None:
        self._ends = None

    def __array_wrap__(self, array: Any, *_: Any) -> Any:
        return np.asarray(array)[()]  # a sum over all axes is a number

    def __repr__(self) -> str:
        if self._ends is None:
            return repr(np.asarray(self))
        signs = "<" * (self.ndim - 1) + ">" * self.shape[-1]
        return table_text(signs, self._head(), self._shown(number), self.size // self.shape[-1])

    def __str__(self) -> str:
        return repr(self) if self._ends is not None else str(np.asarray(self))

    def _repr_html_(self) -> str | None:
        if self._ends is None:
            return None
        return html_table("", self._head(), self._shown(Share), self.size // self.shape[-1])

    def to_frame(self) -> Any:
        """Return the table as a pandas frame.

        Returns
        -------
        pandas.DataFrame
            A column for each parent, and one for each state of the variable; a row for each
            configuration of the parents.

        Raises
        ------
        InputError
            If this is a part of a table, or computed from one, and has no names.
        """
        return as_frame(**dict(zip(self._head(), zip(*self._rows(), strict=True), strict=True)))

    def _head(self) -> list[str]:
        """Name the columns."""
        child, given = self._named()
        own = [f"{child.name} = {state}" for state in child.states]
        return [*(str(parent.name) for parent in given), *own]

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the states of the parents and the probabilities."""
        flat = np.asarray(self).reshape(-1, self.shape[-1])
        given = product(*(parent.states for parent in self._named()[1]))
        return ((*states, *row.tolist()) for states, row in zip(given, flat, strict=True))

    def _shown(self, form: Callable[[float], Any]) -> Iterator[list[Any]]:
        """Yield the first rows as a page shows them."""
        for row in islice(self._rows(), SHOWN):
            states, shares = row[: self.ndim - 1], row[self.ndim - 1 :]
            yield [*map(str, states), *map(form, shares)]

    def _named(self) -> tuple[Variable, tuple[Variable, ...]]:
        if self._ends is None:
            raise InputError(
                "Only a whole table of a network has names. Got a part of one, or what was "
                "computed from it. Call to_frame of net.table(name) itself."
            )
        return self._ends
