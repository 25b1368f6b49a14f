"""Which words a text model uses, how relevant they are, and words that come late in a stream."""

import itertools

import numpy as np
import pytest
from sklearn.feature_extraction.text import (
    ENGLISH_STOP_WORDS,
    CountVectorizer,
    HashingVectorizer,
    TfidfVectorizer,
)
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.preprocessing import StandardScaler
from tests.oracles import text as oracle

from credo import TextClassifier
from credo.exceptions import InputError

MODELS = pytest.mark.parametrize("model", ["multinomial", "bernoulli"])
DOCS = [
    "the cat sat on the mat with the other cat",
    "the dog and the cat",
    "a dog ran to the park",
    "the park and the dog of the town",
    "rates rise and shares fall",
    "the shares of the bank rise",
    "bank rates and the shares",
    "the dog of the bank",
]
LABELS = ["pets"] * 4 + ["money"] * 4
COUNTS = {
    word: sum(oracle.tokens(d).count(word) for d in DOCS)
    for word in sorted({word for d in DOCS for word in oracle.tokens(d)})
}


@MODELS
@pytest.mark.parametrize("weights", [None, [1, 2, 3, 0, 1, 0.5, 4, 1]], ids=["plain", "weighted"])
def test_mutual_information_is_the_double_sum(model, weights):
    fitted = TextClassifier(model).fit(DOCS, LABELS, weights)
    expected = [
        oracle.mutual_information(oracle.events(DOCS, LABELS, word, model, weights))
        for word in fitted.words_
    ]
    np.testing.assert_allclose(fitted.mutual_information(), expected, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize(
    "stop_words",
    [["dog", "the"], ("dog", "the"), {"dog", "the"}, np.array(["dog", "the"])],
    ids=type,
)
def test_own_stop_words_are_left_out_instead_in_any_collection(stop_words):
    fitted = TextClassifier("multinomial", vocabulary="no_stop_words", stop_words=stop_words)
    fitted.fit(DOCS, LABELS)
    assert fitted.words_ == tuple(w for w in COUNTS if w not in ("dog", "the"))
    np.testing.assert_array_equal(fitted.predict_proba(["dog the"])[0], fitted.priors_)
    assert "the" in TextClassifier(stop_words=stop_words).fit(DOCS, LABELS).words_


@MODELS
@pytest.mark.parametrize("size", [1, 6])
def test_frequent_words_are_those_that_occur_most(model, size):
    fitted = TextClassifier(model, vocabulary="frequent", max_words=size).fit(DOCS, LABELS)
    if model == "multinomial":
        often = COUNTS
    else:
        often = {w: sum(w in oracle.tokens(d) for d in DOCS) for w in COUNTS}
    best = sorted(sorted(often), key=lambda word: -often[word])[:size]
    assert fitted.words_ == tuple(sorted(best))


def test_at_most_a_thousand_words_are_chosen_unless_told():
    words = [f"w{i:04d}" for i in range(1500)]
    documents = [" ".join(words), " ".join(words[:1200]), " ".join(words[:700])]
    for vocabulary in ("frequent", "relevant"):
        chosen = TextClassifier(vocabulary=vocabulary).fit(documents, [0, 1, 1]).words_
        assert len(chosen) == 1000
    frequent = TextClassifier(vocabulary="frequent").fit(documents, [0, 1, 1]).words_
    assert frequent == tuple(words[:1000])
    assert len(TextClassifier().fit(documents, [0, 1, 1]).words_) == 1500


@pytest.mark.parametrize("vocabulary", ["all", "no_stop_words"])
def test_max_words_takes_the_most_frequent_of_the_others(vocabulary):
    fitted = TextClassifier("multinomial", vocabulary=vocabulary, max_words=3).fit(DOCS, LABELS)
    left = {w: n for w, n in COUNTS.items() if vocabulary == "all" or w not in ENGLISH_STOP_WORDS}
    best = sorted(left, key=lambda word: -left[word])[:3]
    assert fitted.words_ == tuple(sorted(best))
    every = TextClassifier(vocabulary=vocabulary, max_words=10_000).fit(DOCS, LABELS)
    assert every.words_ == tuple(left)


@MODELS
@pytest.mark.parametrize(
    "reader",
    [
        CountVectorizer(ngram_range=(1, 2)),
        CountVectorizer(analyzer="char_wb", ngram_range=(2, 3)),
        CountVectorizer(token_pattern=r"(?u)\b\w+\b"),  # noqa: S106 - tokens of text
        CountVectorizer(lowercase=False),
        CountVectorizer(min_df=2),
        CountVectorizer(max_df=0.5),
        CountVectorizer(max_features=5),
        CountVectorizer(stop_words="english"),
        CountVectorizer(strip_accents="unicode"),
        CountVectorizer(dtype=np.int8),
        CountVectorizer(tokenizer=str.split, token_pattern=None),
        CountVectorizer(vocabulary=["dog", "the", "bank"]),
    ],
    ids=str,
)
def test_any_count_vectorizer_does_as_in_a_pipeline(model, reader):
    documents = [*DOCS[:-1], "The Dóg of the Bank"]
    peer = (MultinomialNB if model == "multinomial" else BernoulliNB)()
    fitted = TextClassifier(model, vectorizer=reader).fit(documents, LABELS)
    peer.fit(reader.fit_transform(documents), LABELS)
    new = ["The dog", "dóg a bank", "", "rates of rates"]
    np.testing.assert_allclose(
        fitted.predict_proba(new), peer.predict_proba(reader.transform(new)), rtol=1e-10
    )
    assert set(fitted.words_) == set(reader.get_feature_names_out())


@pytest.mark.parametrize(
    "reader",
    [
        HashingVectorizer(),
        HashingVectorizer(norm=None),
        HashingVectorizer(alternate_sign=False),
        HashingVectorizer(alternate_sign=False, norm="l1"),
        TfidfVectorizer(),
        TfidfVectorizer(norm=None),
        TfidfVectorizer(norm=None, use_idf=False, sublinear_tf=True),
        StandardScaler(),
        CountVectorizer,
        "words",
        3,
    ],
    ids=lambda reader: reader.__name__ if isinstance(reader, type) else str(reader)[:60],
)
def test_what_does_not_count_words_is_refused(reader):
    told = "vectorizer of TextClassifier must count words.*alternate_sign=False, norm=None"
    with pytest.raises(InputError, match=told):
        TextClassifier(vectorizer=reader).fit(DOCS, LABELS)


def without_collisions(n_slots):
    """Give a vectorizer's slots of all words, and check that no two share one."""
    reader = HashingVectorizer(n_features=n_slots, alternate_sign=False, norm=None)
    slots = {word: int(reader.transform([word]).indices[0]) for word in COUNTS}
    assert len(set(slots.values())) == len(slots)
    return slots


@MODELS
def test_hashing_without_collisions_counts_the_same(model):
    slots = without_collisions(2**16)
    hashed = TextClassifier(model, hashing=2**16).fit(DOCS, LABELS)
    assert hashed.words_ == range(2**16)
    plain = TextClassifier(model).fit(DOCS, LABELS)
    for i, word in enumerate(plain.words_):
        assert (hashed.summary_.counts[:, slots[word]] == plain.summary_.counts[:, i]).all()
    assert hashed.summary_.counts.sum() == plain.summary_.counts.sum()
    values = hashed.mutual_information()
    np.testing.assert_allclose(
        [values[slots[word]] for word in plain.words_], plain.mutual_information(), rtol=1e-12
    )


@MODELS
@pytest.mark.parametrize("vocabulary", ["frequent", "relevant"])
def test_hashed_words_that_are_chosen_give_the_model_of_plain_counts(model, vocabulary):
    """Slots that never occurred are not chosen, so the two have the same words."""
    without_collisions(2**16)
    hashed = TextClassifier(model, vocabulary=vocabulary, hashing=2**16).fit(DOCS, LABELS)
    plain = TextClassifier(model).fit(DOCS, LABELS)
    assert len(hashed.words_) == len(plain.words_)
    np.testing.assert_allclose(hashed.predict_proba(DOCS), plain.predict_proba(DOCS), rtol=1e-11)


@pytest.mark.parametrize(
    ("model", "peer"), [("multinomial", MultinomialNB), ("bernoulli", BernoulliNB)]
)
def test_all_slots_take_part_in_the_smoothing(model, peer):
    reader = HashingVectorizer(n_features=64, alternate_sign=False, norm=None)
    theirs = peer().fit(reader.transform(DOCS), LABELS)
    for options in ({"hashing": 64}, {"vectorizer": reader}):
        hashed = TextClassifier(model, **options).fit(DOCS, LABELS)
        np.testing.assert_allclose(
            hashed.predict_proba(DOCS), theirs.predict_proba(reader.transform(DOCS)), rtol=1e-10
        )


def test_slots_have_numbers_instead_of_words():
    hashed = TextClassifier(hashing=16, vocabulary="relevant", max_words=3).fit(DOCS, LABELS)
    assert len(hashed.words_) == 3
    assert all(isinstance(slot, int) and 0 <= slot < 16 for slot in hashed.words_)
    assert list(hashed.words_) == sorted(hashed.words_)
    told = hashed.explain(DOCS[0])
    assert set(told.features) <= set(hashed.words_)
    logs = hashed.predict_log_proba(DOCS[:1])[0]
    assert told.log_odds == pytest.approx(abs(logs[0] - logs[1]), rel=1e-11)
    top = hashed.top_words(2)
    assert set(itertools.chain(*top.values())) <= set(hashed.words_)


def test_stop_words_are_left_out_before_hashing():
    hashed = TextClassifier("multinomial", hashing=2**16, vocabulary="no_stop_words")
    hashed.fit(DOCS, LABELS)
    kept = sum(n for word, n in COUNTS.items() if word not in ENGLISH_STOP_WORDS)
    assert hashed.summary_.counts.sum() == kept


def test_hashing_goes_without_a_vectorizer_and_with_tables_that_fit():
    with pytest.raises(InputError, match="hashing or a vectorizer, not both"):
        TextClassifier(hashing=8, vectorizer=CountVectorizer()).fit(DOCS, LABELS)
    with pytest.raises(InputError, match="GiB"):
        TextClassifier(hashing=2**30).fit(DOCS, LABELS)


ZOO = [
    "zebra lion lion",
    "lion tiger",
    "apple pear",
    "pear pear apple fig",
    "car bus",
    "bus train car",
    "lion apple",
    "",
]
PLACES = np.array(["zoo", "zoo", "fruit", "fruit", "road", "road", "zoo", "fruit"])


def part(rows):
    return [ZOO[i] for i in rows], PLACES[list(rows)]


def assert_same(one, other):
    assert tuple(one.words_) == tuple(other.words_)
    new = [*ZOO, "lion bus", "kiwi"]
    found, expected = (model.predict_log_proba(new) for model in (one, other))
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


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
    assert_same(model, TextClassifier(**options).fit([*ZOO[:7], batch], PLACES))


@pytest.mark.parametrize("hashing", [None, 64])
def test_a_stream_may_begin_without_words(hashing):
    model = TextClassifier(hashing=hashing).partial_fit([":)"], ["fruit"])
    model.partial_fit(*part(range(7)))
    assert_same(model, TextClassifier(hashing=hashing).fit([*ZOO[:7], ":)"], PLACES))


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


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ({}, {"model": "bernoulli"}, "same model"),
        ({}, {"hashing": 8}, "same model, vectorizer and calibration"),
        ({}, {"calibrated": False}, "same model, vectorizer and calibration"),
        ({"hashing": 8}, {"hashing": 16}, "8 slots cannot be joined with 16"),
    ],
)
def test_models_of_another_kind_do_not_merge(one, other, message):
    one, other = (TextClassifier(**options).fit(ZOO, PLACES) for options in (one, other))
    with pytest.raises(InputError, match=message):
        one.merge(other)


