"""From the ``families`` of a naive Bayes classifier to parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from credo._validation.probabilities import block_rows, blocks
from credo.classifiers.columns.table import Numbers, Table
from credo.classifiers.naive.parts import SPARSE, VECTORS, ColumnNames, Part, family_name
from credo.classifiers.naive.sparse import SparseRows
from credo.exceptions import InputError


def plan(families: Any, rows: Table | SparseRows, names: ColumnNames) -> tuple[Part, ...]:
    """Give each column a family: as named, or by what it holds."""
    if isinstance(rows, SparseRows):
        return (_sparse_part(families, rows, names.owner),)
    given = _given(families, rows, names)
    taken = {column for columns, _ in given for column in columns}
    rest = [((j,), _guess(rows, j)) for j in range(rows.n_columns) if j not in taken]
    return _gathered([*given, *rest])


def _sparse_part(families: Any, rows: SparseRows, owner: str) -> Part:
    """Give all columns of sparse rows one family."""
    if isinstance(families, Mapping):
        raise InputError(
            f"{owner}: sparse rows have one family for all columns, such as "
            "families='multinomial'. Got a mapping. Use a table for columns of several kinds."
        )
    if families == "auto":
        name = "bernoulli" if rows.is_binary() else "multinomial"
    else:
        name = family_name(families, owner)
    if name not in SPARSE:
        raise InputError(
            f"{owner}: sparse rows can be of the families {', '.join(SPARSE)}. Got {name!r}, under "
            "which every zero has a density of its own. Pass X.toarray() if it fits into memory."
        )
    return Part(name, range(rows.n_columns))


def _given(families: Any, rows: Table, names: ColumnNames) -> list[tuple[tuple[int, ...], str]]:
    """List the columns and groups of columns whose family the user named."""
    if isinstance(families, str) and families == "auto":
        return []
    everything = tuple(range(rows.n_columns))
    if not isinstance(families, Mapping):
        return _split(everything, family_name(families, names.owner))
    result: list[tuple[tuple[int, ...], str]] = []
    seen: set[int] = set()
    for key, family in families.items():
        columns = _columns_of(key, names)
        for column in columns:
            if column in seen:
                raise InputError(
                    f"The families of {names.owner} name column {names.names[column]!r} twice."
                )
            seen.add(column)
        if isinstance(family, str) and family == "auto":
            result += [((j,), _guess(rows, j)) for j in columns]
        else:
            result += _split(columns, family_name(family, names.owner))
    return result


def _columns_of(key: Any, names: ColumnNames) -> tuple[int, ...]:
    """Find the columns that a key of the mapping names: one, or a tuple of them."""
    if isinstance(key, tuple) and not key:
        raise InputError(f"The families of {names.owner} name an empty group of columns.")
    if isinstance(key, tuple) and key not in names.names:
        return tuple(names.position(name) for name in key)
    return (names.position(key),)


def _split(columns: tuple[int, ...], family: str) -> list[tuple[tuple[int, ...], str]]:
    """Keep the columns of a vector together, and take others one by one."""
    return [(columns, family)] if family in VECTORS else [((j,), family) for j in columns]


def _guess(rows: Table, column: int) -> str:
    """Choose a family by dtype and content.

    Text and categories are categorical; booleans, and numbers of which only 0 and 1 occur, are
    Bernoulli; other numbers are Gaussian. Counts are not guessed: a Poisson model of counts that
    vary more than it allows is far too sure of itself.
    """
    if rows.matrix is None:
        found = rows.column(column)
        if not isinstance(found, Numbers):
            return "categorical"
        if found.is_bool:
            return "bernoulli"
    elif rows.matrix.dtype == np.bool_:
        return "bernoulli"
    return "bernoulli" if _is_zero_one(rows, column) else "gaussian"


def _is_zero_one(rows: Table, column: int) -> bool:
    """Tell whether zeros and ones occur, and nothing else but missing values."""
    zeros = ones = False
    for block in blocks(rows.n_rows, block_rows(1)):
        x = rows.floats([column], block)
        zero, one = x == 0, x == 1
        if not (zero | one | np.isnan(x)).all():
            return False
        zeros, ones = zeros or bool(zero.any()), ones or bool(one.any())
    return zeros and ones


def _gathered(pairs: list[tuple[tuple[int, ...], str]]) -> tuple[Part, ...]:
    """Join the columns of families that are worked on together, in order of the columns."""
    together: dict[str, list[int]] = {}
    parts = []
    for columns, family in sorted(pairs):
        if family in VECTORS or family == "categorical":
            parts.append(Part(family, columns))
        else:
            together.setdefault(family, []).extend(columns)
    return (*(Part(family, tuple(c)) for family, c in together.items()), *parts)
