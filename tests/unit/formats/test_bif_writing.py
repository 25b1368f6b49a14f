"""``write_bif``: what is written is read back, bit for bit, and by others."""

import numpy as np
import pytest
from tests.oracles import bif as oracle
from tests.speeds import both_speeds

from credo.exceptions import InputError
from credo.formats._bif_names import quoted
from credo.formats.bif import read_bif, write_bif
from credo.graphs.bayesian_network import BayesianNetwork
from credo.graphs.factor_graph import FactorGraph


def network(names=("rain", "grass"), states=(("no", "yes"), ("dry", "wet"))):
    net = BayesianNetwork()
    for name, each in zip(names, states, strict=True):
        net.variable(name, each)
    net.cpt(names[0], table=[1 / 3, 2 / 3])
    net.cpt(names[1], given=[names[0]], table=[[0.1, 0.9], [1e-300, 1.0]])
    return net


def assert_same(net, other):
    assert list(net.names) == list(other.names)
    for name in net.names:
        assert net[name].states == other[name].states
        assert [type(state) for state in net[name].states] == [
            type(state) for state in other[name].states
        ]
        assert net.parents(name) == other.parents(name)
        assert net.table(name).tobytes() == other.table(name).tobytes()


@pytest.fixture
def file(tmp_path):
    return tmp_path / "net.bif"


def test_the_text_is_that_of_bnlearn(file):
    write_bif(network(), file)
    assert file.read_text() == (
        "network unknown {\n}\n"
        "variable rain {\n  type discrete [ 2 ] { no, yes };\n}\n"
        "variable grass {\n  type discrete [ 2 ] { dry, wet };\n}\n"
        "probability ( rain ) {\n  table 0.3333333333333333, 0.6666666666666666;\n}\n"
        "probability ( grass | rain ) {\n  (no) 0.1, 0.9;\n  (yes) 1e-300, 1.0;\n}\n"
    )


def test_a_network_is_read_back_bit_for_bit(file):
    net = network()
    write_bif(net, file)
    assert_same(read_bif(file), net)


def test_writing_neither_changes_nor_freezes_the_network(file):
    net = network()
    write_bif(net, file)
    net.variable("late", ["a", "b"])
    assert len(net) == 3


def test_a_name_that_ends_in_gz_is_packed(tmp_path):
    write_bif(network(), tmp_path / "net.bif.gz")
    assert (tmp_path / "net.bif.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert_same(read_bif(tmp_path / "net.bif.gz"), network())


ODD = ["a b", "x,y", "{", 'say "hi"', "back\\", '\\"', "größe", "//", "a//b", "/*", "table"]


@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_quoted(file, name):
    net = network((name, "grass"), (("no", name), ("dry", "wet")))
    write_bif(net, file)
    assert_same(read_bif(file), net)
    assert quoted(name).startswith('"')
    states, _ = oracle.read(file.read_text(encoding="utf-8"))
    assert states == {name: ["no", name], "grass": ["dry", "wet"]}


@pytest.mark.parametrize("name", ["rain", "5-12", "<5", ">=3", "1.0_2", "Asy/Patch", "50%", "007"])
def test_the_names_of_published_networks_need_no_quotes(name):
    assert quoted(name) == name


LABELS = [
    (0, 1),
    ("0", 0),
    (False, True),
    (None, 1.5),
    ("a\nb", "a_b"),
    ("\x00", "\ud800"),
    ((1, "x"), "y"),
    ("", " a"),
]


@pytest.mark.parametrize("states", LABELS, ids=repr)
def test_labels_that_are_not_plain_text_are_kept_in_a_note(file, states):
    net = network((states[0], "grass"), (states, ("dry", "wet")))
    write_bif(net, file)
    assert "credo_labels" in file.read_text()
    assert_same(read_bif(file), net)


@pytest.mark.parametrize(
    ("note", "words"),
    [
        ('{\\"states\\": [0]}', "does not name 2 states"),
        ("[", "This property is damaged.* Remove it"),
        ("[]", "no JSON object"),
        ('{\\"states\\": [0, 0]}', "more than once|differ|twice"),
    ],
)
def test_a_damaged_note_is_named(file, note, words):
    write_bif(network(), file)
    text = file.read_text().replace("wet };", f'wet }};\n  property "credo_labels {note}" ;')
    file.write_text(text)
    with pytest.raises(InputError, match=words):
        read_bif(file)


def test_a_note_that_is_not_a_property_of_ours_is_left_alone(file):
    net = network(("rain", "a credo_labels b"))
    write_bif(net, file)
    assert_same(read_bif(file), net)


def test_rules_are_written_out(file):
    net = BayesianNetwork()
    for name in "abc":
        net.variable(name, ["no", "yes"])
    net.cpt("a", table=[0.5, 0.5])
    net.cpt("b", table=[0.25, 0.75])
    net.noisy_or("c", {"a": 0.5, "b": 0.25}, leak=0.0)
    write_bif(net, file)
    # no = all causes fail: 1, 3/4, 1/2, 3/8
    np.testing.assert_array_equal(read_bif(file).table("c")[..., 0], [[1, 0.75], [0.5, 0.375]])


def test_other_models_are_refused(file):
    with pytest.raises(InputError, match="write_bif writes a BayesianNetwork. Got FactorGraph"):
        write_bif(FactorGraph(), file)
    assert not file.exists()


def test_an_unfinished_network_leaves_the_file_as_it_was(file):
    write_bif(network(), file)
    before = file.read_bytes()
    net = network()
    net.variable("late", ["a", "b"])
    with pytest.raises(InputError, match="late"):
        write_bif(net, file)
    assert file.read_bytes() == before


def test_the_kernels_are_the_same_at_both_speeds(file, monkeypatch):
    write_bif(network(('a "quoted" name', "grass"), (("0.1", "5-12"), ("dry", "wet"))), file)
    text = file.read_text().replace("0.1, 0.9", "0.12345678901234567, 8.7654321098765433e-1")
    file.write_text(text)
    both_speeds(monkeypatch)
    net = read_bif(file)
    assert net.table("grass")[0].tolist() == [0.12345678901234567, 0.87654321098765433]
