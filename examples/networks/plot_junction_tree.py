"""
What will an exact answer cost?
===============================

A network with loops is answered exactly by merging variables into cliques that form a tree. The
largest of their tables decides about time and memory, and the order in which variables are
eliminated decides about the tables. A plan says all of this before anything is computed.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import credo

# %%
# A machine with a shared power supply: every part depends on it, and on its neighbour.
net = credo.BayesianNetwork()
net.variable("power", ["good", "weak", "off"])
net.cpt("power", table=[0.9, 0.08, 0.02])
parts = ["pump", "valve", "heater", "mixer", "filter", "sensor"]
for before, part in zip([None, *parts], parts, strict=False):
    net.variable(part, ["works", "fails"])
    rows = {"good": [0.98, 0.02], "weak": [0.8, 0.2], "off": [0.0, 1.0]}
    if before is None:
        net.cpt(part, ["power"], rows)
    else:
        worse = {(p, "fails"): [0.7 * row[0], 1 - 0.7 * row[0]] for p, row in rows.items()}
        net.cpt(part, ["power", before], {(p, "works"): row for p, row in rows.items()} | worse)
net.variable("alarm", ["silent", "rings"])
net.cpt("alarm", ["heater", "sensor"], [[[0.99, 0.01], [0.7, 0.3]], [[0.2, 0.8], [0.15, 0.85]]])

# %%
# Whoever eliminates the power first makes one table of all parts: the answer is the same, its cost
# is not.
plan = credo.plan(net)
worst = credo.plan(net, order=["power", "alarm", *parts])
print(plan, end="\n\n")
print(
    f"cells of the largest table: {plan.largest_table}, with the power first "
    f"{worst.largest_table}; multiplications {plan.multiplications:.0f} and "
    f"{worst.multiplications:.0f}"
)

# %%
# Compiled once, the tree answers question after question.
compiled = credo.JunctionTree(net)
for seen in ({}, {"alarm": "rings"}, {"alarm": "rings", "sensor": "fails"}):
    print(seen, compiled.infer(seen)["power"])

# %%
# The tree of cliques: cells of each table, and on each link the variables that two cliques share.
figure, panels = plt.subplots(1, 2, figsize=(10, 5.6), layout="constrained", width_ratios=[1.3, 1])
net.plot(panels[0])
plan.plot(panels[1])

picture = Path("build/junction_tree.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=110)
print(f"The figure is in {picture}")

# %%
# Next: :doc:`/how-to/exact_inference` has plans, budgets, and what to do if a plan is too large.
