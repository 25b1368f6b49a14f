"""How strongly neighbours want to be alike: the log potentials of edges, and their strengths."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, final

import numpy as np

from credo._types import F64
from credo._validation.arrays import as_finite, as_floats, as_number, frozen, positive_int
from credo._validation.labels import listing
from credo.exceptions import InputError, ShapeError
from credo.graphs.grid_coordinates import Axis, AxisStrength, Shape, edge_shape

#: One strength for all edges, or one entry per axis.
Strength: TypeAlias = float | tuple[AxisStrength, ...]


def as_strength(given: Any, owner: str, what: str, *, least: float = -np.inf) -> Strength:
    """Check a number, or one number or array per axis; arrays are copied and read-only."""
    if _is_single(given):
        return _at_least(as_number(given, owner, what), least, owner, what)
    if not len(given):
        raise InputError(f"The {what} of {owner} needs one entry per axis. Got none.")
    return tuple(_entry(entry, least, owner, what) for entry in given)


def _is_single(given: Any) -> bool:
    """Tell one value from a sequence with an entry per axis."""
    is_array = isinstance(given, np.ndarray) and given.ndim > 0
    return not (is_array or (isinstance(given, Sequence) and not isinstance(given, str)))


def _entry(entry: Any, least: float, owner: str, what: str) -> AxisStrength:
    """Check what is given for one axis."""
    array = as_finite(entry, owner, what)
    if not array.ndim:
        return _at_least(float(array), least, owner, what)
    if array.size:
        _at_least(float(array.min()), least, owner, what)
    copied: F64 = frozen(np.array(array, order="C"))
    return copied


def _at_least(number: float, least: float, owner: str, what: str) -> float:
    """Refuse a number below the least."""
    if number < least:
        raise InputError(f"The {what} of {owner} must be at least {least:g}. Got {number:g}.")
    return number


def strengths_on(
    strength: Strength, shape: Shape, axes: Sequence[Axis], owner: str
) -> tuple[AxisStrength, ...]:
    """Give the strength along each axis of a picture; arrays must have an entry per edge."""
    if isinstance(strength, float):
        return (strength,) * len(axes)
    if len(strength) != len(axes):
        raise ShapeError(
            f"{owner} needs one number, or one entry for each of the {len(axes)} axes "
            f"{listing(axes)}. Got {len(strength)}."
        )
    for entry, axis in zip(strength, axes, strict=True):
        wanted = edge_shape(shape, axis)
        if not isinstance(entry, float) and entry.shape != wanted:
            shapes = ", ".join(f"{edge_shape(shape, each)} along {each}" for each in axes)
            raise ShapeError(
                f"{owner} needs one number per edge of a picture of shape {shape}: arrays of shape "
                f"{shapes}. Got shape {entry.shape} along {axis}."
            )
    return strength


class AbstractSmoothness(ABC):
    """A strength times a function of how far apart the positions of two labels are."""

    _only_two: ClassVar[bool] = False

    @property
    @abstractmethod
    def strength(self) -> Strength:
        """Give the first argument: a number, or a tuple of one number or array per axis."""

    @abstractmethod
    def _by_distance(self, distance: F64) -> F64:
        """Give the log potential of strength one at each distance."""

    def units(self, n_labels: int) -> F64:
        """Give the log potential of strength one at the distances 0, …, n_labels - 1."""
        count = positive_int(n_labels, type(self).__name__, "number of labels")
        if self._only_two and count != 2:
            raise InputError(
                f"{type(self).__name__} is for two labels. Got {count}. Use Potts with twice the "
                "coupling."
            )
        return self._by_distance(np.arange(count, dtype=np.float64))

    def unit_table(self, n_labels: int) -> F64:
        """Give the log potential of strength one for each pair of labels, by position."""
        units = self.units(n_labels)
        places = np.arange(n_labels)
        return units[np.abs(places[:, np.newaxis] - places)]

    def _key(self) -> tuple[Any, ...]:
        """Give what tells two of the same kind apart."""
        strength = self.strength
        entries = (strength,) if isinstance(strength, float) else strength
        return isinstance(strength, float), *(_comparable(entry) for entry in entries)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AbstractSmoothness):
            return NotImplemented
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def __reduce__(self) -> tuple[Any, ...]:
        """Be read-only again after a way through another process."""
        return type(self), tuple(vars(self).values())


def _comparable(entry: AxisStrength) -> Any:
    """Give a value that is equal for equal strengths."""
    return entry if isinstance(entry, float) else (entry.shape, entry.tobytes())


def _shown(strength: Strength) -> str:
    """Show a strength; arrays by their shape only."""
    if isinstance(strength, float):
        return f"{strength:g}"
    parts = [f"{s:g}" if isinstance(s, float) else f"<array {s.shape}>" for s in strength]
    return f"({', '.join(parts)})"


@final
@dataclass(frozen=True, eq=False, repr=False)
class Ising(AbstractSmoothness):
    r"""Reward equal neighbours and punish unequal ones; for two labels.

    .. math:: \log \psi(x_i, x_j) = J x_i x_j, \qquad x \in \{-1, +1\}

    Parameters
    ----------
    coupling : float, sequence of float, or sequence of array_like
        The strength J: one number for all edges; or one entry per axis, each a number or an array
        with one number per edge. Negative numbers make neighbours differ.

    Attributes
    ----------
    strength : float or tuple
        The coupling.

    Raises
    ------
    InputError
        If a coupling is not a finite number.

    See Also
    --------
    Potts : The same for any number of labels; Potts of 2J is Ising of J.
    GridField : Where it is used.

    References
    ----------
    .. [1] D. Koller, N. Friedman, *Probabilistic Graphical Models*, MIT Press, 2009, box 4.C.

    Examples
    --------
    >>> from credo.graphs import Ising
    >>> Ising(0.8)
    Ising(0.8)
    >>> Ising(0.8).unit_table(2)
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    _only_two: ClassVar[bool] = True
    coupling: Any

    def __post_init__(self) -> None:
        """Check the coupling."""
        object.__setattr__(self, "coupling", as_strength(self.coupling, "Ising", "coupling"))

    @property
    def strength(self) -> Strength:
        """Give the coupling."""
        return self.coupling

    def __repr__(self) -> str:
        return f"Ising({_shown(self.strength)})"

    def _by_distance(self, distance: F64) -> F64:
        """Give +1 for equal labels, -1 for others."""
        return np.where(distance == 0, 1.0, -1.0)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Potts(AbstractSmoothness):
    r"""Reward equal neighbours; all unequal ones are alike.

    .. math:: \log \psi(x_i, x_j) = J\, [x_i = x_j]

    Parameters
    ----------
    coupling : float, sequence of float, or sequence of array_like
        The strength J: one number for all edges; or one entry per axis, each a number or an array
        with one number per edge. Negative numbers make neighbours differ.

    Attributes
    ----------
    strength : float or tuple
        The coupling.

    Raises
    ------
    InputError
        If a coupling is not a finite number.

    See Also
    --------
    Ising : Two labels; Ising of J is Potts of 2J.
    GridField : Where it is used.

    References
    ----------
    .. [1] D. Koller, N. Friedman, *Probabilistic Graphical Models*, MIT Press, 2009, box 4.C.

    Examples
    --------
    >>> from credo.graphs import Potts
    >>> Potts((1.0, 0.5))
    Potts((1, 0.5))
    >>> Potts(1.0).unit_table(2)
    array([[1., 0.],
           [0., 1.]])
    """

    coupling: Any

    def __post_init__(self) -> None:
        """Check the coupling."""
        object.__setattr__(self, "coupling", as_strength(self.coupling, "Potts", "coupling"))

    @property
    def strength(self) -> Strength:
        """Give the coupling."""
        return self.coupling

    def __repr__(self) -> str:
        return f"Potts({_shown(self.strength)})"

    def _by_distance(self, distance: F64) -> F64:
        """Give 1 for equal labels, 0 for others."""
        return np.where(distance == 0, 1.0, 0.0)


