"""Models of every class that can be stored, small and always the same, and what they answer."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

import credo
from credo.classifiers.schema import ColumnSpec, TableSchema
from credo.graphs import (
    BayesianNetwork,
    FactorGraph,
    GridField,
    MarkovNetwork,
    Potts,
    TruncatedLinear,
    TruncatedQuadratic,
)

N = 60
NAMES = np.array(["ham", "spam", "tofu é"])
WORDS = ["win", "cash", "lunch", "noon", "the", "née"]
SHAPES = ("full", "tied", "diagonal", "tied_diagonal", "spherical", "tied_spherical")


def rows(*, missing=False):
    """Make rows of three classes."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, 4)) + 0.5 * codes()[:, None]
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X


def codes():
    """Make class codes."""
    return np.arange(N) * 7 % 3


def counts():
    """Make sparse counts."""
    return sparse.csr_array(np.random.default_rng(3).poisson(0.6, (N, 12)).astype(float))


def documents():
    """Make documents."""
    rng = np.random.default_rng(2)
    return [" ".join(rng.choice(WORDS, 5)) for _ in range(N)]


def table():
    """Make a table with columns for every family."""
    rng = np.random.default_rng(1)
    data = {
        "age": rng.normal(40, 9, N),
        "fall": rng.laplace(size=N).round(2),
        "smoker": rng.integers(0, 2, N),
        "town": rng.choice(["Bonn", "Köln", "Ulm"], N),
        "visits": rng.poisson(3, N),
        "wait": rng.exponential(size=N),
        "dose": rng.gamma(2, size=N),
        "share": rng.beta(2, 3, N),
    }
    groups = {
        "mix": rng.dirichlet([1, 2, 3], N),
        "votes": rng.multinomial(5, [0.2, 0.3, 0.5], N),
        "pair": rng.normal(size=(N, 2)),
    }
    for name, columns in groups.items():
        data |= {f"{name}{j}": columns[:, j] for j in range(columns.shape[1])}
    frame = pd.DataFrame(data)
    frame.loc[3, "age"] = np.nan
    return frame


FAMILIES = {
    "age": "gaussian",
    "fall": "laplace",
    "smoker": "bernoulli",
    "town": "categorical",
    "visits": "poisson",
    "wait": "exponential",
    "dose": "gamma",
    "share": "beta",
    ("mix0", "mix1", "mix2"): "dirichlet",
    ("votes0", "votes1", "votes2"): "multinomial",
    ("pair0", "pair1"): "multivariate_gaussian",
}


def _gaussians():
    """Fit Gaussian classifiers of all kinds."""
    X, gaps, y, names = rows(), rows(missing=True), codes(), NAMES[codes()]
    make = credo.GaussianClassifier
    frame = pd.DataFrame(X, columns=list("abcd"))
    found = {f"gaussian_{shape}": make(shape).fit(X, names) for shape in SHAPES}
    found |= {
        "gaussian_em": make("full", progress=lambda *_: None).fit(gaps, y),
        "gaussian_gaps": make("diagonal").fit(gaps, y),
        "gaussian_proportional": make("proportional", priors=[0.2, 0.3, 0.5]).fit(X, y),
        "gaussian_two": make("tied", priors={False: 0.4, True: 0.6}).fit(X, y > 0),
        "gaussian_subspace": make("tied", subspace=2).fit(X, y),
        "gaussian_shrunk": make("full", shrinkage="auto", priors="uniform").fit(X, y * 2.0),
        "gaussian_streamed": make("full").partial_fit(frame, pd.Series(names)),
    }
    named = make("tied", singular="error").fit(frame, names)
    columns = tuple(ColumnSpec(name, "number") for name in "abcd")
    named.schema_ = TableSchema("ÿ", "text", columns, "w", ("n/a", "?"))
    return {**found, "gaussian_schema": named}


