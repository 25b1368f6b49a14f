"""Streaming rows: files larger than memory, block by block."""

from credo.tables.csv_rows import CsvRows, RowBlock, open_csv

__all__ = ["CsvRows", "RowBlock", "open_csv"]
