"""Fits, predictions and model files of ``tables.py`` with credo; here, on Dask and on Spark."""

from __future__ import annotations

import atexit
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pyarrow.parquet as pq
from _tables_jobs import BATCH, Row, answer, moments
from sklearn.naive_bayes import GaussianNB

import credo
from credo.tables import DaskEngine, SparkEngine, fit_table, predict_table

#: Rows of each class of the large model that is saved and loaded.
_ROWS = 3


def fit(job: Row) -> Row:
    """Fit to a file."""
    return _estimates(fit_table(_model(job["model"]), job["path"]))


def fit_dask(job: Row) -> Row:
    """Fit to a file with as many workers of Dask as there are threads."""
    return _estimates(fit_table(_model(job["model"]), job["path"], engine=_dask(job["threads"])))


def fit_spark(job: Row) -> Row:
    """Fit to a file with as many tasks of Spark at once as there are threads."""
    return _estimates(fit_table(_model(job["model"]), job["path"], engine=_spark(job["threads"])))


def predict(job: Row) -> Row:
    """Score a file into another."""
    predict_table(_fitted(job["model"], job["fitted"]), job["path"], job["out"])
    with pq.ParquetFile(job["out"]) as file:
        batch = next(file.iter_batches(10))
    return {"head": np.column_stack([batch.column(f"p_{k}") for k in range(job["classes"])])}


def save_fitted(job: Row) -> None:
    """Save a model that is fitted to the first rows of a file."""
    _fitted(job["model"], job["fitted"]).save(job["saved"])


def save_large(job: Row) -> Row:
    """Save a model of many classes and features, by credo and by joblib, and a peer's."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(job["classes"]), _ROWS)
    X = rng.standard_normal((len(y), job["features"])) + rng.standard_normal(job["features"])
    model = _model(job["model"]).fit(X, y)
    model.save(job["saved"])
    joblib.dump(model, f"{job['saved']}.joblib")
    joblib.dump(GaussianNB().fit(X, y), f"{job['saved']}.peer.joblib")
    np.save(f"{job['saved']}.npy", X[:1])
    return {"bytes": Path(job["saved"]).stat().st_size}


def load(job: Row) -> Any:
    """Load a model."""
    return _loaded(credo.load(job["saved"]), job)


def load_joblib(job: Row) -> Any:
    """Load the same from joblib's file."""
    return _loaded(joblib.load(f"{job['saved']}.joblib"), job)


def load_peer(job: Row) -> Any:
    """Load scikit-learn's GaussianNB from joblib's file."""
    return _loaded(joblib.load(f"{job['saved']}.peer.joblib"), job)


def _loaded(model: Any, job: Row) -> Any:
    """Ask a model for the posterior of a row, if that is part of the job."""
    return model.predict_proba(np.load(f"{job['saved']}.npy")) if job.get("ask") else None


def _model(name: str) -> Any:
    """Make a model."""
    if name == "naive Bayes":
        return credo.NaiveBayes(families="gaussian")
    return credo.GaussianClassifier(covariance=name)


@cache
def _fitted(model: str, path: str) -> Any:
    """Fit to the first rows of a file, as its peers do, before the clock starts."""
    with pq.ParquetFile(path) as file:
        return fit_table(_model(model), next(file.iter_batches(BATCH)))


@cache
def _dask(n_workers: int) -> Any:
    """Start a cluster here, before the clock starts."""
    return _kept(DaskEngine(n_workers=n_workers))


@cache
def _spark(threads: int) -> Any:
    """Start Spark here, before the clock starts."""
    return _kept(SparkEngine(f"local[{threads}]"))


def _kept(engine: Any) -> Any:
    """Open an engine until this process ends."""
    atexit.register(engine.__exit__, None, None, None)
    return engine.__enter__()


def _estimates(model: Any) -> Row:
    """Tell means, and variances or covariances."""
    if isinstance(model, credo.GaussianClassifier):
        return moments(model.means_, model.covariances_)
    (part,) = model.summary_.parts
    found = part.summary
    return moments(found.means, found.scatter / found.weights[:, None])


if __name__ == "__main__":
    answer(
        {
            "fit": fit,
            "dask": fit_dask,
            "spark": fit_spark,
            "predict": predict,
            "save": save_fitted,
            "save large": save_large,
            "load": load,
            "load joblib": load_joblib,
            "load peer": load_peer,
        }
    )
