import json

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.oracles.decisions import bayes_act
from tests.strategies import dyadic_rows, problems

from credo import Loss, Posterior
from credo.decisions import value_of_perfect_information, value_of_test
from credo.exceptions import InputError, LabelError, ShapeError

LOSS = Loss([[0, 100], [1, 0]], ["cancer", "normal"], ["treat", "discharge"])
PRIOR = Posterior.from_probabilities([0.004, 0.996], ["cancer", "normal"])
TEST = {"cancer": {"+": 0.8, "-": 0.2}, "normal": {"-": 0.9, "+": 0.1}}


def slow_value(p, matrix, table):
    """Risk now minus the expected risk after the test, outcome by outcome."""
    after = 0.0
    for outcome in range(table.shape[1]):
        joint = p * table[:, outcome]
        if joint.sum() > 0:
            after += joint.sum() * bayes_act(joint / joint.sum(), matrix)[1]
    return bayes_act(p, matrix)[1] - after


@given(problems())
def test_perfect_information_is_worth_the_risk_that_knowing_removes(problem):
    rows, matrix, truths, acts = problem
    value = value_of_perfect_information(rows, Loss(matrix, truths, acts), labels=truths)
    for p, v in zip(rows, value, strict=True):
        expected = bayes_act(p, matrix)[1] - p @ matrix.min(axis=1)
        assert v == pytest.approx(expected, abs=1e-9)
        assert v >= 0


@given(problems(), st.data())
def test_a_test_is_worth_what_the_slow_twin_says_and_never_less_than_nothing(problem, data):
    rows, matrix, truths, acts = problem
    table = data.draw(dyadic_rows(3, n_rows=len(truths)))
    loss = Loss(matrix, truths, acts)
    result = value_of_test(rows, loss, table, labels=truths)
    perfect = value_of_perfect_information(rows, loss, labels=truths)
    for i, p in enumerate(rows):
        assert result.value[i] == pytest.approx(slow_value(p, matrix, table), abs=1e-9)
        assert 0 <= result.value[i] <= perfect[i] + 1e-9


def test_the_cancer_test_by_hand():
    result = value_of_test(PRIOR, LOSS, TEST, price=0.1)
    plus, minus = 0.004 * 0.8 + 0.996 * 0.1, 0.004 * 0.2 + 0.996 * 0.9
    np.testing.assert_allclose(result.outcome_probabilities, [plus, minus])
    assert result.acts.tolist() == ["treat", "discharge"]
    risk_after = 0.996 * 0.1 * 1 + 0.004 * 0.2 * 100
    assert result.risk_now == pytest.approx(0.4)
    assert result.risk_after == pytest.approx(risk_after)
    assert result.value == pytest.approx(0.4 - risk_after)
    assert result.net == pytest.approx(0.3 - risk_after)
    assert result.buy is True
    assert result.posterior_after("+")["cancer"] == pytest.approx(0.0032 / plus)
    plain = json.loads(json.dumps(result.to_dict()))
    assert (plain["acts"], plain["buy"], plain["outcomes"]) == (
        result.acts.tolist(),
        True,
        ["+", "-"],
    )


def test_too_dear_a_test_is_not_bought():
    result = value_of_test(PRIOR, LOSS, TEST, price=0.5)
    assert not result.buy
    assert "do not buy" in str(result)


def test_a_test_for_many_rows():
    rows = Posterior.from_probabilities([[0.004, 0.996], [0.5, 0.5]], ["cancer", "normal"])
    result = value_of_test(rows, LOSS, TEST, price=0.1)
    assert result.buy.tolist() == [True, False]
    assert result.acts.shape == result.outcome_probabilities.shape == (2, 2)
    assert str(result) == "A test for 2 rows, worth its price for 1 of them"
    assert result.posterior_after("-").n_rows == 2


def test_perfect_and_useless_tests():
    perfect = value_of_test(PRIOR, LOSS, np.eye(2))
    assert perfect.value == pytest.approx(value_of_perfect_information(PRIOR, LOSS))
    useless = value_of_test(PRIOR, LOSS, [[0.3, 0.7], [0.3, 0.7]], outcomes=["u", "v"])
    assert useless.value == 0
    assert not useless.buy


def test_an_impossible_outcome_keeps_the_act_of_now_and_has_no_posterior():
    result = value_of_test(PRIOR, LOSS, [[1, 0], [1, 0]], outcomes=["always", "never"])
    assert result.acts.tolist() == ["discharge", "discharge"]
    with pytest.raises(InputError, match="outcome 'never' has probability 0"):
        result.posterior_after("never")


@pytest.mark.parametrize(
    ("likelihood", "outcomes", "error", "message"),
    [
        ({"cancer": {"+": 1.0}}, None, LabelError, "needs 'normal'"),
        ({**TEST, "flu": {"+": 1, "-": 0}}, None, LabelError, "does not know 'flu'"),
        ({"cancer": {"+": 1.0}, "normal": {"?": 1.0}}, None, LabelError, r"needs '\+'"),
        ([[0.5, 0.6], [0.5, 0.5]], None, InputError, r"p\(outcome \| 'cancer'\): it sums to 1.1"),
        ([[0.5, 0.5]], None, ShapeError, "one row per truth, 2"),
        ([[0.5, 0.5], [0.5, 0.5]], ["u"], ShapeError, r"column per outcome, 1. Got shape \(2, 2\)"),
    ],
)
def test_a_likelihood_that_does_not_fit_is_refused(likelihood, outcomes, error, message):
    with pytest.raises(error, match=message):
        value_of_test(PRIOR, LOSS, likelihood, outcomes=outcomes)


def test_losses_per_row_have_no_single_answer():
    with pytest.raises(InputError, match="one matrix for all rows"):
        value_of_test(PRIOR, LOSS.per_row(np.ones((1, 2, 2))), TEST)


def test_text_and_matrices_are_refused():
    with pytest.raises(InputError, match="must be numbers"):
        value_of_test([["p", "q"]], LOSS, TEST, labels=["cancer", "normal"])
    for call in (value_of_perfect_information, lambda p, loss: value_of_test(p, loss, TEST)):
        with pytest.raises(InputError, match="needs a Loss with named truths and acts"):
            call(PRIOR, np.eye(2))


def test_outcomes_may_be_an_array_and_rows_need_names():
    result = value_of_test(PRIOR, LOSS, TEST, outcomes=np.array(["+", "-"]))
    assert result.outcomes == ("+", "-")
    with pytest.raises(InputError, match="pass an array and outcomes"):
        value_of_test(PRIOR, LOSS, {"cancer": [0.8, 0.2], "normal": [0.1, 0.9]})
