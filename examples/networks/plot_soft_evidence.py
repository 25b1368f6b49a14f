"""
What does an unsure report say?
===============================

A burglar alarm depends on burglars and on earthquakes. The neighbour who calls is hard of hearing:
was it the alarm or the telephone? Her report is virtual evidence, a likelihood that is weighed
against what else is known. A colleague's final verdict, p(alarm) = 0.8, is soft evidence, which
replaces what was believed (Jeffrey's rule). The two are not the same.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import credo

# %%
# The network, with rare burglars and rarer earthquakes.
net = credo.BayesianNetwork()
for name in ("burglary", "earthquake", "alarm"):
    net.variable(name, ["no", "yes"])
net.cpt("burglary", table=[0.99, 0.01])
net.cpt("earthquake", table=[0.998, 0.002])
table = [[[0.999, 0.001], [0.71, 0.29]], [[0.06, 0.94], [0.05, 0.95]]]
net.cpt("alarm", ["burglary", "earthquake"], table)

# %%
# Four ways to know about the alarm: nothing, a report four times as likely if it rang, a verdict,
# and hearing it oneself.
answers = {
    "nothing is known": credo.infer(net),
    "a report, 4 : 1 for the alarm": credo.infer(net, likelihood={"alarm": [1, 4]}),
    "a verdict, p(alarm) = 0.8": credo.infer(net, jeffrey={"alarm": {"no": 0.2, "yes": 0.8}}),
    "the alarm was heard": credo.infer(net, {"alarm": "yes"}),
}
print("                                 p(alarm)  p(burglary)  p(earthquake)")
for name, post in answers.items():
    shares = [post[each]["yes"] for each in ("alarm", "burglary", "earthquake")]
    print(f"{name:32} {shares[0]:8.4f} {shares[1]:12.4f} {shares[2]:14.4f}")

# %%
# A report of 4 : 1 hardly moves a rare event; a verdict moves it as far as it says.
figure, panels = plt.subplots(2, 2, figsize=(10, 6.4), layout="constrained")
for axes, (name, post) in zip(panels.flat, answers.items(), strict=True):
    post.plot(axes, prior=False)
    axes.set_title(name, fontsize=10)

picture = Path("build/soft_evidence.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=110)
print(f"The figure is in {picture}")

# %%
# Next: :doc:`/how-to/evidence` has all kinds of evidence, sets of states among them.
