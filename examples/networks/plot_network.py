"""
What is wrong with this patient, why, and what should be done?
==============================================================

A small clinical network, with invented numbers. A patient is short of breath and coughs, and the
D-dimer, a sign of clots, is raised; there was no surgery. The posterior of every variable before
and after, how much each finding weighs, and which act (action) has the least expected loss.
"""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

import credo

# %%
# The network: what depends on what, and how strongly.
net = credo.BayesianNetwork()
for name in ("surgery", "smoker", "embolism", "bronchitis", "breathless", "cough"):
    net.variable(name, ["no", "yes"])
net.variable("d_dimer", ["normal", "raised", "high"])
net.variable("ct", ["clear", "clot"])
net.cpt("surgery", table=[0.95, 0.05])
net.cpt("smoker", table=[0.75, 0.25])
net.cpt("embolism", ["surgery"], {"no": [0.99, 0.01], "yes": [0.92, 0.08]})
net.cpt("bronchitis", ["smoker"], {"no": [0.9, 0.1], "yes": [0.7, 0.3]})
net.noisy_or("breathless", {"embolism": 0.8, "bronchitis": 0.4}, leak=0.05)
net.noisy_or("cough", {"bronchitis": 0.7}, leak=0.1)
net.cpt(
    "d_dimer",
    ["embolism", "surgery"],
    {
        ("no", "no"): [0.85, 0.12, 0.03],
        ("no", "yes"): [0.40, 0.40, 0.20],
        ("yes", "no"): [0.05, 0.35, 0.60],
        ("yes", "yes"): [0.02, 0.28, 0.70],
    },
)
net.cpt("ct", ["embolism"], {"no": [0.97, 0.03], "yes": [0.10, 0.90]})

loss = credo.Loss.from_dict(
    {
        ("no", "treat"): 10,
        ("no", "discharge"): 0,
        ("yes", "treat"): 0,
        ("yes", "discharge"): 100,
    }
).with_reject(3, name="scan")
# %%
# What was found, why that speaks for an embolism, and what to do.
seen = {"breathless": "yes", "cough": "yes", "d_dimer": "raised", "surgery": "no"}

post = credo.infer(net, seen)
why = credo.explain(post, "embolism", "yes")
choice = credo.decide(post["embolism"], loss)
print("The plan")
print(credo.plan(net, seen), end="\n\n")
print("Why")
print(why, end="\n\n")
print("The loss: what each act costs with and without an embolism")
print(loss, end="\n\n")
print("evidence                      p(embolism)  act        risk")
for more in ({}, {"ct": "clear"}, {"ct": "clot"}):
    believed = credo.infer(net, seen | more)["embolism"]
    best = credo.decide(believed, loss)
    words = "; ".join(["as above", *(f"{name} {state}" for name, state in more.items())])
    print(f"{words:28}  {believed['yes']:11.4f}  {best.acts!s:9}  {best.risk:.3f}")


def draw_risks(axes: Axes) -> None:
    """Draw the expected loss of each act, the least in colour."""
    risks = choice.expected_losses.tolist()
    inks = ["#009E73" if act == choice.acts else "#B3B3B3" for act in loss.acts]
    bars = axes.barh(list(loss.acts), risks, height=0.55, color=inks)
    axes.bar_label(bars, fmt="%.2f", padding=4)
    axes.set_xlim(0, 1.2 * max(risks))
    axes.invert_yaxis()
    axes.set_xlabel("expected loss")
    axes.set_title(f"least expected loss: {choice.acts}", fontsize=10)


figure = plt.figure(figsize=(10, 7.2), layout="constrained")
above, below = figure.subfigures(2, 1, height_ratios=[2, 1], hspace=0.04)
network = above.subplots()
weights, risks = below.subplots(1, 2, width_ratios=[1.3, 1])
post.plot(network)
why.plot(weights)
draw_risks(risks)
for axes in (weights, risks):
    axes.spines[["top", "right"]].set_visible(False)

picture = Path("build/network.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=110)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/evidence` shows what can be told to a network, a doubtful sensor included.
