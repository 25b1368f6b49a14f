"""``open_source``: whatever holds rows, read in batches, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from credo import _checks as check
from credo._files import local_path
from credo.columns import Numbers, marks_text, read_table
from credo.exceptions import FileFormatError, InputError, TableWarning
from credo.tables.arrow import (
    blaming_file,
    blaming_input,
    blank,
    in_types,
    is_text,
    plain_type,
    said_by,
)
from credo.tables.csv_files import TextRows, open_texts
from credo.tables.pieces import (
    ARROW_MAGIC,
    BATCH_ROWS,
    ArrowRows,
    DatasetRows,
    ParquetRows,
    PlanRows,
    ReaderRows,
    RowPiece,
    Step,
    TableRows,
    rows_at_once,
)

#: Called with the rows done so far and their share of all, None where that is not known.
Progress: TypeAlias = Callable[[int, float | None], None]

#: Kinds of files by the end of their name.
ENDINGS = {
    "Parquet": (".parquet", ".pq"),
    "Arrow": (".arrow", ".feather", ".ipc", ".arrows"),
    "text": (".csv", ".tsv", ".tab", ".txt", ".csv.gz", ".tsv.gz", ".tab.gz", ".txt.gz"),
}

#: How files begin or end that are no rows: marks of Spark, hidden and half-written files.
NO_ROWS = (".", "_")
HALF_WRITTEN = (".tmp", ".part", ".crc", ".crdownload", "~")

#: Columns with marks that are named in a message.
_SHOWN = 8

ACCEPTED = (
    "a path to a .csv, .csv.gz, .tsv, .parquet, .arrow or .feather file, a folder or a list of "
    "such files, a pandas or Polars frame, or an Arrow table, reader or dataset"
)


class Part(Protocol):
    """A piece of a source that can be sent to another process and opened there.

    Made by ``Source.parts``.

    See Also
    --------
    Source : What a part is cut from.
    """

    def open(self) -> Source:
        """Open the rows of this part.

        Returns
        -------
        Source
            The same columns and types as the whole; only these rows.
        """
        ...


class Source:
    """Rows in named columns, read as Arrow record batches.

    Sources are made by ``open_source``.

    Parameters
    ----------
    name : str
        The file or frame, as it is called in messages.
    pieces : sequence
        What is read, one after the other.
    schema : pyarrow.Schema, optional
        Names and types of the columns; by default types that hold the values of all pieces.
    missing : tuple of str
        Texts that mean a missing value.
    faults : mapping, optional
        Why some columns cannot be read.

    Attributes
    ----------
    name : str
        The file or frame, as it is called in messages.

    See Also
    --------
    open_source : Makes a source of a file, a folder or a frame.

    Notes
    -----
    Memory is a few batches, whatever the size of the file. A source of another kind is a subclass
    with a ``name``, a ``schema``, ``parts`` and ``steps``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from credo.tables import open_source
    >>> source = open_source(pa.table({"age": [31, 52, 47], "ill": ["no", "yes", "no"]}))
    >>> source.n_rows, source.schema.names
    (3, ['age', 'ill'])
    >>> [batch.to_pydict() for batch in source.batches(["ill"])]
    [{'ill': ['no', 'yes', 'no']}]
    """

    name: str
    _pieces: Sequence[RowPiece] = ()  # none in those of a cluster, which have steps of their own
    _missing: tuple[str, ...] = ()
    _faults: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self,
        name: str,
        pieces: Sequence[RowPiece],
        schema: pa.Schema | None = None,
        *,
        missing: tuple[str, ...] = (),
        faults: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._pieces, self._missing, self._faults = pieces, missing, dict(faults or {})
        for piece in pieces:
            check.labels(piece.schema.names, f"columns of {piece.name}")
        self._schema = _common_schema(pieces) if schema is None else schema

    @property
    def schema(self) -> pa.Schema:
        """Names and Arrow types of all columns."""
        return self._schema

    @property
    def n_rows(self) -> int | None:
        """Number of rows if it is known without reading them, else None."""
        counts = [piece.n_rows for piece in self._pieces if piece.n_rows is not None]
        return sum(counts) if counts and len(counts) == len(self._pieces) else None

    def open(self) -> Source:
        """Return the source itself: it is opened where it was sent to.

        Returns
        -------
        Source
            This one.
        """
        return self

    def parts(self) -> Sequence[Part]:
        """Cut the source into parts that other processes can read.

        Returns
        -------
        list of Part
            Small, picklable, in order; together they hold exactly the rows of the source. A text
            file is one part, a Parquet file several if it has several row groups.
        """
        return [self._with([cut], self.schema) for piece in self._pieces for cut in piece.split()]

    def _with(self, pieces: Sequence[RowPiece], schema: pa.Schema) -> Source:
        """Return the same source with other pieces."""
        return Source(self.name, pieces, schema, missing=self._missing, faults=self._faults)

    def batches(
        self, columns: Sequence[str] | None = None, progress: Progress | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Read the rows, from the first on, in batches of at most 65 536.

        Parameters
        ----------
        columns : sequence of str, optional
            Names of the columns, in the order wanted; all by default.
        progress : callable, optional
            Called after each batch with the rows done and their share of all, if known.

        Returns
        -------
        iterator of pyarrow.RecordBatch
            In the types of the source. Each call starts anew.

        Raises
        ------
        LabelError
            When there is no such column; names the nearest one.
        FileFormatError
            When the file is damaged; names the line where it can.
        """
        return self._cut(self._chosen(columns), progress)

    def head(self, columns: Sequence[str] | None = None, n: int = BATCH_ROWS) -> pa.Table:
        """Read the first rows.

        Parameters
        ----------
        columns : sequence of str, optional
            Names of the columns, in the order wanted; all by default.
        n : int
            Most rows to read.

        Returns
        -------
        pyarrow.Table
            At most ``n`` rows.
        """
        names, wanted = self._chosen(columns), check.count(n, "n of head", least=0)
        shown = [piece.shown(wanted) for piece in self._pieces]
        source = self._with(shown, self.schema) if shown else self
        found: list[pa.RecordBatch] = []
        rows = 0
        for batch in source._cut(names, None) if wanted else ():  # noqa: SLF001 - of the same class
            found.append(batch.slice(0, wanted - rows))
            rows += found[-1].num_rows
            if rows >= wanted:
                break
        fields = [self.schema.field(name) for name in names]
        return pa.Table.from_batches(found, found[0].schema if found else pa.schema(fields))

    def coded(self, columns: Sequence[str]) -> Source:
        """Ask for some text columns as codes and a dictionary, where that is less work.

        Parameters
        ----------
        columns : sequence of str
            Names of columns with few different words; those without text are passed over.

        Returns
        -------
        Source
            The same rows. A column may now be of a dictionary type, as its schema says.

        Notes
        -----
        Parquet files keep such columns coded: reading the codes takes a tenth of the time of
        reading words and coding them again. Other sources stay as they are.
        """
        words = [name for name in columns if is_text(self.schema.field(name).type)]
        files = [piece for piece in self._pieces if isinstance(piece, ParquetRows)]
        if not words or not files:
            return self
        types = [
            (each.name, pa.dictionary(pa.int32(), each.type) if each.name in words else each.type)
            for each in self.schema
        ]
        coded = [replace(file, coded=(*file.coded, *words)) for file in files]
        return self._with(coded, pa.schema(types))

    def fault_of(self, name: str) -> str | None:
        """Say why a column cannot be read, for a message; None if it can.

        Parameters
        ----------
        name : str
            A column of the schema.

        Returns
        -------
        str or None
            The reason, as a sentence.
        """
        kind = self.schema.field(name).type
        if name in self._faults or not pa.types.is_nested(kind):
            return self._faults.get(name)
        return f"it is nested ({kind}). Leave it out, or make it one value per row."

    def tell_marks(self, columns: Sequence[str]) -> None:
        """Warn of marks such as ``?`` that are taken as missing among the numbers of a text file.

        Parameters
        ----------
        columns : sequence of str
            Names of the columns that are used.
        """
        for piece in self._pieces:
            seen = piece.seen if isinstance(piece, TextRows) else {}
            told = [
                f"column {name!r} has {marks_text(marks)}"
                for name, marks in seen.items()
                if name in columns
            ]
            if told:
                more = f" and {len(told) - _SHOWN} more columns" if told[_SHOWN:] else ""
                rows = piece.extent if isinstance(piece, TextRows) else ""
                check.warn(
                    f"{piece.name}: {'; '.join(told[:_SHOWN])}{more}{rows} among numbers: taken as "
                    "missing.",
                    TableWarning,
                )

    def fault_at(self, reason: str, row: int) -> FileFormatError:
        """Return an error about a row: a text file is named with the line on which it begins.

        Parameters
        ----------
        reason : str
            What is wrong, as a sentence.
        row : int
            Number of the row in the source, counted from one.

        Returns
        -------
        FileFormatError
            To be raised.
        """
        if len(self._pieces) == 1:
            return self._pieces[0].fault_at(reason, row)
        return FileFormatError(f"row {row}: {reason}", self.name)

    def _chosen(self, columns: Sequence[str] | None) -> list[str]:
        """Check the names of columns; a single name is taken for a slip."""
        known = tuple(self.schema.names)
        if columns is not None and len(columns):
            check.labels(columns, f"columns of {self.name}")
        wanted = known if columns is None else columns
        names = [known[check.position(name, known, "column", self.name)] for name in wanted]
        for name in names:
            if fault := self.fault_of(name):
                raise InputError(f"Column {name!r} of {self.name} cannot be read: {fault}")
        return names

    def steps(self, names: list[str]) -> Iterator[Step]:
        """Read batches of any size; ``batches`` cuts them and puts their columns in order.

        Parameters
        ----------
        names : list of str
            Columns of the schema.

        Yields
        ------
        tuple
            A batch with at least these columns, and the share of the source read with it, None
            if that is not known.
        """
        wanted = pa.schema([self.schema.field(name) for name in names])
        total, before = max(sum(piece.size for piece in self._pieces), 1), 0
        for piece in self._pieces:
            for batch, share in piece.steps(names):
                with blaming_file(piece.name):
                    changed = blank(in_types(batch.select(names), wanted), self._missing)
                alone = len(self._pieces) == 1
                yield changed, share if alone else (before + piece.size * (share or 0.0)) / total
            before += piece.size

    def _cut(self, names: list[str], progress: Progress | None) -> Iterator[pa.RecordBatch]:
        """Cut batches to size, put their columns in order, and tell how far it is."""
        rows, total, most = 0, self.n_rows, rows_at_once(len(names))
        for batch, share in self.steps(names):
            picked = batch if batch.schema.names == names else batch.select(names)
            for start in range(0, picked.num_rows, most):
                piece = picked.slice(start, most)
                rows += piece.num_rows
                yield piece
                if progress is not None:
                    progress(rows, share if total is None else rows / total)
        if total is not None and rows != total:
            raise InputError(
                f"{self.name} was changed while it was read: of {total} rows, {rows} came. Read it "
                "again when nobody writes to it."
            )


