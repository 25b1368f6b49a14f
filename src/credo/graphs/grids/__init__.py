"""Fields on grids: their potentials, their edges and how they become networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo._lazy import doors

if TYPE_CHECKING:  # the same names for type checkers and editors
    from credo.graphs.grids.field import GridField as GridField
    from credo.graphs.grids.smoothness import (
        Ising as Ising,
        Potts as Potts,
        TruncatedLinear as TruncatedLinear,
        TruncatedQuadratic as TruncatedQuadratic,
    )

__getattr__, __dir__, __all__ = doors(
    __name__,
    {
        "credo.graphs.grids.field": ["GridField"],
        "credo.graphs.grids.smoothness": [
            "Ising",
            "Potts",
            "TruncatedLinear",
            "TruncatedQuadratic",
        ],
    },
)
