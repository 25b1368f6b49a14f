"""The jobs of ``discrete.py``, each run in a fresh process: JSON in, JSON out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from _discrete_problems import Categories, Mixed, Text
from _gaussian_problems import Problem
from _measure import Row, best_of, extra_megabytes
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from threadpoolctl import threadpool_limits

import credo

Make = Callable[[], Any]

#: The models of documents; scikit-learn may look for zeros in Bernoulli rows, or trust them.
TEXT: dict[str, dict[str, Make]] = {
    "multinomial": {
        "credo": partial(credo.NaiveBayes, "multinomial"),
        "MultinomialNB": MultinomialNB,
    },
    "bernoulli": {
        "credo": partial(credo.NaiveBayes, "bernoulli"),
        "BernoulliNB": BernoulliNB,
        "BernoulliNB(binarize=None)": partial(BernoulliNB, binarize=None),
    },
}
#: Rows on which all are run once before they are timed: kernels are compiled or loaded.
_FIRST = 2000
#: Rows whose posteriors are compared if all of them would take a peer minutes.
_COMPARED = 10_000


def text(job: Row) -> dict[str, Row]:
    """Time fits and posteriors of documents, and compare the posteriors."""
    X, y = Text(**job["problem"]).draw(binary=job["model"] == "bernoulli")
    return timed(TEXT[job["model"]], X, y, job["turns"])


def text_memory(job: Row) -> dict[str, Row]:
    """Measure megabytes beyond the input, and beyond the posteriors; a model counts."""
    X, y = Text(**job["problem"]).draw(binary=job["model"] == "bernoulli")
    answer = {}
    for name, make in TEXT[job["model"]].items():
        warm_up(make, X, y)
        model = make().fit(X, y)
        answer[name] = {
            "fit": extra_megabytes(lambda make=make: make().fit(X, y), lambda _: 0),
            "predict_proba": extra_megabytes(
                partial(model.predict_proba, X), lambda table: table.nbytes
            ),
        }
    return answer


def categorical(job: Row) -> Row:
    """Time a fit and the posteriors of the same rows, together; compare the posteriors."""
    problem = Categories(**job["problem"])
    X, y = problem.draw(job["given as"], job["missing"])
    makers: dict[str, Make] = {
        "credo": partial(credo.NaiveBayes, unknown="ignore"),
        "peer": partial(PIPELINES[job["pipeline"]], problem.levels),
    }
    for make in makers.values():
        warm_up(make, X, y)
    runs = {name: partial(fit_and_predict, make, X, y) for name, make in makers.items()}
    best = best_of(runs, job["turns"])
    return best | {"difference": greatest(runs["credo"]() - runs["peer"]())}


def plain(levels: Sequence[int]) -> Any:
    """Make the pipeline of scikit-learn for complete rows."""
    return make_pipeline(OrdinalEncoder(dtype=np.int64), CategoricalNB(min_categories=levels))


def filled(levels: Sequence[int]) -> Any:
    """Make the pipeline in which "missing" is filled in, as one more category."""
    return make_pipeline(FunctionTransformer(named_missing), plain(np.add(levels, 1)))


def coded(levels: Sequence[int]) -> Any:
    """Make the pipeline in which the encoder gives missing cells a code that no column has."""
    code = max(levels)
    encoder = OrdinalEncoder(dtype=np.int64, encoded_missing_value=code)
    return make_pipeline(encoder, CategoricalNB(min_categories=code + 1))


def named_missing(X: Any) -> Any:
    """Call missing cells "missing", as quickly as the kind of table allows."""
    if hasattr(X, "fillna"):
        return X.fillna("missing")
    return np.where(np.equal(X, None), "missing", X)


def fit_and_predict(make: Make, X: Any, y: Any) -> Any:
    """Fit, and give the posteriors of the same rows."""
    return make().fit(X, y).predict_proba(X)


def mixed(job: Row) -> dict[str, Row]:
    """Time fits and posteriors of a mixed table."""
    problem = Mixed(**job["problem"])
    X, y = problem.draw()
    return timed(MIXED[job["peer"]](problem), X, y, job["turns"], _COMPARED)


def against_mixed_naive_bayes(problem: Mixed) -> dict[str, Make]:
    """Make the same model twice; there, 0 and 1 are categories."""
    from mixed_naive_bayes import MixedNB  # noqa: PLC0415 - an optional peer

    settings = {
        "categorical_features": list(range(problem.numbers, problem.features)),
        "max_categories": problem.all_levels,
        "alpha": 1.0,
        "var_smoothing": 0.0,
    }
    return {
        "credo": partial(credo.NaiveBayes, families_of(problem), unknown="ignore"),
        "peer": partial(MixedNB, **settings),
    }


def against_wnb(problem: Mixed) -> dict[str, Make]:
    """Make the same model twice, barely smoothed; there, smoothed chances do not sum to one."""
    from wnb import Distribution, GeneralNB  # noqa: PLC0415 - an optional peer

    distributions = [
        *[Distribution.NORMAL] * problem.numbers,
        *[Distribution.BERNOULLI] * problem.binary,
        *[Distribution.CATEGORICAL] * len(problem.levels),
    ]
    least, families = 1e-10, families_of(problem)
    return {
        "credo": partial(credo.NaiveBayes, families, unknown="ignore", smoothing=least),
        "peer": partial(GeneralNB, distributions, alpha=least, var_smoothing=0.0),
    }


def families_of(problem: Mixed) -> dict[int, str]:
    """Give the family of each column, by its number."""
    names = ["gaussian"] * problem.numbers + ["bernoulli"] * problem.binary
    return dict(enumerate(names + ["categorical"] * len(problem.levels)))


def gaussian(job: Row) -> dict[str, Row]:
    """Time fits and posteriors of numbers only; no variance is raised, so that models agree."""
    peer = partial(GaussianNB, var_smoothing=0.0)
    makers = {"credo": partial(credo.NaiveBayes, "gaussian"), "peer": peer}
    return timed(makers, *Problem(**job["problem"]).draw(), job["turns"])


def timed(
    makers: Mapping[str, Make], X: Any, y: Any, turns: int, compared: int | None = None
) -> dict[str, Row]:
    """Time the fit and the posteriors of each maker's model; compare them with ours."""
    for make in makers.values():
        warm_up(make, X, y)
    models = {name: make().fit(X, y) for name, make in makers.items()}
    runs: dict[tuple[str, str], Callable[[], Any]] = {}
    for name, make in makers.items():
        runs[name, "fit"] = lambda make=make: make().fit(X, y)
        runs[name, "predict_proba"] = partial(models[name].predict_proba, X)
    best = best_of(runs, turns)
    ours = models["credo"].predict_proba(X[:compared])
    return {
        name: {
            "fit": best[name, "fit"],
            "predict_proba": best[name, "predict_proba"],
            "difference": greatest(ours - model.predict_proba(X[:compared])),
        }
        for name, model in models.items()
    }


def warm_up(make: Make, X: Any, y: Any) -> None:
    """Run a contestant once on a few rows."""
    fit_and_predict(make, X[:_FIRST], y[:_FIRST])


def greatest(difference: Any) -> float:
    """Give the greatest absolute value."""
    return float(np.abs(difference).max())


#: How scikit-learn takes text columns, by what becomes of missing cells.
PIPELINES: dict[str, Callable[[Sequence[int]], Any]] = {
    "none": plain,
    "filled": filled,
    "coded": coded,
}
#: How each peer for mixed tables is set up.
MIXED: dict[str, Callable[[Mixed], dict[str, Make]]] = {
    "mixed-naive-bayes": against_mixed_naive_bayes,
    "wnb": against_wnb,
}
JOBS: dict[str, Callable[[Row], Any]] = {
    "text": text,
    "text_memory": text_memory,
    "categorical": categorical,
    "mixed": mixed,
    "gaussian": gaussian,
}

if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    with threadpool_limits(given["threads"]):
        print(json.dumps(JOBS[given["job"]](given)))
