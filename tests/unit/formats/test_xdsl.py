"""GeNIe XDSL files: chance, deterministic and noisy-MAX nodes."""

from itertools import product

import numpy as np
import pytest

from credo.exceptions import FileFormatError
from credo.formats import read_xdsl, write_xdsl
from credo.graphs import BayesianNetwork

READ = read_xdsl

TEXT = """<?xml version="1.0" encoding="ISO-8859-1"?>
<smile version="1.0" id="Network1" numsamples="1000" discsamples="10000">
  <nodes>
    <cpt id="Success">
      <state id="Success" />
      <state id="Failure" />
      <probabilities>0.2 0.8</probabilities>
      <property id="note">anything</property>
    </cpt>
    <cpt id="Weather">
      <state id="a" /><state id="b" /><state id="c" />
      <probabilities>0.25 0.5 0.25</probabilities>
    </cpt>
    <cpt id="Forecast">
      <state id="Good" />
      <state id="Moderate" />
      <state id="Poor" />
      <parents>Success Weather</parents>
      <probabilities>
        0.4 0.4 0.2  0.1 0.3 0.6  1 0 0
        0.2 0.2 0.6  0.5 0.25 0.25  0 0 1
      </probabilities>
    </cpt>
    <deterministic id="Both">
      <state id="no" />
      <state id="yes" />
      <parents>Success Weather</parents>
      <resultingstates>no yes no yes yes no</resultingstates>
    </deterministic>
  </nodes>
  <extensions>
    <genie version="1.0" app="GeNIe"><node id="Success"><name>Success</name></node></genie>
  </extensions>
</smile>
"""
SMALL = """<smile><nodes>
<cpt id="a"><state id="n"/><state id="y"/><probabilities>0.5 0.5</probabilities></cpt>
<deterministic id="b"><state id="n"/><state id="y"/><parents>a</parents>
<resultingstates>y n</resultingstates></deterministic>
</nodes></smile>"""
NOISY = """<smile><nodes>
<cpt id="a"><state id="n"/><state id="y"/><probabilities>0.5 0.5</probabilities></cpt>
<cpt id="b"><state id="0"/><state id="1"/><state id="2"/><probabilities>.5 .25 .25</probabilities>
</cpt>
<noisymax id="c"><state id="high"/><state id="low"/><state id="none"/><parents>a b</parents>
<strengths>1 0 0 2 1</strengths>
<parameters>0.5 0.25 0.25 0 0 1 0.125 0.5 0.375 0.25 0.25 0.5 0 0 1 .0625 .1875 0.75</parameters>
</noisymax></nodes></smile>"""


def test_tables_list_the_child_fastest_and_the_first_parent_slowest(read):
    net = read(TEXT)
    assert net.names == ("Success", "Weather", "Forecast", "Both")
    assert net.parents("Forecast") == ("Success", "Weather")
    assert net.table("Forecast")[0, 1].tolist() == [0.1, 0.3, 0.6]
    assert net.table("Forecast")[1, 0].tolist() == [0.2, 0.2, 0.6]


def test_deterministic_nodes_are_written_out(read):
    table = read(TEXT).table("Both")
    assert table[..., 1].tolist() == [[0, 1, 0], [1, 1, 0]]
    assert (table.sum(axis=-1) == 1).all()


def test_noisy_max_is_the_strongest_of_independent_effects(read):
    """Each parent and the leak cause an effect on their own; the strongest of them is seen."""
    effects = {
        "a": {1: [0.5, 0.25, 0.25], 0: [0, 0, 1]},
        "b": {0: [0.125, 0.5, 0.375], 2: [0.25, 0.25, 0.5], 1: [0, 0, 1]},
    }
    leak = [0.0625, 0.1875, 0.75]
    expected = np.zeros((2, 3, 3))
    for a, b in product(range(2), range(3)):
        for causes in product(range(3), repeat=3):
            rows = effects["a"][a], effects["b"][b], leak
            probability = np.prod([row[i] for row, i in zip(rows, causes, strict=True)])
            expected[a, b, min(causes)] += probability
    assert read(NOISY).table("c") == pytest.approx(expected, abs=1e-15)


def test_without_strengths_states_go_from_the_strongest_to_none(read):
    text = NOISY.replace("<strengths>1 0 0 2 1</strengths>", "")
    assert read(text).table("c")[1, 2] == pytest.approx([0.0625, 0.1875, 0.75], abs=1e-15)