def _common_schema(pieces: Sequence[RowPiece]) -> pa.Schema:
    """Find types that hold the values of all files; the columns must be the same."""
    first, *others = pieces
    types = {each.name: each.type for each in first.schema}
    for piece in others:
        names = piece.schema.names
        lacking = [name for name in types if name not in names]
        added = [name for name in names if name not in types]
        if lacking or added:
            got = check.listing(lacking or added)
            raise FileFormatError(
                f"all files must have the same columns; beside {first.name} this one "
                f"{f'lacks {got}' if lacking else f'has {got} besides'}.",
                piece.name,
            )
        for name, common in types.items():
            kind = piece.schema.field(name).type
            try:
                types[name] = common if kind == common else _common_type(common, kind)
            except (pa.ArrowException, TypeError) as error:
                raise FileFormatError(
                    f"column {name!r} is of type {kind} here, but of type {common} in the files "
                    f"before, from {first.name} on. Write it in one type.",
                    piece.name,
                ) from error
    return pa.schema(types.items()) if others else first.schema


def _common_type(*kinds: pa.DataType) -> pa.DataType:
    """Find a type that holds the values of several."""
    fields = [pa.schema([("", plain_type(kind))]) for kind in kinds]
    return pa.unify_schemas(fields, promote_options="permissive").field(0).type


