"""Figures of Credo's results and the report; needs the ``plots`` extra.

Every result with a ``plot`` method is drawn here: ``result.plot()`` is ``draw(result)``.
"""

from credo.exceptions import MissingExtraError

try:
    import credo.plots.line
    import credo.plots.networks
    import credo.plots.pictures  # noqa: F401 - their figures register with draw
    from credo.plots.densities import histogram, likelihood
    from credo.plots.figures import draw
    from credo.plots.planes import compare
    from credo.plots.report import write_report
except ModuleNotFoundError as error:
    raise MissingExtraError(
        "Figures need Matplotlib, and reports Jinja2 too. Install the extra: "
        "pip install 'credo[plots]'."
    ) from error

__all__ = ["compare", "draw", "histogram", "likelihood", "write_report"]
