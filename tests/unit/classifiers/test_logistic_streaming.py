"""Batches, and columns of words, which are zeros and ones wherever the rows come from."""

import functools
import pickle  # noqa: TID251 - clusters send functions by it
import warnings
import weakref
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from tests.oracles import logistic as oracle

import credo
from credo.classifiers import logistic
from credo.classifiers.logistic import LogisticClassifier
from credo.exceptions import InputError, LabelError, SeparationWarning
from credo.families.moments import Rows

X, CODES = oracle.rows_of(21, n=150)
NAMES = np.array(["ant", "bee", "cat"])
Y = NAMES[CODES]
WEIGHTS = np.random.default_rng(22).uniform(0.2, 3.0, len(Y))
SORTED = np.argsort(CODES, kind="stable")
SPLITS = {
    "halves": np.array_split(np.arange(len(Y)), 2),
    "sevenths backwards": np.array_split(np.arange(len(Y))[::-1], 7),
    "class by class": np.array_split(SORTED, 5),
    "twenty rows one by one": [*np.arange(20)[:, None], np.arange(20, len(Y))],
}


def assert_same(one, other):
    np.testing.assert_array_equal(one.classes_, other.classes_)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-8)
    assert one.log_likelihood_ == pytest.approx(other.log_likelihood_, rel=1e-12)
    assert one.null_log_likelihood_ == pytest.approx(other.null_log_likelihood_)


@pytest.mark.parametrize("penalty", [None, "l2", "l1"])
@pytest.mark.parametrize("split", SPLITS)
def test_batches_in_any_split_equal_one_fit(split, penalty):
    batches = [(X[rows], Y[rows], WEIGHTS[rows]) for rows in SPLITS[split]]
    model = LogisticClassifier(penalty).fit_batches(lambda: iter(batches))
    assert_same(model, LogisticClassifier(penalty).fit(X, Y, WEIGHTS))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_many_coefficients_of_two_classes_are_streamed_with_weights(kind):
    rng = np.random.default_rng(26)
    wide = rng.normal(size=(300, 1100)) * (rng.random((300, 1100)) < 0.1)
    y, weights = rng.integers(0, 2, 300), rng.uniform(0.5, 2.0, 300)
    parts = [slice(i, i + 90) for i in range(0, 300, 90)]
    model = LogisticClassifier("l2", fit_intercept=False)
    model.fit_batches([(kind(wide[part]), y[part], weights[part]) for part in parts])
    slope = oracle.gradient(wide, y, model.coef_, model.intercept_, weights)[:, :-1]
    assert np.abs(slope + model.coef_).max() < 1e-4
    assert model.converged_


def test_a_long_stream_starts_from_a_sample():
    rng = np.random.default_rng(24)
    rows = rng.normal(size=(80_000, 2))
    y = (rows @ [1.0, -2.0] + rng.logistic(size=80_000) > 0.5).astype(int)
    weights = rng.integers(1, 3, 80_000)
    batches = [
        (rows[i : i + 999], y[i : i + 999], weights[i : i + 999]) for i in range(0, 80_000, 999)
    ]
    model = LogisticClassifier().fit_batches(batches)
    whole = LogisticClassifier().fit(rows, y, weights)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-10)


def test_a_batch_is_let_go_before_the_one_after_the_next():
    alive = []

    def batches():
        for rows in SPLITS["sevenths backwards"]:
            assert sum(reference() is not None for reference in alive) <= 1
            part = X[rows].copy()
            alive.append(weakref.ref(part))
            yield part, Y[rows]
            del part

    LogisticClassifier().fit_batches(batches)
    assert len(alive) > 20


def test_batches_without_rows_or_weight_are_no_matter():
    nothing = (X[:0], Y[:0])
    no_weight = (X[:9], Y[:9], np.zeros(9))
    batches = [nothing, (X[:70], Y[:70]), no_weight, (X[70:], Y[70:]), nothing]
    assert_same(LogisticClassifier().fit_batches(batches), LogisticClassifier().fit(X, Y))


class Elsewhere:
    """Rows behind a wall that only pickles pass, as on a cluster."""

    in_memory = False

    def __init__(self, parts):
        self.parts = parts

    def reduce(self, function, merge):
        function, merge = _sent((function, merge))
        return functools.reduce(merge, [_sent(function(part)) for part in self.parts])


