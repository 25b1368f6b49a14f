"""Cells of Arrow columns: numbers, labels and weights, and where one of them is not usable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from credo import _checks as check
from credo._types import F64, Int
from credo.classifiers._labels import encode_labels
from credo.classifiers.table_schema import LabelKind
from credo.exceptions import InputError

#: Arrow's names of whole numbers that fit 64 bits with a sign.
_WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")

#: Whole numbers in a range of so many are told apart by one byte.
_FEW = 256

#: Gives the number of a row in its table, counted from one.
Number: TypeAlias = Callable[[int], int]


def is_coded(column: Any) -> bool:
    """Tell whether an Arrow column holds codes and a dictionary."""
    return str(column.type).startswith("dictionary")


def coded(column: Any) -> Any:
    """Return an Arrow column as codes and a dictionary."""
    return column if is_coded(column) else column.dictionary_encode()


def numbers_of(column: Any) -> F64:
    """Return an Arrow column of numbers or booleans as float64, NaN where null.

    Whole numbers beyond 2**53 are rounded, as in any array of float64.
    """
    if str(column.type) == "double" and not column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if is_coded(column):
        column = column.dictionary_decode()
    if str(column.type) == "bool":
        column = column.cast("uint8")
    return column.cast("float64", safe=False).to_numpy(zero_copy_only=False)


def texts_of(column: Any, name: str, owner: str, number: Number) -> list[str]:
    """Return an Arrow column of documents; ``number`` says which row of the table a row is."""
    if column.null_count:
        row = number(first_null(column))
        raise InputError(
            f"{owner}: the text {name!r} is missing in row {row}. Leave such rows out. In text "
            "files, empty cells, NA and null are missing."
        )
    return column.to_pylist()


def first_null(column: Any) -> int:
    """Return the number of the first null of a column that has one."""
    return int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))


def weights_of(column: Any, name: str, owner: str, start: int) -> F64:
    """Return an Arrow column of weights, none of them missing."""
    if column.null_count:
        row = start + first_null(column)
        raise InputError(f"{owner}: the weight {name!r} is missing in row {row + 1}.")
    values = numbers_of(column)
    if not values.any():  # a batch may have none, as long as the table has some
        return values
    try:
        return check.weights(values, len(column), f"sample weights of {owner}")
    except InputError as error:
        raise InputError(f"{owner}: the weights in column {name!r}: {error}") from error


def labels_of(
    column: Any, kind: LabelKind, name: str, owner: str, number: Number
) -> tuple[Any, Int]:
    """Return the sorted classes of an Arrow column of labels, and the code of each row."""
    if column.null_count:
        raise InputError(_without_label(name, number(first_null(column)), owner))
    if str(column.type) in _WHOLE:
        return _whole_labels(column.to_numpy(zero_copy_only=False))
    encoded = coded(column)
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.intp)
    counts = np.bincount(codes, minlength=len(encoded.dictionary))
    listed = [
        value for value, n in zip(encoded.dictionary.to_pylist(), counts.tolist(), strict=True) if n
    ]  # a declared category need not occur
    if None in listed:
        nowhere = encoded.dictionary.is_null().to_numpy(zero_copy_only=False)
        raise InputError(_without_label(name, number(int(nowhere[codes].argmax())), owner))
    classes, places = np.unique(_values(listed, kind, name, owner), return_inverse=True)
    lookup = np.zeros(len(counts), dtype=np.intp)
    lookup[counts > 0] = places
    return classes, lookup[codes]


def _whole_labels(values: Any) -> tuple[Any, Int]:
    """Return the sorted classes of whole numbers; of few, with as little new memory as can be."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if high - low >= _FEW:
        return encode_labels(values.astype(np.int64), None)
    offsets = (values - values.dtype.type(low)).astype(np.uint8)
    present = np.zeros(_FEW, dtype=bool)
    present[offsets] = True
    places = np.cumsum(present) - 1
    return np.flatnonzero(present) + low, places[offsets]


def _without_label(name: str, row: int, owner: str) -> str:
    """Word the refusal of a row without a label."""
    return f"{owner}: the label {name!r} is missing in row {row}. Leave rows without a label out."


def _values(listed: list[Any], kind: LabelKind, name: str, owner: str) -> Any:
    """Return labels as an array that sorts."""
    if kind == "text":
        if any(label.endswith("\0") for label in listed):  # an array of text would lose it
            raise InputError(f"{owner}: a label in column {name!r} ends with a null character.")
        return np.array(listed, dtype=str) if listed else np.empty(0, dtype="<U1")
    if kind == "boolean":
        return np.array(listed, dtype=bool)
    broken = [value for value in listed if value != int_or_none(value)]
    if broken:
        raise InputError(
            f"{owner}: labels are whole numbers, text or booleans. Got {broken[0]!r} in column "
            f"{name!r}. Is it a quantity? Then fit a GaussianRegressor."
        )
    whole = [int(value) for value in listed]
    large = [value for value in whole if not -(2**63) <= value < 2**63]
    if large:
        raise InputError(
            f"{owner}: labels that are numbers must fit 64 bits with a sign. Got {large[0]} in "
            f"column {name!r}. Make them text."
        )
    return np.array(whole, dtype=np.int64)


def int_or_none(value: Any) -> int | None:
    """Return a number as a whole number, None if it is NaN, infinite or not whole."""
    try:
        return int(value)
    except (ValueError, OverflowError):
        return None
