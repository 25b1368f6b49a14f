"""What all sources have in common, whatever they read from."""

import gzip
import os
import pickle  # noqa: TID251 - parts travel by it

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from credo.exceptions import FileFormatError, InputError, LabelError
from credo.tables import Source, open_source, pieces

N = 1000
TABLE = pa.table(
    {
        "x": pa.array([i / 7 if i % 9 else None for i in range(N)], pa.float64()),
        "name": pa.array([f"n{i % 13}" if i % 5 else None for i in range(N)]),
        "flag": pa.array([i % 3 == 0 for i in range(N)]),
    }
)


def as_parquet(tmp_path):
    pq.write_table(TABLE, tmp_path / "t.parquet", row_group_size=70)
    return tmp_path / "t.parquet"


def as_csv(tmp_path, name="t.csv", mark=","):
    pa.csv.write_csv(TABLE, tmp_path / name, pa.csv.WriteOptions(delimiter=mark))
    return tmp_path / name


def as_packed(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(as_csv(tmp_path).read_bytes()))
    return str(path)


def as_tabbed(tmp_path):
    return as_csv(tmp_path, "t.tsv", "\t")


def as_feather(tmp_path, name="t.feather", opened=pa.ipc.new_file):
    with opened(tmp_path / name, TABLE.schema) as writer:
        writer.write_table(TABLE, 70)
    return tmp_path / name


def as_stream(tmp_path):
    return as_feather(tmp_path, "t.arrow", pa.ipc.new_stream)


def as_folder(tmp_path):
    (tmp_path / "rows").mkdir()
    for i in range(3):
        name = tmp_path / "rows" / f"part-{i}.parquet"
        pq.write_table(TABLE.slice(400 * i, 400), name, row_group_size=70)
    (tmp_path / "rows" / "_SUCCESS").touch()
    return tmp_path / "rows"


def as_list(tmp_path):
    halves = [TABLE.slice(0, 300), TABLE.slice(300).select(["flag", "x", "name"])]
    for i, half in enumerate(halves):
        pa.csv.write_csv(half, tmp_path / f"{i}.csv")
    return [tmp_path / "0.csv", str(tmp_path / "1.csv")]


def as_dataset(tmp_path):
    return pa.dataset.dataset(as_folder(tmp_path))


FILES = [as_parquet, as_csv, as_packed, as_tabbed, as_feather, as_stream, as_folder, as_list]
FRAMES = {
    "table": lambda _: TABLE,
    "batch": lambda _: TABLE.combine_chunks().to_batches()[0],
    "pandas": lambda _: TABLE.to_pandas(),
    "polars": lambda _: pl.from_arrow(TABLE),
    "lazy": lambda _: pl.from_arrow(TABLE).lazy(),
    "dataset": as_dataset,
    "memory dataset": lambda _: pa.dataset.dataset(TABLE),
    "filtered dataset": lambda path: as_dataset(path).filter(pa.dataset.field("flag").is_valid()),
}
MAKERS = {**{make.__name__: make for make in FILES}, **FRAMES}
#: A reader gives its rows once; all others as often as they are asked.
ONCE = {"reader": lambda _: TABLE.to_reader(70)}


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    """Cut everything small, so that the seams show."""
    for name, size in {"BATCH_ROWS": 64, "PART_ROWS": 200}.items():
        monkeypatch.setattr(pieces, name, size)
    monkeypatch.setattr("credo.tables.csv_files.BLOCK", 1024)


def rows(batches, columns=("x", "name", "flag")):
    """The rows as Python values."""
    found = list(batches)
    assert all(batch.schema.names == list(columns) for batch in found)
    assert all(0 < batch.num_rows <= 64 for batch in found)
    return [row for batch in found for row in batch.to_pylist()]


def sent(part):
    """The part as it arrives in another process."""
    return pickle.loads(pickle.dumps(part))  # noqa: S301 - our own


@pytest.fixture(params=[*MAKERS.values(), *ONCE.values()], ids=[*MAKERS, *ONCE])
def source(request, tmp_path):
    return open_source(request.param(tmp_path))


