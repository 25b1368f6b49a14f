"""scikit-learn estimators; the only room that imports scikit-learn."""

from credo.classifiers.comparison import LearningCurves, compare_generative_discriminative
from credo.classifiers.decision import DecisionClassifier, expected_loss_scorer
from credo.classifiers.explanation import Explanation, LogOddsWeights
from credo.classifiers.gaussian import GaussianClassifier
from credo.classifiers.logistic import LogisticClassifier
from credo.classifiers.logistic_results import CoefficientTable, Separation, StrengthPath
from credo.classifiers.mixture import MixtureClassifier
from credo.classifiers.modes import ClassModes
from credo.classifiers.naive_bayes import NaiveBayes
from credo.classifiers.parameters import ParameterCount, count_parameters
from credo.classifiers.regression import GaussianRegressor
from credo.classifiers.summary import ClassSummary, summarise
from credo.classifiers.text import TextClassifier

__all__ = [
    "ClassModes",
    "ClassSummary",
    "CoefficientTable",
    "DecisionClassifier",
    "Explanation",
    "GaussianClassifier",
    "GaussianRegressor",
    "LearningCurves",
    "LogOddsWeights",
    "LogisticClassifier",
    "MixtureClassifier",
    "NaiveBayes",
    "ParameterCount",
    "Separation",
    "StrengthPath",
    "TextClassifier",
    "compare_generative_discriminative",
    "count_parameters",
    "expected_loss_scorer",
    "summarise",
]
