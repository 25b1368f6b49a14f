"""The complement model of documents: by a slow twin, by fitting again, and what it must survive."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import ComplementNB
from tests.oracles import text as oracle

import credo
from credo import TextClassifier
from credo.classifiers import complement
from credo.exceptions import FileFormatError, InputError, NumericalError
from credo.storage import pack, unpack

DOCS = [
    "red red blue",
    "red green",
    "blue blue blue green",
    "green yellow",
    "yellow yellow red",
    "blue",
    "green",
    "red green",
    "red",
    "",
    "pink green pink",
    "yellow blue",
]
LABELS = list("aabbccaabbcc")
WEIGHTS = [1, 2, 0.5, 1, 3, 1, 1, 1, 0, 1, 2, 1]
NEW = ["red blue", "yellow", "green green green red", "", "purple", "purple pink pink", "blue"]
TARGETS = pytest.mark.parametrize("target", ["uniform", "marginal"])


def corpus(n, seed=0, n_classes=4):
    """Documents of classes that overlap."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{i:02d}" for i in range(60)])
    shares = rng.dirichlet(np.full(60, 0.3), n_classes)
    labels = rng.integers(0, n_classes, n)
    texts = [" ".join(rng.choice(words, rng.integers(1, 12), p=shares[k])) for k in labels]
    return texts, labels


def test_it_is_the_default():
    ours, named = TextClassifier().fit(DOCS, LABELS), TextClassifier("complement").fit(DOCS, LABELS)
    np.testing.assert_array_equal(ours.predict_proba(NEW), named.predict_proba(NEW))


@TARGETS
@pytest.mark.parametrize("smoothing", [None, 1.0, 0.3])
def test_it_equals_its_slow_twin_that_fits_again_without_each_document(smoothing, target):
    options = {"smoothing": smoothing, "smoothing_target": target}
    ours = TextClassifier(**options).fit(DOCS, LABELS, WEIGHTS)
    twin = oracle.ComplementTwin(**options).fit(DOCS, LABELS, WEIGHTS)
    assert ours.smoothing_ == twin.alpha
    assert ours.temperature_ == pytest.approx(1 / twin.sharpness, rel=1e-5)
    np.testing.assert_allclose(ours.biases_, twin.biases, atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(NEW), twin.predict_proba(NEW), rtol=1e-5)


@TARGETS
def test_without_calibration_temperature_and_biases_are_those_expected(target):
    ours = TextClassifier(smoothing_target=target, calibrated=False).fit(DOCS, LABELS, WEIGHTS)
    assert (ours.smoothing_, ours.temperature_, ours.biases_.tolist()) == (1, 0.5, [0, 0, 0])
    assert ours.summary_.sketch is None
    rows = [(oracle.tokens(d), k, w) for d, k, w in zip(DOCS, LABELS, WEIGHTS, strict=True) if w]
    for text in NEW:
        scores = oracle.complement_scores(rows, "abc", oracle.tokens(text), 1.0, target)
        logs = 2 * np.array(scores) + np.log(ours.priors_)
        logs -= np.logaddexp.reduce(logs)
        np.testing.assert_allclose(ours.predict_log_proba([text])[0], logs, rtol=1e-11)


def test_words_of_other_classes_are_those_of_scikit_learn():
    texts, labels = corpus(80)
    ours = TextClassifier(smoothing=0.3).fit(texts, labels)
    counts = CountVectorizer(vocabulary=list(ours.words_)).transform(texts).toarray()
    logs = np.log1p(counts)
    rows = logs / np.linalg.norm(logs, axis=1, keepdims=True)
    rarity = 1 + np.log((1 + 80) / (1 + (counts > 0).sum(axis=0)))
    rows *= rarity * rows.sum() / (rows.sum(axis=0) @ rarity)
    theirs = ComplementNB(alpha=0.3).fit(rows, labels)
    np.testing.assert_allclose(ours.log_probabilities_, -theirs.feature_log_prob_, rtol=1e-11)


