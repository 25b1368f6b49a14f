"""Options go by the names that practitioners know as well."""

import numpy as np
import pytest

import credo
from credo.exceptions import InputError

X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 3.0], [3.5, 2.0], [4.0, 4.5], [5.0, 3.0]])
Y = ["a", "a", "a", "b", "b", "b"]


@pytest.mark.parametrize(
    ("usual", "shape"), [("lda", "tied"), ("QDA", "full"), ("gnb", "diagonal")]
)
def test_covariances_go_by_the_names_of_their_classifiers(usual, shape):
    model = credo.GaussianClassifier(covariance=usual).fit(X, Y)
    expected = credo.GaussianClassifier(covariance=shape).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    model.partial_fit(X, Y)
    assert credo.summarise(X, Y, covariance=usual).n_rows == len(X)


@pytest.mark.parametrize(
    ("usual", "family"),
    [("normal", "gaussian"), ({(0, 1): "multivariate_normal"}, {(0, 1): "multivariate_gaussian"})],
)
def test_a_gaussian_may_be_called_normal(usual, family):
    model = credo.NaiveBayes(families=usual).fit(X, Y)
    expected = credo.NaiveBayes(families=family).fit(X, Y)
    assert model.families_ == expected.families_
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize("method", ["viterbi", "max_product", "Max_Sum"])
def test_a_search_for_the_best_configuration_is_sent_to_mpe(method):
    net = credo.BayesianNetwork()
    rain = net.variable("rain", ["no", "yes"])
    net.cpt(rain, table=[0.8, 0.2])
    with pytest.raises(InputError, match=r"finds the best configuration: that is credo\.mpe"):
        credo.infer(net, method=method)
