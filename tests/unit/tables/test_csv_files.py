"""Text files: how they are laid out, what their cells become, and what is said of damaged ones."""

import datetime as dt
import gzip
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from credo.columns import MARKS
from credo.exceptions import FileFormatError, TableWarning
from credo.tables import csv_files, open_source


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK", 4096)


@pytest.fixture
def opened(tmp_path):
    def opened(text, name="t.csv", **options):
        content = text if isinstance(text, bytes) else text.encode()
        (tmp_path / name).write_bytes(content)
        return open_source(tmp_path / name, **options)

    return opened


FILLER = "1,x\n" * 3000


DAYS = [dt.date(2024, 1, 2), dt.date(2024, 1, 3)]
HUGE = [9007199254740993, -9007199254740995]
TEXT = dict.fromkeys("bc", pa.string())
UNUSUAL = {"missing": ["?", "-"], "usual_missing": False}

#: Texts and their columns; whole numbers are floats unless they are written otherwise.
READ = {
    "first rows": ("a,b,c\n1.5,x,true\n2,y,false\n", {"a": [1.5, 2.0], "c": [True, False]}),
    "days": ("a,b\n2024-01-02,x\n2024-01-03,\n", {"a": DAYS, "b": ["x", None]}),
    "decimals after whole numbers": (f"a,b\n{FILLER}3.5,y\n", {"a": [*[1.0] * 3000, 3.5]}),
    "huge": (f"id,a\n{HUGE[0]},1\n{HUGE[1]},2\n", {"id": HUGE, "a": [1.0, 2.0]}),
    "empty at first": ("a,b\n" + ",x\n" * 3000 + "1.5,\n", {"a": [*[None] * 3000, 1.5]}),
    "missing": ('a,b\n,\nNA,NA\nNaN,"null"\n1,""\n', {"a": [None] * 3 + [1.0], "b": [None] * 4}),
    "quotes": ('a,"b\nc"\n1,"x,\n""y"""\n2, \n', {"a": [1.0, 2.0], "b\nc": ['x,\n"y"', " "]}),
    "windows": ("a,b\r\n1,x\r\n2,y\r\n\r\n", {"a": [1.0, 2.0], "b": ["x", "y"]}),
    "mac": ("a,b\r1,x\r2,y\r\r", {"a": [1.0, 2.0], "b": ["x", "y"]}),
    "semicolons": ("a;b;c\n1.5;x,y;3\n", {"a": [1.5], "b": ["x,y"], "c": [3.0]}),
    "tabs": ("a\tb\tc\n1.5\tx,y\t3\n", {"a": [1.5], "b": ["x,y"], "c": [3.0]}),
    "bars": ("a|b|c\n1.5|x,y|3\n", {"a": [1.5], "b": ["x,y"], "c": [3.0]}),
    "decimal commas": ("a;b\n1,5;x\n-2,25;y,z\n", {"a": [1.5, -2.25], "b": ["x", "y,z"]}),
    "blank lines": ("a\n1\n\n2\n", {"a": [1.0, None, 2.0]}),
    "byte order mark": ("\ufeff\n\n a , b\n\n1,x\n", {"a": [1.0], "b": ["x"]}),
}
OPTIONS = {
    "types": ("a,b\n1,01\n", {"a": [1], "b": ["01"]}, {"types": {"a": pa.int8(), **TEXT}}),
    "point by types": ("a;b;c\n1,5;2.5;3.5\n", {"a": [1.5]}, {"types": {"a": pa.float64()}}),
    "point beside texts": ("a;b;c\n1.5;2,5;3,5\n", {"a": [1.5], "b": ["2,5"]}, {"types": TEXT}),
    "missing words": ("a,b\nNA,?\n-,null\n", {"a": ["NA", None], "b": [None, "null"]}, UNUSUAL),
    "name": ("a,b\tc\n1\t2\n", {"a,b": [1.0], "c": [2.0]}, {"name": "t.tsv"}),
}


@pytest.mark.parametrize("text", [*READ.values(), *OPTIONS.values()], ids=[*READ, *OPTIONS])
def test_the_cells_of_a_text_become_values(opened, text):
    content, columns, *options = text
    found = opened(content, **dict(*options)).head()
    assert repr({name: found[name].to_pylist() for name in columns}) == repr(columns)


def test_a_header_without_rows_has_numbers_or_the_types_given(opened):
    assert opened("a,b\n", types=TEXT).schema.types == [pa.float64(), pa.string()]


def test_a_type_that_arrow_cannot_read_is_an_error(opened):
    with pytest.raises(FileFormatError, match="t.csv: it cannot be read: .*not supported"):
        list(opened("a\n1\n", types={"a": pa.month_day_nano_interval()}).batches())


