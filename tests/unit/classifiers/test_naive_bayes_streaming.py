"""Streams, merges and weights of ``NaiveBayes`` equal one fit."""

import gc
import pickle  # noqa: TID251 - to weigh a model
import warnings
import weakref

import numpy as np
import pandas as pd
import pytest
from tests.oracles import naive_bayes as oracle

from credo import GaussianClassifier, NaiveBayes
from credo.exceptions import InputError, LabelError, NumericalError, SingularWarning

pytestmark = pytest.mark.filterwarnings("ignore::credo.exceptions.SingularWarning")

ROWS, Y = oracle.mixed_rows(90, seed=30, holes=0.15)
WEIGHTS = np.random.default_rng(31).integers(1, 4, 90).astype(float)
NEW, _ = oracle.mixed_rows(20, seed=32, holes=0.2)
NEW[0][3] = "never seen"
SORTED = np.argsort(Y, kind="stable")
#: Ways to cut the rows into batches; sorted rows bring one class after the other.
SPLITS = {
    "halves": np.array_split(np.arange(90), 2),
    "sevenths backwards": np.array_split(np.arange(90)[::-1], 7),
    "class by class": np.array_split(SORTED, 5),
    "row by row": [np.array([i]) for i in range(90)],
}


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


def whole_fit(**options):
    return NaiveBayes(oracle.EVERY_FAMILY, **options).fit(ROWS, Y, WEIGHTS)


# --- streams ---------------------------------------------------------------------------------


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("target", ["uniform", "marginal"])
def test_batches_in_any_order_equal_one_fit(split, target):
    model = NaiveBayes(oracle.EVERY_FAMILY, smoothing_target=target)
    for places in SPLITS[split]:
        model.partial_fit(of(ROWS, places), Y[places], sample_weight=WEIGHTS[places])
    assert_same(model, whole_fit(smoothing_target=target))


def test_a_batch_without_a_class_keeps_the_class():
    model = NaiveBayes().partial_fit([[1.0, "x"], [2.0, "y"], [4.0, "x"], [7.0, "z"]], list("aabb"))
    model.partial_fit([[3.0, "x"], [5.0, "z"]], list("aa"))
    rows = [[1.0, "x"], [2.0, "y"], [4.0, "x"], [7.0, "z"], [3.0, "x"], [5.0, "z"]]
    assert_same(model, NaiveBayes().fit(rows, list("aabbaa")), rows)


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


def test_a_fit_starts_again_and_a_stream_does_not():
    rows, y = [["x", 1.0], ["y", 3.0], ["y", 2.0], ["x", 5.0]], [0, 0, 1, 1]
    model = NaiveBayes().fit(rows, y).partial_fit(rows, y)
    assert_same(model, NaiveBayes().fit(rows * 2, y * 2), rows)
    assert_same(model.fit(rows, y), NaiveBayes().fit(rows, y), rows)


def test_declared_classes_catch_others():
    model = NaiveBayes().partial_fit([[1.0], [2.0]], [0, 1], classes=[0, 1])
    before = model.predict_proba([[1.5]])
    with pytest.raises(LabelError, match="no class 7"):
        model.partial_fit([[1.0]], [7], classes=[0, 1])
    np.testing.assert_array_equal(model.predict_proba([[1.5]]), before)


# --- merges ----------------------------------------------------------------------------------


def test_models_of_parts_merge_to_the_model_of_all_in_any_order():
    parts = [
        NaiveBayes({3: "categorical", 2: "bernoulli"}).fit(
            [row[:4] for row in of(ROWS, p)], Y[p], WEIGHTS[p]
        )
        for p in np.split(SORTED, [40, 65])
    ]
    whole = NaiveBayes().fit([row[:4] for row in ROWS], Y, WEIGHTS)
    new = [row[:4] for row in NEW]
    assert_same(parts[0].merge(parts[1]).merge(parts[2]), whole, new)
    assert_same(parts[2].merge(parts[0].merge(parts[1])), whole, new)


def test_merging_changes_neither_and_keeps_the_options_of_the_first():
    one = NaiveBayes(smoothing=0.5).fit([["x"], ["y"]], ["a", "b"])
    other = NaiveBayes(smoothing=9.0).fit([["z"]], ["c"])
    before = one.log_joint([["x"]]), other.log_joint([["x"]])
    merged = one.merge(other)
    assert merged.smoothing == 0.5
    assert merged.classes_.tolist() == ["a", "b", "c"]
    assert one.classes_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(one.log_joint([["x"]]), before[0])
    np.testing.assert_array_equal(other.log_joint([["x"]]), before[1])
    expected = NaiveBayes(smoothing=0.5).fit([["x"], ["y"], ["z"]], ["a", "b", "c"])
    assert_same(merged, expected, [["x"], ["z"], ["w"]])


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


