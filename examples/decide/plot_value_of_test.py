"""
Is a test worth its price?
==========================

A test that would change no decision is worth nothing, however accurate it is. Its value is what
the expected loss falls by when we may look before we act. It is largest where we are in doubt.
"""

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

import credo
from credo.decisions import value_of_perfect_information, value_of_test
from credo.plots.figures import COLOURS, GREY

loss = credo.Loss([[0, 100], [10, 0]], ["ill", "well"], ["treat", "wait"])
test = {"ill": {"positive": 0.9, "negative": 0.1}, "well": {"positive": 0.2, "negative": 0.8}}
prior = credo.Posterior.from_probabilities([0.05, 0.95], ["ill", "well"])
print(value_of_test(prior, loss, test, price=1.0))

# %%
# Over all priors, beside what certainty would be worth.
shares = np.linspace(0.001, 0.6, 200)
priors = [credo.Posterior.from_probabilities([p, 1 - p], ["ill", "well"]) for p in shares]
worth = [value_of_test(each, loss, test).value for each in priors]
most = [value_of_perfect_information(each, loss) for each in priors]

figure, axes = plt.subplots(layout="constrained")
axes.spines[["top", "right"]].set_visible(False)
axes.plot(shares, most, color=GREY, linestyle="--")
axes.plot(shares, worth, color=COLOURS[0], linewidth=2)
axes.axhline(1.0, color=COLOURS[1], linestyle=":")
axes.text(0.17, 8.4, "certainty", color="0.4")
axes.text(0.28, 3.4, "this test", color=COLOURS[0])
axes.text(0.6, 1.1, "its price", color=COLOURS[1], ha="right")
axes.set(
    xlabel="probability of the illness before the test",
    ylabel="expected loss saved",
    ylim=(0, None),
)
axes.set_title("The test pays where its curve is above its price", fontsize="medium")

picture = Path("build/value_of_test.png")
picture.parent.mkdir(parents=True, exist_ok=True)
axes.figure.savefig(picture, dpi=150)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/explanation/from_posterior_to_act` derives the value of information.
