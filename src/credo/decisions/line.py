"""Decision regions on the line: which act where, the thresholds between, and the risk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from credo import _checks as check
from credo._results import Drawable, as_plain, html_table, number
from credo._types import F64, Bool, Label, Labels, PerLabel
from credo.decisions.crossings import MASS_TOLERANCE, Density, Range, Setting, cells_of
from credo.decisions.loss import Loss, as_loss
from credo.exceptions import InputError, ShapeError


class Interval(NamedTuple):
    """A stretch of the line and the act taken there; an end may be infinite."""

    low: float
    high: float
    act: Label


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Regions(Drawable):
    r"""Hold the decision regions on a line, and what they cost.

    Made by ``credo.decisions.regions``; ``moved`` gives others to compare with. ``plot`` draws
    them: ``show="densities"``, "errors", "posteriors" or "risks".

    Attributes
    ----------
    densities : dict
        The density of each truth, as given.
    priors : ndarray of shape (K,)
        Priors in the order of the densities.
    loss : Loss
        The loss, its truths in any order.
    support : tuple of two floats
        The stretch of the line that is cut up.
    intervals : tuple of Interval
        ``(low, high, act)`` from left to right; neighbours have different acts.
    probability_table : ndarray of shape (K, A)
        :math:`P(a \mid k)`, the probability of each act if the truth is ``k``. Rows are in the
        order of the densities, columns in that of the loss.
    bayes_risk : float
        The least risk that any regions have. For moved regions it is still the least.
    setting : Setting
        Densities, priors and regrets lined up, for drawing.
    """

    densities: Mapping[Label, Any]
    priors: F64
    loss: Loss
    support: Range
    intervals: tuple[Interval, ...]
    probability_table: F64
    bayes_risk: float
    setting: Setting

    @property
    def truths(self) -> Labels:
        """Names of the classes, in the order of the densities."""
        return tuple(self.densities)

    @property
    def acts(self) -> Labels:
        """Names of the acts, in the order of the loss."""
        return self.loss.acts

    @property
    def thresholds(self) -> F64:
        """Points where the act changes, in ascending order."""
        return np.array([interval.high for interval in self.intervals[:-1]])

    @property
    def risk(self) -> float:
        r"""Expected loss of these regions, :math:`\sum_{k,a} \pi_k L_{ka} P(a \mid k)`."""
        return _risk(self.priors, self.losses, self.probability_table)

    @property
    def losses(self) -> F64:
        """Losses, shape (K, A), rows in the order of the densities."""
        return _losses(self.loss, self.truths)

    @property
    def is_error(self) -> Bool:
        """Which acts are errors for which truth, (K, A): they cost more than the cheapest.

        The reject act is left aside. For a zero-one loss, act and truth differ.
        """
        counts = np.array([act != self.loss.reject for act in self.acts])
        least = np.min(self.losses, axis=1, initial=np.inf, where=counts, keepdims=True)
        return (self.losses > least) & counts

    @property
    def best(self) -> Regions:
        """The regions of least risk: these, unless they were moved."""
        if self.risk <= self.bayes_risk:
            return self
        intervals = _intervals(self.setting, self.acts)
        table = _probability_table(self.setting, intervals, self.acts, self.truths)
        return replace(self, intervals=intervals, probability_table=table)

    @property
    def probability_of_error(self) -> float:
        """Probability of an act that is an error for the truth; rejecting is none."""
        return _risk(self.priors, self.is_error, self.probability_table)

    @property
    def shares(self) -> dict[Label, float]:
        """Probability that each act is taken."""
        return dict(zip(self.acts, (self.priors @ self.probability_table).tolist(), strict=True))

    def values(self) -> dict[Label, F64]:
        """Return the whole numbers at which each act is taken; impossible ones are left out.

        Returns
        -------
        {act: ndarray}
            In ascending order. What all classes together have less than 1e-16 beyond is not
            listed.

        Raises
        ------
        InputError
            If the regions are those of densities: these are ``intervals``.
        """
        if not self.setting.discrete:
            raise InputError(
                "Regions.values lists whole numbers, and these regions are of densities. Use "
                "intervals."
            )
        x = self.setting.numbers
        x = x[self.weighted_densities(x).any(axis=1)]
        taken = self.act_at(x)
        return {act: x[np.array([each == act for each in taken], dtype=bool)] for act in self.acts}

    def act_at(self, x: Any) -> Any:
        """Return the act taken at ``x``; on a threshold, the one that comes first in the loss.

        Parameters
        ----------
        x : float or array-like
            Points inside the support.

        Returns
        -------
        label or ndarray of labels
            One act per point.

        Raises
        ------
        InputError
            If a point lies outside the support.
        """
        points = check.finite(x, "points of Regions.act_at")
        low, high = self.support
        outside = (points < low) | (points > high)
        if outside.any():
            raise InputError(
                f"Regions.act_at: {points[outside].flat[0]:g} lies outside the support "
                f"({number(low)}, {number(high)})."
            )
        order = np.array([self.acts.index(interval.act) for interval in self.intervals])
        cuts = self.thresholds
        sides = (order[np.searchsorted(cuts, points, side=side)] for side in ("left", "right"))
        index = np.minimum(*sides)
        return check.names_array(self.acts)[index] if points.ndim else self.acts[int(index)]

    def weighted_densities(self, x: Any) -> F64:
        """Return prior × density of each class at the points ``x``, shape (n, K)."""
        points = check.vector(x, "points of Regions.weighted_densities")
        columns = [density.log_density(points) for density in self.setting.densities]
        with np.errstate(over="ignore"):  # at the end of a support it may be infinite
            return np.asarray(np.exp(np.stack(columns, axis=-1)) * self.priors)

    def moved(self, thresholds: Any) -> Regions:
        """Return regions with the same sequence of acts but other thresholds.

        Parameters
        ----------
        thresholds : float or array-like
            As many as before, strictly ascending and inside the support.

        Returns
        -------
        Regions
            Whose ``risk`` is at least ``bayes_risk``.

        Raises
        ------
        InputError
            If the thresholds are not as many as before, not ascending, or outside the support.

        Examples
        --------
        >>> from credo import Loss
        >>> from credo.decisions import regions
        >>> from credo.families import Gaussian
        >>> best = regions({"a": Gaussian(0, 1), "b": Gaussian(2, 1)}, [0.5, 0.5],
        ...                Loss.zero_one(["a", "b"]))
        >>> round(best.risk, 4), round(best.moved([1.5]).risk, 4)
        (0.1587, 0.1877)
        """
        cuts = np.atleast_1d(check.finite(thresholds, "thresholds of Regions.moved"))
        if self.setting.discrete:
            cuts = np.floor(cuts) + 0.5  # the same numbers are below it
        if cuts.shape != self.thresholds.shape:
            raise ShapeError(
                f"Regions.moved needs {len(self.intervals) - 1} thresholds, as many as before. "
                f"Got shape {cuts.shape}."
            )
        ends = [self.support[0], *cuts.tolist(), self.support[1]]
        if not all(low < high for low, high in pairwise(ends)):
            raise InputError(
                "The thresholds of Regions.moved must ascend strictly inside the support "
                f"({number(ends[0])}, {number(ends[-1])}). Got {cuts.tolist()}."
            )
        intervals = tuple(
            Interval(low, high, interval.act)
            for (low, high), interval in zip(pairwise(ends), self.intervals, strict=True)
        )
        table = _probability_table(self.setting, intervals, self.acts, self.truths)
        return replace(self, intervals=intervals, probability_table=table)

    def to_dict(self) -> dict[str, Any]:
        """Return the regions as plain lists and numbers; an infinite end is None."""
        return {
            "intervals": [
                {name: as_plain(part) for name, part in cell._asdict().items()}
                for cell in self.intervals
            ],
            "thresholds": self.thresholds.tolist(),
            "risk": self.risk,
            "bayes_risk": self.bayes_risk,
            "probability_of_error": self.probability_of_error,
            "shares": self.shares,
            "priors": dict(zip(self.truths, self.priors.tolist(), strict=True)),
            "probability_table": self.probability_table.tolist(),
        }

    def __str__(self) -> str:
        """Write the intervals with their acts, then the risk."""
        rows = [("from", "to", "act")]
        for low, high, act in self.intervals:
            first, last = (
                (np.ceil(low) + 0.0, np.floor(high)) if self.setting.discrete else (low, high)
            )
            rows.append((number(first), number(last), str(act)))
        wide = [max(len(row[i]) for row in rows) for i in range(2)]
        lines = [f"{a.rjust(wide[0])}  {b.rjust(wide[1])}  {act}" for a, b, act in rows]
        excess = (
            "" if self.risk <= self.bayes_risk else f" (least possible {number(self.bayes_risk)})"
        )
        shares = ", ".join(f"{act} {number(share)}" for act, share in self.shares.items())
        error = number(self.probability_of_error)
        lines.append(f"risk {number(self.risk)}{excess}, probability of error {error}")
        return "\n".join([*lines, f"shares: {shares}"])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        caption = f"Decision regions: risk {number(self.risk)}"
        return html_table(caption, ("from", "to", "act"), self.intervals, len(self.intervals))


def regions(
    densities: Mapping[Any, Any],
    priors: PerLabel,
    loss: Loss,
    support: tuple[float, float] | None = None,
) -> Regions:
    r"""Cut the line, or the whole numbers, into decision regions with the least risk.

    .. math:: a^*(x) = \arg\min_a \sum_k L_{ka}\, \pi_k\, p_k(x), \qquad
              R = \sum_k \pi_k \sum_a L_{ka} \int_{\mathcal{R}_a} p_k(x)\, dx

    Parameters
    ----------
    densities : {truth: density}
        Each a ``credo.families.Gaussian``, ``Gamma``, ``Poisson`` …, a SciPy distribution with its
        parameters set, or any object with ``logpdf`` (``logpmf`` for whole numbers), ``cdf`` and
        ``ppf``. All are continuous, or all are of whole numbers: counts and codes.
    priors : {truth: p}, or K numbers in the order of the densities
        Probability of each truth.
    loss
        Losses by true class and act, reject acts included. Truths are matched by name.
    support : (low, high), optional
        Where the densities live, its ends included. By default as far as any of them reaches.

    Returns
    -------
    Regions
        With ``intervals``, ``thresholds``, ``bayes_risk``, ``probability_of_error``, ``shares``,
        ``act_at`` and ``moved``; of whole numbers, ``values()`` are the numbers of each act, and
        thresholds lie halfway between two of them.

    Raises
    ------
    InputError
        If a density does not integrate to one within 1e-9, or the probabilities of whole numbers
        do not add up to it; the truth is named.
    LabelError
        If the truths of densities, priors and loss differ.

    See Also
    --------
    credo.decide : The act for each row of posteriors.
    credo.decisions.bayes_error : The least error in several dimensions.

    Notes
    -----
    For Gaussians and acts that trade one truth for another, such as those of a zero-one loss,
    thresholds are roots of a quadratic: exact up to rounding, in O(A²). Otherwise they are
    searched for, from the quantiles of all classes outwards, and halved down to neighbouring
    floats; a region could stay unseen only if it were far narrower than any feature of the
    densities. All comparisons are of logarithms, so acts are right where densities underflow.
    Acts that tie up to rounding go to the one that comes first in the loss. Where no class has
    density, the act is that of the nearer neighbour. Probabilities come from the distributions'
    own ``cdf`` and ``sf``.

    Whole numbers are compared one by one, over all but 1e-16 of the probability of each class on
    either side, by its ``cdf`` and ``sf``. Beyond, the act of the last number goes on: all masses
    are exact, and the risk is above the least by 1e-16 times the largest regret at most. Time in
    proportion to that many numbers, 2²⁰ at most.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 1.5.1 and
       equation 1.80.
    .. [2] R. O. Duda, P. E. Hart, D. G. Stork, *Pattern Classification*, 2nd ed., 2001,
       section 2.6.

    Examples
    --------
    Two Gaussians with unequal variances: the narrow one is believed in the middle only.

    >>> from credo import Loss
    >>> from credo.decisions import regions
    >>> from credo.families import Gaussian
    >>> cut = regions({"narrow": Gaussian(0, 1), "wide": Gaussian(0, 9)}, [0.5, 0.5],
    ...               Loss.zero_one(["narrow", "wide"]))
    >>> print(cut)
        from        to  act
        -inf  -1.57222  wide
    -1.57222   1.57222  narrow
     1.57222       inf  wide
    risk 0.257836, probability of error 0.257836
    shares: narrow 0.641937, wide 0.358063

    Counts: the error is a sum.

    >>> from credo.families import Poisson
    >>> counts = regions({"calm": Poisson(2), "busy": Poisson(6)}, [0.7, 0.3],
    ...                  Loss.zero_one(["calm", "busy"]))
    >>> print(counts)
    from   to  act
       0    4  calm
       5  inf  busy
    risk 0.122374, probability of error 0.122374
    shares: calm 0.74866, busy 0.25134
    """
    if not isinstance(densities, Mapping):
        raise InputError(
            "regions needs the densities by truth, {truth: density}. Got "
            f"{type(densities).__name__}."
        )
    truths = check.labels(densities, "truths of regions")
    p = check.priors(priors, truths, "priors of regions")
    losses = _losses(as_loss(loss, "regions", per_row=False), truths)
    bounds = None if support is None else _as_support(support)
    named = dict(zip(truths, densities.values(), strict=True))
    if bounds is not None and all(hasattr(each, "logpmf") for each in named.values()):
        bounds = float(np.ceil(bounds[0])) - 0.5, float(np.floor(bounds[1])) + 0.5
    classes = tuple(Density(source, name, bounds) for name, source in named.items())
    discrete = [name for name, c in zip(truths, classes, strict=True) if c.discrete]
    if 0 < len(discrete) < len(classes):
        raise InputError(
            f"regions: the distribution of {discrete[0]!r} is of whole numbers, and others are "
            "continuous. Give all of them as one kind."
        )
    hull = bounds or (min(c.low for c in classes), max(c.high for c in classes))
    setting = Setting(classes, p, losses - losses.min(axis=1, keepdims=True), hull)
    intervals = _intervals(setting, loss.acts)
    table = _probability_table(setting, intervals, loss.acts, truths)
    best = _risk(p, losses, table)
    return Regions(named, check.frozen(p), loss, hull, intervals, table, best, setting)


def _intervals(setting: Setting, acts: Labels) -> tuple[Interval, ...]:
    """Return the stretches of the line with the best act of each."""
    return tuple(Interval(low, high, acts[a]) for low, high, a in cells_of(setting))


def _losses(loss: Loss, truths: Labels) -> F64:
    """Bring the rows of the loss into the order of the densities."""
    return loss.matrix[loss.rows_for(truths, "regions")]


def _as_support(support: Any) -> Range:
    """Check two ends, the lower one first; either may be infinite."""
    ends = check.floats(support, "support of regions")
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise InputError(f"The support of regions must be (low, high). Got {support!r}.")
    return float(ends[0]), float(ends[1])


def _probability_table(
    setting: Setting, intervals: tuple[Interval, ...], acts: Labels, truths: Labels
) -> F64:
    """Add up the mass of each class over the intervals of each act."""
    table = np.zeros((len(setting.densities), len(acts)))
    for low, high, act in intervals:
        table[:, acts.index(act)] += [density.mass(low, high) for density in setting.densities]
    off = np.abs(table.sum(axis=1) - 1)
    if not off.max() <= MASS_TOLERANCE:
        k = int(np.argmax(~(off <= MASS_TOLERANCE)))
        raise InputError(
            f"regions: the distribution of {truths[k]!r} adds up to {table[k].sum():.9g} over the "
            f"line, not to 1: its cdf and sf are not those of a distribution there."
        )
    return check.frozen(table)


def _risk(priors: F64, losses: Any, table: F64) -> float:
    """Weigh the losses with the probability of each truth and act."""
    return float(priors @ (losses * table).sum(axis=1))