def test_another_classifier_does_not_merge():
    model = NaiveBayes().fit([[1.0], [2.0], [3.0], [5.0]], [0, 0, 1, 1])
    other = GaussianClassifier().fit([[1.0], [2.0], [3.0], [5.0]], [0, 0, 1, 1])
    with pytest.raises(InputError, match="NaiveBayes.merge"):
        model.merge(other)


# --- weights ---------------------------------------------------------------------------------


def test_a_weight_of_two_is_the_row_twice():
    weights = WEIGHTS.astype(int)
    places = np.repeat(np.arange(90), weights)
    twice = NaiveBayes(oracle.EVERY_FAMILY).fit(of(ROWS, places), Y[places])
    assert_same(whole_fit(), twice)
    twin = oracle.fit(ROWS, Y, oracle.EVERY_FAMILY, weights=WEIGHTS)
    np.testing.assert_allclose(twice.log_joint(NEW), twin.log_joint(NEW), rtol=1e-9, atol=1e-9)


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

GOOD = [[1.0, "x", 1], [2.0, "y", 0], [4.0, "x", 1], [7.0, None, 0]]
BAD = {
    "text for a number": ([["oops", "x", 1]], ["a"]),
    "a half": ([[1.0, "x", 0.5]], ["a"]),
    "a column more": ([[1.0, "x", 1, 2]], ["a"]),
    "infinite": ([[np.inf, "x", 1]], ["a"]),
    "labels of another kind": ([[1.0, "x", 1]], [3]),
    "a label too many": ([[1.0, "x", 1]], ["a", "b"]),
    "a dictionary": ([[1.0, {}, 1]], ["a"]),
}


#: Another table is no fault of a new fit.
ONLY_STREAMS = ("a column more", "labels of another kind")


@pytest.mark.parametrize(
    ("method", "case"),
    [("partial_fit", case) for case in BAD]
    + [("fit", case) for case in BAD if case not in ONLY_STREAMS],
)
def test_a_failed_fit_leaves_the_classifier_as_it_was(method, case):
    families = {0: "gaussian", 1: "categorical", 2: "bernoulli"}
    model = NaiveBayes(families).fit(GOOD, list("aabb"))
    X, y = BAD[case]
    before, joint = dict(vars(model)), model.log_joint(GOOD)
    with pytest.raises(ValueError, match=r"\w"):
        getattr(model, method)(X, y)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(model.log_joint(GOOD), joint)


def test_a_failed_first_fit_leaves_nothing():
    for method in ("fit", "partial_fit"):
        model = NaiveBayes("poisson")
        with pytest.raises(InputError):
            getattr(model, method)([[-1]], [0])
        assert set(vars(model)) == set(vars(NaiveBayes()))


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


def test_the_users_rows_labels_and_weights_are_not_changed():
    X = np.array([row[:1] + row[4:8] for row in oracle.mixed_rows(30, seed=34)[0]])
    X[3, 0] = np.nan
    y, weights = np.arange(30) % 2, np.arange(30) / 7.0
    frame = pd.DataFrame(X, columns=list("abcde"))
    copies = X.copy(), y.copy(), weights.copy(), frame.copy()
    for rows in (X, frame):
        model = NaiveBayes().fit(rows, y, weights).partial_fit(rows, y)
        model.predict(rows), model.log_density(rows), model.posterior(rows)
    np.testing.assert_array_equal(X, copies[0])
    np.testing.assert_array_equal(y, copies[1])
    np.testing.assert_array_equal(weights, copies[2])
    pd.testing.assert_frame_equal(frame, copies[3])


def test_read_only_rows_are_taken():
    X = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, np.nan]])
    X.flags.writeable = False
    assert NaiveBayes().fit(X, [0, 0, 1]).predict(X).shape == (3,)


@pytest.mark.filterwarnings("default::credo.exceptions.SingularWarning")
def test_a_stream_is_told_of_a_floor_once_and_where_it_was_called():
    model = NaiveBayes("gaussian")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", SingularWarning)
        for i in range(5):
            model.partial_fit([[1.0], [float(i)]], ["a", "b"])
    assert [w.filename for w in told] == [__file__]
