import numpy as np
import pytest
from tests.oracles import joint as oracle
from tests.work import calls_in

from credo.exceptions import InputError, LabelError, ShapeError
from credo.graphs import MarkovNetwork, Variable

RNG = np.random.default_rng(9)
NODES = RNG.random((4, 3)) + 0.1
EDGES = [[0, 1], [2, 1], [3, 2], [0, 1]]  # the last is the first again
SHARED = RNG.random((3, 3)) + 0.1
OWN = RNG.random((4, 3, 3)) + 0.1


def by_hand(edge_tables):
    net = MarkovNetwork()
    for i, row in enumerate(NODES):
        net.node(i, 3, row)
    for (a, b), table in zip(EDGES, edge_tables, strict=True):
        net.edge(a, b, table)
    return net


@pytest.mark.parametrize("tables", [SHARED, OWN], ids=["shared", "own"])
@pytest.mark.parametrize("log", [False, True], ids=["linear", "log"])
def test_arrays_give_the_same_model_as_nodes_and_edges(tables, log):
    given = (np.log(NODES), EDGES, np.log(tables)) if log else (NODES, EDGES, tables)
    net = MarkovNetwork.from_arrays(*given, log=log)
    hand = by_hand(np.broadcast_to(tables, (4, 3, 3)))
    expected = oracle.joint(
        dict.fromkeys(range(4), (0, 1, 2)),
        [((i,), oracle.cells(row, (0, 1, 2))) for i, row in enumerate(NODES)]
        + [
            (tuple(pair), oracle.cells(table, (0, 1, 2), (0, 1, 2)))
            for pair, table in zip(EDGES, np.broadcast_to(tables, (4, 3, 3)), strict=True)
        ],
    )
    np.testing.assert_allclose(oracle.of_wiring(net.compile()), expected, rtol=1e-13)
    np.testing.assert_allclose(oracle.of_wiring(hand.compile()), expected, rtol=1e-13)
    np.testing.assert_allclose(oracle.of_model(net), expected, rtol=1e-13)
    one, other = net.compile(), hand.compile()
    for field in ("n_states", "scope_start", "scope", "owner"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))
        assert getattr(one, field).dtype == getattr(other, field).dtype


def test_a_shared_potential_is_held_once():
    wiring = MarkovNetwork.from_arrays(NODES, EDGES, SHARED).compile()
    assert wiring.table.tolist() == [0, 1, 2, 3, 4, 4, 4, 4]
    assert wiring.values.size == NODES.size + SHARED.size


def test_parallel_edges_both_count():
    net = MarkovNetwork()
    net.node("a", 2)
    net.node("b", 2)
    net.edge("a", "b", [[1, 2], [3, 4]])
    net.edge("a", "b", [[1, 2], [3, 4]])
    np.testing.assert_allclose(oracle.of_wiring(net.compile()), [[1, 4], [9, 16]])


def test_nodes_need_no_potential_and_come_before_edges():
    net = MarkovNetwork()
    net.node("a", 2)
    net.edge("a", net.node("b", ["x", "y"], {"y": 2.0, "x": 1.0}), np.ones((2, 2)))
    net.node("c", 2, [0.0, -800.0], log=True)
    wiring = net.compile()
    assert wiring.scope.tolist() == [1, 2, 0, 1]
    assert wiring.values[:4].tolist() == [1.0, 2.0, 1.0, 0.0]
    np.testing.assert_allclose(wiring.log_values[:4], [0.0, np.log(2.0), 0.0, -800.0])
    assert len(net.factors) == 3


def test_a_node_that_is_refused_is_not_declared():
    net = MarkovNetwork()
    with pytest.raises(InputError, match="Node 'a'.*Got -1 for 'a' = 0"):
        net.node("a", 2, [-1.0, 1.0])
    net.node("a", 2)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("a", "a", np.ones((2, 2))), InputError, "cannot join node 'a' to itself"),
        (("a", "c", np.ones((2, 2))), LabelError, "no variable 'c'"),
        (("a", "b", np.ones((3, 2))), ShapeError, r"shape \(2, 3\).*Got shape \(3, 2\)"),
    ],
    ids=["loop", "unknown", "shape"],
)
def test_a_wrong_edge_is_refused(arguments, error, message):
    net = MarkovNetwork()
    net.node("a", 2)
    net.node("b", 3)
    with pytest.raises(error, match=message):
        net.edge(*arguments)


