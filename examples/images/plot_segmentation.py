"""
Where is the other texture, and where should a person look?
===========================================================

Two textures of the same brightness and contrast; only the direction of their waves differs. A
Gaussian for each, fitted to 8 x 8 blocks of another picture, classifies every pixel. A Markov
random field smooths its probabilities, and a loss decides: one for a mistake, a tenth for asking a
person. Blocks overlap, so the same evidence is counted many times: it needs a weight.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap

import credo
from credo.images import Segmentation, block_features, segment, texture_pair

COUPLING, WEIGHT, COST = 1.0, 1 / 16, 0.1

#: Background, foreground, and what is wrong or left to a person; from Okabe and Ito's palette.
PALE, DARK, ORANGE, YELLOW = "#D9E2EC", "#0072B2", "#D55E00", "#F0E442"
INKS = ListedColormap([PALE, DARK])


def share(part: np.ndarray) -> str:
    """Write a share of the pixels."""
    return f"{100 * part.mean():.1f} %"


def draw_labels(axes: Axes, labels: np.ndarray, marked: np.ndarray, ink: str) -> None:
    """Draw a map of labels, and some pixels in another colour."""
    axes.imshow(labels, cmap=INKS, vmin=0, vmax=1, interpolation="nearest")
    over = np.ma.masked_where(~marked, np.ones(labels.shape))
    axes.imshow(over, cmap=ListedColormap([ink]), interpolation="nearest")


def report(name: str, found: Segmentation, truth: np.ndarray) -> None:
    """Print what a segmentation gets wrong, what it thinks it gets wrong, and what it costs."""
    after = (found.posterior.best != truth).mean()
    claimed = 1 - found.posterior.confidence.mean()
    kept_wrong = (found.labels != truth) & ~found.rejected
    cost = kept_wrong.mean() + COST * found.rejected.mean()
    print(f"{name:21}  {after:7.4f}  {claimed:9.4f}  {found.rejected.mean():8.3f}  {cost:7.4f}")


# %%
# Learn from one picture, segment another.
image, truth = texture_pair(seed=100)
model = credo.GaussianClassifier().fit(block_features(image).reshape(-1, 64), truth.ravel())
image, truth = texture_pair(seed=5)
posterior = model.posterior(block_features(image).reshape(-1, 64))

options = {"shape": truth.shape, "loss": COST}
found = segment(posterior, COUPLING, weight=WEIGHT, **options)
print("                         error  own guess  rejected     cost")
report("no smoothing", segment(posterior, 0.0, **options), truth)
report("smoothed, weight 1", segment(posterior, COUPLING, **options), truth)
report("smoothed, weight 1/16", found, truth)

# %%
# What was wrong before and after, and what is left to a person.
figure, panels = plt.subplots(2, 3, figsize=(12, 7.2), layout="constrained")
wrong_before, wrong_after = found.before != truth, found.posterior.best != truth
kept_wrong = (found.labels != truth) & ~found.rejected
panels[0, 0].imshow(image, cmap="gray", vmin=0, vmax=1)
panels[0, 0].set_title("picture", fontsize=11)
draw_labels(panels[0, 1], truth, np.zeros(truth.shape, bool), ORANGE)
panels[0, 1].set_title("true texture", fontsize=11)
draw_labels(panels[0, 2], found.before, wrong_before, ORANGE)
panels[0, 2].set_title(f"each pixel by itself: {share(wrong_before)} wrong (orange)", fontsize=11)
draw_labels(panels[1, 0], found.posterior.best, wrong_after, ORANGE)
panels[1, 0].set_title(f"smoothed: {share(wrong_after)} wrong (orange)", fontsize=11)
draw_labels(panels[1, 1], found.labels, found.rejected, YELLOW)
panels[1, 1].set_title(
    f"{share(found.rejected)} left to a person (yellow), {share(kept_wrong)} wrong", fontsize=11
)
shown = panels[1, 2].imshow(1 - found.posterior.confidence, cmap="magma", vmin=0, vmax=0.5)
panels[1, 2].set_title("probability that the label is wrong", fontsize=11)
figure.colorbar(shown, ax=panels[1, 2], shrink=0.8, ticks=[0, COST, 0.25, 0.5])
for axes in panels.flat:
    axes.set(xticks=[], yticks=[])

picture = Path("build/segmentation.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=110)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/segmentation` segments a picture of your own.
