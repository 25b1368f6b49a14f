"""Curves over labelled rows: loss by coverage, ROC, net benefit by threshold, cost by condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo import _checks as check
from credo._results import Drawable, Plain, number
from credo._types import F64, Int, Label, Labels
from credo.decisions._decide import Decisions, decide, rounding
from credo.decisions.labelled_rows import LabelledRows
from credo.decisions.loss import Loss, as_loss
from credo.exceptions import InputError
from credo.posterior.posterior import log_sum_exp

_ROC = "roc_curve"
_SHOWN = (0.5, 0.8, 0.9, 0.95, 1.0)
#: Probabilities were divided by their row's sum, so a value meant to be on a threshold may miss it
#: by a few units of rounding; that still counts as reaching it.
_ROUNDING = 4 * np.finfo(np.float64).eps


# --- risk and coverage ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CoveragePoint(Plain):
    """One choice of which rows to decide.

    Attributes
    ----------
    coverage
        Share of the rows that are decided.
    risk
        Mean loss among them; None if there are none.
    threshold
        Rows are decided if the risk of their best act is at most this; None if the choice was not
        made by a threshold.
    """

    coverage: float
    risk: float | None
    threshold: float | None

    def __str__(self) -> str:
        """Write the point as three columns."""
        cells = (self.coverage, self.risk, self.threshold)
        texts = ["none" if cell is None else f"{cell:.4g}" for cell in cells]
        return "  ".join(map(str.rjust, texts, (8, 9, 9)))


@dataclass(frozen=True, slots=True, eq=False)
class RiskCoverage(Drawable, Plain):
    """Mean loss among the decided rows, by how many are decided. Made by ``risk_coverage``.

    Attributes
    ----------
    coverage : ndarray of shape (m,)
        Shares of rows decided, rising to one.
    risk : ndarray of shape (m,)
        Mean loss among the decided rows.
    threshold : ndarray of shape (m,)
        Largest conditional risk among the decided rows, rising. It is the cost of rejecting at
        which exactly these rows are worth deciding; under zero-one loss it is one minus the
        smallest confidence.
    area
        Area under the curve: the mean risk over all coverages.
    optimal_area
        The same if the rows came in the order of their actual losses.
    n_rows
        Number of rows with a positive weight.
    operating_point
        Where ``decide`` with the loss's own reject act stands; None without a reject act.
    """

    coverage: F64
    risk: F64
    threshold: F64
    area: float
    optimal_area: float
    n_rows: int
    operating_point: CoveragePoint | None = None
    _also = ("excess_area",)

    @property
    def excess_area(self) -> float:
        """What the order of the rows adds to the area; zero for the best order."""
        return max(0.0, self.area - self.optimal_area)

    def at_coverage(self, coverage: float) -> CoveragePoint:
        """Return the first point that decides at least this share of the rows.

        Examples
        --------
        >>> from credo import Posterior
        >>> from credo.decisions import risk_coverage
        >>> p = Posterior.from_probabilities([[0.9, 0.1], [0.6, 0.4]], ["a", "b"])
        >>> curve = risk_coverage(["a", "b"], p)
        >>> curve.at_coverage(0.4)
        CoveragePoint(coverage=0.5, risk=0.0, threshold=0.1)
        """
        wanted = check.number(coverage, "coverage of RiskCoverage.at_coverage", 0, 1)
        # One part in 10**12 is far below a row's share and far above the rounding of sums.
        first = int(np.searchsorted(self.coverage, wanted * (1 - 1e-12)))
        return CoveragePoint(
            float(self.coverage[first]), float(self.risk[first]), float(self.threshold[first])
        )

    def __repr__(self) -> str:
        head = (
            f"Area under the risk-coverage curve {number(self.area)}; best order "
            f"{number(self.optimal_area)}, excess {number(self.excess_area)}"
        )
        points = {point.coverage: str(point) for point in map(self.at_coverage, _SHOWN)}
        own = self.operating_point
        last = [] if own is None else [f"{own}  with its reject act"]
        return "\n".join([head, "coverage       risk  threshold", *points.values(), *last])


def risk_coverage(
    y: Any, posterior: Any, loss: Loss | None = None, *, sample_weight: Any = None
) -> RiskCoverage:
    r"""Trace the mean loss of the rows decided against how many are decided.

    Rows are decided in the order of the conditional risk :math:`r_i = \min_a R(a \mid x_i)` of
    their best act (the reject act aside), the surest first; without a loss, :math:`1 - r_i` is
    the largest probability. With :math:`A_t = \{i : r_i \le t\}`,

    .. math:: \text{coverage}(t) = \frac{\sum_{i \in A_t} w_i}{\sum_i w_i}, \qquad
              \text{risk}(t) = \frac{\sum_{i \in A_t} w_i L_{y_i a_i}}{\sum_{i \in A_t} w_i} .

    Parameters
    ----------
    y : array-like of shape (n,)
        The true class of each row.
    posterior : Posterior
        Probabilities of each row.
    loss
        Losses by true class and act; zero-one by default, so that the risk is the error rate.
    sample_weight : array-like of shape (n,), optional
        Weight of each row.

    Returns
    -------
    RiskCoverage
        One point for each distinct conditional risk, and the area under the curve.

    Raises
    ------
    LabelError
        If a truth is not a label of the posterior, or labels and loss differ; the row is named.
    InputError
        If the loss has no act but the reject act.

    See Also
    --------
    Loss.with_reject : The act that leaves a row to someone else.

    Notes
    -----
    Time O(n log n). Rows tied up to rounding enter together, so the order of the rows does
    not matter. The area is exact for the curve on which rows enter in proportion: between two
    points the total loss, not the mean, grows linearly. Hence a weight of two is the same as the
    row twice, and under zero-one loss the best order has area
    :math:`e + (1 - e) \log(1 - e)` at error rate :math:`e`, the formula of [2]_. Means over the n
    coverages 1/n, 2/n, … differ from it by O(log(n) / n).

    References
    ----------
    .. [1] R. El-Yaniv, Y. Wiener, "On the foundations of noise-free selective classification",
       Journal of Machine Learning Research 11 (2010), section 2.
    .. [2] Y. Geifman, G. Uziel, R. El-Yaniv, "Bias-reduced uncertainty estimation for deep neural
       classifiers", ICLR 2019 (the excess area).

    Examples
    --------
    The only error is in the row the model was least sure of: no order would be better.

    >>> from credo import Posterior
    >>> from credo.decisions import risk_coverage
    >>> p = Posterior.from_probabilities(
    ...     [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]], ["a", "b"])
    >>> curve = risk_coverage(["a", "a", "b", "b"], p)
    >>> curve.coverage, curve.risk
    (array([0.25, 0.5 , 0.75, 1.  ]), array([0.  , 0.  , 0.  , 0.25]))
    >>> curve.excess_area
    0.0
    """
    rows = LabelledRows.of(y, posterior, sample_weight, "risk_coverage")
    return trace_coverage(rows, Loss.zero_one(posterior.labels) if loss is None else loss)


def trace_coverage(rows: LabelledRows, loss: Loss) -> RiskCoverage:
    """Return the curve of rows that have been checked."""
    whole, order = rows.loss(loss, "risk_coverage")
    truth, w = order[rows.truth], rows.weight
    forced = decide(rows.posterior, whole.without_reject())
    actual = forced.loss.of(truth, np.atleast_1d(forced.act_index))
    doubt = np.atleast_1d(forced.risk)
    order = np.argsort(doubt, kind="stable")
    # Rows whose risks differ by rounding only are decided together: one point for each run of them.
    size = _sizes(rows, forced)[order]
    limits = rounding(len(whole.truths)) * (size[1:] + size[:-1])
    borders = np.flatnonzero(np.diff(doubt[order]) > limits)
    first, last = np.append(0, borders + 1), np.append(borders, len(doubt) - 1)
    weight = np.add.reduceat(w[order], first)
    total = np.add.reduceat((w * actual)[order], first)
    best = np.argsort(actual, kind="stable")
    return RiskCoverage(
        coverage=check.frozen(np.cumsum(weight) / weight.sum()),
        risk=check.frozen(np.cumsum(total) / np.cumsum(weight)),
        threshold=check.frozen(doubt[order][last]),
        area=_area(weight, total),
        optimal_area=_area(w[best], (w * actual)[best]),
        n_rows=len(truth),
        operating_point=None if whole.reject is None else _operating_point(rows, whole, truth),
    )


def _operating_point(rows: LabelledRows, loss: Loss, truth: Int) -> CoveragePoint:
    """Decide with the reject act and see how many rows are left, at which mean loss."""
    choice = decide(rows.posterior, loss)
    accepted = rows.weight * ~np.atleast_1d(choice.rejected)
    decided = float(accepted.sum())
    lost = float(accepted @ loss.of(truth, np.atleast_1d(choice.act_index)))
    risk = lost / decided if decided > 0 else None
    return CoveragePoint(decided / float(rows.weight.sum()), risk, None)


def _sizes(rows: LabelledRows, forced: Decisions) -> F64:
    """Return what rounding errors of the risks are relative to: the risks without signs."""
    loss = forced.loss
    if not (loss.matrix < 0).any():
        return np.atleast_1d(forced.risk)
    unsigned = decide(rows.posterior, Loss(np.abs(loss.matrix), loss.truths, loss.acts))
    table = np.atleast_2d(unsigned.expected_losses)
    return table[np.arange(len(table)), np.atleast_1d(forced.act_index)]


def _area(weight: F64, total: F64) -> float:
    """Integrate risk over coverage, from the weight and the total loss of each stretch.

    On a stretch with mean loss m, from coverage c to c + d with total s at c, the integral of
    (s + m (u - c)) / u over u is m d + (s - m c) log(1 + d / c).
    """
    share, summed = weight / weight.sum(), total / weight.sum()
    before, so_far = np.cumsum(share)[:-1], np.cumsum(summed)[:-1]
    mean = total[1:] / weight[1:]
    rest = (so_far - mean * before) * np.log1p(share[1:] / before)
    return float(summed.sum() + rest.sum())


# --- two labels -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class RocCurve(Drawable, Plain):
    """Shares of positives and of negatives acted on, by threshold. Made by ``roc_curve``.

    Attributes
    ----------
    false_positive_rate, true_positive_rate : ndarray of shape (m,)
        Shares of the negatives and of the positives that are acted on, rising from 0 to 1.
    thresholds : ndarray of shape (m,)
        Rows with at least this probability of ``positive`` are acted on; infinite at first.
    area
        Area under the curve (AUC): how often a positive has a higher probability than a
        negative, a tie counting half.
    positive
        The label that one looks for, against the rest.
    n_rows
        Number of rows with a positive weight.
    operating_point : tuple of float, or None
        The two rates under the acts of ``decide``, a reject act aside; None without a loss.
    """

    false_positive_rate: F64
    true_positive_rate: F64
    thresholds: F64
    area: float
    positive: Label
    n_rows: int
    _labels: Labels
    operating_point: tuple[float, float] | None = None

    def __repr__(self) -> str:
        head = f"ROC curve of {self.positive!r} on {self.n_rows} rows: area {number(self.area)}"
        if self.operating_point is None:
            return head
        false, true = (f"{100 * rate:.4g} %" for rate in self.operating_point)
        return f"{head}\nUnder the loss {true} are found, and {false} of the others taken for it"


@dataclass(frozen=True, slots=True, eq=False)
class NetBenefit(Drawable, Plain):
    """Net benefit of a model, of acting always and of acting never. Made by ``net_benefit``.

    Attributes
    ----------
    thresholds : ndarray of shape (m,)
        Probabilities of ``positive`` from which one acts.
    model, treat_all, treat_none : ndarray of shape (m,)
        Net benefit in true positives per row.
    positive
        The label one acts on.
    n_rows
        Number of rows with a positive weight.
    loss_threshold
        The threshold that the loss implies; None without a loss.
    """

    thresholds: F64
    model: F64
    treat_all: F64
    treat_none: F64
    positive: Label
    n_rows: int
    loss_threshold: float | None = None

    def __repr__(self) -> str:
        better = self.model > np.maximum(self.treat_all, self.treat_none)
        own = self.loss_threshold
        return (
            f"Net benefit of acting on {self.positive!r}: better than always and never at "
            f"{int(better.sum())} of {len(better)} thresholds"
            f"{'' if own is None else f'; the loss acts from {number(own)}'}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class CostCurve(Drawable, Plain):
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
    n_rows
        Number of rows with a positive weight.
    """

    conditions: F64
    curve: F64
    envelope: F64
    trivial: F64
    operating_condition: float
    operating_cost: float
    positive: Label
    n_rows: int

    def __repr__(self) -> str:
        better = self.curve < self.trivial
        return (
            f"Cost curve for {self.positive!r}: better than a constant act at {int(better.sum())} "
            f"of {len(better)} conditions; normalised cost {number(self.operating_cost)} at "
            f"condition {number(self.operating_condition)}"
        )


