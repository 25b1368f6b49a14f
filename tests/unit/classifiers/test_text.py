"""``TextClassifier``: two models of documents, by hand, by a slow twin and by peers."""

import itertools
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from tests.oracles import text as oracle

import credo
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


# --- by hand ---------------------------------------------------------------------------------


def test_multinomial_probabilities_by_hand():
    model = TextClassifier().fit(["sun sun rain", "rain", "snow rain"], ["s", "w", "w"])
    assert model.words_ == ("rain", "snow", "sun")
    # s has 3 words, w has 3; one artificial observation of each of three words
    theta = np.array([[2, 1, 3], [3, 2, 1]]) / 6
    np.testing.assert_allclose(np.exp(model.log_probabilities_), theta, rtol=1e-14)
    np.testing.assert_allclose(model.priors_, [1 / 3, 2 / 3], rtol=1e-15)
    # "sun rain rain": 3!/(2! 1!) θ_rain² θ_sun
    joint = np.array([1 / 3, 2 / 3]) * 3 * theta[:, 0] ** 2 * theta[:, 2]
    np.testing.assert_allclose(np.exp(model.log_joint(["sun rain rain"]))[0], joint, rtol=1e-13)
    np.testing.assert_allclose(
        model.predict_proba(["sun rain rain"])[0], joint / joint.sum(), rtol=1e-13
    )
    assert model.log_density(["rain sun rain"])[0] == pytest.approx(math.log(joint.sum()))


def test_bernoulli_probabilities_by_hand():
    model = TextClassifier("bernoulli").fit(["sun sun rain", "rain", "snow rain"], ["s", "w", "w"])
    theta = np.array([[2 / 3, 1 / 3, 2 / 3], [3 / 4, 2 / 4, 1 / 4]])
    np.testing.assert_allclose(np.exp(model.log_probabilities_), theta, rtol=1e-14)
    # rain and sun are there, snow is not
    joint = np.array([1 / 3, 2 / 3]) * theta[:, 0] * (1 - theta[:, 1]) * theta[:, 2]
    np.testing.assert_allclose(np.exp(model.log_joint(["sun rain rain"]))[0], joint, rtol=1e-13)
    assert model.predict(["sun rain rain"]).tolist() == ["s"]


def test_parameters_are_counted():
    # K priors; θ sum to one over the words, or are one per word
    assert TextClassifier().fit(DOCS, LABELS).n_parameters_ == 3 + 3 * (4 - 1)
    assert TextClassifier("bernoulli").fit(DOCS, LABELS).n_parameters_ == 3 + 3 * 4


def test_without_smoothing_a_word_can_rule_classes_out():
    model = TextClassifier(smoothing=0).fit(["sun rain", "snow rain"], ["s", "w"])
    assert model.predict_proba(["sun rain", "rain"]).tolist() == [[1, 0], [0.5, 0.5]]
    assert np.isneginf(model.log_probabilities_).sum() == 2
    with pytest.raises(InputError, match="row 1 has probability zero under every class"):
        model.predict_proba(["rain", "sun snow"])


# --- a slow twin, and peers ------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("model", "peer"), [("multinomial", MultinomialNB), ("bernoulli", BernoulliNB)]
)
@pytest.mark.parametrize("alpha", [1.0, 0.01])
def test_it_equals_scikit_learns_pipeline(model, peer, alpha):
    ours = TextClassifier(model, smoothing=alpha).fit(DOCS, LABELS)
    theirs = make_pipeline(CountVectorizer(), peer(alpha=alpha)).fit(DOCS, LABELS)
    np.testing.assert_allclose(ours.predict_proba(NEW), theirs.predict_proba(NEW), rtol=1e-10)
    np.testing.assert_array_equal(ours.predict(NEW), theirs.predict(NEW))
    np.testing.assert_allclose(
        ours.log_probabilities_, theirs[-1].feature_log_prob_, rtol=1e-12, atol=1e-14
    )


@MODELS
def test_it_equals_naive_bayes_of_the_counts(model):
    reader = CountVectorizer(binary=model == "bernoulli").fit(DOCS)
    counts = NaiveBayes(model).fit(reader.transform(DOCS), LABELS)
    ours = TextClassifier(model).fit(DOCS, LABELS)
    np.testing.assert_allclose(
        ours.log_joint(NEW), counts.log_joint(reader.transform(NEW)), rtol=1e-13, atol=1e-13
    )
    assert ours.n_parameters_ == counts.n_parameters_


# --- densities -------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 2, 5])
def test_the_multinomial_density_sums_to_one_over_the_documents_of_a_length(length):
    model = TextClassifier().fit(DOCS, LABELS)
    bags = itertools.combinations_with_replacement(model.words_, length)
    total = np.exp(model.log_density([" ".join(bag) for bag in bags])).sum()
    assert total == pytest.approx(1, rel=1e-12)


def test_the_bernoulli_density_sums_to_one_over_all_sets_of_words():
    model = TextClassifier("bernoulli").fit(DOCS, LABELS)
    sets = [s for n in range(5) for s in itertools.combinations(model.words_, n)]
    assert len(sets) == 16
    total = np.exp(model.log_density([" ".join(words) for words in sets])).sum()
    assert total == pytest.approx(1, rel=1e-12)


@MODELS
def test_the_order_of_words_does_not_matter_and_repeats_matter_to_the_multinomial_only(model):
    fitted = TextClassifier(model).fit(DOCS, LABELS)
    one, other, more = fitted.predict_proba(["red blue", "Blue, red!", "red red blue"])
    np.testing.assert_array_equal(one, other)
    assert np.array_equal(one, more) == (model == "bernoulli")


