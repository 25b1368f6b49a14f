"""B9: a decision is optimal only under the true posterior, so calibration is shown next to risk."""

import numpy as np
import pytest
from scipy.stats import norm

from credo import Loss, Posterior, decide
from credo.decisions import evaluate

LABELS = ["cancer", "normal"]
LOSS = Loss([[0, 10], [1, 0]], LABELS, ["treat", "discharge"])


@pytest.fixture(scope="module")
def cases():
    """Two Gaussian classes: the truth of each case, and its true posterior by Bayes' rule."""
    rng = np.random.default_rng(9)
    ill = rng.random(20_000) < 0.3
    x = rng.normal(np.where(ill, 1.0, -1.0), 1.5)
    posterior = Posterior.from_bayes(
        {"cancer": 0.3, "normal": 0.7},
        {"cancer": norm(1.0, 1.5).pdf(x), "normal": norm(-1.0, 1.5).pdf(x)},
    )
    return np.where(ill, *LABELS), posterior


def sharpened(posterior, power=3.0):
    """The same ranking, said with too much confidence."""
    return Posterior.from_log_joint(power * posterior.log_probabilities, posterior.labels)


def test_under_the_true_posterior_the_predicted_risk_is_the_loss_that_occurs(cases):
    y, true = cases
    report = evaluate(y, true, LOSS)
    assert report.expected_loss.low < report.predicted_risk < report.expected_loss.high
    assert report.predicted_risk == pytest.approx(report.expected_loss.value, rel=0.03)
    assert report.calibration.expected_calibration_error < 0.01


def test_an_over_confident_posterior_promises_less_loss_than_occurs(cases):
    y, true = cases
    report = evaluate(y, sharpened(true), LOSS)
    assert report.predicted_risk < 0.5 * report.expected_loss.value
    assert report.predicted_risk < report.expected_loss.low
    assert "is too optimistic" in str(report)


def test_an_over_confident_posterior_is_worse_calibrated(cases):
    y, true = cases
    honest, boastful = evaluate(y, true, LOSS), evaluate(y, sharpened(true), LOSS)
    wrong = boastful.calibration
    assert wrong.expected_calibration_error > 5 * honest.calibration.expected_calibration_error
    assert wrong.brier > honest.calibration.brier
    assert wrong.log_loss > honest.calibration.log_loss


def test_the_acts_of_the_true_posterior_cost_less(cases):
    y, true = cases
    honest, boastful = evaluate(y, true, LOSS), evaluate(y, sharpened(true), LOSS)
    assert honest.expected_loss.high < boastful.expected_loss.low


def test_the_risk_of_the_bayes_rule_is_its_integral_over_the_densities(cases):
    from scipy.integrate import quad

    y, true = cases

    def least(x):
        ill, well = 0.3 * norm.pdf(x, 1.0, 1.5), 0.7 * norm.pdf(x, -1.0, 1.5)
        return min(well, 10 * ill)

    edge = np.log(0.7 / 3.0) * 1.5**2 / 2  # where 0.7 p(x | normal) = 3 p(x | cancer)
    risk = quad(least, -15, edge)[0] + quad(least, edge, 15)[0]
    report = evaluate(y, true, LOSS)
    assert report.predicted_risk == pytest.approx(risk, rel=0.02)
    assert report.expected_loss.low < risk < report.expected_loss.high


def test_calibration_is_printed_next_to_risk(cases):
    y, true = cases
    names = [line.split("  ")[1] for line in str(evaluate(y, true, LOSS)).splitlines()[1:5]]
    assert names == ["mean loss", "predicted risk", "best constant act", "calibration error"]


def test_ranking_alone_hides_the_fault(cases):
    """Sharpening keeps the order of confidence, so zero-one decisions and their order agree."""
    y, true = cases
    zero_one = Loss.zero_one(LABELS)
    honest, boastful = evaluate(y, true, zero_one), evaluate(y, sharpened(true), zero_one)
    assert (decide(true, zero_one).acts == decide(sharpened(true), zero_one).acts).all()
    assert boastful.risk_coverage.area == pytest.approx(honest.risk_coverage.area, abs=1e-9)
    assert boastful.predicted_risk < 0.6 * boastful.expected_loss.value
