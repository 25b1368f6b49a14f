"""LogisticClassifier against scikit-learn's own checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from credo.classifiers.logistic import LogisticClassifier

ESTIMATORS = [
    LogisticClassifier(),
    LogisticClassifier(fit_intercept=False),
    LogisticClassifier(penalty="l2"),
    LogisticClassifier(penalty="l1"),
]


# Some checks fit classes that a direction separates, or fewer rows than columns.
@pytest.mark.filterwarnings("ignore::credo.exceptions.SeparationWarning")
@pytest.mark.filterwarnings("ignore::credo.exceptions.SingularWarning")
@parametrize_with_checks(ESTIMATORS)
def test_it_honours_scikit_learns_contract(estimator, check):
    check(estimator)
