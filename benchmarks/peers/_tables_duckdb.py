"""Fits of ``tables.py`` as queries of DuckDB."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
from _tables_jobs import Row, answer, features_of, moments, pairs_of


def fit(job: Row) -> Row:
    """Estimate a model."""
    duckdb.execute(f"SET threads = {job['threads']}")
    return {"naive Bayes": naive_bayes, "tied": tied, "full": full}[job["model"]](job)


def naive_bayes(job: Row) -> Row:
    """Group by class: means and variances."""
    spread = _by_class(job, [f"var_pop({name})" for name in features_of(job)])
    means, spread = np.split(spread, 2, axis=1)
    return moments(means, spread)


def full(job: Row) -> Row:
    """Group by class: means, and means of all products."""
    found = _by_class(job, [f"avg({a} * {b})" for a, b in pairs_of(job)])
    means = found[:, : job["features"]]
    products = np.array([_square(job, row[job["features"] :]) for row in found])
    return moments(means, products - np.einsum("ki,kj->kij", means, means))


def tied(job: Row) -> Row:
    """Group by class for means, and take the means of all products over all rows."""
    found = _by_class(job, ["count(*)"])
    means, counts = found[:, :-1], found[:, -1]
    asked = ", ".join(f"avg({a} * {b})" for a, b in pairs_of(job))
    query = f"SELECT {asked} FROM '{job['path']}'"  # noqa: S608 (our own file)
    (row,) = duckdb.sql(query).fetchall()
    between = np.einsum("k,ki,kj->ij", counts / counts.sum(), means, means)
    return moments(means, _square(job, row) - between)


def _by_class(job: Row, asked: list[str]) -> Any:
    """Ask for the means of each class, and for more."""
    means = [f"avg({name})" for name in features_of(job)]
    what = ", ".join([*means, *asked])
    query = f"SELECT {what} FROM '{job['path']}' GROUP BY y ORDER BY y"  # noqa: S608 (our own file)
    return np.array(duckdb.sql(query).fetchall(), dtype=float)


def _square(job: Row, products: Any) -> Any:
    """Put the means of all products into a symmetric matrix."""
    table = np.zeros((job["features"], job["features"]))
    table[np.triu_indices(job["features"])] = products
    return table + np.triu(table, 1).T


if __name__ == "__main__":
    answer({"fit": fit})
