"""How the cells of a text file become values: types that stay the same to the end of the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from credo.tables.sources.arrow import pa, pc, pcsv
from credo.tables.sources.csv_layout import Layout

#: Bytes parsed at a time, and so the longest row. Measured on 200 000 x 20: 2 MB take 10% more
#: time, since they leave the cache of the processor; the memory is about 40 blocks.
BLOCK = 2**20

#: Whole numbers up to this are exact as float64; a column with larger ones holds names.
EXACT_WHOLE = 2**53


@dataclass(frozen=True, slots=True)
class Reading:
    """How the cells of a text file become values; the same for all its parts.

    Attributes
    ----------
    layout
        Separator, header and first row.
    schema
        Type of each column of the file, in its order.
    decimal
        The decimal point: a dot, or a comma.
    missing
        Texts that mean a missing value.
    threads
        Whether Arrow converts columns in parallel.
    """

    layout: Layout
    schema: pa.Schema
    decimal: str
    missing: tuple[str, ...]
    threads: bool

    @classmethod
    def of(
        cls,
        layout: Layout,
        types: Mapping[str, pa.DataType],
        missing: Sequence[str] = (),
        *,
        threads: bool = True,
    ) -> Reading:
        """Infer the types of the columns from the first block; those in ``types`` win."""
        texts = tuple(dict.fromkeys([*pcsv.ConvertOptions().null_values, *missing]))
        fields = [(name, types.get(name, pa.float64())) for name in layout.header]
        reading = cls(layout, pa.schema(fields), ".", texts, threads)
        points = ["."] if layout.separator == "," else [".", ","]
        if layout.empty or (points == ["."] and all(name in types for name in layout.header)):
            return reading
        known = {name: types[name] for name in layout.header if name in types}
        open_ones = known if len(points) == 1 else _without_numbers(known)
        guesses = [_guess(replace(reading, decimal=point), open_ones) for point in points]
        wanted = [name for name, kind in known.items() if _is_number(kind)]
        best = max(guesses, key=lambda guess: _n_numbers(guess, wanted))  # the first of equals
        found = [(field.name, known.get(field.name, field.type)) for field in best.schema]
        return replace(best, schema=pa.schema(found))

    @classmethod
    def as_text(
        cls, layout: Layout, types: Mapping[str, pa.DataType], missing: Sequence[str]
    ) -> Reading:
        """Read all cells as text, but for columns whose type is known."""
        schema = pa.schema([(name, types.get(name, pa.string())) for name in layout.header])
        texts = (*pcsv.ConvertOptions().null_values, *missing)
        return cls(layout, schema, decimal=".", missing=texts, threads=False)

    def of_another(self, layout: Layout) -> Reading:
        """Read another file alike; a column that this one does not have will be refused later."""
        types = {field.name: field.type for field in self.schema}
        fields = [(name, types.get(name, pa.float64())) for name in layout.header]
        return replace(self, layout=layout, schema=pa.schema(fields))

    def reader(
        self,
        stream: pa.NativeFile,
        names: Sequence[str],
        types: Mapping[str, pa.DataType] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Read rows block by block; with ``types`` the other columns are inferred."""
        known = {field.name: field.type for field in self.schema} if types is None else types
        return pcsv.open_csv(
            stream,
            pcsv.ReadOptions(
                use_threads=self.threads, block_size=BLOCK, column_names=self.layout.header
            ),
            pcsv.ParseOptions(
                delimiter=self.layout.separator,
                newlines_in_values=True,
                ignore_empty_lines=self.layout.skips_blank,
            ),
            pcsv.ConvertOptions(
                column_types=known,
                null_values=self.missing,
                strings_can_be_null=True,
                decimal_point=self.decimal,
                include_columns=names,
            ),
        )


def _guess(reading: Reading, known: Mapping[str, pa.DataType]) -> Reading:
    """Take the types that Arrow sees in the first block, made wide enough for later cells."""
    with reading.layout.stream() as (stream, _):
        start = pa.BufferReader(stream.read(2 * BLOCK))  # a block, and what tells that it is whole
    first = next(reading.reader(start, [], known), None)
    if first is None:
        return reading
    fields = [
        (name, known.get(name) or _widened(first.column(name))) for name in reading.schema.names
    ]
    return replace(reading, schema=pa.schema(fields))


def _without_numbers(known: Mapping[str, pa.DataType]) -> dict[str, pa.DataType]:
    """Leave out columns of numbers, which tell the decimal point."""
    return {name: kind for name, kind in known.items() if not _is_number(kind)}


def _n_numbers(reading: Reading, wanted: Sequence[str]) -> int:
    """Count the columns of numbers, among those that should be if some should."""
    fields = [field for field in reading.schema if not wanted or field.name in wanted]
    return sum(_is_number(field.type) for field in fields)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def _widened(column: pa.Array) -> pa.DataType:
    """Choose a type that later cells fit too: numbers may get decimals, gaps may get numbers."""
    if pa.types.is_null(column.type):
        return pa.float64()
    if pa.types.is_binary(column.type):  # text that is not UTF-8, which reading will refuse
        return pa.string()
    if not pa.types.is_integer(column.type):
        return column.type
    largest = max(abs(bound) for bound in pc.min_max(column).as_py().values())
    return pa.float64() if largest <= EXACT_WHOLE else column.type
