"""``predict_table``: what the model's own methods give, in columns, and checks of the table."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import credo
from credo.exceptions import CredoWarning, InputError, LabelError
from credo.tables import score_batch

FEATURES = ["age", "city", "member"]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 70_000
    table = pd.DataFrame(
        {
            "id": np.arange(n),
            "age": rng.normal(40, 9, n),
            "city": rng.choice(["Bonn", "Köln", "Ulm"], n),
            "member": rng.random(n) < 0.3,
        }
    )
    table["left"] = np.where(table.age + 5 * table.member + rng.normal(0, 3, n) > 42, "yes", "no")
    return table


@pytest.fixture(scope="module")
def model(frame):
    return credo.fit_table(credo.NaiveBayes(), frame, "left", FEATURES)


LOSS = credo.Loss([[0, 1], [5, 0]], ["no", "yes"], ["stay", "call"]).with_reject(0.3)


def test_columns_are_what_the_model_says(frame, model):
    found = credo.predict_table(model, frame, loss=LOSS, keep=["id"])
    assert found.schema.names == [
        "id", "p_no", "p_yes", "act", "expected_loss", "log_density", "rejected",
    ]  # fmt: skip
    p = model.predict_proba(frame[FEATURES])
    chosen = credo.decide(p, LOSS, labels=model.classes_)
    np.testing.assert_allclose(np.column_stack([found["p_no"], found["p_yes"]]), p, atol=1e-12)
    assert found["act"].to_pylist() == chosen.acts.tolist()
    np.testing.assert_allclose(found["expected_loss"], chosen.risk, atol=1e-12)
    np.testing.assert_allclose(found["log_density"], model.log_density(frame[FEATURES]), rtol=1e-12)
    assert found["rejected"].to_pylist() == chosen.rejected.tolist()
    assert found["id"].to_pylist() == frame.id.tolist()


def test_logistic_regression_has_no_density(frame):
    model = credo.fit_table(credo.LogisticClassifier(), frame, "left", FEATURES)
    found = credo.predict_table(model, frame)
    assert found.schema.names == ["p_no", "p_yes", "act", "expected_loss", "rejected"]
    least = np.minimum(found["p_no"], found["p_yes"])
    np.testing.assert_allclose(found["expected_loss"], least, atol=1e-12)
    holes = frame.assign(age=frame.age.where(frame.id != 66_000))
    with pytest.raises(InputError, match=r"NaN in column 'age' \(row 66001\)"):
        credo.predict_table(model, holes)
    strange = frame.assign(city=frame.city.where(frame.id != 2, "Trier"))
    with pytest.warns(CredoWarning, match="column 'city' has 'Trier', which fit has not seen"):
        scored = credo.predict_table(model, strange)
    rest = np.arange(len(frame)) != 2
    np.testing.assert_array_equal(scored["p_no"].to_numpy()[rest], found["p_no"].to_numpy()[rest])


def test_a_regressor_gives_means_and_deviations(frame):
    numbers = frame.assign(member=frame.member.astype(float))
    model = credo.fit_table(credo.GaussianRegressor(), numbers, "age", ["member"])
    found = credo.predict_table(model, numbers, keep=["id"])
    mean, std = model.predict(numbers[["member"]], return_std=True)
    assert found.schema.names == ["id", "mean", "std"]
    np.testing.assert_allclose(found["mean"], mean)
    np.testing.assert_allclose(found["std"], std)


def test_columns_may_be_reordered_and_more(frame, model):
    other = frame[["member", "left", "city", "id", "age"]].assign(extra="x")
    assert credo.predict_table(model, other).equals(credo.predict_table(model, frame))


def test_a_table_without_rows_has_the_same_columns(frame, model):
    none = credo.predict_table(model, frame[:0], keep=["id"])
    assert none.num_rows == 0
    assert none.schema.equals(credo.predict_table(model, frame[:5], keep=["id"]).schema)


def test_a_policy_decides_by_its_own_loss(frame):
    policy = credo.DecisionClassifier(credo.NaiveBayes(), LOSS)
    credo.fit_table(policy, frame, "left", FEATURES)
    found = credo.predict_table(policy, frame)
    assert set(found["act"].to_pylist()) == {"stay", "call", "reject"}
    assert found["act"].to_pylist() == policy.predict(frame[FEATURES]).tolist()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda f: f.drop(columns="age"), LabelError, "has no column 'age'"),
        (lambda f: f.drop(columns=["age", "city"]), InputError, "lacks the columns 'age', 'city'"),
        (lambda f: f.assign(age=f.age.astype(str)), InputError, "'age'.*a number to the model"),
        (lambda f: f.assign(city=1), InputError, "'city'.*a category to the model"),
        (lambda f: f.assign(member=0.5), InputError, "'member'.*a boolean to the model"),
    ],
)
def test_missing_and_retyped_columns_are_named(frame, model, change, error, message):
    with pytest.raises(error, match=message):
        credo.predict_table(model, change(frame[:100]))


def test_what_cannot_be_kept_or_scored_is_refused(frame, model):
    with pytest.raises(InputError, match="'act' has the name of a column of the result"):
        credo.predict_table(model, frame.assign(act=1)[:5], keep=["act"])
    with pytest.raises(LabelError, match="idd"):
        credo.predict_table(model, frame[:5], keep=["idd"])
    with pytest.raises(InputError, match="keep as a list of columns. Got 'id'"):
        credo.predict_table(model, frame[:5], keep="id")
    plain = credo.GaussianClassifier().fit(frame[["age"]], frame.left)
    with pytest.raises(InputError, match="Fit it with credo.fit_table"):
        credo.predict_table(plain, frame)


def test_one_batch_is_scored_as_the_table_is(frame, model):
    batch = pa.RecordBatch.from_pandas(frame[:50], preserve_index=False)
    whole = credo.predict_table(model, frame[:50])
    assert pa.Table.from_batches([score_batch(model, batch)]).equals(whole)


@pytest.mark.parametrize("labels", [[1, 2, 1, 2, 1, 2], [True, False] * 3])
def test_acts_of_two_kinds_are_text(labels):
    table = pa.table({"x": [1.0, 5.0, 2.0, 3.0, 4.0, 9.0], "y": labels})
    model = credo.fit_table(credo.NaiveBayes(), table)
    loss = credo.Loss.zero_one(sorted(set(labels))).with_reject(0.3)
    acts = credo.predict_table(model, table, loss=loss)["act"].to_pylist()
    own = credo.predict_table(model, table)["act"].to_pylist()
    assert {"reject"} < set(acts) <= {"reject", "1", "2", "true", "false"}
    assert set(own) == set(labels)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_a_loss_from_a_file_names_numbers_by_text(order):
    table = pa.table({"x": [1.0, 5.0, 2.0, 3.0], "y": [1, 2, 1, 2]})
    model = credo.fit_table(credo.NaiveBayes(), table)
    matrix = np.array([[0, 1], [5, 0]])
    own = credo.Loss(matrix, [1, 2], [1, 2])
    texts = ["1", "2"]
    written = credo.Loss(matrix[order], [texts[i] for i in order], texts)
    tables = [credo.predict_table(model, table, loss=loss) for loss in (written, own)]
    assert tables[0].equals(tables[1])


def test_categories_that_are_numbers_are_the_same_in_every_file(tmp_path):
    frame = pd.DataFrame({"c": pd.Categorical([1, 2, 1, 2, 1, 2, 1, 1]), "y": ["a", "b"] * 4})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    plain = frame.assign(c=frame.c.astype(int))
    for model in (credo.NaiveBayes(), credo.LogisticClassifier("l2", strength=1.0)):
        credo.fit_table(model, frame)
        found = [credo.predict_table(model, each)["p_a"].to_pylist()
                 for each in (frame, plain, tmp_path / "rows.csv")]  # fmt: skip
        assert found[0] == found[1] == found[2]
        assert found[0][0] != found[0][1]
        with pytest.raises(InputError, match="a code to the model"):
            credo.predict_table(model, frame.assign(c=frame.c.astype(str)))


def test_decimal_commas_are_read_in_every_table(tmp_path):
    path = tmp_path / "eu.csv"
    path.write_text("x;z;y\n1,5;2,5;a\n2,5;1;b\n3,25;2;a\n4;7,5;b\n")
    model = credo.fit_table(credo.NaiveBayes(), path)
    same = pa.table({"x": [1.5, 2.5, 3.25, 4], "z": [2.5, 1, 2, 7.5], "y": ["a", "b", "a", "b"]})
    assert credo.predict_table(model, path).equals(credo.predict_table(model, same))
    path.write_text("x;k;z\n1,5;3.5;1\n2,5;4.5;2\n")  # by the model's columns, not by others
    same = pa.table({"x": [1.5, 2.5], "k": ["3.5", "4.5"], "z": [1.0, 2.0]})
    found, wanted = (credo.predict_table(model, each, keep=["k"]) for each in (path, same))
    assert found.equals(wanted)
    means = model.summary_.parts[0].summary.moments.means
    np.testing.assert_allclose(means, [[2.375, 2.25], [3.25, 4.25]])


def test_identifiers_are_handed_on_as_they_are_written(tmp_path):
    (tmp_path / "rows.csv").write_text("id,x\n007,1\n12345678901234567890,5\n1e5,2\n")
    table = pa.table({"x": [1.0, 5.0, 2.0, 3.0], "y": ["a", "b", "a", "b"]})
    model = credo.fit_table(credo.NaiveBayes(), table)
    kept = credo.predict_table(model, tmp_path / "rows.csv", keep=["id", "x"])
    assert kept["id"].to_pylist() == ["007", "12345678901234567890", "1e5"]
    assert kept["x"].to_pylist() == [1.0, 5.0, 2.0]


def test_long_codes_keep_their_digits(tmp_path):
    codes = [2**53 + 1, 2**53 + 2] * 4
    frame = pd.DataFrame({"c": pd.Categorical(codes), "y": codes[::-1]})
    frame.loc[:1, "y"] = codes[:2]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    model = credo.fit_table(credo.NaiveBayes(), frame)
    first = credo.predict_table(model, frame)
    assert first.equals(credo.predict_table(model, tmp_path / "rows.csv"))
    before = model.summary_.weights
    credo.update_table(model, tmp_path / "rows.csv")
    assert model.classes_.tolist() == codes[:2]
    assert np.array_equal(model.summary_.weights, 2 * before)


@pytest.mark.parametrize("weight", [None, "w"])
def test_a_row_that_a_model_refuses_is_named_by_its_row_of_the_table(frame, weight):
    numbers = frame.assign(n=frame.age.round().abs(), w=(frame.id != 0).astype(float))
    naive = credo.NaiveBayes({"n": "poisson"}, smoothing=0)
    model = credo.fit_table(naive, numbers, "left", ["n", "city"])
    wrong = numbers.assign(n=numbers.n.where(numbers.id != 66_001, 0.5))
    with pytest.raises(InputError, match="^predict_table: NaiveBayes.*Got 0.5 in row 66002, colu"):
        credo.predict_table(model, wrong)
    with pytest.raises(InputError, match="^fit_table: NaiveBayes.*Got 0.5 in row 66002, column"):
        credo.fit_table(naive, wrong, "left", ["n", "city"], weight)
    with pytest.raises(InputError, match="column 'n' has infinity in row 66002"):
        credo.predict_table(model, wrong.replace({"n": {0.5: np.inf}}))
    unseen = numbers.assign(city=numbers.city.where(numbers.id != 66_001, "row 7"))
    credo.fit_table(naive.set_params(unknown="error"), numbers, "left", ["n", "city"])
    with pytest.raises(InputError, match="row 66002 has 'row 7' in column 'city'"):
        credo.predict_table(naive, unseen)
