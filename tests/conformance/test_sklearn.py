"""Every estimator against scikit-learn's own checks."""

import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.oracles.gaussians import SHAPES

from credo import (
    DecisionClassifier,
    GaussianClassifier,
    GaussianRegressor,
    LogisticClassifier,
    MixtureClassifier,
    NaiveBayes,
)

ESTIMATORS = [
    *(GaussianClassifier(covariance=shape) for shape in SHAPES),
    GaussianClassifier(shrinkage="auto"),
    GaussianClassifier(covariance="tied", shrinkage="oas"),
    MixtureClassifier(n_starts=2),
    MixtureClassifier(covariance="tied", n_starts=2),
    GaussianRegressor(),
    GaussianRegressor(shrinkage="oas"),
    NaiveBayes(),
    NaiveBayes("gaussian"),
    NaiveBayes("categorical"),
    NaiveBayes(
        smoothing="auto", smoothing_target="marginal", unknown="smooth", variance_smoothing=1e-3
    ),
    LogisticClassifier(),
    LogisticClassifier(fit_intercept=False),
    LogisticClassifier(penalty="l2"),
    LogisticClassifier(penalty="l1"),
    LogisticClassifier(penalty="elasticnet", missing_cells="indicator", warm_start=True),
    DecisionClassifier(LogisticRegression()),
    DecisionClassifier(DecisionTreeClassifier(random_state=0)),
    DecisionClassifier(KNeighborsClassifier()),
]


# Some checks fit as many rows as features, or classes that a direction separates.
@pytest.mark.filterwarnings("ignore::credo.exceptions.SingularWarning")
@pytest.mark.filterwarnings("ignore::credo.exceptions.SeparationWarning")
@parametrize_with_checks(ESTIMATORS)
def test_it_honours_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([DecisionClassifier(HistGradientBoostingClassifier(max_iter=5))])
def test_it_honours_the_contract_around_a_classifier_of_many_threads(estimator, check):
    check(estimator)
