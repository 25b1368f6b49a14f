import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import integrate
from tests.oracles import decisions as slow, evaluation as oracle
from tests.strategies import LETTERS, dyadic_rows, whole_losses

from credo import Loss, Posterior
from credo.decisions import risk_coverage
from credo.exceptions import InputError

AB = ["a", "b"]
ABC = ["a", "b", "c"]


@st.composite
def labelled(draw, n_labels=None):
    """Dyadic posterior rows, truths and whole weights."""
    k = draw(st.integers(2, 4)) if n_labels is None else n_labels
    n = draw(st.integers(1, 12))
    p = draw(dyadic_rows(k, n_rows=n))
    truth = draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n))
    weights = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
    return p, truth, weights


def posterior(p):
    return Posterior.from_probabilities(p, list(LETTERS[: p.shape[1]]))


def named(truth):
    return [LETTERS[k] for k in truth]


def slow_points(p, truth, weights, matrix):
    """The curve by loops: best act, its risk and its loss for each row of positive weight."""
    rows = [i for i, w in enumerate(weights) if w > 0]
    acts = [slow.bayes_act(p[i], matrix) for i in rows]
    doubt = [round(risk, 9) for _, risk in acts]
    losses = [matrix[truth[i]][act] for i, (act, _) in zip(rows, acts, strict=True)]
    return oracle.risk_coverage(doubt, losses, [weights[i] for i in rows])


@given(labelled(3), st.none() | whole_losses(3, 2))
def test_it_is_the_mean_loss_or_the_error_rate_of_the_surest_rows(rows, matrix):
    p, truth, weights = rows
    loss = None if matrix is None else Loss(matrix, ABC, ["x", "y"])
    curve = risk_coverage(named(truth), posterior(p), loss, sample_weight=weights)
    points = slow_points(p, truth, weights, 1 - np.eye(3) if matrix is None else matrix)
    found = np.stack([curve.coverage, curve.risk, curve.threshold], axis=1)
    np.testing.assert_allclose(found, points, atol=1e-9)


@given(labelled())
def test_the_best_order_has_the_least_area(rows):
    p, truth, weights = rows
    curve = risk_coverage(named(truth), posterior(p), sample_weight=weights)
    assert curve.optimal_area <= curve.area + 1e-12
    assert curve.excess_area == pytest.approx(curve.area - curve.optimal_area, abs=1e-12)


def test_the_area_is_the_integral_of_the_curve_on_which_rows_enter_in_proportion():
    p = np.array([[0.9, 0.1], [0.8, 0.2], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]])
    curve = risk_coverage(list("aabbb"), posterior(p), sample_weight=[1, 2, 1, 3, 1])
    # 0.9 right; the tied 0.8 are right (2) and wrong (1); 0.7 right (3); 0.6 right (1).
    starts, ends = np.array([0, 1, 4, 7]) / 8, np.array([1, 4, 7, 8]) / 8
    means = [0, 1 / 3, 0, 0]

    def risk(c):
        lost = sum(m * max(0.0, min(c, e) - s) for s, e, m in zip(starts, ends, means, strict=True))
        return lost / c

    area = integrate.quad(risk, 1e-12, 1, points=[1 / 8, 1 / 2, 7 / 8], epsabs=1e-12)[0]
    assert curve.area == pytest.approx(area, abs=1e-10)


def test_the_best_area_is_the_closed_form_of_the_error_rate():
    y = ["a"] * 70 + ["b"] * 30
    p = posterior(np.tile([0.75, 0.25], (100, 1)))
    curve = risk_coverage(y, p)
    assert curve.optimal_area == pytest.approx(0.3 + 0.7 * np.log(0.7))
    assert curve.area == pytest.approx(0.3)
    assert len(curve.coverage) == 1


