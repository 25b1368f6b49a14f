"""
Which numbers are certain when exact ones are out of reach?
===========================================================

The log of the sum over all configurations, log Z, is what makes scores probabilities, and a large
graph has too many of them. An estimate may be off by any amount. A pair of bounds cannot: mean
field never exceeds log Z, and a mixture of trees is never below.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import credo
from credo.plots.figures import COLOURS

# %%
# A grid of 36 variables is small enough to compute the truth. Neighbours prefer to agree by a
# factor, from not at all to three.
site = np.arange(36).reshape(6, 6)
across = np.column_stack([site[:, :-1].ravel(), site[:, 1:].ravel()])
links = np.vstack([across, np.column_stack([site[:-1].ravel(), site[1:].ravel()])])
weights = np.exp(np.random.default_rng(0).normal(size=(36, 2)))
factors = np.array([1.0, 1.5, 2.0, 3.0])
gaps, estimates, ranges, truths, beliefs = [], [], [], [], []
print("factor   log Z   lower   upper   loopy")
for same in factors:
    grid = credo.MarkovNetwork.from_arrays(weights, links, [[same, 1.0], [1.0, same]])
    exact, loopy = credo.infer(grid), credo.infer(grid, method="loopy")
    found = credo.bounds(grid)
    gaps.append([found.lower - exact.log_evidence, found.upper - exact.log_evidence])
    estimates.append(loopy.log_evidence - exact.log_evidence)
    ranges.append(found.marginal(14)[1])
    truths.append(exact.probabilities(14)[1])
    beliefs.append(loopy.probabilities(14)[1])
    print(f"{same:6.1f}  {exact.log_evidence:6.2f}  {found.lower:6.2f}  {found.upper:6.2f}", end="")
    print(f"  {loopy.log_evidence:6.2f}")

# %%
# The truth is always in between. An interval for log Z gives one for any probability; it is wide
# where couplings are strong, and that is an honest answer.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.fill_between(factors, *np.transpose(gaps), color=COLOURS[0], alpha=0.2, lw=0, label="certain")
left.plot(factors, estimates, color=COLOURS[1], marker="o", label="loopy belief propagation")
left.axhline(0, color="black", linewidth=1, label="exact")
left.set(ylabel="log Z, less the exact value")
right.fill_between(factors, *np.transpose(ranges), color=COLOURS[0], alpha=0.2, lw=0)
right.plot(factors, beliefs, color=COLOURS[1], marker="o")
right.plot(factors, truths, color="black", linewidth=1)
right.set(ylabel="probability of state 1 of variable 14", ylim=(0, 1))
for axes in (left, right):
    axes.set_xlabel("factor by which neighbours prefer to agree")
    axes.spines[["top", "right"]].set_visible(False)
left.legend(frameon=False, loc="upper left")

picture = Path("build/bounds.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=130)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/bounds` tells what makes the intervals smaller.
