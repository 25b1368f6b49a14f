"""H1: the evidence p(x) as a named term of Bayes' rule."""

import numpy as np
import pytest
from scipy import stats

from credo import Posterior
from credo.exceptions import InputError


def test_h1_the_evidence_of_the_disease_test():
    test = Posterior.from_bayes(
        {"disease": 0.004, "healthy": 0.996}, {"disease": 0.8, "healthy": 0.1}
    )
    assert np.exp(test.log_evidence) == pytest.approx(0.004 * 0.8 + 0.996 * 0.1, rel=1e-14)
    assert round(float(np.exp(test.log_evidence)), 4) == 0.1028
    assert test["disease"] == pytest.approx(0.0032 / 0.1028, rel=1e-12)


def test_h1_one_evidence_per_row_far_below_the_least_number():
    x = np.array([0.0, 1.0, 60.0])
    likelihoods = {"a": stats.norm.logpdf(x), "b": stats.norm.logpdf(x, 2)}
    rows = Posterior.from_bayes({"a": 0.25, "b": 0.75}, likelihoods, log=True)
    expected = np.logaddexp(np.log(0.25) + likelihoods["a"], np.log(0.75) + likelihoods["b"])
    np.testing.assert_allclose(rows.log_evidence, expected, rtol=1e-14)
    assert rows.log_evidence[2] < -1600
    np.testing.assert_array_equal(rows.rows([2, 0]).log_evidence, rows.log_evidence[[2, 0]])


def test_h1_probabilities_alone_do_not_say():
    with pytest.raises(InputError, match="how probable the case was"):
        _ = Posterior.from_probabilities([0.5, 0.5], ["a", "b"]).log_evidence
