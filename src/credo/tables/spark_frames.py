"""Spark data frames: rows to learn from, and answers to each partition, lazily."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, cast, final
from warnings import catch_warnings, filterwarnings

import pyarrow as pa

from credo import exceptions
from credo.exceptions import CredoError, InputError
from credo.tables.arrow import blaming_input
from credo.tables.pieces import BATCH_ROWS, Step
from credo.tables.source import Part, Source

if TYPE_CHECKING:  # executors that only learn need not load all that answers
    from credo.tables.engine_answers import Answering

_NAME = "the Spark data frame"

#: What becomes of a partition: a packed summary, None if it has no rows, or an error.
Outcome = bytes | CredoError | None


@contextmanager
def quiet() -> Iterator[None]:
    """Do without what PySpark says of pandas 3: only its Arrow side is used."""
    with catch_warnings():
        filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def is_spark_frame(frame: Any) -> bool:
    """Tell a Spark data frame from others, without loading Spark."""
    return type(frame).__module__.startswith("pyspark.sql") and hasattr(frame, "mapInArrow")


@final
class SparkSource(Source):
    """Rows of a Spark data frame."""

    def __init__(self, frame: Any) -> None:
        if not hasattr(type(frame), "rdd") or "connect" in type(frame).__module__:
            raise InputError(
                "Data frames of Spark Connect have no tree reduction. Use a session that runs "
                "its driver here: SparkSession.builder.master(…).getOrCreate()."
            )
        self.name = _NAME
        self._frame = frame
        self._schema = _schema_of(frame)

    @property
    def schema(self) -> pa.Schema:
        """Names and Arrow types of all columns."""
        return self._schema

    def head(self, columns: Sequence[str] | None = None, n: int = BATCH_ROWS) -> pa.Table:
        """Read the first rows; see ``Source.head``."""
        return Source.head(SparkSource(self._frame.limit(n)), columns, n)

    def parts(self) -> list[Part]:
        """Leave the cutting to Spark: the frame is one part, which its engine knows."""
        return [SparkPart(self._frame)]

    def steps(self, names: list[str]) -> Iterator[Step]:
        """Fetch one partition after the other."""
        with quiet():
            rows = _plain(self._frame, names).mapInArrow(partial(_sent, names), "batch binary")
        for row in rows.toLocalIterator():
            with pa.ipc.open_stream(pa.py_buffer(row.batch)) as stream:
                yield from ((batch, None) for batch in stream)


@final
@dataclass(frozen=True, slots=True, eq=False)
class SparkPart:
    """A frame that Spark has cut into partitions of its own."""

    frame: Any

    def open(self) -> Source:
        """Read it here, partition by partition."""
        return SparkSource(self.frame)

    def outcomes(self, reduce: Callable[[Any], bytes | None], columns: Sequence[str]) -> Any:
        """Give an RDD of partition numbers and what becomes of each."""
        work = partial(_reduced, reduce, list(columns))
        with quiet():
            rows = _plain(self.frame, columns).mapInArrow(
                work, "place int, summary binary, error string"
            )
            return rows.rdd.map(_outcome)


def answered(frame: Any, answering: Answering) -> Any:
    """Give the answers to a frame's rows as another frame."""
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - the frame's own

    names = list(answering.columns)
    schema = pa.schema([_schema_of(frame).field(name) for name in names])
    with quiet():
        return _plain(frame, names).mapInArrow(
            partial(_answers, answering), from_arrow_schema(answering.schema(schema))
        )


def _answers(answering: Answering, batches: Iterable[Any]) -> Iterator[Any]:
    """Answer batch after batch of a partition."""
    for batch in batches:
        table = pa.Table.from_batches([batch.rename_columns(list(answering.columns))])
        yield from answering(table).combine_chunks().to_batches()


def _plain(frame: Any, names: Sequence[str]) -> Any:
    """Choose columns, and number them: Spark takes dots in names for paths."""
    quoted = ("`" + name.replace("`", "``") + "`" for name in names)
    return frame.select(*(frame[name].alias(f"c{i}") for i, name in enumerate(quoted)))


def _schema_of(frame: Any) -> pa.Schema:
    """Give the Arrow types of a frame's columns."""
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - the frame's own

    with blaming_input(_NAME):
        return to_arrow_schema(frame.schema)


def _sent(names: list[str], batches: Iterable[Any]) -> Iterator[Any]:
    """Write batches as bytes, on their way to the driver."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.rename_columns(names).schema) as stream:
            stream.write_batch(batch.rename_columns(names))
        yield pa.record_batch({"batch": pa.array([sink.getvalue().to_pybytes()], pa.binary())})


def _reduced(
    reduce: Callable[[Any], bytes | None], names: list[str], batches: Iterable[Any]
) -> Iterator[Any]:
    """Summarise a partition; one row, or none if it has no rows."""
    from pyspark import TaskContext  # noqa: PLC0415 - runs in Spark's workers

    context = TaskContext.get()
    rest = iter(batches)
    first = next(rest, None)
    if first is None or context is None:
        return
    summary, fault = None, None
    try:
        summary = reduce(_Stream(batch.rename_columns(names) for batch in chain([first], rest)))
    except CredoError as error:
        fault = written(error)
    yield pa.record_batch(
        {
            "place": pa.array([context.partitionId()], pa.int32()),
            "summary": pa.array([summary], pa.binary()),
            "error": pa.array([fault], pa.string()),
        }
    )


def _outcome(row: Any) -> tuple[int, Outcome]:
    """Read a row that ``_reduced`` wrote."""
    place, summary, fault = row
    if fault is not None:
        return place, read(fault)
    return place, None if summary is None else bytes(summary)


def written(error: CredoError) -> str:
    """Write an error of ours as text."""
    _, values, *_ = cast("tuple[Any, ...]", error.__reduce__())
    return json.dumps([type(error).__name__, *values], default=str)


def read(text: str) -> CredoError:
    """Read an error that was written as text."""
    kind, *values = json.loads(text)
    return getattr(exceptions, kind)(*values)


@final
class _Stream(Source):
    """Batches of a partition, which pass once; a part and its source at the same time."""

    def __init__(self, batches: Iterable[Any]) -> None:
        self.name = _NAME
        self._rest = iter(batches)
        self._first = next(self._rest)

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._first.schema

    def open(self) -> Source:
        """Give the rows, once."""
        return self

    def parts(self) -> list[Part]:
        """Give the whole."""
        return [self]

    def steps(self, names: list[str]) -> Iterator[Step]:  # noqa: ARG002 - all of them
        """Give the batches as they come."""
        yield from ((batch, None) for batch in chain([self._first], self._rest))
