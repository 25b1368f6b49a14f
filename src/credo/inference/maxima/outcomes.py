"""What an engine for maxima gives: a configuration, its score, and how good it can get."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64, Bool
from credo.graphs.problems import Problem

Int64: TypeAlias = npt.NDArray[np.int64]

#: How a run ended. ``OPTIMAL``: nothing is better. ``CONVERGED``: the engine makes no more headway.
Ending: TypeAlias = Literal["OPTIMAL", "CONVERGED", "MAX_SWEEPS", "IMPOSSIBLE"]


@dataclass(frozen=True, slots=True, eq=False)
class Maximum:
    """The best configuration that an engine found, and an upper bound on all others."""

    engine: str
    states: Int64  #: of the free variables
    log_score: float  #: the log of the product of all factors, -inf if the states are impossible
    bound: float  #: no configuration has a larger log score; inf where nothing is known
    status: Ending
    sweeps: int = 0
    bounds: F64 = field(default_factory=lambda: np.empty(0))  #: the bound after each sweep
    tied: Bool | None = None  #: marks variables in another state in some best configuration

    @property
    def is_impossible(self) -> bool:
        """Whether it is proven that no configuration is possible."""
        return self.bound == -math.inf


def impossible(problem: Problem, engine: str) -> Maximum:
    """Say that nothing is possible."""
    states = np.zeros(len(problem.variables), np.int64)
    return Maximum(engine, states, -math.inf, -math.inf, "IMPOSSIBLE")


def log_score(problem: Problem, logs: F64, states: Int64) -> float:
    """Add up the logs of the cells that the states choose, with a single rounding error."""
    from credo._kernels.configurations import chosen_logs  # noqa: PLC0415

    chosen = np.empty(len(problem.scope_start) - 1)
    chosen_logs(
        problem.n_states,
        problem.scope_start,
        problem.scope,
        problem.cell_start,
        logs,
        states,
        chosen,
    )
    if chosen.min(initial=0.0) == -np.inf:
        return -math.inf
    return math.fsum((*chosen.tolist(), problem.log_constant))
