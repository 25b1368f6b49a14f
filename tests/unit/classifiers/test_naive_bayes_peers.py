"""``NaiveBayes`` against scikit-learn's four, where the model is the same."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB

from credo import NaiveBayes

RNG = np.random.default_rng(10)
Y = RNG.integers(0, 3, 200)
WEIGHTS = RNG.uniform(0.1, 3.0, 200)
BINARY = (RNG.random((200, 6)) < (0.2 + 0.2 * Y)[:, None]).astype(float)
COUNTS = RNG.poisson(1 + Y[:, None] * np.arange(5) / 3)
CODES = np.column_stack([RNG.integers(0, 3 + (Y > 0), 200), RNG.integers(0, 5, 200)])
NUMBERS = RNG.normal(Y[:, None], 1 + Y[:, None] / 2, (200, 4)) * [1, 10, 0.1, 3]


def assert_same(ours, theirs, X):
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(
        ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-10, atol=1e-10
    )
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10, rtol=0)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighted"])
@pytest.mark.parametrize("alpha", [0.01, 1.0, 7.0])
@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
class TestText:
    def test_bernoulli_equals_bernoulli_nb(self, form, alpha, weights):
        X = form(BINARY)
        ours = NaiveBayes("bernoulli", smoothing=alpha).fit(X, Y, weights)
        theirs = BernoulliNB(alpha=alpha).fit(X, Y, weights)
        assert_same(ours, theirs, X)
        np.testing.assert_allclose(ours.log_joint(X), theirs.predict_joint_log_proba(X), atol=1e-10)

    def test_multinomial_equals_multinomial_nb(self, form, alpha, weights):
        X = form(COUNTS)
        ours = NaiveBayes("multinomial", smoothing=alpha).fit(X, Y, weights)
        theirs = MultinomialNB(alpha=alpha).fit(X, Y, weights)
        assert_same(ours, theirs, X)
        gap = ours.log_joint(X) - theirs.predict_joint_log_proba(X)
        np.testing.assert_allclose(gap, np.tile(gap[:, :1], 3), atol=1e-10)  # the coefficient

    def test_tf_idf_weights_have_the_posterior_of_multinomial_nb(self, form, alpha, weights):
        X = form(COUNTS * np.linspace(0.3, 1.7, 5))
        ours = NaiveBayes("multinomial", smoothing=alpha).fit(X, Y, weights)
        assert_same(ours, MultinomialNB(alpha=alpha).fit(X, Y, weights), X)


@pytest.mark.parametrize("alpha", [0.01, 1.0, 7.0])
def test_categorical_equals_categorical_nb(alpha):
    ours = NaiveBayes("categorical", smoothing=alpha, unknown="ignore").fit(CODES, Y, WEIGHTS)
    assert_same(ours, CategoricalNB(alpha=alpha).fit(CODES, Y, WEIGHTS), CODES)


def test_room_for_one_more_category_is_one_more_of_min_categories():
    n = CODES.max(axis=0) + 1
    theirs = CategoricalNB(min_categories=n + 1).fit(CODES, Y)
    new = np.vstack([CODES, n])
    assert_same(NaiveBayes("categorical").fit(CODES, Y), theirs, new)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighted"])
def test_gaussian_equals_gaussian_nb(weights):
    ours = NaiveBayes("gaussian").fit(NUMBERS, Y, weights)
    theirs = GaussianNB(var_smoothing=0).fit(NUMBERS, Y, weights)
    assert_same(ours, theirs, NUMBERS)
    np.testing.assert_allclose(
        ours.log_joint(NUMBERS), theirs.predict_joint_log_proba(NUMBERS), rtol=1e-10, atol=1e-10
    )


def test_given_priors_are_those_of_gaussian_nb():
    priors = [0.2, 0.5, 0.3]
    ours = NaiveBayes("gaussian", priors=priors).fit(NUMBERS, Y)
    assert_same(ours, GaussianNB(priors=priors, var_smoothing=0).fit(NUMBERS, Y), NUMBERS)


def test_a_mixed_model_multiplies_the_likelihoods_of_the_four_and_one_prior():
    """What people otherwise build from the outputs of several models, with the prior once."""
    X = np.hstack([BINARY, COUNTS, CODES, NUMBERS])
    families = dict.fromkeys(range(6), "bernoulli") | {tuple(range(6, 11)): "multinomial"}
    families |= {11: "categorical", 12: "categorical"}
    families |= dict.fromkeys(range(13, 17), "gaussian")
    ours = NaiveBayes(families, unknown="ignore").fit(X, Y)
    four = [
        BernoulliNB().fit(BINARY, Y).predict_joint_log_proba(BINARY),
        MultinomialNB().fit(COUNTS, Y).predict_joint_log_proba(COUNTS),
        CategoricalNB().fit(CODES, Y).predict_joint_log_proba(CODES),
        GaussianNB(var_smoothing=0).fit(NUMBERS, Y).predict_joint_log_proba(NUMBERS),
    ]
    joint = sum(four) - 3 * np.log(np.bincount(Y) / len(Y))
    expected = joint - np.logaddexp.reduce(joint, axis=1)[:, None]
    np.testing.assert_allclose(ours.predict_log_proba(X), expected, rtol=1e-10, atol=1e-10)
