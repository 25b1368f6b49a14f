"""What all models share: their variables, compiling, freezing and copying."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence, Set as AbstractSet
from typing import Any, Self

from credo._results import Storable
from credo._types import Label, Labels
from credo._validation.labels import listing
from credo.exceptions import InputError
from credo.graphs._assembly import AnyFactor, Factors, Scope, scope_of
from credo.graphs.variables import Variable, VariableLike, Variables
from credo.graphs.wiring import Wiring


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
