"""What ``TextClassifier`` takes, and what it says to the rest."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

from credo import TextClassifier
from credo.exceptions import InputError, NumericalError

DOCS = ["win cash now", "cash prize win", "lunch at noon", "see you at lunch", ""]
LABELS = ["spam", "spam", "ham", "ham", "ham"]
COUNTING = {"alternate_sign": False, "norm": None}
COLUMNS = {
    "tuple": tuple(DOCS),
    "array": np.array(DOCS),
    "array of objects": np.array(DOCS, dtype=object),
    "array of strings": np.array(DOCS, dtype=np.dtypes.StringDType()),
    "series": pd.Series(DOCS),
    "series of objects": pd.Series(DOCS, dtype=object, index=list("vwxyz")),
    "series of categories": pd.Series(DOCS, dtype="category"),
    "series in Arrow": pd.Series(DOCS, dtype="string[pyarrow]"),
    "index": pd.Index(DOCS),
    "polars": pl.Series(DOCS),
    "polars categories": pl.Series(DOCS, dtype=pl.Categorical),
    "arrow": pa.array(DOCS),
    "arrow chunks": pa.chunked_array([DOCS[:2], DOCS[2:]]),
    "arrow large": pa.array(DOCS, pa.large_string()),
    "arrow dictionary": pa.array(DOCS).dictionary_encode(),
}


@pytest.fixture
def fitted():
    return TextClassifier().fit(DOCS, LABELS)


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_documents_may_come_in_any_column(column, fitted):
    model = TextClassifier().fit(column, LABELS)
    assert model.words_ == fitted.words_
    np.testing.assert_array_equal(model.predict_proba(column), fitted.predict_proba(DOCS))


def test_documents_may_come_from_a_generator(fitted):
    model = TextClassifier().fit((text for text in DOCS), LABELS)
    assert model.words_ == fitted.words_


@pytest.mark.parametrize(
    "labels",
    [np.array(LABELS), pd.Series(LABELS), pl.Series(LABELS), tuple(LABELS)],
    ids=["array", "pandas", "polars", "tuple"],
)
def test_labels_may_come_in_any_column(labels, fitted):
    model = TextClassifier().fit(DOCS, labels)
    assert model.predict(DOCS).tolist() == fitted.predict(DOCS).tolist()
    assert model.classes_.tolist() == ["ham", "spam"]


@pytest.mark.parametrize("labels", [[1, 1, 0, 0, 0], [True, True, False, False, False]], ids=str)
def test_labels_may_be_numbers_or_booleans(labels):
    assert TextClassifier().fit(DOCS, labels).predict(DOCS[:1]).tolist() == [labels[0]]


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


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["a b", None]),
        pd.Series(["a b", None], dtype="string"),
        pl.Series(["a b", None]),
        pa.array(["a b", None]),
    ],
    ids=["pandas", "pandas string", "polars", "arrow"],
)
def test_a_missing_document_in_a_column_is_named(column, fitted):
    with pytest.raises(InputError, match="in row 1"):
        fitted.predict(column)


@pytest.mark.parametrize("text", ["one text", b"one text", np.array("one text")], ids=type)
def test_one_text_is_not_a_list_of_documents(text, fitted):
    with pytest.raises(InputError, match="list of documents"):
        fitted.predict(text)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"text": DOCS}),
        pl.DataFrame({"text": DOCS}),
        pa.table({"text": DOCS}),
        np.array(DOCS)[:, None],
    ],
    ids=["pandas", "polars", "arrow", "array"],
)
def test_a_table_is_refused(table, fitted):
    with pytest.raises(InputError, match="TextClassifier needs"):
        fitted.predict(table)


@pytest.mark.parametrize("documents", [set(DOCS), dict.fromkeys(DOCS, 1)], ids=["set", "dict"])
def test_collections_without_rows_are_refused(documents):
    """The order of a set depends on the hash seed, so labels would meet any document."""
    with pytest.raises(InputError, match="needs documents in order, a list"):
        TextClassifier().fit(documents, LABELS)


@pytest.mark.parametrize("documents", [3, None, 2.5])
def test_what_is_no_list_is_refused(documents, fitted):
    with pytest.raises(InputError, match="needs documents in order, a list"):
        fitted.predict(documents)


def test_no_documents_are_refused(fitted):
    with pytest.raises(InputError, match="minimum of 1"):
        fitted.predict([])
    with pytest.raises(InputError, match="minimum of 1"):
        TextClassifier().fit([], [])


def test_one_label_per_document():
    with pytest.raises(InputError, match="5 documents and 4 labels"):
        TextClassifier().fit(DOCS, LABELS[:4])
    with pytest.raises(ValueError, match="requires y"):
        TextClassifier().fit(DOCS, None)


@pytest.mark.parametrize("model", ["multinomial", "bernoulli"])
@pytest.mark.parametrize("documents", [["", ""], ["a", "b !"]], ids=["empty", "letters"])
def test_documents_without_words_are_refused(model, documents):
    with pytest.raises(InputError, match="no words"):
        TextClassifier(model).fit(documents, [0, 1])


def test_stop_words_alone_are_no_words():
    with pytest.raises(InputError, match="no words"):
        TextClassifier(vocabulary="no_stop_words").fit(["the and", "of"], [0, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "poisson"}, "model of TextClassifier must be one of 'multinomial', 'bernoulli'"),
        ({"vocabulary": "some"}, "vocabulary of TextClassifier must be one of"),
        ({"max_words": 0}, "max_words of TextClassifier must be a whole number, at least 1"),
        ({"max_words": 2.0}, "max_words of TextClassifier must be a whole number"),
        ({"max_words": True}, "max_words of TextClassifier must be a whole number"),
        ({"smoothing": -1}, "smoothing of TextClassifier must be between 0 and"),
        ({"smoothing": "much"}, "smoothing of TextClassifier must be a number"),
        ({"smoothing": np.nan}, "smoothing of TextClassifier must be finite"),
        ({"smoothing_target": "mean"}, "smoothing_target of TextClassifier must be one of"),
        ({"priors": "flat"}, "priors of TextClassifier"),
        ({"priors": [0.5, 0.4]}, "TextClassifier"),
        ({"priors": {"ham": 0.5, "eggs": 0.5}}, "TextClassifier"),
        ({"hashing": 8, "vectorizer": CountVectorizer()}, "hashing or a vectorizer, not both"),
        ({"vectorizer": TfidfVectorizer()}, "vectorizer of TextClassifier must count words"),
        ({"vectorizer": CountVectorizer(ngram_range=(2, 1))}, "vectorizer of TextClassifier fail"),
        ({"vectorizer": CountVectorizer(token_pattern="(")}, "vectorizer of TextClassifier fail"),  # noqa: S106 - of text
        ({"vectorizer": CountVectorizer(lowercase="no")}, "vectorizer of TextClassifier failed"),
        ({"vectorizer": CountVectorizer(vocabulary=["a", "a"])}, "of TextClassifier failed"),
        ({"vectorizer": HashingVectorizer(n_features=0, **COUNTING)}, "of TextClassifier failed"),
        ({"vocabulary": "no_stop_words", "stop_words": "klingon"}, "stop_words of TextClassifier"),
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_wrong_options_are_named_at_once(method, options, message):
    model = TextClassifier(**options)
    before = dict(vars(model))
    with pytest.raises(InputError, match=message):
        getattr(model, method)(DOCS, LABELS)
    assert vars(model) == before


@pytest.mark.parametrize(
    "options", [{"smoothing": -1}, {"priors": [0.5, 0.6]}, {"priors": {"ham": 1.0}}], ids=str
)
def test_wrong_options_are_refused_when_a_stream_goes_on(options):
    model = TextClassifier().partial_fit(DOCS, LABELS).set_params(**options)
    before = dict(vars(model))
    with pytest.raises(InputError, match="TextClassifier"):
        model.partial_fit(DOCS, LABELS)
    with pytest.raises(InputError, match="TextClassifier"):
        model.merge(TextClassifier().fit(DOCS, LABELS))
    assert vars(model) == before


@pytest.mark.parametrize("priors", [{"ham": 0.9, "spam": 0.1}, [0.9, 0.1]], ids=["named", "list"])
def test_priors_of_classes_yet_to_come_are_remembered(priors):
    model = TextClassifier(priors=priors).partial_fit(DOCS[:2], LABELS[:2])
    with pytest.raises(NumericalError, match="priors of TextClassifier"):
        model.predict(DOCS)
    model.partial_fit(DOCS[2:], LABELS[2:])
    whole = TextClassifier(priors=priors).fit(DOCS, LABELS)
    np.testing.assert_array_equal(model.predict_proba(DOCS), whole.predict_proba(DOCS))


def test_a_failed_fit_leaves_the_classifier_as_it_was(fitted):
    before = dict(vars(fitted))
    for wrong in ((["a b", None], [0, 1]), (["", ""], [0, 1]), (DOCS, LABELS[:2])):
        with pytest.raises(InputError):
            fitted.fit(*wrong)
        assert vars(fitted) == before
    fitted.set_params(max_words=-1)
    words = fitted.words_
    with pytest.raises(InputError):
        fitted.fit(["new words"], ["new"])
    assert fitted.words_ is words
    fresh = TextClassifier()
    with pytest.raises(InputError):
        fresh.fit(["", ""], [0, 1])
    assert vars(fresh) == vars(TextClassifier())


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.predict(DOCS),
        lambda m: m.posterior(DOCS),
        lambda m: m.explain("win"),
        lambda m: m.top_words(),
        lambda m: m.mutual_information(),
        lambda m: m.log_odds_weights("ham", "spam"),
        lambda m: m.merge(TextClassifier().fit(DOCS, LABELS)),
        lambda m: m.with_priors("uniform"),
        lambda m: TextClassifier().fit(DOCS, LABELS).merge(m),
    ],
    ids=range(9),
)
def test_an_unfitted_classifier_says_so(ask):
    with pytest.raises(NotFittedError):
        ask(TextClassifier())


def test_a_document_with_every_sign_there_is_can_be_read(fitted):
    odd = "\x00 \ud83d win ﬁ İ 勝つ 👾 \u202e cash\n\r\t" + "x" * 10_000
    assert np.isfinite(fitted.predict_log_proba([odd])).all()
    assert fitted.explain("WIN İstanbul").features[0] == "win"


@pytest.mark.parametrize("n", [0, -1, 1.5, "all"])
def test_top_words_needs_a_whole_number(n, fitted):
    with pytest.raises(InputError, match="n of TextClassifier.top_words"):
        fitted.top_words(n)
