"""Laws of sources: what went into a file comes out, cut anywhere; damage is an error of ours."""

import csv
import gzip
import io
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from credo.exceptions import CredoError
from credo.tables import csv_files, open_sink, open_source

#: Words that a text file gives back as they are: none that means a missing value.
WORDS = st.text("abäö 12,;'\"\n|", min_size=1, max_size=8).map(lambda word: f"w{word}")
NUMBERS = st.floats(allow_nan=False)
ROWS = st.lists(
    st.tuples(st.none() | NUMBERS, st.none() | WORDS, st.none() | st.booleans()),
    min_size=1,
    max_size=60,
)
TYPES = {"x": pa.float64(), "word": pa.string(), "flag": pa.bool_()}


def table_of(rows):
    return pa.Table.from_arrays(
        [
            pa.array(column, kind)
            for column, kind in zip(zip(*rows, strict=True), TYPES.values(), strict=True)
        ],
        names=list(TYPES),
    )


@given(ROWS, st.integers(1, 20), st.sampled_from(["parquet", "arrow", "csv", "csv.gz", "tsv"]))
def test_what_a_sink_wrote_a_source_reads(rows, size, ending):
    table = table_of(rows)
    with TemporaryDirectory() as folder:
        path = Path(folder, f"t.{ending}")
        with open_sink(path, table.schema) as sink:
            for batch in table.to_batches(max_chunksize=size):
                sink.write(batch)
        source = open_source(path, types=TYPES)
        assert source.head().to_pylist() == table.to_pylist()
        assert source.head(["word"], size).to_pylist() == table.select(["word"])[:size].to_pylist()


@given(
    st.lists(st.lists(WORDS, min_size=3, max_size=3), min_size=1, max_size=30),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_cells_are_what_pythons_own_reader_finds(rows, mark, end):
    stream = io.StringIO()
    csv.writer(stream, delimiter=mark, lineterminator=end).writerows([["a", "b", "c"], *rows])
    with TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        path.write_bytes(stream.getvalue().encode())
        found = open_source(path, types=dict.fromkeys("abc", pa.string())).head()
        header, *cells = csv.reader(io.StringIO(stream.getvalue(), newline=""), delimiter=mark)
        assert [found.schema.names, *map(list, zip(*found.to_pydict().values(), strict=True))] == [
            header,
            *cells,
        ]


# --- damage ----------------------------------------------------------------

BITS = [b"", b",", b"\n", b'"', b"\r", b";", b"\t", b"\x00", b"\xff", b"1e999", b"a,b\n", b"NA"]
TEXTS = [
    b"a,b,c\n1,x,true\n2.5,y,false\n,,\n",
    b'a;b\n1,5;"x;\n"\n2;y\n',
    b'"a","b"\n1,"u ""v"""\n2,"w"\n' + b"3,z\n" * 20,
    b"\xef\xbb\xbfa\tb\r\n1\t2024-01-01\r\n2\t2024-01-02\r\n",
]


def damaged(content, rng):
    """A few bytes changed, added, taken out or cut off."""
    content = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        place = int(rng.integers(len(content) + 1))
        kind = rng.integers(4)
        if kind == 0:
            content[place:place] = BITS[rng.integers(len(BITS))]
        elif kind == 1:
            del content[place : place + int(rng.integers(1, 9))]
        elif kind == 2 and place < len(content):
            content[place] = rng.integers(256)
        elif rng.random() < 0.2:
            del content[place:]
    return bytes(content)


def read_all(path):
    """Read in every way; give the number of rows, or the error that Credo says."""
    try:
        source = open_source(path)
        source.head(n=3).to_pylist()
        whole = [row for batch in source.batches() for row in batch.to_pylist()]
        parts = [row for part in source.parts() for row in part.open().head().to_pylist()]
    except CredoError as error:
        return error
    assert repr(parts) == repr(whole)
    return len(whole)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_a_damaged_text_gives_rows_or_an_error_of_ours(tmp_path, packed):
    rng = np.random.default_rng(5)
    found = []
    with patch.object(csv_files, "BLOCK", 64):
        for i in range(600 if packed else 3000):
            text = TEXTS[i % len(TEXTS)]
            content = gzip.compress(text) if packed and i % 2 else text
            content = damaged(content, rng)
            (tmp_path / "t.csv").write_bytes(
                gzip.compress(content) if packed and not i % 2 else content
            )
            found.append(read_all(tmp_path / "t.csv"))
    assert sum(isinstance(each, int) for each in found) > 50
    assert sum(isinstance(each, CredoError) for each in found) > 50
    assert max(len(str(each)) for each in found) < 1000


def files(tmp_path):
    """One file of each binary kind."""
    rows = 200
    table = pa.table(
        {
            "x": np.linspace(0, 1, rows),
            "word": [f"w{i % 7}" if i % 5 else None for i in range(rows)],
            "coded": pa.array([f"c{i % 3}" for i in range(rows)]).dictionary_encode(),
            "flag": [i % 2 == 0 for i in range(rows)],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=90, compression="none")
    pq.write_table(table, tmp_path / "b.parquet", use_dictionary=False)
    for name, codec in {"c.arrow": None, "d.feather": "lz4"}.items():
        options = pa.ipc.IpcWriteOptions(compression=codec)
        with pa.ipc.new_file(tmp_path / name, table.schema, options=options) as writer:
            writer.write_table(table, 90)
    with pa.ipc.new_stream(tmp_path / "e.arrow", table.schema) as writer:
        writer.write_table(table, 90)
    return sorted(tmp_path.iterdir())


def test_a_damaged_binary_file_gives_rows_or_an_error_of_ours(tmp_path):
    rng = np.random.default_rng(6)
    paths = files(tmp_path)
    found = []
    for path in paths:
        content = path.read_bytes()
        assert read_all(path) == 200
        for _ in range(100):
            path.write_bytes(damaged(content, rng))
            found.append(read_all(path))
    assert sum(isinstance(each, CredoError) for each in found) > 100


@pytest.mark.parametrize(
    "name", ["t.parquet", "t.arrow", "t.feather", "t.csv", "t.csv.gz", "t.tsv"]
)
@given(content=st.binary(max_size=64))
def test_any_bytes_give_rows_or_an_error_of_ours(tmp_path_factory, name, content):
    path = tmp_path_factory.mktemp("any") / name
    path.write_bytes(content)
    read_all(path)
