"""How the rules of networks are stored: parity checks, noisy gates, functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, final

import numpy as np

from credo._types import F64, Bool, Int
from credo.graphs.structured import (
    AtMostOne,
    Deterministic,
    NoisyAnd,
    NoisyOr,
    Parity,
    Structured,
    two_states,
)
from credo.graphs.variables import Variable
from credo.storage._derived import record_kind
from credo.storage._faults import Fault

#: The number of a kind of rule is its position.
_KINDS: tuple[type[Structured], ...] = (Parity, AtMostOne, NoisyOr, NoisyAnd, Deterministic)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """R rules as arrays; what a kind of rule has not is zero."""

    kinds: Annotated[Int, "R"]
    even: Annotated[Bool, "R"]
    leaks: Annotated[F64, "R"]
    #: Of noisy gates, one per parent, and of functions, one per joint state of the parents.
    chances: Annotated[F64, "P"]
    answers: Annotated[Int, "Q"]

    @classmethod
    def of(cls, rules: Sequence[Structured]) -> Rules:
        """Lay rules one after the other."""
        chances = [rule.probabilities for rule in rules if isinstance(rule, NoisyOr | NoisyAnd)]
        answers = [rule.answers.ravel() for rule in rules if isinstance(rule, Deterministic)]
        return cls(
            np.array([_KINDS.index(type(rule)) for rule in rules], dtype=np.intp),
            np.array([getattr(rule, "even", False) for rule in rules], dtype=bool),
            np.array([getattr(rule, "leak", 0.0) for rule in rules], dtype=np.float64),
            np.concatenate([np.zeros(0), *chances]),
            np.concatenate([np.zeros(0, dtype=np.int64), *answers]).astype(np.int64),
        )

    def made(self, scopes: Sequence[tuple[Variable, ...]]) -> tuple[Structured, ...]:
        """Make the rules over their variables; all chances and answers must be used."""
        kinds, leaks, even = self.kinds.tolist(), self.leaks.tolist(), self.even.tolist()
        if len(kinds) != len(scopes) or any(not 0 <= kind < len(_KINDS) for kind in kinds):
            raise Fault("the network has rules of an unknown kind")
        if not (_within(self.leaks) and _within(self.chances)):
            raise Fault("the network has a noisy gate with a chance that is none")
        chances, answers = _Roll(self.chances), _Roll(self.answers)
        result: list[Structured] = []
        for kind, leak, is_even, over in zip(kinds, leaks, even, scopes, strict=True):
            made = _KINDS[kind]
            if made is Deterministic:
                result.append(_function(over, answers))
                continue
            two_states(over, made.rule)
            if made is Parity:
                result.append(Parity(over, is_even))
            elif made is AtMostOne:
                result.append(AtMostOne(over))
            else:
                gate = NoisyOr if made is NoisyOr else NoisyAnd
                result.append(gate(over, chances.next(len(over) - 1), leak))
        if chances.rest or answers.rest:
            raise Fault("the network has chances or answers that belong to no rule")
        return tuple(result)


def _within(values: F64) -> bool:
    """Tell whether all numbers are probabilities."""
    return bool(((values >= 0) & (values <= 1)).all())


def _function(over: tuple[Variable, ...], answers: _Roll) -> Deterministic:
    """Make a function whose answers are states of the child."""
    shape = [variable.n_states for variable in over[:-1]]
    found = answers.next(math.prod(shape))
    if found.size and (found.min() < 0 or found.max() >= over[-1].n_states):
        raise Fault("a function of the network gives a state that is not there")
    return Deterministic(over, found.reshape(shape))


@final
class _Roll:
    """An array that is cut into pieces from its start."""

    def __init__(self, values: Any) -> None:
        self._values, self._start = values, 0

    @property
    def rest(self) -> int:
        """Count what was not cut off."""
        return len(self._values) - self._start

    def next(self, length: int) -> Any:
        """Cut off the next piece."""
        if length > self.rest:
            raise Fault("the network has a rule without all its numbers")
        piece = self._values[self._start : self._start + length]
        self._start += length
        return piece


RULES = record_kind(Rules)
