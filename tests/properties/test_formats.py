"""Laws of BIF and UAI files: reading undoes writing, dress does not matter, damage is named."""

import itertools
import math
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import assume, given, strategies as st
from numpy.testing import assert_array_equal
from tests.oracles import bif as oracle
from tests.work import bytes_in

from credo.exceptions import FileFormatError
from credo.formats import (
    read_bif,
    read_uai,
    read_uai_evidence,
    read_uai_result,
    write_bif,
    write_uai,
    write_uai_evidence,
)
from credo.graphs import BayesianNetwork, FactorGraph

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6).filter(
    lambda name: name.isprintable() and name == name.strip()
)

PLAIN = st.text("abyz059_.+-%/<>", min_size=1, max_size=4).filter(
    lambda name: "//" not in name and "/*" not in name
)

WEIGHTS = st.floats(0, 1) | st.sampled_from([0.0, 1.0, 1e-300, 1 / 3])


@st.composite
def networks(draw, names=NAMES):
    """Networks of a few variables, each with some of those before it as parents."""
    labels = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    states = [tuple(draw(st.lists(names, min_size=1, max_size=3, unique=True))) for _ in labels]
    net = BayesianNetwork()
    order = draw(st.permutations(range(len(labels))))
    for v in order:
        net.variable(labels[v], states[v])
    for v, name in enumerate(labels):
        parents = draw(st.lists(st.sampled_from(range(v)), max_size=2, unique=True)) if v else []
        shape = [len(states[p]) for p in [*parents, v]]
        size = int(np.prod(shape))
        table = np.reshape(draw(st.lists(WEIGHTS, min_size=size, max_size=size)), shape)
        table[..., 0] += table.sum(axis=-1) == 0
        table /= table.sum(axis=-1, keepdims=True)
        net.cpt(name, given=[labels[p] for p in parents], table=table)
    return net


def reread(text):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "net.bif"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_bif(file)


def written(net):
    with tempfile.TemporaryDirectory() as folder:
        write_bif(net, Path(folder) / "net.bif")
        return (Path(folder) / "net.bif").read_bytes().decode()


@given(networks())
def test_reading_undoes_writing(net):
    text = written(net)
    again = reread(text)
    oracle.assert_same(again, net)
    assert written(again) == text
    states, _ = oracle.read(text)
    assert states == {name: list(net[name].states) for name in net.names}


@given(networks(PLAIN), st.data())
def test_the_order_and_the_dress_of_rows_do_not_matter(net, data):
    text = "".join(
        f"variable {name} {{ type discrete [ {net[name].n_states} ] "
        f"{{ {' '.join(net[name].states)} }}; }}\n"
        for name in net.names
    )
    space = st.sampled_from([" ", "\n", "\r\n", ",", " /* , */ ", " // ;\n"])
    for name in data.draw(st.permutations(list(net.names))):
        text += dressed_table(net, name, data.draw, space)
    again = reread(text)
    oracle.assert_same(again, net)
    states, tables = oracle.read(text)
    for name in net.names:
        parents, rows = tables[name]
        assert states[name] == list(again[name].states)
        assert parents == list(again.parents(name))
        assert_array_equal(np.ravel(list(rows.values())), again.table(name).ravel())


def dressed_table(net, name, draw, space):
    """Give the block of a table as a whole table, or as rows in any order, perhaps by default."""
    parents = net.parents(name)
    table = net.table(name)
    head = draw(space).join(["probability (", name, *parents, ") {"])
    rows = table.reshape(-1, table.shape[-1])
    if draw(st.booleans()):
        numbers = [repr(x) for x in rows.T.ravel().tolist()]
        return f"{head} table {draw(space).join(numbers)} ; }}\n"
    keys = list(itertools.product(*(net[parent].states for parent in parents)))
    order = draw(st.permutations(range(len(keys))))
    entries = []
    spare = rows[order[-1]].tolist()
    default = draw(st.booleans()) or not parents
    for i in order:
        label = f"({draw(space).join(keys[i])} )"
        if not (default and rows[i].tolist() == spare):
            entries.append(" ".join([label, *map(repr, rows[i].tolist())]))
    if default:
        entries.append(" ".join(["default", *map(repr, spare)]))
    return f"{head} {draw(space).join(f'{entry} ;' for entry in entries)} }}\n"


SEEDS = [
    b"""network "n" { property "a;b" ; }
variable "x y" { type discrete[2] { "a,b" "c\\"d" }; property foo = (1,2); } // hi
variable z { type discrete [ 3 ] { <5, 5-12, Asy/Patch }; }
variable w { type discrete [ 2 ] { 0, 1 }; }
probability ( "x y" ) { table 0.25 0.75; }
/* c */ probability ( z | "x y" ) { default 0.2, 0.3, 0.5; ("a,b") 1e-3, 0.999, .0; }
probability ( w | z, "x y" ) {
  (<5, "a,b") 0.5, 0.5; (5-12, "a,b") 0.5, 0.5; (Asy/Patch, "a,b") 0.5, 0.5;
  (<5, "c\\"d") 0.5, 0.5; (5-12, "c\\"d") 0.5, 0.5; (Asy/Patch, "c\\"d") 0.5, 0.5;
}
""",
]

