"""
How do I take the grain out of a grey photograph?
=================================================

Every pixel of a photograph is off by some random amount, because it was dark. Neighbours mostly
have nearly the same grey, except at edges. How strong the grain is, and how smooth the picture,
is learnt from the one grainy picture.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_sample_image

import credo

# %%
# A part of a photograph that comes with scikit-learn, in grey, and the same with strong grain.
flower = load_sample_image("flower.jpg")[130:290, 240:400].mean(axis=2)
truth = np.rint(flower).astype(np.uint8)
grainy = credo.add_noise(truth, kind="gaussian", sigma=20, seed=0)

# %%
# Levels of grey are labels. The picture shows their mean, weighed by their beliefs.
clean = credo.denoise(grainy, sweeps=10)
print(f"standard deviation of the grain: {clean.sigma:.1f}, learnt from the picture")
print(clean.table(truth).round(3)[["picture", "energy", "error"]].to_string(index=False))

# %%
# The error is the root of the mean squared difference, in levels of 256. U(x) is the log of a
# picture's probability up to a constant, larger if better. Edges are where it is least sure.
figure = clean.plot(truth=truth).figure

picture = Path("build/grey.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=130)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/denoising` has colour, replaced pixels and losses.
