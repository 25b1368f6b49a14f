"""
Which explanation fits best?
============================

The car does not start and the lights are dim. The most probable state of each part alone need not
be the most probable explanation as a whole, and the best explanation by causes alone, with
everything else summed out, may be another one again. Here are all three, and the runners-up.
"""

import math
from pathlib import Path

import matplotlib.pyplot as plt

import credo

# %%
# The battery, which loses its charge with the years, and the cable are causes; lights and engine
# are what is seen.
net = credo.BayesianNetwork()
ages = ["new", "1 year", "2 years", "3 years", "4 years"]
net.variable("age", ages)
net.cpt("age", table=[0.4, 0.15, 0.15, 0.15, 0.15])
net.variable("battery", ["full", "flat"])
net.cpt("battery", ["age"], {age: [0.98, 0.02] if age == "new" else [0.75, 0.25] for age in ages})
net.variable("cable", ["tight", "loose"])
net.cpt("cable", table=[0.7, 0.3])
net.variable("lights", ["bright", "dim"])
net.cpt("lights", ["battery", "cable"], [[[0.98, 0.02], [0.4, 0.6]], [[0.01, 0.99], [0.0, 1.0]]])
net.variable("engine", ["starts", "silent"])
net.cpt("engine", ["battery", "cable"], [[[0.97, 0.03], [0.5, 0.5]], [[0.0, 1.0], [0.0, 1.0]]])

# %%
# One by one, all together, and the causes alone with the age of the battery summed out.
seen, causes = {"lights": "dim", "engine": "silent"}, ["battery", "cable"]
post = credo.infer(net, seen)
print("one by one    ", {name: post[name].mode() for name in causes})
print("all together  ", {name: credo.mpe(net, seen)[name] for name in causes})
print("causes alone  ", dict(credo.marginal_map(net, causes, seen)))

# %%
# The eight best configurations, with their share of all that fit what is seen.
best = credo.k_best(net, 8, seen)
shares = [math.exp(each.log_score - post.log_evidence) for each in best]
words = [", ".join(str(each[name]) for name in ("age", *causes)) for each in best]
for share, text in zip(shares, words, strict=True):
    print(f"{share:6.1%}  {text}")

figure, axes = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
bars = axes.barh(words, shares, height=0.6, color=["#0072B2"] + ["#B3B3B3"] * 7)
axes.bar_label(bars, [f"{share:.1%}" for share in shares], padding=4)
axes.invert_yaxis()
axes.set(xlim=(0, 1.15 * shares[0]), xticks=[])
axes.set_xlabel(f"share; the eight best hold {sum(shares):.0%} of all")
axes.set_title("age of the battery, battery, cable", fontsize=10, loc="left")
axes.spines[["top", "right", "bottom"]].set_visible(False)

picture = Path("build/best_explanations.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=110)
print(f"The figure is in {picture}")

# %%
# Next: :doc:`/how-to/most_probable` says which of the three to ask for.
