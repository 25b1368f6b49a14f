"""``ClassModes``: whether each class has one peak, as a single Gaussian assumes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import scipy

from credo._results import Plain, html_table, number, table_text
from credo._types import F64, Int, Label, Labels
from credo.families.covariances import Names, Recipe, n_parameters_of
from credo.families.mixtures import MixtureFit, fit_mixtures
from credo.families.moments import Rows

#: Shapes of covariances that two Gaussians share, or have apart, for the shapes of a classifier.
_SHAPES = (
    ("tied", "full", "proportional"),
    ("tied_diagonal", "diagonal"),
    ("tied_spherical", "spherical"),
)
#: Probability of a second peak where there is none; samples it is found by; most rows that count.
_LEVEL, _DRAWS, _MOST = 0.05, 199, 1000
_HEADER = ("class", "rows", "BIC gain", "p of one peak", "")


@final
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ClassModes(Plain):
    r"""Hold whether two Gaussians describe each class better than one, and whether it has one peak.

    Attributes
    ----------
    labels : tuple
        The classes.
    n_rows : ndarray of shape (K,)
        Rows of each class.
    gains : ndarray of shape (K,)
        By how much two Gaussians lower :math:`\mathrm{BIC} = m \log n - 2 \log L`; above zero they
        describe the class better, above 10 much better.
    p_values : ndarray of shape (K,)
        How often so many rows of a distribution with one peak look as much like two as these do.

    See Also
    --------
    credo.GaussianClassifier.check_modes : Makes one.

    Notes
    -----
    The gain says whether a second Gaussian helps, as it does also where a class is skewed, flat, or
    has heavy tails. The two share one covariance, so that neither collapses on a few rows, or from
    there on have one each, whichever has the lower BIC. Each class is judged by itself.

    The p-value says whether there is a second peak, along the direction in which the two Gaussians
    are told apart best. Where there is one peak, at m, the distribution function F is convex before
    m and concave after it. How far it is from that, at the best m,

    .. math:: T = \min_m \max\Big(\max_{x < m} F(x) - C_m(x),\ \max_{x > m} D_m(x) - F(x)\Big)

    with C the greatest convex function below F and D the least concave one above it, is compared
    with 199 uniform samples of the same size, which of those with one peak look most like two
    (the reasoning of the dip test [1]_). Values that occur several times are spread over the space
    to their neighbours, of weighted and of more than 1000 rows as many quantiles taken, and rows
    with missing values left out. A second cloud of few rows is not noticed. The direction is chosen
    by the same rows: of many features and few rows it may find a valley by chance.

    References
    ----------
    .. [1] J. A. Hartigan and P. M. Hartigan, "The dip test of unimodality", *The Annals of
       Statistics* 13, 1985.

    Examples
    --------
    >>> import credo, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = np.concatenate([rng.normal(-3, 1, 50), rng.normal(3, 1, 50), rng.normal(0, 1, 100)])
    >>> y = np.repeat(["outside", "inside"], 100)
    >>> model = credo.GaussianClassifier().fit(x[:, None], y)
    >>> model.check_modes(x[:, None], y).several
    ('outside',)
    """

    labels: Labels
    n_rows: Int
    gains: F64
    p_values: F64
    _also = ("several",)

    @property
    def several(self) -> tuple[Label, ...]:
        """The classes with more than one peak: two Gaussians are better, and p is below 0.05."""
        found = (self.gains > 0) & (self.p_values < _LEVEL)
        return tuple(k for k, has in zip(self.labels, found.tolist(), strict=True) if has)

    def _lines(self) -> list[tuple[Label, int, float, float, str]]:
        """List the rows of the table."""
        lines = []
        each = (array.tolist() for array in (self.n_rows, self.gains, self.p_values))
        for label, n, gain, p in zip(self.labels, *each, strict=True):
            said = "one Gaussian is enough" if gain <= 0 else "not Gaussian, but perhaps one peak"
            said = "more than one peak" if label in self.several else said
            lines.append((label, n, gain, p, said))
        return lines

    @property
    def _remedy(self) -> str:
        """Say what to do."""
        if not self.several:
            return "No class has more than one peak."
        sizes = ", ".join(f"{label!r}: 2" for label in self.several)
        return f"Use MixtureClassifier(components={{{sizes}}})."

    def __repr__(self) -> str:
        rows = (
            (repr(label), n, number(round(gain, 1)), f"{p:.3f}", said)
            for label, n, gain, p, said in self._lines()
        )
        return f"{table_text('<>>><', _HEADER, rows)}\n{self._remedy}"

    def _repr_html_(self) -> str:
        return html_table(self._remedy, _HEADER, self._lines())


def check_modes(
    rows: Rows, recipe: Recipe, names: Names, n_starts: int, rng: np.random.Generator
) -> ClassModes:
    """Fit one and two Gaussians to each class by itself, and compare them."""
    shapes: Any = next(pair for pair in _SHAPES if recipe.shape in pair)
    shared, apart = (
        replace(recipe, shape=shape, shrinkage=None, progress=None) for shape in shapes[:2]
    )
    found, total = [], np.bincount(rows.codes, rows.weights, rows.n_classes)
    for k, label in enumerate(names.classes):
        mine = np.flatnonzero(rows.codes == k)
        weights = None if rows.weights is None else rows.weights[mine]
        own = Rows(rows.X[mine], np.zeros(len(mine), dtype=np.intp), weights, 1)
        called = Names(names.owner, (label,), names.features)
        how = called, n_starts, rng
        one = fit_mixtures(own, np.array([1]), shared, *how)
        two = fit_mixtures(own, np.array([2]), shared, *how)
        fits = one, two, fit_mixtures(own, np.array([2]), apart, *how, begin=two)
        bics = [_bic(fit, float(total[k])) for fit in fits]
        places = own.X @ fits[int(np.argmin(bics[1:])) + 1].axis()
        p = _p_of_one_peak(places, np.ones(len(mine)) if weights is None else weights, rng)
        found.append((len(mine), bics[0] - min(bics[1:]), p))
    return ClassModes(names.classes, *(np.array(each) for each in zip(*found, strict=True)))


def _bic(fit: MixtureFit, n: float) -> float:
    """Return the criterion of one class of so many rows, but for the same number for all fits."""
    return float(n_parameters_of(fit.model) * np.log(n) - 2 * fit.trace[-1])


def _p_of_one_peak(places: F64, weights: F64, rng: np.random.Generator) -> float:
    """Return how often a uniform sample looks as much like two peaks as these weighted numbers."""
    seen = (weights > 0) & ~np.isnan(places)
    order = np.argsort(places[seen], kind="stable")
    heights = np.cumsum(weights[seen][order])
    n = int(min(_MOST, np.rint(heights[-1]))) if len(heights) else 0
    x = places[seen][order]
    if n < 4 or x[0] == x[-1]:  # too few for two peaks
        return 1.0
    levels = (np.arange(n) + 0.5) / n * heights[-1]
    mine = _distance(_spread(x[np.searchsorted(heights, levels)]))
    others = [_distance(np.sort(rng.random(n))) for _ in range(_DRAWS)]
    return (1 + sum(other >= mine for other in others)) / (1 + _DRAWS)


def _spread(x: F64) -> F64:
    """Spread sorted numbers that are equal over the space that reaches half way to others."""
    values, counts = np.unique(x, return_counts=True)
    if len(values) in (1, len(x)):
        return x
    between = (values[1:] + values[:-1]) / 2
    ends = np.concatenate([[2 * values[0] - between[0]], between, [2 * values[-1] - between[-1]]])
    rank = np.arange(len(x)) - np.repeat(np.cumsum(counts) - counts, counts)
    start, width = np.repeat(ends[:-1], counts), np.repeat(np.diff(ends), counts)
    apart = np.repeat(counts, counts)
    return np.where(apart == 1, x, start + width * (rank + 0.5) / apart)


def _distance(x: F64) -> float:
    """Return T of sorted numbers: how far they are from one peak; see ``ClassModes``."""
    mirrored, low, high = -x[::-1], 0, len(x) - 1
    while high - low > 1:  # one side grows with m, the other falls
        m = (low + high) // 2
        is_before = _off(x, m) < _off(mirrored, len(x) - 1 - m)
        low, high = (m, high) if is_before else (low, m)
    return min(max(_off(x, m), _off(mirrored, len(x) - 1 - m)) for m in (low, high))


def _off(x: F64, m: int) -> float:
    """Return how far the distribution function is above a convex one before number m."""
    gaps = np.maximum(np.diff(x[: m + 1]), 1e-15 * (x[-1] - x[0]))  # two may round to one
    slopes = scipy.optimize.isotonic_regression(1 / gaps, weights=gaps).x if m else gaps
    convex = np.concatenate([[0.0], np.cumsum(slopes * gaps)])
    return float((np.arange(1, m + 1) - convex[:m]).max(initial=0.0)) / len(x)
