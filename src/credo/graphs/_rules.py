"""Models that take conditional rules: noisy gates and functions."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any, TypeVar

import numpy as np

from credo._types import Label
from credo._validation.arrays import as_vector, frozen, in_unit_interval
from credo._validation.labels import hint, listing, plain
from credo.exceptions import InputError, LabelError
from credo.graphs._assembly import AnyFactor, Scope
from credo.graphs._expansions import MOST_CELLS, as_power, two_states
from credo.graphs._model import AbstractModel
from credo.graphs.structured import Deterministic, NoisyAnd, NoisyOr
from credo.graphs.variables import Variable, VariableLike

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
