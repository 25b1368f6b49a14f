"""Textbook F4: one pass for the root, two passes for all, and 2 (n - 1) messages."""

import numpy as np
import pytest

import credo

EDGES = [(1, 2), (1, 3), (3, 4), (3, 5)]


def tree(edges, n, seed=0):
    rng = np.random.default_rng(seed)
    graph = credo.FactorGraph()
    variables = {name: graph.variable(name, 2) for name in range(1, n + 1)}
    tables = {(i, j): rng.uniform(0.1, 2.0, (2, 2)) for i, j in edges}
    for (i, j), table in tables.items():
        graph.factor([variables[i], variables[j]], table)
    return graph, tables


def marginals_of_the_joint(tables, n, seen):
    letters = "abcdefgh"[:n]
    scopes = ",".join(letters[i - 1] + letters[j - 1] for i, j in tables)
    points = [np.eye(2)[seen[v]] if v in seen else np.ones(2) for v in range(1, n + 1)]
    joint = np.einsum(f"{scopes},{','.join(letters)}->{letters}", *tables.values(), *points)
    return [joint.sum(axis=tuple(a for a in range(n) if a != v)) / joint.sum() for v in range(n)]


@pytest.mark.parametrize("seen", [{}, {2: 1, 4: 0, 5: 1}])
@pytest.mark.parametrize("root", range(1, 6))
def test_f4_one_pass_gives_the_marginal_of_the_root_alone(root, seen):
    graph, tables = tree(EDGES, 5)
    passed = credo.pass_messages(graph, seen, root=root, passes=1)
    expected = marginals_of_the_joint(tables, 5, seen)
    np.testing.assert_allclose([*passed.belief(root).values()], expected[root - 1], rtol=1e-13)
    assert set(passed.beliefs) == {root, *seen}
    assert len(passed) == 4


@pytest.mark.parametrize("seen", [{}, {2: 1, 4: 0, 5: 1}])
@pytest.mark.parametrize("root", range(1, 6))
def test_f4_two_passes_give_all_marginals_from_any_root(root, seen):
    graph, tables = tree(EDGES, 5)
    passed = credo.pass_messages(graph, seen, root=root)
    beliefs = [[*belief.values()] for belief in passed.beliefs.values()]
    expected = marginals_of_the_joint(tables, 5, seen)
    np.testing.assert_allclose(beliefs, expected, rtol=1e-13, atol=1e-300)
    assert (passed.root, len(passed)) == (root, 8)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000])
def test_f4_a_tree_of_n_variables_passes_twice_n_less_one_messages(n):
    rng = np.random.default_rng(n)
    graph, _ = tree([(int(rng.integers(1, j)), j) for j in range(2, n + 1)], n)
    assert len(credo.pass_messages(graph)) == 2 * (n - 1)
    assert len(credo.pass_messages(graph, passes=1)) == n - 1


def test_f4_each_neighbour_sends_one_message_each_way_and_nobody_else_does():
    graph, _ = tree(EDGES, 5)
    passed = credo.pass_messages(graph)
    sent = 0
    for i in range(1, 6):
        for j in range(1, 6):
            if (i, j) in EDGES or (j, i) in EDGES:
                assert passed[i, j].values.shape == (2,)
                sent += 1
            else:
                with pytest.raises(ValueError, match="not neighbours"):
                    passed.message(i, j)
    assert sent == len(passed) == 8
