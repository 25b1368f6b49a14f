r"""Structured factors: rules over many variables that are kept as rules, not as tables."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo._validation.arrays import frozen
from credo._validation.labels import listing
from credo.exceptions import ExpansionWarning, InputError
from credo.graphs.variables import Variable

if TYPE_CHECKING:
    from credo.graphs.wiring import Wiring


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


#: 1 where the number of second states among three two-state variables is even; where it is odd.
_EVEN = frozen(np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]))
_ODD = frozen(1.0 - _EVEN)
#: 1 where the third says whether one of the first two is in its second state, but not both.
_ONE_SO_FAR = frozen(np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]]))
#: 1 where at most one of three is in its second state.
_ONE_OF_THREE = frozen(np.array([[[1.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]]))


def _on_count(n: int) -> npt.NDArray[np.intp]:
    """Count the second states in each joint state of ``n`` two-state variables."""
    count = np.zeros((), dtype=np.intp)
    for _ in range(n):
        count = np.add.outer(count, np.arange(2))
    return count


def _counting_chain(n: int, link: F64, last: F64) -> Expansion:
    """Chain three-variable tables: each link hands what it counted to the next.

    Auxiliary j is a function of the variables before it, so that sums and maxima both agree.
    """
    pieces = [Piece((0, 1, -1), link)]
    pieces += [Piece((-j, j + 1, -j - 1), link) for j in range(1, n - 3)]
    return Expansion(n - 3, (*pieces, Piece((-(n - 3), n - 2, n - 1), last)))


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Parity(AbstractStructured):
    r"""Allow joint states with an even, or an odd, number of second states.

    .. math:: f(x) = [\, x_1 + \dots + x_n \text{ is even} \,]

    Made by ``FactorGraph.parity``.

    Parameters
    ----------
    variables : tuple of Variable
        Two-state variables.
    even : bool, default True
        Whether the number must be even.

    See Also
    --------
    AtMostOne : Allow at most one second state.

    Notes
    -----
    As tables: n - 2 of eight cells each, with n - 3 auxiliaries, exact for sums and for maxima.

    References
    ----------
    .. [1] F. R. Kschischang, B. J. Frey, H.-A. Loeliger, "Factor graphs and the sum-product
       algorithm", IEEE Transactions on Information Theory 47, 2001, section III.A.

    Examples
    --------
    >>> from credo.graphs import FactorGraph
    >>> graph = FactorGraph()
    >>> bits = [graph.variable(name, 2) for name in "abc"]
    >>> graph.parity(bits)
    parity check of 'a', 'b', 'c'
    """

    even: bool = True
    rule: ClassVar[str] = "parity check"

    def _written_out(self) -> F64:
        """Give the whole table."""
        even = _on_count(len(self.variables)) % 2 == 0
        return np.where(even == self.even, 1.0, 0.0)

    def expansion(self, *, sum_product: bool) -> Expansion:  # noqa: ARG002 - both are the same
        """Chain the running parity."""
        if len(self.variables) <= 3:
            return self._as_one_table(WARN_CELLS)
        return _counting_chain(len(self.variables), _EVEN, _EVEN if self.even else _ODD)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AtMostOne(AbstractStructured):
    r"""Allow joint states with at most one variable in its second state.

    .. math:: f(x) = [\, x_1 + \dots + x_n \le 1 \,]

    Made by ``FactorGraph.at_most_one``.

    Parameters
    ----------
    variables : tuple of Variable
        Two-state variables.

    See Also
    --------
    Parity : Allow an even number of second states.

    Notes
    -----
    As tables: n - 2 of eight cells each, with n - 3 auxiliaries, exact for sums and for maxima.

    Examples
    --------
    >>> from credo.graphs import FactorGraph
    >>> graph = FactorGraph()
    >>> faults = [graph.variable(name, 2) for name in ("pump", "valve")]
    >>> graph.at_most_one(faults).table()
    array([[1., 1.],
           [1., 0.]])
    """

    rule: ClassVar[str] = "at-most-one rule"

    def _written_out(self) -> F64:
        """Give the whole table."""
        return np.where(_on_count(len(self.variables)) <= 1, 1.0, 0.0)

    def expansion(self, *, sum_product: bool) -> Expansion:  # noqa: ARG002 - both are the same
        """Chain whether one was seen so far."""
        if len(self.variables) <= 3:
            return self._as_one_table(WARN_CELLS)
        return _counting_chain(len(self.variables), _ONE_SO_FAR, _ONE_OF_THREE)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AbstractNoisy(AbstractStructured):
    """A noisy gate; ``variables`` are its parents, then its child."""

    probabilities: F64
    leak: float = 0.0
    is_conditional: ClassVar[bool] = True
    #: Whether off and on change places, on all axes.
    flipped: ClassVar[bool] = False

    def _gate(self, probabilities: F64, leak: float) -> F64:
        """Write out a gate of some of the parents."""
        on, off = np.array(leak), np.array(1.0 - leak)
        for p in probabilities:
            on = np.stack([on, on + p * off], axis=-1)  # not 1 - off: tiny chances stay
            off = np.multiply.outer(off, [1.0, 1.0 - p])
        table = np.stack([off, on], axis=-1)
        return np.ascontiguousarray(np.flip(table)) if self.flipped else table

    def _link(self, p: float) -> F64:
        """Write out the table of (active before, parent, active after)."""
        table = np.array([[[1.0, 0.0], [1.0 - p, p]], [[0.0, 1.0], [0.0, 1.0]]])
        return np.ascontiguousarray(np.flip(table)) if self.flipped else table

    def _written_out(self) -> F64:
        """Give the whole table."""
        return self._gate(self.probabilities, self.leak)

    def expansion(self, *, sum_product: bool) -> Expansion:
        """Chain gates of two for sums; for maxima, which cannot be chained, write out."""
        n = len(self.probabilities)
        if n <= 2:
            return self._as_one_table(WARN_CELLS)
        if not sum_product:
            return self._as_one_table(0)
        pieces = [Piece((0, 1, -1), self._gate(self.probabilities[:2], self.leak))]
        pieces += [
            Piece((1 - i, i, -i if i < n - 1 else n), self._link(float(self.probabilities[i])))
            for i in range(2, n)
        ]
        return Expansion(n - 2, tuple(pieces))


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NoisyOr(AbstractNoisy):
    r"""Turn a child on by any active parent, each with its own probability.

    .. math:: P(\text{off} \mid x) = (1 - \ell) \prod_{i:\, x_i = \text{on}} (1 - p_i)

    Made by ``noisy_or`` of a FactorGraph or a BayesianNetwork. Of two states, the first is off and
    the second is on.

    Parameters
    ----------
    variables : tuple of Variable
        The parents, then the child; all with two states.
    probabilities : ndarray of shape (n_parents,)
        Probability p that a parent, being on, turns the child on by itself.
    leak : float, default 0
        Probability that the child is on although all parents are off.

    See Also
    --------
    NoisyAnd : Its dual.

    Notes
    -----
    As tables, for sums: n - 1 of eight cells each, with n - 2 auxiliaries. For maxima: one table
    of 2**(n + 1) cells, because a maximum over auxiliaries is not the maximum over their sum.

    References
    ----------
    .. [1] J. Pearl, *Probabilistic Reasoning in Intelligent Systems*, Morgan Kaufmann, 1988,
       section 4.3.2.

    Examples
    --------
    >>> from credo.graphs import BayesianNetwork
    >>> net = BayesianNetwork()
    >>> for name in ("flu", "cold", "fever"):
    ...     _ = net.variable(name, ["no", "yes"])
    >>> rule = net.noisy_or("fever", {"flu": 0.8, "cold": 0.5}, leak=0.1)
    >>> rule.table()[1, 1].round(3)
    array([0.09, 0.91])
    """

    rule: ClassVar[str] = "noisy-OR"


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NoisyAnd(AbstractNoisy):
    r"""Keep a child on unless a parent that is off inhibits it, each with its own probability.

    .. math:: P(\text{on} \mid x) = (1 - \ell) \prod_{i:\, x_i = \text{off}} (1 - p_i)

    Made by ``noisy_and`` of a FactorGraph or a BayesianNetwork. Of two states, the first is off
    and the second is on. It is the noisy-OR with off and on exchanged everywhere.

    Parameters
    ----------
    variables : tuple of Variable
        The parents, then the child; all with two states.
    probabilities : ndarray of shape (n_parents,)
        Probability p that a parent, being off, turns the child off by itself.
    leak : float, default 0
        Probability that the child is off although all parents are on.

    See Also
    --------
    NoisyOr : Its dual.

    Notes
    -----
    As tables: like NoisyOr.

    References
    ----------
    .. [1] F. J. Díez, M. J. Druzdzel, "Canonical probabilistic models for knowledge engineering",
       technical report CISIAD-06-01, UNED, 2006, section 4.

    Examples
    --------
    >>> from credo.graphs import BayesianNetwork
    >>> net = BayesianNetwork()
    >>> for name in ("power", "fuel", "runs"):
    ...     _ = net.variable(name, ["no", "yes"])
    >>> net.noisy_and("runs", {"power": 1.0, "fuel": 0.75}, leak=0.2).table()[1, 0].round(3)
    array([0.8, 0.2])
    """

    rule: ClassVar[str] = "noisy-AND"
    flipped: ClassVar[bool] = True


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Deterministic(AbstractStructured):
    r"""Determine a child by a function of its parents.

    .. math:: P(y \mid x) = [\, y = f(x) \,]

    Made by ``deterministic`` of a FactorGraph or a BayesianNetwork, which calls the function once
    for each joint state of the parents.

    Parameters
    ----------
    variables : tuple of Variable
        The parents, then the child.
    answers : ndarray of int, one axis per parent
        Position of the child's state for each joint state of the parents.

    See Also
    --------
    NoisyOr : A rule that is not certain.

    Notes
    -----
    Written out as a table when it is used.

    Examples
    --------
    >>> from credo.graphs import BayesianNetwork
    >>> net = BayesianNetwork()
    >>> dice = [net.variable(name, [1, 2, 3, 4, 5, 6]) for name in ("red", "blue")]
    >>> total = net.variable("total", range(2, 13))
    >>> net.deterministic(total, dice, lambda red, blue: red + blue)
    deterministic function of 'red', 'blue', 'total'
    """

    answers: npt.NDArray[Any]
    is_conditional: ClassVar[bool] = True
    rule: ClassVar[str] = "deterministic function"

    def _written_out(self) -> F64:
        """Give the whole table."""
        states = np.arange(self.variables[-1].n_states)
        return np.where(self.answers[..., np.newaxis] == states, 1.0, 0.0)

    def expansion(self, *, sum_product: bool) -> Expansion:  # noqa: ARG002 - both are the same
        """Write out."""
        return self._as_one_table(WARN_CELLS)


#: Any of the rules.
Structured: TypeAlias = Parity | AtMostOne | NoisyOr | NoisyAnd | Deterministic


def tabulate(wiring: Wiring, *, sum_product: bool) -> Wiring:
    """Replace the structured factors of a wiring by tables, which come after its own."""
    expansions = [rule.expansion(sum_product=sum_product) for rule in wiring.structured]
    added = _Added(len(wiring.n_states), len(wiring.log_scale))
    rules = np.flatnonzero(wiring.table < 0)
    for rule, expansion in zip(rules.tolist(), expansions, strict=True):
        start, stop = wiring.scope_start[rule : rule + 2]
        added.take(expansion, wiring.scope[start:stop].tolist(), owned=wiring.owner[rule] >= 0)
    kept = wiring.table >= 0
    lengths = np.diff(wiring.scope_start)
    scope_start = np.concatenate([[0], np.cumsum([*lengths[kept], *added.lengths])])
    values = np.concatenate([wiring.values, *(table.ravel() for table in added.tables)])
    table_start = wiring.values.size + np.cumsum([table.size for table in added.tables])
    return replace(
        wiring,
        n_states=np.append(wiring.n_states, np.full(added.n_auxiliaries, 2)),
        scope_start=scope_start.astype(np.int64),
        scope=np.append(wiring.scope[np.repeat(kept, lengths)], added.scope).astype(np.int32),
        table=np.append(wiring.table[kept], added.table).astype(np.int32),
        table_start=np.append(wiring.table_start, table_start).astype(np.int64),
        values=values,
        log_scale=np.append(wiring.log_scale, np.zeros(len(added.tables))),
        log_values=_logs(wiring, added.tables),
        owner=np.append(wiring.owner[kept], added.owner).astype(np.int32),
        structured=(),
    )


def _logs(wiring: Wiring, tables: list[F64]) -> F64 | None:
    """Append the logs of added tables, if the wiring keeps logs."""
    if wiring.log_values is None:
        return None
    with np.errstate(divide="ignore"):
        return np.concatenate([wiring.log_values, *(np.log(table).ravel() for table in tables)])


class _Added:
    """Collect the tables of expansions; tables that are the same object are held once."""

    def __init__(self, n_variables: int, n_tables: int) -> None:
        self.first_auxiliary = n_variables
        self.first_table = n_tables
        self.n_auxiliaries = 0
        self.lengths: list[int] = []
        self.scope: list[int] = []
        self.table: list[int] = []
        self.owner: list[int] = []
        self.tables: list[F64] = []
        self._held: dict[int, int] = {}

    def take(self, expansion: Expansion, scope: list[int], *, owned: bool) -> None:
        """Add the pieces of one rule over ``scope``."""
        base = self.first_auxiliary + self.n_auxiliaries
        for piece in expansion.pieces:
            places = [scope[i] if i >= 0 else base - 1 - i for i in piece.scope]
            self.lengths.append(len(places))
            self.scope += places
            self.owner.append(places[-1] if owned else -1)
            self.table.append(self._held_at(piece.values))
        self.n_auxiliaries += expansion.n_auxiliaries

    def _held_at(self, values: F64) -> int:
        """Give the index of a table, which is added if it is new."""
        where = self._held.get(id(values))
        if where is None:
            where = self._held[id(values)] = self.first_table + len(self.tables)
            self.tables.append(values)
        return where
