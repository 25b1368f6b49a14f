"""Textbook B2 to B6: losses, rules and the reject option."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from credo import Loss, Posterior, decide
from credo.decisions import (
    likelihood_ratio_test,
    likelihood_ratio_threshold,
    maximum_posterior,
    reject_below,
)

CANCER = Loss.from_dict(
    {
        ("cancer", "treat"): 0,
        ("cancer", "discharge"): 1000,
        ("normal", "treat"): 1,
        ("normal", "discharge"): 0,
    }
)
LABELS = ["cancer", "normal"]


def two(p):
    """Rows (p, 1 − p)."""
    return np.column_stack([p, 1 - np.asarray(p)])


def test_b2_treat_when_cancer_is_more_probable_than_one_in_1001():
    p = np.array([0.0, 0.9 / 1001, 1.1 / 1001, 0.5, 1.0])
    assert decide(two(p), CANCER, LABELS).acts.tolist() == [
        "discharge",
        "discharge",
        "treat",
        "treat",
        "treat",
    ]
    assert decide([1 / 1001, 1000 / 1001], CANCER, LABELS).margin == pytest.approx(0, abs=1e-12)


def test_b2_the_conditional_risk_is_the_expected_loss():
    losses = decide([0.01, 0.99], CANCER, LABELS).expected_losses
    np.testing.assert_allclose(losses, [0.99, 10.0])


def test_b2_the_bayes_risk_is_the_expectation_of_the_least_conditional_risk():
    # x | cancer ~ N(1, 1), x | normal ~ N(-1, 1); average the risk of decide over p(x).
    priors = {"cancer": 0.1, "normal": 0.9}

    def density(x):
        return 0.1 * norm.pdf(x, 1) + 0.9 * norm.pdf(x, -1)

    def integrand(x):
        likelihood = {"cancer": norm.pdf(x, 1), "normal": norm.pdf(x, -1)}
        return decide(Posterior.from_bayes(priors, likelihood), CANCER).risk * density(x)

    # By hand: treat above t where 1000 · 0.1 · N(x; 1) = 1 · 0.9 · N(x; -1).
    threshold = np.log(0.9 / 100) / 2
    by_hand = 100 * norm.cdf(threshold, 1) + 0.9 * norm.sf(threshold, -1)
    averaged = sum(
        quad(integrand, a, b, epsabs=1e-10)[0] for a, b in [(-12, threshold), (threshold, 12)]
    )
    assert averaged == pytest.approx(by_hand, abs=1e-8)


def test_b3_a_cost_per_class_weighs_the_posterior():
    costs = {"a": 1.0, "b": 5.0, "c": 2.0}
    p = np.random.default_rng(0).dirichlet(np.ones(3), size=1000)
    acts = decide(p, Loss.class_costs(costs), list(costs)).acts
    weighted = (p * list(costs.values())).argmax(axis=1)
    np.testing.assert_array_equal(acts, np.array(list(costs))[weighted])


def test_b3_equal_costs_give_maximum_posterior():
    p = np.random.default_rng(1).dirichlet(np.ones(3), size=1000)
    posterior = Posterior.from_probabilities(p, list("abc"))
    equal = decide(posterior, Loss.class_costs(dict.fromkeys("abc", 7.0)))
    np.testing.assert_array_equal(equal.acts, posterior.mode())
    np.testing.assert_array_equal(equal.acts, maximum_posterior(posterior).acts)


def test_b3_if_x_and_y_are_independent_the_prior_decides():
    priors = {"a": 0.2, "b": 0.5, "c": 0.3}
    same = np.random.default_rng(2).random(50)
    posterior = Posterior.from_bayes(priors, dict.fromkeys(priors, same))
    assert set(maximum_posterior(posterior).acts) == {"b"}


@pytest.mark.parametrize(
    "matrix", [[[0, 1], [1, 0]], [[0, 1000], [1, 0]], [[2, 7], [5, 1]], [[-1, 3], [0.5, -2]]]
)
def test_b4_the_binary_rule_is_a_likelihood_ratio_test(matrix):
    loss = Loss(matrix, [0, 1], ["say 0", "say 1"])
    priors = {0: 0.3, 1: 0.7}
    threshold = likelihood_ratio_threshold(loss, priors)
    (l00, l01), (l10, l11) = matrix
    assert threshold == pytest.approx((l10 - l11) * 0.7 / ((l01 - l00) * 0.3))
    x = np.linspace(-6, 6, 2001)
    zero, one = norm.pdf(x, -1, 1), norm.pdf(x, 1.5, 2)
    by_posterior = decide(Posterior.from_bayes(priors, {0: zero, 1: one}), loss).acts
    by_ratio = np.where(zero / one > threshold, "say 0", "say 1")
    np.testing.assert_array_equal(by_posterior, by_ratio)
    by_test = likelihood_ratio_test(np.log(zero) - np.log(one), loss, priors).acts
    np.testing.assert_array_equal(by_test, by_ratio)


@pytest.mark.parametrize("n_labels", [2, 3, 7])
def test_b5_a_threshold_on_the_posterior_is_a_reject_cost(n_labels):
    labels = list(range(n_labels))
    p = np.random.default_rng(3).dirichlet(np.ones(n_labels), size=2000)
    for cost in (0.05, 0.2, 0.45):
        by_loss = decide(p, Loss.zero_one(labels).with_reject(cost), labels)
        by_threshold = reject_below(1 - cost)(p, labels)
        np.testing.assert_array_equal(by_loss.rejected, by_threshold.rejected)
        np.testing.assert_array_equal(by_loss.rejected, ~(p.max(axis=1) > 1 - cost))


@pytest.mark.parametrize("n_labels", range(2, 30))
def test_b5_a_dear_reject_is_never_used_and_a_free_one_always(n_labels):
    labels = list(range(n_labels))
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.full(n_labels, 0.5), size=300)
    p[0] = 1 / n_labels  # the least certain case there is
    certain = np.eye(n_labels)
    dear = Loss.zero_one(labels).with_reject(1 - 1 / n_labels)
    assert not decide(p, dear, labels).rejected.any()
    free = Loss.zero_one(labels).with_reject(0.0)
    assert decide(p, free, labels).rejected.all()
    assert not decide(certain, free, labels).rejected.any()


def test_b6_more_acts_than_truths():
    loss = Loss(
        [[0, 4, 10, 2], [8, 3, 0, 2]],
        ["ill", "well"],
        ["operate", "medicate", "nothing", "wait and see"],
    )
    p = np.linspace(0, 1, 101)
    acts = decide(two(p), loss, ["ill", "well"]).acts
    by_hand = [loss.acts[np.argmin([8 * (1 - q), 4 * q + 3 * (1 - q), 10 * q, 2])] for q in p]
    assert acts.tolist() == by_hand
    assert "medicate" not in acts  # waiting is always better, and the report says so
    assert [found.act for found in loss.dominated_acts()] == ["medicate"]


def test_b6_fewer_acts_than_truths():
    loss = Loss([[0, 3], [1, 1], [5, 0]], ["a", "b", "c"], ["left", "right"])
    p = np.random.default_rng(5).dirichlet(np.ones(3), size=500)
    left, right = p @ [0, 1, 5], p @ [3, 1, 0]
    np.testing.assert_array_equal(
        decide(p, loss, list("abc")).acts, np.where(left <= right, "left", "right")
    )
