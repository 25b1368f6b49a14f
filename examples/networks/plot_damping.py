"""
What do I do when messages do not settle?
=========================================

Five people who all dislike to agree with each other: whatever one does, four others answer at once.
Messages that are all replaced in every sweep swing to and fro for ever. Mixing each new message
with the old one (damping) ends that; too much of it only takes longer.
"""

from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt

import credo
from credo.plots.figures import COLOURS

# %%
# Each pair prefers to differ, by seven to one; each person slightly prefers the second state.
crowd = credo.MarkovNetwork()
for name in "abcde":
    crowd.node(name, 2, [1.0, 1.3])
for one, two in combinations("abcde", 2):
    crowd.edge(one, two, [[1.0, 7.0], [7.0, 1.0]])
exact = credo.infer(crowd).probabilities("a")[0]

# %%
# ``momentum`` is the share of the new message. The residual is the largest change of a message.
ways = {
    "all new": {"schedule": "flooding", "momentum": 1.0},
    "half new": {"schedule": "flooding", "momentum": 0.5},
    "a fifth new": {"schedule": "flooding", "momentum": 0.2},
    "a twentieth new": {"schedule": "flooding", "momentum": 0.05},
}
figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
print(f"exact probability of the first state: {exact:.4f}")
for (name, way), ink in zip(ways.items(), COLOURS, strict=False):
    post = credo.infer(crowd, method="loopy", sweeps=60, on_failure="return", **way)
    period = f", every {post.period} sweeps" if post.period else ""
    print(f"{name:20} {post.status}{period}: {post.probabilities('a')[0]:.4f}")
    seen = range(1, post.sweeps + 1)
    axes.semilogy(seen, post.residuals, color=ink)
    axes.text(len(seen) + 0.7, post.residuals[-1], name, color=ink, va="center")

# %%
# Those that settle agree with each other. That is no proof: settling says nothing about accuracy.
axes.set(xlabel="sweep", ylabel="largest change of a message", xlim=(0, 72))
axes.spines[["top", "right"]].set_visible(False)

picture = Path("build/damping.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=130)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/loopy` has adaptive damping, which is the default, and other schedules.
