"""Factors: tables over variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from credo._types import F64, Label
from credo._validation.labels import listing
from credo.graphs.variables import Variable


@final
@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    r"""Hold a table of potentials over variables, one axis each.

    .. math:: \psi(x) = \text{values}(x) \, e^{\text{log\_scale}}

    Made by ``factor``, ``cpt``, ``node`` or ``edge`` of a model. Two factors are never equal:
    each counts.

    Attributes
    ----------
    variables : tuple of Variable
        The variables, in the order of the axes.
    values : ndarray
        Potentials up to their common scale; read-only.
    log_scale : float
        Log of the scale; zero unless the table was given in logs.
    log_values : ndarray or None
        Logs of ``values``, kept if their range is too wide for ``values``.
    name : Hashable or None
        A name for people.
    child : Variable or None
        The variable whose conditional probability this is; it is on the last axis.

    See Also
    --------
    FactorGraph : Made of these.

    Examples
    --------
    >>> from credo.graphs import FactorGraph
    >>> graph = FactorGraph()
    >>> rain = graph.variable("rain", ["no", "yes"])
    >>> graph.factor([rain], {"yes": 0.2, "no": 0.8}).table
    array([0.8, 0.2])
    """

    variables: tuple[Variable, ...]
    values: F64
    log_scale: float = 0.0
    log_values: F64 | None = None
    name: Label | None = None
    child: Variable | None = None

    @property
    def table(self) -> F64:
        """Give the potentials; infinite or zero where float64 cannot hold them."""
        if not self.log_scale and self.log_values is None:
            return self.values
        with np.errstate(over="ignore", under="ignore"):
            result: F64 = np.exp(self.log_table)
        return result

    @property
    def log_table(self) -> F64:
        """Give the logs of the potentials; minus infinity for zero."""
        if self.log_values is not None:
            return self.log_values + self.log_scale
        with np.errstate(divide="ignore"):
            result: F64 = np.log(self.values) + self.log_scale
        return result

    def __repr__(self) -> str:
        kind = "Factor" if self.child is None else f"CPT of {self.child.name!r}"
        label = "" if self.name is None else f" {self.name!r}"
        over = listing([variable.name for variable in self.variables])
        return f"<{kind}{label} over {over}, {self.values.size} cells>"
