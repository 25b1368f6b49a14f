"""A law of TRW-S where logs are wide; the others are in ``test_approximate_promises``."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.oracles.inference import CONTEXT
from tests.properties.graph_strategies import bayesian_networks, factor_graphs, markov_networks

import credo
from credo.exceptions import InputError

pytestmark = [
    pytest.mark.filterwarnings("ignore::credo.exceptions.ExpansionWarning"),
    pytest.mark.filterwarnings("ignore::credo.exceptions.ApproximationWarning"),
]

models = st.one_of(
    factor_graphs(),
    factor_graphs(kinds=("wide", "logs"), rules=False),
    markov_networks(),
    bayesian_networks(),
)


@given(models)
def test_bounds_hold_also_where_logs_are_wide_and_are_reached_on_trees(case):
    scores = {place: float(CONTEXT.ln(product)) for place, product in case.configurations}
    best = max(scores.values(), default=-np.inf)
    close = case.tolerance * max(1.0, case.span)
    try:
        found = credo.mpe(case.model, method="tree_reweighted", sweeps=50)
    except InputError:
        assert best == -np.inf
        return
    assert found.log_score <= best + close
    assert found.bound >= best - close
    if case.is_forest and best > -np.inf:
        assert abs(found.bound - best) <= 1e-9 * max(1.0, abs(best)) + close
