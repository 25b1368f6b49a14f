"""``DecisionClassifier``: the acts of least expected loss of any classifier."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB

from credo import DecisionClassifier, Loss, decide, expected_loss_scorer
from credo.exceptions import InputError, LabelError, ShapeError

IRIS = load_iris()
X, Y = IRIS.data, IRIS.target_names[IRIS.target]
NAMES = ["virginica", "setosa", "versicolor"]
LOSS = Loss([[0, 1, 9], [1, 0, 1], [1, 1, 0]], NAMES, ["keep v", "keep s", "keep c"]).with_reject(
    0.1
)


@pytest.fixture
def policy():
    return DecisionClassifier(GaussianNB(), LOSS).fit(X, Y)


def test_predict_is_decide_on_the_classifiers_probabilities(policy):
    inner = GaussianNB().fit(X, Y)
    proba = inner.predict_proba(X)
    expected = decide(proba, LOSS, labels=policy.classes_)
    np.testing.assert_array_equal(policy.predict(X), expected.acts)
    np.testing.assert_array_equal(policy.expected_losses(X), expected.expected_losses)
    np.testing.assert_array_equal(policy.predict_proba(X), proba)
    np.testing.assert_array_equal(policy.predict_log_proba(X), inner.predict_log_proba(X))
    np.testing.assert_allclose(policy.posterior(X).probabilities, proba, rtol=1e-14)
    assert set(policy.predict(X)) == set(LOSS.acts)


def test_without_a_loss_it_is_the_classifier_itself():
    plain = DecisionClassifier(GaussianNB()).fit(X, Y)
    inner = GaussianNB().fit(X, Y)
    np.testing.assert_array_equal(plain.predict(X), inner.predict(X))
    assert plain.predict(X).dtype == inner.predict(X).dtype
    assert plain.score(X, Y) == inner.score(X, Y)


def test_losses_may_differ_by_row(policy):
    matrices = np.repeat(LOSS.matrix[None, [1, 2, 0]], len(X), axis=0)  # rows in class order
    np.testing.assert_array_equal(policy.predict(X, loss=matrices), policy.predict(X))
    matrices[::2, :, 3] = -1.0
    assert (policy.predict(X, loss=matrices)[::2] == "reject").all()
    assert policy.decide(X, loss=matrices).rejected[::2].all()
    with pytest.raises(ShapeError, match=r"shape \(3, 4\) or \(n, 3, 4\)"):
        policy.predict(X, loss=matrices[:, :, :3])


def test_a_loss_may_be_computed_from_the_rows():
    def by_petal(rows):
        losses = np.repeat((1 - np.eye(3))[None], len(rows), axis=0)
        losses[:, 2, :2] = np.asarray(rows)[:, 2, None]
        return losses

    policy = DecisionClassifier(GaussianNB(), by_petal).fit(X, Y)
    proba = policy.predict_proba(X)
    expected = [
        policy.classes_[np.argmin(p @ matrix)] for p, matrix in zip(proba, by_petal(X), strict=True)
    ]
    assert policy.predict(X).tolist() == expected
    plain = DecisionClassifier(GaussianNB()).fit(X, Y)
    assert plain.predict(X, loss=by_petal).tolist() == expected
    assert policy.score(X, Y) < 0


def test_the_score_is_minus_the_mean_loss(policy):
    acts = policy.predict(X)
    losses = [LOSS[truth, act] for truth, act in zip(Y, acts, strict=True)]
    assert policy.score(X, Y) == pytest.approx(-np.mean(losses))
    weights = np.arange(len(X), dtype=float)
    assert policy.score(X, Y, weights) == pytest.approx(-np.average(losses, weights=weights))


def test_the_scorer_can_decide_for_a_plain_classifier():
    model = GaussianNB().fit(X, Y)
    scorer = expected_loss_scorer(LOSS, from_probabilities=True)
    expected = DecisionClassifier(GaussianNB(), LOSS).fit(X, Y).score(X, Y)
    assert scorer(model, X, Y) == pytest.approx(expected)
    assert expected_loss_scorer(LOSS)(model, X, Y) == pytest.approx(expected)
    with pytest.raises(LabelError, match="wrap the classifier in credo.DecisionClassifier"):
        expected_loss_scorer(LOSS)(RidgeClassifier().fit(X, Y), X, Y)


def least_losses(model, train, test):
    """Score by hand: minus the mean loss of the acts with the least expected loss."""
    proba = model.fit(X[train], Y[train]).predict_proba(X[test])
    matrix = LOSS.matrix[[LOSS.truths.index(label) for label in model.classes_]]
    acts = (proba @ matrix).argmin(axis=1)
    rows = [LOSS.truths.index(label) for label in Y[test]]
    return -LOSS.matrix[rows, acts].mean()


def test_a_grid_of_plain_classifiers_is_scored_by_acts_that_are_no_classes():
    folds = StratifiedKFold(3)
    grid = {"var_smoothing": [1e-9, 0.1, 1.0]}
    search = GridSearchCV(
        GaussianNB(), grid, scoring=expected_loss_scorer(LOSS), cv=folds, error_score="raise"
    ).fit(X, Y)
    expected = [
        np.mean([least_losses(GaussianNB(var_smoothing=each), *fold) for fold in folds.split(X, Y)])
        for each in grid["var_smoothing"]
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=1e-12)
    assert len(set(np.round(expected, 6))) == 3


def test_what_acts_is_judged_by_its_acts_not_by_its_probabilities():
    careless = DecisionClassifier(GaussianNB(), Loss(1 - LOSS.matrix, NAMES, LOSS.acts))
    acts = careless.fit(X, Y).predict(X)
    losses = [LOSS[truth, act] for truth, act in zip(Y, acts, strict=True)]
    score = expected_loss_scorer(LOSS)(careless, X, Y)
    assert score == pytest.approx(-np.mean(losses))
    assert score < expected_loss_scorer(LOSS, from_probabilities=True)(careless, X, Y)


def test_one_against_the_rest_keeps_our_threshold():
    # scikit-learn's issue 30050: wrappers that tune thresholds lose them inside OneVsRest.
    rare = Loss.class_costs({0: 1, 1: 50})
    wrapped = OneVsRestClassifier(DecisionClassifier(GaussianNB(), rare)).fit(X, Y == "virginica")
    alone = DecisionClassifier(GaussianNB(), rare).fit(X, (Y == "virginica").astype(int))
    inner = wrapped.estimators_[0]
    np.testing.assert_array_equal(inner.predict(X), alone.predict(X))
    assert (inner.predict(X) != GaussianNB().fit(X, Y == "virginica").predict(X)).any()


def test_a_failed_fit_leaves_the_policy_as_it_was(policy):
    before = policy.predict(X)
    with pytest.raises(LabelError, match="differ in 'other'"):
        policy.fit(X, np.where(Y == "setosa", "other", Y))
    with pytest.raises(ValueError, match="inconsistent numbers"):
        policy.fit(X[:-1], Y)
    np.testing.assert_array_equal(policy.predict(X), before)


def test_one_class_is_certain_where_the_classifier_gives_two_columns():
    single = np.full(len(X), "a")
    model = HistGradientBoostingClassifier(max_iter=2)
    assert model.fit(X, single).predict_proba(X).shape[1] == 2
    policy = DecisionClassifier(model, Loss([[1, 2]], ["a"], ["x", "y"])).fit(X, single)
    assert set(policy.predict(X)) == {"x"}
    assert policy.posterior(X)["a"].min() == 1.0
    assert not hasattr(policy, "predict_log_proba")  # as its classifier
    assert (DecisionClassifier(GaussianNB()).fit(X, single).predict_log_proba(X) == 0).all()


def test_metadata_reaches_the_wrapped_classifier_under_routing():
    weights = np.where(Y == "setosa", 50.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = LogisticRegression(max_iter=2000).set_fit_request(sample_weight=True)
        policy = DecisionClassifier(inner).set_score_request(sample_weight=True)
        results = cross_validate(
            policy, X, Y, cv=3, params={"sample_weight": weights}, return_estimator=True
        )
        fold = results["estimator"][0].estimator_.coef_
    (train, _), *_ = StratifiedKFold(3).split(X, Y)
    expected = LogisticRegression(max_iter=2000).fit(X[train], Y[train], weights[train])
    np.testing.assert_allclose(fold, expected.coef_)


def test_what_is_no_estimator_or_loss_is_refused(policy):
    matrix = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    with pytest.raises(InputError, match="needs an estimator with predict_proba.*Calibrated"):
        DecisionClassifier(RidgeClassifier()).fit(X, Y)
    with pytest.raises(InputError, match="needs a Loss, a callable or None. Got list"):
        DecisionClassifier(GaussianNB(), matrix).fit(X, Y)
    with pytest.raises(ShapeError, match=r"rows, classes, acts. Got shape \(3, 4\)"):
        policy.predict(X, loss=LOSS.matrix)
    with pytest.raises(InputError, match="needs a Loss with named truths and acts. Got list"):
        expected_loss_scorer(matrix)
    with pytest.raises(InputError, match="one matrix for all rows"):
        expected_loss_scorer(LOSS.per_row(np.ones((2, 3, 4))))
