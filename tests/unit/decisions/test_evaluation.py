import pandas as pd
import pytest
from hypothesis import given, strategies as st
from tests.oracles import decisions as slow, evaluation as oracle
from tests.strategies import problems

from credo import Loss, Posterior, decide
from credo.decisions import calibration, confusion_matrix, evaluate, expected_loss, risk_coverage

AB = ["a", "b"]
P = Posterior.from_probabilities([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]], AB)
Y = ["a", "b", "b"]
REJECT = Loss.zero_one(AB).with_reject(0.35)


@st.composite
def evaluated(draw):
    """An exact problem with truths and whole weights."""
    rows, matrix, truths, acts = draw(problems())
    n = len(rows)
    truth = draw(st.lists(st.integers(0, len(truths) - 1), min_size=n, max_size=n))
    weights = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
    return rows, Loss(matrix, truths, acts), truth, weights


@given(evaluated())
def test_predicted_risk_and_mean_loss_equal_the_slow_twins(problem):
    rows, loss, truth, weights = problem
    report = evaluate(
        [loss.truths[k] for k in truth],
        Posterior.from_probabilities(rows, loss.truths),
        loss,
        sample_weight=weights,
        n_bootstrap=0,
    )
    chosen = [slow.bayes_act(p, loss.matrix) for p in rows]
    risk = oracle.mean([risk for _, risk in chosen], weights)
    mean = oracle.mean_loss(truth, [act for act, _ in chosen], loss.matrix, weights)
    assert report.predicted_risk == pytest.approx(risk, abs=1e-9)
    assert report.expected_loss.value == pytest.approx(mean, abs=1e-9)
    assert report.gap == pytest.approx(mean - risk, abs=1e-9)
    assert sum(entry.share for entry in report.by_act) == pytest.approx(1.0)
    total = sum(entry.share * entry.actual for entry in report.by_act)
    assert total == pytest.approx(mean, abs=1e-9)


def test_the_parts_are_those_of_their_functions():
    report = evaluate(Y, P, REJECT)
    assert report.expected_loss == expected_loss(Y, decide(P, REJECT), REJECT)
    assert report.confusion.to_dict() == confusion_matrix(Y, decide(P, REJECT)).to_dict()
    assert report.calibration.to_dict() == calibration(Y, P).to_dict()
    assert report.risk_coverage.to_dict() == risk_coverage(Y, P, REJECT).to_dict()


def test_each_act_is_reported_with_its_share_its_risk_and_its_loss():
    report = evaluate(Y, P, REJECT)
    found = {e.act: (e.share, e.predicted, e.actual) for e in report.by_act}
    assert found == {
        "a": pytest.approx((1 / 3, 0.1, 0.0)),
        "b": pytest.approx((1 / 3, 0.3, 0.0)),
        "reject": pytest.approx((1 / 3, 0.35, 0.35)),
    }


def test_without_a_loss_mistakes_are_counted():
    report = evaluate(pd.Series(Y), P)
    assert report.expected_loss.value == pytest.approx(1 / 3)
    assert report.predicted_risk == pytest.approx((0.1 + 0.3 + 0.4) / 3)


def test_acts_taken_otherwise_are_judged_by_the_same_posterior():
    report = evaluate(Y, P, acts=["b", "b", "b"])
    assert report.predicted_risk == pytest.approx((0.9 + 0.3 + 0.6) / 3)
    assert report.expected_loss.value == pytest.approx(1 / 3)
    assert [entry.act for entry in report.by_act] == ["b"]


def test_decisions_bring_their_loss():
    report = evaluate(Y, P, acts=decide(P, REJECT))
    assert report.confusion.reject == "reject"
    assert report.predicted_risk == evaluate(Y, P, REJECT).predicted_risk


def test_acts_with_weights_of_zero_are_left_out():
    report = evaluate(Y, P, acts=["a", "b", "b"], sample_weight=[0, 1, 1], n_bootstrap=0)
    assert [entry.act for entry in report.by_act] == ["b"]
    assert report.predicted_risk == pytest.approx((0.3 + 0.6) / 2)


@pytest.mark.parametrize(
    ("stated", "words"),
    [(0.99, "too optimistic"), (0.7, "within that interval"), (0.51, "too pessimistic")],
)
def test_the_report_says_whether_the_posterior_kept_its_promise(stated, words):
    p = Posterior.from_probabilities([[stated, 1 - stated]] * 200, AB)
    assert words in repr(evaluate(["a"] * 140 + ["b"] * 60, p))


def test_the_report_prints_calibration_next_to_risk():
    text = repr(evaluate(Y, P, REJECT))
    for line in ("mean loss", "predicted risk", "calibration error", "of the 66.67 % not rejected"):
        assert line in text
    assert text.endswith(repr(confusion_matrix(Y, decide(P, REJECT))))
    bare = repr(evaluate(Y, P, n_bootstrap=0))
    assert "no interval" in bare
    assert "that interval" not in bare


def test_the_report_leaves_out_what_is_undefined_and_counts_the_impossible():
    loss = Loss([[0, 1], [0, 5]], AB, ["stay", "go"])
    p = Posterior.from_probabilities([[1.0, 0.0]] * 2, AB)
    text = repr(evaluate(["a", "b"], p, loss))
    assert "accuracy" not in text
    assert "normalised" not in text
    assert "inf (1 true classes had probability 0)" in text


def test_acts_of_another_make_no_risk_coverage_curve():
    p = Posterior.from_probabilities([[0.9, 0.1], [0.2, 0.8]], ["a", "b"])
    foreign = evaluate(["a", "b"], p, acts=["b", "a"], n_bootstrap=0)
    assert foreign.expected_loss.value == 1.0
    assert foreign.risk_coverage is None
    assert foreign.to_dict()["risk_coverage"] is None
    assert "risk-coverage" not in repr(foreign)
    own = evaluate(["a", "b"], p, acts=["a", "b"], n_bootstrap=0)
    assert own.risk_coverage.risk[-1] == 0.0


@pytest.mark.parametrize("price", [0.2, 0.7])
def test_rounding_alone_is_no_verdict(price):
    p = Posterior.from_probabilities([[0.3, 0.7]] * 10, ["a", "b"])
    loss = Loss([[price, 1], [price, 1]], ["a", "b"], ["x", "y"])
    assert "within that interval" in repr(evaluate(["a"] * 3 + ["b"] * 7, p, loss))
