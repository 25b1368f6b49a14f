"""Images and maps of labels side by side: restorations, segmentations, beliefs on grids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from matplotlib import colors
from matplotlib.patches import Patch

from credo._results import duration
from credo._types import F64, Labels
from credo.exceptions import InputError
from credo.images import Restoration, Segmentation
from credo.inference import GridPosterior
from credo.inference.grids.engine import Picture, sweep_numbers
from credo.plots.figures import COLOURS, GREY, MOST_INCHES, axes_for, draw, inks_of, name_of

#: What stands below a picture, and its colours, (height, width, 3) between 0 and 1.
Panel: TypeAlias = tuple[str, F64]

#: Of more labels the beliefs in each are too many to show unasked.
_MOST_BELIEFS = 4


@draw.register
def _(result: Restoration, ax: Any = None, *, truth: Any = None, sweeps: Any = ()) -> Any:
    """Draw the noisy image, the restored one, and where a channel is unsure.

    Also the image after some numbers of ``sweeps``, and the ``truth``, with U(x), error and time.
    """
    sweeps = sweep_numbers(sweeps, "plot")
    pictures = result.pictures(truth, sweeps)
    panels = panels_of(result, pictures, bare=truth is None and not sweeps)
    sure = pictures["restored"].confidence
    if sure is not None:
        panels.append(sureness(result, sure, sure.max()))
    return _draw_row(panels, ax)


@draw.register
def _(
    result: GridPosterior,
    ax: Any = None,
    *,
    truth: Any = None,
    sweeps: Any = (),
    labels: Any = None,
) -> Any:
    """Draw the most probable labels, the beliefs in ``labels``, and where the largest is small.

    By default the belief in the second of two labels, or in each of at most four.
    """
    names = result.posterior.labels
    if labels is None:
        labels = names[1:] if len(names) == 2 else names if len(names) <= _MOST_BELIEFS else ()
    panels = panels_of(result, result.pictures(truth, sweeps))
    for label in labels:
        belief = result.posterior.of(label)[..., np.newaxis]
        ink = _palette(names)[names.index(label)]
        shown = 1 - belief * (1 - ink) if _are_classes(names) else belief * np.ones(3)
        panels.append((f"belief in {name_of(label)}", shown))
    sure = result.posterior.confidence
    return _draw_row([*panels, sureness(result, sure, sure.max())], ax, names)


@draw.register
def _(result: Segmentation, ax: Any = None) -> Any:
    """Draw the labels before smoothing, those after it, and where they are unsure."""
    names, sure = result.posterior.labels, result.posterior.confidence
    before = Picture(result.before, result.field.energy(result.before))
    smoothed = Picture(result.labels, result.field.energy(result.labels), marked=result.rejected)
    pictures = {"before": before, "smoothed": smoothed}
    panels = [*panels_of(result, pictures, bare=True), sureness(result, sure, sure.max())]
    return _draw_row(panels, ax, names)


def panels_of(
    result: Restoration | GridPosterior | Segmentation,
    pictures: dict[str, Picture],
    *,
    bare: bool = False,
) -> list[Panel]:
    """Return pictures of a result in colours, with what is known of each below, unless bare."""
    found = []
    for name, each in pictures.items():
        inks, lines = _inks(result, each.image), [name]
        if not bare:
            lines.append(f"U {each.energy:,.0f}")
            lines += [] if each.error is None else [f"error {each.error:.3g}"]
            lines += [] if each.seconds is None else [duration(each.seconds)]
        if each.marked is not None and each.marked.any():
            ink, word = _mark(result, name)
            inks[each.marked] = colors.to_rgb(ink)
            lines.append(word)
        found.append(("\n".join(lines), inks))
    return found


def _mark(result: Any, name: str) -> tuple[str, str]:
    """Return the colour of marked pixels, one that the picture has not, and what it means."""
    if name == "noisy":
        return COLOURS[5], "blue: not observed"
    if isinstance(result, Restoration) or not _are_classes(result.posterior.labels):
        return COLOURS[1], "orange: rejected"
    return GREY, "grey: rejected"


def _inks(result: Any, image: Any) -> F64:
    """Return the colours of an image, black and white being the same in all of a restoration."""
    if isinstance(result, Restoration):
        levels = np.array([channel.field.labels for channel in result.channels], np.float64)
        low, high = levels.min(), levels.max()
        values = image[..., : len(levels)] if image.ndim > 2 else image[..., np.newaxis]
        shades = np.clip((values.astype(np.float64) - low) / (high - low), 0.0, 1.0)
        return np.array(np.broadcast_to(shades, (*image.shape[:2], 3)))
    names = result.posterior.labels
    places = {label: k for k, label in enumerate(names)}
    if image.ndim != 2:
        raise InputError(
            f"Only pictures of two dimensions are drawn. Got shape {image.shape}; draw a "
            "slice of it with imshow."
        )
    inks: F64 = _palette(names)[np.vectorize(places.__getitem__)(image)]
    return inks


def _are_classes(labels: Labels) -> bool:
    """Tell whether labels are classes, each with a colour, rather than levels."""
    return len(labels) <= len(COLOURS) and any(isinstance(label, str) for label in labels)


def _palette(labels: Labels) -> F64:
    """Return the colour of each label: its own of a class, of others a shade by its position."""
    if _are_classes(labels):
        return np.array([colors.to_rgb(inks_of(labels)[each]) for each in labels])
    return np.repeat(np.linspace(0.0, 1.0, len(labels))[:, np.newaxis], 3, axis=1)


def sureness(result: Any, confidence: Any, top: float) -> Panel:
    """Return a panel from black, where all labels are alike, to white, as sure as ``top``."""
    field = result.channels[0].field if isinstance(result, Restoration) else result.field
    least = 1 / field.n_labels
    shade = (np.asarray(confidence) - least) / ((float(top) - least) or 1.0)
    return "dark: unsure", np.repeat(shade[..., np.newaxis], 3, axis=-1)


def _draw_row(panels: Iterable[Panel], ax: Any, labels: Labels = ()) -> Any:
    """Draw pictures side by side, and above them which colour is which class."""
    names, pictures = zip(*panels, strict=True)
    height, width = pictures[0].shape[:2]
    inches = min(2.6, MOST_INCHES * width / height)
    lines = max(name.count("\n") for name in names) + 2 * _are_classes(labels)
    ax = axes_for(ax, (inches * len(names), inches * height / width + 0.45 + 0.17 * lines))
    gap = np.ones((height, max(1, width // 32), 3))
    inks = np.hstack([part for each in pictures for part in (each, gap)][:-1])
    ax.imshow(inks, interpolation="nearest")
    start = width + gap.shape[1]
    ax.set_xticks([width / 2 + i * start for i in range(len(names))], names)
    ax.set_yticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if _are_classes(labels):
        patches = [Patch(color=inks_of(labels)[each], label=name_of(each)) for each in labels]
        above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": len(labels)}
        ax.legend(handles=patches, frameon=False, **above)
    return ax
