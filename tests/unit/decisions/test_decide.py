import tracemalloc
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from tests.oracles.decisions import bayes_act, expected_loss
from tests.strategies import problems

from credo import Loss, Posterior, decide
from credo.exceptions import InputError, LabelError, ShapeError

ABC = ["a", "b", "c"]
LOSS = Loss([[0, 2, 5], [1, 0, 2], [9, 3, 0]], ABC, ["x", "y", "z"])


@given(problems())
def test_it_equals_the_slow_twin(problem):
    rows, matrix, truths, acts = problem
    choice = decide(rows, Loss(matrix, truths, acts), labels=truths)
    for i, p in enumerate(rows):
        act, risk = bayes_act(p, matrix)
        assert choice.act_index[i] == act
        assert choice.risk[i] == pytest.approx(risk, abs=1e-12)
        table = [expected_loss(p, matrix, a) for a in range(len(acts))]
        np.testing.assert_allclose(choice.expected_losses[i], table, atol=1e-12)
        gap = sorted(table)[1] - min(table) if len(acts) > 1 else np.inf
        assert choice.margin[i] == pytest.approx(gap, abs=1e-12)


@given(problems())
def test_losses_per_row_equal_one_loss_for_each(problem):
    rows, matrix, truths, acts = problem
    matrices = np.stack([matrix + i * np.arange(len(acts)) for i in range(len(rows))])
    loss = Loss(matrices, truths, acts)
    choice = decide(rows, loss, labels=truths)
    for i, p in enumerate(rows):
        alone = decide(p, Loss(matrices[i], truths, acts), labels=truths)
        assert choice.acts[i] == alone.acts
        assert choice.risk[i] == pytest.approx(alone.risk, abs=1e-12)
        np.testing.assert_allclose(choice.expected_losses[i], alone.expected_losses, atol=1e-12)


def test_one_case_gives_plain_values():
    choice = decide([0.1, 0.2, 0.7], LOSS, labels=ABC)
    assert choice.acts == "z"
    assert choice.act_index == 2
    assert choice.risk == pytest.approx(0.1 * 5 + 0.2 * 2)
    assert choice.margin == pytest.approx((0.1 * 2 + 0.7 * 3) - 0.9)
    np.testing.assert_allclose(choice.expected_losses, [6.5, 2.3, 0.9])
    assert choice.n_rows == 1
    assert not choice.rejected
    assert repr(choice) == "Decisions('z', risk 0.9)"
    assert choice.to_dict()["acts"] == "z"
    assert choice.to_dict()["expected_losses"]["y"] == pytest.approx(2.3)