@pytest.fixture(params=MAKERS.values(), ids=MAKERS)
def lasting(request, tmp_path):
    return open_source(request.param(tmp_path))


def test_rows_come_again_at_each_pass_in_the_columns_asked_for(lasting):
    next(iter(lasting.batches()))
    for names in (["flag", "x"], TABLE.schema.names):
        assert rows(lasting.batches(names), names) == TABLE.select(names).to_pylist()
    assert sum(batch.num_rows for batch in lasting.batches([])) == N


def test_the_head_is_the_first_rows_and_takes_nothing_from_the_batches(source):
    names = ["name", "x"]
    assert source.schema.names == TABLE.schema.names
    assert source.head(names, 100).to_pylist() == TABLE.slice(0, 100).select(names).to_pylist()
    assert source.head(n=0).to_pylist() == []
    assert source.head(n=1).schema.types == source.head(n=0).schema.types == source.schema.types
    assert source.head(n=10**6).to_pylist() == TABLE.to_pylist()
    assert rows(source.batches()) == TABLE.to_pylist()


def test_the_number_of_rows_is_right_where_it_is_known(source):
    known = not any(word in source.name for word in ("csv", "tsv", "t.arrow", "Lazy", "list"))
    lasting = not any(word in source.name for word in ("Reader", "Dataset"))
    assert source.n_rows == (N if known and lasting else None)


def test_the_parts_are_picklable_and_together_the_source(lasting):
    parts = [sent(part).open() for part in lasting.parts()]
    assert all(part.schema == lasting.schema for part in parts)
    assert [row for part in parts for row in rows(part.batches())] == TABLE.to_pylist()


@pytest.mark.parametrize(
    ("make", "count"),
    [(as_parquet, 5), (as_feather, 5), (as_csv, 1), (as_folder, 5), (as_packed, 1), (as_stream, 1)],
)
def test_a_file_is_cut_into_parts_of_some_size(make, count, tmp_path):
    parts = open_source(make(tmp_path)).parts()
    assert len(parts) == count
    again = [piece for part in parts for piece in part.open().parts()]
    assert [rows(part.open().batches()) for part in again] == [
        rows(part.open().batches()) for part in parts
    ]


def test_progress_counts_the_rows_and_ends_at_the_whole(source):
    told = []
    for _ in source.batches(progress=lambda *step: told.append(step)):
        pass
    counts, shares = zip(*told, strict=True)
    assert list(counts) == sorted(counts)
    assert counts[-1] == N
    if any(word in source.name for word in ("t.arrow", "Lazy", "Reader", "Dataset")):
        assert set(shares) == {None}
    else:
        assert list(shares) == sorted(shares)
        assert shares[-1] == 1.0
        assert shares[0] < 0.5 or source.name.endswith(".gz")


def test_columns_are_a_list_of_known_ones_without_repetition(source):
    with pytest.raises(LabelError, match="has no column 'nam'. Known: .* Did you mean 'name'?"):
        source.batches(["x", "nam"])
    with pytest.raises(InputError, match=r"pass \['x'\]"):
        source.batches("x")
    with pytest.raises(InputError, match="'x' occurs more than once"):
        source.head(["x", "x"])


def test_a_reader_is_read_once_in_its_process():
    (part,) = open_source(TABLE.to_reader()).parts()
    with pytest.raises(InputError, match="cannot be sent to another process"):
        pickle.dumps(part)
    source = part.open()
    assert rows(source.batches()) == TABLE.to_pylist()
    for read in (source.head, lambda: list(source.batches())):
        with pytest.raises(InputError, match="come once and have been read. Pass a file"):
            read()


@pytest.mark.parametrize(
    "make",
    [lambda _: pa.table({"x": [], "y": []}), lambda path: _written(path, "x,y\n")],
    ids=["table", "file"],
)
def test_a_source_without_rows_has_a_head_without_rows(make, tmp_path):
    source = open_source(make(tmp_path))
    assert list(source.batches()) == []
    assert source.head(["y"]).schema.names == ["y"]
    assert [list(part.open().batches()) for part in source.parts()] == [[]] * len(source.parts())


