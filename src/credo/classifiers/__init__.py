"""scikit-learn estimators; the only room that imports scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo._lazy import doors

if TYPE_CHECKING:  # the same names for type checkers and editors
    from credo.classifiers.decision import DecisionClassifier as DecisionClassifier
    from credo.classifiers.gaussian import GaussianClassifier as GaussianClassifier
    from credo.classifiers.regression import GaussianRegressor as GaussianRegressor
    from credo.classifiers.scoring import expected_loss_scorer as expected_loss_scorer
    from credo.classifiers.summary import ClassSummary as ClassSummary, summarise as summarise

__getattr__, __dir__, __all__ = doors(
    __name__,
    {
        "credo.classifiers.decision": ["DecisionClassifier"],
        "credo.classifiers.gaussian": ["GaussianClassifier"],
        "credo.classifiers.regression": ["GaussianRegressor"],
        "credo.classifiers.scoring": ["expected_loss_scorer"],
        "credo.classifiers.summary": ["ClassSummary", "summarise"],
    },
)
