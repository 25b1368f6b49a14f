"""
Why was this row put into that class, and how many rows does a model need?
==========================================================================

A table of pumps with numbers, counts, booleans and names, every tenth cell missing. Naive Bayes
gives each column a distribution of its own, so that the log odds of a row are a sum over its cells.
The second panel fits two linear classifiers to growing sets of rows: one describes the classes, the
other only their log odds, which have no best value while the rows are separable.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

import credo
from credo.classifiers import LearningCurves

rng = np.random.default_rng(0)
y = np.where(rng.random(400) < 0.3, "fails", "holds")
fails = y == "fails"
makers = rng.choice(["Aqua", "Bolt", "Cruz"], 400, p=[0.4, 0.4, 0.2])
makers[fails] = rng.choice(["Aqua", "Bolt", "Cruz"], fails.sum(), p=[0.2, 0.3, 0.5])
pumps = pd.DataFrame(
    {
        "temperature": rng.normal(np.where(fails, 66, 60), 5),
        "vibration": rng.gamma(np.where(fails, 3.0, 2.0), np.where(fails, 1.2, 0.8)),
        "alarms": rng.poisson(np.where(fails, 2.0, 0.7)),
        "serviced": rng.random(400) < np.where(fails, 0.4, 0.7),
        "maker": makers,
    }
).mask(rng.random((400, 5)) < 0.1)
#: From Okabe and Ito's palette: told apart by colour-blind readers too.
FOR, AGAINST, GREY = "#D55E00", "#0072B2", "#8C8C8C"
FAMILIES = {"vibration": "gamma", "alarms": "poisson"}
PUMP = {"temperature": 67.5, "vibration": None, "alarms": 3, "serviced": True, "maker": "Dyno"}
NOTES = {"vibration": "vibration: missing", "maker": "maker: Dyno, never seen"}


def draw_explanation(axes: Axes, model: credo.NaiveBayes) -> None:
    """Draw what the prior and each cell of the pump add to the log odds, and their sum."""
    why = model.explain(PUMP, "fails", "holds")
    names = ["prior", *(NOTES.get(f, f"{f}: {PUMP[f]}") for f in why.features), "log odds"]
    amounts = np.array([why.prior, *why.contributions, why.log_odds])
    places = np.arange(len(names))[::-1]
    colours = [FOR if amount > 0 else AGAINST for amount in amounts]
    bars = axes.barh(places, amounts, color=colours, height=0.68)
    bars[-1].set(hatch="///", edgecolor="white")
    shown = [f"{amount:+.2f}".replace("-", "−") if amount else "0" for amount in amounts]
    axes.bar_label(bars, shown, padding=4, fontsize=9)
    axes.axvline(0, color="black", lw=0.8)
    axes.axhline(0.5, color=GREY, lw=0.8)
    axes.set_yticks(places, names)
    axes.tick_params(axis="y", length=0)
    reach = 1.35 * np.abs(amounts).max()
    axes.set(xlim=(-reach, reach), xlabel="favours holds  ←  log odds  →  favours fails")
    chance = 1 / (1 + np.exp(-why.log_odds))
    axes.set_title(f"Why this pump fails with probability {chance:.2f}", fontsize=11)


def draw_curves(axes: Axes, curves: LearningCurves) -> None:
    """Draw the log losses; hollow: the median with sets that have no largest likelihood."""
    curves.plot(axes)
    doubtful = curves.separated.any(axis=1)
    medians = np.median(curves.log_losses[1], axis=1)
    axes.plot(curves.sizes[doubtful], medians[doubtful], "o", mfc="white", mec=FOR, mew=2, zorder=3)
    lines, _ = axes.get_legend_handles_labels()
    names = [
        "linear discriminant analysis",
        "logistic regression",
        "with separable sets, by a small ridge",
    ]
    axes.legend([*lines, axes.lines[-1]], names, frameon=False, fontsize=9)
    axes.set_title("Two linear classifiers, and 30 splits of the same rows", fontsize=11)
    axes.set(
        xlabel="", yticks=[0.4, 0.5, 0.7, 1.0, 1.5], yticklabels=["0.4", "0.5", "0.7", "1", "1.5"]
    )
    axes.tick_params(which="minor", left=False, labelleft=False, bottom=False)
    axes.tick_params(labelbottom=False)


def draw_separable(axes: Axes, curves: LearningCurves) -> None:
    """Draw the share of training sets in which logistic regression has no estimate."""
    shares = 100 * curves.separated.mean(axis=1)
    bars = axes.bar(curves.sizes, shares, width=0.22 * curves.sizes, color=GREY)
    axes.bar_label(bars, [f"{share:.0f}" for share in shares], padding=2, fontsize=9)
    axes.set(ylim=(0, 130), yticks=[0, 100], xlabel="training rows", ylabel="separable, %")
    axes.set_xticks(curves.sizes, [f"{size}" for size in curves.sizes])
    axes.tick_params(which="minor", bottom=False)


# %%
# Why is this pump expected to fail?
model = credo.NaiveBayes(FAMILIES).fit(pumps, y)
print(model)
print(model.explain(PUMP))

# %%
# How many rows does it take? Two linear classifiers, fitted to more and more of them.
truth = np.repeat(["fails", "holds"], 1500)
shift = np.where(truth == "fails", 1.0, 0.0)[:, None] * [1.2, 0.8, 0.8, 0.0, 0.0]
rows = rng.normal(size=(3000, 5)) + shift
sizes = [14, 20, 30, 50, 80, 150, 400, 2000]
curves = credo.compare_generative_discriminative(
    rows, truth, sizes=sizes, n_repeats=30, random_state=0
)
print(f"\n{curves}")

figure = plt.figure(figsize=(12, 4.8), layout="constrained")
grid = figure.add_gridspec(2, 2, height_ratios=[3, 1], width_ratios=[1, 1.1])
left, right = figure.add_subplot(grid[:, 0]), figure.add_subplot(grid[0, 1])
below = figure.add_subplot(grid[1, 1], sharex=right)
draw_explanation(left, model)
draw_curves(right, curves)
draw_separable(below, curves)
for axes in (left, right, below):
    axes.spines[["top", "right"]].set_visible(False)
left.spines["left"].set_visible(False)

picture = Path("build/mixed_columns.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=110)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/mixed_columns` classifies a table with columns of several kinds.
