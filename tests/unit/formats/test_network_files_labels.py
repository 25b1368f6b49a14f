"""Labels that a format cannot write as they are, and the notes that keep them."""

import numpy as np
import pytest

from credo.exceptions import FileFormatError
from credo.formats._net_labels import distinct, identifier, packed, printable, unpacked
from credo.formats.hugin import read_net
from credo.formats.xdsl import read_xdsl

NET = """node a {{ states = ("n" "y"); credo_labels = "{}"; }}
potential (a) {{ data = (0.25 0.75); }}"""
XDSL = """<smile><nodes><cpt id="a"><state id="n"/><probabilities>1</probabilities>
<property id="credo_labels">{"place": 1}</property></cpt>
<cpt id="b"><state id="n"/><probabilities>1</probabilities>
<property id="credo_labels">%s</property></cpt></nodes></smile>"""


@pytest.mark.parametrize("label", ["a", 1, True, None, 0.5, ("a", (1, None)), ""])
def test_a_label_is_packed_and_unpacked(label):
    again = unpacked(packed(label))
    assert again == label
    assert type(again) is type(label)


def test_labels_of_arrays_become_plain_ones():
    labels = (np.int64(3), np.str_("a"), np.bool_(True))  # noqa: FBT003
    assert [packed(label) for label in labels] == [3, "a", True]


def test_words_are_told_apart():
    assert distinct(["a b", "a_b", "a-b", "a_b_2"], identifier) == [
        "a_b",
        "a_b_3",
        "a_b_4",
        "a_b_2",
    ]


def test_ten_thousand_words_that_are_the_same_take_no_time():
    words = distinct([f"{chr(0x4E00 + i)}" for i in range(10_000)], identifier)
    assert len(set(words)) == 10_000


@pytest.mark.parametrize(
    ("text", "word"),
    [("rain", "rain"), ("_x", "_x"), ("2nd", "x2nd"), ("", "x"), ("a.b-c", "a_b_c"), ("é", "__")],
)
def test_identifiers_begin_with_a_letter_or_an_underscore(text, word):
    assert identifier(text.replace("é", "é_")) == word


def test_printable_text_has_no_blanks_around_it():
    assert [printable(text) for text in (" a ", "a\nb", "", "\t")] == ["a", "a_b", "_", "_"]


@pytest.mark.parametrize(
    ("note", "message"),
    [
        ("nothing", "Expecting value"),
        ("[1]", "no JSON object of labels"),
        (r"{\"states\": [1]}", "does not name 2 states"),
        (r"{\"states\": 3}", "does not name 2 states"),
        (r"{\"name\": {}}", "is no label"),
        ("[" * 100_000, "nested too deeply"),
    ],
    ids=["no json", "a list", "too few", "a number", "an object", "deep"],
)
def test_a_damaged_note_is_named_with_its_place(tmp_path, note, message):
    (tmp_path / "x.net").write_text(NET.format(note))
    with pytest.raises(FileFormatError, match="Remove the note") as caught:
        read_net(tmp_path / "x.net")
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == (2, 17)


@pytest.mark.parametrize(
    ("note", "names"),
    [
        ('{"place": 0}', ("b", "a")),
        ('{"place": 1}', ("a", "b")),
        ('{"place": 2}', ("a", "b")),
        ('{"place": "0"}', ("a", "b")),
        ('{"place": true}', ("a", "b")),
    ],
)
def test_places_count_only_if_they_are_complete(tmp_path, note, names):
    (tmp_path / "x.xdsl").write_text(XDSL % note)
    assert read_xdsl(tmp_path / "x.xdsl").names == names


def test_a_note_that_is_no_json_gives_no_place(tmp_path):
    (tmp_path / "x.xdsl").write_text(XDSL % "nothing")
    with pytest.raises(FileFormatError, match="note on the labels of 'b' is damaged"):
        read_xdsl(tmp_path / "x.xdsl")
