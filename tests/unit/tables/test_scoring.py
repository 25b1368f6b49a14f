"""``predict_table``: what the model's own methods give, in columns, and checks of the table."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import credo
from credo.exceptions import InputError, LabelError
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


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal"])
def test_gaussians_score_in_one_pass(frame, covariance):
    numbers = frame.assign(member=frame.member.astype(float), height=np.exp(frame.age / 40))
    model = credo.fit_table(
        credo.GaussianClassifier(covariance=covariance),
        numbers,
        "left",
        ["age", "member", "height"],
    )
    some = numbers[["age", "member", "height"]].copy()
    some.iloc[::7, 0] = np.nan
    found = credo.predict_table(model, some)
    np.testing.assert_allclose(found["p_yes"], model.predict_proba(some)[:, 1], atol=1e-12)
    np.testing.assert_allclose(found["log_density"], model.log_density(some), rtol=1e-10)


def test_logistic_regression_has_no_density(frame):
    model = credo.fit_table(credo.LogisticClassifier(), frame, "left", FEATURES)
    found = credo.predict_table(model, frame)
    assert found.schema.names == ["p_no", "p_yes", "act", "expected_loss", "rejected"]
    np.testing.assert_allclose(
        found["expected_loss"], 1 - np.maximum(found["p_no"], found["p_yes"])
    )
    holes = frame.assign(age=frame.age.where(frame.id != 66_000))
    with pytest.raises(InputError, match="'age' has no finite value in row 66001"):
        credo.predict_table(model, holes)
    with pytest.raises(InputError, match="row 3 has 'Trier' in column 'city'.*'Bonn'"):
        credo.predict_table(model, frame.assign(city=frame.city.where(frame.id != 2, "Trier")))


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
        (lambda f: f.assign(age=f.age.astype(str)), InputError, "'age'.*learned it as a number"),
        (lambda f: f.assign(city=1), InputError, "'city'.*learned it as a category"),
        (lambda f: f.assign(member=0.5), InputError, "'member'.*learned it as a boolean"),
    ],
)
def test_missing_and_retyped_columns_are_named(frame, model, change, error, message):
    with pytest.raises(error, match=message):
        credo.predict_table(model, change(frame[:100]))


def test_names_of_results_are_not_kept_twice(frame, model):
    with pytest.raises(InputError, match="'act' has the name of a column of the result"):
        credo.predict_table(model, frame.assign(act=1)[:5], keep=["act"])
    with pytest.raises(LabelError, match="idd"):
        credo.predict_table(model, frame[:5], keep=["idd"])


def test_a_model_without_a_table_is_told_what_to_do(frame):
    plain = credo.GaussianClassifier().fit(frame[["age"]], frame.left)
    with pytest.raises(InputError, match="Fit it with credo.fit_table"):
        credo.predict_table(plain, frame)


def test_one_batch_is_scored_as_the_table_is(frame, model):
    batch = pa.RecordBatch.from_pandas(frame[:50], preserve_index=False)
    whole = credo.predict_table(model, frame[:50])
    assert pa.Table.from_batches([score_batch(model, batch)]).equals(whole)


def test_a_row_that_is_too_far_is_found_in_its_batch(frame):
    model = credo.fit_table(credo.GaussianClassifier(), frame, "left", ["age"])
    with pytest.raises(InputError, match="rows from 65537 on: .*[Rr]ow 463"):
        credo.predict_table(model, frame.assign(age=frame.age.where(frame.id != 65_999, np.inf)))
