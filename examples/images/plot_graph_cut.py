"""
Is the most probable picture the best one?
==========================================

A minimum cut finds the one picture with the largest energy, exactly. Messages ask each pixel for
itself, and only nearly right. Yet the single best picture need not have the fewest wrong pixels,
and with a strong coupling it is the one that loses the thin lines.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import credo
from credo.plots.figures import COLOURS

# %%
# Both methods at growing couplings: how strongly neighbours are believed to be alike.
face = credo.images.portrait(128)
noisy = credo.add_noise(face, 0.15, seed=0)
couplings = np.round(np.arange(0.2, 1.61, 0.2), 1)
found = {
    method: [credo.denoise(noisy, 0.15, each, method=method) for each in couplings.tolist()]
    for method in ("sum-product", "graph-cut")
}
errors = {name: [(each.image != face).mean() for each in all_] for name, all_ in found.items()}
print("coupling  energy: cut less messages   wrong: messages     cut")
for place, coupling in enumerate(couplings):
    swept, cut = (each[place].energy.restored for each in found.values())
    wrong = [each[place] for each in errors.values()]
    print(f"{coupling:8.1f}  {cut - swept:25.1f}  {wrong[0]:16.2%}  {wrong[1]:6.2%}")

# %%
# The cut is never below in energy. In errors the two hardly differ where the coupling is right.
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for axes, (name, every) in zip((left, middle), found.items(), strict=True):
    axes.imshow(every[5].image, cmap="gray", interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    told = f"U {every[5].energy.restored:,.0f}, {errors[name][5]:.1%} wrong"
    axes.set_title(f"{name}, coupling {couplings[5]:g}\n{told}", fontsize=10)
for (name, each), ink in zip(errors.items(), COLOURS, strict=False):
    right.plot(couplings, 100 * np.array(each), color=ink, marker="o", label=name)
right.set(xlabel="coupling of neighbours", ylabel="wrong pixels, %", ylim=(0, None))
right.legend(frameon=False)
right.spines[["top", "right"]].set_visible(False)

picture = Path("build/graph_cut.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=130)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/maxima_at_scale` finds best configurations of other large graphs.
