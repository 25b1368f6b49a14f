"""``ClassModes``: whether each class has one peak, as a single Gaussian assumes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

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
#: A valley that is less deep may be that of one skewed peak: of an exponential it is 0.9 or more.
_SHALLOW = 0.8
_HEADER = ("class", "rows", "BIC gain", "peaks", "valley", "")


@final
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ClassModes(Plain):
    r"""Hold whether two Gaussians describe each class better than one, and their peaks.

    Attributes
    ----------
    labels : tuple
        The classes.
    n_rows : ndarray of shape (K,)
        Rows of each class.
    gains : ndarray of shape (K,)
        By how much two Gaussians lower :math:`\mathrm{BIC} = m \log n - 2 \log L`; above zero they
        describe the class better, above 10 much better.
    peaks : ndarray of shape (K,)
        Peaks of the two together: 2, or 1 if they stand for skew or for heavy tails. Of skewed
        classes they may have two that are hardly apart.
    valleys : ndarray of shape (K,)
        Density in the valley over that of the lower peak; 1 if there is one peak.

    See Also
    --------
    credo.GaussianClassifier.check_modes : Makes one.

    Notes
    -----
    The gain says whether the second Gaussian is there, the peaks what it is for. The two share one
    covariance, so that neither collapses on a few rows, or from there on have one each, whichever
    has the lower BIC. All peaks of two Gaussians lie on a known curve [1]_, on which they are
    counted. Each class is judged by itself.

    The peaks are those of the two Gaussians, and not of the class: where it is flat, has heavy
    tails or takes few values, two may describe it best that have a valley between them. Most
    samples of 60 rows of a uniform distribution are told to have two peaks, those of a normal one
    hardly ever. Look at a histogram too.

    References
    ----------
    .. [1] S. Ray and B. G. Lindsay, "The topography of multivariate normal mixtures", *The Annals
       of Statistics* 33, 2005.

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
    peaks: Int
    valleys: F64
    _also = ("several",)

    @property
    def several(self) -> tuple[Label, ...]:
        """The classes with more than one peak, and a valley between them below 0.8."""
        found = (self.gains > 0) & (self.valleys < _SHALLOW)
        return tuple(k for k, has in zip(self.labels, found.tolist(), strict=True) if has)

    def _lines(self) -> list[tuple[Label, int, float, int, float, str]]:
        """List the rows of the table."""
        lines = []
        each = (array.tolist() for array in (self.n_rows, self.gains, self.peaks, self.valleys))
        for label, n, gain, peaks, valley in zip(self.labels, *each, strict=True):
            said = "one Gaussian is enough" if gain <= 0 else "not Gaussian, but no clear valley"
            said = "more than one peak" if label in self.several else said
            lines.append((label, n, gain, peaks, valley, said))
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
            (repr(label), n, number(round(gain, 1)), peaks, f"{valley:.2f}", said)
            for label, n, gain, peaks, valley, said in self._lines()
        )
        return f"{table_text('<>>>><', _HEADER, rows)}\n{self._remedy}"

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
        best = min(fits[1:], key=lambda fit: _bic(fit, float(total[k])))
        found.append((len(mine), bics[0] - min(bics[1:]), *best.peaks()))
    n_rows, gains, peaks, valleys = (np.array(each) for each in zip(*found, strict=True))
    return ClassModes(names.classes, n_rows, gains, peaks, valleys)


def _bic(fit: MixtureFit, n: float) -> float:
    """Return the criterion of one class of so many rows, but for the same number for all fits."""
    return float(n_parameters_of(fit.model) * np.log(n) - 2 * fit.trace[-1])
