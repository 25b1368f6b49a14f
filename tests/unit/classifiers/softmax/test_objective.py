import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from tests.oracles import logistic as oracle

from credo.classifiers.softmax.batches import Batch
from credo.classifiers.softmax.census import Census
from credo.classifiers.softmax.curvature import Curvature, KeptRows
from credo.classifiers.softmax.metric import Metric, hessian_of, null_space, symmetric
from credo.classifiers.softmax.objective import Design, Objective
from credo.classifiers.softmax.scaling import Scaling

WEIGHTS = np.random.default_rng(51).uniform(0.5, 2.0, 60)


def objective_of(n_classes, *, kind=np.asarray, shift=0.0, weights=WEIGHTS, intercept=True):
    X, y = oracle.rows_of(50 + n_classes, n=60, n_classes=n_classes)
    X = X / X.std(axis=0) + shift
    batch = Batch(kind(X), y, weights)
    census = Census(X.shape[1])
    census.add(batch)
    scaling = census.scaling(intercept=intercept)
    design = Design(lambda: (batch,), scaling, n_classes, census.total, census.is_sparse)
    return Objective(design, np.full(scaling.n_columns, 0.01)), X, y


def place(objective, seed=0):
    theta = np.random.default_rng(seed).normal(size=objective.shape)
    return theta if len(theta) == 1 else theta - theta.mean(axis=0)


KINDS = {"dense": np.asarray, "sparse": sp.csr_array}


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shift", [0.0, 1e5], ids=["near", "far"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kind", KINDS)
class TestObjective:
    def test_is_the_mean_cross_entropy_in_the_users_units(self, kind, n_classes, shift, intercept):
        objective, X, y = objective_of(
            n_classes, kind=KINDS[kind], shift=shift, intercept=intercept
        )
        theta = place(objective)
        coef, offsets = objective.design.scaling.coefficients(theta)
        expected = -oracle.log_likelihood(X, y, coef, offsets, WEIGHTS) / WEIGHTS.sum()
        expected += 0.005 * (theta**2).sum()
        assert objective.value(theta).loss == pytest.approx(expected, rel=1e-7)


# Sparse rows are not centred: far from the origin differences of their loss have no digits.
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(("kind", "shift"), [("dense", 0.0), ("dense", 1e5), ("sparse", 0.0)])
def test_the_gradient_is_that_of_differences(kind, shift, n_classes, intercept):
    objective, _, _ = objective_of(n_classes, kind=KINDS[kind], shift=shift, intercept=intercept)
    theta = place(objective)

    def loss(flat):
        return objective.value(flat.reshape(theta.shape)).loss

    expected = approx_fprime(theta.ravel(), loss, 1e-7).reshape(theta.shape)
    np.testing.assert_allclose(objective.value(theta).gradient, expected, atol=2e-6)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kind", KINDS)
class TestHessian:
    def test_is_the_change_of_the_gradient(self, kind, n_classes):
        objective, _, _ = objective_of(n_classes, kind=KINDS[kind])
        theta = place(objective)
        moments = objective.value(theta, curved=True).moments
        hessian = hessian_of(moments, n_classes, objective.ridge, reduced=False)
        step = 1e-6 * np.random.default_rng(1).normal(size=theta.shape)
        change = objective.value(theta + step).gradient - objective.value(theta - step).gradient
        np.testing.assert_allclose(
            (hessian @ step.ravel()).reshape(theta.shape), change / 2, atol=1e-13
        )

    def test_solves_in_reduced_form_what_it_says_in_full(self, kind, n_classes):
        objective, _, _ = objective_of(n_classes, kind=KINDS[kind])
        value = objective.value(place(objective), curved=True)
        step = Metric(value.moments, n_classes, objective.ridge).solve(value.gradient)
        hessian = hessian_of(value.moments, n_classes, objective.ridge, reduced=False)
        np.testing.assert_allclose(hessian @ step.ravel(), value.gradient.ravel(), atol=1e-12)

    @pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
    @pytest.mark.parametrize("keeps", [True, False])
    def test_equals_products_without_it(self, kind, n_classes, keeps, weights):
        objective, _, _ = objective_of(n_classes, kind=KINDS[kind], weights=weights)
        theta = place(objective)
        moments = objective.value(theta, curved=True).moments
        hessian = hessian_of(moments, n_classes, objective.ridge, reduced=False)
        kept = KeptRows.if_they_fit(objective.design, 60, 180) if keeps else None
        direction = np.random.default_rng(2).normal(size=theta.shape)
        single = kind == "sparse"
        for _ in range(2):
            curvature = Curvature(objective, theta, kept)
            np.testing.assert_allclose(curvature.diagonal.ravel(), np.diag(hessian), rtol=1e-10)
            np.testing.assert_allclose(
                curvature.times(direction).ravel(),
                hessian @ direction.ravel(),
                atol=3e-6 if single else 1e-13,  # single precision of a few terms, or double
            )


def test_too_many_probabilities_are_not_kept():
    objective, _, _ = objective_of(4)
    assert KeptRows.if_they_fit(objective.design, 10**9, 10**9) is None


def test_symmetric_form_keeps_differences_and_sums_to_zero():
    differences = np.arange(6.0).reshape(2, 3)
    full = symmetric(differences)
    np.testing.assert_allclose(full[:2] - full[2], differences)
    np.testing.assert_allclose(full.sum(axis=0), 0, atol=1e-15)


def test_directions_that_no_row_tells_apart_are_found():
    rng = np.random.default_rng(52)
    rows = rng.normal(size=(40, 3))
    rows = np.column_stack([rows, rows[:, 0] + 1e3 * rows[:, 1], np.zeros(40)])
    basis = null_space((rows.T @ rows)[None])
    assert basis.shape == (5, 2)
    np.testing.assert_allclose(rows @ basis, 0, atol=1e-10)
    np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-12)
    assert null_space((rows[:, :3].T @ rows[:, :3])[None]).shape == (3, 0)


def test_a_scaling_that_is_not_needed_changes_nothing():
    scaling = Scaling.none(2, intercept=True)
    theta = np.arange(3.0)[None]
    coef, offset = scaling.coefficients(theta)
    np.testing.assert_array_equal(coef, [[0.0, 1.0]])
    assert offset == [2.0]
    assert not scaling.is_needed
    assert Scaling(np.array([0.0, 1e6]), np.ones(2), intercept=True).is_needed
    assert Scaling(np.zeros(2), np.array([1.0, 1e80]), intercept=True).is_needed
