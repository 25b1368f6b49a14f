import numpy as np
import pytest
from tests.oracles import gaussians as oracle

from credo.exceptions import InputError
from credo.families.covariances import Names
from credo.families.covariances import detail_for
from credo.families.covariances import (
    active_features,
    flat_features,
    refusal,
    with_variation,
)

X, Y = oracle.rows_of(0)
NAMES = Names("Owner", ("x", "y", "z"), ("a", "b", "c"))
ALL = np.ones(3, dtype=bool)


def moments_of(rows, shape):
    return oracle.as_class_moments(oracle.class_moments(rows, Y), detail_for(shape))


def flat_of(rows, shape):
    """Tell flat features by class; a shared answer is that of every class."""
    flat = flat_features(moments_of(rows, shape), shape, ALL)
    assert flat.shape == ((3,) if shape in oracle.LINEAR else (3, 3))
    return np.broadcast_to(flat, (3, 3)).tolist()


def rows_where(change):
    rows = X.copy()
    change(rows)
    return rows


def flat_in_one_class(rows):
    rows[Y == 1, 2] = 0.7


def flat_in_every_class(rows):
    rows[:, 0] = 2.0 * Y


def one_point(rows):
    rows[Y == 2] = [1.0, 2.0, 3.0]


NONE = [[False] * 3] * 3
ONE = [[False] * 3, [False, False, True], [False] * 3]
EVERY = [[True, False, False]] * 3
POINT = [[False] * 3, [False] * 3, [True] * 3]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda _: None, dict.fromkeys(oracle.SHAPES, NONE)),
        (flat_in_one_class, {"full": ONE, "diagonal": ONE}),
        (
            flat_in_every_class,
            dict.fromkeys(["full", "diagonal", "tied", "tied_diagonal", "proportional"], EVERY),
        ),
        (one_point, dict.fromkeys(["full", "diagonal", "spherical", "proportional"], POINT)),
    ],
    ids=["varied", "one class", "every class", "point"],
)
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_a_feature_is_flat_where_the_shape_cannot_do_with_it(shape, change, expected):
    """A shared variance, or one number of spread per class, bears single flat features."""
    assert flat_of(rows_where(change), shape) == expected.get(shape, NONE)


def test_rounding_is_no_spread():
    rows = rows_where(flat_in_one_class)
    rows[Y == 1, 2] = 1e8 + 1e-8 * np.arange(19)
    assert flat_of(rows, "full") == ONE
    rows[Y == 1, 2] = 1e8 + 1e-3 * np.arange(19)
    assert flat_of(rows, "full") == NONE


@pytest.mark.parametrize("shape", ["full", "diagonal"])
def test_a_flat_feature_of_a_class_gets_a_share_of_its_variance_within_classes(shape):
    rows = rows_where(flat_in_one_class)
    moments = moments_of(rows, shape)
    before = moments.scatter.copy()
    share = np.array([[0.1], [0.25], [0.5]])
    varied = with_variation(moments, np.array(ONE), share)
    pooled = sum(((rows[k == Y, 2] - rows[k == Y, 2].mean()) ** 2).sum() for k in range(3)) / 56
    assert varied.diagonals()[1, 2] / 19 == pytest.approx(0.25 * pooled, rel=1e-12)
    others = ~np.array(ONE)
    np.testing.assert_array_equal(varied.diagonals()[others], moments.diagonals()[others])
    np.testing.assert_array_equal(moments.scatter, before)
    if shape == "full":
        assert not varied.scatter[1, 2, :2].any()
        assert not varied.scatter[1, :2, 2].any()


@pytest.mark.parametrize("shape", ["tied", "tied_diagonal"])
def test_a_feature_that_is_flat_in_every_class_gets_a_share_of_its_total_variance(shape):
    rows = rows_where(flat_in_every_class)
    moments = moments_of(rows, shape)
    varied = with_variation(moments, np.array(EVERY[0]), np.array([0.25]))
    expected = 0.25 * rows[:, 0].var()
    assert varied.pooled_diagonal()[0] / 56 == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(varied.pooled_diagonal()[1:], moments.pooled_diagonal()[1:])


@pytest.mark.parametrize("units", [1e-9, 1e9])
@pytest.mark.parametrize("shape", ["full", "tied", "diagonal"])
def test_what_is_added_has_the_unit_of_the_feature(shape, units):
    rows = rows_where(flat_in_every_class)
    scale = np.array([units, 1.0, 1.0])
    flat = np.array(EVERY[0] if shape == "tied" else EVERY)
    one, other = (
        with_variation(moments_of(r, shape), flat, np.full(1, 0.1)).pooled_diagonal()
        for r in (rows, rows * scale)
    )
    np.testing.assert_allclose(other, one * scale**2, rtol=1e-12)


def test_a_refusal_names_class_columns_and_remedy():
    moments = moments_of(rows_where(flat_in_one_class), "full")
    text = str(refusal(np.array(ONE), moments, NAMES))
    assert "Owner: the covariance of 'y' is singular: constant in its 19 rows: 'c'" in text
    assert "covariance='tied'" in text
    text = str(refusal(np.array([True, False, True]), moments, NAMES))
    assert "constant within every class (56 rows): 'a', 'c'" in text
    assert "singular='repair'" in text


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_constant_features_are_left_out_unless_the_shape_is_a_sphere(shape):
    rows = X.copy()
    rows[:, 1] = 4.2
    active = active_features(moments_of(rows, shape), shape, NAMES)
    assert active.tolist() == [True, "spherical" in shape, True]


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_nothing_is_learned_from_constants(shape):
    with pytest.raises(InputError, match="Owner: every feature is constant .56 sample"):
        active_features(moments_of(np.full_like(X, 0.3), shape), shape, NAMES)
