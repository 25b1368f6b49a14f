"""Rows from files and frames, in batches, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo._lazy import doors

if TYPE_CHECKING:  # the same names for type checkers and editors
    from credo.tables.sources.abstract import (
        Part as Part,
        Progress as Progress,
        Source as Source,
    )
    from credo.tables.sources.ahead import read_ahead as read_ahead
    from credo.tables.sources.opening import open_source as open_source

__getattr__, __dir__, __all__ = doors(
    __name__,
    {
        "credo.tables.sources.abstract": ["Part", "Progress", "Source"],
        "credo.tables.sources.ahead": ["read_ahead"],
        "credo.tables.sources.opening": ["open_source"],
    },
)