# --- documents that are kept ---------------------------------------------------------------------


@pytest.mark.parametrize("kept", [1, 7, 40])
def test_streams_and_merges_keep_the_same_documents_in_any_order(monkeypatch, kept):
    monkeypatch.setattr(complement, "MOST_KEPT", kept)
    texts, labels = corpus(90)
    weights = np.random.default_rng(1).choice([0.5, 1, 2], 90)
    whole = TextClassifier().fit(texts, labels, weights)
    assert len(whole.summary_.sketch.codes) == kept
    order = np.argsort(labels, kind="stable")[::-1]  # one class after the other
    parts = [
        TextClassifier().fit([texts[i] for i in rows], labels[rows], weights[rows])
        for rows in np.array_split(order, 6)
    ]
    merged = parts[3].merge(parts[0]).merge(parts[5].merge(parts[1]))
    merged = parts[4].merge(merged.merge(parts[2]))
    np.testing.assert_array_equal(merged.summary_.sketch.hashes, whole.summary_.sketch.hashes)
    np.testing.assert_array_equal(merged.summary_.sketch.weights, whole.summary_.sketch.weights)
    assert merged.smoothing_ == whole.smoothing_
    np.testing.assert_allclose(merged.biases_, whole.biases_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        merged.predict_log_proba(texts), whole.predict_log_proba(texts), rtol=1e-9, atol=1e-12
    )


def test_a_sample_of_documents_calibrates_nearly_as_all_do(monkeypatch):
    texts, labels = corpus(1500)
    new, truth = corpus(600, seed=0)[0], corpus(600, seed=0)[1]
    losses = []
    for kept in (300, 1500):
        monkeypatch.setattr(complement, "MOST_KEPT", kept)
        logs = TextClassifier().fit(texts, labels).predict_log_proba(new)
        losses.append(-logs[np.arange(600), truth].mean())
    assert losses[0] == pytest.approx(losses[1], abs=0.02)


def test_calibrated_posteriors_are_neither_too_sure_nor_too_unsure():
    texts, labels = corpus(4000, seed=3)
    model = TextClassifier().fit(texts[:2000], labels[:2000])
    p = model.predict_proba(texts[2000:])
    right = p.argmax(axis=1) == labels[2000:]
    assert p.max(axis=1).mean() == pytest.approx(right.mean(), abs=0.03)
    plain = TextClassifier(calibrated=False).fit(texts[:2000], labels[:2000])
    logs = [m.predict_log_proba(texts[2000:]) for m in (model, plain)]
    losses = [-each[np.arange(2000), labels[2000:]].mean() for each in logs]
    assert losses[0] < losses[1]


# --- little to learn from ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("documents", "labels"),
    [
        (["sun"], [0]),
        (["sun", "sun"], [0, 1]),
        (["sun", "rain"], [0, 1]),
        (["sun", "", ""], [0, 1, 2]),
        (["sun rain", "rain"], [0, 0]),
        (["sun", *["rain"] * 500], [0, *[1] * 500]),
        ([f"only{i}" for i in range(30)], np.arange(30) % 3),
        ([f"only{i}" for i in range(30)], np.arange(30)),
    ],
    ids=range(8),
)
def test_few_documents_give_a_posterior_that_is_not_extreme(documents, labels):
    model = TextClassifier().fit(documents, labels)
    p = model.predict_proba([*documents, "sun rain snow", ""])
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(model.biases_.sum(), 0, atol=1e-9)
    assert abs(math.log(model.temperature_ * max(1, len(set(labels)) - 1))) < 3


def test_classes_that_are_not_among_the_kept_documents_have_their_share(monkeypatch):
    texts, labels = corpus(200)
    monkeypatch.setattr(complement, "MOST_KEPT", 1)
    model = TextClassifier().fit(texts, labels)
    assert len(model.summary_.sketch.codes) == 1
    assert np.abs(model.biases_).max() < 1
    assert model.score(texts, labels) > 0.6


