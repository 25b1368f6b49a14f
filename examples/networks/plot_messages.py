"""
What do neighbours tell each other?
===================================

Five things depend on each other along a tree, and three of them are observed. Node 3 is asked for.
Each node tells its neighbour what it makes of all that lies behind it: four messages towards 3 give
its belief, four back give all others. The run can be stopped after any message.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import credo

# %%
# The tree has the edges (1, 2), (1, 3), (3, 4) and (3, 5). Each edge prefers equal states.
tree = credo.MarkovNetwork()
for node, weights in {1: [6, 4], 2: [7, 3], 3: [5, 2], 4: [1, 2], 5: [9, 1]}.items():
    tree.node(node, 2, weights)
for (i, j), same in {(1, 2): 4, (1, 3): 2, (3, 4): 3, (3, 5): 5}.items():
    tree.edge(i, j, [[same, 1], [1, same]])
print("nodes", tree.names, "edges", tree.edges, "neighbours of 3:", tree.neighbours(3))

# %%
# All messages in order, each with its formula, as it is and scaled, and what its receiver believes.
passed = credo.pass_messages(tree, {2: 1, 4: 0, 5: 1}, root=3)
print(passed)

# %%
# With maxima in place of sums the same run finds the most probable configuration.
best = credo.pass_messages(tree, {2: 1, 4: 0, 5: 1}, root=3, max_product=True).best
print(best)

# %%
# The run after one message, after four (3 knows everything) and at its end.
figure, panels = plt.subplots(3, 1, figsize=(7, 14), layout="constrained")
for axes, k in zip(panels, (1, 4, 8), strict=True):
    passed[:k].plot(axes)

picture = Path("build/messages.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=110)
print(f"The figure is in {picture}")

# %%
# Next: :doc:`/how-to/exact_inference` has the same on a chain; :doc:`/how-to/loopy` is for cycles.
