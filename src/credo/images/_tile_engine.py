"""What is done to one tile: messages are passed on it and its halo, as if it were a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
import numpy.typing as npt

from credo._types import Bool, Labels
from credo._validation.arrays import frozen, positive_int
from credo._validation.labels import one_of
from credo.exceptions import InputError
from credo.graphs import GridField, Ising
from credo.graphs.grid_coordinates import Axis, edge_energy
from credo.graphs.grid_field import odds_energy
from credo.images._tile_regions import Window
from credo.images.restoration import Energies
from credo.inference.grids.engine import GridSettings, messages_on, settings_for

#: float32 or float64.
Floats: TypeAlias = npt.NDArray[Any]


class Passing(NamedTuple):
    """How messages are to be passed, as the user has it."""

    coupling: Any
    neighbours: Any
    sweeps: Any
    momentum: Any
    method: Any
    dtype: Any

    def check(self, who: str) -> None:
        """Refuse what cannot be right, whatever the numbers that are still to be learnt."""
        if isinstance(self.coupling, str):
            one_of(self.coupling, ("estimate",), who, "coupling")
            TileEngine.of(0.5, self._replace(coupling=0.0), who)
        else:
            TileEngine.of(0.5, self, who)


@final
@dataclass(frozen=True, slots=True, eq=False)
class TileEngine:
    """Restores one tile after another, all with the same numbers.

    The range of the node potentials is known from the start, so that the type of number, and what
    is too strong for it, is the same for all tiles.
    """

    beta: float | None  #: half the log odds of what a pixel shows; None if each has its own
    coupling: Any
    neighbours: int
    sweeps: int
    settings: GridSettings

    @classmethod
    def of(cls, flips: float | tuple[float, float], passing: Passing, who: str) -> TileEngine:
        """Check all settings, for a flip probability or the ends of a map of them."""
        sweeps = positive_int(passing.sweeps, who, "sweeps", least=0)
        coupling = Ising(passing.coupling)
        if isinstance(coupling.strength, tuple) and any(map(np.ndim, coupling.strength)):
            raise InputError(
                f"The coupling of {who} must be one number, or one for each direction. For one per "
                "edge build a GridField and use credo.infer_grid."
            )
        span = flips if isinstance(flips, tuple) else (flips, flips)
        ends = GridField.from_flips(
            [[True, True]], [span], coupling, labels=(False, True), neighbours=passing.neighbours
        )
        settings = settings_for(
            ends, passing.method, passing.momentum, "flooding", passing.dtype, who
        )
        beta = None if isinstance(flips, tuple) else float(ends.log_odds[0, 0]) / 2
        return cls(beta, coupling.strength, ends.neighbours, sweeps, settings)

    def field(self, second: Bool, flips: Floats | None) -> GridField:
        """Make the field of a tile, from where it shows the second label."""
        if self.beta is None:
            return GridField.from_flips(
                second, flips, self.coupling, labels=(False, True), neighbours=self.neighbours
            )
        beta = self.settings.dtype(self.beta)
        half = frozen(np.where(second, beta, -beta))
        return GridField.ising(
            half, self.coupling, labels=(False, True), neighbours=self.neighbours
        )

    def beliefs(self, field: GridField) -> Floats:
        """Give the probability of the second label of each pixel."""
        messages = messages_on(field, self.settings)
        messages.advance(self.sweeps)
        return messages.posterior().of(True)  # noqa: FBT003 - a label

    def energies(self, field: GridField, second: Bool, restored: Bool, inside: Window) -> Energies:
        """Give U of what was seen and of what was restored, for the pixels and edges of a tile.

        An edge belongs to the tile of its lower pixel. Its upper one is in the halo then, one
        pixel outside at most.
        """
        core = second[inside]
        beta = self.beta
        nodes = (
            self._summed(field, second, restored, inside)
            if beta is None
            else [_counted(core == x[inside], beta) for x in (second, restored)]
        )
        edges = [self._edges(field, x, inside) for x in (second, restored)]
        return Energies(nodes[0] + edges[0], nodes[1] + edges[1])

    def _summed(
        self, field: GridField, second: Bool, restored: Bool, inside: Window
    ) -> list[float]:
        """Sum the log potentials of pixels that have odds of their own."""
        half = field.log_odds[inside] / 2
        return [odds_energy(half, x[inside]) for x in (second, restored)]

    def _edges(self, field: GridField, x: Bool, inside: Window) -> float:
        """Sum the log potentials of the edges whose lower pixels are inside."""
        units = field.smoothness.units(2)
        return math.fsum(
            edge_energy(x[_with_upper(inside, axis)], [axis], [strength], units)
            for axis, strength in zip(field.axes, field.strengths, strict=True)
        )


def _with_upper(inside: Window, axis: Axis) -> Window:
    """Widen a window by the upper pixels of the edges along an axis, as far as there are any."""
    rows, columns = (
        slice(max(0, side.start + min(step, 0)), side.stop + max(step, 0))
        for side, step in zip(inside, axis, strict=True)
    )
    return rows, columns


def named(second: Bool, labels: Labels, dtype: Any) -> npt.NDArray[Any]:
    """Write labels in the place of truth values."""
    first, other = np.array(labels).astype(dtype)
    return np.where(second, other, first)


def _counted(agree: Bool, beta: float) -> float:
    """Sum the log potentials of pixels that all have the same odds."""
    same = int(np.count_nonzero(agree))
    counts = ((same, beta), (agree.size - same, -beta))
    return sum(n * b for n, b in counts if n and b != math.inf)
