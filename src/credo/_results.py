"""What results have in common: they do not change, are saved and drawn by rooms above them."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, NoReturn, Self


class Immutable:
    """Refuses new values for its attributes; ``_set`` is for whoever makes the object."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"A {type(self).__name__} does not change; {name!r} cannot be set.")

    def _set(self, **values: Any) -> Self:
        """Set attributes of an object that is being made, and return it."""
        for name, value in values.items():
            object.__setattr__(self, name, value)
        return self


class Storable:
    """Gives a model its ``save`` method; the format itself lives in ``credo.storage``."""

    __slots__ = ()

    def save(self, path: str | os.PathLike[str], *, summary: bool = True) -> None:
        """Save this model to a file that is safe to open, for ``credo.load``.

        Parameters
        ----------
        path : path
            The file. It is there whole, or as it was before.
        summary : bool
            Keep what ``partial_fit`` and ``merge`` continue from, if the model has such.
        """
        import_module("credo.storage").save(self, path, summary=summary)


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
