"""Many rows of evidence: answers, routes, memory, threads, progress, and shapes of rows."""

import datetime as dt
import threading
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from tests.models import graph, sprinkler, steps
from tests.oracles import inference as oracle
from tests.properties.graph_strategies import factor_graphs, models
from tests.work import bytes_in

import credo
from credo.exceptions import BudgetError, ImpossibleEvidence, InputError, LabelError
from credo.graphs import BayesianNetwork
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


def assert_as_alone(model, rows, many, atol=1e-12, rel=0.0):
    """Each row has the answer that it has on its own."""
    for i, row in enumerate(rows):
        alone = credo.infer(model, row)
        assert many.log_evidence[i] == pytest.approx(alone.log_evidence, rel=rel, abs=atol)
        for name in many:
            found = many.probabilities(name)[i]
            np.testing.assert_allclose(found, alone.probabilities(name), rtol=1e-12, atol=atol)


@pytest.mark.parametrize("share", [0.05, 0.4, 1.0])
def test_every_row_has_the_answer_that_it_has_on_its_own(share):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        net = random_network(rng)
        rows = random_rows(rng, net, 25, share)
        assert_as_alone(net, rows, infer_many(net, rows))


def check_rows(case, seed, share=0.35, *, asked=False):
    """Compare with the sum over all configurations, row by row."""
    rng = np.random.default_rng(seed)
    query = rng.permutation(len(case.names))[: rng.integers(len(case.names) + 1)]
    rows = [{}, *random_rows(rng, case.model, 4, share)]
    options = {"query": [case.names[v] for v in query]} if asked else {}
    many = infer_many(case.model, rows, on_impossible="nan", **options)
    for i, row in enumerate(rows):
        places = [(case.names.index(name), x) for name, x in row.items()]
        left = oracle.weigh(case.configurations, [(v, np.eye(case.sizes[v])[x]) for v, x in places])
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


@given(case=models(), seed=st.integers(0, 2**32), asked=st.booleans())
def test_answers_are_sums_over_all_configurations(case, seed, asked):
    check_rows(case, seed, asked=asked)


@given(case=factor_graphs(kinds=("wide", "far", "zeros"), rules=False), seed=st.integers(0, 2**32))
def test_factors_of_any_range_lose_nothing(case, seed):
    check_rows(case, seed, 0.3)


def test_rows_that_underflow_are_computed_in_logs():
    # state 0 of the hub outweighs the others by 1e150 for each leaf, until the gate excludes it
    leaf = [[0.5, 1.0], [0.5, 1e-150], [0.5, 2e-150]]
    model = graph(
        {"hub": 3, "gate": 2} | {f"leaf{i}": 2 for i in range(5)},
        (["hub", "gate"], [[1, 0], [0, 1], [0, 1]]),
        *[(["hub", f"leaf{i}"], leaf) for i in range(5)],
    )
    rows = [{f"leaf{i}": 1 for i in range(k)} | {"gate": 1} for k in range(6)]
    many = infer_many(model, [{}, *rows])
    k = np.arange(6)
    odds = 2.0**k
    np.testing.assert_allclose(many.probabilities("hub")[1:, 2], odds / (1 + odds), rtol=1e-12)
    assert (many.probabilities("hub")[1:, 0] == 0.0).all()
    expected = -150 * np.log(10) * k + np.log1p(odds) - (5 - k) * np.log(2)
    np.testing.assert_allclose(many.log_evidence[1:], expected, rtol=1e-12)


