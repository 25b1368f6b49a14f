"""scikit-learn estimators; the only room that imports scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo._lazy import doors

if TYPE_CHECKING:  # the same names for type checkers and editors
    from credo.classifiers.comparison import (
        compare_generative_discriminative as compare_generative_discriminative,
    )
    from credo.classifiers.decision import DecisionClassifier as DecisionClassifier
    from credo.classifiers.explanation import (
        Explanation as Explanation,
        LogOddsWeights as LogOddsWeights,
    )
    from credo.classifiers.gaussian import GaussianClassifier as GaussianClassifier
    from credo.classifiers.learning_curves import LearningCurves as LearningCurves
    from credo.classifiers.logistic import LogisticClassifier as LogisticClassifier
    from credo.classifiers.naive_bayes import NaiveBayes as NaiveBayes
    from credo.classifiers.parameters import (
        ParameterCount as ParameterCount,
        count_parameters as count_parameters,
    )
    from credo.classifiers.regression import GaussianRegressor as GaussianRegressor
    from credo.classifiers.scoring import expected_loss_scorer as expected_loss_scorer
    from credo.classifiers.softmax.finding import Separation as Separation
    from credo.classifiers.softmax.inference import CoefficientTable as CoefficientTable
    from credo.classifiers.softmax.path import StrengthPath as StrengthPath
    from credo.classifiers.summary import ClassSummary as ClassSummary, summarise as summarise
    from credo.classifiers.text import TextClassifier as TextClassifier

__getattr__, __dir__, __all__ = doors(
    __name__,
    {
        "credo.classifiers.comparison": ["compare_generative_discriminative"],
        "credo.classifiers.decision": ["DecisionClassifier"],
        "credo.classifiers.gaussian": ["GaussianClassifier"],
        "credo.classifiers.learning_curves": ["LearningCurves"],
        "credo.classifiers.logistic": ["LogisticClassifier"],
        "credo.classifiers.explanation": ["Explanation", "LogOddsWeights"],
        "credo.classifiers.naive_bayes": ["NaiveBayes"],
        "credo.classifiers.parameters": ["ParameterCount", "count_parameters"],
        "credo.classifiers.regression": ["GaussianRegressor"],
        "credo.classifiers.scoring": ["expected_loss_scorer"],
        "credo.classifiers.softmax.finding": ["Separation"],
        "credo.classifiers.softmax.inference": ["CoefficientTable"],
        "credo.classifiers.softmax.path": ["StrengthPath"],
        "credo.classifiers.summary": ["ClassSummary", "summarise"],
        "credo.classifiers.text": ["TextClassifier"],
    },
)
