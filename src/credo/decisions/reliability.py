"""``calibration``: whether what was said to be 80 % probable came in 80 % of the cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy

from credo import _checks as check
from credo._results import Drawable, Plain, Share, html_table, number
from credo._types import F64, Label, Labels
from credo.decisions.labelled_rows import LabelledRows
from credo.posterior.posterior import log_sum_exp

Strategy = Literal["uniform", "quantile"]


@dataclass(frozen=True, slots=True, eq=False)
class Calibration(Drawable, Plain):
    """Predicted probabilities next to observed frequencies. Made by ``calibration``.

    Bins without rows are left out of all arrays.

    Attributes
    ----------
    label
        The label whose probability is looked at; None for the most probable one of each row.
    edges : ndarray of shape (b, 2)
        Lower and upper end of each bin; a value on an edge belongs to the bin below it.
    predicted, observed : ndarray of shape (b,)
        Mean probability and frequency in each bin.
    weight : ndarray of shape (b,)
        Number of rows in each bin, or the sum of their weights.
    low, high : ndarray of shape (b,)
        Wilson interval of the frequency at level 0.95.
    expected_calibration_error, maximum_calibration_error
        Weighted mean and largest of ``|observed - predicted|`` over the bins.
    brier
        Mean squared error of the probabilities, summed over all labels; of ``label`` alone if one
        was given.
    reliability, resolution, uncertainty, within_bin
        ``brier = reliability - resolution + uncertainty + within_bin``.
    log_loss
        Mean of minus the log-probability of the truth; infinite if one had probability zero.
    n_impossible
        Number of rows whose truth had probability zero.
    n_rows
        Number of rows with a positive weight.
    """

    label: Label | None
    edges: F64
    predicted: F64
    observed: F64
    weight: F64
    low: F64
    high: F64
    expected_calibration_error: float
    maximum_calibration_error: float
    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within_bin: float
    log_loss: float
    n_impossible: int
    n_rows: int
    _labels: Labels

    def __repr__(self) -> str:
        what = "the most probable label" if self.label is None else repr(self.label)
        lost = f" ({self.n_impossible} true classes had probability 0)" if self.n_impossible else ""
        head = (
            f"Calibration of {what} on {self.n_rows} rows\n"
            f"calibration error {number(self.expected_calibration_error)}, "
            f"largest {number(self.maximum_calibration_error)}\n"
            f"Brier score {number(self.brier)} = reliability {number(self.reliability)} "
            f"- resolution {number(self.resolution)} + uncertainty {number(self.uncertainty)} "
            f"+ within bins {number(self.within_bin)}\n"
            f"log loss {number(self.log_loss)}{lost}\n"
            "            bin  predicted  observed  95 % interval     weight"
        )
        parts = (self.edges, self.predicted, self.observed, self.low, self.high, self.weight)
        return head + "".join(
            f"\n{f'{a:.3f} to {b:.3f}':>15}  {p:9.4f}  {o:8.4f}  {f'{lo:.3f} to {hi:.3f}':>14}  "
            f"{number(w):>8}"
            for (a, b), p, o, lo, hi, w in zip(*parts, strict=True)
        )

    def _repr_html_(self) -> str:
        parts = self.predicted, self.observed, self.low, self.high, self.weight
        header = ("bin", "predicted", "observed", "low", "high", "weight")
        rows = (
            (f"{a:.3g} to {b:.3g}", Share(p), Share(o), *rest)
            for (a, b), p, o, *rest in zip(
                self.edges, *(each.tolist() for each in parts), strict=True
            )
        )
        return html_table(repr(self).split("\n", 2)[0], header, rows)


def calibration(
    y: Any,
    posterior: Any,
    *,
    label: Label | None = None,
    n_bins: int = 10,
    strategy: Strategy = "uniform",
    sample_weight: Any = None,
) -> Calibration:
    r"""Compare predicted probabilities with the frequencies that were observed.

    With weights :math:`W_b` of the bins, mean probabilities :math:`\bar p_b`, frequencies
    :math:`\bar o_b` and the overall frequency :math:`\bar o`,

    .. math::
       \text{ECE} &= \sum_b \tfrac{W_b}{W} |\bar o_b - \bar p_b| , \\
       \text{Brier} &= \underbrace{\sum_b \tfrac{W_b}{W} (\bar p_b - \bar o_b)^2}_\text{reliability}
         - \underbrace{\sum_b \tfrac{W_b}{W} (\bar o_b - \bar o)^2}_\text{resolution}
         + \underbrace{\bar o (1 - \bar o)}_\text{uncertainty}
         + \text{within\_bin} .

    Parameters
    ----------
    y : array-like of shape (n,)
        The true class of each row.
    posterior : Posterior
        Probabilities of each row.
    label
        Look at the probability of this label. By default, at the largest probability of each row
        and whether the label that has it was right.
    n_bins
        Number of bins.
    strategy
        ``"uniform"``: bins of equal width on [0, 1]; ``"quantile"``: bins of about equal weight.
    sample_weight : array-like of shape (n,), optional
        Weight of each row.

    Returns
    -------
    Calibration
        The bins, the calibration errors, the Brier score with its decomposition and the log loss.

    Raises
    ------
    LabelError
        If a truth or ``label`` is not a label of the posterior; the row is named.
    InputError
        If ``n_bins`` or ``strategy`` is not one of the choices.

    See Also
    --------
    evaluate : Calibration next to risk.

    Notes
    -----
    Time O(n K log n). The Brier score is that of Brier's own paper: squared errors summed over
    all K labels, between 0 and 2; for two labels it is twice the one-label score, which is what
    a given ``label`` yields. Without ``label`` the four terms are sums over the labels, each with
    bins of its own probability. ``within_bin`` holds the two terms that vanish if all
    probabilities in a bin are equal: variance in the bin minus twice the covariance with the
    outcome. So the decomposition is exact, up to rounding, for any bins. The Wilson intervals
    count rows, not weights: with unequal weights, :math:`(\sum w)^2 / \sum w^2` rows.

    References
    ----------
    .. [1] D. B. Stephenson, C. A. S. Coelho, I. T. Jolliffe, "Two extra components in the Brier
       score decomposition", Weather and Forecasting 23 (2008), pages 752-757.
    .. [2] G. W. Brier, "Verification of forecasts expressed in terms of probability", Monthly
       Weather Review 78 (1950), pages 1-3.
    .. [3] E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
       Journal of the American Statistical Association 22 (1927), pages 209-212.

    Examples
    --------
    Rain was said to be 80 % probable on ten days and came on six of them.

    >>> from credo import Posterior
    >>> from credo.decisions import calibration
    >>> p = Posterior.from_probabilities([[0.8, 0.2]] * 10, ["rain", "dry"])
    >>> report = calibration(["rain"] * 6 + ["dry"] * 4, p, label="rain")
    >>> round(report.expected_calibration_error, 6)
    0.2
    >>> report.low.round(3), report.high.round(3)
    (array([0.313]), array([0.832]))
    """
    n_bins = check.count(n_bins, "n_bins of calibration")
    check.one_of(strategy, ("uniform", "quantile"), "strategy of calibration")
    rows = LabelledRows.of(y, posterior, sample_weight, "calibration")
    return calibrate(rows, label, n_bins, strategy)


def calibrate(
    rows: LabelledRows,
    label: Label | None = None,
    n_bins: int = 10,
    strategy: Strategy = "uniform",
) -> Calibration:
    """Return the calibration of rows that have been checked."""
    p, log_p = rows.probabilities, rows.log_probabilities
    truth, labels = rows.truth, rows.posterior.labels
    log_of_truth = np.take_along_axis(log_p, truth[:, None], axis=1)[:, 0]
    looked_at = list(range(len(labels)))
    if label is not None:  # the outcomes are "label" and "another one"
        k = check.position(label, labels, "label", "calibration")
        others = log_sum_exp(np.where(np.arange(len(labels)) == k, -np.inf, log_p))
        log_of_truth, looked_at = np.where(truth == k, log_p[:, k], others), [k]
    scores: Any = 0.0
    for j in looked_at:  # one label at a time, so that K does not multiply the memory
        bins, part = _binned(p[:, j], truth == j, rows.weight, n_bins, strategy)
        scores = scores + part
    if label is None:
        top = p.argmax(axis=1)
        confidence = np.take_along_axis(p, top[:, None], axis=1)[:, 0]
        bins, _ = _binned(confidence, truth == top, rows.weight, n_bins, strategy)
    log_loss = float(-(rows.weight @ log_of_truth) / rows.weight.sum())
    n_impossible = int(np.isneginf(log_of_truth).sum())
    fields = [
        check.plain(label),
        *bins,
        *scores.tolist(),
        log_loss,
        n_impossible,
        len(truth),
        labels,
    ]
    return Calibration(*fields)


def _binned(p: F64, came: Any, w: F64, n_bins: int, strategy: Strategy) -> tuple[Any, Any]:
    """Sort probabilities ``p`` and outcomes ``came`` into bins.

    Returns what a Calibration says about its bins, and the Brier score with its four parts.
    """
    edges = np.arange(n_bins + 1) / n_bins
    if strategy == "quantile":  # cut at values of p, so that each bin holds about the same weight
        ranked = np.argsort(p, kind="stable")
        reached = np.cumsum(w[ranked])
        places = np.searchsorted(reached * n_bins, np.arange(1, n_bins) * reached[-1])
        edges = np.r_[p[ranked[0]], np.unique(p[ranked][places]), p[ranked[-1]]]
    index = np.searchsorted(edges[1:-1], p)
    sums = np.stack([np.bincount(index, part, len(edges) - 1) for part in (w, w * p, w * came)])
    occupied = np.flatnonzero(sums[0])
    totals = sums[0, occupied]
    predicted, observed = sums[1:, occupied] / totals
    low, high = _wilson(observed, totals**2 / np.bincount(index, w**2)[occupied])
    gap, share = np.abs(observed - predicted), totals / totals.sum()
    frequency = float(share @ observed)
    bin_of = np.searchsorted(occupied, index)
    off_p, off_z = p - predicted[bin_of], came - observed[bin_of]
    brier = w @ (p - came) ** 2 / w.sum()
    reliability, resolution = share @ gap**2, share @ (observed - frequency) ** 2
    within = w @ (off_p * (off_p - 2 * off_z)) / w.sum()
    scores = np.array([brier, reliability, resolution, frequency * (1 - frequency), within])
    ends = np.stack([edges[:-1], edges[1:]], axis=1)[occupied]
    parts = [check.frozen(part) for part in (ends, predicted, observed, totals, low, high)]
    return [*parts, float(share @ gap), float(gap.max())], scores


def _wilson(share: F64, rows: F64) -> tuple[F64, F64]:
    """Return the ends of Wilson's 95 % interval of shares that were observed over so many rows."""
    z = scipy.special.ndtri(0.975)
    pull = z * z / rows
    centre = (share + pull / 2) / (1 + pull)
    spread = share * (1 - share) / rows + (pull / (2 * z)) ** 2
    half = z / (1 + pull) * np.sqrt(np.maximum(spread, 0.0))
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