@pytest.mark.parametrize("kind", ["decision", "utility", "mau", "equation", "truthtable"])
def test_other_nodes_are_refused_by_name(read, kind):
    text = SMALL.replace("</nodes>", f'<{kind} id="cost"/></nodes>')
    with pytest.raises(FileFormatError, match=f"line 5.*'cost' is a {kind} node; only cpt, det"):
        read(text)


@pytest.mark.parametrize(
    ("text", "old", "new", "line", "message"),
    [
        (SMALL, "smile>", "bif>", 1, "Expected <smile> with <nodes>, got <bif>"),
        (SMALL, "nodes>", "node>", 1, "Expected <smile> with <nodes>, got <smile>"),
        (SMALL, "<nodes>", '<dynamic numslices="3"/><nodes>', 1, "Dynamic networks are not read"),
        (SMALL, '<cpt id="a">', "<cpt>", 2, "A node has no id"),
        (SMALL, "probabilities>", "numbers>", 2, "'a' has no <probabilities>"),
        (SMALL, "0.5 0.5", "0.5 0.4", 2, "The probabilities of 'a' sum to 0.9"),
        (SMALL, "<parents>a<", "<parents>c<", 4, "parent 'c' of 'b' is not declared"),
        (SMALL, "y n<", "y n y<", 4, "'b' needs 2 resulting states, got 3"),
        (SMALL, "y n<", "y maybe<", 4, "'b' has no state 'maybe'"),
        (
            NOISY,
            "1 0 0 2 1",
            "1 0 0 2 2",
            6,
            "strengths of 'c' must list each parent's states once",
        ),
        (NOISY, "1 0 0 2 1", "1 0 0 2", 6, "strengths of 'c'"),
        (NOISY, "1 0 0 2 1", "1 0 0 2 1 0", 6, "strengths of 'c'"),
        (NOISY, "0.75<", "0.75 0<", 7, "'c' needs 18 parameters, got 19"),
        (NOISY, "0.75<", "0.74<", 7, "parameters of 'c' must be distributions"),
        (NOISY, "0 0 1 0.125", "0 1 0 0.125", 7, "must give the last state probability 1"),
        (NOISY, "<parents>a b<", "<parents>a d<", 7, "parent 'd' of 'c' is not declared"),
    ],
)
def test_damage_is_named_with_its_line(refused, text, old, new, line, message):
    assert old in text
    error = refused(text.replace(old, new))
    assert message in error.reason
    assert error.line == line


def test_a_small_file_is_not_written_out_to_a_large_table(read):
    nodes = "".join(
        f'<cpt id="p{i}"><state id="a"/><state id="b"/><probabilities>.5 .5</probabilities></cpt>'
        for i in range(40)
    )
    parents = " ".join(f"p{i}" for i in range(40))
    with pytest.raises(FileFormatError, match="'n' takes 2199023255552 numbers when written out"):
        read(
            f'<smile><nodes>{nodes}<noisymax id="n"><state id="a"/><state id="b"/>'
            f"<parents>{parents}</parents><parameters>{'.5 .5 0 1 ' * 40} 0 1</parameters>"
            "</noisymax></nodes></smile>"
        )


def test_parents_are_written_first(tmp_path):
    net = BayesianNetwork()
    for name in ("c", "b", "a"):
        net.variable(name, ["n", "y"])
    net.cpt("a", table=[0.5, 0.5])
    net.cpt("b", given=["a"], table=[[0.25, 0.75], [1.0, 0.0]])
    net.cpt("c", given=["b", "a"], table=np.full((2, 2, 2), 0.5))
    write_xdsl(net, tmp_path / "x.xdsl")
    text = (tmp_path / "x.xdsl").read_text()
    assert text.index('<cpt id="a">') < text.index('<cpt id="b">') < text.index('<cpt id="c">')
    back = read_xdsl(tmp_path / "x.xdsl")
    assert back.names == ("a", "b", "c")
    assert all(back.table(name).tolist() == net.table(name).tolist() for name in net.names)


def test_writing_lists_the_variables_once_whatever_their_number(tmp_path, monkeypatch):
    asked = []
    for what in ("variables", "names"):
        kept = getattr(BayesianNetwork, what).fget
        counting = property(lambda net, kept=kept, what=what: asked.append(what) or kept(net))
        monkeypatch.setattr(BayesianNetwork, what, counting)
    counts = []
    for n in (5, 50):
        net = BayesianNetwork()
        for v in range(n):
            net.variable(v, 2)
            net.cpt(v, table=[0.5, 0.5])
        asked.clear()
        write_xdsl(net, tmp_path / "net.xdsl")
        counts.append(len(asked))
    assert counts[0] == counts[1]
