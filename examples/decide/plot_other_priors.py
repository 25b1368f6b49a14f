"""
How to use a model where the disease is rarer?
==============================================

A model was trained where every second person was ill, and is used where one in fifty is. What
healthy and ill people look like has not changed, only how many there are. Bayes' rule takes the
new frequencies without new training, and the threshold moves.
"""

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

import credo

rng = np.random.default_rng(2)
X = np.r_[rng.normal(37.0, 0.5, 150), rng.normal(38.5, 0.8, 150)][:, None]
y = np.repeat(["healthy", "ill"], 150)
clinic = credo.GaussianClassifier("full").fit(X, y)
town = clinic.with_priors({"healthy": 0.98, "ill": 0.02})
for name, model in (("clinic", clinic), ("town", town)):
    print(f"38.5 degrees, {name}: p(ill) = {model.posterior([[38.5]])['ill'][0]:.3f}")

# %%
# Where the priors are not known, rows without labels tell them.
people = rng.random(3000) < 0.02
rows = np.where(people, rng.normal(38.5, 0.8, 3000), rng.normal(37.0, 0.5, 3000))[:, None]
print(clinic.posterior(rows).estimate_priors(clinic.priors_))

# %%
# The densities are the same, the posteriors are not.
figure, panels = plt.subplots(2, 1, figsize=(7, 8), layout="constrained")
for axes, model, place in zip(panels, (clinic, town), ("clinic", "town"), strict=True):
    model.plot(X, loss=credo.Loss.class_costs({"healthy": 1, "ill": 5}), ax=axes)
    axes.set_xlabel("temperature")
    axes.set_title(f"priors of the {place}", pad=18)

picture = Path("build/other_priors.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=150)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/other_priors` also estimates priors with their standard errors.
