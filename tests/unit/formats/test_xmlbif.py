"""XMLBIF: reading, writing, and XML that is not to be trusted."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from credo.exceptions import FileFormatError
from credo.formats import _xml, read_bif, read_xmlbif

READ = read_xmlbif
PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "graphical"

#: The document type of the definition of the format, and the dog problem, cut short.
TEXT = """<?xml version="1.0"?>
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
SMALL = """<BIF VERSION="0.3"><NETWORK>
<VARIABLE TYPE="nature"><NAME>a</NAME><OUTCOME>n</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>
<DEFINITION><FOR>a</FOR><TABLE>0.5 0.5</TABLE></DEFINITION>
</NETWORK></BIF>"""


def test_tables_list_the_child_fastest_and_the_first_parent_slowest(read):
    net = read(TEXT)
    assert net.names == ("light-on", "bowel & problem", "dog-out")
    assert net["bowel & problem"].states == ("a", "b", "< c")
    assert net.parents("dog-out") == ("bowel & problem", "light-on")
    table = net.table("dog-out")
    assert table.shape == (3, 2, 2)
    assert table[0, 1].tolist() == [0.97, 0.03]
    assert table[2, 0].tolist() == [0.5, 0.5]


def test_other_encodings_are_read(read):
    text = SMALL.replace("<NAME>a", "<NAME>é").replace("<FOR>a", "<FOR>é")
    head = '<?xml version="1.0" encoding="{}"?>'
    for encoding in ("ISO-8859-1", "UTF-8", "UTF-16"):
        assert read((head.format(encoding) + text).encode(encoding)).names == ("é",)


def test_tags_may_be_small(read):
    assert read(SMALL.replace("BIF", "bif").replace("TABLE", "Table")).names == ("a",)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
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
    ],
)
def test_damage_is_named_with_its_line(refused, old, new, line, message):
    assert old in SMALL
    error = refused(SMALL.replace(old, new))
    assert message in error.reason
    assert error.line == line
    assert error.column >= 1


def test_the_column_is_that_of_the_element(refused):
    error = refused(SMALL.replace("0.5 0.5", "0.5 0.4"))
    assert error.column == 1 + SMALL.splitlines()[2].index("<TABLE>")


def test_a_file_without_variables_is_refused(read):
    with pytest.raises(FileFormatError, match="declares no variables"):
        read("<BIF><NETWORK/></BIF>")


def test_a_cycle_is_refused(read):
    with pytest.raises(FileFormatError, match="'a'"):
        read(SMALL.replace("<TABLE>0.5 0.5", "<GIVEN>a</GIVEN><TABLE>0.5 0.5 0.5 0.5"))


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
        read(head + SMALL)


def test_an_external_document_type_is_not_fetched(read):
    assert read('<!DOCTYPE BIF SYSTEM "http://nowhere.invalid/x.dtd">' + SMALL).names == ("a",)


def test_deep_and_endless_files_are_refused(read, monkeypatch):
    with pytest.raises(FileFormatError, match="nests them deeper than 100"):
        read("<a>" * 200)
    monkeypatch.setattr(_xml, "MOST_ELEMENTS", 1000)
    with pytest.raises(FileFormatError, match="more than 1000 elements"):
        read("<a>" + "<b/>" * 1000)


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
