import numpy as np
import pytest
from tests.oracles import logistic as oracle

from credo.classifiers.softmax.batches import Batch
from credo.classifiers.softmax.lasso import Penalised, minimise_lasso
from credo.classifiers.softmax.metric import Metric
from credo.classifiers.softmax.newton import Rules, minimise
from credo.classifiers.softmax.objective import Design, Objective, Value
from credo.classifiers.softmax.scaling import Scaling
from credo.classifiers.softmax.search import search
from credo.classifiers.softmax.truncated import minimise_truncated
from credo.exceptions import NumericalError

RULES = Rules(1e-10, 100)


class Curve:
    """A function of one number in the place of an objective, which counts its calls."""

    def __init__(self, function, slope):
        self._function, self._slope = function, slope
        self.calls = 0

    def value(self, theta):
        self.calls += 1
        x = float(theta[0, 0])
        return Value(self._function(x), np.array([[self._slope(x)]]), 1.0)


def moved(curve, start, step):
    theta = np.array([[start]])
    return search(curve, theta, curve.value(theta), np.array([[step]]))


def objective_of(n_classes=3):
    X, y = oracle.rows_of(81, n=80, n_classes=n_classes)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    batch = Batch(X, y, None)
    scaling = Scaling.none(X.shape[1], intercept=True)
    return Objective(Design(lambda: (batch,), scaling, n_classes, 80.0, is_sparse=False))


def test_a_full_step_is_taken_if_it_is_progress():
    curve = Curve(lambda x: x**2, lambda x: 2 * x)
    move = moved(curve, 1.0, -1.0)
    assert move.theta == [[0.0]]
    assert curve.calls == 2


def test_a_step_that_is_too_long_is_cut():
    curve = Curve(lambda x: x**2, lambda x: 2 * x)
    move = moved(curve, 1.0, -10.0)
    assert -1 < move.theta[0, 0] < 1


def test_a_step_into_the_infinite_is_cut():
    curve = Curve(lambda x: np.inf if x < -1 else x**2, lambda x: 2 * x)
    assert moved(curve, 1.0, -15.0).value.loss < 1.0


def test_a_step_without_curvature_behind_it_is_halved():
    curve = Curve(lambda x: -x if x < 1 else 5.0 - x, lambda _x: -1.0)  # a jump up
    assert moved(curve, 0.0, 1.5).theta == [[0.75]]


def test_an_uphill_step_is_refused():
    assert moved(Curve(lambda x: x**2, lambda x: 2 * x), 1.0, 1.0) is None


def test_a_step_that_never_gains_is_refused():
    assert moved(Curve(abs, lambda _x: -1.0), 0.0, 1.0) is None


def test_near_the_minimum_slopes_decide_where_losses_are_rounded():
    curve = Curve(lambda x: 1.0 + x**2, lambda x: 2 * x)
    move = moved(curve, 1e-9, -1e-9)  # the loss is 1 at both ends
    assert move.theta == [[0.0]]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_misleading_metric_is_replaced(n_classes):
    objective = objective_of(n_classes)
    good = minimise(objective, np.zeros(objective.shape), RULES)
    moments = 1e-6 * np.asarray(objective.value(np.zeros(objective.shape), curved=True).moments)
    bad = Metric(moments, n_classes, objective.ridge)
    found = minimise(objective, np.zeros(objective.shape), RULES, bad)
    assert found.converged
    np.testing.assert_allclose(found.theta, good.theta, atol=1e-8)


def test_a_far_start_comes_home():
    objective = objective_of(2)
    good = minimise(objective, np.zeros(objective.shape), RULES)
    far = minimise(objective, np.full(objective.shape, 30.0), RULES)
    np.testing.assert_allclose(far.theta, good.theta, atol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_beyond_rounding_every_solver_stops_by_itself(n_classes):
    objective = objective_of(n_classes)
    start = np.zeros(objective.shape)
    hopeless = Rules(1e-300, 500)
    lasso = Penalised(objective, np.array([0.01, 0.01, 0.01, 0.0]))
    for found in (
        minimise(objective, start, hopeless),
        minimise_truncated(objective, start, hopeless, None),
        minimise_lasso(lasso, start, hopeless),
    ):
        assert not found.converged
        assert found.n_iter < 500
    assert minimise(objective, start, hopeless).value.norm < 1e-14


def test_products_and_factors_lead_to_the_same_minimum():
    objective = objective_of()
    one = minimise(objective, np.zeros(objective.shape), RULES)
    other = minimise_truncated(objective, np.zeros(objective.shape), RULES, None)
    shifted = other.theta - other.theta.mean(axis=0)
    np.testing.assert_allclose(shifted, one.theta, atol=1e-7)


@pytest.mark.parametrize("start", [-30.0, 30.0])
def test_an_l1_penalty_is_met_from_afar(start):
    lasso = Penalised(objective_of(2), np.array([0.05, 0.05, 0.05, 0.0]))
    good = minimise_lasso(lasso, np.zeros((1, 4)), RULES)
    far = minimise_lasso(lasso, np.full((1, 4), start), RULES)
    assert far.converged
    np.testing.assert_allclose(far.theta, good.theta, atol=1e-8)


def test_a_flat_direction_is_left_alone():
    metric = Metric(np.ones((1, 2, 2)), 2, np.zeros(2))
    step = metric.solve(np.ones((1, 2)))
    assert step.sum() == pytest.approx(1.0)
    assert (step > 0).all()


def test_a_hessian_that_is_no_number_is_refused():
    with pytest.raises(NumericalError, match="not a matrix of finite numbers"):
        Metric(np.full((1, 2, 2), np.nan), 2, np.zeros(2))
