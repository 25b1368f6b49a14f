"""How logistic classifiers are stored."""

from __future__ import annotations

from credo.classifiers.logistic import LogisticClassifier
from credo.storage._estimators import learner_kind

LOGISTIC = learner_kind(LogisticClassifier)
