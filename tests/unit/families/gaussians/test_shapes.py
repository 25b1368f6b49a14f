import numpy as np
import pytest
from tests.oracles import gaussians as oracle

from credo.exceptions import InputError
from credo.families.moments import ClassMoments
from credo.families.covariances import (
    LINEAR,
    SHAPES,
    WITH_CORRELATIONS,
    checked_shape,
    detail_for,
    is_enough,
    maximum_likelihood,
    n_covariance_parameters,
)

X, Y = oracle.rows_of(7)
WEIGHTS = np.random.default_rng(8).uniform(0.2, 3.0, len(Y))
FOUND = oracle.class_moments(X, Y, WEIGHTS)


def test_there_are_seven_shapes():
    assert sorted(SHAPES) == sorted(oracle.SHAPES)
    assert set(WITH_CORRELATIONS) == set(oracle.CORRELATED)
    assert set(LINEAR) == set(oracle.LINEAR)


def test_a_shape_is_known_by_its_name():
    assert checked_shape("tied", "Owner") == "tied"
    with pytest.raises(InputError, match="covariance of Owner must be one of.*Did you mean 'tied'"):
        checked_shape("tide", "Owner")
    with pytest.raises(InputError, match="Got None"):
        checked_shape(None, "Owner")
    with pytest.raises(InputError, match="Got 3"):
        checked_shape(3, "Owner")


@pytest.mark.parametrize(
    ("shape", "number"),
    [
        ("full", 5 * 10),
        ("tied", 10),
        ("proportional", 10 + 4),
        ("diagonal", 5 * 4),
        ("tied_diagonal", 4),
        ("spherical", 5),
        ("tied_spherical", 1),
    ],
)
def test_parameters_of_five_classes_with_four_features_are_counted(shape, number):
    assert n_covariance_parameters(shape, 5, 4) == number


def _expected(shape):
    """The covariances in their parsimonious form, from the oracle's matrices."""
    matrices = np.array(oracle.covariances_of(FOUND, shape))
    kept = matrices[0] if shape in LINEAR else matrices
    if shape in WITH_CORRELATIONS:
        return kept
    diagonals = np.diagonal(kept, axis1=-2, axis2=-1)
    return diagonals[..., 0] if "spherical" in shape else diagonals


@pytest.mark.parametrize("detail", ["full", "tied", "diagonal"])
@pytest.mark.parametrize("shape", [s for s in SHAPES if s != "proportional"])
def test_the_estimate_divides_by_the_weight(shape, detail):
    if not is_enough(detail, shape):
        return
    found = maximum_likelihood(oracle.as_class_moments(FOUND, detail), shape)
    expected = _expected(shape)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_what_a_detail_is_enough_for():
    enough = {
        "full": set(SHAPES),
        "tied": set(LINEAR),
        "diagonal": {"diagonal", "tied_diagonal", "spherical", "tied_spherical"},
    }
    for detail, shapes in enough.items():
        assert {shape for shape in SHAPES if is_enough(detail, shape)} == shapes
    for shape in SHAPES:
        assert is_enough(detail_for(shape), shape)


def test_variances_of_observed_entries_divide_by_what_was_observed():
    holes = oracle.with_holes(X, 9)
    parts = oracle.observed_variances(holes, Y).values()
    seen, means, scatter = (np.array(each) for each in zip(*parts, strict=True))
    n = np.bincount(Y)
    moments = ClassMoments(n, n.astype(float), means, scatter, "diagonal", seen)
    np.testing.assert_allclose(maximum_likelihood(moments, "diagonal"), scatter / seen)
    np.testing.assert_allclose(
        maximum_likelihood(moments, "tied_diagonal"), scatter.sum(axis=0) / seen.sum(axis=0)
    )
    np.testing.assert_allclose(
        maximum_likelihood(moments, "spherical"), scatter.sum(axis=1) / seen.sum(axis=1)
    )
    np.testing.assert_allclose(
        maximum_likelihood(moments, "tied_spherical"), scatter.sum() / seen.sum()
    )
