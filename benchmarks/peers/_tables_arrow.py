"""Reading with Arrow and discarding, the floor of ``tables.py``; and sums by hand in NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from _tables_jobs import BATCH, Row, answer, features_of, moments


def batches(job: Row) -> Iterator[pa.RecordBatch]:
    """Read batch by batch, as lean as Arrow can: a Parquet file without reading ahead."""
    threads = job["threads"] > 1
    if job["path"].endswith(".csv"):
        yield from pc.open_csv(job["path"], pc.ReadOptions(use_threads=threads))
        return
    with pq.ParquetFile(job["path"], pre_buffer=False) as file:
        yield from file.iter_batches(BATCH, use_threads=threads)


def floor(job: Row) -> None:
    """Read and discard."""
    for _ in batches(job):
        pass


def with_defaults(job: Row) -> None:
    """Read and discard with the settings that Arrow has by default."""
    if job["path"].endswith(".csv"):
        pc.read_csv(job["path"])
        return
    with pq.ParquetFile(job["path"]) as file:
        for _ in file.iter_batches():
            pass


def dataset(job: Row) -> None:
    """Read and discard through a dataset."""
    kind = "csv" if job["path"].endswith(".csv") else "parquet"
    for _ in ds.dataset(job["path"], format=kind).to_batches(use_threads=job["threads"] > 1):
        pass


def whole(job: Row) -> None:
    """Read all of it at once."""
    pq.read_table(job["path"], use_threads=job["threads"] > 1)


def numpy_sums(job: Row) -> Row:
    """Add up sums and products of each batch, from the mean of the first, class by class."""
    sums: dict[Any, list[Any]] = {}
    shift: Any = None
    names, diagonal = features_of(job), job["model"] == "naive Bayes"
    for batch in batches(job):
        X = np.column_stack([batch.column(name).to_numpy() for name in names])
        y = batch.column("y").to_numpy(zero_copy_only=False)
        shift = X.mean(axis=0) if shift is None else shift
        X -= shift
        for label in np.unique(y):
            rows = X[y == label]
            more = [len(rows), rows.sum(axis=0), _products(rows, diagonal=diagonal)]
            old = sums.get(label, [0.0, 0.0, 0.0])
            sums[label] = [a + b for a, b in zip(old, more, strict=True)]
    return _estimates([sums[label] for label in sorted(sums)], shift, job["model"])


def _products(rows: Any, *, diagonal: bool) -> Any:
    """Add up squares, or all products."""
    return np.einsum("ij,ij->j", rows, rows) if diagonal else rows.T @ rows


def _estimates(sums: list[list[Any]], shift: Any, model: str) -> Row:
    """Turn sums into means and variances, or covariances."""
    counts, totals, products = (np.array(each) for each in zip(*sums, strict=True))
    means = totals / counts[:, None]
    if model == "naive Bayes":
        return moments(means + shift, products / counts[:, None] - means**2)
    scatter = products - np.einsum("k,ki,kj->kij", counts, means, means)
    if model == "tied":
        return moments(means + shift, scatter.sum(axis=0) / counts.sum())
    return moments(means + shift, scatter / counts[:, None, None])


if __name__ == "__main__":
    answer(
        {
            "floor": floor,
            "defaults": with_defaults,
            "dataset": dataset,
            "whole": whole,
            "numpy": numpy_sums,
        }
    )
