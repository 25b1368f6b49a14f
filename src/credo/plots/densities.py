"""Values against densities: a histogram with curves, and the likelihood of a parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credo import _checks as check
from credo._types import F64, Label
from credo.exceptions import CredoError, InputError
from credo.families import AbstractFamily
from credo.plots.figures import COLOURS, GREY, axes_for, inks_of, name_of, write
from credo.plots.line import draw_curves, legend_beside

#: Points of a curve, and how far below its maximum a log-likelihood is drawn, in nats.
_POINTS, _DEPTH = 400, 6.0


def histogram(
    values: Any, densities: Mapping[Label, Any], *, bins: Any = "auto", ax: Any = None
) -> Any:
    """Draw a histogram of values with the curves of densities over it.

    Parameters
    ----------
    values : array-like of shape (n,)
        Numbers; NaN is left out.
    densities : mapping from name to distribution
        Families of single numbers, or distributions of SciPy: with ``pdf``, or ``pmf`` for whole
        numbers.
    bins
        As of ``numpy.histogram``; of whole numbers each has a bar of its own.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Bars of area one, and a curve for each density.

    Examples
    --------
    >>> import credo
    >>> from credo.families import Gaussian, Laplace
    >>> ages = [23.0, 31, 35, 38, 40, 41, 44, 52, 67]
    >>> fitted = {"Gaussian": Gaussian.fit(ages), "Laplace": Laplace.fit(ages)}
    >>> credo.plots.histogram(ages, fitted).get_title()
    'n = 9'
    """
    x = check.vector(np.asarray(values, dtype=np.float64)[~np.isnan(values)], "values of histogram")
    ax = axes_for(ax)
    is_whole = any(not hasattr(each, "pdf") for each in densities.values())
    edges = np.arange(x.min() - 0.5, x.max() + 1) if is_whole else bins
    heights, ends, _ = ax.hist(x, bins=edges, density=True, color=GREY, alpha=0.3, linewidth=0)
    grid = np.linspace(ends[0], ends[-1], _POINTS)
    grid = np.unique(grid.round()) if is_whole else grid
    curves = [(each.pmf if is_whole else each.pdf)(grid) for each in densities.values()]
    table = np.array(curves).reshape(-1, len(grid)).T
    top = max(float(heights.max()), float(table[np.isfinite(table)].max(initial=0.0)))
    ax.set(xlim=(ends[0], ends[-1]), ylim=(0, 1.08 * top), xlabel="x")
    ax.set_ylabel("probability" if is_whole else "density")
    ax.set_title(f"n = {len(x):,}", fontsize="medium")
    inks = inks_of(list(densities))
    colours = [inks[name] for name in densities]
    legend_beside(ax, draw_curves(ax, grid, table, [name_of(each) for each in densities], colours))
    return ax


def likelihood(
    families: type[AbstractFamily[Any]] | Sequence[type[AbstractFamily[Any]]],
    values: Any,
    parameter: str | None = None,
    *,
    ax: Any = None,
) -> Any:
    r"""Draw the log-likelihood over a parameter, with its maximum at the estimate.

    .. math:: \ell(\theta) = \sum_i \log p(x_i \mid \theta)

    Parameters
    ----------
    families : a family, or several
        Such as ``Gaussian``, or ``[Gaussian, Laplace]`` for curves beside each other.
    values : array-like of shape (n,)
        Numbers.
    parameter : str, optional
        Its name, such as "variance"; by default the first of each family. The others have their
        estimates.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        A curve for each family, with a point at its estimate.

    Examples
    --------
    >>> import credo
    >>> from credo.families import Gaussian, Laplace
    >>> axes = credo.plots.likelihood([Gaussian, Laplace], [0.0, 1.0, 1.0, 2.0, 96.0])
    >>> [text.get_text() for text in axes.texts]
    ['Gaussian: mean 20', 'Laplace: location 1']
    """
    chosen = [families] if isinstance(families, type) else list(families)
    x = check.vector(values, "values of likelihood")
    ax = axes_for(ax)
    found = [_Likelihood(each, x, parameter) for each in chosen]
    low, high = min(each.reach(-1) for each in found), max(each.reach(1) for each in found)
    grid = np.unique(np.r_[np.linspace(low, high, _POINTS), [each.best for each in found]])
    tops = [each(each.best) for each in found]
    floor = min(tops) - 1.2 * _DEPTH
    ax.set(xlim=(low, high), ylim=(floor, max(tops) + 0.12 * (max(tops) - floor)))
    for each, top, colour in zip(found, tops, COLOURS, strict=False):
        curve = np.array([each(value) for value in grid.tolist()])
        ax.plot(grid, curve, color=colour, linewidth=2)
        ax.plot([each.best], [top], "o", color=colour)
        text = f"{each.family.__name__}: {each.name} {each.best:.4g}"
        write(ax, (each.best, top), text, colour, xytext=(0, 5))
    names = " or ".join(dict.fromkeys(each.name for each in found))
    ax.set(xlabel=names, ylabel="log-likelihood (nats)")
    ax.set_title(f"n = {len(x):,}", fontsize="medium")
    return ax


class _Likelihood:
    """The log-likelihood of one parameter, the others at their estimates."""

    def __init__(self, family: type[AbstractFamily[Any]], x: F64, parameter: str | None) -> None:
        self.family, self.x, fitted = family, x, family.fit(x)
        self.others = fitted._parameters  # noqa: SLF001 - of the library
        self.name = next(iter(self.others)) if parameter is None else parameter
        if self.name not in self.others:
            known = check.listing(list(self.others))
            raise InputError(f"likelihood: {family.__name__} has no {self.name!r}. It has {known}.")
        if np.size(self.others[self.name]) != 1:
            raise InputError(f"likelihood: {self.name!r} of {family.__name__} is no single number.")
        self.best = float(self.others[self.name])

    def __call__(self, value: float) -> float:
        """Return the log-likelihood; NaN where the family has no such parameter."""
        try:
            own = self.family(**self.others | {self.name: value})
        except CredoError:
            return np.nan
        return float(own.log_density(self.x).sum())

    def reach(self, side: int) -> float:
        """Return how far to a side the log-likelihood is drawn."""
        step = 1e-3 * max(abs(self.best), float(np.ptp(self.x)), 1e-300)
        top = self(self.best)
        while self(self.best + side * 1.2 * step) > top - _DEPTH:
            step *= 1.2
        return self.best + side * step
