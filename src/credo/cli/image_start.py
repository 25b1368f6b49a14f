"""Starting quickly and quietly: no module that nobody needs here, and no word of a decoder."""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: What Numba looks for when it starts, to see whether it is there: SciPy's linear algebra, which
#: takes 0.2 s, a hundred times as long as restoring a small picture; and a tool of developers.
_OPTIONAL = ("scipy.linalg.cython_blas", "coverage")


@contextmanager
def light_start() -> Iterator[None]:
    """Load modules in the block without those, and without looking for garbage between them.

    Numba does without. It loads linear algebra later if a kernel needs it, which those on grids do
    not.
    """
    absent = [name for name in _OPTIONAL if name not in sys.modules]
    collects = gc.isenabled()
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]  # None: not to be found
    gc.disable()
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]
        if collects:
            gc.enable()


def hush_decoders() -> None:
    """Keep Pillow from writing to the terminal what our own message says in a sentence."""
    logging.getLogger("PIL").addHandler(logging.NullHandler())
