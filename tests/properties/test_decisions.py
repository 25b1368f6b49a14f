"""Laws of decisions. Problems are exact in binary, so that ties are ties."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.strategies import LETTERS, dyadic_rows, problems, simplices

from credo import Loss, Posterior, _checks, decide
from credo.decisions import value_of_perfect_information, value_of_test
from credo.exceptions import InputError


@given(problems())
def test_the_bayes_act_is_the_first_of_the_least_expected_loss(problem):
    rows, matrix, truths, acts = problem
    choice = decide(rows, Loss(matrix, truths, acts), labels=truths)
    np.testing.assert_array_equal(choice.act_index, (rows @ matrix).argmin(axis=1))
    np.testing.assert_array_equal(choice.risk, (rows @ matrix).min(axis=1))


@given(problems(), st.floats(1e-6, 1e6))
def test_scaling_the_loss_changes_no_act_and_scales_the_risk(problem, factor):
    rows, matrix, truths, acts = problem
    plain = decide(rows, Loss(matrix, truths, acts), labels=truths)
    scaled = decide(rows, Loss(matrix * factor, truths, acts), labels=truths)
    np.testing.assert_array_equal(plain.acts, scaled.acts)
    np.testing.assert_allclose(scaled.risk, plain.risk * factor, rtol=1e-9, atol=1e-9 * factor)


@given(problems(), st.floats(0, 150), st.floats(0, 50))
def test_rejecting_never_becomes_rarer_as_it_gets_cheaper(problem, above, discount):
    rows, matrix, truths, acts = problem
    loss, least = Loss(matrix, truths, acts), matrix.min()
    dear = decide(rows, loss.with_reject(least + above), labels=truths).rejected
    cost = max(least + above - discount, least)
    cheap = decide(rows, loss.with_reject(cost), labels=truths).rejected
    assert (cheap | ~dear).all()


@given(problems(), st.data())
def test_a_reject_act_is_refused_exactly_if_it_wins_whatever_is_certain(problem, data):
    _, matrix, truths, acts = problem
    costs = [data.draw(st.floats(-150, 150)) for _ in truths]
    wide = Loss(np.column_stack([matrix, costs]), truths, [*acts, "reject"])
    certain = decide(np.eye(len(truths)), wide, labels=truths)  # it wins elsewhere too, then
    others = certain.expected_losses[:, :-1].min(axis=1)
    if (certain.expected_losses[:, -1] < others).all():
        with pytest.raises(InputError, match="every case would be rejected"):
            Loss(matrix, truths, acts).with_reject(costs)
    else:
        assert Loss(matrix, truths, acts).with_reject(costs).reject == "reject"


@given(problems(), st.data())
def test_information_is_never_worth_less_than_nothing(problem, data):
    rows, matrix, truths, acts = problem
    loss = Loss(matrix, truths, acts)
    table = data.draw(dyadic_rows(2, n_rows=len(truths)))
    value = value_of_test(rows, loss, table, labels=truths).value
    perfect = value_of_perfect_information(rows, loss, labels=truths)
    assert (value >= 0).all()
    assert (perfect >= value - 1e-9).all()


@given(problems(), st.randoms(use_true_random=False))
def test_label_order_never_matters(problem, random):
    rows, matrix, truths, acts = problem
    columns, lines = list(range(len(truths))), list(range(len(truths)))
    random.shuffle(columns)
    random.shuffle(lines)
    plain = decide(rows, Loss(matrix, truths, acts), labels=truths)
    shuffled = decide(
        rows[:, columns],
        Loss(matrix[lines], [truths[i] for i in lines], acts),
        labels=[truths[i] for i in columns],
    )
    np.testing.assert_array_equal(plain.acts, shuffled.acts)
    np.testing.assert_allclose(plain.risk, shuffled.risk, atol=1e-12)


@given(problems(), st.randoms(use_true_random=False))
def test_row_order_and_block_borders_never_matter(problem, random):
    rows, matrix, truths, acts = problem
    loss = Loss(matrix, truths, acts)
    repeated = np.tile(rows, (20_000 // len(rows), 1))
    order = list(range(len(rows)))
    random.shuffle(order)
    many = decide(repeated, loss, labels=truths)
    few = decide(rows[order], loss, labels=truths)
    np.testing.assert_array_equal(many.act_index[: len(rows)][order], few.act_index)
    np.testing.assert_array_equal(many.act_index[-len(rows) :][order], few.act_index)


@given(problems())
def test_one_case_at_a_time_gives_the_same(problem):
    rows, matrix, truths, acts = problem
    loss = Loss(matrix, truths, acts)
    together = decide(Posterior.from_probabilities(rows, truths), loss)
    alone = [decide(Posterior.from_probabilities(row, truths), loss).acts for row in rows]
    assert together.acts.tolist() == alone


@given(st.integers(2, 5).flatmap(simplices), st.lists(st.floats(0.01, 1), min_size=5, max_size=5))
def test_a_prior_shift_and_its_loss_are_two_sides_of_one_coin(p, weights):
    # Weighting the loss rows by w is deciding under priors re-weighted by w.
    labels = list(LETTERS[: p.shape[1]])
    w = np.array(weights[: len(labels)])
    old = np.full(len(labels), 1 / len(labels))
    posterior = Posterior.from_probabilities(p, labels)
    shifted = posterior.with_priors(old, w / w.sum())
    loss = Loss.zero_one(labels)
    weighted = Loss(w[:, None] * loss.matrix, labels, labels)
    a, b = decide(shifted, loss), decide(posterior, weighted)
    clear = a.margin > 1e-9
    np.testing.assert_array_equal(a.acts[clear], b.acts[clear])


def test_the_answer_is_the_same_for_every_block_size(monkeypatch):
    p = np.random.default_rng(0).dirichlet(np.ones(4), size=5000)
    loss = Loss(np.random.default_rng(1).normal(size=(4, 5)), list("abcd"), list("vwxyz"))
    expected = decide(p, loss, list("abcd"))
    for size in (1, 7, 4999):
        monkeypatch.setattr(_checks, "block_rows", lambda _, size=size: size)
        again = decide(p, loss, list("abcd"))
        np.testing.assert_array_equal(again.acts, expected.acts)
        assert again.risk == pytest.approx(expected.risk, rel=1e-14)
