"""Classifiers as pictures over one feature or two: acts, boundaries, ellipses and rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib import colors, pyplot as plt
from matplotlib.patches import Ellipse
from scipy import ndimage

from credo import _checks as check
from credo._types import F64, Label
from credo.classifiers.gaussian import GaussianDensities
from credo.columns import kind_of, rebuilt
from credo.decisions import Loss, decide
from credo.exceptions import InputError, ShapeError
from credo.plots.figures import GREY, axes_for, inks_of, name_of, one_line, write
from credo.plots.line import draw_curves, legend_beside, shade_acts
from credo.posterior import Posterior

#: Points along each axis of a plane, and along a line.
_SIDE, _POINTS = 240, 800
#: Rows that are drawn as points, evenly taken from all.
_MOST_ROWS = 1000
#: ... and of a rare class at least.
_FEWEST = 50
#: A name on its place, not above it.
_CENTRED: dict[str, Any] = {"va": "center", "xytext": (0, 0)}


def draw_classifier(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    loss: Loss | None = None,
    features: Any = None,
    ax: Any = None,
) -> Any:
    """Draw the acts of a classifier over one feature or two; see ``plot`` of classifiers."""
    owner = f"{type(model).__name__}.plot"
    if not hasattr(model, "predict_proba") or not hasattr(model, "classes_"):
        raise InputError(
            f"{owner} needs a fitted classifier with predict_proba. Call fit first, or wrap it in "
            "sklearn's CalibratedClassifierCV."
        )
    names = list(getattr(model, "feature_names_in_", range(model.n_features_in_)))
    chosen = _positions(model, names, features, owner)
    points = np.stack([_column(X, names[j], j) for j in chosen], axis=1)
    if loss is None:
        own = getattr(model, "loss", None)
        loss = own if isinstance(own, Loss) else Loss.zero_one(model.classes_.tolist())
    truth = None if y is None else np.asarray(y)
    if truth is not None and truth.shape != points.shape[:1]:
        raise ShapeError(
            f"{owner} needs a label for each of {len(points)} rows. Got {truth.shape}."
        )
    rows = None if truth is None else check.positions(truth, loss.truths, "label", owner)
    ax = axes_for(ax, (6.4, 4.8))
    inks = inks_of(model.classes_.tolist(), loss.acts, loss.reject)
    answers = partial(_answers, model, chosen, names, kind_of(X))
    words = repr(model).split(" with ")[0]
    words = type(model).__name__ if "\n" in words else one_line(words, 48)
    told = f"{words}\nn = {len(points):,}"
    if rows is not None:
        losses = loss.matrix[rows, decide(answers(points), loss).act_index]
        told += f", mean loss {float(losses.mean()):.3g}"
    draw_acts = _draw_line if len(chosen) == 1 else _draw_plane
    ax.set_title(told + draw_acts(ax, answers, points, loss, inks), fontsize="medium")
    _draw_rows(ax, points, truth, inks)
    if len(chosen) == 2:
        _name_classes(ax, model, chosen, points, truth, inks)
    for name_axis, j in zip((ax.set_xlabel, ax.set_ylabel), chosen, strict=False):
        name_axis(_named(names[j]))
    return ax


def _answers(model: Any, chosen: list[int], names: list[Any], kind: Any, places: F64) -> Posterior:
    """Return the posterior where the chosen features have these values, the others none."""
    full = np.full((len(places), len(names)), np.nan)
    full[:, chosen] = places
    columns = names if hasattr(model, "feature_names_in_") else range(len(names))
    cells = rebuilt(list(full.T), columns, kind)
    if hasattr(model, "posterior"):
        return model.posterior(cells)
    return Posterior.from_probabilities(model.predict_proba(cells), model.classes_)


def compare(
    models: Sequence[Any], X: Any, y: Any = None, *, loss: Loss | None = None, features: Any = None
) -> Any:
    """Draw fitted classifiers side by side, over the same rows.

    Parameters
    ----------
    models : sequence of fitted classifiers
        Of Credo, or any with ``predict_proba``, as scikit-learn's have.
    X : array-like or data frame of shape (n, D)
        Rows.
    y : array-like of shape (n,), optional
        Their labels.
    loss : Loss, optional
        Losses by true class and act; zero-one by default.
    features : one or two names or numbers of features, optional
        Which to draw over, if there are more.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
        One per model.

    Examples
    --------
    >>> import credo
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> models = [credo.GaussianClassifier(shape).fit(X[:, 2:], y) for shape in ("lda", "qda")]
    >>> len(credo.plots.compare(models, X[:, 2:], y))
    2
    """
    if isinstance(models, Mapping) or not hasattr(models, "__len__") or not len(models):
        raise InputError(f"compare needs a list of fitted classifiers. Got {one_line(models, 60)}.")
    size = (4.6 * len(models), 4.2)
    axes = plt.subplots(1, len(models), figsize=size, layout="constrained", squeeze=False)[1][0]
    for model, ax in zip(models, axes, strict=True):
        draw_classifier(model, X, y, loss=loss, features=features, ax=ax)
    return axes


def _positions(model: Any, names: list[Any], features: Any, owner: str) -> list[int]:
    """Find the features to draw over: one or two."""
    wanted = names if features is None else features
    wanted = list(wanted) if isinstance(wanted, (list, tuple, range, np.ndarray)) else [wanted]
    numbers = [name if isinstance(name, int) and name < len(names) else -1 for name in wanted]
    places = [
        names.index(name) if name in names else number
        for name, number in zip(wanted, numbers, strict=True)
    ]
    if -1 in places:
        known = check.listing(names)
        raise InputError(f"{owner} knows no feature {wanted[places.index(-1)]!r}. Known: {known}.")
    if len(places) not in (1, 2):
        raise InputError(
            f"{owner} draws over one feature or two. Got {len(places)}; pass features=(a, b), and "
            "the others are taken as missing."
        )
    if len(places) < len(names) and not model.__sklearn_tags__().input_tags.allow_nan:
        raise InputError(
            f"{owner}: the model needs all of its {len(names)} features, and a picture shows "
            f"{len(places)}. Fit it to these alone."
        )
    return places


def _column(X: Any, name: Any, j: int) -> F64:
    """Return a feature of all rows as numbers."""
    cells = X[name] if hasattr(X, "columns") else np.asarray(X)[:, j]
    try:
        return np.asarray(cells, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"A classifier is drawn over numbers, and feature {name!r} has others. Choose "
            "features=(a, b) among the numeric ones."
        ) from None


def _named(name: Any) -> str:
    """Write the name of a feature."""
    return f"x{name}" if isinstance(name, int) else name_of(name)


def _ends(values: F64) -> tuple[float, float]:
    """Return the range of an axis: that of the rows, and a little more."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = 0.08 * (high - low) or 1.0
    return low - room, high + room


