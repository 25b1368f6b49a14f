"""Classifiers as pictures over one feature or two: acts, boundaries, ellipses and rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colors, pyplot as plt
from matplotlib.patches import Ellipse

from credo import _checks as check
from credo._types import F64, Label
from credo.classifiers import GaussianClassifier, MixtureClassifier
from credo.columns import kind_of, rebuilt
from credo.decisions import Loss, decide
from credo.exceptions import InputError, ShapeError
from credo.plots.figures import COLOURS, GREY, axes_for, name_of, one_line

#: Points along each axis of a plane, and along a line.
_SIDE, _POINTS = 240, 800
#: Rows that are drawn as points, evenly taken from all.
_MOST_ROWS = 1000


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
    names = list(getattr(model, "feature_names_in_", range(model.n_features_in_)))
    chosen = _positions(model, names, features, owner)
    points = np.stack([_column(X, names[j], j) for j in chosen], axis=1)
    loss = Loss.zero_one(model.classes_.tolist()) if loss is None else loss
    truth = None if y is None else np.asarray(y)
    if truth is not None and truth.shape != points.shape[:1]:
        raise ShapeError(
            f"{owner} needs a label for each of {len(points)} rows. Got {truth.shape}."
        )
    rows = None if truth is None else check.positions(truth, loss.truths, "label", owner)
    ax = axes_for(ax, (6.4, 4.8))
    inks = _inks(model, loss)

    def answers(places: F64) -> Any:
        full = np.full((len(places), len(names)), np.nan)
        full[:, chosen] = places
        columns = names if hasattr(model, "feature_names_in_") else range(len(names))
        return model.posterior(rebuilt(list(full.T), columns, kind_of(X)))

    (_draw_line if len(chosen) == 1 else _draw_plane)(ax, answers, points, loss, inks)
    step = max(1, -(-len(points) // _MOST_ROWS))
    _draw_rows(ax, points[::step], None if truth is None else truth[::step], inks)
    is_drawn = isinstance(model, GaussianClassifier | MixtureClassifier) and model.subspace is None
    if is_drawn and len(chosen) == 2 and not model.constant_features_.any():
        _draw_ellipses(ax, model, chosen, inks)
    elif truth is not None and len(chosen) == 2:
        for label in [each for each in model.classes_.tolist() if (truth == each).any()]:
            _write(ax, np.nanmedian(points[truth == label], axis=0), label, inks[label])
    for write, j in zip((ax.set_xlabel, ax.set_ylabel), chosen, strict=False):
        write(_named(names[j]))
    told = f"{one_line(repr(model).split(' with ')[0], 48)}\nn = {len(points):,}"
    if rows is not None:
        losses = loss.matrix[rows, decide(answers(points), loss).act_index]
        told += f", mean loss {float(losses.mean()):.3g}"
    ax.set_title(told, fontsize="medium")
    return ax


def compare(
    models: Sequence[Any], X: Any, y: Any = None, *, loss: Loss | None = None, features: Any = None
) -> Any:
    """Draw fitted classifiers side by side, over the same rows.

    Parameters
    ----------
    models : sequence of fitted classifiers
        Each with a ``plot`` method.
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
    if not len(models):
        raise InputError("compare needs at least one classifier. Got none.")
    size = (4.6 * len(models), 4.2)
    axes = plt.subplots(1, len(models), figsize=size, layout="constrained", squeeze=False)[1][0]
    for model, ax in zip(models, axes, strict=True):
        model.plot(X, y, loss=loss, features=features, ax=ax)
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


def _inks(model: Any, loss: Loss) -> dict[Label, str]:
    """Return a colour for each class and act: the same for one name, grey for rejecting."""
    names = [*model.classes_.tolist(), *(a for a in loss.acts if a != loss.reject)]
    inks = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(dict.fromkeys(names))}
    return inks if loss.reject is None else inks | {loss.reject: GREY}


def _named(name: Any) -> str:
    """Write the name of a feature."""
    return f"x{name}" if isinstance(name, int) else name_of(name)


def _ends(values: F64) -> tuple[float, float]:
    """Return the range of an axis: that of the rows, and a little more."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = 0.08 * (high - low) or 1.0
    return low - room, high + room


def _draw_plane(ax: Any, answers: Any, points: F64, loss: Loss, inks: dict[Label, str]) -> None:
    """Shade the acts over two features, with smooth lines between them."""
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
    ax.set(xlim=ends[0], ylim=ends[1])


def _draw_line(ax: Any, answers: Any, points: F64, loss: Loss, inks: dict[Label, str]) -> None:
    """Draw posteriors over one feature, and shade the acts."""
    x = np.linspace(*_ends(points[:, 0]), _POINTS)
    posterior = answers(x[:, None])
    best = np.asarray(decide(posterior, loss).act_index)
    starts = np.flatnonzero(np.r_[True, np.diff(best) != 0])
    stops = np.r_[starts[1:], len(x) - 1]
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        act = loss.acts[best[start]]
        style = {"facecolor": inks[act], "alpha": 0.16}
        if act == loss.reject:
            style = {"facecolor": "none", "edgecolor": GREY, "hatch": "///", "alpha": 0.55}
        ax.axvspan(x[start], x[stop], linewidth=0, zorder=0, **style)
    for k, label in enumerate(posterior.labels):
        p = posterior.probabilities[:, k]
        style = {"color": inks[label], "linewidth": 2, "zorder": 3}
        ax.plot(x, p, label=f"p({name_of(label)} | x)", **style)
    ax.set(xlim=(x[0], x[-1]), ylim=(-0.08, 1.08), ylabel="posterior probability")
    ax.legend(frameon=False, fontsize="small")


def _draw_rows(ax: Any, points: F64, truth: Any, inks: dict[Label, str]) -> None:
    """Draw rows in the colours of their classes; of one feature, as marks below the curves."""
    heights = np.full(len(points), -0.04) if points.shape[1] == 1 else points[:, 1]
    hues: Any = GREY
    if truth is not None:
        hues = [inks.get(label, "black") for label in truth.tolist()]
    mark = "|" if points.shape[1] == 1 else "o"
    edge = {} if mark == "|" else {"edgecolors": "white", "linewidths": 0.4}
    ax.scatter(points[:, 0], heights, s=18, c=hues, marker=mark, zorder=3, **edge)


def _draw_ellipses(ax: Any, model: Any, chosen: list[int], inks: dict[Label, str]) -> None:
    """Draw one and two standard deviations round each mean, of classes or components, named."""
    gaussians = model._model  # noqa: SLF001 - of the library
    for k, label in enumerate(getattr(model, "component_classes_", model.classes_).tolist()):
        mean = gaussians.means[k, chosen]
        spread = gaussians.covariance_of(k)[np.ix_(chosen, chosen)]
        values, vectors = np.linalg.eigh(spread)
        angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
        for times in (1, 2):
            width, height = 2 * times * np.sqrt(values[::-1])
            style = {"facecolor": "none", "edgecolor": inks[label], "linewidth": 1.4, "zorder": 4}
            ax.add_patch(Ellipse(mean, width, height, angle=angle, **style))
        _write(ax, mean, label, inks[label])


def _write(ax: Any, place: F64, label: Label, ink: str) -> None:
    """Write the name of a class."""
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 1.5}
    style = {"color": ink, "ha": "center", "va": "center", "zorder": 5, "bbox": box}
    ax.text(*place, name_of(label), **style)
