"""H2, H9 to H12: a density by histogram, likelihoods as curves, models compared, and underflow."""

import numpy as np
import pytest
from scipy import integrate, stats

import credo
from credo.families import Gaussian, Histogram, Laplace


def test_h2_a_density_by_histogram_and_the_continuous_sum_rule():
    rng = np.random.default_rng(0)
    sick = rng.random(20_000) < 0.3
    fever = np.where(sick, rng.normal(102, 2, 20_000), rng.normal(98.6, 1, 20_000))
    edges = np.linspace(90, 112, 45)
    counts = np.histogram(fever, edges)[0]
    density = Histogram(edges, counts / counts.sum())
    # P(x near 104) is the share of its cell over the width.
    cell = np.searchsorted(edges, 104.0, side="right") - 1
    share = np.mean((fever >= edges[cell]) & (fever < edges[cell + 1]))
    assert np.exp(density.log_density(104.0)) == pytest.approx(share / 0.5, rel=1e-12)
    ends = edges[[cell, cell + 1]]
    inside = 0.3 * stats.norm.cdf(ends, 102, 2) + 0.7 * stats.norm.cdf(ends, 98.6, 1)
    true = inside[1] - inside[0]
    assert abs(share - true) < 4 * np.sqrt(true / 20_000)

    def joint(x):  # P(sick | x) p(x)
        both = credo.Posterior.from_bayes(
            {"sick": 0.3, "well": 0.7},
            {"sick": stats.norm.pdf(x, 102, 2), "well": stats.norm.pdf(x, 98.6, 1)},
        )
        return both["sick"] * np.exp(both.log_evidence)

    assert integrate.quad(joint, 85, 115)[0] == pytest.approx(0.3, abs=1e-8)


@pytest.mark.parametrize(("family", "best"), [(Gaussian, np.mean), (Laplace, np.median)])
def test_h9_the_likelihood_is_a_curve_with_its_maximum_at_the_estimate(family, best):
    heights = np.array([1.61, 1.72, 1.75, 1.78, 1.93])
    fitted = family.fit(heights)
    spread = fitted.variance if family is Gaussian else fitted.scale
    centres = np.linspace(1.5, 2.0, 2001)
    curve = family(centres, spread).log_density(heights[:, None]).sum(axis=0)
    assert centres[curve.argmax()] == pytest.approx(best(heights), abs=3e-4)
    at = np.asarray(fitted.log_density(heights)).sum()
    assert at == pytest.approx(curve.max(), abs=1e-3)
    assert at >= curve.max() - 1e-12


def test_h10_least_squares_fails_as_a_classifier_where_logistic_regression_does_not():
    rng = np.random.default_rng(1)
    near = np.concatenate([rng.normal(-2, 0.5, 50), rng.normal(2, 0.5, 50)])
    x = np.concatenate([near, rng.normal(60, 2, 60)])  # easy rows, far on the right side
    y = np.repeat([0, 1, 1], [50, 50, 60])
    slope, start = np.polyfit(x, y, 1)
    squares = (start + slope * x > 0.5).astype(int)
    logistic = credo.LogisticClassifier(penalty="l2").fit(x[:, None], y)
    assert (squares != y)[50:100].sum() >= 10  # of 50 rows that no other line would miss
    assert np.mean(logistic.predict(x[:, None]) != y) == 0


def test_h11_a_generative_model_has_77_numbers_where_the_discriminative_one_has_11():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300, 10)), rng.integers(0, 2, 300)
    generative = credo.GaussianClassifier("tied").fit(X, y)
    discriminative = credo.LogisticClassifier(penalty="l2").fit(X, y)
    assert generative.n_parameters_ == 2 + 2 * 10 + 10 * 11 // 2 == 77
    assert discriminative.coef_.size + discriminative.intercept_.size == 11


def test_h12_in_a_thousand_dimensions_densities_underflow_and_their_logs_do_not():
    rng = np.random.default_rng(3)
    means = {"a": np.zeros(1000), "b": np.full(1000, 0.2)}
    model = credo.GaussianClassifier.from_parameters(means, 4.0 * np.eye(1000), [0.5, 0.5])
    rows = rng.normal(0.1, 2.0, (20, 1000))
    logs = np.stack([stats.norm.logpdf(rows, mean, 2.0).sum(axis=1) for mean in means.values()])
    assert (np.exp(logs) == 0).all()
    np.testing.assert_allclose(
        model.decision_function(rows), logs[1] - logs[0], rtol=1e-9, atol=1e-9
    )
    np.testing.assert_array_equal(model.predict(rows), np.array(["a", "b"])[logs.argmax(axis=0)])
