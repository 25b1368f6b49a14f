"""Many files as one source: folders, and lists of paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from credo._validation.labels import listing
from credo.exceptions import FileFormatError, InputError
from credo.tables.sources.abstract import Part, Source, Step
from credo.tables.sources.arrow import pa, plain_type
from credo.tables.sources.changed import Aligned, ChangedSource

#: How files begin or end that are no rows: marks of Spark, hidden and half-written files.
NO_ROWS = (".", "_")
HALF_WRITTEN = (".tmp", ".part", ".crc", ".crdownload", "~")


def files_in(folder: str) -> list[str]:
    """List the files of a folder by name, without hidden and temporary ones."""
    names = sorted(entry.name for entry in Path(folder).iterdir() if entry.is_file())
    rows = [
        name for name in names if not name.startswith(NO_ROWS) and not name.endswith(HALF_WRITTEN)
    ]
    if rows:
        return [str(Path(folder, name)) for name in rows]
    raise InputError(
        f"The folder {folder} holds no file of rows. If they are in folders of their own, pass "
        "pyarrow.dataset.dataset(folder, partitioning='hive')."
    )


class FilesSource(Source):
    """Files of one kind, one after another, with the same columns in any order."""

    def __init__(self, sources: Sequence[Source], name: str) -> None:
        self.name = name
        self._files = sources
        self._schema = _common_schema(sources)
        self._sources = [
            source
            if source.schema == self._schema
            else ChangedSource(source, Aligned(self._schema), self._schema)
            for source in sources
        ]
        self._sizes = [Path(source.name).stat().st_size for source in sources]

    @property
    def schema(self) -> pa.Schema:
        """Names of the columns in the order of the first file, in types that hold all values."""
        return self._schema

    @property
    def n_rows(self) -> int | None:
        """Number of rows, if all files tell theirs."""
        counts = [source.n_rows for source in self._sources]
        return None if None in counts else sum(count for count in counts if count is not None)

    def parts(self) -> list[Part]:
        """Give the parts of all files."""
        return [part for source in self._sources for part in source.parts()]

    def coded(self, columns: Sequence[str]) -> FilesSource:
        """Give the same rows with some text columns as codes and a dictionary."""
        return FilesSource([source.coded(columns) for source in self._files], self.name)

    def steps(self, names: list[str]) -> Iterator[Step]:
        """Read file by file; their sizes tell the share."""
        total, before = max(sum(self._sizes), 1), 0
        for source, size in zip(self._sources, self._sizes, strict=True):
            for batch, share in source.steps(names):
                yield batch, (before + size * (share or 0.0)) / total
            before += size


def _common_schema(sources: Sequence[Source]) -> pa.Schema:
    """Find types that hold the values of all files; the columns must be the same."""
    first = sources[0]
    for source in sources[1:]:
        _check_columns(source, first)
    fields = []
    for name in first.schema.names:
        common = first.schema.field(name).type
        for source in sources[1:]:
            common = _common_type(common, source, name, first.name)
        fields.append((name, common))
    return pa.schema(fields)


def _check_columns(source: Source, first: Source) -> None:
    """Refuse a file with other columns than the first."""
    known, names = first.schema.names, source.schema.names
    lacking = [name for name in known if name not in names]
    added = [name for name in names if name not in known]
    if lacking or added:
        what = f"lacks {listing(lacking)}" if lacking else f"has {listing(added)} besides"
        raise FileFormatError(
            f"all files must have the same columns; beside {first.name} this one {what}.",
            source.name,
        )


def _common_type(common: pa.DataType, source: Source, name: str, first: str) -> pa.DataType:
    """Find a type for the values of a column so far and of one more file."""
    kind = source.schema.field(name).type
    if kind == common:
        return common
    pair = [pa.schema([(name, plain_type(each))]) for each in (common, kind)]
    try:
        return pa.unify_schemas(pair, promote_options="permissive").field(name).type
    except (pa.ArrowException, TypeError) as error:
        raise FileFormatError(
            f"column {name!r} is of type {kind} here, but of type {common} in the files before, "
            f"from {first} on. Write it in one type.",
            source.name,
        ) from error
