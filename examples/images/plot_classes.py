"""
How do I clean a map whose classes are mistaken for each other?
===============================================================

A satellite's map calls every pixel water, field or town, and is often mistaken: towns are taken for
fields more often than for water. How often is known, as a table. With it, and with neighbours that
tend to be alike, beliefs in each class follow.
"""

from pathlib import Path

import numpy as np

import credo
from credo.graphs import GridField, Potts

# %%
# A country with a lake and two towns; each row of the table is a true class.
names = np.array(["water", "town", "field"])
rows, columns = np.mgrid[:60, :80]
lake = (rows - 22) ** 2 / 2 + (columns - 30) ** 2 / 5 < 60
towns = ((rows > 38) & (rows < 52) & (columns > 45) & (columns < 68)) | (
    (rows < 14) & (columns > 55) & (columns < 70)
)
truth = np.select([lake, towns], [0, 1], 2)
mistaken = np.array([[0.7, 0.05, 0.25], [0.05, 0.6, 0.35], [0.15, 0.25, 0.6]])
draws = np.random.default_rng(0).random(truth.shape)[..., None]
seen = (draws > mistaken[truth].cumsum(axis=-1)).sum(axis=-1)

# %%
# The table becomes the evidence of each pixel. Classes have no order: Potts only asks for equality.
field = GridField.from_confusion(names[seen], mistaken, Potts(1.0), labels=names.tolist())
found = credo.infer_grid(field, sweeps=20)
print(
    f"wrong before: {(seen != truth).mean():.1%}, after: {(found.best != names[truth]).mean():.1%}"
)

# %%
# The same colour is the same class in all panels; the beliefs are white where there is none. The
# first time also holds the loading of compiled loops, once.
figure = found.plot(truth=names[truth], sweeps=(0,)).figure

picture = Path("build/classes.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=130)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/segmentation` takes the evidence from a classifier.
