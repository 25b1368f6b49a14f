import itertools

import numpy as np
import pytest
from tests.oracles import regions as oracle
from tests.unit.inference.test_regions import complete, grid, problem_of, random_model

from credo.exceptions import InputError
from credo.graphs import BayesianNetwork
from credo.graphs.problems import pose
from credo.inference.question import ask
from credo.inference.regions import _cliques, _cycles, _overlaps, choice
from credo.inference.regions._cycles import find_plaquettes
from credo.inference.regions._sets import live_scopes
from credo.inference.regions.choice import choose_regions, pick
from credo.inference.regions.generalised import run_generalised


def pairs_only(n, edges, states=2):
    return problem_of([states] * n, [(e, np.ones([states] * 2)) for e in edges])


def random_edges(seed, n=9, share=0.45):
    rng = np.random.default_rng(seed)
    return n, [e for e in itertools.combinations(range(n), 2) if rng.random() < share]


def cycles_of(problem):
    return find_plaquettes(problem, live_scopes(problem))


def test_the_plaquettes_of_a_grid_are_its_faces():
    problem = pairs_only(*grid(4, 6))
    corners = [6 * i + j for i in range(3) for j in range(5)]
    faces = [(c, c + 1, c + 6, c + 7) for c in corners]
    assert sorted(choose_regions(problem, "plaquettes")) == faces
    assert sorted(choose_regions(problem, "auto")) == faces
    assert pick(problem, "auto").kind == "plaquettes"


@pytest.mark.parametrize("share", [0.25, 0.45, 0.8])
@pytest.mark.parametrize("seed", range(5))
def test_short_cycles_are_those_of_a_search_through_all_groups(seed, share):
    n, edges = random_edges(seed, share=share)
    found = cycles_of(pairs_only(n, edges))
    assert sorted(found.cycles.tuples()) == oracle.short_cycles(n, edges)
    assert not found.known.any()


@pytest.mark.parametrize("seed", range(5))
def test_independent_cycles_span_all_of_them_and_balance(seed):
    n, edges = random_edges(seed, share=0.6)
    problem = pairs_only(n, edges)
    found = cycles_of(problem)
    sets, count = found.independent()
    every, few = found.cycles.tuples(), sets.tuples()
    assert count == len(few)
    assert found.n_loops == len(edges) - n + 1
    assert set(few) < set(every)
    assert len(few) == oracle.rank(few, edges) == oracle.rank(every, edges)
    chosen = pick(problem, "plaquettes")
    assert {r for r in chosen.outer.tuples() if len(r) > 2} == set(few)
    assert chosen.overlaps.total == 1 - (found.n_loops - count)


def test_of_a_complete_graph_the_triangles_of_one_vertex_are_kept():
    triangles = choose_regions(pairs_only(*complete(7)), "auto")
    assert sorted(triangles) == [(0, a, b) for a, b in itertools.combinations(range(1, 7), 2)]


def test_cycles_inside_a_factor_are_known_already():
    scopes = [(0, 1, 2, 3), (3, 4), (4, 5), (5, 0), (4, 0)]
    problem = problem_of([2] * 6, [(s, np.ones([2] * len(s))) for s in scopes])
    found = cycles_of(problem)
    assert found.known.sum() == 4
    sets, count = found.independent()
    assert (sets.tuples(), count) == ([(0, 3, 4), (0, 4, 5)], 5)
    assert choose_regions(problem, "auto") == [(0, 3, 4), (0, 4, 5), (0, 1, 2, 3)]


@pytest.mark.parametrize("seed", range(6))
def test_cliques_are_those_of_a_search_through_all_groups(seed):
    n, edges = random_edges(seed, n=8, share=0.3 + 0.1 * seed)
    assert sorted(choose_regions(pairs_only(n, edges), "cliques")) == oracle.cliques(n, edges)


