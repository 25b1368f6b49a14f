import numpy as np
import pytest
from scipy import stats
from tests.oracles import families as oracle

from credo.exceptions import InputError
from credo.families import Laplace, SketchSummary
from credo.families.summaries import MOST_POINTS


def test_the_estimate_is_that_of_scipy():
    rows = np.random.default_rng(0).normal(size=(51, 2))
    fitted = Laplace.fit(rows)
    for column in range(2):
        location, scale = stats.laplace.fit(rows[:, column])
        assert fitted.location[column] == location
        assert fitted.scale[column] == pytest.approx(scale, rel=1e-14)


def test_the_median_of_an_even_number_is_the_middle_of_two():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    np.testing.assert_array_equal(Laplace.fit(rows).location, np.median(rows, axis=0))


@pytest.mark.parametrize("unit", [1.0, 0.1, 1e-80])
def test_weighted_medians_split_the_weight(unit):
    rng = np.random.default_rng(5)
    for _ in range(30):
        rows = rng.integers(-5, 5, 12).astype(float)
        weight = rng.integers(0, 4, 12) * unit
        expected = oracle.weighted_median(rows, np.round(weight / unit))
        assert Laplace.fit(rows, weight).location == expected


def test_one_batch_of_any_size_is_exact():
    rng = np.random.default_rng(1)
    rows = rng.standard_cauchy((5 * MOST_POINTS, 2))
    rows[:, 1] = np.floor(rows[:, 1])  # some values are heavy
    rows = np.clip(rows, -1e6, 1e6)
    summary = Laplace.summarise(rows)
    assert summary.points.shape[-1] <= MOST_POINTS
    fitted = Laplace.estimate(summary)
    median = np.median(rows, axis=0)
    np.testing.assert_array_equal(fitted.location, median)
    np.testing.assert_allclose(fitted.scale, np.abs(rows - median).mean(axis=0), rtol=1e-13)


def test_points_are_exact_while_they_fit():
    rows = np.random.default_rng(1).normal(size=MOST_POINTS)
    parts = [Laplace.summarise(part) for part in np.array_split(rows, 5)]
    merged = parts[0].merge(parts[1]).merge(parts[2].merge(parts[3]).merge(parts[4]))
    assert merged.rank_error == 0
    np.testing.assert_array_equal(merged.points, np.sort(rows))
    many = Laplace.summarise(np.random.default_rng(1).integers(0, 50, 10**5))
    assert (many.rank_error, many.points.size) == (0, 50)


@pytest.mark.parametrize("order", ["drawn", "sorted"])
@pytest.mark.parametrize("shape", ["chain", "tree"])
def test_merging_past_the_limit_keeps_to_the_bound_on_ranks(order, shape):
    n_batches = 16
    rows = np.random.default_rng(2).gamma(0.5, size=n_batches * 6000)
    if order == "sorted":
        rows.sort()
    parts = [Laplace.summarise(part) for part in np.array_split(rows, n_batches)]
    summary = _chain(parts) if shape == "chain" else _tree(parts)
    share = float(summary.rank_error / summary.weight)
    assert share <= ((n_batches + 3) / 1024 if shape == "chain" else 5 / 512)
    assert summary.points.size <= MOST_POINTS
    assert summary.point_weights.sum() == pytest.approx(len(rows), rel=1e-12)
    assert (np.diff(summary.points) >= 0).all()
    ranks = np.searchsorted(np.sort(rows), summary.points, side="right")
    gaps = np.abs(np.cumsum(summary.point_weights) - ranks)
    assert gaps.max() <= summary.rank_error
    location = float(Laplace.estimate(summary).location)
    middle = (rows <= location).mean()
    assert abs(middle - 0.5) <= share + summary.point_weights.max() / summary.weight


def _chain(parts):
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.merge(part)
    return whole


def _tree(parts):
    while len(parts) > 1:
        parts = [a.merge(b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def test_columns_are_padded_behind_their_points():
    summary = Laplace.summarise([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    np.testing.assert_array_equal(summary.points, [[1, 2, 3], [5, np.nan, np.nan]])
    np.testing.assert_array_equal(summary.point_weights, [[1, 1, 1], [3, 0, 0]])
    assert isinstance(summary, SketchSummary)


def test_the_location_must_be_moderate_and_the_scale_positive():
    with pytest.raises(InputError, match="within 1e\\+100"):
        Laplace(1e200, 1.0)
    with pytest.raises(InputError, match="scale of Laplace must be positive. Got -1"):
        Laplace(0.0, -1.0)
    with pytest.raises(InputError, match="between 1e-100 and 1e\\+100.*Rescale"):
        Laplace(0.0, 1e-200)


def test_the_log_density_does_not_underflow_in_the_tails():
    x = np.array([-1e15, -800.0, 3.25, 1e15])  # SciPy's logpdf is -inf at three of these
    expected = np.array([-2e15 - 6, -1606.0, -0.5, -2e15 + 6])
    np.testing.assert_allclose(Laplace(3.0, 0.5).log_density(x), expected, rtol=1e-15)
