"""What cannot be stored is refused when it is saved, with a remedy."""

from dataclasses import replace
from datetime import date
from functools import reduce

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from tests.unit.storage.stored_models import codes, documents, rows

import credo
from credo.exceptions import InputError
from credo.graphs import BayesianNetwork
from credo.storage import pack, save


@pytest.mark.parametrize(
    "model",
    [
        credo.GaussianClassifier(),
        credo.GaussianRegressor(),
        credo.NaiveBayes(),
        credo.TextClassifier(),
        credo.LogisticClassifier(),
        credo.DecisionClassifier(credo.NaiveBayes()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_an_unfitted_model_is_refused(model):
    with pytest.raises(InputError, match="is not fitted"):
        pack(model)


class Mine(credo.NaiveBayes):
    """Somebody else's model."""


def decision(*given):
    """Fit a classifier that acts."""
    return credo.DecisionClassifier(*given).fit(rows(), codes())


def texts(**options):
    """Fit a text classifier that counts in a way of its own."""
    vectorizer = CountVectorizer(token_pattern=None, **options)
    return credo.TextClassifier(vectorizer=vectorizer).fit(documents(), codes())


def regressor(**attributes):
    """Fit a regressor, and set attributes."""
    model = credo.GaussianRegressor().fit(rows(), codes())
    vars(model).update(attributes)
    return model


def with_dates(*days):
    """Make a summary of categories that no file holds."""
    summary = credo.NaiveBayes().fit([["a"], ["b"]], [0, 1]).summary_
    part = summary.parts[0]
    odd = replace(part, summary=replace(part.summary, categories=days))
    return replace(summary, parts=(odd,))


def incomplete():
    """Make a network that is not finished."""
    net = BayesianNetwork()
    net.variable("a", 2)
    return net


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: decision(LogisticRegression()), r"LogisticRegression.*loss\.save"),
        (LogisticRegression, "cannot be saved"),
        (lambda: Mine().fit(rows(), codes()), "A Mine cannot be saved"),
        (lambda: decision(credo.NaiveBayes(), lambda _: None), "holds no code"),
        (lambda: texts(tokenizer=str.split), r"vectorizer\.tokenizer.*holds no code"),
        (lambda: texts(analyzer=str.split), r"vectorizer\.analyzer.*holds no code"),
        (lambda: regressor(tol=pd.Series([0.2])), r"GaussianRegressor\.tol is of type Series"),
        (lambda: regressor(note_="mine"), r"'note_'.*del model\.note_"),
        (lambda: regressor(tol=[np.zeros(1) for _ in range(20_000)]), "more than a model file"),
        (lambda: regressor(tol=reduce(lambda x, _: [x], range(20))), "nested more than"),
        (lambda: regressor(tol=np.array(["2024-01-01"], "M8[D]")), "datetime64"),
        (lambda: with_dates(date(2024, 1, 1), date(2024, 1, 2)), "is of type date"),
        (incomplete, "has no CPT"),
    ],
    ids=range(13),
)
def test_what_no_file_holds_is_refused_with_a_remedy(make, told):
    with pytest.raises(InputError, match=told):
        pack(make())


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.credo"
    save(credo.Loss.zero_one(["a", "b"]), path)
    before = path.read_bytes()
    with pytest.raises(InputError):
        save(credo.GaussianClassifier(), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_folder_must_be_there(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        save(credo.Loss.zero_one(["a", "b"]), tmp_path / "no" / "m.credo")