DAMAGED = {
    "empty": ("", "t.csv: the file is empty; a header line is needed"),
    "blank": (" \n\n", "t.csv: the file is empty"),
    "repeated name": ("a,b,a\n1,2,3\n", "line 1: The names of the header must differ. 'a' occurs"),
    "no name": ("a,,b\n1,2,3\n", "line 1: the header has no name for column 2.*index=False"),
    "open header": ('a,"b\n1,2\n', "line 1: the header cannot be read: unexpected end of data"),
    "short row": ("a,b\n1,x\n\n2\n", "line 4: expected 2 cells as in the header, got 1"),
    "long row": ('a,b\n1,"x\ny"\n1,2,3\n', "line 4: expected 2 cells as in the header, got 3"),
    "short row of one column": ("a\n\n1\n2,3\n", "line 4: expected 1 cells"),
    "late word": (f"a,b\n{FILLER}\nzwei,y\n", "line 3003: column 'a' must be a number in every"),
    "late word quoted": (
        f"a,b\n{FILLER}z" + "ä" * 99 + ",y\n",
        r"Got 'zä{39}…'. If .* pass missing=\['z.*'\]; if not",
    ),
    "huge row": ("a,b\n1," + "x" * 10_000 + "\n", "a row has more than 4096 characters"),
    "open quote": (f'a,b\n{FILLER}2,"y\n3,z\n', "line 3002: a quoted cell is left open"),
    "open quote early": (
        f'a,b\n2,"y\n{FILLER}',
        "more than 4096 characters. Is a quoted cell left",
    ),
    "latin header": (b"a,\xe4\n1,2\n", "line 1: the text is not UTF-8 .*Save the file as UTF-8"),
    "latin cell": (b"a,b\n1,x\n2,\xe4\n", "line 3: the text of column 'b' is not UTF-8. Save"),
    "utf-16": ("a,b\n1,2\n".encode("utf-16"), "this is text in UTF-16. Save the file as UTF-8"),
    "parquet": (b"PAR1....", "this is a table in Parquet, and its name says text"),
    "arrow": (b"ARROW1..", "this is a table in Arrow, and its name says text"),
    "spreadsheet": (b"PK\x03\x04", "this is a ZIP archive or a spreadsheet. Save the table as CSV"),
    "cut archive": (gzip.compress(b"a,b\n" + b"1,2\n" * 10**5)[:-20], "the archive is damaged"),
    "broken archive": (b"\x1f\x8bxxxxxxxxxx", "the archive is damaged: "),
}


@pytest.mark.parametrize(("content", "message"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_an_error_that_names_the_place(opened, content, message):
    with pytest.raises(FileFormatError, match=message):
        list(opened(content).batches())


def test_a_header_without_end_is_given_up_in_time(opened, monkeypatch):
    monkeypatch.setattr(csv_files, "HEAD", 2**12)
    with pytest.raises(FileFormatError, match="line 1: the header has more than 4096 characters"):
        opened("a," * 10_000)


def test_a_fault_far_into_a_file_is_told_by_its_row(opened, monkeypatch):
    monkeypatch.setattr(csv_files, "MOST_ROWS", 2)
    with pytest.raises(FileFormatError, match="t.csv: row 3: expected 2 cells"):
        list(opened("a,b\n1,2\n3,4\n5\n").batches())


def test_a_fault_behind_a_huge_cell_is_told_without_its_line(opened, monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK", 2**19)
    with pytest.raises(FileFormatError, match="t.csv: expected 2 cells as in the header, got 1"):
        list(opened(f'a,b\n1,"{"x" * 200_000}"\n1\n').batches())


def test_a_row_is_named_by_its_line_or_by_its_number(opened, tmp_path):
    opened('a,b\n1,"x\ny"\n\n2,z\n')
    source = open_source(tmp_path / "t.csv", name="the rows")
    assert str(source.fault_at("it is odd.", 2)) == "the rows, line 5: it is odd."
    (part,) = source.parts()
    assert str(part.open().fault_at("it is odd.", 1)) == "the rows, line 2: it is odd."
    twice = open_source([tmp_path / "t.csv"] * 2)
    assert twice.head()["a"].to_pylist() == [1, 2, 1, 2]
    assert str(twice.fault_at("it is odd.", 3)) == "the list of files: row 3: it is odd."
    table = open_source(pa.table({"a": [1]}))
    assert str(table.fault_at("it is odd.", 1)) == "the Table: row 1: it is odd."


def test_only_the_columns_asked_for_must_fit_their_type(opened):
    source = opened(f"a,b\n{FILLER}z,y\n")
    assert sum(batch.num_rows for batch in source.batches(["b"])) == 3001


# --- marks among numbers --------------------------------------------------------------------------


def gaps(first, mark, n=2000):
    """A text with a mark in a column of numbers, and in one of words, from a row on."""
    rng = np.random.default_rng(0)
    rows = np.arange(n)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n).round(3).astype(str),
            "word": rng.choice(["red", "NA", mark, "blue"], n),
            "flag": rng.choice(["true", "false"], n),
        }
    )
    for name in ("x", "flag"):
        frame.loc[(rows >= first) & (rng.random(n) < 0.2), name] = mark
        frame.loc[rng.random(n) < 0.1, name] = ""
    return frame.to_csv(index=False)


