"""``count_parameters``: full tables against naive Bayes, exactly."""

import itertools
import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from credo import NaiveBayes, TextClassifier, count_parameters
from credo.exceptions import InputError


@pytest.mark.parametrize("d", [1, 2, 5, 10, 64, 1000])
def test_binary_features_have_two_to_the_d_less_one_against_d(d):
    count = count_parameters(d)
    assert (count.full_table, count.naive_bayes, count.states) == (2**d - 1, d, (2,) * d)


@pytest.mark.parametrize("states", [[2], [7], [3, 2], [4, 1, 3], [2, 3, 2, 5]], ids=str)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_it_counts_the_free_cells_one_by_one(states, k):
    cells = list(itertools.product(*(range(s) for s in states)))
    count = count_parameters(states, k)
    assert count.full_table == len(cells) - 1
    assert count.naive_bayes == sum(len(range(1, s)) for s in states)
    assert count.full_table_total == k * (len(cells) - 1) + k - 1
    assert count.naive_bayes_total == k * sum(s - 1 for s in states) + k - 1
    assert (count.states, count.n_classes) == (tuple(states), k)


def test_the_total_of_naive_bayes_is_what_its_model_holds():
    """A model has K priors, of which K - 1 are free."""
    rng = np.random.default_rng(0)
    X = [
        [rng.choice(["a", "b", "c"]), int(rng.integers(2)), rng.choice(["x", "y"])]
        for _ in "i" * 60
    ]
    model = NaiveBayes(unknown="ignore").fit(X, np.arange(60) % 3)
    count = count_parameters(model)
    assert sorted(count.states) == [2, 2, 3]
    assert count.n_classes == 3
    assert count.naive_bayes_total == model.n_parameters_ - 1
    assert count.full_table == 2 * 2 * 3 - 1


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_a_model_of_binary_columns_is_counted(sparse):
    X = np.random.default_rng(1).integers(0, 2, (40, 12))
    model = NaiveBayes("bernoulli").fit(csr_array(X) if sparse else X, np.arange(40) % 4)
    count = count_parameters(model)
    assert count.states == (2,) * 12
    assert (count.full_table, count.naive_bayes, count.n_classes) == (4095, 12, 4)


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_a_model_of_numbers_has_no_table(family):
    model = NaiveBayes({0: family}).fit([[1.0, 0], [2.0, 1], [4.0, 1], [7.0, 0]], [0, 0, 1, 1])
    with pytest.raises(InputError, match=f"column 0 is {family}"):
        count_parameters(model)


@pytest.mark.parametrize("kind", [tuple, iter, np.array, np.uint8], ids=lambda kind: kind.__name__)
def test_states_may_come_in_any_list_and_do_not_overflow(kind):
    count = count_parameters(kind([100, 100, 100]))
    assert (count.states, count.full_table) == ((100, 100, 100), 999_999)
    assert all(type(s) is int for s in count.states)


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("states of count_parameters", [0, -2, 2.5, True, None, [2, 0], [2, -1], [2.0, 3], "22"]),
        ("states of count_parameters", [["2"], {"a": 2}, np.array(3), TextClassifier()]),
        ("n_classes of count_parameters", [(3, 0), (3, -1), (3, 1.5), (3, "two"), (3, True)]),
        ("fitted NaiveBayes", [NaiveBayes()]),
    ],
    ids=["states", "no states", "classes", "not fitted"],
)
def test_what_cannot_be_counted_is_refused(message, arguments):
    for each in arguments:
        with pytest.raises(InputError, match=message):
            count_parameters(*(each if isinstance(each, tuple) else (each,)))


def test_large_tables_are_written_in_powers_of_ten():
    shown = repr(count_parameters(2000))
    assert f"about 1e{math.floor(2000 * math.log10(2))}" in shown
    assert "2000 features, 2 classes" in shown
    rows = [line.split() for line in repr(count_parameters(10, 3)).splitlines()]
    assert rows[2] == ["full", "table", "1023", "3071"]
    assert rows[3] == ["naive", "Bayes", "10", "32"]
    assert "about" not in repr(count_parameters(38))
    assert "about 1e12" in repr(count_parameters(40))
