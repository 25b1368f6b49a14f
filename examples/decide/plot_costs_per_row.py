"""
What if each case has its own costs?
====================================

A missed fraud costs the amount of the payment, and a call to the customer costs 5 whatever the
amount. One threshold on the probability cannot serve both small and large payments. With a loss
matrix for each row the threshold follows the amount by itself.
"""

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

import credo
from credo.plots.figures import COLOURS

rng = np.random.default_rng(0)
amount = np.exp(rng.normal(4, 1.2, 600))
p_fraud = rng.beta(0.4, 6, 600)
posterior = credo.Posterior.from_probabilities(np.c_[1 - p_fraud, p_fraud], ["fair", "fraud"])

# %%
# Rows are true classes, columns acts; the amount stands where a fraud is let through.
loss = credo.Loss([[0, 5], [1, 5]], ["fair", "fraud"], ["pay", "call"])
cells = np.repeat(loss.matrix[None], len(amount), axis=0)
cells[:, 1, 0] = amount
choice = credo.decide(posterior, loss.per_row(cells))
print(choice)

# %%
# Calls begin where probability times amount is 5: a curve, not a line.
figure, axes = plt.subplots(layout="constrained")
axes.spines[["top", "right"]].set_visible(False)
for act, colour in zip(("pay", "call"), COLOURS, strict=False):
    mine = choice.acts == act
    axes.scatter(amount[mine], p_fraud[mine], s=12, color=colour, label=f"{act}: {mine.sum()}")
line = np.geomspace(5, amount.max(), 200)
axes.plot(line, 5 / line, color="black", linewidth=1, label="probability × amount = 5")
axes.set(xscale="log", ylim=(0, 0.6), xlabel="amount", ylabel="probability of fraud")
axes.set_title("n = 600 payments", fontsize="medium")
axes.legend(frameon=False)

picture = Path("build/costs_per_row.png")
picture.parent.mkdir(parents=True, exist_ok=True)
axes.figure.savefig(picture, dpi=150)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/costs_per_row` has the same with a column of a table.
