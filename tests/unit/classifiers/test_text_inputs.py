"""What ``TextClassifier`` takes, and what it says to the rest."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

from credo import TextClassifier
from credo.exceptions import InputError

DOCS = ["win cash now", "cash prize win", "lunch at noon", "see you at lunch", ""]
LABELS = ["spam", "spam", "ham", "ham", "ham"]
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
    with pytest.raises(InputError, match="5 rows and y has 4 labels"):
        TextClassifier().fit(DOCS, LABELS[:4])


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
        getattr(model, method)(DOCS, LABELS)
    assert vars(model) == before


def test_documents_without_words_leave_the_classifier_as_it_was(fitted):
    for model in (fitted, TextClassifier()):
        before = dict(vars(model))
        with pytest.raises(InputError):
            model.fit(["", ""], [0, 1])
        assert vars(model) == before


def test_a_document_with_every_sign_there_is_can_be_read(fitted):
    odd = "\x00 \ud83d win ﬁ İ 勝つ 👾 \u202e cash\n\r\t" + "x" * 10_000
    assert np.isfinite(fitted.predict_log_proba([odd])).all()
    assert fitted.explain("WIN İstanbul").features[0] == "win"


@pytest.mark.parametrize("n", [0, -1, 1.5, "all"])
def test_top_words_needs_a_whole_number(n, fitted):
    with pytest.raises(InputError, match="n of TextClassifier.top_words"):
        fitted.top_words(n)
