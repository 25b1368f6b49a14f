"""Figures of Credo's results; needs the ``plots`` extra.

Every result with a ``plot`` method is drawn here: ``result.plot()`` is ``draw(result)``. Each
module registers the figures of its results with ``draw``.
"""

from credo.plots import calibration, curves, evaluation, regions
from credo.plots._draw import draw

__all__ = ["calibration", "curves", "draw", "evaluation", "regions"]
