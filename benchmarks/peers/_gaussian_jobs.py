"""The jobs of ``gaussian.py``, each run in a fresh process: JSON in, JSON out."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _gaussian_problems import FLOORS, Problem, with_holes
from _measure import Row, best_of, extra_megabytes, seconds
from scipy.stats import multivariate_normal
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import threadpool_limits

import credo

#: The solvers of scikit-learn for each model; the first is its default.
SOLVERS: dict[str, dict[str, Callable[[], Any]]] = {
    "tied": {
        "default": LinearDiscriminantAnalysis,
        "lsqr": partial(LinearDiscriminantAnalysis, solver="lsqr"),
        "eigen": partial(LinearDiscriminantAnalysis, solver="eigen"),
    },
    "full": {
        "default": QuadraticDiscriminantAnalysis,
        "eigen": partial(QuadraticDiscriminantAnalysis, solver="eigen"),
    },
    "diagonal": {"default": GaussianNB},
}
#: The solver whose estimates are maximum likelihood too; all solvers predict by the same code.
SAME_ESTIMATE = {"tied": "lsqr", "full": "eigen", "diagonal": "default"}
#: Rows that are checked against SciPy.
_CHECKED = 30


def fit(job: Row) -> dict[str, Row]:
    """Time all fits to the same rows; compare the covariances with those of the floor."""
    problem = Problem(**job["problem"])
    X, y = problem.draw()
    contestants: dict[str, Callable[[], Any]] = {}
    for model, solvers in SOLVERS.items():
        contestants[f"{model} credo"] = lambda m=model: credo.GaussianClassifier(m).fit(X, y)
        contestants[f"{model} floor"] = lambda m=model: FLOORS[m](X, y, problem.classes)
        for solver, make in solvers.items():
            contestants[f"{model} {solver}"] = lambda make=make: make().fit(X, y)
    best = best_of(contestants, job["turns"])
    answer: dict[str, Row] = {model: {} for model in SOLVERS}
    for name, took in best.items():
        model, who = name.split()
        answer[model][who] = took
    for model, found in answer.items():
        ours = credo.GaussianClassifier(model).fit(X, y).covariances_
        found["difference"] = greatest(ours - FLOORS[model](X, y, problem.classes))
    return answer


def predict(job: Row) -> dict[str, Row]:
    """Time all posteriors of the same rows, and compare them."""
    X, y = Problem(**job["problem"]).draw()
    runs = {name: partial(each.predict_proba, X) for name, each in fitted(X, y).items()}
    best = best_of(runs, job["turns"])
    return {
        model: {
            "credo": best[f"{model} credo"],
            "peer": best[f"{model} peer"],
            "difference": greatest(runs[f"{model} credo"]() - runs[f"{model} peer"]()),
        }
        for model in SOLVERS
    }


def memory(job: Row) -> dict[str, Row]:
    """Measure the megabytes that each posterior takes beyond its input and output."""
    X, y = Problem(**job["problem"]).draw()
    answer: dict[str, Row] = {model: {} for model in SOLVERS}
    for name, each in fitted(X, y).items():
        model, who = name.split()
        each.predict_proba(X[:10])  # loads what is loaded late
        run = partial(each.predict_proba, X)
        answer[model][who] = extra_megabytes(run, lambda table: table.nbytes)
    return answer


def fitted(X: Any, y: Any) -> dict[str, Any]:
    """Fit each model here and in scikit-learn, to the same estimates."""
    found = {}
    for model, solvers in SOLVERS.items():
        found[f"{model} credo"] = credo.GaussianClassifier(model).fit(X, y)
        found[f"{model} peer"] = solvers[SAME_ESTIMATE[model]]().fit(X, y)
    return found


def first_call(job: Row) -> float:
    """Time the first posterior of a row with a missing entry: imports, and compiles or loads."""
    X, y = Problem(**job["problem"] | {"rows": 2000}).draw()
    model = credo.GaussianClassifier(job["model"]).fit(X, y)
    return seconds(lambda: model.predict_proba(with_holes(X, None)[:100]))


def missing(job: Row) -> Row:
    """Time posteriors of complete rows, of rows that all differ in what is missing, and of few."""
    first = first_call(job)
    X, y = Problem(**job["problem"]).draw()
    model = credo.GaussianClassifier(job["model"]).fit(X, y)
    own, few = with_holes(X, None), with_holes(X, job["patterns"])
    best = best_of(
        {
            "complete": lambda: model.predict_proba(X),
            "own": lambda: model.predict_proba(own),
            "few": lambda: model.predict_proba(few),
        },
        job["turns"],
    )
    error = greatest(model.predict_proba(own[:_CHECKED]) - slow_posterior(model, own[:_CHECKED]))
    return best | {"first": first, "error": error}


def slow_posterior(model: Any, X: Any) -> Any:
    """Marginalise with SciPy, row by row: drop what is missing from means and covariances."""
    covariances = np.asarray(model.covariances_)
    if model.covariance == "diagonal":
        covariances = np.apply_along_axis(np.diag, 1, covariances)
    joint = np.empty((len(X), len(model.classes_)))
    for i, x in enumerate(X):
        seen = np.flatnonzero(~np.isnan(x))
        for k, mean in enumerate(model.means_):
            shared = covariances if covariances.ndim == 2 else covariances[k]
            density = multivariate_normal(mean[seen], shared[np.ix_(seen, seen)])
            joint[i, k] = density.logpdf(x[seen]) + np.log(model.priors_[k])
    p = np.exp(joint - joint.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def stream(job: Row) -> Row:
    """Learn from batches that are drawn one by one; watch the time and the memory."""
    problem = Problem(**job["problem"])
    n_batches = job["batches"]
    model, rng = credo.GaussianClassifier(job["model"]), np.random.default_rng(3)
    X, took = np.empty((problem.rows, problem.features)), 0.0
    resident, peaks = [], []
    for _ in range(n_batches):
        y = problem.fill(X, rng)
        took += seconds(lambda y=y: model.partial_fit(X, y))
        resident.append(resident_bytes())
        peaks.append(peak_bytes())
    half = n_batches // 2
    truth = problem.covariances()
    truth = truth.mean(axis=0) if job["model"] == "tied" else truth
    return {
        "seconds": took,
        "peak": peaks[-1],
        "peak growth": peaks[-1] - peaks[half - 1],
        "resident growth": max(resident[half:]) - max(resident[:half]),
        "error": greatest(model.covariances_ - truth),
    }


def resident_bytes() -> int:
    """Tell the memory of this process (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def peak_bytes() -> int:
    """Tell the most memory that this process had so far (Linux counts in kB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def greatest(difference: Any) -> float:
    """Give the greatest absolute value."""
    return float(np.abs(difference).max())


JOBS: dict[str, Callable[[Row], Any]] = {
    "fit": fit,
    "predict": predict,
    "memory": memory,
    "first_call": first_call,
    "missing": missing,
    "stream": stream,
}

if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    with threadpool_limits(given["threads"]):
        print(json.dumps(JOBS[given["job"]](given)))
