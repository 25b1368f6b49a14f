"""Moments of classes in one pass, and EM where values are missing."""

import numpy as np
import pytest
from tests.oracles import gaussians as oracle

from credo.exceptions import InputError, ShapeError
from credo.families import em, moments
from credo.families.covariances import Names, Recipe
from credo.families.em import fit_missing
from credo.families.moments import ClassMoments, Rows, check_size

DETAILS = ("full", "tied", "diagonal")
X, Y = oracle.rows_of(0, counts=(40, 70, 90))
HOLES = oracle.with_holes(X, 5, 0.4)
WEIGHTS = np.random.default_rng(1).integers(0, 3, len(Y)) * 0.75
detailed = pytest.mark.parametrize("detail", DETAILS)
weighted = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])


@pytest.fixture(params=[10_000, 96, 7])
def _blocks(request, monkeypatch):
    monkeypatch.setattr(moments, "_rows_at_once", lambda *_: request.param)


def assert_same(one, other, rtol=1e-12):
    np.testing.assert_array_equal(one.counts, other.counts)
    np.testing.assert_allclose(one.feature_weights, other.feature_weights, rtol=1e-13)
    for name in ("weights", "means", "scatter"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=1e-12)
    assert one.detail == other.detail


def expected_moments(X, y, weights, detail):
    return oracle.as_class_moments(oracle.class_moments(X, y, weights), detail)


def expected_observed(X, y, weights):
    w = np.ones(len(y)) if weights is None else weights
    parts = oracle.observed_variances(X, y, weights).values()
    seen, means, scatter = (np.array(each) for each in zip(*parts, strict=True))
    counts = np.array([(w[y == k] > 0).sum() for k in range(3)])
    totals = np.array([w[y == k].sum() for k in range(3)])
    return ClassMoments(counts, totals, means, "diagonal", scatter, seen)


@pytest.mark.usefixtures("_blocks")
@weighted
@detailed
def test_one_pass_gives_the_moments_of_each_class(detail, weights):
    found = ClassMoments.of(X, Y, weights, 3, detail)
    assert_same(found, expected_moments(X, Y, weights, detail))
    assert found.observed is None


@pytest.mark.usefixtures("_blocks")
@weighted
def test_each_feature_learns_from_its_observed_entries(weights):
    rows = HOLES.copy()
    rows[:50, 0] = np.nan  # hidden in the first blocks
    found = ClassMoments.of(rows, Y, weights, 3, "diagonal")
    assert_same(found, expected_observed(rows, Y, weights))
    assert found.observed is not None


@pytest.mark.usefixtures("_blocks")
@detailed
def test_a_mean_of_a_hundred_million_keeps_ten_digits(detail):
    far = np.array([1e8, -1e8, 3e8]) + X
    exact = [oracle.exact_moments(far[k == Y]) for k in range(3)]
    scatters = np.array([c * n for (_, c), n in zip(exact, np.bincount(Y), strict=True)])
    expected = {
        "full": scatters,
        "tied": scatters.sum(axis=0),
        "diagonal": np.diagonal(scatters, axis1=1, axis2=2),
    }[detail]
    parts = [
        ClassMoments.of(far[r], Y[r], None, 3, detail) for r in np.array_split(np.arange(200), 3)
    ]
    for found in (
        ClassMoments.of(far, Y, None, 3, detail),
        parts[2].merge(parts[0].merge(parts[1])),
    ):
        np.testing.assert_allclose(found.means, [m for m, _ in exact], rtol=1e-15)
        np.testing.assert_allclose(found.scatter, expected, rtol=1e-10, atol=1e-8)


def test_observed_entries_far_away_keep_ten_digits():
    far = HOLES + 1e8 * (1 + Y[:, None])
    rows = np.vstack([np.full(3, 1e20), far])  # of weight zero: it costs the others nothing
    weights = np.append(0.0, np.ones(len(Y)))
    found = ClassMoments.of(rows, np.append(1, Y), weights, 3, "diagonal")
    assert_same(found, expected_observed(far, Y, None), rtol=1e-10)


