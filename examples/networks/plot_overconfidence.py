"""
How far can an answer be trusted once it has converged?
=======================================================

A grid of 8 by 8 spins that prefer to agree, small enough for the exact marginals. Loopy belief
propagation converges at every coupling. It counts what went round a cycle as new evidence, so it is
overconfident. Larger regions correct most of that. Tree-reweighted propagation is underconfident,
and its bound on log Z, together with that of mean field, is certain.
"""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

import credo

SIDE, SHOWN = 8, 0.5
COUPLINGS = np.round(np.arange(0.2, 1.05, 0.1), 1)
#: From Okabe and Ito's palette: told apart by colour-blind readers too.
INKS = {"loopy": "#D55E00", "generalised": "#009E73", "tree_reweighted": "#0072B2"}
GREY = "#8C8C8C"
METHODS: dict[str, dict[str, Any]] = {
    "loopy": {},
    "generalised": {"sweeps": 3000},
    "tree_reweighted": {},
    "structured_mean_field": {},
}


def make_grid(coupling: float) -> credo.MarkovNetwork:
    """Make a grid of spins in a weak random field; a pair agrees with odds exp(2 coupling)."""
    site = np.arange(SIDE**2).reshape(SIDE, SIDE)
    across = np.column_stack([site[:, :-1].ravel(), site[:, 1:].ravel()])
    down = np.column_stack([site[:-1].ravel(), site[1:].ravel()])
    field = np.random.default_rng(0).normal(scale=0.3, size=SIDE**2)
    potentials = np.exp(np.column_stack([-field, field]))
    agree = np.exp(coupling * np.array([[1, -1], [-1, 1]]))
    return credo.MarkovNetwork.from_arrays(potentials, np.vstack([across, down]), agree)


def draw_beliefs(axes: Axes, truth: np.ndarray, found: dict[str, np.ndarray]) -> None:
    """Draw each spin's belief against its exact probability."""
    axes.plot([0, 1], [0, 1], color=GREY, lw=1, zorder=1)
    for method, ink in INKS.items():
        axes.scatter(truth, found[method], s=16, color=ink, alpha=0.75, lw=0, zorder=2)
    words = {
        "loopy": (0.31, 0.968, "loopy: overconfident"),
        "generalised": (0.85, 0.882, "generalised"),
        "tree_reweighted": (0.62, 0.43, "tree-reweighted:\nunderconfident"),
    }
    for method, (x, y, text) in words.items():
        turn = 45 if method == "generalised" else 0
        axes.text(x, y, text, color=INKS[method], rotation=turn, rotation_mode="anchor", fontsize=9)
    ticks = [0.4, 0.6, 0.8, 1.0]
    axes.set(xlim=(0.3, 1), ylim=(0.3, 1), aspect="equal", xticks=ticks, yticks=ticks)
    axes.set(xlabel="exact probability", ylabel="belief")
    axes.set_title(f"{SIDE**2} spins at coupling {SHOWN}", fontsize=11)


def draw_errors(axes: Axes, errors: dict[str, list[float]]) -> None:
    """Draw the mean error of the beliefs against the coupling."""
    for method, ink in INKS.items():
        axes.plot(COUPLINGS, errors[method], color=ink, marker="o", ms=3.5)
    for x, y, method in (
        (0.62, 0.055, "loopy"),
        (0.74, 0.4, "tree_reweighted"),
        (0.82, 6e-3, "generalised"),
    ):
        axes.text(x, y, method.replace("_", "-"), color=INKS[method], fontsize=9)
    axes.set_yscale("log")
    axes.set(xlabel="coupling", ylabel="mean error of a probability", ylim=(1e-6, 1))
    axes.set_title("All have converged; not all are right", fontsize=11)


def draw_log_z(axes: Axes, off: dict[str, list[float]]) -> None:
    """Draw the certified interval of log Z, and where the estimates lie in it."""
    low, high = off["structured_mean_field"], off["tree_reweighted"]
    ink = INKS["tree_reweighted"]
    axes.fill_between(COUPLINGS, low, high, color=ink, alpha=0.12, lw=0)
    axes.plot(COUPLINGS, high, color=ink)
    axes.plot(COUPLINGS, low, color=GREY)
    for method in ("loopy", "generalised"):
        axes.plot(COUPLINGS, off[method], color=INKS[method], marker="o", ms=3.5)
    axes.text(0.71, 4.15, "tree-reweighted", color=ink, fontsize=9)
    axes.text(0.58, -2.2, "structured mean field", color="#6E6E6E", fontsize=9)
    axes.set(xlabel="coupling", ylabel="log Z, less the exact value")
    axes.set_title("The shaded interval is certified", fontsize=11)


# %%
# Four methods against the exact answer, at nine couplings.
errors: dict[str, list[float]] = {method: [] for method in METHODS}
off: dict[str, list[float]] = {method: [] for method in METHODS}
beliefs: dict[str, np.ndarray] = {}
sweeps: dict[str, int] = {}
print("            confidence    loopy            mean error          log Z, less the exact")
print("coupling  exact  loopy   sweeps   loopy  tree-rew.  generalised    lower    upper")
for coupling in COUPLINGS.tolist():
    net = make_grid(coupling)
    exact = credo.infer(net)
    truth = np.array([exact.probabilities(v)[1] for v in net.names])
    for method, settings in METHODS.items():
        post = credo.infer(net, method=method, **settings)
        beliefs[method] = np.array([post.probabilities(v)[1] for v in net.names])
        errors[method].append(float(np.abs(beliefs[method] - truth).mean()))
        off[method].append(post.log_evidence - exact.log_evidence)
        sweeps[method] = post.sweeps
    sure = [float(np.maximum(p, 1 - p).mean()) for p in (truth, beliefs["loopy"])]
    wrong = [errors[method][-1] for method in ("loopy", "tree_reweighted", "generalised")]
    within = [off[method][-1] for method in ("structured_mean_field", "tree_reweighted")]
    print(f"{coupling:8.1f}  {sure[0]:.3f}  {sure[1]:.3f}  {sweeps['loopy']:7d}", end="  ")
    print(f"{wrong[0]:.4f}  {wrong[1]:9.4f}  {wrong[2]:11.6f}", end="  ")
    print(f"{within[0]:+7.2f}  {within[1]:+7.2f}")
    if coupling == SHOWN:
        shown = truth, dict(beliefs)

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
draw_beliefs(left, *shown)
draw_errors(middle, errors)
draw_log_z(right, off)
for axes in (left, middle, right):
    axes.spines[["top", "right"]].set_visible(False)

picture = Path("build/overconfidence.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=110)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/loopy` says what to do when exact answers are out of reach.
