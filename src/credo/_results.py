"""What results have in common: they do not change, are saved and drawn by rooms above them."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, NoReturn, Self

import numpy as np


class Immutable:
    """Refuses new values for its attributes; ``_set`` and ``_of`` are for whoever makes it."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"A {type(self).__name__} does not change; {name!r} cannot be set.")

    def _set(self, **values: Any) -> Self:
        """Set attributes of an object that is being made, arrays read-only, and return it."""
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)
        return self

    @classmethod
    def _of(cls, **values: Any) -> Self:
        """Return an object of parts that are known to be right, unchecked."""
        return cls.__new__(cls)._set(**values)  # noqa: SLF001 - a new object of this very class

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        self._set(**state[1])  # an object without a __dict__ is copied and pickled by its slots


class Storable:
    """Adds the ``save`` method to a model; the format itself lives in ``credo.storage``."""

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
    """Adds the ``plot`` method to a result; the drawing itself lives in ``credo.plots``."""

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