@pytest.mark.usefixtures("_blocks")
@detailed
def test_more_classes_than_rows_in_a_block_are_told_apart(detail):
    y = np.arange(200) % 50
    found = ClassMoments.of(X, y, WEIGHTS + 0.5, 50, detail)
    assert_same(found, expected_moments(X, y, WEIGHTS + 0.5, detail))


def test_many_thousand_classes_are_told_apart():
    n = 2**15 + 10
    rows = np.arange(2.0 * n)[:, None]
    found = ClassMoments.of(rows, np.tile(np.arange(n), 2), None, n, "full")
    np.testing.assert_array_equal(found.counts, np.full(n, 2))
    np.testing.assert_allclose(found.means[:, 0], np.arange(n) + n / 2)
    np.testing.assert_allclose(found.scatter[:, 0, 0], np.full(n, n**2 / 2))


def test_what_a_class_never_showed_weighs_nothing():
    rows = HOLES.copy()
    rows[Y == 1, 2] = np.nan
    found = ClassMoments.of(rows, 2 * Y, None, 6, "diagonal")
    assert found.counts[[1, 3, 5]].tolist() == [0, 0, 0]
    assert not found.means[[1, 3, 5]].any()
    assert found.observed[2, 2] == found.means[2, 2] == found.scatter[2, 2] == 0.0
    assert found.weights[2] == 70


def test_complete_and_incomplete_moments_merge_feature_by_feature():
    rows = np.vstack([X[:50], HOLES[50:]])
    parts = [
        ClassMoments.of(rows[r], Y[r], WEIGHTS[r], 3, "diagonal")
        for r in (slice(50), slice(50, None))
    ]
    assert parts[0].observed is None
    for merged in (parts[0].merge(parts[1]), parts[1].merge(parts[0])):
        assert_same(merged, expected_observed(rows, Y, WEIGHTS))


@detailed
def test_features_with_one_value_in_all_rows_are_constant(detail):
    steps = np.array([0.0, 0.2, 0.3])[Y]
    columns = {
        "a third": (np.full(len(Y), 1 / 3), True),
        "zero": (np.zeros(len(Y)), True),
        "tiny": (np.full(len(Y), 1e-200), True),
        "rounded": (0.1 + steps - steps, True),
        "by class": (1.0 * Y, False),
        "far": (1e8 + X[:, 0], False),
        "little": (1e-150 * X[:, 0], False),
        "less": (1e-200 * X[:, 0], False),
        "less by class": (1e-200 * Y, False),
        "less and even": (1e-300 * np.where(np.arange(len(Y)) % 2, 1, -1), False),
    }
    table = np.column_stack([column for column, _ in columns.values()])
    for parts in (1, 4, 200):
        pieces = np.array_split(np.arange(len(Y)), parts)
        found = ClassMoments.of(table[pieces[0]], Y[pieces[0]], None, 3, detail)
        for rows in pieces[1:]:
            found = found.merge(ClassMoments.of(table[rows], Y[rows], None, 3, detail))
        constant = dict(zip(columns, found.constant_features().tolist(), strict=True))
        flat = dict(zip(columns, found.flat(pooled=True).tolist(), strict=True))
        assert not any(flat[name] for name in ("far", "little", "less", "less and even")), parts
        assert constant == {name: answer for name, (_, answer) in columns.items()}, parts


def test_a_square_that_is_lost_leaves_a_trace_in_its_class_only():
    rows = X.copy()
    rows[:, 1] = np.where(Y == 1, 1e-170 * X[:, 1], 0.0)
    for weights in (None, np.full(len(Y), 2.0)):
        found = ClassMoments.of(rows, Y, weights, 3, "diagonal")
        assert found.flat().tolist() == [[False, k != 1, False] for k in range(3)]
        assert 0 < found.scatter[1, 1] < np.finfo(float).tiny
        assert not found.scatter[[0, 2], 1].any()


