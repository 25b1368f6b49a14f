"""Networks and fields on grids as records: the arrays that a network is compiled to, and rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Literal, Self, cast, final, get_args

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._records import Value
from credo._types import F64, Int, Label, Labels
from credo.exceptions import InputError
from credo.graphs import (
    BayesianNetwork,
    FactorGraph,
    GridField,
    Ising,
    MarkovNetwork,
    Potts,
    TruncatedLinear,
    TruncatedQuadratic,
)
from credo.graphs.bayesian_network import check_acyclic
from credo.graphs.factors import Factor, divide_rows
from credo.graphs.grid_coordinates import Coordinates
from credo.graphs.grid_field import as_plane
from credo.graphs.models import WiredFactors, scope_of
from credo.graphs.structured import AbstractNoisy, Deterministic, Structured, two_states
from credo.graphs.variables import Same, Variable, Variables, as_states
from credo.graphs.wiring import Int32, Int64, Wiring
from credo.storage.codec import stands_for

_MODELS: dict[str, Any] = {
    each.__name__: each for each in (BayesianNetwork, FactorGraph, MarkovNetwork)
}
#: All classes of networks, by name.
CLASSES: dict[str, type] = {**_MODELS, "GridField": GridField}
_RULES = {each.__name__: each for each in get_args(Structured)}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A rule without its variables; what a kind of rule has not is empty."""

    kind: Literal["Parity", "AtMostOne", "NoisyOr", "NoisyAnd", "Deterministic"]
    even: bool
    leak: float
    #: Of noisy gates, one per parent, and of functions, one per joint state of the parents.
    chances: Annotated[F64, "P"]
    answers: Annotated[Int, "Q"]

    @classmethod
    def of(cls, rule: Structured) -> Rule:
        """Leave the variables of a rule out."""
        return cls(
            type(rule).__name__,  # type: ignore[arg-type]  # one of the five
            getattr(rule, "even", False),
            getattr(rule, "leak", 0.0),
            getattr(rule, "probabilities", np.empty(0)),
            np.ravel(getattr(rule, "answers", np.empty(0, dtype=np.intp))),
        )

    def over(self, variables: tuple[Variable, ...]) -> Structured:
        """Make the rule over variables, which must fit it."""
        kind: Any = _RULES[self.kind]
        parents = [variable.n_states for variable in variables[:-1]]
        n_chances = len(parents) if issubclass(kind, AbstractNoisy) else 0
        n_answers = math.prod(parents) if kind is Deterministic else 0
        if len(self.chances) != n_chances or len(self.answers) != n_answers:
            raise InputError("A rule of the network does not fit its variables.")
        if not all(0 <= chance <= 1 for chance in (self.leak, *self.chances.tolist())):
            raise InputError("A noisy gate of the network has a probability below 0 or above 1.")
        parts: dict[str, Any] = {"even": self.even, "leak": self.leak}
        parts |= {"probabilities": self.chances}
        if kind is not Deterministic:
            two_states(variables, kind.rule)
        elif self.answers.min() < 0 or self.answers.max() >= variables[-1].n_states:
            raise InputError("A function of the network gives a state that is not there.")
        else:
            parts["answers"] = self.answers.reshape(parents)
        own = {each.name: parts[each.name] for each in fields(kind) if each.name in parts}
        return cast("Structured", kind(variables, **own))


