"""What all models share: variables, rules, compiling to a Wiring, freezing and copying."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from itertools import accumulate, chain, product
from typing import Any, Self, TypeAlias, TypeVar, final, overload

import numpy as np

from credo._results import Storable
from credo._types import F64, Label, Labels
from credo._validation.arrays import as_vector, frozen, in_unit_interval
from credo._validation.labels import hint, listing, plain
from credo.exceptions import InputError, LabelError
from credo.graphs.factors import Factor
from credo.graphs.structured import (
    MOST_CELLS,
    Deterministic,
    NoisyAnd,
    NoisyOr,
    Structured,
    as_power,
    two_states,
)
from credo.graphs.variables import Variable, VariableLike, Variables
from credo.graphs.wiring import Wiring

#: A factor of either kind.
AnyFactor: TypeAlias = Factor | Structured

#: The positions of a factor's variables, in the order of its axes.
Scope: TypeAlias = tuple[int, ...]


def assemble(
    variables: Variables, factors: Sequence[AnyFactor], scopes: Sequence[Scope], *, owned: bool
) -> Wiring:
    """Lay factors one after the other; with ``owned``, the last variable of each owns it."""
    tables = [factor for factor in factors if isinstance(factor, Factor)]
    table = list(range(len(tables)))
    structured: list[Structured] = []
    if len(tables) < len(factors):
        structured = [factor for factor in factors if not isinstance(factor, Factor)]
        numbers = iter(table)
        table = [next(numbers) if isinstance(factor, Factor) else -1 for factor in factors]
    owner = [scope[-1] for scope in scopes] if owned else [-1] * len(factors)
    return Wiring(
        names=tuple(variables.names),
        states=tuple(variables.states),
        n_states=np.array([len(states) for states in variables.states], dtype=np.int64),
        scope_start=np.array(_starts(map(len, scopes)), dtype=np.int64),
        scope=np.array(list(chain.from_iterable(scopes)), dtype=np.int32),
        table=np.array(table, dtype=np.int32),
        table_start=np.array(_starts(factor.values.size for factor in tables), dtype=np.int64),
        values=_joined([factor.values for factor in tables]),
        log_scale=np.array([factor.log_scale for factor in tables], dtype=np.float64),
        log_values=_joined_logs(tables),
        owner=np.array(owner, dtype=np.int32),
        structured=tuple(structured),
    )


def _starts(lengths: Iterator[int]) -> list[int]:
    """Give where each of contiguous parts starts, and where the last ends."""
    return list(accumulate(lengths, initial=0))


def _joined(parts: Sequence[F64]) -> F64:
    """Lay arrays one after the other, flat."""
    return np.concatenate([part.ravel() for part in parts]) if parts else np.empty(0)


def _joined_logs(tables: Sequence[Factor]) -> F64 | None:
    """Lay the logs of tables one after the other, if some are too wide for linear values."""
    if all(factor.log_values is None for factor in tables):
        return None
    with np.errstate(divide="ignore"):
        parts = [np.log(f.values) if f.log_values is None else f.log_values for f in tables]
    return _joined(parts)


@final
class Factors(Sequence[AnyFactor]):
    """The factors of a wiring without rules, as objects that are made when looked at."""

    __slots__ = ("_chosen", "_wiring")

    def __init__(self, wiring: Wiring, chosen: range | None = None) -> None:
        self._wiring = wiring
        self._chosen = range(len(wiring.table)) if chosen is None else chosen

    def __len__(self) -> int:
        return len(self._chosen)

    @overload
    def __getitem__(self, index: int) -> AnyFactor: ...
    @overload
    def __getitem__(self, index: slice) -> Factors: ...
    def __getitem__(self, index: int | slice) -> AnyFactor | Factors:
        chosen = self._chosen[index]
        return Factors(self._wiring, chosen) if isinstance(chosen, range) else self._made(chosen)

    def __repr__(self) -> str:
        return f"<{len(self)} factors>"

    def _made(self, number: int) -> Factor:
        """Make one factor; its table is a view."""
        wiring = self._wiring
        table = wiring.table[number]
        cells = slice(*wiring.table_start[table : table + 2].tolist())
        variables = tuple(wiring.variables[place] for place in scope_of(wiring, number))
        shape = tuple(variable.n_states for variable in variables)
        logs = wiring.log_values
        return Factor(
            variables,
            frozen(wiring.values[cells].reshape(shape)),
            float(wiring.log_scale[table]),
            None if logs is None else frozen(logs[cells].reshape(shape)),
            child=variables[-1] if wiring.owner[number] >= 0 else None,
        )


def scope_of(wiring: Wiring, number: int) -> Scope:
    """Give the positions of the variables of a factor."""
    start, stop = wiring.scope_start[number : number + 2]
    return tuple(wiring.scope[start:stop].tolist())


class AbstractModel(Storable, ABC):
    """Variables and factors, open to additions until they are compiled.

    A model made from arrays holds these (``_arrays``) and makes objects when they are asked for.
    """

    def __init__(self) -> None:
        self._variables = Variables([], [])
        self._arrays: Wiring | None = None
        self._wiring: Wiring | None = None

    @classmethod
    def _of_arrays(cls, wiring: Wiring) -> Self:
        """Make a model that holds arrays."""
        model = cls()
        model._variables = wiring.variables
        model._arrays = wiring
        return model

    # --- looking ---------------------------------------------------------------

    @property
    def variables(self) -> Sequence[Variable]:
        """Give the variables in order."""
        names = self._variables.names
        return tuple(self._variables) if isinstance(names, list) else self._variables

    @property
    def names(self) -> Sequence[Label]:
        """Give the names of the variables in order."""
        names = self._variables.names
        return tuple(names) if isinstance(names, list) else names

    @property
    def factors(self) -> Sequence[AnyFactor]:
        """Give the factors in the order in which they are compiled; equal ones are all there."""
        return self._listed() if self._arrays is None else Factors(self._arrays)

    def __getitem__(self, name: VariableLike) -> Variable:
        return self._variables[self._variables.find(name)]

    def __contains__(self, name: object) -> bool:
        return name in self._variables

    def __len__(self) -> int:
        return len(self._variables)

    def __iter__(self) -> Iterator[Label]:
        return iter(self._variables.names)

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {len(self)} variables, {len(self.factors)} factors, "
            f"{'open' if self._wiring is None else 'compiled'}>"
        )

    # --- compiling -------------------------------------------------------------

    def compile(self) -> Wiring:
        """Compile to flat arrays, once; afterwards the model is frozen.

        Returns
        -------
        Wiring
            The compiled model; the same object each time.

        Raises
        ------
        InputError
            If the model is not complete.

        See Also
        --------
        copy : A model that can be added to.

        Examples
        --------
        >>> from credo.graphs import FactorGraph
        >>> graph = FactorGraph()
        >>> _ = graph.factor([graph.variable("coin", 2)], [0.5, 0.5])
        >>> graph.compile()
        <Wiring: 1 variables, 1 factors, 1 tables, 2 cells>
        """
        if self._wiring is None:
            self._wiring = self._assembled() if self._arrays is None else self._arrays
        return self._wiring

    def copy(self) -> Self:
        """Copy the model; the copy is open to additions.

        Returns
        -------
        model
            A model of the same kind. What is added to it is not added to this one.

        See Also
        --------
        compile : Freezes a model.

        Examples
        --------
        >>> from credo.graphs import FactorGraph
        >>> graph = FactorGraph()
        >>> _ = graph.compile()
        >>> twin = graph.copy()
        >>> _ = twin.variable("coin", 2)
        >>> len(graph), len(twin)
        (0, 1)
        """
        twin = self._empty()
        self._copy_to(twin)
        return twin

    def _copy_to(self, twin: Self) -> None:
        """Hand variables and factors to an empty model; arrays are shared until it is added to."""
        twin._variables = self._variables.grown() if self._arrays is None else self._variables
        twin._arrays = self._arrays
        self._copy_factors(twin)

    def _empty(self) -> Self:
        """Make a model without variables, with the same settings."""
        return type(self)()

    @abstractmethod
    def _listed(self) -> Sequence[AnyFactor]:
        """List the factors in the order in which they are compiled."""

    @abstractmethod
    def _assembled(self) -> Wiring:
        """Check that the model is complete and lay it out as arrays."""

    @abstractmethod
    def _copy_factors(self, twin: Self) -> None:
        """Hand the factors that are objects to a twin that has the variables already."""

    @abstractmethod
    def _take(self, factor: AnyFactor, scope: Scope) -> None:
        """Add a factor that was checked."""

    # --- adding ----------------------------------------------------------------

    def _open(self) -> None:
        """Make sure that the model can be added to."""
        if self._wiring is not None:
            raise InputError(
                f"This {type(self).__name__} has been compiled and is frozen. Add to a copy: "
                f"model = model.copy()."
            )
        if self._arrays is not None:
            arrays, self._arrays = self._arrays, None
            self._variables = self._variables.grown()
            for number, factor in enumerate(Factors(arrays)):
                self._take(factor, scope_of(arrays, number))

    def _declare(self, name: Label, states: Iterable[Label] | int) -> Variable:
        """Add a variable, whose name must be new."""
        self._open()
        variable = Variable(name, states)  # type: ignore[arg-type]  # it makes them a tuple
        if variable.name in self._variables.lookup:
            known: Labels = self[variable.name].states
            raise InputError(
                f"Variable {variable.name!r} is declared already, with states {listing(known)}. "
                f"Use another name, or the variable that {type(self).__name__} has."
            )
        self._variables.add(variable)
        return variable

    def _scope(self, variables: Any, owner: str) -> Scope:
        """Find the positions of variables, which must all differ."""
        if isinstance(variables, (str, Variable)) or not isinstance(variables, Iterable):
            raise InputError(
                f"{owner} needs a list of variables. Got the single one {variables!r}; pass it "
                f"in a list."
            )
        if isinstance(variables, AbstractSet):
            raise InputError(
                f"{owner} needs its variables in the order of the table's axes; a set has none. "
                "Pass a list."
            )
        scope = tuple(self._variables.find(variable) for variable in variables)
        if len(set(scope)) < len(scope):
            twice = next(place for place in scope if scope.count(place) > 1)
            name = self._variables.names[twice]
            raise InputError(f"{owner} has the variable {name!r} twice. Name each once.")
        return scope

    def _at(self, scope: Scope) -> tuple[Variable, ...]:
        """Give the variables at positions."""
        return tuple(self._variables[place] for place in scope)


_Gate = TypeVar("_Gate", NoisyOr, NoisyAnd)


class AbstractRuleModel(AbstractModel):
    """A model that a child can be added to by a rule over its parents."""

    def noisy_or(
        self, child: VariableLike, parents: Mapping[Any, float], leak: float = 0.0
    ) -> NoisyOr:
        r"""Add a noisy-OR: any active parent may turn the child on.

        .. math:: P(\text{off} \mid x) = (1 - \ell) \prod_{i:\, x_i = \text{on}} (1 - p_i)

        Parameters
        ----------
        child : Variable or name
            The child. Of its two states the first is off, the second on; so for the parents.
        parents : mapping of Variable or name to float
            Probability that the parent, being on, turns the child on by itself.
        leak : float, default 0
            Probability that the child is on although all parents are off.

        Returns
        -------
        NoisyOr
            The factor; never written out if only sums are asked for.

        Raises
        ------
        InputError
            If a variable has not two states, or a probability is not one.

        See Also
        --------
        noisy_and : Its dual.

        Examples
        --------
        >>> from credo.graphs import BayesianNetwork
        >>> net = BayesianNetwork()
        >>> for name in ("flu", "fever"):
        ...     _ = net.variable(name, ["no", "yes"])
        >>> net.noisy_or("fever", {"flu": 0.5}, leak=0.2).table()
        array([[0.8, 0.2],
               [0.4, 0.6]])
        """
        return self._gate(NoisyOr, child, parents, leak)

    def noisy_and(
        self, child: VariableLike, parents: Mapping[Any, float], leak: float = 0.0
    ) -> NoisyAnd:
        r"""Add a noisy-AND: any parent that is off may turn the child off.

        .. math:: P(\text{on} \mid x) = (1 - \ell) \prod_{i:\, x_i = \text{off}} (1 - p_i)

        Parameters
        ----------
        child : Variable or name
            The child. Of its two states the first is off, the second on; so for the parents.
        parents : mapping of Variable or name to float
            Probability that the parent, being off, turns the child off by itself.
        leak : float, default 0
            Probability that the child is off although all parents are on.

        Returns
        -------
        NoisyAnd
            The factor; never written out if only sums are asked for.

        Raises
        ------
        InputError
            If a variable has not two states, or a probability is not one.

        See Also
        --------
        noisy_or : Its dual.

        Examples
        --------
        >>> from credo.graphs import BayesianNetwork
        >>> net = BayesianNetwork()
        >>> for name in ("fuel", "runs"):
        ...     _ = net.variable(name, ["no", "yes"])
        >>> net.noisy_and("runs", {"fuel": 1.0}, leak=0.25).table()
        array([[1.  , 0.  ],
               [0.25, 0.75]])
        """
        return self._gate(NoisyAnd, child, parents, leak)

    def deterministic(
        self,
        child: VariableLike,
        parents: Iterable[VariableLike],
        function: Callable[..., Label],
    ) -> Deterministic:
        """Add a child that is a function of its parents.

        Parameters
        ----------
        child : Variable or name
            The child.
        parents : sequence of Variable or name
            Its parents.
        function : callable
            Takes the state of each parent, in their order, and gives the state of the child. It
            is called once for each joint state, at once.

        Returns
        -------
        Deterministic
            The factor.

        Raises
        ------
        LabelError
            If the function gives what is no state of the child; names the states of the parents.
        InputError
            If the table would have more than 2**24 cells.

        Examples
        --------
        >>> from credo.graphs import BayesianNetwork
        >>> net = BayesianNetwork()
        >>> for name in ("tuberculosis", "cancer", "either"):
        ...     _ = net.variable(name, [False, True])
        >>> _ = net.deterministic("either", ["tuberculosis", "cancer"], lambda t, c: t or c)
        >>> net.table("either")[0]
        array([[1., 0.],
               [0., 1.]])
        """
        variables, scope = self._family(child, parents)
        if not callable(function):
            raise InputError(
                f"The function for {variables[-1].name!r} must take the states of the parents and "
                f"give a state. Got {function!r}."
            )
        shape = [variable.n_states for variable in variables]
        if math.prod(shape) > MOST_CELLS:
            raise InputError(
                f"The function for {variables[-1].name!r} has {as_power(math.prod(shape))} cells "
                f"as a table; at most {as_power(MOST_CELLS)} are written out. Put variables in "
                "between."
            )
        joint = product(*(variable.states for variable in variables[:-1]))
        answers = [_answer(function(*states), states, variables) for states in joint]
        factor = Deterministic(variables, frozen(np.array(answers).reshape(shape[:-1])))
        self._take(factor, scope)
        return factor

    def _gate(
        self, kind: type[_Gate], child: VariableLike, parents: Mapping[Any, float], leak: float
    ) -> _Gate:
        """Check and add a noisy gate."""
        if not isinstance(parents, Mapping):
            raise InputError(
                f"The parents of a {kind.rule} must come with their probabilities, "
                f"{{parent: probability}}. Got {parents!r}."
            )
        variables, scope = self._family(child, parents)
        owner = f"the {kind.rule} for {variables[-1].name!r}"
        chances = [in_unit_interval(p, owner, f"probability of {k!r}") for k, p in parents.items()]
        values = as_vector(chances, owner, "probabilities") if chances else np.empty(0)
        checked = in_unit_interval(leak, owner, "leak")
        factor = kind(two_states(variables, kind.rule), frozen(values), checked)
        self._take(factor, scope)
        return factor

    def _family(
        self, child: VariableLike, parents: Iterable[VariableLike]
    ) -> tuple[tuple[Variable, ...], Scope]:
        """Find parents and child, which must all differ, and check that one more is welcome."""
        self._open()
        place = self._variables.find(child)
        name = self._variables.names[place]
        scope = (*self._scope(parents, f"The list of parents of {name!r}"), place)
        if place in scope[:-1]:
            raise InputError(f"Variable {name!r} cannot be its own parent.")
        self._welcome(place)
        return self._at(scope), scope

    @abstractmethod
    def _welcome(self, child: int) -> None:
        """Check that a rule for a child can be added."""

    @abstractmethod
    def _take(self, factor: AnyFactor, scope: Scope) -> None:
        """Add a factor that was checked."""


def _answer(answer: Any, states: tuple[Label, ...], variables: tuple[Variable, ...]) -> int:
    """Find what a function gave among the states of the child."""
    child = variables[-1]
    wanted = plain(answer)
    try:
        return child.states.index(wanted)
    except ValueError:
        given = [f"{v.name!r} = {s!r}" for v, s in zip(variables, states, strict=False)]
        raise LabelError(
            f"The function for {child.name!r} gave {wanted!r} for {', '.join(given)}, which is "
            f"no state of {child.name!r}. Known: {listing(child.states)}."
            f"{hint(wanted, child.states)}"
        ) from None