def test_rows_give_arrays_and_counts():
    p = [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    choice = decide(p, LOSS.with_reject(0.5), labels=ABC)
    assert choice.acts.tolist() == ["x", "z", "z"]
    assert choice.counts() == {"x": 1, "y": 0, "z": 2, "reject": 0}
    assert choice.rejected.tolist() == [False] * 3
    assert repr(choice) == "Decisions for 3 rows: x 1, y 0, z 2, reject 0; mean risk 0"
    assert choice.to_dict()["risk"] == [0, 0, 0]
    assert choice.loss.acts[-1] == "reject"


def test_a_posterior_and_its_array_give_the_same():
    p = np.random.default_rng(0).dirichlet(np.ones(3), size=100)
    by_array = decide(p, LOSS, labels=ABC)
    by_posterior = decide(Posterior.from_probabilities(p, ABC), LOSS)
    by_logs = decide(Posterior(np.log(p), ABC), LOSS)
    for other in (by_posterior, by_logs):
        np.testing.assert_array_equal(by_array.acts, other.acts)
        np.testing.assert_allclose(by_array.risk, other.risk, rtol=1e-12)


def test_single_precision_and_integers_are_taken():
    p = np.random.default_rng(2).dirichlet(np.ones(3), size=50).astype(np.float32)
    np.testing.assert_array_equal(
        decide(p, LOSS, labels=ABC).acts, decide(p.astype(float), LOSS, labels=ABC).acts
    )
    assert decide([[0, 1, 0]], LOSS, labels=ABC).acts.tolist() == ["y"]


def test_mixed_act_names_keep_their_types():
    loss = Loss.zero_one([0, 1]).with_reject(0.1)
    assert decide([[0.99, 0.01], [0.5, 0.5]], loss, labels=[0, 1]).acts.tolist() == [0, "reject"]


def test_no_rows_give_no_acts():
    choice = decide(np.empty((0, 3)), LOSS, labels=ABC)
    assert choice.n_rows == 0
    assert choice.acts.shape == choice.risk.shape == (0,)
    assert choice.expected_losses.shape == (0, 3)
    assert "mean risk undefined" in repr(choice)


def test_a_bad_row_far_down_is_named_by_its_number():
    p = np.tile([0.2, 0.3, 0.5], (40_000, 1))
    p[35_017] = [0.2, 0.3, 0.6]
    with pytest.raises(InputError, match="row 35017 sums to 1.1"):
        decide(p, LOSS, labels=ABC)


def test_a_million_rows_need_little_memory_beyond_the_answer():
    p = np.tile([0.2, 0.3, 0.5], (1_000_000, 1))
    tracemalloc.start()
    choice = decide(p, LOSS, labels=ABC)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    answer = choice.risk.nbytes + choice.act_index.nbytes
    assert peak - answer < 5e6


def test_an_array_changed_since_is_noticed_not_believed():
    p = np.array([[0.1, 0.2, 0.7], [0.8, 0.1, 0.1]])
    choice = decide(p, LOSS, labels=ABC)
    before = choice.expected_losses
    p[1] = [0.0, 10.0, 0.0]
    for name in ("expected_losses", "margin"):
        with pytest.raises(InputError, match="has been changed since. Decide again"):
            getattr(choice, name)
    np.testing.assert_allclose(choice.risk, before.min(axis=1))


def test_many_labels_and_acts_stay_within_a_few_megabytes():
    labels = list(range(300))
    p = np.full((5000, 300), 1 / 300)
    loss = Loss.zero_one(labels)
    tracemalloc.start()
    decide(p, loss, labels=labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8e6


def test_a_forbidden_act_does_not_blur_the_others():
    loss = Loss([[0, -50, 1e18], [0, -50, 0]], ["a", "b"], ["idle", "sell", "forbidden"])
    choice = decide([[0.5, 0.5]], loss, labels=["a", "b"])
    assert choice.acts.tolist() == ["sell"]
    assert choice.risk[0] == choice.expected_losses[0].min() == -50


def test_a_row_is_decided_alike_alone_and_beside_others():
    first = [[1, 0.5, 1e18], [1, 0.5, 0]]
    second = [[-1, 0, 0], [0, 0, 0]]
    names = ["a", "b"], ["x", "y", "z"]
    alone = decide([[0.5, 0.5]], Loss([first], *names), labels=["a", "b"])
    beside = decide([[0.5, 0.5]] * 2, Loss([first, second], *names), labels=["a", "b"])
    assert alone.acts[0] == beside.acts[0] == "y"


@given(problems(), st.integers(-3, 3))
def test_exact_arithmetic_agrees_at_any_magnitude(problem, power):
    rows, matrix, truths, acts = problem
    scaled = matrix * 10.0 ** (90 * power)
    choice = decide(rows, Loss(scaled, truths, acts), labels=truths)
    for i, p in enumerate(rows):
        exact = [
            sum(Fraction(p[k]) * Fraction(scaled[k, a]) for k in range(len(p)))
            for a in range(len(acts))
        ]
        sizes = [
            sum(Fraction(p[k]) * abs(Fraction(scaled[k, a])) for k in range(len(p)))
            for a in range(len(acts))
        ]
        best = min(exact)
        unit = Fraction(len(p) + 3, 2**52)
        lead = exact[choice.act_index[i]] - best
        assert lead <= unit * (
            sizes[choice.act_index[i]] + max(sizes[a] for a in range(len(acts)) if exact[a] == best)
        )


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p[:, ::-1].copy(),
        lambda p: 7 * p,
        lambda p: np.full_like(p, 1 / 3),
        lambda p: np.where(p > 0.5, p - 0.1, p + 0.05),
    ],
    ids=["turned", "scaled", "uniform", "softened"],
)
@pytest.mark.parametrize("dear", [1.0, 1e16])
def test_changes_that_lead_elsewhere_are_noticed(change, dear):
    p = np.array([[0.9, 0.05, 0.05], [0.1, 0.1, 0.8]])
    loss = Loss(np.c_[1 - np.eye(3), np.full(3, dear)], ABC, ["x", "y", "z", "dear"])
    choice = decide(p, loss, labels=ABC)
    p[:] = change(p)
    with pytest.raises(InputError, match="has been changed since"):
        choice.expected_losses  # noqa: B018


TABLE = {"c": [0.7, 0.1], "a": [0.1, 0.8], "b": [0.2, 0.1]}