class AbstractTruncated(AbstractSmoothness):
    """A penalty that grows with the distance up to a limit."""

    slope: Any
    limit: float

    def __post_init__(self) -> None:
        """Check the slope and the limit."""
        owner = type(self).__name__
        object.__setattr__(self, "slope", as_strength(self.slope, owner, "slope", least=0.0))
        object.__setattr__(self, "limit", _as_limit(self.limit, owner))

    @property
    def strength(self) -> Strength:
        """Give the slope."""
        return self.slope

    def __repr__(self) -> str:
        limit = "" if self.limit == math.inf else f", limit={self.limit:g}"
        return f"{type(self).__name__}({_shown(self.strength)}{limit})"

    def _key(self) -> tuple[Any, ...]:
        """Tell limits apart as well."""
        return self.limit, *super()._key()


def _as_limit(limit: Any, owner: str) -> float:
    """Check a limit: a number above zero, which may be infinite."""
    number = as_floats(limit, owner, "limit")
    if number.ndim or not number > 0:
        raise InputError(f"The limit of {owner} must be one number above 0. Got {limit!r}.")
    return float(number)


@final
@dataclass(frozen=True, eq=False, repr=False)
class TruncatedLinear(AbstractTruncated):
    r"""Punish neighbours by how far apart they are, up to a limit.

    .. math:: \log \psi(x_i, x_j) = -s \min(|a - b|, t)

    Here a and b are the positions of the labels.

    Parameters
    ----------
    slope : float, sequence of float, or sequence of array_like
        The strength s, at least 0: one number for all edges; or one entry per axis, each a number
        or an array with one number per edge.
    limit : float, default inf
        The distance t, above 0, from which on all distances are alike: edges of objects are kept.

    Attributes
    ----------
    strength : float or tuple
        The slope.

    Raises
    ------
    InputError
        If a slope is negative, or the limit is not above 0.

    See Also
    --------
    TruncatedQuadratic : Small distances cost less, large ones more.
    GridField : Where it is used.

    References
    ----------
    .. [1] P. F. Felzenszwalb, D. P. Huttenlocher, "Efficient belief propagation for early vision",
       International Journal of Computer Vision 70, 2006, section 3.2.

    Examples
    --------
    >>> from credo.graphs import TruncatedLinear
    >>> TruncatedLinear(0.5, limit=2).unit_table(4)[0]
    array([-0., -1., -2., -2.])
    """

    slope: Any
    limit: float = math.inf

    def _by_distance(self, distance: F64) -> F64:
        """Give minus the distance, cut at the limit."""
        return -np.minimum(distance, self.limit)


