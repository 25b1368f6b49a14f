import gzip

import numpy as np
import pytest

from credo.exceptions import FileFormatError, LabelError
from credo.tables import csv_rows, open_csv


def read(path, numbers=("a", "b"), texts=(), size=2, progress=None):
    with open_csv(path, progress) as rows:
        return list(rows.blocks(numbers, texts, size))


def test_blocks_follow_each_other_in_file_order(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text('a,id,b\n1,x,2\n3,"y\n,z",4\n5,w,6\n\n\n')
    first, second = read(path, texts=["id"])
    np.testing.assert_array_equal(first.values, [[1, 2], [3, 4]])
    assert first.texts == [["x"], ["y\n,z"]]
    assert first.lines == [2, 3]
    assert second.lines == [5]


def test_columns_are_found_by_name_in_any_order(tmp_path):
    (tmp_path / "p.csv").write_text("\ufeff b ,a\n1,2\n", encoding="utf-8")
    np.testing.assert_array_equal(read(tmp_path / "p.csv")[0].values, [[2, 1]])


def test_a_packed_file_is_unpacked_and_progress_reaches_its_size(tmp_path):
    path = tmp_path / "p.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 5))
    seen = []
    blocks = read(path, progress=lambda done, total: seen.append((done, total)))
    assert sum(len(block.values) for block in blocks) == 5
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "p.csv: the file is empty; a header line is needed"),
        ("a,a\n1,2\n", "line 1: The names of the header must differ. 'a' occurs"),
        ("a,b\n1,2\n1\n", "line 3: expected 2 cells as in the header, got 1"),
        ("a,b\n1,2\n1,\n", "line 3: column 'b' is empty"),
        ("a,b\n1,2\n1,zwei\n", "line 3: column 'b' is not a number: 'zwei'"),
        ("a,b\n1,2\n\n3,4\n", "line 3: the line is empty, with rows after it"),
        ('a,b\n1,"2\n', "line 2: unexpected end of data"),
    ],
)
def test_a_damaged_file_is_an_error_with_its_line(tmp_path, text, message):
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(FileFormatError, match=message):
        read(tmp_path / "p.csv")


def test_text_that_is_not_utf_8_is_an_error(tmp_path):
    (tmp_path / "p.csv").write_bytes(b"a,b\n1,\xff\n")
    with pytest.raises(
        FileFormatError, match="line 2: the text is not UTF-8 .*Save the file as UTF-8"
    ):
        read(tmp_path / "p.csv")


def test_a_broken_archive_is_an_error(tmp_path):
    (tmp_path / "p.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 9999)[:-40])
    with pytest.raises(FileFormatError, match="the archive is damaged: Compressed file ended"):
        read(tmp_path / "p.csv.gz")
    packed = bytearray(gzip.compress(b"a,b\n" + b"0.25,0.75\n" * 9999))
    packed[10:14] = b"\xff\xff\xff\xff"  # no such kind of block
    (tmp_path / "q.csv.gz").write_bytes(packed)
    with pytest.raises(FileFormatError, match="the archive is damaged"):
        read(tmp_path / "q.csv.gz")


def test_what_is_packed_is_told_by_its_content_not_by_its_name(tmp_path):
    (tmp_path / "plain.csv.gz").write_bytes(b"a,b\n1,2\n")
    (tmp_path / "packed.csv").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    for name in ("plain.csv.gz", "packed.csv"):
        np.testing.assert_array_equal(read(tmp_path / name)[0].values, [[1, 2]])


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_another_separator_is_recognised(tmp_path, mark):
    (tmp_path / "p.csv").write_text(f"a{mark}b\n1{mark}2\n")
    with pytest.raises(FileFormatError, match="the separator looks like"):
        read(tmp_path / "p.csv")


def test_a_bad_byte_far_down_is_named_by_its_line(tmp_path):
    (tmp_path / "p.csv").write_bytes(b"a,b\n" + b"1,2\n" * 5000 + b"1,\xfc\n")
    with pytest.raises(FileFormatError, match="line 5002: the text is not UTF-8"):
        read(tmp_path / "p.csv")


def test_a_thousand_with_an_underscore_is_no_number(tmp_path):
    (tmp_path / "p.csv").write_text("a,b\n1,2\n1,1_000\n")
    with pytest.raises(FileFormatError, match="line 3: column 'b' is not a number: '1_000'"):
        read(tmp_path / "p.csv")


def test_an_endless_line_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_rows, "MOST_LINE", 100)
    (tmp_path / "p.csv").write_text("a,b\n" + "1" * 1000 + ",2\n")
    with pytest.raises(FileFormatError, match="line 2: the row has more than 100 characters"):
        read(tmp_path / "p.csv")


def test_an_unknown_column_is_answered_with_the_nearest(tmp_path):
    (tmp_path / "p.csv").write_text("alpha,b\n1,2\n")
    with pytest.raises(LabelError, match="no column 'alhpa'.*Did you mean 'alpha'"):
        read(tmp_path / "p.csv", numbers=["alhpa"])


def test_a_row_of_many_quoted_lines_is_bounded_too(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_rows, "MOST_LINE", 100)
    (tmp_path / "p.csv").write_text("a,b\n1," + '"\n",' * 99 + "\n")
    with pytest.raises(FileFormatError, match="the row has more than 100 characters"):
        read(tmp_path / "p.csv")


def test_a_wide_row_is_refused_before_a_block_of_them_is_read(tmp_path):
    (tmp_path / "p.csv").write_text("a,b\n1,2\n" + "," * 1000 + "\n" + "not, read, at all\n")
    with open_csv(tmp_path / "p.csv") as rows:
        blocks = rows.blocks(["a", "b"], size=1)
        next(blocks)
        with pytest.raises(FileFormatError, match="line 3: expected 2 cells .* got 1001"):
            next(blocks)
