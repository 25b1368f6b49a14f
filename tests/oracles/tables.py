"""Slow obvious twins of the columns of a table: one cell at a time."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa


def is_missing(cell):
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return True
    return isinstance(cell, (float, np.floating, Decimal)) and math.isnan(cell)


def is_bool(cell):
    return isinstance(cell, (bool, np.bool_))


def words(cells):
    """Codes and categories by linear search; a boolean is equal to no number."""
    codes, categories = [], []
    for cell in cells:
        if is_missing(cell):
            codes.append(-1)
            continue
        alike = (c for c, k in enumerate(categories) if k == cell and is_bool(k) == is_bool(cell))
        code = next(alike, len(categories))
        if code == len(categories):
            categories.append(cell)
        codes.append(code)
    return codes, categories


def numbers(cells):
    return [math.nan if is_missing(cell) else float(cell) for cell in cells]


def decoded(column):
    return [None if code < 0 else column.categories[code] for code in column.codes]


def object_array(cells):
    """A column of any objects; lists in cells stay lists."""
    array = np.empty((len(cells), 1), dtype=object)
    for row, cell in enumerate(cells):
        array[row, 0] = cell
    return array


def _halves(cells, kind):
    """An Arrow column in two chunks."""
    cut = len(cells) // 2
    return pa.chunked_array([pa.array(cells[:cut], kind), pa.array(cells[cut:], kind)])


def _dictionaries(cells):
    """An Arrow column in two chunks, each with a dictionary of its own."""
    parts = _halves(cells, pa.string()).chunks
    return pa.chunked_array([part.dictionary_encode() for part in parts])


def _pandas(cells, dtype):
    return pd.DataFrame({"a": pd.Series(cells, dtype=dtype)})


def _polars(cells, dtype):
    return pl.DataFrame({"a": pl.Series(cells, dtype=dtype)})


def _declared(cells):
    """Known values backwards, after one that does not occur."""
    return ["never", *reversed(words(cells)[1])]


#: Containers of any mixture.
ANY = {
    "objects": object_array,
    "fortran objects": lambda cells: np.asfortranarray(np.hstack([object_array(cells)] * 2)),
    "rows": lambda cells: [[cell] for cell in cells],
    "tuples": lambda cells: tuple((cell,) for cell in cells),
    "pandas object": lambda cells: pd.DataFrame({"a": pd.Series(cells, dtype=object)}),
    "polars object": lambda cells: pl.DataFrame({"a": pl.Series(cells, dtype=pl.Object)}),
}

#: Containers of text and None.
TEXT = {
    **ANY,
    "pandas str": lambda cells: _pandas(cells, "str"),
    "pandas string python": lambda cells: _pandas(cells, "string[python]"),
    "pandas string arrow": lambda cells: _pandas(cells, "string[pyarrow]"),
    "pandas arrow": lambda cells: _pandas(cells, pd.ArrowDtype(pa.string())),
    "pandas category": lambda cells: _pandas(cells, pd.CategoricalDtype(_declared(cells))),
    "pandas arrow dictionary": lambda cells: pd.DataFrame(
        {"a": pd.array(cells, pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())))}
    ),
    "polars string": lambda cells: _polars(cells, pl.String),
    "polars categorical": lambda cells: _polars(cells, pl.Categorical),
    "polars enum": lambda cells: _polars(cells, pl.Enum(_declared(cells))),
    "arrow string": lambda cells: pa.table({"a": _halves(cells, pa.string())}),
    "arrow large string": lambda cells: pa.table({"a": pa.array(cells, pa.large_string())}),
    "arrow string view": lambda cells: pa.table({"a": pa.array(cells, pa.string_view())}),
    "arrow dictionary": lambda cells: pa.table({"a": _dictionaries(cells)}),
    "arrow batch": lambda cells: pa.record_batch({"a": pa.array(cells, pa.string())}),
    "masked text": lambda cells: np.ma.array(
        [["" if cell is None else cell] for cell in cells],
        mask=[[cell is None] for cell in cells],
    ),
    "numpy string": lambda cells: np.array(
        [[cell] for cell in cells], dtype=np.dtypes.StringDType(na_object=None)
    ),
}

#: Containers of bytes and None.
BYTES = {
    **ANY,
    "polars binary": lambda cells: _polars(cells, pl.Binary),
    "arrow binary": lambda cells: pa.table({"a": pa.array(cells, pa.binary())}),
    "pandas arrow binary": lambda cells: _pandas(cells, pd.ArrowDtype(pa.binary())),
}

#: Containers of whole numbers of 64 bits and None.
WHOLE = {
    **ANY,
    "pandas Int64": lambda cells: _pandas(cells, "Int64"),
    "pandas arrow int": lambda cells: _pandas(cells, pd.ArrowDtype(pa.int64())),
    "polars int": lambda cells: _polars(cells, pl.Int64),
    "arrow int": lambda cells: pa.table({"a": _halves(cells, pa.int64())}),
}

#: Containers of truth values and None.
TRUTH = {
    **ANY,
    "pandas boolean": lambda cells: _pandas(cells, "boolean"),
    "pandas arrow bool": lambda cells: _pandas(cells, pd.ArrowDtype(pa.bool_())),
    "polars boolean": lambda cells: _polars(cells, pl.Boolean),
    "arrow bool": lambda cells: pa.table({"a": _halves(cells, pa.bool_())}),
    "masked bool": lambda cells: np.ma.array(
        [[bool(cell)] for cell in cells], mask=[[cell is None] for cell in cells]
    ),
}

#: Containers of floats, NaN and None.
FLOATS = {
    **ANY,
    "matrix": lambda cells: np.array([numbers(cells)]).T,
    "backwards matrix": lambda cells: np.array([numbers(cells)]).T.astype(">f8"),
    "masked": lambda cells: (
        np.ma.masked_invalid(np.array([numbers(cells)]).T)
        if not any(map(math.isinf, numbers(cells)))
        else np.ma.array(np.array([numbers(cells)]).T)
    ),
    "pandas float": lambda cells: _pandas(cells, "float64"),
    "pandas Float64": lambda cells: _pandas(cells, "Float64"),
    "pandas arrow float": lambda cells: _pandas(cells, pd.ArrowDtype(pa.float64())),
    "polars float": lambda cells: _polars(cells, pl.Float64),
    "arrow float": lambda cells: pa.table({"a": _halves(cells, pa.float64())}),
}
