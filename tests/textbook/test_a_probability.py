"""Textbook part A: probability."""

import numpy as np
import pytest
from scipy.stats import norm

from credo import JointTable, Posterior

WEATHER = JointTable(
    [[0.4, 0.2], [0.1, 0.3]], {"weather": ["sun", "rain"], "temperature": ["hot", "cold"]}
)


def test_a1_bayes_rule_with_a_discrete_observation():
    posterior = Posterior.from_bayes(
        {"disease": 0.004, "healthy": 0.996}, {"disease": 0.8, "healthy": 0.1}
    )
    assert posterior["disease"] == pytest.approx(0.0032 / (0.0032 + 0.0996), rel=1e-14)
    assert posterior["disease"] == pytest.approx(0.031128, abs=5e-7)


def test_a2_sum_rule_and_conditionals_from_a_joint_table():
    assert WEATHER.marginal("temperature").posterior().to_dict() == pytest.approx(
        {"hot": 0.5, "cold": 0.5}
    )
    assert WEATHER.marginal("weather").posterior().to_dict() == pytest.approx(
        {"sun": 0.6, "rain": 0.4}
    )
    assert WEATHER.given(temperature="hot").posterior()["sun"] == pytest.approx(0.8)
    assert WEATHER.given(temperature="cold").posterior()["rain"] == pytest.approx(0.6)


def test_a2_product_rule_gives_the_joint_back_either_way_round():
    for state, other in [("sun", "hot"), ("rain", "cold")]:
        joint = WEATHER[{"weather": state, "temperature": other}]
        forward = WEATHER.given(temperature=other)[{"weather": state}]
        backward = WEATHER.given(weather=state)[{"temperature": other}]
        assert joint == pytest.approx(forward * WEATHER[{"temperature": other}])
        assert joint == pytest.approx(backward * WEATHER[{"weather": state}])


def test_a3_chain_rule_and_marginalisation_over_several_variables():
    # Fever and a stiff neck given an illness, multiplied out by hand.
    p_ill = {"flu": 0.1, "none": 0.9}
    p_fever, p_neck = {"flu": 0.7, "none": 0.02}, {"flu": 0.2, "none": 0.05}
    cells = np.empty((2, 2, 2))
    for i, ill in enumerate(p_ill):
        for j, fever in enumerate([p_fever[ill], 1 - p_fever[ill]]):
            for k, neck in enumerate([p_neck[ill], 1 - p_neck[ill]]):
                cells[i, j, k] = p_ill[ill] * fever * neck
    joint = JointTable(cells, {"ill": ["flu", "none"], "fever": [1, 0], "neck": [1, 0]})

    first, second, third = joint.chain()
    np.testing.assert_allclose(first[:, None, None] * second[..., None] * third, cells)
    np.testing.assert_allclose(second[:, 0], [0.7, 0.02])
    np.testing.assert_allclose(third[:, :, 0], [[0.2, 0.2], [0.05, 0.05]])

    p_fever_alone = 0.1 * 0.7 + 0.9 * 0.02
    assert joint[{"fever": 1}] == pytest.approx(p_fever_alone)
    assert joint.given(fever=1).marginal("ill").posterior()["flu"] == pytest.approx(
        0.07 / p_fever_alone
    )
    assert not joint.are_independent("fever", "neck")
    assert joint.are_independent("fever", "neck", given=["ill"])


def test_a3_independence_of_the_weather_table_fails():
    assert not WEATHER.are_independent("weather", "temperature")
    product = np.outer([0.6, 0.4], [0.5, 0.5])
    assert JointTable(product, WEATHER.states).are_independent("weather", "temperature")


def test_a4_priors_by_frequency():
    y = ["other"] * 19 + ["player"]
    assert Posterior.from_frequencies(y).to_dict() == {"other": 0.95, "player": 0.05}


def test_a4_a_tall_person_is_still_probably_no_basketball_player():
    priors = {"player": 0.05, "other": 0.95}
    mean, sd = {"player": 2.0, "other": 1.75}, {"player": 0.08, "other": 0.09}
    height = 1.90
    likelihood = {k: norm.pdf(height, mean[k], sd[k]) for k in priors}
    by_hand = (
        0.05 * likelihood["player"] / (0.05 * likelihood["player"] + 0.95 * likelihood["other"])
    )
    posterior = Posterior.from_bayes(priors, likelihood)
    assert likelihood["player"] > likelihood["other"]
    assert posterior["player"] == pytest.approx(by_hand)
    assert posterior.mode() == "other"
    assert Posterior.from_bayes({"player": 0.5, "other": 0.5}, likelihood).mode() == "player"