@final
@stands_for(BayesianNetwork, FactorGraph, MarkovNetwork)
@dataclass(frozen=True, slots=True, eq=False)
class StoredNetwork:
    """A network of V variables, F factors and T tables, as the arrays of its wiring."""

    kind: Literal["BayesianNetwork", "FactorGraph", "MarkovNetwork"]
    #: Names; or the shape of a picture whose pixels the variables are.
    names: Annotated[Labels | range, "V"] | None
    pixels: Annotated[Int, "A"] | None
    #: Lists of states that differ, and which of them each variable has; None if there is one.
    states: Value
    which: Annotated[Int, "V", ">= 0"] | None
    scope_start: Annotated[Int64, "F1"]
    scope: Annotated[Int32, "S"]
    table: Annotated[Int32, "F"]
    table_start: Annotated[Int64, "T1"]
    values: Annotated[F64, "C", ">= 0"]
    log_scale: Annotated[F64, "T"]
    log_values: Annotated[F64, "C", "any"] | None
    owner: Annotated[Int32, "F"]
    rules: tuple[Rule, ...]
    factor_names: Annotated[Labels, "F"] | None
    tolerance: float | None

    @classmethod
    def of(cls, model: Any) -> Self:
        """Compile a copy; the network stays open if it is."""
        wiring = model.copy().compile()
        names: Any = wiring.names
        pixels = None
        if isinstance(names, Coordinates) and len(names) == math.prod(names.shape):
            names, pixels = None, np.array(names.shape)
        elif not isinstance(names, range):
            names = tuple(names)
        states, which = _distinct(wiring.states)
        if which is None and not isinstance(names, tuple) and len(wiring.scope) < len(wiring.names):
            which = np.zeros(len(wiring.names), dtype=np.intp)  # so many are believed then
        arrays = {name: getattr(wiring, name) for name in _ARRAYS}
        return cls(
            kind=type(model).__name__,  # type: ignore[arg-type]  # one of the three
            names=names,
            pixels=pixels,
            states=states,
            which=which,
            rules=tuple(map(Rule.of, wiring.structured)),
            factor_names=_factor_names(model),
            tolerance=getattr(model, "tolerance", None),
            **arrays,
        )

    def made(self) -> Any:
        """Make the network, if its arrays are those of one of its class."""
        if (self.tolerance is None) == (self.kind == "BayesianNetwork"):
            raise InputError("A BayesianNetwork has a tolerance, and no other network has.")
        make = _MODELS[self.kind]
        model = make() if self.tolerance is None else make(self.tolerance)
        wiring = self._wiring()
        if self.kind == "BayesianNetwork":
            _check_directed(wiring, model.tolerance)
        elif (wiring.owner != -1).any():
            raise InputError("A factor of the network is owned by a variable.")
        elif self.kind == "MarkovNetwork":
            _check_pairs(wiring)
        if wiring.structured or self.factor_names is not None:
            _fill(model, wiring, self.factor_names)
        else:
            model._arrays, model._variables = wiring, wiring.variables  # noqa: SLF001 - as readers do
        return model

    def _wiring(self) -> Wiring:
        """Make the wiring, with its rules."""
        names = self._names()
        states, counts = self._states(len(names))
        arrays: dict[str, Any] = {name: getattr(self, name) for name in _ARRAYS}
        plain = Wiring(names, states, counts, **arrays)
        plain.check()
        if (self.table < 0).sum() != len(self.rules):
            raise InputError("The rules of the network do not fit its factors.")
        if not self.rules:
            return plain
        variables = Variables(names, states)
        scopes = (scope_of(plain, each) for each in np.flatnonzero(self.table < 0).tolist())
        pairs = zip(self.rules, scopes, strict=True)
        return replace(
            plain,
            structured=tuple(rule.over(tuple(variables[v] for v in over)) for rule, over in pairs),
        )

    def _names(self) -> Sequence[Label]:
        """Return the names, which differ."""
        if (self.names is None) == (self.pixels is None):
            raise InputError("The network has names or pixels, and not both.")
        if self.pixels is not None:
            shape = self.pixels.tolist()
            if len(shape) not in (2, 3) or min(shape) < 1 or math.prod(shape) >= 2**62:
                raise InputError("The network has no valid shape of a picture.")
            return Coordinates(tuple(shape))
        names: Any = self.names
        return names if isinstance(names, range) or not names else check.labels(names, "names")

    def _states(self, n: int) -> tuple[Sequence[Labels], Int64]:
        """Return the states of each variable, and how many they are."""
        if not isinstance(self.states, tuple) or not set(map(type, self.states)) <= {tuple}:
            raise InputError("The network has no valid lists of states.")
        lists = [as_states(each, f"of list {i}") for i, each in enumerate(self.states)]
        if self.which is not None:
            if len(self.which) != n or set(self.which.tolist()) != set(range(len(lists))):
                raise InputError("The network refers to states that are not there.")
            counts = np.array([len(each) for each in lists], dtype=np.int64)[self.which]
            return tuple(lists[number] for number in self.which.tolist()), counts
        # Names that take no room in a file are not believed, beyond those that factors have.
        if len(lists) != 1 or (not isinstance(self.names, tuple) and n > len(self.scope)):
            raise InputError("The network does not say which states its variables have.")
        return Same(lists[0], n), np.full(n, len(lists[0]), dtype=np.int64)


#: The arrays of a wiring that are stored as they are.
_ARRAYS = (
    *("scope_start", "scope", "table", "table_start", "values", "log_scale", "log_values"),
    "owner",
)


