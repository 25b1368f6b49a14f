"""Faults that were found by hunting for them, one test each."""

import numpy as np
import pytest

from credo import GaussianClassifier, summarise
from credo.exceptions import InputError, SingularWarning

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 3)), np.arange(60) % 3


def test_a_subspace_never_holds_components_that_are_rounding():
    rows = np.c_[X[:, :2], X[:, 0] + X[:, 1]]
    with pytest.raises(InputError, match="span only 2 dimensions.*at most 2"):
        GaussianClassifier("diagonal", subspace=3).fit(rows, Y)
    model = GaussianClassifier("diagonal", subspace=1 - 1e-15).fit(rows, Y)
    assert model.components_.shape == (2, 3)


def test_em_keeps_a_repair_and_tells_of_it():
    rows = np.c_[X, X[:, 0] + X[:, 1]]
    rows[np.random.default_rng(1).random(rows.shape) < 0.2] = np.nan
    with pytest.warns(SingularWarning, match="combination of"):
        model = GaussianClassifier("tied").fit(rows, Y)
    assert model.converged_
    assert 0 < model.shrinkage_ < 1
    assert np.linalg.cond(model.covariances_) < 1e6


def test_signed_and_unsigned_labels_stay_integers():
    labels = np.where(Y > 0, 2**62 + 1, 2**62)
    model = GaussianClassifier().partial_fit(X, labels).partial_fit(X, labels.astype(np.uint64))
    assert model.classes_.tolist() == [2**62, 2**62 + 1]
    large = summarise(X, np.where(Y > 0, np.uint64(2**63 + 1), np.uint64(0)))
    assert summarise(X, Y).merge(large).classes.tolist() == [0, 1, 2, 2**63 + 1]
    with pytest.raises(InputError, match="two kinds"):
        summarise(X, Y).merge(summarise(X, Y.astype("datetime64[D]")))


@pytest.mark.parametrize("method", ["impute", "conditional"])
def test_rows_too_far_to_compare_are_refused_when_filled(method):
    with pytest.raises(InputError, match="Row 0 is so far"):
        getattr(GaussianClassifier().fit(X, Y), method)([[1e160, np.nan, 1.0]])


@pytest.mark.parametrize("shape", ["tied", "tied_diagonal", "tied_spherical"])
def test_far_rows_keep_their_linear_odds_if_an_entry_is_missing(shape):
    flat = np.c_[X[:, :2], 0.5 * (Y == 9)]
    flat[:, 2] = RNG.normal(size=60)
    model = GaussianClassifier(shape).fit(flat, Y)
    model._model.means[:, 0] = 0.0  # the far feature tells nothing
    model._model.means[:, 2] = 0.0  # nor does the missing one
    near = model.predict_proba([[0.0, 1.0, np.nan]])
    far = model.predict_proba([[1e9, 1.0, np.nan]])
    if shape != "tied":
        np.testing.assert_allclose(far, near, rtol=1e-6)
    np.testing.assert_allclose(far, model.predict_proba([[1e9, 1.0, 0.0]]), rtol=1e-4, atol=1e-12)


@pytest.mark.parametrize("shape", ["full", "tied", "diagonal"])
def test_an_outlier_of_tiny_weight_costs_no_digits(shape):
    rows, weights = RNG.normal(size=(1000, 1)), np.ones(1000)
    rows[0], weights[0] = 1e10, 1e-22
    found = GaussianClassifier(shape).fit(rows, np.zeros(1000, int), weights).covariances_
    mean = rows[1:].mean()
    expected = (((rows[1:] - mean) ** 2).sum() + 1e-22 * 1e20) / 999
    assert found.item() == pytest.approx(expected, rel=1e-9)


def test_filling_and_sampling_do_not_slow_down_with_the_square_of_the_classes():
    codes = np.repeat(np.arange(2000), 3)
    model = GaussianClassifier("diagonal").fit(RNG.normal(size=(6000, 3)), codes)
    assert np.isfinite(model.impute([[0.0, np.nan, 1.0]])).all()
    assert len(np.unique(model.sample(4000, random_state=0)[1])) > 1500


def test_a_feature_seen_once_counts_once():
    rows = X.copy()
    rows[Y == 0, 1] = np.nan
    rows[0, 1] = 0.5
    with pytest.warns(SingularWarning, match="observed of its 20 rows: 1. Repaired with 0.5 of"):
        model = GaussianClassifier("diagonal").fit(rows, Y)
    pooled = sum(((rows[k == Y, 1] - rows[k == Y, 1].mean()) ** 2).sum() for k in (1, 2)) / 41
    assert model.covariances_[0, 1] == pytest.approx(pooled / 2, rel=1e-9)
