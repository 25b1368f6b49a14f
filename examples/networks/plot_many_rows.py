"""
Which of ten thousand machines should be looked at?
===================================================

Ten thousand machines report what their sensors say, and most reports have gaps. One network says
for each row how probable a worn bearing is. Rows with the same evidence share one answer, and the
posteriors of all rows go straight into a decision.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import credo

# %%
# A bearing that is worn makes heat, noise and vibration; noise has another cause, too.
net = credo.BayesianNetwork()
for name in ("worn", "loose_panel", "hot", "noisy", "shakes"):
    net.variable(name, ["no", "yes"])
net.cpt("worn", table=[0.96, 0.04])
net.cpt("loose_panel", table=[0.9, 0.1])
net.cpt("hot", ["worn"], {"no": [0.93, 0.07], "yes": [0.3, 0.7]})
net.noisy_or("noisy", {"worn": 0.8, "loose_panel": 0.9}, leak=0.03)
net.cpt("shakes", ["worn"], {"no": [0.97, 0.03], "yes": [0.45, 0.55]})

# %%
# Rows as a table with gaps: a third of all readings is missing.
rng = np.random.default_rng(0)
drawn = net.sample(10_000, random_state=1)
reads = ["hot", "noisy", "shakes"]
rows = {name: [x if rng.random() > 1 / 3 else None for x in drawn[name]] for name in reads}
many = credo.infer_many(net, rows, query=["worn"])
print(many)

# %%
# Looking at a machine costs 1, a bearing that breaks costs 20.
worn = many["worn"]
loss = credo.Loss([[0, 1], [20, 1]], ["no", "yes"], ["run on", "look at it"])
choice = credo.decide(worn, loss)
looks = np.array(choice.acts) == "look at it"
truth = np.array(drawn["worn"]) == "yes"
print(
    f"{looks.sum()} machines are looked at: {looks[truth].mean():.0%} of the worn ones, "
    f"{looks[~truth].mean():.1%} of the others"
)
costs = [np.where(act, 1, 20 * truth).mean() for act in (looks, truth >= 0, truth < 0)]
print("mean cost: {:.3f}; looking at all {:.3f}, at none {:.3f}".format(*costs))

# %%
# Probabilities of all rows, and for each kind of report what was found.
p = worn.probabilities[:, 1]
values, counts = np.unique(p.round(6), return_counts=True)
shares = [truth[p.round(6) == value].mean() for value in values]
figure, axes = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
axes.plot([0, 1], [0, 1], color="#8C8C8C", linestyle="--", linewidth=1)
inks = np.where(values > 0.05, "#D55E00", "#0072B2")
axes.scatter(values, shares, s=6 + counts / 8, color=inks, alpha=0.7, linewidth=0)
axes.axvline(0.05, color="#000000", linewidth=1, linestyle=":")
axes.text(0.06, 0.97, "looked at", color="#D55E00")
axes.set(xlabel="p(worn | what was reported)", ylabel="share that was worn")
axes.set_title(
    f"{len(values)} kinds of report; area: how many of 10 000 rows", fontsize=10, loc="left"
)
axes.spines[["top", "right"]].set_visible(False)

picture = Path("build/many_rows.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=110)
print(f"The figure is in {picture}")

# %%
# Next: :doc:`/how-to/many_rows` has tables of any size, and rows that are impossible.
