"""Naive Bayes of ``tables.py`` with dask-ml, in an interpreter of its own."""

from __future__ import annotations

import dask
import dask.dataframe as dd
from _tables_jobs import Row, answer, features_of, moments
from dask_ml.naive_bayes import GaussianNB


def fit(job: Row) -> Row:
    """Read with Dask, and fit; its estimates are arrays that are computed when they are asked."""
    names = [*features_of(job), "y"]
    frame = dd.read_parquet(job["path"], columns=names, split_row_groups=True)
    rows = frame.to_dask_array(lengths=True)
    X, y = rows[:, :-1], rows[:, -1]
    with dask.config.set(scheduler="threads", num_workers=job["threads"]):
        model = GaussianNB(classes=list(range(job["classes"]))).fit(X, y)
        return moments(*dask.compute(model.theta_, model.sigma_))


if __name__ == "__main__":
    answer({"fit": fit})
