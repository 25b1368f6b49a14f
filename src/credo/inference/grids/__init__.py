"""Message passing on grids, whole planes at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo._lazy import doors

if TYPE_CHECKING:  # the same names for type checkers and editors
    from credo.inference.grids.grid_result import GridPosterior as GridPosterior
    from credo.inference.grids.passing import infer_grid as infer_grid

__getattr__, __dir__, __all__ = doors(
    __name__,
    {
        "credo.inference.grids.grid_result": ["GridPosterior"],
        "credo.inference.grids.passing": ["infer_grid"],
    },
)
