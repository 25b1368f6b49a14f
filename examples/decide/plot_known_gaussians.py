"""
What do two known Gaussians look like to somebody who has to decide?
====================================================================

Two classes whose means, covariances and priors are known, no rows needed: where the errors are,
when to say nothing, what each act costs, and the same in two dimensions.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import credo

# %%
# One feature: the densities are given, nothing is learned.
known = credo.GaussianClassifier.from_parameters(
    {"well": 0.0, "ill": 2.5}, {"well": 1.0, "ill": 2.25}, {"well": 0.6, "ill": 0.4}
)
best = known.regions()
print("The best regions, if every error costs the same")
print(best, end="\n\n")

careful = credo.Loss([[0, 1], [5, 0]], ["well", "ill"], ["wait", "treat"])
print("If a missed patient costs five times as much")
print(known.regions(careful), end="\n\n")

# %%
# Two features, with covariances that differ.
plane = credo.GaussianClassifier.from_parameters(
    {"well": [0, 0], "ill": [2, 1.5]},
    {"well": [[1, 0.4], [0.4, 1]], "ill": [[1.5, -0.6], [-0.6, 0.8]]},
    {"well": 0.6, "ill": 0.4},
)
risk = credo.decisions.bayes_error(plane.densities_, plane.priors_, loss=careful)
print(f"With a second feature: {risk}")

# %%
# Errors, posteriors, expected losses, and acts in the plane.
figure, axes = plt.subplots(2, 2, figsize=(12.5, 7.6), layout="constrained")
best.moved([best.thresholds[0], 2.4]).plot(axes[0, 0], show="errors")
axes[0, 0].set_title("errors by kind; a threshold that is too high")
unsure = credo.Loss.zero_one(["well", "ill"]).with_reject(0.2, name="ask")
known.regions(unsure).plot(axes[0, 1], show="posteriors")
axes[0, 1].set_title("ask, if no class has 80 %")
known.regions(careful).plot(axes[1, 0], show="risks")
axes[1, 0].set_title("what each act costs")
rows, labels = plane.sample(200, random_state=0)
plane.plot(rows, labels, loss=unsure, ax=axes[1, 1])
axes[1, 1].set_title("two features, and 200 draws")

picture = Path("build/demo/known_gaussians.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=110)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/choose_a_covariance` learns such Gaussians from rows.
