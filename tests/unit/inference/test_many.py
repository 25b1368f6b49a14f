"""Many rows of evidence: the answers, the routes to them, memory, threads and progress."""

import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.oracles import inference as oracle
from tests.properties.graph_strategies import factor_graphs, models

import credo
from credo.exceptions import BudgetError, ImpossibleEvidence, InputError, LabelError
from credo.graphs import BayesianNetwork, FactorGraph, chain
from credo.inference import ManyEngine, infer_batches, infer_many, many as many_module
from credo.inference.many_rows import EvidenceRows


def random_network(rng, n=12, zeros=0.0):
    """A network of n variables with two to four states and up to three parents each."""
    net = BayesianNetwork()
    sizes = rng.integers(2, 5, size=n).tolist()
    for v, k in enumerate(sizes):
        net.variable(f"v{v}", k)
    for v, k in enumerate(sizes):
        parents = sorted(rng.permutation(v)[: rng.integers(0, 4)].tolist())
        table = rng.dirichlet(np.ones(k), size=[sizes[u] for u in parents])
        table[rng.random(table.shape) < zeros] = 0.0
        table[..., 0] += 1e-3
        table /= table.sum(axis=-1, keepdims=True)
        net.cpt(f"v{v}", given=[f"v{u}" for u in parents], table=table)
    return net


def random_rows(rng, net, n_rows, share=0.3):
    """Rows with a random part of the variables observed."""
    return [
        {v.name: int(rng.integers(v.n_states)) for v in net.variables if rng.random() < share}
        for _ in range(n_rows)
    ]


def sprinkler():
    net = BayesianNetwork()
    for name in ("rain", "sprinkler", "wet"):
        net.variable(name, ["no", "yes"])
    net.cpt("rain", table=[0.8, 0.2])
    net.cpt("sprinkler", given=["rain"], table=[[0.6, 0.4], [0.99, 0.01]])
    net.cpt("wet", given=["sprinkler", "rain"], table=[[[1, 0], [0.2, 0.8]], [[0.1, 0.9], [0, 1]]])
    return net


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [0.05, 0.4, 1.0])
def test_every_row_has_the_answer_that_it_has_on_its_own(seed, share):
    rng = np.random.default_rng(seed)
    net = random_network(rng)
    rows = random_rows(rng, net, 25, share)
    many = infer_many(net, rows)
    for i, row in enumerate(rows):
        alone = credo.infer(net, row)
        assert many.log_evidence[i] == pytest.approx(alone.log_evidence, abs=1e-12)
        for name in net.names:
            found = many.probabilities(name)[i]
            np.testing.assert_allclose(found, alone.probabilities(name), atol=1e-12)


@given(case=models(), seed=st.integers(0, 2**32), asked=st.booleans())
def test_answers_are_sums_over_all_configurations(case, seed, asked):
    rng = np.random.default_rng(seed)
    n = len(case.sizes)
    query = [case.names[v] for v in rng.permutation(n)[: rng.integers(n + 1)]] if asked else None
    rows = [
        {case.names[v]: int(rng.integers(case.sizes[v])) for v in range(n) if rng.random() < 0.35}
        for _ in range(5)
    ]
    many = infer_many(case.model, rows, query=query, on_impossible="nan")
    check_rows(case, rows, many)


@given(case=factor_graphs(kinds=("wide", "far", "zeros"), rules=False), seed=st.integers(0, 2**32))
def test_factors_of_any_range_lose_nothing(case, seed):
    rng = np.random.default_rng(seed)
    rows = [
        {name: int(rng.integers(k)) for name, k in zip(case.names, case.sizes, strict=True)}
        for _ in range(3)
    ]
    rows = [{}, *({k: x for k, x in row.items() if rng.random() < 0.3} for row in rows)]
    check_rows(case, rows, infer_many(case.model, rows, on_impossible="nan"))


