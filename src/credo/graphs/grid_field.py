"""``GridField``: a Markov random field on the pixels of a picture or a volume."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, Self, TypeAlias, final

import numpy as np

from credo._types import F64, Int, Labels
from credo._validation.arrays import as_finite, as_floats, frozen, is_read_only, positive_int
from credo._validation.labels import as_labels, distinct, listing, names_in, plain
from credo._validation.probabilities import as_priors, check_rows
from credo.exceptions import InputError, ShapeError
from credo.graphs.grid_coordinates import (
    Axis,
    AxisStrength,
    Coordinates,
    Shape,
    as_map,
    as_picture,
    axes_of,
    edge_energy,
    edge_list,
    edge_shape,
    lower_pixels,
    neighbours_in,
    pixel_at,
    positions_in,
)
from credo.graphs.markov_network import MarkovNetwork
from credo.graphs.models import AnyFactor, Factors
from credo.graphs.smoothness import AbstractSmoothness, Ising, strengths_on
from credo.graphs.variables import Same, Variables
from credo.graphs.wiring import Wiring, from_logs, starts
from credo.posterior import Posterior, PosteriorMap

#: Floats of either width.
Floats: TypeAlias = Any


@final
class OddsPlane:
    """Two labels by half their log odds h: the log potentials are -h and +h.

    Where h is infinite one label is certain: its log potential is 0 and the other's -inf.
    """

    __slots__ = ("half",)
    n_labels = 2

    def __init__(self, half: Floats) -> None:
        self.half = frozen(half)

    def __reduce__(self) -> tuple[Any, ...]:
        """Be read-only again after a way through another process."""
        return OddsPlane, (self.half,)

    @property
    def shape(self) -> Shape:
        """Give the shape of the picture."""
        return self.half.shape

    def log_potentials(self) -> Floats:
        """Make both planes."""
        both = np.stack((-self.half, self.half), axis=-1)
        if math.isinf(both.max()):
            both[np.isposinf(both)] = 0
        return frozen(both)

    def log_odds(self, rows: slice) -> Floats:
        """Double some rows of the plane."""
        with np.errstate(over="ignore"):
            return frozen(2 * self.half[rows])

    def total(self, positions: Any) -> float:
        """Sum the log potentials of labels given by their positions."""
        terms = np.where(positions, self.half, -self.half)
        if math.isinf(terms.max()):
            terms[np.isposinf(terms)] = 0
        return float(terms.sum(dtype=np.float64))


@final
class LogPlanes:
    """Any number of labels: one log potential each, on the last axis."""

    __slots__ = ("logs",)

    def __init__(self, logs: Floats) -> None:
        self.logs = frozen(logs)

    def __reduce__(self) -> tuple[Any, ...]:
        """Be read-only again after a way through another process."""
        return LogPlanes, (self.logs,)

    @property
    def shape(self) -> Shape:
        """Give the shape of the picture."""
        return self.logs.shape[:-1]

    @property
    def n_labels(self) -> int:
        """Count the labels."""
        return int(self.logs.shape[-1])

    def log_potentials(self) -> Floats:
        """Give what is held."""
        return self.logs

    def log_odds(self, rows: slice) -> Floats:
        """Subtract some rows of the first label's plane from the second's."""
        with np.errstate(over="ignore"):
            return frozen(self.logs[rows, ..., 1] - self.logs[rows, ..., 0])

    def total(self, positions: Any) -> float:
        """Sum the log potentials of labels given by their positions."""
        places = positions.astype(np.intp)[..., np.newaxis]
        return float(np.take_along_axis(self.logs, places, axis=-1).sum(dtype=np.float64))


#: The log potentials of pixels, however they are held.
Nodes: TypeAlias = OddsPlane | LogPlanes


def as_plane(half: Any, owner: str) -> OddsPlane:
    """Check half log odds: numbers, which may be infinite."""
    plane = owned_floats(half, owner, "field")
    check_picture(plane.shape, owner, "field")
    if math.isnan(plane.min()):
        pixel = first_pixel(np.isnan(plane))
        raise InputError(
            f"The field of {owner} is NaN at pixel {pixel}. Pass 0 where nothing is known."
        )
    return OddsPlane(plane)


def as_planes(logs: Any, owner: str) -> LogPlanes:
    """Check log potentials: finite or minus infinity, and one label possible at each pixel."""
    array = owned_floats(logs, owner, "log potentials")
    if array.ndim not in (3, 4) or not array.size:
        raise ShapeError(
            f"{owner} needs log potentials of shape (height, width, n_labels) or (depth, height, "
            f"width, n_labels), all at least 1. Got shape {array.shape}."
        )
    low, high = float(array.min()), float(array.max())
    if math.isnan(low) or high == math.inf:
        bad = np.argwhere(np.isnan(array) | np.isposinf(array))[0].tolist()
        raise InputError(
            f"The log potentials of {owner} must be finite or minus infinity. Got "
            f"{array[tuple(bad)]:g} at pixel {tuple(bad[:-1])}, label number {bad[-1]}."
        )
    if low == -math.inf:
        check_some_label(array.max(axis=-1), owner)
    return LogPlanes(array)


def check_some_label(top: Floats, owner: str) -> None:
    """Refuse a pixel whose largest log potential is minus infinity."""
    none = np.isneginf(top)
    if none.any():
        raise InputError(
            f"{owner}: pixel {first_pixel(none)} allows no label: all its log potentials are "
            "minus infinity."
        )


def check_picture(shape: Shape, owner: str, what: str) -> None:
    """Check that there are two or three dimensions and at least one pixel."""
    if len(shape) not in (2, 3) or not math.prod(shape):
        raise ShapeError(
            f"The {what} of {owner} must have shape (height, width) or (depth, height, width), all "
            f"at least 1. Got shape {shape}."
        )


def first_pixel(wrong: Any) -> tuple[int, ...]:
    """Name the first pixel at which something is the case."""
    return pixel_at(int(np.argmax(wrong)), wrong.shape)


def owned_floats(values: Any, owner: str, what: str) -> Floats:
    """Turn values into read-only floats that nobody else can write to; float32 stays float32.

    They are copied once, or not at all if they are read-only already.
    """
    array = floats_as_given(values, owner, what)
    made = isinstance(values, (np.ndarray, list, tuple)) and array is not values
    is_ours = (made and array.base is None) or is_read_only(array)
    if not (is_ours and array.flags.c_contiguous):
        array = np.array(array, order="C")
    return frozen(array)


def floats_as_given(values: Any, owner: str, what: str) -> Floats:
    """Turn values into an array of native float32 if they are of this type, float64 if not."""
    is_single = getattr(values, "dtype", None) == np.float32
    if is_single and not np.ma.is_masked(values):
        return np.asarray(values, dtype=np.float32)
    return as_floats(values, owner, what)


def _from_flips(
    image: Any, flip_probability: Any, labels: Any, owner: str
) -> tuple[OddsPlane, Labels]:
    """Give half the log odds of two labels of which each pixel shows the wrong one by chance."""
    seen = as_picture(image, owner)
    check_picture(seen.shape, owner, "image")
    names = _two_values(seen, owner) if labels is None else as_labels(labels, owner)
    if len(names) != 2:
        raise InputError(f"{owner} needs two labels. Got {len(names)}: {listing(names)}.")
    second = positions_in(seen, names, owner)
    flip = per_pixel(flip_probability, seen.shape, owner, "flip probability")
    _check_within(flip, (flip >= 0) & (flip <= 1), "be between 0 and 1", owner, "flip probability")
    with np.errstate(divide="ignore", over="ignore"):
        beta = np.log((1 - flip) / flip) / 2
    return as_plane(frozen(np.where(second, beta, -beta)), owner), names


def _two_values(seen: Any, owner: str) -> Labels:
    """Find the two values of an image, in order; a third one is found when they are looked up."""
    numbers = seen.dtype.kind in "biuf"
    found = dict.fromkeys((seen.min(), seen.max())) if numbers else distinct(seen.ravel(), owner)
    if len(found) != 2:
        raise InputError(
            f"{owner} needs an image of two values. Got {len(found)}: "
            f"{listing([plain(value) for value in found])}. Pass "
            "the two labels, such as labels=(0, 1)."
        )
    return as_labels(found, owner, "values")


def _from_gaussian(
    image: Any, levels: Any, sigma: Any, labels: Any, owner: str
) -> tuple[LogPlanes, Labels]:
    """Give the log density of each pixel around each level, up to a constant."""
    seen = floats_as_given(image, owner, "image")
    check_picture(seen.shape, owner, "image")
    _check_within(seen, ~np.isinf(seen), "be finite, or NaN if unobserved", owner, "image")
    means = as_finite(levels, owner, "levels")
    if means.ndim != 1 or not means.size:
        raise ShapeError(f"The levels of {owner} must be a list of numbers. Got {means.shape}.")
    spread = per_pixel(sigma, seen.shape, owner, "sigma")
    good = (spread > 0) & (spread < np.inf)
    _check_within(spread, good, "be above 0 and finite", owner, "sigma")
    names = as_labels(names_in(levels) if labels is None else labels, owner)
    return as_planes(_log_densities(seen, means, spread), owner), names


def _log_densities(seen: Floats, means: F64, spread: Floats) -> Floats:
    """Fill in -(y - level)²/2σ², in the precision of the image; zero where it is NaN."""
    logs = np.subtract(seen[..., np.newaxis], means, dtype=seen.dtype)
    with np.errstate(over="ignore"):
        logs /= spread[..., np.newaxis].astype(seen.dtype)
        np.square(logs, out=logs)
    logs *= -0.5
    logs[np.isnan(seen)] = 0
    return frozen(logs)


def _from_confusion(
    image: Any, confusion: Any, labels: Any, observed: Any, owner: str
) -> tuple[LogPlanes, Labels]:
    """Give the log probability of what each pixel shows under each label."""
    seen = as_picture(image, owner)
    check_picture(seen.shape, owner, "image")
    names = as_labels(labels, owner)
    symbols = names if observed is None else as_labels(observed, owner, "observed symbols")
    table = as_floats(confusion, owner, "confusion")
    if table.shape != (len(names), len(symbols)):
        raise ShapeError(
            f"The confusion of {owner} must have shape {(len(names), len(symbols))}: a row per "
            f"label, a column per value that is observed. Got shape {table.shape}."
        )
    check_rows(table, f"The confusion of {owner}", "A row is p(observed | label).")
    with np.errstate(divide="ignore"):
        logs = np.log(table).T
    return as_planes(frozen(logs[positions_in(seen, symbols, owner)]), owner), names


def per_pixel(values: Any, shape: Shape, owner: str, what: str) -> Floats:
    """Check one number, or one per pixel."""
    array = floats_as_given(values, owner, what)
    if array.ndim and array.shape != shape:
        raise ShapeError(
            f"The {what} of {owner} must be one number or a map of shape {shape}. Got shape "
            f"{array.shape}."
        )
    return array


def _check_within(values: Floats, good: Any, must: str, owner: str, what: str) -> None:
    """Refuse numbers of which one is not good; name the first pixel that has one."""
    if good.all():
        return
    pixel = first_pixel(~good)
    where = f" at pixel {pixel}" if pixel else ""
    raise InputError(f"The {what} of {owner} must {must}. Got {values[pixel]:g}{where}.")


def _from_posterior(
    posterior: Any, shape: Any, priors: Any, owner: str
) -> tuple[LogPlanes, Labels]:
    """Give the log probabilities of each pixel, divided by priors if there are some."""
    logs, labels = _log_probabilities(posterior, shape, owner)
    if priors is not None:
        logs = _without(logs, as_priors(priors, labels, owner), labels, owner)
    return as_planes(frozen(logs), owner), labels


def _log_probabilities(posterior: Any, shape: Any, owner: str) -> tuple[Floats, Labels]:
    """Give logs of shape (…, K) and the labels."""
    size = None if shape is None else _as_shape(shape, owner)
    if isinstance(posterior, PosteriorMap) or (
        size is None and not isinstance(posterior, Posterior)
    ):
        return _of_map(_as_pixels(posterior, owner), size, owner)
    rows = posterior if isinstance(posterior, Posterior) else _as_rows(posterior, owner)
    if size is None:
        raise InputError(
            f"{owner} needs the shape of the picture whose pixels are the {rows.n_rows} rows of "
            "the Posterior. Pass shape=(height, width)."
        )
    if math.prod(size) != rows.n_rows:
        raise ShapeError(
            f"{owner} got {rows.n_rows} rows for a picture of shape {size}, which has "
            f"{math.prod(size)} pixels."
        )
    return rows.log_probabilities.reshape(*size, -1), rows.labels


def _of_map(pixels: PosteriorMap, size: Shape | None, owner: str) -> tuple[Floats, Labels]:
    """Give the logs of a map, whose shape may be given again."""
    if size not in (None, pixels.shape):
        raise ShapeError(f"{owner} got the shape {size} for a map of shape {pixels.shape}.")
    with np.errstate(divide="ignore"):
        return np.log(pixels.probabilities), pixels.labels


def _as_rows(p: Any, owner: str) -> Posterior:
    """Turn an array with a row per pixel into a posterior."""
    array = as_floats(p, owner, "probabilities")
    if array.ndim != 2:
        raise ShapeError(
            f"{owner} with a shape needs probabilities of shape (n_pixels, n_labels). Got shape "
            f"{array.shape}."
        )
    return Posterior.from_probabilities(array, range(array.shape[1]))


def _as_pixels(p: Any, owner: str) -> PosteriorMap:
    """Turn an array of shape (…, K) into a map; a map is one already."""
    if isinstance(p, PosteriorMap):
        return p
    n_dimensions = np.ndim(p)
    if n_dimensions not in (3, 4):
        raise ShapeError(
            f"{owner} needs a PosteriorMap, a Posterior with a shape, or probabilities of shape "
            f"(height, width, n_labels) or (depth, height, width, n_labels). Got {n_dimensions} "
            "dimensions."
        )
    return PosteriorMap(p, range(np.shape(p)[-1]))


def _as_shape(shape: Any, owner: str) -> Shape:
    """Check the shape of a picture."""
    if not isinstance(shape, Iterable):
        raise InputError(f"The shape of {owner} must be (height, width). Got {shape!r}.")
    size = tuple(positive_int(length, owner, "shape") for length in shape)
    check_picture(size, owner, "picture")
    return size


def _without(logs: Floats, priors: Any, labels: Labels, owner: str) -> Floats:
    """Subtract log priors; a label whose prior is zero must have no probability anywhere."""
    for k in np.flatnonzero(priors == 0):
        if not np.isneginf(logs[..., k]).all():
            raise InputError(
                f"{owner}: the prior of {labels[k]!r} is 0, yet the posterior gives it some "
                "probability. Pass the priors that the posterior was made with."
            )
    shift = np.log(priors, out=np.zeros_like(priors), where=priors > 0)
    return logs - shift.astype(logs.dtype)


def wired(
    logs: F64,
    labels: Labels,
    axes: Sequence[Axis],
    strengths: Sequence[AxisStrength],
    unit_table: F64,
) -> Wiring:
    """Wire log potentials of shape (…, K) and the edges along each axis."""
    shape, k = logs.shape[:-1], len(labels)
    n = logs.size // k
    edges = np.concatenate([edge_list(shape, axis) for axis in axes])
    different, which = _distinct(shape, axes, strengths)
    start = starts(np.repeat([k, k * k], [n, len(different)]))
    tables = np.concatenate([logs.ravel(), np.multiply.outer(different, unit_table).ravel()])
    values, log_scale, log_values = from_logs(tables, start)
    m = len(edges)
    first = np.arange(n, dtype=np.int32)
    return Wiring(
        names=Coordinates(shape),
        states=Same(labels, n),
        n_states=np.full(n, k, dtype=np.int64),
        scope_start=np.concatenate([np.arange(n + 1), np.arange(n + 2, n + 2 * m + 1, 2)]),
        scope=np.concatenate([first, edges.ravel()]),
        table=np.concatenate([first, (n + which).astype(np.int32)]),
        table_start=start,
        values=values,
        log_scale=log_scale,
        log_values=log_values,
        owner=np.full(n + m, -1, dtype=np.int32),
    )


def _distinct(
    shape: Shape, axes: Sequence[Axis], strengths: Sequence[AxisStrength]
) -> tuple[F64, Int]:
    """Give the different strengths in rising order, and which of them each edge has."""
    counts = [math.prod(edge_shape(shape, axis)) for axis in axes]
    entries = [np.ravel(each)[:count] for each, count in zip(strengths, counts, strict=True)]
    different, which = np.unique(np.concatenate(entries), return_inverse=True)
    parts = np.split(which, np.cumsum([entry.size for entry in entries])[:-1])
    per_edge = [np.broadcast_to(part, count) for part, count in zip(parts, counts, strict=True)]
    return different, np.concatenate(per_edge)


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


@final
class GridField(AbstractGrid):
    r"""Model a picture by log potentials of its pixels and of neighbouring pairs.

    .. math:: p(x) \propto \exp U(x), \qquad
              U(x) = \sum_i \log \phi_i(x_i) + \sum_{ij} s_{ij}\, u(x_i, x_j)

    Parameters
    ----------
    log_potentials : array_like of shape (height, width, K) or (depth, height, width, K)
        :math:`\log \phi_i`, finite or minus infinity; float32 is kept.
    smoothness : Ising, Potts, TruncatedLinear or TruncatedQuadratic
        The log potential of an edge, with its strength.
    labels : sequence of K Hashable, optional
        Names of the labels; 0, …, K - 1 if not given.
    neighbours : int, optional
        4 or 8 in two dimensions, 6 in three; 4 or 6 if not given.

    Attributes
    ----------
    shape : tuple of int
        Number of pixels along each dimension.
    labels : tuple
        The labels, in order.
    n_labels : int
        Their number K.
    neighbours : int
        Number of neighbours of a pixel inside.
    axes : tuple of tuple of int
        The step from the lower pixel of an edge to the upper one, for each direction.
    smoothness : Ising, Potts, TruncatedLinear or TruncatedQuadratic
        As given.
    strengths : tuple of float or ndarray
        For each axis one number, or one per edge: entry [r, c] is the edge from pixel (r, c), or
        along (1, -1) from pixel (r, c + 1).
    log_potentials : ndarray of shape (…, K)
        Log potentials of the pixels, read-only.
    log_odds : ndarray
        Log potential of the second label minus that of the first, if there are two.

    Raises
    ------
    ShapeError
        If the arrays do not fit together.
    InputError
        If a log potential is NaN or plus infinity, or a pixel allows no label.

    See Also
    --------
    MarkovNetwork : Any graph of pairs.

    Notes
    -----
    A field is a complete MarkovNetwork: its variables are the pixels, named by their coordinates,
    its factors those of the pixels in row-major order, then those of the edges axis by axis. They
    are laid out when an engine asks for them. What is given is copied once, and not if it is
    read-only already.

    References
    ----------
    .. [1] D. Koller, N. Friedman, *Probabilistic Graphical Models*, MIT Press, 2009, box 4.B.

    Examples
    --------
    >>> import credo
    >>> from credo.graphs import GridField, Potts
    >>> field = GridField([[[0.0, 1.0], [0.2, 0.0]]], Potts(0.5), labels=["sky", "sea"])
    >>> field
    <GridField: 1x2 pixels, 2 labels, 4 neighbours, Potts(0.5)>
    >>> field.energy([["sea", "sea"]])
    1.5
    >>> credo.infer(field)[0, 1]
    Posterior(sky 0.4932, sea 0.5068)
    """

    @classmethod
    def ising(
        cls, field: Any, coupling: Any, *, labels: Any = (-1, 1), neighbours: int | None = None
    ) -> Self:
        r"""Make a field of two labels from one number per pixel.

        .. math:: U(x) = J \sum_{ij} x_i x_j + \sum_i h_i x_i, \qquad x_i \in \{-1, +1\}

        Parameters
        ----------
        field : array_like of shape (height, width) or (depth, height, width)
            Half the log odds h of the second label; float32 is kept. Infinite where the label is
            certain.
        coupling : float, sequence of float, or sequence of array_like
            The coupling J, as ``Ising`` takes it.
        labels : sequence of two Hashable, default (-1, 1)
            What -1 and +1 are called.
        neighbours : int, optional
            4 or 8 in two dimensions, 6 in three.

        Returns
        -------
        GridField
            The field; it holds one plane, and makes ``log_potentials`` when they are asked for.

        Raises
        ------
        InputError
            If a number is NaN.

        Examples
        --------
        >>> from credo.graphs import GridField
        >>> GridField.ising([[0.25, -0.5]], 1.0).log_potentials
        array([[[-0.25,  0.25],
                [ 0.5 , -0.5 ]]])
        """
        plane = as_plane(field, f"{_OWNER}.ising")
        return cls(plane, Ising(coupling), labels=labels, neighbours=neighbours)

    @classmethod
    def from_flips(
        cls,
        image: Any,
        flip_probability: Any,
        smoothness: Any,
        *,
        labels: Any = None,
        neighbours: int | None = None,
    ) -> Self:
        r"""Make a field from a two-valued image whose pixels were flipped by chance.

        .. math:: h_i = \beta_i y_i, \qquad
                  \beta_i = \tfrac12 \log \frac{1 - \epsilon_i}{\epsilon_i}

        Here y is -1 where the image shows the first label, +1 where it shows the second.

        Parameters
        ----------
        image : array_like of shape (height, width) or (depth, height, width)
            The label that each pixel shows.
        flip_probability : float or array_like of the shape of the image
            Probability :math:`\epsilon` that a pixel shows the other label; at 0 and 1 the label
            is certain, at 0.5 nothing is known.
        smoothness : Ising, Potts, TruncatedLinear or TruncatedQuadratic; or a coupling
            A coupling J stands for ``Ising(J)``.
        labels : sequence of two Hashable, optional
            The two values; those found in the image, in order, if not given.
        neighbours : int, optional
            4 or 8 in two dimensions, 6 in three.

        Returns
        -------
        GridField
            The field; it holds one plane.

        Raises
        ------
        LabelError
            If the image has another value; names the pixel.
        InputError
            If the image has one value only, or a probability is not between 0 and 1.

        Examples
        --------
        >>> from credo.graphs import GridField
        >>> field = GridField.from_flips([[0, 255]], 0.1, 0.8)
        >>> field.labels, field.log_odds.round(3)
        ((0, 255), array([[-2.197,  2.197]]))
        """
        owner = f"{_OWNER}.from_flips"
        plane, names = _from_flips(image, flip_probability, labels, owner)
        is_one = isinstance(smoothness, AbstractSmoothness)
        edges = smoothness if is_one else Ising(smoothness)
        return cls(plane, edges, labels=names, neighbours=neighbours)

    @classmethod
    def from_gaussian(
        cls,
        image: Any,
        levels: Any,
        sigma: Any,
        smoothness: AbstractSmoothness,
        *,
        labels: Any = None,
        neighbours: int | None = None,
    ) -> Self:
        r"""Make a field from an image with Gaussian noise.

        .. math:: \log \phi_i(k) = -\frac{(y_i - \mu_k)^2}{2 \sigma_i^2}

        Parameters
        ----------
        image : array_like of shape (height, width) or (depth, height, width)
            What was observed, y; NaN where nothing was. The potentials are float32 if it is.
        levels : sequence of K float
            The value :math:`\mu_k` of each label without noise.
        sigma : float or array_like of the shape of the image
            Standard deviation of the noise.
        smoothness : Ising, Potts, TruncatedLinear or TruncatedQuadratic
            The log potential of an edge.
        labels : sequence of K Hashable, optional
            Names of the labels; the levels themselves if not given.
        neighbours : int, optional
            4 or 8 in two dimensions, 6 in three.

        Returns
        -------
        GridField
            The field.

        Raises
        ------
        InputError
            If the image is infinite somewhere, or a standard deviation is not above 0.

        Examples
        --------
        >>> from credo.graphs import GridField, TruncatedLinear
        >>> noisy = [[12.0, 31.0, float("nan")]]
        >>> field = GridField.from_gaussian(noisy, [10, 20, 30], 2.0, TruncatedLinear(0.5))
        >>> field.labels, field.log_potentials[0, 0]
        ((10, 20, 30), array([ -0.5,  -8. , -40.5]))
        """
        owner = f"{_OWNER}.from_gaussian"
        planes, names = _from_gaussian(image, levels, sigma, labels, owner)
        return cls(planes, smoothness, labels=names, neighbours=neighbours)

    @classmethod
    def from_confusion(
        cls,
        image: Any,
        confusion: Any,
        smoothness: AbstractSmoothness,
        *,
        labels: Any,
        observed: Any = None,
        neighbours: int | None = None,
    ) -> Self:
        r"""Make a field from an image of labels that were mistaken for each other.

        .. math:: \log \phi_i(k) = \log p(y_i \mid x_i = k)

        Parameters
        ----------
        image : array_like of shape (height, width) or (depth, height, width)
            The label that each pixel shows.
        confusion : array_like of shape (K, K) or (K, number of observed values)
            ``confusion[k, j]`` is the probability that label k shows as value j; rows sum to 1.
        smoothness : Ising, Potts, TruncatedLinear or TruncatedQuadratic
            The log potential of an edge.
        labels : sequence of K Hashable
            Names of the labels.
        observed : sequence of Hashable, optional
            The values that the image may have, in the order of the columns; the labels if not
            given.
        neighbours : int, optional
            4 or 8 in two dimensions, 6 in three.

        Returns
        -------
        GridField
            The field.

        Raises
        ------
        LabelError
            If the image has another value; names the pixel.
        InputError
            If a row of the confusion is no distribution.

        Examples
        --------
        >>> from credo.graphs import GridField, Potts
        >>> field = GridField.from_confusion(
        ...     [["sea", "sky"]], [[0.9, 0.1], [0.2, 0.8]], Potts(1.0), labels=["sky", "sea"])
        >>> field.log_odds.round(3)
        array([[ 2.079, -1.504]])
        """
        owner = f"{_OWNER}.from_confusion"
        planes, names = _from_confusion(image, confusion, labels, observed, owner)
        return cls(planes, smoothness, labels=names, neighbours=neighbours)

    @classmethod
    def from_posterior(
        cls,
        posterior: Any,
        smoothness: AbstractSmoothness,
        *,
        shape: Any = None,
        priors: Any = None,
        neighbours: int | None = None,
    ) -> Self:
        r"""Make a field from the posterior that a classifier gave for each pixel.

        .. math:: \log \phi_i(k) = \log p(k \mid y_i) - \log \pi_k

        Parameters
        ----------
        posterior : PosteriorMap, Posterior, or array_like of shape (…, K) or (n, K)
            Probabilities of the labels at each pixel; those of an array are named 0, …, K - 1.
        smoothness : Ising, Potts, TruncatedLinear or TruncatedQuadratic
            The log potential of an edge.
        shape : tuple of int, optional
            Shape of the picture whose pixels, in row-major order, are the rows of a Posterior or
            of an array of shape (n, K).
        priors : dict or sequence of K float, optional
            The priors :math:`\pi` that the posterior was made with: they are divided out, and the
            field's own takes their place. If not given, they stay.
        neighbours : int, optional
            4 or 8 in two dimensions, 6 in three.

        Returns
        -------
        GridField
            The field, with the labels of the posterior.

        Raises
        ------
        ShapeError
            If the rows do not fit the shape.
        InputError
            If a prior is zero and the posterior gives its label some probability.

        Examples
        --------
        >>> from credo import Posterior
        >>> from credo.graphs import GridField, Potts
        >>> rows = Posterior.from_probabilities([[0.9, 0.1], [0.5, 0.5]], ["sky", "sea"])
        >>> field = GridField.from_posterior(rows, Potts(1.0), shape=(1, 2), priors=[0.9, 0.1])
        >>> field.log_odds.round(3)
        array([[0.   , 2.197]])
        """
        owner = f"{_OWNER}.from_posterior"
        planes, names = _from_posterior(posterior, shape, priors, owner)
        return cls(planes, smoothness, labels=names, neighbours=neighbours)