def test_weights_that_take_a_square_below_float64_leave_a_trace_too():
    found = ClassMoments.of(X * 1e-120, Y, np.full(len(Y), 1e-100), 3, "diagonal")
    assert not found.flat().any()


def test_a_class_that_never_saw_a_feature_does_not_make_it_vary():
    rows = np.array([[5.0, 1.0], [5.0, 1.0], [np.nan, 2.0], [np.nan, 2.0]])
    found = ClassMoments.of(rows, np.array([0, 0, 1, 1]), None, 2, "diagonal")
    assert found.constant_features().tolist() == [True, False]


@detailed
def test_what_has_no_squares_is_refused_with_its_column(detail):
    rows = X.copy()
    rows[150, 1] = 1e200
    with pytest.raises(InputError, match="Owner: X contains values so large, in column 1.*Rescale"):
        Rows(rows, Y, None, 3).moments(detail, "Owner")
    with pytest.raises(InputError, match="in column 'b', that .* divide by 1e170"):
        Rows(rows, Y, None, 3).moments(detail, "Owner", ("a", "b", "c"))
    rows[0, 0] = np.nan
    for value in (np.inf, -np.inf):
        rows[150, 1] = value
        with pytest.raises(InputError, match="Owner: X contains infinity, in column 1"):
            Rows(rows, Y, None, 3).moments(detail, "Owner")


@pytest.mark.parametrize(
    ("detail", "remedy"), [("full", "'tied' or 'diagonal'"), ("tied", "'diagonal'")]
)
def test_summaries_beyond_memory_are_refused_with_a_smaller_choice(detail, remedy):
    with pytest.raises(InputError, match=f"GiB for {detail} scatter.*Use covariance={remedy}"):
        check_size(20_000, 40_000, detail)
    check_size(20_000, 1000, "tied")
    check_size(20_000, 10, "full")


FEW, FEW_Y = oracle.rows_of(60, counts=(30, 35, 40))
FEW_HOLES = oracle.with_holes(FEW, 61)
FEW_WEIGHTS = np.random.default_rng(62).uniform(0.2, 3.0, len(FEW_Y))
shapes = pytest.mark.parametrize("shape", oracle.CORRELATED)


def run(rows, shape, weights=None, y=FEW_Y, **options):
    n_classes = len(set(y))
    names = Names("Owner", ("x", "y", "z")[:n_classes], tuple("abcd"[: rows.shape[1]]))
    return fit_missing(Rows(rows, y, weights, n_classes), Recipe(shape, **options), names)


def as_model(fit):
    model = fit.model
    covariances = [oracle.covariance_of(model, k) for k in range(model.n_classes)]
    return oracle.Model(
        list(range(model.n_classes)), np.ones(model.n_classes), list(model.means), covariances
    )


def assert_alike(one, other, tolerance):
    for name in ("means", "covariances"):
        found, expected = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def start_of(rows, shape, weights=None):
    """Independent features with the observed means and variances, as the fit begins."""
    found = {}
    for k, (seen, mean, scatter) in oracle.observed_variances(rows, FEW_Y, weights).items():
        total = (np.ones(len(FEW_Y)) if weights is None else weights)[k == FEW_Y].sum()
        count = int((k == FEW_Y).sum())
        found[k] = oracle.Moments(count, total, mean, np.diag(scatter / seen) * total)
    means = [m.mean for m in found.values()]
    return oracle.Model(list(found), np.ones(3), means, oracle.covariances_of(found, shape))


