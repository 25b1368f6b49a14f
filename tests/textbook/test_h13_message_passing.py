"""Textbook H13: passing messages as a process that one can follow, by the names of the nodes."""

import numpy as np
import pytest

import credo
from credo.exceptions import InputError

SEEN = {2: 1, 4: 0, 5: 1}


@pytest.fixture
def tree():
    made = credo.MarkovNetwork()
    for node, potential in {1: [6, 4], 2: [7, 3], 3: [5, 2], 4: [1, 2], 5: [9, 1]}.items():
        made.node(node, 2, potential)
    for (i, j), same in {(1, 2): 4, (1, 3): 2, (3, 4): 3, (3, 5): 5}.items():
        made.edge(i, j, [[same, 1], [1, same]])
    return made


@pytest.fixture
def passed(tree):
    return credo.pass_messages(tree, SEEN, root=3)


def test_h13_print_shows_who_told_whom_what_in_order_and_what_is_believed_then(passed):
    assert (
        str(passed)
        == """\
Messages towards 3
  1. m[2 -> 1] = ψ(1, 2) ψ(2), 2 = 1: (0: 3, 1: 12) ∝ (0: 0.2, 1: 0.8)
     so far b[1] = (0: 0.272727, 1: 0.727273)
  2. m[5 -> 3] = ψ(3, 5) ψ(5), 5 = 1: (0: 1, 1: 5) ∝ (0: 0.166667, 1: 0.833333)
     so far b[3] = (0: 0.333333, 1: 0.666667)
  3. m[4 -> 3] = ψ(3, 4) ψ(4), 4 = 0: (0: 3, 1: 1) ∝ (0: 0.75, 1: 0.25)
     so far b[3] = (0: 0.6, 1: 0.4)
  4. m[1 -> 3] = Σ_1 ψ(1, 3) ψ(1) m[2 -> 1]: (0: 84, 1: 114) ∝ (0: 0.424242, 1: 0.575758)
     so far b[3] = (0: 0.525, 1: 0.475)
Messages from 3
  5. m[3 -> 1] = Σ_3 ψ(1, 3) ψ(3) m[4 -> 3] m[5 -> 3]: (0: 40, 1: 35) ∝ (0: 0.533333, 1: 0.466667)
     so far b[1] = (0: 0.3, 1: 0.7)
  6. m[3 -> 4] = Σ_3 ψ(3, 4) ψ(3) m[1 -> 3] m[5 -> 3]: (0: 2400, 1: 3840) ∝ (0: 0.384615, 1: 0.615385)
     so far b[4] = (0: 1, 1: 0)
  7. m[3 -> 5] = Σ_3 ψ(3, 5) ψ(3) m[1 -> 3] m[4 -> 3]: (0: 6528, 1: 2400) ∝ (0: 0.731183, 1: 0.268817)
     so far b[5] = (0: 0, 1: 1)
  8. m[1 -> 2] = Σ_1 ψ(1, 2) ψ(1) m[3 -> 1]: (0: 1100, 1: 800) ∝ (0: 0.578947, 1: 0.421053)
     so far b[2] = (0: 0, 1: 1)
Beliefs
  b[1] = (0: 0.3, 1: 0.7)
  b[2] = (0: 0, 1: 1)
  b[3] = (0: 0.525, 1: 0.475)
  b[4] = (0: 1, 1: 0)
  b[5] = (0: 0, 1: 1)
Log evidence: 7.78322"""  # noqa: E501
    )


def test_h13_the_belief_of_the_root_after_each_message(passed):
    """b(x3) is ψ3 at first, and changes whenever 3 hears something."""
    now = [passed[:k].belief(3)[0] for k in range(len(passed) + 1)]
    expected = [5 / 7, 5 / 7, 1 / 3, 0.6, 0.525, 0.525, 0.525, 0.525, 0.525]
    np.testing.assert_allclose(now, expected, rtol=1e-14)


def test_h13_a_run_is_stopped_after_any_message_and_shows_who_has_heard_what(passed):
    """Node 1 has heard from 2 alone: ψ1 times (3, 12) is (18, 48); 4 and 5 are observed."""
    early = passed[:1]
    assert len(early) == early.n_towards == 1
    assert early.belief(1) == pytest.approx({0: 18 / 66, 1: 48 / 66})
    assert early.beliefs[3] == pytest.approx({0: 5 / 7, 1: 2 / 7})
    assert (early.beliefs[4], early.beliefs[5]) == ({0: 1.0, 1: 0.0}, {0: 0.0, 1: 1.0})
    assert str(early).splitlines()[1:3] == str(passed).splitlines()[1:3]
    assert "Log evidence" not in str(early)
    assert passed[:8].beliefs == {
        name: pytest.approx(belief, rel=1e-14) for name, belief in passed.beliefs.items()
    }