def _sent(thing):
    return pickle.loads(pickle.dumps(thing))  # noqa: S301 - its own


@pytest.mark.parametrize("case", ["plain", "l2", "l1", "many", "separated", "far"])
def test_questions_and_answers_travel(case):
    rng = np.random.default_rng(27)
    rows, y, penalty = X, CODES, case if case in ("l1", "l2") else None
    if case == "many":
        rows, penalty = rng.normal(size=(150, 1100)), "l2"
    if case == "separated":
        rows = np.column_stack([X, np.where(CODES == 2, 1.0, 0.0)])
    if case == "far":
        rows = X + 1e6 * X.std(axis=0)
    parts = [
        (Rows(rows[part], np.unique(y[part], return_inverse=True)[1], None, 0), np.unique(y[part]))
        for part in SPLITS["sevenths backwards"]
    ]
    names = [f"x{j}" for j in range(rows.shape[1])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        there = LogisticClassifier(penalty)._fit_passes(Elsewhere(parts), names)
        here = LogisticClassifier(penalty).fit(rows, y)
    assert (there.separation_ is None) == (case != "separated")
    scale = rows.std(axis=0)
    np.testing.assert_allclose(there.coef_ * scale, here.coef_ * scale, atol=1e-6)
    assert there.feature_names_in_.tolist() == names


def used_up():
    batches = iter([(X, Y)])
    return lambda: batches


def changing():
    rng = np.random.default_rng(25)
    return lambda: [(X + rng.normal(size=X.shape), Y)]


HOLES = np.where((np.arange(150)[:, None] == 60) & (np.arange(3) == 1), np.nan, X)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            ((X[i : i + 50], Y[i : i + 50]) for i in (0, 50)),
            "Got generator, which can be read only",
        ),
        (used_up(), "gave 150 rows, a later one 0. Every pass"),
        (changing(), "a later one 150 with other values"),
        ([], "got no rows"),
        ([X], r"needs batches \(X, y\) or \(X, y, weights\)"),
        ([(X[:50], Y[:50]), (sp.csr_array(X[50:]), Y[50:])], "all dense or all sparse"),
        ([(X[:50], Y[:50]), (X[50:, :2], Y[50:])], "features"),
        ([(X[:50], Y[:50]), (HOLES[50:], Y[50:])], r"NaN in column 1 \(row 10\)"),
        ([(X, Y), (X, CODES)], "of two kinds"),
        ([(X, np.array([1, "b"], dtype=object)[CODES // 2])], "of one kind"),
        ([(X, Y, [0.0]), (X, Y)], "one weight per row, 150"),
        ([(X, X[:, 0])], "continuous"),
    ],
    ids=range(12),
)
def test_wrong_batches_are_refused_and_the_model_stays_as_it_was(source, message):
    model = LogisticClassifier().fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit_batches(source)
    assert vars(model) == before


def test_announced_classes_must_be_those_that_come():
    LogisticClassifier().fit_batches([(X, Y)], classes=["ant", "bee", "cat"])
    with pytest.raises(LabelError, match="no class 'cat'"):
        LogisticClassifier().fit_batches([(X, Y)], classes=["ant", "bee"])
    with pytest.raises(InputError, match="no row has the class 'dog'"):
        LogisticClassifier().fit_batches([(X, Y)], classes=["ant", "bee", "cat", "dog"])


def test_batches_may_be_shuffled_between_passes_even_if_columns_sum_to_zero():
    rows, rng = X - X.mean(axis=0), np.random.default_rng(3)

    def shuffled():
        order = rng.permutation(150)
        yield rows[order], Y[order]

    model = LogisticClassifier().fit_batches(shuffled)
    np.testing.assert_allclose(model.coef_, LogisticClassifier().fit(rows, Y).coef_, rtol=1e-9)


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
GRADES = np.digitize(SCORES + RNG.logistic(size=N), [1.5, 3.0])
WHOLE = RNG.integers(0, 3, N).astype(float)
BY_HAND = LogisticClassifier().fit(CODED, GRADES)
BATCHES = [(FRAME[i : i + 70], GRADES[i : i + 70]) for i in range(0, N, 70)]
FITS = {
    "pandas": lambda model: model.fit(FRAME, GRADES),
    "polars": lambda model: model.fit(pl.from_pandas(FRAME.astype({"grade": str})), GRADES),
    "arrow": lambda model: model.fit(pa.Table.from_pandas(FRAME), GRADES),
    "batches": lambda model: model.fit_batches(BATCHES),
    "table": lambda model: credo.fit_table(model, FRAME.assign(y=GRADES)),
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
    model = LogisticClassifier(penalty).fit(FRAME, GRADES, WHOLE)
    other = LogisticClassifier(penalty).fit(CODED, GRADES, WHOLE)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-12, atol=1e-12)
    path = LogisticClassifier(penalty).path(FRAME, GRADES, [1.0], sample_weight=WHOLE)
    np.testing.assert_allclose(path.coefs[0], model.coef_, atol=1e-6)
    assert path.features == tuple(CODED.columns)


def test_rows_too_many_to_keep_as_numbers_are_made_in_each_pass(monkeypatch):
    monkeypatch.setattr(logistic, "_CODED_BYTES", 0)
    model = LogisticClassifier().fit(FRAME, GRADES)
    np.testing.assert_allclose(model.coef_, BY_HAND.coef_, rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("error")
def test_a_boolean_and_the_number_equal_to_it_have_coefficients_of_their_own(tmp_path):
    """With one column of categories the maximum gives each category the shares of its rows."""
    cells = [1, True, "a", 1.0, True, "a", 1, "a", 1.0, True, True, "a"]
    model = LogisticClassifier().fit([[cell] for cell in cells], list("ppqqpqpqqpqp"))
    model.save(tmp_path / "model.credo")
    for each in (model, credo.load(tmp_path / "model.credo")):
        found = each.predict_proba([[1], [True], ["a"]])[:, 0]
        np.testing.assert_allclose(found, [2 / 4, 3 / 4, 1 / 4], rtol=1e-6)


def test_a_declared_category_without_rows_is_predicted_as_the_base():
    model = LogisticClassifier().fit(FRAME, GRADES)
    assert model.categories_["grade"] == ("b", "c", "a")
    some, base = (FRAME[:3].assign(grade=[each] * 3) for each in "ab")
    np.testing.assert_array_equal(model.predict_proba(some), model.predict_proba(base))


def test_predictions_take_rows_of_any_kind():
    model = LogisticClassifier().fit(FRAME, GRADES)
    rows = FRAME[:4].astype({"grade": str}).to_numpy().tolist()
    with pytest.warns(UserWarning, match="feature names"):
        found = model.predict_proba(rows)
    np.testing.assert_array_equal(found, model.predict_proba(FRAME[:4]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"city": ["Ulm", None]}, "'city' has no value in row 1.*missing_cells='indicator', fill"),
        ({"age": [1.0, np.nan]}, r"NaN in column 'age' \(row 1\)"),
        ({"age": ["old", "new"]}, "column 'age' held numbers in fit. Got categories such as 'old'"),
    ],
    ids=str,
)
def test_cells_of_no_use_are_refused_by_row_and_column(change, message):
    model = LogisticClassifier().fit(FRAME, GRADES)
    with pytest.raises(InputError, match=message):
        model.predict(FRAME[:2].assign(**change))


def test_missing_values_are_refused_in_fit():
    holes = FRAME.assign(city=FRAME.city.where(FRAME.index != 7))
    with pytest.raises(InputError, match=r"column 'city' has no value in row 7.*credo.NaiveBayes"):
        LogisticClassifier().fit(holes, GRADES)
    with pytest.raises(InputError, match=r"NaN in column 'age' \(row 7\)"):
        LogisticClassifier().fit(FRAME.assign(age=FRAME.age.where(FRAME.index != 7)), GRADES)


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
        LogisticClassifier().fit_batches([(FRAME[:70], GRADES[:70]), (other, GRADES[70:])])


@pytest.mark.parametrize("make", [np.asarray, lambda frame: frame.to_numpy().tolist()])
def test_text_in_an_array_or_a_list_is_coded_as_in_a_frame(make):
    rows, expected = (
        FRAME[["age", "city"]],
        LogisticClassifier().fit(FRAME[["age", "city"]], GRADES),
    )
    found = LogisticClassifier().fit(make(rows), GRADES)
    assert found.coefficient_names_.tolist() == [
        name if name == 0 else name.replace("city", "1")
        for name in (0, *expected.coefficient_names_.tolist()[1:])
    ]
    np.testing.assert_allclose(found.predict_proba(make(rows)), expected.predict_proba(rows))


# --- missing cells, and categories that fit has not seen ------------------------------------------

HOLES = FRAME.assign(
    age=FRAME.age.where(RNG.random(N) > 0.2),
    city=FRAME.city.where(RNG.random(N) > 0.1, None),
    member=FRAME.member.astype(object).where(RNG.random(N) > 0.3, None),
)[["age", "city", "member"]]
CELLS = [
    [None if cell is None or cell != cell else cell for cell in row]  # noqa: PLR0124 - NaN alone is
    for row in HOLES.to_numpy().tolist()
]
FILLED = ["age", "city=Köln", "city=Ulm", "member"]
FILLED += ["age is missing", "city is missing", "member is missing"]
HOLE_BATCHES = [(HOLES[i : i + 70], GRADES[i : i + 70]) for i in range(0, N, 70)]
HOLE_FITS = {
    "pandas": lambda model: model.fit(HOLES, GRADES),
    "polars": lambda model: model.fit(pl.from_pandas(HOLES), GRADES),
    "arrow": lambda model: model.fit(pa.Table.from_pandas(HOLES), GRADES),
    "list": lambda model: model.fit(CELLS, GRADES),
    "batches": lambda model: model.fit_batches(HOLE_BATCHES),
    "table": lambda model: credo.fit_table(model, HOLES.assign(y=GRADES)),
}


@pytest.mark.filterwarnings("ignore:X (does not|has feature names)")
@pytest.mark.parametrize("penalty", [None, "l2", "elasticnet"])
@pytest.mark.parametrize("fit", HOLE_FITS)
def test_missing_cells_are_means_and_indicators_by_hand(fit, penalty, tmp_path):
    coded = oracle.coded(CELLS, CELLS)
    by_hand = LogisticClassifier(penalty).fit(coded, GRADES)
    model = HOLE_FITS[fit](LogisticClassifier(penalty, missing_cells="indicator"))
    np.testing.assert_allclose(model.coef_, by_hand.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.predict_proba(HOLES), by_hand.predict_proba(coded), atol=1e-8)
    if fit != "list":
        assert model.coefficient_names_.tolist() == FILLED
    if penalty is None:
        found, expected = model.coefficient_table(), by_hand.coefficient_table()
        np.testing.assert_allclose(found.standard_error, expected.standard_error, rtol=1e-6)
    model.save(tmp_path / "m.credo")
    loaded = credo.load(tmp_path / "m.credo")
    np.testing.assert_array_equal(loaded.predict_proba(HOLES), model.predict_proba(HOLES))
    if fit == "table":
        scored = credo.predict_table(loaded, HOLES)
        np.testing.assert_allclose(scored["p_2"], by_hand.predict_proba(coded)[:, 2], atol=1e-8)


@pytest.mark.parametrize("make", [np.asarray, np.ma.masked_invalid, np.float32])
def test_missing_numbers_of_an_array_are_means_and_indicators(make):
    holes = np.where(RNG.random(X.shape) < [0.2, 0.0, 0.1], np.nan, X)
    rows = [[None if np.isnan(cell) else cell for cell in row] for row in holes.tolist()]
    coded = oracle.coded(rows, rows)
    model = LogisticClassifier("l2", missing_cells="indicator").fit(make(holes), Y)
    by_hand = LogisticClassifier("l2").fit(coded, Y)
    exact = 1e-8 if make is not np.float32 else 1e-4
    np.testing.assert_allclose(model.coef_, by_hand.coef_, rtol=100 * exact, atol=exact)
    assert model.coefficient_names_.tolist() == [0, 1, 2, "0 is missing", "2 is missing"]
    found = model.predict_proba(make(holes))
    np.testing.assert_allclose(found, by_hand.predict_proba(coded), atol=exact)


def test_missing_cells_with_weights_count_as_repeated_rows():
    whole = WHOLE[:N].astype(int)
    model = LogisticClassifier("l2", missing_cells="indicator").fit(HOLES, GRADES, whole)
    some = np.repeat(np.arange(N), whole)
    again = LogisticClassifier("l2", missing_cells="indicator").fit(HOLES.iloc[some], GRADES[some])
    np.testing.assert_allclose(model.coef_, again.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.predict_proba(HOLES), again.predict_proba(HOLES), atol=1e-8)


def test_rows_with_missing_cells_too_many_to_keep_are_made_in_each_pass(monkeypatch):
    expected = LogisticClassifier("l2", missing_cells="indicator").fit(HOLES, GRADES)
    monkeypatch.setattr(logistic, "_CODED_BYTES", 0)
    model = LogisticClassifier("l2", missing_cells="indicator").fit(HOLES, GRADES)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9, atol=1e-12)


