r"""Structured factors: rules over many variables that are kept as rules, not as tables."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._types import F64
from credo.exceptions import ExpansionWarning, InputError
from credo.graphs.variables import Variable

if TYPE_CHECKING:  # a wiring calls this module
    from credo.graphs.wiring import Wiring

#: Cells from which on a rule that is written out is worth a warning: half a megabyte.
WARN_CELLS = 2**16
#: Cells above which no rule is written out: 128 megabytes.
MOST_CELLS = 2**24

#: Tables whose product, with auxiliaries summed or maximised out, is a rule. Each is over some of
#: the rule's variables (0, 1, …) and two-state auxiliaries (-1, -2, …); in those of a conditional
#: probability the last is the child of the others.
Pieces: TypeAlias = list[tuple[tuple[int, ...], F64]]


@dataclass(frozen=True, slots=True, eq=False)
class AbstractStructured(ABC):
    """A rule over variables: what it is worth for given states, and tables that say the same."""

    variables: tuple[Variable, ...]

    #: Whether the last variable is the child of the others, with probabilities that sum to one.
    is_conditional: ClassVar[bool] = False
    #: What the rule is called in messages.
    rule: ClassVar[str] = ""
    #: Whether its chain of tables is exact for maxima too.
    chains_maxima: ClassVar[bool] = True
    #: Cells that are written out without a warning.
    quiet_cells: ClassVar[int] = WARN_CELLS

    @property
    def child(self) -> Variable | None:
        """Return the variable that the others determine, if this is a conditional probability."""
        return self.variables[-1] if self.is_conditional else None

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
        refuse_cells(self.variables, f"The {self}")
        return self._written_out()

    @abstractmethod
    def _written_out(self) -> F64:
        """Return the whole table."""

    def _chain(self) -> Pieces:
        """Return small tables over auxiliaries that say the same, if there are such."""
        return []

    def expand(self, *, sum_product: bool) -> Pieces:
        """Return the rule as tables: a chain of small ones if it has one, or one written out."""
        is_long = len(self.variables) > 3 and (sum_product or self.chains_maxima)
        pieces = self._chain() if is_long else []
        if pieces:
            return pieces
        values = self.table()
        if values.size > self.quiet_cells:
            warnings.warn(
                f"The {self} was written out as a table of {values.size} cells.",
                ExpansionWarning,
                stacklevel=4,
            )
        return [(tuple(range(len(self.variables))), values)]

    def __str__(self) -> str:
        """Name the rule and its variables."""
        return f"{self.rule} of {check.listing([variable.name for variable in self.variables])}"

    __repr__ = __str__


def refuse_cells(variables: Iterable[Variable], what: str) -> None:
    """Refuse to write out a table of too many cells."""
    cells = math.prod(variable.n_states for variable in variables)
    if cells > MOST_CELLS:  # as a power of two: it has more digits than anyone reads
        raise InputError(
            f"{what} has 2^{math.log2(cells):.6g} cells as a table; at most "
            f"2^{math.log2(MOST_CELLS):g} are written out. Use fewer parents, or put intermediate "
            "variables between them."
        )


def two_states(variables: tuple[Variable, ...], rule: str) -> tuple[Variable, ...]:
    """Check that all variables of a rule have two states."""
    for variable in variables:
        if variable.n_states != 2:
            raise InputError(
                f"The {rule} needs variables of two states, off and on in this order. "
                f"{variable.name!r} has {variable.n_states}: {check.listing(variable.states)}."
            )
    return variables


#: 1 where the number of second states among three two-state variables is even; where it is odd.
_EVEN = check.frozen(np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]))
_ODD = check.frozen(1.0 - _EVEN)
#: 1 where the third says whether one of the first two is in its second state, but not both.
_ONE_SO_FAR = check.frozen(np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]]))
#: 1 where at most one of three is in its second state.
_ONE_OF_THREE = check.frozen(np.array([[[1.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]]))


def _on_count(n: int) -> npt.NDArray[np.intp]:
    """Count the second states in each joint state of ``n`` two-state variables."""
    count: npt.NDArray[np.intp] = sum(np.indices((2,) * n, sparse=True))  # type: ignore[assignment]
    return count


def _counting_chain(n: int, link: F64, last: F64) -> Pieces:
    """Chain three-variable tables: each link hands what it counted to the next.

    Auxiliary j is a function of the variables before it, so that sums and maxima both agree.
    """
    links = [((-j, j + 1, -j - 1), link) for j in range(1, n - 3)]
    return [((0, 1, -1), link), *links, ((3 - n, n - 2, n - 1), last)]


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
        """Return the whole table."""
        even = _on_count(len(self.variables)) % 2 == 0
        return np.where(even == self.even, 1.0, 0.0)

    def _chain(self) -> Pieces:
        """Chain the running parity."""
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
        """Return the whole table."""
        return np.where(_on_count(len(self.variables)) <= 1, 1.0, 0.0)

    def _chain(self) -> Pieces:
        """Chain whether one was seen so far."""
        return _counting_chain(len(self.variables), _ONE_SO_FAR, _ONE_OF_THREE)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AbstractNoisy(AbstractStructured):
    """A noisy gate; ``variables`` are its parents, then its child."""

    probabilities: F64
    leak: float = 0.0
    is_conditional: ClassVar[bool] = True
    chains_maxima: ClassVar[bool] = False
    quiet_cells: ClassVar[int] = 8
    #: Whether off and on change places, on all axes.
    flipped: ClassVar[bool] = False

    def _gate(self, probabilities: Iterable[float], leak: float) -> F64:
        """Write out a gate of some of the parents."""
        on, off = np.array(leak), np.array(1.0 - leak)
        for p in probabilities:
            on = np.stack([on, on + p * off], axis=-1)  # not 1 - off: tiny chances stay
            off = np.multiply.outer(off, [1.0, 1.0 - p])
        table = np.stack([off, on], axis=-1)
        return np.ascontiguousarray(np.flip(table)) if self.flipped else table

    def _written_out(self) -> F64:
        """Return the whole table."""
        return self._gate(self.probabilities, self.leak)

    def chances(self, above: Any) -> F64:
        """Return the probabilities of the child's states, (2, n), given n states of each parent."""
        on, off = np.array([self.leak]), np.array([1.0 - self.leak])
        for p, x in zip(self.probabilities, above, strict=True):
            acts = p * (x != self.flipped)
            on, off = on + acts * off, off * (1.0 - acts)  # not 1 - off: tiny chances stay
        return np.stack([on, off] if self.flipped else [off, on])

    def _chain(self) -> Pieces:
        """Chain gates of two; a maximum over the auxiliaries is not one over their sum."""
        n = len(self.probabilities)
        ends = [*range(-2, 1 - n, -1), n]
        pieces: Pieces = [((0, 1, -1), self._gate(self.probabilities[:2], self.leak))]
        for i, end in zip(range(2, n), ends, strict=True):  # what was active before stays so
            pieces.append(((1 - i, i, end), self._gate([1.0, self.probabilities[i]], 0.0)))
        return pieces


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
        """Return the whole table."""
        states = np.arange(self.variables[-1].n_states)
        return np.where(self.answers[..., np.newaxis] == states, 1.0, 0.0)

    def chances(self, above: Any) -> F64:
        """Return the probabilities of the child's states, (k, n), given n states of each parent."""
        states = np.arange(self.variables[-1].n_states)
        return np.where(self.answers[above] == states[:, np.newaxis], 1.0, 0.0)