def _draw_plane(ax: Any, answers: Any, points: F64, loss: Loss, inks: dict[Label, str]) -> str:
    """Shade the acts over two features, with smooth lines between them; say what hatches are."""
    told = ""
    ends = [_ends(points[:, j]) for j in range(2)]
    axis = [np.linspace(*each, _SIDE) for each in ends]
    places = np.stack(np.meshgrid(*axis), axis=-1).reshape(-1, 2)
    chosen = decide(answers(places), loss)
    losses = chosen.expected_losses
    best = np.asarray(chosen.act_index).reshape(_SIDE, _SIDE)
    shades = np.array([colors.to_rgba(inks[act], 0.16) for act in loss.acts])
    ax.imshow(shades[best], origin="lower", extent=(*ends[0], *ends[1]), aspect="auto", zorder=0)
    for a, act in enumerate(loss.acts):
        own = losses[:, a]
        others = np.delete(losses, a, axis=1).min(axis=1, initial=np.inf)
        ahead = np.clip(others - own, -1e300, 1e300).reshape(_SIDE, _SIDE)
        if (best == a).any() and not (best == a).all():
            ax.contour(*axis, ahead, levels=[0.0], colors="0.25", linewidths=0.8, zorder=2)
        if act == loss.reject and (best == a).any():
            band = ax.contourf(*axis, ahead, levels=[0.0, np.inf], colors="none", hatches=["///"])
            band.set(edgecolor=GREY, linewidth=0)
            told = f"; hatched: {name_of(act)}"
        elif act not in loss.truths and (best == a).any():  # its name in the middle of its area
            depth = ndimage.distance_transform_edt(np.pad(best == a, 1))[1:-1, 1:-1]
            row, column = divmod(int(depth.argmax()), _SIDE)
            text = f"act: {name_of(act)}"
            write(ax, (axis[0][column], axis[1][row]), text, inks[act], style="italic", **_CENTRED)
    ax.set(xlim=ends[0], ylim=ends[1])
    return told


