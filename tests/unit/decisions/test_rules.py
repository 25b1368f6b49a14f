import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.strategies import LETTERS, simplices

from credo import Loss, Posterior
from credo.decisions import (
    likelihood_ratio_test,
    likelihood_ratio_threshold,
    reject_below,
)
from credo.exceptions import InputError

LOSS = Loss([[1, 30], [4, 2]], ["sick", "well"], ["treat", "send home"])


@given(st.integers(2, 5).flatmap(simplices), st.floats(0.0, 1.0))
def test_rejecting_below_a_threshold_equals_its_definition(p, theta):
    labels = list(LETTERS[: p.shape[1]])
    choice = reject_below(theta)(Posterior.from_probabilities(p, labels))
    top = p.max(axis=1)
    clear = np.abs(top - theta) > 1e-12
    np.testing.assert_array_equal(choice.rejected[clear], (top < theta)[clear])


def test_at_the_threshold_itself_nothing_is_rejected():
    for theta in np.linspace(0.5, 1, 101):
        choice = reject_below(theta)([theta, 1 - theta], labels=["a", "b"])
        assert choice.acts == "a"


def test_the_reject_rule_is_chows_rule():
    rule = reject_below(0.8, name="ask")
    assert rule.loss(["a", "b"]).acts == ("a", "b", "ask")
    assert rule.loss(["a", "b"])["a", "ask"] == pytest.approx(0.2)


@pytest.mark.parametrize("theta", [-0.1, 1.1, np.nan])
def test_a_threshold_is_a_probability(theta):
    with pytest.raises(InputError, match="threshold of reject_below must be"):
        reject_below(theta)


@given(st.floats(-30, 30), st.floats(0.01, 0.99))
def test_the_ratio_test_is_a_threshold_on_the_ratio(log_ratio, prior):
    priors = [prior, 1 - prior]
    threshold = likelihood_ratio_threshold(LOSS, priors)
    choice = likelihood_ratio_test(log_ratio, LOSS, priors)
    if abs(log_ratio - np.log(threshold)) > 1e-9:
        assert (choice.acts == "treat") == (log_ratio > np.log(threshold))


def test_an_infinite_ratio_is_certainty():
    choice = likelihood_ratio_test([np.inf, -np.inf], LOSS, [0.5, 0.5])
    assert choice.acts.tolist() == ["treat", "send home"]
    np.testing.assert_array_equal(choice.risk, [1, 2])


@pytest.mark.parametrize(
    ("matrix", "priors", "threshold"),
    [
        ([[0, 1], [1, 0]], [0.5, 0.5], 1.0),
        ([[0, 1], [1, 0]], [0.0, 1.0], np.inf),
        ([[0, 1], [1, 0]], [1.0, 0.0], 0.0),
        ([[0, 1], [0, 0]], [0.5, 0.5], 0.0),  # the first act is never worse
        ([[0, 1], [-1, 0]], [0.5, 0.5], 0.0),
        ([[0, 0], [1, 0]], [0.5, 0.5], np.inf),  # the second act is never worse
        ([[0, -1], [1, 0]], [0.5, 0.5], np.inf),
        ([[0, -1], [0, 0]], [0.5, 0.5], np.inf),
        ([[0, 0], [0, 0]], [0.5, 0.5], 0.0),
    ],
)
def test_thresholds_at_the_edges_agree_with_decide(matrix, priors, threshold):
    loss = Loss(matrix, ["a", "b"], ["x", "y"])
    assert likelihood_ratio_threshold(loss, priors) == threshold
    acts = likelihood_ratio_test([-5.0, 5.0], loss, priors).acts
    np.testing.assert_array_equal(acts == "x", np.exp([-5.0, 5.0]) > threshold)


def test_acts_in_the_wrong_order_are_an_error():
    turned = Loss([[30, 1], [2, 4]], ["sick", "well"], ["send home", "treat"])
    with pytest.raises(InputError, match="'send home' suits truth 'well'.*in the order of the"):
        likelihood_ratio_threshold(turned, [0.5, 0.5])


@pytest.mark.parametrize("call", [likelihood_ratio_threshold])
def test_two_truths_and_two_acts_are_needed(call):
    with pytest.raises(InputError, match=r"shape \(2, 2\). Got shape \(3, 3\)"):
        call(Loss.zero_one(["a", "b", "c"]), [0.2, 0.3, 0.5])
    with pytest.raises(InputError, match=r"shape \(2, 2\)"):
        likelihood_ratio_test(0.0, LOSS.with_reject(1), [0.5, 0.5])


def test_tiny_losses_and_priors_do_not_underflow():
    loss = Loss([[0, 1e-300], [1e-300, 0]], ["a", "b"], ["x", "y"])
    assert likelihood_ratio_threshold(loss, [1e-20, 1 - 1e-20]) == pytest.approx(1e20, rel=1e-12)


def test_a_matrix_is_no_loss():
    with pytest.raises(InputError, match="needs a Loss with named truths and acts"):
        likelihood_ratio_threshold([[0, 1], [1, 0]], [0.5, 0.5])