@pytest.mark.parametrize("mark", ["?", "-", ".", "na", "Null", " ?"])
@pytest.mark.parametrize("first", [0, 1500], ids=["at once", "behind the first block"])
@pytest.mark.parametrize("columns", [["x", "word", "flag"], ["flag", "x"]])
@pytest.mark.filterwarnings("ignore::credo.exceptions.TableWarning")
def test_a_mark_is_missing_among_numbers_and_a_word_among_words(opened, mark, first, columns):
    text = gaps(first, mark)
    source = opened(text)
    assert source.schema.types == [pa.float64(), pa.string(), pa.bool_()]
    found = pa.Table.from_batches(source.batches(columns)).to_pandas()
    asked = {"x": [mark, ""], "flag": [mark, ""], "word": ["NA", ""]}
    expected = pd.read_csv(
        io.StringIO(text), na_values=asked, keep_default_na=False, dtype={"flag": object}
    )
    for name in columns:
        cells = expected[name].map(lambda cell: {"true": True, "false": False}.get(cell, cell))
        assert found[name].isna().tolist() == cells.isna().tolist()
        assert found[name].dropna().tolist() == cells.dropna().tolist()


def test_marks_in_the_first_rows_are_counted_and_later_ones_are_told_when_met(opened):
    source = opened("a,b,c\n1,?,x\n-,2.5,?\n?,?,y\n")
    with pytest.warns(TableWarning) as told:
        source.tell_marks(["a", "b", "c"])
    (message,) = (str(each.message) for each in told)
    assert message.endswith(
        "t.csv: column 'a' has '?' 1 time and '-' 1 time; column 'b' has '?' 2 times among "
        "numbers: taken as missing."
    )
    source.tell_marks(["c"])  # where it is a word, and no other column is used
    long = opened("a,b\n?,x\n" + FILLER)
    with pytest.warns(
        TableWarning, match=r"'\?' 1 time in the first \d+ rows among numbers: taken"
    ):
        long.tell_marks(["a"])
    late = opened(f"a,b\n{FILLER}?,y\n7,?\n")
    with pytest.warns(TableWarning, match="'a' has '\\?' among its numbers behind its first rows"):
        rows = pa.Table.from_batches(late.batches())
    assert rows.slice(2999).to_pydict() == {"a": [1.0, None, 7.0], "b": ["x", "y", "?"]}


def test_only_cells_that_are_named_are_missing_where_the_usual_ones_are_not(opened):
    source = opened("a,b\n1,?\n?,2\n", usual_missing=False, missing=["-"])
    assert source.head().to_pydict() == {"a": ["1", "?"], "b": ["?", "2"]}
    source = opened("a,b\n1,x\n?,y\n", missing=["?"])
    source.tell_marks(["a", "b"])  # who names a mark is told nothing
    assert source.head()["a"].to_pylist() == [1, None]
    assert "?" in MARKS


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
@pytest.mark.filterwarnings("ignore::credo.exceptions.TableWarning")
def test_each_file_has_its_decimal_point_and_marks_are_missing_in_any(tmp_path, order):
    texts = ["a;b\n1,5;x\n2,25;y\n", "a;b\n3.5;x\n-4.25;?\n", "a,b\n5.5,y\n?,x\n"]
    known = (
        [{"a": 1.5, "b": "x"}, {"a": 2.25, "b": "y"}],
        [
            {"a": 3.5, "b": "x"},
            {"a": -4.25, "b": "?"},
        ],
        [{"a": 5.5, "b": "y"}, {"a": None, "b": "x"}],
    )
    paths = [tmp_path / f"{i}.csv" for i in order]
    for path, i in zip(paths, order, strict=True):
        path.write_text(texts[i])
    assert open_source(paths).head().to_pylist() == [row for i in order for row in known[i]]


def test_a_file_of_whole_numbers_has_the_decimal_point_of_the_first(tmp_path):
    whole = "a;b\n" + "1;x\n" * 3000 + "2,5;y\n"
    for name, text in {"a.csv": "a;b\n1,5;x\n", "b.csv": whole}.items():
        (tmp_path / name).write_text(text)
    assert open_source(tmp_path).head()["a"].to_pylist()[-1] == 2.5
