import itertools

import numpy as np
import pytest
from tests.oracles import regions as oracle
from tests.unit.inference.test_regions import grid, ising, problem_of, random_model

from credo.inference.regions._messages import RegionMessages
from credo.inference.regions._overlaps import intersections, shared_variables
from credo.inference.regions._sets import Sets
from credo.inference.regions.choice import pick
from credo.inference.regions.graph import build_graph, outer_logs

N = 9


def random_sets(seed):
    """Maximal sets, many of which overlap."""
    rng = np.random.default_rng(seed)
    drawn = {frozenset(rng.permutation(N)[: rng.integers(2, 6)].tolist()) for _ in range(7)}
    kept = sorted(tuple(sorted(s)) for s in drawn if not any(s < t for t in drawn))
    return kept, [frozenset(s) for s in kept]


@pytest.mark.parametrize("seed", range(40))
def test_inner_regions_and_counting_numbers_are_those_of_the_definition(seed):
    listed, outer = random_sets(seed)
    every = oracle.closure(outer)
    numbers = oracle.counting(outer, every)
    needed = {s for s in every if numbers[s] or not oracle.agree_already(s, outer, every)}
    found = intersections(Sets.of(listed), N)
    inner = [frozenset(s) for s in found.inner.tuples()]
    assert set(inner) == needed
    assert len(inner) == len(needed)
    assert found.counting.tolist() == [numbers[s] for s in inner]
    holders = [[i for i, a in enumerate(outer) if a >= s] for s in inner]
    assert [list(one) for one in found.links.tuples()] == holders
    for v in range(N):
        held = sum(c for s, c in zip(inner, found.counting, strict=True) if v in s)
        assert held + sum(v in a for a in outer) == (1 if any(v in a for a in outer) else 0)


@pytest.mark.parametrize("seed", range(40))
def test_junction_trees_are_recognised(seed):
    listed, outer = random_sets(seed)
    assert intersections(Sets.of(listed), N).is_forest == oracle.has_junction_tree(outer)


def test_junction_trees_are_recognised_with_nested_separators():
    for sets in ([(0, 1, 2), (1, 2, 3), (1, 2, 4), (1, 5)], [(0, 1, 2), (2, 3), (4, 5)]):
        outer = [frozenset(s) for s in sets]
        found = intersections(Sets.of(sets), N)
        assert found.is_forest
        assert oracle.has_junction_tree(outer)
        assert found.total == found.n_parts
    assert intersections(Sets.of([(0, 1, 2), (2, 3), (4, 5)]), N).n_parts == 2
    assert not intersections(Sets.of([(0, 1), (1, 2), (0, 2)]), N).is_forest


def test_a_region_that_is_not_counted_stays_if_agreement_needs_it():
    # 0 is shared by two pairs of sets and a triangle of sets that close a loop: counted 0 times
    sets = [(0, 1, 2), (0, 1, 3), (0, 4, 5), (0, 5, 6), (0, 4, 6)]
    outer = [frozenset(s) for s in sets]
    every = oracle.closure(outer)
    assert oracle.counting(outer, every)[frozenset({0})] == 0
    assert not oracle.agree_already(frozenset({0}), outer, every)
    found = intersections(Sets.of(sorted(sets)), N)
    assert (0,) in found.inner.tuples()


def test_many_intersections_find_room():
    sets = list(itertools.combinations(range(N), 5))
    found = intersections(Sets.of(sets), N)
    assert np.bincount(found.inner.sizes).tolist() == [0, 9, 36, 84, 126]
    sizes = [found.counting[found.inner.sizes == k] for k in (4, 3, 2, 1)]
    assert [np.unique(c).tolist() for c in sizes] == [[-4], [10], [-20], [35]]
    assert len(found.links.members) > 4 * 5 * len(sets)  # more than there was room for at first