@final
@dataclass(frozen=True, eq=False, repr=False)
class TruncatedQuadratic(AbstractTruncated):
    r"""Punish neighbours by the square of how far apart they are, up to a limit.

    .. math:: \log \psi(x_i, x_j) = -s \min((a - b)^2, t)

    Here a and b are the positions of the labels.

    Parameters
    ----------
    slope : float, sequence of float, or sequence of array_like
        The strength s, at least 0: one number for all edges; or one entry per axis, each a number
        or an array with one number per edge.
    limit : float, default inf
        The squared distance t, above 0, from which on all distances are alike.

    Attributes
    ----------
    strength : float or tuple
        The slope.

    Raises
    ------
    InputError
        If a slope is negative, or the limit is not above 0.

    See Also
    --------
    TruncatedLinear : Large distances cost less, small ones more.
    GridField : Where it is used.

    References
    ----------
    .. [1] P. F. Felzenszwalb, D. P. Huttenlocher, "Efficient belief propagation for early vision",
       International Journal of Computer Vision 70, 2006, section 3.3.

    Examples
    --------
    >>> from credo.graphs import TruncatedQuadratic
    >>> TruncatedQuadratic(0.5, limit=5).unit_table(4)[0]
    array([-0., -1., -4., -5.])
    """

    slope: Any
    limit: float = math.inf

    def _by_distance(self, distance: F64) -> F64:
        """Give minus the squared distance, cut at the limit."""
        return -np.minimum(distance**2, self.limit)
