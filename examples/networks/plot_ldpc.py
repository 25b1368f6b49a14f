"""
How much noise does a code take?
================================

A low-density parity-check code of rate one half: 2000 bits, and 1000 checks, each of which asks
that the sum of six bits be even. Words are sent over a channel that flips bits, and over one that
adds Gaussian noise. Loopy belief propagation on the graph of the checks decodes all words side by
side. Up to a threshold nearly every bit comes back; beyond it, few errors are corrected.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import credo
from credo.graphs import parity_graph

BITS, FRAMES, SWEEPS = 2000, 48, 60
rng = np.random.default_rng(0)


def draw_checks(n: int) -> np.ndarray:
    """Draw three checks for each bit, six bits for each check, and no bit twice in a check."""
    checks = rng.permutation(np.repeat(np.arange(n // 2), 6)).reshape(n, 3)
    while len(twice := np.flatnonzero((np.diff(np.sort(checks, axis=1)) == 0).any(axis=1))):
        mixed = np.union1d(twice, rng.choice(n, 10))
        checks[mixed] = rng.permutation(checks[mixed].ravel()).reshape(-1, 3)
    matrix = np.zeros((n // 2, n), np.uint8)
    matrix[checks.T, np.arange(n)] = 1
    return matrix


def flipped(share: float) -> np.ndarray:
    """Send zeros over a channel that flips bits; return the log odds of a one."""
    seen = rng.random((FRAMES, BITS)) < share
    return np.where(seen, 1.0, -1.0) * np.log((1.0 - share) / share)


def noisy(sigma: float) -> np.ndarray:
    """Send zeros as +1 over a Gaussian channel; return the log odds of a one."""
    return -2.0 / sigma**2 * (1.0 + sigma * rng.standard_normal((FRAMES, BITS)))


# %%
# The code, and words sent over both channels at growing levels of noise.
graph = parity_graph(draw_checks(BITS))
print(graph, end="\n\n")
channels = {
    "bits flipped": (flipped, np.linspace(0.05, 0.11, 7), 0.084),
    "Gaussian noise, standard deviation": (noisy, np.linspace(0.7, 1.0, 7), 0.88),
}
figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
print("channel                             level  came wrong  left wrong  decoded  sweeps")
for axes, (name, (send, levels, threshold)) in zip(panels, channels.items(), strict=True):
    before, after = [], []
    for level in levels:
        odds = send(level)
        words = credo.infer_many(
            graph,
            method="loopy",
            log_potentials=np.stack([np.zeros_like(odds), odds], axis=2),
            sweeps=SWEEPS,
            until="satisfied",
            dtype="float32",
            log_evidence=False,
        )
        before.append((odds > 0).mean())
        after.append(words.most_probable().mean())
        decoded = (words.statuses == "SATISFIED").mean()
        print(
            f"{name:35} {level:5.3f}  {before[-1]:10.4f}  {after[-1]:10.2e}  {decoded:7.0%}  "
            f"{words.sweeps.mean():6.1f}"
        )
    least = 0.3 / (FRAMES * BITS)  # where no bit was wrong
    axes.semilogy(levels, before, ":", color="#B3B3B3", label="as received")
    axes.semilogy(levels, np.maximum(after, least), "o-", color="#0072B2", label="decoded")
    axes.axvline(threshold, color="#D55E00", linewidth=1, label="threshold of long codes")
    axes.set_xlabel(name)
    axes.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("share of bits that are wrong")
panels[0].legend(frameon=False)

picture = Path("build/ldpc.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=110)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/loopy` has schedules, damping and larger regions.
