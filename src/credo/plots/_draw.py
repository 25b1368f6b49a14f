"""``draw``: one door for all figures, opened by the type of the result."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from credo.exceptions import InputError, MissingExtraError

#: Okabe and Ito's eight colours, told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
#: What is not a class of its own: reference lines, the reject band.
GREY = "#8C8C8C"


@singledispatch
def draw(result: Any, ax: Any = None, **options: Any) -> Any:  # noqa: ARG001
    """Draw a result on ``ax``, or on a new figure, and return the axes.

    Parameters
    ----------
    result
        Any result of Credo that has a ``plot`` method.
    ax
        Matplotlib axes; a new figure by default.
    **options
        Options of the result's own drawing function.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.
    """
    raise InputError(f"credo.plots has no figure for {type(result).__name__}.")


def axes_for(ax: Any, size: tuple[float, float] = (6.4, 4.0)) -> Any:
    """Give ``ax``, or the axes of a new figure with a plain style."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415 - an extra, loaded when something is drawn
    except ImportError as error:
        raise MissingExtraError(
            "Figures need Matplotlib. Install the extra: pip install 'credo[plots]'."
        ) from error
    _, new = plt.subplots(figsize=size, layout="constrained")
    new.spines[["top", "right"]].set_visible(False)
    return new
