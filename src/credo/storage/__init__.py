"""Model files: written whole, checked in full, and safe to open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo._lazy import doors

if TYPE_CHECKING:  # the same names for type checkers and editors
    from credo.storage.files import (
        describe as describe,
        load as load,
        pack as pack,
        save as save,
        unpack as unpack,
    )

__getattr__, __dir__, __all__ = doors(
    __name__, {"credo.storage.files": ["describe", "load", "pack", "save", "unpack"]}
)
