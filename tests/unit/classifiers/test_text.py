"""``TextClassifier``: two models of documents, by hand and by a slow twin, and what it takes."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.utils import get_tags
from tests.oracles import text as oracle

from credo import NaiveBayes, TextClassifier
from credo.exceptions import InputError, LabelError

MODELS = pytest.mark.parametrize("model", ["multinomial", "bernoulli"])
TARGETS = pytest.mark.parametrize("target", ["uniform", "marginal"])
DOCS = [
    "red red blue",
    "red green",
    "blue blue blue green",
    "green yellow",
    "yellow yellow red",
    "blue",
    "green",
]
LABELS = ["a", "a", "b", "b", "c", "c", "a"]
NEW = ["red blue", "yellow", "green green green red", "", "purple", "purple red", "blue"]


@MODELS
@TARGETS
@pytest.mark.parametrize("smoothing", [1.0, 0.1, 3.0])
def test_it_equals_its_slow_twin(model, target, smoothing):
    options = {"smoothing": smoothing, "smoothing_target": target}
    weights = [1, 2, 0.5, 1, 3, 1, 1]
    ours = TextClassifier(model, **options).fit(DOCS, LABELS, weights)
    twin = oracle.Twin(model, **options).fit(DOCS, LABELS, weights)
    assert list(ours.words_) == twin.words
    np.testing.assert_allclose(ours.log_joint(NEW), twin.log_joint(NEW), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.predict_proba(NEW), twin.predict_proba(NEW), rtol=1e-12)
    theta = [[twin.theta[k, word] for word in twin.words] for k in twin.classes]
    np.testing.assert_allclose(np.exp(ours.log_probabilities_), theta, rtol=1e-12)


@MODELS
def test_it_equals_naive_bayes_of_the_counts(model):
    reader = CountVectorizer(binary=model == "bernoulli").fit(DOCS)
    counts = NaiveBayes(model).fit(reader.transform(DOCS), LABELS)
    ours = TextClassifier(model).fit(DOCS, LABELS)
    np.testing.assert_allclose(
        ours.log_joint(NEW), counts.log_joint(reader.transform(NEW)), rtol=1e-13, atol=1e-13
    )
    assert ours.n_parameters_ == counts.n_parameters_


def test_infinite_weights_are_refused():
    model = TextClassifier("multinomial", smoothing=0).fit(["sun rain", "snow rain"], ["s", "w"])
    with pytest.raises(InputError, match="weight of snow is infinite"):
        model.log_odds_weights("s", "w")


def test_an_explanation_says_which_words_moved_the_posterior_and_by_how_much():
    fitted = TextClassifier("multinomial")
    fitted.fit(["sun sun rain", "rain", "snow rain"], ["s", "w", "w"])
    told = fitted.explain("sun rain rain hail")
    # 1/3 · 1/2 · (2/6)² against 2/3 · 1/6 · (3/6)²: 2 to 3
    assert (told.label, told.against) == ("w", "s")
    assert told.log_odds == pytest.approx(math.log(3 / 2))
    amounts = dict(zip(told.features, told.contributions.tolist(), strict=True))
    # θ of sun 3/6 and 1/6, of rain 2/6 and 3/6, the latter twice
    assert amounts == {
        "sun": pytest.approx(-math.log(3)),
        "rain": pytest.approx(2 * math.log(3 / 2)),
    }


def test_absent_words_are_explained_by_the_bernoulli_model():
    fitted = TextClassifier("bernoulli").fit(["sun rain", "rain", "snow rain"], ["s", "w", "w"])
    told = fitted.explain("sun", "s", "w")
    values = dict(zip(told.features, told.values, strict=True))
    assert values == {"sun": 1, "rain": 0, "snow": 0}
    snow = dict(zip(told.features, told.contributions.tolist(), strict=True))["snow"]
    assert snow == pytest.approx(math.log((1 - 1 / 3) / (1 - 2 / 4)))


def test_two_classes_are_needed_to_explain():
    with pytest.raises(InputError, match="compares two classes"):
        TextClassifier().fit(DOCS, ["a"] * 7).explain("red")
    with pytest.raises(LabelError, match="no class 'd'"):
        TextClassifier().fit(DOCS, LABELS).explain("red", "a", "d")


@MODELS
def test_top_words_have_the_largest_terms_of_the_divergence_from_the_mixture(model):
    fitted = TextClassifier(model).fit(DOCS, LABELS)
    twin = oracle.Twin(model).fit(DOCS, LABELS)
    for k, words in fitted.top_words(3).items():
        scores = {}
        for word in twin.words:
            mixture = sum(twin.priors[c] * twin.theta[c, word] for c in twin.classes)
            scores[word] = twin.theta[k, word] * math.log(twin.theta[k, word] / mixture)
        expected = [w for w in sorted(scores, key=lambda w: -scores[w])[:3] if scores[w] > 0]
        assert [scores[w] for w in words] == pytest.approx([scores[w] for w in expected])
        assert len(set(words)) == len(words)


def test_one_class_has_no_telling_words():
    fitted = TextClassifier().fit(DOCS, ["a"] * 7)
    assert fitted.top_words() == {"a": []}
    np.testing.assert_allclose(fitted.mutual_information(), 0, atol=1e-15)


def test_its_tags_say_that_it_reads_one_column_of_text():
    tags = get_tags(TextClassifier()).input_tags
    assert (tags.one_d_array, tags.string, tags.two_d_array) == (True, True, False)


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


MAIL = ["win cash now", "cash prize win", "lunch at noon", "see you at lunch", ""]
KINDS = ["spam", "spam", "ham", "ham", "ham"]
COLUMNS = {
    "tuple": tuple(MAIL),
    "array": np.array(MAIL),
    "array of objects": np.array(MAIL, dtype=object),
    "array of strings": np.array(MAIL, dtype=np.dtypes.StringDType()),
    "series": pd.Series(MAIL),
    "series of objects": pd.Series(MAIL, dtype=object, index=list("vwxyz")),
    "series of categories": pd.Series(MAIL, dtype="category"),
    "series in Arrow": pd.Series(MAIL, dtype="string[pyarrow]"),
    "index": pd.Index(MAIL),
    "polars": pl.Series(MAIL),
    "polars categories": pl.Series(MAIL, dtype=pl.Categorical),
    "arrow": pa.array(MAIL),
    "arrow chunks": pa.chunked_array([MAIL[:2], MAIL[2:]]),
    "arrow large": pa.array(MAIL, pa.large_string()),
    "arrow dictionary": pa.array(MAIL).dictionary_encode(),
}
#: The order of a set depends on the hash seed, so labels would meet any document.
NO_DOCUMENTS = [
    *((text, "list of documents") for text in ("one text", b"one text", np.array("one text"))),
    *((thing, "needs documents in order, a list") for thing in (set(MAIL), {"a b": 1}, 3, None)),
    *((kind({"text": MAIL}), "TextClassifier needs") for kind in (pd.DataFrame, pl.DataFrame)),
    (pa.table({"text": MAIL}), "TextClassifier needs"),
    (np.array(MAIL)[:, None], "TextClassifier needs"),
    *((column(["a b", None]), "in row 1") for column in (pd.Series, pl.Series, pa.array)),
    (pd.Series(["a b", None], dtype="string"), "in row 1"),
]


@pytest.fixture
def fitted():
    return TextClassifier().fit(MAIL, KINDS)


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_documents_may_come_in_any_column(column, fitted):
    model = TextClassifier().fit(column, KINDS)
    assert model.words_ == fitted.words_
    np.testing.assert_array_equal(model.predict_proba(column), fitted.predict_proba(MAIL))


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (None, "None"),
        (float("nan"), "nan"),
        (3, "3"),
        (b"text", "b'text'"),
        (["a b"], r"\['a b'\]"),
    ],
    ids=["None", "NaN", "number", "bytes", "list"],
)
def test_a_document_that_is_not_text_is_named_with_its_row(cell, shown, fitted):
    with pytest.raises(InputError, match=f"Got {shown} in row 1.*pass ''"):
        fitted.predict(["a b", cell])
    with pytest.raises(InputError, match=f"Got {shown} in row 1"):
        TextClassifier().fit(["a b", cell], [0, 1])


@pytest.mark.parametrize(("documents", "told"), NO_DOCUMENTS, ids=range(len(NO_DOCUMENTS)))
def test_what_holds_no_documents_is_refused(documents, told, fitted):
    for call in (fitted.predict, lambda documents: TextClassifier().fit(documents, KINDS)):
        with pytest.raises(InputError, match=told):
            call(documents)


def test_no_documents_are_refused(fitted):
    with pytest.raises(InputError, match="minimum of 1"):
        fitted.predict([])
    with pytest.raises(InputError, match="5 rows and y has 4 labels"):
        TextClassifier().fit(MAIL, KINDS[:4])


@pytest.mark.parametrize("model", ["multinomial", "bernoulli"])
@pytest.mark.parametrize("documents", [["", ""], ["a", "b !"], ["the and", "of"]], ids=str)
def test_documents_without_words_are_refused(model, documents):
    with pytest.raises(InputError, match="no words"):
        TextClassifier(model, vocabulary="no_stop_words").fit(documents, [0, 1])


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "vectorizer",
    [
        CountVectorizer(ngram_range=(2, 1)),
        CountVectorizer(token_pattern="("),  # noqa: S106 - tokens of text
        CountVectorizer(lowercase="no"),
        CountVectorizer(vocabulary=["a", "a"]),
        HashingVectorizer(n_features=0, alternate_sign=False, norm=None),
    ],
    ids=str,
)
def test_what_scikit_learn_refuses_of_a_vectorizer_is_told_at_once(method, vectorizer):
    model = TextClassifier(vectorizer=vectorizer)
    before = dict(vars(model))
    with pytest.raises(InputError, match="vectorizer of TextClassifier failed"):
        getattr(model, method)(MAIL, KINDS)
    assert vars(model) == before


def test_a_document_with_every_sign_there_is_can_be_read(fitted):
    odd = "\x00 \ud83d win ﬁ İ 勝つ 👾 \u202e cash\n\r\t" + "x" * 10_000
    assert np.isfinite(fitted.predict_log_proba([odd])).all()
    assert fitted.explain("WIN İstanbul").features[0] == "win"


@pytest.mark.parametrize("n", [0, -1, 1.5, "all"])
def test_top_words_needs_a_whole_number(n, fitted):
    with pytest.raises(InputError, match="n of TextClassifier.top_words"):
        fitted.top_words(n)


def test_without_smoothing_a_word_can_rule_classes_out():
    model = TextClassifier("multinomial", smoothing=0).fit(["sun rain", "snow rain"], ["s", "w"])
    assert model.predict_proba(["sun rain", "rain"]).tolist() == [[1, 0], [0.5, 0.5]]
    assert np.isneginf(model.log_probabilities_).sum() == 2
    with pytest.raises(InputError, match="row 1 has probability zero under every class"):
        model.predict_proba(["rain", "sun snow"])
