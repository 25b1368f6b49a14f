"""``evaluate_table``: labels that are not there, and rows that count more than others."""

import numpy as np
import pyarrow as pa
import pytest

import credo
from credo.exceptions import InputError
from credo.tables import evaluate_table

LOSS = credo.Loss([[0, 1], [5, 0]], ["bad", "good"], ["refuse", "lend"])


def applicants(seed, n=200):
    rng = np.random.default_rng(seed)
    bad = rng.random(n) < 0.3
    labels = np.where(bad, "bad", "good").tolist()
    return pa.table({"age": rng.normal(40 - 8 * bad, 6), "w": rng.uniform(0, 3, n), "y": labels})


@pytest.fixture(scope="module")
def model():
    return credo.fit_table(credo.NaiveBayes(), applicants(1), features=["age"])


def test_a_row_without_a_label_is_named(model):
    table = applicants(0, 20)
    labels = table["y"].to_pylist()
    labels[13] = None
    broken = table.set_column(2, "y", pa.array(labels))
    with pytest.raises(InputError, match="row 14 of .* has no label in column 'y'"):
        evaluate_table(model, broken)


def test_standard_errors_are_those_of_a_weighted_mean(model):
    """The root of n / (n - 1) times the sum of w² (l - m)², over the sum of weights."""
    table = applicants(0)
    found = evaluate_table(model, table, loss=LOSS, weight="w")
    acts = credo.predict_table(model, table, loss=LOSS)["act"].to_pylist()
    lost = np.array([LOSS[y, act] for y, act in zip(table["y"].to_pylist(), acts, strict=True)])
    weight, n = table["w"].to_numpy(), len(lost)
    mean = np.average(lost, weights=weight)
    error = np.sqrt(n / (n - 1) * (weight**2 * (lost - mean) ** 2).sum()) / weight.sum()
    assert found.mean_loss == pytest.approx(mean, rel=1e-12)
    assert found.measures.standard_error == pytest.approx(error, rel=1e-12)
