"""``TextClassifier`` in the company of scikit-learn, of other processes, and of large numbers."""

import os
import pickle  # noqa: TID251 - scikit-learn's tools send models to processes by it
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

from credo import NaiveBayes, TextClassifier

MODELS = pytest.mark.parametrize("model", ["multinomial", "bernoulli"])

WORDS = [f"word{i}" for i in range(30)]


def corpus(n=60, seed=0):
    """Documents of two classes with other shares of thirty words."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    shares = rng.dirichlet(np.ones(30), size=2)
    return [" ".join(rng.choice(WORDS, 8, p=shares[k])) for k in y], y


# --- scikit-learn ----------------------------------------------------------------------------


def test_a_clone_has_the_same_options_and_is_not_fitted():
    model = TextClassifier("bernoulli", vocabulary="relevant", max_words=7, smoothing=0.5)
    model.set_params(vectorizer=CountVectorizer(ngram_range=(1, 2))).fit(*corpus())
    copied = clone(model)
    assert not hasattr(copied, "words_")
    assert repr(copied) == repr(model)
    assert copied.fit(*corpus()).words_ == model.words_


@MODELS
@pytest.mark.parametrize("hashing", [None, 64])
def test_a_pickle_predicts_and_learns_on(model, hashing):
    X, y = corpus()
    fitted = TextClassifier(model, hashing=hashing).fit(X[:40], y[:40])
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301 - our own
    np.testing.assert_array_equal(again.log_joint(X), fitted.log_joint(X))
    for each in (again, fitted):
        each.partial_fit(X[40:], y[40:])
    np.testing.assert_array_equal(again.log_joint(X), fitted.log_joint(X))


def test_cross_validation_and_a_grid_search_work():
    X, y = corpus(120)
    assert cross_val_score(TextClassifier(), X, y, cv=4).mean() > 0.9
    grid = {
        "model": ["multinomial", "bernoulli"],
        "vocabulary": ["all", "relevant"],
        "smoothing": [0.1, 1.0],
        "vectorizer__ngram_range": [(1, 1), (1, 2)],
    }
    estimator = TextClassifier(vectorizer=CountVectorizer())
    search = GridSearchCV(estimator, grid, cv=3, scoring="neg_log_loss").fit(X, y)
    assert search.best_score_ > -0.5
    assert search.predict(np.array(X)).shape == (120,)


def test_it_is_the_last_step_of_a_pipeline_and_can_be_calibrated():
    X, y = corpus(120)
    spaced = FunctionTransformer(lambda texts: [text.replace("word", "term") for text in texts])
    piped = make_pipeline(spaced, TextClassifier()).fit(X, y)
    np.testing.assert_allclose(piped.predict_proba(X), TextClassifier().fit(X, y).predict_proba(X))
    calibrated = CalibratedClassifierCV(TextClassifier(), cv=3).fit(np.array(X), y)
    assert calibrated.score(np.array(X), y) > 0.9


def test_its_tags_say_that_it_reads_one_column_of_text():
    tags = get_tags(TextClassifier()).input_tags
    assert (tags.one_d_array, tags.string, tags.two_d_array) == (True, True, False)


def test_sums_of_probabilities_are_one_and_their_logarithms_agree():
    X, y = corpus()
    model = TextClassifier().fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(np.log(p), model.predict_log_proba(X), rtol=1e-9, atol=1e-12)
    odds = model.decision_function(X)
    logs = model.predict_log_proba(X)
    np.testing.assert_allclose(odds, logs[:, 1] - logs[:, 0], rtol=1e-11)
    np.testing.assert_array_equal(model.predict(X), (odds > 0).astype(int))


# --- determinism -----------------------------------------------------------------------------

SCRIPT = """
import hashlib
import credo
docs = ["zeta alpha beta", "beta gamma", "delta alpha", "eps zeta zeta", "eta theta", "iota"]
y = ["b", "a", "c", "a", "b", "c"]
shown = []
for options in ({}, {"max_words": 3}, {"model": "bernoulli", "vocabulary": "relevant",
                "max_words": 4}, {"hashing": 16}, {"vocabulary": "no_stop_words",
                "stop_words": ["alpha", "iota"]}):
    model = credo.TextClassifier(**options)
    for i in (0, 2, 4):
        model.partial_fit(docs[i : i + 2], y[i : i + 2])
    shown.append([list(model.words_), model.log_joint(docs).tolist(), repr(model.explain(docs[0])),
                  model.top_words(3), model.mutual_information().tolist()])
print(hashlib.sha256(repr(shown).encode()).hexdigest())
"""


def test_the_hash_seed_changes_nothing():
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("0", "77")
    ]
    one, other = (run.communicate(timeout=120)[0] for run in runs)
    assert len(one.strip()) == 64
    assert one == other


# --- large numbers ---------------------------------------------------------------------------


def assert_normalised(model, X):
    p = model.predict_proba(X)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    logs = model.predict_log_proba(X)
    assert np.isfinite(logs).all()
    assert np.isfinite(model.log_density(X)).all()
    return logs


@MODELS
def test_scores_of_ten_thousand_stay_finite_and_exact(model):
    words = [f"w{i}" for i in range(4000)]
    long = " ".join(words * 8)
    fitted = TextClassifier(model, smoothing=1e-3).fit([long, "other words", "w1 w2"], [0, 1, 2])
    logs = assert_normalised(fitted, [long, "other", ""])
    assert logs.min() < -1e4
    gap = logs[0, 0] - logs[0, 1]
    w, w0 = fitted.log_odds_weights(0, 1)
    reader = CountVectorizer(vocabulary=list(fitted.words_), binary=model == "bernoulli")
    assert gap == pytest.approx(float((reader.transform([long]) @ w)[0] + w0), rel=1e-10)
    assert fitted.explain(long, 0, 1).log_odds == pytest.approx(gap, rel=1e-10)


@MODELS
def test_a_million_slots_give_a_finite_posterior(model):
    X, y = corpus()
    fitted = TextClassifier(model, hashing=2**20).fit(X, y)
    assert fitted.log_probabilities_.shape == (2, 2**20)
    assert_normalised(fitted, [*X[:5], "", " ".join(WORDS * 100), "never seen before"])
    if model == "multinomial":
        np.testing.assert_allclose(np.exp(fitted.log_probabilities_).sum(axis=1), 1, rtol=1e-9)


@pytest.mark.parametrize("family", ["multinomial", "bernoulli"])
def test_a_million_columns_of_counts_give_a_finite_posterior(family):
    rng = np.random.default_rng(0)
    n, width, per_row = 200, 10**6, 300
    columns = rng.integers(0, width, (n, per_row))
    counts = csr_array(
        (np.ones(n * per_row), (np.repeat(np.arange(n), per_row), columns.ravel())), (n, width)
    )
    counts.sum_duplicates()
    counts.data[:] = 1.0 if family == "bernoulli" else rng.integers(1, 40, counts.nnz)
    y = np.arange(n) % 3
    model = NaiveBayes(family).fit(counts, y)
    logs = assert_normalised(model, counts)
    peer = (MultinomialNB if family == "multinomial" else BernoulliNB)().fit(counts, y)
    np.testing.assert_allclose(logs, peer.predict_log_proba(counts), rtol=1e-7, atol=1e-7)
    assert logs.min() < -100
