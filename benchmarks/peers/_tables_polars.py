"""Fits of ``tables.py`` as queries of Polars, streamed."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from _tables_jobs import Row, answer, features_of, moments, pairs_of


def fit(job: Row) -> Row:
    """Estimate a model."""
    return {"naive Bayes": naive_bayes, "tied": tied, "full": full}[job["model"]](job)


def scan(job: Row) -> pl.LazyFrame:
    """Open a file."""
    return (pl.scan_csv if job["path"].endswith(".csv") else pl.scan_parquet)(job["path"])


def naive_bayes(job: Row) -> Row:
    """Group by class: means and variances."""
    columns = pl.col(features_of(job))
    spread = columns.var(ddof=0).name.suffix(" spread")
    found = _collected(scan(job).group_by("y").agg(columns.mean(), spread).sort("y"))
    return moments(_means(job, found), found.select(pl.col("^.* spread$")).to_numpy())


def full(job: Row) -> Row:
    """Group by class: means, and means of all products."""
    columns = pl.col(features_of(job))
    found = _collected(scan(job).group_by("y").agg(columns.mean(), *_products(job)).sort("y"))
    means = _means(job, found)
    products = np.array([_square(job, row) for row in found.iter_rows(named=True)])
    return moments(means, products - np.einsum("ki,kj->kij", means, means))


def tied(job: Row) -> Row:
    """Group by class for means, and take the means of all products over all rows."""
    rows = scan(job)
    by_class = rows.group_by("y").agg(pl.len(), pl.col(features_of(job)).mean()).sort("y")
    queries = [by_class, rows.select(_products(job))]
    found, products = pl.collect_all(queries, engine="streaming")
    means, counts = _means(job, found), found["len"].to_numpy()
    between = np.einsum("k,ki,kj->ij", counts / counts.sum(), means, means)
    return moments(means, _square(job, products.row(0, named=True)) - between)


def _products(job: Row) -> list[pl.Expr]:
    """Ask for the means of all products."""
    return [(pl.col(a) * pl.col(b)).mean().alias(f"{a} {b}") for a, b in pairs_of(job)]


def _square(job: Row, row: Row) -> Any:
    """Put the means of all products into a symmetric matrix."""
    table = np.zeros((job["features"], job["features"]))
    table[np.triu_indices(job["features"])] = [row[f"{a} {b}"] for a, b in pairs_of(job)]
    return table + np.triu(table, 1).T


def _means(job: Row, found: pl.DataFrame) -> Any:
    return found.select(features_of(job)).to_numpy()


def _collected(query: pl.LazyFrame) -> pl.DataFrame:
    """Run a query."""
    return query.collect(engine="streaming")


if __name__ == "__main__":
    answer({"fit": fit})
