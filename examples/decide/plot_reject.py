"""
Which cases should a person look at?
====================================

A model decides most cases well and a few badly, and a person's time costs something too. With a
price for asking, each case that is dearer to guess than to ask goes to the person. The curve
shows what is left of the errors when the surest cases only are decided.
"""

from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import credo
from credo.decisions import evaluate

data = load_breast_cancer()
y = data.target_names[data.target]
X, X_new, y, y_new = train_test_split(data.data[:, :5], y, test_size=0.5, random_state=0)

# %%
# A missed malignant tumour costs 20, a false alarm 1, and a second opinion 0.5.
loss = credo.Loss.class_costs({"malignant": 20, "benign": 1}).with_reject(0.5, name="ask")
model = credo.GaussianClassifier("full").fit(X, y)
report = evaluate(y_new, model.posterior(X_new), loss)
print(report)

# %%
# The point is where the price of asking puts us; the dashed line is to decide everything.
axes = report.risk_coverage.plot()
point = report.risk_coverage.operating_point
print(f"decided: {100 * point.coverage:.0f} % of the cases, at a mean loss of {point.risk:.3f}")

picture = Path("build/reject.png")
picture.parent.mkdir(parents=True, exist_ok=True)
axes.figure.savefig(picture, dpi=150)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/reject_option` finds the price from a budget of cases to ask.