def test_every_intersection_of_eight_sets_is_counted_with_alternating_sign():
    sets = [[v for v in range(256) if v >> i & 1] for i in range(8)]
    found = intersections(Sets.of(sets), 256)
    repeats = found.links.sizes
    assert np.bincount(repeats).tolist() == [0, 0, 28, 56, 70, 56, 28, 8, 1]
    assert found.inner.sizes.tolist() == (2 ** (8 - repeats)).tolist()
    assert found.counting.tolist() == ((-1) ** (repeats - 1)).tolist()


def test_bethe_regions_share_single_variables():
    found = shared_variables(Sets.of([(0, 1, 2), (1, 2, 3), (2, 4)]), 6)
    assert found.inner.tuples() == [(1,), (2,)]
    assert found.counting.tolist() == [-1, -2]
    assert found.links.tuples() == [(0, 1), (0, 1, 2)]
    assert not found.is_forest
    assert shared_variables(Sets.of([(0, 1, 2), (2, 3), (2, 4)]), 6).is_forest


@pytest.mark.parametrize("seed", range(5))
def test_tables_of_outer_regions_multiply_to_the_whole(seed):
    sizes, factors = random_model(seed, n=7)
    problem = problem_of(sizes, factors)
    graph = build_graph(problem, pick(problem, [(0, 3, 5), (1, 2)]))
    logs, constant = outer_logs(problem, graph)
    total = np.zeros(sizes)
    for i, region in enumerate(graph.outer.tuples()):
        table = logs[graph.cells[i] : graph.cells[i + 1]].reshape([sizes[v] for v in region])
        total = total + oracle.spread(region, table, len(sizes))
    assert constant == 0.0
    np.testing.assert_allclose(total, np.log(oracle.whole(sizes, factors)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_maps_lead_from_cells_of_outer_regions_to_cells_of_inner_ones(seed):
    sizes, factors = random_model(seed, n_factors=12)
    problem = problem_of(sizes, factors)
    graph = build_graph(problem, pick(problem, "auto"))
    outer, inner = graph.outer.tuples(), graph.inner.tuples()
    links = [(b, j) for b in range(len(inner)) for j in range(*graph.link_start[b : b + 2])]
    assert len(links) == len(graph.link) > 0
    for b, j in links:
        region = outer[graph.link[j]]
        shape, small = [sizes[v] for v in region], [sizes[v] for v in inner[b]]
        start = graph.map_start[j]
        for x, place in enumerate(itertools.product(*map(range, shape))):
            at = [place[region.index(v)] for v in inner[b]]
            assert graph.maps[start + x] == np.ravel_multi_index(at, small)


def test_links_of_a_grid_share_eight_maps():
    problem = problem_of(*ising(*grid(7, 8), 0.5, 0.3, 0))
    graph = build_graph(problem, pick(problem, "plaquettes"))
    assert len(graph.link) > 200
    assert len(np.unique(graph.map_start)) == 8
    assert sorted(set(zip(graph.inner.sizes.tolist(), graph.counting.tolist(), strict=True))) == [
        (1, 1),
        (2, -1),
    ]
    assert graph.repeats[graph.inner.sizes == 1].tolist() == [4] * 30


def test_beliefs_rebuilt_from_messages_are_those_that_sweeps_have_kept():
    problem = problem_of(*ising(*grid(4, 4), 1.0, 0.3, 0, mixed=True))
    messages = RegionMessages(problem, build_graph(problem, pick(problem, "plaquettes")))
    numbers = np.maximum(messages.graph.counting, 0).astype(float)
    for i in range(300):
        messages.sweep(numbers, 0.7, backward=i % 2 == 1)
    kept = messages.outer.copy()
    messages.rebuild()
    shift = np.repeat(
        np.logaddexp.reduceat(kept, messages.graph.cells[:-1]), np.diff(messages.graph.cells)
    )
    np.testing.assert_allclose(messages.outer, kept - shift, atol=1e-11)
