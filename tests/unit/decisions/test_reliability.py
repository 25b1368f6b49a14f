import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from sklearn import metrics
from sklearn.calibration import calibration_curve
from tests.oracles import evaluation as oracle
from tests.strategies import LETTERS, dyadic_rows

from credo import Posterior
from credo.decisions import calibration

SCORES = ("brier", "reliability", "resolution", "uncertainty", "within_bin")


@st.composite
def labelled(draw):
    """Dyadic posterior rows, truths and whole weights."""
    k, n = draw(st.integers(2, 4)), draw(st.integers(1, 12))
    p = draw(dyadic_rows(k, n_rows=n))
    truth = draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n))
    weights = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
    return p, truth, weights


strategies = st.sampled_from(["uniform", "quantile"])


def posterior(p):
    return Posterior.from_probabilities(p, list(LETTERS[: p.shape[1]]))


def named(truth):
    return [LETTERS[k] for k in truth]


def realistic(n=2000, seed=0):
    """Rows whose probabilities are off, over three labels."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet([1, 1, 2], n)
    truth = (rng.random(n)[:, None] > true.cumsum(axis=1)).sum(axis=1)
    p = true**2
    return p / p.sum(axis=1, keepdims=True), truth


def assert_same(one, other, fields):
    for field in fields:
        np.testing.assert_allclose(getattr(one, field), getattr(other, field), atol=1e-12)


# --- bins -------------------------------------------------------------------------------------


@given(labelled(), st.integers(1, 12), st.sampled_from([None, "b"]))
def test_the_bins_equal_the_slow_twin(rows, n_bins, label):
    """Without a label, confidence is compared with being right."""
    p, truth, weights = rows
    options = {"label": label, "n_bins": n_bins, "sample_weight": weights}
    report = calibration(named(truth), posterior(p), **options)
    kept = [i for i, w in enumerate(weights) if w]
    chosen = [list(p[i]).index(max(p[i])) if label is None else 1 for i in kept]
    slow = oracle.bins(
        [p[i, k] for i, k in zip(kept, chosen, strict=True)],
        [truth[i] == k for i, k in zip(kept, chosen, strict=True)],
        [weights[i] for i in kept],
        [b / n_bins for b in range(n_bins + 1)],
    )
    found = zip(*report.edges.T, report.weight, report.predicted, report.observed, strict=True)
    np.testing.assert_allclose(list(found), slow, atol=1e-12)
    gaps = [abs(z - v) for *_, v, z in slow]
    assert report.maximum_calibration_error == pytest.approx(max(gaps))
    mean = oracle.mean(gaps, [w for _, _, w, _, _ in slow])
    assert report.expected_calibration_error == pytest.approx(mean)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_the_curve_is_that_of_scikit_learn(strategy):
    p, truth = realistic(1000)
    report = calibration(named(truth), posterior(p), label="a", strategy=strategy)
    observed, predicted = calibration_curve(truth == 0, p[:, 0], n_bins=10, strategy=strategy)
    # Quantiles are taken at a row here and between two rows there: one row in a hundred may
    # change its bin.
    close = 1e-12 if strategy == "uniform" else 0.01
    np.testing.assert_allclose(report.observed, observed, atol=close)
    np.testing.assert_allclose(report.predicted, predicted, atol=close)


def test_quantile_bins_hold_the_same_number_of_rows():
    p, truth = realistic(1000)
    report = calibration(named(truth), posterior(p), label="a", strategy="quantile", n_bins=8)
    assert report.weight.tolist() == [125.0] * 8


def test_equal_probabilities_share_one_bin():
    p = posterior(np.tile([0.75, 0.25], (20, 1)))
    report = calibration(["a"] * 10 + ["b"] * 10, p, strategy="quantile")
    assert report.predicted.tolist() == [0.75]
    assert report.observed.tolist() == [0.5]


def test_the_interval_is_that_of_wilson():
    p = posterior(np.array([[0.85, 0.15]] * 40 + [[0.15, 0.85]] * 20))
    y = ["a"] * 30 + ["b"] * 10 + ["b"] * 20
    report = calibration(y, p, label="a")
    for low, high, right, n in zip(report.low, report.high, [0, 30], [20, 40], strict=True):
        peer = stats.binomtest(right, n).proportion_ci(method="wilson")
        assert (low, high) == pytest.approx((peer.low, peer.high), abs=1e-12)


def test_the_interval_counts_rows_and_not_weights():
    p, truth = realistic(200)
    plain = calibration(named(truth), posterior(p))
    scaled = calibration(named(truth), posterior(p), sample_weight=np.full(200, 0.01))
    assert_same(plain, scaled, ["low", "high"])


# --- scores -----------------------------------------------------------------------------------


@given(labelled(), st.integers(1, 12), strategies, st.booleans())
def test_the_decomposition_of_the_brier_score_adds_up(rows, n_bins, strategy, one):
    p, truth, weights = rows
    report = calibration(
        named(truth),
        posterior(p),
        label="a" if one else None,
        n_bins=n_bins,
        strategy=strategy,
        sample_weight=weights,
    )
    total = report.reliability - report.resolution + report.uncertainty + report.within_bin
    assert report.brier == pytest.approx(total, abs=1e-12)
    assert min(report.reliability, report.resolution, report.uncertainty) >= 0
    if not one:
        assert report.brier == pytest.approx(oracle.brier(p, truth, weights), abs=1e-12)


@given(labelled(), st.integers(1, 5))
def test_the_terms_of_each_label_add_up_to_those_of_all(rows, n_bins):
    p, truth, weights = rows
    whole = calibration(named(truth), posterior(p), n_bins=n_bins, sample_weight=weights)
    parts = [
        calibration(named(truth), posterior(p), label=k, n_bins=n_bins, sample_weight=weights)
        for k in LETTERS[: p.shape[1]]
    ]
    for score in SCORES:
        total = sum(getattr(part, score) for part in parts)
        assert getattr(whole, score) == pytest.approx(total, abs=1e-12)


def test_probabilities_that_are_alike_within_bins_leave_nothing_within_bins():
    p, truth = realistic(500)
    rounded = np.round(p[:, 0] * 4) / 4
    two = posterior(np.stack([rounded, 1 - rounded], axis=1))
    report = calibration(np.where(truth == 0, "a", "b"), two, n_bins=5)
    assert report.within_bin == pytest.approx(0.0, abs=1e-15)
    assert report.reliability > 0.001


def test_the_scores_are_those_of_scikit_learn():
    p, truth = realistic()
    weights = np.random.default_rng(1).random(len(truth))
    whole = calibration(named(truth), posterior(p), sample_weight=weights)
    one = calibration(named(truth), posterior(p), label="c", sample_weight=weights)
    peer = metrics.brier_score_loss(truth == 2, p[:, 2], sample_weight=weights)
    assert one.brier == pytest.approx(peer, abs=1e-12)
    assert whole.log_loss == pytest.approx(metrics.log_loss(truth, p, sample_weight=weights))
    peer = metrics.log_loss(truth == 2, p[:, 2], sample_weight=weights)
    assert one.log_loss == pytest.approx(peer)
    assert whole.log_loss == pytest.approx(oracle.log_loss(p, truth, weights))


def test_an_impossible_truth_makes_the_log_loss_infinite_and_is_counted():
    p = posterior(np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]]))
    report = calibration(["a", "b", "b"], p)
    assert (report.log_loss, report.n_impossible) == (math.inf, 1)
    assert "1 true classes had probability 0" in repr(report)
    assert report.to_dict()["log_loss"] is None
    one = calibration(["a", "b", "b"], p, label="b")
    assert (one.log_loss, one.n_impossible) == (math.inf, 1)
    without = calibration(["a", "b", "b"], p, sample_weight=[1, 0, 1])
    assert without.log_loss == pytest.approx(math.log(2) / 2)
    assert (without.n_impossible, without.n_rows) == (0, 2)


def test_a_truth_of_tiny_probability_has_a_finite_log_loss():
    log_p = np.array([[0.0, -800.0]])
    assert calibration(["b"], Posterior(log_p, ["a", "b"])).log_loss == 800.0
    assert calibration(["b"], Posterior(log_p, ["a", "b"]), label="a").log_loss == 800.0


# --- laws -------------------------------------------------------------------------------------


def test_a_single_case_with_a_single_label_is_calibrated():
    report = calibration([7], Posterior.from_probabilities([1.0], [7]), label=7)
    assert (report.expected_calibration_error, report.brier, report.log_loss) == (0.0, 0.0, 0.0)


# --- reading it, and mistakes -----------------------------------------------------------------


def test_intervals_are_drawn_from_their_low_to_their_high_ends():
    p = np.repeat([0.1, 0.3, 0.9], 20)
    y = np.where(np.arange(60) % 20 < 4, "a", "b")
    posterior = Posterior.from_probabilities(np.stack([p, 1 - p], axis=1), ["a", "b"])
    report = calibration(y, posterior, label="a")
    bars = report.plot().containers[1].lines[2][0].get_segments()
    np.testing.assert_allclose([bar[:, 1] for bar in bars], np.stack([report.low, report.high], 1))
