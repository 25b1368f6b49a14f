"""Laws of columns and tables: any cells come back, any bytes give rows or an error of ours."""

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
from hypothesis import example, given, strategies as st
from tests.oracles import tables as oracle

from credo.columns import Categories, Numbers, read_table
from credo.exceptions import CredoError
from credo.tables import csv_files, open_sink, open_source

MISSING = [None, float("nan"), np.float32("nan")]
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
whole = st.integers(-(2**63), 2**63 - 1)
floats = st.floats(width=64)
mixed = st.one_of(
    texts, st.integers(), floats, st.booleans(), st.sampled_from(MISSING), st.binary(max_size=3)
)


def columns(cells):
    return st.lists(st.one_of(cells, st.none()), min_size=1, max_size=30)


def assert_words(column, cells):
    codes, categories = oracle.words(cells)
    assert column.codes.tolist() == codes
    assert column.codes.dtype == np.int32
    assert list(column.categories) == categories
    gaps = [None if oracle.is_missing(cell) else cell for cell in cells]
    assert oracle.decoded(column) == gaps


@pytest.mark.parametrize("container", oracle.ANY)
@given(st.lists(mixed, min_size=1, max_size=30))
def test_any_mixture_comes_back_from_its_codes(container, cells):
    table = read_table(oracle.ANY[container](cells), "Test")
    assert_words(table.words(0), cells)


@pytest.mark.parametrize("container", oracle.TEXT)
@given(columns(texts))
@example(["b", None, "", "é\u0301 漢字 🙂", "b", "x" * 10_000, "a\0b", " b", "a", ""])
@example([None, None, None])
def test_text_comes_back_from_its_codes(container, cells):
    if container == "pandas category" and "never" in cells:
        return
    if container == "masked text" and any(str(cell).endswith("\0") for cell in cells):
        return  # NumPy's text ends where the last zeros begin
    table = read_table(oracle.TEXT[container](cells), "Test")
    nothing = not any(cell is not None for cell in cells)
    assert_words(table.words(0) if nothing else table.column(0), cells)
    assert {type(value) for value in table.words(0).categories} <= {str}


@pytest.mark.parametrize("container", oracle.BYTES)
@given(columns(st.binary(max_size=4)))
def test_bytes_come_back_from_their_codes(container, cells):
    assert_words(read_table(oracle.BYTES[container](cells), "Test").words(0), cells)


@pytest.mark.parametrize("container", oracle.WHOLE)
@given(columns(whole))
def test_whole_numbers_are_numbers_and_exact_as_words(container, cells):
    table = read_table(oracle.WHOLE[container](cells), "Test")
    column = table.column(0)
    assert isinstance(column, Numbers)
    assert not column.is_bool
    np.testing.assert_array_equal(column.values.astype(float), oracle.numbers(cells))
    assert_words(table.words(0), cells)
    assert all(type(value) is int for value in table.words(0).categories)


@pytest.mark.parametrize("container", oracle.TRUTH)
@given(columns(st.booleans()))
def test_booleans_are_numbers_that_know_it(container, cells):
    table = read_table(oracle.TRUTH[container](cells), "Test")
    column = table.column(0)
    if any(cell is not None for cell in cells):
        assert column.is_bool
    np.testing.assert_array_equal(column.values.astype(float), oracle.numbers(cells))
    assert_words(table.words(0), cells)


@pytest.mark.parametrize("container", oracle.FLOATS)
@given(columns(floats))
def test_floats_are_numbers_with_nan_where_missing(container, cells):
    table = read_table(oracle.FLOATS[container](cells), "Test")
    np.testing.assert_array_equal(table.column(0).values, oracle.numbers(cells))
    np.testing.assert_array_equal(table.floats([0], slice(None))[:, 0], oracle.numbers(cells))
    assert_words(table.words(0), cells)


@given(columns(mixed), columns(mixed))
def test_a_dictionary_translates_cell_by_cell(first, second):
    words = [read_table(oracle.object_array(cells), "Test").words(0) for cells in (first, second)]
    known = Categories.of(words[0].categories)
    places = [*known.values]
    expected = [
        -1 if oracle.is_missing(cell) else places.index(cell) if cell in places else len(places)
        for cell in second
    ]
    assert known.codes(words[1]).tolist() == expected


@given(columns(mixed), columns(mixed))
def test_merging_dictionaries_gives_the_union_and_the_way_there(first, second):
    one, other = (
        Categories.of(read_table(oracle.object_array(cells), "Test").words(0).categories)
        for cells in (first, second)
    )
    union, places = one.merged(other)
    assert list(union.values) == oracle.words([*first, *second])[1]
    assert [union.values[i] for i in places] == list(other.values)
    assert union.merged(one)[0] is union


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
        for i in range(400 if packed else 1200):
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
