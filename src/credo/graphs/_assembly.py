"""From factors as objects to a Wiring, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import TypeAlias, final, overload

import numpy as np

from credo._types import F64
from credo._validation.arrays import frozen
from credo.graphs.factors import Factor
from credo.graphs.structured import Structured
from credo.graphs.variables import Variables
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