# --- opening --------------------------------------------------------------------------------------


def open_source(
    source: Any,
    *,
    types: Mapping[str, pa.DataType] | None = None,
    missing: Sequence[str] | None = None,
    usual_missing: bool = True,
    threads: bool = True,
    name: str | None = None,
) -> Source:
    r"""Open a file, a folder or a frame, to be read in batches in bounded memory.

    Parameters
    ----------
    source : path, list of paths, or frame
        ``.csv``, ``.csv.gz``, ``.tsv``, ``.parquet``, ``.arrow`` or ``.feather``; a folder of
        files of one kind; a pandas or Polars frame, also a lazy one; an Arrow Table, RecordBatch,
        RecordBatchReader or Dataset; any object with ``__arrow_c_stream__``.
    types : mapping, optional
        For text files: Arrow types of some columns, instead of those seen in the first rows.
        Names that the file does not have are passed over.
    missing : sequence of str, optional
        More texts that mean a missing value, besides the empty one, ``NA``, ``NaN``, ``null`` and
        the like, which do so in text files; among numbers ``?``, ``-``, ``.``, ``na`` and ``Null``
        do so as well.
    usual_missing : bool
        Whether ``NA`` and the like mean a missing value in text files; else the empty cell and
        ``missing`` alone do.
    threads : bool
        Whether Arrow may use more than one thread.
    name : str, optional
        What messages call it; by default its path, or its type.

    Returns
    -------
    Source
        With ``schema``, ``n_rows``, ``batches()``, ``head()`` and ``parts()``.

    Raises
    ------
    FileFormatError
        When a file is damaged or has no proper header.
    InputError
        When the source is none of the above.

    See Also
    --------
    credo.tables.open_sink : The way back into a file.

    Notes
    -----
    Text files: the separator is a comma, or a semicolon, tab or bar if the header has no comma;
    with the latter, numbers may have decimal commas. The types are those of the first MB; of
    several files, of the first with rows, while each has its own separator and decimal point.
    Whole numbers become float64, since decimals may follow, unless some exceed :math:`2^{53}`:
    such a column holds names. A column that is empty at first becomes float64 as well. A later
    cell that does not fit is an error with its line. A row has at most 1 MB.

    Parquet files are read page by page through small buffers, so that a file with a single row
    group needs no more memory than others. A Dataset is scanned by Arrow, which holds whole row
    groups.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from credo.tables import open_source
    >>> path = pathlib.Path(tempfile.mkdtemp(), "p.csv")
    >>> _ = path.write_text("age,ill\n31,no\n,yes\n47,?\n")
    >>> source = open_source(path, missing=["?"])
    >>> source.schema.types
    [DataType(double), DataType(string)]
    >>> source.head().to_pydict()
    {'age': [31.0, None, 47.0], 'ill': ['no', 'yes', None]}
    """
    words = as_missing(missing)
    if not isinstance(source, (str, os.PathLike, list, tuple)):
        called = name or f"the {type(source).__name__}"
        with blaming_input(called):
            piece, faults = _in_memory(source, called, threads=threads)
        return Source(called, [piece], missing=words, faults=faults)
    paths, called = _paths(source)
    kinds = {_kind(path) for path in paths}
    if len(kinds) > 1:
        raise InputError(f"The files of {called} must be of one kind. Got {check.listing(paths)}.")
    names = [name] if name and not paths[1:] else paths
    if kinds == {"text"}:
        texts = open_texts(
            *(paths, names, types or {}, words), usual=usual_missing, threads=threads
        )
        return Source(name or called, texts)
    kind = ParquetRows if kinds == {"Parquet"} else ArrowRows
    pieces = [kind.open(*file, threads=threads) for file in zip(paths, names, strict=True)]
    return Source(name or called, pieces, missing=words)


