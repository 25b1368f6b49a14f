"""What formats of Bayesian networks share: parts that become a network, and labels as text."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Sized
from typing import NamedTuple

import numpy as np

from credo._types import F64, Bool
from credo.exceptions import CredoWarning, FileFormatError, InputError
from credo.graphs.bayesian_network import TOLERANCE, BayesianNetwork

# --- reading --------------------------------------------------------------------------------


class Declared(NamedTuple):
    """One variable of a file: ``values`` are its table, parents first, the child last.

    ``where`` gives the line and column of a row; it is asked only when something is wrong.
    """

    name: str
    states: tuple[str, ...]
    parents: tuple[str, ...]
    values: F64
    where: Callable[[int], tuple[int, int]]


def network(parts: Sequence[Declared], path: str, *, weights: bool = False) -> BayesianNetwork:
    """Return the network of the parts, which point at their parents by the names in the file.

    With ``weights``, rows of any positive sum are divided by it; a warning names the first.
    """
    if not parts:
        raise FileFormatError("The file declares no variables. Is it another format?", path)
    by_name = {part.name: part for part in reversed(parts)}
    for part in parts:
        if by_name[part.name] is not part:
            reason = f"Variable {part.name!r} is declared more than once. Rename one of them."
            raise FileFormatError(reason, path, *part.where(0))
    for part in parts:
        for reason in _faults(part, by_name):
            raise FileFormatError(reason, path, *part.where(0))
    if weights:
        parts = _divided(parts, by_name, path)
    places = {part.name: place for place, part in enumerate(parts)}
    try:
        return BayesianNetwork.from_arrays(
            list(places),
            [part.states for part in parts],
            [[places[name] for name in part.parents] for part in parts],
            np.concatenate([part.values for part in parts]),
        )
    except InputError as error:
        _refuse_row(parts, by_name, path, weights=weights)
        raise FileFormatError(str(error), path) from error


def _faults(part: Declared, by_name: dict[str, Declared]) -> Iterator[str]:
    """Say what is wrong with a part, apart from its numbers."""
    name, columns = part.name, len(part.states)
    for parent in part.parents:
        if parent not in by_name:
            yield f"The parent {parent!r} of {name!r} is not declared. Declare it or correct it."
    if len(set(part.parents)) < len(part.parents):
        yield f"A parent of {name!r} is listed twice. Remove one."
    if not columns:
        yield f"Variable {name!r} has no states. List them."
    if len(set(part.states)) < columns:
        yield f"Two states of {name!r} have the same name. Rename one of them."
    rows = math.prod([len(by_name[parent].states) for parent in part.parents])
    if rows * columns != part.values.size:
        yield (
            f"The table of {name!r} needs {rows * columns} numbers: {columns} states for each of "
            f"{rows} parent configurations. Got {part.values.size}."
        )


def _odd_rows(part: Declared, *, weights: bool = False) -> Bool:
    """Tell which rows are not distributions; with ``weights``, which cannot be made one."""
    rows = part.values.reshape(-1, len(part.states))
    with np.errstate(over="ignore", invalid="ignore"):
        sums = rows.sum(axis=1)
        good = (sums > 0) & (sums < np.inf) if weights else np.abs(sums - 1) <= TOLERANCE
    return ~(good & (rows >= 0).all(axis=1))


def _refuse_row(
    parts: Sequence[Declared], by_name: dict[str, Declared], path: str, *, weights: bool
) -> None:
    """Name the first row that is not a distribution, or cannot be made one, if there is one."""
    for part in parts:
        odd = _odd_rows(part, weights=weights)
        if odd.any():
            row = int(np.argmax(odd))
            numbers = part.values.reshape(len(odd), -1)[row].tolist()
            listed = " ".join(map(repr, numbers[:6])) + " ..." * (len(numbers) > 6)
            within = "" if weights or min(numbers) < 0 else f" within {TOLERANCE:g}"
            reason = f"{_told_row(part, row, by_name)}{within}. Got {listed}. Correct the row."
            raise FileFormatError(reason, path, *part.where(row))


def _divided(parts: Sequence[Declared], by_name: dict[str, Declared], path: str) -> list[Declared]:
    """Divide rows of weights by their sums, and warn if there are any."""
    found, mended = list(parts), []
    for i, part in enumerate(parts):
        odd = _odd_rows(part)
        if odd.any() and not _odd_rows(part, weights=True).any():
            rows = part.values.reshape(len(odd), -1)
            found[i] = part._replace(values=(rows / rows.sum(axis=1, keepdims=True)).ravel())
            mended.append((part, int(np.argmax(odd))))
    if mended:
        part, row = mended[0]
        line, column = part.where(row)
        more = len(mended) - 1
        others = f", as in {more} other table{'s' * (more > 1)}" if more else ""
        warnings.warn(
            f"{path}, line {line}, column {column}: {_told_row(part, row, by_name)}. Rows were "
            f"divided by their sums{others}.",
            CredoWarning,
            stacklevel=4,
        )
    return found


def _told_row(part: Declared, row: int, by_name: dict[str, Declared]) -> str:
    """Return what is wrong with the probabilities of a row."""
    states = [by_name[parent].states for parent in part.parents]
    told = f"The probabilities of {row_name(part.name, part.parents, states, row)}"
    values = part.values.reshape(-1, len(part.states))[row]
    if (values < 0).any():
        return f"{told} have a negative number, {values[values < 0][0]:g}"
    with np.errstate(over="ignore"):
        return f"{told} sum to {values.sum():.9g}, not to 1"


def row_name(name: str, parents: Sequence[str], states: Sequence[Sequence[str]], row: int) -> str:
    """Return the name of a row of a table: the variable, given the states of its parents."""
    if not parents:
        return repr(name)
    chosen = map(int, np.unravel_index(row, [len(each) for each in states]))
    given = [f"{p}={each[s]}" for p, each, s in zip(parents, states, chosen, strict=True)]
    return f"{name!r} given {', '.join(given)}"


# --- writing --------------------------------------------------------------------------------


class Written(NamedTuple):
    """One variable as a format writes it: labels as text; ``title`` is its name in full."""

    name: str
    states: list[str]
    parents: list[str]
    table: F64
    title: str


def written(
    model: object, writer: str, name_text: Callable[[str], str], state_text: Callable[[str], str]
) -> list[Written]:
    """Return the variables of a network with names as the format can write them."""
    if not isinstance(model, BayesianNetwork):
        raise InputError(
            f"{writer} writes a BayesianNetwork. Got {type(model).__name__}. "
            "Use write_uai, which writes any model."
        )
    refuse_empty(model, writer)
    model.copy().compile()  # says what is missing before a file is touched
    texts = dict(zip(model.names, _distinct(model.names, name_text), strict=True))
    return [
        Written(
            texts[variable.name],
            _distinct(variable.states, state_text),
            [texts[parent] for parent in model.parents(variable.name)],
            model.table(variable.name),
            printable(str(variable.name)),
        )
        for variable in model.variables
    ]


def refuse_empty(model: Sized, writer: str) -> None:
    """Refuse a model without variables: no reader would take the file back."""
    if not len(model):
        raise InputError(f"{writer}: the model has no variables. Declare them first.")


def _distinct(labels: Iterable[Hashable], text: Callable[[str], str]) -> list[str]:
    """Return labels as the format can write them; equal ones are told apart by a number."""
    given = [text(str(label)) for label in labels]
    taken = set(given)
    counts: dict[str, int] = {}
    for index, word in enumerate(given):
        counts[word] = counts.get(word, 0) + 1
        if counts[word] > 1:
            while (new := f"{word}_{counts[word]}") in taken:
                counts[word] += 1
            taken.add(new)
            given[index] = new
    return given


def identifier(text: str) -> str:
    """Return a word of ASCII letters, digits and underscores that begins with no digit."""
    word = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return word if word[:1].isalpha() or word.startswith("_") else f"x{word}"


def printable(text: str) -> str:
    """Return text that has no line ends or control characters, and no blanks around it."""
    clean = "".join(letter if letter.isprintable() else "_" for letter in text).strip()
    return clean or "_"


def in_quotes(text: str) -> str:
    """Return text between quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
