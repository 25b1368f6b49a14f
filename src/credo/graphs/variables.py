"""Variables: a name and the states that it can be in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeAlias, cast, final

import numpy as np

from credo import _checks as check
from credo._types import Label, Labels
from credo.exceptions import InputError, LabelError

#: Names above this number are not searched for a near one: 10 000 take a tenth of a second.
_MOST_NAMES_FOR_A_HINT = 10_000

#: States that a number may stand for; the labels alone take 0.7 GB, and each table as many cells.
_MOST_STATES = 2**24


@final
@dataclass(frozen=True, slots=True)
class Variable:
    """Name a quantity and list the states that it can be in.

    Made by ``variable`` or ``node`` of a model. Two variables are equal if their names and their
    states are.

    Parameters
    ----------
    name : Hashable
        Any hashable name; text as a rule.
    states : sequence of labels, or int
        The states, in order, all different. A number k stands for 0, …, k - 1.

    Attributes
    ----------
    name : Hashable
        The name.
    states : tuple
        The states, in the order of the axes of tables.

    Raises
    ------
    InputError
        If there are no states, if two are the same, or if they come in a set, which has no order.

    See Also
    --------
    BayesianNetwork : A model of conditional probabilities.
    FactorGraph : A model of tables over any variables.

    Notes
    -----
    States are matched as they are: ``"1"`` is not ``1``.

    Examples
    --------
    >>> from credo.graphs import Variable
    >>> rain = Variable("rain", ["no", "yes"])
    >>> rain.n_states, rain.index("yes")
    (2, 1)
    >>> Variable("die", 6).states
    (0, 1, 2, 3, 4, 5)
    """

    name: Label
    states: Labels

    def __post_init__(self) -> None:
        """Bring the name and the states into their plain form."""
        name = check.labels((self.name,), "names of a variable")[0]
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "states", as_states(self.states, name))

    @property
    def n_states(self) -> int:
        """Count the states."""
        return len(self.states)

    def index(self, state: Label) -> int:
        """Find the position of a state.

        Parameters
        ----------
        state : Hashable
            One of the states.

        Returns
        -------
        int
            Its position, counted from zero.

        Raises
        ------
        LabelError
            If there is no such state; the text names the nearest one.

        Examples
        --------
        >>> from credo.graphs import Variable
        >>> Variable("rain", ["no", "yes"]).index("Yes")
        Traceback (most recent call last):
        credo.exceptions.LabelError: Variable 'rain' has no state 'Yes'. Known: 'no', 'yes'. Did ...
        """
        return check.position(state, self.states, "state", f"Variable {self.name!r}")


#: How a variable is pointed at: itself, or its name.
VariableLike: TypeAlias = Variable | Label


def as_states(states: Any, name: Label) -> Labels:
    """Bring the states of a variable into their plain form; a number k means 0, …, k - 1."""
    if isinstance(states, (int, np.integer)) and not isinstance(states, bool):
        count = check.count(states, f"number of states of variable {name!r}")
        if count > _MOST_STATES:
            raise InputError(
                f"Variable {name!r} can have {_MOST_STATES} states at most. Got {count}. Put "
                "several of its values into one state."
            )
        return tuple(range(count))
    if isinstance(states, AbstractSet):
        raise InputError(
            f"The states of variable {name!r} must be in order, and a set has none. Pass a list."
        )
    if isinstance(states, Mapping):
        raise InputError(
            f"The states of variable {name!r} came with numbers, {states!r}, which would be "
            f"dropped. Pass a list: {list(states)!r}."
        )
    return check.labels(states, f"states of variable {name!r}")


def made(name: Label, states: Labels) -> Variable:
    """Make a variable of a name and states that are known to be in their plain form."""
    variable = object.__new__(Variable)
    object.__setattr__(variable, "name", name)
    object.__setattr__(variable, "states", states)
    return variable


@final
class Same(Sequence[Any]):
    """Return the same item so many times, without holding it so many times."""

    __slots__ = ("item", "times")

    def __init__(self, item: Any, times: int) -> None:
        self.item = item
        self.times = times

    def __len__(self) -> int:
        return self.times

    def __getitem__(self, index: int | slice) -> Any:
        chosen = range(self.times)[index]
        return Same(self.item, len(chosen)) if isinstance(chosen, range) else self.item


@final
class Variables(Sequence[Variable]):
    """The variables of a model, made when they are looked at; names are found in no time.

    ``names`` and ``states`` may be lists that grow with ``add``, or lazy sequences.
    """

    __slots__ = ("_lookup", "names", "states")

    def __init__(self, names: Sequence[Label], states: Sequence[Labels]) -> None:
        self.names = names
        self.states = states
        self._lookup: dict[Label, int] | None = None

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(map(made, self.names[index], self.states[index]))
        return made(self.names[index], self.states[index])

    def __iter__(self) -> Iterator[Variable]:
        return map(made, self.names, self.states)

    def __contains__(self, item: object) -> bool:
        try:
            return self.find(item) >= 0
        except InputError:
            return False

    def __repr__(self) -> str:
        return f"<{len(self)} variables: {check.listing(self.names)}>"

    @property
    def lookup(self) -> dict[Label, int]:
        """Return the position of each name; made on first use."""
        if self._lookup is None:
            self._lookup = {name: i for i, name in enumerate(self.names)}
        return self._lookup

    def add(self, variable: Variable) -> None:
        """Append a variable to growing lists."""
        self.lookup[variable.name] = len(self.names)
        cast("list[Label]", self.names).append(variable.name)
        cast("list[Labels]", self.states).append(variable.states)

    def grown(self) -> Variables:
        """Copy into lists that can be added to."""
        return Variables(list(self.names), list(self.states))

    def find(self, item: Any) -> int:
        """Find the position of a name, or of a variable, which must have the same states."""
        if self._lookup is not None and type(item) is str and item in self._lookup:
            return self._lookup[item]  # most are: each marginal that is read is looked up
        is_variable = isinstance(item, Variable)
        wanted = check.plain(item.name if is_variable else item)
        try:  # names that are made when looked at find it themselves
            is_listed = isinstance(self.names, (list, tuple))
            where = self.lookup[wanted] if is_listed else self.names.index(wanted)
        except (KeyError, ValueError, TypeError):
            near = check.hint(wanted, self.names) if len(self) <= _MOST_NAMES_FOR_A_HINT else ""
            known = check.listing(self.names)
            raise LabelError(
                f"The model has no variable {wanted!r}. Known: {known}.{near}"
            ) from None
        if is_variable and self.states[where] != item.states:
            raise InputError(
                f"Variable {wanted!r} with states {check.listing(item.states)} belongs to another "
                f"model. Here its states are {check.listing(self.states[where])}."
            )
        return where

    def find_each(self, items: Any, owner: str) -> list[int]:
        """Find the positions of variables that ``owner`` lists, in order and each once."""
        is_one = isinstance(items, (str, Variable))
        if is_one or isinstance(items, AbstractSet) or not np.iterable(items):
            advice = f" Pass {[items]!r}." if is_one else ""
            raise InputError(f"{owner} must be a list of names, in order. Got {items!r}.{advice}")
        places = [self.find(item) for item in items]
        if len(set(places)) < len(places):
            twice = next(place for place in places if places.count(place) > 1)
            raise InputError(f"{owner} names {self.names[twice]!r} twice. Name each once.")
        return places