@pytest.mark.parametrize("weights", [None, FEW_WEIGHTS], ids=["plain", "weighted"])
@shapes
def test_each_step_is_that_of_a_loop_over_rows(shape, weights):
    expected = start_of(FEW_HOLES, shape, weights)
    for steps in range(1, 4):
        before = oracle.log_likelihood(FEW_HOLES, FEW_Y, expected, weights)
        expected = oracle.em_step(FEW_HOLES, FEW_Y, expected, shape, weights)
        fit = run(FEW_HOLES, shape, weights, max_iter=steps, tol=0)
        assert not fit.converged
        assert len(fit.trace) == steps + 1
        assert fit.trace[-2] == pytest.approx(before, rel=1e-6)
        found = as_model(fit)
        # the twin of the proportional shape is found by a search
        assert_alike(found, expected, 1e-4 if shape == "proportional" else 1e-9)
        after = oracle.log_likelihood(FEW_HOLES, FEW_Y, found, weights)
        assert fit.trace[-1] == pytest.approx(after, rel=1e-10)


def test_a_monotone_pattern_has_its_closed_form():
    """Column 1 missing in some rows: regress it on column 0 (Little and Rubin, section 7.2)."""
    rows, _ = oracle.rows_of(65, counts=(40,), n_features=2)
    rows[25:, 1] = np.nan
    model = run(rows, "full", y=np.zeros(40, dtype=np.intp), tol=1e-14).model
    a, b = rows[:25].T
    slope = np.cov(a, b, bias=True)[0, 1] / a.var()
    mean_a, var_a = rows[:, 0].mean(), rows[:, 0].var()
    mean_b = b.mean() + slope * (mean_a - a.mean())
    rest = np.mean((b - b.mean() - slope * (a - a.mean())) ** 2)
    expected = [[var_a, slope * var_a], [slope * var_a, rest + slope**2 * var_a]]
    np.testing.assert_allclose(model.means[0], [mean_a, mean_b], atol=1e-6)
    np.testing.assert_allclose(model.covariances[0], expected, atol=1e-6)


@shapes
def test_it_stands_still_where_the_likelihood_is_highest(shape):
    fit = run(FEW_HOLES, shape, tol=1e-13)
    assert fit.converged
    assert_alike(oracle.em_step(FEW_HOLES, FEW_Y, as_model(fit), shape), as_model(fit), 1e-4)
    rows = np.vstack([FEW_HOLES, np.full((6, 3), np.nan)])  # entirely missing: they tell nothing
    again = run(rows, shape, y=np.concatenate([FEW_Y, [0, 0, 0, 1, 1, 2]]), tol=1e-13)
    assert_alike(as_model(again), as_model(fit), 1e-3)
    assert again.weights.tolist() == [33, 37, 41]


@shapes
def test_blocks_do_not_change_the_fit(shape, monkeypatch):
    whole = run(FEW_HOLES, shape)
    monkeypatch.setattr(em.check, "block_rows", lambda _: 4)
    parts = run(FEW_HOLES, shape)
    np.testing.assert_allclose(parts.trace, whole.trace, rtol=1e-12)
    np.testing.assert_allclose(parts.model.means, whole.model.means, rtol=1e-9)


def test_neither_a_large_mean_nor_small_units_cost_digits():
    near, far = run(FEW_HOLES, "full").model, run(FEW_HOLES + 1e8, "full").model
    # adding 1e8 rounds the rows themselves to 1.5e-8
    np.testing.assert_allclose(far.covariances, near.covariances, atol=1e-5)
    np.testing.assert_allclose(far.means - 1e8, near.means, atol=1e-5)
    small = run(FEW_HOLES * 2.0**-500, "full").model
    np.testing.assert_allclose(small.covariances * 2.0**1000, near.covariances, rtol=1e-9)
    with pytest.raises(InputError, match="Owner: column 'a' varies so little"):
        run(FEW_HOLES * 2.0**-560, "full")


def test_moments_that_do_not_line_up_are_refused():
    full = expected_moments(X, Y, None, "full")
    with pytest.raises(ShapeError, match="same classes, features and detail.*'full'.*'tied'"):
        full.merge(expected_moments(X, Y, None, "tied"))