def roc_curve(
    y: Any,
    posterior: Any,
    loss: Loss | None = None,
    *,
    positive: Label | None = None,
    sample_weight: Any = None,
) -> RocCurve:
    r"""Trace true against false positives over all thresholds (receiver operating characteristic).

    .. math:: \text{TPR}(t) = p(s \ge t \mid +), \qquad \text{FPR}(t) = p(s \ge t \mid -), \qquad
              \text{AUC} = p(s_+ > s_-) + \tfrac12\, p(s_+ = s_-) ,

    with the probability :math:`s = p(\text{positive} \mid x)` of a row.

    Parameters
    ----------
    y : array-like of shape (n,)
        The true class of each row; ``positive`` and another must occur.
    posterior : Posterior
        Probabilities of two labels or more.
    loss
        Losses by true class and act, to mark the rates of its acts: a row counts as acted on if
        it gets the act that is best for ``positive``.
    positive
        The label against the rest. Of two labels, by default the one that can cost more, or the
        last.
    sample_weight : array-like of shape (n,), optional
        Weight of each row.

    Returns
    -------
    RocCurve
        One point for each distinct probability, and the area.

    Raises
    ------
    InputError
        If there are more than two labels and no ``positive``, or only one side of it occurs.

    See Also
    --------
    cost_curve, net_benefit : What the same thresholds cost.

    Notes
    -----
    Time O(n log n). Exact; rows whose probabilities differ by rounding only are tied. With two
    labels the operating point lies on the curve; with more it need not, because which act is best
    depends on the other probabilities too.

    References
    ----------
    .. [1] T. Fawcett, "An introduction to ROC analysis", Pattern Recognition Letters 27 (2006),
       pages 861-874.

    Examples
    --------
    >>> import credo
    >>> from credo.decisions import roc_curve
    >>> p = credo.Posterior.from_probabilities(
    ...     [[0.1, 0.9], [0.4, 0.6], [0.7, 0.3], [0.9, 0.1]], ["well", "ill"])
    >>> loss = credo.Loss.class_costs({"well": 1, "ill": 4})
    >>> roc_curve(["ill", "well", "ill", "well"], p, loss)
    ROC curve of 'ill' on 4 rows: area 0.75
    Under the loss 100 % are found, and 50 % of the others taken for it
    """
    rows = LabelledRows.of(y, posterior, sample_weight, _ROC)
    labels, log_p = rows.posterior.labels, rows.log_probabilities
    if positive is None and len(labels) != 2:
        raise InputError(
            f"{_ROC} takes one label against the rest, and there are {len(labels)}. Pass "
            f"positive=, one of {check.listing(labels)}."
        )
    spread = None
    if loss is not None:
        whole, order = rows.loss(loss.without_reject(), _ROC)
        cells = whole.matrix.reshape(-1, *whole.matrix.shape[-2:]).mean(axis=0)[order]
        spread = np.ptp(cells, axis=1)
    k = _positive(labels, positive, spread, _ROC)
    is_one = rows.truth == k
    odds = log_p[:, k] - log_sum_exp(np.delete(log_p, k, axis=1))  # tells apart what is next to 1
    scores, hits, alarms = _ranked(np.clip(odds, -1e300, 1e300), is_one, rows.weight)
    _need_both(hits, alarms, labels, k, _ROC)
    falling, p = scores[::-1], np.sort(rows.probabilities[:, k])[::-1]
    ahead = falling[:-1] - falling[1:] > _ROUNDING * (1 + np.abs(falling[:-1]))
    seen = np.flatnonzero(np.r_[True, ahead, True])  # rows acted on; those tied come together
    true, false = hits[seen] / hits[-1], alarms[seen] / alarms[-1]
    own = None
    if loss is not None:
        best = whole.matrix[..., order[k], :].argmin(axis=-1)
        acted = rows.weight * (np.atleast_1d(decide(rows.posterior, whole).act_index) == best)
        total = float(acted @ is_one), float(acted @ ~is_one)
        own = total[1] / float(alarms[-1]), total[0] / float(hits[-1])
    return RocCurve(
        false_positive_rate=check.frozen(false),
        true_positive_rate=check.frozen(true),
        thresholds=check.frozen(np.append(np.inf, p[seen[1:] - 1])),
        area=float(np.diff(false) @ (true[1:] + true[:-1]) / 2),
        positive=labels[k],
        n_rows=len(rows.truth),
        _labels=labels,
        operating_point=own,
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
        The true class of each row.
    posterior : Posterior
        Probabilities of two labels.
    loss
        A loss with two acts, a reject act aside, to mark its threshold.
    positive
        The label to act on. By default the one that costs more to miss; the last label if there is
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
    who = "net_benefit"
    rows = _two_labels(y, posterior, sample_weight, who)
    labels = rows.posterior.labels
    regrets = None if loss is None else _regrets(loss, labels, who)
    k = _positive(labels, positive, regrets, who)
    t = np.arange(1, 100) / 100 if thresholds is None else _grid(thresholds, f"thresholds of {who}")
    if t.max() == 1:
        raise InputError(f"The thresholds of {who} must be below 1: at 1 the odds are infinite.")
    scores, hits, alarms = _ranked(rows.probabilities[:, k], rows.truth == k, rows.weight)
    acted = len(scores) - np.searchsorted(scores, t * (1 - _ROUNDING))
    n, n_positive, odds = rows.weight.sum(), hits[-1], t / (1 - t)
    return NetBenefit(
        thresholds=check.frozen(t),
        model=check.frozen((hits[acted] - alarms[acted] * odds) / n),
        treat_all=check.frozen((n_positive - (n - n_positive) * odds) / n),
        treat_none=check.frozen(np.zeros(len(t))),
        positive=labels[k],
        n_rows=len(rows.truth),
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
        The true class of each row; both labels must occur.
    posterior : Posterior
        Probabilities of two labels, made with priors like the frequencies of ``y``.
    loss
        A loss with two acts, a reject act aside.
    positive
        The label to act on; by default the one that costs more to miss.
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
    Time O(n log n + c m) for m conditions and the c corners of the ROC staircase, at one of which
    the best threshold lies. Exact. The gap between curve and envelope is what better
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
    who = "cost_curve"
    rows = _two_labels(y, posterior, sample_weight, who)
    labels, log_p = rows.posterior.labels, rows.log_probabilities
    regrets = _regrets(loss, labels, who)
    k = _positive(labels, positive, regrets, who)
    x = np.arange(201) / 200 if conditions is None else _grid(conditions, f"conditions of {who}")
    scores, hits, alarms = _ranked(log_p[:, k] - log_p[:, 1 - k], rows.truth == k, rows.weight)
    _need_both(hits, alarms, labels, k, who)
    right, left = hits[-1] * regrets[k], alarms[-1] * regrets[1 - k]
    missed, false = 1 - hits / hits[-1], alarms / alarms[-1]
    own = float(right / (right + left))
    # The Bayes rule acts on log odds above this limit; the last condition is the loss's own.
    at = np.append(x, own)
    with np.errstate(divide="ignore"):
        limit = np.log1p(-at) - np.log(at) + np.log(hits[-1] / alarms[-1])
    slack = np.where(np.isfinite(limit), _ROUNDING * (1 + np.abs(limit)), 0.0)
    acted = len(scores) - np.searchsorted(scores, limit - slack)
    curve = missed[acted] * at + false[acted] * (1 - at)
    # In hindsight, any place between two different scores could have been the threshold.
    down = scores[::-1]
    reached = np.flatnonzero(np.r_[True, down[1:] < down[:-1], True])
    missed, false = missed[reached], false[reached]
    # Of the staircase only corners can be best: a hit before them, a false alarm after.
    corner = np.r_[True, (np.diff(missed)[:-1] < 0) & (np.diff(false)[1:] > 0), True]
    missed, false = missed[corner], false[corner]
    return CostCurve(
        conditions=check.frozen(x),
        curve=check.frozen(curve[:-1]),
        envelope=check.frozen(np.array([(missed * c + false * (1 - c)).min() for c in x])),
        trivial=check.frozen(np.minimum(x, 1 - x)),
        operating_condition=own,
        operating_cost=float(curve[-1]),
        positive=labels[k],
        n_rows=len(rows.truth),
    )


def _two_labels(y: Any, posterior: Any, sample_weight: Any, who: str) -> LabelledRows:
    """Check labelled rows over two labels."""
    rows = LabelledRows.of(y, posterior, sample_weight, who)
    names = rows.posterior.labels
    if len(names) != 2:
        raise InputError(
            f"{who} needs two labels. Got {len(names)}: {check.listing(names)}. Take one against "
            "the rest, with the probabilities of the others summed."
        )
    return rows


def _need_both(hits: F64, alarms: F64, labels: Labels, k: int, who: str) -> None:
    """Refuse rows that all have the positive label, or all another."""
    if not min(hits[-1], alarms[-1]) > 0:
        others = labels[1 - k] if len(labels) == 2 else f"another than {labels[k]}"
        missing = others if hits[-1] > 0 else labels[k]
        raise InputError(f"{who}: both labels must occur in y. {missing!r} does not.")


def _grid(values: Any, what: str) -> F64:
    """Check numbers between zero and one, and copy them."""
    grid = check.vector(values, what).copy()
    for odd in grid[(grid < 0) | (grid > 1)]:
        raise InputError(f"The {what} must be between 0 and 1. Got {odd:g}.")
    return grid


def _positive(labels: Labels, positive: Label | None, regrets: F64 | None, who: str) -> int:
    """Choose the positive label: as given, else the one that costs more to miss, or the last."""
    if positive is not None:
        return check.position(positive, labels, "label", who)
    return 0 if regrets is not None and regrets[0] > regrets[1] else 1


def _regrets(loss: Loss, labels: Labels, who: str) -> F64:
    """Return, per label, what the other label's act costs more than its own."""
    loss = as_loss(loss, who, per_row=False).without_reject()
    if len(loss.acts) != 2:
        raise InputError(
            f"{who} needs a loss with two acts, a reject act aside. Got {check.listing(loss.acts)}."
        )
    cells = loss.matrix[loss.rows_for(labels, who)]
    regrets = np.array([cells[0, 1] - cells[0, 0], cells[1, 0] - cells[1, 1]])
    if (regrets < 0).all():  # the acts are listed the other way round
        regrets = -regrets
    if regrets.min() <= 0:
        better = loss.acts[int(regrets[0] < 0 or regrets[1] > 0)]
        raise InputError(
            f"{who}: act {better!r} is never worse than the other, so there is nothing to weigh. "
            "Each label needs an act that is best for it."
        )
    return regrets


def _ranked(scores: F64, positive: Any, weight: F64) -> tuple[F64, F64, F64]:
    """Return rising scores, and the weights of positives and negatives among the top 0, 1, 2."""
    order = np.argsort(scores, kind="stable")
    down = order[::-1]
    hits, alarms = (
        np.append(0.0, np.cumsum((weight * part)[down])) for part in (positive, ~positive)
    )
    return scores[order], hits, alarms
