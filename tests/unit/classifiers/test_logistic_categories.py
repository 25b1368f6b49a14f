"""Columns of words in logistic regression are zeros and ones, wherever the rows come from."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import credo
from credo.classifiers import logistic
from credo.classifiers.logistic import LogisticClassifier
from credo.exceptions import InputError

RNG = np.random.default_rng(61)
N = 600
FRAME = pd.DataFrame(
    {
        "age": RNG.normal(40, 10, N),
        "city": RNG.choice(["Ulm", "Bonn", "Köln"], N),
        "member": RNG.random(N) < 0.4,
        "grade": pd.Categorical(RNG.choice(["b", "c"], N), categories=["a", "c", "b"]),
    }
)
CODED = pd.DataFrame(
    {
        "age": FRAME.age,
        "city=Köln": FRAME.city == "Köln",
        "city=Ulm": FRAME.city == "Ulm",
        "member": FRAME.member,
        "grade=c": FRAME.grade == "c",
    }
).astype(float)
SCORES = 0.05 * FRAME.age + 1.0 * (FRAME.city == "Ulm") - 0.7 * (FRAME.grade == "c")
Y = np.digitize(SCORES + RNG.logistic(size=N), [1.5, 3.0])
WEIGHTS = RNG.integers(0, 3, N).astype(float)
BY_HAND = LogisticClassifier().fit(CODED, Y)
BATCHES = [(FRAME[i : i + 70], Y[i : i + 70]) for i in range(0, N, 70)]
FITS = {
    "pandas": lambda model: model.fit(FRAME, Y),
    "polars": lambda model: model.fit(pl.from_pandas(FRAME.astype({"grade": str})), Y),
    "arrow": lambda model: model.fit(pa.Table.from_pandas(FRAME), Y),
    "batches": lambda model: model.fit_batches(BATCHES),
    "table": lambda model: credo.fit_table(model, FRAME.assign(y=Y)),
}


@pytest.mark.parametrize("fit", FITS)
def test_they_equal_zeros_and_ones_by_hand(fit):
    model = FITS[fit](LogisticClassifier())
    np.testing.assert_allclose(model.coef_, BY_HAND.coef_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(FRAME), BY_HAND.predict_proba(CODED), atol=1e-12)
    assert model.feature_names_in_.tolist() == FRAME.columns.tolist()
    assert model.n_features_in_ == 4
    assert model.coefficient_names_.tolist() == CODED.columns.tolist()
    assert model.categories_["city"] == ("Bonn", "Köln", "Ulm")
    table = model.coefficient_table()
    assert table.features == (*CODED.columns, "intercept")
    np.testing.assert_allclose(table.z, BY_HAND.coefficient_table().z, rtol=1e-9)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_they_equal_zeros_and_ones_by_hand_with_weights_and_a_penalty(penalty):
    model = LogisticClassifier(penalty).fit(FRAME, Y, WEIGHTS)
    other = LogisticClassifier(penalty).fit(CODED, Y, WEIGHTS)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-12, atol=1e-12)
    path = LogisticClassifier(penalty).path(FRAME, Y, [1.0], sample_weight=WEIGHTS)
    np.testing.assert_allclose(path.coefs[0], model.coef_, atol=1e-6)
    assert path.features == tuple(CODED.columns)


def test_rows_too_many_to_keep_as_numbers_are_made_in_each_pass(monkeypatch):
    monkeypatch.setattr(logistic, "_CODED_BYTES", 0)
    model = LogisticClassifier().fit(FRAME, Y)
    np.testing.assert_allclose(model.coef_, BY_HAND.coef_, rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("error")
def test_a_declared_category_without_rows_is_predicted_as_the_base():
    model = LogisticClassifier().fit(FRAME, Y)
    assert model.categories_["grade"] == ("b", "c", "a")
    some, base = (FRAME[:3].assign(grade=[each] * 3) for each in "ab")
    np.testing.assert_array_equal(model.predict_proba(some), model.predict_proba(base))


def test_a_file_keeps_them(tmp_path):
    model = LogisticClassifier().fit(FRAME, Y)
    model.save(tmp_path / "m.credo")
    again = credo.load(tmp_path / "m.credo")
    np.testing.assert_array_equal(again.predict_proba(FRAME), model.predict_proba(FRAME))
    assert again.categories_ == model.categories_
    np.testing.assert_array_equal(again.coefficient_table().z, model.coefficient_table().z)


def test_predictions_take_rows_of_any_kind():
    model = LogisticClassifier().fit(FRAME, Y)
    rows = FRAME[:4].astype({"grade": str}).to_numpy().tolist()
    with pytest.warns(UserWarning, match="feature names"):
        found = model.predict_proba(rows)
    np.testing.assert_array_equal(found, model.predict_proba(FRAME[:4]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"city": ["Ulm", "Rom"]}, "row 1 has 'Rom' in column 'city', .* not seen in fit. Known"),
        ({"city": ["Ulm", None]}, "column 'city' has no value in row 1.*Fill it in, or use"),
        ({"age": [1.0, np.nan]}, r"NaN in column 'age' \(row 1\)"),
        ({"age": ["old", "new"]}, "column 'age' held numbers in fit. Got categories such as 'old'"),
    ],
    ids=str,
)
def test_what_fit_has_not_seen_is_refused_by_row_and_column(change, message):
    model = LogisticClassifier().fit(FRAME, Y)
    with pytest.raises(InputError, match=message):
        model.predict(FRAME[:2].assign(**change))


def test_missing_values_are_refused_in_fit():
    holes = FRAME.assign(city=FRAME.city.where(FRAME.index != 7))
    with pytest.raises(InputError, match=r"column 'city' has no value in row 7.*credo.NaiveBayes"):
        LogisticClassifier().fit(holes, Y)
    with pytest.raises(InputError, match=r"NaN in column 'age' \(row 7\)"):
        LogisticClassifier().fit(FRAME.assign(age=FRAME.age.where(FRAME.index != 7)), Y)


def test_identifiers_are_refused():
    names = pd.DataFrame({"who": [f"n{i}" for i in range(10_001)]})
    with pytest.raises(InputError, match="'who' has more than 10000 categories.*an identifier"):
        LogisticClassifier().fit(names, np.arange(10_001) % 2)
    halves = [(names[:5001], np.arange(5001) % 2), (names[5001:], np.arange(5000) % 2)]
    with pytest.raises(InputError, match="'who' has more than 10000 categories"):
        LogisticClassifier().fit_batches(halves)


def test_columns_that_change_their_kind_between_batches_are_refused():
    other = FRAME[70:].assign(city=1.5)
    with pytest.raises(InputError, match="'city' holds categories in some batches and numbers in"):
        LogisticClassifier().fit_batches([(FRAME[:70], Y[:70]), (other, Y[70:])])


@pytest.mark.parametrize("make", [np.asarray, lambda frame: frame.to_numpy().tolist()])
def test_text_in_an_array_or_a_list_is_coded_as_in_a_frame(make):
    rows, expected = FRAME[["age", "city"]], LogisticClassifier().fit(FRAME[["age", "city"]], Y)
    found = LogisticClassifier().fit(make(rows), Y)
    assert found.coefficient_names_.tolist() == [
        name if name == 0 else name.replace("city", "1")
        for name in (0, *expected.coefficient_names_.tolist()[1:])
    ]
    np.testing.assert_allclose(found.predict_proba(make(rows)), expected.predict_proba(rows))
