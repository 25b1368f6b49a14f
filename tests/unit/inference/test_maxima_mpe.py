"""Which engine answers mpe, what it says of its answer, and when it warns."""

import math
import warnings

import numpy as np
import pytest
from tests.oracles import cuts as fields, maxima as oracle
from tests.unit.inference.test_maxima_cuts import graph_of
from tests.unit.inference.test_maxima_trws import frustrated

import credo
from credo.exceptions import ApproximationWarning, BudgetError, ImpossibleEvidence, InputError
from credo.graphs import FactorGraph, MarkovNetwork
from credo.inference.maximum import Configuration, k_best, marginal_map, max_marginals, mpe

METHODS = ("junction_tree", "tree_reweighted", "loopy", "icm")


def attractive_grid(rows, columns, seed=0):
    rng = np.random.default_rng(seed)
    edges = fields.grid_edges(rows, columns)
    return MarkovNetwork.from_arrays(
        rng.normal(size=(rows * columns, 2)), edges, np.eye(2) * 0.7, log=True
    )


class TestMethods:
    @pytest.mark.parametrize("method", METHODS)
    def test_the_score_is_never_above_the_best_and_the_bound_never_below(self, method):
        reached = 0
        for seed in range(30):
            model, factors = frustrated(np.random.default_rng(seed), 2)
            best = oracle.log_product((2,) * 9, factors).max()
            found = mpe(model, method=method)
            assert found.engine == method
            assert found.log_score <= best + 1e-9
            assert found.bound is None or found.bound >= best - 1e-9
            if found.is_exact:
                assert found.log_score == pytest.approx(best, abs=1e-9)
                assert 0.0 <= found.gap < 1e-11
            reached += found.log_score >= best - 1e-9
        assert reached >= {"junction_tree": 30, "icm": 5}.get(method, 20)

    def test_evidence_and_likelihood_count_for_every_method(self):
        model, factors = frustrated(np.random.default_rng(3), 3)
        logs = oracle.log_product((3,) * 9, [*factors, ([4], np.array([0.1, 2.0, 0.5]))])
        best = oracle.observed_only(logs, {0: [2], 8: [0, 1]}).max()
        for method in METHODS:
            found = mpe(model, {0: 2, 8: {0, 1}}, likelihood={4: [0.1, 2.0, 0.5]}, method=method)
            assert found[0] == 2
            assert found[8] in (0, 1)
            assert found.log_score <= best + 1e-9
            assert found.log_score == pytest.approx(logs[tuple(found.states.values())], abs=1e-9)

    def test_a_cut_answers_for_an_attractive_field_and_names_its_ties(self):
        graph = graph_of((2, 2, 2), [([0, 1], np.array([[3.0, 1.0], [1.0, 3.0]]))])
        found = mpe(graph, {2: 1}, method="graph_cut")
        assert found.engine == "graph_cut"
        assert found.tied == (0, 1)
        assert found.is_exact
        assert found.log_score == found.bound == pytest.approx(math.log(3.0))

    @pytest.mark.parametrize("seed", range(8))
    def test_rules_are_decoded_with_their_auxiliary_variables(self, seed):
        rng = np.random.default_rng(seed)
        graph = FactorGraph()
        bits = [graph.variable(i, 2) for i in range(9)]
        graph.parity(bits[:6])
        graph.at_most_one(bits[5:])
        for bit in bits:
            graph.factor([bit], rng.uniform(0.2, 1.0, 2))
        best = mpe(graph, method="junction_tree")
        for method in ("tree_reweighted", "loopy"):
            found = mpe(graph, method=method)
            assert list(found.states) == list(range(9))
            assert found.log_score == pytest.approx(best.log_score)

    def test_where_rules_meet_twice_beliefs_may_fail_and_the_score_says_so(self):
        graph = FactorGraph()
        bits = [graph.variable(i, 2) for i in range(7)]
        graph.parity(bits)
        graph.at_most_one(bits[:4])
        for bit, weights in zip(
            bits, np.random.default_rng(2).uniform(0.2, 1.0, (7, 2)), strict=True
        ):
            graph.factor([bit], weights)
        with pytest.warns(ApproximationWarning, match="does not prove that there is none"):
            found = mpe(graph, method="loopy")
        assert found.log_score == -math.inf  # and not NaN, or a number
        found = mpe(graph, method="tree_reweighted")
        assert found.log_score <= mpe(graph).log_score <= found.bound

    def test_where_beliefs_are_tied_neighbours_are_chosen_together(self):
        equal = np.array([[1.0, 0.1], [0.1, 1.0]])
        ring = graph_of((2,) * 12, [([i, (i + 1) % 12], equal) for i in range(12)])
        found = mpe(ring, method="loopy")
        assert found.log_score == pytest.approx(0.0, abs=1e-12)
        assert len(set(found.states.values())) == 1

    def test_restarts_of_icm_are_drawn_from_the_seed(self):
        model, _ = frustrated(np.random.default_rng(7), 3, 6, 6)
        scores = [
            mpe(model, method="icm", start="random", restarts=4, seed=seed).log_score
            for seed in (1, 1, 2)
        ]
        assert scores[0] == scores[1] != scores[2]


