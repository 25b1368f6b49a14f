"""
Which rows are like nothing seen before?
========================================

A classifier gives an answer for any row, also for one unlike all it has seen. A model with
densities can say so: the density of a row is far below those of the rows it learned from. A
limit at a small quantile marks such rows before anyone trusts their class.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

import credo
from credo.plots.figures import GREY

data = load_iris()
X, y = data.data[:, 2:], data.target_names[data.target]
model = credo.GaussianClassifier("full").fit(X, y)

# %%
# One row in a hundred of those seen is below the limit; two of the new rows are far below.
limit = np.quantile(model.log_density(X), 0.01)
new = np.array([[1.4, 0.2], [4.6, 1.5], [3.0, 2.2], [6.9, 0.6]])
for row, density, label in zip(new, model.log_density(new), model.predict(new), strict=True):
    told = "an outlier" if density < limit else label
    print(f"{row}: log density {density:7.1f}, {told}")

# %%
# The crosses are the new rows; beyond the grey line rows are outliers.
axes = model.plot(X, y)
ends = axes.get_xlim(), axes.get_ylim()
grid = np.stack(np.meshgrid(*(np.linspace(*each, 200) for each in ends)), axis=-1)
heights = model.log_density(grid.reshape(-1, 2)).reshape(200, 200)
axes.contour(grid[..., 0], grid[..., 1], heights, levels=[limit], colors=GREY, linewidths=2)
axes.plot(*new.T, "X", color="black", markersize=9, zorder=6)
axes.set(xlim=ends[0], ylim=ends[1], xlabel="petal length (cm)", ylabel="petal width (cm)")

picture = Path("build/outliers.png")
picture.parent.mkdir(parents=True, exist_ok=True)
axes.figure.savefig(picture, dpi=150)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/reject_option` leaves doubtful rows to a person, too.