SIGNS = [bytes([sign]) for sign in b'{}()[],;|"\\/* \n\r\t019.eE+-aw\x00\xff\xc3=']
WORDS = [b"variable", b"probability", b"table", b"default", b"property", b"type", b"discrete"]
WORDS += [b"network", b"//", b"/*", b"*/", b"99999999999", b"1e400", b"nan", b"\xef\xbb\xbf"]


@given(
    st.sampled_from(SEEDS),
    st.lists(
        st.tuples(st.integers(0, 1000), st.integers(0, 20), st.sampled_from([b"", *SIGNS, *WORDS])),
        min_size=1,
        max_size=8,
    ),
)
def test_damage_is_a_named_error_and_takes_little_memory(data, edits):
    for place, gone, new in edits:
        at = place % (len(data) + 1)
        data = data[:at] + new + data[at + gone :]
    assert bytes_in(read_or_refused, data) < 20e6
    error = read_or_refused(data)
    if error is not None:
        assert error.line is None or 1 <= error.line <= data.count(b"\n") + data.count(b"\r") + 1
        assert error.path.endswith("net.bif")
        assert error.reason


def read_or_refused(data):
    """Read, write and read again; give the error of the first time, if there is one.

    Control characters in names become underscores, hence twice.
    """
    try:
        net = reread(data)
    except FileFormatError as error:
        return error
    again = reread(written(net))
    assert [x.values.tobytes() for x in again.factors] == [x.values.tobytes() for x in net.factors]
    oracle.assert_same(reread(written(again)), again)
    return None


LABEL = st.one_of(
    st.text(max_size=5),
    st.integers(-5, 5),
    st.floats(allow_nan=False, allow_infinity=False),
    st.none(),
    st.tuples(st.text(max_size=2), st.integers(0, 3)),
)

CELL = st.one_of(st.just(0.0), st.floats(0, 1e300, allow_subnormal=True))


@st.composite
def graphs(draw):
    """Draw a factor graph of up to five variables with labels of any kind."""
    graph = FactorGraph()
    names = draw(st.lists(LABEL, min_size=1, max_size=5, unique=True))
    for name in names:
        graph.variable(name, draw(st.lists(LABEL, min_size=1, max_size=3, unique=True)))
    for _ in range(draw(st.integers(0, 5))):
        scope = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
        shape = [graph[name].n_states for name in scope]
        cells = draw(st.lists(CELL, min_size=math.prod(shape), max_size=math.prod(shape)))
        assume(any(cells))
        graph.factor(scope, np.reshape(cells, shape))
    return graph


def wired(model):
    """Give all that a model is."""
    wiring = model.copy().compile()
    kept = ("n_states", "scope_start", "scope", "table", "table_start", "values", "log_scale")
    return [list(map(repr, model.variables)), *(getattr(wiring, name).tolist() for name in kept)]


@given(graphs(), st.sampled_from(["x.uai", "x.uai.gz"]))
def test_any_graph_comes_back_bit_for_bit(graph, name):
    with tempfile.TemporaryDirectory() as folder:
        write_uai(graph, Path(folder) / name)
        assert wired(read_uai(Path(folder) / name)) == wired(graph)


@given(graphs())
def test_logs_of_any_graph_come_back_to_rounding(graph):
    with tempfile.TemporaryDirectory() as folder:
        write_uai(graph, Path(folder) / "x.LG")
        found = read_uai(Path(folder) / "x.LG").compile()
    values = graph.copy().compile().values
    with np.errstate(divide="ignore"):
        logs = np.log(values)
        again = np.log(found.values) if found.log_values is None else found.log_values.copy()
    again += np.repeat(found.log_scale, np.diff(found.table_start))
    assert np.isneginf(again).tolist() == np.isneginf(logs).tolist()
    finite = np.isfinite(logs)
    assert np.allclose(again[finite], logs[finite], rtol=1e-14, atol=1e-12)


@given(graphs(), st.data())
def test_any_evidence_comes_back(graph, data):
    names = data.draw(st.lists(st.sampled_from(graph.names), unique=True))
    evidence = {name: data.draw(st.sampled_from(graph[name].states)) for name in names}
    with tempfile.TemporaryDirectory() as folder:
        write_uai_evidence(evidence, Path(folder) / "x.evid", graph)
        assert read_uai_evidence(Path(folder) / "x.evid", graph) == evidence


@given(
    st.sampled_from(["MARKOV", "BAYES", "MAR"]),
    st.lists(
        st.one_of(st.integers(0, 4), st.floats(), st.sampled_from([10**12, "x", "1e308", "#"])),
        max_size=25,
    ),
)
def test_any_text_is_a_model_or_is_named_as_damaged(kind, words):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.uai"
        path.write_text(f"{kind} {' '.join(map(str, words))}", encoding="utf-8")
        for read in (read_uai, read_uai_result):
            try:
                read(path)
            except FileFormatError as error:
                assert error.line == 1  # noqa: PT017 - reading it is no error either
