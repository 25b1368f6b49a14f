"""
What if noise comes in bursts, and I know where?
================================================

A scratched disc loses whole runs of pixels, and keeps the rest. A restoration that believes in
independent flips takes a run for a part of the picture. A map of flip probabilities, one for each
pixel, tells it where not to look: inside a run a pixel says nothing, outside all.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import credo
from credo.images import flip_map

# %%
# Within a run each pixel flips with probability one half. The map belongs to the same seed.
face = credo.images.portrait(128)
burst = {"kind": "burst", "length": 20, "seed": 1}
noisy = credo.add_noise(face, 0.2, **burst)
chances = flip_map(face.shape, 0.2, **burst)

# %%
# Everything learnt as if flips were independent; their true mean, with a coupling; the map.
pictures = {
    "noisy": noisy,
    "all learnt": credo.denoise(noisy).image,
    "mean known": credo.denoise(noisy, 0.2, 0.8).image,
    "map known": credo.denoise(noisy, chances, 0.8).image,
}

# %%
# Learning sees runs, takes them for lines of the drawing, and keeps them.
figure, panels = plt.subplots(1, 5, figsize=(13, 3.1), layout="constrained")
shown = panels[0].imshow(chances, cmap="cividis", vmin=0, vmax=0.5, interpolation="nearest")
panels[0].set_title("flip probability", fontsize=11)
figure.colorbar(shown, ax=panels[0], orientation="horizontal", shrink=0.8, ticks=[0, 0.25, 0.5])
for axes, (name, image) in zip(panels[1:], pictures.items(), strict=True):
    wrong = (image != face).mean()
    print(f"{name:14} {wrong:6.1%} wrong")
    axes.imshow(image, cmap="gray", interpolation="nearest")
    axes.set_title(f"{name}: {wrong:.1%} wrong", fontsize=11)
for axes in panels:
    axes.set(xticks=[], yticks=[])

picture = Path("build/bursts.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=130)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/denoising` explains maps, and what learning assumes.
