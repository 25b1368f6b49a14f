"""``JunctionTree``: compiled once, asked often, by several threads."""

import pickle  # noqa: TID251 - the way to another process, not a model file
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from tests.models import graph, sprinkler, star, steps
from tests.oracles import elimination as oracle
from tests.properties.graph_strategies import factor_graphs

import credo
from credo.exceptions import InputError


def ring(n=8, k=3, seed=0):
    rng = np.random.default_rng(seed)
    pairs = [([i, (i + 1) % n], rng.random((k, k)) + 0.05) for i in range(n)]
    return graph(dict.fromkeys(range(n), k), *pairs)


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
        scopes = [scope for scope, _ in case.factors]
        for scope in scopes:
            assert any({case.names[v] for v in scope} <= clique for clique in cliques)
        order = [case.names.index(name) for name in tree.plan.order]
        expected = oracle.maximal(oracle.cliques(len(case.sizes), scopes, order))
        assert len(cliques) == len(expected)
        assert set(cliques) == {frozenset(case.names[v] for v in each) for each in expected}
        for i, (p, separator) in enumerate(zip(tree.parents, tree.separators, strict=True)):
            shared = frozenset() if p is None else cliques[i] & cliques[p]
            assert frozenset(separator) == shared
        for name in case.names:  # the cliques that hold a variable hang together
            holding = [i for i, clique in enumerate(cliques) if name in clique]
            assert len([i for i in holding if tree.parents[i] not in holding]) == 1

    def test_is_linear_where_the_model_is(self):
        tree = credo.JunctionTree(star(2000))
        assert len(tree.cliques) == 2000
        assert all(len(clique) == 2 for clique in tree.cliques)
        assert sum(map(len, credo.JunctionTree(steps(3000)).separators)) == 2998

    def test_auxiliaries_of_rules_are_not_shown(self):
        model = graph(range(6))
        model.parity(range(6))
        tree = credo.JunctionTree(model)
        assert {name for clique in tree.cliques for name in clique} == set(range(6))

    def test_is_shown_and_copied_whole(self):
        tree = credo.JunctionTree(ring(6))
        assert repr(tree) == "<JunctionTree: 4 cliques, 864 B>"
        other = pickle.loads(pickle.dumps(tree))  # noqa: S301 - our own
        assert other.cliques == tree.cliques
        assert bits(other.infer({3: 1})) == bits(tree.infer({3: 1}))
        assert credo.JunctionTree(graph("")).cliques == ()


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
        joint = first.joint(["rain", "sprinkler"])
        assert joint[{"rain": "yes", "sprinkler": "no"}] == pytest.approx(0.3533, abs=5e-5)
        assert first.sample(3, random_state=0)["wet"] == ["yes"] * 3

    def test_two_threads_that_ask_the_same_tree_get_what_one_gets(self):
        tree = credo.JunctionTree(steps(300, [0.2] * 5, np.full((5, 5), 0.1) + np.eye(5) * 0.5))
        questions = [{f"x{i}": i % 5, f"x{(7 * i) % 300}": {0, i % 5}} for i in range(1, 60)]
        alone = [bits(tree.infer(question)) for question in questions]
        with ThreadPoolExecutor(2) as pool:
            together = list(pool.map(lambda question: bits(tree.infer(question)), questions * 2))
        assert together == alone * 2
