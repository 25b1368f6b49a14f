"""The Laplace distribution: absolute deviations from a median."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np

from credo._types import F64, RandomState
from credo._validation.arrays import as_finite
from credo.exceptions import InputError
from credo.families._base import AbstractFamily
from credo.families._degenerate import ROUNDING, refuse_constant, refuse_empty
from credo.families._draws import ready
from credo.families._parameters import MOST, positive, together
from credo.families._rows import Rows
from credo.families._support import REALS, Support
from credo.families.sketch import SketchSummary


@final
@dataclass(frozen=True, slots=True, eq=False)
class Laplace(AbstractFamily[SketchSummary]):
    r"""Describe a Laplace distribution by its location and its scale.

    .. math:: \log p(x) = -\frac{|x - m|}{b} - \log(2 b)

    Parameters
    ----------
    location : float or array-like
        Median m.
    scale : float or array-like
        Mean absolute deviation b from it, positive; broadcast against the location.

    Raises
    ------
    InputError
        If a scale is not positive.

    See Also
    --------
    credo.families.SketchSummary : What it learns from, and when that is exact.

    Notes
    -----
    An exponential family for a known location only: :math:`\eta = -1/b` and
    :math:`T(x) = |x - m|`. The estimates are the median, the middle one of two, and the mean
    absolute deviation from it; exact for one batch of any size, and for merged batches while
    their distinct values fit. Summarising sorts: time :math:`O(n \log n)` per column.

    References
    ----------
    .. [1] N. L. Johnson, S. Kotz, N. Balakrishnan, *Continuous Univariate Distributions*,
       vol. 2, 2nd ed., 1995, section 24.5.

    Examples
    --------
    >>> from credo.families import Laplace
    >>> Laplace.fit([0.0, 1.0, 1.0, 2.0, 96.0])
    Laplace(location=array(1.), scale=array(19.4))
    """

    location: F64
    scale: F64

    _support: ClassVar[Support] = REALS

    def __init__(self, location: Any, scale: Any) -> None:
        centre = as_finite(location, "Laplace", "location")
        spread = positive(scale, "Laplace", "scale")
        if np.abs(centre).max(initial=0.0) > MOST:
            raise InputError(
                f"The location of Laplace must be within {MOST:g} of 0. Rescale the unit."
            )
        both = together("Laplace", location=centre, scale=spread)
        object.__setattr__(self, "location", both[0])
        object.__setattr__(self, "scale", both[1])

    @property
    def mean(self) -> F64:
        """Mean, the location."""
        return self.location

    @property
    def variance(self) -> F64:
        """Variance, twice the square of the scale."""
        return 2.0 * self.scale**2

    def _log_density(self, values: F64) -> F64:
        with np.errstate(over="ignore"):
            result: F64 = -np.abs(values - self.location) / self.scale - np.log(2.0 * self.scale)
        return result

    @property
    def natural_parameters(self) -> F64:
        """Natural parameter -1 / scale, for a known location."""
        return -1.0 / self.scale[..., None]

    @property
    def log_partition(self) -> F64:
        """Log partition log(2 scale)."""
        return np.log(2.0 * self.scale)

    def _statistics(self, values: F64) -> F64:
        return np.abs(values - self.location)[..., None]

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: two each."""
        return 2 * self.location.size

    def sample(self, n: int, random_state: RandomState = None) -> F64:
        """Draw ``n`` values from each; see ``AbstractFamily.sample``."""
        size, rng = ready(n, random_state, "Laplace.sample")
        return rng.laplace(self.location, self.scale, (size, *self.location.shape))

    @classmethod
    def _collect(cls, rows: Rows) -> SketchSummary:
        return SketchSummary.of(rows)

    @classmethod
    def estimate(cls, summary: SketchSummary, least_scale: Any = 0.0) -> Self:
        """Give median and mean deviation.

        Parameters
        ----------
        summary
            Made by ``Laplace.summarise``, merged or not.
        least_scale : float or array-like
            The scale is at least this; broadcast against the estimate.

        Returns
        -------
        Laplace
            By maximum likelihood if no scale had to be raised.

        Raises
        ------
        InputError
            If a column has no weight, or all its values are equal and no scale is given.
        """
        cls._check_summary(summary)
        refuse_empty("Laplace.estimate", summary.weight)
        location = summary.median()
        scale = summary.mean_deviation(location)
        scale = np.maximum(scale, as_finite(least_scale, "Laplace.estimate", "least_scale"))
        constant = scale <= ROUNDING * np.abs(location)
        refuse_constant("Laplace.estimate", constant, "the scale would be 0")
        return cls(location, scale)
