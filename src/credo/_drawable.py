"""Results that can be drawn: the one place where a lower room asks ``plots`` for help."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Drawable:
    """Gives a result its ``plot`` method; the drawing itself lives in ``credo.plots``."""

    __slots__ = ()

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw this result with Matplotlib; needs the ``plots`` extra.

        Parameters
        ----------
        ax
            Matplotlib axes to draw on; a new figure by default.
        **options
            Options of the drawing function in ``credo.plots``.

        Returns
        -------
        matplotlib.axes.Axes
            The axes drawn on.
        """
        return import_module("credo.plots").draw(self, ax=ax, **options)
