import json
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st
from tests.oracles import evaluation as oracle
from tests.strategies import LETTERS, whole_losses

from credo import Loss, Posterior, decide
from credo.decisions import expected_loss

LOSS = Loss([[0, 20, 3], [1, 0, 3]], ["fraud", "fair"], ["stop", "pass", "ask"], reject="ask")
Y = ["fraud", "fair", "fair", "fraud", "fair"]
ACTS = ["stop", "pass", "stop", "pass", "ask"]


@st.composite
def taken(draw):
    """Truths, acts, whole weights and a loss matrix."""
    n, n_truths, n_acts = draw(st.integers(1, 12)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    whole = {"min_size": n, "max_size": n}
    truth = draw(st.lists(st.integers(0, n_truths - 1), **whole))
    acts = draw(st.lists(st.integers(0, n_acts - 1), **whole))
    weights = draw(st.lists(st.integers(0, 3), **whole).filter(any))
    return truth, acts, weights, draw(whole_losses(n_truths, n_acts))


def named(problem):
    truth, acts, weights, matrix = problem
    loss = Loss(matrix, list(LETTERS[: len(matrix)]), [f"act {a}" for a in range(len(matrix[0]))])
    return [loss.truths[k] for k in truth], [loss.acts[a] for a in acts], weights, loss


@given(taken())
def test_it_equals_the_slow_twin(problem):
    truth, acts, weights, matrix = problem
    y, names, _, loss = named(problem)
    result = expected_loss(y, names, loss, sample_weight=weights, n_bootstrap=0)
    assert result.value == pytest.approx(oracle.mean_loss(truth, acts, matrix, weights), abs=1e-12)
    best, least = oracle.best_constant(truth, matrix, weights)
    assert result.constant_loss == pytest.approx(least, abs=1e-12)
    assert result.constant_act == loss.acts[best]
    assert result.n_rows == np.count_nonzero(weights)


def test_losses_per_row_are_charged_row_by_row():
    matrices = np.zeros((3, 2, 2))
    matrices[:, 0, 1] = [5, 50, 500]
    matrices[:, 1, 0] = 10
    loss = Loss(matrices, ["fraud", "fair"], ["stop", "pass"])
    y, acts = ["fraud", "fair", "fraud"], ["pass", "stop", "stop"]
    result = expected_loss(y, acts, loss, n_bootstrap=0)
    assert result.value == (5 + 10 + 0) / 3
    assert (result.constant_act, result.constant_loss) == ("stop", 10 / 3)
    weighted = expected_loss(y, acts, loss, sample_weight=[0, 1, 1], n_bootstrap=0)
    assert (weighted.value, weighted.n_rows) == (5.0, 2)


def test_decisions_may_be_passed_as_they_are():
    p = Posterior.from_probabilities([[0.9, 0.1], [0.01, 0.99], [0.2, 0.8]], ["fraud", "fair"])
    choice = decide(p, LOSS)
    y = ["fraud", "fair", "fair"]
    direct = expected_loss(y, choice, LOSS)
    assert direct == expected_loss(y, choice.acts, LOSS)
    wider = Loss([[9, 0, 20, 3], [9, 1, 0, 3]], LOSS.truths, ["wait", *LOSS.acts])
    assert expected_loss(y, choice, wider).value == direct.value


def test_a_single_decision_is_one_row():
    choice = decide([0.9, 0.1], LOSS, labels=["fraud", "fair"])
    assert expected_loss(["fair"], choice, LOSS).value == 1.0


@pytest.mark.parametrize(
    "kind", [np.array, pd.Series, pl.Series, tuple], ids=["numpy", "pandas", "polars", "tuple"]
)
def test_truths_and_acts_come_in_any_array(kind):
    assert expected_loss(kind(Y), kind(ACTS), LOSS, n_bootstrap=0).value == 24 / 5


def test_names_of_several_types_stay_what_they_are():
    loss = Loss([[0, 1], [1, 0]], ["a", 1], ["a", 1])
    assert expected_loss(["a", 1, 1], [1, 1, "a"], loss, n_bootstrap=0).value == 2 / 3


# --- the interval -----------------------------------------------------------------------------


def test_the_interval_of_a_proportion_is_that_of_the_binomial():
    from scipy import stats

    y = ["a"] * 2000
    acts = ["a"] * 1400 + ["b"] * 600
    result = expected_loss(y, acts, Loss.zero_one(["a", "b"]), n_bootstrap=20_000, level=0.9)
    low, high = stats.binom(2000, 0.3).ppf([0.05, 0.95]) / 2000
    assert result.low == pytest.approx(low, abs=1.5 / 2000)
    assert result.high == pytest.approx(high, abs=1.5 / 2000)


def test_counts_and_rows_give_the_same_interval():
    rng = np.random.default_rng(5)
    y, acts = rng.choice(["fraud", "fair"], 400), rng.choice(LOSS.acts, 400)
    by_counts = expected_loss(y, acts, LOSS, n_bootstrap=8000)
    per_row = LOSS.per_row(np.repeat(LOSS.matrix[None], 400, axis=0))
    by_rows = expected_loss(y, acts, per_row, n_bootstrap=8000)
    width = by_counts.high - by_counts.low
    assert by_rows.low == pytest.approx(by_counts.low, abs=0.05 * width)
    assert by_rows.high == pytest.approx(by_counts.high, abs=0.05 * width)


def test_the_interval_with_weights_is_that_of_a_loop_over_samples():
    rng = np.random.default_rng(1)
    y, acts = rng.choice(["fraud", "fair"], 300), rng.choice(LOSS.acts, 300)
    weight = rng.choice([1.0, 4.0], 300)
    result = expected_loss(y, acts, LOSS, sample_weight=weight, n_bootstrap=6000)
    losses = np.array([LOSS[k, a] for k, a in zip(y, acts, strict=True)])
    means = []
    for _ in range(6000):
        rows = rng.integers(300, size=300)
        means.append(np.average(losses[rows], weights=weight[rows]))
    low, high = np.quantile(means, [0.025, 0.975])
    assert result.low == pytest.approx(low, abs=0.06 * (high - low))
    assert result.high == pytest.approx(high, abs=0.06 * (high - low))


def test_the_same_seed_gives_the_same_interval_and_no_bootstrap_gives_none():
    first, second = (expected_loss(Y, ACTS, LOSS, random_state=7) for _ in range(2))
    assert first == second
    assert first.low <= first.value <= first.high
    none = expected_loss(Y, ACTS, LOSS, n_bootstrap=0)
    assert (none.low, none.high) == (None, None)
    assert "no interval" in str(none)


def test_many_rows_are_resampled_in_bounded_memory():
    rng = np.random.default_rng(0)
    n = 200_000
    truth, act = rng.integers(2, size=n), rng.integers(2, size=n)
    weight = rng.random(n) + 0.5
    tracemalloc.start()
    expected_loss(truth, act, Loss.zero_one([0, 1]), sample_weight=weight, n_bootstrap=10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6  # ten samples of all rows at once would be 80 MB for each of three arrays


# --- reading it -------------------------------------------------------------------------------


def test_a_constant_act_that_costs_nothing_leaves_nothing_to_compare_with():
    result = expected_loss(["fair"] * 3, ["pass", "stop", "pass"], LOSS)
    assert (result.constant_loss, result.normalised) == (0.0, None)
    assert "not comparable" in str(result)
    gain = Loss.gains([[2.0, 1.0]], ["rain"], ["umbrella", "walk"])
    assert expected_loss(["rain"], ["walk"], gain).normalised is None


def test_it_prints_in_words_and_travels_as_json():
    result = expected_loss(Y, ACTS, LOSS)
    assert str(result).startswith("Mean loss 4.8 on 5 rows (95 % interval ")
    assert json.loads(json.dumps(result.to_dict()))["value"] == 4.8


# --- mistakes ---------------------------------------------------------------------------------
