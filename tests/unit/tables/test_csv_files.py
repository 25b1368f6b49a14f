"""Text files: how they are laid out, what their cells become, and what is said of damaged ones."""

import gzip

import pyarrow as pa
import pytest

from credo.exceptions import FileFormatError
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


def types(source):
    return [str(kind) for kind in source.schema.types]


FILLER = "1,x\n" * 3000


class TestTypes:
    def test_come_from_the_first_rows(self, opened):
        source = opened("a,b,c,d\n1.5,x,true,2024-01-02\n2,y,false,2024-01-03\n")
        assert types(source) == ["double", "string", "bool", "date32[day]"]

    def test_of_whole_numbers_leave_room_for_decimals(self, opened):
        source = opened(f"a,b\n{FILLER}3.5,y\n")
        assert types(source) == ["double", "string"]
        assert source.head(["a"], 10**6)["a"].to_pylist()[-1] == 3.5

    def test_of_huge_whole_numbers_keep_every_digit(self, opened):
        source = opened("id,a\n9007199254740993,1\n-9007199254740995,9007199254740992\n")
        assert types(source) == ["int64", "double"]
        assert source.head()["id"].to_pylist() == [9007199254740993, -9007199254740995]

    def test_of_columns_that_are_empty_at_first_are_numbers(self, opened):
        source = opened(f"a,b\n{',x' + chr(10)}2.5,y\n")
        assert source.head()["a"].to_pylist() == [None, 2.5]
        source = opened(",".join("ab") + "\n" + ",x\n" * 3000 + "1.5,\n")
        assert types(source) == ["double", "string"]

    def test_that_are_given_win(self, opened):
        source = opened("a,b\n1,01\n2,02\n", types={"b": pa.string(), "not there": pa.int8()})
        assert source.head().to_pydict() == {"a": [1, 2], "b": ["01", "02"]}
        source = opened("a\n1\n2\n", types={"a": pa.int8()})
        assert types(source) == ["int8"]

    def test_that_arrow_cannot_read_are_an_error(self, opened):
        with pytest.raises(FileFormatError, match="t.csv: it cannot be read: .*not supported"):
            list(opened("a\n1\n", types={"a": pa.month_day_nano_interval()}).batches())

    def test_of_a_header_without_rows_are_numbers_or_as_given(self, opened):
        assert types(opened("a,b\n", types={"b": pa.string()})) == ["double", "string"]


class TestCells:
    def test_that_are_empty_or_say_so_are_missing(self, opened):
        source = opened('a,b\n,\nNA,NA\nNaN,"null"\n1,x\n""," "\n')
        assert source.head().to_pydict() == {
            "a": [None, None, None, 1, None],
            "b": [None, None, None, "x", " "],
        }

    def test_can_be_missing_in_other_words(self, opened):
        source = opened("a,b\n1,?\n?,x\n-,?\n", missing=["?", "-"])
        assert source.head().to_pydict() == {"a": [1, None, None], "b": [None, "x", None]}

    def test_may_hold_the_usual_words_for_missing_as_words(self, opened):
        source = opened("a,b\nNA,?\n,null\n", missing=["?"], usual_missing=False)
        assert source.head().to_pydict() == {"a": ["NA", None], "b": [None, "null"]}

    def test_in_quotes_may_hold_separators_quotes_and_line_ends(self, opened):
        source = opened('a,"b\nc"\n1,"x,\n""y"""\n2,z\n')
        assert source.head().to_pydict() == {"a": [1, 2], "b\nc": ['x,\n"y"', "z"]}

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["unix", "windows", "mac"])
    def test_end_with_the_line_however_lines_end(self, opened, end):
        source = opened(end.join(["a,b", "1,x", "2,y", "", ""]))
        assert source.head().to_pydict() == {"a": [1, 2], "b": ["x", "y"]}

    @pytest.mark.parametrize("mark", [";", "\t", "|"])
    def test_may_be_separated_otherwise(self, opened, mark):
        source = opened(f"a{mark}b{mark}c\n1.5{mark}x,y{mark}3\n")
        assert source.head().to_pydict() == {"a": [1.5], "b": ["x,y"], "c": [3]}

    def test_may_have_decimal_commas_where_commas_do_not_separate(self, opened):
        source = opened("a;b\n1,5;x\n-2,25;y,z\n")
        assert source.head().to_pydict() == {"a": [1.5, -2.25], "b": ["x", "y,z"]}
        assert opened("a;b\n1.5;2\n").head().to_pydict() == {"a": [1.5], "b": [2]}

    def test_of_a_tabbed_file_may_hold_commas_in_the_header(self, opened):
        source = opened("a,b\tc\n1\t2\n", name="t.tsv")
        assert source.schema.names == ["a,b", "c"]

    def test_of_a_single_column_may_be_blank_lines(self, opened):
        assert opened("a\n1\n\n2\n").head()["a"].to_pylist() == [1, None, 2]
        with pytest.raises(FileFormatError, match="line 4: expected 1 cells"):
            list(opened("a\n\n1\n2,3\n").batches())

    def test_are_found_behind_a_byte_order_mark_and_blank_lines(self, opened):
        source = opened("\ufeff\n\n a , b\n\n1,x\n")
        assert source.head().to_pydict() == {"a": [1], "b": ["x"]}


DAMAGED = {
    "empty": ("", "t.csv: the file is empty; a header line is needed"),
    "blank": (" \n\n", "t.csv: the file is empty"),
    "repeated name": ("a,b,a\n1,2,3\n", "line 1: The names of the header must differ. 'a' occurs"),
    "no name": ("a,,b\n1,2,3\n", "line 1: the header has no name for column 2.*index=False"),
    "open header": ('a,"b\n1,2\n', "line 1: the header cannot be read: unexpected end of data"),
    "short row": ("a,b\n1,x\n\n2\n", "line 4: expected 2 cells as in the header, got 1"),
    "long row": ('a,b\n1,"x\ny"\n1,2,3\n', "line 4: expected 2 cells as in the header, got 3"),
    "late word": (f"a,b\n{FILLER}\nzwei,y\n", "line 3003: column 'a' must be a number in every"),
    "late word quoted": (
        f"a,b\n{FILLER}z" + "ä" * 99 + ",y\n",
        "Got 'zä{39}…'. Name it as missing",
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
    "parquet": (b"PAR1....", "this is a Parquet file; name it .parquet"),
    "arrow": (b"ARROW1..", "this is an Arrow file; name it .arrow"),
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
