import numpy as np
import pytest
from tests.oracles import gaussians as oracle

from credo.exceptions import InputError, ShapeError
from credo.families.moments import ClassMoments, check_size, rounding_variance
from credo.families.reduction import reduce_rows

DETAILS = ("full", "tied", "diagonal")
X, Y = oracle.rows_of(0)
WEIGHTS = np.random.default_rng(1).uniform(0.2, 3.0, len(Y))


def moments_of(rows, detail="full"):
    """Moments of some of the rows; every class must be among them."""
    return oracle.as_class_moments(oracle.class_moments(X[rows], Y[rows], WEIGHTS[rows]), detail)


def assert_same(one, other, rtol=1e-12):
    np.testing.assert_array_equal(one.counts, other.counts)
    for name in ("weights", "means", "scatter"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("detail", DETAILS)
@pytest.mark.parametrize("cut", [15, 28, 40])
def test_merging_equals_the_moments_of_the_union(detail, cut):
    first, second = moments_of(slice(cut), detail), moments_of(slice(cut, None), detail)
    assert_same(first.merge(second), moments_of(slice(None), detail))
    assert_same(second.merge(first), moments_of(slice(None), detail))


@pytest.mark.parametrize("detail", DETAILS)
def test_the_moments_of_no_rows_change_nothing(detail):
    some = moments_of(slice(None), detail)
    none = ClassMoments(0 * some.counts, 0 * some.weights, 0 * some.means, 0 * some.scatter, detail)
    assert_same(some.merge(none), some, rtol=0)
    assert_same(none.merge(some), some, rtol=0)
    empty = none.merge(none)
    assert not empty.means.any()
    assert not empty.scatter.any()


def test_moments_of_observed_entries_merge_feature_by_feature():
    holes = oracle.with_holes(X, 2)
    parts = []
    for rows in (slice(30), slice(30, None), slice(None)):
        found = oracle.observed_variances(holes[rows], Y[rows], WEIGHTS[rows]).values()
        weights = np.array([WEIGHTS[rows][Y[rows] == k].sum() for k in range(3)])
        seen, means, scatter = (np.array(each) for each in zip(*found, strict=True))
        counts = np.bincount(Y[rows])
        parts.append(ClassMoments(counts, weights, means, scatter, "diagonal", observed=seen))
    merged = parts[0].merge(parts[1])
    assert_same(merged, parts[2])
    np.testing.assert_allclose(merged.observed, parts[2].observed)


def test_merging_complete_and_incomplete_moments_keeps_count_of_both():
    complete = moments_of(slice(30), "diagonal")
    rest = moments_of(slice(30, None), "diagonal")
    seen = np.broadcast_to(rest.weights[:, None], rest.means.shape).copy()
    marked = ClassMoments(rest.counts, rest.weights, rest.means, rest.scatter, "diagonal", seen)
    merged = complete.merge(marked)
    assert_same(merged, moments_of(slice(None), "diagonal"))
    np.testing.assert_allclose(merged.observed, merged.weights[:, None] * np.ones(3))


@pytest.mark.parametrize("detail", DETAILS)
def test_a_mean_of_a_hundred_million_costs_no_digits_when_merging(detail):
    far = X + 1e8
    parts = [reduce_rows(far[r], Y[r], None, 3, detail) for r in np.array_split(np.arange(56), 3)]
    merged = parts[2].merge(parts[0].merge(parts[1])).scatter
    exact = [oracle.exact_moments(far[k == Y])[1] * (k == Y).sum() for k in range(3)]
    expected = {
        "full": exact,
        "tied": np.sum(exact, axis=0),
        "diagonal": [np.diag(s) for s in exact],
    }[detail]
    np.testing.assert_allclose(merged, expected, rtol=1e-10, atol=1e-10)


def test_moments_that_do_not_line_up_are_refused():
    full = moments_of(slice(None))
    with pytest.raises(ShapeError, match="same classes, features and detail.*'full'.*'tied'"):
        full.merge(moments_of(slice(None), "tied"))
    fewer = oracle.as_class_moments(oracle.class_moments(X[:, :2], Y), "full")
    with pytest.raises(ShapeError, match=r"\(3, 3\).*\(3, 2\)"):
        full.merge(fewer)


@pytest.mark.parametrize("detail", DETAILS)
def test_spreading_puts_classes_at_their_places_and_nothing_elsewhere(detail):
    some = moments_of(slice(None), detail)
    wide = some.spread(np.array([4, 0, 2]), 5)
    assert (wide.n_classes, wide.n_features) == (5, 3)
    np.testing.assert_array_equal(wide.counts[[4, 0, 2]], some.counts)
    np.testing.assert_array_equal(wide.means[[4, 0, 2]], some.means)
    assert not wide.weights[[1, 3]].any()
    assert not wide.means[[1, 3]].any()
    np.testing.assert_allclose(wide.pooled(), some.pooled(), rtol=1e-14)


def test_spreading_keeps_what_was_observed():
    some = moments_of(slice(None), "diagonal")
    seen = np.full_like(some.means, 2.0)
    marked = ClassMoments(some.counts, some.weights, some.means, some.scatter, "diagonal", seen)
    np.testing.assert_array_equal(
        marked.spread(np.array([0, 2, 3]), 4).observed[:, 0], [2.0, 0.0, 2.0, 2.0]
    )


def test_the_three_details_agree_on_what_they_share():
    full, tied, diagonal = (moments_of(slice(None), detail) for detail in DETAILS)
    within = sum(m.scatter for m in oracle.class_moments(X, Y, WEIGHTS).values())
    np.testing.assert_allclose(full.pooled(), within)
    np.testing.assert_allclose(tied.pooled(), within)
    np.testing.assert_allclose(diagonal.pooled(), np.diag(within))
    np.testing.assert_allclose(full.diagonals(), diagonal.diagonals())
    for each in (full, tied, diagonal):
        np.testing.assert_allclose(each.pooled_diagonal(), np.diag(within))
        np.testing.assert_allclose(each.grand_mean(), WEIGHTS @ X / WEIGHTS.sum())


def test_the_grand_mean_counts_observed_entries_only():
    some = moments_of(slice(None), "diagonal")
    seen = np.array([[1.0, 0.0, 2.0], [3.0, 0.0, 0.0], [0.0, 5.0, 2.0]])
    marked = ClassMoments(some.counts, some.weights, some.means, some.scatter, "diagonal", seen)
    m = some.means
    expected = [(m[0, 0] + 3 * m[1, 0]) / 4, m[2, 1], (m[0, 2] + m[2, 2]) / 2]
    np.testing.assert_allclose(marked.grand_mean(), expected)


@pytest.mark.parametrize("detail", DETAILS)
def test_features_with_one_value_in_all_rows_are_constant(detail):
    columns = {
        "a third": np.full(len(Y), 1 / 3),
        "zero": np.zeros(len(Y)),
        "rounded": 0.1 + np.array([0.0, 0.2, 0.3])[Y] - np.array([0.0, 0.2, 0.3])[Y],
        "by class": 1.0 * Y,
        "far": 1e8 + X[:, 0],
        "tiny": 1e-150 * X[:, 0],
    }
    table = np.column_stack(list(columns.values()))
    some = oracle.as_class_moments(oracle.class_moments(table, Y, WEIGHTS), detail)
    constant = dict(zip(columns, some.constant_features(), strict=True))
    assert constant == {
        "a third": True,
        "zero": True,
        "rounded": True,
        "by class": False,
        "far": False,
        "tiny": False,
    }


def test_a_class_that_never_saw_a_feature_does_not_make_it_vary():
    means = np.array([[5.0, 1.0], [0.0, 2.0]])
    seen = np.array([[3.0, 3.0], [0.0, 3.0]])
    some = ClassMoments(
        np.array([3, 3]), np.array([3.0, 3.0]), means, np.zeros((2, 2)), "diagonal", seen
    )
    assert some.constant_features().tolist() == [True, False]


@pytest.mark.parametrize("detail", ["full", "tied"])
def test_projecting_equals_the_moments_of_projected_rows(detail):
    components = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0][:2]
    centre = np.array([0.3, -2.0, 5.0])
    some = moments_of(slice(None), detail).projected(components, centre)
    flat = (X - centre) @ components.T
    expected = oracle.as_class_moments(oracle.class_moments(flat, Y, WEIGHTS), detail)
    assert_same(some, expected)


def test_the_variance_of_rounding_grows_with_the_square_of_the_mean():
    small, large = rounding_variance(np.array([1.0, 1e8]))
    assert large == pytest.approx(1e16 * small)
    assert (np.spacing(1.0)) ** 2 < small < 1e-24


@pytest.mark.parametrize(
    ("detail", "remedy"), [("full", "'tied' or 'diagonal'"), ("tied", "'diagonal'")]
)
def test_summaries_beyond_memory_are_refused_with_a_smaller_choice(detail, remedy):
    with pytest.raises(InputError, match=f"GiB for {detail} scatter.*Use covariance={remedy}"):
        check_size(20_000, 40_000, detail)
    check_size(20_000, 1000, "tied")
    check_size(20_000, 10, "full")
