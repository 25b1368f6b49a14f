import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from credo.classifiers.softmax.links import link, pair_weights, pairs_of

RNG = np.random.default_rng(71)


@pytest.mark.parametrize("n_logits", [1, 2, 5])
def test_losses_and_residuals_are_those_of_a_softmax(n_logits):
    scores = RNG.normal(0, 5, size=(n_logits, 40))
    codes = RNG.integers(0, max(2, n_logits), 40)
    full = np.vstack([np.zeros(40), scores]) if n_logits == 1 else scores.copy()
    linked = link(scores.copy(), codes)
    columns = np.arange(40)
    np.testing.assert_allclose(linked.losses, -log_softmax(full, axis=0)[codes, columns])
    p = softmax(full, axis=0)[1:] if n_logits == 1 else softmax(full, axis=0)
    np.testing.assert_allclose(linked.probabilities, p)
    truth = np.zeros_like(full)
    truth[codes, columns] = 1.0
    np.testing.assert_allclose(linked.residuals, p - truth[-len(p) :], atol=1e-15)


@pytest.mark.parametrize("n_logits", [1, 3])
def test_huge_scores_stay_numbers(n_logits):
    scores = np.full((n_logits, 2), -1e4)
    scores[-1] = [1e4, -1e4]
    linked = link(scores, np.array([0, 0]))
    assert np.isfinite(linked.losses).all()
    assert np.isfinite(linked.residuals).all()


def test_residuals_of_nearly_certain_rows_keep_their_digits():
    linked = link(np.array([[40.0, -40.0]]), np.array([1, 0]))
    np.testing.assert_allclose(linked.residuals[0], [-np.exp(-40), np.exp(-40)], rtol=1e-12)
    np.testing.assert_allclose(linked.losses, np.exp(-40), rtol=1e-12)


def test_weights_of_pairs_are_products_of_probabilities():
    p = softmax(RNG.normal(size=(4, 9)), axis=0)
    weights = pair_weights(p)
    for weight, (k, j) in zip(weights, pairs_of(4), strict=True):
        np.testing.assert_allclose(weight**2, p[k] * p[j])
    np.testing.assert_allclose(pair_weights(p[:1])[0] ** 2, p[0] * (1 - p[0]))
