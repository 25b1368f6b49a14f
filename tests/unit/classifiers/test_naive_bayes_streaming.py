"""Streams, merges and weights of ``NaiveBayes`` equal one fit."""

import gc
import pickle  # noqa: TID251 - to weigh a model
import warnings
import weakref

import numpy as np
import pandas as pd
import pytest
from tests.oracles import naive_bayes as oracle

from credo import NaiveBayes
from credo.exceptions import InputError, NumericalError, SingularWarning

pytestmark = pytest.mark.filterwarnings("ignore::credo.exceptions.SingularWarning")

ROWS, Y = oracle.mixed_rows(90, seed=30, holes=0.15)
WEIGHTS = np.random.default_rng(31).integers(1, 4, 90).astype(float)
NEW, _ = oracle.mixed_rows(20, seed=32, holes=0.2)
NEW[0][3] = "never seen"


def of(rows, places):
    return [rows[i] for i in places]


def assert_same(one, other, rows=NEW, tol=1e-9):
    np.testing.assert_array_equal(one.classes_, other.classes_)
    np.testing.assert_allclose(one.priors_, other.priors_, rtol=1e-13)
    np.testing.assert_allclose(one.log_joint(rows), other.log_joint(rows), rtol=tol, atol=tol)
    assert one.families_ == other.families_
    assert one.n_parameters_ == other.n_parameters_
    assert {k: set(v) for k, v in one.categories_.items()} == {
        k: set(v) for k, v in other.categories_.items()
    }
    np.testing.assert_array_equal(one.constant_features_, other.constant_features_)
    np.testing.assert_array_equal(one.variance_floored_, other.variance_floored_)


# --- streams ---------------------------------------------------------------------------------


def test_a_new_class_and_a_new_category_may_come_at_any_time():
    model = NaiveBayes("categorical").partial_fit([["x"], ["y"]], ["b", "b"])
    model.partial_fit([["new"], ["x"]], ["aardvark", "b"])
    rows = [["x"], ["y"], ["new"], ["x"]]
    whole = NaiveBayes("categorical").fit(rows, ["b", "b", "aardvark", "b"])
    assert_same(model, whole, [*rows, ["other"], [None]])
    assert model.classes_.tolist() == ["aardvark", "b"]
    assert model.categories_ == {0: ["x", "y", "new"]}


def test_the_first_batch_decides_what_auto_means():
    model = NaiveBayes().partial_fit([[0], [1]], [0, 1])
    assert model.families_ == {0: "bernoulli"}
    with pytest.raises(InputError, match="0 or 1"):
        model.partial_fit([[2]], [1])
    assert model.partial_fit([[1]], [1]).families_ == {0: "bernoulli"}


def test_until_the_rows_determine_a_model_predicting_says_why():
    model = NaiveBayes("gamma").partial_fit([[1.0], [2.0], [2.5]], list("aaa"))
    assert model.predict([[1.0]]).tolist() == ["a"]
    model.partial_fit([[3.0]], ["b"])
    with pytest.raises(NumericalError, match="gamma of 0"):
        model.predict([[1.0]])
    with pytest.raises(NumericalError, match="gamma of 0"):
        model.explain([1.0])
    learned = ("priors_", "families_", "categories_", "n_parameters_", "variance_floored_")
    assert [name for name in learned if hasattr(model, name)] == []
    model.partial_fit([[5.0], [4.5]], ["b", "b"])
    rows = [[1.0], [2.0], [2.5], [3.0], [5.0], [4.5]]
    assert_same(model, NaiveBayes("gamma").fit(rows, list("aaabbb")), rows)


# --- merges ----------------------------------------------------------------------------------


def test_models_of_other_columns_or_families_do_not_merge():
    one = NaiveBayes().fit(pd.DataFrame({"a": [1.0, 2, 4], "b": [2.0, 5, 7]}), [0, 0, 1])
    turned = NaiveBayes().fit(pd.DataFrame({"b": [1.0, 2, 4], "a": [2.0, 5, 7]}), [0, 0, 1])
    with pytest.raises(InputError, match="same columns, in the same order"):
        one.merge(turned)
    counts = NaiveBayes("poisson").fit(pd.DataFrame({"a": [1, 2, 4], "b": [2, 5, 7]}), [0, 0, 1])
    with pytest.raises(InputError, match=r"gaussian of columns.*poisson of columns"):
        one.merge(counts)
    numbered = NaiveBayes().fit([[1.0, 2.0], [3.0, 4.0]], [0, 1])
    with pytest.raises(InputError, match="same columns"):
        one.merge(numbered)
    named = NaiveBayes().fit([[1.0, 2.0], [3.0, 4.0]], ["x", "y"])
    with pytest.raises(InputError, match="labels are of two kinds"):
        numbered.merge(named)


# --- weights ---------------------------------------------------------------------------------


def test_a_weight_of_zero_is_no_row_not_even_its_class_or_category():
    rows = [["x", 1.0], ["y", 2.0], ["only here", 9.0], ["x", 4.0], ["x", 7.0], ["y", 8.0]]
    y, weights = ["a", "a", "gone", "b", "a", "b"], [1, 1, 0, 1, 0, 2]
    model = NaiveBayes().fit(rows, y, weights)
    kept = [i for i, w in enumerate(weights) if w]
    absent = NaiveBayes().fit(of(rows, kept), of(y, kept), of(weights, kept))
    assert_same(model, absent, [*rows, ["new", None]])
    assert model.categories_ == {0: ["x", "y"]}
    assert model.classes_.tolist() == ["a", "b"]


def test_a_row_of_weight_zero_does_not_decide_a_family_nor_break_one():
    rows = [[0, "1"], [1, "2"], [7, "x"], [1, "1"]]
    model = NaiveBayes().fit(rows, [0, 1, 1, 0], [1, 1, 0, 1])
    assert model.families_[0] == "bernoulli"
    NaiveBayes("bernoulli").fit([[0], [1], [0.5]], [0, 1, 1], [1, 1, 0])


def test_a_class_with_one_row_has_the_floor_and_a_finite_posterior():
    model = NaiveBayes().fit([[1.0, "x"], [2.0, "y"], [7.0, "y"]], ["a", "a", "b"])
    assert model.variance_floored_.tolist() == [[False, False], [True, False]]
    p = model.predict_proba([[7.0, "y"], [1.0, "z"], [1e3, None]])
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)


# --- failures --------------------------------------------------------------------------------


# --- what is kept ----------------------------------------------------------------------------


def test_a_fitted_model_does_not_keep_the_rows():
    rng = np.random.default_rng(33)
    sizes = []
    for n in (2_000, 20_000):
        X = rng.normal(size=(n, 3))
        X[:, 2] = rng.integers(0, 2, n)
        watch = weakref.ref(X)
        model = NaiveBayes().fit(X, rng.integers(0, 2, n))
        model.predict(X)
        del X
        gc.collect()
        assert watch() is None
        sizes.append(len(pickle.dumps(model)))
    assert sizes[1] < sizes[0] + 200


@pytest.mark.filterwarnings("default::credo.exceptions.SingularWarning")
def test_a_stream_is_told_of_a_floor_once_and_where_it_was_called():
    model = NaiveBayes("gaussian")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", SingularWarning)
        for i in range(5):
            model.partial_fit([[1.0], [float(i)]], ["a", "b"])
    assert [w.filename for w in told] == [__file__]
