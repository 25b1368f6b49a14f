"""Columns back to a table of the kind they came in."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.classifiers.columns.frames import frame_of


def kind_of(X: Any) -> str | None:
    """Return the name of a data frame's library, or None for arrays and lists."""
    if isinstance(X, (np.ndarray, list, tuple)) or hasattr(X, "tocsr"):
        return None
    frame = frame_of(X, "NaiveBayes")
    return None if frame is None else str(frame.implementation.value)


def rebuilt(columns: list[Any], names: Any, kind: Any) -> Any:
    """Put columns together: a data frame of that library, or an array."""
    if kind is not None:
        import narwhals as nw  # noqa: PLC0415 - arrays do without it

        data = {name: column.tolist() for name, column in zip(names, columns, strict=True)}
        return nw.from_dict(data, backend=kind).to_native()
    if all(column.dtype != object for column in columns):
        return np.column_stack([column.astype(np.float64) for column in columns])
    result = np.empty((len(columns[0]), len(columns)), dtype=object)
    for place, column in enumerate(columns):
        result[:, place] = column
    return result