def test_h13_nodes_edges_and_neighbours_of_the_graph(tree, passed):
    assert tree.names == passed.variables == (1, 2, 3, 4, 5)
    assert [tuple(edge) for edge in tree.edges] == [(1, 2), (1, 3), (3, 4), (3, 5)]
    neighbours = {1: {2, 3}, 2: {1}, 3: {1, 4, 5}, 4: {3}, 5: {3}}
    assert {name: set(tree.neighbours(name)) for name in tree.names} == neighbours
    both_ways = {(j, i) for i, around in neighbours.items() for j in around}
    assert {(message.source, message.target) for message in passed} == both_ways


def test_h13_a_notebook_shows_messages_with_their_formulas_and_beliefs(passed):
    html = passed[:4]._repr_html_()
    assert html.count("<tr>") == 5
    assert "m[1 -&gt; 3]" in html
    assert "Σ_1 ψ(1, 3) ψ(1) m[2 -&gt; 1]: (0: 84, 1: 114)" in html
    assert "b[3] = (0: 0.525, 1: 0.475)" in html


def test_h13_max_product_decodes_the_best_configuration(tree):
    """Weights of the eight configurations that agree with 2 = 1, 4 = 0 and 5 = 1, written out."""
    weight = {
        (x1, x3): (6, 4)[x1]
        * (1, 4)[x1]
        * (2 if x1 == x3 else 1)
        * (5, 2)[x3]
        * (3, 1)[x3]
        * (1, 5)[x3]
        * 3
        for x1 in (0, 1)
        for x3 in (0, 1)
    }
    best = max(weight, key=weight.get)
    passed = credo.pass_messages(tree, SEEN, root=3, max_product=True)
    assert dict(passed.best) == {1: best[0], 2: 1, 3: best[1], 4: 0, 5: 1}
    assert passed.log_evidence == pytest.approx(np.log(max(weight.values())))
    assert passed.best.log_score == pytest.approx(passed.log_evidence)
    decoded = {name: max(belief, key=belief.get) for name, belief in passed.beliefs.items()}
    assert decoded == dict(passed.best)
    assert "Best configuration" in str(passed)
    with pytest.raises(InputError, match="max_product=True"):
        _ = credo.pass_messages(tree, SEEN).best


def test_h13_there_is_one_pass_or_there_are_two(tree):
    assert len(credo.pass_messages(tree, passes=1)) == 4
    with pytest.raises(InputError, match="passes of pass_messages must be one of"):
        credo.pass_messages(tree, passes=3)


def test_h13_the_root_is_chosen_by_name_and_the_beliefs_do_not_depend_on_it(tree, passed):
    other = credo.pass_messages(tree, SEEN, root=2)
    assert (passed.root, other.root) == (3, 2)
    assert [(m.source, m.target) for m in other][:4] == [(5, 3), (4, 3), (3, 1), (1, 2)]
    for name, belief in other.beliefs.items():
        assert belief == pytest.approx(passed.beliefs[name], rel=1e-14)


def test_h13_each_formula_names_what_the_message_is_made_of(tree, passed):
    assert passed[2, 1].formula == "ψ(1, 2) ψ(2), 2 = 1"
    assert passed[3, 1].formula == "Σ_3 ψ(1, 3) ψ(3) m[4 -> 3] m[5 -> 3]"
    best = credo.pass_messages(tree, root=3, max_product=True)
    assert best[1, 3].formula == "max_1 ψ(1, 3) ψ(1) m[2 -> 1]"
    # By hand: max(4 * 7, 1 * 3) and max(1 * 7, 4 * 3).
    np.testing.assert_allclose(best[2, 1].values * np.exp(best[2, 1].log_scale), [28, 12])


def test_h13_factors_of_three_variables_are_nodes_with_formulas_of_their_own():
    net = credo.BayesianNetwork()
    for name in "abc":
        net.variable(name, 2)
    net.cpt("a", [], [0.5, 0.5])
    net.cpt("b", [], [0.25, 0.75])
    net.cpt("c", ["a", "b"], [[[0.9, 0.1], [0.5, 0.5]], [[0.3, 0.7], [0.2, 0.8]]])
    passed = credo.pass_messages(net, {"b": 1}, root="c")
    lines = str(passed).splitlines()
    node = "('a', 'b', 'c')"
    assert f"  1. m[b -> {node}] = p(b): (0: 0, 1: 0.75) ∝ (0: 0, 1: 1)" in lines
    assert passed[node_of(passed), "c"].formula == (
        f"Σ_a p(c | a, b) m[a -> {node}] m[b -> {node}], b = 1"
    )
    np.testing.assert_allclose(list(passed.beliefs["c"].values()), [0.35, 0.65])


def node_of(passed):
    return next(message.target for message in passed if isinstance(message.target, tuple))
