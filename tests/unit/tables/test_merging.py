"""``merge_models``: models of parts make the model of the whole."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

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
from credo.exceptions import InputError
from credo.tables.fit import merge_models

RNG = np.random.default_rng(0)
N = 90
LABELS = RNG.choice(["a", "b", "c"], N)
TABLE = pa.table(
    {
        "x": RNG.normal(np.char.equal(LABELS, "b"), 1.0),
        "n": RNG.poisson(2, N),
        "word": RNG.choice(["red", "green", "blue"], N),
        "y": LABELS,
    }
)
FIRST, SECOND = TABLE.slice(0, 40), TABLE.slice(40)


def fitted(model, table, features=("x", "n"), target="y"):
    return fit_table(model, table, target=target, features=list(features))


@pytest.mark.parametrize(
    ("make", "features"),
    [
        (GaussianRegressor, ("n",)),
        (NaiveBayes, ("x", "word")),
        (lambda: NaiveBayes({"n": "poisson"}), ("x", "n", "word")),
        (GaussianClassifier, ("x", "n")),
        (lambda: GaussianClassifier("diagonal"), ("x", "n")),
        (TextClassifier, ("word",)),
    ],
    ids=["regressor", "naive", "poisson", "full", "diagonal", "text"],
)
def test_merged_parts_equal_the_whole(make, features):
    target = "x" if make is GaussianRegressor else "y"
    parts = [fitted(make(), table, features, target) for table in (FIRST, SECOND)]
    before = predict_table(parts[0], TABLE)
    merged, whole = merge_models(*parts), fitted(make(), TABLE, features, target)
    found, expected = (predict_table(model, TABLE).to_pandas() for model in (merged, whole))
    pd.testing.assert_frame_equal(found, expected, rtol=1e-9)
    assert merged.schema_ == whole.schema_
    assert predict_table(parts[0], TABLE).equals(before)  # neither is changed


def test_a_class_that_only_one_has_is_kept():
    some = TABLE.filter(pa.compute.not_equal(TABLE["y"], "c"))
    merged = merge_models(fitted(NaiveBayes(), some), fitted(NaiveBayes(), TABLE))
    assert merged.classes_.tolist() == ["a", "b", "c"]
    assert merged.summary_.weights.sum() == some.num_rows + N


def test_models_that_decide_keep_their_loss():
    loss = Loss.zero_one(["a", "b", "c"]).with_reject(0.3)
    parts = [fitted(DecisionClassifier(NaiveBayes(), loss), table) for table in (FIRST, SECOND)]
    merged = merge_models(*parts)
    assert merged.loss is loss
    assert merged.estimator_.summary_.weights.sum() == N
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
        "One has 'x', 'z'",
    ),
    "another order": (SECOND, ("n", "x"), "in the same order in both: 'x', 'n' and 'n', 'x'"),
    "another type": (
        SECOND.set_column(1, "n", SECOND["n"].cast("string")),
        ("x", "n"),
        "column 'n' is a number to one model and a category to the other",
    ),
}


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
