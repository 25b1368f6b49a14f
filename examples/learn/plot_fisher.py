"""
How do thirteen measurements fit on a page?
===========================================

Thirteen chemical measurements of wines cannot be looked at, and the two with the widest spread
need not be those that tell the classes apart. Fisher's projection finds the directions along
which the classes are furthest apart for their spread.
"""

from pathlib import Path

from sklearn.datasets import load_wine

import credo

data = load_wine()
y = [f"cultivar {k + 1}" for k in data.target]
model = credo.GaussianClassifier("lda").fit(data.data, y)
projected = model.transform(data.data)
print("share of what tells the classes apart:", model.explained_variance_ratio_.round(3))

# %%
# Three classes need two directions: nothing that tells them apart is lost.
flat = credo.GaussianClassifier("lda").fit(projected, y)
print("accuracy with 13 columns:", round(model.score(data.data, y), 3))
print("accuracy with 2 directions:", round(flat.score(projected, y), 3))

# %%
# A classifier over the two directions.
axes = flat.plot(projected, y)
axes.set(xlabel="first direction", ylabel="second direction")

picture = Path("build/fisher.png")
picture.parent.mkdir(parents=True, exist_ok=True)
axes.figure.savefig(picture, dpi=150)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/choose_a_covariance` says when one covariance for all classes will do.