@pytest.mark.parametrize(
    "table",
    [pd.DataFrame(TABLE), pl.DataFrame(TABLE), pa.table(TABLE), pd.DataFrame(TABLE).loc[0]],
    ids=["pandas", "polars", "arrow", "series"],
)
def test_a_table_brings_its_labels_and_is_not_relabelled_by_mistake(table):
    assert np.atleast_1d(decide(table, LOSS).acts).tolist()[0] == "z"
    for relabel in (partial(decide, table, LOSS), partial(Posterior.from_probabilities, table)):
        with pytest.raises(InputError, match="They are the same in another order"):
            relabel(labels=ABC)


def test_columns_of_other_names_may_be_labelled():
    renamed = pd.DataFrame({"p1": [0.9], "p2": [0.05], "p3": [0.05]})
    assert decide(renamed, LOSS, labels=ABC).acts.tolist() == ["x"]


HALF = [[0.5, 0.5, 0.5]]
NO_TABLE = "must be numbers in a rectangular array"


@pytest.mark.parametrize(
    ("p", "labels", "error", "message"),
    [
        ([0.5, 0.5, 0.0], None, InputError, "Which column is which label"),
        ([0.5, 0.5], ["a", "b"], LabelError, "differ in 'c'"),
        ([0.5, 0.5, 0.0], ["a", "b", "C"], LabelError, "differ in 'C'. Did you mean 'c'"),
        ([0.5, 0.5], ABC, ShapeError, "K = 3"),
        (HALF, ABC, InputError, "decide: row 0 sums to 1.5, not to 1. Divide the rows"),
        ([[1.0, 0, 0], [np.nan, 0, 1]], ABC, InputError, "row 1 has NaN"),
        ([[1.0, 0, 0], [-0.5, 0.5, 1]], ABC, InputError, "row 1 has the negative entry -0.5"),
        ([["p", "q", "r"]], ABC, InputError, "must be numbers"),
        (np.array([[1j, 0, 0]]), ABC, InputError, "must be numbers"),
        ([[0.5, 0.5, 0.0], [1.0]], ABC, InputError, NO_TABLE),
        ([[10**400, 1, 0]], ABC, InputError, NO_TABLE),
        (np.ma.array([[0.5, 0.5, 0.0]], mask=[[0, 1, 0]]), ABC, InputError, NO_TABLE),
        (Posterior.from_probabilities([0, 0, 1], ABC), ABC, InputError, "leave labels out"),
    ],
    ids=range(13),
)
def test_bad_input_is_answered_with_the_remedy(p, labels, error, message):
    with pytest.raises(error, match=message):
        decide(p, LOSS, labels=labels)


def test_the_loss_must_be_a_loss_and_fit_the_rows():
    with pytest.raises(InputError, match="needs a Loss with named truths and acts. Got ndarray"):
        decide([0.5, 0.5], np.eye(2), labels=["a", "b"])
    with pytest.raises(ShapeError, match="2 matrices for 1 rows"):
        decide([[0.5, 0.5, 0]], LOSS.per_row(np.ones((2, 3, 3))), labels=ABC)


def test_ties_go_to_the_first_act():
    loss = Loss([[1, 1, 1]], ["a"], ["x", "y", "z"])
    assert decide([1.0], loss, labels=["a"]).acts == "x"
    signed = Loss([[-0.3, -0.1 - 0.2]], ["a"], ["x", "y"])  # they differ by rounding only
    assert signed.matrix[0, 1] < signed.matrix[0, 0]
    assert decide([1.0], signed, labels=["a"]).acts == "x"
    both = signed.per_row(signed.matrix[None])
    assert decide([[1.0]], both, labels=["a"]).acts.tolist() == ["x"]


@pytest.mark.parametrize("n_labels", range(2, 40))
def test_sums_that_differ_by_rounding_only_are_tied(n_labels):
    p = np.full(n_labels, 1 / n_labels)
    loss = Loss.zero_one(range(n_labels)).with_reject(1 - 1 / n_labels)
    assert decide(p, loss, labels=range(n_labels)).acts == 0


def test_a_difference_beyond_rounding_decides_however_small():
    p = 0.5 - 2e-15
    loss = Loss([[0, 1], [1, 0]], ["a", "b"], ["x", "y"])
    assert decide([p, 1 - p], loss, labels=["a", "b"]).acts == "y"
    loss = Loss([[1e6, 0], [0, 1e-300]], ["a", "b"], ["x", "y"])
    assert decide(Posterior.from_probabilities([1e-300, 1.0], ["a", "b"]), loss).acts == "y"
