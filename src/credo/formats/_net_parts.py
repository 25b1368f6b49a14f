"""The parts of a network file: variables as they were read, and how they become a network."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence, Sized
from dataclasses import dataclass, replace

import numpy as np

from credo._types import F64
from credo.exceptions import FileFormatError, InputError
from credo.formats._net_labels import apply_note
from credo.formats._net_numbers import NotNumberError, numbers, shown
from credo.graphs.bayesian_network import TOLERANCE, BayesianNetwork


@dataclass(frozen=True, slots=True)
class Part:
    """One variable of a file: ``values`` are its table, parents first, the child last.

    ``where`` finds the line and column of the table; it is asked only when something is wrong.
    """

    name: Hashable
    states: tuple[Hashable, ...]
    parents: tuple[str, ...]
    values: F64
    where: Callable[[], tuple[int, int]]
    note: str = ""


def network(parts: Sequence[Part], path: str) -> BayesianNetwork:
    """Make a network of the parts, which point at their parents by the names in the file."""
    if not parts:
        raise FileFormatError("The file declares no variables. Is it another format?", path)
    order = {part.name: index for index, part in enumerate(parts)}
    if len(order) < len(parts):
        twice = next(part for i, part in enumerate(parts) if order[part.name] != i)
        raise FileFormatError(
            f"Variable {twice.name!r} is declared more than once. Rename one of them.",
            path,
            *twice.where(),
        )
    sizes = [len(part.states) for part in parts]
    parents = [_positions(part, order, path) for part in parts]
    for part, given in zip(parts, parents, strict=True):
        _check_table(part, [sizes[i] for i in given], path)
    parts = [_renamed(part, path) for part in parts]
    try:
        return BayesianNetwork.from_arrays(
            [part.name for part in parts],
            [part.states for part in parts],
            parents,
            np.concatenate([np.empty(0), *(part.values for part in parts)]),
        )
    except InputError as error:
        raise FileFormatError(str(error), path) from error


def table_of(text: bytes, owner: str, path: str, where: tuple[int, int]) -> F64:
    """Read the numbers of one table."""
    try:
        return numbers(text)
    except NotNumberError as error:
        reason = f"The table of {owner!r} has {shown(error.word)} where a number should stand."
        raise FileFormatError(reason, path, *where) from None


def as_network(model: object, writer: str) -> BayesianNetwork:
    """Check that a model can be written by a writer of Bayesian networks."""
    if isinstance(model, BayesianNetwork):
        refuse_empty(model, writer)
        model.copy().compile()  # says what is missing before a file is touched
        return model
    raise InputError(
        f"{writer} writes a BayesianNetwork. Got {type(model).__name__}. "
        "Use write_uai, which writes any model."
    )


def refuse_empty(model: Sized, writer: str) -> None:
    """Refuse a model without variables: no reader would take the file back."""
    if not len(model):
        raise InputError(f"{writer}: the model has no variables. Declare them first.")


def _positions(part: Part, order: dict[Hashable, int], path: str) -> list[int]:
    """Find the parents of a variable."""
    for name in part.parents:
        if name not in order:
            raise FileFormatError(
                f"The parent {name!r} of {part.name!r} is not declared. Declare it or correct it.",
                path,
                *part.where(),
            )
    found = [order[name] for name in part.parents]
    if len(set(found)) < len(found):
        raise FileFormatError(
            f"A parent of {part.name!r} is listed twice. Remove one.", path, *part.where()
        )
    return found


def _check_table(part: Part, sizes: list[int], path: str) -> None:
    """Check the number of values, and that each row is a distribution."""
    columns = len(part.states)
    if not columns:
        reason = f"Variable {part.name!r} has no states. List them."
        raise FileFormatError(reason, path, *part.where())
    if len(set(part.states)) < columns:
        reason = f"Two states of {part.name!r} have the same name. Rename one of them."
        raise FileFormatError(reason, path, *part.where())
    cells = math.prod(sizes) * columns
    if cells != part.values.size:
        raise FileFormatError(
            f"The table of {part.name!r} needs {cells} numbers: {columns} states for each of "
            f"{cells // columns} parent configurations. Got {part.values.size}.",
            path,
            *part.where(),
        )
    rows = part.values.reshape(-1, columns)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = rows.sum(axis=1)
        odd = ~((rows >= 0).all(axis=1) & (np.abs(sums - 1) <= TOLERANCE))
    if odd.any():
        _refuse_row(part, rows, int(np.argmax(odd)), path)


def _refuse_row(part: Part, rows: F64, row: int, path: str) -> None:
    """Say what is wrong with a row of a table."""
    listed = " ".join(map(repr, rows[row, :6].tolist()))
    raise FileFormatError(
        f"Row {row + 1} of the table of {part.name!r} is no distribution: its numbers must not be "
        f"negative and must sum to 1 within {TOLERANCE:g}. Got {listed}"
        f"{' ...' if rows.shape[1] > 6 else ''}. Correct the row.",
        path,
        *part.where(),
    )


def _renamed(part: Part, path: str) -> Part:
    """Give a variable the labels that its note keeps."""
    if not part.note:
        return part
    try:
        name, states = apply_note(part.note, part.name, part.states)
    except ValueError as error:
        reason = f"The note on the labels of {part.name!r} is damaged: {error}. Remove the note."
        raise FileFormatError(reason, path, *part.where()) from None
    return replace(part, name=name, states=states)
