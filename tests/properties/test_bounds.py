"""Laws of bounds: they hold for every model, evidence and setting; intervals hold the truth."""

import math

import numpy as np
from hypothesis import given, strategies as st
from tests.oracles import inference as oracle
from tests.properties.graph_strategies import factor_graphs, findings, models

from credo import bounds
from credo.exceptions import InputError

QUICK = st.fixed_dictionaries(
    {
        "rounds": st.integers(0, 3),
        "sweeps": st.sampled_from([1, 5, 40]),
        "restarts": st.integers(1, 2),
        "tolerance": st.sampled_from([0.0, 1e-8, 1e-2]),
        "seed": st.integers(0, 3),
    }
)


def bounded(case, known, options):
    """Bounds, and the configurations that the evidence leaves; None where there are none."""
    left = oracle.weigh(case.configurations, [(v, w) for v, w, _ in known.weights])
    try:
        found = bounds(case.model, known.evidence, likelihood=known.likelihood, **options)
    except InputError:
        assert not left
        return None, left
    return found, left


@given(st.data())
def test_log_z_lies_between_the_bounds(data):
    case = data.draw(models())
    found, left = bounded(case, data.draw(findings(case)), data.draw(QUICK))
    if found is None:
        return
    if left:
        assert found.lower <= oracle.log_total(left) <= found.upper
    else:
        assert found.lower == -math.inf  # impossible, which arc consistency did not notice


@given(st.data())
def test_probabilities_lie_between_their_bounds(data):
    case = data.draw(models())
    found, left = bounded(case, data.draw(findings(case)), data.draw(QUICK))
    if found is None or not left:
        return
    n = len(case.sizes)
    chosen = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=2, unique=True))
    table = found.joint([case.names[v] for v in chosen])
    truth = oracle.joint(left, case.sizes, chosen)
    rounding = 4 * np.finfo(float).eps  # the truth is the nearest number to a decimal one
    assert (table[..., 0] <= truth * (1 + rounding)).all()
    assert (table[..., 1] >= truth * (1 - rounding)).all()


@given(factor_graphs(kinds=("wide", "far", "steep", "plain", "zeros")), QUICK)
def test_bounds_hold_for_logs_of_any_size(case, options):
    if not case.configurations:
        return
    found = bounds(case.model, **options)
    assert found.lower <= oracle.log_total(case.configurations) <= found.upper


@given(st.data())
def test_on_a_forest_the_bounds_meet(data):
    case = data.draw(models().filter(lambda case: case.is_forest and case.configurations))
    found = bounds(case.model)
    assert found.gap <= 1e-9 * max(1.0, case.span)
