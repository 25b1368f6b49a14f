"""
How do I fill in pixels that were never seen?
=============================================

A scratch runs through a picture, and half of the remaining pixels are lost too. What is missing has
no evidence of its own, yet its neighbours say something about it. They also say how sure one can
be: in the middle of a wide hole, hardly more than a guess.
"""

from pathlib import Path

import numpy as np

import credo

# %%
# One pixel in twenty is flipped as well, so what was seen cannot simply be trusted.
face = credo.images.portrait(128)
noisy = credo.add_noise(face, 0.05, seed=0)
lost = np.random.default_rng(1).random(face.shape) < 0.5
lost[70:80, 15:110] = True

# %%
# ``mask`` is true where nothing was seen. What the picture shows there counts for nothing.
clean = credo.denoise(noisy, mask=lost, sweeps=40)
wrong = clean.image != face
print(f"{lost.mean():.0%} of the pixels were lost")
print(f"wrong: {wrong[lost].mean():.1%} of the lost ones, {wrong[~lost].mean():.1%} of the others")
guess = 1 - clean.posterior.confidence[lost].mean()
print(f"{guess:.1%} of the lost ones are wrong by its own guess")

# %%
# Messages travel one pixel per sweep: the wide scratch closes last.
figure = clean.plot(truth=face, sweeps=(1, 5)).figure

picture = Path("build/missing_pixels.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=130)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/denoising` has NaN, masked arrays, and holes in grey pictures.