def _others():
    """Fit the other estimators."""
    X, gaps, y, names = rows(), rows(missing=True), codes(), NAMES[codes()]
    frame, loss = table(), credo.Loss.zero_one([0, 1, 2]).with_reject(0.3, name="ask")
    vectorizer = CountVectorizer(ngram_range=(1, 2), stop_words=["the"])
    hashed = HashingVectorizer(n_features=8, alternate_sign=False, norm=None)
    texts, known = documents(), credo.families.Poisson([1.0, 4.0])
    return {
        "mixture": credo.MixtureClassifier({"ham": 2}, priors="uniform").fit(X, names),
        "mixture_gaps": credo.MixtureClassifier(2, covariance="tied").fit(gaps, y),
        "naive_known": credo.NaiveBayes.from_parameters(
            {0: credo.families.Categorical([[0.2, 0.8], [0.6, 0.4]]), 1: known},
            {"no": 0.3, "yes": 0.7},
            categories={0: ["b", "ü"]},
        ),
        "regressor": credo.GaussianRegressor().fit(X[:, :3], X[:, 3]),
        "regressor_em": credo.GaussianRegressor(shrinkage=0.1).fit(gaps[:, :3], X[:, 3]),
        "logistic": credo.LogisticClassifier().fit(X, names),
        "logistic_sparse": credo.LogisticClassifier(penalty="l1").fit(counts(), y > 0),
        "logistic_separated": credo.LogisticClassifier().fit(X, X[:, 0] > 0),
        "naive_mixed": credo.NaiveBayes(FAMILIES).fit(frame, names),
        "naive_auto": credo.NaiveBayes(priors=np.array([0.2, 0.3, 0.5])).fit(gaps, y),
        "naive_numbered": credo.NaiveBayes(credo.families.Gaussian).fit(pd.DataFrame(gaps), y),
        "naive_sparse": credo.NaiveBayes("multinomial").fit(counts(), y),
        "naive_categories": credo.NaiveBayes().fit([["a", 1], [None, 2], ["b", 5]], [1, 0, 1]),
        "text": credo.TextClassifier("multinomial").fit(texts, names),
        "text_relevant": credo.TextClassifier("bernoulli", vocabulary="relevant", max_words=3).fit(
            texts, y
        ),
        "text_hashed": credo.TextClassifier("multinomial", hashing=8).fit(texts, y),
        "text_pairs": credo.TextClassifier("multinomial", vectorizer=vectorizer).fit(texts, y),
        "text_hasher": credo.TextClassifier("multinomial", vectorizer=hashed).fit(texts, y),
        "text_stops": credo.TextClassifier(
            "multinomial", vocabulary="no_stop_words", stop_words={"the"}
        ).fit(texts, y),
        "text_complement": credo.TextClassifier().fit(texts, names),
        "text_uncalibrated": credo.TextClassifier(calibrated=False).fit(texts, y),
        "text_slots": credo.TextClassifier(hashing=8, smoothing_target="marginal").fit(texts, y),
        "decision": credo.DecisionClassifier(credo.GaussianClassifier("tied"), loss).fit(X, y),
        "decision_plain": credo.DecisionClassifier(credo.NaiveBayes()).fit(X, names),
    }


