"""``TextClassifier`` in streams: words that come late, tie, or must not be chosen yet."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

from credo import TextClassifier
from credo.exceptions import InputError

DOCS = [
    "zebra lion lion",
    "lion tiger",
    "apple pear",
    "pear pear apple fig",
    "car bus",
    "bus train car",
    "lion apple",
    "",
]
LABELS = np.array(["zoo", "zoo", "fruit", "fruit", "road", "road", "zoo", "fruit"])


def part(rows):
    return [DOCS[i] for i in rows], LABELS[list(rows)]


def assert_same(one, other):
    assert tuple(one.words_) == tuple(other.words_)
    new = [*DOCS, "lion bus", "kiwi"]
    np.testing.assert_allclose(one.log_joint(new), other.log_joint(new), rtol=1e-11, atol=1e-12)


def test_words_that_tie_are_chosen_as_in_one_fit():
    whole = TextClassifier(max_words=1).fit(["zebra", "apple"], [0, 1])
    one, other = (
        TextClassifier(max_words=1).fit([w], [k]) for k, w in enumerate(["zebra", "apple"])
    )
    stream = TextClassifier(max_words=1).partial_fit(["zebra"], [0]).partial_fit(["apple"], [1])
    for model in (stream, one.merge(other), other.merge(one)):
        assert model.words_ == whole.words_


@pytest.mark.parametrize("batch", ["", "k :)", "the of and"], ids=["empty", "signs", "stop words"])
def test_a_batch_without_words_counts_as_a_document(batch):
    options = {"vocabulary": "no_stop_words"}
    model = TextClassifier(**options).partial_fit(*part(range(7)))
    model.partial_fit([batch], ["fruit"])
    assert_same(model, TextClassifier(**options).fit([*DOCS[:7], batch], LABELS))


@pytest.mark.parametrize("hashing", [None, 64])
def test_a_stream_may_begin_without_words(hashing):
    model = TextClassifier(hashing=hashing).partial_fit([":)"], ["fruit"])
    model.partial_fit(*part(range(7)))
    assert_same(model, TextClassifier(hashing=hashing).fit([*DOCS[:7], ":)"], LABELS))


@pytest.mark.parametrize(
    "choice",
    [{"min_df": 2}, {"min_df": 1.0}, {"max_df": 0.5}, {"max_df": 1}, {"max_features": 5}],
    ids=str,
)
def test_a_vectorizer_that_chooses_words_itself_is_refused_in_a_stream(choice):
    """It would choose anew in each batch; a share of 1.0 and a number of 1 are not the same."""
    documents = ["lion bus", "lion"]
    model = TextClassifier(vectorizer=CountVectorizer(**choice))
    with pytest.raises(InputError, match=f"keeps all words. Got {next(iter(choice))}"):
        model.partial_fit(documents, [0, 1])
    fitted = model.fit(documents, [0, 1])
    with pytest.raises(InputError, match=f"keeps all words. Got {next(iter(choice))}"):
        fitted.merge(fitted)


def test_the_choice_of_words_is_made_again_when_more_come():
    model = TextClassifier(vocabulary="frequent", max_words=1)
    assert model.partial_fit(["lion lion", "bus"], [0, 1]).words_ == ("lion",)
    assert model.partial_fit(["bus bus"], [1]).words_ == ("bus",)


def test_a_stream_leaves_an_older_copy_of_the_model_as_it_was():
    model = TextClassifier().fit(*part(range(4)))
    older = model.with_priors("uniform")
    before = older.predict_proba(DOCS)
    model.partial_fit(*part(range(4, 8)))
    np.testing.assert_array_equal(older.predict_proba(DOCS), before)


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ({}, {"model": "bernoulli"}, "same model"),
        ({}, {"hashing": 8}, "same model and vectorizer"),
        ({"hashing": 8}, {"hashing": 16}, "8 slots cannot be joined with 16"),
    ],
)
def test_models_of_another_kind_do_not_merge(one, other, message):
    one, other = (TextClassifier(**options).fit(DOCS, LABELS) for options in (one, other))
    with pytest.raises(InputError, match=message):
        one.merge(other)


# --- weights ---------------------------------------------------------------------------------


def test_words_and_classes_of_weight_zero_are_absent():
    weights = [0, 0, 1, 1, 1, 1, 0, 1]
    model = TextClassifier().fit(DOCS, LABELS, weights)
    assert model.classes_.tolist() == ["fruit", "road"]
    assert not {"zebra", "lion", "tiger"} & set(model.words_)


def test_one_scale_of_all_weights_moves_the_smoothing_only():
    model = TextClassifier(smoothing=2.0).fit(DOCS, LABELS, np.full(8, 2.0))
    half = TextClassifier(smoothing=1.0).fit(DOCS, LABELS)
    np.testing.assert_allclose(model.predict_proba(DOCS), half.predict_proba(DOCS))


def test_a_hashed_stream_never_holds_words():
    reader = HashingVectorizer(n_features=32, alternate_sign=False, norm=None)
    model = TextClassifier(vectorizer=reader)
    for i in range(50):
        model.partial_fit([f"word{i} and{i}", f"other{i}"], [0, 1])
    assert model.summary_.counts.shape == (2, 32)
    assert model.summary_.counts.sum() == 150
    assert model.summary_.documents.tolist() == [50, 50]
