"""``TableEvaluation``: a model on a labelled table, seen from all sides."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from credo._types import Label
from credo.decisions._text import number
from credo.tables.evaluation.columns import ColumnSummary
from credo.tables.evaluation.contributions import Contributions
from credo.tables.evaluation.measuring import Measures


@dataclass(frozen=True, slots=True, eq=False)
class TableEvaluation:
    """A model on a labelled table. Made by ``evaluate_table``.

    Attributes
    ----------
    model
        Name of the model's class.
    source
        Name of the table.
    target, weight
        The columns of labels and of weights; None for no weights.
    measures
        Everything about decisions and probabilities: mean loss, alternatives, confusion, curves.
    columns
        What is in each column of features.
    contributions
        What each column tells.

    See Also
    --------
    credo.tables.evaluate_table : Makes one.
    credo.plots.write_report : Shows it as a page.
    """

    model: str
    source: str
    target: str
    weight: str | None
    measures: Measures
    columns: tuple[ColumnSummary, ...]
    contributions: Contributions

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.measures.n_rows

    @property
    def class_counts(self) -> dict[Label, int]:
        """Number of rows of each class."""
        return dict(zip(self.measures.classes, self.measures.class_counts.tolist(), strict=True))

    @property
    def accuracy(self) -> float:
        """Share of the rows whose most probable class is the truth."""
        return self.measures.accuracy

    @property
    def mean_loss(self) -> float:
        """Mean loss of the decisions."""
        return self.measures.outcome.expected_loss.value

    @property
    def predicted_loss(self) -> float:
        """Mean loss that the model itself expected of them."""
        return self.measures.outcome.predicted_risk

    @property
    def rejected_share(self) -> float:
        """Share of the rows that got the reject act."""
        return 1.0 - self.measures.outcome.confusion.coverage

    @property
    def log_loss(self) -> float:
        """Mean of minus the log-probability of the truth."""
        return self.measures.outcome.calibration.log_loss

    @property
    def brier(self) -> float:
        """Mean squared error of the probabilities, summed over the classes."""
        return self.measures.outcome.calibration.brier

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain lists, names and numbers; what is not finite becomes None."""
        found = self.measures
        curve = found.cost_curve
        return finite(
            {
                "model": self.model,
                "source": self.source,
                "target": self.target,
                "weight": self.weight,
                "n_rows": self.n_rows,
                "classes": list(found.classes),
                "class_counts": found.class_counts.tolist(),
                "accuracy": self.accuracy,
                "error": 1.0 - self.accuracy,
                "log_loss": self.log_loss,
                "brier": self.brier,
                "loss": {
                    "truths": list(found.loss.truths),
                    "acts": list(found.loss.acts),
                    "reject": found.loss.reject,
                    "matrix": found.loss.matrix.tolist(),
                },
                "mean_loss": self.mean_loss,
                "standard_error": found.standard_error,
                "predicted_loss": self.predicted_loss,
                "rejected_share": self.rejected_share,
                "alternatives": {
                    "most_probable": asdict(found.most_probable),
                    "constant": asdict(found.constant),
                    "informed": asdict(found.informed),
                },
                **found.outcome.to_dict(),
                "reliability": found.reliability.to_dict(),
                "cost_curve": None if curve is None else curve.to_dict(),
                "no_cost_curve": found.no_cost_curve or None,
                "contributions": self.contributions.to_dict(),
                "columns": [column.to_dict() for column in self.columns],
            }
        )

    def __repr__(self) -> str:
        found = self.measures
        head = f"{self.model} on {self.source}"
        plain = found.most_probable
        saved = f"{number(plain.saved)} more per row, standard error {number(plain.standard_error)}"
        lines = [f"  most probable class {number(plain.loss)} ({saved})"]
        if found.loss.reject is not None:
            lines.append(f"  rejected            {100 * self.rejected_share:.4g} %")
        return "\n".join([head, repr(found.outcome), *lines])


def finite(value: Any) -> Any:
    """Turn tuples into lists, and numbers that JSON does not know into None."""
    if isinstance(value, dict):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