def test_rows_of_a_model_of_any_range_are_what_they_are_alone():
    near = np.log([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    wide = [[0.0, -900.0, 3.0], [-1500.0, 2.0, -np.inf]]
    model = graph({"a": 2, "b": 3, "c": 2}, ("ab", wide), ("bc", near), log=True)
    rows = [{"a": 0}, {"a": 1, "c": 1}, {"c": 0}, {"b": 1}, {"a": 0, "b": 1}]
    assert_as_alone(model, rows, infer_many(model, rows, query=["c", "b"]), 1e-300, rel=1e-13)
    never = {"a": 1, "b": 2}
    many = infer_many(model, [never, {"c": 0}, never | {"c": 1}], on_impossible="nan")
    assert many.impossible.tolist() == [0, 2]


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


#: What is said to be costly, so that the other routes are taken.
COSTS = {
    "row by row": {"_PER_CELL": 1.0},
    "by pattern": {"_PER_OWN_CELL": 1.0, "_PER_NEW_CELL": 0.0, "_TREE": 1e-9},
    "together": {"_PER_OWN_CELL": 1.0, "_PER_NEW_CELL": 1.0, "_TREE": 1e-9},
    "some of each": {"_PER_OWN_CELL": 2e-8, "_PER_NEW_CELL": 5e-9, "_TREE": 1e-7},
}


@pytest.mark.parametrize("costs", COSTS.values(), ids=COSTS)
def test_all_routes_give_the_same_answers(monkeypatch, costs):
    rng = np.random.default_rng(5)
    net = random_network(rng)
    rows = random_rows(rng, net, 20, 0.2)
    rows += [row | dict.fromkeys(row, 1) for row in rows]
    for query in (None, ["v3"], ["v7", "v0"], []):
        usual = infer_many(net, rows, query=query)
        seen = []
        with monkeypatch.context() as patch:
            for name, cost in costs.items():
                patch.setattr(many_module, name, cost)
            other = infer_many(net, rows, query=query, progress=lambda *s, at=seen: at.append(s))
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


def test_results_are_shown_and_know_what_they_hold():
    net = sprinkler()
    rows = [{"rain": "no"}, {"wet": "yes", "sprinkler": "no", "rain": "no"}, {}] * 2
    many = infer_many(net, rows, on_impossible="nan")
    assert repr(many) == "<ManyPosteriors: 6 rows, 2 of them impossible, 3 variables, EXACT>"
    with pytest.raises(InputError, match="Rows 1, 4 are impossible and have no posterior"):
        many["wet"]
    one = infer_many(net, [{"wet": "yes"}], query=["rain"])
    assert repr(one) == "<ManyPosteriors: 1 row, 1 variable, EXACT>"
    assert (one["rain"].n_rows, one["rain"].labels) == (1, ("no", "yes"))
    assert "rain" in one
    assert net["rain"] in one
    assert not any(name in one for name in ("wet", "snow", ["rain"], 0))
    with pytest.raises(InputError, match="'wet' was not asked for; query has 'rain'"):
        one.probabilities("wet")
    with pytest.raises(LabelError, match="no variable 'Rain'.*Did you mean 'rain'"):
        one.probabilities("Rain")


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


def test_a_long_chain_takes_little_memory_beside_its_tables():
    net = steps(20_000)
    net.compile()
    # one tuple per step, as there were, took 5000 bytes for each variable
    assert bytes_in(infer_many, net, [{"x0": 1}]) < 1000 * 20_000
    found = infer_many(net, [{"x0": 1}]).probabilities("x19999")
    np.testing.assert_allclose(found, [[0.2 / 0.3, 0.1 / 0.3]], rtol=1e-12)


def test_results_and_tables_above_the_budget_are_refused_with_a_remedy():
    rows = [{"x0": 0, "x9": i % 2, "x5": i // 2 % 2} for i in range(4)]
    said = "marginals of 4 distinct rows, 200 numbers each, take 6.43 kB.*query=.*infer_batches"
    with pytest.raises(BudgetError, match=said):
        infer_many(steps(100), rows * 10, budget=6000)
    with pytest.raises(BudgetError, match="infer_many needs .* for its clique tables"):
        infer_many(ladder(np.random.default_rng(5)), [{0: 1}], budget=1500)


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
def test_progress_counts_all_rows_up_and_an_error_in_it_stops_the_run(monkeypatch, threads):
    monkeypatch.setattr(many_module, "_BLOCK", 64)
    rng = np.random.default_rng(7)
    net, codes = ladder(rng), codes_of(rng, 300)
    asked = {"columns": net.names, "threads": threads}
    seen = []
    infer_many(net, np.tile(codes, (2, 1)), **asked, progress=lambda *s: seen.append(s))
    done = [d for d, _ in seen]
    assert done == sorted(done)
    assert seen[-1] == (600, 600)
    assert len(seen) > 2
    before = set(threading.enumerate())  # another test's pool may still be there

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        infer_many(net, codes, **asked, progress=stop)
    assert not [t for t in set(threading.enumerate()) - before if "ThreadPool" in t.name]


@pytest.mark.parametrize("lanes", [1, 3, 7, 16, 100])
def test_answers_do_not_depend_on_the_neighbours_to_the_last_bit(monkeypatch, lanes):
    rng = np.random.default_rng(0)
    net, codes = ladder(rng), codes_of(rng, 90)
    expected = infer_many(net, codes, columns=net.names)
    monkeypatch.setattr(many_module, "_LEAST_LANES", lanes)
    monkeypatch.setattr(many_module, "_MOST_LANES", lanes)
    for some in (rng.permutation(90), [17]):
        found = infer_many(net, codes[some], columns=net.names)
        assert np.array_equal(found.log_evidence, expected.log_evidence[some])
        for name in net.names:
            both = found.probabilities(name), expected.probabilities(name)[some]
            assert np.array_equal(*both)


@pytest.mark.parametrize("budget", ["4MB", "20MB", "60MB"])
def test_few_bytes_mean_fewer_lanes_and_threads_but_the_same_answer(budget):
    rng = np.random.default_rng(3)
    net, codes = ladder(rng, n=20, reach=6), codes_of(rng, 200, n=20)
    asked = {"columns": net.names, "query": [13], "threads": 4}
    expected = infer_many(net, codes, **asked)  # the tables take 0.3 MB, and 64 lanes on 4 threads
    assert bits(infer_many(net, codes, budget=budget, **asked)) == bits(expected)
    peak = bytes_in(lambda: infer_many(net, codes, budget=budget, **asked))
    assert peak < 1e6 * float(budget[:-2])


@pytest.mark.parametrize(("budget", "n_trees"), [(1_300_000, 0), (4_000_000, 1)])
def test_a_tree_counts_all_its_bytes_against_the_budget(monkeypatch, budget, n_trees):
    net = steps(3000)
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
    net = steps(30)
    codes = np.zeros((100_000, 2), np.int8)
    codes[1::2, 1] = 1
    many = infer_many(net, codes, columns=["x0", "x29"], budget="100kB")
    found = many.probabilities("x10")
    assert found.shape == (100_000, 2)
    assert np.array_equal(found, np.tile(found[:2], (50_000, 1)))
    assert found[0, 0] != found[1, 0]


CELLS = {
    "smoke": ["no", None, "yes", "yes", None],
    "stage": [None, 2, None, 0, 1],
    "alarm": [True, None, False, None, True],
}
CODES = [[0, -1, 1], [-1, 2, -1], [1, -1, 0], [1, 0, -1], [-1, 1, 1]]


def clinic():
    net = BayesianNetwork()
    net.variable("smoke", ["no", "yes"])
    net.variable("stage", [0, 1, 2])
    net.variable("alarm", [False, True])
    net.cpt("smoke", table=[0.7, 0.3])
    net.cpt("stage", given=["smoke"], table=[[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])
    net.cpt("alarm", given=["stage"], table=[[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
    return net


def answers(rows, columns=None, method="auto"):
    """All bits of the answers; that of an observed variable is one at its state."""
    return bits(infer_many(clinic(), rows, columns=columns, method=method))


def listed(cells):
    return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]


def dictionaries(frame):
    """The text of an Arrow table as dictionaries."""
    return frame.set_column(0, "smoke", frame["smoke"].dictionary_encode())


FRAMES = {
    "pandas": lambda: pd.DataFrame(CELLS),
    "pandas objects": lambda: pd.DataFrame(CELLS, dtype=object),
    "pandas nullable": lambda: pd.DataFrame(CELLS).convert_dtypes(),
    "pandas categories": lambda: pd.DataFrame(CELLS).astype("category"),
    "polars": lambda: pl.DataFrame(CELLS),
    "polars categories": lambda: pl.DataFrame(CELLS).with_columns(
        pl.col("smoke").cast(pl.Categorical)
    ),
    "arrow": lambda: pa.table(CELLS),
    "arrow chunks": lambda: pa.concat_tables([pa.table(CELLS).slice(0, 2), pa.table(CELLS)[2:]]),
    "arrow categories": lambda: dictionaries(pa.table(CELLS)),
    "columns": lambda: CELLS,
    "columns of arrays": lambda: {k: np.array(v, dtype=object) for k, v in CELLS.items()},
    "columns of series": lambda: dict(pd.DataFrame(CELLS).items()),
    "mappings": lambda: listed(CELLS),
    "mappings without empty cells": lambda: [
        {name: cell for name, cell in row.items() if cell is not None} for row in listed(CELLS)
    ],
    "another order": lambda: pd.DataFrame(CELLS)[["alarm", "smoke", "stage"]],
    "a tuple": lambda: tuple(listed(CELLS)),
}


@pytest.mark.parametrize("method", ["exact", "loopy"])
@pytest.mark.parametrize("shape", FRAMES)
def test_rows_of_all_shapes_are_the_same(shape, method):
    assert answers(FRAMES[shape](), method=method) == answers(np.array(CODES), list(CELLS), method)


@pytest.mark.parametrize("method", ["exact", "loopy"])
def test_an_empty_cell_is_not_observed_and_each_row_has_its_own_answer(method):
    rows = [*FRAMES["mappings without empty cells"]()] * 2
    rows = [rows[1], *rows]
    assert_as_alone(clinic(), rows, infer_many(clinic(), rows, method=method), atol=1e-9)


@pytest.mark.parametrize("kind", ["i1", "i8", "u2"])
def test_an_array_holds_state_indices(kind):
    codes = np.array(CODES)[:, [2, 0]]
    codes = np.maximum(codes, 0) if kind == "u2" else codes
    cells = [
        {"alarm": None if a < 0 else bool(a), "smoke": None if s < 0 else ("no", "yes")[s]}
        for a, s in codes
    ]
    assert answers(codes.astype(kind), ["alarm", "smoke"]) == answers(cells)


def test_masked_cells_of_an_array_were_not_observed():
    masked = np.ma.array([[0, 1]], mask=[[False, True]])
    assert answers(masked, ["smoke", "stage"]) == answers({"smoke": ["no"], "stage": [None]})


def test_all_spellings_of_missing_are_missing():
    cells = [None, float("nan"), np.nan, np.float64("nan"), pd.NA, pd.NaT, np.datetime64("NaT")]
    cells = cells * 5 + [float("nan") for _ in range(40)]
    assert answers({"stage": cells}) == answers(np.full((len(cells), 1), -1), ["stage"])


def test_numbers_of_numpy_and_floats_are_the_states_that_they_equal():
    cells = [np.int8(2), np.float32(1.0), 2.0, True]
    assert answers({"stage": cells}) == answers(np.array([[2], [1], [2], [1]]), ["stage"])


@pytest.mark.parametrize(
    "states",
    [
        [dt.date(2020, 1, 1), dt.date(2020, 1, 2)],
        [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2)],  # noqa: DTZ001 - as in a frame
        [(0, 1), (1, 0)],
        [Decimal("0.1"), Decimal("0.2")],
        [0.5, "half"],
        [b"a", b"b"],
    ],
    ids=lambda states: type(states[0]).__name__,
)
def test_states_are_matched_by_value_whatever_they_are(states):
    net = BayesianNetwork()
    net.variable("x", states)
    net.cpt("x", table=[0.3, 0.7])
    cells = {"x": [states[1], None, states[0]]}
    frames = [pd.DataFrame(cells, dtype=object)]
    if isinstance(states[0], dt.date):
        frames += [pd.DataFrame(cells), pl.DataFrame(cells), pa.table(cells)]
    for rows in cells, listed(cells), *frames:
        found = infer_many(net, rows).probabilities("x")
        assert found.tolist() == [[0, 1], [0.3, 0.7], [1, 0]]


def test_a_declared_category_that_does_not_occur_need_not_be_a_state():
    for rows in (
        pd.DataFrame({"smoke": pd.Categorical(["no", None], ["maybe", "no"])}),
        pl.DataFrame({"smoke": pl.Series(["no", None], dtype=pl.Enum(["maybe", "no"]))}),
    ):
        assert answers(rows) == answers(np.array([[0], [-1]]), ["smoke"])


def test_an_unknown_state_or_column_is_named_with_its_row():
    cells = {"stage": [0, 1, 1], "smoke": ["no", None, "Yes"]}
    expected = "infer_many: a column is no variable.*'smoek'.*Did you mean 'smoke'.*Drop columns"
    for make in (pd.DataFrame, pl.DataFrame, pa.table, dict, listed):
        with pytest.raises(LabelError, match="row 2 has 'Yes' for 'smoke'.*Did you mean 'yes'"):
            infer_many(clinic(), make(cells))
        with pytest.raises(LabelError, match=expected):
            infer_many(clinic(), make({"smoek": ["no"]}))


@pytest.mark.parametrize(
    ("rows", "columns", "said"),
    [
        (np.array([[0.0]]), ["smoke"], "must hold integers: state indices, -1 where nothing"),
        (np.array([["no"]]), ["smoke"], "pass a data frame or a mapping"),
        (np.array([[0]]), None, "an array has no names. Pass columns"),
        (np.array([[1], [2]]), ["smoke"], "row 1 has state index 2 for 'smoke'"),
        (np.array([[-2]]), ["smoke"], "row 0 has state index -2"),
        (np.array([[0, 0]]), ["smoke", "smoke"], "columns names 'smoke' twice"),
        ([{"smoke": "no"}], ["smoke"], "columns= names the columns of an array"),
        ([["no"]], None, "Row 0 is list"),
        ({"smoke": "no"}, None, "must be a list of cells, one per row. Got 'no'"),
        ({"smoke": 3}, None, "must be a list of cells"),
        (pl.LazyFrame({"smoke": ["no"]}), None, "a lazy frame has no rows yet"),
        (pd.Series(["no"], name="smoke"), None, "Got Series"),
        ("no", None, "Got str"),
        (pd.DataFrame([["no", "yes"]], columns=["smoke", "smoke"]), None, "column"),
        ({"stage": ["1"]}, None, "row 0 has '1' for 'stage'.* 1 is of type int"),
        ({"smoke": ["no", ["no"]]}, None, r"row 1 has \['no'\] for 'smoke'"),
        ([{"smoke": ["no"]}], None, r"row 0 has \['no'\] for 'smoke'"),
        ({"smoke": ["no", "yes"], "stage": [1]}, None, "'stage' has 1 cells and 'smoke' has 2"),
        (np.array([0, 1]), ["smoke"], r"shape \(rows, 1\), one column per name. Got \(2,\)"),
        (None, None, "Got NoneType"),
    ],
)
def test_what_is_no_table_is_refused(rows, columns, said):
    with pytest.raises(InputError, match=said):
        infer_many(clinic(), rows, columns=columns)


def test_a_state_named_none_cannot_be_told_from_an_empty_cell():
    net = BayesianNetwork()
    net.variable("grade", [None, "low"])
    net.cpt("grade", table=[0.5, 0.5])
    with pytest.raises(InputError, match="None is a state of 'grade'"):
        infer_many(net, {"grade": [None]})
    found = infer_many(net, np.array([[0], [-1]]), columns=["grade"])
    assert found.probabilities("grade").tolist() == [[1.0, 0.0], [0.5, 0.5]]


def test_tables_without_rows_or_columns_are_fine():
    for rows in ([], {"smoke": []}, {}):
        many = infer_many(clinic(), rows)
        assert (many.n_rows, many.probabilities("stage").shape) == (0, (0, 3))
        assert many.log_evidence.shape == (0,)
    assert infer_many(clinic(), pd.DataFrame({"smoke": []})).n_rows == 0
    assert infer_many(clinic(), pl.DataFrame({"smoke": []}, schema={"smoke": str})).n_rows == 0
    assert infer_many(clinic(), pd.DataFrame(index=range(3))).n_rows == 3
    assert infer_many(clinic(), np.empty((2, 0), int), columns=[]).n_rows == 2