def as_missing(missing: Sequence[str] | None) -> tuple[str, ...]:
    """Check the texts that mean a missing value."""
    texts = tuple(missing or ())
    if isinstance(missing, str) or not all(isinstance(text, str) for text in texts):
        raise InputError(f"missing must be a sequence of texts, such as ['?']. Got {missing!r}.")
    return texts


def _paths(source: Any) -> tuple[list[str], str]:
    """Return the files that a path or a list of paths means, and what they are called together."""
    if isinstance(source, (list, tuple)):
        if not source or not all(isinstance(path, (str, os.PathLike)) for path in source):
            got = check.listing(list(source))
            raise InputError(f"A list of sources must hold paths. Got {got}.")
        paths = [local_path(path) for path in source]
        return paths, paths[0] if len(paths) == 1 else "the list of files"
    path = local_path(source)
    if not path:
        raise InputError("A source of rows must have a name. Got an empty path.")
    return _files_in(path) if Path(path).is_dir() else [path], path


def _files_in(folder: str) -> list[str]:
    """List the files of a folder by name, without hidden and temporary ones."""
    names = sorted(entry.name for entry in Path(folder).iterdir() if entry.is_file())
    rows = [each for each in names if not each.startswith(NO_ROWS)]
    if files := [str(Path(folder, each)) for each in rows if not each.endswith(HALF_WRITTEN)]:
        return files
    raise InputError(
        f"The folder {folder} holds no file of rows. If they are in folders of their own, pass "
        "pyarrow.dataset.dataset(folder, partitioning='hive')."
    )