class TestAuto:
    def test_the_junction_tree_answers_where_it_fits(self):
        model, _ = frustrated(np.random.default_rng(0), 3)
        found = mpe(model)
        assert found.engine == "junction_tree"
        assert found.is_exact

    def test_a_large_attractive_field_is_cut(self):
        model = attractive_grid(25, 25)
        found = mpe(model)
        assert found.engine == "graph_cut"
        assert found.is_exact
        assert found.log_score == mpe(model, method="tree_reweighted").log_score

    def test_a_large_field_that_no_cut_solves_goes_to_the_tree(self):
        rng = np.random.default_rng(0)
        chain = [([i, i + 1], rng.random((3, 3))) for i in range(499)]
        assert mpe(graph_of((3,) * 500, chain)).engine == "junction_tree"

    def test_impossible_evidence_is_known_to_max_product_too(self):
        graph = graph_of((2, 2), [([0, 1], np.eye(2))])
        with pytest.raises(ImpossibleEvidence):
            mpe(graph, {0: 0, 1: 1}, method="loopy")

    def test_a_small_one_is_cut_if_the_tree_does_not_fit(self):
        model = attractive_grid(10, 10)
        found = mpe(model, budget="1kB")
        assert found.engine == "graph_cut"
        assert found.states == mpe(model).states

    def test_what_is_proven_by_messages_needs_no_warning(self):
        rng = np.random.default_rng(1)
        graph = graph_of((3,) * 9, [([i, i + 1], rng.random((3, 3))) for i in range(8)])
        found = mpe(graph, budget=10)
        assert found.engine == "tree_reweighted"
        assert found.is_exact
        assert found.log_score == pytest.approx(mpe(graph).log_score)

    def test_a_gap_is_warned_of_and_shown(self):
        model, _ = frustrated(np.random.default_rng(2), 3, 6, 6)
        with pytest.warns(ApproximationWarning, match="budget of 1kB.* at most .* below") as caught:
            found = mpe(model, budget="1kB", sweeps=50)
        assert caught[0].filename == __file__
        best = mpe(model).log_score
        assert found.log_score <= best <= found.bound
        assert found.gap == found.bound - found.log_score > 0
        assert not found.is_exact
        assert f", gap={found.gap:.3g})" in repr(found)

    def test_a_configuration_that_is_impossible_is_said_to_be(self):
        ring = [([i, (i + 1) % 5], np.ones((2, 2)) - np.eye(2)) for i in range(5)]
        with pytest.warns(ApproximationWarning, match="found no configuration of positive"):
            found = mpe(graph_of((2,) * 5, ring), budget=8)
        assert found.log_score == -math.inf

    def test_asked_for_by_name_a_method_does_not_warn(self):
        model, _ = frustrated(np.random.default_rng(2), 3, 6, 6)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not mpe(model, method="tree_reweighted", sweeps=50).is_exact