def test_cliques_of_parts_of_different_density():
    edges = [*complete(5)[1], (0, 5), (0, 6), *((a + 7, b + 7) for a, b in complete(4)[1])]
    cliques = [(0, 1, 2, 3, 4), (0, 5), (0, 6), (7, 8, 9, 10)]
    assert choose_regions(pairs_only(11, edges), "cliques") == cliques
    shifted = [(10 - b, 10 - a) for a, b in edges]
    wanted = sorted(tuple(sorted(10 - v for v in clique)) for clique in cliques)
    assert choose_regions(pairs_only(11, shifted), "cliques") == wanted


def test_cliques_that_are_too_large_are_left_to_the_factors():
    n, edges = complete(6)
    problem = pairs_only(n, edges, states=7)  # 7 ** 6 cells
    assert sorted(choose_regions(problem, "cliques")) == edges


@pytest.mark.parametrize("regions", ["auto", "bethe", "plaquettes", "cliques", [[0, 3], [2, 3, 4]]])
@pytest.mark.parametrize("seed", range(3))
def test_regions_cover_every_factor_and_none_lies_in_another(regions, seed):
    sizes, factors = random_model(seed, n_factors=7)
    chosen = [set(r) for r in choose_regions(problem_of(sizes, factors), regions)]
    assert all(any(set(scope) <= r for r in chosen) for scope, _ in factors)
    assert set().union(*chosen) == set(range(8))
    assert not any(a <= b for a, b in itertools.permutations(chosen, 2))
    if regions == "bethe":
        scopes = [set(scope) for scope, _ in factors]
        assert all(r in scopes or len(r) == 1 for r in chosen)


def test_given_regions_are_kept_in_order_and_the_rest_is_added():
    problem = problem_of([2, 2, 1, 3, 2], [((4, 0), np.ones((2, 2)))])
    assert choose_regions(problem, [[3, 2, 1], {3}, [2], []]) == [(1, 3), (0, 4)]


def test_a_hub_of_many_spokes_is_one_inner_region():
    problem = pairs_only(5_001, [(0, i) for i in range(1, 5_001)])
    chosen = pick(problem, [])
    assert len(chosen.overlaps.inner) == 1
    assert chosen.overlaps.counting.tolist() == [1 - 5_000]
    assert chosen.overlaps.is_forest


def test_auto_takes_factors_where_plaquettes_would_be_large():
    assert pick(pairs_only(*grid(3, 3), states=8), "auto").kind == "plaquettes"
    assert pick(pairs_only(*grid(3, 3), states=9), "auto").kind == "bethe"
    assert pick(pairs_only(5, [(0, 1), (1, 2), (3, 4)]), "auto").kind == "bethe"


def test_auto_takes_factors_where_there_are_very_many_plaquettes(monkeypatch):
    problem = pairs_only(14, [(a, b) for a in (0, 1) for b in range(2, 14)])
    assert len(choose_regions(problem, "plaquettes")) == 11
    monkeypatch.setattr(_cycles, "MOST_CYCLES", 12)
    assert pick(problem, "auto").kind == "bethe"
    with pytest.raises(InputError, match="too many triangles and cycles of four"):
        choose_regions(problem, "plaquettes")


def test_where_independent_cycles_are_hard_to_find_all_or_none_are_taken(monkeypatch):
    problem = pairs_only(*complete(7))
    monkeypatch.setattr(_cycles, "MOST_WORK", 10)
    assert pick(problem, "auto").kind == "bethe"
    assert len(choose_regions(problem, "plaquettes")) == 35


