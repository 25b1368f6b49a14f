"""Textbook D3: all words, stop words removed, the most frequent, the most relevant; and D4."""

import math

import numpy as np
import pytest
from scipy.stats import multinomial

from credo import TextClassifier

#: "the" is everywhere, "game" in sports alone, "vote" in politics alone, "close" in both alike.
DOCS = [
    "the the game the game close",
    "the game team the",
    "the team close the",
    "the vote the close vote",
    "the vote law",
    "the the law close",
]
LABELS = ["sports"] * 3 + ["politics"] * 3


def test_d3_all_words():
    assert TextClassifier("multinomial", vocabulary="all").fit(DOCS, LABELS).words_ == (
        "close",
        "game",
        "law",
        "team",
        "the",
        "vote",
    )


def test_d3_stop_words_removed():
    model = TextClassifier("multinomial", vocabulary="no_stop_words").fit(DOCS, LABELS)
    assert model.words_ == ("close", "game", "law", "team", "vote")
    own = TextClassifier("multinomial", vocabulary="no_stop_words", stop_words=["close"])
    own.fit(DOCS, LABELS)
    assert own.words_ == ("game", "law", "team", "the", "vote")


def test_d3_the_most_frequent_words_only():
    # the 12, close 4, game 3, vote 3, law 2, team 2
    chosen = [
        TextClassifier("multinomial", vocabulary="frequent", max_words=n).fit(DOCS, LABELS).words_
        for n in (1, 2, 4)
    ]
    assert chosen == [("the",), ("close", "the"), ("close", "game", "the", "vote")]


def test_d3_the_words_most_relevant_to_the_classes():
    model = TextClassifier("bernoulli", vocabulary="relevant", max_words=4).fit(DOCS, LABELS)
    assert model.words_ == ("game", "law", "team", "vote")
    # each of them is in two of three documents of one class and in none of the other:
    # p(t, k) is 2/6 and 0, of absence 1/6 and 3/6
    by_hand = (
        2 / 6 * math.log((2 / 6) / (2 / 6 * 1 / 2))
        + 1 / 6 * math.log((1 / 6) / (4 / 6 * 1 / 2))
        + 3 / 6 * math.log((3 / 6) / (4 / 6 * 1 / 2))
    )
    np.testing.assert_allclose(model.mutual_information(), by_hand, rtol=1e-12)
    everything = TextClassifier("bernoulli").fit(DOCS, LABELS)
    values = dict(zip(everything.words_, everything.mutual_information(), strict=True))
    assert values["the"] == pytest.approx(0, abs=1e-15)  # in every document: no information
    assert values["close"] == pytest.approx(0, abs=1e-15)  # as often in both classes


def test_d3_the_choice_is_made_from_the_summary_without_a_second_pass():
    stream = TextClassifier("bernoulli", vocabulary="relevant", max_words=4)
    for text, label in zip(DOCS, LABELS, strict=True):
        stream.partial_fit(iter([text]), [label])  # can be read once
    assert set(stream.words_) == {"game", "law", "team", "vote"}


def test_d4_the_multinomial_density_has_its_coefficient_and_both_models_are_linear():
    model = TextClassifier("multinomial", vocabulary="no_stop_words").fit(DOCS, LABELS)
    document, counts = "game game close law", [1, 2, 1, 0, 0]
    theta = np.exp(model.log_probabilities_)
    expected = [multinomial.logpmf(counts, 4, row) + math.log(0.5) for row in theta]
    np.testing.assert_allclose(model.log_joint([document])[0], expected, rtol=1e-10)
    for kind, x in (("multinomial", counts), ("bernoulli", np.minimum(counts, 1))):
        linear = TextClassifier(kind, vocabulary="no_stop_words").fit(DOCS, LABELS)
        w, w0 = linear.log_odds_weights("sports", "politics")
        logs = linear.predict_log_proba([document])[0]
        assert np.dot(w, x) + w0 == pytest.approx(logs[1] - logs[0], rel=1e-11)
