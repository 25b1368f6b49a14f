"""Hugin NET files: the language, what is refused, and reading back."""

import re

import pytest

from credo.exceptions import CredoWarning, FileFormatError
from credo.formats import read_net, write_net
from credo.graphs import BayesianNetwork

READ = read_net

TEXT = r"""% The first line is a comment; with { and "
net
{
    node_size = (80 40);
    HR_Font_Name = "Arial; 12 { } %";
}

discrete node wet
{
    label = "Is it \"wet\"?";
    position = (120 50);
    states = ("dry" "damp" "under water"); % three
}
node rain { states = (no yes); HR_State_1 = ""; subtype = label; }
node spring { states = (0 1); state_values = (0 1); }

potential (rain) { data = (0.75 0.25); }
potential (spring|)
{
    data = (0.5, 0.5);
}
potential (wet | rain spring)
{
    model_nodes = ();
    model_data = ( Distribution (0.1, 0.2) );
    data = ((( 1.0 0.0 0 )      % rain = no, spring = 0
             ( .5 .25 .25 ))
            (( 1e-1 0.4 0.5 )
             ( 0.0 0.0 1. )));
}
"""
SMALL = "net { }\nnode a { states = (n y); }\npotential (a) { data = (0.5 0.5); }\n"


def test_a_file_with_all_that_the_language_has_is_read(read):
    net = read(TEXT)
    assert net.names == ("wet", "rain", "spring")
    assert net["wet"].states == ("dry", "damp", "under water")
    assert net["spring"].states == ("0", "1")
    assert net.parents("wet") == ("rain", "spring")
    table = net.table("wet")
    assert table[0, 1].tolist() == [0.5, 0.25, 0.25]
    assert table[1, 0].tolist() == [0.1, 0.4, 0.5]
    assert net.table("rain").tolist() == [0.75, 0.25]


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends_do_not_matter(read, encoding, end):
    net = read(TEXT.replace("damp", "é").replace("\n", end).encode(encoding))
    assert net["wet"].states == ("dry", "é", "under water")
    assert net.table("wet").shape == (2, 2, 3)


def test_comments_begin_with_two_slashes_too(read):
    """They are in files of other programs; inside quotes they are no comments."""
    text = SMALL.replace("(n y)", '("http://n" /y)').replace("0.5 0.5", "0.25 // 1 (\n 0.75 //x")
    net = read(f"// net {{\n{text}//".replace("//x); }", "//x\n); }"))
    assert net["a"].states == ("http://n", "/y")
    assert net.table("a").tolist() == [0.25, 0.75]


# --- tables that are not normalised ------------------------------------------------------------

PAIR = """net { }
node a { states = (n y); }
node b { states = (r s t); }
potential (a) { data = (1 1); }
potential (b | a) {
  data = ((1 1 2) (0.5 0.25 0.25)); }
"""


def test_rows_are_divided_by_their_sums_with_a_warning(read, tmp_path):
    said = (
        f"{tmp_path / 'x'}, line 4, column 17: The probabilities of 'a' sum to 2, not to 1. Rows "
        "were divided by their sums, as in 1 other table."
    )
    with pytest.warns(CredoWarning, match=f"^{re.escape(said)}$") as caught:
        net = read(PAIR)
    assert len(caught) == 1
    assert caught[0].filename.endswith("conftest.py")  # who called read_net
    assert net.table("a").tolist() == [0.5, 0.5]
    assert net.table("b").tolist() == [[0.25, 0.25, 0.5], [0.5, 0.25, 0.25]]


def test_the_warning_names_the_row(read):
    with pytest.warns(
        CredoWarning, match="column 3: .* of 'b' given a=n sum to 4, not to 1. Rows "
    ):
        read(PAIR.replace("(1 1)", "(0.25 0.75)"))


def test_rounded_rows_are_divided_without_a_word(read):
    assert read(SMALL.replace("0.5 0.5", "0.33335 0.6667")).table("a").sum() == 1


@pytest.mark.parametrize("row", ["0 0", "2 -1", "nan 1", "inf 1", "1e308 1e308", "-1 -1"])
def test_rows_that_have_no_sum_to_divide_by_are_refused(refused, row):
    error = refused(SMALL.replace("0.5 0.5", row))
    assert (error.line, error.column) == (3, 17)
    fault = "have a negative number, -1. Got" if "-" in row else "sum to"
    assert f"The probabilities of 'a' {fault}" in error.reason


