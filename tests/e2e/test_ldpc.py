"""Low-density parity-check codes: decode words that came over noisy channels.

A word of zeros stands for all words: code and channels are symmetric. Thresholds of (3, 6)-regular
codes under sum-product decoding: 8.4 % flips, Gaussian noise of 0.88 (T. Richardson and R. Urbanke,
"The capacity of low-density parity-check codes under message-passing decoding", IEEE Transactions
on Information Theory 47, 2001).
"""

import numpy as np
import pytest

import credo
from credo.graphs import parity_graph

BITS, FRAMES = 1200, 40


def regular_checks(n, rng):
    """Draw three of n / 2 checks for each bit, six bits for each check; no two bits share two."""
    checks = rng.permutation(np.repeat(np.arange(n // 2), 6)).reshape(n, 3)
    while len(bad := crowded(checks)):
        for bit in bad.tolist():
            mine, other, theirs = rng.integers(3), rng.integers(n), rng.integers(3)
            held = checks[bit, mine], checks[other, theirs]
            checks[other, theirs], checks[bit, mine] = held
    return checks


def crowded(checks):
    """Find bits that meet a check twice, or two checks that another bit meets too."""
    pairs = np.sort(checks[:, [[0, 1], [0, 2], [1, 2]]], axis=2)
    _, which, counts = np.unique(
        pairs.reshape(-1, 2), axis=0, return_inverse=True, return_counts=True
    )
    again = (counts[which.ravel()] > 1).reshape(-1, 3) | (pairs[:, :, 0] == pairs[:, :, 1])
    return np.flatnonzero(again.any(axis=1))


@pytest.fixture(scope="module")
def code():
    """A rate one half code as a graph, and its matrix."""
    checks = regular_checks(BITS, np.random.default_rng(0))
    matrix = np.zeros((BITS // 2, BITS), np.uint8)
    matrix[checks.T, np.arange(BITS)] = 1
    assert (matrix.sum(axis=0) == 3).all()
    assert (matrix.sum(axis=1) == 6).all()
    return parity_graph(matrix), matrix


def symmetric(flip, word=0, seed=1):
    """Log odds of a one, of words whose bits are flipped now and then."""
    seen = (np.random.default_rng(seed).random((FRAMES, BITS)) < flip) ^ np.asarray(word, bool)
    return np.where(seen, 1.0, -1.0) * np.log((1.0 - flip) / flip)


def gaussian(sigma, word=0, seed=2):
    """Log odds of a one, of words sent as +1 and -1 with noise."""
    noise = sigma * np.random.default_rng(seed).standard_normal((FRAMES, BITS))
    return -2.0 / sigma**2 * (1.0 - 2.0 * np.asarray(word) + noise)


def decode(graph, odds, **settings):
    """Decode given log odds; stop a frame when all its checks hold."""
    logs = np.stack([np.zeros_like(odds), odds], axis=2)
    settings = {"sweeps": 60, "until": "satisfied", "log_evidence": False} | settings
    return credo.infer_many(graph, method="loopy", log_potentials=logs, **settings)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("channel", "clear", "noisy"), [(symmetric, 0.05, 0.11), (gaussian, 0.74, 1.0)]
)
def test_words_are_recovered_below_the_threshold_and_not_above(code, channel, clear, noisy, dtype):
    graph, matrix = code
    odds = channel(clear)
    assert (odds > 0).mean() > 0.04  # bits that came wrong
    found = decode(graph, odds, dtype=dtype)
    assert found.status == "SATISFIED"
    assert not found.most_probable().any()
    lost = decode(graph, channel(noisy), dtype=dtype)
    assert lost.status == "MAX_SWEEPS"
    assert lost.most_probable().mean() > 0.02
    held = (matrix @ lost.most_probable().T % 2 == 0).all(axis=0)
    np.testing.assert_array_equal(held, lost.statuses == "SATISFIED")


@pytest.mark.parametrize(
    ("channel", "levels"),
    [(symmetric, (0.1, 0.085, 0.07, 0.055)), (gaussian, (0.97, 0.89, 0.81, 0.73))],
)
def test_errors_fall_off_a_cliff_as_the_channel_improves(code, channel, levels):
    graph, _ = code
    errors = [decode(graph, channel(x), dtype="float32").most_probable().mean() for x in levels]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 0.03
    assert errors[-1] < 1e-4
    raw = [(channel(x) > 0).mean() for x in levels]
    assert 20 * errors[-2] / raw[-2] < errors[0] / raw[0]  # far steeper than without a code


def test_any_word_of_the_code_is_recovered(code):
    graph, matrix = code
    word = some_word(matrix)
    assert 0.3 < word.mean() < 0.7
    found = decode(graph, gaussian(0.72, word))
    assert found.status == "SATISFIED"
    np.testing.assert_array_equal(found.most_probable(), np.tile(word, (FRAMES, 1)))


def test_a_syndrome_finds_the_flips(code):
    _, matrix = code
    flips = (np.random.default_rng(3).random(BITS) < 0.04).astype(int)
    graph = parity_graph(matrix, syndrome=matrix @ flips % 2)
    found = decode(graph, np.full((1, BITS), -np.log(24.0)))
    np.testing.assert_array_equal(found.most_probable()[0], flips)


def test_erased_bits_are_filled_in_exactly(code):
    graph, matrix = code
    word = some_word(matrix)
    erased = np.random.default_rng(4).random((FRAMES, BITS)) < 0.35
    rows = np.where(erased, -1, word)
    found = credo.infer_many(graph, rows, columns=list(range(BITS)), method="loopy", sweeps=100)
    beliefs = np.stack([found.probabilities(bit)[:, 1] for bit in range(BITS)], axis=1)
    np.testing.assert_array_equal(beliefs, np.tile(word, (FRAMES, 1)))


def some_word(matrix):
    """A random word of a code: free bits by chance, the others by elimination modulo two."""
    rows, pivots = matrix.astype(bool).copy(), []
    for column in range(matrix.shape[1]):
        below = np.flatnonzero(rows[len(pivots) :, column]) + len(pivots)
        if not len(below):
            continue
        here = len(pivots)
        rows[[here, below[0]]] = rows[[below[0], here]]
        others = np.flatnonzero(rows[:, column])
        rows[others[others != here]] ^= rows[here]
        pivots.append(column)
        if len(pivots) == len(rows):
            break
    word = np.random.default_rng(5).integers(0, 2, matrix.shape[1])
    word[pivots] = 0
    word[pivots] = (rows[: len(pivots)] @ word.astype(int)) % 2
    assert not (matrix @ word % 2).any()
    return word
