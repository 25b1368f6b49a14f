"""Textbook B8: split, fit, discriminants, predictions, confusion matrix."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import load_iris
from sklearn.metrics import confusion_matrix as peer_confusion
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from credo import DecisionClassifier, Loss, Posterior
from credo.decisions import confusion_matrix


def test_b8_the_practical_loop():
    iris = load_iris()
    X, y = iris.data[:, [2]], iris.target_names[iris.target]
    train_X, test_X, train_y, test_y = train_test_split(X, y, random_state=0, stratify=y)
    policy = DecisionClassifier(GaussianNB(var_smoothing=0)).fit(train_X, train_y)

    # Discriminants g_i(x) = p(x | C_i) p(C_i) by hand: mean, variance by N, prior by frequency.
    joint = np.empty((len(test_X), 3))
    for k, label in enumerate(policy.classes_):
        own = train_X[train_y == label, 0]
        density = norm.pdf(test_X[:, 0], own.mean(), own.std())
        joint[:, k] = density * np.mean(train_y == label)
    np.testing.assert_allclose(
        policy.posterior(test_X).probabilities,
        Posterior.from_probabilities(joint, policy.classes_, normalise=True).probabilities,
        atol=1e-12,
    )
    predicted = policy.predict(test_X)
    np.testing.assert_array_equal(predicted, policy.classes_[joint.argmax(axis=1)])

    confusion = confusion_matrix(test_y, predicted, Loss.zero_one(policy.classes_))
    np.testing.assert_array_equal(confusion.counts, peer_confusion(test_y, predicted))
    assert confusion.accuracy == pytest.approx(np.mean(test_y == predicted))
    assert confusion.accuracy > 0.9
