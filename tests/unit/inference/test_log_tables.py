"""Tables of logs: beliefs of any range, read without a loop over the variables."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from credo.graphs import FactorGraph
from credo.graphs.evidence import resolve
from credo.graphs.ordering import find_order
from credo.graphs.problems import pose
from credo.inference._layout import lay_out
from credo.inference._log_tables import LogTables, as_probabilities
from credo.inference._tables import Homes


def tables_of(graph, *, maximum):
    """Tables of logs after both passes, and where to read the variables."""
    wiring = graph.compile()
    problem = pose(wiring, resolve(wiring, None, None, "test"))
    order = find_order(problem.n_states, problem.scope_start, problem.scope)
    layout = lay_out(problem, order.sequence)
    tables = LogTables(problem, layout, maximum=maximum)
    tables.collect()
    tables.distribute()
    return tables, Homes(problem, layout)


def lonely(rows):
    """Variables without anything in common."""
    graph = FactorGraph()
    for i, row in enumerate(rows):
        graph.factor([graph.variable(i, len(row))], row, log=True)
    return graph


ROWS = [[-900.0, 0.0], [5.0], [-2000.0, -np.inf, -2001.0], [300.0, 301.0, -500.0, 300.0]]


def test_beliefs_of_each_variable_sum_to_one_whatever_their_range():
    tables, homes = tables_of(lonely(ROWS), maximum=False)
    expected = np.concatenate([softmax(row) for row in ROWS])
    np.testing.assert_allclose(tables.marginals(homes), expected, rtol=1e-13)


@pytest.mark.parametrize("maximum", [False, True])
def test_log_beliefs_are_those_of_each_variable_less_the_largest(maximum):
    tables, homes = tables_of(lonely(ROWS), maximum=maximum)
    expected = np.concatenate([np.array(row) - max(row) for row in ROWS])
    np.testing.assert_allclose(tables.log_marginals(homes), expected, rtol=1e-13)


def test_no_variables_have_no_beliefs():
    tables, homes = tables_of(FactorGraph(), maximum=False)
    assert tables.marginals(homes).shape == (0,)


def test_logs_become_probabilities_where_they_are():
    logs = np.array([-3000.0, -np.inf, -3001.0, -3000.5])
    expected = np.exp(log_softmax(logs))
    room = np.append(logs, 7.0)
    result = as_probabilities(room[:-1])
    assert np.shares_memory(result, room)
    np.testing.assert_allclose(room[:-1], expected, rtol=1e-13)
    assert room[-1] == 7.0
