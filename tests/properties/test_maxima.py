"""Laws of the engines for maxima, on models of every shape."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.oracles import cuts as fields, maxima as written_out
from tests.oracles.inference import CONTEXT
from tests.properties.graph_strategies import bayesian_networks, factor_graphs, markov_networks

from credo.graphs import FactorGraph
from credo.graphs.evidence import resolve
from credo.graphs.problems import pose
from credo.inference.maxima.cuts import minimum_cut
from credo.inference.maxima.graph_cut import run_graph_cut
from credo.inference.maxima.local_moves import run_icm
from credo.inference.maxima.trws import run_trws

pytestmark = pytest.mark.filterwarnings("ignore::credo.exceptions.ExpansionWarning")


def posed(model):
    wiring = model.compile().tabulated(sum_product=False)
    return pose(wiring, resolve(wiring, None, None, "test"))


def log_scores(case):
    """The logs of all products that are not zero, by configuration."""
    return {place: float(CONTEXT.ln(product)) for place, product in case.configurations}


def scored(case, found):
    """The score that the oracle gives to the states that were found."""
    return log_scores(case).get(tuple(found.states[: len(case.sizes)].tolist()), -np.inf)


models = st.one_of(
    factor_graphs(),
    factor_graphs(kinds=("wide", "logs"), rules=False),
    markov_networks(),
    bayesian_networks(),
)


@given(models)
def test_the_bound_of_trws_holds_and_its_score_is_that_of_its_states(case):
    found = run_trws(posed(case.model), sweeps=50)
    best = max(log_scores(case).values(), default=-np.inf)
    close = case.tolerance * max(1.0, case.span)
    assert found.bound >= best - close
    assert found.log_score <= best + close
    if len(found.states) == len(case.sizes):  # no auxiliary variables of rules
        assert found.log_score == scored(case, found) or (
            abs(found.log_score - scored(case, found)) <= close
        )
    assert (np.diff(found.bounds) <= close).all()
    if found.status == "IMPOSSIBLE":
        assert best == -np.inf
    if case.is_forest and best > -np.inf:
        assert abs(found.bound - best) <= 1e-9 * max(1.0, abs(best)) + close


@given(models, st.integers(0, 100))
def test_single_moves_never_lose_and_end_where_none_helps(case, seed):
    problem = posed(case.model)
    if len(problem.variables) > len(case.sizes):  # auxiliary variables of rules
        return
    start = np.random.default_rng(seed).integers(0, problem.n_states)
    found = run_icm(problem, start=start)
    scores = log_scores(case)
    close = case.tolerance * max(1.0, case.span)
    assert found.log_score >= scores.get(tuple(start.tolist()), -np.inf) - close
    if found.log_score > -np.inf:
        for v, k in enumerate(case.sizes):
            for x in range(k):
                near = [*found.states.tolist()[:v], x, *found.states.tolist()[v + 1 :]]
                assert scores.get(tuple(near), -np.inf) <= found.log_score + close


@given(st.integers(0, 2**32))
def test_the_flow_is_the_least_cut(seed):
    network = fields.random_network(np.random.default_rng(seed))
    least, best = fields.least_cuts(*network)
    cut = minimum_cut(*network)
    if least < 10**30:
        assert cut.flow == cut.value == least
        assert tuple(cut.side > 0) in best


@given(st.integers(0, 2**32), st.booleans())
def test_a_cut_is_the_best_configuration(seed, flipped):
    shape, factors = fields.random_field(np.random.default_rng(seed), flipped=flipped)
    graph = FactorGraph()
    names = [graph.variable(i, k).name for i, k in enumerate(shape)]
    for axes, table in factors:
        graph.factor([names[axis] for axis in axes], table)
    best = written_out.log_product(shape, factors).max()
    found = run_graph_cut(posed(graph))
    assert found.log_score == best or abs(found.log_score - best) < 1e-11
