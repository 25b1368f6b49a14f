"""Losses for a number: what it costs to say ``value`` when the truth is another number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from credo._types import F64
from credo._validation.arrays import as_number, in_unit_interval
from credo._validation.labels import hint
from credo.decisions.value_numbers import log_excess, rounding
from credo.exceptions import InputError, LabelError, NumericalError


class Cases(Protocol):
    """What a loss asks of a predictive distribution; arrays have one entry per row."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the decisions."""

    def case(self, row: int) -> Any:
        """Give one row for a numerical search."""

    def moments(self) -> tuple[F64, F64]:
        """Give mean and variance."""

    def quantile(self, q: float) -> F64:
        """Give the lower ``q``-quantile."""

    def pinball(self, q: float, value: F64) -> F64:
        """Give the expected pinball loss of ``value``."""

    def window(self, width: float) -> tuple[F64, F64]:
        """Give the centre of the most probable interval, and the probability outside it."""

    def cumulant(self, rate: float) -> tuple[F64, F64]:
        """Give the mean m and log E[exp(-rate (truth - m))]."""


@dataclass(frozen=True, slots=True)
class Squared:
    r"""Charge the squared error :math:`(v - t)^2`; the best value is the mean.

    See Also
    --------
    credo.decide_value : Minimises the expectation.
    credo.decisions.split_squared : The two parts of the expected squared loss.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 1.5.5.

    Examples
    --------
    >>> from credo.decisions import Squared
    >>> float(Squared()(value=1.0, truth=3.0))
    4.0
    """

    def __call__(self, value: Any, truth: Any) -> Any:
        """Give the loss of ``value`` under each truth."""
        return np.square(np.asarray(value, dtype=np.float64) - truth)

    def minimise(self, cases: Cases) -> tuple[F64, F64]:
        """Give the mean and the variance of each row."""
        mean, variance = cases.moments()
        bad = ~(np.isfinite(mean) & np.isfinite(variance))
        if bad.any():
            row = int(np.argmax(bad))
            raise NumericalError(
                f"The squared loss needs a finite mean and variance. The predictive{_at(row, bad)} "
                f"has mean {mean[row]:g} and variance {variance[row]:g}. Use Absolute() or "
                "Pinball(q): medians and quantiles always exist."
            )
        return mean, variance


@dataclass(frozen=True, slots=True)
class Absolute:
    r"""Charge the absolute error :math:`|v - t|`; the best value is the median.

    See Also
    --------
    Pinball : The same with unequal sides; ``Pinball(0.5)`` is half of this loss.

    References
    ----------
    .. [1] J. O. Berger, *Statistical Decision Theory and Bayesian Analysis*, 2nd ed., 1985,
       section 2.4.2.

    Examples
    --------
    >>> import credo
    >>> from credo.decisions import Absolute, Samples
    >>> credo.decide_value(Samples([1.0, 2.0, 90.0]), Absolute()).value
    2.0
    """

    def __call__(self, value: Any, truth: Any) -> Any:
        """Give the loss of ``value`` under each truth."""
        return np.abs(np.asarray(value, dtype=np.float64) - truth)

    def minimise(self, cases: Cases) -> tuple[F64, F64]:
        """Give the median and the mean absolute deviation from it."""
        value = cases.quantile(0.5)
        return value, 2.0 * cases.pinball(0.5, value)


@dataclass(frozen=True, slots=True)
class Pinball:
    r"""Charge :math:`q\,(t - v)` below the truth, :math:`(1 - q)(v - t)` above it.

    The best value is the :math:`q`-quantile.

    Parameters
    ----------
    q
        Level, strictly between 0 and 1.

    Raises
    ------
    InputError
        If ``q`` is not strictly between 0 and 1.

    See Also
    --------
    AsymmetricLinear : The same by the price of each side.

    References
    ----------
    .. [1] T. Gneiting, "Making and Evaluating Point Forecasts", *Journal of the American
       Statistical Association* 106, 2011, section 3.3.

    Examples
    --------
    >>> from credo.decisions import Pinball
    >>> Pinball(0.9)(value=0.0, truth=[-1.0, 1.0]).round(2).tolist()
    [0.1, 0.9]
    """

    q: float

    def __post_init__(self) -> None:
        level = in_unit_interval(self.q, "Pinball", "level q", open_ends=True)
        object.__setattr__(self, "q", level)

    def __call__(self, value: Any, truth: Any) -> Any:
        """Give the loss of ``value`` under each truth."""
        short = np.asarray(truth, dtype=np.float64) - value
        return np.maximum(self.q * short, (self.q - 1.0) * short)

    def minimise(self, cases: Cases) -> tuple[F64, F64]:
        """Give the quantile and its expected loss."""
        value = cases.quantile(self.q)
        return value, cases.pinball(self.q, value)


