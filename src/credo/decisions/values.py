"""``decide_value``: the number with the least expected loss, and the losses for a number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo import _checks as check
from credo._results import Immutable, Plain, number
from credo._types import F64
from credo.decisions.joint_density import JointDensity, split_over_x
from credo.decisions.predictive import (
    Vectors,
    as_cases,
    columns,
    log_excess,
    pinball_loss,
    rounding,
    search,
)
from credo.exceptions import InputError, LabelError, NumericalError, ShapeError


def decide_value(predictive: Any, loss: Any) -> ValueDecision:
    r"""Choose the number with the least expected loss under a predictive distribution.

    .. math:: v^* = \arg\min_v \int L(v, t)\, p(t \mid x)\, dt

    Parameters
    ----------
    predictive : family of numbers, Samples, Quantiles, or a frozen SciPy distribution
        What is believed about the truth, for one case or for many rows: a ``Gaussian``, ``Gamma``,
        ``Poisson``, ``Histogram`` … of ``credo.families``, or a SciPy distribution, continuous or
        discrete; each may have arrays as parameters. Of a ``MultivariateGaussian`` or
        ``DiagonalGaussian`` the value is a vector, under the squared loss: the mean, and its
        expected loss the sum of the variances. Of a ``JointDensity``, ``joint.given(x)``.
    loss : Squared, Absolute, Pinball, AsymmetricLinear, ZeroOne, Linex, str or callable
        The loss; ``"squared"`` and ``"absolute"`` by name. A callable ``loss(value, truth)``
        takes a number and a 1-D array of truths and gives an array of finite losses. ``Linex``
        needs a Gaussian, Samples, Quantiles or Categorical, and so does ``ZeroOne`` with a width,
        unless the predictive is discrete.

    Returns
    -------
    ValueDecision
        With ``value`` and ``expected_loss``: numbers for one case, arrays for many rows.

    Raises
    ------
    InputError
        If the predictive or the loss is not one of these, or a callable gives other than finite
        numbers.
    ShapeError
        If a callable does not give one loss for each truth.
    NumericalError
        If the best value does not exist: no variance for the squared loss, no exponential moment
        for ``Linex``, a callable whose expectation diverges or keeps falling.

    See Also
    --------
    split_squared : What a value other than the best adds to the squared loss.
    credo.decide : The best act, where the truth is a label.

    Notes
    -----
    Closed forms are used where they exist; they are exact to rounding and, for Gaussian, Samples
    and Quantiles, vectorised over rows (``ZeroOne`` on Samples and Quantiles goes row by row).
    The median of draws is the lower one. Integrals over a SciPy density are adaptive, to about ten
    digits; a discrete distribution is summed up to a tail mass of 1e-15. Without a mean the
    absolute and pinball losses of every value are infinite; the quantile is still returned, as no
    other value is better by any finite amount.

    A callable is minimised numerically, without assuming one minimum only: a scan over the
    predictive's quantiles, widened until the best is inside, then a bounded search around the
    best three. The value is good to about 1e-6 of the predictive's scale, the expected loss to
    about 1e-10 of itself, if the loss is smooth or has its kinks at truth = value. Other kinks
    cost time; jumps cost accuracy, to about 1e-2 for the value and 1e-4 for the expected loss.
    Each row takes some hundred integrals. Of several best values one is returned.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 1.5.5.
    .. [2] T. Gneiting, "Making and Evaluating Point Forecasts", *Journal of the American
       Statistical Association* 106, 2011, table 1 and section 3.

    Examples
    --------
    >>> import credo
    >>> from credo.decisions import Pinball
    >>> from credo.families import Gaussian
    >>> credo.decide_value(Gaussian(mean=20.0, variance=9.0), Pinball(0.95))
    ValueDecision(value=24.9346, expected_loss=0.309407)

    Any loss will do; here an underestimate counts ten times, squared.

    >>> import numpy as np
    >>> def steep(value, truth):
    ...     return np.where(truth > value, 10.0, 1.0) * (truth - value) ** 2
    >>> round(credo.decide_value(Gaussian(mean=20.0, variance=9.0), steep).value, 3)
    22.704
    """
    if isinstance(predictive, JointDensity):
        raise InputError(
            f"decide_value: with {predictive} the best value is a function of x. Pass "
            "joint.given(x), with one x or an array of them."
        )
    cases = as_cases(predictive, "decide_value")
    chosen = _as_loss(loss)
    if isinstance(cases, Vectors) and not isinstance(chosen, Squared):
        raise InputError(
            "decide_value: for vectors there is the squared loss only. Got "
            f"{type(chosen).__name__}. Decide each component by itself: Gaussian(mean[..., m], "
            "variance[..., m])."
        )
    if isinstance(chosen, _KNOWN):
        both = chosen.minimise(cases)
    else:
        both = columns(search(chosen, cases.case(row)) for row in range(math.prod(cases.shape)))
    return ValueDecision(*(_shaped(part, (*cases.shape, *part.shape[1:])) for part in both))


def split_squared(predictive: Any, value: Any) -> SquaredSplit:
    r"""Split the expected squared loss of any value into what it adds and what nobody avoids.

    .. math:: \mathrm{E}[(v - t)^2] = (v - \mathrm{E}[t])^2 + \mathrm{var}[t]

    Parameters
    ----------
    predictive : family of numbers, Samples, Quantiles, frozen SciPy distribution or JointDensity
        What is believed about the truth, for one case or for many rows; or of x and the truth.
    value : float, array-like or callable
        The proposed value, one for all rows or one for each; vectors if the truth is a vector. For
        a ``JointDensity`` a function y(x) of an array of x: both parts are then averaged over x.

    Returns
    -------
    SquaredSplit
        With ``squared_bias``, ``variance`` and ``total``.

    Raises
    ------
    NumericalError
        If the predictive has no finite variance.
    ShapeError
        If the values do not fit the rows.

    See Also
    --------
    decide_value : The value whose squared bias is zero.

    Notes
    -----
    Exact to rounding; time of one mean and one variance.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, equation 1.90.

    Examples
    --------
    >>> from credo.decisions import split_squared
    >>> from credo.families import Gaussian
    >>> split_squared(Gaussian(mean=10.0, variance=4.0), value=13.0)
    SquaredSplit(squared_bias=9, variance=4, total=13)
    """
    if isinstance(predictive, JointDensity):
        return SquaredSplit(*split_over_x(predictive, value))
    cases = as_cases(predictive, "split_squared")
    proposed = check.finite(value, "value of split_squared")
    mean, variance = Squared().minimise(cases)
    mean, variance = mean.reshape((*cases.shape, *mean.shape[1:])), variance.reshape(cases.shape)
    try:
        bias = np.square(proposed - mean)
        if isinstance(cases, Vectors):
            bias = bias.sum(axis=-1)
        bias, variance = np.broadcast_arrays(bias, variance)
    except ValueError:
        raise ShapeError(
            f"split_squared: values of shape {proposed.shape} do not fit a predictive of shape "
            f"{mean.shape}. Pass one value, or one for each row."
        ) from None
    return SquaredSplit(_shaped(bias, bias.shape), _shaped(variance, bias.shape))


def _shaped(values: F64, shape: tuple[int, ...]) -> Any:
    """Return a float for a single number, a read-only array otherwise."""
    return check.frozen(np.array(values).reshape(shape)) if shape else float(np.ravel(values)[0])


def _text(value: Any) -> str:
    """Write a number, or a vector."""
    return f"[{', '.join(map(number, value))}]" if np.ndim(value) else number(float(value))


class _Numbers(Plain):
    """Writes its numbers as they are, and arrays by their means."""

    __slots__ = ()

    def __repr__(self) -> str:
        names = [*self.__dataclass_fields__, *self._also]  # type: ignore[attr-defined]
        parts = {name: getattr(self, name) for name in names}
        size = np.size(parts[names[-1]])  # of numbers: the value itself may be a vector
        if not np.ndim(parts[names[-1]]):
            texts = [f"{name}={_text(v)}" for name, v in parts.items()]
        else:
            wide = {name: np.reshape(v, (size, -1)) for name, v in parts.items() if size}
            means = [f"mean {name} {_text(v.mean(axis=0).squeeze())}" for name, v in wide.items()]
            texts = [f"{size} rows", *means]
        return f"{type(self).__name__}({', '.join(texts)})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ValueDecision(_Numbers):
    """Hold the best number, and the loss to be expected from it.

    Made by ``credo.decide_value``.

    Attributes
    ----------
    value : float or ndarray
        The number with the least expected loss (per row).
    expected_loss : float or ndarray
        Its expected loss (per row).
    """

    value: Any
    expected_loss: Any


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SquaredSplit(_Numbers):
    """Hold the two parts of an expected squared loss.

    Made by ``credo.decisions.split_squared``.

    Attributes
    ----------
    squared_bias : float or ndarray
        Squared distance from the mean: zero for the best value.
    variance : float or ndarray
        Variance of the truth: the loss that even the best value has.
    """

    squared_bias: Any
    variance: Any
    _also = ("total",)

    @property
    def total(self) -> Any:
        """The expected squared loss, the sum of both parts."""
        return self.squared_bias + self.variance


# --- losses ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Squared:
    r"""Charge the squared error :math:`\|v - t\|^2`; the best value is the mean.

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
        """Return the loss of ``value`` under each truth."""
        return np.square(np.asarray(value, dtype=np.float64) - truth)

    def minimise(self, cases: Any) -> tuple[F64, F64]:
        """Return the mean and the variance of each row."""
        mean, variance = cases.moments()
        known = np.isfinite(mean).all(axis=tuple(range(1, mean.ndim))) & np.isfinite(variance)
        for row in np.flatnonzero(~known):
            raise NumericalError(
                "The squared loss needs a finite mean and variance. The predictive"
                f"{_at(row, mean)} has mean {_text(mean[row])} and variance {variance[row]:g}. Use "
                "Absolute() or Pinball(q): medians and quantiles always exist."
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
        """Return the loss of ``value`` under each truth."""
        return np.abs(np.asarray(value, dtype=np.float64) - truth)

    def minimise(self, cases: Any) -> tuple[F64, F64]:
        """Return the median and the mean absolute deviation from it."""
        value, expected = Pinball(0.5).minimise(cases)
        return value, 2.0 * expected


@dataclass(frozen=True, slots=True)
class Pinball(Immutable):
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
        self._set(q=check.level(self.q, "level q of Pinball"))

    def __call__(self, value: Any, truth: Any) -> Any:
        """Return the loss of ``value`` under each truth."""
        return pinball_loss(self.q, value, truth)

    def minimise(self, cases: Any) -> tuple[F64, F64]:
        """Return the quantile and its expected loss."""
        value = cases.quantile(self.q)
        return value, cases.pinball(self.q, value)


@dataclass(frozen=True, slots=True)
class AsymmetricLinear(Immutable):
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
        for name in ("under", "over"):
            what = f"'{name}' of AsymmetricLinear"
            price = check.number(getattr(self, name), what)
            if price <= 0:
                raise InputError(
                    f"The {what} must be positive. Got {price:g}. A side that costs nothing has "
                    "its best value at infinity."
                )
            self._set(**{name: price})
        if not 0 < self._level < 1 or np.isinf(self.under + self.over):
            raise InputError(
                f"AsymmetricLinear({self.under:g}, {self.over:g}): one side costs so much more "
                "that the best value is practically infinite. Use numbers nearer to each other."
            )

    @property
    def _level(self) -> float:
        """The critical ratio under / (under + over)."""
        return 1.0 / (1.0 + self.over / self.under)

    def __call__(self, value: Any, truth: Any) -> Any:
        """Return the loss of ``value`` under each truth."""
        short = np.asarray(truth, dtype=np.float64) - value
        return np.maximum(self.under * short, -self.over * short)

    def minimise(self, cases: Any) -> tuple[F64, F64]:
        """Return the quantile at the critical ratio and its expected loss."""
        value, expected = Pinball(self._level).minimise(cases)
        return value, (self.under + self.over) * expected


@dataclass(frozen=True, slots=True)
class ZeroOne(Immutable):
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
        self._set(width=check.number(self.width, "width of ZeroOne", 0))

    def __call__(self, value: Any, truth: Any) -> Any:
        """Return the loss of ``value`` under each truth."""
        v, t = np.asarray(value, dtype=np.float64), np.asarray(truth, dtype=np.float64)
        return np.where(np.abs(t - v) <= self.width / 2 + rounding(v, t), 0.0, 1.0)

    def minimise(self, cases: Any) -> tuple[F64, F64]:
        """Return the centre of the most probable interval and the probability outside it."""
        return cases.window(self.width)


@dataclass(frozen=True, slots=True)
class Linex(Immutable):
    r"""Charge exponentially on one side and about linearly on the other.

    .. math:: L(v, t) = e^{a (v - t)} - a (v - t) - 1

    For :math:`a > 0` a value above the truth costs more, for :math:`a < 0` one below it. The best
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
        self._set(a=check.number(self.a, "asymmetry a of Linex"))
        if self.a == 0:
            raise InputError(
                "The asymmetry a of Linex must not be 0: the loss would be 0 everywhere. Use "
                "Squared(), its limit up to a factor."
            )

    def __call__(self, value: Any, truth: Any) -> Any:
        """Return the loss of ``value`` under each truth."""
        with np.errstate(over="ignore"):
            return np.exp(log_excess(self.a * (np.asarray(value, dtype=np.float64) - truth)))

    def minimise(self, cases: Any) -> tuple[F64, F64]:
        """Return the best value and its expected loss, which is the centred cumulant."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean, cumulant = cases.cumulant(self.a)
            value = mean - cumulant / self.a
            # The value is a difference; where it is lost in the rounding of the mean, measured
            # against the loss's own unit 1 / a, there is none.
            unit = np.maximum(np.abs(value), 1 / abs(self.a))
            good = np.finfo(np.float64).eps * np.abs(mean) <= 1e-6 * unit
        for row in np.flatnonzero(~(good & np.isfinite(value) & np.isfinite(cumulant))):
            raise NumericalError(
                f"Linex(a={self.a:g}) needs a mean and E[exp(-a t)] that float64 can hold. The "
                f"predictive{_at(row, mean)} has mean {mean[row]:g} and log E[exp(-a (t - mean))] "
                f"{cumulant[row]:g}. Take a smaller a, or AsymmetricLinear."
            )
        return value, cumulant


#: The losses that know their best value, and those that have a name.
_KNOWN = (Absolute, AsymmetricLinear, Linex, Pinball, Squared, ZeroOne)
_BY_NAME = {"absolute": Absolute(), "squared": Squared()}


def _as_loss(loss: Any) -> Any:
    """Find the loss: by name, as an object, or a callable."""
    if isinstance(loss, str):
        if loss in _BY_NAME:
            return _BY_NAME[loss]
        raise LabelError(
            f"Unknown loss {loss!r}. By name there are 'absolute' and 'squared'; others are "
            f"objects, such as Pinball(0.9).{check.hint(loss, tuple(_BY_NAME))}"
        )
    if isinstance(loss, type):
        name = loss.__name__
        raise InputError(f"decide_value needs a loss, not its class. Pass an instance of {name}.")
    if not callable(loss):
        raise InputError(
            "decide_value needs Squared(), Absolute(), Pinball(q), AsymmetricLinear(under, over), "
            "ZeroOne(width), Linex(a) or a function loss(value, truth). Got "
            f"{type(loss).__name__}. For labels use credo.decide."
        )
    return loss


def _at(row: Any, rows: Any) -> str:
    """Name the row, if there are several."""
    return f" of row {row}" if len(rows) > 1 else ""
