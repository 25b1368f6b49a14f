"""
How do other classifiers decide under my costs?
===============================================

Costs belong to the decision, not to the model: any classifier with probabilities can serve.
Three of scikit-learn and one of Credo see the same rows and the same costs. The hatched cases
are left to a person.
"""

from pathlib import Path

from sklearn.datasets import make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import credo

X, y = make_moons(300, noise=0.3, random_state=0)
y = ["fault" if each else "fine" for each in y]
loss = credo.Loss.class_costs({"fault": 4, "fine": 1}).with_reject(0.3, name="inspect")

# %%
# Any fitted classifier with predict_proba will do.
models = [
    credo.GaussianClassifier("full"),
    LogisticRegression(),
    KNeighborsClassifier(25),
    RandomForestClassifier(min_samples_leaf=8, random_state=0),
]
for model in models:
    model.fit(X, y)
    p = credo.Posterior.from_probabilities(model.predict_proba(X), model.classes_)
    print(f"{type(model).__name__}: {credo.decide(p, loss)}")

# %%
# The mean losses above the panels are those of the rows of the fit.
panels = credo.plots.compare(models, X, y, loss=loss)

picture = Path("build/any_classifier.png")
picture.parent.mkdir(parents=True, exist_ok=True)
panels[0].figure.savefig(picture, dpi=150)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/scikit_learn` wraps a classifier and its costs as one estimator.
