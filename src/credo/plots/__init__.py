"""Figures of Credo's results; needs the ``plots`` extra.

Every result with a ``plot`` method is drawn here: ``result.plot()`` is ``draw(result)``.
"""

from credo.plots._draw import draw

__all__ = ["draw"]