def check_rows(case, rows, many):
    """Compare with the oracle, row by row."""
    for i, row in enumerate(rows):
        places = [(case.names.index(name), x) for name, x in row.items()]
        weights = [(v, np.eye(case.sizes[v])[x]) for v, x in places]
        left = oracle.weigh(case.configurations, weights)
        assert (i in many.impossible) == (not left)
        if not left:
            assert many.log_evidence[i] == -np.inf
            continue
        log_z = oracle.log_total(left)
        assert many.log_evidence[i] == pytest.approx(log_z, rel=1e-12, abs=case.tolerance)
        for name in many:
            expected = oracle.joint(left, case.sizes, [case.names.index(name)])
            found = many.probabilities(name)[i]
            np.testing.assert_allclose(found, expected, rtol=10 * case.tolerance, atol=1e-300)


def test_rows_that_underflow_are_computed_in_logs():
    # state 0 of the hub outweighs the others by 1e150 for each leaf, until the gate excludes it
    graph = FactorGraph()
    hub, gate = graph.variable("hub", 3), graph.variable("gate", 2)
    graph.factor([hub, gate], [[1, 0], [0, 1], [0, 1]])
    for i in range(5):
        leaf = graph.variable(f"leaf{i}", 2)
        graph.factor([hub, leaf], [[0.5, 1.0], [0.5, 1e-150], [0.5, 2e-150]])
    rows = [{f"leaf{i}": 1 for i in range(k)} | {"gate": 1} for k in range(6)]
    many = infer_many(graph, [{}, *rows])
    k = np.arange(6)
    odds = 2.0**k
    np.testing.assert_allclose(many.probabilities("hub")[1:, 2], odds / (1 + odds), rtol=1e-12)
    assert (many.probabilities("hub")[1:, 0] == 0.0).all()
    expected = -150 * np.log(10) * k + np.log1p(odds) - (5 - k) * np.log(2)
    np.testing.assert_allclose(many.log_evidence[1:], expected, rtol=1e-12)