def _kind(path: str) -> str:
    """Tell the kind of a file by its name, else by its first bytes; these must agree."""
    with Path(path).open("rb") as file:
        start = file.read(len(ARROW_MAGIC))
    found = "Parquet" if start.startswith(b"PAR1") else "Arrow" if start == ARROW_MAGIC else ""
    for kind, endings in ENDINGS.items():
        if path.lower().endswith(endings):
            if found in ("", kind):
                return kind
            reason = f"this is a table in {found}, and its name says {kind}. Rename it to"
            raise FileFormatError(f"{reason} {ENDINGS[found][0]}.", path)
    if found:
        return found
    known = ", ".join(ending for endings in ENDINGS.values() for ending in endings)
    raise FileFormatError(f"the kind of file is not known. Known endings: {known}.", path)


def _in_memory(source: Any, name: str, *, threads: bool) -> tuple[RowPiece, dict[str, str]]:
    """Take over what is in memory, or what another engine will give; with the faults of columns."""
    module = type(source).__module__.partition(".")[0]
    if module in {"dask", "dask_expr", "pyspark"}:
        raise InputError(
            f"Rows of a {type(source).__name__} of {module} are read where they are. Pass it "
            "with engine=... to credo.tables.fit_table."
        )
    if module in {"pandas", "polars"} and not hasattr(type(source), "columns"):
        raise InputError(f"Rows in named columns are needed. Got {name}; pass a DataFrame.")
    if module == "pandas":
        return _of_pandas(source, name)
    piece: RowPiece
    if module == "polars":  # in types that all of Arrow can work with
        lazy = hasattr(source, "collect")
        piece = PlanRows.of(source, name) if lazy else TableRows.of(source.to_arrow(), name)
    elif isinstance(source, pa.RecordBatchReader):
        piece = ReaderRows(name=name, schema=source.schema, left=[iter(source)])
    elif type(source).__module__ == "pyarrow._dataset":
        piece = DatasetRows(name=name, schema=source.schema, dataset=source, threads=threads)
    elif hasattr(source, "__arrow_c_stream__"):
        table = source if isinstance(source, pa.Table) else pa.table(source)
        piece = TableRows.of(table, name)
    else:
        raise InputError(f"A source of rows must be {ACCEPTED}. Got {type(source).__name__}.")
    return piece, {}


def _of_pandas(frame: Any, name: str) -> tuple[RowPiece, dict[str, str]]:
    """Take each column over by itself, so that one of odd objects spoils no other."""
    columns: dict[Any, Any] = {}
    faults: dict[str, str] = {}
    labels = check.labels([str(label) for label in frame.columns], f"columns of {name}")
    for i, label in enumerate(labels):
        try:
            columns[label] = pa.array(frame.iloc[:, i], from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            numbers = _beside_marks(frame.iloc[:, [i]], name)
            columns[label] = pa.nulls(len(frame)) if numbers is None else numbers
            faults |= {str(label): said_by(error)} if numbers is None else {}
    return TableRows.of(pa.table(columns), name), faults


def _beside_marks(frame: Any, name: str) -> Any:
    """Return the column of a frame if it holds numbers and marks of missing ones; else None."""
    try:
        found = read_table(frame, name).column(0)
    except InputError:
        return None
    return pa.array(found.values, from_pandas=True) if isinstance(found, Numbers) else None