@MODELS
def test_unknown_words_say_nothing(model):
    fitted = TextClassifier(model).fit(DOCS, LABELS)
    joint = fitted.log_joint(["red", "red purple", "", "purple pink"])
    np.testing.assert_array_equal(joint[0], joint[1])
    np.testing.assert_array_equal(joint[2], joint[3])
    if model == "multinomial":
        np.testing.assert_allclose(np.exp(joint[2]), fitted.priors_, rtol=1e-14)
    else:  # absent words speak
        assert np.abs(fitted.predict_proba([""])[0] - fitted.priors_).max() > 0.05


# --- linear forms and explanations -----------------------------------------------------------


@MODELS
@pytest.mark.parametrize("pair", list(itertools.permutations("abc", 2)))
def test_log_odds_are_linear_in_the_counts(model, pair):
    fitted = TextClassifier(model, priors=[0.2, 0.5, 0.3]).fit(DOCS, LABELS)
    w, w0 = fitted.log_odds_weights(*pair)
    reader = CountVectorizer(vocabulary=list(fitted.words_), binary=model == "bernoulli")
    logs = dict(zip("abc", fitted.predict_log_proba(NEW).T, strict=True))
    np.testing.assert_allclose(
        reader.transform(NEW) @ w + w0, logs[pair[0]] - logs[pair[1]], rtol=1e-11, atol=1e-13
    )
    assert fitted.log_odds_weights(*pair).statistics == fitted.words_


def test_infinite_weights_are_refused():
    model = TextClassifier(smoothing=0).fit(["sun rain", "snow rain"], ["s", "w"])
    with pytest.raises(InputError, match="weight of snow is infinite"):
        model.log_odds_weights("s", "w")


@MODELS
@pytest.mark.parametrize("document", NEW)
def test_an_explanation_sums_to_the_log_odds(model, document):
    fitted = TextClassifier(model, smoothing=0.3, priors=[0.2, 0.5, 0.3]).fit(DOCS, LABELS)
    told = fitted.explain(document, "c", "a")
    logs = fitted.predict_log_proba([document])[0]
    assert told.log_odds == pytest.approx(logs[2] - logs[0], rel=1e-11, abs=1e-13)
    assert told.prior == pytest.approx(math.log(0.3 / 0.2))
    assert (np.diff(np.abs(told.contributions)) <= 0).all()
    counts = [oracle.tokens(document).count(word) for word in told.features]
    assert list(told.values) == (counts if model == "multinomial" else [min(n, 1) for n in counts])


def test_an_explanation_says_which_words_moved_the_posterior_and_by_how_much():
    fitted = TextClassifier().fit(["sun sun rain", "rain", "snow rain"], ["s", "w", "w"])
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


# --- what is shown ---------------------------------------------------------------------------


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


def test_top_words_are_those_one_expects():
    fitted = TextClassifier().fit(DOCS, LABELS)
    assert fitted.top_words(1) == {"a": ["red"], "b": ["blue"], "c": ["yellow"]}
    assert "blue" not in fitted.top_words(4)["a"]


def test_a_frequent_word_tells_more_than_a_rare_one_of_a_larger_ratio():
    documents = ["common " * 20 + "rare", "common " * 5 + "other " * 16]
    fitted = TextClassifier(smoothing=0.01).fit(documents, ["a", "b"])
    weights = dict(zip(fitted.words_, fitted.log_odds_weights("a", "b").weights, strict=True))
    assert weights["rare"] > weights["common"] > 0
    assert fitted.top_words(2)["a"] == ["common", "rare"]


def test_one_class_has_no_telling_words():
    fitted = TextClassifier().fit(DOCS, ["a"] * 7)
    assert fitted.top_words() == {"a": []}
    np.testing.assert_allclose(fitted.mutual_information(), 0, atol=1e-15)


# --- decisions -------------------------------------------------------------------------------


def test_a_posterior_can_be_decided_on_with_a_reject_act():
    mail = ["win cash now", "cash prize win", "lunch at noon", "see you at lunch"]
    fitted = TextClassifier().fit(mail, ["spam", "spam", "ham", "ham"])
    loss = credo.Loss([[0, 10], [1, 0]], ["ham", "spam"], ["show", "hide"]).with_reject(0.4)
    documents = ["lunch at noon", "cash cash win prize", "win lunch", ""]
    posterior = fitted.posterior(documents)
    assert posterior.labels == ("ham", "spam")
    p = fitted.predict_proba(documents)[:, 1]
    np.testing.assert_allclose(posterior.probabilities[:, 1], p, rtol=1e-13)
    expected = ["show", "hide", "reject", "reject"]
    by_hand = np.stack([p, 10 * (1 - p), np.full(4, 0.4)])
    acts = np.array(["show", "hide", "reject"])[by_hand.argmin(axis=0)]
    assert acts.tolist() == expected
    assert [str(act) for act in credo.decide(posterior, loss).acts] == expected


# --- other processes, and large numbers --------------------------------------------------------


def test_its_tags_say_that_it_reads_one_column_of_text():
    tags = get_tags(TextClassifier()).input_tags
    assert (tags.one_d_array, tags.string, tags.two_d_array) == (True, True, False)


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
    fitted = TextClassifier(model, hashing=2**20).fit(DOCS, LABELS)
    assert fitted.log_probabilities_.shape == (3, 2**20)
    assert_normalised(fitted, [*NEW, " ".join(DOCS * 100)])
    if model == "multinomial":
        np.testing.assert_allclose(np.exp(fitted.log_probabilities_).sum(axis=1), 1, rtol=1e-9)