@dataclass(frozen=True, slots=True)
class AsymmetricLinear:
    r"""Charge ``under`` for each unit below the truth and ``over`` for each unit above it.

    .. math:: L(v, t) = c_u \max(t - v, 0) + c_o \max(v - t, 0)

    The best value is the :math:`c_u / (c_u + c_o)`-quantile: the newsvendor's rule. It is
    :math:`c_u + c_o` times the pinball loss of that level.

    Parameters
    ----------
    under
        Loss per unit when the value is too small, positive.
    over
        Loss per unit when the value is too large, positive.

    Raises
    ------
    InputError
        If one of the two is not positive.

    References
    ----------
    .. [1] J. O. Berger, *Statistical Decision Theory and Bayesian Analysis*, 2nd ed., 1985,
       section 2.4.2.

    Examples
    --------
    A paper sells for 3, costs 1, and is worth nothing tomorrow.

    >>> import credo
    >>> from credo.decisions import AsymmetricLinear
    >>> from credo.families import Gaussian
    >>> demand = Gaussian(mean=100.0, variance=400.0)
    >>> round(credo.decide_value(demand, AsymmetricLinear(under=2, over=1)).value, 2)
    108.61
    """

    under: float
    over: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "under", _positive(self.under, "under"))
        object.__setattr__(self, "over", _positive(self.over, "over"))
        if not 0 < self._level < 1 or np.isinf(self.under + self.over):
            raise InputError(
                f"AsymmetricLinear({self.under:g}, {self.over:g}): one side is so much dearer that "
                "the best value is as good as infinite. Use numbers nearer to each other."
            )

    def __call__(self, value: Any, truth: Any) -> Any:
        """Give the loss of ``value`` under each truth."""
        short = np.asarray(truth, dtype=np.float64) - value
        return np.maximum(self.under * short, -self.over * short)

    def minimise(self, cases: Cases) -> tuple[F64, F64]:
        """Give the quantile at the critical ratio and its expected loss."""
        value = cases.quantile(self._level)
        return value, (self.under + self.over) * cases.pinball(self._level, value)

    @property
    def _level(self) -> float:
        """The critical ratio under / (under + over)."""
        return 1.0 / (1.0 + self.over / self.under)


@dataclass(frozen=True, slots=True)
class ZeroOne:
    r"""Charge one unless the value is within ``width / 2`` of the truth.

    .. math:: L(v, t) = [\,|t - v| > w / 2\,]

    The best value is the centre of the most probable interval of that width; with width 0, the
    mode.

    Parameters
    ----------
    width
        Width of the interval in which a value counts as right, at least 0.

    Raises
    ------
    InputError
        If the width is negative.

    Notes
    -----
    The comparison forgives rounding, four units in the last place. With width 0 a continuous
    predictive is decided by its density, and the expected loss is 1: no value is ever hit.

    References
    ----------
    .. [1] C. P. Robert, *The Bayesian Choice*, 2nd ed., 2007, section 2.5.3.

    Examples
    --------
    >>> import credo
    >>> from credo.decisions import Samples, ZeroOne
    >>> credo.decide_value(Samples([0.0, 5.0, 5.5, 6.0]), ZeroOne(width=1.0))
    ValueDecision(value=5.5, expected_loss=0.25)
    """

    width: float = 0.0

    def __post_init__(self) -> None:
        width = as_number(self.width, "ZeroOne", "width")
        if width < 0:
            raise InputError(f"The width of ZeroOne must be at least 0. Got {width:g}.")
        object.__setattr__(self, "width", width)

    def __call__(self, value: Any, truth: Any) -> Any:
        """Give the loss of ``value`` under each truth."""
        v, t = np.asarray(value, dtype=np.float64), np.asarray(truth, dtype=np.float64)
        return np.where(np.abs(t - v) <= self.width / 2 + rounding(v, t), 0.0, 1.0)

    def minimise(self, cases: Cases) -> tuple[F64, F64]:
        """Give the centre of the most probable interval and the probability outside it."""
        return cases.window(self.width)


