"""Fits and predictions of ``tables.py`` with scikit-learn: all in memory, or batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
from _tables_jobs import BATCH, Row, answer, features_of, moments
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.naive_bayes import GaussianNB

#: By model and solver.
MODELS = {
    ("naive Bayes", ""): GaussianNB(),
    ("tied", "svd"): LinearDiscriminantAnalysis(store_covariance=True),
    ("tied", "lsqr"): LinearDiscriminantAnalysis(solver="lsqr"),
    ("full", "svd"): QuadraticDiscriminantAnalysis(store_covariance=True),
    ("full", "eigen"): QuadraticDiscriminantAnalysis(solver="eigen", store_covariance=True),
}


def fit(job: Row) -> Row:
    """Read all rows with pandas, and fit."""
    frame = read(job)
    return _estimates(MODELS[job["model"], job["solver"]].fit(frame[features_of(job)], frame["y"]))


def fit_batches(job: Row) -> Row:
    """Read batches with Arrow, and fit one after the other."""
    model, labels = GaussianNB(), _labels(job)
    for batch in batches(job):
        y = batch.column("y").to_numpy(zero_copy_only=False)
        model.partial_fit(_rows(features_of(job), batch), y, classes=labels)
    return _estimates(model)


def predict(job: Row) -> Row:
    """Read all rows with pandas, and write probabilities and classes."""
    model, frame = _fitted(job["model"], job["solver"], job["fitted"]), read(job)
    found = model.predict_proba(frame[features_of(job)].to_numpy())
    _scored(model, found).to_parquet(job["out"])
    return {"head": found[:10]}


def predict_batches(job: Row) -> Row:
    """Read, predict and write batch by batch."""
    model = _fitted(job["model"], job["solver"], job["fitted"])
    writer, head = None, None
    for batch in batches(job):
        found = model.predict_proba(_rows(features_of(job), batch))
        table = pa.Table.from_pandas(_scored(model, found), preserve_index=False)
        writer = writer or pq.ParquetWriter(job["out"], table.schema)
        writer.write_table(table)
        head = found[:10] if head is None else head
    if writer:
        writer.close()
    return {"head": head}


def read(job: Row) -> pd.DataFrame:
    """Read all rows."""
    return (pd.read_csv if job["path"].endswith(".csv") else pd.read_parquet)(job["path"])


def batches(job: Row) -> Iterator[pa.RecordBatch]:
    """Read with Arrow."""
    if job["path"].endswith(".csv"):
        yield from pc.open_csv(job["path"])
        return
    with pq.ParquetFile(job["path"], pre_buffer=False) as file:
        yield from file.iter_batches(BATCH)


def _rows(features: list[str], batch: pa.RecordBatch) -> Any:
    """Put the columns of a batch side by side."""
    return np.column_stack([batch.column(name).to_numpy() for name in features])


def _labels(job: Row) -> Any:
    """Tell the classes, which a stream must know in advance."""
    numbers = range(job["classes"])
    texts = [f"class {k}" for k in numbers]
    return np.array(texts if job["path"].endswith(".csv") else numbers)


@cache
def _fitted(model: str, solver: str, path: str) -> Any:
    """Fit to the first rows of a file, as its peers do, before the clock starts."""
    with pq.ParquetFile(path) as file:
        batch = next(file.iter_batches(BATCH))
    X = _rows([name for name in batch.schema.names if name != "y"], batch)
    return MODELS[model, solver].fit(X, batch.column("y").to_numpy())


def _scored(model: Any, found: Any) -> pd.DataFrame:
    """Put probabilities and classes into a table."""
    frame = pd.DataFrame(found, columns=[f"p_{label}" for label in model.classes_])
    return frame.assign(act=model.classes_[found.argmax(axis=1)])


def _estimates(model: Any) -> Row:
    """Tell the maximum likelihood estimates: without GaussianNB's smoothing, and divided by N."""
    if isinstance(model, GaussianNB):
        return moments(model.theta_, model.var_ - model.epsilon_)
    return moments(model.means_, np.array(model.covariance_))


if __name__ == "__main__":
    answer(
        {
            "fit": fit,
            "batches": fit_batches,
            "predict": predict,
            "predict batches": predict_batches,
        }
    )
