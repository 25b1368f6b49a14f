"""``GridPosterior``: what message passing on a grid field has found."""

from __future__ import annotations

from typing import Any, Literal, final

import numpy.typing as npt

from credo._types import F64
from credo._validation.arrays import frozen
from credo.graphs import GridField
from credo.posterior import PosteriorMap


@final
class GridPosterior:
    """Hold the beliefs of every pixel of a field, and how they were found.

    Made by :func:`credo.infer_grid`.

    Attributes
    ----------
    field : GridField
        The field.
    posterior : PosteriorMap
        The belief of every pixel; of ``"max-product"`` the max-marginals divided by their sum.
    status : str
        ``"CONVERGED"`` if a tolerance was given and met; otherwise ``"MAX_SWEEPS"``. Convergence is
        no promise of accuracy.
    residuals : ndarray
        Largest change of a message in each sweep, before it was mixed with the old one: of a
        probability, or for max-product with more than two labels, of a log. With 8 neighbours,
        ``"sweep"`` sends diagonal messages twice, and what counts is where they end. Empty if
        neither a tolerance nor a callback was given.
    sweeps : int
        How many sweeps were made.

    See Also
    --------
    credo.infer_grid : Makes one.

    Examples
    --------
    >>> from credo.graphs import GridField
    >>> from credo.inference import infer_grid
    >>> found = infer_grid(GridField.ising([[1.0, -0.2]], coupling=0.5), tolerance=1e-9)
    >>> found.status, found.best.tolist()
    ('CONVERGED', [[1, 1]])
    """

    def __init__(
        self,
        field: GridField,
        posterior: PosteriorMap,
        residuals: F64,
        sweeps: int,
        *,
        is_converged: bool,
    ) -> None:
        self.field = field
        self.posterior = posterior
        self.status: Literal["CONVERGED", "MAX_SWEEPS"] = (
            "CONVERGED" if is_converged else "MAX_SWEEPS"
        )
        self.residuals: F64 = frozen(residuals)
        self.sweeps = sweeps

    @property
    def best(self) -> npt.NDArray[Any]:
        """The most probable label of every pixel."""
        return self.posterior.best

    @property
    def energy(self) -> float:
        """The energy U of ``best``, which is larger for better pictures."""
        return self.field.energy(self.best)

    def __repr__(self) -> str:
        pixels = "x".join(str(n) for n in self.field.shape)
        return f"<GridPosterior: {pixels} pixels, {self.sweeps} sweeps, {self.status}>"
