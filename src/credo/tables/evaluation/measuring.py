"""From truths, posterior and loss to all numbers of an evaluation; no table is needed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from credo._types import F64, Int, Label, Labels
from credo._validation.arrays import frozen
from credo.decisions.act import decide
from credo.decisions.coverage import RiskCoverage
from credo.decisions.curves import CostCurve, cost_curve
from credo.decisions.evaluation import Evaluation, evaluate
from credo.decisions.loss import Loss
from credo.decisions.loss_matching import one_matrix, rows_for, without_reject
from credo.decisions.reliability import Calibration, calibration
from credo.exceptions import InputError
from credo.posterior import Posterior

_OWNER = "evaluate_table"
#: Points of a risk-coverage curve that are kept: more than a screen has room for.
_MOST_POINTS = 400


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another way to act on the same rows, next to the decisions of the model.

    Attributes
    ----------
    act
        The one act that is always taken; None if the act depends on the row.
    loss
        Its mean loss.
    saved
        What the decisions of the model cost less, per row; negative if they cost more.
    standard_error
        Standard error of ``saved``; the two are compared row by row.
    """

    act: Label | None
    loss: float
    saved: float
    standard_error: float


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """What the decisions of a model did on labelled rows.

    Attributes
    ----------
    classes
        The labels.
    class_counts : ndarray of shape (K,)
        Rows of each class.
    n_rows
        Number of rows.
    loss
        The losses, with truths and acts in the terms of the labels.
    outcome
        Mean loss, confusion, calibration of the most probable label, risk and coverage.
    standard_error
        Standard error of the mean loss.
    accuracy
        Share of the rows whose most probable label is the truth.
    most_probable
        Acting as if the most probable label were certain.
    constant
        The single act that would have cost least on these rows.
    informed
        The best act for the truth itself: no model can cost less.
    reliability
        Calibration of the label that is dearer to miss, if there are two; else that of
        ``outcome``.
    cost_curve
        For two labels; None if there is none.
    no_cost_curve
        Why there is none.
    """

    classes: Labels
    class_counts: Int
    n_rows: int
    loss: Loss
    outcome: Evaluation
    standard_error: float
    accuracy: float
    most_probable: Alternative
    constant: Alternative
    informed: Alternative
    reliability: Calibration
    cost_curve: CostCurve | None
    no_cost_curve: str


def measure(
    labels: Labels, truth: Int, log_probabilities: F64, loss: Loss, weight: F64 | None = None
) -> Measures:
    """Measure decisions under a loss, from log-probabilities (n, K) in the order of the labels.

    ``truth`` holds the place of each row's label. Inside, labels are their places, because a
    million numbers are found faster than a million names; the results have the names.
    """
    order = rows_for(one_matrix(loss, _OWNER), labels, _OWNER)
    coded = Loss(loss.matrix[order], range(len(labels)), loss.acts, reject=loss.reject)
    posterior = Posterior(log_probabilities, range(len(labels)))
    choice = decide(posterior, coded)
    outcome = evaluate(truth, posterior, coded, acts=choice, sample_weight=weight)
    top = posterior.log_probabilities.argmax(axis=1)
    losses = _Losses.of(coded.matrix, truth, weight)
    own = losses.of_acts(choice.act_index)
    constant = outcome.expected_loss.constant_act
    curve, reason = _cost_curve(labels, truth, posterior, coded, weight)
    return Measures(
        classes=labels,
        class_counts=frozen(np.bincount(truth, minlength=len(labels))),
        n_rows=len(truth),
        loss=loss,
        outcome=replace(
            outcome,
            confusion=replace(outcome.confusion, truths=labels),
            risk_coverage=_thinned(outcome.risk_coverage),
        ),
        standard_error=losses.error_of(own),
        accuracy=losses.mean((top == truth).astype(np.float64)),
        most_probable=losses.against(own, losses.of_acts(_best_acts(coded)[top])),
        constant=losses.against(own, losses.of_act(loss.acts.index(constant)), constant),
        informed=losses.against(own, coded.matrix.min(axis=1)[truth]),
        reliability=_reliability(labels, truth, posterior, curve, outcome, weight),
        cost_curve=curve,
        no_cost_curve=reason,
    )


