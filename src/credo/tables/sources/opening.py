"""``open_source``: whatever holds rows, made ready to be read in batches."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from credo._validation.labels import listing
from credo.exceptions import FileFormatError, InputError
from credo.tables.sources.abstract import Source
from credo.tables.sources.arrow import blaming_file, pa
from credo.tables.sources.changed import Blanked, ChangedSource
from credo.tables.sources.csv_faults import blaming_line
from credo.tables.sources.csv_layout import Layout
from credo.tables.sources.csv_reading import Reading
from credo.tables.sources.csv_source import CsvSource
from credo.tables.sources.folders import FilesSource, files_in
from credo.tables.sources.frames import FrameSource
from credo.tables.sources.ipc import IpcSource
from credo.tables.sources.parquet import ParquetSource
from credo.tables.sources.streams import LazySource, ReaderSource

#: Kinds of files by the end of their name.
ENDINGS = {
    "Parquet": (".parquet", ".pq"),
    "Arrow": (".arrow", ".feather", ".ipc", ".arrows"),
    "text": (".csv", ".tsv", ".tab", ".txt", ".csv.gz", ".tsv.gz", ".tab.gz", ".txt.gz"),
}

ACCEPTED = (
    "a path to a .csv, .csv.gz, .tsv, .parquet, .arrow or .feather file, a folder or a list of "
    "such files, a pandas or Polars frame, or an Arrow table, reader or dataset"
)


def open_source(
    source: Any,
    *,
    types: Mapping[str, pa.DataType] | None = None,
    missing: Sequence[str] | None = None,
    threads: bool = True,
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
        the like, which do so in text files.
    threads : bool
        Whether Arrow may use more than one thread.

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
    with the latter, numbers may have decimal commas. The types are those of the first MB.
    Whole numbers become float64, since decimals may follow, unless some exceed :math:`2^{53}`:
    such a column holds names. A column that is empty at first becomes float64 as well. A later
    cell that does not fit is an error with its line. A row has at most 1 MB.

    Parquet files are read page by page through small buffers, so that a file with a single row
    group needs no more memory than others. A Dataset is scanned by Arrow, which holds whole row
    groups.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from credo.tables.sources import open_source
    >>> path = pathlib.Path(tempfile.mkdtemp(), "p.csv")
    >>> _ = path.write_text("age,ill\n31,no\n,yes\n47,?\n")
    >>> source = open_source(path, missing=["?"])
    >>> source.schema.types
    [DataType(double), DataType(string)]
    >>> source.head().to_pydict()
    {'age': [31.0, None, 47.0], 'ill': ['no', 'yes', None]}
    """
    opening = _Opening(dict(types or {}), as_missing(missing), threads)
    if isinstance(source, (str, os.PathLike)):
        return opening.path(os.fspath(source))
    if isinstance(source, (list, tuple)):
        return opening.files([os.fspath(path) for path in _paths(source)], "the list of files")
    return opening.blanked(opening.frame(source))


def as_missing(missing: Sequence[str] | None) -> tuple[str, ...]:
    """Check the texts that mean a missing value."""
    texts = tuple(missing or ())
    if isinstance(missing, str) or not all(isinstance(text, str) for text in texts):
        raise InputError(f"missing must be a sequence of texts, such as ['?']. Got {missing!r}.")
    return texts


def _paths(source: Sequence[Any]) -> Sequence[Any]:
    """Check that a list holds paths, at least one."""
    if not source or not all(isinstance(path, (str, os.PathLike)) for path in source):
        raise InputError(f"A list of sources must hold paths. Got {listing(list(source))}.")
    return source


@dataclass(frozen=True, slots=True)
class _Opening:
    """The options of ``open_source``, on their way to the kind of source that needs them."""

    types: Mapping[str, pa.DataType]
    missing: tuple[str, ...]
    threads: bool

    def path(self, path: str) -> Source:
        """Open a file or a folder."""
        if not path:
            raise InputError("A source of rows must have a name. Got an empty path.")
        if not Path(path).is_dir():
            return self.files([path], path)
        return self.files(files_in(path), path)

    def files(self, paths: list[str], name: str) -> Source:
        """Open files of one kind."""
        kinds = {path: _kind(path) for path in paths}
        if len(set(kinds.values())) > 1:
            raise InputError(
                f"The files of {name} must be of one kind. Got {listing(list(kinds))}."
            )
        kind = kinds[paths[0]]
        if kind == "text":
            sources: list[Source] = self._texts(paths)
        else:
            make = ParquetSource if kind == "Parquet" else IpcSource
            sources = [self.blanked(make(path, threads=self.threads)) for path in paths]
        return sources[0] if len(sources) == 1 else FilesSource(sources, name)

    def _texts(self, paths: list[str]) -> list[Source]:
        """Open text files: the first that has rows sets the types of all."""
        layouts = [Layout.of(path) for path in paths]
        first = next((layout for layout in layouts if not layout.empty), layouts[0])
        plain = Reading.as_text(first, self.types, self.missing)
        with blaming_file(first.name), blaming_line(plain, []):
            model = Reading.of(first, self.types, self.missing, threads=self.threads)
        return [CsvSource(model.of_another(layout)) for layout in layouts]

    def frame(self, source: Any) -> Source:
        """Open what is in memory, or what another engine will give."""
        module = type(source).__module__.partition(".")[0]
        if module in {"dask", "dask_expr", "pyspark"}:
            raise InputError(
                f"Rows of a {type(source).__name__} of {module} are read where they are. Pass it "
                "with engine=... to credo.tables.fit_table."
            )
        if isinstance(source, pa.RecordBatchReader):
            return ReaderSource(source)
        if type(source).__module__ == "pyarrow._dataset":
            return self._dataset(source)
        if module == "polars" and hasattr(source, "collect"):
            return LazySource(source)
        if module == "pandas" or isinstance(source, pa.RecordBatch):
            return FrameSource.of(source)
        if hasattr(source, "__arrow_c_stream__"):
            return FrameSource.of(source)
        raise InputError(f"A source of rows must be {ACCEPTED}. Got {type(source).__name__}.")

    def _dataset(self, source: Any) -> Source:
        """Open a Dataset."""
        from credo.tables.sources.datasets import (  # noqa: PLC0415 - it takes 0.2 s to load
            DatasetSource,
        )

        return DatasetSource(source, source.schema, threads=self.threads)

    def blanked(self, source: Source) -> Source:
        """Let the texts of ``missing`` mean a missing value in a source that has its own types."""
        if not self.missing:
            return source
        return ChangedSource(source, Blanked(self.missing), source.schema)


def _kind(path: str) -> str:
    """Tell the kind of a file by its name, else by its first bytes."""
    for kind, endings in ENDINGS.items():
        if path.lower().endswith(endings):
            return kind
    with Path(path).open("rb") as file:
        start = file.read(6)
    if start.startswith(b"PAR1"):
        return "Parquet"
    if start == b"ARROW1":
        return "Arrow"
    known = ", ".join(ending for endings in ENDINGS.values() for ending in endings)
    raise FileFormatError(f"the kind of file is not known. Known endings: {known}.", path)
