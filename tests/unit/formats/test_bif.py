"""BIF: dialects, names, numbers, faults with their places, writing, and published networks."""

import csv
import gzip
import importlib.util
import itertools
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.oracles import bif as oracle
from tests.work import bytes_in

from credo.formats import bif, read_bif, write_bif
from credo.graphs import BayesianNetwork

READ = read_bif

#: Line by line, so that places can be counted.
LINES = [
    "network unknown {",  # 1
    "}",
    "variable rain {",  # 3
    "  type discrete [ 2 ] { no, yes };",
    "}",
    "variable grass {",  # 6
    "  type discrete [ 2 ] { dry, wet };",
    "}",
    "probability ( rain ) {",  # 9
    "  table 0.75, 0.25;",
    "}",
    "probability ( grass | rain ) {",  # 12
    "  (no) 0.5, 0.5;",
    "  (yes) 0.25, 0.75;",
    "}",
]

TEXT = "\n".join(LINES)
#: What it says, by hand.
GRASS = [[0.5, 0.5], [0.25, 0.75]]

HEAD = """network x { }
variable P { type discrete [ 2 ] { p0, p1 }; }
variable Q { type discrete [ 2 ] { q0, q1 }; }
variable C { type discrete [ 3 ] { c0, c1, c2 }; }
probability ( P ) { table 0.5, 0.5; }
probability ( Q ) { table 0.5, 0.5; }
"""


def assert_grass(net):
    assert list(net.names) == ["rain", "grass"]
    assert net["grass"].states == ("dry", "wet")
    assert net.parents("grass") == ("rain",)
    assert_array_equal(net.table("rain"), [0.75, 0.25])
    assert_array_equal(net.table("grass"), GRASS)


def assert_like_the_oracle(net, text):
    states, tables = oracle.read(text)
    assert {name: list(net[name].states) for name in net.names} == states
    for child, (parents, rows) in tables.items():
        assert list(net.parents(child)) == parents
        table = np.array(list(rows.values()))
        found = net.table(child).reshape(table.shape)
        np.testing.assert_allclose(found, table / table.sum(axis=1, keepdims=True), rtol=1e-14)


# --- writers --------------------------------------------------------------------------------

