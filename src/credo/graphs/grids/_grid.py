"""What a field on a grid holds, and how it is a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from credo._types import F64, Labels
from credo._validation.labels import as_labels, listing
from credo.exceptions import InputError, ShapeError
from credo.graphs._assembly import AnyFactor, Factors
from credo.graphs.grids._wiring import wired
from credo.graphs.grids.axes import Axis, axes_of, lower_pixels, neighbours_in
from credo.graphs.grids.coordinates import Coordinates
from credo.graphs.grids.energies import edge_energy
from credo.graphs.grids.label_maps import as_map, positions_in
from credo.graphs.grids.nodes import LogPlanes, Nodes, OddsPlane, as_planes
from credo.graphs.grids.smoothness import AbstractSmoothness
from credo.graphs.grids.strengths import AxisStrength, strengths_on
from credo.graphs.markov_network import MarkovNetwork
from credo.graphs.variables import Same, Variables
from credo.graphs.wiring import Wiring

_OWNER = "GridField"


class AbstractGrid(MarkovNetwork):
    """Pixels and the edges between neighbours, complete from the start.

    The wiring is made when it is first asked for.
    """

    def __init__(
        self,
        log_potentials: Any,
        smoothness: AbstractSmoothness,
        *,
        labels: Any = None,
        neighbours: int | None = None,
    ) -> None:
        super().__init__()
        is_ready = isinstance(log_potentials, OddsPlane | LogPlanes)
        nodes: Nodes = log_potentials if is_ready else as_planes(log_potentials, _OWNER)
        self._pixels = nodes
        self._smoothness = _as_smoothness(smoothness, nodes.n_labels)
        self._labels = _as_field_labels(labels, nodes.n_labels)
        self._neighbours = neighbours_in(len(nodes.shape), neighbours, _OWNER)
        owner = f"The {type(smoothness).__name__} of {_OWNER}"
        self._strengths = strengths_on(smoothness.strength, nodes.shape, self.axes, owner)
        names = Coordinates(nodes.shape)
        self._variables = Variables(names, Same(self._labels, len(names)))

    # --- looking ---------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Give the number of pixels along each dimension."""
        return self._pixels.shape

    @property
    def labels(self) -> Labels:
        """Give the labels in order."""
        return self._labels

    @property
    def n_labels(self) -> int:
        """Count the labels."""
        return len(self._labels)

    @property
    def neighbours(self) -> int:
        """Give the number of neighbours of a pixel inside."""
        return self._neighbours

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Give the step along each axis, from the lower pixel of an edge to the upper one."""
        return axes_of(len(self.shape), self._neighbours)

    @property
    def smoothness(self) -> AbstractSmoothness:
        """Give the smoothness as it was given."""
        return self._smoothness

    @property
    def strengths(self) -> tuple[AxisStrength, ...]:
        """Give for each axis one number, or an array of one number per edge."""
        return self._strengths

    @property
    def log_potentials(self) -> Any:
        """Give the log potentials, shape (…, K); a field held as a plane makes them."""
        return self._pixels.log_potentials()

    @property
    def log_odds(self) -> Any:
        """Give the second label's log potentials minus the first's; infinite where certain."""
        return self.log_odds_of(slice(None))

    def log_odds_of(self, rows: slice) -> Any:
        """Give the log odds of some rows of a picture, or some planes of a volume.

        Parameters
        ----------
        rows : slice
            Which.

        Returns
        -------
        ndarray
            The second label's log potentials minus the first's; infinite where certain.

        Raises
        ------
        InputError
            If there are not two labels.

        Examples
        --------
        >>> from credo.graphs import GridField
        >>> GridField.ising([[0.5], [-1.0]], coupling=0.8).log_odds_of(slice(1, 2))
        array([[-2.]])
        """
        if self.n_labels != 2:
            raise InputError(
                f"The log_odds of {_OWNER} are for two labels. This one has {self.n_labels}. Use "
                "log_potentials."
            )
        return self._pixels.log_odds(rows)

    def strength_plane(self, axis_number: int) -> F64:
        """Give the strengths of the edges along an axis at their lower pixels.

        Parameters
        ----------
        axis_number : int
            Position of the axis in ``axes``.

        Returns
        -------
        ndarray of shape ``shape``
            The strengths; 0 where the edge would leave the picture.

        Raises
        ------
        InputError
            If there is no such axis.

        Examples
        --------
        >>> import numpy as np
        >>> from credo.graphs import GridField
        >>> GridField.ising(np.zeros((2, 3)), 0.5).strength_plane(1)
        array([[0.5, 0.5, 0. ],
               [0.5, 0.5, 0. ]])
        """
        axes = self.axes
        if axis_number not in range(len(axes)):
            raise InputError(
                f"{_OWNER} has the axes 0 to {len(axes) - 1}: {listing(axes)}. Got {axis_number!r}."
            )
        plane = np.zeros(self.shape)
        plane[lower_pixels(self.shape, axes[axis_number])] = self._strengths[axis_number]
        return plane

    def energy(self, labels_map: Any) -> float:
        r"""Give the log of the unnormalised probability of a map of labels.

        .. math:: U(x) = \sum_i \log \phi_i(x_i) + \sum_{ij} s_{ij}\, u(x_i, x_j)

        Parameters
        ----------
        labels_map : array_like of shape ``shape``
            A label for each pixel.

        Returns
        -------
        float
            The energy as the lecture has it: the larger the more probable. A pixel that is certain
            counts 0 if the map agrees; if not, the energy is minus infinity.

        Raises
        ------
        ShapeError
            If the map has another shape.
        LabelError
            If a value is not a label; names the pixel.

        Notes
        -----
        Linear in the number of pixels; sums are in float64.

        Examples
        --------
        >>> from credo.graphs import GridField
        >>> field = GridField.ising([[0.25, -0.5]], 1.0)
        >>> field.energy([[1, 1]]), field.energy([[1, -1]])
        (0.75, -0.25)
        """
        owner = f"{_OWNER}.energy"
        positions = positions_in(as_map(labels_map, self.shape, owner), self._labels, owner)
        units = self._smoothness.units(self.n_labels)
        edges = edge_energy(positions, self.axes, self._strengths, units)
        return edges + self._pixels.total(positions)

    def __repr__(self) -> str:
        size = "x".join(str(length) for length in self.shape)
        return (
            f"<{_OWNER}: {size} pixels, {self.n_labels} labels, {self._neighbours} neighbours, "
            f"{self._smoothness!r}>"
        )

    # --- as a network ----------------------------------------------------------

    def copy(self) -> MarkovNetwork:  # type: ignore[override]  # a field itself cannot be added to
        """Copy into a MarkovNetwork with the same factors, which is open to additions.

        Returns
        -------
        MarkovNetwork
            A network of the same pixels and edges, without a shape.

        Notes
        -----
        Objects are made for all pixels and edges when something is added.

        Examples
        --------
        >>> from credo.graphs import GridField
        >>> network = GridField.ising([[0.25, -0.5]], 1.0).copy()
        >>> _ = network.node("lamp", ["off", "on"])
        >>> _ = network.edge("lamp", (0, 1), [[2.0, 1.0], [1.0, 2.0]])
        >>> network
        <MarkovNetwork: 3 variables, 4 factors, open>
        """
        return MarkovNetwork._of_arrays(self.compile())  # noqa: SLF001 - a wiring known to be good

    @classmethod
    def _of_arrays(cls, wiring: Wiring) -> NoReturn:  # noqa: ARG003 - the base has it
        """Refuse a list of edges, which tells no shape."""
        raise InputError(
            f"A {_OWNER} is made of an array of potentials, not of a list of edges. Use "
            "MarkovNetwork.from_arrays."
        )

    def _open(self) -> NoReturn:
        """Refuse additions."""
        raise InputError(
            f"A {_OWNER} is complete: its pixels and edges are those of its shape. Add to a "
            "MarkovNetwork with the same factors: network = field.copy()."
        )

    def _listed(self) -> Sequence[AnyFactor]:
        """List the pixels' factors, then those of the edges."""
        return Factors(self.compile())

    def _assembled(self) -> Wiring:
        """Lay the pixels and the edges out."""
        logs = np.asarray(self.log_potentials, dtype=np.float64)
        unit_table = self._smoothness.unit_table(self.n_labels)
        return wired(logs, self._labels, self.axes, self._strengths, unit_table)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the wiring, which can be made again, behind."""
        parts = (self._pixels, self._smoothness, self._labels, self._neighbours)
        return _remade, (type(self), *parts)


def _remade(
    kind: type[AbstractGrid],
    pixels: Nodes,
    smoothness: AbstractSmoothness,
    labels: Labels,
    neighbours: int,
) -> AbstractGrid:
    """Make a field again from its parts."""
    return kind(pixels, smoothness, labels=labels, neighbours=neighbours)


def _as_smoothness(smoothness: Any, n_labels: int) -> AbstractSmoothness:
    """Check a smoothness, and that it is for so many labels."""
    if not isinstance(smoothness, AbstractSmoothness):
        raise InputError(
            f"The smoothness of {_OWNER} must be an Ising, Potts, TruncatedLinear or "
            f"TruncatedQuadratic, such as Potts(0.5). Got {smoothness!r}."
        )
    smoothness.units(n_labels)
    return smoothness


def _as_field_labels(labels: Any, n_labels: int) -> Labels:
    """Check for one name per label; None stands for numbers from 0."""
    names = tuple(range(n_labels)) if labels is None else as_labels(labels, _OWNER)
    if len(names) != n_labels:
        raise ShapeError(
            f"{_OWNER} has potentials of {n_labels} labels. Got {len(names)} names: "
            f"{listing(names)}."
        )
    return names
