"""``calibration``: whether what was said to be 80 % probable came in 80 % of the cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri

from credo._results import Drawable
from credo._types import F64, Int, Label
from credo._validation.arrays import frozen, positive_int
from credo._validation.labels import plain, position
from credo.decisions._plain import plain_fields
from credo.decisions._text import number
from credo.decisions.labelled_rows import LabelledRows
from credo.exceptions import InputError
from credo.posterior.posterior import log_sum_exp

_OWNER = "calibration"
#: Confidence level of the intervals of the bins.
_LEVEL = 0.95

Strategy = Literal["uniform", "quantile"]


@dataclass(frozen=True, slots=True, eq=False)
class Calibration(Drawable):
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

    def to_dict(self) -> dict[str, Any]:
        """Give all fields as plain lists and numbers; an infinite ``log_loss`` becomes None."""
        finite = bool(np.isfinite(self.log_loss))
        return {**plain_fields(self), "log_loss": self.log_loss if finite else None}

    def __repr__(self) -> str:
        what = "the most probable label" if self.label is None else repr(self.label)
        lost = f" ({self.n_impossible} truths had probability 0)" if self.n_impossible else ""
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
        table = zip(
            self.edges, self.predicted, self.observed, self.low, self.high, self.weight, strict=True
        )
        lines = [
            f"{f'{a:.3f} to {b:.3f}':>15}  {p:9.4f}  {o:8.4f}  {f'{lo:.3f} to {hi:.3f}':>14}  "
            f"{number(w):>8}"
            for (a, b), p, o, lo, hi, w in table
        ]
        return "\n".join([head, *lines])


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
        The truth of each row.
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
    n_bins = positive_int(n_bins, _OWNER, "n_bins")
    if strategy not in ("uniform", "quantile"):
        raise InputError(
            f"{_OWNER}: unknown strategy {strategy!r}. Choose one of 'uniform', 'quantile'."
        )
    rows = LabelledRows.of(y, posterior, sample_weight, _OWNER)
    log_p = _log_of_truth(rows, label)
    looked_at = range(len(rows.posterior.labels)) if label is None else [_column(rows, label)]
    terms = []
    for k in looked_at:  # one label at a time, so that K does not multiply the memory
        binned = _Binned.of(*_one_label(rows, k), rows.weight, n_bins, strategy)
        terms.append(np.append(binned.split(), binned.squared_error()))
    split = np.sum(terms, axis=0)
    if label is None:
        binned = _Binned.of(*_top_label(rows), rows.weight, n_bins, strategy)
    return Calibration(
        label=plain(label),
        **binned.fields(),
        brier=float(split[4]),
        reliability=float(split[0]),
        resolution=float(split[1]),
        uncertainty=float(split[2]),
        within_bin=float(split[3]),
        log_loss=float(-(rows.weight @ log_p) / rows.weight.sum()),
        n_impossible=int(np.isneginf(log_p).sum()),
        n_rows=len(log_p),
    )


def _column(rows: LabelledRows, label: Label) -> int:
    """Find the column of the label asked for."""
    return position(label, rows.posterior.labels, _OWNER)


def _one_label(rows: LabelledRows, k: int) -> tuple[F64, F64]:
    """Give the probability of label k and whether it was the truth."""
    return rows.probabilities[:, k], (rows.truth == k).astype(np.float64)


def _top_label(rows: LabelledRows) -> tuple[F64, F64]:
    """Give the largest probability and whether its label was the truth."""
    top = rows.probabilities.argmax(axis=1)
    confidence = np.take_along_axis(rows.probabilities, top[:, None], axis=1)[:, 0]
    return confidence, (rows.truth == top).astype(np.float64)


def _log_of_truth(rows: LabelledRows, label: Label | None) -> F64:
    """Give the log-probability of what happened: of the truth, or of "label or not"."""
    log_p = np.atleast_2d(rows.posterior.log_probabilities)
    if label is None:
        return np.take_along_axis(log_p, rows.truth[:, None], axis=1)[:, 0]
    k = _column(rows, label)
    others = np.full_like(log_p, -np.inf)
    others[:, :k], others[:, k + 1 :] = log_p[:, :k], log_p[:, k + 1 :]
    return np.where(rows.truth == k, log_p[:, k], log_sum_exp(others))


@dataclass(frozen=True, slots=True, eq=False)
class _Binned:
    """Probabilities ``p`` and outcomes ``z`` in the bins that hold some."""

    p: F64
    z: F64
    w: F64
    index: Int
    edges: F64
    totals: F64
    predicted: F64
    observed: F64

    @classmethod
    def of(cls, p: F64, z: F64, w: F64, n_bins: int, strategy: Strategy) -> _Binned:
        """Sort rows into bins and average in each."""
        edges = _even_edges(n_bins) if strategy == "uniform" else _quantile_edges(p, w, n_bins)
        occupied, index = np.unique(np.searchsorted(edges[1:-1], p), return_inverse=True)
        totals: F64 = np.bincount(index, weights=w).astype(np.float64)
        predicted = np.bincount(index, weights=w * p) / totals
        observed = np.bincount(index, weights=w * z) / totals
        ends = np.stack([edges[:-1], edges[1:]], axis=1)[occupied]
        return cls(p, z, w, index, ends, totals, predicted, observed)

    def fields(self) -> dict[str, Any]:
        """Give what a Calibration says about its bins."""
        low, high = self.wilson()
        gap = np.abs(self.observed - self.predicted)
        return {
            "edges": frozen(self.edges),
            "predicted": frozen(self.predicted),
            "observed": frozen(self.observed),
            "weight": frozen(self.totals),
            "low": frozen(low),
            "high": frozen(high),
            "expected_calibration_error": float(self.totals @ gap / self.totals.sum()),
            "maximum_calibration_error": float(gap.max()),
        }

    def squared_error(self) -> float:
        """Give the mean of (p - z)²."""
        return float(self.w @ (self.p - self.z) ** 2 / self.w.sum())

    def split(self) -> F64:
        """Give reliability, resolution, uncertainty and the terms within bins."""
        share = self.totals / self.totals.sum()
        frequency = float(share @ self.observed)
        off_p = self.p - self.predicted[self.index]
        off_z = self.z - self.observed[self.index]
        return np.array(
            [
                share @ (self.predicted - self.observed) ** 2,
                share @ (self.observed - frequency) ** 2,
                frequency * (1 - frequency),
                self.w @ (off_p * (off_p - 2 * off_z)) / self.w.sum(),
            ]
        )

    def wilson(self) -> tuple[F64, F64]:
        """Give the ends of Wilson's interval of each bin's frequency."""
        rows = self.totals**2 / np.bincount(self.index, weights=self.w**2)
        z = ndtri(0.5 + _LEVEL / 2)
        pull = z * z / rows
        centre = (self.observed + pull / 2) / (1 + pull)
        spread = self.observed * (1 - self.observed) / rows + (pull / (2 * z)) ** 2
        half = z / (1 + pull) * np.sqrt(np.maximum(spread, 0.0))
        return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def _even_edges(n_bins: int) -> F64:
    """Cut [0, 1] into bins of equal width."""
    return np.arange(n_bins + 1) / n_bins


def _quantile_edges(p: F64, w: F64, n_bins: int) -> F64:
    """Cut at values of p, so that each bin holds about the same weight."""
    order = np.argsort(p, kind="stable")
    reached = np.cumsum(w[order])
    wanted = np.arange(1, n_bins) * reached[-1]
    inner = p[order][np.searchsorted(reached * n_bins, wanted)]
    return np.concatenate([[p[order[0]]], np.unique(inner), [p[order[-1]]]])