def _best_acts(loss: Loss) -> Int:
    """Give the best act for each truth, the reject act aside."""
    allowed = [a for a, act in enumerate(loss.acts) if loss.reject is None or act != loss.reject]
    return np.array(allowed)[without_reject(loss, _OWNER).matrix.argmin(axis=1)]


@dataclass(frozen=True, slots=True, eq=False)
class _Losses:
    """Losses of acts on rows: a matrix in the order of the labels, truths, weights."""

    matrix: F64
    truth: Int
    weight: F64

    @classmethod
    def of(cls, matrix: F64, truth: Int, weight: F64 | None) -> _Losses:
        """Count each row once if there are no weights."""
        return cls(matrix, truth, np.ones(len(truth)) if weight is None else weight)

    def of_acts(self, acts: Int) -> F64:
        """Give the loss of each row's act."""
        return self.matrix[self.truth, acts]

    def of_act(self, act: int) -> F64:
        """Give the loss of one act in each row."""
        return self.of_acts(np.full(len(self.truth), act))

    def mean(self, losses: F64) -> float:
        """Average by weight."""
        return float(self.weight @ losses / self.weight.sum())

    def error_of(self, losses: F64) -> float:
        r"""Give the standard error of a mean, :math:`\sqrt{\sum w_i^2 (l_i - \bar l)^2} / W`.

        With n / (n - 1) for equal weights; it is zero for a single row.
        """
        n = int(np.count_nonzero(self.weight))
        spread = self.weight * (losses - self.mean(losses))
        return float(np.sqrt(spread @ spread * (n / max(n - 1, 1))) / self.weight.sum())

    def against(self, own: F64, other: F64, act: Label | None = None) -> Alternative:
        """Compare other acts with those of the model, row by row."""
        saved = other - own
        return Alternative(act, self.mean(other), self.mean(saved), self.error_of(saved))


def _thinned(curve: RiskCoverage | None) -> RiskCoverage | None:
    """Keep some points of a long curve, evenly spread, with the last; areas are those of all."""
    if curve is None or len(curve.coverage) <= _MOST_POINTS:
        return curve
    kept = np.linspace(0, len(curve.coverage) - 1, _MOST_POINTS).round().astype(np.intp)
    parts = (curve.coverage[kept], curve.risk[kept], curve.threshold[kept])
    coverage, risk, threshold = (frozen(part) for part in parts)
    return replace(curve, coverage=coverage, risk=risk, threshold=threshold)


def _cost_curve(
    labels: Labels, truth: Int, posterior: Posterior, loss: Loss, weight: F64 | None
) -> tuple[CostCurve | None, str]:
    """Trace the cost curve, or say why there is none."""
    if len(labels) != 2:
        n = len(labels)
        return None, f"A cost curve weighs two classes against each other; this model has {n}."
    counts = np.bincount(truth, weight, minlength=2)
    if not counts.all():
        name = labels[int(counts.argmin())]
        return None, f"A cost curve needs rows of both classes; there are none of {name!r}."
    try:
        found = cost_curve(truth, posterior, loss, sample_weight=weight)
    except InputError as error:
        return None, str(error)
    return replace(found, positive=labels[0 if found.positive == 0 else 1]), ""


def _reliability(
    labels: Labels,
    truth: Int,
    posterior: Posterior,
    curve: CostCurve | None,
    outcome: Evaluation,
    weight: F64 | None,
) -> Calibration:
    """Look at the dearer of two labels, or at the most probable one of many."""
    if len(labels) != 2:
        return outcome.calibration
    k = 1 if curve is None else labels.index(curve.positive)
    found = calibration(truth, posterior, label=k, sample_weight=weight)
    return replace(found, label=labels[k])
