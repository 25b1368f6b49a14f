"""What all models share: variables, rules, compiling to a Wiring, freezing and copying."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from typing import Any, ClassVar, Self, TypeAlias, TypeVar, final

import numpy as np

from credo import _checks as check
from credo._results import SHOWN, Drawable, Storable, html_table
from credo._types import Label
from credo.exceptions import InputError, LabelError
from credo.graphs.factors import Factor
from credo.graphs.structured import (
    Deterministic,
    NoisyAnd,
    NoisyOr,
    Structured,
    refuse_cells,
    two_states,
)
from credo.graphs.variables import Variable, VariableLike, Variables
from credo.graphs.wiring import Wiring, starts

#: A factor of either kind.
AnyFactor: TypeAlias = Factor | Structured

#: The positions of a factor's variables, in the order of its axes.
Scope: TypeAlias = tuple[int, ...]

_Any = TypeVar("_Any", bound=AnyFactor)
_Gate = TypeVar("_Gate", NoisyOr, NoisyAnd)


@final
class WiredFactors(Sequence[AnyFactor]):
    """The factors of a wiring without rules, as objects that are made when looked at."""

    __slots__ = ("_wiring",)

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring

    def __len__(self) -> int:
        return len(self._wiring.table)

    def __getitem__(self, index: Any) -> Any:
        number, wiring = range(len(self))[index], self._wiring
        if isinstance(number, range):
            return tuple(self[each] for each in number)
        table = wiring.table[number]
        cells = slice(*wiring.table_start[table : table + 2].tolist())
        variables = tuple(wiring.variables[place] for place in scope_of(wiring, number))
        shape = tuple(variable.n_states for variable in variables)
        logs = wiring.log_values
        return Factor(
            variables,
            check.frozen(wiring.values[cells].reshape(shape)),
            float(wiring.log_scale[table]),
            None if logs is None else check.frozen(logs[cells].reshape(shape)),
            child=variables[-1] if wiring.owner[number] >= 0 else None,
        )

    def __repr__(self) -> str:
        return f"<{len(self)} factors>"


def scope_of(wiring: Wiring, number: int) -> Scope:
    """Return the positions of the variables of a factor."""
    start, stop = wiring.scope_start[number : number + 2]
    return tuple(wiring.scope[start:stop].tolist())


class AbstractModel(Storable, Drawable, ABC):
    """Variables and factors, open to additions until they are compiled.

    A model made from arrays holds these (``_arrays``) and makes objects when they are asked for.
    """

    #: The method that names the variables beside a variable, if there is one.
    _kin: ClassVar[str | None] = None

    def __init__(self) -> None:
        self._variables = Variables([], [])
        #: Factors and their scopes by a key, in whose order they are compiled.
        self._held: dict[Any, tuple[AnyFactor, Scope]] = {}
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
        """Return the variables in order."""
        names = self._variables.names
        return tuple(self._variables) if isinstance(names, list) else self._variables

    @property
    def names(self) -> Sequence[Label]:
        """Return the names of the variables in order."""
        names = self._variables.names
        return tuple(names) if isinstance(names, list) else names

    @property
    def factors(self) -> Sequence[AnyFactor]:
        """Return the factors in the order in which they are compiled; equal ones are all there."""
        if self._arrays is not None:
            return WiredFactors(self._arrays)
        return tuple(factor for factor, _ in self._pairs())

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

    def _repr_html_(self) -> str:
        kin = [] if self._kin is None else [self._kin]
        rows = [
            (
                str(name),
                *map(check.listing, (self[name].states, *(getattr(self, k)(name) for k in kin))),
            )
            for name in self.names[:SHOWN]
        ]
        return html_table(repr(self)[1:-1], ("variable", "states", *kin), rows, len(self))

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
            self._wiring = self._assemble() if self._arrays is None else self._arrays
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
        return self._copy_with()

    def _copy_with(self, **parts: Any) -> Self:
        """Return a copy, which is open, with other parts."""
        twin = type(self).__new__(type(self))
        own: dict[str, Any] = {
            k: v.copy() for k, v in vars(self).items() if isinstance(v, (dict, set))
        }
        if self._arrays is None:
            own["_variables"] = self._variables.grown()
        vars(twin).update(vars(self) | own | {"_wiring": None} | parts)
        return twin

    def _pairs(self) -> list[tuple[AnyFactor, Scope]]:
        """Return the factors that are objects, and their scopes, in order."""
        return [self._held[key] for key in sorted(self._held)]

    def _assemble(self, *, owned: bool = False) -> Wiring:
        """Lay the factors one after the other; if ``owned``, each belongs to its last variable."""
        pairs = self._pairs()
        scopes = [scope for _, scope in pairs]
        is_table = np.array([isinstance(factor, Factor) for factor, _ in pairs], dtype=bool)
        tables = [factor for factor, _ in pairs if isinstance(factor, Factor)]
        last = [scope[-1] if owned else -1 for scope in scopes]
        is_wide = any(factor.log_values is not None for factor in tables)
        with np.errstate(divide="ignore"):
            logs = [
                np.ravel(np.log(f.values) if f.log_values is None else f.log_values)
                for f in tables
                if is_wide
            ]
        return Wiring(
            names=tuple(self._variables.names),
            states=tuple(self._variables.states),
            n_states=np.array([len(states) for states in self._variables.states], dtype=np.int64),
            scope_start=starts([len(scope) for scope in scopes]),
            scope=np.array(list(chain.from_iterable(scopes)), dtype=np.int32),
            table=np.where(is_table, np.cumsum(is_table) - 1, -1).astype(np.int32),
            table_start=starts([factor.values.size for factor in tables]),
            values=np.concatenate([np.empty(0), *(factor.values.ravel() for factor in tables)]),
            log_scale=np.array([factor.log_scale for factor in tables], dtype=np.float64),
            log_values=np.concatenate(logs) if logs else None,
            owner=np.array(last, dtype=np.int32),
            structured=tuple(factor for factor, _ in pairs if not isinstance(factor, Factor)),
        )

    @abstractmethod
    def _key(self, scope: Scope) -> Any:
        """Return the key under which a factor over a scope is held."""

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
            for number, factor in enumerate(WiredFactors(arrays)):
                self._take(factor, scope_of(arrays, number))

    def _take(self, factor: _Any, scope: Scope) -> _Any:
        """Add a factor that was checked, and return it."""
        self._held[self._key(scope)] = factor, scope
        return factor

    def _declare(self, variable: Variable) -> Variable:
        """Add a variable, whose name must be new."""
        if variable.name in self._variables.lookup:
            known = check.listing(self[variable.name].states)
            raise InputError(
                f"Variable {variable.name!r} is declared already, with states {known}. "
                f"Use another name, or the variable that {type(self).__name__} has."
            )
        self._variables.add(variable)
        return variable

    def _find(self, variables: Any, owner: str) -> tuple[tuple[Variable, ...], Scope]:
        """Return variables, which must all differ, and their positions."""
        scope = tuple(self._variables.find_each(variables, owner))
        return tuple(self._variables[place] for place in scope), scope


class AbstractRuleModel(AbstractModel):
    """A model that a child can be added to by a rule over its parents."""

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
        >>> from credo.graphs import FactorGraph
        >>> FactorGraph().variable("rain", ["no", "yes"])
        Variable(name='rain', states=('no', 'yes'))
        """
        self._open()
        return self._declare(Variable(name, states))  # type: ignore[arg-type]  # made a tuple

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
            If the function returns no state of the child; names the states of the parents.
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
        *parts, last = variables
        refuse_cells(variables, f"The function for {last.name!r}")
        answers = []
        for states in product(*(variable.states for variable in parts)):
            answer = function(*states)
            try:
                answers.append(check.position(answer, last.states, "state"))
            except LabelError as error:
                given = [f"{v.name!r} = {s!r}" for v, s in zip(parts, states, strict=True)]
                raise LabelError(
                    f"The function for {last.name!r}, given {', '.join(given)}: {error}"
                ) from None
        found = np.array(answers).reshape([variable.n_states for variable in parts])
        return self._take(Deterministic(variables, check.frozen(found)), scope)

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
        chances = [
            check.number(p, f"probability of {parent!r} of {owner}", 0, 1)
            for parent, p in parents.items()
        ]
        two_states(variables, kind.rule)
        least = check.number(leak, f"leak of {owner}", 0, 1)
        factor = kind(variables, check.frozen(np.array(chances, dtype=np.float64)), least)
        return self._take(factor, scope)

    def _family(
        self, child: VariableLike, parents: Iterable[VariableLike]
    ) -> tuple[tuple[Variable, ...], Scope]:
        """Find parents and child, which must all differ, and check that one more is welcome."""
        self._open()
        place = self._variables.find(child)
        last = self._variables[place]
        over, scope = self._find(parents, f"The list of parents of {last.name!r}")
        if place in scope:
            raise InputError(f"Variable {last.name!r} cannot be its own parent.")
        return (*over, last), (*scope, place)
