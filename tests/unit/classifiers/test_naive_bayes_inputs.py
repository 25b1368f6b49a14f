"""What ``NaiveBayes`` refuses, and what it says then."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

from credo import NaiveBayes
from credo.exceptions import InputError, ShapeError, SingularWarning

GOOD = [[1.0, "x", 1, 3], [2.0, "y", 0, 1], [4.0, "x", 1, 0], [7.0, None, 0, 2]]
Y = list("aabb")
NAMES = ["age", "town", "ill", "visits"]
FRAME = pd.DataFrame(GOOD, columns=NAMES)
MIXED = {"town": "categorical", "age": "gaussian", "ill": "bernoulli", "visits": "poisson"}
MODEL = NaiveBayes(MIXED).fit(FRAME, Y)


def changed(column, value, row=2):
    frame = FRAME.astype(object)
    frame[column] = [value if i == row else cell for i, cell in enumerate(frame[column])]
    return frame


# --- options ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("families", "message"),
    [
        ("gausian", r"family 'gausian'. Choose one of gaussian"),
        (["gaussian"] * 4, "a mapping from column to family.*Got a list"),
        (None, "does not know the family"),
        (3, "does not know the family 3"),
        (dict, "does not know the family 'dict'"),
        ({"age": "normal"}, "does not know the family 'normal'"),
        ({"aeg": "gaussian"}, r"column 'aeg', which is not there. Known: 'age', 'town'"),
        ({17: "gaussian"}, "column 17, which is not there"),
        ({-1: "gaussian"}, "column -1, which is not there"),
        ({("ill", "vists"): "multinomial"}, "column 'vists', which is not there"),
        ({"age": "gaussian", 0: "laplace"}, "name column 'age' twice"),
        ({"ill": "poisson", ("ill", "visits"): "multinomial"}, "name column 'ill' twice"),
        ({("ill", "ill"): "multinomial"}, "name column 'ill' twice"),
        ({(): "multinomial"}, "famil"),
        (np.array(["gaussian"] * 4), "a mapping from column to family.*Got a list"),
    ],
)
def test_wrong_families_are_refused(families, message):
    with pytest.raises(InputError, match=message) as caught:
        NaiveBayes(families).fit(FRAME, Y)
    assert "NaiveBayes" in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"families": "normal"},
        {"families": {"age": "normal"}},
        {"smoothing": -1},
        {"smoothing_target": "mean"},
        {"unknown": "skip"},
        {"variance_floor": 1.5},
        {"priors": [0.5, 0.6]},
        {"priors": {"a": 0.5, "b": 0.6}},
    ],
    ids=repr,
)
def test_a_stream_refuses_options_that_were_made_invalid_and_stays_as_it_was(options):
    started = NaiveBayes().partial_fit(FRAME, Y).set_params(**options)
    before = started.summary_
    with pytest.raises(InputError, match="NaiveBayes"):
        started.partial_fit(FRAME, Y)
    assert started.summary_ is before


# --- cells -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("age", "old", r"column 'age'.*numbers. Got"),
        ("age", np.inf, "infinity"),
        ("age", -np.inf, "infinity"),
        ("ill", 0.5, r"0 or 1.*Got 0.5"),
        ("ill", 2, r"0 or 1.*Got 2"),
        ("visits", -1, r"0 or more.*Got -1"),
        ("visits", 1.5, r"whole numbers.*Got 1.5"),
        ("visits", np.inf, r"whole numbers.*inf"),
        ("visits", "many", r"column 'visits'.*numbers"),
        ("town", dt.date(2020, 1, 1), "column 'town' holds dates"),
        ("town", {"a": 1}, "column 'town', row 2, holds a dict"),
        ("town", ["a"], "column 'town', row 2, holds a list"),
        ("town", 1j, r"(?i)complex"),
        ("age", 10**400, "no float can hold"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit", "predict", "log_density"])
def test_wrong_cells_are_refused_with_their_column(column, value, message, method):
    rows = changed(column, value)
    model = NaiveBayes(MIXED).fit(FRAME, Y)
    with pytest.raises(InputError, match=message) as caught:
        getattr(model, method)(rows, *([Y] if "fit" in method else []))
    said = str(caught.value)
    assert "NaiveBayes" in said
    assert repr(column) in said


@pytest.mark.parametrize(
    ("family", "value"),
    [
        ("exponential", -1.0),
        ("exponential", np.inf),
        ("gamma", 0.0),
        ("gamma", -2.0),
        ("gamma", np.inf),
        ("beta", 0.0),
        ("beta", 1.5),
        ("laplace", np.inf),
    ],
)
def test_values_outside_of_the_support_are_refused_with_row_and_column(family, value):
    X = pd.DataFrame({"t": list("xyxyxy"), "v": [0.2, 0.5, 0.4, 0.7, 0.9, 0.1]})
    y = [0, 0, 0, 1, 1, 1]
    wrong = X.copy()
    wrong.loc[4, "v"] = value
    with pytest.raises(InputError, match=r"(?s)NaiveBayes.*'v'"):
        NaiveBayes({"v": family}).fit(wrong, y)
    with pytest.raises(InputError, match=r"(?s)NaiveBayes.*row 4.*'v'"):
        NaiveBayes({"v": family}).fit(X, y).predict(wrong)


@pytest.mark.parametrize("bad", [[0.5, -0.1, 0.6], [0.5, 0.2, 0.2], [1.0, 0.0, 0.0]])
def test_vectors_that_are_no_shares_are_refused(bad):
    rng = np.random.default_rng(0)
    X, y = rng.dirichlet([2, 3, 4], 8), np.arange(8) % 2
    wrong = X.copy()
    wrong[5] = bad
    with pytest.raises(InputError, match=r"NaiveBayes.*dirichlet.*sum to 1.*row 5"):
        NaiveBayes("dirichlet").fit(wrong, y)
    with pytest.raises(InputError, match=r"NaiveBayes.*row 5"):
        NaiveBayes("dirichlet").fit(X, y).predict(wrong)


@pytest.mark.parametrize("value", [-1, np.inf])
def test_negative_and_infinite_counts_of_a_group_are_refused_with_their_place(value):
    X = pd.DataFrame({"t": list("xyx"), "m": [1.0, 2, 3], "n": [4.0, 0, 1]})
    wrong = X.copy()
    wrong.loc[1, "n"] = value
    families = {("m", "n"): "multinomial"}
    with pytest.raises(InputError, match="row 1, column 'n'"):
        NaiveBayes(families).fit(wrong, [0, 1, 1])
    with pytest.raises(InputError, match="row 1, column 'n'"):
        NaiveBayes(families).fit(X, [0, 1, 1]).predict(wrong)


def test_infinity_is_named_by_its_own_column_and_row_also_far_down_a_mixed_table():
    n = 9000
    X = pd.DataFrame({"t": ["x", "y"] * (n // 2), "a": np.arange(n) * 1.0, "b": np.arange(n) % 7.0})
    y = np.arange(n) % 2
    model = NaiveBayes().fit(X, y)
    X.loc[8765, "b"] = np.inf
    with pytest.raises(InputError, match=r"NaiveBayes.*row 8765.*'b'"):
        model.predict(X)
    with pytest.raises(InputError, match=r"NaiveBayes.*infinity.*'b'"):
        NaiveBayes().fit(X, y)


# --- impossible rows -------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "posterior"])
def test_impossible_rows_are_refused_with_row_and_column_never_nan(method):
    X = pd.DataFrame({"f": [1, 1, 0, 0], "t": ["x", "y", "x", "y"], "n": [0, 0, 0, 0]})
    families = {"f": "bernoulli", "t": "categorical", "n": "poisson"}
    model = NaiveBayes(families, smoothing=0).fit(X, Y)
    possible = pd.DataFrame({"f": [1], "t": ["x"], "n": [0]})
    assert np.isfinite(model.predict_proba(possible)).all()
    unseen = pd.DataFrame({"f": [1, 1], "t": ["x", "zz"], "n": [0, 0]})
    with pytest.raises(InputError, match=r"row 1 has probability zero.*'t'.*smoothing > 0"):
        getattr(model, method)(unseen)
    counted = pd.DataFrame({"f": [1, 0, 1], "t": ["x", "x", None], "n": [0, 0, 5]})
    with pytest.raises(InputError, match=r"row 2 has probability zero.*'n'"):
        getattr(model, method)(counted)


def test_columns_that_are_impossible_only_together_are_said_to_be():
    rows = [[1, 0], [1, 0], [0, 1], [0, 1]]
    model = NaiveBayes("bernoulli", smoothing=0).fit(rows, Y)
    with pytest.raises(InputError, match="row 1 has probability zero.*together"):
        model.predict_proba([[1, 0], [1, 1]])
    assert model.predict_proba([[1, 0], [0, 1], [1, None]]).tolist() == [[1, 0], [0, 1], [1, 0]]


def test_a_group_that_is_impossible_is_named():
    X = pd.DataFrame({"m": [1, 2, 3, 1], "n": [4, 1, 1, 2], "o": [0, 0, 0, 0]})
    model = NaiveBayes({("m", "n", "o"): "multinomial"}, smoothing=0).fit(X, Y)
    with pytest.raises(InputError, match="row 0 has probability zero.*'o'"):
        model.predict(pd.DataFrame({"m": [1], "n": [1], "o": [1]}))


# --- tables and labels -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "error"),
    [
        ([1.0, 2.0, 3.0, 4.0], ShapeError),
        (np.zeros((4, 2, 2)), ShapeError),
        (np.empty((0, 3)), ShapeError),
        (np.empty((4, 0)), ShapeError),
        (pd.DataFrame({"a": []}), ShapeError),
        ([[1, 2], [3], [4, 5], [6, 7]], ShapeError),
        (5, ShapeError),
        ("text", ShapeError),
        (None, ShapeError),
        (np.array([[1j], [2], [3], [4]]), InputError),
        (np.array([["2020-01-01"]] * 4, dtype="datetime64[D]"), InputError),
        (pd.DataFrame({"d": pd.date_range("2020", periods=4)}), InputError),
        (pl.DataFrame({"d": [[1], [2], [3], [4]]}), InputError),
        (pl.DataFrame({"a": [1.0, 2, 3, 4]}).lazy(), InputError),
        (pd.DataFrame([[1, 2]] * 4, columns=["a", "a"]), InputError),
    ],
)
def test_what_is_no_table_is_refused(X, error):
    with pytest.raises(error, match="NaiveBayes"):
        NaiveBayes().fit(X, Y)


def test_another_number_of_columns_is_refused():
    model = NaiveBayes().fit(GOOD, Y)
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.predict([row[:3] for row in GOOD])
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.partial_fit([[*row, 1] for row in GOOD], Y)


def test_a_family_that_cannot_be_estimated_names_its_columns():
    X = pd.DataFrame({"t": list("xyxy"), "v": [1.0, 1.0, 2.0, 3.0]})
    with pytest.raises(InputError, match=r"NaiveBayes, gamma of 'v'"):
        NaiveBayes({"v": "gamma"}).fit(X, Y)
    holes = pd.DataFrame({"t": list("xyxy"), "v": [None, None, 2.0, 3.0]})
    with pytest.raises(InputError, match=r"NaiveBayes, gamma of 'v'"):
        NaiveBayes({"v": "gamma"}).fit(holes, Y)
    bits = pd.DataFrame({"v": [None, None, 1.0, 0.0]})
    with pytest.raises(InputError, match=r"NaiveBayes, bernoulli of 'v'"):
        NaiveBayes("bernoulli", smoothing=0).fit(bits, Y)


@pytest.mark.parametrize("family", ["gaussian", "laplace"])
def test_a_class_without_values_takes_the_distribution_over_all_classes(family):
    rows = [[None], [None], [2.0], [3.0], [7.0]]
    with pytest.warns(SingularWarning, match=r"unknown in class 'a': 0"):
        model = NaiveBayes(family).fit(rows, list("aabbb"))
    np.testing.assert_allclose(model.predict_proba([[2.5], [40.0]]), [[0.4, 0.6]] * 2)


def test_columns_may_be_named_by_numbers_of_numpy():
    model = NaiveBayes({np.int64(0): "poisson", np.int32(1): "laplace"})
    model.fit([[1, 2.0], [3, 4.0], [2, 1.0], [5, 7.0]], Y)
    assert model.families_ == {0: "poisson", 1: "laplace"}
