"""Bayesian networks: conditional probabilities on a directed acyclic graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace as with_fields
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import Any, Self, final

import numpy as np

from credo import _checks as check
from credo._types import F64, Label, Labels, RandomState
from credo.exceptions import InputError, ShapeError
from credo.graphs.conditional_table import ConditionalTable
from credo.graphs.factors import Factor, divide_rows, name_row, read_conditional
from credo.graphs.forward_draws import ForwardDraws, named
from credo.graphs.models import AbstractRuleModel, AnyFactor, Scope, scope_of
from credo.graphs.variables import Variable, VariableLike, as_states
from credo.graphs.wiring import Wiring, starts

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
    Variables may be declared, and tables given, in any order; a table whose parents close a cycle
    is refused. After ``compile`` the network is frozen; ``copy`` gives one that can be added to.
    ``replace``, ``with_cpt``, ``with_arc``, ``without_arc`` and ``without`` return changed copies.

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

    _kin = "parents"

    def __init__(self, tolerance: float = TOLERANCE) -> None:
        super().__init__()
        self.tolerance = check.number(tolerance, "tolerance of a BayesianNetwork", 0)
        self._above: set[int] = set()  #: variables that are parents

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
        rain  wet = no  wet = yes
        no         0.9        0.1
        yes        0.1        0.9
        """
        net = cls(tolerance)
        net._arrays = _wire(names, states, parents, values, net.tolerance)
        net._variables = net._arrays.variables
        return net

    def cpt(
        self, child: VariableLike, given: Iterable[VariableLike] = (), table: Any = None
    ) -> Factor:
        r"""Take the conditional probabilities of a variable.

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
            If a row is not a distribution, names its parents' states; if the child has one already.
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
        values = read_conditional(table, variables, self.tolerance)
        return self._take(Factor(variables, values, child=variables[-1]), scope)

    # --- changed copies --------------------------------------------------------

    def replace(self, tables: Mapping[Any, Any]) -> BayesianNetwork:
        """Return a copy with other conditional probabilities for some variables.

        Parameters
        ----------
        tables : mapping of Variable or name to array_like or dict
            The new tables, as ``cpt`` takes them; the parents stay.

        Returns
        -------
        BayesianNetwork
            The copy; this network is not changed.

        Raises
        ------
        InputError, ShapeError, LabelError
            As of ``cpt``.

        See Also
        --------
        with_cpt : Change the parents too.
        credo.infer : Takes such ``tables`` for one question.

        Examples
        --------
        >>> from credo.graphs import BayesianNetwork
        >>> net = BayesianNetwork()
        >>> _ = net.variable("coin", ["heads", "tails"])
        >>> _ = net.cpt("coin", table=[0.5, 0.5])
        >>> net.replace({"coin": [0.75, 0.25]}).table("coin")
        coin = heads  coin = tails
                0.75          0.25
        """
        if not isinstance(tables, Mapping):
            raise InputError(
                f"The tables must be given by the name of the variable, {{name: table}}. Got "
                f"{type(tables).__name__}."
            )
        held, arrays = self._held.copy(), self._arrays
        values = np.empty(0) if arrays is None else arrays.values.copy()
        for name, table in tables.items():
            scope = self._scope_of(self._variables.find(name))
            variables = tuple(self._variables[place] for place in scope)
            cells = read_conditional(table, variables, self.tolerance)
            if arrays is None:
                held[scope[-1]] = Factor(variables, cells, child=variables[-1]), scope
            else:
                values[slice(*arrays.table_start[scope[-1] :][:2].tolist())] = cells.ravel()
        if arrays is None:
            return self._copy_with(_held=held)
        return self._copy_with(_arrays=with_fields(arrays, values=values))

    def with_cpt(
        self, child: VariableLike, given: Iterable[VariableLike] | None = None, table: Any = None
    ) -> BayesianNetwork:
        """Return a copy in which a variable has another table, and other parents if need be.

        Parameters
        ----------
        child : Variable or name
            The variable.
        given : sequence of Variable or name, optional
            Its parents; those that it has by default.
        table : array_like or dict
            Its conditional probabilities, as ``cpt`` takes them.

        Returns
        -------
        BayesianNetwork
            The copy; this network is not changed.

        Raises
        ------
        InputError, ShapeError, LabelError
            As of ``cpt``; also if the parents close a cycle.

        Examples
        --------
        >>> from credo.graphs import BayesianNetwork
        >>> net = BayesianNetwork.from_arrays(
        ...     ["a", "b"], [(0, 1)] * 2, [[], [0]], [0.5, 0.5, 1.0, 0.0, 0.0, 1.0]
        ... )
        >>> net.with_cpt("b", [], [0.25, 0.75]).parents("b")
        ()
        """
        parents = self.parents(child) if given is None else given
        place = self._variables.find(child)
        net = self._of_some([v for v in range(len(self)) if v != place], range(len(self)))
        net.cpt(child, parents, table)
        return net

    def with_arc(self, parent: VariableLike, child: VariableLike) -> BayesianNetwork:
        """Return a copy with one more arc; the child's rows are the same for each new state.

        Parameters
        ----------
        parent, child : Variable or name
            From where to where; the parent becomes the last one.

        Returns
        -------
        BayesianNetwork
            The copy, with the same joint distribution until ``replace`` changes the table.

        Raises
        ------
        InputError
            If the arc is there already, or would close a cycle, which is named.

        Examples
        --------
        >>> from credo.graphs import BayesianNetwork
        >>> net = BayesianNetwork.from_arrays(
        ...     ["a", "b"], [(0, 1)] * 2, [[], []], [0.5, 0.5, 0.1, 0.9]
        ... )
        >>> net.with_arc("a", "b").table("b")
        a  b = 0  b = 1
        0    0.1    0.9
        1    0.1    0.9
        """
        new, last = self[parent], self[child]
        parents = self.parents(child)
        if new.name in parents:
            raise InputError(f"{new.name!r} is a parent of {last.name!r} already.")
        table = np.expand_dims(self.table(child), -2).repeat(new.n_states, axis=-2)
        return self.with_cpt(child, [*parents, new.name], table)

    def without_arc(
        self, parent: VariableLike, child: VariableLike, weights: Any = None
    ) -> BayesianNetwork:
        """Return a copy without an arc; the child's rows are averaged over the parent's states.

        Parameters
        ----------
        parent, child : Variable or name
            From where to where.
        weights : array_like or dict, optional
            How much each state of the parent counts; all the same by default.

        Returns
        -------
        BayesianNetwork
            The copy.

        Raises
        ------
        InputError
            If there is no such arc.

        Notes
        -----
        With the parent's probabilities as weights the child keeps its own, if the parent is
        independent of the other parents.

        Examples
        --------
        >>> from credo.graphs import BayesianNetwork
        >>> net = BayesianNetwork.from_arrays(
        ...     ["a", "b"], [(0, 1)] * 2, [[], [0]], [0.5, 0.5, 1.0, 0.0, 0.0, 1.0]
        ... )
        >>> net.without_arc("a", "b", weights=[3, 1]).table("b")
        b = 0  b = 1
         0.75   0.25
        """
        old, last = self[parent], self[child]
        parents = self.parents(child)
        if old.name not in parents:
            raise InputError(
                f"{old.name!r} is no parent of {last.name!r}, which has "
                f"{check.listing(parents) or 'none'}."
            )
        axis = parents.index(old.name)
        given = np.ones(old.n_states) if weights is None else weights
        shares = check.per_label(given, old.states, f"weights of the states of {old.name!r}")
        check.distributions(shares[None], "weights of without_arc", normalise=True, first_row=None)
        table = np.average(self.table(child), axis=axis, weights=shares)
        return self.with_cpt(child, [name for name in parents if name != old.name], table)

    def without(self, *names: VariableLike) -> BayesianNetwork:
        """Return a copy without some variables, which must be no parents of those that stay.

        Parameters
        ----------
        *names : Variable or name
            The variables to leave out.

        Returns
        -------
        BayesianNetwork
            The copy; the joint distribution of the others is what it was.

        Raises
        ------
        InputError
            If one is a parent of a variable that stays; names that.

        Examples
        --------
        >>> from credo.graphs import BayesianNetwork
        >>> net = BayesianNetwork.from_arrays(
        ...     ["a", "b"], [(0, 1)] * 2, [[], [0]], [0.5, 0.5, 1.0, 0.0, 0.0, 1.0]
        ... )
        >>> net.without("b")
        <BayesianNetwork: 1 variables, 1 factors, open>
        """
        gone = {self._variables.find(name) for name in names}
        for place in sorted(gone):
            name = self._variables.names[place]
            kept = [c for c in self.children(name) if self._variables.find(c) not in gone]
            if kept:
                raise InputError(
                    f"{name!r} is a parent of {check.listing(kept)}. Leave these out too, or "
                    f"remove the arcs first: net.without_arc({name!r}, {kept[0]!r})."
                )
        stay = [place for place in range(len(self)) if place not in gone]
        return self._of_some(stay, stay)

    def _of_some(self, with_tables: Iterable[int], stay: Iterable[int]) -> BayesianNetwork:
        """Return a network of the variables that stay, with the tables of some of them."""
        net = BayesianNetwork(self.tolerance)
        number = {place: i for i, place in enumerate(stay)}
        for place in number:
            net._variables.add(self._variables[place])
        for place in with_tables:
            net._take(self._factor_of(place), tuple(number[v] for v in self._scope_of(place)))
        return net

    # --- looking ---------------------------------------------------------------

    def parents(self, name: VariableLike) -> tuple[Label, ...]:
        """Return the names of a variable's parents, in the order of its table.

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
        """Return the names of a variable's children, in the order of the variables.

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
            places = [v for v in sorted(self._held) if place in self._held[v][1][:-1]]
        else:
            touched = self._arrays.scope == place
            factors = self._arrays.scope_start[1:].searchsorted(touched.nonzero()[0], "right")
            places = [v for v in self._arrays.owner[factors].tolist() if v != place]
        return tuple(self._variables.names[v] for v in places)

    def table(self, name: VariableLike) -> ConditionalTable:
        """Return the conditional probabilities of a variable, an array with its names.

        Parameters
        ----------
        name : Variable or name
            The variable.

        Returns
        -------
        ConditionalTable
            An array, one axis per parent, then the child, that prints with names and states and
            has ``to_frame``. A rule is written out.

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
        coin = heads  coin = tails
                0.75          0.25
        """
        place = self._variables.find(name)
        self._scope_of(place)
        found = self._factor_of(place)
        cells = found.values if isinstance(found, Factor) else found.table()
        return ConditionalTable(cells, self[name], [self[parent] for parent in self.parents(name)])

    def sample(self, n: int, random_state: RandomState = None) -> dict[Label, list[Label]]:
        """Draw configurations, each variable given its parents.

        Parameters
        ----------
        n : int
            How many.
        random_state : int or Generator, optional
            Seed or generator.

        Returns
        -------
        dict
            ``{variable: n states}``, in the order of the variables.

        Raises
        ------
        InputError
            If a variable has no conditional probabilities yet.

        See Also
        --------
        credo.infer : ``infer(net, evidence).sample(n)`` draws given evidence.

        Notes
        -----
        Exact and independent draws; time and memory grow with n times the number of variables.
        The network is compiled, as by ``infer``.

        References
        ----------
        .. [1] M. Henrion, "Propagating uncertainty in Bayesian networks by probabilistic logic
           sampling", *Uncertainty in Artificial Intelligence* 2, 1988.

        Examples
        --------
        >>> from credo.graphs import BayesianNetwork
        >>> net = BayesianNetwork.from_arrays(
        ...     ["rain", "wet"], [("no", "yes")] * 2, [[], [0]], [0.8, 0.2, 0.9, 0.1, 0.0, 1.0]
        ... )
        >>> net.sample(4, random_state=0)
        {'rain': ['no', 'no', 'no', 'no'], 'wet': ['no', 'yes', 'no', 'no']}
        """
        check.count(n, "n of sample", 0)
        rng = check.generator(random_state, "random_state of sample")
        wiring = self.compile()
        return named(wiring, ForwardDraws(wiring, {}).draw(n, rng)[0])

    def _factor_of(self, place: int) -> AnyFactor:
        """Return the conditional probabilities of a variable."""
        return self._held[place][0] if self._arrays is None else self.factors[place]

    def _scope_of(self, place: int) -> Scope:
        """Return the positions of the parents of a variable and of itself."""
        if self._arrays is not None:
            return scope_of(self._arrays, place)
        if place not in self._held:
            raise InputError(_lacking(self._variables.names[place]))
        return self._held[place][1]

    def _family(
        self, child: VariableLike, parents: Iterable[VariableLike]
    ) -> tuple[tuple[Variable, ...], Scope]:
        """Check too that the child has no conditional probabilities yet."""
        variables, scope = super()._family(child, parents)
        if scope[-1] in self._held:
            raise InputError(
                f"Variable {variables[-1].name!r} has its CPT already. A variable has one; give "
                "all its parents in that, or change it in a copy: net.with_cpt(...)."
            )
        self._refuse_cycle(scope)
        return variables, scope

    def _refuse_cycle(self, scope: Scope) -> None:
        """Refuse parents that come after the child."""
        *parents, child = scope
        after: dict[int, int] = dict.fromkeys(parents, child)  # the child of each, on the way up
        todo = parents if child in self._above else []
        while todo and child not in after:
            here = todo.pop()
            above = [v for v in self._held.get(here, (None, ()))[1] if v not in after]
            after |= dict.fromkeys(above, here)
            todo += above
        if child in after:
            cycle = [child, after[child]]
            while cycle[-1] != child:
                cycle.append(after[cycle[-1]])
            raise _cyclic([self._variables.names[place] for place in cycle])

    def _key(self, scope: Scope) -> int:
        """Keep the factors in the order of their children."""
        return scope[-1]

    def _take(self, factor: Any, scope: Scope) -> Any:
        """Remember too which variables are parents."""
        self._above.update(scope[:-1])
        return super()._take(factor, scope)

    def _assemble(self, *, owned: bool = True) -> Wiring:
        """Check that every variable has its probabilities."""
        names = self._variables.names
        if len(self._held) < len(self):
            raise InputError(_lacking(*(v for i, v in enumerate(names) if i not in self._held)))
        return super()._assemble(owned=owned)


def _lacking(*names: Label) -> str:
    """Say that variables have no conditional probabilities."""
    which = f"Variable {names[0]!r} has" if len(names) == 1 else f"{check.listing(names)} have"
    return f"{which} no CPT. Give one with net.cpt({names[0]!r}, given=[...], table=...)."


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
        try:
            TopologicalSorter(dict(enumerate(parents))).prepare()
        except CycleError as error:
            raise _cyclic([names[place] for place in error.args[1]]) from None


def _cyclic(names: Sequence[Label]) -> InputError:
    """Return the error about a cycle, whose first variable is its last one too."""
    cycle = " → ".join(repr(name) for name in names)
    return InputError(f"The network has the cycle {cycle}. Turn or remove one of its arrows.")


# --- networks of arrays ---------------------------------------------------------------------------

#: Kinds of states that are plain already, and never unlike themselves as NaN is.
_PLAIN_KINDS = frozenset({str, int, bool})


def _wire(names: Any, states: Any, parents: Any, values: Any, tolerance: float) -> Wiring:
    """Check the arrays of a Bayesian network and lay them out."""
    names = check.labels(names, "names of a BayesianNetwork")
    n = len(names)
    for what, given in (("states", states), ("parents", parents)):
        if len(given) != n:
            raise ShapeError(
                f"A BayesianNetwork of {n} names needs as many lists of {what}. Got {len(given)}."
            )
    states = _as_lists_of_states(names, tuple(states))
    counts = np.fromiter(map(len, parents), dtype=np.int64, count=n)
    flat = np.fromiter(chain.from_iterable(parents), dtype=np.int64, count=int(counts.sum()))
    children = np.repeat(np.arange(n), counts)
    _check_parents(names, children, flat)
    if (flat >= children).any():
        check_acyclic(parents, names)
    scope_start = starts(counts + 1)
    by_child = np.argsort(np.append(children, np.arange(n)), kind="stable")
    scope = np.append(flat, np.arange(n))[by_child]
    n_states = np.fromiter(map(len, states), dtype=np.int64, count=n)
    numbers = np.array(check.floats(values, "values of a BayesianNetwork")).ravel()
    cells = np.multiply.reduceat(n_states[scope].astype(np.float64), scope_start[:-1])
    if cells.sum() != numbers.size:
        raise ShapeError(
            f"The tables of the BayesianNetwork have {cells.sum():.0f} cells in all. "
            f"Got {numbers.size} values."
        )
    row_start = starts(cells.astype(np.int64) // n_states)

    def name(row: int) -> str:
        child = int(np.searchsorted(row_start, row, "right")) - 1
        given = [Variable(names[parent], states[parent]) for parent in parents[child]]
        return f"CPT of {names[child]!r}: {name_row(row - int(row_start[child]), given)}"

    return Wiring(
        names=names,
        states=states,
        n_states=n_states,
        scope_start=scope_start,
        scope=scope.astype(np.int32),
        table=np.arange(n, dtype=np.int32),
        table_start=starts(cells),
        values=divide_rows(numbers, np.repeat(n_states, np.diff(row_start)), tolerance, name),
        log_scale=np.zeros(n),
        log_values=None,
        owner=np.arange(n, dtype=np.int32),
    )


def _as_lists_of_states(names: Labels, listed: tuple[Any, ...]) -> tuple[Labels, ...]:
    """Check the states of all variables; tuples of text and numbers are checked at once."""
    are_plain = all(type(each) is tuple for each in listed) and _PLAIN_KINDS.issuperset(
        map(type, chain.from_iterable(listed))
    )
    if are_plain and all(0 < len(each) == len(set(each)) for each in listed):
        return listed
    return tuple(as_states(each, name) for each, name in zip(listed, names, strict=True))


def _check_parents(names: Labels, children: Any, flat: Any) -> None:
    """Check that parents exist and differ."""
    n = len(names)
    outside = (flat < 0) | (flat >= n)
    if outside.any():
        place = int(np.argmax(outside))
        raise InputError(
            f"Variable {names[children[place]]!r} has the parent number {flat[place]}, but the "
            f"{n} variables are numbered from 0 to {n - 1}."
        )
    pairs = np.sort(children * n + flat)
    twice = pairs[1:] == pairs[:-1]
    if twice.any():
        child, parent = divmod(int(pairs[int(np.argmax(twice))]), n)
        raise InputError(f"Variable {names[child]!r} has the parent {names[parent]!r} twice.")