def _written(path, text):
    (path / "t.csv").write_text(text)
    return path / "t.csv"


def test_odd_types_pass_as_they_are():
    table = pa.table(
        {
            "small": pa.array([1, None], pa.uint8()),
            "half": pa.array([1.5, None], pa.float16()),
            "exact": pa.array([1, None], pa.decimal128(5, 2)),
            "large": pa.array(["a", None], pa.large_string()),
            "view": pa.array(["a", None], pa.string_view()),
            "coded": pa.array(["a", None]).dictionary_encode(),
            "day": pa.array([0, None], pa.date32()),
        }
    )
    source = open_source(table)
    assert source.schema == table.schema
    assert source.head().to_pylist() == table.to_pylist()


def test_a_nested_column_fails_only_when_it_is_asked_for(tmp_path):
    table = pa.table({"a": [1.0], "deep": [[1, 2]], "a.b": [2.0], "s": [{"b": 3}]})
    pq.write_table(table, tmp_path / "t.parquet")
    for source in (open_source(table), open_source(tmp_path / "t.parquet")):
        assert source.schema.names == ["a", "deep", "a.b", "s"]
        assert source.head(["a.b", "a"]).to_pydict() == {"a.b": [2.0], "a": [1.0]}
        with pytest.raises(InputError, match=r"Column 'deep' of .* nested \(list"):
            source.batches(["deep"])


def test_a_column_of_odd_objects_spoils_no_other():
    frame = pd.DataFrame({"x": [1.5, 2.5], "odd": pd.Series([1, "a"], dtype=object)})
    source = open_source(frame)
    assert source.head(["x"]).to_pydict() == {"x": [1.5, 2.5]}
    with pytest.raises(InputError, match="Column 'odd' of the DataFrame cannot be read: Could not"):
        source.head(["odd"])
    with pytest.raises(InputError, match="'odd'"):
        source.parts()[0].open().batches(["odd"])


def test_the_labels_of_a_pandas_frame_become_text_and_must_differ():
    assert open_source(pd.DataFrame([[1, 2]])).schema.names == ["0", "1"]
    with pytest.raises(InputError, match="'a' occurs more than once"):
        open_source(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    for library in (pd, pl):
        with pytest.raises(InputError, match="pass a DataFrame"):
            open_source(library.Series([1, 2]))


@pytest.mark.parametrize("value", ["", 3, None, [], [1], {"a": [1]}, b"t.csv"])
def test_what_holds_no_rows_is_refused(value):
    with pytest.raises(InputError, match="source"):
        open_source(value)


def test_a_missing_file_is_told_by_the_system(tmp_path):
    for name in ("no.csv", "no.parquet", "no.arrow", "no.data"):
        with pytest.raises(FileNotFoundError):
            open_source(tmp_path / name)


@pytest.mark.parametrize("make", [as_parquet, as_feather])
def test_a_file_is_also_known_by_its_first_bytes(make, tmp_path):
    path = make(tmp_path).rename(tmp_path / "rows")
    assert rows(open_source(path).batches()) == TABLE.to_pylist()
    (tmp_path / "rows.xyz").write_text("a,b\n1,2\n")
    with pytest.raises(FileFormatError, match="kind of file is not known. Known endings: .parq"):
        open_source(tmp_path / "rows.xyz")


@pytest.mark.parametrize("module", ["dask.dataframe", "pyspark.sql"])
def test_rows_on_a_cluster_are_referred_to_its_engine(module):
    frame = type("DataFrame", (), {"__module__": module})()
    with pytest.raises(InputError, match=f"of {module.partition('.')[0]} are read where they are"):
        open_source(frame)


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "?", None, "-"]),
        pa.array(["a", "?", None, "-"]).dictionary_encode(),
        pa.array(["a", "?", None, "-"], pa.string_view()),
    ],
    ids=["plain", "coded", "view"],
)
def test_texts_can_mean_a_missing_value_in_any_source(column):
    table = pa.table({"word": column, "x": pa.array([1, 2, 3, 4]).dictionary_encode()})
    source = open_source(table, missing=["?", "-"])
    assert source.schema == table.schema
    assert source.head(["word"])["word"].to_pylist() == ["a", None, None, None]
    assert source.head().schema == table.schema
    (part,) = source.parts()
    assert sent(part).open().head()["word"].null_count == 3
    assert open_source(table).head()["word"].null_count == 1


