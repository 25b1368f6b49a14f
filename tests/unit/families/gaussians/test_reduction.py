import numpy as np
import pytest
from credo.families.gaussians import reduction
from credo.families.gaussians.reduction import Rows, class_sums, reduce_rows, rows_at_once
from tests.oracles import gaussians as oracle

from credo.exceptions import InputError

DETAILS = ("full", "tied", "diagonal")
X, Y = oracle.rows_of(0, counts=(40, 70, 90))
WEIGHTS = np.random.default_rng(1).integers(0, 3, len(Y)) * 0.75
#: Rows in a block: one block; several, unsorted (at least 32 rows per class); several, sorted.
BLOCKS = [10_000, 96, 7]


@pytest.fixture(params=BLOCKS)
def _block(request, monkeypatch):
    monkeypatch.setattr(reduction, "rows_at_once", lambda _: request.param)


def assert_moments(found, X, y, weights, detail, rtol=1e-12):
    expected = oracle.as_class_moments(oracle.class_moments(X, y, weights), detail)
    np.testing.assert_array_equal(found.counts, expected.counts)
    for name in ("weights", "means", "scatter"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=rtol, atol=1e-12
        )
    assert found.detail == detail
    assert found.observed is None


@pytest.mark.usefixtures("_block")
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("detail", DETAILS)
def test_one_pass_gives_the_moments_of_each_class(detail, weights):
    assert_moments(reduce_rows(X, Y, weights, 3, detail), X, Y, weights, detail)


@pytest.mark.usefixtures("_block")
@pytest.mark.parametrize("detail", DETAILS)
@pytest.mark.parametrize("rubbish", [np.nan, np.inf, -np.inf, 1e300])
def test_rows_of_weight_zero_are_absent_whatever_they_hold(detail, rubbish):
    lead = np.full((3, 3), rubbish)
    rows, codes = np.vstack([lead, X, lead]), np.concatenate([[0, 1, 2], Y, [2, 1, 0]])
    weights = np.concatenate([np.zeros(3), WEIGHTS, np.zeros(3)])
    assert_moments(reduce_rows(rows, codes, weights, 3, detail), X, Y, WEIGHTS, detail)


@pytest.mark.usefixtures("_block")
@pytest.mark.parametrize("detail", DETAILS)
def test_a_mean_of_a_hundred_million_keeps_ten_digits(detail):
    far = np.array([1e8, -1e8, 3e8]) + X
    found = reduce_rows(far, Y, None, 3, detail)
    exact = [oracle.exact_moments(far[k == Y]) for k in range(3)]
    scatters = np.array([c * n for (_, c), n in zip(exact, np.bincount(Y), strict=True)])
    expected = {
        "full": scatters,
        "tied": scatters.sum(axis=0),
        "diagonal": np.diagonal(scatters, axis1=1, axis2=2),
    }[detail]
    np.testing.assert_allclose(found.means, [m for m, _ in exact], rtol=1e-15)
    np.testing.assert_allclose(found.scatter, expected, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("detail", DETAILS)
@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int16, np.uint8, np.bool_])
def test_any_real_type_of_rows_is_summarised_in_double_precision(detail, kind):
    rows = (3 * np.abs(X)).astype(kind)
    found = reduce_rows(rows, Y, None, 3, detail)
    assert found.means.dtype == np.float64
    assert_moments(found, rows.astype(np.float64), Y, None, detail)


@pytest.mark.parametrize("detail", DETAILS)
@pytest.mark.parametrize("layout", ["fortran", "strided", "reversed", "read-only"])
def test_any_layout_of_rows_is_accepted(detail, layout):
    rows = {
        "fortran": np.asfortranarray(X),
        "strided": np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
        "reversed": np.ascontiguousarray(X[::-1])[::-1],
        "read-only": X.copy(),
    }[layout]
    rows.flags.writeable = False
    before = rows.copy()
    assert_moments(reduce_rows(rows, Y, WEIGHTS, 3, detail), X, Y, WEIGHTS, detail)
    np.testing.assert_array_equal(rows, before)


@pytest.mark.parametrize("detail", DETAILS)
def test_more_classes_than_rows_in_a_block_are_summed_where_they_are(detail, monkeypatch):
    monkeypatch.setattr(reduction, "rows_at_once", lambda _: 7)
    y = np.arange(200) % 50
    assert_moments(reduce_rows(X, y, WEIGHTS + 0.5, 50, detail), X, y, WEIGHTS + 0.5, detail)


def test_many_thousand_classes_are_told_apart():
    n = 2**15 + 10
    rows = np.arange(2.0 * n)[:, None]
    found = reduce_rows(rows, np.tile(np.arange(n), 2), None, n, "full")
    np.testing.assert_array_equal(found.counts, np.full(n, 2))
    np.testing.assert_allclose(found.means[:, 0], np.arange(n) + n / 2)
    np.testing.assert_allclose(found.scatter[:, 0, 0], np.full(n, n**2 / 2))


@pytest.mark.parametrize("detail", DETAILS)
def test_a_class_without_rows_has_moments_of_zero(detail):
    found = reduce_rows(X, 2 * Y, None, 6, detail)
    assert found.counts[[1, 3, 5]].tolist() == [0, 0, 0]
    assert not found.means[[1, 3, 5]].any()
    np.testing.assert_allclose(found.means[[0, 2, 4]], reduce_rows(X, Y, None, 3, detail).means)


def test_the_sums_of_classes_are_those_of_a_loop():
    expected = np.zeros((4, 3))
    for row, k, w in zip(X, Y, WEIGHTS, strict=True):
        expected[k] += w * row
    np.testing.assert_allclose(class_sums(X, Y, WEIGHTS, 4), expected)
    np.testing.assert_allclose(class_sums(X, Y, None, 3), [X[k == Y].sum(axis=0) for k in range(3)])


def test_a_block_fits_a_cache_and_is_worth_a_product():
    assert rows_at_once(1) * 8 <= 2**23
    assert rows_at_once(100) * 800 <= 2**23
    assert rows_at_once(1000) >= 2 * 1000 or rows_at_once(1000) * 8000 >= 2**21
    assert rows_at_once(10**9) == 2048


# --- Rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("detail", DETAILS)
def test_rows_with_nan_have_no_moments(detail):
    holes = X.copy()
    holes[150, 1] = np.nan
    assert Rows(holes, Y, None, 3).moments(detail, "Owner") is None
    weights = np.ones(len(Y))
    weights[150] = 0.0
    assert_moments(Rows(holes, Y, weights, 3).moments(detail, "Owner"), holes, Y, weights, detail)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("detail", DETAILS)
def test_infinity_is_refused_with_its_column(value, detail):
    rows = X.copy()
    rows[0, 0] = np.nan
    rows[150, 1] = value
    with pytest.raises(InputError, match="Owner: X contains infinity, in column 1"):
        Rows(rows, Y, None, 3).moments(detail, "Owner")


@pytest.mark.parametrize("detail", DETAILS)
def test_values_whose_squares_overflow_are_refused(detail):
    with pytest.raises(InputError, match="Owner: X contains values so large.*Rescale"):
        Rows(X * 1e200, Y, None, 3).moments(detail, "Owner")
