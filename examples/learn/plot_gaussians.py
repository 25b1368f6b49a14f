"""
Which shape should the classes have, and what if a feature is missing?
======================================================================

Three cultivars of wine, by two measurements. Each class is a Gaussian; the shape of its covariance
decides how the boundaries bend. In the last panel one measurement is missing, and is marginalised.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Ellipse
from sklearn.datasets import load_wine

import credo

wine = load_wine()
columns = [wine.feature_names.index(name) for name in ("flavanoids", "color_intensity")]
X = wine.data[:, columns]
X = (X - X.mean(axis=0)) / X.std(axis=0)  # so that a circle is a circle in the picture
y = np.array(["A", "B", "C"])[wine.target]

#: From Okabe and Ito's palette, with a marker each: told apart without colour too.
INKS = {"A": "#0072B2", "B": "#D55E00", "C": "#009E73"}
MARKERS = {"A": "o", "B": "^", "C": "s"}
SHAPES = {
    "full": "full: an ellipse for each class",
    "proportional": "proportional: one ellipse, three sizes",
    "tied": "tied: one ellipse, straight boundaries",
    "diagonal": "diagonal: no correlations",
    "spherical": "spherical: a circle for each class",
}
LEVELS = (0.5, 0.7, 0.9, 0.99, 1.01)
SPAN, FLAVANOIDS, COLOUR = (-2.6, 3.9), "flavanoids, standardised", "colour intensity, standardised"


def matrices(model: credo.GaussianClassifier) -> np.ndarray:
    """Return the covariance of each class as a matrix, whatever form ``covariances_`` has."""
    found = model.covariances_
    if model.covariance == "proportional":
        return model.proportions_[:, None, None] * found
    if model.covariance == "tied":
        return np.repeat(found[None], len(model.classes_), axis=0)
    return found if model.covariance == "full" else np.array([np.eye(2) * each for each in found])


def draw_ellipses(axes: Axes, model: credo.GaussianClassifier) -> None:
    """Draw where the Mahalanobis distance from each mean is 1 and 2."""
    for label, mean, matrix in zip(model.classes_, model.means_, matrices(model), strict=True):
        (small, large), directions = np.linalg.eigh(matrix)
        angle = np.degrees(np.arctan2(directions[1, 1], directions[0, 1]))
        line = {"angle": angle, "fill": False, "edgecolor": INKS[label], "linewidth": 1.8}
        for n in (1, 2):
            axes.add_patch(Ellipse(mean, 2 * n * np.sqrt(large), 2 * n * np.sqrt(small), **line))


def draw_regions(axes: Axes, model: credo.GaussianClassifier) -> None:
    """Shade by the posterior, draw the boundaries where two classes are equal, and the rows."""
    line = np.linspace(*SPAN, 300)
    first, second = np.meshgrid(line, line)
    posterior = model.predict_proba(np.column_stack([first.ravel(), second.ravel()]))
    for k, label in enumerate(model.classes_):
        own = posterior[:, k].reshape(first.shape)
        rest = np.delete(posterior, k, axis=1).max(axis=1).reshape(first.shape)
        shades = [(*to_rgb(INKS[label]), strength) for strength in (0.08, 0.17, 0.27, 0.38)]
        axes.contourf(first, second, own, levels=LEVELS, colors=shades)
        axes.contour(first, second, own - rest, levels=[0], colors="#222222", linewidths=1)
        marks = {"s": 11, "c": INKS[label], "marker": MARKERS[label], "label": f"cultivar {label}"}
        axes.scatter(*X[y == label].T, **marks, linewidths=0)
    axes.set(xlim=SPAN, ylim=SPAN, aspect="equal", xlabel=FLAVANOIDS, ylabel=COLOUR)


def draw_missing(axes: Axes, model: credo.GaussianClassifier) -> None:
    """Draw the posterior of each class by the first feature alone, and the rows below."""
    values = np.linspace(*SPAN, 400)
    alone = model.predict_proba(np.column_stack([values, np.full(400, np.nan)]))
    for k, label in enumerate(model.classes_):
        axes.plot(values, alone[:, k], color=INKS[label], lw=2)
        axes.text(model.means_[k, 0], 1.04, label, color=INKS[label], ha="center", weight="bold")
        seen = X[y == label, 0]
        low = np.full(len(seen), -0.05 - 0.05 * k)
        axes.scatter(seen, low, s=11, c=INKS[label], marker=MARKERS[label], linewidths=0)
    axes.set(xlim=SPAN, ylim=(-0.2, 1.15), xlabel=FLAVANOIDS, ylabel="posterior probability")
    axes.set(yticks=[0, 0.25, 0.5, 0.75, 1], box_aspect=1)


# %%
# Five shapes, fitted to the same summary of the rows; a smaller BIC is better.
figure, panels = plt.subplots(2, 3, figsize=(12, 8.4), layout="constrained")
summary = credo.summarise(X, y)
print("covariance     parameters  log-likelihood     BIC")
for axes, (shape, title) in zip(panels.flat, SHAPES.items(), strict=False):
    model = credo.GaussianClassifier(shape).fit_summary(summary)
    draw_regions(axes, model)
    draw_ellipses(axes, model)
    axes.set_title(title, fontsize=11)
    bic = model.n_parameters_ * np.log(len(y)) - 2 * model.log_likelihood_
    print(f"{shape:13}  {model.n_parameters_:10}  {model.log_likelihood_:14.1f}  {bic:6.1f}")
panels[0, 0].legend(loc="upper right", fontsize=9)
draw_missing(panels[1, 2], credo.GaussianClassifier("full").fit_summary(summary))
panels[1, 2].set_title("full, and the colour is missing", fontsize=11)
figure.supxlabel(
    "Shades begin at a posterior of 50, 70, 90 and 99 %; ellipses are 1 and 2 standard deviations.",
    fontsize=10,
)

picture = Path("build/gaussians.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=110)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/missing_values` predicts and fits where values are missing.
