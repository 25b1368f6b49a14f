"""Figures of images: what was seen, what was restored or decided, and how sure it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from credo.exceptions import InputError
from credo.images import Restoration, Segmentation
from credo.plots._draw import COLOURS, axes_for, draw

Picture = npt.NDArray[np.float64]


@draw.register
def draw_restoration(result: Restoration, ax: Any = None) -> Any:
    """Draw the noisy image, the restored one, and how unsure each pixel is, side by side.

    Parameters
    ----------
    result
        The restoration; of a colour image the first channel is drawn.
    ax
        Matplotlib axes; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.
    """
    channel = result.channels[0]
    panels = [("noisy", _greys(channel.seen)), ("restored", _greys(channel.values))]
    if channel.posterior is not None:
        panels.append(("unsure", 1.0 - _unsure(channel.posterior.confidence, channel.field)))
    return _row(panels, result.rejected, ax)


@draw.register
def draw_segmentation(result: Segmentation, ax: Any = None) -> Any:
    """Draw the labels before smoothing, those after it, and how unsure each pixel is.

    Parameters
    ----------
    result
        The segmentation of a picture.
    ax
        Matplotlib axes; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.
    """
    names = list(result.posterior.labels)
    first, second = (
        _greys(np.vectorize(names.index)(labels)) for labels in (result.before, result.labels)
    )
    unsure = 1.0 - _unsure(result.posterior.confidence, result.field)
    panels = [("before", first), ("smoothed", second), ("unsure", unsure)]
    return _row(panels, result.rejected, ax)


def _greys(values: Any) -> Picture:
    """Bring values between black and white."""
    plane = np.asarray(values, dtype=np.float64)
    low, high = float(plane.min()), float(plane.max())
    return (plane - low) / (high - low) if high > low else np.full(plane.shape, 1.0 * (high > 0))


def _unsure(confidence: Any, field: Any) -> Picture:
    """Give 0 where one label is certain and 1 where all are alike."""
    alike = 1.0 / field.n_labels
    return np.asarray((1.0 - confidence) / (1.0 - alike) if alike < 1.0 else 0.0 * confidence)


def _row(panels: list[tuple[str, Picture]], rejected: Any, ax: Any) -> Any:
    """Draw pictures side by side; rejected pixels of the second one are coloured."""
    if panels[0][1].ndim != 2:
        raise InputError(
            f"Only pictures of two dimensions are drawn. Got shape {panels[0][1].shape}; draw a "
            "slice of it with imshow."
        )
    height, width = panels[0][1].shape
    axes = axes_for(ax, (2.6 * len(panels), 2.6 * height / width + 0.5))
    gap = np.ones((height, max(1, width // 32)))
    shown = [part for _, panel in panels for part in (panel, gap)][:-1]
    picture = np.repeat(np.hstack(shown)[..., np.newaxis], 3, axis=2)
    start = width + gap.shape[1]
    colour = [int(COLOURS[1][i : i + 2], 16) / 255 for i in (1, 3, 5)]
    picture[:, start : start + width][rejected] = colour
    axes.imshow(picture, interpolation="nearest")
    axes.set_xticks(
        [width / 2 + i * start for i in range(len(panels))], [name for name, _ in panels]
    )
    axes.set_yticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return axes
