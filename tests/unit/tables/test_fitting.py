"""``fit_table``, ``update_table`` and ``merge_models``: what ``fit`` gives, and clear refusals."""

import datetime as dt
import decimal
import fractions
from warnings import catch_warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

import credo
from credo import (
    DecisionClassifier,
    GaussianClassifier,
    GaussianRegressor,
    LogisticClassifier,
    Loss,
    NaiveBayes,
    TextClassifier,
    fit_table,
    predict_table,
)
from credo.exceptions import (
    InputError,
    LabelError,
    NumericalError,
    SingularWarning,
    TableWarning,
)
from credo.tables import ColumnSpec, TableSchema, csv_files, evaluate_table
from credo.tables.fit import merge_models
from credo.tables.pieces import BATCH_ROWS

N = BATCH_ROWS + 5_000  # more than one batch
NUMBERS = ["age", "visits"]
MIXED = ["age", "visits", "city", "member"]


def coded(codes, words):
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(words, pa.string()))


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.normal(40, 9, N),
            "visits": rng.integers(0, 30, N),
            "city": rng.choice(["Bonn", "Köln", "Ulm"], N, p=[0.5, 0.3, 0.2]),
            "member": rng.random(N) < 0.3,
            "weight": rng.integers(0, 3, N),
        }
    )
    score = 0.1 * (table.age - 40) + (table.city == "Ulm") + rng.normal(size=N)
    return table.assign(left=np.where(score > 0.7, "yes", "no"))


def test_columns_are_left_out_when_learning_and_need_not_be_there_later(frame):
    some = frame[:200].assign(id=np.arange(200))
    found = credo.fit_table(NaiveBayes(), some, "left", drop=["id", "weight"])
    expected = NaiveBayes().fit(some[MIXED], some.left)
    assert found.schema_.names == tuple(MIXED)
    for later in (some, some[MIXED]):
        scored = predict_table(found, later)
        np.testing.assert_allclose(scored["p_yes"], expected.predict_proba(some[MIXED])[:, 1])


def with_marks(frame, first):
    """Some rows with marks in a column of numbers from a row on, and with nothing there."""
    some = frame[:600][["age", "city", "left"]].reset_index(drop=True)
    gone = (some.index >= first) & (some.index % 7 == 0)
    return some.assign(age=some.age.astype(object).where(~gone, "?")), some.assign(
        age=some.age.where(~gone)
    )


