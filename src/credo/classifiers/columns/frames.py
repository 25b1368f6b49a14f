"""Data frames of any library, through Narwhals."""

from __future__ import annotations

from typing import Any

from credo.classifiers.columns.kinds import AbstractCells
from credo.classifiers.columns.refusals import check_shape, name_column, refuse_kind
from credo.classifiers.columns.series import FrameNumbers, FrameObjects, FrameWords, holds_objects
from credo.exceptions import InputError


def frame_of(X: Any, owner: str) -> Any:
    """Give the Narwhals frame of a data frame, or None if it is none."""
    import narwhals as nw  # noqa: PLC0415 - arrays do without it
    from narwhals.exceptions import DuplicateError  # noqa: PLC0415

    try:
        frame: Any = nw.from_native(X, allow_series=True, pass_through=True)
        if not isinstance(frame, (nw.DataFrame, nw.LazyFrame, nw.Series)):
            if not _is_exchangeable(X):
                return None
            frame = nw.from_native(_exchanged(X))
    except DuplicateError as error:
        said = " ".join(str(error).split())
        raise InputError(f"{owner}: column names must differ. {said}. Rename them.") from error
    if isinstance(frame, nw.LazyFrame):
        raise InputError(f"{owner}: X is a lazy frame, which has no rows yet. Use X.collect().")
    check_shape(frame.shape, owner)
    return frame


def names_of(frame: Any) -> tuple[str, ...] | None:
    """Give the column names if all are text."""
    names = tuple(frame.columns)
    return names if all(isinstance(name, str) for name in names) else None


def cells_of_frame(frame: Any, owner: str) -> tuple[AbstractCells, ...]:
    """Give the columns of a frame, refusing types that are no column of a table."""
    names = frame.columns
    return tuple(
        _cells(series, name_column(owner, name))
        for series, name in zip(frame.iter_columns(), names, strict=True)
    )


def _is_exchangeable(X: Any) -> bool:
    """Tell whether a frame can be taken over by one of the two exchange protocols."""
    streams = hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__array__")
    return streams or hasattr(X, "__dataframe__")


def _exchanged(X: Any) -> Any:
    """Give a frame of an unknown library as an Arrow table."""
    import pyarrow as pa  # noqa: PLC0415 - loaded with the first such frame
    from pyarrow.interchange import from_dataframe  # noqa: PLC0415

    if hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__"):
        return pa.table(X)
    return from_dataframe(X)


def _cells(series: Any, where: str) -> AbstractCells:
    """Choose how to read a column by its type."""
    import narwhals as nw  # noqa: PLC0415 - see above

    if holds_objects(series):  # asked first: Narwhals guesses a type from some of the objects
        return FrameObjects(series, where)
    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        return FrameNumbers(series)
    if dtype in {nw.String, nw.Categorical} or isinstance(dtype, nw.Enum):
        return FrameWords(series, where)
    if dtype in {nw.Object, nw.Binary}:
        return FrameObjects(series, where)
    if dtype == nw.Unknown:
        return _unknown(series, where)
    return refuse_kind(where, str(dtype))


def _unknown(series: Any, where: str) -> AbstractCells:
    """Read a column without a type, or of a float that Narwhals has no name for."""
    dtype = getattr(series.to_native(), "dtype", None)
    if getattr(dtype, "kind", "O") == "f" and hasattr(dtype, "itemsize"):
        return FrameNumbers(series)
    if series.null_count() == len(series):
        return FrameObjects(series, where)
    return refuse_kind(where, str(dtype or series.to_native().type))