DIALECTS = {
    "bnlearn": TEXT,
    "pgmpy": """network unknown {
}
variable rain {
    type discrete [ 2 ] { no, yes };
    property weight = None ;
}
variable grass {
    type discrete [ 2 ] { dry, wet };
}
probability ( rain ) {
    table 0.75, 0.25 ;
}
probability ( grass | rain ) {
    ( no ) 0.5, 0.5;
    ( yes ) 0.25, 0.75;

}
""",
    "pyagrum": """network "unnamedBN" {
// written by aGrUM 3.3.1
}

variable rain {
   type discrete[2] {no, yes};
}

variable grass {
   type discrete[2] {dry, wet};
}

probability (rain) {
   table 0.75 0.25;
}
probability (grass | rain) {
   (no) 0.5 0.5;
   (yes) 0.25 0.75;
}

""",
    "javabayes": """// Bayesian Network in the Interchange Format
// Produced by BayesianNetworks package in JavaBayes
network "Rain" { //2 variables and 2 probability distributions
	property "credal-set constant-density-bounded 1.1" ;
}
variable "rain" { //2 values
	type discrete[2] {  "no"  "yes" };
	property "position = (73, 165)" ;
}
variable "grass" { //2 values
	type discrete[2] {  "dry"  "wet" };
	property "position = (90, 200)" ;
}
probability ( "rain" ) { //1 variable(s) and 2 values
	table 0.75 0.25 ;
}
probability ( "grass"  "rain" ) { //2 variable(s) and 4 values
	table 0.5 0.25 0.5 0.75 ;
}
""",
    "comments": "// by hand\n/* over\n two lines */"
    + TEXT.replace("unknown {", '"a // b" { property author "me; myself" ;')
    .replace("{ no, yes };", "{ no, /* not, maybe */ yes }; property x = {1 2} ;")
    .replace("  (no)", "  property p = (3, 4); // (no) 1, 0;\n  (no)")
    .replace("0.5, 0.5;", "0.5,0.5// half\n;;")
    .replace("}\nprob", "};\nprob")
    + ";; /**/ // the end",
    "any order": "".join(f"{TEXT.split(chr(10) + '}')[i]}}}" for i in (4, 3, 1, 2, 0)),
    "no blanks": re.sub(r"\s*([{}()\[\];|,])\s*", r"\1", TEXT),
    "one line": TEXT.replace("\n", " "),
    "tabs": TEXT.replace(" ", "\t"),
    "crlf": TEXT.replace("\n", "\r\n"),
    "cr": TEXT.replace("\n", "\r"),
    "byte order mark": "\ufeff" + TEXT,
    "packed": gzip.compress(TEXT.encode()),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_read(read, dialect):
    assert_grass(read(DIALECTS[dialect]))


# --- rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
def test_rows_go_where_their_names_say(read, order):
    """In one table each row is its own; the other shares its labels with it."""
    rows = ["(p0, q0) .1 .9 0;", "(p0, q1) .2 .8 0;", "(p1, q0) .3 .7 0;", "(p1, q1) .4 .6 0;"]
    listed = "".join(rows[i] for i in order)
    text = f"{HEAD}probability ( C | P, Q ) {{ {listed} }}"
    text += "variable D { type discrete [ 3 ] { d0, d1, d2 }; }"
    text += f"probability ( D | P, Q ) {{ {listed.replace(' 0;', ' 0.0;')} }}"
    for name in "CD":
        assert_array_equal(read(text).table(name)[..., 0], [[0.1, 0.2], [0.3, 0.4]])


def test_equal_labels_of_other_parents_are_other_rows(read):
    """The states of A and B are the same in another order."""
    net = read("""variable A { type discrete [ 2 ] { x, y }; }
    variable B { type discrete [ 2 ] { y, x }; }
    variable C { type discrete [ 2 ] { t, f }; }  variable D { type discrete [ 2 ] { t, f }; }
    probability ( A ) { table 0.5, 0.5; }  probability ( B ) { table 0.5, 0.5; }
    probability ( C | A ) { (x) 0.1, 0.9; (y) 0.2, 0.8; }
    probability ( D | B ) { (x) 0.1, 0.9; (y) 0.2, 0.8; }""")
    assert net.table("C")[:, 0].tolist() == [0.1, 0.2]
    assert net.table("D")[:, 0].tolist() == [0.2, 0.1]


def test_the_child_varies_slowest_in_a_whole_table(read):
    numbers = np.array([[5, 6, 7, 8], [20, 19, 18, 17], [75, 75, 75, 75]]) / 100
    listed = ", ".join(map(repr, numbers.ravel().tolist()))
    net = read(f"{HEAD}probability ( C | P, Q ) {{ table {listed}; }}")
    # what pyAgrum and pgmpy make of it: p(c1 | p0, q1) is the sixth number
    assert net.table("C")[0, 1, 1] == 0.19
    assert_array_equal(net.table("C"), numbers.reshape(3, 2, 2).transpose(1, 2, 0))


@pytest.mark.parametrize("rows", ["(p1, q0) 1, 0, 0; {}", "{} (p1, q0) 1, 0, 0;"])
def test_a_default_row_fills_what_is_not_given(read, rows):
    rows = rows.format("default 0.25 0.25 0.5;")
    text = f"{HEAD}probability ( C | P, Q ) {{ {rows} }}"
    expected = np.tile([0.25, 0.25, 0.5], (2, 2, 1))
    expected[1, 0] = [1, 0, 0]
    assert_array_equal(read(text).table("C"), expected)


@pytest.mark.parametrize("small", ["25E-2", "0.0025E+2", "+.25"])
def test_numbers_may_have_exponents_of_either_sign(read, small):
    assert_grass(read(TEXT.replace("0.25", small)))


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


# --- faults ---------------------------------------------------------------------------------

#: What is replaced, by what, and the line, the column and the words of the error.
FAULTS = {
    "unknown state": ("(yes)", "(yess)", 14, 4, "'rain' has no state 'yess'. Did you mean 'yes'"),
    "state of another case": ("(yes)", "(Yes)", 14, 4, "Did you mean 'yes'"),
    "unknown parent": ("| rain", "| rian", 12, 23, "No variable 'rian' is declared. Did you mean"),
    "unknown child": ("( grass |", "( gras |", 12, 15, "No variable 'gras' is declared. Did you"),
    "row twice": ("(yes)", "(no)", 14, 3, "given on line 13 already"),
    "default twice": ("(yes)", "default 0, 1; default", 14, 17, "given on line 14 already"),
    "table and rows": ("(yes) 0.25", "table 1, 0, 0.25", 14, 3, "given on line 13 already"),
    "row missing": ("  (yes) 0.25, 0.75;", "", 15, 1, "of 'grass' given rain=yes. Add"),
    "all rows missing": (
        "  (no) 0.5, 0.5;\n  (yes) 0.25, 0.75;", "", 12, 30, "or a default row"
    ),
    "too few": ("0.25, 0.75;", "1.0;", 14, 3, "Expected 2 probabilities .*Got 1"),
    "too many": ("0.75, 0.25;", "0.75, 0.25, 0;", 10, 3, "Expected 2 probabilities.*Got 3"),
    "none": ("table 0.75, 0.25;", "table ;", 10, 3, "Expected 2 probabilities.*Got 0"),
    "too many states": ("(yes)", "(yes, no)", 14, 3, "Expected 1 states.*Got 2. Quote"),
    "no states": ("(yes)", "()", 14, 3, "Expected 1 states, one for each parent of 'grass'"),
    "negative": ("0.25, 0.75;\n}", "-0.25, 1.25;\n}", 14, 9, "'-0.25'. A probability is not neg"),
    "no number": ("0.25, 0.75;\n}", "O.25, 0.75;\n}", 14, 9, "Expected a probability. Got 'O.25'"),
    "quoted number": ("0.25, 0.75;\n}", '"0.25", 0.75;\n}', 14, 9, "Expected a probability"),
    "nan": ("0.25, 0.75;\n}", "NaN, NaN;\n}", 14, 9, "Got 'NaN'. R writes it for states"),
    "huge": ("0.25, 0.75;\n}", "1e999, 0.75;\n}", 14, 9, "Expected a probability. Got '1e999'"),
    "sum": ("0.25, 0.75;\n}", "0.25, 0.7;\n}", 14, 3, "given rain=yes sum to 0.95, not"),
    "sum without parents": ("0.75, 0.25;", "0.75, 0.5;", 10, 3, "of 'rain' sum to 1.25, not to 1"),
    "all zero": ("0.25, 0.75;\n}", "0, 0;\n}", 14, 3, "sum to 0, not to 1"),
    "no semicolon": ("0.25, 0.75;\n}", "0.25, 0.75\n}", 15, 1, "Expected a semicolon"),
    "no semicolon between": ("(no) 0.5, 0.5;", "(no) 0.5, 0.5", 14, 3, "Got '\\('. Check the"),
    "row without brackets": ("(yes)", "yes", 14, 3, "Expected a row such as .* Got 'yes'"),
    "row of braces": ("(yes)", "{yes}", 14, 3, "Expected a row such as"),
    "bracket not closed": ("(yes) 0.25, 0.75", "(yes 0.25, 0.75", 14, 18, "Expected \\)"),
    "bracket in bracket": ("(yes)", "((yes)", 14, 4, "Expected a state of a parent. Got '\\('"),
    "variable twice": ("variable grass", "variable rain", 6, 10, "'rain' is declared twice"),
    "its own parent": ("| rain", "| grass", 12, 1, "twice in the head of 'grass'"),
    "parent twice": ("| rain", "| rain, rain", 12, 1, "twice in the head of 'grass'"),
    "table twice": ("( grass | rain )", "( rain )", 12, 1, "of 'rain' are given twice"),
    "no table": ("probability ( rain ) {\n  table 0.75, 0.25;\n}", "", 3, 10, "'rain' has no prob"),
    "state twice": ("{ dry, wet }", "{ dry, dry }", 7, 30, "The state 'dry' is listed twice"),
    "fewer states": ("{ dry, wet }", "{ dry }", 7, 25, "declares 2 states but lists 1"),
    "more states": ("{ dry, wet }", "{ dry, wet, x }", 7, 25, "declares 2 states but lists 3"),
    "no state": ("{ dry, wet }", "{ }", 7, 25, "Expected at least one state. Got '}'"),
    "a billion states": ("[ 2 ] { dry", "[ 1000000000 ] { dry", 7, 34, "1000000000 states but"),
    "digits without end": ("[ 2 ] { dry", f"[ {'9' * 5000} ] {{ dry", 7, 19, "number of states"),
    "no size": ("[ 2 ] { dry", "[ ] { dry", 7, 8, "Expected discrete \\[ number"),
    "odd size": ("[ 2 ] { dry", "[ two ] { dry", 7, 19, "the number of states. Got 'two'"),
    "continuous": ("discrete [ 2 ] { dry", "continuous [ 2 ] { dry", 7, 8, "Expected discrete"),
    "no type": ("type discrete [ 2 ] { dry, wet };", "", 8, 1, "Expected a type, such as"),
    "two types": ("{ dry, wet };", "{ dry, wet }; type x;", 7, 37, "Expected one type, or"),
    "odd statement": ("{ dry, wet };", "{ dry, wet }; tipe x;", 7, 37, "type, or property. Got"),
    "odd state": ("{ dry, wet }", "{ dry, (wet) }", 7, 30, "Expected names of states, then };"),
    "type without end": ("{ dry, wet };", "{ dry, wet }", 8, 1, "Expected a semicolon"),
    "type with more": ("{ dry, wet };", "{ dry, wet } x;", 7, 36, "Expected names of states, th"),
    "no name": ("variable grass {", "variable {", 6, 10, "Expected the name of one variable"),
    "two names": ("variable grass {", "variable a, b {", 6, 13, "the name of one variable"),
    "odd name": ("variable grass {", "variable (grass) {", 6, 10, "the name of one variable"),
    "no child": ("( grass | rain )", "( )", 12, 13, "Expected \\( child | parents \\)"),
    "no brackets": ("( grass | rain )", "grass", 12, 13, "Expected \\( child | parents \\)"),
    "odd head": ("( grass | rain )", "( [grass] )", 12, 15, "Expected names of variables"),
    "other block": ("variable grass {", "varible grass {", 6, 1, "Expected a block that starts"),
    "text between": ("variable grass", "As we know:\nvariable grass", 6, 1, "in /\\* a comm"),
    "brace not closed": ("0.25;\n}", "0.25;\n", 9, 22, "This brace is not closed"),
    "brace closed twice": ("0.25;\n}", "0.25;\n}}", 11, 2, "No brace is open here"),
    "quote not closed": ("{ dry, wet }", '{ "dry, wet }', 7, 25, "quote is not closed"),
    "quote at the end": ("0.25, 0.75;\n}", '0.25, 0.75;\n}\n"', 16, 1, "quote is not closed"),
    "comment not closed": ("0.25, 0.75;\n}", "0.25, 0.75;\n} /* x", 15, 3, "comment is not closed"),
    "rest": ("0.25, 0.75;\n}", "0.25, 0.75;\n}; probability", 15, 4, "Expected a block"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_its_place(refused, name):
    old, new, line, column, words = FAULTS[name]
    assert old in TEXT
    error = refused(TEXT.replace(old, new, 1))
    assert re.search(words, error.reason), error
    assert (error.line, error.column) == (line, column), error


def test_a_cycle_is_named(refused):
    text = TEXT.replace("( rain )", "( rain | grass )")
    text = text.replace("table 0.75, 0.25;", "default 0.75, 0.25;")
    assert "cycle" in refused(text).reason


@pytest.mark.parametrize("text", ["", "  \n", "// nothing", "network unknown {\n}\n"])
def test_a_file_without_variables_is_named(refused, text):
    assert "declares no variable" in refused(text).reason


def test_places_are_right_after_comments_and_other_letters(refused):
    error = refused("/* größer\n\n */ /* ü */ " + TEXT.replace("(yes)", "/* é */ (é)"))
    assert (error.line, error.column) == (16, 12)
    assert "no state 'é'" in error.reason


# --- sizes ----------------------------------------------------------------------------------


def wide(parents, states, entry):
    """A child with many parents of many states."""
    listed = ", ".join(f"s{i}" for i in range(states))
    even = ", ".join(["0"] * (states - 1) + ["1"])
    names = [f"p{i}" for i in range(parents)]
    text = "".join(
        f"variable {name} {{ type discrete [ {states} ] {{ {listed} }}; }}\n"
        for name in ["child", *names]
    )
    text += "".join(f"probability ( {name} ) {{ table {even}; }}\n" for name in names)
    return f"{text}probability ( child | {', '.join(names)} ) {{ {entry.format(even)} }}\n"


@pytest.mark.parametrize(
    ("parents", "states", "entry", "words"),
    [
        (30, 10, "table {};", f"has {10**31} cells"),
        (30, 10, "default {};", f"has {10**31} cells; all tables together may have {2**27}"),
        (27, 2, "default {};", f"has {2**28} cells"),
        (6, 10, "({}) 1;", f"has {10**7} cells, more than its block holds"),
        (6, 10, "table {};", "Give a row for all states of the parents, or a default row"),
    ],
)
def test_sizes_are_checked_before_memory_is_taken(refused, parents, states, entry, words):
    text = wide(parents, states, entry)
    assert words in refused(text).reason
    assert bytes_in(refused, text) < 20e6


def test_the_tables_count_together(read, refused, monkeypatch):
    monkeypatch.setattr(bif, "MOST_CELLS", 100)
    text = wide(3, 3, "default {};")
    assert 3 * 3 + 81 < 100 < 3 * 3 + 81 + 81
    assert read(text).table("child").size == 81
    twice = text.replace("child", "other").splitlines()
    text += "\n".join([twice[0], twice[-1]])
    assert "all tables together may have 100" in refused(text).reason


@pytest.mark.parametrize(
    "word",
    ["nan", "inf", "1_0", "1e", "--1", "٠", "\xa01"],
)
def test_other_words_are_no_probabilities(refused, word):
    error = refused(TEXT.replace("0.25, 0.75;", f"{word}, 0.75;"))
    assert "Expected a probability" in error.reason
    assert (error.line, error.column) == (14, 9)


@pytest.mark.parametrize(
    "rows",
    [
        "(p0)(q0) .1 .2 .7; .1 .2 .7; (p1, q0) .1 .2 .7; (p1, q1) .1 .2 .7;",
        "(p0) .1 .2 .7; (q0, p0, q1) .1 .2 .7; (p1, q0) .1 .2 .7; (p1, q1) .1 .2 .7;",
        "(p0, q0) .1 .2; (p0, q1) .1 .2 .3 .4; (p1, q0) .1 .2 .7; (p1, q1) .1 .2 .7;",
        "(p0, q0) .1 .2 .7 (p0, q1); .1 .2 .7; (p1, q0) .1 .2 .7; (p1, q1) .1 .2 .7;",
        "(p0; q0) .1 .2 .7; (p0, q1) .1 .2 .7; (p1, q0) .1 .2 .7; (p1, q1) .1 .2 .7;",
        ")p0, q0( .1 .2 .7; (p0, q1) .1 .2 .7; (p1, q0) .1 .2 .7; (p1, q1) .1 .2 .7;",
        "(p0, q0) .1 .2 .7; (p0, q0) .1 .2 .7; (p1, q0) .1 .2 .7; (p1, q1) .1 .2 .7;",
        "(p0, q0) .1 inf .7; (p0, q1) .1 .2 .7; (p1, q0) .1 .2 .7; (p1, q1) .1 .2 .7;",
        "(p0, q0) .1 .2 .7 nan inf .1 .2 .7; (p1, q0) .1 .2 .7; (p1, q1) .1 .2 .7;",
    ],
)
def test_rows_that_fit_only_in_sum_are_refused(refused, rows):
    assert refused(f"{HEAD}probability ( C | P, Q ) {{ {rows} }}").line == 7


# --- writing --------------------------------------------------------------------------------


def network(names=("rain", "grass"), states=(("no", "yes"), ("dry", "wet"))):
    net = BayesianNetwork()
    for name, each in zip(names, states, strict=True):
        net.variable(name, each)
    net.cpt(names[0], table=[1 / 3, 2 / 3])
    net.cpt(names[1], given=[names[0]], table=[[0.1, 0.9], [1e-300, 1.0]])
    return net


def test_the_text_is_that_of_bnlearn(tmp_path):
    write_bif(network(), tmp_path / "net.bif")
    assert (tmp_path / "net.bif").read_text() == (
        "network unknown {\n}\n"
        "variable rain {\n  type discrete [ 2 ] { no, yes };\n}\n"
        "variable grass {\n  type discrete [ 2 ] { dry, wet };\n}\n"
        "probability ( rain ) {\n  table 0.3333333333333333, 0.6666666666666666;\n}\n"
        "probability ( grass | rain ) {\n  (no) 0.1, 0.9;\n  (yes) 1e-300, 1.0;\n}\n"
    )


QUOTED = ["a b", "x,y", 'say "hi"', "back\\", "größe", "a//b", "/*", "table"]
BARE = ["5-12", "<5", "1.0_2", "Asy/Patch", "50%"]


@pytest.mark.parametrize("name", [*QUOTED, *BARE])
def test_only_odd_names_are_quoted(tmp_path, name):
    net = network((name, "grass"), (("no", name), ("dry", "wet")))
    write_bif(net, tmp_path / "net.bif")
    oracle.assert_same(read_bif(tmp_path / "net.bif"), net)
    text = (tmp_path / "net.bif").read_text(encoding="utf-8")
    assert ('"' in text) == (name in QUOTED)
    states, _ = oracle.read(text)
    assert states == {name: ["no", name], "grass": ["dry", "wet"]}


# --- published networks, where they are found beside the project ------------------------------

BESIDE = Path(__file__).parents[4] / "shared" / "data" / "graphical" / "bif"
PGMPY = importlib.util.find_spec("pgmpy")


def networks_in(folder):
    """Give the networks of a folder by their names."""
    return {file.name.removesuffix(".bif.gz"): file for file in sorted(folder.glob("*.bif.gz"))}


FOUND = networks_in(BESIDE)
IN_PGMPY = {}


if PGMPY is not None:
    IN_PGMPY = networks_in(Path(PGMPY.origin).parent / "utils" / "example_models")


#: Pgmpy reads these in about a second.
SMALL = [name for name in IN_PGMPY if IN_PGMPY[name].stat().st_size < 3_500]


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_pgmpy_reads_the_same_from_the_file_and_from_ours(tmp_path, name):
    net = read_bif(IN_PGMPY[name])
    write_bif(net, tmp_path / "ours.bif")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.readwrite import BIFReader

        theirs = BIFReader(string=gzip.decompress(IN_PGMPY[name].read_bytes()).decode())
        ours = BIFReader(path=str(tmp_path / "ours.bif"))
    assert list(net.names) == theirs.variable_names == ours.variable_names
    for child in net.names:
        assert list(net[child].states) == theirs.variable_states[child]
        assert list(net.parents(child)) == theirs.variable_parents[child]
        table = theirs.variable_cpds[child]
        found = np.moveaxis(net.table(child), -1, 0).reshape(table.shape)
        np.testing.assert_allclose(found, table / table.sum(axis=0), rtol=1e-14)
        np.testing.assert_array_equal(found, ours.variable_cpds[child])


@pytest.mark.parametrize("name", FOUND)
def test_a_published_network_is_read_and_written_and_has_the_size_its_list_says(tmp_path, name):
    net = read_bif(FOUND[name])
    write_bif(net, tmp_path / "again.bif")
    oracle.assert_same(read_bif(tmp_path / "again.bif"), net)
    with (BESIDE / "bif_networks.csv").open() as stream:
        rows = {row["network"]: row for row in csv.DictReader(stream)}
    assert len(net) == int(rows[name]["nodes"])
    assert sum(len(net.parents(each)) for each in net.names) == int(rows[name]["arcs"])
    if FOUND[name].stat().st_size < 10_000:
        assert_like_the_oracle(net, gzip.decompress(FOUND[name].read_bytes()).decode())
