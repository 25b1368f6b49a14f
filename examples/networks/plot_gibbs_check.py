"""
Can I check an approximation without the exact answer?
======================================================

Messages on a graph with cycles converge to something, and nothing in them says how far it is from
the truth. Draws make other mistakes: random ones, whose size can be estimated. Beliefs that differ
from the draws by many standard errors are wrong.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import credo
from credo.inference import GraphPosterior
from credo.plots.figures import COLOURS

# %%
# Spins on a grid of 10 by 10. First check the check: chains that began at different places agree.
site = np.arange(100).reshape(10, 10)
across = np.column_stack([site[:, :-1].ravel(), site[:, 1:].ravel()])
links = np.vstack([across, np.column_stack([site[:-1].ravel(), site[1:].ravel()])])
weights = np.exp(np.random.default_rng(0).normal(size=(100, 2)))
grid = credo.MarkovNetwork.from_arrays(weights, links, [[2.5, 1.0], [1.0, 2.5]])
drawn = credo.infer(grid, method="gibbs", log_z=None, seed=0)
size = drawn.details["least_effective_sample_size"]
print(
    f"worst R-hat {drawn.details['worst_r_hat']:.3f}, worth {size:.0f} independent draws at least"
)


def second(post: GraphPosterior) -> np.ndarray:
    """Return the probability of the second state of each variable."""
    return np.array([post.probabilities(name)[1] for name in grid.names])


# %%
# By how many standard errors does each method differ? About one, if nothing else is wrong.
error = drawn.details["standard_error"].reshape(100, 2)[:, 1]
off = {}
for method in ("loopy", "generalised", "exact"):
    off[method] = (second(credo.infer(grid, method=method)) - second(drawn)) / error
    print(f"{method:12} {np.sqrt(np.mean(off[method] ** 2)):5.1f} standard errors")

# %%
# The exact answer is here only to show that the check is right: no draw knows it.
figure, panels = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained", sharey=True)
for axes, (method, each), ink in zip(panels, off.items(), COLOURS, strict=False):
    axes.axhspan(-2, 2, color="#8C8C8C", alpha=0.2, linewidth=0)
    axes.plot(second(drawn), each, "o", color=ink, markersize=4)
    axes.set(title=method, xlabel="share of the draws in state 1")
    axes.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("belief, less the share,\nin standard errors")
panels[0].text(
    0.98,
    -2,
    "grey: within two ",
    ha="right",
    va="bottom",
    fontsize="small",
    transform=panels[0].get_yaxis_transform(),
)

picture = Path("build/gibbs_check.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=130)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/sampling_check` says when draws are worth nothing.
