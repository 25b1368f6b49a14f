"""Many rows of evidence, exact and by messages: answers, routes, memory, shapes of rows."""

import datetime as dt
import threading
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from tests.models import graph, sprinkler, steps
from tests.oracles import loopy as messages
from tests.properties.loopy_twins import Twin, random_graph
from tests.properties.random_graphs import cases
from tests.work import bytes_in

import credo
from credo.exceptions import (
    BudgetError,
    ExpansionWarning,
    ImpossibleEvidence,
    InputError,
    LabelError,
    ShapeError,
)
from credo.graphs import BayesianNetwork, FactorGraph, parity_graph
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


@pytest.mark.parametrize("share", [0.05, 0.4])
def test_every_row_has_the_answer_that_it_has_on_its_own(share):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        net = random_network(rng)
        rows = random_rows(rng, net, 25, share)
        assert_as_alone(net, rows, infer_many(net, rows))


@given(case=cases() | cases("wide"), asked=st.booleans())
def test_answers_are_sums_over_all_configurations_and_factors_of_any_range_lose_nothing(
    case, asked
):
    rng = np.random.default_rng(case.seed)
    query = rng.permutation(len(case.names))[: rng.integers(len(case.names) + 1)].tolist()
    states = case.joint.states
    rows = [{}] + [
        {n: s[rng.integers(len(s))] for n, s in states.items() if rng.random() < 0.35}
        for _ in range(4)
    ]
    options = {"query": [case.names[v] for v in query]} if asked else {}
    many = infer_many(case.model, rows, on_impossible="nan", **options)
    for i, row in enumerate(rows):
        left = case.joint.given(row)
        assert (i in many.impossible) == (not left.is_possible)
        if not left.is_possible:
            assert many.log_evidence[i] == -np.inf
            continue
        assert many.log_evidence[i] == pytest.approx(left.log_sum, rel=1e-12, abs=case.tolerance)
        for name in many:
            found = many.probabilities(name)[i]
            expected = left.marginal(name)
            np.testing.assert_allclose(found, expected, rtol=10 * case.tolerance, atol=1e-300)


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
    for block in (24,):
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


@pytest.mark.parametrize("lanes", [1, 7, 100])
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


@pytest.mark.parametrize("budget", ["4MB", "60MB"])
def test_few_bytes_mean_fewer_lanes_and_threads_but_the_same_answer(budget):
    rng = np.random.default_rng(3)
    net, codes = ladder(rng, n=20, reach=6), codes_of(rng, 200, n=20)
    asked = {"columns": net.names, "query": [13], "threads": 4}
    expected = infer_many(net, codes, **asked)  # the tables take 0.3 MB, and 64 lanes on 4 threads
    assert bits(infer_many(net, codes, budget=budget, **asked)) == bits(expected)
    peak = bytes_in(lambda: infer_many(net, codes, budget=budget, **asked))
    assert peak < 1e6 * float(budget[:-2])


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
    expected = "infer_many: a column is not a variable.*'smoek'.*Did you mean 'smoke'.*Drop columns"
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


#: A residual that rounding alone may leave is far below, any other far above.
SETTLED = 1e-13


