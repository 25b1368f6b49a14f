"""Every estimator against scikit-learn's own checks."""

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from credo import DecisionClassifier

ESTIMATORS = [
    DecisionClassifier(LogisticRegression()),
    DecisionClassifier(DecisionTreeClassifier(random_state=0)),
    DecisionClassifier(KNeighborsClassifier()),
    DecisionClassifier(HistGradientBoostingClassifier(max_iter=5)),
]


@parametrize_with_checks(ESTIMATORS)
def test_it_honours_scikit_learns_contract(estimator, check):
    check(estimator)
