"""Laws of generalised belief propagation on models of every shape."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.oracles import inference as oracle
from tests.properties.graph_strategies import factor_graphs, findings, models

from credo.graphs.problems import pose
from credo.inference.question import ask
from credo.inference.regions.generalised import run_double_loop, run_generalised

ENGINES = st.sampled_from([run_generalised, run_double_loop])
REGIONS = st.sampled_from(["auto", "bethe", "plaquettes", "cliques", []])


def problem_of(case, found=None):
    evidence = (found.evidence, found.likelihood) if found else (None, None)
    question = ask(case.model, *evidence, None, "1GB", "the test")
    return pose(question.wiring, question.evidence)


def assert_beliefs(approximation, case, configurations, tolerance):
    """Log Z and the marginals of free variables are those of enumeration."""
    assert approximation.log_z == pytest.approx(
        oracle.log_total(configurations), rel=case.tolerance, abs=tolerance
    )
    for v, wanted in enumerate(oracle.marginals(configurations, case.sizes)):
        belief = approximation.beliefs.of(v)
        if belief is not None:
            np.testing.assert_allclose(belief, wanted, atol=tolerance)


@given(st.data())
def test_one_region_of_everything_is_enumeration(data):
    case = data.draw(factor_graphs(rules=False, kinds=("plain", "zeros", "wide", "far")))
    found = data.draw(findings(case))
    configurations = oracle.weigh(case.configurations, [w[:2] for w in found.weights])
    run = data.draw(ENGINES)
    approximation = run(problem_of(case, found), regions=[case.names])
    if not configurations:
        assert approximation.log_z == -np.inf
        return
    assert approximation.status == approximation.log_z_is == "EXACT"
    assert_beliefs(approximation, case, configurations, 1e-9)


@given(st.data())
def test_what_is_called_exact_is_exact(data):
    case = data.draw(models())
    configurations = case.configurations
    problem = problem_of(case)
    run, regions = data.draw(ENGINES), data.draw(REGIONS)
    approximation = run(problem, regions=regions)
    if approximation.log_z == -np.inf:
        assert not configurations
    elif case.is_forest and regions == "bethe":
        assert approximation.status == "EXACT" or not configurations
    if approximation.status == "EXACT" and configurations:
        assert_beliefs(approximation, case, configurations, 1e-6)


@given(st.data())
def test_beliefs_are_probabilities_and_agree_when_converged(data):
    case = data.draw(models())
    found = data.draw(findings(case))
    configurations = oracle.weigh(case.configurations, [w[:2] for w in found.weights])
    problem = problem_of(case, found)
    approximation = data.draw(ENGINES)(problem, regions=data.draw(REGIONS), sweeps=300)
    if approximation.log_z == -np.inf:
        assert not configurations
        return
    for v in range(len(case.sizes)):
        belief = approximation.beliefs.of(v)
        if belief is None:
            continue
        assert (belief >= 0).all()
        assert belief.sum() == pytest.approx(1.0, rel=1e-12)
        if configurations:  # what is possible is never ruled out
            possible = oracle.marginals(configurations, case.sizes)[v] > 0
            assert not possible[belief == 0].any()
        joint = approximation.joints(np.array([v]))
        if approximation.status in {"CONVERGED", "EXACT"}:
            np.testing.assert_allclose(joint, belief, atol=1e-7)