#: Any of the rules.
Structured: TypeAlias = Parity | AtMostOne | NoisyOr | NoisyAnd | Deterministic


def tabulate(wiring: Wiring, *, sum_product: bool) -> Wiring:
    """Replace the rules of a wiring by tables, which come after its own; equal ones once."""
    n, first = len(wiring.n_states), len(wiring.log_scale)
    lengths, scope, table, owner = [list[int]() for _ in range(4)]
    tables: list[F64] = []
    number_of: dict[int, int] = {}
    rules = np.flatnonzero(wiring.table < 0).tolist()
    for number, rule in zip(rules, wiring.structured, strict=True):
        own = wiring.scope[wiring.scope_start[number] : wiring.scope_start[number + 1]].tolist()
        pieces = rule.expand(sum_product=sum_product)
        for places, values in pieces:
            if id(values) not in number_of:
                number_of[id(values)] = first + len(tables)
                tables.append(values)
            over = [own[i] if i >= 0 else n - 1 - i for i in places]
            lengths.append(len(over))
            scope += over
            table.append(number_of[id(values)])
            owner.append(over[-1] if wiring.owner[number] >= 0 else -1)
        n -= min(0, *(i for places, _ in pieces for i in places))
    kept = wiring.table >= 0
    own_lengths = np.diff(wiring.scope_start)
    ends = wiring.values.size + np.cumsum([values.size for values in tables])
    cells = np.concatenate([values.ravel() for values in tables])
    with np.errstate(divide="ignore"):
        logs = None if wiring.log_values is None else np.append(wiring.log_values, np.log(cells))
    return replace(
        wiring,
        n_states=np.append(wiring.n_states, np.full(n - len(wiring.n_states), 2)),
        scope_start=np.cumsum([0, *own_lengths[kept], *lengths], dtype=np.int64),
        scope=np.append(wiring.scope[np.repeat(kept, own_lengths)], scope).astype(np.int32),
        table=np.append(wiring.table[kept], table).astype(np.int32),
        table_start=np.append(wiring.table_start, ends).astype(np.int64),
        values=np.append(wiring.values, cells),
        log_scale=np.append(wiring.log_scale, np.zeros(len(tables))),
        log_values=logs,
        owner=np.append(wiring.owner[kept], owner).astype(np.int32),
        structured=(),
    )
