"""Many rows of evidence: threads, blocks, lanes, memory and progress."""

import threading
import tracemalloc

import numpy as np
import pytest
from credo.inference._layout import lay_out

from credo.exceptions import BudgetError, InputError
from credo.graphs import BayesianNetwork, chain
from credo.graphs.evidence import Evidence
from credo.graphs.ordering import find_order
from credo.graphs.problems import pose
from credo.inference import _many_routes as routes, _many_runs as runs
from credo.inference._many_tree import RowTree
from credo.inference.many import infer_many


def network(rng, n=14):
    net = BayesianNetwork()
    for v in range(n):
        net.variable(v, 3)
        parents = list(range(max(0, v - 2), v))
        net.cpt(v, given=parents, table=rng.dirichlet(np.ones(3), size=[3] * len(parents)))
    return net


def codes_of(rng, n_rows, n=14, share=0.3):
    codes = rng.integers(0, 3, size=(n_rows, n), dtype=np.int32)
    codes[rng.random((n_rows, n)) >= share] = -1
    return codes


def tree_of(net):
    problem = pose(net.compile(), Evidence(()))
    order = find_order(problem.n_states, problem.scope_start, problem.scope)
    every = np.arange(len(problem.n_states))
    return RowTree(problem, lay_out(problem, order.sequence), every, every)


def bits(many):
    """All numbers of a result, as bytes."""
    parts = [many.probabilities(name).tobytes() for name in many]
    return b"".join([*parts, many.log_evidence.tobytes()])


@pytest.mark.parametrize("lanes", [1, 2, 3, 7, 16, 64, 100])
def test_answers_do_not_depend_on_the_neighbours_to_the_last_bit(lanes):
    rng = np.random.default_rng(0)
    tree, codes = tree_of(network(rng)), codes_of(rng, 90)
    shuffled = rng.permutation(90)
    results = []
    for order, width in ((np.arange(90), 8), (shuffled, lanes)):
        out, log_z = np.empty((90, 42)), np.empty(90)
        part, logs = np.empty((90, 42)), np.empty(90)
        tree.run(np.ascontiguousarray(codes[order]), tree.room(width), part, logs)
        out[order], log_z[order] = part, logs
        results.append((out, log_z))
    assert np.array_equal(results[0][0], results[1][0])
    assert np.array_equal(results[0][1], results[1][1])


def test_answers_do_not_depend_on_threads_blocks_or_the_order_of_columns(monkeypatch):
    rng = np.random.default_rng(1)
    net, codes = network(rng), codes_of(rng, 200)
    names = list(net.names)
    expected = bits(infer_many(net, codes, columns=names, threads=1))
    assert bits(infer_many(net, codes, columns=names, threads=3)) == expected
    for block in (1, 24):
        monkeypatch.setattr(runs, "_BLOCK", block)
        assert bits(infer_many(net, codes, columns=names, threads=4)) == expected
    order = rng.permutation(14)
    mixed = infer_many(net, codes[:, order], columns=[names[j] for j in order], threads=2)
    assert bits(mixed) == expected


def test_a_row_has_the_same_bits_alone_and_among_others():
    rng = np.random.default_rng(2)
    net, codes = network(rng), codes_of(rng, 40)
    many = infer_many(net, codes, columns=net.names)
    alone = infer_many(net, codes[17:18], columns=net.names)
    for name in many:
        assert np.array_equal(many.probabilities(name)[17:18], alone.probabilities(name))


def test_few_bytes_mean_fewer_lanes_and_threads_but_the_same_answer():
    rng = np.random.default_rng(3)
    net, codes = network(rng), codes_of(rng, 100)
    expected = bits(infer_many(net, codes, columns=net.names, query=[13]))
    cells = tree_of(net).n_cells
    for copies in (5, 20, 60):
        small = 8 * cells * copies + 8 * 100 * 4
        assert bits(infer_many(net, codes, columns=net.names, query=[13], budget=small)) == expected


def test_rooms_fit_the_memory_that_is_left():
    tree = tree_of(network(np.random.default_rng(4)))
    size = 8.0 * tree.n_cells
    assert runs._fitting(tree, 10_000, 4, np.inf) == (64, 4)
    assert runs._fitting(tree, 5, 4, np.inf) == (8, 1)
    assert runs._fitting(tree, 10_000, 4, size * 64) == (16, 4)
    assert runs._fitting(tree, 10_000, 4, size * 16) == (8, 2)
    assert runs._fitting(tree, 10_000, 4, size * 2) == (2, 1)
    assert runs._fitting(tree, 10_000, 4, 0.0) == (1, 1)


def test_a_tree_counts_all_its_bytes_against_the_budget(monkeypatch):
    net = chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=3000)
    infer_many(net, [{"x0": 0}])
    tree = tree_of(net)
    assert tree.n_bytes < 700 * 3000
    for budget, made in ((1_300_000, 0), (4_000_000, 1)):
        trees = []
        with monkeypatch.context() as patch:
            patch.setattr(
                routes, "RowTree", lambda *a, kept=trees: kept.append(RowTree(*a)) or kept[-1]
            )
            many = infer_many(net, [{"x0": 0}], budget=budget)
        assert len(trees) == made
        np.testing.assert_allclose(many.probabilities("x1"), [[0.9, 0.1]], rtol=1e-13)


