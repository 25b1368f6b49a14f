"""Wiring: a model compiled to flat arrays, which is all that an engine sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._types import F64, Int, Label, Labels
from credo.exceptions import InputError
from credo.graphs.structured import Structured, tabulate
from credo.graphs.variables import Variables

Int32: TypeAlias = npt.NDArray[np.int32]
Int64: TypeAlias = npt.NDArray[np.int64]

#: Range of logs above which their exponentials are not all float64 numbers with full precision:
#: the smallest of these is exp(-708); the rest is room for products with other tables.
WIDE_LOGS = 600.0


def starts(lengths: npt.ArrayLike) -> Int:
    """Return where each part starts, and where the last ends."""
    counts = np.asarray(lengths, np.intp)
    result = np.zeros(len(counts) + 1, np.intp)
    np.cumsum(counts, out=result[1:])
    return result


def ranges(start: Int, length: Int) -> Int:
    """List the integers of many ranges, one range after the other."""
    shift = start - (np.cumsum(length) - length)
    return np.repeat(shift, length) + np.arange(int(length.sum()))


def _check_starts(start: Int, size: int, count: int, what: str) -> None:
    """Refuse starts of parts unless these lie one after the other, none empty, and are so many."""
    fits = len(start) == count + 1 and start[0] == 0 and start[-1] == size
    if not fits or (np.diff(start) < 1).any():
        raise InputError(f"The {what} of the network do not lie one after the other.")


def from_logs(logs: F64, start: Int) -> tuple[F64, F64, F64 | None]:
    """Turn tables of logs, none of them all -inf, into potentials of which the largest is one.

    Returns the potentials, the log of what each table was divided by, and, if float64 does not hold
    all potentials, their logs.
    """
    top = np.maximum.reduceat(logs, start[:-1]) if len(start) > 1 else np.empty(0)
    below = logs - np.repeat(top, np.diff(start))
    wide = float(below.min(where=below > -np.inf, initial=0.0)) < -WIDE_LOGS
    with np.errstate(under="ignore"):
        return np.exp(below), top, below if wide else None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Wiring:
    r"""Hold a compiled model: a product of factors over variables, as read-only flat arrays.

    .. math:: p(x) \propto \prod_f \psi_f(x_f), \qquad
              \psi_f = \text{values}_{t(f)} \cdot e^{\text{log\_scale}_{t(f)}}

    Made by ``compile`` of a model.

    Attributes
    ----------
    names : sequence of Hashable
        Names of the visible variables; may be lazy.
    states : sequence of tuple
        States of the visible variables; may be lazy.
    n_states : ndarray of int64
        Number of states of each variable; longer than ``names`` if there are auxiliaries.
    scope_start : ndarray of int64, shape (F + 1,)
        Factor f touches the variables ``scope[scope_start[f]:scope_start[f + 1]]``.
    scope : ndarray of int32
        Variables in the order of the axes of the table, the last axis being the fastest.
    table : ndarray of int32, shape (F,)
        Index of the table of each factor; tables may be shared; -1 for a structured factor.
    table_start : ndarray of int64, shape (T + 1,)
        Table t holds ``values[table_start[t]:table_start[t + 1]]``.
    values : ndarray of float64
        Cells of all tables, finite and at least zero.
    log_scale : ndarray of float64, shape (T,)
        Log of the number that each table is to be multiplied by.
    log_values : ndarray of float64 or None
        Logs of ``values``, also where these have underflown; to be added to ``log_scale``. None
        unless a table given in logs spans more than float64 can hold.
    owner : ndarray of int32, shape (F,)
        The child whose conditional probability the factor is, or -1.
    structured : tuple
        The rules, in the order of the factors whose table is -1.
    variables : sequence of Variable
        The visible variables, as objects that are made when they are looked at.

    See Also
    --------
    BayesianNetwork : Compiles to one factor per variable, in the order of the variables.
    FactorGraph : Compiles to its factors in the order in which they were added.

    Notes
    -----
    Equal factors are both kept: each counts.

    Examples
    --------
    >>> from credo.graphs import FactorGraph
    >>> graph = FactorGraph()
    >>> rain, wet = graph.variable("rain", 2), graph.variable("wet", 2)
    >>> _ = graph.factor([rain, wet], [[0.9, 0.1], [0.2, 0.8]])
    >>> wiring = graph.compile()
    >>> wiring.scope.tolist(), wiring.values.tolist()
    ([0, 1], [0.9, 0.1, 0.2, 0.8])
    >>> wiring.index("wet")
    1
    """

    names: Sequence[Label]
    states: Sequence[Labels]
    n_states: Int64
    scope_start: Int64
    scope: Int32
    table: Int32
    table_start: Int64
    values: F64
    log_scale: F64
    log_values: F64 | None
    owner: Int32
    structured: tuple[Structured, ...] = ()
    variables: Variables = field(init=False, repr=False)
    _tables_only: dict[bool, Wiring] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        object.__setattr__(self, "variables", Variables(self.names, self.states))
        for each in fields(self)[2:11]:
            array = getattr(self, each.name)
            if array is not None:
                check.frozen(array)

    def __reduce__(self) -> tuple[Any, ...]:
        """Be read-only again after a way through a file or another process."""
        kept = (field.name for field in fields(self) if field.init)
        return Wiring, tuple(getattr(self, name) for name in kept)

    def __repr__(self) -> str:
        return (
            f"<Wiring: {len(self.n_states)} variables, {len(self.table)} factors, "
            f"{len(self.log_scale)} tables, {len(self.values)} cells>"
        )

    def index(self, name: Any) -> int:
        """Find the position of a variable by its name.

        Parameters
        ----------
        name : Hashable or Variable
            The name, or the variable itself.

        Returns
        -------
        int
            Its position, counted from zero.

        Raises
        ------
        LabelError
            If there is no such variable; the text names the nearest one.
        """
        return self.variables.find(name)

    def check(self) -> None:
        """Refuse arrays that no engine could use, such as those of a stranger's file.

        Raises
        ------
        InputError
            If a factor has a variable or a table that is not there, or they do not fit.
        """
        n, (scope, table) = len(self.names), (self.scope, self.table)
        _check_starts(self.scope_start, len(scope), len(table), "scopes")
        _check_starts(self.table_start, len(self.values), len(self.log_scale), "tables")
        if scope.size and (scope.min() < 0 or scope.max() >= n):
            raise InputError("A factor of the network has a variable that is not there.")
        owner = np.repeat(np.arange(len(table)), np.diff(self.scope_start))
        pairs = np.sort(owner * max(1, n) + scope)
        if (pairs[1:] == pairs[:-1]).any():
            raise InputError("A factor of the network has a variable twice.")
        if table.size and (table.min() < -1 or table.max() >= len(self.log_scale)):
            raise InputError("A factor of the network has a table that is not there.")
        if table.size:
            states = self.n_states[scope].astype(np.float64)
            cells = np.multiply.reduceat(states, self.scope_start[:-1])
            used = table >= 0
            if (cells[used] != np.diff(self.table_start)[table[used]]).any():
                raise InputError("A table of the network does not fit the states of its variables.")
        self._check_values()

    def _check_values(self) -> None:
        """Refuse tables that allow no state, and logs that are not those of the values."""
        values, logs = self.values, self.log_values
        if not values.size:
            return
        if not (np.maximum.reduceat(values, self.table_start[:-1]) > 0).all():
            raise InputError("A table of the network allows no state.")
        if logs is not None:
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                same = np.isclose(np.exp(logs), values, rtol=1e-9, atol=1e-300)
            if not (same.all() and (logs < np.inf).all()):
                raise InputError(
                    "The logs of the tables of the network are not those of its cells."
                )

    def tabulated(self, sum_product: bool) -> Wiring:  # noqa: FBT001 - the kind of product
        """Return the same model with tables in place of structured factors.

        Parameters
        ----------
        sum_product : bool
            Whether the other variables are summed out; False if they are maximised out.

        Returns
        -------
        Wiring
            The wiring itself if nothing is structured. Otherwise one whose auxiliary variables,
            if any, come after the visible ones; summing or maximising them out gives this model.

        Raises
        ------
        InputError
            If a rule has to be written out and has more than 2**24 cells.

        Warns
        -----
        ExpansionWarning
            If a noisy gate had to be written out for maxima, or a function is large.

        Notes
        -----
        Tables come first, in their order, then those of the rules, rule by rule. Answers are
        kept. Time and memory are linear in the number of variables of rules that are chained.
        """
        if not self.structured:
            return self
        if sum_product not in self._tables_only:
            self._tables_only[sum_product] = tabulate(self, sum_product=sum_product)
        return self._tables_only[sum_product]