def test_a_reject_act_is_left_out_of_the_curve_and_marked_as_a_point():
    p = posterior(np.array([[0.95, 0.05], [0.1, 0.9], [0.6, 0.4], [0.45, 0.55]]))
    y = list("abba")
    bare = risk_coverage(y, p, Loss.zero_one(AB))
    assert bare.operating_point is None
    curve = risk_coverage(y, p, Loss.zero_one(AB).with_reject(0.2))
    np.testing.assert_array_equal(curve.risk, bare.risk)
    assert (curve.operating_point.coverage, curve.operating_point.risk) == (0.5, 0.0)
    assert risk_coverage(y, p, Loss.zero_one(AB).with_reject(0.0)).operating_point.risk is None


@given(labelled(), st.integers(1, 31))
def test_the_threshold_is_the_cost_at_which_exactly_these_rows_are_decided(rows, cost):
    p, truth, weights = rows
    loss = Loss.zero_one(list(LETTERS[: p.shape[1]])).with_reject(cost / 64 + 1 / 128)
    curve = risk_coverage(named(truth), posterior(p), loss, sample_weight=weights)
    inside = np.flatnonzero(curve.threshold <= cost / 64 + 1 / 128)
    point = curve.operating_point
    assert point.coverage == pytest.approx(curve.coverage[inside[-1]] if inside.size else 0.0)


def test_losses_per_row_and_weights_of_zero_go_together():
    matrices = np.array([[[0, 1], [1, 0]], [[0, 7], [7, 0]], [[0, 5], [5, 0]]])
    loss = Loss(matrices, AB, AB)
    p = posterior(np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]]))
    curve = risk_coverage(list("bbb"), p, loss, sample_weight=[1, 0, 1])
    np.testing.assert_allclose(curve.threshold, [0.1, 1.5])
    np.testing.assert_allclose(curve.risk, [1, 3])


def test_sure_rows_are_told_apart_beyond_the_rounding_of_one():
    log_p = np.array([[0.0, -60.0], [0.0, -50.0]])
    curve = risk_coverage(["a", "b"], Posterior(log_p, AB))
    np.testing.assert_array_equal(curve.risk, [0, 0.5])


def test_at_coverage_gives_the_first_point_that_covers_enough():
    p = posterior(np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]]))
    curve = risk_coverage(list("aab"), p)
    assert curve.at_coverage(1 / 3).coverage == pytest.approx(1 / 3)
    assert curve.at_coverage(0.34).threshold == pytest.approx(0.2)
    assert curve.at_coverage(0).coverage == pytest.approx(1 / 3)
    with pytest.raises(InputError, match="between 0 and 1"):
        curve.at_coverage(1.1)


def test_a_single_case_is_one_row():
    curve = risk_coverage(["b"], Posterior.from_probabilities([0.9, 0.1], AB))
    assert (curve.coverage.tolist(), curve.risk.tolist(), curve.area) == ([1.0], [1.0], 1.0)


def test_a_row_of_next_to_no_weight_does_no_harm():
    p = Posterior.from_probabilities([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]], ["a", "b"])
    curve = risk_coverage(["a", "a", "b"], p, sample_weight=[1.0, 1e-20, 1.0])
    plain = risk_coverage(["a", "b"], p.rows([0, 2]))
    assert curve.area == pytest.approx(plain.area)
    assert np.isfinite(curve.risk).all()


def test_an_act_never_taken_does_not_blur_the_curve():
    p = Posterior.from_probabilities([[q, 1 - q] for q in (0.9, 0.8, 0.7, 0.6)], ["a", "b"])
    y = ["a", "a", "a", "b"]
    cells = np.array([[-1.0, 0.0], [0.0, -1.0]])
    plain = risk_coverage(y, p, Loss(cells, ["a", "b"], ["x", "y"]))
    dear = risk_coverage(y, p, Loss(np.c_[cells, [1e17, 1e17]], ["a", "b"], ["x", "y", "panic"]))
    assert len(plain.coverage) == 4
    np.testing.assert_array_equal(dear.coverage, plain.coverage)
    assert dear.area == pytest.approx(plain.area)
