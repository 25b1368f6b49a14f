"""Figures of Credo's results; needs the ``plots`` extra.

Every result with a ``plot`` method is drawn here: ``result.plot()`` is ``draw(result)``.
"""

import credo.plots.calibration
import credo.plots.curves
import credo.plots.evaluation
import credo.plots.images
import credo.plots.learning
import credo.plots.networks
import credo.plots.regions  # noqa: F401 - each of the eight registers its figures with draw
from credo.plots._draw import draw
from credo.plots.report import write_report

__all__ = ["draw", "write_report"]
