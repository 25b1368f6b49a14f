"""Textbook G2: beliefs of loopy propagation are too sure; what the remedies gain, measured."""

import math

import numpy as np
import pytest
from tests.oracles import loopy as oracle

import credo

SIDE = 4


def factors(coupling, field=0.1):
    """A 4 x 4 field exp(J sum x_i x_j + sum h_i x_i) of signs, with small random fields."""
    rng = np.random.default_rng(0)
    signs = np.array([-1.0, 1.0])
    found = [((v,), h * signs) for v, h in enumerate(field * rng.normal(size=SIDE**2))]
    for v in range(SIDE**2):
        if v % SIDE < SIDE - 1:
            found.append(((v, v + 1), coupling * np.outer(signs, signs)))
        if v < SIDE * (SIDE - 1):
            found.append(((v, v + SIDE), coupling * np.outer(signs, signs)))
    return found


def grid(coupling):
    graph = credo.FactorGraph()
    for v in range(SIDE**2):
        graph.variable(v, [-1, 1])
    for scope, logs in factors(coupling):
        graph.factor(list(scope), logs, log=True)
    return graph


def exact(coupling):
    """Marginals of +1 and log Z by all 65 536 configurations."""
    marginals, log_z = oracle.marginals([2] * SIDE**2, factors(coupling))
    return np.array([marginal[1] for marginal in marginals]), log_z


def answer(coupling, method):
    post = credo.infer(grid(coupling), method=method)
    assert post.status == "CONVERGED"
    return np.array([post.probabilities(v)[1] for v in range(SIDE**2)]), post


def mean_error(coupling, method):
    return np.abs(answer(coupling, method)[0] - exact(coupling)[0]).mean()


@pytest.mark.parametrize("coupling", [0.5, 0.7, 1.0])
def test_g2_strong_couplings_make_loopy_beliefs_too_extreme(coupling):
    """Every belief is further from one half than the marginal, by a lot."""
    beliefs, post = answer(coupling, "loopy")
    marginals, log_z = exact(coupling)
    assert (np.abs(beliefs - 0.5) > np.abs(marginals - 0.5)).all()
    assert np.abs(beliefs - marginals).mean() > 0.1
    assert (np.sign(beliefs - 0.5) == np.sign(marginals - 0.5)).all()
    assert post.log_evidence_is == "ESTIMATE"
    assert post.log_evidence < log_z  # with pairs that attract it never is too large


def test_g2_weak_couplings_do_no_harm():
    assert mean_error(0.1, "loopy") < 1e-4
    errors = [mean_error(coupling, "loopy") for coupling in (0.1, 0.2, 0.3, 0.5)]
    assert errors == sorted(errors)


@pytest.mark.parametrize(("coupling", "gain"), [(0.5, 50), (0.7, 200), (1.0, 200)])
def test_g2_generalised_propagation_on_plaquettes_is_hundreds_of_times_nearer(coupling, gain):
    beliefs, post = answer(coupling, "generalised")
    marginals, log_z = exact(coupling)
    assert np.abs(beliefs - marginals).max() < 0.005
    assert gain * np.abs(beliefs - marginals).mean() < mean_error(coupling, "loopy")
    loopy = credo.infer(grid(coupling), method="loopy")
    assert abs(post.log_evidence - log_z) < 0.1 * abs(loopy.log_evidence - log_z)


@pytest.mark.parametrize("coupling", [0.5, 0.7, 1.0])
def test_g2_tree_reweighted_propagation_is_not_over_confident_and_bounds_log_z(coupling):
    beliefs, post = answer(coupling, "tree_reweighted")
    marginals, log_z = exact(coupling)
    assert 3 * np.abs(beliefs - marginals).mean() < mean_error(coupling, "loopy")
    assert np.abs(beliefs - 0.5).mean() < np.abs(marginals - 0.5).mean()
    assert post.log_evidence_is == "UPPER_BOUND"
    assert post.log_evidence >= log_z
    assert post.log_evidence < log_z + 3.0


def test_g2_the_double_loop_finds_the_same_regions_beliefs():
    for coupling in (0.5, 1.0):
        one, _ = answer(coupling, "generalised")
        two, _ = answer(coupling, "double_loop")
        np.testing.assert_allclose(one, two, atol=1e-4)


def test_g2_over_confidence_begins_where_the_uniform_belief_turns_unstable():
    """Without fields marginals are one half at any coupling, but beliefs part from it.

    A small log ratio is multiplied by tanh(J) along an edge, and a site passes on the sum of three
    of its four neighbours: it grows once 3 tanh(J) > 1, J > 0.3466.
    """
    side = 12
    site = np.arange(side**2).reshape(side, side)
    edges = np.vstack(  # a torus: each site has four neighbours
        [
            np.column_stack([site.ravel(), np.roll(site, 1, axis=1).ravel()]),
            np.column_stack([site.ravel(), np.roll(site, 1, axis=0).ravel()]),
        ]
    )
    signs = np.array([-1.0, 1.0])
    fields = np.zeros((side**2, 2))
    fields[0] = [0.0, 1e-4]  # a nudge
    tilt = {}
    for factor in (0.9, 1.1):
        coupling = factor * math.atanh(1 / 3)
        model = credo.MarkovNetwork.from_arrays(
            fields, edges, coupling * np.outer(signs, signs), log=True
        )
        post = credo.infer(model, method="loopy", schedule="flooding", momentum=1.0)
        assert post.status == "CONVERGED"
        tilt[factor] = abs(post.probabilities(77)[1] - 0.5)
    assert tilt[0.9] < 1e-4
    assert tilt[1.1] > 0.1
