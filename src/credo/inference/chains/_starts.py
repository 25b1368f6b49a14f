"""States to begin in: at random, and of positive probability."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.exceptions import NumericalError
from credo.inference.chains._field import Field

Int64: TypeAlias = npt.NDArray[np.int64]
#: How often to begin anew, and how many changes to make in between: some for each variable, and at
#: least so many.
_TRIES, _CHANGES, _LEAST_CHANGES = 4, 20, 2**16
#: Changes whose random numbers are made at a time.
_BLOCK = 2**14
#: The chance of a change that is not the best, to get away from dead ends. The usual value of
#: WalkSAT lies between 0.3 and 0.6.
_NOISE = 0.3
#: In the place of uniform numbers, for the first chains: the least and the largest.
_ENDS = 0.0, np.nextafter(1.0, 0.0)


def possible_states(
    field: Field, rng: np.random.Generator, chain: int, owner: str
) -> tuple[Int64, Int64]:
    """Give states of positive probability, and the cells that they point to.

    They are random, but to spread the chains the first one takes the first state of each variable
    that is open to it, and the second the last: in models that like equal states, the two ends.
    """
    for attempt in range(_TRIES):
        u = rng.random(field.n_variables)
        if attempt == 0 and chain < len(_ENDS):
            u[:] = _ENDS[chain]
        states = _looked_ahead(field, u)
        cells = located(field, states)
        if _repaired(field, states, cells, rng):
            return states, cells
    raise NumericalError(
        f"{owner} needs states of positive probability to begin with, and found none in {_TRIES} "
        "searches: zeros in the factors rule out what was tried. The evidence may be impossible; "
        "infer with an exact method, or loopy belief propagation, can tell."
    )


def located(field: Field, states: Int64) -> Int64:
    """Give the cells that states point to."""
    from credo._kernels.gibbs_sweeps import locate  # noqa: PLC0415

    cells = np.empty(len(field.cell_start), np.int64)
    locate(field.near_start, field.near, field.cell_start, states, cells)
    return cells


def _looked_ahead(field: Field, u: F64) -> Int64:
    """Choose states one after the other, each so that its factors can still be positive."""
    from credo._kernels.gibbs_sweeps import look_ahead  # noqa: PLC0415

    states = np.full(field.n_variables, -1, np.int64)
    has_zeros = bool((field.logs[field.cells] == -np.inf).any())
    look_ahead(
        field.start,
        field.weights,
        field.near_start if has_zeros else np.zeros_like(field.near_start),
        field.near,
        field.scope_start,
        field.scope,
        field.stride,
        field.cell_start,
        field.logs,
        u,
        np.zeros(2 * int(np.diff(field.start).max()), np.int64),
        states,
    )
    return states


def _repaired(field: Field, states: Int64, cells: Int64, rng: np.random.Generator) -> bool:
    """Change states until no factor is zero; tell if that went."""
    from credo._kernels.gibbs_sweeps import repair  # noqa: PLC0415

    broken, place = np.empty_like(cells), np.empty_like(cells)
    for _ in range(0, max(_LEAST_CHANGES, _CHANGES * len(states)), _BLOCK):
        if not (field.logs[cells] == -np.inf).any():
            return True
        repair(
            field.start,
            field.weights,
            field.near_start,
            field.near,
            field.scope_start,
            field.scope,
            field.logs,
            _NOISE,
            rng.random((_BLOCK, 3)),
            states,
            cells,
            broken,
            place,
        )
    return not (field.logs[cells] == -np.inf).any()
