"""
Which density fits these numbers?
=================================

Two values far from the rest pull the mean of a Gaussian towards them and make it wide. A
Laplace distribution has heavier tails and stays with the middle. Curves over the histogram show
it, and so do the likelihoods: one has its maximum at the mean, the other at the median.
"""

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

import credo
from credo.families import Gaussian, Laplace

rng = np.random.default_rng(0)
minutes = np.r_[rng.laplace(30, 2, 80), 55, 62]
fitted = {"Gaussian": Gaussian.fit(minutes), "Laplace": Laplace.fit(minutes)}
for name, family in fitted.items():
    print(f"{name}: log-likelihood {family.log_density(minutes).sum():.1f}, {family}")

# %%
# Left the densities, right the log-likelihood over the middle of each.
figure, panels = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
credo.plots.histogram(minutes, fitted, bins=40, ax=panels[0])
credo.plots.likelihood([Gaussian, Laplace], minutes, ax=panels[1])
panels[0].set_xlabel("minutes to work")

picture = Path("build/histogram.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=150)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/mixed_columns` chooses the family of each column by itself.