class TestRefusals:
    def test_the_tree_asked_for_by_name_has_to_fit(self):
        with pytest.raises(BudgetError, match="largest clique"):
            mpe(attractive_grid(4, 4), method="junction_tree", budget=8)

    @pytest.mark.parametrize("method", ["annealing", None, 3])
    def test_an_unknown_method_is_refused(self, method):
        with pytest.raises(InputError, match="The method of mpe must be one of"):
            mpe(FactorGraph(), method=method)

    @pytest.mark.parametrize(
        ("method", "has"),
        [("tree_reweighted", "It has 'sweeps', 'tolerance',"), ("graph_cut", "It has none")],
    )
    def test_options_of_other_methods_are_refused(self, method, has):
        with pytest.raises(
            InputError, match=f"method='{method}' has no option 'restarts'.*{has}.*of 'icm'"
        ):
            mpe(FactorGraph(), method=method, restarts=3)

    def test_a_cut_that_does_not_apply_is_refused(self):
        with pytest.raises(InputError, match="graph_cut needs variables of two states"):
            mpe(graph_of((3,), []), method="graph_cut")

    @pytest.mark.parametrize("method", ["graph_cut", "tree_reweighted", "auto"])
    def test_impossible_evidence_names_the_conflict(self, method):
        graph = graph_of((2, 2, 2), [([0, 1], np.eye(2)), ([1, 2], np.ones((2, 2)))])
        with pytest.raises(ImpossibleEvidence) as caught:
            mpe(graph, {0: 0, 1: 1, 2: 0}, method=method)
        assert caught.value.conflict == {0: 0, 1: 1}

    @pytest.mark.parametrize("method", ["graph_cut", "tree_reweighted"])
    def test_a_model_that_allows_nothing_is_named_as_such(self, method):
        zeros = [([0, 1], np.eye(2)), ([0], np.array([1.0, 0.0])), ([1], np.array([0.0, 1.0]))]
        with pytest.raises(InputError, match="mpe: the model allows no configuration at all"):
            mpe(graph_of((2, 2), zeros), method=method)

    def test_a_large_field_that_allows_nothing_is_named_as_such(self):
        model = attractive_grid(21, 21)
        zero = [0.0, 0.0]
        graph = graph_of((2,) * 500, [([0, 1], np.eye(2)), ([0], [1.0, 0.0]), ([1], [0.0, 1.0])])
        with pytest.raises(InputError, match="mpe: the model allows no configuration at all"):
            mpe(graph)
        with pytest.raises(InputError, match="weights"):
            mpe(model, likelihood={0: zero})

    @pytest.mark.parametrize("method", ["icm", "loopy", "tree_reweighted"])
    def test_a_seed_that_is_no_whole_number_is_refused(self, method):
        with pytest.raises(InputError, match="seed of"):
            mpe(attractive_grid(2, 2), method=method, seed=-1)


class TestConfigurations:
    def test_made_by_hand_nothing_is_known_of_others(self):
        found = Configuration({"a": 1}, -2.0, ("a",))
        assert found.bound is None
        assert found.gap == math.inf
        assert not found.is_exact
        assert repr(found) == "Configuration({'a': 1}, log_score=-2, tied: 'a')"

    def test_without_a_bound_the_gap_is_infinite(self):
        found = mpe(attractive_grid(3, 3), method="icm")
        assert found.bound is None
        assert repr(found).endswith(", gap=inf)")

    def test_exact_answers_are_their_own_bound(self):
        model, _ = frustrated(np.random.default_rng(1), 2)
        answers = [
            mpe(model),
            max_marginals(model).best,
            marginal_map(model, [1, 2]),
            *k_best(model, 3),
        ]
        for answer in answers:
            assert answer.engine == "junction_tree"
            assert answer.bound == answer.log_score
            assert answer.is_exact
            assert answer.gap == 0.0

    def test_a_bound_within_rounding_proves_the_score(self):
        assert Configuration({}, 1e6, (), 1e6 + 1e-8, "tree_reweighted").is_exact
        near = Configuration({}, 1e6, (), 1e6 + 1e-4, "tree_reweighted")  # another may be better
        assert not near.is_exact
        assert near.gap == pytest.approx(1e-4, rel=1e-3)


def test_the_lobby_has_the_same_door():
    assert credo.mpe is mpe