def test_welcoming_missing_cells_changes_nothing_where_there_are_none():
    model = LogisticClassifier(missing_cells="indicator").fit(FRAME, GRADES)
    np.testing.assert_allclose(model.coef_, BY_HAND.coef_, rtol=1e-12, atol=1e-12)
    assert model.coefficient_names_.tolist() == CODED.columns.tolist()


def test_what_was_never_missing_in_fit_counts_as_its_mean_and_is_told():
    model = LogisticClassifier(missing_cells="indicator").fit(FRAME[["age", "city"]], GRADES)
    seen = FRAME[["age", "city"]].to_numpy().tolist()
    rows = [[None, "Ulm"], [50.0, None], [None, None]]
    holes = pd.DataFrame(rows, columns=["age", "city"]).astype({"age": float})
    with pytest.warns(credo.exceptions.CredoWarning, match="has missing cells, which fit") as told:
        found = model.predict_proba(holes)
    assert sorted(str(each.message).split("'")[1] for each in told) == ["age", "city"]
    coded = oracle.coded(rows, seen)
    expected = LogisticClassifier().fit(oracle.coded(seen, seen), GRADES).predict_proba(coded)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_column_without_any_value_is_refused():
    nothing = pa.array([None] * N, type=pa.string())
    for empty in (HOLES.assign(age=np.nan), pa.table({"city": FRAME.city, "age": nothing})):
        with pytest.raises(InputError, match="column 'age' has no value in any row. Leave it out"):
            LogisticClassifier(missing_cells="indicator").fit(empty, GRADES)
    holes = sp.csr_array(np.where(X > 1, np.nan, X))
    with pytest.raises(InputError, match="NaN in column 1.*'indicator' with dense rows"):
        LogisticClassifier(missing_cells="indicator").fit(holes, Y)


