import itertools

import numpy as np
import pytest

from credo.classifiers.softmax.active_set import quadratic_minimum


def brute_force(hessian, linear, amounts):
    """Solve for every pattern of signs, and keep the lowest that is consistent."""
    best, lowest = None, np.inf
    for pattern in itertools.product((-1, 0, 1), repeat=len(linear)):
        signs = np.array(pattern)
        u = np.zeros(len(linear))
        active = signs != 0
        if active.any():
            right = -(linear + amounts * signs)[active]
            u[active] = np.linalg.solve(hessian[np.ix_(active, active)], right)
        value = 0.5 * u @ hessian @ u + linear @ u + amounts @ np.abs(u)
        if value < lowest:
            best, lowest = u, value
    return best


@pytest.mark.parametrize("seed", range(20))
def test_it_finds_what_trying_all_patterns_finds(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(6, 5))
    hessian, linear = root.T @ root, rng.normal(size=5)
    amounts = rng.uniform(0.0, 1.0, 5) * (rng.random(5) < 0.8)
    start = rng.normal(size=5) * (rng.random(5) < 0.5)
    found = quadratic_minimum(hessian, linear, amounts, start)
    np.testing.assert_allclose(found, brute_force(hessian, linear, amounts), atol=1e-9)


def test_large_amounts_leave_nothing():
    found = quadratic_minimum(np.eye(3), np.ones(3), np.full(3, 2.0), np.ones(3))
    np.testing.assert_array_equal(found, 0)


def test_a_flat_direction_is_no_hindrance():
    hessian = np.array([[1.0, 1.0], [1.0, 1.0]])
    linear, amounts = np.array([-3.0, -3.0]), np.array([1.0, 1.0])
    for start in (np.zeros(2), np.array([1.0, 0.5])):
        found = quadratic_minimum(hessian, linear, amounts, start)
        assert found.sum() == pytest.approx(2.0)
