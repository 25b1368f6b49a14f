"""Textbook D6: the full joint table against naive Bayes, in parameters and in what they cost."""

import numpy as np
import pytest

from credo import NaiveBayes, count_parameters


@pytest.mark.parametrize("d", [1, 3, 10, 20, 30, 100])
def test_d6_the_full_table_has_two_to_the_d_less_one_per_class_and_naive_bayes_d(d):
    count = count_parameters(d, n_classes=2)
    assert count.full_table == 2**d - 1
    assert count.naive_bayes == d
    assert count.full_table_total == 2 * (2**d - 1) + 1
    assert count.naive_bayes_total == 2 * d + 1


def test_d6_thirty_binary_features_need_a_billion_cells_or_thirty_numbers():
    shown = repr(count_parameters(30))
    assert "1073741823" in shown
    assert [word for word in shown.split() if word == "30"] == ["30", "30"]


def test_d6_the_report_of_a_fitted_model_is_that_of_its_columns():
    X = np.random.default_rng(0).integers(0, 2, (50, 8))
    model = NaiveBayes("bernoulli").fit(X, np.arange(50) % 2)
    assert count_parameters(model) == count_parameters(8, n_classes=2)
    assert model.n_parameters_ == 2 + 2 * 8


def test_d6_a_table_needs_rows_for_every_cell_and_naive_bayes_does_not():
    """Twelve independent features, 400 rows: most of the 4096 cells of a class stay empty."""
    rng = np.random.default_rng(1)
    shares = rng.uniform(0.3, 0.7, size=(2, 12))

    def draw(n):
        y = rng.integers(0, 2, n)
        return (rng.random((n, 12)) < shares[y]).astype(int), y

    (X, y), (new, truth) = draw(400), draw(2000)
    cells = X @ (1 << np.arange(12))
    table = np.ones((2, 4096))  # one artificial row in each cell
    np.add.at(table, (y, cells), 1)
    table /= table.sum(axis=1, keepdims=True)
    by_table = table[:, new @ (1 << np.arange(12))].argmax(axis=0)
    by_naive_bayes = NaiveBayes("bernoulli").fit(X, y).predict(new)
    assert (by_naive_bayes == truth).mean() > (by_table == truth).mean() + 0.08
