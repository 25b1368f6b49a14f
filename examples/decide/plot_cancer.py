"""
When should a patient be treated, sent home, or seen by a specialist?
=====================================================================

A marker in the blood is higher, on average, in patients with cancer. A missed cancer costs 1000, a
needless treatment 1, a specialist 0.3. From the posterior of one patient to acts for a whole ward,
and to the decision regions on the marker's axis.
"""

from pathlib import Path

import numpy as np

import credo
from credo.decisions import regions, value_of_test
from credo.families import Gaussian

# %%
# Rows are what is true, columns what can be done.
loss = credo.Loss.from_dict(
    {
        ("cancer", "treat"): 0,
        ("cancer", "discharge"): 1000,
        ("normal", "treat"): 1,
        ("normal", "discharge"): 0,
    }
)
print("The loss: what each act costs for each true class")
print(loss, end="\n\n")

# %%
# One patient: the posterior after a positive test, and the act with the least expected loss.
prior = {"cancer": 0.004, "normal": 0.996}
test = {"cancer": {"positive": 0.8, "negative": 0.2}, "normal": {"positive": 0.1, "negative": 0.9}}
posterior = credo.Posterior.from_bayes(prior, {k: test[k]["positive"] for k in prior})
print("One patient in 250 has cancer. After a positive test:")
print(posterior)
choice = credo.decide(posterior, loss)
print(f"act {choice.acts!r}, risk {choice.risk:.4f}, margin {choice.margin:.2f}\n")

print("Was the test worth its price of 0.05?")
before = credo.Posterior.from_probabilities(list(prior.values()), list(prior))
print(value_of_test(before, loss, test, price=0.05), end="\n\n")

# %%
# A whole ward at once, by the value of a marker, with a specialist as a third act.
clinic = {"cancer": 0.25, "normal": 0.75}
marker = {"cancer": Gaussian(mean=5.0, variance=1.0), "normal": Gaussian(mean=0.0, variance=1.0)}
with_specialist = loss.with_reject(0.3, name="specialist")
values = np.array([-1.0, 0.5, 1.5, 2.5, 4.0])
ward = credo.Posterior.from_bayes(clinic, {k: d.pdf(values) for k, d in marker.items()})
acts = credo.decide(ward, with_specialist)
print("Of those sent to the clinic one in four has cancer. Five of them, by a marker in the blood,")
print("with a specialist at 0.3 as the third act:")
print("marker   p(cancer)  act          risk")
for value, p, act, risk in zip(values, ward["cancer"], acts.acts, acts.risk, strict=True):
    print(f"{value:6.1f}  {p:10.6f}  {act:<11}  {risk:.4f}")

# %%
# Which act is best at which value of the marker?
found = regions(marker, clinic, with_specialist)
print("\nDecision regions on the marker's axis")
print(found)

picture = Path("build/demo/cancer_regions.png")
picture.parent.mkdir(parents=True, exist_ok=True)
axes = found.plot()
axes.set(title="Discharge, ask a specialist, or treat?", xlabel="marker in the blood")
axes.figure.savefig(picture, dpi=150)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/reject_option` says when a case is better left to a person.