def test_a_long_chain_takes_little_memory_beside_its_tables():
    net = chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=20_000)
    infer_many(chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=20), [{"x0": 0}])
    net.compile()
    tracemalloc.start()
    many = infer_many(net, [{"x0": 1}])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1000 * 20_000  # one tuple per step, as there were, took 5000 for each variable
    limit = [0.2 / 0.3, 0.1 / 0.3]
    np.testing.assert_allclose(many.probabilities("x19999"), [limit], rtol=1e-12)


def test_results_above_the_budget_are_refused_with_a_remedy():
    net = chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=100)
    rows = [{"x0": 0, "x9": i % 2, "x5": i // 2 % 2} for i in range(4)]
    said = "marginals of 4 distinct rows, 200 numbers each, take 6.43 kB.*query=.*infer_batches"
    with pytest.raises(BudgetError, match=said):
        infer_many(net, rows * 10, budget=6000)


def test_tables_above_the_budget_are_refused():
    rng = np.random.default_rng(5)
    with pytest.raises(BudgetError, match="infer_many needs .* for its clique tables"):
        infer_many(network(rng), [{0: 1}], budget=1500)


def test_a_tree_that_does_not_fit_gives_way_to_what_the_row_leaves():
    rng = np.random.default_rng(6)
    net = network(rng)
    row = {v: int(rng.integers(3)) for v in range(14) if v not in (3, 9)}
    expected = infer_many(net, [row])
    found = infer_many(net, [row], budget=1500)
    for name in expected:
        both = found.probabilities(name), expected.probabilities(name)
        np.testing.assert_allclose(*both, atol=1e-13)


@pytest.mark.parametrize("threads", [1, 3])
def test_progress_counts_all_rows_up(monkeypatch, threads):
    monkeypatch.setattr(runs, "_BLOCK", 64)
    rng = np.random.default_rng(7)
    net, codes = network(rng), codes_of(rng, 300)
    seen = []
    rows = np.concatenate([codes, codes])
    infer_many(net, rows, columns=net.names, threads=threads, progress=lambda *s: seen.append(s))
    done = [d for d, _ in seen]
    assert done == sorted(done)
    assert seen[-1] == (600, 600)
    assert len(seen) > 2


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_progress_stops_the_run(monkeypatch, threads):
    monkeypatch.setattr(runs, "_BLOCK", 64)
    rng = np.random.default_rng(8)

    before = set(threading.enumerate())  # another test's pool may still be there

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        infer_many(
            network(rng), codes_of(rng, 300), columns=range(14), threads=threads, progress=stop
        )
    assert not [t for t in set(threading.enumerate()) - before if "ThreadPool" in t.name]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"threads": 0}, "threads of infer_many must be a whole number"),
        ({"on_impossible": "skip"}, "on_impossible of infer_many must be one of 'raise', 'nan'"),
        ({"budget": "much"}, "budget of infer_many"),
        ({"query": "x0"}, "query of infer_many must be a list"),
    ],
    ids=str,
)
def test_options_are_checked(option, said):
    net = chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=3)
    with pytest.raises(InputError, match=said):
        infer_many(net, [{}], **option)


def test_what_is_no_model_is_refused():
    with pytest.raises(InputError, match="infer_many needs a BayesianNetwork"):
        infer_many({"a": 1}, [{}])


def test_rows_that_differ_are_found_and_sorted_by_pattern():
    codes = np.array([[0, 1], [-1, 1], [0, 1], [1, 0], [-1, 0], [-1, 1]], np.int32)
    first, which = runs.distinct(codes)
    assert np.array_equal(codes[first][which], codes)
    assert sorted(first.tolist()) == [0, 1, 3, 4]
    parts = [(p.start, p.stop, columns.tolist()) for p, columns in runs.patterns(codes[first])]
    assert sorted(columns for _, _, columns in parts) == [[0, 1], [1]]
    assert [stop - start for start, stop, _ in parts] == [2, 2]


def test_rows_of_one_hash_are_still_told_apart(monkeypatch):
    class Zeros:
        def integers(self, *_, dtype):
            return np.zeros((2, 2), dtype)

    monkeypatch.setattr(np.random, "default_rng", lambda _: Zeros())
    codes = np.array([[0, 1], [1, 0], [0, 1]], np.int32)
    first, which = runs.distinct(codes)
    assert np.array_equal(codes[first][which], codes)
    assert len(first) == 2


def test_many_rows_with_a_hundred_thousand_repeats_run_once():
    net = chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=30)
    codes = np.zeros((100_000, 2), np.int8)
    codes[1::2, 1] = 1
    many = infer_many(net, codes, columns=["x0", "x29"])
    assert many.n_rows == 100_000
    assert len(many._beliefs) == 2
