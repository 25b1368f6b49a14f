"""Folders and lists of files: one table if the files agree, an error that names the file if not."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from credo.exceptions import FileFormatError, InputError
from credo.tables import open_source


def fill(folder, **files):
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        if isinstance(content, str):
            path.write_text(content)
        else:
            pq.write_table(pa.table(content), path)
    return open_source(folder)


def test_files_follow_each_other_by_name(tmp_path):
    source = fill(tmp_path, b__csv="a\n3\n4\n", a__csv="a\n1\n2\n", c__csv="a\n")
    assert source.head()["a"].to_pylist() == [1, 2, 3, 4]
    assert source.name == str(tmp_path)


def test_a_list_of_files_keeps_its_order(tmp_path):
    fill(tmp_path, b__csv="a\n3\n4\n", a__csv="a\n1\n2\n")
    source = open_source([tmp_path / "b.csv", tmp_path / "a.csv"])
    assert source.head()["a"].to_pylist() == [3, 4, 1, 2]


def test_hidden_and_half_written_files_are_passed_over(tmp_path):
    for name in ("_SUCCESS", ".hidden.csv", "x.csv.tmp", "x.csv~", ".a.csv.crc", ".credo-1.part"):
        (tmp_path / name).write_text("no rows")
    (tmp_path / "more").mkdir()
    assert fill(tmp_path, a__csv="a\n1\n").head().to_pydict() == {"a": [1]}


def test_columns_may_come_in_another_order(tmp_path):
    source = fill(tmp_path, a__csv="a,b\n1,x\n", b__csv="b,a\ny,2\n")
    assert source.head().to_pydict() == {"a": [1, 2], "b": ["x", "y"]}
    assert [part.open().schema.names for part in source.parts()] == [["a", "b"]] * 2


def test_the_first_file_with_rows_sets_the_types_of_all(tmp_path):
    source = fill(tmp_path, a__csv="a;b\n", b__csv="a;b\n1;1,5\n", c__csv="a;b\n2.5;x\n")
    assert [str(kind) for kind in source.schema.types] == ["double", "double"]
    with pytest.raises(FileFormatError, match="c.csv, line 2: column 'a' must be a number"):
        source.head()


def test_numbers_of_several_types_become_the_widest(tmp_path):
    source = fill(
        tmp_path,
        a__parquet={"a": pa.array([1], pa.int8()), "b": ["x"], "c": [1.0]},
        b__parquet={
            "c": pa.array([2.0], pa.float32()),
            "b": pa.array(["y"]).dictionary_encode(),
            "a": pa.array([2.5], pa.float64()),
        },
    )
    assert [str(kind) for kind in source.schema.types] == ["double", "string", "double"]
    assert source.n_rows == 2
    expected = [{"a": 1.0, "b": "x", "c": 1.0}, {"a": 2.5, "b": "y", "c": 2.0}]
    assert source.head().to_pylist() == expected
    assert [row for part in source.parts() for row in part.open().head().to_pylist()] == expected
    assert {part.open().schema == source.schema for part in source.parts()} == {True}


def test_types_that_do_not_go_together_are_an_error(tmp_path):
    with pytest.raises(FileFormatError, match="b.parquet: column 'a' is of type string here, but"):
        fill(tmp_path, a__parquet={"a": [1.0]}, b__parquet={"a": ["x"]})


@pytest.mark.parametrize(
    ("second", "message"),
    [("a\n1\n", "b.csv: .* this one lacks 'b'"), ("a,b,c\n1,2,3\n", "has 'c' besides")],
    ids=["fewer", "more"],
)
def test_files_with_other_columns_are_an_error(tmp_path, second, message):
    with pytest.raises(FileFormatError, match=message):
        fill(tmp_path, a__csv="a,b\n1,2\n", b__csv=second)


def test_files_of_several_kinds_are_an_error(tmp_path):
    with pytest.raises(InputError, match="must be of one kind. Got '.*a.csv', '.*b.parquet'"):
        fill(tmp_path, a__csv="a\n1\n", b__parquet={"a": [1.0]})
    with pytest.raises(FileFormatError, match="notes.md: the kind of file is not known"):
        fill(tmp_path, a__csv="a\n1\n", notes__md="read me")


def test_a_folder_without_tables_is_an_error(tmp_path):
    (tmp_path / "year=2024").mkdir()
    with pytest.raises(InputError, match="holds no file of rows.*partitioning='hive'"):
        open_source(tmp_path)


def test_words_of_all_files_can_be_asked_for_as_codes(tmp_path):
    source = fill(
        tmp_path,
        a__parquet={"a": [1.0, 2.0], "b": ["x", "y"]},
        b__parquet={"b": ["z", "x"], "a": [3.0, 4.0]},
    )
    coded = source.coded(["a", "b"])
    assert pa.types.is_dictionary(coded.schema.field("b").type)
    assert coded.schema.field("a") == source.schema.field("a")
    assert coded.head().to_pylist() == source.head().to_pylist()
    assert coded.parts()[0].open().schema == coded.schema
    table = pa.table({"a": ["x"]})
    assert open_source(table).coded(["a"]).head() == table
