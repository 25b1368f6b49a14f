"""scikit-learn estimators; the only room that imports scikit-learn."""

from __future__ import annotations

from credo._lazy import doors

__getattr__, __dir__ = doors(
    __name__,
    {
        "credo.classifiers.decision": ["DecisionClassifier"],
        "credo.classifiers.scoring": ["expected_loss_scorer"],
    },
)
