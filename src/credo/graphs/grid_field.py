"""``GridField``: a Markov random field on the pixels of a picture or a volume."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, NoReturn, Self, TypeAlias, final

import numpy as np

from credo import _checks as check
from credo._types import F64, Int, Labels
from credo.exceptions import InputError, ShapeError
from credo.graphs.factors import Potentials
from credo.graphs.grid_coordinates import (
    Coordinates,
    Shape,
    as_picture,
    axes_of,
    edge_energy,
    edge_list,
    edge_shape,
    first_pixel,
    lower_pixels,
    neighbours_in,
    positions_in,
)
from credo.graphs.markov_network import MarkovNetwork, wire_pairs
from credo.graphs.models import AnyFactor, WiredFactors
from credo.graphs.smoothness import AbstractSmoothness, Ising
from credo.graphs.variables import Same, Variables
from credo.graphs.wiring import Wiring, from_logs, starts
from credo.posterior import Posterior, PosteriorMap

#: Floats of either width.
Floats: TypeAlias = Any

_OWNER = "GridField"


@final
class GridField(MarkovNetwork):
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
    n_neighbours : int
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

    def __init__(
        self,
        log_potentials: Any,
        smoothness: AbstractSmoothness,
        *,
        labels: Any = None,
        neighbours: int | None = None,
    ) -> None:
        super().__init__()
        self._is_odds = isinstance(log_potentials, OddsPlane)
        given = log_potentials.held if self._is_odds else as_planes(log_potentials, _OWNER)
        self._planes = check.frozen(given)
        self.shape: Shape = given.shape if self._is_odds else given.shape[:-1]
        self.n_labels = 2 if self._is_odds else int(given.shape[-1])
        if not isinstance(smoothness, AbstractSmoothness):
            raise InputError(
                f"The smoothness of {_OWNER} must be an Ising, Potts, TruncatedLinear or "
                f"TruncatedQuadratic, such as Potts(0.5). Got {smoothness!r}."
            )
        smoothness.units(self.n_labels)
        names = range(self.n_labels) if labels is None else labels
        self.labels = check.labels(names, f"labels of {_OWNER}")
        if len(self.labels) != self.n_labels:
            raise ShapeError(
                f"{_OWNER} has potentials of {self.n_labels} labels. Got {len(self.labels)} "
                f"names: {check.listing(self.labels)}."
            )
        self.smoothness = smoothness
        self.n_neighbours = neighbours_in(len(self.shape), neighbours, _OWNER)
        self.axes = axes_of(len(self.shape), self.n_neighbours)
        self.strengths = smoothness.strengths(self.shape, self.axes, _OWNER)
        pixels = Coordinates(self.shape)
        self._variables = Variables(pixels, Same(self.labels, len(pixels)))

    # --- looking ---------------------------------------------------------------

    @property
    def log_potentials(self) -> Any:
        """Return the log potentials, shape (…, K); a field held as a plane makes them."""
        if self._is_odds:
            return check.frozen(_certain_is_zero(np.stack((-self._planes, self._planes), axis=-1)))
        return self._planes

    @property
    def log_odds(self) -> Any:
        """Return the second label's log potentials minus the first's; infinite where certain."""
        return self.log_odds_of(slice(None))

    def log_odds_of(self, rows: slice) -> Any:
        """Return the log odds of some rows of a picture, or some planes of a volume.

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
        held = self._planes[rows]
        with np.errstate(over="ignore"):
            return check.frozen(2 * held if self._is_odds else held[..., 1] - held[..., 0])

    def strength_plane(self, axis_number: int) -> F64:
        """Return the strengths of the edges along an axis at their lower pixels.

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
        if axis_number not in range(len(self.axes)):
            known = f"0 to {len(self.axes) - 1}: {check.listing(self.axes)}"
            raise InputError(f"{_OWNER} has the axes {known}. Got {axis_number!r}.")
        plane = np.zeros(self.shape)
        plane[lower_pixels(self.shape, self.axes[axis_number])] = self.strengths[axis_number]
        return plane

    def energy(self, labels_map: Any) -> float:
        r"""Return the log of the unnormalised probability of a map of labels.

        .. math:: U(x) = \sum_i \log \phi_i(x_i) + \sum_{ij} s_{ij}\, u(x_i, x_j)

        Parameters
        ----------
        labels_map : array_like of shape ``shape``
            A label for each pixel.

        Returns
        -------
        float
            The energy, larger for more probable pictures. A pixel that is certain
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
        shown = as_picture(labels_map, owner)
        if shown.shape != self.shape:
            raise ShapeError(f"{owner} needs a map of shape {self.shape}. Got shape {shown.shape}.")
        positions = positions_in(shown, self.labels, owner)
        edges = edge_energy(
            positions, self.axes, self.strengths, self.smoothness.units(self.n_labels)
        )
        if self._is_odds:
            return edges + odds_energy(self._planes, positions)
        places = positions.astype(np.intp)[..., np.newaxis]
        return edges + float(np.take_along_axis(self._planes, places, -1).sum(dtype=np.float64))

    def __repr__(self) -> str:
        size = "x".join(str(length) for length in self.shape)
        return (
            f"<{_OWNER}: {size} pixels, {self.n_labels} labels, {self.n_neighbours} neighbours, "
            f"{self.smoothness!r}>"
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

    @property
    def factors(self) -> Sequence[AnyFactor]:
        """Return the pixels' factors, then those of the edges."""
        return WiredFactors(self.compile())

    def _ends(self) -> Int:
        """Return the pixels of each edge, as they are laid out."""
        self.compile()
        return super()._ends()

    def _assemble(self, *, owned: bool = False) -> Wiring:  # noqa: ARG002 - the base has it
        """Lay out the nodes in row-major order, then the edges axis by axis."""
        logs = np.asarray(self.log_potentials, dtype=np.float64)
        axes, k = self.axes, self.n_labels
        counts = [math.prod(edge_shape(self.shape, axis)) for axis in axes]
        entries = [np.ravel(s)[:count] for s, count in zip(self.strengths, counts, strict=True)]
        different, which = np.unique(np.concatenate(entries), return_inverse=True)
        parts = np.split(which, np.cumsum([entry.size for entry in entries])[:-1])
        each = [np.broadcast_to(part, count) for part, count in zip(parts, counts, strict=True)]
        edges = np.concatenate([edge_list(self.shape, axis) for axis in axes])
        units = np.multiply.outer(different, self.smoothness.unit_table(k))
        start = starts(np.repeat([k, k * k], [logs.size // k, len(different)]))
        tables = Potentials(*from_logs(np.append(logs, units), start))
        return wire_pairs(self._variables.names, self.labels, edges, np.concatenate(each), tables)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the wiring, which can be made again, behind."""
        made = partial(type(self), labels=self.labels, neighbours=self.n_neighbours)
        return made, (OddsPlane(self._planes) if self._is_odds else self._planes, self.smoothness)

    # --- made of what was observed ---------------------------------------------

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
        seen = as_picture(image, owner)
        _check_picture(seen.shape, f"image of {owner}")
        names = check.labels(_two_values(seen, owner) if labels is None else labels, owner)
        if len(names) != 2:
            raise InputError(f"{owner} needs two labels. Got {len(names)}: {check.listing(names)}.")
        second = positions_in(seen, names, owner)
        flip = _per_pixel(flip_probability, seen.shape, f"flip probability of {owner}")
        good = (flip >= 0) & (flip <= 1)
        _check_all(flip, good, f"flip probability of {owner} must be between 0 and 1")
        with np.errstate(divide="ignore", over="ignore"):
            beta = np.log((1 - flip) / flip) / 2
        plane = as_plane(check.frozen(np.where(second, beta, -beta)), owner)
        edges = smoothness if isinstance(smoothness, AbstractSmoothness) else Ising(smoothness)
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
        seen = _as_floats(image, f"image of {owner}")
        _check_picture(seen.shape, f"image of {owner}")
        known = ~np.isinf(seen)
        _check_all(seen, known, f"image of {owner} must be finite, or NaN if unobserved")
        means = check.finite(levels, f"levels of {owner}")
        if means.ndim != 1 or not means.size:
            raise ShapeError(f"The levels of {owner} must be a list of numbers. Got {means.shape}.")
        spread = _per_pixel(sigma, seen.shape, f"sigma of {owner}")
        good = (spread > 0) & (spread < np.inf)
        _check_all(spread, good, f"sigma of {owner} must be above 0 and finite")
        names = check.names_array(levels) if labels is None else labels
        names = check.labels(names, f"labels of {owner}")
        logs = np.subtract(seen[..., np.newaxis], means, dtype=seen.dtype)
        with np.errstate(over="ignore"):
            logs /= spread[..., np.newaxis].astype(seen.dtype)
            np.square(logs, out=logs)
        logs *= -0.5
        logs[np.isnan(seen)] = 0
        return cls(check.frozen(logs), smoothness, labels=names, neighbours=neighbours)

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
            If a row of the confusion is not a distribution.

        Examples
        --------
        >>> from credo.graphs import GridField, Potts
        >>> field = GridField.from_confusion(
        ...     [["sea", "sky"]], [[0.9, 0.1], [0.2, 0.8]], Potts(1.0), labels=["sky", "sea"])
        >>> field.log_odds.round(3)
        array([[ 2.079, -1.504]])
        """
        owner = f"{_OWNER}.from_confusion"
        seen = as_picture(image, owner)
        _check_picture(seen.shape, f"image of {owner}")
        names = check.labels(labels, f"labels of {owner}")
        symbols = names if observed is None else observed
        symbols = check.labels(symbols, f"observed symbols of {owner}")
        table = check.floats(confusion, f"confusion of {owner}")
        if table.shape != (len(names), len(symbols)):
            raise ShapeError(
                f"The confusion of {owner} must have shape {(len(names), len(symbols))}: a row per "
                f"label, a column per value that is observed. Got shape {table.shape}."
            )
        remedy = "A row is p(observed | label)."
        check.distributions(table, f"The confusion of {owner}", remedy)
        with np.errstate(divide="ignore"):
            logs = np.log(table).T[positions_in(seen, symbols, owner)]
        return cls(check.frozen(logs), smoothness, labels=names, neighbours=neighbours)

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
        logs, labels = _log_posterior(posterior, shape, owner)
        if priors is not None:
            known = check.priors(priors, labels, f"priors of {owner}")
            for k in np.flatnonzero(known == 0):
                if not np.isneginf(logs[..., k]).all():
                    raise InputError(
                        f"{owner}: the prior of {labels[k]!r} is 0, yet the posterior gives it "
                        "some probability. Pass the priors that the posterior was made with."
                    )
            shift = np.log(known, out=np.zeros_like(known), where=known > 0)
            logs = logs - shift.astype(logs.dtype)
        return cls(check.frozen(logs), smoothness, labels=labels, neighbours=neighbours)


# --- log potentials of pixels ---------------------------------------------------------------------


class OddsPlane(NamedTuple):
    """Two labels by half their log odds h, checked: the log potentials are -h and +h.

    Where h is infinite one label is certain: its log potential is 0 and the other's -inf.
    """

    held: Floats


def odds_energy(half: Floats, positions: Any) -> float:
    """Sum the log potentials of labels given by their positions, by half the log odds."""
    terms = _certain_is_zero(np.where(positions, half, -half))
    return float(terms.sum(dtype=np.float64))


def _certain_is_zero(logs: Floats) -> Floats:
    """Put 0 in place of plus infinity."""
    if math.isinf(logs.max()):
        logs[np.isposinf(logs)] = 0
    return logs


def as_plane(half: Any, owner: str) -> OddsPlane:
    """Check half log odds: numbers, which may be infinite."""
    plane = _owned_floats(half, f"field of {owner}")
    _check_picture(plane.shape, f"field of {owner}")
    if math.isnan(plane.min()):
        _check_all(plane, ~np.isnan(plane), f"field of {owner} must be 0 where nothing is known")
    return OddsPlane(plane)


def as_planes(logs: Any, owner: str) -> Floats:
    """Check log potentials: finite or minus infinity, and one label possible at each pixel."""
    array = _owned_floats(logs, f"log potentials of {owner}")
    if array.ndim not in (3, 4) or not array.size:
        raise ShapeError(
            f"{owner} needs log potentials of shape (height, width, n_labels) or (depth, height, "
            f"width, n_labels), all at least 1. Got shape {array.shape}."
        )
    low, high = float(array.min()), float(array.max())
    if math.isnan(low) or high == math.inf:
        *pixel, label = first_pixel(np.isnan(array) | np.isposinf(array))
        raise InputError(
            f"The log potentials of {owner} must be finite or minus infinity. Got "
            f"{array[(*pixel, label)]:g} at pixel {tuple(pixel)}, label number {label}."
        )
    none = np.isneginf(array.max(axis=-1)) if low == -math.inf else np.zeros(1)
    if none.any():
        raise InputError(
            f"{owner}: pixel {first_pixel(none)} allows no label: all its log potentials are "
            "minus infinity."
        )
    return array


# --- what users give ------------------------------------------------------------------------------


def _check_picture(shape: Shape, what: str) -> None:
    """Check that there are two or three dimensions and at least one pixel."""
    if len(shape) not in (2, 3) or not math.prod(shape):
        raise ShapeError(
            f"The {what} must have shape (height, width) or (depth, height, width), all at least "
            f"1. Got shape {shape}."
        )


def _owned_floats(values: Any, what: str) -> Floats:
    """Return read-only floats that nobody else can write to; float32 stays float32.

    They are copied once, or not at all if they are read-only already.
    """
    array = _as_floats(values, what)
    made = isinstance(values, (np.ndarray, list, tuple)) and array is not values
    is_ours = (made and array.base is None) or check.is_read_only(array)
    if not (is_ours and array.flags.c_contiguous):
        array = np.array(array, order="C")
    return check.frozen(array)


def _as_floats(values: Any, what: str) -> Floats:
    """Return an array of native float32 if values are of this type, float64 if not."""
    is_single = getattr(values, "dtype", None) == np.float32
    if is_single and not np.ma.is_masked(values):
        return np.asarray(values, dtype=np.float32)
    return check.floats(values, what)


def _per_pixel(values: Any, shape: Shape, what: str) -> Floats:
    """Check one number, or one per pixel."""
    array = _as_floats(values, what)
    if array.ndim and array.shape != shape:
        raise ShapeError(
            f"The {what} must be one number or a map of shape {shape}. Got shape {array.shape}."
        )
    return array


def _check_all(values: Floats, good: Any, must: str) -> None:
    """Refuse numbers of which one is not good; name the first pixel that has one."""
    if not good.all():
        pixel = first_pixel(~good)
        where = f" at pixel {pixel}" if pixel else ""
        raise InputError(f"The {must}. Got {values[pixel]:g}{where}.")


def _two_values(seen: Any, owner: str) -> Iterable[Any]:
    """Return the two values of an image; a third one is found when they are looked up."""
    if seen.dtype.kind in "biuf":
        found = list(dict.fromkeys((seen.min(), seen.max())))
    else:
        found = check.distinct(seen.ravel(), f"labels of {owner}")
    if len(found) != 2:
        raise InputError(
            f"{owner} needs an image of two values. Got {len(found)}: "
            f"{check.listing([check.plain(value) for value in found])}. Pass the two labels, such "
            "as labels=(0, 1)."
        )
    return found


def _as_shape(shape: Any, owner: str) -> Shape:
    """Check the shape of a picture."""
    if not isinstance(shape, Iterable):
        raise InputError(f"The shape of {owner} must be (height, width). Got {shape!r}.")
    size = tuple(check.count(length, f"shape of {owner}") for length in shape)
    _check_picture(size, f"picture of {owner}")
    return size


def _log_posterior(posterior: Any, shape: Any, owner: str) -> tuple[Floats, Labels]:
    """Return log probabilities of shape (…, K) and the labels."""
    if not isinstance(posterior, Posterior | PosteriorMap):
        given = np.shape(posterior) or (0,)
        make = PosteriorMap if len(given) > 2 else Posterior.from_probabilities
        posterior = make(posterior, range(given[-1]))
    is_map = isinstance(posterior, PosteriorMap)
    with np.errstate(divide="ignore"):
        logs = np.log(posterior.probabilities) if is_map else posterior.log_probabilities
    if shape is None and not is_map:
        raise InputError(
            f"{owner} needs the shape of the picture whose pixels are the rows of the posterior, "
            f"{posterior.n_rows} of them. Pass shape=(height, width)."
        )
    size = posterior.shape if shape is None else _as_shape(shape, owner)
    if size != posterior.shape if is_map else math.prod(size) != posterior.n_rows:
        got = f"a map of {posterior.shape}" if is_map else f"{posterior.n_rows} rows"
        raise ShapeError(
            f"{owner} got {got} for a picture of shape {size}, which has {math.prod(size)} pixels."
        )
    return logs.reshape(*size, -1), posterior.labels