def _draw_line(ax: Any, answers: Any, points: F64, loss: Loss, inks: dict[Label, str]) -> str:
    """Draw posteriors over one feature, and shade the acts; say if they are sigmoids."""
    x = np.linspace(*_ends(points[:, 0]), _POINTS)
    posterior = answers(x[:, None])
    best = np.asarray(decide(posterior, loss).act_index)
    starts = np.flatnonzero(np.r_[True, np.diff(best) != 0])
    stops = np.r_[starts[1:], len(x) - 1]
    intervals = [
        (x[start], x[stop], loss.acts[best[start]])
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
    ]
    ax.set(xlim=(x[0], x[-1]), ylim=(-0.08, 1.08), ylabel="posterior probability")
    names = [f"p({name_of(label)} | x)" for label in posterior.labels]
    p, colours = posterior.probabilities, [inks[label] for label in posterior.labels]
    shown = draw_curves(ax, x, p, names, colours)
    legend_beside(ax, shown + shade_acts(ax, intervals, inks, (loss.acts, loss.reject)))
    if len(names) != 2:
        return ""
    odds = posterior.log_probabilities[:, 1] - posterior.log_probabilities[:, 0]
    with np.errstate(invalid="ignore"):
        slope = (odds[-1] - odds[0]) / (x[-1] - x[0])
        start = odds[0] - slope * x[0]
        is_linear = np.abs(odds - start - slope * x).max() <= 1e-6 * np.abs(odds).max()
    sign = "+" if start >= 0 else "\N{MINUS SIGN}"
    return f"\n{names[1]} = sigmoid({slope:.3g} x {sign} {abs(start):.3g})" if is_linear else ""


def _draw_rows(ax: Any, points: F64, truth: Any, inks: dict[Label, str]) -> None:
    """Draw rows in the colours of their classes; of one feature, as marks below the curves."""
    labels = np.zeros(len(points)) if truth is None else truth
    groups = [np.flatnonzero(labels == label) for label in dict.fromkeys(labels.tolist())]
    groups.sort(key=len, reverse=True)  # the rarest on top
    most = [max(_FEWEST, _MOST_ROWS * len(each) // len(points)) for each in groups]
    thinned = [each[:: -(-len(each) // n)] for each, n in zip(groups, most, strict=True)]
    kept = np.concatenate(thinned)
    hues = GREY if truth is None else [inks.get(k, "black") for k in truth[kept].tolist()]
    points = points[kept]
    heights = np.full(len(points), -0.04) if points.shape[1] == 1 else points[:, 1]
    mark = "|" if points.shape[1] == 1 else "o"
    edge = {} if mark == "|" else {"edgecolors": "white", "linewidths": 0.4}
    ax.scatter(points[:, 0], heights, s=18, c=hues, marker=mark, zorder=3, **edge)


def _name_classes(
    ax: Any, model: Any, chosen: list[int], points: F64, truth: Any, inks: dict[Label, str]
) -> None:
    """Name classes at the middle of their rows, Gaussian ones at their ellipses."""
    is_drawn = isinstance(model, GaussianDensities) and model._projection is None  # noqa: SLF001
    if not is_drawn or model.constant_features_.any():
        for label in [] if truth is None else model.classes_.tolist():
            if (truth == label).any():
                middle = np.nanmedian(points[truth == label], axis=0)
                write(ax, middle, name_of(label), inks[label], **_CENTRED)
        return
    gaussians = model._model  # noqa: SLF001 - of the library
    named: list[tuple[float, float]] = []
    room, high = np.ptp([ax.get_xlim(), ax.get_ylim()], axis=1), ax.get_ylim()[1]
    for k, label in enumerate(getattr(model, "component_classes_", model.classes_).tolist()):
        mean = gaussians.means[k, chosen]
        spread = gaussians.covariance_of(k)[np.ix_(chosen, chosen)]
        values, vectors = np.linalg.eigh(spread)
        angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
        for times in (1, 2):
            width, height = 2 * times * np.sqrt(values[::-1])
            style = {"facecolor": "none", "edgecolor": inks[label], "linewidth": 1.4, "zorder": 4}
            ax.add_patch(Ellipse(mean, width, height, angle=angle, **style))
        up = 2 * spread[:, 1] / np.sqrt(spread[1, 1])  # from the mean to the top of the ellipse
        is_taken = any((np.abs(mean + up - place) < 0.12 * room).all() for place in named)
        x, y = mean - up if is_taken else mean + up
        below: dict[str, Any] = {"va": "top", "xytext": (0, -3)} if is_taken else {}
        named.append((x, min(y, high - 0.05 * room[1])))
        write(ax, named[-1], name_of(label), inks[label], **below)
