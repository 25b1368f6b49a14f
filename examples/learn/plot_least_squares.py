"""
Why not fit a line to zeros and ones?
=====================================

Least squares punishes a row for being far on the right side, as if it were an error. A few
clear cases then turn the boundary away from the doubtful ones. Logistic regression counts them
as what they are: easy.
"""

from pathlib import Path

import numpy as np

import credo
from credo.plots.figures import write

rng = np.random.default_rng(0)
X = np.r_[rng.normal([0, 0], 0.6, (60, 2)), rng.normal([2, 2], 0.6, (60, 2))]
far = rng.normal([8, 0.5], 0.6, (20, 2))  # clear cases of the second class
X, y = np.r_[X, far], np.repeat(["no", "yes"], [60, 80])

# %%
# The line where the fitted number is one half, and the boundary of logistic regression.
weights, *_ = np.linalg.lstsq(np.c_[X, np.ones(len(X))], y == "yes", rcond=None)
squares = np.where(np.c_[X, np.ones(len(X))] @ weights > 0.5, "yes", "no")
model = credo.LogisticClassifier(penalty="l2").fit(X, y)
print(f"errors of least squares: {np.sum(squares != y)}, of logistic regression: ", end="")
print(np.sum(model.predict(X) != y))

# %%
# The dashed line runs through the first two groups.
axes = model.plot(X, y)
ends = np.array(axes.get_ylim())
line = (0.5 - weights[2] - weights[1] * ends) / weights[0]
limits = axes.get_xlim()
axes.plot(line, ends, color="black", linestyle="--")
write(axes, (5.0, -0.2), "least squares", "black")
axes.set(xlim=limits, ylim=ends)

picture = Path("build/least_squares.png")
picture.parent.mkdir(parents=True, exist_ok=True)
axes.figure.savefig(picture, dpi=150)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/logistic_regression` reads its coefficients with their errors.