def _networks():
    """Make networks, fields, losses and summaries."""
    net = BayesianNetwork(tolerance=1e-3)
    for name in "abcd":
        net.variable(name, ["no", "yes"])
    net.cpt("a", table=[0.3, 0.7])
    net.noisy_or("b", {"a": 0.4}, leak=0.1)
    net.noisy_and("c", {"a": 0.4, "b": 0.9})
    net.deterministic("d", ["a", "c"], lambda a, _: a)
    graph = FactorGraph()
    bits = [graph.variable((i, "bit"), 2) for i in range(5)]
    graph.parity(bits[:4], even=False)
    graph.at_most_one(bits[:3])
    graph.factor(bits[:2], [[1, 2], [3, 4]], name="pair")
    graph.factor([bits[4]], [-1000.0, 0.0], log=True)
    markov = MarkovNetwork()
    first, second = markov.node("a", 2, [1, 2]), markov.node("b", [1.5, True, None])
    markov.edge(first, second, [[1, 2, 3], [3, 2, 1]])
    field = GridField.ising([[0.5, -1.0, np.inf], [0.1, 0.2, -0.3]], 0.7)
    rng = np.random.default_rng(4)
    pixels = rng.normal(size=(2, 3, 3)).astype(np.float32)
    return {
        "bayesian_rules": net,
        "bayesian_chain": credo.chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=6),
        "factor_graph": graph,
        "markov": markov,
        "markov_arrays": MarkovNetwork.from_arrays(
            [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]], [[0, 1], [1, 2]], [[2.0, 1.0], [1.0, 2.0]]
        ),
        "markov_pixels": field.copy(),
        "grid_ising": field,
        "grid_potts": GridField(pixels, Potts((1.0, rng.random((2, 2)))), labels=["a", "b", "ç"]),
        "grid_linear": GridField(pixels, TruncatedLinear(0.5, limit=2)),
        "grid_quadratic": GridField(pixels[None], TruncatedQuadratic(0.5)),
        "loss": credo.Loss([[0, 5, 1], [1, 0, 1]], [True, None], ["go", 2, "ask"], reject="ask"),
        "loss_per_row": credo.Loss(rng.random((3, 2, 2)), ["a", "b"], ["a", "b"]),
        "class_summary": credo.summarise(rows(), NAMES[codes()], np.arange(N) % 4),
        "naive_summary": credo.NaiveBayes(FAMILIES).fit(table(), codes()).summary_,
        "word_summary": credo.TextClassifier("multinomial").fit(documents(), codes()).summary_,
        "document_summary": credo.TextClassifier().fit(documents(), codes()).summary_,
    }


def all_models():
    """Make a model of every kind, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", credo.exceptions.CredoWarning)
        return {**_gaussians(), **_others(), **_networks()}


def questions(model):
    """Give rows that a fitted estimator can be asked about."""
    if isinstance(model, credo.TextClassifier):
        return ["win the cash", "née lunch lunch", "nothing"]
    width = getattr(model, "n_features_in_", 0)
    if width == 12:
        return counts()[:5]
    if width == 2:
        return [["b", 2], ["c", None]]
    if width == len(table().columns):
        return table()[:6]
    whole = isinstance(model, credo.LogisticClassifier) or hasattr(model, "components_")
    X = rows(missing=not whole)[:6, :width]
    names = getattr(model, "feature_names_in_", None)
    return X if names is None else pd.DataFrame(X, columns=names)


def answers(model):
    """Ask a model all that it can be asked, as numbers."""
    if isinstance(model, credo.GaussianRegressor):
        return [array.tolist() for array in model.predict(questions(model), return_std=True)]
    if hasattr(model, "predict_proba"):
        asked = questions(model)
        found = [model.predict_log_proba(asked), model.classes_ == model.predict(asked)[0]]
        dense = hasattr(model, "log_density") and getattr(model, "model", "") != "complement"
        if dense and not sparse.issparse(asked):
            found.append(model.log_density(asked))
        return [np.asarray(array, dtype=float).tolist() for array in found]
    if isinstance(model, GridField):
        labels = np.resize(np.array(model.labels, dtype=object), model.shape)
        return [model.energy(labels), np.asarray(model.log_potentials).tolist()]
    if hasattr(model, "compile"):
        found = credo.infer(model)
        return [[found[name].probabilities.ravel().tolist() for name in model.names]]
    if isinstance(model, credo.Loss):
        return [model.matrix.tolist(), len(model.truths), len(model.acts)]
    weights = model.documents if hasattr(model, "documents") else model.weights
    return [weights.tolist(), len(model.classes)]
