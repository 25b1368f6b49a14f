"""What there is to say about a fitted model: rows, classes, features."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from credo.cli.table_progress import Meter

#: Classes that are listed on one line.
_MOST_CLASSES = 8


def learner_in(model: Any) -> Any:
    """Give the model that learned, which may decide by a loss."""
    from credo.classifiers.schema import fitted_learner

    return fitted_learner(model)


def class_weights(learner: Any) -> dict[Any, float] | None:
    """Give the rows of each class, weighted; None if the model keeps no summary of them."""
    summary = getattr(learner, "summary_", None)
    weights = getattr(summary, "weights", getattr(summary, "documents", None))
    labels = getattr(learner, "classes_", None)
    if weights is None or labels is None:
        return None
    return dict(zip(labels.tolist(), weights.tolist(), strict=True))


def total_weight(learner: Any) -> float | None:
    """Give the rows behind a model, weighted; None if it keeps no summary of them."""
    summary = getattr(learner, "summary_", None)
    weights = getattr(summary, "weights", getattr(summary, "documents", None))
    return None if weights is None else float(weights.sum())


def count_text(number: float) -> str:
    """Write a number of rows; weighted ones need not be whole."""
    return str(int(number)) if float(number).is_integer() else f"{number:.6g}"


def classes_text(learner: Any) -> str:
    """List the classes with their rows, if these are known."""
    from credo.cli.text_tables import shown

    weights, labels = class_weights(learner), learner.classes_.tolist()
    told = [
        shown(label) if weights is None else f"{shown(label)} {count_text(weights[label])}"
        for label in labels[:_MOST_CLASSES]
    ]
    more = [] if len(labels) <= _MOST_CLASSES else [f"… ({len(labels)} in all)"]
    return ", ".join([*told, *more])


def fit_sentence(model: Any, meter: Meter, out: Path, rows: float | None = None) -> str:
    """Tell what was learned, and from how much."""
    learner = learner_in(model)
    total = rows if rows is not None else meter.rows or total_weight(learner)
    lines = [
        f"{out}: {type(learner).__name__}",
        *([] if total is None else [_plural(total, "row")]),
        _plural(len(model.schema_.features), "feature"),
    ]
    told = ", ".join(lines)
    if hasattr(learner, "classes_"):
        told += f", {_plural(len(learner.classes_), 'class', 'classes')}: {classes_text(learner)}"
    took = meter.sentence()
    return f"{told}\n{took}" if took else told


def fit_record(model: Any, meter: Meter, out: Path, rows: float | None = None) -> dict[str, Any]:
    """Give the same for another program."""
    learner = learner_in(model)
    labels = learner.classes_.tolist() if hasattr(learner, "classes_") else None
    return {
        "out": str(out),
        "model": type(learner).__name__,
        "rows": rows if rows is not None else meter.rows or total_weight(learner),
        "features": list(model.schema_.names),
        "target": model.schema_.target,
        "classes": labels,
        "class_weights": class_weights(learner),
        "bytes": out.stat().st_size,
        **meter.record(),
    }


def _plural(number: float, one: str, many: str | None = None) -> str:
    """Write a number and what it counts."""
    return f"{count_text(number)} {one if number == 1 else many or one + 's'}"
