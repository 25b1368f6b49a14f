import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st
from sklearn import metrics
from tests.oracles import evaluation as oracle

from credo import Loss, decide
from credo.decisions import confusion_matrix

LOSS = Loss.zero_one(["ham", "spam"]).with_reject(0.2)
Y = ["ham", "ham", "ham", "spam", "spam"]
ACTS = ["ham", "spam", "reject", "spam", "reject"]


@st.composite
def pairs(draw):
    """Truths, acts and whole weights over three labels."""
    n = draw(st.integers(1, 20))
    label = st.lists(st.integers(0, 2), min_size=n, max_size=n)
    weights = st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any)
    return draw(label), draw(label), draw(weights)


@given(pairs(), st.permutations([0, 1, 2]))
def test_it_equals_the_slow_twin_and_scikit_learn(rows, order):
    truth, acts, weights = rows
    table = confusion_matrix(truth, acts, sample_weight=weights, labels=order)
    slow = np.array(oracle.counts(truth, acts, weights, (3, 3)))
    np.testing.assert_array_equal(table.counts, slow[np.ix_(order, order)])
    peer = metrics.confusion_matrix(truth, acts, sample_weight=weights, labels=order)
    np.testing.assert_array_equal(table.counts, peer)
    right = metrics.accuracy_score(truth, acts, sample_weight=weights)
    assert table.accuracy == pytest.approx(right)


@given(pairs())
def test_normalised_shares_add_up_to_one_where_there_are_rows(rows):
    truth, acts, weights = rows
    table = confusion_matrix(truth, acts, sample_weight=weights, labels=[0, 1, 2])
    for over, axis in (("truth", 1), ("act", 0)):
        totals = table.normalised(over).sum(axis=axis)
        np.testing.assert_allclose(totals, table.counts.sum(axis=axis) > 0)
    assert table.normalised("all").sum() == pytest.approx(1.0)


def test_rejected_rows_count_for_coverage_and_recall_but_not_for_accuracy():
    table = confusion_matrix(Y, ACTS, LOSS)
    assert table.counts.tolist() == [[1, 1, 1], [0, 1, 1]]
    assert (table.truths, table.acts, table.reject) == (LOSS.truths, LOSS.acts, "reject")
    assert table.coverage == 3 / 5
    assert table.accuracy == 2 / 3
    assert table.per_label() == {
        "ham": {"recall": 1 / 3, "precision": 1.0},
        "spam": {"recall": 1 / 2, "precision": 1 / 2},
    }


def test_decisions_bring_their_loss():
    choice = decide([[0.95, 0.05], [0.5, 0.5]], LOSS, labels=["ham", "spam"])
    table = confusion_matrix(["ham", "spam"], choice)
    assert table.counts.tolist() == [[1, 0, 0], [0, 0, 1]]


def test_what_is_undefined_is_none():
    table = confusion_matrix(["ham"], ["ham"], labels=["ham", "spam"])
    assert table.per_label()["spam"] == {"recall": None, "precision": None}
    all_rejected = confusion_matrix(["ham"], ["reject"], LOSS)
    assert (all_rejected.accuracy, all_rejected.coverage) == (None, 0.0)
    acts_of_their_own = Loss([[0, 9], [1, 0]], ["ill", "well"], ["treat", "wait"])
    table = confusion_matrix(["ill", "well"], ["treat", "wait"], acts_of_their_own)
    assert (table.accuracy, table.coverage) == (None, 1.0)
    assert table.per_label()["ill"] == {"recall": None, "precision": None}


@pytest.mark.parametrize(
    "kind", [np.array, pd.Series, pl.Series, list], ids=["numpy", "pandas", "polars", "list"]
)
def test_names_seen_in_either_are_sorted(kind):
    table = confusion_matrix(kind(["b", "c"]), kind(["a", "b"]))
    assert table.truths == table.acts == ("a", "b", "c")


def test_names_of_several_types_come_in_the_order_they_are_seen():
    table = confusion_matrix(["b", 1, "b"], ["b", "b", 1])
    assert table.truths == table.acts == ("b", 1)
    np.testing.assert_array_equal(table.counts, [[1, 1], [1, 0]])
