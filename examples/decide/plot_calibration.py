"""
What do wrong probabilities cost?
=================================

Naive Bayes counts correlated columns as if each brought news, and says 99 % where 90 % is true.
The best act for a probability that is wrong may be a bad act. Calibration shows it, and the
loss shows what it costs.
"""

from pathlib import Path

from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import credo
from credo.decisions import evaluate
from credo.plots import draw

data = load_breast_cancer()
y = data.target_names[data.target]
X, X_new, y, y_new = train_test_split(data.data[:, :10], y, test_size=0.5, random_state=0)
loss = credo.Loss.class_costs({"malignant": 20, "benign": 1})

# %%
# As it is, and with scikit-learn's calibration around it.
bare = credo.NaiveBayes("gaussian").fit(X, y)
calibrated = CalibratedClassifierCV(credo.NaiveBayes("gaussian"), cv=5).fit(X, y)
reports = {
    "naive Bayes": evaluate(y_new, bare.posterior(X_new), loss),
    "calibrated": evaluate(
        y_new,
        credo.Posterior.from_probabilities(calibrated.predict_proba(X_new), bare.classes_),
        loss,
    ),
}
for name, report in reports.items():
    lost, promised = report.expected_loss.value, report.predicted_risk
    print(f"{name}: mean loss {lost:.3f}, promised {promised:.3f}")

# %%
# Four panels of the first: what was promised, and what came.
panels = draw(reports["naive Bayes"])

picture = Path("build/calibration.png")
picture.parent.mkdir(parents=True, exist_ok=True)
panels[0, 0].figure.savefig(picture, dpi=150)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/evaluate` reads these panels.
