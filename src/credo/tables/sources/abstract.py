"""What every source of rows can do, whatever it reads from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

from credo._validation.arrays import positive_int
from credo._validation.labels import as_labels, position
from credo.exceptions import InputError
from credo.tables.sources.arrow import pa

#: Most rows of a batch: 20 columns of numbers are then 10 MB, well past any overhead per batch.
BATCH_ROWS = 2**16

#: Most cells of a batch: 16 MB of numbers, whatever the number of columns.
BATCH_CELLS = 2**22

#: Rows that make a part worth sending: it is then read in a tenth of a second or so.
PART_ROWS = 100_000

#: Called with the rows done so far and their share of all, None where that is not known.
Progress: TypeAlias = Callable[[int, float | None], None]

#: A batch, and the share of the source that is read with it.
Step: TypeAlias = tuple[pa.RecordBatch, float | None]


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


class Source(ABC):
    """Rows in named columns, read as Arrow record batches.

    Sources are made by ``open_source``; one class per kind of file or frame.

    Attributes
    ----------
    name : str
        The file or frame, as it is called in messages.

    See Also
    --------
    open_source : Makes a source of a file, a folder or a frame.

    Notes
    -----
    Memory is a few batches, whatever the size of the file.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from credo.tables.sources import open_source
    >>> source = open_source(pa.table({"age": [31, 52, 47], "ill": ["no", "yes", "no"]}))
    >>> source.n_rows, source.schema.names
    (3, ['age', 'ill'])
    >>> [batch.to_pydict() for batch in source.batches(["ill"])]
    [{'ill': ['no', 'yes', 'no']}]
    """

    name: str

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Names and Arrow types of all columns."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows if it is known without reading them, else None."""
        return None

    @abstractmethod
    def parts(self) -> list[Part]:
        """Cut the source into parts that other processes can read.

        Returns
        -------
        list of Part
            Small, picklable, in order; together they hold exactly the rows of the source.
        """

    @abstractmethod
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
        return self._told(self._chosen(columns), progress)

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
        names, wanted = self._chosen(columns), positive_int(n, "head", "n", least=0)
        found: list[pa.RecordBatch] = []
        rows = 0
        for batch in self._told(names, None) if wanted else ():
            found.append(batch.slice(0, wanted - rows))
            rows += found[-1].num_rows
            if rows >= wanted:
                break
        fields = [self.schema.field(name) for name in names]
        return pa.Table.from_batches(found, found[0].schema if found else pa.schema(fields))

    def _chosen(self, columns: Sequence[str] | None) -> list[str]:
        """Check the names of columns; a single name is taken for a slip."""
        known = tuple(self.schema.names)
        if columns is not None and len(columns):
            as_labels(columns, self.name, "columns")
        wanted = known if columns is None else columns
        names = [known[position(name, known, self.name, "column")] for name in wanted]
        for name in names:
            if fault := self.fault_of(name):
                raise InputError(f"Column {name!r} of {self.name} cannot be read: {fault}")
        return names

    def coded(self, columns: Sequence[str]) -> Source:  # noqa: ARG002 - for those that can
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
        return self

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
        if not pa.types.is_nested(kind):
            return None
        return f"it is nested ({kind}). Leave it out, or make it one value per row."

    def _told(self, names: list[str], progress: Progress | None) -> Iterator[pa.RecordBatch]:
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


def rows_at_once(n_columns: int) -> int:
    """Tell how many rows of so many columns make a batch."""
    return max(1, min(BATCH_ROWS, BATCH_CELLS // max(n_columns, 1)))


def check_names(schema: pa.Schema, name: str) -> None:
    """Refuse columns that cannot be told apart, or none at all."""
    as_labels(schema.names, name, "columns")


def check_values(batch: pa.RecordBatch) -> None:
    """Refuse text that is no UTF-8 and codes without a word, which Arrow leaves unread."""
    for column in batch.columns:
        if not pa.types.is_primitive(column.type):
            column.validate(full=True)
