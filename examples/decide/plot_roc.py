"""
Which errors can be traded, and which trade is worth it?
========================================================

A ROC curve shows which errors can be traded for which, and not which trade is worth it. The
cost curve and the net benefit do: over costs and frequencies the one, over thresholds the
other. All three come from the same labelled rows.
"""

from pathlib import Path

from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import credo
from credo.decisions import evaluate

data = load_breast_cancer()
y = data.target_names[data.target]
X, X_new, y, y_new = train_test_split(data.data[:, :2], y, test_size=0.5, random_state=0)
model = credo.GaussianClassifier("tied").fit(X, y)

# %%
# To miss a malignant tumour costs ten times a false alarm.
loss = credo.Loss.class_costs({"malignant": 10, "benign": 1})
report = evaluate(y_new, model.posterior(X_new), loss)
print(report.roc_curve())
print(report.cost_curve())
print(report.net_benefit())

# %%
# The point is the same act rule in each: the one of least expected loss.
figure, panels = plt.subplots(1, 3, figsize=(15, 4.8), layout="constrained")
for axes, curve in zip(panels, ("roc_curve", "cost_curve", "net_benefit"), strict=True):
    getattr(report, curve)("malignant").plot(ax=axes)

picture = Path("build/roc.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=150)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/evaluate` says whether the probabilities can be trusted at all.
