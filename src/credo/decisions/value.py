"""``decide_value``: the number with the least expected loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo._types import F64
from credo._validation.arrays import as_finite, frozen
from credo.decisions._plain import as_plain, plain_fields
from credo.decisions._text import number
from credo.decisions.value_cases import cases_of
from credo.decisions.value_losses import KNOWN, Squared, as_loss
from credo.decisions.value_search import search
from credo.exceptions import ShapeError


def decide_value(predictive: Any, loss: Any) -> ValueDecision:
    r"""Choose the number with the least expected loss under a predictive distribution.

    .. math:: v^* = \arg\min_v \int L(v, t)\, p(t \mid x)\, dt

    Parameters
    ----------
    predictive : Gaussian, Samples, Quantiles, or a frozen SciPy distribution
        What is believed about the truth, for one case or for many rows. A SciPy distribution,
        continuous or discrete, may have arrays as parameters.
    loss : Squared, Absolute, Pinball, AsymmetricLinear, ZeroOne, Linex, str or callable
        The loss; ``"squared"`` and ``"absolute"`` by name. A callable ``loss(value, truth)``
        takes a number and a 1-D array of truths and gives an array of finite losses.

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
        for ``Linex``, a callable whose expectation diverges or falls for ever.

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
    absolute and pinball losses of every value are infinite; the
    quantile is still returned, as no other value is better by any finite amount.

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
    cases = cases_of(predictive, "decide_value")
    chosen = as_loss(loss)
    if isinstance(chosen, KNOWN):
        value, expected = chosen.minimise(cases)
    else:
        rows = range(math.prod(cases.shape))
        found = np.array([search(chosen, cases.case(row)) for row in rows]).reshape(-1, 2)
        value, expected = found[:, 0], found[:, 1]
    return ValueDecision(_shaped(value, cases.shape), _shaped(expected, cases.shape))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ValueDecision:
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

    def to_dict(self) -> dict[str, Any]:
        """Give both as plain numbers or lists."""
        return plain_fields(self)

    def __repr__(self) -> str:
        return _text("ValueDecision", value=self.value, expected_loss=self.expected_loss)


def split_squared(predictive: Any, value: Any) -> SquaredSplit:
    r"""Split the expected squared loss of any value into what it adds and what nobody avoids.

    .. math:: \mathrm{E}[(v - t)^2] = (v - \mathrm{E}[t])^2 + \mathrm{var}[t]

    Parameters
    ----------
    predictive : Gaussian, Samples, Quantiles, or a frozen SciPy distribution
        What is believed about the truth, for one case or for many rows.
    value : float or array-like
        The proposed value, one for all rows or one for each.

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
    cases = cases_of(predictive, "split_squared")
    proposed = as_finite(value, "split_squared", "value")
    mean, variance = (np.reshape(part, cases.shape) for part in Squared().minimise(cases))
    try:
        shape = np.broadcast_shapes(mean.shape, proposed.shape)
    except ValueError:
        raise ShapeError(
            f"split_squared: values of shape {proposed.shape} do not fit a predictive of shape "
            f"{mean.shape}. Pass one value, or one for each row."
        ) from None
    bias = np.square(proposed - mean)
    both = (np.broadcast_to(part, shape).copy() for part in (bias, variance))
    return SquaredSplit(*(_shaped(part, shape) for part in both))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SquaredSplit:
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

    @property
    def total(self) -> Any:
        """The expected squared loss, the sum of both parts."""
        return self.squared_bias + self.variance

    def to_dict(self) -> dict[str, Any]:
        """Give both parts and the total as plain numbers or lists."""
        return {name: as_plain(part) for name, part in self._parts().items()}

    def __repr__(self) -> str:
        return _text("SquaredSplit", **self._parts())

    def _parts(self) -> dict[str, Any]:
        """Name both parts and the total."""
        names = ("squared_bias", "variance", "total")
        return {name: getattr(self, name) for name in names}


def _text(name: str, **parts: Any) -> str:
    """Write numbers as they are, and arrays by their means."""
    size = np.size(next(iter(parts.values())))
    if not np.ndim(next(iter(parts.values()))):
        return f"{name}({', '.join(f'{part}={number(v)}' for part, v in parts.items())})"
    means = [f", mean {part} {number(np.mean(v))}" for part, v in parts.items() if size]
    return f"{name}({size} rows{''.join(means)})"


def _shaped(values: F64, shape: tuple[int, ...]) -> Any:
    """Give a float for a single case, a read-only array otherwise."""
    return frozen(np.array(values).reshape(shape)) if shape else float(values.item())
