"""The generated tables of ``tables.py``: Gaussian rows in Parquet and CSV files, kept in a cache.

``python _tables_files.py '{"kind": "parquet", "rows": 5000000, "features": 20}'`` makes one.

All are written piece by piece. Parquet as pyarrow does by default: snappy, and row groups of
1 048 576 rows; its target holds whole numbers. CSV with six decimals; its target holds text.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
from _gaussian_problems import Problem

Row = dict[str, Any]

CLASSES = 5
#: Rows of a row group in pyarrow.
GROUP = 2**20
#: Where the files are kept, if not in the folder for temporary files.
CACHE = "CREDO_BENCH_FILES"


def place(spec: Row) -> Path:
    """Name the file of a table."""
    kept = os.environ.get(CACHE) or Path(tempfile.gettempdir()) / "credo-bench"
    copies, grouped = spec.get("copies", 1), "_one_group" if spec.get("one_group") else ""
    name = f"{spec['rows']}x{spec['features']}_times_{copies}{grouped}.{spec['kind']}"
    return Path(kept) / name


def make(spec: Row) -> Path:
    """Write a table, unless it is there: ``copies`` of the same rows, one after the other."""
    path = place(spec)
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{os.getpid()}_{path.name}")
    with _writer(partial, spec) as writer:
        for _ in range(spec.get("copies", 1)):
            for piece in _pieces(spec):
                writer.write_table(piece, piece.num_rows)  # a row group, or so many lines
    partial.replace(path)
    return path


def _pieces(spec: Row) -> Iterator[pa.Table]:
    """Draw the rows, as many at once as a row group has."""
    rng = np.random.default_rng(0)
    size = spec["rows"] if spec.get("one_group") else GROUP
    for start in range(0, spec["rows"], size):
        n_rows = min(size, spec["rows"] - start)
        X = np.empty((n_rows, spec["features"]))
        y = Problem(n_rows, spec["features"], CLASSES).fill(X, rng)
        yield _as_table(X, y, spec["kind"])


def _as_table(X: Any, y: Any, kind: str) -> pa.Table:
    """Name the columns ``x0``, ``x1``, … and ``y``."""
    labels = y
    if kind == "csv":
        np.round(X, 6, out=X)
        labels = np.array([f"class {k}" for k in range(CLASSES)])[y]
    names = [f"x{j}" for j in range(X.shape[1])]
    columns = [pa.array(np.ascontiguousarray(X[:, j])) for j in range(X.shape[1])]
    return pa.table([*columns, pa.array(labels)], names=[*names, "y"])


def _writer(path: Path, spec: Row) -> AbstractContextManager[Any]:
    """Open a file to write tables to."""
    label = pa.string() if spec["kind"] == "csv" else pa.int64()
    fields = [pa.field(f"x{j}", pa.float64()) for j in range(spec["features"])]
    schema = pa.schema([*fields, pa.field("y", label)])
    if spec["kind"] == "csv":
        return pc.CSVWriter(path, schema, write_options=pc.WriteOptions(quoting_style="none"))
    return pq.ParquetWriter(path, schema)


if __name__ == "__main__":
    print(json.dumps(str(make(json.loads(sys.argv[1])))))
