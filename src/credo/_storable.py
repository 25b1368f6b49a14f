"""Models that can be saved: the one place where a lower room asks ``storage`` for help."""

from __future__ import annotations

import os
from importlib import import_module


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
