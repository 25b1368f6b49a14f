"""``JunctionTree``: compiled once, asked often, by several threads."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from tests.oracles import inference as oracle
from tests.properties.graph_strategies import factor_graphs
from tests.unit.inference.test_infer import sprinkler, star

import credo
from credo.exceptions import InputError, LabelError
from credo.graphs import FactorGraph, chain


def ring(n=8, k=3, seed=0):
    rng = np.random.default_rng(seed)
    graph = FactorGraph()
    for i in range(n):
        graph.variable(i, k)
    for i in range(n):
        graph.factor([i, (i + 1) % n], rng.random((k, k)) + 0.05)
    return graph


def bits(post):
    """All beliefs, to the last bit."""
    return [x.hex() for name in post for x in post.probabilities(name).tolist()]


class TestStructure:
    @given(case=factor_graphs(rules=False))
    def test_is_a_tree_of_maximal_cliques_with_running_intersections(self, case):
        tree = credo.JunctionTree(case.model)
        cliques = [frozenset(clique) for clique in tree.cliques]
        assert len(cliques) == len(tree.parents) == len(tree.separators)
        assert all(p is None or p > i for i, p in enumerate(tree.parents))
        for scope, _ in case.factors:
            assert any({case.names[v] for v in scope} <= clique for clique in cliques)
        assert frozenset().union(*cliques) == set(case.names)
        assert not any(a < b for a in cliques for b in cliques)
        for i, (p, separator) in enumerate(zip(tree.parents, tree.separators, strict=True)):
            shared = frozenset() if p is None else cliques[i] & cliques[p]
            assert frozenset(separator) == shared
        for name in case.names:  # the cliques that hold a variable hang together
            holding = [i for i, clique in enumerate(cliques) if name in clique]
            tops = [i for i in holding if tree.parents[i] not in holding]
            assert len(tops) == 1

    def test_its_cliques_are_those_of_its_plan(self):
        tree = credo.JunctionTree(ring(6))
        scopes = [(i, (i + 1) % 6) for i in range(6)]
        expected = oracle.maximal(oracle.cliques_of_order(scopes, tree.plan.order))
        assert {frozenset(clique) for clique in tree.cliques} == set(expected)
        assert repr(tree) == "<JunctionTree: 4 cliques, 864 B>"

    def test_a_star_is_linear(self):
        tree = credo.JunctionTree(star(2000))
        assert len(tree.cliques) == 2000
        assert all(len(clique) == 2 for clique in tree.cliques)

    def test_auxiliaries_of_rules_are_not_shown(self):
        graph = FactorGraph()
        for i in range(6):
            graph.variable(i, 2)
        graph.parity(range(6))
        tree = credo.JunctionTree(graph)
        assert {name for clique in tree.cliques for name in clique} == set(range(6))


class TestQuestions:
    def test_answers_repeat_to_the_last_bit_after_evidence_of_every_kind(self):
        tree = credo.JunctionTree(ring())
        before = bits(tree.infer())
        first = bits(tree.infer({0: 1}))
        tree.infer({3: {0, 2}}, likelihood={5: [0.1, 0.0, 4.0]})
        tree.infer(jeffrey={2: [0.2, 0.2, 0.6], 6: [0.5, 0.25, 0.25]})
        with pytest.raises(InputError):
            tree.infer({0: 1}, likelihood={0: [1.0, 0.0, 0.0]})
        assert bits(tree.infer()) == before
        assert bits(tree.infer({0: 1})) == first

    def test_an_earlier_answer_does_not_change_with_a_later_question(self):
        tree = credo.JunctionTree(sprinkler())
        first = tree.infer({"wet": "yes"})
        before = first.to_dict(), first.log_evidence
        tree.infer({"wet": "no", "rain": "yes"})
        assert (first.to_dict(), first.log_evidence) == before

    def test_agrees_with_infer(self):
        graph = ring()
        tree = credo.JunctionTree(graph)
        for question in (
            {},
            {"evidence": {0: 1, 4: {1, 2}}},
            {"evidence": {2: 0}, "likelihood": {3: [0.3, 0.1, 0.0], 2: [0.5, 0.1, 0.1]}},
            {"jeffrey": {1: [0.1, 0.1, 0.8]}},
        ):
            one, other = tree.infer(**question), credo.infer(graph, **question)
            assert one.log_evidence == pytest.approx(other.log_evidence, rel=1e-12)
            for name in other:
                np.testing.assert_allclose(
                    one.probabilities(name), other.probabilities(name), rtol=1e-12
                )

    def test_its_answers_can_be_asked_for_joints_and_samples(self):
        post = credo.JunctionTree(sprinkler()).infer({"wet": "yes"})
        joint = post.joint(["rain", "sprinkler"])
        assert joint[{"rain": "yes", "sprinkler": "no"}] == pytest.approx(0.3533, abs=5e-5)
        assert post.sample(3, random_state=0)["wet"] == ["yes"] * 3

    def test_keeps_balanced_evidence_balanced(self):
        tree = credo.JunctionTree(star(400))
        post = tree.infer({f"leaf{i}": int(i >= 200) for i in range(400)})
        np.testing.assert_allclose(post.probabilities("centre"), [0.5, 0.5], rtol=1e-9)

    def test_weights_of_any_size_are_held(self):
        graph = FactorGraph()
        for name in "ab":
            graph.variable(name, 2)
        graph.factor(["a", "b"], [[1.0, 3.0], [1.0, 1.0]])
        tree = credo.JunctionTree(graph)
        for size in (1e300, 1e-300):
            post = tree.infer(likelihood={"a": [size, size], "b": [size, size]})
            np.testing.assert_allclose(post.probabilities("a"), [2 / 3, 1 / 3], rtol=1e-10)
            assert post.log_evidence == pytest.approx(2 * math.log(size) + math.log(6), rel=1e-12)

    def test_refuses_unknown_names_and_states(self):
        tree = credo.JunctionTree(sprinkler())
        with pytest.raises(LabelError, match="snow"):
            tree.infer({"snow": "yes"})
        with pytest.raises(LabelError, match="maybe"):
            tree.infer({"rain": "maybe"})

    def test_of_a_model_without_variables(self):
        tree = credo.JunctionTree(FactorGraph())
        assert tree.cliques == ()
        assert tree.infer().log_evidence == 0.0


class TestThreads:
    def test_two_threads_that_ask_the_same_tree_get_what_one_gets(self):
        tree = credo.JunctionTree(
            chain([0.2] * 5, np.full((5, 5), 0.1) + np.eye(5) * 0.5, length=300)
        )
        questions = [{f"x{i}": i % 5, f"x{(7 * i) % 300}": {0, i % 5}} for i in range(1, 60)]
        alone = [bits(tree.infer(question)) for question in questions]
        with ThreadPoolExecutor(2) as pool:
            together = list(pool.map(lambda question: bits(tree.infer(question)), questions * 2))
        assert together == alone * 2
