"""Formats that are read and not written: libDAI's factor graphs and GeNIe's older text files."""

from pathlib import Path

import numpy as np
import pytest
from tests.oracles.joint import Joint

import credo
from credo.exceptions import FileFormatError, InputError
from credo.formats import read_bif, read_dsl, read_fg, read_network, write_network

GRAPHS = Path(__file__).parents[4] / "shared" / "data" / "graphical"
HERE = pytest.mark.skipif(not GRAPHS.exists(), reason="published networks are not here")

PAIR = "# two factors\n2\n\n2\n7 3\n2 3\n4\n0 1\n1 2\n4 5\n5 0.5\n\n1\n3\n3\n3\n0 1\n1 1\n2 4\n"
RAIN = """net Weather {
    HEADER = { ID = Weather; NAME = "Rain, and more"; };
    node rain { TYPE = CPT; HEADER = { ID = rain; }; PARENTS = ();
        DEFINITION = { NAMESTATES = (no, yes); PROBABILITIES = (0.8, 0.2); }; };  // a comment
    node wet { TYPE=CPT; PARENTS=(rain, tap);
        DEFINITION={NAMESTATES=(dry, "quite wet"); PROBABILITIES=(1,0,.5,.5,.25,.75,0,1);};};
    node tap { TYPE = TRUTHTABLE; PARENTS = (rain); /* closed
        when it rains */ DEFINITION = { NAMESTATES = (off, on); RESULTINGSTATES = (on, off); }; };
};
"""


def test_a_factor_graph_lists_the_first_variable_fastest(tmp_path):
    (tmp_path / "x.fg").write_text(PAIR)
    graph = read_network(tmp_path / "x.fg")
    assert graph.names == (3, 7)
    first, second = graph.factors
    assert [v.name for v in first.variables] == [7, 3]
    assert first.table.tolist() == [[1, 0, 5], [2, 0, 0.5]]  # [x7, x3], cells 0, 1, 4, 5
    assert second.table.tolist() == [1, 1, 4]


def test_a_constant_multiplies_the_graph(tmp_path):
    (tmp_path / "x.fg").write_text("2\n0\n\n\n1\n0 3\n\n1\n0\n2\n2\n0 1\n1 2\n")
    assert credo.infer(read_fg(tmp_path / "x.fg")).log_evidence == pytest.approx(np.log(9))


@HERE
def test_published_factor_graphs_have_the_answers_of_brute_force():
    for name in ("testfast", "zeroes1", "hoi1", "twofactors"):
        graph = read_fg(GRAPHS / "libdai" / f"{name}.fg")
        logs = Joint.of(graph).logs
        total = float(logs.max() + np.log(np.exp(logs - logs.max()).sum()))
        assert credo.infer(graph).log_evidence == pytest.approx(total)


def test_a_network_lists_the_first_parent_slowest(tmp_path):
    (tmp_path / "x.dsl").write_text(RAIN)
    net = read_network(tmp_path / "x.dsl")
    assert net.names == ("rain", "wet", "tap")
    assert net.parents("wet") == ("rain", "tap")
    assert net["wet"].states == ("dry", "quite wet")
    assert net.table("tap").tolist() == [[0, 1], [1, 0]]
    assert net.table("wet")[1].tolist() == [[0.25, 0.75], [0, 1]]  # it rains


@HERE
@pytest.mark.parametrize("name", ["alarm", "insurance"])
def test_published_networks_have_the_arcs_and_rows_of_their_other_files(name):
    net = read_dsl(GRAPHS / "dsl" / f"{name}.dsl")
    twin = read_bif(next((GRAPHS / "bif").glob(f"{name}.bif*")))
    assert set(net) == set(twin)
    for child in net:
        assert set(net.parents(child)) == set(twin.parents(child))
        assert net[child].states == twin[child].states
        if len(net.parents(child)) < 2:  # they list several parents in another order than tables
            np.testing.assert_allclose(net.table(child), twin.table(child), atol=1e-3)


@pytest.mark.parametrize(
    ("ending", "old", "new", "match"),
    [
        (".fg", "\n2 3\n4", "\n2 0\n4", "line 6, column 3: Variable 3 has 0 states"),
        (".fg", "1\n3\n3\n3\n", "1\n3\n2\n3\n", "Variable 3 has 2 states here"),
        (".fg", "2\n7 3\n", "2\n7 7\n", "Variable 7 has 3 states.*once in a factor"),
        (".fg", "5 0.5", "6 0.5", "line 11, column 1: Expected the number of a cell, from 0 to 5"),
        (".fg", "5 0.5", "5 -1", "finite numbers from 0 on"),
        (".fg", "2 4\n", "2", "The file ends where a cell should stand"),
        (".fg", "2 4\n", "2 4\n9", "Expected the end of the file"),
        (".fg", "2 4\n", "2 x\n", "Expected a number, got 'x'"),
        (".fg", "\n2 3\n4", "\n20000 30000\n4", "more than 16777216 cells"),
        (
            ".dsl",
            "TYPE = TRUTHTABLE",
            "TYPE = DECISION",
            "'tap' is of type DECISION. Only discrete",
        ),
        (".dsl", "0.8, 0.2", "0.8, x", "'rain' needs numbers as PROBABILITIES. Got 'x'"),
        (".dsl", "0.8, 0.2", "0.8, 0.3", "line 3.*'rain' sum to 1.1"),
        (".dsl", "0.8, 0.2", "0.8", "The table of 'rain' needs 2 numbers"),
        (".dsl", "(on, off)", "(on, of)", "resulting state 'of'"),
        (".dsl", "(rain, tap)", "(rain, tip)", "The parent 'tip' of 'wet' is not declared"),
        (".dsl", "(1,0,.5", "1,0,.5", None),
        (".dsl", "};\n};\n", "};\n", "This brace is not closed"),
        (".dsl", "};\n};\n", "};\n};\n}", "No brace is open here"),
        (".dsl", "net Weather", "network Weather", "Expected net NAME"),
        (".dsl", "PROBABILITIES = (0.8, 0.2);", "PROBABILITIES = (0.8, 0.2)", "semicolon"),
    ],
)
def test_damage_is_named_with_its_place(ending, old, new, match, tmp_path):
    text = {".fg": PAIR, ".dsl": RAIN}[ending]
    assert text.count(old) == 1
    path = tmp_path / f"x{ending}"
    path.write_text(text.replace(old, new))
    if match is None:  # a bracket that nobody misses
        read_network(path)
        return
    with pytest.raises(FileFormatError, match=match):
        read_network(path)


def test_deep_blocks_and_empty_files_are_refused(tmp_path):
    path = tmp_path / "x.dsl"
    path.write_text("net x { " + "a = { " * 10_000)
    with pytest.raises(FileFormatError, match="too deep"):
        read_dsl(path)
    for ending in (".dsl", ".fg"):
        (tmp_path / f"e{ending}").write_text("")
        with pytest.raises(FileFormatError, match="Expected net|file ends"):
            read_network(tmp_path / f"e{ending}")


def test_they_are_not_written(tmp_path):
    net = credo.BayesianNetwork.from_arrays(["a"], [(0, 1)], [[]], [0.5, 0.5])
    with pytest.raises(InputError, match="Files .dsl are read, not written. Write one of .bif"):
        write_network(net, tmp_path / "x.dsl")
