"""The contract of a family: density, natural form, sampling, and learning from summaries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from credo._types import F64, Bool, RandomState
from credo._validation.arrays import as_floats
from credo.exceptions import InputError, ShapeError
from credo.families._rows import Rows
from credo.families._summary import AbstractSummary
from credo.families._support import Support

S = TypeVar("S", bound=AbstractSummary)


class AbstractFamily(ABC, Generic[S]):
    r"""Describe what every exponential family can do.

    .. math:: \log p(x) = \eta \cdot T(x) - A + \log h(x)

    with natural parameters :math:`\eta`, sufficient statistics T, log partition A and base measure
    h. An object is a distribution with fixed parameters, or an array of them: the *batch*. Values
    are broadcast against the batch; NaN is a missing value and is marginalised.

    See Also
    --------
    credo.families.AbstractSummary : What a family learns from.

    Notes
    -----
    Objects are immutable. A subclass is final; it gives the support, the formula of the log
    density, the natural form, samples and estimates, and inherits the rest.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 2.4.
    """

    __slots__ = ()

    #: Which values there are.
    _support: ClassVar[Support]
    #: Trailing axes of the parameters that are not batch.
    _n_own_axes: ClassVar[int] = 0

    # --- density ----------------------------------------------------------------------------

    def log_density(self, x: Any) -> F64:
        """Give the log density, or the log probability, at ``x``.

        Parameters
        ----------
        x : array-like of shape (..., batch) or (..., batch, event)
            Values, broadcast against the batch of parameters.

        Returns
        -------
        ndarray of shape (..., batch)
            Minus infinity outside of the support, 0 where the value is missing; never NaN.

        Raises
        ------
        ShapeError
            If values and parameters cannot be broadcast.
        """
        values = self._as_values(x)
        inside = self._support.inside(values)
        if inside.all():
            return self._joined(self._log_density(values))
        logs = self._log_density(self._support.filled(values, inside))
        elsewhere = np.where(self._support.missing(values), 0.0, -np.inf)
        return self._joined(np.where(inside, logs, elsewhere))

    @abstractmethod
    def _log_density(self, values: F64) -> F64:
        """Give the log density of values inside the support."""

    def _joined(self, logs: F64) -> F64:
        """Join the log densities of the entries of an event, if they are independent."""
        return logs

    def _as_values(self, x: Any) -> F64:
        """Check that values are numbers that fit the batch."""
        owner = type(self).__name__
        values = as_floats(x, owner, "values")
        own = self.mean.shape[-1:] if self._support.vectors else ()
        rest = values.ndim - len(own)
        try:
            if rest < 0 or values.shape[rest:] != own:
                raise ValueError  # noqa: TRY301 - the same message as for a batch
            np.broadcast_shapes(values.shape[:rest], self.batch_shape)
        except ValueError:
            wanted = ", ".join(str(size) for size in (*self.batch_shape, *own))
            raise ShapeError(
                f"{owner} needs values that broadcast against shape ({wanted}). "
                f"Got shape {values.shape}."
            ) from None
        return values

    @classmethod
    def contains(cls, x: Any) -> Bool:
        """Tell which values the family knows; a missing one counts as known.

        Parameters
        ----------
        x : array-like
            Values; events on the last axis if they are vectors.

        Returns
        -------
        ndarray of bool
            One per value or event.
        """
        values = as_floats(x, cls.__name__, "values")
        return cls._support.inside(values) | cls._support.missing(values)

    # --- natural form -----------------------------------------------------------------------

    @property
    @abstractmethod
    def natural_parameters(self) -> F64:
        r"""Natural parameters :math:`\eta`, of shape (batch, S)."""

    @property
    @abstractmethod
    def log_partition(self) -> F64:
        """Log partition A, of shape batch."""

    def sufficient_statistics(self, x: Any) -> F64:
        """Give the sufficient statistics T(x) of values of the support.

        Parameters
        ----------
        x : array-like of shape (..., batch) or (..., batch, event)
            Values; NaN gives NaN.

        Returns
        -------
        ndarray of shape (..., S)
            One entry per natural parameter.

        Raises
        ------
        InputError
            If a value is outside of the support.
        """
        values = self._as_values(x)
        self._support.refuse_others(values, f"{type(self).__name__}.sufficient_statistics")
        missing = self._support.missing(values)
        if missing.ndim == values.ndim and self._support.vectors:
            return self._statistics(values)  # entries are independent: NaN stays where it is
        statistics = self._statistics(self._support.filled(values, ~missing))
        hidden = np.broadcast_to(missing, statistics.shape[:-1])
        return np.where(hidden[..., None], np.nan, statistics)

    @abstractmethod
    def _statistics(self, values: F64) -> F64:
        """Give the sufficient statistics on a new last axis."""

    def log_base(self, x: Any) -> F64:
        """Give the log base measure log h(x) of values of the support.

        Parameters
        ----------
        x : array-like of shape (..., batch) or (..., batch, event)
            Values; NaN gives 0.

        Returns
        -------
        ndarray of shape (..., batch)
            Zero for most families.

        Raises
        ------
        InputError
            If a value is outside of the support.
        """
        values = self._as_values(x)
        self._support.refuse_others(values, f"{type(self).__name__}.log_base")
        return self._log_base(self._support.filled(values, ~self._support.missing(values)))

    def _log_base(self, values: F64) -> F64:
        """Give the log base measure, 0 at the filler; 0 everywhere unless a family says not."""
        return np.zeros(values.shape[:-1] if self._support.vectors else values.shape)

    # --- properties -------------------------------------------------------------------------

    @property
    @abstractmethod
    def mean(self) -> F64:
        """Mean."""

    @property
    @abstractmethod
    def variance(self) -> F64:
        """Variance."""

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Number of free parameters, in all of the batch."""

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the array of distributions; empty for a single one."""
        shape = self.mean.shape
        return shape[: len(shape) - self._n_own_axes]

    # --- sampling ---------------------------------------------------------------------------

    @abstractmethod
    def sample(self, n: int, random_state: RandomState = None) -> npt.NDArray[Any]:
        """Draw ``n`` values from each distribution.

        Parameters
        ----------
        n : int
            How many, at least 0.
        random_state : int, numpy.random.Generator or None
            Seed or generator.

        Returns
        -------
        ndarray of shape (n, batch) or (n, batch, event)
            The draws; whole numbers for counts and codes.
        """

    # --- learning ---------------------------------------------------------------------------

    @classmethod
    def summarise(
        cls, x: Any, weight: Any = None, groups: Any = None, n_groups: int | None = None
    ) -> S:
        """Reduce rows to what the estimate needs.

        Parameters
        ----------
        x : array-like of shape (n, batch) or (n, batch, event)
            Rows on the first axis. NaN is missing and is skipped, in that column only.
        weight : array-like of shape (n,), optional
            Weight 2 is the row twice, weight 0 is no row.
        groups : array-like of int of shape (n,), optional
            Code of each row's group; the summary then has a leading axis of groups.
        n_groups : int, optional
            How many groups there are; one more than the largest code by default.

        Returns
        -------
        summary
            Immutable; it merges with others.

        Raises
        ------
        InputError
            If a value is outside of the support; the first such row is named.
        ShapeError
            If weights or groups are not one per row.

        Notes
        -----
        Time in proportion to the size of ``x``, whatever the number of groups.
        """
        rows = Rows.of(cls.__name__, cls._support, x, weight, (groups, n_groups))
        return cls._collect(rows)

    @classmethod
    @abstractmethod
    def _collect(cls, rows: Rows) -> S:
        """Summarise checked rows."""

    @classmethod
    @abstractmethod
    def estimate(cls, summary: S) -> Self:
        """Give the distribution of maximum likelihood.

        Parameters
        ----------
        summary
            Made by ``summarise`` of the same family, merged or not.

        Returns
        -------
        distribution
            With one batch entry per column, and per group if there are groups.

        Raises
        ------
        InputError
            If a column has no weight, or its data determine no distribution.
        """

    @classmethod
    def fit(cls, x: Any, weight: Any = None) -> Self:
        """Summarise rows and give the distribution of maximum likelihood.

        Parameters
        ----------
        x : array-like of shape (n, batch) or (n, batch, event)
            Rows on the first axis; NaN is skipped.
        weight : array-like of shape (n,), optional
            Weights of rows.

        Returns
        -------
        distribution
            The same as ``estimate(summarise(x, weight))``.
        """
        return cls.estimate(cls.summarise(x, weight))

    @classmethod
    def _check_summary(cls, summary: S) -> None:
        """Check that a summary was made by this family."""
        name = cls.__name__
        if getattr(summary, "family", None) != name:
            kind = getattr(summary, "family", type(summary).__name__)
            raise InputError(f"{name}.estimate needs a summary of {name}.summarise. Got {kind}.")
