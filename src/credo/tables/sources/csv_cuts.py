"""Where a text file can be cut between two rows."""

from __future__ import annotations

import csv
from itertools import islice, pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np

from credo.tables.sources.csv_layout import Layout

#: Bytes of a range: some tenths of a second of reading, so that sending it costs little beside.
RANGE = 2**26

#: Bytes on either side of the wished place in which a row must end; else the file is left whole.
REACH = 2**21

#: Bytes looked at together for quotes: they stay in the cache of the processor.
GULP = 2**20


def ranges(layout: Layout) -> list[tuple[int, int]]:
    """Give ranges of whole rows, about ``RANGE`` bytes each; one if no safe cut is found.

    A line ends a row if the quotes before it are even in number and three rows with as many cells
    as the header follow. Counting the quotes takes a tenth of the time of reading.
    """
    with Path(layout.path).open("rb", buffering=0) as file:
        size = file.seek(0, 2)
        small = layout.packed or size - layout.start < 2 * RANGE
        cuts = [] if small else _cuts(file, layout, size)
    return list(pairwise([layout.start, *cuts, size]))


def _cuts(file: BinaryIO, layout: Layout, size: int) -> list[int]:
    """Find the end of a row after each wished place; none at all if one is doubtful."""
    cuts: list[int] = []
    quotes, counted = 0, layout.start
    for wished in range(layout.start + RANGE, size - RANGE // 2, RANGE):
        quotes += count(file, '"', counted, wished)
        counted = wished
        file.seek(wished - REACH)
        cut = _row_end(file.read(2 * REACH), layout, inside=quotes % 2 == 1)
        if cut is None:
            return []
        cuts.append(wished - REACH + cut)
    return cuts


def count(file: BinaryIO, mark: str, start: int, stop: int) -> int:
    """Count a character in a stretch of a file; NumPy keeps its pace where there are many."""
    file.seek(start)
    found = 0
    while start < stop and (text := file.read(min(GULP, stop - start))):
        found += int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord(mark)))
        start += len(text)
    return found


def _row_end(text: bytes, layout: Layout, *, inside: bool) -> int | None:
    """Give the place after the first row that ends past the middle; None if it is in doubt."""
    place = REACH
    while (end := text.find(b"\n", place) + 1) > 0:
        inside ^= text.count(b'"', place, end) % 2 == 1
        place = end
        if not inside:
            return place if _fits(text, place, layout) else None
    return None


def _fits(text: bytes, cut: int, layout: Layout) -> bool:
    """Tell whether what follows a cut are rows of the table."""
    lines = text[cut:].decode(errors="replace").splitlines(keepends=True)
    rows = (row for row in csv.reader(lines, delimiter=layout.separator) if row)
    try:
        return [len(row) for row in islice(rows, 3)] == [len(layout.header)] * 3
    except csv.Error:
        return False
