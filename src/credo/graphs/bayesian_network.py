"""Bayesian networks: conditional probabilities on a directed acyclic graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Self, final

import numpy as np

from credo._types import F64, Label, Labels
from credo._validation.arrays import as_floats, as_number, frozen
from credo._validation.labels import as_labels, listing
from credo.exceptions import InputError, ShapeError
from credo.graphs.factors import Factor, as_conditional, divided, fault_of, row_name
from credo.graphs.models import AbstractRuleModel, AnyFactor, Scope, assemble, scope_of
from credo.graphs.variables import Variable, VariableLike, Variables, as_states
from credo.graphs.wiring import Int64, Wiring

#: How far from one a row may sum: published files carry rows of four decimals.
TOLERANCE = 1e-4


@final
class BayesianNetwork(AbstractRuleModel):
    r"""Model a joint distribution as a product of conditional probabilities.

    .. math:: p(x) = \prod_v p(x_v \mid x_{\text{parents}(v)})

    Parameters
    ----------
    tolerance : float, default 1e-4
        How far from one a row of probabilities may sum; it is divided by its sum. A row that is
        further off is an error.

    Attributes
    ----------
    variables : sequence of Variable
        The variables in the order in which they were declared.
    names : sequence of Hashable
        Their names.
    factors : sequence of Factor and rules
        The conditional probabilities, in the order of the variables.

    See Also
    --------
    FactorGraph : A product of any tables.
    chain : A network for a hidden Markov model.

    Notes
    -----
    Variables may be declared, and tables given, in any order; cycles are looked for by
    ``compile``. After it the network is frozen; ``copy`` gives one that is open.

    References
    ----------
    .. [1] J. Pearl, *Probabilistic Reasoning in Intelligent Systems*, Morgan Kaufmann, 1988,
       section 3.3.

    Examples
    --------
    >>> from credo.graphs import BayesianNetwork
    >>> net = BayesianNetwork()
    >>> rain = net.variable("rain", ["no", "yes"])
    >>> grass = net.variable("grass", ["dry", "wet"])
    >>> _ = net.cpt("rain", table=[0.8, 0.2])
    >>> _ = net.cpt("grass", given=["rain"], table={"no": [0.9, 0.1], "yes": {"wet": 1, "dry": 0}})
    >>> net.parents("grass")
    ('rain',)
    >>> net
    <BayesianNetwork: 2 variables, 2 factors, open>
    """

    def __init__(self, tolerance: float = TOLERANCE) -> None:
        super().__init__()
        self.tolerance = as_number(tolerance, "a BayesianNetwork", "tolerance")
        if self.tolerance < 0:
            raise InputError(f"The tolerance must be at least 0. Got {tolerance}.")
        self._cpts: dict[int, tuple[AnyFactor, Scope]] = {}

    @classmethod
    def from_arrays(
        cls,
        names: Sequence[Label],
        states: Sequence[Labels],
        parents: Sequence[Sequence[int]],
        values: F64,
        *,
        tolerance: float = TOLERANCE,
    ) -> Self:
        """Make a network of flat arrays; the fast way for readers of files.

        Parameters
        ----------
        names : sequence of Hashable
            Names of the variables.
        states : sequence of tuple
            States of each variable.
        parents : sequence of sequences of int
            Positions of the parents of each variable.
        values : ndarray of float64
            All conditional probabilities, variable by variable; within one, the parents' states
            in the order of ``parents``, the last fastest, and the child's states fastest of all.
        tolerance : float, default 1e-4
            How far from one a row may sum.

        Returns
        -------
        BayesianNetwork
            The network; objects for variables and factors are made when they are asked for.

        Raises
        ------
        InputError
            If something does not fit; names the variable.

        Notes
        -----
        A thousand variables with 80 000 values take a few milliseconds.

        Examples
        --------
        >>> from credo.graphs import BayesianNetwork
        >>> net = BayesianNetwork.from_arrays(
        ...     ["rain", "wet"], [("no", "yes")] * 2, [[], [0]], [0.8, 0.2, 0.9, 0.1, 0.1, 0.9]
        ... )
        >>> net.table("wet")
        array([[0.9, 0.1],
               [0.1, 0.9]])
        """
        net = cls(tolerance)
        net._arrays = wiring_of(names, states, parents, values, net.tolerance)
        net._variables = net._arrays.variables
        return net

    def variable(self, name: Label, states: Iterable[Label] | int) -> Variable:
        """Declare a variable.

        Parameters
        ----------
        name : Hashable
            A new name.
        states : sequence of labels, or int
            The states in order; a number k stands for 0, …, k - 1.

        Returns
        -------
        Variable
            The variable.

        Raises
        ------
        InputError
            If the name is taken, or two states are the same.

        Examples
        --------
        >>> from credo.graphs import BayesianNetwork
        >>> BayesianNetwork().variable("die", 6).n_states
        6
        """
        return self._declare(name, states)

    def cpt(
        self, child: VariableLike, given: Iterable[VariableLike] = (), table: Any = None
    ) -> Factor:
        r"""Give the conditional probabilities of a variable.

        Parameters
        ----------
        child : Variable or name
            The variable.
        given : sequence of Variable or name, optional
            Its parents.
        table : array_like or dict
            An array with one axis per parent, in the order of ``given``, and the child on the last
            axis. Or ``{(parent states): row}``, for a single parent ``{state: row}``, for none the
            row itself. A row lists probabilities in the order of the child's states, or is
            ``{state: probability}``.

        Returns
        -------
        Factor
            The conditional probabilities, as a factor over the parents and the child.

        Raises
        ------
        ShapeError
            If the axes do not fit the states.
        InputError
            If a row is no distribution, names its parents' states; if the child has one already.
        LabelError
            If a variable or a state is not known.

        Notes
        -----
        A row that sums to one within the tolerance is divided by its sum.

        Examples
        --------
        >>> from credo.graphs import BayesianNetwork
        >>> net = BayesianNetwork()
        >>> for name in ("rain", "wet"):
        ...     _ = net.variable(name, ["no", "yes"])
        >>> net.cpt("wet", ["rain"], [[0.9, 0.1], [0.3, 0.6]])
        Traceback (most recent call last):
        credo.exceptions.InputError: CPT of 'wet': the row for 'rain' = 'yes' sums to 0.9, ...
        """
        variables, scope = self._family(child, given)
        values = frozen(as_conditional(table, variables, self.tolerance))
        factor = Factor(variables, values, child=variables[-1])
        self._take(factor, scope)
        return factor

    def parents(self, name: VariableLike) -> tuple[Label, ...]:
        """Give the names of a variable's parents, in the order of its table.

        Parameters
        ----------
        name : Variable or name
            The variable.

        Returns
        -------
        tuple of Hashable
            Names; empty if there are none.

        Examples
        --------
        >>> from credo.graphs import BayesianNetwork
        >>> net = BayesianNetwork.from_arrays(
        ...     ["a", "b"], [(0, 1)] * 2, [[], [0]], [0.5, 0.5, 1.0, 0.0, 0.0, 1.0]
        ... )
        >>> net.parents("b")
        ('a',)
        """
        scope = self._scope_of(self._variables.find(name))
        return tuple(self._variables.names[place] for place in scope[:-1])

    def children(self, name: VariableLike) -> tuple[Label, ...]:
        """Give the names of a variable's children, in the order of the variables.

        Parameters
        ----------
        name : Variable or name
            The variable.

        Returns
        -------
        tuple of Hashable
            Names; empty if there are none.

        Examples
        --------
        >>> from credo.graphs import BayesianNetwork
        >>> net = BayesianNetwork.from_arrays(
        ...     ["a", "b"], [(0, 1)] * 2, [[], [0]], [0.5, 0.5, 1.0, 0.0, 0.0, 1.0]
        ... )
        >>> net.children("a")
        ('b',)
        """
        place = self._variables.find(name)
        if self._arrays is None:
            places = [v for v in sorted(self._cpts) if place in self._cpts[v][1][:-1]]
        else:
            touched = self._arrays.scope == place
            factors = self._arrays.scope_start[1:].searchsorted(touched.nonzero()[0], "right")
            places = [v for v in self._arrays.owner[factors].tolist() if v != place]
        return tuple(self._variables.names[v] for v in places)

    def table(self, name: VariableLike) -> F64:
        """Give the conditional probabilities of a variable as an array.

        Parameters
        ----------
        name : Variable or name
            The variable.

        Returns
        -------
        ndarray
            One axis per parent, then the child. A rule is written out.

        Raises
        ------
        InputError
            If none were given yet, or if a rule has more than 2**24 cells.

        Examples
        --------
        >>> from credo.graphs import BayesianNetwork
        >>> net = BayesianNetwork()
        >>> _ = net.variable("coin", ["heads", "tails"])
        >>> _ = net.cpt("coin", table={"tails": 0.25, "heads": 0.75})
        >>> net.table("coin")
        array([0.75, 0.25])
        """
        place = self._variables.find(name)
        if self._arrays is not None:
            found = self.factors[place]
        else:
            self._scope_of(place)
            found = self._cpts[place][0]
        return found.values if isinstance(found, Factor) else found.table()

    def _scope_of(self, place: int) -> Scope:
        """Give the positions of the parents of a variable and of itself."""
        if self._arrays is not None:
            return scope_of(self._arrays, place)
        if place not in self._cpts:
            raise InputError(_lacking(self._variables.names[place]))
        return self._cpts[place][1]

    def _empty(self) -> Self:
        """Make a network without variables, with the same tolerance."""
        return type(self)(self.tolerance)

    def _welcome(self, child: int) -> None:
        """Check that a variable has no conditional probabilities yet."""
        if child in self._cpts:
            raise InputError(
                f"Variable {self._variables.names[child]!r} has its CPT already. A variable has "
                f"one; give all its parents in that."
            )

    def _take(self, factor: AnyFactor, scope: Scope) -> None:
        """Add a factor that was checked."""
        self._cpts[scope[-1]] = factor, scope

    def _listed(self) -> tuple[AnyFactor, ...]:
        """List the factors in the order of the variables."""
        return tuple(self._cpts[place][0] for place in sorted(self._cpts))

    def _assembled(self) -> Wiring:
        """Check that every variable has its probabilities and that there is no cycle."""
        if len(self._cpts) < len(self):
            lacking = [v for i, v in enumerate(self._variables.names) if i not in self._cpts]
            raise InputError(_lacking(*lacking))
        pairs = [self._cpts[place] for place in range(len(self))]
        scopes = [scope for _, scope in pairs]
        check_acyclic([scope[:-1] for scope in scopes], self._variables.names)
        return assemble(self._variables, [factor for factor, _ in pairs], scopes, owned=True)

    def _copy_factors(self, twin: Self) -> None:
        """Hand the factors to a twin."""
        twin._cpts = self._cpts.copy()


def _lacking(*names: Label) -> str:
    """Say that variables have no conditional probabilities."""
    which = f"Variable {names[0]!r} has" if len(names) == 1 else f"{listing(names)} have"
    return f"{which} no CPT. Give one with net.cpt({names[0]!r}, given=[...], table=...)."


#: Kinds of states that are plain already, and never unlike themselves as NaN is.
_PLAIN_KINDS = frozenset({str, int, bool})


def wiring_of(
    names: Any, states: Any, parents: Sequence[Sequence[int]], values: Any, tolerance: float
) -> Wiring:
    """Check the arrays of a Bayesian network and lay them out."""
    names = as_labels(names, "A BayesianNetwork", "names")
    states = _checked_states(names, states)
    n = len(names)
    counts, flat = _checked_parents(names, parents)
    scope_start = np.concatenate([[0], np.cumsum(counts + 1)])
    scope = np.empty(scope_start[-1], dtype=np.int64)
    is_child = np.zeros(len(scope), dtype=bool)
    is_child[scope_start[1:] - 1] = True
    scope[is_child], scope[~is_child] = np.arange(n), flat
    if (flat >= np.repeat(np.arange(n), counts)).any():
        check_acyclic(parents, names)
    n_states = np.fromiter(map(len, states), dtype=np.int64, count=n)
    numbers = np.array(as_floats(values, "A BayesianNetwork", "values")).ravel()
    counts = _row_counts(n_states, scope, scope_start, numbers.size)
    return Wiring(
        names=names,
        states=states,
        n_states=n_states,
        scope_start=scope_start,
        scope=scope.astype(np.int32),
        table=np.arange(n, dtype=np.int32),
        table_start=np.concatenate([[0], np.cumsum(counts * n_states)]),
        values=_divided(numbers, counts, Variables(names, states), parents, tolerance),
        log_scale=np.zeros(n),
        log_values=None,
        owner=np.arange(n, dtype=np.int32),
    )


def _checked_states(names: Labels, states: Any) -> tuple[Labels, ...]:
    """Check one list of states per variable; lists of text and numbers are checked at once."""
    if len(states) != len(names):
        raise ShapeError(
            f"A BayesianNetwork of {len(names)} names needs as many lists of states. "
            f"Got {len(states)}."
        )
    listed = tuple(states)
    are_plain = all(type(each) is tuple for each in listed) and _PLAIN_KINDS.issuperset(
        map(type, chain.from_iterable(listed))
    )
    if are_plain and all(0 < len(each) == len(set(each)) for each in listed):
        return listed
    return tuple(as_states(each, name) for each, name in zip(listed, names, strict=True))


def _checked_parents(names: Labels, parents: Any) -> tuple[Int64, Int64]:
    """Count the parents of each variable and lay them flat; they must exist and differ."""
    n = len(names)
    if len(parents) != n:
        raise ShapeError(
            f"A BayesianNetwork of {n} names needs as many lists of parents. Got {len(parents)}."
        )
    counts = np.fromiter(map(len, parents), dtype=np.int64, count=n)
    flat = np.fromiter(chain.from_iterable(parents), dtype=np.int64, count=int(counts.sum()))
    children = np.repeat(np.arange(n), counts)
    outside = (flat < 0) | (flat >= n)
    if outside.any():
        place = int(np.argmax(outside))
        raise InputError(
            f"Variable {names[children[place]]!r} has the parent number {flat[place]}, but the "
            f"{n} variables are numbered from 0 to {n - 1}."
        )
    itself = flat == children
    if itself.any():
        name = names[children[int(np.argmax(itself))]]
        raise InputError(f"Variable {name!r} cannot be its own parent.")
    pairs = np.sort(children * n + flat)
    twice = pairs[1:] == pairs[:-1]
    if twice.any():
        child, parent = divmod(int(pairs[int(np.argmax(twice))]), n)
        raise InputError(f"Variable {names[child]!r} has the parent {names[parent]!r} twice.")
    return counts, flat


def _row_counts(n_states: Int64, scope: Int64, scope_start: Int64, size: int) -> Int64:
    """Count the rows of each table, once it is known that all cells are there."""
    cells = np.multiply.reduceat(n_states[scope].astype(np.float64), scope_start[:-1])
    if cells.sum() != size:
        raise ShapeError(
            f"The tables of the BayesianNetwork have {cells.sum():.0f} cells in all. "
            f"Got {size} values."
        )
    return cells.astype(np.int64) // n_states


def _divided(
    values: F64, counts: Int64, variables: Variables, parents: Any, tolerance: float
) -> F64:
    """Check that all rows are distributions, and divide them by their sums."""
    n_states = np.fromiter(map(len, variables.states), dtype=np.int64, count=len(variables))
    lengths = np.repeat(n_states, counts)
    rows = divided(values, lengths, tolerance)
    if rows.fault < 0:
        return rows.values
    ends = np.cumsum(counts)
    child = int(np.searchsorted(ends, rows.fault, "right"))
    start = int(lengths[: rows.fault].sum())
    fault = fault_of(values[start : start + int(n_states[child])], rows.total, tolerance)
    given = [variables[int(parent)] for parent in parents[child]]
    row = row_name(rows.fault - int(ends[child] - counts[child]), given)
    raise InputError(f"CPT of {variables.names[child]!r}: {row} {fault}")


def check_acyclic(parents: Sequence[Sequence[int]], names: Sequence[Label]) -> None:
    """Take away variables whose parents are gone; if some remain, name a cycle among them."""
    missing = [len(each) for each in parents]
    children: list[list[int]] = [[] for _ in parents]
    for child, each in enumerate(parents):
        for parent in each:
            children[parent].append(child)
    free = [place for place, count in enumerate(missing) if not count]
    for place in free:  # grows while it is walked
        for child in children[place]:
            missing[child] -= 1
            if not missing[child]:
                free.append(child)
    if len(free) < len(missing):
        cycle = " → ".join(repr(names[place]) for place in _cycle(parents, missing))
        raise InputError(f"The network has the cycle {cycle}. Turn or remove one of its arrows.")


def _cycle(parents: Sequence[Sequence[int]], missing: list[int]) -> list[int]:
    """Walk from parent to parent among what remains until a variable comes again."""
    place = next(place for place, count in enumerate(missing) if count)
    seen: dict[int, int] = {}
    while place not in seen:
        seen[place] = len(seen)
        place = int(next(parent for parent in parents[place] if missing[parent]))
    walk = list(seen)[seen[place] :]
    return [place, *reversed(walk)]
