"""Sinks: rows come back from the file as they went in, and a failure leaves no trace."""

import gzip

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from credo.exceptions import InputError
from credo.tables import open_sink, open_source, sink as sink_module

ENDINGS = ["parquet", "pq", "csv", "csv.gz", "tsv", "tsv.gz", "arrow", "feather"]
TABLE = pa.table(
    {
        "p": pa.array([0.1, None, 1 / 3, 1e-300]),
        "act": pa.array(["treat", 'say "no",\nthen\tgo', None, "ü"]),
        "rejected": pa.array([True, False, None, True]),
    }
)


def write(path, batches, schema=TABLE.schema):
    with open_sink(path, schema) as sink:
        for batch in batches:
            sink.write(batch)
    return sink


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_rows_come_back_as_they_went_in(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    sink = write(path, TABLE.to_batches(max_chunksize=3))
    assert sink.n_rows == 4
    assert open_source(path).head().to_pylist() == TABLE.to_pylist()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_without_rows_keeps_its_columns(tmp_path, ending):
    write(tmp_path / f"t.{ending}", [])
    source = open_source(tmp_path / f"t.{ending}")
    assert source.schema.names == TABLE.schema.names
    assert source.head().num_rows == 0


@pytest.mark.parametrize("ending", ENDINGS)
def test_words_may_be_coded_by_another_dictionary_in_each_batch(tmp_path, ending):
    coded = [
        pa.record_batch({"act": pa.array(words).dictionary_encode()})
        for words in (["a", "b", "a"], ["c", None, "b"])
    ]
    write(tmp_path / f"t.{ending}", coded, coded[0].schema)
    words = open_source(tmp_path / f"t.{ending}").head()["act"].to_pylist()
    assert words == ["a", "b", "a", "c", None, "b"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_error_leaves_what_was_there(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    path.write_bytes(b"before")

    def broken():
        yield TABLE.to_batches()[0]
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write(path, broken())
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError("mine"), KeyError("mine"), OSError("mine")])
def test_an_error_of_the_caller_stays_what_it_is(tmp_path, error):
    with pytest.raises(type(error)) as caught, open_sink(tmp_path / "t.csv", TABLE.schema):
        raise error
    assert caught.value is error


def test_a_batch_with_other_columns_is_refused(tmp_path):
    other = pa.record_batch({"p": [1]})
    with pytest.raises(InputError, match=r"must have the columns 'p' \(double\), .* Got 'p' \(int"):
        write(tmp_path / "t.parquet", [other])


@pytest.mark.parametrize("name", ["t.xlsx", "t", "-", "t.gz"])
def test_an_unknown_ending_is_refused_before_anything_is_written(tmp_path, name):
    with pytest.raises(InputError, match="the ending says the format. Use one of .parquet, "):
        write(tmp_path / name, [])
    assert list(tmp_path.iterdir()) == []


def test_a_type_that_the_format_cannot_hold_is_refused(tmp_path):
    deep = pa.record_batch({"deep": [[1]]})
    with pytest.raises(InputError, match="t.csv cannot be written: .*list"):
        write(tmp_path / "t.csv", [deep], deep.schema)
    assert list(tmp_path.iterdir()) == []


def test_columns_must_differ(tmp_path):
    with pytest.raises(InputError, match="'a' occurs more than once"):
        write(tmp_path / "t.csv", [], pa.schema([("a", pa.int8()), ("a", pa.int8())]))


def test_a_missing_folder_is_told(tmp_path):
    with pytest.raises(InputError, match="the folder .*no does not exist"):
        write(tmp_path / "no" / "t.csv", [])


def test_small_batches_are_gathered_into_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(sink_module, "GROUP_BYTES", 8000)
    table = pa.table({"x": np.arange(2500.0)})
    write(tmp_path / "t.parquet", table.to_batches(max_chunksize=100), table.schema)
    metadata = pq.ParquetFile(tmp_path / "t.parquet").metadata
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert sizes == [1000, 1000, 500]


def test_only_words_are_coded_in_a_parquet_file(tmp_path):
    write(tmp_path / "t.parquet", TABLE.to_batches())
    columns = pq.ParquetFile(tmp_path / "t.parquet").metadata.row_group(0)
    coded = [columns.column(i).has_dictionary_page for i in range(3)]
    assert coded == [False, True, False]


def test_a_packed_file_is_gzip_and_the_same_each_time(tmp_path):
    write(tmp_path / "t.csv.gz", TABLE.to_batches())
    packed = (tmp_path / "t.csv.gz").read_bytes()
    write(tmp_path / "again.csv.gz", TABLE.to_batches())
    assert (tmp_path / "again.csv.gz").read_bytes() == packed
    text = gzip.decompress(packed)
    assert text.startswith(b'"p","act","rejected"\n0.1,"treat",true\n')


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("form", ["table", "frame", "lazy"])
def test_words_of_polars_can_be_written(tmp_path, ending, form):
    words = {"a": ["x", None], "b": pl.Series(["u", "v"], dtype=pl.Categorical)}
    frame = pl.DataFrame(words)
    forms = {"table": pa.table(frame), "frame": frame, "lazy": frame.lazy()}
    source = open_source(forms[form], missing=["v"])
    write(tmp_path / f"t.{ending}", source.batches(), source.schema)
    found = open_source(tmp_path / f"t.{ending}").head().to_pydict()
    assert found == {"a": ["x", None], "b": ["u", None]}
