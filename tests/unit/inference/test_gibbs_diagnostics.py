"""Diagnostics of chains: against plain loops, and processes whose answer is known."""

import numpy as np
import pytest
from tests.oracles import gibbs as oracle

from credo.exceptions import InputError, ShapeError
from credo.inference.gibbs.diagnostics import effective_sample_size, r_hat, split_r_hat


def autoregressive(phi, shape, seed=0):
    """Stationary processes x_t = phi x_(t-1) + noise along the second axis."""
    x = np.random.default_rng(seed).normal(size=shape)
    x[:, 0] /= np.sqrt(1 - phi**2)
    for t in range(1, shape[1]):
        x[:, t] += phi * x[:, t - 1]
    return x


def some_chains():
    rng = np.random.default_rng(3)
    walk = autoregressive(0.8, (3, 51))
    return {
        "independent": rng.normal(size=(4, 40)),
        "odd number": walk,
        "one chain": walk[:1],
        "apart": walk + np.arange(3)[:, None],
        "spread apart": rng.normal(size=(3, 60)) * np.array([[1.0], [1.0], [4.0]]),
        "heavy tails": rng.standard_cauchy((4, 30)),
        "balancing": autoregressive(-0.6, (2, 60)),
        "few values": rng.integers(0, 3, (4, 30)).astype(float),
        "indicator": (rng.random((4, 50)) < 0.2).astype(float),
        "as few as can be": rng.normal(size=(2, 4)),
    }


@pytest.mark.parametrize("name", some_chains())
def test_each_is_that_of_plain_loops(name):
    chains = some_chains()[name]
    listed = chains.tolist()
    assert r_hat(chains) == pytest.approx(oracle.r_hat(listed), rel=1e-9)
    wanted = oracle.plain_r_hat(oracle.split(listed))
    assert split_r_hat(chains) == pytest.approx(wanted, rel=1e-9)
    wanted = oracle.effective_sample_size(listed)
    assert effective_sample_size(chains) == pytest.approx(wanted, rel=1e-8)


@pytest.mark.parametrize("phi", [-0.5, 0.0, 0.5, 0.9])
def test_an_autoregressive_process_is_worth_what_theory_says(phi):
    chains = autoregressive(phi, (4, 4000, 25))
    worth = effective_sample_size(chains)
    wanted = 16000 * (1 - phi) / (1 + phi)
    # the mean of 25 estimates, each off by a tenth or so
    assert worth.mean() == pytest.approx(wanted, rel=0.06)
    assert r_hat(chains).max() < 1.03


def test_many_quantities_are_as_one_after_the_other():
    chains = autoregressive(0.3, (3, 33, 5), seed=2)
    for measure in (r_hat, split_r_hat, effective_sample_size):
        each = [measure(chains[:, :, q]) for q in range(5)]
        together = measure(chains)
        assert together.shape == (5,)
        assert each[0].shape == ()
        np.testing.assert_allclose(together, each, rtol=1e-12)


def test_ranks_change_nothing_for_two_values():
    draws = (
        np.random.default_rng(5).random((4, 60, 7)) < [0.02, 0.1, 0.3, 0.5, 0.6, 0.9, 0.99]
    ) * 1.0
    np.testing.assert_allclose(r_hat(draws), split_r_hat(draws), rtol=1e-12)
    moved = draws * 3.5 - 2.0
    np.testing.assert_allclose(effective_sample_size(draws), effective_sample_size(moved))


def test_what_never_moved_agrees_and_counts_in_full():
    for value in (0.0, 1.0, 0.1):
        draws = np.full((4, 25), value)
        assert r_hat(draws) == 1.0
        assert split_r_hat(draws) == 1.0
        assert effective_sample_size(draws) == 100.0


def test_chains_at_rest_at_different_places_are_infinitely_far_apart():
    draws = np.repeat([[0.1], [0.1], [0.3]], 9, axis=1)
    assert r_hat(draws) == np.inf
    assert split_r_hat(draws) == np.inf
    assert effective_sample_size(draws) < 4
    jumps = np.repeat([[0.0, 1.0]], 20, axis=1)
    assert r_hat(jumps) == np.inf  # each half is at rest


def test_ranks_see_through_heavy_tails_and_folding_sees_chains_of_different_spread():
    heavy = np.random.default_rng(0).standard_cauchy((4, 1000))
    heavy[0] += 2.0
    assert r_hat(heavy) > 1.03
    spread = np.random.default_rng(0).normal(size=(4, 1000))
    spread[0] *= 4.0
    assert r_hat(spread) > 1.05
    assert max(split_r_hat(heavy), split_r_hat(spread)) < 1.01


@pytest.mark.parametrize("measure", [r_hat, split_r_hat, effective_sample_size])
def test_draws_are_checked(measure):
    for shape in ((5,), (2, 3), (0, 8), (1, 8, 1, 1)):
        with pytest.raises(ShapeError, match=f"draws of {measure.__name__} must have shape"):
            measure(np.zeros(shape))
    draws = np.zeros((2, 8))
    draws[1, 3] = np.nan
    with pytest.raises(InputError, match="must be finite. Got nan at index \\[1, 3\\]"):
        measure(draws)