def test_of_rows_to_divide_and_one_that_has_no_sum_the_latter_is_named(refused):
    text = PAIR.replace("(1 1)", "(0.5 0.5)").replace("(0.5 0.25 0.25)", "(0 0 0)")
    assert "'b' given a=y sum to 0, not to 1. Got 0.0 0.0 0.0." in refused(text).reason


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    ["continuous node", "decision", "utility", "discrete function", "function", "instance"],
)
def test_nodes_that_are_no_chance_nodes_are_refused_by_name(refused, kind):
    error = refused(f'{SMALL}  {kind} cost {{ label = ""; }}')
    assert (error.line, error.column) == (4, 3)
    assert error.reason.startswith(f"'cost' is a {kind}; only discrete chance nodes")


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "message"),
    [
        ("0.5 0.5", "0.5 x", 3, 29, "Expected a number, got 'x'"),
        ("0.5 0.5", "0.5 normal(0)", 3, 29, "Expected a number, got 'normal'"),
        ("0.5 0.5", "0.5 0.5 1", 3, 17, "needs 2 numbers"),
        ("(0.5 0.5);", "(0.5 0.5", 3, 33, "Expected a semicolon (;) before the end"),
        ("(0.5 0.5);", "((0.5 0.5);", 3, 23, "brackets of a table do not match"),
        ("data = (0.5 0.5);", "", 3, 1, "has no data and no table"),
        ("data = (0.5 0.5);", "model_data = (f);", 3, 1, "has model_data, an expression,"),
        ("potential (a)", "potential (b)", 2, 6, "'a' has no potential"),
        ("node a", 'node "a b"', 2, 6, "'a b' has no potential"),
        ("potential (a)", "potential (a b)", 3, 1, "must be of one node. Got 2"),
        ("potential (a)", "potential ()", 3, 1, "must be of one node. Got 0"),
        ("potential (a)", "potential (a | b)", 3, 21, "parent 'b' of 'a' is not declared"),
        ("states = (n y); ", "", 2, 6, "'a' has no states"),
        ("states = (n y); ", "states = (); ", 3, 17, "'a' has no states"),
        ("(n y);", "(n y)", 2, 25, "Expected a semicolon (;) before the end"),
        ("states =", "states", 2, 17, "Expected '=', got '('"),
        ("states =", "= =", 2, 10, "Expected an attribute. Got '='"),
        ("net { }", "{ }", 1, 1, "Expected 'net', 'node' or 'potential'. Got '{'"),
        ("net { }", "nets { }", 1, 1, "The block 'nets' is not known"),
        ("net { }", 'net { a = "b; }', 1, 11, "This quote is not closed"),
        ("net { }", "net", 1, 1, "'a' is a net node"),
        ("0.5); }\n", "0.5); ", 3, 15, "This brace is not closed"),
        ("data = (0.5 0.5); }\n", "label = 3", 3, 15, "This brace is not closed"),
        ("potential (a) {", "potential (a)", 3, 33, "No brace is open here"),
    ],
)
def test_damage_is_named_with_its_place(refused, old, new, line, column, message):
    assert old in SMALL
    error = refused(SMALL.replace(old, new))
    assert message in error.reason
    assert (error.line, error.column) == (line, column)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("potential (a) { data = (1 0); }", "'a' has two potentials"),
        ("potential (b) { data = (1); }", "potential of 'b', which is not declared"),
        ("node a { states = (n y); }", "'a' is declared more than once"),
    ],
)
def test_a_node_or_a_potential_that_stands_twice_is_refused(refused, more, message):
    assert message in refused(SMALL + more).reason


def test_an_empty_file_is_refused(read):
    with pytest.raises(FileFormatError, match="declares no variables"):
        read("% nothing\n")


@pytest.mark.parametrize(
    "text",
    ['node a { b = "' + '\\"' * 10**6, '"' + '\\"' * 10**6 + "\\", "(" * 10**6, '"' * (10**5 + 1)],
    ids=["text", "first", "brackets", "quotes"],
)
def test_hostile_files_are_refused(read, text):
    """Steps that grow with the square of their length, 1e12, would not end."""
    with pytest.raises(FileFormatError):
        read(text)


def test_brackets_are_nested_as_the_parents_are(tmp_path):
    net = BayesianNetwork()
    for name in "abc":
        net.variable(name, ["n", "y"])
    net.cpt("a", table=[0.5, 0.5])
    net.cpt("b", table=[0.25, 0.75])
    net.cpt("c", given=["a", "b"], table=[[[0.1, 0.9], [0.2, 0.8]], [[0.3, 0.7], [0.4, 0.6]]])
    write_net(net, tmp_path / "x.net")
    words = (tmp_path / "x.net").read_text().split("data = ")[-1].split()
    assert " ".join(words) == "(((0.1 0.9) (0.2 0.8)) ((0.3 0.7) (0.4 0.6))); }"
    assert "potential (c | a b)" in (tmp_path / "x.net").read_text()
