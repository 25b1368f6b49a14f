"""
What does it cost to move a threshold?
======================================

A laboratory rounds its cut-off to a number that is easy to remember. Away from the best
threshold the errors of one kind grow faster than those of the other shrink. The red area is
what the round number costs.
"""

from pathlib import Path

from matplotlib import pyplot as plt

import credo

marker = credo.GaussianClassifier.from_parameters(
    {"healthy": 4.0, "ill": 7.0}, {"healthy": 1.0, "ill": 1.5}, {"healthy": 0.8, "ill": 0.2}
)
loss = credo.Loss.class_costs({"healthy": 1, "ill": 2})
best = marker.regions(loss)
print(best)

# %%
# The same regions with the upper threshold at 7.
moved = best.moved([*best.thresholds[:-1], 7.0])
print(moved)

# %%
# Left the errors by kind, right the expected losses of both acts: the same area in losses.
figure, panels = plt.subplots(2, 1, figsize=(8, 8), layout="constrained")
for axes, show in zip(panels, ("errors", "risks"), strict=True):
    moved.plot(axes, show=show, x_range=(1, 11))
    axes.set_xlabel("marker in the blood")

picture = Path("build/moved_thresholds.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=150)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/figures` lists what can be drawn of known densities.