@pytest.mark.filterwarnings("ignore:evaluate_table. these are the rows")
@pytest.mark.parametrize("first", [0, 500], ids=["at once", "late"])
@pytest.mark.parametrize("cut", [600, 300], ids=["one file", "two files"])
def test_marks_among_numbers_are_missing_to_all_that_read_tables(
    frame, tmp_path, monkeypatch, first, cut
):
    monkeypatch.setattr(csv_files, "BLOCK", 4096)
    marked, known = with_marks(frame, first)
    paths = [tmp_path / f"{i}.csv" for i in range(-(-600 // cut))]
    for i, path in enumerate(paths):
        marked[cut * i : cut * (i + 1)].to_csv(path, index=False)
    expected = fit_table(NaiveBayes(), known, "left")
    with pytest.warns(TableWarning, match=r"column 'age' has '\?' .*: taken as missing"):
        found = fit_table(NaiveBayes(), paths, "left")
    assert found.schema_ == expected.schema_
    np.testing.assert_allclose(found._terms[0].model.means, expected._terms[0].model.means)
    with pytest.warns(TableWarning, match="taken as missing"):
        scored = predict_table(found, paths)
    np.testing.assert_allclose(scored["p_yes"], predict_table(expected, known)["p_yes"])
    with pytest.warns(TableWarning, match="taken as missing"):
        measured = evaluate_table(found, paths[-1])
    assert measured.columns[0].n_missing == known.age[600 - cut :].isna().sum()
    with pytest.warns(TableWarning, match="taken as missing"):
        more = credo.update_table(fit_table(NaiveBayes(), known, "left"), paths)
    assert more.summary_.weights.sum() == 1200


@pytest.mark.parametrize("read", ["fit", "partial_fit", "fit_table"])
def test_marks_beside_numbers_in_a_frame_are_missing(frame, read):
    marked, known = with_marks(frame, 0)
    expected = NaiveBayes().fit(known[["age"]], known.left)
    ways = {
        "fit": lambda: NaiveBayes().fit(marked[["age"]], marked.left),
        "partial_fit": lambda: NaiveBayes().partial_fit(marked[["age"]], marked.left),
        "fit_table": lambda: fit_table(NaiveBayes(), marked, "left", ["age"]),
    }
    with pytest.warns(TableWarning, match=r"column 'age' has '\?' 86 times among its numbers"):
        found = ways[read]()
    np.testing.assert_allclose(
        found.predict_proba(known[["age"]]), expected.predict_proba(known[["age"]])
    )


def test_a_mark_among_words_is_a_category_and_asked_about(frame, tmp_path):
    some = frame[:300][["age", "city", "left"]].assign(code=[*"12?"] * 100, odd="x")
    some.loc[some.index % 5 == 0, "city"] = "?"
    some.to_csv(tmp_path / "t.csv", index=False)
    told = (
        r"NaiveBayes: column 'city' has '\?' 60 times; column 'code' has '\?' 100 times among "
        r"texts of numbers, taken as a category. If it means missing, {}$"
    )
    with pytest.warns(TableWarning, match=told.format(r"pass missing=\['\?'\]\.")):
        found = fit_table(NaiveBayes(), some, "left")  # in a text file, code would be numbers
    assert "?" in found.categories_["city"]
    with pytest.warns(TableWarning, match=told.format("put None in its place, .*")):
        NaiveBayes().fit(some[["age", "city", "code"]], some.left)
    with pytest.warns(TableWarning, match=r"LogisticClassifier: column 'city' has '\?', taken as"):
        fit_table(LogisticClassifier("l2"), tmp_path / "t.csv", "left", ["age", "city"])
    named = fit_table(NaiveBayes(), some, "left", missing=["?"])
    assert "?" not in named.categories_["city"]
    predict_table(found, some)  # where nobody is asked again


@pytest.mark.parametrize("model", [NaiveBayes(), LogisticClassifier("l2")], ids=["nb", "logistic"])
def test_words_that_hardly_repeat_are_asked_about(frame, model):
    some = frame[["city", "left"]].dropna()[:60]
    named = some.assign(id=[f"K{i}" for i in range(60)], day=[f"{i // 2}." for i in range(60)])
    told = (
        r"fit_table: column 'id' has 60 different words in 60 rows, such as 'K0'\. .*drop=\['id'\]"
    )
    with pytest.warns(TableWarning, match=told):
        fit_table(model, named, "left")
    fit_table(model, named, "left", drop=["id"])  # half as many words as rows: no question
    fit_table(model, named[:29], "left")  # nor are a few rows


def test_gaussians_learn_what_fit_learns_and_know_their_columns(frame):
    found = credo.fit_table(credo.GaussianClassifier(), frame, "left", NUMBERS, "weight")
    expected = credo.GaussianClassifier().fit(frame[NUMBERS], frame.left, frame.weight)
    np.testing.assert_allclose(found.means_, expected.means_, rtol=1e-12)
    np.testing.assert_allclose(found.covariances_, expected.covariances_, rtol=1e-9, atol=1e-12)
    columns = tuple(ColumnSpec(name, "number") for name in NUMBERS)
    assert found.schema_ == TableSchema("left", "text", columns, "weight")
    assert found.feature_names_in_.tolist() == NUMBERS


def test_naive_bayes_learns_what_fit_learns(frame):
    found = credo.fit_table(credo.NaiveBayes(), frame, "left", MIXED, "weight")
    expected = credo.NaiveBayes().fit(frame[MIXED], frame.left, sample_weight=frame.weight)
    assert found.families_ == expected.families_
    np.testing.assert_allclose(
        found.predict_log_proba(frame[MIXED]), expected.predict_log_proba(frame[MIXED]), atol=1e-9
    )
    assert type(found.sample(2, 0)[0]) is pa.Table  # rows as they came


def test_a_missing_value_is_named_where_correlations_would_need_it(frame):
    holes = frame.assign(age=frame.age.where(np.arange(N) != BATCH_ROWS + 6))
    with pytest.raises(InputError, match=f"column 'age' has no value in row {BATCH_ROWS + 7}.*EM"):
        credo.fit_table(credo.GaussianClassifier(), holes, "left", ["age"])


def test_booleans_that_are_declared_categories_are_categories_in_tables_too(frame):
    rows = frame[["age", "left"]].assign(late=pd.Categorical(frame.visits > 3))
    for model in (credo.NaiveBayes(), credo.LogisticClassifier()):
        found = credo.fit_table(clone(model), rows, "left")
        expected = clone(model).fit(rows[["age", "late"]], rows.left)
        new = rows[["age", "late"]].head(50)
        np.testing.assert_allclose(
            found.predict_proba(new), expected.predict_proba(new), rtol=1e-12
        )
    labels = credo.fit_table(credo.GaussianClassifier(), rows[["age", "late"]], "late").classes_
    assert labels.tolist() == [False, True]
    assert labels.dtype == bool


def test_columns_of_text_are_counted_together_batch_by_batch():
    words = ["alpha beta", "beta gamma", "gamma gamma delta", "alpha alpha"]
    table = pa.table({"text": words * 500, "label": [1, 1, 2, 2] * 500})
    table = pa.Table.from_batches(table.to_batches(max_chunksize=300))
    found = credo.fit_table(credo.TextClassifier(), table, "label")
    assert found.schema_.features == (ColumnSpec("text", "text"),)
    once = credo.TextClassifier().fit(words, [1, 1, 2, 2])
    np.testing.assert_allclose(found.summary_.counts, 500 * once.summary_.counts)
    weighted = credo.TextClassifier().fit(words, [1, 1, 2, 2], sample_weight=np.full(4, 500.0))
    np.testing.assert_allclose(
        found.predict_log_proba(words), weighted.predict_log_proba(words), rtol=1e-9
    )
    twice = table.append_column("more", table["text"])
    model = credo.TextClassifier("multinomial")
    both = credo.fit_table(model, twice, "label").summary_.counts
    once = clone(model).fit(words, [1, 1, 2, 2]).summary_.counts
    np.testing.assert_allclose(both, 1000 * once)


def test_a_policy_keeps_its_loss_and_the_schema(frame):
    loss = credo.Loss.zero_one(["no", "yes"]).with_reject(0.2)
    policy = credo.DecisionClassifier(credo.NaiveBayes(), loss)
    assert credo.fit_table(policy, frame, "left", MIXED) is policy
    assert policy.schema_ is policy.estimator_.schema_
    assert set(policy.predict(frame[MIXED])) == {"no", "yes", "reject"}


@pytest.mark.parametrize(
    ("labels", "kind", "classes"),
    [
        (["b", "a", "b", "a"], "text", ["a", "b"]),
        ([3, 1, 3, 1], "number", [1, 3]),
        ([3.0, 1.0, 3.0, 1.0], "number", [1, 3]),
        ([True, False, True, False], "boolean", [False, True]),
        ([0.0, 1.0, -0.0, 1.0], "number", [0, 1]),
        (coded([1, 0, 1, 0], ["a", "b"]), "text", ["a", "b"]),
        (coded([0, 2, 0, 2], ["c", "b", "a"]), "text", ["a", "c"]),  # one need not occur
        (coded([0, 1, 2, 1], ["a", "b", "a"]), "text", ["a", "b"]),  # one twice
    ],
)
def test_labels_are_text_whole_numbers_or_booleans(labels, kind, classes):
    table = pa.table({"x": [1.0, 2.0, 4.0, 3.0], "y": labels})
    model = credo.fit_table(credo.GaussianClassifier(covariance="tied"), table)
    assert model.classes_.tolist() == classes
    assert model.schema_.label_kind == kind
    rows = pd.DataFrame({"x": table["x"], "y": table["y"].to_pylist()})
    np.testing.assert_allclose(model.means_, rows.groupby("y").mean())


def test_more_rows_are_added_to_a_model(frame):
    for make in (credo.GaussianClassifier, credo.NaiveBayes):
        model = credo.fit_table(make(), frame[:20_000], "left", NUMBERS)
        again = credo.update_table(model, frame[20_000:][[*NUMBERS[::-1], "city", "left"]])
        assert again is model
        expected = make().fit(frame[NUMBERS], frame.left)
        np.testing.assert_allclose(
            model.predict_log_proba(frame[NUMBERS]),
            expected.predict_log_proba(frame[NUMBERS]),
            atol=1e-9,
        )


def test_a_table_of_one_batch_or_many_gives_the_same(frame):
    table = pa.Table.from_pandas(frame[:1_000])
    pieces = pa.Table.from_batches(table.to_batches(max_chunksize=17))
    one, many = (
        credo.fit_table(credo.NaiveBayes(), each, "left", MIXED).predict_log_proba(frame[MIXED])
        for each in (table, pieces)
    )
    np.testing.assert_allclose(one, many, atol=1e-11)


def test_rows_per_batch_are_told(frame):
    told = []
    credo.fit_table(
        credo.GaussianClassifier(), frame, "left", NUMBERS, progress=lambda *seen: told.append(seen)
    )
    assert told == [(BATCH_ROWS, BATCH_ROWS / N), (N, 1.0)]


def test_a_failed_fit_leaves_the_model_as_it_was(frame):
    model = credo.fit_table(credo.GaussianClassifier(), frame, "left", NUMBERS)
    before = dict(vars(model))
    with pytest.raises(InputError):
        credo.fit_table(model, frame.assign(left=[None, *frame.left[1:]]), "left", NUMBERS)
    with pytest.raises(NumericalError):
        credo.fit_table(model.set_params(singular="error"), frame[:3], "left", NUMBERS)
    assert {**vars(model), "singular": "repair"} == before


def test_a_schema_of_an_earlier_fit_is_not_believed(frame):
    model = credo.fit_table(credo.NaiveBayes(), frame, "left", MIXED)
    model.fit(frame[MIXED], frame.left)
    with pytest.raises(InputError, match="fitted to a table"):
        credo.predict_table(model, frame)
    for make in (credo.GaussianClassifier, credo.GaussianRegressor, credo.LogisticClassifier):
        other = credo.fit_table(make(), frame, "member", NUMBERS)
        assert hasattr(other, "schema_")
        other.fit(frame[NUMBERS], frame.member)
        assert not hasattr(other, "schema_")
    policy = credo.fit_table(credo.DecisionClassifier(make()), frame, "left", NUMBERS)
    assert not hasattr(policy.fit(frame[NUMBERS], frame.left), "schema_")
    words = pa.table({"t": ["red blue", "green grey"], "y": [0, 1]})
    text = credo.fit_table(credo.TextClassifier(), words).fit(["red blue", "green"], [0, 1])
    assert not hasattr(text, "schema_")


@pytest.mark.parametrize(
    ("change", "options", "error", "message"),
    [
        ({}, {"target": "lft"}, LabelError, "Did you mean 'left'"),
        ({}, {"features": ["ag"]}, LabelError, "Did you mean 'age'"),
        ({}, {"features": "age"}, InputError, "a list of columns"),
        ({}, {"features": []}, InputError, "no column of features"),
        ({}, {"features": ["age", "age"]}, InputError, "'age' twice"),
        ({}, {"features": ["left"]}, InputError, "Leave it out of features"),
        ({}, {"drop": ["ag"]}, LabelError, "Did you mean 'age'"),
        ({}, {"drop": "age"}, InputError, "needs drop as a list of columns"),
        ({}, {"drop": ["left"]}, InputError, "'left' is the target or the weight"),
        ({}, {"drop": ["age"]}, InputError, "both name 'age'"),
        ({}, {"features": None, "drop": [*NUMBERS, "city", "weight"]}, InputError, "no column of"),
        ({}, {"features": ["city"]}, InputError, "'city' holds categories. Use NaiveBayes"),
        ({}, {"weight": "city"}, InputError, "'city' must be numbers"),
        ({"age": dt.date(2020, 1, 1)}, {}, InputError, "'age' is a date or a time"),
        ({"age": None}, {}, InputError, "'age' has no values"),
        ({"left": 0.5}, {}, InputError, "Got 0.5 in column 'left'.*GaussianRegressor"),
        ({"weight": -1.0}, {"weight": "weight"}, InputError, "column 'weight'.*at least zero"),
        ({"weight": 0.0}, {"weight": "weight"}, InputError, "no rows with a positive weight"),
        ({}, {"target": "age", "weight": "age"}, InputError, "both the target and the weight"),
        ({}, {"missing": "unknown"}, InputError, "sequence of texts"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(frame, change, options, error, message):
    some = frame[[*NUMBERS, "city", "weight", "left"]][:50]
    table = pa.Table.from_pandas(some, preserve_index=False)
    for name, value in change.items():
        table = table.set_column(table.schema.get_field_index(name), name, pa.array([value] * 50))
    given = {"target": "left", "features": NUMBERS, **options}
    with pytest.raises(error, match=message):
        credo.fit_table(credo.GaussianClassifier(), table, **given)


def test_rows_without_labels_are_named(frame):
    table = pa.table({"x": [1.0, 2.0, 3.0], "y": coded([0, 1, 0], ["a", None])})
    with pytest.raises(InputError, match="'y' is missing in row 2"):
        credo.fit_table(credo.NaiveBayes(), table)
    labels = frame.left.where(np.arange(N) != BATCH_ROWS + 6)
    with pytest.raises(InputError, match=f"'left' is missing in row {BATCH_ROWS + 7}"):
        credo.fit_table(credo.GaussianClassifier(), frame.assign(left=labels), "left", NUMBERS)


@pytest.mark.parametrize(
    "model", [credo.NaiveBayes(), credo.GaussianClassifier("diagonal"), credo.GaussianRegressor()]
)
def test_an_infinite_cell_is_named_by_its_row_of_the_table(frame, model):
    ages = frame.age.where(np.arange(N) != BATCH_ROWS + 6, np.inf)
    target = "visits" if isinstance(model, credo.GaussianRegressor) else "left"
    with pytest.raises(InputError, match=f"column 'age' has infinity in row {BATCH_ROWS + 7}"):
        credo.fit_table(model, frame.assign(age=ages), target, ["age"])


def test_a_label_of_no_weight_is_no_class(frame):
    labels = frame.left.where(frame.weight > 0, "nobody")
    for model in (credo.NaiveBayes(), credo.GaussianClassifier()):
        found = credo.fit_table(model, frame.assign(left=labels), "left", NUMBERS, "weight")
        assert found.classes_.tolist() == ["no", "yes"]


def test_other_estimators_options_and_rows_are_refused(frame):
    mixed = frame[:4].assign(age=pd.Series([1, "a", 2.5, None], dtype=object))
    with pytest.raises(InputError, match="column 'age' cannot be read"):
        credo.fit_table(credo.NaiveBayes(), mixed, "left", NUMBERS)
    with pytest.raises(InputError, match="Is it an identifier"):
        credo.fit_table(credo.NaiveBayes(), frame.assign(id=np.arange(N)), "id", NUMBERS)
    with pytest.raises(InputError, match="Got GaussianNB"):
        credo.fit_table(GaussianNB(), frame, "left")
    with pytest.raises(InputError, match="shrinkage='oas'"):
        credo.fit_table(credo.GaussianClassifier(shrinkage="auto"), frame, "left", NUMBERS)
    for model in (credo.NaiveBayes(), credo.GaussianClassifier(), credo.LogisticClassifier()):
        with pytest.raises(InputError, match="has no rows"):
            credo.fit_table(model, frame[:0], "left", NUMBERS)


def test_numbers_of_every_size_are_numbers():
    for values in (
        pa.array([2**53 + 1, 5, 1, 0]),
        pa.array([2**64 - 1, 5, 1, 0], pa.uint64()),
        pa.array([decimal.Decimal("1.5"), decimal.Decimal(2)] * 2, pa.decimal256(60, 2)),
        pa.array([1.5, None, 2.5, 7.0], pa.float16()),
    ):
        table = pa.table({"x": values, "y": ["a", "b", "a", "b"]})
        with catch_warnings(action="ignore", category=SingularWarning):
            found = credo.fit_table(credo.NaiveBayes(families="gaussian"), table)
        floats = [np.nan if v is None else float(v) for v in values.to_pylist()]
        means = found.summary_.parts[0].summary.means
        np.testing.assert_allclose(means[:, 0], np.nanmean(np.reshape(floats, (2, 2)), axis=0))


@pytest.mark.parametrize(
    ("labels", "others"),
    [
        ([True, False], ["yes", "no"]),
        ([True, False], [1, 2]),
        ([True, False], [1.0, 2.0]),
        (["a", "b"], [1, 2]),
        ([1, 2], ["1", "2"]),
        ([1, 2], [True, False]),
    ],
)
def test_labels_of_another_kind_are_not_added(labels, others):
    table = pa.table({"x": [1.0, 5.0, 2.0, 3.0], "y": labels * 2})
    model = credo.fit_table(credo.NaiveBayes(), table)
    with pytest.raises(InputError, match="column 'y'.* to the model"):
        credo.update_table(model, pa.table({"x": [1.0, 2.0], "y": others}))
    assert model.summary_.weights.tolist() == [2, 2]


def test_what_cannot_be_added_is_refused(frame):
    model = credo.fit_table(credo.LogisticClassifier(), frame, "left", NUMBERS)
    with pytest.raises(InputError, match="LogisticClassifier keeps no summary"):
        credo.update_table(model, frame)
    model = credo.fit_table(credo.NaiveBayes(), frame, "left", NUMBERS, "weight")
    with pytest.raises(InputError, match="'weight'.*must be numbers"):
        credo.update_table(model, frame.assign(weight=frame.weight.astype(str)))


def test_a_file_of_more_rows_is_read_as_the_first_table_was(tmp_path):
    table = pa.table({"x": [1.0, 5.0, 2.0, 4.0], "y": ["1", "2"] * 2})
    model = credo.fit_table(credo.NaiveBayes(), table)
    (tmp_path / "more.csv").write_text("x,y\n1,1\n5,2\n")
    assert credo.update_table(model, tmp_path / "more.csv").classes_.tolist() == ["1", "2"]


def test_names_of_categories_do_not_collide():
    table = pa.table({"a": ["b", "c"] * 2, "a=c": [1.0, 2.0, 3.0, 5.0], "y": ["u", "v"] * 2})
    with pytest.raises(InputError, match="'a=c' has the name of another column"):
        credo.fit_table(credo.LogisticClassifier("l2", strength=1.0), table)
    with pytest.raises(InputError, match="only one category"):
        credo.fit_table(credo.LogisticClassifier(), pa.table({"a": ["b"] * 2, "y": ["u", "v"]}))


def test_an_update_that_a_policy_refuses_changes_nothing():
    table = pa.table({"x": [1.0, 2.0, 3.0, 5.0, 4.0, 7.0], "y": [0, 0, 0, 1, 1, 1]})
    loss = credo.Loss.zero_one([0, 1])
    policy = credo.fit_table(credo.DecisionClassifier(credo.GaussianClassifier(), loss), table)
    before = credo.predict_table(policy, table)
    with pytest.raises(InputError, match="differ in 2"):
        credo.update_table(policy, pa.table({"x": [1.0, 2.0, 3.0], "y": [2, 2, 2]}))
    assert policy.estimator_.classes_.tolist() == [0, 1]
    assert credo.predict_table(policy, table).equals(before)


def test_views_of_text_are_text():
    view = pa.string_view()
    labels = pa.array(["u", "v", "u", "v", "v", "u"], view)
    names = pa.array(["a", "b", "a", "b", "b", "b"], view)
    table = pa.table({"x": names, "w": [0, 1, 1, 1, 2, 1], "y": labels})
    model = credo.fit_table(credo.NaiveBayes(), table, weight="w")
    assert model.summary_.weights.tolist() == [2, 4]
    assert credo.evaluate_table(model, table).n_rows == 6
    coded = table.set_column(0, "x", table["x"].cast("string").dictionary_encode())
    assert credo.predict_table(model, table).equals(credo.predict_table(model, coded))
    texts = table.set_column(0, "x", pa.array(["red wine", "blue sea"] * 3).dictionary_encode())
    text = credo.fit_table(credo.TextClassifier(), texts.drop_columns("w"))
    assert credo.evaluate_table(text, texts).n_rows == 6


def test_booleans_are_weights_too(frame):
    model = credo.fit_table(credo.NaiveBayes(), frame, "left", NUMBERS, "member")
    before = model.summary_.weights
    credo.update_table(model, frame)
    assert np.array_equal(model.summary_.weights, 2 * before)
    assert credo.evaluate_table(model, frame, weight="member").n_rows == N


def test_families_cannot_change_on_the_way(frame):
    model = credo.fit_table(credo.NaiveBayes(), frame, "left", NUMBERS)
    with pytest.raises(InputError, match="'visits' was learned as 'auto'.*'poisson'"):
        credo.update_table(model.set_params(families={"visits": "poisson"}), frame)
    with pytest.raises(InputError, match="'age' was learned as 'auto'.*'laplace'"):
        credo.update_table(model.set_params(families="laplace"), frame)
    credo.update_table(model.set_params(families={"age": "auto"}), frame)
    assert model.summary_.weights.sum() == 2 * N


@pytest.mark.parametrize("covariance", ["diagonal", "tied"])
def test_classes_far_from_each_other_keep_the_digits_of_their_variances(covariance):
    """A hundred thousand deviations apart: squares about one place would lose ten digits."""
    rng = np.random.default_rng(3)
    near, far = rng.normal(0.0, 1.0, 4000), rng.normal(1e5, 1.0, 4000)
    table = pa.table({"x": np.stack([near, far], 1).ravel(), "y": ["a", "b"] * 4000})
    model = credo.fit_table(credo.GaussianClassifier(covariance), table)
    exact = [_variance(near), _variance(far)]
    expected = np.mean(exact) if covariance == "tied" else exact
    np.testing.assert_allclose(np.ravel(model.covariances_), expected, rtol=1e-11)


def _variance(values):
    """The mean square of deviations, in rational numbers."""
    exact = [fractions.Fraction(value) for value in values.tolist()]
    mean = sum(exact) / len(exact)
    return float(sum((value - mean) ** 2 for value in exact) / len(exact))


RNG = np.random.default_rng(0)
FEW = 90
LABELS = RNG.choice(["a", "b", "c"], FEW)
ROWS = pa.table(
    {
        "x": RNG.normal(np.char.equal(LABELS, "b"), 1.0),
        "n": RNG.poisson(2, FEW),
        "word": RNG.choice(["red", "green", "blue"], FEW),
        "y": LABELS,
    }
)
FIRST, SECOND = ROWS.slice(0, 40), ROWS.slice(40)


def fitted(model, table, features=("x", "n"), target="y"):
    return fit_table(model, table, target=target, features=list(features))


@pytest.mark.parametrize(
    ("make", "features"),
    [
        (GaussianRegressor, ("n",)),
        (lambda: NaiveBayes({"n": "poisson"}), ("x", "n", "word")),
        (GaussianClassifier, ("x", "n")),
        (TextClassifier, ("word",)),
    ],
    ids=["regressor", "naive", "gaussian", "text"],
)
def test_merged_parts_equal_the_whole(make, features):
    target = "x" if make is GaussianRegressor else "y"
    parts = [fitted(make(), table, features, target) for table in (FIRST, SECOND)]
    before = predict_table(parts[0], ROWS)
    merged, whole = merge_models(*parts), fitted(make(), ROWS, features, target)
    found, expected = (predict_table(model, ROWS).to_pandas() for model in (merged, whole))
    pd.testing.assert_frame_equal(found, expected, rtol=1e-9)
    assert merged.schema_ == whole.schema_
    assert predict_table(parts[0], ROWS).equals(before)  # neither is changed


def test_models_that_decide_keep_their_loss():
    loss = Loss.zero_one(["a", "b", "c"]).with_reject(0.3)
    parts = [fitted(DecisionClassifier(NaiveBayes(), loss), table) for table in (FIRST, SECOND)]
    merged = merge_models(*parts)
    assert merged.loss is loss
    assert merged.estimator_.summary_.weights.sum() == FEW
    assert merged.schema_ == parts[0].schema_


def _loss(cost):
    return Loss.class_costs({"a": 1, "b": 1, "c": cost})


WRONG = {
    "kinds": (NaiveBayes(), GaussianClassifier(), "models of one kind. Got NaiveBayes and Gauss"),
    "parameters": (NaiveBayes(), NaiveBayes(smoothing=2.0), "Got smoothing=1.0 and 2.0"),
    "families": (NaiveBayes({"n": "poisson"}), NaiveBayes(), "same parameters in both"),
    "shapes": (GaussianClassifier(), GaussianClassifier("diagonal"), "covariance='full'"),
    "losses": (
        DecisionClassifier(NaiveBayes(), _loss(1)),
        DecisionClassifier(NaiveBayes(), _loss(2)),
        "different losses",
    ),
    "one loss": (DecisionClassifier(NaiveBayes(), _loss(1)), NaiveBayes(), "different losses"),
    "no summary": (LogisticClassifier(), LogisticClassifier(), "keeps no summary"),
}


@pytest.mark.parametrize("case", WRONG)
def test_models_that_are_not_alike_are_refused(case):
    first, second, message = WRONG[case]
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        merge_models(fitted(first, FIRST), fitted(second, SECOND))


TABLES = {
    "another column": (
        SECOND.rename_columns(["z", "n", "word", "y"]),
        ("z", "n"),
        "Only one of them has 'x', 'z'",
    ),
    "another order": (SECOND, ("n", "x"), "in the same order in both: 'x', 'n' and 'n', 'x'"),
    "another type": (
        SECOND.set_column(1, "n", SECOND["n"].cast("string")),
        ("x", "n"),
        "column 'n' is a number to one model and a category to the other",
    ),
}


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ((None, "n"), "Got none and from 'n'"),
        (("n", None), "Got from 'n' and none"),
        (("n", "x"), "from 'n' and from 'x'"),
    ],
)
def test_weights_from_other_columns_are_refused(weights, told):
    """Else later tables would be read with weights or without, by which model came first."""
    tables = [table.set_column(0, "x", pc.abs(table["x"])) for table in (FIRST, SECOND)]
    pairs = zip(tables, weights, strict=True)
    parts = [fit_table(NaiveBayes(), table, "y", ["word"], weight) for table, weight in pairs]
    for merge in (merge_models, NaiveBayes.merge):
        with pytest.raises(InputError, match=f"weights from the same column.*{told}.*all ones"):
            merge(*parts)


def test_merged_models_keep_their_weights_and_the_words_for_missing_cells_of_both():
    weighted = [fit_table(NaiveBayes(), each, "y", ["word"], "n") for each in (FIRST, SECOND)]
    whole = fit_table(NaiveBayes(), ROWS, "y", ["word"], "n")
    for merge in (merge_models, NaiveBayes.merge):
        merged = merge(*weighted)
        assert merged.schema_ == whole.schema_
        np.testing.assert_allclose(merged.priors_, whole.priors_, rtol=1e-12)
    parts = [
        fit_table(NaiveBayes(), table, "y", ["x"], missing=words)
        for table, words in ((FIRST, ["?"]), (SECOND, ["?", "-"]))
    ]
    assert merge_models(*parts).schema_.missing == ("?", "-")


@pytest.mark.parametrize("case", TABLES)
def test_models_of_other_tables_are_refused(case):
    table, features, message = TABLES[case]
    with pytest.raises(InputError, match=message):
        merge_models(fitted(NaiveBayes(), FIRST), fitted(NaiveBayes(), table, features))


def test_models_of_other_targets_or_of_none_are_refused():
    renamed = SECOND.rename_columns(["x", "n", "word", "label"])
    with pytest.raises(InputError, match=r"same target in both. Got 'y' \(text\) and 'label'"):
        merge_models(fitted(NaiveBayes(), FIRST), fitted(NaiveBayes(), renamed, target="label"))
    numbers = SECOND.set_column(3, "y", pa.array([1, 2] * (len(SECOND) // 2)))
    with pytest.raises(InputError, match=r"'y' \(number\)"):
        merge_models(fitted(NaiveBayes(), FIRST), fitted(NaiveBayes(), numbers))
    bare = NaiveBayes().fit([[1.0], [2.0], [4.0], [5.0]], ["a", "a", "b", "b"])
    with pytest.raises(InputError, match="merge_models needs a model that was fitted to a table"):
        merge_models(fitted(NaiveBayes(), FIRST), bare)
