"""The contract of a family: density, natural form, sampling, and learning from summaries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, Self, TypeVar, final

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._types import F64, Bool, Int, Label, RandomState
from credo.exceptions import InputError, ShapeError
from credo.families.summaries import AbstractSummary, GroupedRows

#: The largest parameter, value or weight, and one over the least parameter: a product of three
#: of them, such as a weight times a square, is still a number.
MOST = 1e100
#: A spread below this many units in the last place of the mean is the values' own rounding.
ROUNDING = 64 * float(np.finfo(np.float64).eps)

S = TypeVar("S", bound=AbstractSummary)


# --- values -------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class Support:
    """The values of a family, elementwise or, if ``whole``, vectors on the last axis.

    ``inside`` is False for NaN, which means missing. ``filler`` is a value inside, put where there
    is none, so that formulas stay free of warnings. ``vectors`` says that an event is the last
    axis; ``whole`` that one missing entry hides all of it. ``complete`` says why a summary takes
    no missing values, and what to do; nothing if it takes them.
    """

    inside: Callable[[F64], Bool]
    needs: str
    filler: float
    vectors: bool = False
    whole: bool = False
    complete: str = ""

    def missing(self, values: F64) -> Bool:
        """Tell where values are missing."""
        hidden: Bool = np.isnan(values)
        return np.asarray(hidden.any(axis=-1)) if self.whole else hidden

    def filled(self, values: F64, inside: Bool) -> F64:
        """Put the filler where a value is not inside."""
        return np.where(inside[..., None] if self.whole else inside, values, self.filler)

    def refuse_others(
        self,
        values: F64,
        owner: str,
        row_numbers: Sequence[int] | Int | None = None,
        columns: Sequence[Label] | None = None,
    ) -> None:
        """Refuse values outside; name the first, and its row and column if these are told."""
        wrong = ~(self.inside(values) | self.missing(values))
        if wrong.any():
            first = tuple(int(i) for i in np.argwhere(wrong)[0])
            found, where = values[first], _place(first, row_numbers, columns)
            got = found.tolist() if found.ndim else f"{found:g}"
            raise InputError(f"{owner} needs {self.needs}. Got {got}{where}.")


def _place(index: Sequence[int], row_numbers: Any = None, columns: Any = None) -> str:
    """Say where an entry is, as the user counts."""
    if row_numbers is None:
        return f" at index {list(index)}" if index else ""
    row, *column = index
    where = f" in row {row_numbers[row]}"
    if columns is not None:
        called = f"column {columns[column[0]]!r}" if column else f"columns {check.listing(columns)}"
        return f"{where}, {called}"
    return f"{where}, column {column}" if column else where


#: All numbers.
REALS = Support(lambda x: ~np.isnan(x), "numbers", 0.0)


# --- the base -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
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
    Objects are immutable. A subclass is final; it declares its parameters as fields, its support
    and its summary, and gives the formulas: log density, natural form, draws and the estimate.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 2.4.
    """

    #: Which values there are.
    _support: ClassVar[Support]
    #: What rows are reduced to.
    _summary: ClassVar[Any]
    #: Trailing axes of the parameters that are not batch.
    _n_own_axes: ClassVar[int] = 0

    def _set(self, **parameters: F64) -> None:
        """Broadcast checked parameters against each other and keep read-only copies."""
        wide = together(type(self).__name__, **parameters)
        for name, array in zip(parameters, wide, strict=True):
            object.__setattr__(self, name, check.frozen(array.copy()))

    # --- density ----------------------------------------------------------------------------

    def log_density(self, x: Any) -> F64:
        """Return the log density, or the log probability, at ``x``.

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

    def _log_density(self, values: F64) -> F64:
        """Return the log density of values inside the support; by the natural form."""
        natural, statistics = self.natural_parameters, self._statistics(values)
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(natural).all():
                logs = np.einsum("...s,...s->...", natural, statistics)
            else:  # what never happens costs nothing where it did not happen
                logs = np.where(statistics == 0, 0.0, natural * statistics).sum(axis=-1)
            logs -= self.log_partition - self._log_base(values)
        return np.asarray(logs)

    def _joined(self, logs: F64) -> F64:
        """Join the log densities of the entries of an event, if they are independent."""
        return logs

    def _as_values(self, x: Any) -> F64:
        """Check that values are numbers that fit the batch."""
        owner = type(self).__name__
        values = check.floats(x, f"values of {owner}")
        own = self.mean.shape[-1:] if self._support.vectors else ()
        wanted = (*self.batch_shape, *own)
        fits = not own or values.shape[-1:] == own
        try:
            np.broadcast_shapes(values.shape, wanted)
        except ValueError:
            fits = False
        if not fits:
            raise ShapeError(
                f"{owner} needs values that broadcast against shape {wanted}. "
                f"Got shape {values.shape}."
            )
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
        values = check.floats(x, f"values of {cls.__name__}")
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
        """Return the sufficient statistics T(x) of values of the support.

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
        if self._support.vectors and not self._support.whole:
            return self._statistics(values)  # entries are independent: NaN stays where it is
        missing = self._support.missing(values)[..., None]
        return np.where(missing, np.nan, self._statistics(values))

    def _statistics(self, values: F64) -> F64:
        """Return the sufficient statistics on a new last axis; the value unless told otherwise."""
        return values[..., None]

    def log_base(self, x: Any) -> F64:
        """Return the log base measure log h(x) of values of the support.

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
        logs = self._log_base(self._support.filled(values, ~self._support.missing(values)))
        return logs + np.zeros(values.shape[:-1] if self._support.vectors else values.shape)

    def _log_base(self, values: F64) -> F64:  # noqa: ARG002 - for most families
        """Return the log base measure, 0 at the filler; one 0 for all unless told otherwise."""
        return np.zeros(())

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
    def n_parameters(self) -> int:
        """Number of free parameters, in all of the batch."""
        return sum(array.size for array in self._parameters.values())

    @property
    def _parameters(self) -> dict[str, F64]:
        """The parameters by name, as the class takes them."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.repr}

    def _one(self, *place: Any) -> Self:
        """Return a part of the batch."""
        made: Callable[..., Self] = type(self)
        return made(**{name: array[place] for name, array in self._parameters.items()})

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the array of distributions; empty for a single one."""
        shape = self.mean.shape
        return shape[: len(shape) - self._n_own_axes]

    # --- sampling ---------------------------------------------------------------------------

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
        owner = f"{type(self).__name__}.sample"
        size = check.count(n, f"n of {owner}", 0)
        rng = check.generator(random_state, f"random_state of {owner}")
        return self._draw(rng, (size, *self.batch_shape))

    @abstractmethod
    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[Any]:
        """Draw as many events as ``shape`` says; its last axes are the batch."""

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
        summary: S = cls._summary.of(_read(cls, x, weight, groups, n_groups))
        return summary

    @classmethod
    def _summarised(cls, values: F64) -> F64:
        """Return what is summarised of checked values, NaN where missing: the values as a rule."""
        return values

    @classmethod
    def estimate(cls, summary: S) -> Self:
        """Return the distribution of maximum likelihood.

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
        cls._check_summary(summary)
        return cls._estimate(summary)

    @classmethod
    def _estimate(cls, summary: S) -> Self:
        """Return the distribution of maximum likelihood of a checked summary with weight."""
        raise NotImplementedError  # for families whose estimate takes no options

    @classmethod
    def fit(cls, x: Any, weight: Any = None) -> Self:
        """Summarise rows and return the distribution of maximum likelihood.

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
    def _check_summary(cls, summary: S, *, empty: bool = False) -> None:
        """Check that a summary was made by this family, and refuse one without weight."""
        name = cls.__name__
        if getattr(summary, "family", None) != name:
            kind = getattr(summary, "family", type(summary).__name__)
            raise InputError(f"{name}.estimate needs a summary of {name}.summarise. Got {kind}.")
        nothing = ~(summary.weight > 0)
        if nothing.any() and not empty:
            raise InputError(
                f"{name}.estimate: the total weight is 0{place(nothing)}. At least one observed "
                "row of positive weight is needed."
            )


# --- numbers ----------------------------------------------------------------------------------


class OnALine(AbstractFamily[S]):
    """Base of families of single numbers: probabilities and quantiles by SciPy's names.

    Unlike for ``log_density``, NaN gives NaN.
    """

    __slots__ = ()

    @property
    def _scipy(self) -> Any:
        """The distribution as SciPy's; that part of SciPy loads when it is asked for."""
        raise NotImplementedError  # for families that SciPy does not know

    def each(self) -> list[Self]:
        """Return the distributions of the batch one by one, in the order of its ravelled shape."""
        return [self._one(*place) for place in np.ndindex(self.batch_shape)]

    def cdf(self, x: Any) -> F64:
        """Return the probability of at most ``x``."""
        return np.asarray(self._scipy.cdf(x))

    def sf(self, x: Any) -> F64:
        """Return the probability of more than ``x``, exact in the upper tail."""
        return np.asarray(self._scipy.sf(x))

    def ppf(self, q: Any) -> F64:
        """Return the ``q``-quantile."""
        return np.asarray(self._scipy.ppf(q))


