"""E1: a sigmoid of a linear score, fitted by maximum likelihood; softmax for more classes."""

import numpy as np
from scipy.special import expit, softmax

from credo import LogisticClassifier

#: A yes-no feature: 3 of 10 zeros and 8 of 12 ones are positive.
X = np.repeat([0.0, 1.0], [10, 12])[:, None]
Y = np.concatenate([np.repeat([1, 0], [3, 7]), np.repeat([1, 0], [8, 4])])


def test_one_yes_no_feature_has_its_maximum_in_closed_form():
    model = LogisticClassifier().fit(X, Y)
    np.testing.assert_allclose(model.intercept_, [np.log(3 / 7)], rtol=1e-10)
    np.testing.assert_allclose(model.coef_, [[np.log(8 / 4) - np.log(3 / 7)]], rtol=1e-10)
    np.testing.assert_allclose(model.predict_proba([[0.0], [1.0]])[:, 1], [0.3, 8 / 12])


def test_the_posterior_is_the_sigmoid_of_the_score_and_the_loss_is_the_cross_entropy():
    model = LogisticClassifier().fit(X, Y)
    p = expit(X @ model.coef_[0] + model.intercept_[0])
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], p)
    entropy = -(Y * np.log(p) + (1 - Y) * np.log(1 - p)).sum()
    np.testing.assert_allclose(model.log_likelihood_, -entropy)


def test_a_column_of_ones_is_the_same_as_an_intercept():
    with_ones = np.column_stack([np.ones(len(X)), X])
    bare = LogisticClassifier(fit_intercept=False).fit(with_ones, Y)
    model = LogisticClassifier().fit(X, Y)
    expected = [[model.intercept_[0], model.coef_[0, 0]]]
    np.testing.assert_allclose(bare.coef_, expected, rtol=1e-8)


def test_more_classes_have_a_softmax_whose_residuals_are_orthogonal_to_the_features():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 2))
    labels = (rows @ rng.normal(size=(2, 3)) + rng.gumbel(size=(300, 3))).argmax(axis=1)
    model = LogisticClassifier().fit(rows, labels)
    p = softmax(rows @ model.coef_.T + model.intercept_, axis=1)
    np.testing.assert_allclose(model.predict_proba(rows), p)
    residuals = np.eye(3)[labels] - p
    np.testing.assert_allclose(residuals.T @ rows, 0.0, atol=1e-6)
    np.testing.assert_allclose(residuals.sum(axis=0), 0.0, atol=1e-6)
