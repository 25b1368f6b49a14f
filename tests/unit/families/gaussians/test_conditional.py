import numpy as np
import pytest
from tests.oracles import gaussians as oracle

from credo.exceptions import InputError
from credo.families import conditional
from credo.families.class_gaussians import ClassGaussians
from credo.families.class_gaussians import condition_rows, impute_rows

X, Y = oracle.rows_of(80, counts=(20, 25, 30), n_features=4)
PRIORS = np.array([0.2, 0.3, 0.5])
HOLES = oracle.with_holes(X, 81, 0.4)
HOLES[3] = np.nan
HOLES[4] = X[4]
EVERY = np.arange(3)


def models(shape):
    model = oracle.fit(X, Y, shape, priors=PRIORS)
    return model, oracle.as_class_gaussians(model, shape)


@pytest.mark.parametrize("held", [None, 8 * 4 * 7])
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_classes_are_mixed_by_the_posterior_of_the_row(shape, held, monkeypatch):
    if held is not None:
        monkeypatch.setattr(conditional, "_HELD_BYTES", held)
    model, ours = models(shape)
    expected = [oracle.mixed_conditional(x, model) for x in HOLES]
    found = condition_rows(ours, np.log(PRIORS), HOLES, EVERY)
    np.testing.assert_allclose(found.mean, [m for m, _ in expected], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.covariance, [c for _, c in expected], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(
        impute_rows(ours, np.log(PRIORS), HOLES, EVERY), found.mean, rtol=1e-14
    )


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_given_a_class_only_its_gaussian_counts(shape):
    model, ours = models(shape)
    for k in range(3):
        pairs = [oracle.conditional(x, model.means[k], model.covariances[k]) for x in HOLES]
        found = condition_rows(ours, np.log(PRIORS), HOLES, np.array([k]))
        np.testing.assert_allclose(found.mean, [m for m, _ in pairs], rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(found.covariance, [c for _, c in pairs], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_observed_entries_stay_to_the_bit_and_have_no_variance(shape):
    _, ours = models(shape)
    found = condition_rows(ours, np.log(PRIORS), HOLES, EVERY)
    seen = ~np.isnan(HOLES)
    np.testing.assert_array_equal(found.mean[seen], HOLES[seen])
    assert not found.covariance[seen].any()
    assert not found.covariance.swapaxes(1, 2)[seen].any()
    assert not np.isnan(found.mean).any()


def test_rows_that_lack_nothing_are_copied():
    _, ours = models("full")
    filled = impute_rows(ours, np.log(PRIORS), X, EVERY)
    np.testing.assert_array_equal(filled, X)
    assert filled is not X
    found = condition_rows(ours, np.log(PRIORS), X, EVERY)
    assert not found.covariance.any()


def test_a_row_without_entries_has_the_moments_of_the_mixture():
    model, ours = models("full")
    found = condition_rows(ours, np.log(PRIORS), np.full((1, 4), np.nan), EVERY)
    mean = sum(p * m for p, m in zip(PRIORS, model.means, strict=True))
    second = sum(
        p * (c + np.outer(m, m))
        for p, m, c in zip(PRIORS, model.means, model.covariances, strict=True)
    )
    np.testing.assert_allclose(found.mean[0], mean, rtol=1e-9)
    np.testing.assert_allclose(found.covariance[0], second - np.outer(mean, mean), rtol=1e-8)


def test_covariances_are_symmetric_and_never_negative():
    _, ours = models("full")
    found = condition_rows(ours, np.log(PRIORS), HOLES, EVERY).covariance
    np.testing.assert_allclose(found, found.swapaxes(1, 2), atol=1e-14)
    assert np.linalg.eigvalsh(found).min() > -1e-10


def test_a_constant_feature_is_filled_with_its_value():
    model, inner = models("full")
    whiteners, covariances = np.zeros((3, 5, 5)), np.zeros((3, 5, 5))
    whiteners[:, :4, :4], covariances[:, :4, :4] = inner.whiteners, inner.covariances
    means = np.column_stack([inner.means, np.full(3, 7.5)])
    active = np.array([True, True, True, True, False])
    ours = ClassGaussians("full", means, covariances, whiteners, inner.log_determinants, active)
    rows = np.column_stack([HOLES, np.full(len(HOLES), np.nan)])
    rows[::2, 4] = 99.0
    found = condition_rows(ours, np.log(PRIORS), rows, EVERY)
    expected = [oracle.mixed_conditional(x, model)[0] for x in HOLES]
    np.testing.assert_allclose(found.mean[:, :4], expected, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.mean[1::2, 4], 7.5)
    np.testing.assert_array_equal(found.mean[::2, 4], 99.0)
    np.testing.assert_allclose(found.covariance[:, 4], 0, atol=1e-25)


def test_more_covariances_than_memory_are_refused(monkeypatch):
    _, ours = models("tied")
    monkeypatch.setattr(conditional, "_MOST_BYTES", 8 * 16 * 10)
    with pytest.raises(InputError, match="covariances of 75 rows need.*use impute"):
        condition_rows(ours, np.log(PRIORS), HOLES, EVERY)
    condition_rows(ours, np.log(PRIORS), HOLES[:10], EVERY)
