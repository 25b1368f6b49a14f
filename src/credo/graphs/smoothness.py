"""How strongly neighbours prefer equal labels: the log potentials of edges, and their strengths."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, final

import numpy as np

from credo import _checks as check
from credo._records import Value
from credo._types import F64
from credo.exceptions import InputError, ShapeError
from credo.graphs.grid_coordinates import Axis, AxisStrength, Shape, edge_shape

#: One strength for all edges, or one entry per axis.
Strength: TypeAlias = float | tuple[AxisStrength, ...]


def _as_strength(given: Any, what: str, least: float) -> Strength:
    """Check a number, or one number or array per axis; arrays are copied and read-only."""
    is_array = isinstance(given, np.ndarray) and given.ndim > 0
    if not (is_array or (isinstance(given, Sequence) and not isinstance(given, str))):
        return check.number(given, what, least)
    if not len(given):
        raise InputError(f"The {what} needs one entry per axis. Got none.")
    entries = [check.finite(entry, what) for entry in given]
    for entry in entries:
        if entry.size:
            check.number(entry.min(), what, least)
    return tuple(check.frozen(np.array(e, order="C")) if e.ndim else float(e) for e in entries)


class AbstractSmoothness(ABC):
    """A strength times a function of how far apart the positions of two labels are.

    The strength is the first field; a limit may follow.
    """

    _only_two: ClassVar[bool] = False
    _least: ClassVar[float] = -math.inf

    def __post_init__(self) -> None:
        """Check the strength, and the limit: a number above zero, which may be infinite."""
        (name, strength), *rest = vars(self).items()
        kind = type(self).__name__
        object.__setattr__(self, name, _as_strength(strength, f"{name} of {kind}", self._least))
        for _, limit in rest:
            number = check.floats(limit, f"limit of {kind}")
            if number.ndim or not number > 0:
                raise InputError(f"The limit of {kind} must be one number above 0. Got {limit!r}.")
            object.__setattr__(self, "limit", float(number))

    @property
    def strength(self) -> Strength:
        """Return the first argument: a number, or a tuple of one number or array per axis."""
        found: Strength = next(iter(vars(self).values()))
        return found

    def strengths(self, shape: Shape, axes: Sequence[Axis], owner: str) -> tuple[AxisStrength, ...]:
        """Return the strength along each axis of a picture; arrays must have an entry per edge."""
        strength, who = self.strength, f"The {type(self).__name__} of {owner}"
        if isinstance(strength, float):
            return (strength,) * len(axes)
        if len(strength) != len(axes):
            raise ShapeError(
                f"{who} needs one number, or one entry for each of the {len(axes)} axes "
                f"{check.listing(axes)}. Got {len(strength)}."
            )
        for entry, axis in zip(strength, axes, strict=True):
            if not isinstance(entry, float) and entry.shape != edge_shape(shape, axis):
                shapes = ", ".join(f"{edge_shape(shape, each)} along {each}" for each in axes)
                raise ShapeError(
                    f"{who} needs one number per edge of a picture of shape {shape}: arrays of "
                    f"shape {shapes}. Got shape {entry.shape} along {axis}."
                )
        return strength

    @abstractmethod
    def _by_distance(self, distance: F64) -> F64:
        """Return the log potential of strength one at each distance."""

    def units(self, n_labels: int) -> F64:
        """Return the log potential of strength one at the distances 0, …, n_labels - 1."""
        kind = type(self).__name__
        count = check.count(n_labels, f"number of labels of {kind}")
        if self._only_two and count != 2:
            raise InputError(
                f"{kind} is for two labels. Got {count}. Use Potts with twice the coupling."
            )
        return self._by_distance(np.arange(count, dtype=np.float64))

    def unit_table(self, n_labels: int) -> F64:
        """Return the log potential of strength one for each pair of labels, by position."""
        units = self.units(n_labels)
        places = np.arange(n_labels)
        return units[np.abs(places[:, np.newaxis] - places)]

    def _key(self) -> tuple[Any, ...]:
        """Return what is equal for equal ones."""
        strength, *limit = vars(self).values()
        entries = strength if isinstance(strength, tuple) else [strength]
        same = (e if isinstance(e, float) else (e.shape, e.tobytes()) for e in entries)
        return type(self), isinstance(strength, tuple), *limit, *same

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractSmoothness) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        """Be read-only again after a way through another process."""
        return type(self), tuple(vars(self).values())

    def __repr__(self) -> str:
        strength, *limit = vars(self).values()
        entries = strength if isinstance(strength, tuple) else [strength]
        parts = [f"{e:g}" if isinstance(e, float) else f"<array {e.shape}>" for e in entries]
        shown = f"({', '.join(parts)})" if isinstance(strength, tuple) else parts[0]
        bound = "".join(f", limit={each:g}" for each in limit if each < math.inf)
        return f"{type(self).__name__}({shown}{bound})"


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
    coupling: Value

    def _by_distance(self, distance: F64) -> F64:
        """Return +1 for equal labels, -1 for others."""
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

    coupling: Value

    def _by_distance(self, distance: F64) -> F64:
        """Return 1 for equal labels, 0 for others."""
        return np.where(distance == 0, 1.0, 0.0)


@final
@dataclass(frozen=True, eq=False, repr=False)
class TruncatedLinear(AbstractSmoothness):
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

    _least: ClassVar[float] = 0.0
    slope: Value
    limit: float = math.inf

    def _by_distance(self, distance: F64) -> F64:
        """Return minus the distance, cut at the limit."""
        return -np.minimum(distance, self.limit)


@final
@dataclass(frozen=True, eq=False, repr=False)
class TruncatedQuadratic(AbstractSmoothness):
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

    _least: ClassVar[float] = 0.0
    slope: Value
    limit: float = math.inf

    def _by_distance(self, distance: F64) -> F64:
        """Return minus the squared distance, cut at the limit."""
        return -np.minimum(distance**2, self.limit)
