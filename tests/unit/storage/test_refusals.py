"""What cannot be stored is refused when it is saved, with a remedy."""

from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from tests.unit.storage.stored_models import codes, documents, rows

import credo
from credo.exceptions import InputError
from credo.graphs import BayesianNetwork
from credo.storage import load, pack, save


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


def test_another_librarys_estimator_is_refused_with_a_remedy():
    model = credo.DecisionClassifier(LogisticRegression()).fit(rows(), codes())
    with pytest.raises(InputError, match=r"LogisticRegression.*loss\.save"):
        pack(model)
    with pytest.raises(InputError, match="cannot be saved"):
        pack(LogisticRegression())


def test_a_subclass_is_refused():
    class Mine(credo.NaiveBayes):
        pass

    with pytest.raises(InputError, match="A Mine cannot be saved"):
        pack(Mine().fit(rows(), codes()))


def test_functions_are_refused():
    by_amount = credo.DecisionClassifier(credo.NaiveBayes(), lambda _: None).fit(rows(), codes())
    with pytest.raises(InputError, match="holds no code"):
        pack(by_amount)
    split = credo.TextClassifier(
        vectorizer=CountVectorizer(tokenizer=str.split, token_pattern=None)
    )
    with pytest.raises(InputError, match=r"vectorizer\.tokenizer.*holds no code"):
        pack(split.fit(documents(), codes()))
    analyze = credo.TextClassifier(vectorizer=CountVectorizer(analyzer=str.split))
    with pytest.raises(InputError, match=r"vectorizer\.analyzer.*holds no code"):
        pack(analyze.fit(documents(), codes()))


def test_parameters_of_other_kinds_are_refused():
    priors = pd.Series([0.2, 0.3, 0.5])
    model = credo.GaussianClassifier(priors=priors).fit(rows(), codes())
    with pytest.raises(InputError, match=r"GaussianClassifier\.priors is of type Series"):
        pack(model)


def test_categories_of_other_kinds_are_refused():
    model = credo.NaiveBayes().fit([["a"], ["b"]], [0, 1])
    part = model.summary_.parts[0]
    dates = date(2024, 1, 1), date(2024, 1, 2)
    odd = replace(part, summary=replace(part.summary, categories=dates))
    with pytest.raises(InputError, match="is of type date"):
        pack(replace(model.summary_, parts=(odd,)))


def test_an_attribute_that_would_be_lost_is_refused():
    model = credo.NaiveBayes().fit(rows(), codes())
    model.note_ = "mine"
    with pytest.raises(InputError, match=r"'note_'.*del model\.note_"):
        pack(model)


def test_an_incomplete_network_is_refused():
    net = BayesianNetwork()
    net.variable("a", 2)
    with pytest.raises(InputError, match="has no CPT"):
        pack(net)


def test_a_description_that_is_too_long_is_refused():
    model = credo.GaussianRegressor().fit(rows(), codes())
    model.tol = [np.zeros(1) for _ in range(20_000)]
    with pytest.raises(InputError, match="more than a model file can have"):
        pack(model)


def test_the_folder_must_be_there(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        save(credo.Loss.zero_one(["a", "b"]), tmp_path / "no" / "m.credo")


def test_labels_with_dates_are_refused():
    y = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]")
    summary = credo.summarise(rows()[:2], [0, 1], covariance="diagonal")
    with pytest.raises(InputError, match="datetime64"):
        pack(replace(summary, classes=y))


def test_a_model_of_a_file_is_not_shared_with_the_file(tmp_path):
    save(credo.NaiveBayes().fit(rows(), codes()), tmp_path / "m.credo")
    model = load(tmp_path / "m.credo")
    (tmp_path / "m.credo").unlink()
    assert len(model.predict(rows())) == 60


def test_a_parameter_that_is_nested_too_deeply_to_be_read_is_not_written():
    model = credo.GaussianRegressor().fit(rows(), codes())
    for _ in range(20):
        model.tol = [model.tol]
    with pytest.raises(InputError, match="nested more than"):
        pack(model)
