"""What an approximate engine gives: beliefs, and how far they may be trusted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.inference._beliefs import Beliefs

#: How a run ended. ``SAMPLED``: a fixed number of draws was made.
Status: TypeAlias = Literal["EXACT", "CONVERGED", "MAX_SWEEPS", "OSCILLATING", "SAMPLED"]
#: What is known about a value of log Z.
Kind: TypeAlias = Literal["EXACT", "ESTIMATE", "LOWER_BOUND", "UPPER_BOUND"]
#: Called after each sweep with its number, from one, and its residual.
Callback: TypeAlias = Callable[[int, float], None]


@dataclass(frozen=True, slots=True, eq=False)
class Approximation:
    """The outcome of an approximate engine on a problem."""

    beliefs: Beliefs  #: marginals of the free variables
    status: Status
    log_z: float  #: not to be read if ``find_log_z`` is there
    log_z_is: Kind
    residuals: F64 = field(default_factory=lambda: np.empty(0))  #: one per sweep, in order
    updates: int = 0  #: messages, or coordinates, that were computed
    period: int = 0  #: sweeps after which an oscillating run is back where it was
    find_log_z: Callable[[], float] | None = None  #: finds it, where that takes time
    joints: Callable[[npt.NDArray[np.int64]], F64 | None] | None = None
    #: gives the joint belief of some free variables of the wiring, one axis for each in their
    #: order; None if no region holds them all
    reader: Any = None  #: gives messages, where there are any
    details: Mapping[str, Any] = field(default_factory=dict)  #: whatever else the engine tells