class ContinuousOnALine(OnALine[S]):
    """Base of those with a density."""

    __slots__ = ()

    def logpdf(self, x: Any) -> F64:
        """Return the log density at ``x``."""
        return np.asarray(np.where(np.isnan(x), np.nan, self.log_density(x)))

    def pdf(self, x: Any) -> F64:
        """Return the density at ``x``."""
        return np.exp(self.logpdf(x))


class DiscreteOnALine(OnALine[S]):
    """Base of those with probabilities."""

    __slots__ = ()

    def logpmf(self, x: Any) -> F64:
        """Return the log probability of ``x``."""
        return np.asarray(np.where(np.isnan(x), np.nan, self.log_density(x)))

    def pmf(self, x: Any) -> F64:
        """Return the probability of ``x``."""
        return np.exp(self.logpmf(x))


# --- rows ---------------------------------------------------------------------------------------


def _read(
    family: type[AbstractFamily[Any]], x: Any, weight: Any, groups: Any, n_groups: int | None
) -> GroupedRows:
    """Check rows, weights and groups; drop rows of weight zero, whatever they hold."""
    owner, support = f"{family.__name__}.summarise", family._support  # noqa: SLF001 - its own
    values = check.floats(x, f"values of {owner}")
    if values.ndim < 1 + support.vectors or (support.vectors and not values.shape[-1]):
        shape = "(n, ..., D)" if support.vectors else "(n, ...)"
        raise ShapeError(f"{owner} needs values of shape {shape}. Got shape {values.shape}.")
    weights = _as_weights(weight, len(values), owner)
    codes, lead = _as_groups(groups, n_groups, len(values), owner)
    numbers = np.flatnonzero(weights > 0)
    if len(numbers) < len(values):
        values, weights, codes = values[numbers], weights[numbers], codes[numbers]
    support.refuse_others(values, owner, numbers)
    with np.errstate(invalid="ignore"):
        huge = np.abs(values) > MOST
    if huge.any():
        first = tuple(np.argwhere(huge)[0])
        raise InputError(
            f"{owner} needs values up to {MOST:g}, so that weighted squares are numbers. Got "
            f"{values[first]:g} in row {numbers[first[0]]}. Rescale the unit; a missing value is "
            "NaN."
        )
    missing = support.missing(values)
    if missing.any() and support.complete:
        where = _place(np.argwhere(missing)[0].tolist(), numbers)
        raise InputError(
            f"{owner} needs rows without missing values. Got NaN{where}. {support.complete}"
        )
    values = family._summarised(values)  # noqa: SLF001 - its own
    observed = ~missing if missing.any() else None
    return GroupedRows(family.__name__, values, observed, weights, codes, lead, missing.shape[1:])


