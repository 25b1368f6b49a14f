"""
Which pixels should a person look at?
=====================================

A wrong pixel costs one, and showing a pixel to a person costs less. How much less decides how many
are shown: a pixel is rejected when it is more probably wrong than asking costs. The fewer are
decided, the fewer of them are wrong.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import credo
from credo.plots.figures import COLOURS

# %%
# One restoration for each cost of asking. Nothing but the cost differs.
face = credo.images.portrait(128)
noisy = credo.add_noise(face, 0.2, seed=0)
costs = [0.02, 0.1, 0.3]
print("asking costs  rejected  wrong among the decided  mean cost")
found = {}
for cost in costs:
    clean = found[cost] = credo.denoise(noisy, loss=cost)
    wrong = (clean.image != face) & ~clean.rejected
    left, errors = clean.rejected.mean(), wrong.mean()
    print(f"{cost:12.2f}  {left:8.1%}  {errors / (1 - left):23.1%}  {errors + cost * left:9.3f}")

# %%
# Rejected pixels are orange. The last panel decides the surest pixels first, and counts.
figure, panels = plt.subplots(1, 4, figsize=(13, 3.6), layout="constrained")
for axes, (cost, clean) in zip(panels, found.items(), strict=False):
    shown = np.repeat(clean.image[..., None] * 1.0, 3, axis=2)
    shown[clean.rejected] = plt.matplotlib.colors.to_rgb(COLOURS[1])
    axes.imshow(shown, interpolation="nearest")
    axes.set(
        xticks=[], yticks=[], title=f"asking costs {cost:g}: {clean.rejected.mean():.1%} asked"
    )
order = np.argsort(-found[0.1].posterior.confidence.ravel(), kind="stable")
share = np.arange(1, order.size + 1) / order.size
risk = np.cumsum((found[0.1].image != face).ravel()[order]) / np.arange(1, order.size + 1)
panels[3].plot(share[200:], 100 * risk[200:], color=COLOURS[0], linewidth=2)
for clean in found.values():
    kept = 1 - clean.rejected.mean()
    panels[3].plot(kept, 100 * risk[round(kept * order.size) - 1], "o", color=COLOURS[1])
panels[3].set(xlabel="share decided, the surest first", ylabel="wrong among them, %")
panels[3].spines[["top", "right"]].set_visible(False)

picture = Path("build/reject_pixels.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=130)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/reject_option` does the same for rows of a table.