def _distinct(states: Sequence[Labels]) -> tuple[tuple[Labels, ...], Int | None]:
    """List each list of states once; 1, 1.0 and True are not the same state."""
    if isinstance(states, Same):
        return (tuple(states.item),), None
    numbers: dict[Any, int] = {}
    which = [numbers.setdefault((each, tuple(map(type, each))), len(numbers)) for each in states]
    return tuple(each for each, _ in numbers), np.array(which, dtype=np.intp)


def _factor_names(model: Any) -> tuple[Label | None, ...] | None:
    """List the names of factors, if some have one; those made of arrays have none."""
    if model._arrays is not None:  # noqa: SLF001 - a million objects would be made otherwise
        return None
    names = tuple(getattr(factor, "name", None) for factor in model.factors)
    return names if any(name is not None for name in names) else None


def _fill(model: Any, wiring: Wiring, names: Labels | None) -> None:
    """Add variables and factors as objects: rules and names have no arrays in a model."""
    model._variables = wiring.variables.grown()  # noqa: SLF001 - it is empty
    rules, tables = iter(wiring.structured), WiredFactors(wiring)
    for number, table in enumerate(wiring.table.tolist()):
        factor: Any = next(rules) if table < 0 else tables[number]
        if names is not None and isinstance(factor, Factor):
            factor = replace(factor, name=names[number])
        model._take(factor, scope_of(wiring, number))  # noqa: SLF001 - a factor that was checked


def _check_directed(wiring: Wiring, tolerance: float) -> None:
    """Check that a network is one of conditional probabilities, without cycles."""
    n, ends = len(wiring.names), wiring.scope_start
    children, numbers = wiring.scope[ends[1:] - 1], np.arange(n)
    if len(children) != n or (children != numbers).any() or (wiring.owner != numbers).any():
        raise InputError("A variable of the network has no conditional probabilities, or two.")
    if not all(rule.is_conditional for rule in wiring.structured):
        raise InputError("A rule of the network is not a conditional probability.")
    parts = zip(ends[:-1].tolist(), (ends[1:] - 1).tolist(), strict=True)
    check_acyclic([wiring.scope[a:b].tolist() for a, b in parts], wiring.names)
    used = wiring.table >= 0
    tables, sizes = wiring.table[used], wiring.n_states[wiring.owner[used]]
    if wiring.log_scale.any() or wiring.log_values is not None:
        raise InputError("The conditional probabilities of the network are not all there is.")
    lengths = np.zeros(len(wiring.log_scale), dtype=np.int64)
    lengths[tables] = sizes
    if (lengths[tables] != sizes).any() or (lengths < 1).any():
        raise InputError("A table of the network belongs to nothing, or to unlike variables.")
    rows = np.repeat(lengths, np.diff(wiring.table_start) // lengths)
    if rows.size:
        divide_rows(wiring.values, rows, tolerance, lambda row: f"Row {row} of the tables")


def _check_pairs(wiring: Wiring) -> None:
    """Check that a network is one of nodes, each with one potential at most, and of pairs."""
    lengths = np.diff(wiring.scope_start)
    nodes = np.sort(wiring.scope[wiring.scope_start[:-1][lengths == 1]])
    if (lengths > 2).any() or (nodes[1:] == nodes[:-1]).any() or wiring.structured:
        raise InputError("The network is not one of nodes and pairs.")


@final
@stands_for(GridField)
@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """A field as its pixels, its smoothness and its labels."""

    #: Half the log odds of two labels, or a plane of log potentials per label, as they are held.
    odds: Annotated[F64 | npt.NDArray[np.float32], ("H W", "Z H W"), "any"] | None
    logs: Annotated[F64 | npt.NDArray[np.float32], ("H W L", "Z H W L"), "any"] | None
    smoothness: Ising | Potts | TruncatedLinear | TruncatedQuadratic
    labels: Annotated[Labels, "L"]
    neighbours: int

    @classmethod
    def of(cls, model: GridField) -> Self:
        """Take the pixels as they are held."""
        planes = model._planes  # noqa: SLF001 - both forms would be larger
        odds, logs = (planes, None) if model._is_odds else (None, planes)  # noqa: SLF001
        smoothness: Any = model.smoothness
        return cls(odds, logs, smoothness, model.labels, model.n_neighbours)

    def made(self) -> GridField:
        """Make the field, which checks itself."""
        if (self.odds is None) == (self.logs is None):
            raise InputError("The field has odds or potentials, and not both.")
        pixels = self.logs if self.odds is None else as_plane(self.odds, "GridField")
        return GridField(pixels, self.smoothness, labels=self.labels, neighbours=self.neighbours)