def test_rows_of_a_model_of_any_range_are_what_they_are_alone():
    graph = FactorGraph()
    a, b, c = (graph.variable(name, k) for name, k in (("a", 2), ("b", 3), ("c", 2)))
    graph.factor([a, b], [[0.0, -900.0, 3.0], [-1500.0, 2.0, 1.0]], log=True)
    graph.factor([b, c], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    rows = [{"a": 0}, {"a": 1, "c": 1}, {"c": 0}, {"b": 1}, {"a": 0, "b": 1}]
    many = infer_many(graph, rows, query=["c", "b"])
    for i, row in enumerate(rows):
        alone = credo.infer(graph, row)
        assert many.log_evidence[i] == pytest.approx(alone.log_evidence, rel=1e-13)
        for name in ("c", "b"):
            found = many.probabilities(name)[i]
            np.testing.assert_allclose(found, alone.probabilities(name), rtol=1e-12)


def test_a_node_with_many_children_is_scaled_on_the_way():
    net = BayesianNetwork()
    net.variable("class", 2)
    net.cpt("class", table=[0.5, 0.5])
    for i in range(300):
        net.variable(i, 2)
        net.cpt(i, given=["class"], table=[[0.999, 0.001], [0.998, 0.002]])
    rows = [dict.fromkeys(range(300), 1), dict.fromkeys(range(300), 0), {}]
    many = infer_many(net, rows, query=["class"])
    ratio = np.array([2.0**300, (0.998 / 0.999) ** 300, 1.0])
    np.testing.assert_allclose(many.probabilities("class")[:, 1], ratio / (1 + ratio), rtol=1e-12)
    expected = 300 * np.log(0.001) + np.log1p(2.0**300) - np.log(2)
    assert many.log_evidence[0] == pytest.approx(expected, rel=1e-13)


def test_rules_are_tabulated_and_their_auxiliaries_hidden():
    graph = FactorGraph()
    bits = [graph.variable(f"b{i}", 2) for i in range(5)]
    for i, bit in enumerate(bits):
        graph.factor([bit], [1.0, 0.5 + i])
    graph.parity(bits)
    many = infer_many(graph, [{}, {"b0": 1}, {"b0": 1, "b1": 1, "b2": 0, "b3": 0}])
    assert many.variables == ("b0", "b1", "b2", "b3", "b4")
    for i, row in enumerate([{}, {"b0": 1}]):
        alone = credo.infer(graph, row)
        np.testing.assert_allclose(many.probabilities("b4")[i], alone.probabilities("b4"))
    assert many.probabilities("b4")[2].tolist() == [1.0, 0.0]


#: What is said to be costly, so that the other routes are taken.
COSTS = {
    "row by row": {"_PER_CELL": 1.0},
    "by pattern": {"_PER_OWN_CELL": 1.0, "_PER_NEW_CELL": 0.0, "_TREE": 1e-9},
    "together": {"_PER_OWN_CELL": 1.0, "_PER_NEW_CELL": 1.0, "_TREE": 1e-9},
    "some of each": {"_PER_OWN_CELL": 2e-8, "_PER_NEW_CELL": 5e-9, "_TREE": 1e-7},
}


@pytest.mark.parametrize("costs", COSTS.values(), ids=COSTS)
@pytest.mark.parametrize("query", [None, ["v3"], ["v7", "v0"], []], ids=str)
def test_all_routes_give_the_same_answers(monkeypatch, costs, query):
    rng = np.random.default_rng(5)
    net = random_network(rng)
    rows = random_rows(rng, net, 20, 0.2)
    rows += [row | dict.fromkeys(row, 1) for row in rows]
    usual = infer_many(net, rows, query=query)
    for name, cost in costs.items():
        monkeypatch.setattr(many_module, name, cost)
    seen = []
    other = infer_many(net, rows, query=query, progress=lambda *s: seen.append(s))
    assert seen[-1] == (40, 40)
    np.testing.assert_allclose(other.log_evidence, usual.log_evidence, atol=1e-12)
    assert other.variables == usual.variables
    for name in usual:
        found = other.probabilities(name)
        np.testing.assert_allclose(found, usual.probabilities(name), atol=1e-12)


def test_the_cheapest_route_is_taken(monkeypatch):
    net = random_network(np.random.default_rng(5))
    codes = np.array([[0, -1], [1, -1], [-1, 0], [0, 1]], np.int32)
    taken, made = {}, many_module.LaneTree
    for what, costs in COSTS.items():
        trees, done = [], [0]
        with monkeypatch.context() as patch:
            for name, cost in costs.items():
                patch.setattr(many_module, name, cost)
            patch.setattr(many_module, "LaneTree", lambda *a, t=trees: t.append(a) or made(*a))
            said = {"query": ["v3"], "progress": lambda n, _, d=done: d.append(n)}
            infer_many(net, codes, columns=["v0", "v5"], **said)
        taken[what] = len(trees), sorted(np.diff(done).tolist())  # one tree is for all rows
    assert taken["together"] == (1, [4])
    assert taken["row by row"] == (1, [1, 1, 2])
    assert taken["by pattern"][0] > 2
    assert taken["by pattern"][1] == [1, 1, 2]


def test_a_posterior_has_a_row_for_each_row():
    many = infer_many(sprinkler(), [{"wet": "yes"}, {}, {"rain": "no"}])
    post = many["rain"]
    assert (post.n_rows, post.labels) == (3, ("no", "yes"))
    # by hand: p(rain, wet) over p(wet)
    assert post["yes"][0] == pytest.approx(0.1604 / (0.1604 + 0.8 * 0.4 * 0.9), rel=1e-12)
    np.testing.assert_allclose(post["yes"][1:], [0.2, 0.0])
    assert repr(many) == "<ManyPosteriors: 3 rows, 3 variables, EXACT>"
    assert (many.status, len(many), list(many)) == ("EXACT", 3, ["rain", "sprinkler", "wet"])


def test_names_and_variables_are_in_a_result_if_they_were_asked_for():
    net = sprinkler()
    many = infer_many(net, [{}], query=["rain"])
    assert "rain" in many
    assert net["rain"] in many
    assert not any(name in many for name in ("wet", "snow", ["rain"], 0))
    assert repr(many) == "<ManyPosteriors: 1 row, 1 variable, EXACT>"


def test_no_rows_give_no_rows():
    for rows in ([], {"rain": []}, {}):
        many = infer_many(sprinkler(), rows)
        assert many.n_rows == 0
        assert many.probabilities("wet").shape == (0, 2)
        assert many.log_evidence.shape == (0,)


def test_rows_without_findings_have_the_prior():
    many = infer_many(sprinkler(), {"rain": [None, None], "wet": [float("nan"), None]})
    np.testing.assert_allclose(many.probabilities("rain"), [[0.8, 0.2]] * 2)
    np.testing.assert_allclose(many.log_evidence, 0.0, atol=1e-15)


def test_repeats_have_equal_answers():
    rows = [{"wet": "yes"}, {"rain": "no"}] * 50
    many = infer_many(sprinkler(), rows)
    assert many.n_rows == 100
    found = many.probabilities("sprinkler")
    assert np.array_equal(found[::2], np.tile(found[0], (50, 1)))
    assert np.array_equal(found[1::2], np.tile(found[1], (50, 1)))


def test_an_impossible_row_is_named_with_a_smallest_conflict():
    rows = [{"rain": "no"}, {"wet": "yes", "sprinkler": "no", "rain": "no"}]
    rows += [{"wet": "no", "rain": "yes", "sprinkler": "yes"}]
    with pytest.raises(ImpossibleEvidence, match="infer_many, row 1: the evidence has") as caught:
        infer_many(sprinkler(), rows)
    assert caught.value.conflict == {"wet": "yes", "sprinkler": "no", "rain": "no"}


def test_impossible_rows_can_be_nan():
    rows = [{"rain": "no"}, {"wet": "yes", "sprinkler": "no", "rain": "no"}, {}] * 2
    many = infer_many(sprinkler(), rows, on_impossible="nan")
    assert many.impossible.tolist() == [1, 4]
    assert many.log_evidence[[1, 4]].tolist() == [-np.inf, -np.inf]
    found = many.probabilities("wet")
    assert np.isnan(found).any(axis=1).tolist() == [False, True, False] * 2
    assert np.isnan(found[1]).all()
    assert repr(many) == "<ManyPosteriors: 6 rows, 2 of them impossible, 3 variables, EXACT>"
    with pytest.raises(InputError, match="Rows 1, 4 are impossible and have no posterior"):
        many["wet"]


def test_a_model_that_allows_nothing_says_so():
    graph = FactorGraph()
    a = graph.variable("a", 2)
    graph.factor([a], [1.0, 0.0])
    graph.factor([a], [0.0, 1.0])
    with pytest.raises(InputError, match="the model allows no configuration at all"):
        infer_many(graph, [{}])


def test_a_query_leaves_the_others_out():
    many = infer_many(sprinkler(), [{"wet": "yes"}], query=["rain"])
    assert many.variables == ("rain",)
    with pytest.raises(InputError, match="'wet' was not asked for; query has 'rain'"):
        many.probabilities("wet")
    with pytest.raises(LabelError, match="no variable 'Rain'.*Did you mean 'rain'"):
        many.probabilities("Rain")


def test_batches_are_read_one_at_a_time_and_equal_one_table():
    rng = np.random.default_rng(8)
    net = random_network(rng)
    rows = random_rows(rng, net, 30)
    whole = infer_many(net, rows)
    seen = []

    def tables():
        for i in range(0, 30, 7):
            seen.append(i)
            yield rows[i : i + 7]

    stream = infer_batches(net, tables())
    parts = [next(stream)]
    assert seen == [0]
    parts += stream
    joined = np.concatenate([part.probabilities("v5") for part in parts])
    assert np.array_equal(joined, whole.probabilities("v5"))
    logs = np.concatenate([part.log_evidence for part in parts])
    assert np.array_equal(logs, whole.log_evidence)


def test_errors_in_a_batch_name_the_table_and_the_row():
    bad = {"wet": "yes", "sprinkler": "no", "rain": "no"}
    stream = infer_batches(sprinkler(), [[{}], [{}, {}, bad]])
    next(stream)
    with pytest.raises(ImpossibleEvidence, match="infer_batches, table 1, row 2:"):
        next(stream)


def test_an_engine_answers_again_and_again():
    engine = ManyEngine(sprinkler(), query=["rain"])
    first = engine.run([{"wet": "yes"}])
    second = engine.run(np.array([[1], [-1]]), columns=["wet"])
    assert np.array_equal(first.probabilities("rain")[0], second.probabilities("rain")[0])
    assert second.probabilities("rain")[1] == pytest.approx([0.8, 0.2])
    third = engine.run([{"sprinkler": "yes"}])
    assert third.probabilities("rain")[0, 1] == pytest.approx(0.002 / 0.322)


def ladder(rng, n=14, reach=2):
    """A network of n variables of three states, each with the last few as parents."""
    net = BayesianNetwork()
    for v in range(n):
        net.variable(v, 3)
        parents = list(range(max(0, v - reach), v))
        net.cpt(v, given=parents, table=rng.dirichlet(np.ones(3), size=[3] * len(parents)))
    return net


def codes_of(rng, n_rows, n=14, share=0.3):
    codes = rng.integers(0, 3, size=(n_rows, n), dtype=np.int32)
    codes[rng.random((n_rows, n)) >= share] = -1
    return codes


def bits(many):
    """All numbers of a result, as bytes."""
    parts = [many.probabilities(name).tobytes() for name in many]
    return b"".join([*parts, many.log_evidence.tobytes()])


def test_answers_do_not_depend_on_threads_blocks_or_the_order_of_columns(monkeypatch):
    rng = np.random.default_rng(1)
    net, codes = ladder(rng), codes_of(rng, 200)
    names = list(net.names)
    expected = bits(infer_many(net, codes, columns=names, threads=1))
    assert bits(infer_many(net, codes, columns=names, threads=3)) == expected
    for block in (1, 24):
        monkeypatch.setattr(many_module, "_BLOCK", block)
        assert bits(infer_many(net, codes, columns=names, threads=4)) == expected
    order = rng.permutation(14)
    mixed = infer_many(net, codes[:, order], columns=[names[j] for j in order], threads=2)
    assert bits(mixed) == expected


def test_a_row_has_the_same_bits_alone_and_among_others():
    rng = np.random.default_rng(2)
    net, codes = ladder(rng), codes_of(rng, 40)
    many = infer_many(net, codes, columns=net.names)
    alone = infer_many(net, codes[17:18], columns=net.names)
    for name in many:
        assert np.array_equal(many.probabilities(name)[17:18], alone.probabilities(name))


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
        infer_many(ladder(rng), [{0: 1}], budget=1500)


def test_a_tree_that_does_not_fit_gives_way_to_what_the_row_leaves():
    rng = np.random.default_rng(6)
    net = ladder(rng)
    row = {v: int(rng.integers(3)) for v in range(14) if v not in (3, 9)}
    expected = infer_many(net, [row])
    found = infer_many(net, [row], budget=1500)
    for name in expected:
        both = found.probabilities(name), expected.probabilities(name)
        np.testing.assert_allclose(*both, atol=1e-13)


@pytest.mark.parametrize("threads", [1, 3])
def test_progress_counts_all_rows_up(monkeypatch, threads):
    monkeypatch.setattr(many_module, "_BLOCK", 64)
    rng = np.random.default_rng(7)
    net, codes = ladder(rng), codes_of(rng, 300)
    seen = []
    rows = np.concatenate([codes, codes])
    infer_many(net, rows, columns=net.names, threads=threads, progress=lambda *s: seen.append(s))
    done = [d for d, _ in seen]
    assert done == sorted(done)
    assert seen[-1] == (600, 600)
    assert len(seen) > 2


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_progress_stops_the_run(monkeypatch, threads):
    monkeypatch.setattr(many_module, "_BLOCK", 64)
    rng = np.random.default_rng(8)

    before = set(threading.enumerate())  # another test's pool may still be there

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        infer_many(
            ladder(rng), codes_of(rng, 300), columns=range(14), threads=threads, progress=stop
        )
    assert not [t for t in set(threading.enumerate()) - before if "ThreadPool" in t.name]


@pytest.mark.parametrize("lanes", [1, 2, 3, 7, 16, 64, 100])
def test_answers_do_not_depend_on_the_neighbours_to_the_last_bit(monkeypatch, lanes):
    rng = np.random.default_rng(0)
    net, codes = ladder(rng), codes_of(rng, 90)
    expected = infer_many(net, codes, columns=net.names)
    shuffled = rng.permutation(90)
    monkeypatch.setattr(many_module, "_LEAST_LANES", lanes)
    monkeypatch.setattr(many_module, "_MOST_LANES", lanes)
    found = infer_many(net, codes[shuffled], columns=net.names)
    assert np.array_equal(found.log_evidence, expected.log_evidence[shuffled])
    for name in net.names:
        both = found.probabilities(name), expected.probabilities(name)[shuffled]
        assert np.array_equal(*both)


@pytest.mark.parametrize("budget", ["4MB", "20MB", "60MB"])
def test_few_bytes_mean_fewer_lanes_and_threads_but_the_same_answer(budget):
    rng = np.random.default_rng(3)
    net, codes = ladder(rng, n=20, reach=6), codes_of(rng, 200, n=20)
    asked = {"columns": net.names, "query": [13], "threads": 4}
    expected = infer_many(net, codes, **asked)  # the tables take 0.3 MB, and 64 lanes on 4 threads
    tracemalloc.start()
    found = infer_many(net, codes, budget=budget, **asked)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert bits(found) == bits(expected)
    assert peak < 1e6 * float(budget[:-2])


@pytest.mark.parametrize(("budget", "n_trees"), [(1_300_000, 0), (4_000_000, 1)])
def test_a_tree_counts_all_its_bytes_against_the_budget(monkeypatch, budget, n_trees):
    net = chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=3000)
    trees, made = [], many_module.LaneTree
    monkeypatch.setattr(many_module, "LaneTree", lambda *a: trees.append(a) or made(*a))
    many = infer_many(net, [{"x0": 0}], budget=budget)
    assert len(trees) == n_trees
    np.testing.assert_allclose(many.probabilities("x1"), [[0.9, 0.1]], rtol=1e-13)


