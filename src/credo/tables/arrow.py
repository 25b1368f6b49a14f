"""Arrow as tables use it: types of words, casts, and one way to say what failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pyarrow as pa

from credo.exceptions import FileFormatError, InputError

#: Characters of an Arrow message that are passed on: a damaged file may quote itself at length.
MOST_SAID = 300


def blaming_file(name: str) -> AbstractContextManager[None]:
    """Turn what Arrow says about the bytes of a file into an error that names the file."""
    return _blaming(lambda said: FileFormatError(f"it cannot be read: {said}", name))


def blaming_input(name: str, done: str = "read") -> AbstractContextManager[None]:
    """Turn what Arrow says about a table, or about writing one, into an error that names it."""
    return _blaming(lambda said: InputError(f"{name} cannot be {done}: {said}"))


@contextmanager
def _blaming(fault: Callable[[str], InputError]) -> Iterator[None]:
    """Let errors of the machine and of Credo pass; translate the others."""
    known = (pa.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError)
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # no such file, no permission: the system says it best
        if not isinstance(error, known) and not type(error).__module__.startswith("polars"):
            raise
        raise fault(said_by(error)) from error


def said_by(error: BaseException | str) -> str:
    """Return the message of an error as one sentence of bounded length."""
    said = " ".join(str(error).split()) or type(error).__name__
    return f"{said if len(said) <= MOST_SAID else said[:MOST_SAID] + '…'}".rstrip(".") + "."


def is_text(kind: pa.DataType) -> bool:
    """Tell a type of words."""
    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(check(kind) for check in checks)


def is_number(kind: pa.DataType) -> bool:
    """Tell a type of whole or decimal numbers."""
    checks = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(check(kind) for check in checks)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values themselves, where they are coded or kept in another way."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    return pa.large_string() if pa.types.is_string_view(kind) else kind


def viewless_type(kind: pa.DataType) -> pa.DataType:
    """Return a type without views of words, which not all of Arrow knows; codes stay codes."""
    if not pa.types.is_dictionary(kind):
        return plain_type(kind)
    return pa.dictionary(kind.index_type, plain_type(kind), kind.ordered)


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
    kind = column.type
    if not pa.types.is_dictionary(kind) or kind.value_type == plain_type(kind):
        return column
    words = column.dictionary.cast(plain_type(kind))
    return pa.DictionaryArray.from_arrays(column.indices, words, ordered=kind.ordered)


def plain_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch without views of words."""
    schema = batch.schema
    return in_types(batch, pa.schema([(each.name, viewless_type(each.type)) for each in schema]))


def blank(batch: pa.RecordBatch, missing: tuple[str, ...]) -> pa.RecordBatch:
    """Empty the cells of text that stand for a missing value."""
    if not missing or not batch.num_columns:
        return batch
    words = pa.array(missing, pa.large_string())
    columns = [_blank_column(column, words) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _blank_column(column: pa.Array, missing: pa.Array) -> pa.Array:
    """Empty the cells of one column; where words are coded, their codes."""
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to load

    kind, coded = column.type, pa.types.is_dictionary(column.type)
    words = column.dictionary if coded else column
    if not is_text(words.type):
        return column
    meant = pc.is_in(words.cast(pa.large_string()), missing)
    if coded:
        codes = pc.if_else(meant.take(column.indices), None, column.indices)
        return pa.DictionaryArray.from_arrays(codes, words, ordered=kind.ordered)
    return pc.if_else(meant, None, column.cast(plain_type(kind))).cast(kind)
