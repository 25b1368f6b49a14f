"""Frames whose columns are numbered in some way, and labels with gaps."""

import copy

import numpy as np
import pandas as pd
import pytest

from credo import NaiveBayes, TextClassifier
from credo.exceptions import InputError

FRAME = pd.DataFrame({1: [1.0, 2.0, 3.0, 5.0], 2: [0, 1, 0, 2], 3: list("xyxy")})
Y = list("aabb")


def test_a_number_names_the_column_with_that_label():
    model = NaiveBayes({2: "categorical"}).fit(FRAME, Y)
    assert model.families_ == {1: "gaussian", 2: "categorical", 3: "categorical"}
    assert model.categories_ == {2: [0, 1, 2], 3: ["x", "y"]}
    assert model.explain({1: 2.0, 2: 1, 3: "x"}).log_odds > 0


def test_numbered_columns_are_sampled_as_a_frame():
    X, _ = NaiveBayes().fit(FRAME, Y).sample(3, 0)
    assert X.columns.tolist() == [1, 2, 3]
    assert set(X[3]) <= {"x", "y"}


def test_the_labels_of_an_earlier_fit_are_forgotten():
    model = NaiveBayes().fit(FRAME, Y).fit(FRAME.to_numpy(), Y)
    assert list(model.families_) == [0, 1, 2]


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA], ids=str)
@pytest.mark.parametrize("classifier", [NaiveBayes(), TextClassifier()], ids=str)
def test_a_missing_label_is_named_by_its_row(classifier, gap):
    X = [["one two"], ["two"]] if isinstance(classifier, NaiveBayes) else ["one two", "two"]
    with pytest.raises(InputError, match="Input y contains NaN or infinity, in row 1"):
        classifier.fit(X, np.array(["a", gap], dtype=object))


def test_wrong_priors_are_refused_at_the_first_batch():
    with pytest.raises(InputError, match="priors of NaiveBayes must be None, 'uniform'"):
        NaiveBayes(priors="foo").partial_fit(FRAME, Y)
    with pytest.raises(InputError, match="priors of TextClassifier must be None, 'uniform'"):
        TextClassifier(priors="foo").partial_fit(["a word"], ["a"])


def test_classes_of_prior_zero_are_not_compared():
    rows = [[1.0], [2.0], [2.5], [3.0], [4.0], [6.0]]
    model = NaiveBayes().fit(rows, list("aabbcc")).with_priors([1.0, 0.0, 0.0])
    with pytest.raises(InputError, match="priors of 'b' and 'c' are both zero"):
        model.explain([2.0], "b", "c")


def test_the_tables_for_scoring_are_not_part_of_a_copy_on_disk():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (50, 2000)), rng.integers(0, 2, 50)
    model = NaiveBayes("multinomial").fit(X, y)
    states = [set(term.__getstate__()) for term in model._terms]
    expected = model.predict_proba(X)
    assert [set(term.__getstate__()) for term in model._terms] == states
    np.testing.assert_array_equal(copy.deepcopy(model).predict_proba(X), expected)


def test_summaries_are_read_only():
    model = NaiveBayes().fit(FRAME, Y)
    with pytest.raises(ValueError, match="read-only"):
        model.summary_.weights[0] = 100.0