@dataclass(frozen=True, slots=True)
class Linex:
    r"""Charge exponentially on one side and about linearly on the other.

    .. math:: L(v, t) = e^{a (v - t)} - a (v - t) - 1

    For :math:`a > 0` a value above the truth is dear, for :math:`a < 0` one below it. The best
    value is :math:`-\tfrac{1}{a} \log \mathrm{E}[e^{-a t}]`.

    Parameters
    ----------
    a
        Asymmetry, not 0; its size is measured against one over the unit of the truth.

    Raises
    ------
    InputError
        If ``a`` is 0 or not finite.

    Notes
    -----
    The expected loss of the best value is :math:`a (\mathrm{E}[t] - v)`. For small :math:`a` the
    loss is nearly :math:`a^2 / 2` times the squared loss.

    References
    ----------
    .. [1] A. Zellner, "Bayesian Estimation and Prediction Using Asymmetric Loss Functions",
       *Journal of the American Statistical Association* 81, 1986, section 2.

    Examples
    --------
    >>> import credo
    >>> from credo.decisions import Linex
    >>> from credo.families import Gaussian
    >>> credo.decide_value(Gaussian(mean=10.0, variance=4.0), Linex(a=0.5))
    ValueDecision(value=9, expected_loss=0.5)
    """

    a: float

    def __post_init__(self) -> None:
        a = as_number(self.a, "Linex", "asymmetry a")
        if a == 0:
            raise InputError(
                "The asymmetry a of Linex must not be 0: the loss would be 0 everywhere. Use "
                "Squared(), its limit up to a factor."
            )
        object.__setattr__(self, "a", a)

    def __call__(self, value: Any, truth: Any) -> Any:
        """Give the loss of ``value`` under each truth."""
        with np.errstate(over="ignore"):
            return np.exp(log_excess(self.a * (np.asarray(value, dtype=np.float64) - truth)))

    def minimise(self, cases: Cases) -> tuple[F64, F64]:
        """Give the best value and its expected loss, which is the centred cumulant."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean, cumulant = cases.cumulant(self.a)
            value = mean - cumulant / self.a
        # The value is a difference; where it is lost in the rounding of the mean, measured against
        # the loss's own unit 1 / a, there is none.
        with np.errstate(invalid="ignore"):
            lost = np.finfo(np.float64).eps * np.abs(mean) > 1e-6 * np.maximum(
                np.abs(value), 1 / abs(self.a)
            )
        bad = ~(np.isfinite(value) & np.isfinite(cumulant)) | lost
        if bad.any():
            row = int(np.argmax(bad))
            raise NumericalError(
                f"Linex(a={self.a:g}) needs a mean and E[exp(-a t)] that float64 can hold. The "
                "predictive"
                f"{_at(row, bad)} has mean {mean[row]:g} and log E[exp(-a (t - mean))] "
                f"{cumulant[row]:g}. Take a smaller a, or AsymmetricLinear."
            )
        return value, cumulant


#: The losses that know their best value.
KNOWN = (Absolute, AsymmetricLinear, Linex, Pinball, Squared, ZeroOne)
#: The losses that have a name.
BY_NAME = {"absolute": Absolute(), "squared": Squared()}


def as_loss(loss: Any) -> Any:
    """Find the loss: by name, as an object, or a callable."""
    if isinstance(loss, str):
        if loss not in BY_NAME:
            raise LabelError(
                f"Unknown loss {loss!r}. By name there are 'absolute' and 'squared'; others are "
                f"objects, such as Pinball(0.9).{hint(loss, tuple(BY_NAME))}"
            )
        return BY_NAME[loss]
    if isinstance(loss, type):
        raise InputError(
            f"decide_value needs a loss, not its class. Pass an instance of {loss.__name__}."
        )
    if not callable(loss):
        raise InputError(
            "decide_value needs Squared(), Absolute(), Pinball(q), AsymmetricLinear(under, over), "
            "ZeroOne(width), Linex(a) or a function loss(value, truth). Got "
            f"{type(loss).__name__}. For labels use credo.decide."
        )
    return loss


def _positive(value: float, what: str) -> float:
    """Check a positive price of AsymmetricLinear."""
    price = as_number(value, "AsymmetricLinear", f"'{what}'")
    if price <= 0:
        raise InputError(
            f"The '{what}' of AsymmetricLinear must be positive. Got {price:g}. A side that costs "
            "nothing has its best value at infinity."
        )
    return price


def _at(row: int, rows: Any) -> str:
    """Name the row, if there are several."""
    return f" of row {row}" if len(rows) > 1 else ""
