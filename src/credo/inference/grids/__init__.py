"""Message passing on grids, whole planes at a time."""

from __future__ import annotations

from credo.inference.grids.engine import GridPosterior, infer_grid

__all__ = ["GridPosterior", "infer_grid"]
