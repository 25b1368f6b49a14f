"""The door to Arrow: one import, one way to say what failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from credo.exceptions import FileFormatError, InputError

__all__ = [
    "blaming_file",
    "blaming_input",
    "in_types",
    "is_text",
    "pa",
    "pc",
    "pcsv",
    "plain_batch",
    "plain_type",
    "pq",
    "said_by",
]

#: Characters of an Arrow message that are passed on: a damaged file may quote itself at length.
MOST_SAID = 300


@contextmanager
def blaming_file(name: str) -> Iterator[None]:
    """Turn what Arrow says about the bytes of a file into an error that names the file."""
    yield from _blaming(lambda said: FileFormatError(f"it cannot be read: {said}", name))


@contextmanager
def blaming_input(name: str, done: str = "read") -> Iterator[None]:
    """Turn what Arrow says about a table, or about writing one, into an error that names it."""
    yield from _blaming(lambda said: InputError(f"{name} cannot be {done}: {said}"))


def _blaming(fault: Callable[[str], InputError]) -> Iterator[None]:
    """Let errors of the machine and of Credo pass; translate the others."""
    try:
        yield
    except InputError:
        raise
    except OSError as error:
        if error.errno is not None:  # no such file, no permission: the system says it best
            raise
        raise fault(said_by(error)) from error
    except (pa.ArrowException, ValueError, KeyError, TypeError, OverflowError) as error:
        raise fault(said_by(error)) from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "polars":  # whose errors have no kin
            raise
        raise fault(said_by(error)) from error


def said_by(error: BaseException | str) -> str:
    """Give the message of an error as one sentence of bounded length."""
    said = " ".join(str(error).split()) or type(error).__name__
    return f"{said if len(said) <= MOST_SAID else said[:MOST_SAID] + '…'}".rstrip(".") + "."


def is_text(kind: pa.DataType) -> bool:
    """Tell a type of words."""
    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(check(kind) for check in checks)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Give the type of the values themselves, where they are coded or kept in another way."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    return pa.large_string() if pa.types.is_string_view(kind) else kind


def in_types(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Cast the columns of a batch to the types of a schema with the same names."""
    if batch.schema == schema:
        return batch
    columns = [
        _without_views(column).cast(kind)
        for column, kind in zip(batch.columns, schema.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _without_views(column: pa.Array) -> pa.Array:
    """Let the words of a dictionary be plain ones: Arrow cannot spell out views of them."""
    if not pa.types.is_dictionary(column.type) or column.type.value_type == plain_type(column.type):
        return column
    words = column.dictionary.cast(plain_type(column.type))
    return pa.DictionaryArray.from_arrays(column.indices, words)


def plain_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Give a batch without views of text, which not all of Arrow's functions know."""
    if all(map(pa.types.is_primitive, batch.schema.types)):
        return batch
    columns = [
        column.cast(pa.large_string())
        if pa.types.is_string_view(column.type)
        else _without_views(column)
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