def loopy(*args, **kwargs):
    """Ask, without the warning that a rule was written out; impossible rows are NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExpansionWarning)
        return infer_many(*args, method="loopy", **{"on_impossible": "nan"} | kwargs)


def random_twin(rng, n=6):
    """A graph with loops and rules, over one variable or more."""
    twin = random_graph(rng, rng.choice([1, 2, 2, 2, 3, 4], size=n).tolist(), n + 2, zeros=0.2)
    bits = [v for v in range(n) if twin.sizes[v] == 2]
    for _ in range(2 if bits else 0):
        kind = rng.choice(["even", "odd", "at_most_one", "noisy_or", "noisy_and"])
        scope = rng.permutation(bits)[: rng.integers(1, len(bits) + 1)].tolist()
        chances = rng.choice([0.0, 0.3, 0.8, 1.0], size=len(scope) - 1).tolist()
        twin.rule(str(kind), scope, chances, float(rng.choice([0.0, 0.1, 1.0])))
    return twin


def rows_of(rng, sizes, n_rows, share=0.15):
    return [
        {v: int(rng.integers(k)) for v, k in enumerate(sizes) if rng.random() < share}
        for _ in range(n_rows)
    ]


def assert_row(many, i, marginals, log_z, atol=1e-12):
    assert many.log_evidence[i] == pytest.approx(log_z, rel=1e-12, abs=1e-11)
    for v, marginal in enumerate(marginals):
        np.testing.assert_allclose(many.probabilities(v)[i], marginal, rtol=1e-9, atol=atol)


def run_twin(net, sweeps, eta):
    """Sweep as the engine does; give the residuals, or None for a contradiction."""
    residuals = []
    with np.errstate(invalid="ignore"):
        while len(residuals) < sweeps and (not residuals or residuals[-1] > SETTLED):
            residuals.append(net.flood(eta))
            if any(np.isnan(message).any() for message in net.messages.values()):
                return None
    return residuals if np.isfinite(net.bethe()) else None


@pytest.mark.parametrize("seed", range(24))
def test_every_row_equals_its_slow_twin_sweep_by_sweep(seed):
    rng = np.random.default_rng(seed)
    twin = random_twin(rng)
    eta, heat = float(rng.choice([1.0, 0.6])), float(rng.random() >= 0.3)
    sweeps, rows = int(rng.integers(1, 8)), rows_of(rng, twin.sizes, 5)
    weights = {v: rng.uniform(0.1, 2.0, size=(5, k)) for v, k in enumerate(twin.sizes)}
    settings = {"sweeps": sweeps, "tolerance": SETTLED, "momentum": eta, "temperature": heat}
    many = loopy(twin.graph, rows, potentials=weights if seed % 2 else None, **settings)
    for i, row in enumerate(rows):
        own = {v: w[i] for v, w in weights.items()} if seed % 2 else {}
        net = messages.Net(twin.sizes, twin.weighed(row, own), temperature=heat)
        residuals = run_twin(net, sweeps, eta)
        assert (i in many.impossible) == (residuals is None)
        if residuals is None:
            assert many.statuses[i] == "IMPOSSIBLE"
            assert many.log_evidence[i] == -np.inf
            assert np.isnan(many.probabilities(0)[i]).all()
            continue
        assert many.sweeps[i] == len(residuals)
        assert many.residuals[i] == pytest.approx(residuals[-1], abs=1e-12)
        assert many.statuses[i] == ("MAX_SWEEPS" if residuals[-1] > SETTLED else "CONVERGED")
        assert_row(many, i, net.beliefs(), net.bethe())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_rule_over_one_variable_is_a_weight(dtype):
    graph = parity_graph([[1, 0, 0], [0, 1, 1]], syndrome=[1, 0])
    graph.noisy_or(1, {}, leak=0.1)
    graph.noisy_and(2, {}, leak=0.8)
    graph.at_most_one([1])
    many = loopy(graph, [{}, {1: 1}, {0: 0}], dtype=dtype)
    exact = infer_many(graph, [{}, {1: 1}, {0: 0}], on_impossible="nan")
    assert many.impossible.tolist() == exact.impossible.tolist() == [2]
    assert many.log_evidence_is == ("EXACT" if dtype == "float64" else "ESTIMATE")
    np.testing.assert_allclose(many.log_evidence, exact.log_evidence, atol=1e-6)
    for v in range(3):
        np.testing.assert_allclose(many.probabilities(v), exact.probabilities(v), atol=1e-6)


def ising(rng, side=5, coupling=0.6):
    """A grid of spins."""
    pairs = [(v, v + 1) for v in range(side**2) if v % side < side - 1]
    pairs += [(v, v + side) for v in range(side**2 - side)]
    agree = np.array([[1, -1], [-1, 1]])
    twin = Twin([2] * side**2)
    for pair in pairs:
        twin.factor(pair, rng.normal(scale=coupling) * agree)
    return twin.graph


def numbers(many):
    """All numbers of a result."""
    beliefs = np.hstack([many.probabilities(name) for name in many])
    return np.column_stack([beliefs, many.log_evidence, many.sweeps, many.residuals])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", ["grid", "rules"])
def test_threads_order_and_grouping_change_no_bit(dtype, kind):
    rng = np.random.default_rng(1)
    graph = ising(rng) if kind == "grid" else parity_graph(rng.random((10, 20)) < 0.25)
    logs = rng.normal(size=(150, len(graph.names), 2))
    settings = {"sweeps": 30, "dtype": dtype, "tolerance": 1e-4}
    whole = numbers(loopy(graph, log_potentials=logs, threads=1, **settings))
    assert len(set(whole[:, -2].tolist())) > 1  # rows are done at different times
    for threads in (2, 3):
        other = numbers(loopy(graph, log_potentials=logs, threads=threads, **settings))
        np.testing.assert_array_equal(other, whole)
    order = rng.permutation(150)
    other = numbers(loopy(graph, log_potentials=logs[order], **settings))
    np.testing.assert_array_equal(other, whole[order])
    parts = [loopy(graph, log_potentials=logs[a : a + 7], **settings) for a in range(0, 150, 7)]
    np.testing.assert_array_equal(np.vstack([numbers(part) for part in parts]), whole)


def test_potentials_by_name_are_those_in_one_array():
    rng = np.random.default_rng(4)
    graph = ising(rng, side=3)
    logs = rng.normal(scale=2.0, size=(9, 9, 2))
    whole = numbers(loopy(graph, log_potentials=logs))
    named = {v: np.exp(logs[:, v]) for v in reversed(range(9))}
    np.testing.assert_allclose(numbers(loopy(graph, potentials=named)), whole, atol=1e-11)
    scaled = loopy(graph, log_potentials=logs + 300.0)
    np.testing.assert_allclose(scaled.log_evidence - 2700.0, whole[:, -3], atol=1e-8)
    huge = loopy(graph, potentials={0: np.full((1, 2), 1e300)})
    plain = loopy(graph, [{}])
    assert huge.log_evidence - plain.log_evidence == pytest.approx(np.log(1e300))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_potentials_of_any_range_lose_nothing(dtype):
    rng = np.random.default_rng(5)
    twin = Twin([3] * 4)
    for v in range(3):
        twin.factor([v, v + 1], rng.normal(scale=300.0, size=(3, 3)))
    logs = rng.normal(scale=900.0, size=(6, 4, 3))
    many = loopy(twin.graph, log_potentials=logs, dtype=dtype)
    for i, own in enumerate(logs):
        factors = [*twin.factors, *(((v,), each) for v, each in enumerate(own))]
        assert_row(many, i, *messages.marginals(twin.sizes, factors), atol=1e-11)


def test_messages_that_become_too_small_on_their_way_are_run_again_in_logs():
    """Each says 1e-90 to the one in the middle, two of them for the same state: 1e-180."""
    twin = Twin([2] * 4)
    for v in (0, 2, 3):
        twin.potential([v, 1], [[1.0, 1e-90], [1e-90, 1.0]])
    weights = {0: [1.0, 1e-120], 2: [1.0, 1e-120], 3: [1e-120, 1.0]}
    many = loopy(twin.graph, potentials={v: [own] for v, own in weights.items()})
    expected = messages.marginals(twin.sizes, twin.weighed(weights=weights))
    assert_row(many, 0, *expected, atol=0.0)


@pytest.mark.parametrize("temperature", [0.5, 3.0])
def test_a_temperature_raises_the_model_to_a_power(temperature):
    rng = np.random.default_rng(7)
    logs, own = rng.normal(size=(2, 3)), rng.normal(size=(4, 2))
    twins = [Twin([2, 3]).factor([0, 1], x).factor([1], x[0]) for x in (logs, logs / temperature)]
    warm = loopy(twins[0].graph, log_potentials={0: own}, temperature=temperature)
    plain = loopy(twins[1].graph, log_potentials={0: own / temperature})
    np.testing.assert_allclose(numbers(warm), numbers(plain), atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_extremes_are_told_from_what_is_impossible(dtype):
    """Rows that float64 does not hold, at once or on the way; rows that are impossible."""
    twin = Twin([2, 3, 2, 2]).potential([0, 1], [[1.0, 0.0, 1e-90], [0.0, 1e-90, 1.0]])
    twin.potential([1, 2], [[1.0, 1e-90], [0.0, 0.0], [1e-90, 1.0]])
    twin.potential([0, 1, 2], np.arange(12.0).reshape(2, 3, 2)).rule("at_most_one", [2, 3])
    logs = np.zeros((6, 2))
    logs[1:] = [[0.0, -400.0], [-np.inf, -np.inf], [-np.inf, 0.0], [0.0, -250.0], [-900.0, 0.0]]
    rows = {1: [None, None, None, 0, None, 2], 3: [None, 1, 0, 1, None, 1]}
    many = loopy(twin.graph, rows, log_potentials={0: logs}, sweeps=4, dtype=dtype)
    assert many.impossible.tolist() == [2, 3]


def triangle(coupling=1.0):
    """Three spins in a ring."""
    graph = FactorGraph()
    for name in "abc":
        graph.variable(name, ["down", "up"])
    for pair in ("ab", "bc", "ca"):
        graph.factor(list(pair), coupling * np.array([[1.0, -1.0], [-1.0, 1.0]]), log=True)
    return graph


def by_messages(*args, **kwargs):
    return credo.infer_many(*args, method="loopy", **kwargs)


def test_a_result_says_how_every_row_ended():
    rows = [{"a": "up"}, {}, {"a": "up"}, {"b": "down", "c": "up"}]
    many = by_messages(triangle(), rows)
    assert many.status == "CONVERGED"
    assert many.statuses.tolist() == ["CONVERGED"] * 4
    assert many.log_evidence_is == "ESTIMATE"
    assert (many.residuals <= 1e-8).all()
    assert many.sweeps[0] == many.sweeps[2] > many.sweeps[3] > 0
    assert repr(many) == "<ManyPosteriors: 4 rows, 3 variables, CONVERGED>"
    assert many["b"].probabilities[0].argmax() == 1
    short = by_messages(triangle(), rows, sweeps=2)
    assert short.status == "MAX_SWEEPS"
    assert short.statuses.tolist() == ["MAX_SWEEPS", "CONVERGED", "MAX_SWEEPS", "MAX_SWEEPS"]
    exact = infer_many(triangle(), rows)
    assert exact.status == exact.log_evidence_is == "EXACT"
    assert exact.statuses.tolist() == ["EXACT"] * 4
    assert not exact.sweeps.any()
    assert not exact.residuals.any()


def test_the_most_probable_states_are_given_all_at_once():
    graph = FactorGraph()
    graph.variable("a", 2)
    graph.variable("b", 3)
    graph.factor(["a", "b"], [[1.0, 0.0, 0.0], [0.0, 1.0, 3.0]])
    rows = [{"a": 0}, {}, {"b": 1}, {"a": 0, "b": 1}, {}]
    many = by_messages(graph, rows, on_impossible="nan")
    assert many.most_probable().tolist() == [[0, 0], [1, 2], [1, 1], [-1, -1], [1, 2]]
    assert many.impossible.tolist() == [3]
    assert infer_many(graph, rows[:3], query=["b"]).most_probable().tolist() == [[0], [2], [1]]
    assert by_messages(graph, rows[:2], query=[]).most_probable().shape == (2, 0)


def test_impossible_rows_are_named_or_nan():
    graph = parity_graph([[1, 1, 1, 0], [0, 1, 1, 1]])
    rows = [{0: 1, 3: 1}, {0: 1, 3: 0}, {0: 0, 1: 1, 2: 0}]
    said = "infer_many, row 2: .* cannot all be true"
    with pytest.raises(ImpossibleEvidence, match=said) as error:
        by_messages(graph, [rows[0], rows[0], rows[2]])
    assert set(error.value.conflict) == {0, 1, 2}
    for wants_sums in (True, False):
        many = by_messages(graph, rows, on_impossible="nan", log_evidence=wants_sums)
        assert many.statuses[2] == "IMPOSSIBLE"
        assert np.isnan(many.residuals[2])
        assert np.isnan(many.probabilities(3)[2]).all()
        assert many.log_evidence[2] == -np.inf
        assert np.isnan(many.log_evidence[0]) != wants_sums
    with pytest.raises(InputError, match="Rows 2 are impossible"):
        _ = many[0]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("far", [0.0, -5000.0])
def test_potentials_that_allow_nothing_are_named(dtype, far):
    """Also in logs, where rows go whose numbers are too small."""
    graph, logs = parity_graph([[1, 1]]), np.zeros((3, 2, 2))
    logs[:, 0, 1] = far
    logs[1, 0], logs[2] = -np.inf, [[far, -np.inf], [-np.inf, 0.0]]
    with pytest.raises(ImpossibleEvidence, match="row 1: potentials and evidence allow no"):
        by_messages(graph, log_potentials=logs, dtype=dtype)
    many = by_messages(graph, log_potentials=logs, dtype=dtype, on_impossible="nan")
    assert many.statuses.tolist() == ["CONVERGED", "IMPOSSIBLE", "IMPOSSIBLE"]
    assert many.log_evidence.tolist() == [pytest.approx(np.log1p(np.exp(far))), -np.inf, -np.inf]
    again = by_messages(graph, potentials=np.exp(logs), dtype=dtype, on_impossible="nan")
    assert again.impossible.tolist() == [1, 2]


class TestUntilSatisfied:
    """A row is done once the most probable states are possible together."""

    def test_decoding_stops_when_all_checks_hold(self):
        hamming = parity_graph((np.arange(1, 8) >> np.arange(3)[:, None]) & 1)
        words = np.zeros((8, 7, 2))
        words[..., 1] = -2.0
        words[np.arange(1, 8), np.arange(7), 1] = 0.5  # the first is clean, others have one error
        many = by_messages(hamming, log_potentials=words, until="satisfied")
        assert many.status == "SATISFIED"
        assert many.sweeps[0] == 1
        assert not many.most_probable().any()
        assert (by_messages(hamming, log_potentials=words).sweeps > many.sweeps).all()

    def test_what_settles_elsewhere_has_converged(self):
        logs = np.zeros((2, 2, 2))
        logs[1, 0, 1] = 1.0
        many = by_messages(
            parity_graph([[1, 1]], syndrome=[1]), log_potentials=logs, until="satisfied"
        )
        assert many.statuses.tolist() == ["CONVERGED", "SATISFIED"]
        assert many.status == "CONVERGED"

    def test_rows_in_logs_stop_too(self):
        logs = np.zeros((2, 3, 2))
        logs[:, :2, 1] = 2000.0
        logs[1, 2, 1] = 1000.0
        many = by_messages(parity_graph([[1, 1, 1]]), log_potentials=logs, until="satisfied")
        assert many.statuses.tolist() == ["SATISFIED"] * 2
        assert many.most_probable().tolist() == [[1, 1, 0]] * 2

    @pytest.mark.parametrize(
        ("rule", "likely", "is_possible"),
        [
            ("at_most_one", [1, 0, 0], True),
            ("at_most_one", [1, 1, 0], False),
            ("noisy_or", [0, 0, 0], True),
            ("noisy_or", [0, 1, 1], True),
            ("noisy_or", [1, 0, 0], False),
            ("noisy_or", [0, 0, 1], False),
            ("noisy_and", [1, 1, 1], True),
            ("noisy_and", [0, 1, 1], False),
            ("factor", [0, 1, 1], True),
            ("factor", [1, 1, 1], False),
        ],
    )
    def test_rules_and_tables_are_checked(self, rule, likely, is_possible):
        graph = FactorGraph()
        for name in "abc":
            graph.variable(name, 2)
        table = np.zeros((2, 2, 2))
        table[0, 1, 1], table[0, 0, 0] = 1.0, 0.5
        gate = "c", {"a": 1.0, "b": 0.5}
        given = {"at_most_one": (list("abc"),), "factor": (list("abc"), table)}
        getattr(graph, rule)(*given.get(rule, gate))
        favours = {name: [[0.0, 9.0 * x - 4.5]] for name, x in zip("abc", likely, strict=True)}
        many = by_messages(graph, log_potentials=favours, until="satisfied", tolerance=1e-3)
        is_kept = many.most_probable().tolist() == [likely]
        assert (is_kept and many.status == "SATISFIED") == is_possible


def test_an_engine_and_batches_answer_the_same():
    rows = [{"a": "up"}, {"b": "up"}, {}]
    whole = by_messages(triangle(), rows, sweeps=9).probabilities("c")
    engine = ManyEngine(triangle(), method="loopy", sweeps=9, query=["c"])
    np.testing.assert_array_equal(engine.run(rows).probabilities("c"), whole)
    potentials = {"a": [[0.0, 1.0]]}
    np.testing.assert_array_equal(engine.run(potentials=potentials).probabilities("c"), whole[:1])
    parts = infer_batches(triangle(), ([row] for row in rows), method="loopy", sweeps=9)
    np.testing.assert_array_equal(np.vstack([p.probabilities("c") for p in parts]), whole)


def test_no_rows_lonely_variables_and_constants_are_no_trouble():
    assert by_messages(triangle(), potentials=np.ones((0, 3, 2))).n_rows == 0
    assert by_messages(triangle(), []).status == "EXACT"
    graph = FactorGraph()
    graph.variable("alone", 3)
    graph.variable("weighed", 2)
    graph.factor(["weighed"], [3.0, 1.0])
    graph.parity(["weighed"], even=False)
    many = by_messages(graph, [{}])
    assert many.log_evidence[0] == pytest.approx(np.log(3.0))
    assert many.probabilities("weighed").tolist() == [[0.0, 1.0]]
    assert by_messages(FactorGraph(), [{}]).log_evidence.tolist() == [0.0]


def test_budgets_are_kept():
    with pytest.raises(BudgetError, match="the marginals of 1000 rows, 6 numbers each, take"):
        by_messages(triangle(), potentials=np.ones((1000, 3, 2)), budget="60kB")
    with pytest.raises(BudgetError, match="messages of rows side by side take .* budget leaves"):
        by_messages(triangle(), [{}], budget="5kB")
    few = by_messages(triangle(), potentials=np.ones((300, 3, 2)), budget="100kB", threads=8)
    assert few.status == "CONVERGED"


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"rows": None}, InputError, "needs rows of evidence, or potentials. Got neither"),
        ({"potentials": np.ones((1, 3, 2)), "log_potentials": 1}, InputError, "not both"),
        ({"potentials": {}}, InputError, "name no variable"),
        ({"potentials": {"z": np.ones((1, 2))}}, LabelError, "'z'"),
        ({"potentials": {"a": np.ones((1, 3))}}, ShapeError, r"'a' must have shape \(rows, 2\)"),
        (
            {"potentials": {"a": np.ones((1, 2)), "b": np.ones((2, 2))}},
            ShapeError,
            "'b' have 2 rows, those of 'a' 1",
        ),
        ({"potentials": np.ones((4, 2))}, ShapeError, r"must have shape \(rows, 3, 2\)"),
        ({"potentials": "abc"}, InputError, "must be numbers"),
        ({"potentials": -np.ones((1, 3, 2))}, InputError, "Row 0 has -1.0 for 'a'"),
        ({"potentials": {"b": [[1.0, np.inf]]}}, InputError, "Row 0 has inf for 'b'"),
        ({"log_potentials": {"b": [[0.0, np.nan]]}}, InputError, "Row 0 has nan for 'b'"),
        ({"potentials": np.ones((2, 3, 2))}, ShapeError, "1 rows of evidence and 2 of potentials"),
        ({"momentum": 0.0}, InputError, "momentum"),
        ({"momentum": "adaptive"}, InputError, "share of the new message"),
        ({"sweeps": 0}, InputError, "sweeps"),
        ({"tolerance": -1.0}, InputError, "tolerance"),
        ({"dtype": "float16"}, InputError, "dtype"),
        ({"until": "done"}, InputError, "until"),
        ({"schedule": "residual"}, InputError, "schedule"),
        ({"speed": 1}, InputError, "has no option 'speed'"),
        ({"threads": 0}, InputError, "threads"),
        ({"method": "auto", "potentials": np.ones((1, 3, 2))}, InputError, "need method='loopy'"),
    ],
)
def test_what_does_not_fit_is_refused(given, error, said):
    with pytest.raises(error, match=said):
        infer_many(triangle(), **{"rows": [{}], "method": "loopy"} | given)


def test_unequal_numbers_of_states_need_names():
    graph = FactorGraph()
    graph.variable("a", 2)
    graph.variable("b", 3)
    with pytest.raises(ShapeError, match="have 2 to 3. Pass a mapping"):
        by_messages(graph, potentials=np.ones((1, 2, 2)))
