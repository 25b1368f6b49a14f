"""``read_bif``: the dialects of BIF, and rows that are matched by name."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.oracles import bif as oracle

from credo.formats.bif import read_bif

CANCER = """network unknown {
}
variable Pollution {
  type discrete [ 2 ] { low, high };
}
variable Smoker {
  type discrete [ 2 ] { True, False };
}
variable Cancer {
  type discrete [ 2 ] { True, False };
}
probability ( Pollution ) {
  table 0.9, 0.1;
}
probability ( Smoker ) {
  table 0.3, 0.7;
}
probability ( Cancer | Pollution, Smoker ) {
  (low, True) 0.03, 0.97;
  (high, True) 0.05, 0.95;
  (low, False) 0.001, 0.999;
  (high, False) 0.02, 0.98;
}
"""
#: Cancer given Pollution and Smoker, from the text by hand.
CANCER_TABLE = [[[0.03, 0.97], [0.001, 0.999]], [[0.05, 0.95], [0.02, 0.98]]]

HEAD = """network x { }
variable P { type discrete [ 2 ] { p0, p1 }; }
variable Q { type discrete [ 2 ] { q0, q1 }; }
variable C { type discrete [ 3 ] { c0, c1, c2 }; }
probability ( P ) { table 0.5, 0.5; }
probability ( Q ) { table 0.5, 0.5; }
"""


@pytest.fixture
def read(tmp_path):
    def read(text):
        file = tmp_path / "net.bif"
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_bif(file)

    return read


def assert_like_the_oracle(net, text):
    states, tables = oracle.read(text)
    assert list(net.names) == list(states)
    for name in net.names:
        parents, rows = tables[name]
        assert list(net[name].states) == states[name]
        assert list(net.parents(name)) == parents
        shape = [len(states[each]) for each in [*parents, name]]
        assert_array_equal(net.table(name), np.reshape(list(rows.values()), shape))


# --- rows -----------------------------------------------------------------------------------


def test_a_network_of_bnlearn_is_read(read):
    net = read(CANCER)
    assert list(net.names) == ["Pollution", "Smoker", "Cancer"]
    assert net["Pollution"].states == ("low", "high")
    assert net.parents("Cancer") == ("Pollution", "Smoker")
    assert_array_equal(net.table("Smoker"), [0.3, 0.7])
    assert_array_equal(net.table("Cancer"), CANCER_TABLE)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_rows_go_where_their_names_say(read, order):
    lines = CANCER.splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if "(low, True)" in line)
    lines[first : first + 4] = [lines[first + i] for i in order]
    assert_array_equal(read("".join(lines)).table("Cancer"), CANCER_TABLE)


def test_the_child_varies_slowest_in_a_whole_table(read):
    numbers = np.array([[5, 6, 7, 8], [20, 19, 18, 17], [75, 75, 75, 75]]) / 100
    listed = ", ".join(map(repr, numbers.ravel().tolist()))
    net = read(f"{HEAD}probability ( C | P, Q ) {{ table {listed}; }}")
    # what pyAgrum and pgmpy make of it: p(c1 | p0, q1) is the sixth number
    assert net.table("C")[0, 1, 1] == 0.19
    assert_array_equal(net.table("C"), numbers.reshape(3, 2, 2).transpose(1, 2, 0))


def test_a_default_row_fills_what_is_not_given(read):
    text = f"{HEAD}probability ( C | P, Q ) {{ (p1, q0) 1, 0, 0; default 0.25 0.25 0.5; }}"
    expected = np.tile([0.25, 0.25, 0.5], (2, 2, 1))
    expected[1, 0] = [1, 0, 0]
    assert_array_equal(read(text).table("C"), expected)


def test_a_default_row_fills_many_cells_of_a_few_bytes(read):
    names = [f"V{i}" for i in range(12)]
    text = "".join(f"variable {name} {{ type discrete [ 2 ] {{ a, b }}; }}\n" for name in names)
    text += "".join(f"probability ( {name} ) {{ table 0.5, 0.5; }}\n" for name in names[1:])
    text += f"probability ( V0 | {', '.join(names[1:])} ) {{ default 0.125, 0.875; }}\n"
    table = read(text).table("V0")
    assert table.shape == (2,) * 12
    assert_array_equal(table[..., 0], np.full((2,) * 11, 0.125))


def test_blocks_may_come_in_any_order(read):
    blocks = [f"{block}}}\n" for block in CANCER.split("}\n")[:-1]]
    variables = [block for block in blocks if block.startswith("variable")]
    rest = [block for block in blocks if not block.startswith("variable")]
    net = read("".join([*reversed(rest), *variables]))
    assert_array_equal(net.table("Cancer"), CANCER_TABLE)
    assert_array_equal(net.table("Pollution"), [0.9, 0.1])


@pytest.mark.parametrize("small", ["2.5e-1", "25E-2", "0.025e1", "0.0025E+2", "+.25"])
def test_numbers_may_have_exponents_of_either_sign(read, small):
    text = HEAD.replace("table 0.5, 0.5", f"table {small}, 0.75", 1)
    net = read(f"{text}probability ( C ) {{ table 0, 1e0, 0; }}")
    assert_array_equal(net.table("P"), [0.25, 0.75])


def test_rows_that_are_rounded_are_divided_by_their_sum(read):
    text = HEAD.replace("table 0.5, 0.5", "table 0.33335, 0.6667", 1)
    net = read(f"{text}probability ( C ) {{ table 0, 0, 1; }}")
    assert_array_equal(net.table("P"), np.array([0.33335, 0.6667]) / (0.33335 + 0.6667))


# --- names ----------------------------------------------------------------------------------

ODD = ["Asy/Patch", "<5", "5-12", "1.0_2", ">=3", "50%", "a+b", "007", "+", "default", "é", "x:y"]


@pytest.mark.parametrize("quotes", ["", '"'])
def test_odd_names_are_names(read, quotes):
    states = [f"{quotes}{state}{quotes}" for state in ODD]
    one = ", ".join(["1", *["0"] * (len(ODD) - 1)])
    rows = "".join(f"({state}) 0.{i + 10}, 0.{90 - i};" for i, state in enumerate(states))
    text = (
        f"variable a.b-c {{ type discrete [ {len(ODD)} ] {{ {', '.join(states)} }}; }}"
        f"variable 2nd {{ type discrete [ 2 ] {{ 0, 1 }}; }}"
        f"probability ( a.b-c ) {{ table {one}; }} probability ( 2nd | a.b-c ) {{ {rows} }}"
    )
    net = read(text)
    assert net["a.b-c"].states == tuple(ODD)
    assert net["2nd"].states == ("0", "1")
    assert_array_equal(net.table("2nd")[:, 0], [float(f"0.{i + 10}") for i in range(len(ODD))])
    assert_like_the_oracle(net, text)


def test_quoted_names_may_hold_anything(read):
    text = r"""network "my net" { }
    variable "a, b | c" { type discrete [ 3 ] { "x, y", "{(;)}", "say \"hi\" \\ // no" }; }
    variable "größe" { type discrete [ 2 ] { "" "C:\dir" }; }
    probability ( "a, b | c" ) { table 0.25, 0.25, 0.5; }
    probability ( "größe" | "a, b | c" ) {
      ("say \"hi\" \\ // no") 0.1, 0.9;
      ("x, y") 0.2, 0.8; ("{(;)}") 0.3, 0.7;
    }"""
    net = read(text)
    assert net["a, b | c"].states == ("x, y", "{(;)}", r'say "hi" \ // no')
    assert net["größe"].states == ("", r"C:\dir")
    assert_array_equal(net.table("größe")[:, 0], [0.2, 0.3, 0.1])
    assert_like_the_oracle(net, text)


def test_names_with_blanks_that_commas_set_apart_need_no_quotes(read):
    net = read("""
    variable lung cancer { type discrete [ 2 ] { not yet, very likely }; }
    variable tar { type discrete [ 2 ] { a, b }; }
    variable x ray { type discrete [ 2 ] { a, b c }; }
    probability ( lung cancer ) { table 0.5, 0.5; }
    probability ( tar ) { table 0.5, 0.5; }
    probability ( x ray | lung cancer, tar ) {
      (not yet, a) 0.1, 0.9;  (very likely, a) 0.2, 0.8;
      (not yet, b) 0.3, 0.7;  (very likely, b) 0.4, 0.6;
    }""")
    assert net["lung cancer"].states == ("not yet", "very likely")
    assert net["x ray"].states == ("a", "b c")
    assert_array_equal(net.table("x ray")[..., 0], [[0.1, 0.3], [0.2, 0.4]])


def test_commas_and_bars_are_optional(read):
    net = read("""
    variable a { type discrete[2] { "true" "false" }; }
    variable b { type discrete[2] { t f }; }
    variable c { type discrete[2] { t f }; }
    probability(a) { table 0.5 0.5; }
    probability(b) { table 0.5 0.5; }
    probability(c a b) { (true t) .1 .9; (true f) .2 .8; (false t) .3 .7; (false f) .4 .6; }""")
    assert net.parents("c") == ("a", "b")
    assert_array_equal(net.table("c")[..., 0], [[0.1, 0.2], [0.3, 0.4]])
