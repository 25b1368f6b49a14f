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


def coded(*words):
    return pa.record_batch({"act": pa.array(words).dictionary_encode()})


POLARS = pl.DataFrame({"a": ["x", None], "b": pl.Series(["u", "v"], dtype=pl.Categorical)})
#: Also words coded by another dictionary in each batch, and views of words, one of them missing.
ROWS = {
    "batches": TABLE.to_batches(max_chunksize=3),
    "nothing": TABLE.slice(0, 0).to_batches(),
    "codes": [coded("a", "b", "a"), coded("c", None, "b")],
    **{
        name: list(open_source(form, missing=["v"]).batches())
        for name, form in {
            "polars table": pa.table(POLARS),
            "polars frame": POLARS,
            "lazy polars": POLARS.lazy(),
        }.items()
    },
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("batches", ROWS.values(), ids=ROWS)
def test_the_rows_come_back_as_they_went_in(tmp_path, ending, batches):
    path = tmp_path / f"t.{ending}"
    schema = batches[0].schema if batches else TABLE.schema
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert write(path, batches, schema).n_rows == len(rows)
    found = open_source(path)
    assert found.schema.names == schema.names
    assert found.head().to_pylist() == rows
    assert list(tmp_path.iterdir()) == [path]


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


DEEP, TWICE = pa.record_batch({"deep": [[1]]}), pa.schema([("a", pa.int8()), ("a", pa.int8())])


@pytest.mark.parametrize(
    ("name", "batches", "schema", "message"),
    [
        *(
            (name, [], TABLE.schema, "Use one of .parquet, ")
            for name in ("t.xls", "t", "-", "t.gz")
        ),
        ("no/t.csv", [], TABLE.schema, "the folder .*no does not exist"),
        ("t.csv", [], TWICE, "'a' occurs more than once"),
        ("t.csv", [DEEP], DEEP.schema, "t.csv cannot be written: .*list"),
        (
            "t.pq",
            [DEEP],
            TABLE.schema,
            r"must have the columns 'p' \(double\), .* Got 'deep' \(lis",
        ),
    ],
)
def test_what_cannot_be_written_is_refused_and_leaves_no_trace(
    tmp_path, name, batches, schema, message
):
    with pytest.raises(InputError, match=message):
        write(tmp_path / name, batches, schema)
    assert list(tmp_path.iterdir()) == []


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