@pytest.mark.parametrize("missing", ["?", [3]])
def test_missing_is_a_list_of_texts(missing):
    with pytest.raises(InputError, match=r"sequence of texts, such as \['\?'\]"):
        open_source(TABLE, missing=missing)


def test_wide_batches_have_fewer_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "BATCH_CELLS", 120)
    pq.write_table(TABLE, tmp_path / "t.parquet")
    for source in (TABLE, tmp_path / "t.parquet"):
        for names, most in ((["x"], 64), (["x", "name"], 60), (["x", "name", "flag"], 40)):
            sizes = [batch.num_rows for batch in open_source(source).batches(names)]
            assert max(sizes) == most


def test_a_file_that_shrinks_while_it_is_read_is_noticed(tmp_path):
    path = tmp_path / "t.parquet"
    many = pa.table({"x": np.random.default_rng(0).random(200_000)})
    pq.write_table(many, path, row_group_size=10_000)
    batches = open_source(path).batches()
    next(batches)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises((InputError, FileFormatError)):
        list(batches)


def test_a_huge_row_group_does_not_come_into_memory_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("credo.tables.pieces.BATCH_ROWS", 2**14)
    n_rows, n_columns = 400_000, 8
    table = pa.table({f"x{i}": np.random.default_rng(i).random(n_rows) for i in range(n_columns)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=n_rows, use_dictionary=False)
    del table
    before = pa.total_allocated_bytes()
    held = [
        pa.total_allocated_bytes() - before
        for batch in open_source(tmp_path / "t.parquet").batches()
        if batch.num_columns == n_columns
    ]
    assert 0 < max(held) < 8 * n_rows * n_columns / 3


def test_a_huge_batch_of_an_arrow_file_is_mapped(tmp_path, monkeypatch):
    monkeypatch.setattr("credo.tables.pieces.HUGE_BATCH", 10)
    source = open_source(as_feather(tmp_path))
    before = pa.total_allocated_bytes()
    batch = next(source.batches(["x"]))
    assert batch.schema.names == ["x"]
    assert pa.total_allocated_bytes() <= before  # others may let go of theirs meanwhile
    assert rows(source.batches()) == TABLE.to_pylist()


def test_an_old_feather_file_is_told(tmp_path):
    (tmp_path / "t.feather").write_bytes(b"FEA1" + b"\0" * 50 + b"FEA1")
    with pytest.raises(FileFormatError, match="version 1 of Feather.*Write it anew"):
        open_source(tmp_path / "t.feather")


def test_the_folders_of_a_dataset_are_columns(tmp_path):
    table = TABLE.append_column("year", pa.array([2023 + i % 2 for i in range(N)]))
    pa.dataset.write_dataset(
        table, tmp_path, format="parquet", partitioning=["year"], partitioning_flavor="hive"
    )
    source = open_source(pa.dataset.dataset(tmp_path, partitioning="hive"))
    years = [row["year"] for part in source.parts() for row in sent(part).open().head().to_pylist()]
    assert sorted(years) == sorted(table["year"].to_pylist())
    assert len(source.parts()) == 2


def test_a_lazy_frame_is_collected_whole_where_polars_cannot_do_otherwise(monkeypatch):
    monkeypatch.delattr(pl.LazyFrame, "collect_batches")
    assert rows(open_source(pl.from_arrow(TABLE).lazy()).batches()) == TABLE.to_pylist()


def test_a_plan_that_fails_is_an_error_of_ours():
    plan = pl.from_arrow(TABLE).lazy().select(pl.col("nowhere"))
    with pytest.raises(InputError, match="the LazyFrame cannot be read: .*nowhere"):
        open_source(plan)


def test_rows_of_another_kind_need_a_schema_and_steps():
    class Elsewhere(Source):
        name = "the rows elsewhere"
        schema = TABLE.schema

        def steps(self, names):  # noqa: ARG002 - it has all columns
            yield from ((batch, None) for batch in TABLE.to_batches(100))

    source = Elsewhere.__new__(Elsewhere)
    assert source.coded(["name"]) is source
    assert (source.n_rows, source.fault_of("x")) == (None, None)
    assert (
        rows(source.batches(["flag", "x"]), ["flag", "x"])
        == TABLE.select(["flag", "x"]).to_pylist()
    )
    assert source.head(["x"], 3)["x"].to_pylist() == TABLE["x"].to_pylist()[:3]
    assert str(source.fault_at("it is odd.", 2)) == "the rows elsewhere: row 2: it is odd."


# --- folders and lists of files --------------------------------------------


def fill(folder, **files):
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        if isinstance(content, str):
            path.write_text(content)
        else:
            pq.write_table(pa.table(content), path)
    return open_source(folder)


def test_files_follow_each_other_by_name_or_as_listed(tmp_path):
    for name in ("_SUCCESS", ".hidden.csv", "x.csv.tmp", "x.csv~", ".a.csv.crc", ".credo-1.part"):
        (tmp_path / name).write_text("no rows")
    (tmp_path / "more").mkdir()
    source = fill(tmp_path, b__csv="a\n3\n4\n", a__csv="a\n1\n2\n", c__csv="a\n")
    assert source.head()["a"].to_pylist() == [1, 2, 3, 4]
    assert source.name == str(tmp_path)
    source = open_source([tmp_path / "b.csv", tmp_path / "a.csv"])
    assert source.head()["a"].to_pylist() == [3, 4, 1, 2]


def test_columns_may_come_in_another_order(tmp_path):
    source = fill(tmp_path, a__csv="a,b\n1,x\n", b__csv="b,a\ny,2\n")
    assert source.head().to_pydict() == {"a": [1, 2], "b": ["x", "y"]}
    assert [part.open().schema.names for part in source.parts()] == [["a", "b"]] * 2


def test_the_first_file_with_rows_sets_the_types_of_all(tmp_path):
    source = fill(tmp_path, a__csv="a;b\n", b__csv="a;b\n1;1,5\n", c__csv="a;b\n2.5;x\n")
    assert [str(kind) for kind in source.schema.types] == ["double", "double"]
    with pytest.raises(FileFormatError, match="c.csv, line 2: column 'b' must be a number"):
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


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"a__parquet": {"a": [1.0]}, "b__parquet": {"a": ["x"]}},
            "b.parquet: column 'a' is of type string here, but of type double in",
        ),
        ({"a__csv": "a,b\n1,2\n", "b__csv": "a\n1\n"}, "b.csv: .* this one lacks 'b'"),
        ({"a__csv": "a,b\n1,2\n", "b__csv": "a,b,c\n1,2,3\n"}, "has 'c' besides"),
        (
            {"a__csv": "a\n1\n", "b__parquet": {"a": [1.0]}},
            "must be of one kind. Got '.*a.csv', '.*b.parquet'",
        ),
        ({"a__csv": "a\n1\n", "notes__md": "read"}, "notes.md: the kind of file is not known"),
    ],
    ids=["types", "fewer", "more", "kinds", "no kind"],
)
def test_files_that_do_not_go_together_are_an_error(tmp_path, files, message):
    with pytest.raises(InputError, match=message):
        fill(tmp_path, **files)


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
    part = coded.parts()[1].open().coded(["b"])
    assert part.schema == coded.schema
    assert part.head().to_pylist() == source.head().to_pylist()[2:]
    table = pa.table({"a": ["x"]})
    assert open_source(table).coded(["a"]).head() == table
