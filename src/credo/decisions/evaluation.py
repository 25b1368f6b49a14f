"""``evaluate``: what the decisions cost, next to whether the posterior can be trusted."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from credo._results import Drawable
from credo._types import F64, Int, Label, RandomState
from credo.decisions._text import number
from credo.decisions.act import Decisions, decide
from credo.decisions.confusion import Confusion, confusion_matrix
from credo.decisions.coverage import RiskCoverage, risk_coverage
from credo.decisions.empirical import ExpectedLoss, expected_loss
from credo.decisions.labelled_rows import LabelledRows, act_index, losses_of
from credo.decisions.loss import Loss
from credo.decisions.loss_matching import as_loss, rows_for
from credo.decisions.reliability import Calibration, calibration

_OWNER = "evaluate"


@dataclass(frozen=True, slots=True)
class ActRisk:
    """What the model expected of one act, and what came of it.

    Attributes
    ----------
    act
        Name of the act.
    share
        Share of the rows in which it was taken.
    predicted
        Mean risk of these rows under the posterior.
    actual
        Mean loss that occurred in these rows.
    """

    act: Label
    share: float
    predicted: float
    actual: float


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation(Drawable):
    """Decisions on labelled rows, seen from all sides. Made by ``evaluate``.

    Attributes
    ----------
    expected_loss
        Mean loss that occurred, with its interval and the best constant act.
    predicted_risk
        Mean risk that the posterior itself gives to the acts taken.
    by_act
        The same two numbers for each act that was taken.
    confusion
        Rows by truth and act.
    calibration
        Confidence next to accuracy, and the proper scores.
    risk_coverage
        Mean loss among the surest rows; None if the acts are not those of ``decide``, because
        the curve is that of its acts.
    """

    expected_loss: ExpectedLoss
    predicted_risk: float
    by_act: tuple[ActRisk, ...]
    confusion: Confusion
    calibration: Calibration
    risk_coverage: RiskCoverage | None

    @property
    def gap(self) -> float:
        """Mean loss minus predicted risk: what the posterior kept quiet about."""
        return self.expected_loss.value - self.predicted_risk

    def to_dict(self) -> dict[str, Any]:
        """Give all parts as plain dictionaries, lists and numbers."""
        return {
            "expected_loss": self.expected_loss.to_dict(),
            "predicted_risk": self.predicted_risk,
            "gap": self.gap,
            "by_act": [asdict(entry) for entry in self.by_act],
            "confusion": self.confusion.to_dict(),
            "calibration": self.calibration.to_dict(),
            "risk_coverage": self.risk_coverage and self.risk_coverage.to_dict(),
        }

    def __repr__(self) -> str:
        lost, sure = self.expected_loss, self.calibration
        lines = {
            "mean loss": f"{number(lost.value)} ({lost.interval()})",
            "predicted risk": f"{number(self.predicted_risk)}{self._verdict()}",
            "best constant act": _constant(lost),
            "calibration error": f"{number(sure.expected_calibration_error)} "
            f"(largest {number(sure.maximum_calibration_error)})",
            "Brier score": number(sure.brier),
            "log loss": _log_loss(sure),
            "risk-coverage area": _area(self.risk_coverage),
            "accuracy": _accuracy(self.confusion),
        }
        head = f"Evaluation of {lost.n_rows} rows"
        body = [f"  {name:<20}{text}" for name, text in lines.items() if text]
        return "\n".join([head, *body, repr(self.confusion)])

    def _verdict(self) -> str:
        """Say whether the predicted risk lies in the interval of the mean loss."""
        lost = self.expected_loss
        if lost.low is None or lost.high is None:
            return ""
        slack = 1e-9 * (abs(lost.low) + abs(lost.high))  # sums in another order differ by less
        if self.predicted_risk < lost.low - slack:
            return ", below that interval: the posterior promises too much"
        if self.predicted_risk > lost.high + slack:
            return ", above that interval: the posterior fears too much"
        return ", within that interval"


def _constant(lost: ExpectedLoss) -> str:
    """Describe the best constant act."""
    ratio = "" if lost.normalised is None else f" (normalised {number(lost.normalised)})"
    return f"{lost.constant_act!r} at {number(lost.constant_loss)}{ratio}"


def _log_loss(sure: Calibration) -> str:
    """Write the log loss, with the number of impossible truths."""
    note = f" ({sure.n_impossible} truths had probability 0)" if sure.n_impossible else ""
    return f"{number(sure.log_loss)}{note}"


def _area(curve: RiskCoverage | None) -> str:
    """Write the area under the risk-coverage curve, if there is one."""
    if curve is None:
        return ""
    return f"{number(curve.area)} (best order {number(curve.optimal_area)})"


def _accuracy(table: Confusion) -> str:
    """Write accuracy and coverage, or nothing if right and wrong are undefined."""
    if table.accuracy is None:
        return ""
    share = "" if table.reject is None else f" of the {100 * table.coverage:.4g} % not rejected"
    return f"{number(table.accuracy)}{share}"


def evaluate(  # noqa: PLR0913 - five inputs and the two settings of the bootstrap
    y: Any,
    posterior: Any,
    loss: Loss | None = None,
    *,
    acts: Any = None,
    sample_weight: Any = None,
    n_bootstrap: int = 1000,
    random_state: RandomState = 0,
) -> Evaluation:
    r"""Report the loss of decisions next to the calibration of their posterior.

    The Bayes act has the least expected loss only under the true posterior. So the risk that
    the posterior predicts is shown beside the loss that occurred,

    .. math:: \sum_i w_i \sum_k p(k \mid x_i)\, L_{k a_i} \Big/ \sum_i w_i \quad\text{and}\quad
              \sum_i w_i L_{y_i a_i} \Big/ \sum_i w_i ,

    which agree on average if the posterior is calibrated.

    Parameters
    ----------
    y : array-like of shape (n,)
        The truth of each row.
    posterior : Posterior
        Probabilities of each row.
    loss
        Losses by truth and act; by default that of ``acts`` if they are Decisions, else zero-one.
    acts : Decisions, or array-like of shape (n,), optional
        The acts taken; by default those of ``decide(posterior, loss)``.
    sample_weight : array-like of shape (n,), optional
        Weight of each row.
    n_bootstrap
        Number of bootstrap samples for the interval of the mean loss; 0 for none.
    random_state
        Seed or generator of the bootstrap.

    Returns
    -------
    Evaluation
        Prints as a report; ``plot`` draws four panels.

    Raises
    ------
    LabelError
        If truths, labels and the loss do not match; the row is named.
    ShapeError
        If the lengths differ.

    See Also
    --------
    expected_loss, confusion_matrix, calibration, risk_coverage : The parts.

    Notes
    -----
    Time O(n K log n). All parts are exact but the bootstrap interval.

    References
    ----------
    .. [1] J. O. Berger, *Statistical Decision Theory and Bayesian Analysis*, 2nd ed., 1985,
       section 4.4.
    .. [2] A. P. Dawid, "The well-calibrated Bayesian", Journal of the American Statistical
       Association 77 (1982), pages 605-610.

    Examples
    --------
    A posterior that says 0.95 where 0.8 is true promises a fourth of the loss that occurs.

    >>> import credo
    >>> from credo.decisions import evaluate
    >>> rows = [[0.95, 0.05]] * 50 + [[0.05, 0.95]] * 50
    >>> y = ["a"] * 40 + ["b"] * 10 + ["b"] * 40 + ["a"] * 10
    >>> print(evaluate(y, credo.Posterior.from_probabilities(rows, ["a", "b"])))
    Evaluation of 100 rows
      mean loss           0.2 (95 % interval 0.13 to 0.29)
      predicted risk      0.05, below that interval: the posterior promises too much
      best constant act   'a' at 0.5 (normalised 0.4)
      calibration error   0.15 (largest 0.15)
      Brier score         0.365
      log loss            0.640181
      risk-coverage area  0.2 (best order 0.0214852)
      accuracy            0.8
    truth \ act   a   b
    a            40  10
    b            10  40
    """
    rows = LabelledRows.of(y, posterior, sample_weight, _OWNER)
    if loss is None:
        loss = acts.loss if isinstance(acts, Decisions) else Loss.zero_one(posterior.labels)
    rows_for(as_loss(loss, _OWNER), posterior.labels, _OWNER)
    best = decide(posterior, loss)
    taken = best if acts is None else acts
    act = act_index(taken, loss, _OWNER, rows.n_given)
    own = np.array_equal(act, np.atleast_1d(best.act_index))
    by_act = _by_act(rows, loss, act if rows.kept is None else act[rows.kept])
    return Evaluation(
        expected_loss=expected_loss(
            y,
            taken,
            loss,
            sample_weight=sample_weight,
            n_bootstrap=n_bootstrap,
            random_state=random_state,
        ),
        predicted_risk=sum(entry.share * entry.predicted for entry in by_act),
        by_act=by_act,
        confusion=confusion_matrix(y, taken, loss, sample_weight=sample_weight),
        calibration=calibration(y, posterior, sample_weight=sample_weight),
        risk_coverage=(
            risk_coverage(y, posterior, loss, sample_weight=sample_weight) if own else None
        ),
    )


def _by_act(rows: LabelledRows, loss: Loss, act: Int) -> tuple[ActRisk, ...]:
    """Average predicted and actual loss over the rows of each act that was taken."""
    order = rows_for(loss, rows.posterior.labels, _OWNER)
    own = rows.loss(loss, _OWNER)
    predicted = _predicted(rows.probabilities, own, order, act)
    actual = losses_of(own, order[rows.truth], act)
    n_acts = len(loss.acts)
    weight = np.bincount(act, weights=rows.weight, minlength=n_acts)
    sums = [np.bincount(act, rows.weight * part, n_acts) for part in (predicted, actual)]
    return tuple(
        ActRisk(
            act=loss.acts[a],
            share=float(weight[a] / weight.sum()),
            predicted=float(sums[0][a] / weight[a]),
            actual=float(sums[1][a] / weight[a]),
        )
        for a in np.flatnonzero(weight)
    )


def _predicted(p: F64, loss: Loss, order: Int, act: Int) -> F64:
    """Give the conditional risk of each row's act."""
    if loss.is_per_row:
        columns = loss.matrix[np.arange(len(act))[:, None], order, act[:, None]]
    else:
        columns = loss.matrix[order][:, act].T
    return np.einsum("ik,ik->i", p, columns)