@pytest.mark.parametrize("missing_cells", ["error", "indicator"])
def test_a_category_that_fit_has_not_seen_has_the_mean_effect_of_its_column(missing_cells):
    source, seen = (HOLES, CELLS) if missing_cells == "indicator" else (FRAME, None)
    source = source[["age", "city"]]
    seen = source.to_numpy().tolist() if seen is None else [row[:2] for row in seen]
    rows = [[40.0, "Rom"], [30.0, "Ulm"], [20.0, "Paris"]]
    model = credo.fit_table(
        LogisticClassifier("l2", missing_cells=missing_cells), source.assign(y=GRADES)
    )
    new = pd.DataFrame(rows, columns=["age", "city"])
    by_hand = LogisticClassifier("l2").fit(oracle.coded(seen, seen), GRADES)
    expected = by_hand.predict_proba(oracle.coded(rows, seen))
    with pytest.warns(credo.exceptions.CredoWarning, match="column 'city' has 'Rom'") as told:
        found = model.predict_proba(new)
    assert len(told) == 1
    again, scored = model.predict_proba(new[::-1]), credo.predict_table(model, new)  # told already
    np.testing.assert_allclose(found, expected, atol=1e-8)
    np.testing.assert_array_equal(again, found[::-1])
    np.testing.assert_allclose(scored["p_1"], expected[:, 1], atol=1e-8)
    model.fit(source, GRADES)
    with pytest.warns(credo.exceptions.CredoWarning, match="'Paris'"):
        model.predict(new[2:])


def test_a_model_from_before_refuses_what_fit_has_not_seen():
    model = LogisticClassifier("l2").fit(FRAME, GRADES)
    model._fitted = replace(model._fitted, means=None)
    with pytest.raises(InputError, match="row 1 has 'Rom' in column 'city', .* not seen in fit. K"):
        model.predict(FRAME[:2].assign(city=["Ulm", "Rom"]))