def test_regions_beyond_the_limits_are_refused_by_name(monkeypatch):
    problem = problem_of([2] * 17, [((0,), np.ones(2))])
    with pytest.raises(InputError, match=r"variables 0, 1, 2, .* has 131072\. Choose smaller"):
        run_generalised(problem, regions=[range(17)])
    with pytest.raises(InputError, match="has 83521"):
        choose_regions(pairs_only(*grid(2, 2), states=17), "plaquettes")
    monkeypatch.setattr(choice, "MOST_CELLS_IN_ALL", 30)
    with pytest.raises(InputError, match="need 34 cells in all; at most 30"):
        choose_regions(problem, "bethe")
    monkeypatch.setattr(_cliques, "MOST_CLIQUES", 5)
    with pytest.raises(InputError, match="more than 5 maximal cliques"):
        choose_regions(problem, "cliques")
    monkeypatch.setattr(_overlaps, "MOST_ENTRIES", 20)
    with pytest.raises(InputError, match="The 6 regions overlap in too many ways"):
        choose_regions(problem_of([2] * 4, []), list(itertools.combinations(range(4), 2)))


def test_regions_of_rules_name_their_auxiliary_variables():
    net = BayesianNetwork()
    names = [net.variable(f"x{i}", 2).name for i in range(18)]
    for name in names[:-1]:
        net.cpt(name, table=[0.5, 0.5])
    net.noisy_or(names[-1], dict.fromkeys(names[:-1], 0.5))
    question = ask(net, None, None, None, "1GB", "the test")
    problem = pose(question.wiring, question.evidence)
    assert len(problem.n_states) > 18
    with pytest.raises(InputError, match="'x15', 'x16', 'x17', 'auxiliary 18', "):
        choose_regions(problem, [range(14, len(problem.n_states))])
    assert run_generalised(problem).status == "EXACT"


def torus(k):
    site = np.arange(k * k).reshape(k, k)
    return k * k, [
        tuple(sorted(pair))
        for shifted in (np.roll(site, -1, 0), np.roll(site, -1, 1))
        for pair in zip(site.ravel().tolist(), shifted.ravel().tolist(), strict=True)
    ]


def test_a_torus_is_thinned_to_its_independent_faces():
    chosen = pick(pairs_only(*torus(6)), "auto")
    assert (chosen.kind, len(chosen.outer)) == ("plaquettes", 35)  # the last is the sum of all
    assert chosen.overlaps.total == 1 - 2  # two ways round the torus are in no face
    assert pick(pairs_only(*grid(6, 6)), "auto").overlaps.total == 1


def test_very_many_plaquettes_are_all_taken_if_they_balance(monkeypatch):
    monkeypatch.setattr(choice, "MANY_CYCLES", 20)
    monkeypatch.setattr(_cycles, "MOST_WORK", -1)  # so that independent ones cannot be found
    assert len(choose_regions(pairs_only(*grid(6, 6)), "auto")) == 25
    assert len(choose_regions(pairs_only(*torus(6)), "auto")) == 36
    assert pick(pairs_only(*torus(4)), "auto").kind == "bethe"  # cycles of four go round, too


def test_very_many_plaquettes_are_thinned_if_they_do_not_balance(monkeypatch):
    problem = pairs_only(*random_edges(47, n=11, share=0.4))
    found = cycles_of(problem)
    assert (len(found.cycles), found.n_loops, found.independent()[1]) == (5, 5, 4)
    usual = choose_regions(problem, "auto")
    monkeypatch.setattr(choice, "MANY_CYCLES", 0)
    assert choose_regions(problem, "auto") == usual
    assert sum(len(region) > 2 for region in usual) == 4


def test_unbalanced_plaquettes_are_left_alone_unless_asked_for():
    kinds = set()
    for seed in range(20):
        problem = pairs_only(*random_edges(seed, n=11, share=0.75))
        found = cycles_of(problem)
        sets, count = found.independent()
        overlaps = pick(problem, sets.tuples()).overlaps
        balance = overlaps.total == overlaps.n_parts - (found.n_loops - count)
        kinds.add(balance)
        assert pick(problem, "auto").kind == ("plaquettes" if balance else "bethe")
        assert pick(problem, "plaquettes").kind == "plaquettes"
    assert kinds == {True, False}