class TestFromArrays:
    def test_names_and_states_are_lazy_numbers(self):
        net = MarkovNetwork.from_arrays(NODES, EDGES, SHARED)
        wiring = net.compile()
        assert wiring.names == range(4)
        assert wiring.states[3] == (0, 1, 2)
        assert len(wiring.states) == 4
        assert len(wiring.states[1:]) == 3
        assert wiring.index(3) == 3
        assert net[3] == Variable(3, 3)
        assert 4 not in net
        with pytest.raises(LabelError, match="no variable '3'.*type"):
            wiring.index("3")

    def test_can_be_added_to_until_it_is_compiled(self):
        net = MarkovNetwork.from_arrays(
            NODES, EDGES, SHARED, names=list("abcd"), states=list("xyz")
        )
        net.node("e", 2)
        net.edge("d", "e", [[1, 2], [3, 4], [5, 6]])
        assert net["a"].states == ("x", "y", "z")
        table = oracle.of_wiring(net.compile())
        before = oracle.of_wiring(MarkovNetwork.from_arrays(NODES, EDGES, SHARED).compile())
        expected = before[..., np.newaxis] * np.array([[1, 2], [3, 4], [5, 6]])
        np.testing.assert_allclose(table, expected, rtol=1e-14)

    def test_needs_no_edges(self):
        wiring = MarkovNetwork.from_arrays([[1.0, 2.0]], [], np.ones((2, 2))).compile()
        np.testing.assert_array_equal(oracle.of_wiring(wiring), [1.0, 2.0])

    def test_keeps_wide_logs(self):
        nodes = [[0.0, -5000.0], [1.0, 2.0]]
        wiring = MarkovNetwork.from_arrays(nodes, [[0, 1]], np.zeros((2, 2)), log=True).compile()
        np.testing.assert_allclose(wiring.log_values, [0, -5000, -1, 0, 0, 0, 0, 0])
        np.testing.assert_allclose(wiring.log_scale, [0, 2, 0])

    @pytest.mark.parametrize(
        ("change", "error", "message"),
        [
            ({"edges": [[0, 4]]}, InputError, r"from 0 to 3. Got 4 at index \[0, 1\]"),
            ({"edges": [[0, 1], [-1, 2]]}, InputError, r"Got -1 at index \[1, 0\]"),
            ({"edges": [[0, 1], [2, 2]]}, InputError, "Edge 1 joins node 2 to itself"),
            ({"edges": [[0.0, 1.0]]}, InputError, "whole numbers"),
            ({"edges": [0, 1]}, ShapeError, r"\(n_edges, 2\)"),
            ({"edge_potentials": np.ones((2, 2))}, ShapeError, r"\(3, 3\).*Got shape \(2, 2\)"),
            ({"edge_potentials": -SHARED}, InputError, "edge potential needs.*log=True"),
            ({"edge_potentials": OWN * 0}, InputError, r"Edge 0, \[0, 1\], allows no state"),
            ({"node_potentials": NODES[0]}, ShapeError, r"\(n_nodes, n_states\)"),
            ({"node_potentials": NODES * [[1], [1], [0], [1]]}, InputError, "Node 2 allows no"),
            ({"node_potentials": NODES * np.nan}, InputError, "Node 0 needs.*Got nan"),
            ({"node_potentials": NODES * np.inf, "log": True}, InputError, "Got inf"),
            ({"names": ["a"]}, ShapeError, "4 names and 3 states. Got 1 and 3"),
            ({"names": list("abca")}, InputError, "'a' occurs more than once"),
            ({"states": ["x", "y"]}, ShapeError, "Got 4 and 2"),
        ],
        ids=range(15),
    )
    def test_names_what_is_wrong(self, change, error, message):
        arrays = {"node_potentials": NODES, "edges": EDGES, "edge_potentials": SHARED}
        with pytest.raises(error, match=message):
            MarkovNetwork.from_arrays(**(arrays | change))

    def test_copies_what_it_is_given(self):
        nodes = NODES.copy()
        wiring = MarkovNetwork.from_arrays(nodes, EDGES, SHARED).compile()
        nodes[:] = 0.0
        assert wiring.values.min() > 0
        nodes[0] = 1.0  # and leaves it writeable

    def test_takes_a_hundred_thousand_nodes_without_a_call_for_each(self):
        n = 100_000
        first = np.arange(n - 1)
        edges = np.concatenate([np.column_stack([first, first + 1])] * 3)
        arrays = (np.ones((n, 2)), edges, np.ones((2, 2)))
        assert calls_in(lambda: MarkovNetwork.from_arrays(*arrays).compile()) < 1000
        assert len(MarkovNetwork.from_arrays(*arrays).compile().table) == n + 3 * (n - 1)
