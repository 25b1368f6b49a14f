"""
What if the test were better?
=============================

A screening test finds an illness too rarely, and false alarms are followed by a biopsy. What if
there were a better test, and what if the illness became more frequent? Other tables are tried in
the question itself; the network stays as it is.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import credo

# %%
# One person in a hundred is ill; the test finds 80 % of them and alarms 10 % of the others.
net = credo.BayesianNetwork()
net.variable("ill", ["no", "yes"])
net.variable("test", ["negative", "positive"])
net.cpt("ill", table=[0.99, 0.01])
net.cpt("test", ["ill"], {"no": [0.90, 0.10], "yes": [0.20, 0.80]})
print(net.table("test"))

# %%
# What if: the same question with other tables. Beside the posterior, what the best act would cost.
loss = credo.Loss([[0, 1], [30, 3]], ["no", "yes"], ["wait", "biopsy"])
better = [[0.97, 0.03], [0.05, 0.95]]
changes = {
    "as it is": {},
    "a better test": {"test": better},
    "an outbreak": {"ill": [0.9, 0.1]},
    "both": {"test": better, "ill": [0.9, 0.1]},
}
print("                p(ill | positive)  act     expected loss")
for name, tables in changes.items():
    believed = credo.infer(net, {"test": "positive"}, tables=tables)["ill"]
    choice = credo.decide(believed, loss)
    print(f"{name:15} {believed['yes']:18.3f}  {choice.acts!s:6} {choice.risk:14.2f}")

# %%
# The same over all rates of illness, with both tests.
rates = np.geomspace(0.001, 0.3, 60)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
curves = {"this test": (net, "#0072B2"), "a better one": (net.replace({"test": better}), "#D55E00")}
for name, (model, ink) in curves.items():
    believed = [
        credo.infer(model, {"test": "positive"}, tables={"ill": [1 - rate, rate]})["ill"]["yes"]
        for rate in rates
    ]
    axes.plot(rates, believed, color=ink, linewidth=2)
    axes.text(rates[30], believed[30] + 0.04, name, color=ink, ha="right")
threshold = 1 / 28  # of p(ill): where 30 p = 3 p + (1 - p)
axes.axhline(threshold, color="#8C8C8C", linestyle="--", linewidth=1)
axes.text(rates[-1], threshold + 0.015, "above: biopsy", ha="right", color="#555555", fontsize=9)
axes.set(xscale="log", xlabel="share of the population that is ill", ylim=(0, 1))
axes.set(ylabel="p(ill | positive)")
axes.spines[["top", "right"]].set_visible(False)

picture = Path("build/what_if.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=110)
print(f"The figure is in {picture}")

# %%
# Next: :doc:`/tutorials/first_network` builds a network and asks it, step by step.
