"""``JointDensity``: numbers chosen as a function y(x), from a joint density of x and truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo import _checks as check
from credo._results import Immutable
from credo._types import F64, Int
from credo.decisions.predictive import EachRow, pieces, rule
from credo.exceptions import InputError, ShapeError

#: A range is cut into so many pieces before these are halved.
_PIECES = 32
#: This many x are integrated at once.
_BLOCK = 512
#: Halvings of a piece, to the last digit.
_HALVINGS = 60


@dataclass(frozen=True, slots=True, eq=False)
class JointDensity(Immutable):
    r"""Describe a joint density p(x, t) of what is seen, x, and of the truth, a number t.

    .. math:: p(t \mid x) = \frac{p(x, t)}{\int p(x, t')\, dt'}

    ``decide_value(joint.given(x), loss)`` chooses y(x), for one x or many;
    ``split_squared(joint, y)`` splits the expected squared loss of a whole function y.

    Parameters
    ----------
    density : callable
        ``density(x, t)`` takes two 1-D arrays of one length and gives an array of densities, at
        least 0. A common factor does not matter.
    x, t : pair of float
        Lower and upper end of their ranges. What is outside is left out.

    Raises
    ------
    InputError
        If an end is not finite, or a range is empty.

    See Also
    --------
    credo.decide_value : The best value under a loss.
    credo.families.MultivariateGaussian : Has ``condition``, in closed form.

    Notes
    -----
    Integrals are adaptive: to about ten digits of a smooth density, kinks included, and to about
    1e-4 of one that jumps; ``split_squared`` says so if it does not settle. A peak narrower than a
    thousandth of the range may be missed, so ranges should not be much wider than needed. Each x
    costs some thousand densities, ``split_squared`` about a million.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 1.5.5.

    Examples
    --------
    Of x the truth is a tenth more or less, each as likely as its distance from the other.

    >>> import credo, numpy as np
    >>> from credo.decisions import JointDensity, split_squared
    >>> joint = JointDensity(lambda x, t: x + t, x=(0, 1), t=(0, 1))
    >>> credo.decide_value(joint.given([0.0, 0.5, 1.0]), "squared").value.round(4)
    array([0.6667, 0.5833, 0.5556])
    >>> split_squared(joint, lambda x: np.full_like(x, 0.5))
    SquaredSplit(squared_bias=0.00762925, variance=0.0757041, total=0.0833333)
    """

    density: Callable[[F64, F64], Any]
    x: tuple[float, float]
    t: tuple[float, float]

    def __post_init__(self) -> None:
        if not callable(self.density):
            raise InputError(
                f"JointDensity needs a function density(x, t). Got {type(self.density).__name__}."
            )
        for name in ("x", "t"):
            ends = check.finite(getattr(self, name), f"range of {name} of JointDensity")
            if ends.shape != (2,) or not ends[0] < ends[1]:
                raise InputError(
                    f"The range of {name} of JointDensity must be a pair, the lower end first. "
                    f"Got {getattr(self, name)}."
                )
            self._set(**{name: (float(ends[0]), float(ends[1]))})

    def __repr__(self) -> str:
        (a, b), (c, d) = self.x, self.t
        return f"JointDensity(x from {a:g} to {b:g}, t from {c:g} to {d:g})"

    def given(self, x: Any) -> EachRow:
        """Return what is believed about the truth given x.

        Parameters
        ----------
        x : float or array-like
            Where; inside the range.

        Returns
        -------
        predictive
            What ``decide_value`` and ``split_squared`` take, with the shape of ``x``.

        Raises
        ------
        InputError
            If an x is outside of its range, or has no density at any t.
        """
        seen = check.finite(x, "x of JointDensity.given")
        for one in seen[(seen < self.x[0]) | (seen > self.x[1])].tolist():
            raise InputError(
                f"JointDensity.given: x must be from {self.x[0]:g} to {self.x[1]:g}, its range. "
                f"Got {one:g}."
            )
        parts = []
        for block in check.blocks(seen.size, _BLOCK):
            here = seen.ravel()[block]
            left, right, masses, which = _pieces(self, here)
            for i, one in enumerate(here.tolist()):
                own = np.flatnonzero(which == i)
                own = own[np.argsort(left[own])]
                if not masses[own].sum() > 0:
                    raise InputError(
                        f"JointDensity.given: at x = {one:g} the density is 0 for all t looked at, "
                        f"from {self.t[0]:g} to {self.t[1]:g}. Check the range of t."
                    )
                parts.append(_Section(self, one, left[own], right[own], masses[own]))
        return EachRow(seen.shape, parts)


def split_over_x(joint: JointDensity, y: Any) -> tuple[float, float]:
    """Return E[(y(x) - E[t | x])²] and E[var[t | x]], integrals over x."""
    if not callable(y):
        raise InputError(
            f"split_squared of a JointDensity needs a function y(x). Got {type(y).__name__}. "
            "For a single x pass joint.given(x)."
        )

    def terms(x: F64) -> tuple[F64, F64, F64]:
        """Return p(x), and this times the excess and times the variance."""
        chosen = check.finite(y(x), "values y(x) of split_squared")
        if chosen.shape != x.shape:
            raise ShapeError(
                f"split_squared: y(x) must give one number per x, shape {x.shape}. Got shape "
                f"{chosen.shape}. Write it with NumPy functions, so that x may be an array."
            )
        found = [_moments(joint, x[block]) for block in check.blocks(len(x), _BLOCK)]
        p, mean, variance = np.concatenate(found, axis=1)
        return p, p * np.square(chosen - mean), p * variance

    def both(x: F64, which: Int) -> F64:
        p, excess, rest = terms(x)
        return np.where(which, excess + rest, p)

    # The excess alone may be nothing but rounding, which does not settle: the total does.
    left, right, sums, which = pieces(both, np.linspace(*joint.x, _PIECES // 2 + 1), 2, 1e-9)
    mass, total = float(sums[which == 0].sum()), which == 1
    if not mass > 0:
        raise InputError(f"split_squared: the density of {joint} is 0 wherever it was looked at.")
    excess, rest = (
        float(rule(lambda x, k=k: terms(x)[k], left[total], right[total]).sum()) for k in (1, 2)
    )
    return excess / mass, rest / mass


def _pieces(joint: JointDensity, x: F64) -> tuple[F64, F64, F64, Int]:
    """Integrate over t at each x."""
    return pieces(lambda t, i: _at(joint, x[i], t), np.linspace(*joint.t, _PIECES + 1), len(x))


def _moments(joint: JointDensity, x: F64) -> F64:
    """Return p(x), E[t | x] and var[t | x] at each x; zeros where there is no density."""
    left, right, masses, which = _pieces(joint, x)
    p, middle = np.bincount(which, masses, len(x)), 0.5 * (joint.t[0] + joint.t[1])
    size = np.where(p > 0, p, 1.0)

    def average(f: Callable[[F64, Int], F64]) -> F64:
        sums = rule(lambda t, i: f(t, i) * _at(joint, x[i], t), left, right, which)
        return np.bincount(which, sums, len(x)) / size

    shift = average(lambda t, _: t - middle)
    return np.array([p, middle + shift, average(lambda t, i: np.square(t - middle - shift[i]))])


def _at(joint: JointDensity, x: F64, t: F64) -> F64:
    """Ask the density, and check what it gives."""
    found = check.floats(joint.density(x, t), "density of JointDensity")
    if found.size == 1 == t.size:  # SciPy drops the axis of a single number
        found = found.reshape(1)
    if found.shape != t.shape:
        raise ShapeError(
            "JointDensity: density(x, t) must give one number for each x and t, shape "
            f"{t.shape}. Got shape {found.shape}. Write it with NumPy functions."
        )
    wrong = ~((found >= 0) & (found < np.inf))
    for i in np.flatnonzero(wrong):
        raise InputError(
            "JointDensity: densities must be finite and at least 0. Got "
            f"{found[i]:g} at x = {x[i]:g}, t = {t[i]:g}."
        )
    return found


class _Section:
    """p(t | x) at one x, in SciPy's language, on the pieces that it takes to integrate it."""

    def __init__(self, joint: JointDensity, x: float, left: F64, right: F64, masses: F64) -> None:
        self._joint, self._x = joint, np.array([x])
        self._left, self._right = left, right
        self._below = np.r_[0.0, np.cumsum(masses)]
        self.jumps = np.r_[left, right[-1]]

    def support(self) -> tuple[float, float]:
        return self._joint.t

    def pdf(self, t: Any) -> F64:
        t = np.asarray(t, dtype=np.float64)
        low, high = self._joint.t
        found = self._density(np.clip(t, low, high).ravel()).reshape(t.shape)
        return np.where((t >= low) & (t <= high), found, 0.0) / self._below[-1]

    def logpdf(self, t: Any) -> F64:
        return np.log(self.pdf(t))

    def ppf(self, q: Any) -> F64:
        """Find the piece, and halve it until there is nothing between its ends."""
        share = np.atleast_1d(q) * self._below[-1]
        piece = np.clip(np.searchsorted(self._below, share) - 1, 0, len(self._left) - 1)
        start = low = self._left[piece]
        high = self._right[piece]
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            short = self._below[piece] + rule(self._density, start, middle) < share
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        return high.reshape(np.shape(q))

    def isf(self, q: F64) -> F64:
        return self.ppf(1 - q)

    def mean(self) -> float:
        return float(_moments(self._joint, self._x)[1, 0])

    def var(self) -> float:
        return float(_moments(self._joint, self._x)[2, 0])

    def _density(self, t: F64) -> F64:
        return _at(self._joint, np.broadcast_to(self._x, t.shape), t)
