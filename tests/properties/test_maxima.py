"""Laws of the engines for maxima, on models of every shape."""

import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.oracles.inference import CONTEXT
from tests.properties.graph_strategies import bayesian_networks, factor_graphs, markov_networks
from tests.properties.random_graphs import cases

import credo
from credo.exceptions import ApproximationWarning, InputError

pytestmark = pytest.mark.filterwarnings("ignore::credo.exceptions.ExpansionWarning")

METHODS = ("tree_reweighted", "loopy", "icm", "graph_cut", "auto")
models = st.one_of(
    factor_graphs(),
    factor_graphs(kinds=("wide", "logs"), rules=False),
    markov_networks(),
    bayesian_networks(),
)


def ask(model, method, evidence=None, **options):
    """The configuration and whether it was said to be impossible; None where it is refused."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ApproximationWarning)
        try:
            found = credo.mpe(model, evidence, method=method, **options)
        except InputError:
            return None, False
    return found, any("no configuration of positive" in str(each.message) for each in told)


@given(cases())
@pytest.mark.parametrize("method", METHODS)
def test_scores_are_those_of_the_states_and_promises_are_kept(method, case):
    options = {"budget": 8} if method == "auto" else {}
    found, is_warned = ask(case.model, method, case.evidence, likelihood=case.likelihood, **options)
    if found is None:
        assert method == "graph_cut" or not case.left.is_possible
        return
    score = case.left.score(found.states) if case.left.is_possible else -np.inf
    assert found.log_score == score or abs(found.log_score - score) < 1e-9
    assert is_warned == (score == -np.inf)
    if not case.left.is_possible:
        return
    best = case.left.scores()[0]
    assert found.bound is None or found.bound >= best - 1e-9
    if found.is_exact:
        assert abs(found.log_score - best) < 1e-9


@given(models)
def test_bounds_hold_also_where_logs_are_wide_and_are_reached_on_trees(case):
    scores = {place: float(CONTEXT.ln(product)) for place, product in case.configurations}
    best = max(scores.values(), default=-np.inf)
    close = case.tolerance * max(1.0, case.span)
    found, _ = ask(case.model, "tree_reweighted", sweeps=50)
    if found is None:
        assert best == -np.inf
        return
    assert found.log_score <= best + close
    assert found.bound >= best - close
    if case.is_forest and best > -np.inf:
        assert abs(found.bound - best) <= 1e-9 * max(1.0, abs(best)) + close