def _as_weights(weight: Any, n: int, owner: str) -> F64:
    """Check one weight per row, 0 or more; all zero is allowed, and is no data."""
    if weight is None:
        return np.ones(n)
    weights = within(weight, f"weights of {owner}", 0, MOST)
    if weights.shape != (n,):
        raise ShapeError(f"{owner} needs one weight per row, {n}. Got shape {weights.shape}.")
    return weights


def _as_groups(
    groups: Any, n_groups: int | None, n: int, owner: str
) -> tuple[Int, tuple[int, ...]]:
    """Check one code per row, 0 without groups; return the leading axis of sums, too."""
    if groups is None:
        if n_groups is not None:
            raise InputError(f"{owner} has n_groups but no groups. Pass one code per row.")
        return np.zeros(n, np.intp), ()
    codes = np.asarray(groups)
    if codes.dtype.kind not in "iub" or codes.shape != (n,):
        raise ShapeError(
            f"{owner} needs groups as one whole number per row, {n}. Got {codes.dtype} of shape "
            f"{codes.shape}."
        )
    size = int(codes.max(initial=-1)) + 1
    if n_groups is not None:
        size = check.count(n_groups, f"n_groups of {owner}")
    return check.indices(codes.astype(np.intp), size, f"groups of {owner}"), (size,)


# --- parameters ---------------------------------------------------------------------------------


def within(values: Any, what: str, low: float, high: float) -> F64:
    """Check numbers from ``low`` to ``high``."""
    array = check.finite(values, what)
    wrong = array[(array < low) | (array > high)]
    if wrong.size:
        why = ", so that squares are numbers" if high == MOST else ""
        rescale = " Rescale the unit." if high == MOST else ""
        raise InputError(
            f"The {what} must be between {low:g} and {high:g}{why}. Got {wrong[0]:g}.{rescale}"
        )
    return array


def positive(values: Any, what: str) -> F64:
    """Check parameters that must be positive, and moderate enough for their squares."""
    array = check.finite(values, what)
    if (array <= 0).any():
        raise InputError(f"The {what} must be positive. Got {array.min():g}.")
    return within(array, what, 1 / MOST, MOST)


def together(owner: str, **parameters: F64) -> Sequence[F64]:
    """Broadcast parameters against each other."""
    try:
        return np.broadcast_arrays(*parameters.values())
    except ValueError:
        shapes = " and ".join(f"{what} {array.shape}" for what, array in parameters.items())
        raise ShapeError(f"{owner}: {shapes} do not fit together.") from None


# --- estimates ----------------------------------------------------------------------------------


def place(wrong: Bool) -> str:
    """Say where the first wrong entry of a summary is; nothing if there is only one entry."""
    first = [int(i) for i in np.argwhere(wrong)[0]]
    return f" at index {first} (groups come first, if there are any)" if first else ""


def refuse_constant(summary: AbstractSummary, constant: Bool, what: str) -> None:
    """Refuse a summary in which some entry has seen one value only."""
    if constant.any():
        raise InputError(
            f"{summary.family}.estimate: all values{place(constant)} are equal, up to rounding, so "
            f"that {what}. Drop that column, or add rows."
        )
