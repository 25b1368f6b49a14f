import numpy as np
import pytest
from credo.families.gaussians.single import SingleScorer
from tests.oracles import gaussians as oracle

X, Y = oracle.rows_of(200, counts=(60, 70, 80), n_features=4)
ROWS = X.astype(np.float32)


def models(shape, rows=ROWS):
    model = oracle.fit(rows.astype(np.float64), Y, shape)
    return model, oracle.as_class_gaussians(model, shape)


def assert_near(found, rows, model):
    """Log odds are off by 2.5e-4 near the classes, and by some roundings of a score elsewhere."""
    expected = oracle.table(rows.astype(np.float64), model, oracle.log_density).T
    wide = found.astype(np.float64)
    sure = np.isfinite(wide).all(axis=0)  # the others are scored again in double precision
    largest = np.abs(expected).max(axis=0)
    gaps = (wide[1:] - wide[0]) - (expected[1:] - expected[0])
    assert (np.abs(gaps)[:, sure] < 2.5e-4 + 4e-6 * largest[sure]).all()
    return sure


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_single_precision_moves_log_odds_by_no_more_than_it_says(shape):
    model, ours = models(shape)
    found = SingleScorer.of(ours).discriminants(ROWS)
    assert found.dtype == np.float32
    assert found.shape == (3, len(ROWS))
    assert assert_near(found, ROWS, model).all()


@pytest.mark.parametrize("shape", oracle.SHAPES)
@pytest.mark.parametrize("far", [1e3, 1e5])
def test_a_place_far_from_the_origin_is_centred_or_declined(shape, far):
    rows = (X + far).astype(np.float32)
    model, ours = models(shape, rows)
    scorer = SingleScorer.of(ours)
    if scorer is None:
        return
    assert assert_near(scorer.discriminants(rows), rows, model).all()


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_classes_a_thousand_deviations_apart_are_declined(shape):
    """Log odds of a million keep no digit behind the point in single precision."""
    rows = X + 1000.0 * Y[:, None]
    model = oracle.fit(rows, Y, shape)
    scorer = SingleScorer.of(oracle.as_class_gaussians(model, shape))
    if shape in ("full", "proportional"):
        return  # each class is centred on its own mean
    assert scorer is None


@pytest.mark.parametrize("shape", ["full", "tied", "proportional"])
def test_strong_correlations_are_declined(shape):
    rows = X.copy()
    rows[:, 1] = rows[:, 0] + 1e-5 * rows[:, 1]
    model = oracle.fit(rows, Y, shape)
    assert SingleScorer.of(oracle.as_class_gaussians(model, shape)) is None


@pytest.mark.parametrize("units", [1e-30, 1e-18, 1e18, 1e30])
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_numbers_that_single_precision_cannot_hold_are_declined_or_told(shape, units):
    model = oracle.fit(X * units, Y, shape)
    scorer = SingleScorer.of(oracle.as_class_gaussians(model, shape))
    if scorer is None:
        return
    rows = (X * units).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        assert_near(scorer.discriminants(rows), rows, model)


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_missing_entries_are_seen_as_such(shape):
    rows = ROWS.copy()
    rows[3, 1] = np.nan
    found = SingleScorer.of(models(shape)[1]).discriminants(rows)
    assert np.isnan(found[:, 3]).all()
    assert np.isfinite(np.delete(found, 3, axis=1)).all()
    assert np.isnan(rows[3, 1])


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_layouts_and_no_rows_are_accepted(shape):
    scorer = SingleScorer.of(models(shape)[1])
    expected = scorer.discriminants(ROWS)
    for rows in (np.asfortranarray(ROWS), np.repeat(ROWS, 2, axis=0)[::2]):
        before = rows.copy()
        np.testing.assert_allclose(scorer.discriminants(rows), expected, atol=1e-3)
        np.testing.assert_array_equal(rows, before)
    assert scorer.discriminants(ROWS[:0]).shape == (3, 0)