def test_rows_that_differ_are_found_and_sorted_by_pattern():
    codes = np.array([[0, 1], [-1, 1], [0, 1], [1, 0], [-1, 0], [-1, 1]], np.int32)
    alone, first, which = EvidenceRows((0, 1), codes).distinct()
    assert np.array_equal(alone.codes, codes[first])
    assert np.array_equal(alone.codes[which], codes)
    assert sorted(first.tolist()) == [0, 1, 3, 4]
    assert (np.diff(alone.codes[:, 0] < 0) != 0).sum() == 1


def test_rows_of_one_hash_are_still_told_apart(monkeypatch):
    class Zeros:
        def integers(self, *_, dtype):
            return np.zeros((2, 2), dtype)

    monkeypatch.setattr(np.random, "default_rng", lambda _: Zeros())
    codes = np.array([[0, 1], [1, 0], [0, 1]], np.int32)
    alone, _, which = EvidenceRows((0, 1), codes).distinct()
    assert np.array_equal(alone.codes[which], codes)
    assert len(alone.codes) == 2


def test_a_hundred_thousand_repeats_run_once_and_are_held_once():
    net = chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=30)
    codes = np.zeros((100_000, 2), np.int8)
    codes[1::2, 1] = 1
    many = infer_many(net, codes, columns=["x0", "x29"], budget="100kB")
    assert many.n_rows == 100_000
