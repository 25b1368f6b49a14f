"""``risk_coverage``: how the loss falls as doubtful rows are left to someone else."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from credo._results import Drawable
from credo._types import F64, Int
from credo._validation.arrays import frozen, in_unit_interval
from credo.decisions._text import number
from credo.decisions.act import Decisions, decide
from credo.decisions.labelled_rows import LabelledRows, losses_of
from credo.decisions.lined_up import rounding
from credo.decisions.loss import Loss
from credo.decisions.loss_matching import as_loss, rows_for, without_reject

_OWNER = "risk_coverage"
_SHOWN = (0.5, 0.8, 0.9, 0.95, 1.0)


@dataclass(frozen=True, slots=True)
class CoveragePoint:
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


@dataclass(frozen=True, slots=True, eq=False)
class RiskCoverage(Drawable):
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
    operating_point
        Where ``decide`` with the loss's own reject act stands; None without a reject act.
    """

    coverage: F64
    risk: F64
    threshold: F64
    area: float
    optimal_area: float
    operating_point: CoveragePoint | None = None

    @property
    def excess_area(self) -> float:
        """What the order of the rows adds to the area; zero for the best order."""
        return max(0.0, self.area - self.optimal_area)

    def at_coverage(self, coverage: float) -> CoveragePoint:
        """Give the first point that decides at least this share of the rows.

        Examples
        --------
        >>> from credo import Posterior
        >>> from credo.decisions import risk_coverage
        >>> p = Posterior.from_probabilities([[0.9, 0.1], [0.6, 0.4]], ["a", "b"])
        >>> curve = risk_coverage(["a", "b"], p)
        >>> curve.at_coverage(0.4)
        CoveragePoint(coverage=0.5, risk=0.0, threshold=0.1)
        """
        wanted = in_unit_interval(coverage, "RiskCoverage.at_coverage", "coverage")
        # One part in 10**12 is far below a row's share and far above the rounding of sums.
        first = int(np.searchsorted(self.coverage, wanted * (1 - 1e-12)))
        return CoveragePoint(
            float(self.coverage[first]), float(self.risk[first]), float(self.threshold[first])
        )

    def to_dict(self) -> dict[str, Any]:
        """Give the curve and its areas as plain lists and numbers."""
        point = self.operating_point
        return {
            "coverage": self.coverage.tolist(),
            "risk": self.risk.tolist(),
            "threshold": self.threshold.tolist(),
            "area": self.area,
            "optimal_area": self.optimal_area,
            "excess_area": self.excess_area,
            "operating_point": None if point is None else asdict(point),
        }

    def __repr__(self) -> str:
        head = (
            f"Area under the risk-coverage curve {number(self.area)}; best order "
            f"{number(self.optimal_area)}, excess {number(self.excess_area)}"
        )
        points = {p.coverage: p for p in map(self.at_coverage, _SHOWN)}
        own = self.operating_point
        last = [] if own is None else [f"{_line(own)}  with its reject act"]
        body = [_line(point) for point in points.values()]
        return "\n".join([head, "coverage       risk  threshold", *body, *last])


def _line(point: CoveragePoint) -> str:
    """Write a point as three columns."""
    cells = (point.coverage, point.risk, point.threshold)
    texts = ["none" if cell is None else f"{cell:.4g}" for cell in cells]
    return "  ".join(text.rjust(width) for text, width in zip(texts, (8, 9, 9), strict=True))


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
        The truth of each row.
    posterior : Posterior
        Probabilities of each row.
    loss
        Losses by truth and act; zero-one by default, so that the risk is the error rate.
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
    rows = LabelledRows.of(y, posterior, sample_weight, _OWNER)
    labels = rows.posterior.labels
    whole = Loss.zero_one(labels) if loss is None else rows.loss(as_loss(loss, _OWNER), _OWNER)
    truth = rows_for(whole, labels, _OWNER)[rows.truth]
    forced = decide(rows.posterior, without_reject(whole, _OWNER))
    actual = losses_of(forced.loss, truth, np.atleast_1d(forced.act_index))
    doubt = np.atleast_1d(forced.risk)
    order = np.argsort(doubt, kind="stable")
    first, last = _runs(doubt[order], _sizes(rows, forced)[order], len(labels))
    weight = np.add.reduceat(rows.weight[order], first)
    total = np.add.reduceat((rows.weight * actual)[order], first)
    best = np.argsort(actual, kind="stable")
    return RiskCoverage(
        coverage=frozen(np.cumsum(weight) / weight.sum()),
        risk=frozen(np.cumsum(total) / np.cumsum(weight)),
        threshold=frozen(doubt[order][last]),
        area=_area(weight, total),
        optimal_area=_area(rows.weight[best], (rows.weight * actual)[best]),
        operating_point=None if whole.reject is None else _operating_point(rows, whole, truth),
    )


def _sizes(rows: LabelledRows, forced: Decisions) -> F64:
    """Give what rounding errors of the risks are relative to: the risks without signs."""
    loss = forced.loss
    if not (loss.matrix < 0).any():
        return np.atleast_1d(forced.risk)
    unsigned = decide(rows.posterior, Loss(np.abs(loss.matrix), loss.truths, loss.acts))
    table = np.atleast_2d(unsigned.expected_losses)
    return np.take_along_axis(table, np.atleast_1d(forced.act_index)[:, None], axis=1)[:, 0]


def _runs(doubt: F64, sizes: F64, n_labels: int) -> tuple[Int, Int]:
    """Find the first and the last row of each run of tied risks, in rising order."""
    limits = rounding(n_labels) * (sizes[1:] + sizes[:-1])
    borders = np.flatnonzero(np.diff(doubt) > limits)
    return np.append(0, borders + 1), np.append(borders, len(doubt) - 1)


def _area(weight: F64, total: F64) -> float:
    r"""Integrate risk over coverage, from the weight and the total loss of each stretch.

    On a stretch with mean loss m, from coverage c to c + d with total s at c, the integral of
    (s + m (u - c)) / u over u is m d + (s - m c) log(1 + d / c).
    """
    share, summed = weight / weight.sum(), total / weight.sum()
    before, so_far = np.cumsum(share)[:-1], np.cumsum(summed)[:-1]
    mean = total[1:] / weight[1:]
    rest = (so_far - mean * before) * np.log1p(share[1:] / before)
    return float(summed.sum() + rest.sum())


def _operating_point(rows: LabelledRows, loss: Loss, truth: Any) -> CoveragePoint:
    """Decide with the reject act and see how many rows are left, at which mean loss."""
    choice = decide(rows.posterior, loss)
    actual = losses_of(loss, truth, np.atleast_1d(choice.act_index))
    accepted = rows.weight * ~np.atleast_1d(choice.rejected)
    decided = float(accepted.sum())
    risk = float(accepted @ actual) / decided if decided > 0 else None
    return CoveragePoint(decided / float(rows.weight.sum()), risk, None)
