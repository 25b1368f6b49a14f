import copy

import numpy as np
import pytest
from tests.oracles import gaussians as oracle

from credo.exceptions import NumericalError
from credo.families.covariances import Names, SingularCovarianceError, Where, whiten

ALL = np.ones(4, dtype=bool)
NAMES = Names("Owner", ("yes", "no"), ("a", "b", "c", "d"))


def whitener(covariance, active, k, n_rows):
    """Give the factor and the log determinant."""
    out = np.full(covariance.shape, np.nan)
    return out, whiten(covariance, out, active, Where(NAMES, k, n_rows))


def covariance_of(seed, n=30, size=4):
    X, _ = oracle.rows_of(seed, counts=(n,), n_features=size)
    return np.cov(X.T, bias=True)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("units", [1.0, 1e-8, 1e8])
def test_a_whitener_turns_the_covariance_into_the_identity(seed, units):
    scale = np.array([units, 1.0, 1 / units, 3.0])
    covariance = covariance_of(seed) * np.outer(scale, scale)
    w, log_determinant = whitener(covariance, ALL, 0, 30)
    np.testing.assert_allclose(w @ covariance @ w.T, np.eye(4), atol=1e-11)
    np.testing.assert_array_equal(w, np.tril(w))
    expected = np.linalg.slogdet(covariance_of(seed))[1] + 2 * np.log(scale).sum()
    assert log_determinant == pytest.approx(expected, rel=1e-12)


def test_features_that_are_not_active_have_no_part():
    active = np.array([True, False, True, True])
    covariance = covariance_of(3)
    covariance[1] = covariance[:, 1] = 0.0
    w, log_determinant = whitener(covariance, active, None, 30)
    assert not w[1].any()
    assert not w[:, 1].any()
    inner = covariance[np.ix_(active, active)]
    kept = w[np.ix_(active, active)]
    np.testing.assert_allclose(kept @ inner @ kept.T, np.eye(3), atol=1e-12)
    assert log_determinant == pytest.approx(np.linalg.slogdet(inner)[1], rel=1e-12)


@pytest.mark.parametrize("near", [1e-9, 1e-12])
def test_strong_correlations_are_not_singular(near):
    covariance = np.array([[1.0, 1 - near], [1 - near, 1.0]])
    w, log_determinant = whitener(covariance, ALL[:2], 0, 30)
    # |Σ| = (1 - r)(1 + r), with 1 - r as it was rounded
    gap = 1.0 - covariance[0, 1]
    assert log_determinant == pytest.approx(np.log(gap) + np.log(2 - gap), rel=1e-6)
    assert np.isfinite(w).all()


def refusal(covariance, k, n_rows, size=4):
    with pytest.raises(SingularCovarianceError) as caught:
        whitener(covariance, ALL[:size], k, n_rows)
    return str(caught.value)


def test_a_duplicated_column_is_named_with_its_twin():
    X, _ = oracle.rows_of(5, counts=(30,), n_features=4)
    X[:, 3] = 1000 * X[:, 1] + 7
    text = refusal(np.cov(X.T, bias=True), 1, 30)
    assert "the covariance of 'no' is singular" in text
    assert ("column 'd' is, to rounding, a combination of 'b'" in text) or (
        "column 'b' is, to rounding, a combination of 'd'" in text
    )
    assert "1 of 4 columns are redundant" in text
    assert "shrinkage='oas'" in text


def test_a_combination_names_all_its_columns_and_no_other():
    X, _ = oracle.rows_of(6, counts=(30,), n_features=4)
    X[:, 2] = X[:, 0] - 2 * X[:, 3]
    text = refusal(np.cov(X.T, bias=True), None, 30)
    named = text.split("column ")[1].split(";")[0]
    assert {name for name in "abcd" if f"'{name}'" in named} == {"a", "c", "d"}
    assert "the shared covariance" in text
    assert "covariance='tied'" not in text


def test_several_redundant_columns_are_counted():
    X, _ = oracle.rows_of(7, counts=(30,), n_features=4)
    X[:, 2], X[:, 3] = X[:, 0] + X[:, 1], X[:, 0] - X[:, 1]
    assert "2 of 4 columns are redundant" in refusal(np.cov(X.T, bias=True), 0, 30)


@pytest.mark.parametrize(("k", "n_rows", "needed"), [(0, 4, "at least 5"), (None, 5, "at least 6")])
def test_too_few_rows_are_told_from_redundant_columns(k, n_rows, needed):
    X = np.random.default_rng(8).normal(size=(4, 4))
    text = refusal(np.cov(X.T, bias=True), k, n_rows)
    assert f"{n_rows} rows are too few for 4 features; {needed} are needed" in text


def test_columns_are_called_by_their_own_number_when_others_are_left_out():
    active = np.array([False, True, True, True])
    X, _ = oracle.rows_of(9, counts=(30,), n_features=4)
    X[:, 3] = X[:, 1]
    covariance = np.cov(X.T, bias=True)
    with pytest.raises(SingularCovarianceError, match="column '[bd]'.*combination of '[bd]'"):
        whitener(covariance, active, 0, 30)


def test_the_error_is_numerical_and_survives_the_way_from_another_process():
    error = SingularCovarianceError("It is flat.", "Shake it.")
    assert isinstance(error, NumericalError)
    again = copy.copy(error)  # by the same door as a message between processes
    assert str(again) == "It is flat. Shake it."
    assert (again.fault, again.remedy) == ("It is flat.", "Shake it.")
