"""The problems and jobs of ``logistic.py``, each run in a fresh process: JSON in, JSON out."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from _measure import Row, best_of
from scipy import sparse
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from credo.classifiers.logistic import LogisticClassifier

#: Gradient that everyone has to reach: largest entry, of the mean penalised loss.
GOAL = 1e-6
#: Tolerances that are tried in turn; what each solver means by them differs.
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
#: Saga is given up after so many passes over the rows.
MOST_PASSES = 300


@dataclass(frozen=True, slots=True)
class Problem:
    """Rows of a size; sparse ones have so many words each, and an L2 penalty."""

    rows: int
    features: int
    classes: int
    words: int = 0
    strength: float = 0.0

    def draw(self) -> tuple[Any, Any]:
        """Draw rows and labels."""
        rng = np.random.default_rng(0)
        X = self._documents(rng) if self.words else self._dense(rng)
        spread = 3.0 if self.words else 0.3
        scores = X @ rng.normal(0.0, spread, size=(self.features, self.classes))
        return X, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)

    def _dense(self, rng: np.random.Generator) -> Any:
        """Draw correlated columns at one scale."""
        mix = np.eye(self.features) + rng.normal(size=(self.features,) * 2) / self.features**0.5
        X = rng.normal(size=(self.rows, self.features)) @ mix
        return X / X.std(axis=0)

    def _documents(self, rng: np.random.Generator) -> Any:
        """Draw words by Zipf's law; weigh them by rarity; make documents of length one."""
        shares = np.cumsum(1.0 / np.arange(1, self.features + 1))
        n_words = self.rows * self.words
        drawn = np.searchsorted(shares / shares[-1], rng.random(n_words)).astype(np.int32)
        pointers = np.arange(0, n_words + 1, self.words, dtype=np.int32)
        X = sparse.csr_array((np.ones(n_words), drawn, pointers), shape=(self.rows, self.features))
        X.sum_duplicates()
        rarity = np.log(self.rows / (1 + np.bincount(X.indices, minlength=self.features))) + 1
        X.data = np.log1p(X.data) * rarity[X.indices]
        lengths = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
        X.data /= np.repeat(lengths, np.diff(X.indptr))
        return X


def gradient_norm(model: Any, X: Any, y: Any, strength: float) -> float:
    """Measure everyone alike, in the units of the columns."""
    scores = X @ model.coef_.T + model.intercept_
    if scores.shape[1] == 1:
        residuals = softmax(np.column_stack([np.zeros(len(y)), scores]), axis=1)[:, 1:]
        residuals[:, 0] -= y
    else:
        residuals = softmax(scores, axis=1)
        residuals[np.arange(len(y)), y] -= 1.0
    slopes = (X.T @ residuals).T + strength * model.coef_
    return float(max(np.abs(slopes).max(), np.abs(residuals.sum(axis=0)).max()) / len(y))


def contestants(problem: Problem) -> dict[str, Callable[[float], Any]]:
    """Give everyone who can solve the problem, as a function of the tolerance."""
    penalty = "l2" if problem.strength else None
    inverse = 1.0 / problem.strength if problem.strength else np.inf
    peer = partial(LogisticRegression, C=inverse, max_iter=5000)
    found = {
        "credo": lambda tol: LogisticClassifier(
            penalty, strength=problem.strength or None, tol=tol
        ),
        "lbfgs": lambda tol: peer(solver="lbfgs", tol=tol),
        "saga": lambda tol: peer(solver="saga", tol=tol, max_iter=MOST_PASSES, random_state=0),
    }
    if not problem.words:
        found["newton-cholesky"] = lambda tol: peer(solver="newton-cholesky", tol=tol)
    return found


def fit(job: Row) -> dict[str, Row]:
    """Find the first tolerance at which each reaches the goal, then time them turn by turn."""
    problem = Problem(**job["problem"])
    X, y = problem.draw()
    answer, runs = {}, {}
    for name, make in contestants(problem).items():
        for tol in TOLERANCES:
            model = make(tol).fit(X, y)
            norm = gradient_norm(model, X, y, problem.strength)
            gave_up = name == "saga" and np.max(model.n_iter_) >= MOST_PASSES
            if norm <= GOAL or gave_up:
                break
        answer[name] = {"gradient": norm, "tol": tol, "reached": norm <= GOAL}
        runs[name] = partial(make(tol).fit, X, y)
    for name, took in best_of(runs, job["turns"]).items():
        answer[name]["seconds"] = took
    return answer


def stream(job: Row) -> Row:
    """Time the same fit in memory and over batches."""
    problem = Problem(**job["problem"])
    X, y = problem.draw()
    size = job["batch"]
    parts = [slice(i, i + size) for i in range(0, problem.rows, size)]
    one, other = LogisticClassifier(tol=GOAL), LogisticClassifier(tol=GOAL)
    took = best_of(
        {
            "memory": lambda: one.fit(X, y),
            "stream": lambda: other.fit_batches(lambda: ((X[part], y[part]) for part in parts)),
        },
        job["turns"],
    )
    return took | {"difference": float(np.abs(one.coef_ - other.coef_).max())}


JOBS: dict[str, Callable[[Row], Any]] = {"fit": fit, "stream": stream}

if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    warnings.simplefilter("ignore", ConvergenceWarning)  # at the wider tolerances
    with threadpool_limits(given["threads"]):
        print(json.dumps(JOBS[given["job"]](given)))