def test_weights_of_any_size_are_taken_or_refused_by_a_sentence():
    texts, labels = corpus(60)
    shares = np.bincount(labels) / 60
    for size in (1e-100, 1e-9, 1e9, 1e100):
        model = TextClassifier().fit(texts, labels, np.full(60, size))
        assert np.isfinite(model.predict_log_proba(texts)).all()
        assert (model.temperature_ == pytest.approx(1 / 3)) == (size < 1)
        assert (np.abs(model.biases_).max() < 1e-6) == (size < 1)
    np.testing.assert_allclose(
        model.predict_proba([""])[0] / shares, np.exp(model.biases_), rtol=0.5
    )


def test_sums_beyond_what_numbers_hold_are_told():
    texts, labels = corpus(60)
    model = TextClassifier().fit(texts, labels)
    model.summary_ = replace(model.summary_, counts=model.summary_.counts * 1e307)
    with pytest.raises(NumericalError, match="beyond what numbers hold"):
        model.partial_fit(texts, labels).predict(texts)


def test_one_strange_document_does_not_set_the_temperature():
    texts, labels = corpus(400, n_classes=2)
    plain = TextClassifier(smoothing=1e-6).fit(texts, labels)
    strange = [*texts, " ".join(texts[i] for i in np.flatnonzero(labels == 0))]
    odd = TextClassifier(smoothing=1e-6).fit(strange, [*labels, 1])
    assert odd.temperature_ < 2 * plain.temperature_


# --- answers -------------------------------------------------------------------------------------


def test_there_are_no_densities_and_the_remedy_is_told():
    model = TextClassifier().fit(DOCS, LABELS)
    for method in (model.log_joint, model.log_density):
        with pytest.raises(InputError, match="no density of documents. Use model='multinomial'"):
            method(NEW)


def test_a_table_is_scored_without_the_column_of_densities():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"text": DOCS, "y": LABELS})
    model = credo.fit_table(TextClassifier(), table, target="y")
    names = credo.predict_table(model, table).column_names
    assert "log_density" not in names
    assert {"p_a", "p_b", "p_c", "act", "expected_loss"} <= set(names)
    plain = credo.fit_table(TextClassifier("multinomial"), table, target="y")
    assert "log_density" in credo.predict_table(plain, table).column_names


def test_the_log_odds_are_linear_in_log_counts_at_length_one():
    model = TextClassifier().fit(DOCS, LABELS)
    w, w0 = model.log_odds_weights("a", "b")
    assert model.log_odds_weights("a", "b").statistics[0] == "log(1 + blue) / length"
    for text in NEW:
        z = oracle.unit_vector(oracle.tokens(text), model.words_)
        linear = sum(z.get(word, 0.0) * w[j] for j, word in enumerate(model.words_)) + w0
        logs = model.predict_log_proba([text])[0]
        assert linear == pytest.approx(logs[0] - logs[1], rel=1e-11, abs=1e-12)
        told = model.explain(text, "a", "b")
        assert told.log_odds == pytest.approx(linear, rel=1e-11, abs=1e-12)
        assert told.prior == pytest.approx(w0, rel=1e-12)


def test_an_explanation_shows_how_often_a_word_occurs():
    told = TextClassifier().fit(DOCS, LABELS).explain("red red blue")
    assert dict(zip(told.features, told.values, strict=True)) == {"red": 2, "blue": 1}


def test_top_words_add_most_in_an_average_document_of_their_class():
    model = TextClassifier().fit(DOCS, LABELS, WEIGHTS)
    weighed = [(oracle.tokens(d), k, w) for d, k, w in zip(DOCS, LABELS, WEIGHTS, strict=True)]
    for k, found in model.top_words(3).items():
        adds = {}
        for j, word in enumerate(model.words_):
            mean = sum(
                w * oracle.unit_vector(d, model.words_).get(word, 0)
                for d, c, w in weighed
                if c == k
            )
            mean /= sum(w for _, c, w in weighed if c == k)
            gaps = [model.log_odds_weights(k, c).weights[j] for c in "abc"]
            adds[word] = mean * float(model.priors_ @ gaps)
        expected = [w for w in sorted(adds, key=lambda w: -adds[w])[:3] if adds[w] > 0]
        assert found == expected


