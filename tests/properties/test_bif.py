"""Laws of BIF files: reading undoes writing, order and dress of rows do not matter."""

import itertools
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal
from tests.oracles import bif as oracle
from tests.work import bytes_in

from credo.exceptions import FileFormatError
from credo.formats import read_bif, write_bif
from credo.graphs import BayesianNetwork

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


def assert_same(net, other):
    assert list(net.names) == list(other.names)
    for name in net.names:
        assert net[name].states == other[name].states
        assert net.parents(name) == other.parents(name)
        assert net.table(name).tobytes() == other.table(name).tobytes()


@given(networks())
def test_reading_undoes_writing(net):
    text = written(net)
    again = reread(text)
    assert_same(again, net)
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
    assert_same(again, net)
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
    assert_same(reread(written(again)), again)
    return None
