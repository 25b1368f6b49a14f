"""Hugin NET, XMLBIF and GeNIe XDSL: what each language holds, and what is refused."""

import re
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

from credo.exceptions import CredoWarning, FileFormatError
from credo.formats import _xml, read_bif, read_net, read_xdsl, read_xmlbif, write_net, write_xdsl
from credo.graphs import BayesianNetwork

RAIN = r"""% The first line is a comment; with { and "
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

NET = "net { }\nnode a { states = (n y); }\npotential (a) { data = (0.5 0.5); }\n"


def test_a_file_with_all_that_the_language_has_is_read(read):
    net = read(RAIN, read_net)
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
    net = read(RAIN.replace("damp", "é").replace("\n", end).encode(encoding), read_net)
    assert net["wet"].states == ("dry", "é", "under water")
    assert net.table("wet").shape == (2, 2, 3)


def test_comments_begin_with_two_slashes_too(read):
    """They are in files of other programs; inside quotes they are no comments."""
    text = NET.replace("(n y)", '("http://n" /y)').replace("0.5 0.5", "0.25 // 1 (\n 0.75 //x")
    net = read(f"// net {{\n{text}//".replace("//x); }", "//x\n); }"), read_net)
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
        net = read(PAIR, read_net)
    assert len(caught) == 1
    assert caught[0].filename.endswith("conftest.py")  # who called read_net
    assert net.table("a").tolist() == [0.5, 0.5]
    assert net.table("b").tolist() == [[0.25, 0.25, 0.5], [0.5, 0.25, 0.25]]


def test_the_warning_names_the_row(read):
    with pytest.warns(
        CredoWarning, match="column 3: .* of 'b' given a=n sum to 4, not to 1. Rows "
    ):
        read(PAIR.replace("(1 1)", "(0.25 0.75)"), read_net)


def test_rounded_rows_are_divided_without_a_word(read):
    assert read(NET.replace("0.5 0.5", "0.33335 0.6667"), read_net).table("a").sum() == 1


@pytest.mark.parametrize("row", ["0 0", "2 -1", "nan 1", "inf 1", "1e308 1e308", "-1 -1"])
def test_rows_that_have_no_sum_to_divide_by_are_refused(refused, row):
    error = refused(NET.replace("0.5 0.5", row), read_net)
    assert (error.line, error.column) == (3, 17)
    fault = "have a negative number, -1. Got" if "-" in row else "sum to"
    assert f"The probabilities of 'a' {fault}" in error.reason


def test_of_rows_to_divide_and_one_that_has_no_sum_the_latter_is_named(refused):
    text = PAIR.replace("(1 1)", "(0.5 0.5)").replace("(0.5 0.25 0.25)", "(0 0 0)")
    assert "'b' given a=y sum to 0, not to 1. Got 0.0 0.0 0.0." in refused(text, read_net).reason


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    ["continuous node", "decision", "utility", "discrete function", "function", "instance"],
)
def test_nodes_that_are_no_chance_nodes_are_refused_by_name(refused, kind):
    error = refused(f'{NET}  {kind} cost {{ label = ""; }}', read_net)
    assert (error.line, error.column) == (4, 3)
    assert error.reason.startswith(f"'cost' is a {kind}; only discrete chance nodes")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("potential (a) { data = (1 0); }", "'a' has two potentials"),
        ("potential (b) { data = (1); }", "potential of 'b', which is not declared"),
        ("node a { states = (n y); }", "'a' is declared more than once"),
    ],
)
def test_a_node_or_a_potential_that_stands_twice_is_refused(refused, more, message):
    assert message in refused(NET + more, read_net).reason


def test_an_empty_file_is_refused(read):
    with pytest.raises(FileFormatError, match="declares no variables"):
        read("% nothing\n", read_net)


@pytest.mark.parametrize(
    "text",
    ['node a { b = "' + '\\"' * 10**6, '"' + '\\"' * 10**6 + "\\", "(" * 10**6, '"' * (10**5 + 1)],
    ids=["text", "first", "brackets", "quotes"],
)
def test_hostile_files_are_refused(read, text):
    """Steps that grow with the square of their length, 1e12, would not end."""
    with pytest.raises(FileFormatError):
        read(text, read_net)


PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "graphical"


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


#: The document type of the definition of the format, and the dog problem, cut short.
DOGS = """<?xml version="1.0"?>
<!-- DTD for the XMLBIF 0.3 format -->
<!DOCTYPE BIF [
  <!ELEMENT BIF ( NETWORK )*>
    <!ATTLIST BIF VERSION CDATA #REQUIRED>
  <!ELEMENT NETWORK ( NAME, ( PROPERTY | VARIABLE | DEFINITION )* )>
  <!ELEMENT NAME (#PCDATA)>
  <!ELEMENT VARIABLE ( NAME, ( OUTCOME |  PROPERTY )* ) >
    <!ATTLIST VARIABLE TYPE (nature|decision|utility) "nature">
]>
<BIF VERSION="0.3">
<NETWORK>
<NAME>Dog-Problem</NAME>
<!-- Variables -->
<VARIABLE TYPE="nature">
  <NAME>light-on</NAME>
  <OUTCOME>true</OUTCOME>
  <OUTCOME>false</OUTCOME>
  <PROPERTY>position = (218, 195)</PROPERTY>
</VARIABLE>
<VARIABLE TYPE="nature">
  <NAME>bowel &amp; problem</NAME>
  <OUTCOME> a </OUTCOME>
  <OUTCOME>b</OUTCOME>
  <OUTCOME>&lt; c</OUTCOME>
</VARIABLE>
<VARIABLE><NAME>dog-out</NAME><OUTCOME>true</OUTCOME><OUTCOME>false</OUTCOME></VARIABLE>
<DEFINITION>
  <FOR>dog-out</FOR>
  <GIVEN>bowel &amp; problem</GIVEN>
  <GIVEN>light-on</GIVEN>
  <TABLE>0.99 0.01 <!-- a, true -->
    0.97 0.03
    0.9 0.1 0.3 0.7
    0.5 0.5 0 1</TABLE>
</DEFINITION>
<DEFINITION><FOR>light-on</FOR><TABLE>0.6 0.4</TABLE></DEFINITION>
<DEFINITION><FOR>bowel &amp; problem</FOR><TABLE>0.25 0.5 0.25</TABLE></DEFINITION>
</NETWORK>
</BIF>
"""

XMLBIF = """<BIF VERSION="0.3"><NETWORK>
<VARIABLE TYPE="nature"><NAME>a</NAME><OUTCOME>n</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>
<DEFINITION><FOR>a</FOR><TABLE>0.5 0.5</TABLE></DEFINITION>
</NETWORK></BIF>"""


def test_xmlbif_lists_the_child_fastest_and_the_first_parent_slowest(read):
    net = read(DOGS, read_xmlbif)
    assert net.names == ("light-on", "bowel & problem", "dog-out")
    assert net["bowel & problem"].states == ("a", "b", "< c")
    assert net.parents("dog-out") == ("bowel & problem", "light-on")
    table = net.table("dog-out")
    assert table.shape == (3, 2, 2)
    assert table[0, 1].tolist() == [0.97, 0.03]
    assert table[2, 0].tolist() == [0.5, 0.5]


def test_other_encodings_are_read(read):
    text = XMLBIF.replace("<NAME>a", "<NAME>é").replace("<FOR>a", "<FOR>é")
    head = '<?xml version="1.0" encoding="{}"?>'
    for encoding in ("ISO-8859-1", "UTF-8", "UTF-16"):
        assert read((head.format(encoding) + text).encode(encoding), read_xmlbif).names == ("é",)


def test_tags_may_be_small(read):
    assert read(XMLBIF.replace("BIF", "bif").replace("TABLE", "Table"), read_xmlbif).names == ("a",)


def test_the_column_is_that_of_the_element(refused):
    error = refused(XMLBIF.replace("0.5 0.5", "0.5 0.4"), read_xmlbif)
    assert error.column == 1 + XMLBIF.splitlines()[2].index("<TABLE>")


def test_a_file_without_variables_is_refused(read):
    with pytest.raises(FileFormatError, match="declares no variables"):
        read("<BIF><NETWORK/></BIF>", read_xmlbif)


def test_a_cycle_is_refused(read):
    with pytest.raises(FileFormatError, match="'a'"):
        read(
            XMLBIF.replace("<TABLE>0.5 0.5", "<GIVEN>a</GIVEN><TABLE>0.5 0.5 0.5 0.5"), read_xmlbif
        )


@pytest.mark.parametrize(
    "head",
    [
        '<!DOCTYPE BIF [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>',
        '<!DOCTYPE BIF [<!ENTITY a SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE BIF [<!ENTITY % a "b"> %a;]>',
    ],
    ids=["internal", "external", "parameter"],
)
def test_entities_are_refused(read, head):
    with pytest.raises(FileFormatError, match="Entities are not read"):
        read(head + XMLBIF, read_xmlbif)


def test_an_external_document_type_is_not_fetched(read):
    assert read(
        '<!DOCTYPE BIF SYSTEM "http://nowhere.invalid/x.dtd">' + XMLBIF, read_xmlbif
    ).names == ("a",)


def test_deep_and_endless_files_are_refused(read, monkeypatch):
    with pytest.raises(FileFormatError, match="nests them deeper than 100"):
        read("<a>" * 200, read_xmlbif)
    monkeypatch.setattr(_xml, "MOST_ELEMENTS", 1000)
    with pytest.raises(FileFormatError, match="more than 1000 elements"):
        read("<a>" + "<b/>" * 1000, read_xmlbif)


# --- published networks ------------------------------------------------------------------------


def rows_in_another_order(table, order):
    """Read a table as if its parents stood in ``order``."""
    shape = [table.shape[i] for i in order]
    turned = table.reshape(*shape, table.shape[-1])
    return turned.transpose(*np.argsort(order), len(order))


#: How many tables fit their BIF twins with the parents as they are listed.
AS_STATED = {"alarm": 28, "insurance": 13}


@pytest.mark.parametrize(
    "name", [n for n in AS_STATED if (PUBLISHED / f"xmlbif/{n}.bifxml").exists()]
)
def test_published_files_hold_the_tables_of_their_bif_twins(name):
    """These two files misstate the order of some parents; the tables themselves are the same."""
    net = read_xmlbif(PUBLISHED / f"xmlbif/{name}.bifxml")
    twin = read_bif(PUBLISHED / f"bif/{name}.bif.gz")
    assert sorted(net.names) == sorted(twin.names)
    as_stated = 0
    for child in net.names:
        parents = net.parents(child)
        assert sorted(parents) == sorted(twin.parents(child))
        axes = [*(twin.parents(child).index(parent) for parent in parents), len(parents)]
        order = [[twin[n].states.index(s) for s in net[n].states] for n in (*parents, child)]
        table = twin.table(child).transpose(axes)[np.ix_(*order)]
        orders = permutations(range(len(parents)))  # the first is the order that is stated
        fits = [
            np.allclose(rows_in_another_order(net.table(child), order), table, atol=4e-5, rtol=0)
            for order in orders
        ]
        assert any(fits)
        as_stated += fits[0]
    assert as_stated == AS_STATED[name]


FORECAST = """<?xml version="1.0" encoding="ISO-8859-1"?>
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

XDSL = """<smile><nodes>
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


def test_xdsl_lists_the_child_fastest_and_the_first_parent_slowest(read):
    net = read(FORECAST, read_xdsl)
    assert net.names == ("Success", "Weather", "Forecast", "Both")
    assert net.parents("Forecast") == ("Success", "Weather")
    assert net.table("Forecast")[0, 1].tolist() == [0.1, 0.3, 0.6]
    assert net.table("Forecast")[1, 0].tolist() == [0.2, 0.2, 0.6]


def test_deterministic_nodes_are_written_out(read):
    table = read(FORECAST, read_xdsl).table("Both")
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
    assert read(NOISY, read_xdsl).table("c") == pytest.approx(expected, abs=1e-15)


def test_without_strengths_states_go_from_the_strongest_to_none(read):
    text = NOISY.replace("<strengths>1 0 0 2 1</strengths>", "")
    assert read(text, read_xdsl).table("c")[1, 2] == pytest.approx(
        [0.0625, 0.1875, 0.75], abs=1e-15
    )


@pytest.mark.parametrize("kind", ["decision", "utility", "mau", "equation", "truthtable"])
def test_other_nodes_are_refused_by_name(read, kind):
    text = XDSL.replace("</nodes>", f'<{kind} id="cost"/></nodes>')
    with pytest.raises(FileFormatError, match=f"line 5.*'cost' is a {kind} node; only cpt, det"):
        read(text, read_xdsl)


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
            "</noisymax></nodes></smile>",
            read_xdsl,
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


NET_FAULTS = [
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
]

XMLBIF_FAULTS = [
    ("</BIF>", "", 4, "not well-formed XML: no element found"),
    ("<TABLE>", "<TABLE", 3, "not well-formed"),
    ("NETWORK", "NET", 1, "Expected <BIF> with a <NETWORK>, got <BIF>"),
    ("<NAME>a</NAME>", "", 2, "A variable has no <NAME>"),
    ('"nature"', '"decision"', 2, "'a' is of type 'decision'; only nature"),
    ('"nature"', '"utility"', 2, "'a' is of type 'utility'; only nature"),
    ("<FOR>a</FOR>", "<FOR>b</FOR>", 2, "'a' has no <DEFINITION>"),
    ("<FOR>a</FOR>", "", 3, "must be for one variable, each once"),
    ("<FOR>a</FOR>", "<FOR>a</FOR><FOR>b</FOR>", 3, "must be for one variable, each once"),
    ("<TABLE>0.5 0.5</TABLE>", "", 3, "definition of 'a' has no <TABLE>"),
    ("0.5 0.5", "0.5 x", 3, "table of 'a': Expected a number, got 'x'"),
    ("0.5 0.5", "0.5 0.4", 3, "The probabilities of 'a' sum to 0.9"),
    ("0.5 0.5", "1.5 -0.5", 3, "Got 1.5 -0.5. Correct the row"),
    ("0.5 0.5", "nan 0.5", 3, "Got nan 0.5. Correct the row"),
    ("0.5 0.5", "0.5", 3, "table of 'a' needs 2 numbers"),
    ("0.5 0.5", "٠ 1", 3, "Expected a number"),
    ("<TABLE>", "<GIVEN>b</GIVEN><TABLE>", 3, "parent 'b' of 'a' is not declared"),
    ("<OUTCOME>n</OUTCOME><OUTCOME>y</OUTCOME>", "", 3, "'a' has no states"),
    ("<OUTCOME>y", "<OUTCOME>n", 3, "Two states of 'a' have the same name"),
    ("<TABLE>", "<GIVEN>a</GIVEN><GIVEN>a</GIVEN><TABLE>", 3, "parent of 'a' is listed twice"),
    ("<BIF V", '<?xml version="1.0" encoding="nonsense"?><BIF V', 1, "unknown encoding"),
    ("</NETWORK>", "<DEFINITION><FOR>b</FOR></DEFINITION></NETWORK>", 4, "not declared"),
    ("<NETWORK>", '<NETWORK><VARIABLE TYPE="nature"><NAME>a</NAME></VARIABLE>', 3, "than once"),
]

XDSL_FAULTS = [
    (XDSL, "smile>", "bif>", 1, "Expected <smile> with <nodes>, got <bif>"),
    (XDSL, "nodes>", "node>", 1, "Expected <smile> with <nodes>, got <smile>"),
    (XDSL, "<nodes>", '<dynamic numslices="3"/><nodes>', 1, "Dynamic networks are not read"),
    (XDSL, '<cpt id="a">', "<cpt>", 2, "A node has no id"),
    (XDSL, "probabilities>", "numbers>", 2, "'a' has no <probabilities>"),
    (XDSL, "0.5 0.5", "0.5 0.4", 2, "The probabilities of 'a' sum to 0.9"),
    (XDSL, "<parents>a<", "<parents>c<", 4, "parent 'c' of 'b' is not declared"),
    (XDSL, "y n<", "y n y<", 4, "'b' needs 2 resulting states, got 3"),
    (XDSL, "y n<", "y maybe<", 4, "'b' has no state 'maybe'"),
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
]

#: A text, what is replaced by what, the place (line, or line and column) and words of the error.
FAULTS = [
    *[
        (read_net, NET, old, new, (line, column), said)
        for old, new, line, column, said in NET_FAULTS
    ],
    *[(read_xmlbif, XMLBIF, old, new, (line,), said) for old, new, line, said in XMLBIF_FAULTS],
    *[(read_xdsl, text, old, new, (line,), said) for text, old, new, line, said in XDSL_FAULTS],
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_with_its_place(refused, fault):
    read_it, text, old, new, place, said = fault
    assert old in text
    error = refused(text.replace(old, new), read_it)
    assert said in error.reason
    assert (error.line, error.column)[: len(place)] == place
    assert error.column >= 1
