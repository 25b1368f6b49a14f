"""H6: the Bayes error and risk when the feature is discrete are sums, not integrals."""

import math

import numpy as np
import pytest

from credo import Loss
from credo.decisions import bayes_error, regions
from credo.families import Bernoulli, Categorical, Poisson

CALM, BUSY = 2.0, 6.0
PRIORS = [0.7, 0.3]
LOSSES = {
    "zero-one": Loss.zero_one(["calm", "busy"]),
    "dear misses": Loss([[0, 1], [20, 0]], ["calm", "busy"], ["wait", "help"]),
    "reject": Loss.zero_one(["calm", "busy"]).with_reject(0.2),
}


def poisson(rate, x):
    return math.exp(x * math.log(rate) - rate - math.lgamma(x + 1))


def table(n=200):
    """Prior times probability of each count, rows are counts."""
    return np.array([[0.7 * poisson(CALM, x), 0.3 * poisson(BUSY, x)] for x in range(n)])


@pytest.mark.parametrize("name", LOSSES)
def test_h6_the_bayes_risk_of_counts_is_a_sum_of_least_losses(name):
    loss = LOSSES[name]
    losses = table() @ loss.matrix
    cut = regions({"calm": Poisson(CALM), "busy": Poisson(BUSY)}, PRIORS, loss)
    assert cut.bayes_risk == pytest.approx(losses.min(axis=1).sum(), rel=1e-12)
    for act, values in cut.values().items():
        assert all(loss.acts[losses[int(x)].argmin()] == act for x in values)
    found = bayes_error({"calm": Poisson(CALM), "busy": Poisson(BUSY)}, PRIORS, loss=loss)
    assert (found.value, found.method) == (cut.bayes_risk, "sum")


def test_h6_the_probability_of_error_is_what_the_other_class_has_in_a_region():
    # 0.7 e^-2 2^x = 0.3 e^-6 6^x at x = (4 + log(7 / 3)) / log 3, between 4 and 5.
    cut = regions({"calm": Poisson(CALM), "busy": Poisson(BUSY)}, PRIORS, LOSSES["zero-one"])
    assert cut.thresholds.tolist() == [math.floor((4 + math.log(7 / 3)) / math.log(3)) + 0.5]
    error = table()[:5, 1].sum() + table()[5:, 0].sum()
    assert cut.probability_of_error == pytest.approx(error, rel=1e-12)


def test_h6_with_reject_errors_are_those_of_the_cases_that_are_decided():
    cut = regions({"calm": Poisson(CALM), "busy": Poisson(BUSY)}, PRIORS, LOSSES["reject"])
    joint = table()
    total = joint.sum(axis=1)
    rejected = joint.max(axis=1) < 0.8 * total
    assert cut.values()["reject"].tolist() == np.flatnonzero(rejected).tolist()
    assert cut.shares["reject"] == pytest.approx(total[rejected].sum(), rel=1e-12)
    error = joint[~rejected].min(axis=1).sum()
    assert cut.probability_of_error == pytest.approx(error, rel=1e-12)


def test_h6_codes_of_categories_form_sets_that_need_not_be_intervals():
    sick, well = [0.1, 0.6, 0.0, 0.3], [0.6, 0.1, 0.0, 0.3]
    loss = Loss([[0, 3], [1, 0]], ["sick", "well"], ["treat", "leave"])
    cut = regions({"sick": Categorical(sick), "well": Categorical(well)}, [0.2, 0.8], loss)
    # Leaving costs 3 × 0.2 sick(x), treating 0.8 well(x): 0.06 < 0.48, 0.36 > 0.08, 0.18 < 0.24.
    assert {act: v.tolist() for act, v in cut.values().items()} == {"treat": [1], "leave": [0, 3]}
    least = np.minimum(0.8 * np.array(well), 0.6 * np.array(sick)).sum()
    assert cut.bayes_risk == pytest.approx(least, rel=1e-12)


def test_h6_a_feature_of_two_values_by_hand():
    cut = regions({"a": Bernoulli(0.1), "b": Bernoulli(0.8)}, [0.5, 0.5], Loss.zero_one(["a", "b"]))
    assert {act: v.tolist() for act, v in cut.values().items()} == {"a": [0], "b": [1]}
    assert cut.probability_of_error == pytest.approx(0.5 * 0.1 + 0.5 * 0.2)
