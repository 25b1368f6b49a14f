"""Hugin NET files: the language, what is refused, and reading back."""

import pytest

from credo.exceptions import FileFormatError
from credo.formats.hugin import read_net, write_net
from credo.graphs import BayesianNetwork

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


@pytest.fixture
def read(tmp_path):
    def reader(text):
        path = tmp_path / "x.net"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_net(path)

    return reader


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
def test_both_usual_encodings_are_read(read, encoding):
    text = SMALL.replace("(n y)", '("é" "y")')
    assert read(text.encode(encoding))["a"].states == ("é", "y")


def test_line_ends_of_other_systems_do_not_matter(read):
    assert read(TEXT.replace("\n", "\r\n")).table("wet").shape == (2, 2, 3)
    assert read(TEXT.replace("\n", "\r")).table("wet").shape == (2, 2, 3)


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("continuous node", "continuous node"),
        ("decision", "decision"),
        ("utility", "utility"),
        ("discrete function", "discrete function"),
        ("function", "function"),
        ("instance", "instance"),
    ],
)
def test_nodes_that_are_no_chance_nodes_are_refused_by_name(read, kind, what):
    with pytest.raises(FileFormatError, match=f"line 4, column 3: 'cost' is a {what}; only disc"):
        read(f'{SMALL}  {kind} cost {{ label = ""; }}')


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "message"),
    [
        ("0.5 0.5", "0.5 x", 3, 29, "Expected a number, got 'x'"),
        ("0.5 0.5", "0.5 normal(0)", 3, 29, "Expected a number, got 'normal'"),
        ("0.5 0.5", "0.5 0.4", 3, 17, "Row 1 of the table of 'a' is no distribution"),
        ("0.5 0.5", "0.5 0.5 1", 3, 17, "needs 2 numbers"),
        ("(0.5 0.5);", "(0.5 0.5", 3, 23, "not closed by ';'"),
        ("(0.5 0.5);", "((0.5 0.5);", 3, 23, "brackets of a table do not match"),
        ("data = (0.5 0.5);", "", 3, 1, "has no data and no table"),
        ("data = (0.5 0.5);", "model_data = (f);", 3, 1, "has model_data, an expression,"),
        ("potential (a)", "potential (b)", 2, 6, "'a' has no potential"),
        ("potential (a)", "potential (a b)", 3, 1, "must be of one node. Got 2"),
        ("potential (a)", "potential ()", 3, 1, "must be of one node. Got 0"),
        ("potential (a)", "potential (a | b)", 3, 21, "parent 'b' of 'a' is not declared"),
        ("states = (n y); ", "", 2, 6, "'a' has no states"),
        ("states = (n y); ", "states = (); ", 3, 17, "'a' has no states"),
        ("(n y);", "(n y)", 2, 25, "Expected ';' before '}'"),
        ("states =", "states", 2, 17, "Expected '=', got '('"),
        ("states =", "= =", 2, 10, "Expected an attribute or '}', got '='"),
        ("net { }", "{ }", 1, 1, "Expected 'net', 'node' or 'potential', got '{'"),
        ("net { }", "nets { }", 1, 1, "The block 'nets' is not known"),
        ("net { }", 'net { a = "b; }', 1, 11, "A quoted text has no end"),
        ("net { }", "net", 1, 1, "'a' is a net node"),
        ("0.5); }\n", "0.5); ", 3, 35, "The file ends inside a block"),
        ("data = (0.5 0.5); }\n", "label = 3", 3, 26, "ends where ';' should stand"),
        ("potential (a) {", "potential (a)", 3, 1, "Expected a block in braces"),
    ],
)
def test_damage_is_named_with_its_place(read, old, new, line, column, message):
    text = SMALL.replace(old, new)
    assert text != SMALL
    with pytest.raises(FileFormatError) as caught:
        read(text)
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_a_node_or_a_potential_that_stands_twice_is_refused(read):
    with pytest.raises(FileFormatError, match="'a' has two potentials"):
        read(SMALL + SMALL.splitlines()[2])
    with pytest.raises(FileFormatError, match="potential of 'b', which is not declared"):
        read(SMALL + "potential (b) { data = (1); }")
    with pytest.raises(FileFormatError, match="'a' is declared more than once"):
        read(SMALL + SMALL.splitlines()[1])


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


def test_a_file_of_too_many_words_is_refused(read, monkeypatch):
    monkeypatch.setattr("credo.formats._net_tokens.MOST_WORDS", 100)
    with pytest.raises(FileFormatError, match="more than 100 words outside tables"):
        read(f"net {{ a = ({'b ' * 100}); }}")


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