def test_a_hashed_stream_never_holds_words():
    reader = HashingVectorizer(n_features=32, alternate_sign=False, norm=None)
    model = TextClassifier("multinomial", vectorizer=reader)
    for i in range(50):
        model.partial_fit([f"word{i} and{i}", f"other{i}"], [0, 1])
    assert model.summary_.counts.shape == (2, 32)
    assert model.summary_.counts.sum() == 150
    assert model.summary_.documents.tolist() == [50, 50]


def test_it_is_that_of_the_chosen_words_computed_from_all():
    everything = TextClassifier().fit(DOCS, LABELS)
    values = dict(zip(everything.words_, everything.mutual_information(), strict=True))
    few = TextClassifier(vocabulary="relevant", max_words=4).fit(DOCS, LABELS)
    assert few.mutual_information().tolist() == [values[word] for word in few.words_]


@pytest.mark.parametrize(
    ("model", "peer"), [("multinomial", MultinomialNB), ("bernoulli", BernoulliNB)]
)
@pytest.mark.parametrize("vocabulary", ["no_stop_words", "frequent", "relevant"])
def test_a_chosen_vocabulary_is_the_model_of_these_words_alone(model, peer, vocabulary):
    fitted = TextClassifier(model, vocabulary=vocabulary, max_words=5).fit(DOCS, LABELS)
    reader = CountVectorizer(vocabulary=list(fitted.words_))
    theirs = peer().fit(reader.transform(DOCS), LABELS)
    new = [*DOCS, "", "the dog of the dog", "unknown words only"]
    np.testing.assert_allclose(
        fitted.predict_proba(new), theirs.predict_proba(reader.transform(new)), rtol=1e-10
    )


def test_the_given_vectorizer_stays_as_it_was():
    reader = CountVectorizer(ngram_range=(1, 2), lowercase=False)
    before = dict(vars(reader))
    TextClassifier(vectorizer=reader, vocabulary="no_stop_words").fit(DOCS, LABELS).predict(DOCS)
    assert vars(reader) == before


def test_a_stream_leaves_an_older_copy_of_the_model_as_it_was():
    model = TextClassifier().fit(*part(range(4)))
    older = model.with_priors("uniform")
    before = older.predict_proba(ZOO)
    model.partial_fit(*part(range(4, 8)))
    np.testing.assert_array_equal(older.predict_proba(ZOO), before)
