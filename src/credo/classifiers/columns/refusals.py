"""What is no table, and what no column may hold: the errors, with their remedies."""

from __future__ import annotations

import datetime as dt
from typing import Any, NoReturn

import numpy as np

from credo.exceptions import InputError, ShapeError

_DATES = (dt.date, dt.time, dt.timedelta, np.datetime64, np.timedelta64)
_COMPLEX = (complex, np.complexfloating)


def check_shape(shape: tuple[int, ...], owner: str) -> None:
    """Check for two dimensions, and at least one row and one column."""
    if len(shape) < 2:
        raise ShapeError(
            f"{owner}: X must have two dimensions, rows and columns. Got shape {shape}. Reshape "
            "your data: X.reshape(-1, 1) if it is one column, X.reshape(1, -1) if it is one row."
        )
    if len(shape) > 2:
        raise ShapeError(
            f"{owner}: X must have two dimensions, rows and columns. Got {len(shape)}, shape "
            f"{shape}. Use X.reshape(len(X), -1)."
        )
    for count, what in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if not count:
            raise ShapeError(
                f"{owner}: found 0 {what} (shape={shape}) while a minimum of 1 is required."
            )


def refuse_kind(where: str, kind: str) -> NoReturn:
    """Refuse a column by the name of its kind, which says what is in it."""
    if "complex" in kind.lower():
        raise InputError(
            f"{where}: Complex data not supported. Split it into real and imaginary parts."
        )
    if kind.lower().startswith(("date", "time", "duration", "period")):
        raise InputError(
            f"{where} holds dates or durations ({kind}). Turn it into numbers, such as days since "
            "the first, or categories, such as the weekday as text."
        )
    if kind.startswith("Sparse"):
        raise InputError(f"{where} is sparse, and must be dense. Use X.sparse.to_dense().")
    raise InputError(
        f"{where} holds {kind}, which is neither a number nor a category. Turn it into columns "
        "of numbers, truth values or text."
    )


def check_category(value: Any, where: str) -> None:
    """Refuse values that are hashable but no categories."""
    if isinstance(value, _COMPLEX):
        refuse_kind(where, "complex")
    if isinstance(value, _DATES):
        refuse_kind(where, f"dates such as {value!r}")
    if isinstance(value, tuple):
        refuse_kind(where, f"lists such as {value!r}")


def name_column(owner: str, column: Any) -> str:
    """Give how messages speak of a column."""
    return f"{owner}: column {column!r}"
