"""Curves for two labels: net benefit by threshold, expected cost by operating condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo._results import Drawable
from credo._types import F64, Label, Labels
from credo._validation.arrays import as_vector, frozen
from credo._validation.labels import listing, position
from credo.decisions._plain import plain_fields
from credo.decisions._text import number
from credo.decisions.labelled_rows import LabelledRows
from credo.decisions.loss import Loss
from credo.decisions.loss_matching import one_matrix, rows_for, without_reject
from credo.exceptions import InputError

#: Probabilities were divided by their row's sum, so a value meant to be on a threshold may miss it
#: by a few units of rounding; that still counts as reaching it.
_ROUNDING = 4 * np.finfo(np.float64).eps


@dataclass(frozen=True, slots=True, eq=False)
class NetBenefit(Drawable):
    """Net benefit of a model, of acting always and of acting never. Made by ``net_benefit``.

    Attributes
    ----------
    thresholds : ndarray of shape (m,)
        Probabilities of ``positive`` from which one acts.
    model, treat_all, treat_none : ndarray of shape (m,)
        Net benefit in true positives per row.
    positive
        The label one acts on.
    loss_threshold
        The threshold that the loss implies; None without a loss.
    """

    thresholds: F64
    model: F64
    treat_all: F64
    treat_none: F64
    positive: Label
    loss_threshold: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give all fields as plain lists and numbers."""
        return plain_fields(self)

    def __repr__(self) -> str:
        better = self.model > np.maximum(self.treat_all, self.treat_none)
        own = self.loss_threshold
        return (
            f"Net benefit of acting on {self.positive!r}: better than always and never at "
            f"{int(better.sum())} of {len(better)} thresholds"
            f"{'' if own is None else f'; the loss acts from {number(own)}'}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class CostCurve(Drawable):
    """Normalised expected cost by operating condition. Made by ``cost_curve``.

    Attributes
    ----------
    conditions : ndarray of shape (m,)
        Probability-cost of ``positive``: its share of the largest possible expected cost.
    curve : ndarray of shape (m,)
        Cost of the Bayes rule, re-weighted to each condition.
    envelope : ndarray of shape (m,)
        Least cost of any threshold: the best in hindsight.
    trivial : ndarray of shape (m,)
        Cost of the better of the two constant acts.
    operating_condition, operating_cost
        Where the loss and the class frequencies put the Bayes rule.
    positive
        The label whose misses are counted on the right.
    """

    conditions: F64
    curve: F64
    envelope: F64
    trivial: F64
    operating_condition: float
    operating_cost: float
    positive: Label

    def to_dict(self) -> dict[str, Any]:
        """Give all fields as plain lists and numbers."""
        return plain_fields(self)

    def __repr__(self) -> str:
        better = self.curve < self.trivial
        return (
            f"Cost curve for {self.positive!r}: better than a constant act at {int(better.sum())} "
            f"of {len(better)} conditions; normalised cost {number(self.operating_cost)} at "
            f"condition {number(self.operating_condition)}"
        )


def net_benefit(
    y: Any,
    posterior: Any,
    loss: Loss | None = None,
    *,
    positive: Label | None = None,
    thresholds: Any = None,
    sample_weight: Any = None,
) -> NetBenefit:
    r"""Weigh true against false positives at each threshold (decision curve analysis).

    .. math:: \text{NB}(t) = \frac{\text{TP}(t)}{n} - \frac{\text{FP}(t)}{n} \frac{t}{1 - t} ,

    acting on the rows with :math:`p(\text{positive} \mid x) \ge t`. With regrets
    :math:`\Delta_+` of a miss and :math:`\Delta_-` of a false alarm, a loss implies the threshold
    :math:`t^* = \Delta_- / (\Delta_- + \Delta_+)`.

    Parameters
    ----------
    y : array-like of shape (n,)
        The truth of each row.
    posterior : Posterior
        Probabilities of two labels.
    loss
        A loss with two acts, a reject act aside, to mark its threshold.
    positive
        The label to act on. By default the one that is dearer to miss; the last label if there is
        no loss or both are alike.
    thresholds : array-like, optional
        Values in [0, 1); by default 0.01, 0.02, …, 0.99.
    sample_weight : array-like of shape (n,), optional
        Weight of each row.

    Returns
    -------
    NetBenefit
        The curve of the model and those of acting always and never.

    Raises
    ------
    InputError
        If there are not two labels, a threshold is not in [0, 1), or the loss does not have two
        acts, each the better one for one label.

    See Also
    --------
    cost_curve : The same question, asked of operating conditions.

    Notes
    -----
    Time O(n log n). Exact; a probability within rounding of a threshold reaches it.

    References
    ----------
    .. [1] A. J. Vickers, E. B. Elkin, "Decision curve analysis: a novel method for evaluating
       prediction models", Medical Decision Making 26 (2006), pages 565-574.

    Examples
    --------
    >>> import credo
    >>> from credo.decisions import net_benefit
    >>> p = credo.Posterior.from_probabilities(
    ...     [[0.1, 0.9], [0.4, 0.6], [0.7, 0.3], [0.9, 0.1]], ["well", "ill"])
    >>> loss = credo.Loss.class_costs({"well": 1, "ill": 4})
    >>> curve = net_benefit(["ill", "well", "ill", "well"], p, loss, thresholds=[0.2, 0.5])
    >>> curve.model, curve.treat_all
    (array([0.4375, 0.    ]), array([0.375, 0.   ]))
    >>> curve.loss_threshold
    0.2
    """
    owner = "net_benefit"
    rows = _two_labels(y, posterior, sample_weight, owner)
    regrets = None if loss is None else _regrets(loss, rows.posterior.labels, owner)
    k = _positive(rows.posterior.labels, positive, regrets, owner)
    t = np.arange(1, 100) / 100 if thresholds is None else _grid(thresholds, owner, "thresholds")
    if t.max() == 1:
        raise InputError(f"The thresholds of {owner} must be below 1: at 1 the odds are infinite.")
    ranked = _Ranked.of(rows.probabilities[:, k], rows.truth == k, rows.weight)
    hits, alarms = ranked.above(t * (1 - _ROUNDING))
    n, n_positive = rows.weight.sum(), ranked.hits[-1]
    odds = t / (1 - t)
    return NetBenefit(
        thresholds=frozen(t),
        model=frozen((hits - alarms * odds) / n),
        treat_all=frozen((n_positive - (n - n_positive) * odds) / n),
        treat_none=frozen(np.zeros(len(t))),
        positive=rows.posterior.labels[k],
        loss_threshold=None if regrets is None else float(regrets[1 - k] / regrets.sum()),
    )


def cost_curve(
    y: Any,
    posterior: Any,
    loss: Loss,
    *,
    positive: Label | None = None,
    conditions: Any = None,
    sample_weight: Any = None,
) -> CostCurve:
    r"""Trace the normalised expected cost over all class frequencies and losses.

    An operating condition is summed up by the probability-cost

    .. math:: x = \frac{\pi'_+ \Delta_+}{\pi'_+ \Delta_+ + \pi'_- \Delta_-} , \qquad
              \text{cost} = \text{FNR}\; x + \text{FPR}\; (1 - x) ,

    with priors :math:`\pi'` and regrets :math:`\Delta` of a miss and of a false alarm. The Bayes
    rule at :math:`x` acts where :math:`p_+ \pi_-\, x \ge p_- \pi_+ (1 - x)`, with the class
    frequencies :math:`\pi` of ``y``.

    Parameters
    ----------
    y : array-like of shape (n,)
        The truth of each row; both labels must occur.
    posterior : Posterior
        Probabilities of two labels, made with priors like the frequencies of ``y``.
    loss
        A loss with two acts, a reject act aside.
    positive
        The label to act on; by default the one that is dearer to miss.
    conditions : array-like, optional
        Probability-costs in [0, 1]; by default 0, 0.005, …, 1.
    sample_weight : array-like of shape (n,), optional
        Weight of each row.

    Returns
    -------
    CostCurve
        The Bayes rule, the best threshold in hindsight, and the constant acts.

    Raises
    ------
    InputError
        If there are not two labels, one never occurs in ``y``, a condition is not in [0, 1], or
        the loss does not have two acts, each the better one for one label.

    See Also
    --------
    net_benefit : The same rows by threshold.

    Notes
    -----
    Time O(n log n + n log m) for m conditions: the best threshold moves one way as the condition
    grows, so it is found by halving. Exact. The gap between curve and envelope is what better
    calibration could win; that between envelope and zero needs a better model.

    References
    ----------
    .. [1] C. Drummond, R. C. Holte, "Cost curves: an improved method for visualizing classifier
       performance", Machine Learning 65 (2006), pages 95-130.

    Examples
    --------
    >>> import credo
    >>> from credo.decisions import cost_curve
    >>> p = credo.Posterior.from_probabilities(
    ...     [[0.1, 0.9], [0.4, 0.6], [0.7, 0.3], [0.9, 0.1]], ["well", "ill"])
    >>> loss = credo.Loss.class_costs({"well": 1, "ill": 4})
    >>> curve = cost_curve(["ill", "well", "ill", "well"], p, loss, conditions=[0.25, 0.5, 0.75])
    >>> curve.curve, curve.envelope, curve.trivial
    (array([0.125, 0.5  , 0.125]), array([0.125, 0.25 , 0.125]), array([0.25, 0.5 , 0.25]))
    """
    owner = "cost_curve"
    rows = _two_labels(y, posterior, sample_weight, owner)
    names = rows.posterior.labels
    regrets = _regrets(loss, names, owner)
    k = _positive(names, positive, regrets, owner)
    x = np.arange(201) / 200 if conditions is None else _grid(conditions, owner, "conditions")
    log_p = np.atleast_2d(rows.posterior.log_probabilities)
    ranked = _Ranked.of(log_p[:, k] - log_p[:, 1 - k], rows.truth == k, rows.weight)
    if not min(ranked.hits[-1], ranked.alarms[-1]) > 0:
        missing = names[k] if not ranked.hits[-1] > 0 else names[1 - k]
        raise InputError(f"{owner}: both labels must occur in y. {missing!r} does not.")
    right, left = ranked.hits[-1] * regrets[k], ranked.alarms[-1] * regrets[1 - k]
    own = float(right / (right + left))
    return CostCurve(
        conditions=frozen(x),
        curve=frozen(ranked.bayes_cost(x)),
        envelope=frozen(ranked.least_cost(x)),
        trivial=frozen(np.minimum(x, 1 - x)),
        operating_condition=own,
        operating_cost=float(ranked.bayes_cost(np.array([own]))[0]),
        positive=names[k],
    )


def _two_labels(y: Any, posterior: Any, sample_weight: Any, owner: str) -> LabelledRows:
    """Check labelled rows over two labels."""
    rows = LabelledRows.of(y, posterior, sample_weight, owner)
    names = rows.posterior.labels
    if len(names) != 2:
        raise InputError(
            f"{owner} needs two labels. Got {len(names)}: {listing(names)}. Take one against the "
            "rest, with the probabilities of the others summed."
        )
    return rows


def _grid(values: Any, owner: str, what: str) -> F64:
    """Check numbers between zero and one, and copy them."""
    grid = as_vector(values, owner, what).copy()
    if grid.min() < 0 or grid.max() > 1:
        odd = grid.min() if grid.min() < 0 else grid.max()
        raise InputError(f"The {what} of {owner} must be between 0 and 1. Got {odd:g}.")
    return grid


def _positive(labels: Labels, positive: Label | None, regrets: F64 | None, owner: str) -> int:
    """Find the positive label: the one given, else the dearer to miss, else the last."""
    if positive is not None:
        return position(positive, labels, owner)
    return 0 if regrets is not None and regrets[0] > regrets[1] else 1


def _regrets(loss: Loss, labels: Labels, owner: str) -> F64:
    """Give, per label, what the other label's act costs more than its own."""
    loss = without_reject(one_matrix(loss, owner), owner)
    if len(loss.acts) != 2:
        raise InputError(
            f"{owner} needs a loss with two acts, a reject act aside. Got {listing(loss.acts)}."
        )
    cells = loss.matrix[rows_for(loss, labels, owner)]
    regrets = np.array([cells[0, 1] - cells[0, 0], cells[1, 0] - cells[1, 1]])
    if (regrets < 0).all():
        regrets = -regrets
    if regrets.min() <= 0:
        better = loss.acts[int(regrets[0] < 0 or regrets[1] > 0)]
        raise InputError(
            f"{owner}: act {better!r} is never worse than the other, so there is nothing to weigh. "
            "Each label needs an act that is best for it."
        )
    return regrets


@dataclass(frozen=True, slots=True, eq=False)
class _Ranked:
    """Rows by rising score, and the weights of positives and negatives from the top.

    ``hits[j]`` and ``alarms[j]`` belong to acting on the j rows with the largest scores.
    """

    scores: F64
    hits: F64
    alarms: F64

    @classmethod
    def of(cls, scores: F64, positive: Any, weight: F64) -> _Ranked:
        """Sort the rows and add up from the top."""
        order = np.argsort(scores, kind="stable")
        down = order[::-1]
        hits = np.concatenate([[0.0], np.cumsum((weight * positive)[down])])
        alarms = np.concatenate([[0.0], np.cumsum((weight * ~positive)[down])])
        return cls(scores[order], hits, alarms)

    def above(self, limits: F64) -> tuple[F64, F64]:
        """Give hits and alarms of acting on the scores that reach each limit."""
        n_acted = len(self.scores) - np.searchsorted(self.scores, limits, side="left")
        return self.hits[n_acted], self.alarms[n_acted]

    def bayes_cost(self, x: F64) -> F64:
        """Give the cost of the Bayes rule re-weighted to each condition."""
        with np.errstate(divide="ignore"):
            limit = np.log1p(-x) - np.log(x) + np.log(self.hits[-1] / self.alarms[-1])
        slack = np.where(np.isfinite(limit), _ROUNDING * (1 + np.abs(limit)), 0.0)
        return self._cost(x, *self.above(limit - slack))

    def least_cost(self, x: F64) -> F64:
        """Give the least cost of any threshold at each condition."""
        down = self.scores[::-1]
        reached = np.concatenate([[0], np.flatnonzero(down[1:] < down[:-1]) + 1, [len(down)]])
        hits, alarms = self.hits[reached], self.alarms[reached]
        best = np.empty(len(x), dtype=np.intp)
        stack = [(np.argsort(x, kind="stable"), 0, len(hits))]
        while stack:
            some, low, high = stack.pop()
            middle = some[len(some) // 2]
            found = low + int(self._cost(x[middle], hits[low:high], alarms[low:high]).argmin())
            best[middle] = found
            halves = (
                (some[: len(some) // 2], low, found + 1),
                (some[len(some) // 2 + 1 :], found, high),
            )
            stack += [half for half in halves if len(half[0])]
        return self._cost(x, hits[best], alarms[best])

    def _cost(self, x: Any, hits: F64, alarms: F64) -> F64:
        """Give FNR x + FPR (1 - x)."""
        missed = 1 - hits / self.hits[-1]
        return missed * x + alarms / self.alarms[-1] * (1 - x)
