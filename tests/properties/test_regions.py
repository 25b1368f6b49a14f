"""Laws of generalised belief propagation on models of every shape."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.oracles import inference as oracle
from tests.properties.graph_strategies import factor_graphs, findings, models

import credo
from credo.exceptions import InputError

METHODS = st.sampled_from(["generalised", "double_loop"])
REGIONS = st.sampled_from(["auto", "bethe", "plaquettes", "cliques", []])


def infer(case, found, method, **options):
    """Whatever comes out, settled or not; None if nothing is possible."""
    evidence, likelihood = (found.evidence, found.likelihood) if found else (None, None)
    options |= {"likelihood": likelihood, "on_failure": "return"}
    try:
        return credo.infer(case.model, evidence, method=method, **options)
    except InputError:
        return None


def assert_exact(post, case, configurations):
    """Log Z and the marginals are those of enumeration, small ones too."""
    tolerance = 1e-9 + 100 * case.tolerance
    wanted = oracle.log_total(configurations)
    assert post.log_evidence == pytest.approx(wanted, rel=case.tolerance, abs=1e-9)
    for v, shares in enumerate(oracle.marginals(configurations, case.sizes)):
        belief = post.probabilities(case.names[v])
        np.testing.assert_allclose(belief, shares, rtol=tolerance, atol=1e-290)


@given(st.data())
def test_one_region_of_everything_is_enumeration(data):
    case = data.draw(factor_graphs(rules=False, kinds=("plain", "zeros", "wide", "far")))
    found = data.draw(findings(case))
    configurations = oracle.weigh(case.configurations, [w[:2] for w in found.weights])
    post = infer(case, found, data.draw(METHODS), regions=[case.names])
    assert (post is None) == (not configurations)
    if post is not None:
        assert post.status == post.log_evidence_is == "EXACT"
        assert_exact(post, case, configurations)


@given(st.data())
def test_what_is_called_exact_is_exact_and_what_is_possible_is_never_ruled_out(data):
    case, regions = data.draw(models()), data.draw(REGIONS)
    found = data.draw(st.none() | findings(case))
    weights = [w[:2] for w in found.weights] if found else []
    configurations = oracle.weigh(case.configurations, weights)
    post = infer(case, found, data.draw(METHODS), regions=regions, sweeps=300)
    if post is None:
        assert not configurations
        return
    if found is None and case.is_forest and regions == "bethe":
        assert post.status == "EXACT"
    if post.status == "EXACT":
        assert_exact(post, case, configurations)
    assert np.isfinite(post.answer.log_z)
    for v, name in enumerate(case.names):
        belief = post.probabilities(name)
        if configurations:
            possible = oracle.marginals(configurations, case.sizes)[v] > 0
            assert not possible[belief == 0].any()
        if post.status in {"CONVERGED", "EXACT"} and post.question.observed[v] < 0:
            np.testing.assert_allclose(post.answer.joints(np.array([v])), belief, atol=1e-7)