def test_frequent_words_are_those_in_most_documents():
    texts = ["lion lion lion lion", "bus", "bus car", "car bus", "car"]
    fitted = TextClassifier(vocabulary="frequent", max_words=2).fit(texts, [0, 1, 1, 1, 0])
    assert fitted.words_ == ("bus", "car")


def test_attributes_of_the_complement_model_go_with_it():
    model = TextClassifier().fit(DOCS, LABELS)
    model.set_params(model="multinomial").fit(DOCS, LABELS)
    assert not any(hasattr(model, name) for name in ("smoothing_", "temperature_", "biases_"))
    plain = TextClassifier("multinomial").fit(DOCS, LABELS)
    np.testing.assert_array_equal(model.log_joint(NEW), plain.log_joint(NEW))


# --- files ---------------------------------------------------------------------------------------


def test_without_calibration_nothing_of_a_single_document_is_in_the_file():
    texts, labels = corpus(50)
    kept, none = (TextClassifier(calibrated=c).fit(texts, labels) for c in (True, False))
    assert len(pack(none)) < len(pack(kept)) - 8 * len(kept.summary_.sketch.words)
    again = unpack(pack(none))
    np.testing.assert_array_equal(again.predict_proba(texts), none.predict_proba(texts))
    with pytest.raises(InputError, match="same model, vectorizer and calibration"):
        none.set_params(calibrated=True).partial_fit(texts, labels)


FORGED = {
    "hashes that do not grow": lambda s: {"hashes": s.hashes[::-1]},
    "a class that is not there": lambda s: {"codes": s.codes + 2},
    "a word that is not there": lambda s: {"words": s.words + 1},
    "a word twice": lambda s: {"words": np.zeros_like(s.words)},
    "documents that end too late": lambda s: {"starts": s.starts + 1},
    "documents that end before they begin": lambda s: {"starts": np.r_[0, s.starts[1:][::-1]]},
    "one document less": lambda s: {"starts": s.starts[:-1]},
    "a weight of nothing": lambda s: {"weights": 0 * s.weights},
    "a word that does not occur": lambda s: {"counts": 0 * s.counts},
}


@pytest.mark.parametrize("change", FORGED.values(), ids=FORGED)
def test_a_file_with_documents_that_cannot_be_is_refused(change):
    model = TextClassifier().fit(DOCS, LABELS)
    sketch = model.summary_.sketch
    forged = replace(sketch, **{name: np.array(v) for name, v in change(sketch).items()})
    model.summary_ = replace(model.summary_, sketch=forged)
    with pytest.raises(FileFormatError, match="documents"):
        unpack(pack(model))


def test_a_file_with_a_sketch_of_too_many_documents_or_without_frequencies_is_refused(monkeypatch):
    model = TextClassifier().fit(DOCS, LABELS)
    content = pack(model)
    monkeypatch.setattr(complement, "MOST_KEPT", 3)
    with pytest.raises(FileFormatError, match="kept documents"):
        unpack(content)
    for changes in ({"frequencies": None}, {"frequencies": None, "sketch": None}, {"sketch": None}):
        model = TextClassifier().fit(DOCS, LABELS)
        model.summary_ = replace(model.summary_, **changes)
        with pytest.raises(FileFormatError, match="summary"):
            unpack(pack(model))


def test_rows_without_words_stay_zero_and_others_get_length_one():
    rows = complement.unit_rows(csr_array(np.array([[1.0, 0, 3], [0, 0, 0]])))
    expected = np.log1p([1, 0, 3]) / math.hypot(math.log(2), math.log(4))
    np.testing.assert_allclose(rows.toarray(), [expected, [0, 0, 0]], rtol=1e-15)
