"""What ``NaiveBayes`` keeps of its rows, and how columns and labels are named on the way."""

import gc
import pickle  # noqa: TID251 - to weigh a model
import warnings
import weakref

import numpy as np
import pandas as pd
import pytest

from credo import NaiveBayes, TextClassifier
from credo.exceptions import InputError, NumericalError, SingularWarning
from credo.families import Laplace

pytestmark = pytest.mark.filterwarnings("ignore::credo.exceptions.SingularWarning")

FRAME = pd.DataFrame({1: [1.0, 2.0, 3.0, 5.0], 2: [0, 1, 0, 2], 3: list("xyxy")})


def assert_same(one, other, rows):
    assert one.classes_.tolist() == other.classes_.tolist()
    assert one.families_ == other.families_
    assert one.categories_ == other.categories_
    np.testing.assert_allclose(one.log_joint(rows), other.log_joint(rows), rtol=1e-9, atol=1e-9)


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


# --- weights ---------------------------------------------------------------------------------


def test_a_weight_of_zero_is_no_row_not_even_its_class_or_category():
    rows = [["x", 1.0], ["y", 2.0], ["only here", 9.0], ["x", 4.0], ["x", 7.0], ["y", 8.0]]
    y, weights = ["a", "a", "gone", "b", "a", "b"], [1, 1, 0, 1, 0, 2]
    model = NaiveBayes().fit(rows, y, weights)
    kept = [i for i, w in enumerate(weights) if w]
    absent = NaiveBayes().fit(*([each[i] for i in kept] for each in (rows, y, weights)))
    assert_same(model, absent, [*rows, ["new", None]])
    assert model.categories_ == {0: ["x", "y"]}
    assert model.classes_.tolist() == ["a", "b"]


def test_a_row_of_weight_zero_does_not_decide_a_family_nor_break_one():
    rows = [[0, "1"], [1, "2"], [7, "x"], [1, "1"]]
    model = NaiveBayes().fit(rows, [0, 1, 1, 0], [1, 1, 0, 1])
    assert model.families_[0] == "bernoulli"
    NaiveBayes("bernoulli").fit([[0], [1], [0.5]], [0, 1, 1], [1, 1, 0])


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


# --- numbered columns, and labels that are missing ---------------------------------------------


def test_a_number_names_the_column_with_that_label():
    model = NaiveBayes({2: "categorical"}).fit(FRAME, list("aabb"))
    assert model.families_ == {1: "gaussian", 2: "categorical", 3: "categorical"}
    assert model.categories_ == {2: [0, 1, 2], 3: ["x", "y"]}
    assert model.explain({1: 2.0, 2: 1, 3: "x"}).log_odds > 0


def test_numbered_columns_are_sampled_as_a_frame():
    X, _ = NaiveBayes().fit(FRAME, list("aabb")).sample(3, 0)
    assert X.columns.tolist() == [1, 2, 3]
    assert set(X[3]) <= {"x", "y"}


def test_the_labels_of_an_earlier_fit_are_forgotten():
    model = NaiveBayes().fit(FRAME, list("aabb")).fit(FRAME.to_numpy(), list("aabb"))
    assert list(model.families_) == [0, 1, 2]


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA], ids=str)
@pytest.mark.parametrize("classifier", [NaiveBayes(), TextClassifier()], ids=str)
def test_a_missing_label_is_named_by_its_row(classifier, gap):
    X = [["one two"], ["two"]] if isinstance(classifier, NaiveBayes) else ["one two", "two"]
    with pytest.raises(InputError, match="Input y contains NaN or infinity, in row 1"):
        classifier.fit(X, np.array(["a", gap], dtype=object))


def test_classes_of_prior_zero_are_not_compared():
    rows = [[1.0], [2.0], [2.5], [3.0], [4.0], [6.0]]
    model = NaiveBayes().fit(rows, list("aabbcc")).with_priors([1.0, 0.0, 0.0])
    with pytest.raises(InputError, match="priors of 'b' and 'c' are both zero"):
        model.explain([2.0], "b", "c")


def test_the_tables_for_scoring_are_not_part_of_a_copy_on_disk():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (50, 2000)), rng.integers(0, 2, 50)
    model = NaiveBayes("multinomial").fit(X, y)
    size = len(pickle.dumps(model))
    model.predict_proba(X)
    assert len(pickle.dumps(model)) == size


def test_summaries_are_of_the_rows_and_not_of_the_options_and_read_only():
    one = NaiveBayes(smoothing=1).fit(FRAME, list("aabb"))
    other = NaiveBayes(smoothing=7, priors="uniform").fit(FRAME, list("aabb"))
    joined = one.merge(other)
    assert joined.smoothing == 1
    assert joined.summary_.weights.tolist() == [4.0, 4.0]
    with pytest.raises(ValueError, match="read-only"):
        joined.summary_.weights[0] = 100.0


def test_a_laplace_scale_is_raised_where_it_is_below_the_least():
    x = np.array([[1.0, 10.0], [2.0, 10.0], [6.0, 10.0]])
    summary = Laplace.summarise(x)
    np.testing.assert_allclose(Laplace.estimate(summary, [0.1, 0.5]).scale, [5 / 3, 0.5])
    np.testing.assert_allclose(Laplace.estimate(summary, 3.0).scale, [3.0, 3.0])
    np.testing.assert_allclose(Laplace.estimate(summary, 3.0).location, [2.0, 10.0])
    with pytest.raises(InputError, match="equal"):
        Laplace.estimate(summary)
    with pytest.raises(InputError, match="least_scale"):
        Laplace.estimate(summary, np.nan)
