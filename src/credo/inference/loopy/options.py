"""How messages are to be passed, checked at the door."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from credo._types import F64
from credo._validation.arrays import as_floats, as_number, positive_int
from credo._validation.labels import one_of
from credo.exceptions import InputError
from credo.inference._approximation import Callback

Schedule: TypeAlias = Literal["auto", "flooding", "sequential", "residual", "random", "tree"]
SCHEDULES = ("auto", "flooding", "sequential", "residual", "random", "tree")


@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """Checked settings of a run; ``eta`` is the share of the new message."""

    schedule: str
    eta: float
    is_adaptive: bool
    in_logs: bool
    temperature: float
    sweeps: int
    tolerance: float
    dtype: Any
    threads: int
    seed: int
    callback: Callback | None

    @property
    def maximum(self) -> bool:
        """Whether the others are maximised out, in place of summed."""
        return self.temperature == 0.0


def check(  # noqa: PLR0913 - one parameter per setting
    *,
    schedule: str,
    momentum: float | str,
    domain: str,
    temperature: float,
    sweeps: int,
    tolerance: float | None,
    dtype: Any,
    threads: int,
    seed: int,
    callback: Callback | None,
) -> Options:
    """Check the settings of loopy belief propagation."""
    one_of(schedule, SCHEDULES, "Loopy belief propagation", "schedule")
    one_of(domain, ("linear", "log"), "Loopy belief propagation", "domain")
    who = "Loopy belief propagation"
    number = _number(dtype, who)
    adaptive = isinstance(momentum, str)
    if adaptive:
        one_of(momentum, ("adaptive",), who, "momentum")
    eta = 1.0 if isinstance(momentum, str) else as_number(momentum, who, "momentum")
    if not 0.0 < eta <= 1.0:
        raise InputError(
            f"The momentum of {who} is the share of the new message, above 0 and at most 1, or "
            f"'adaptive'. Got {momentum!r}."
        )
    heat = as_number(temperature, who, "temperature")
    if not 0.0 <= heat < np.inf:
        raise InputError(
            f"The temperature of {who} must be at least 0: 1 sums, 0 maximises. Got {temperature}."
        )
    if callback is not None and not callable(callback):
        raise InputError(f"The callback of {who} must be a function of sweep and residual.")
    return Options(
        schedule=schedule,
        eta=eta,
        is_adaptive=adaptive,
        in_logs=domain == "log",
        temperature=heat,
        sweeps=positive_int(sweeps, who, "sweeps"),
        tolerance=_tolerance(tolerance, number, who),
        dtype=number,
        threads=positive_int(threads, who, "threads"),
        seed=positive_int(seed, who, "seed", least=0),
        callback=callback,
    )


def _number(dtype: Any, who: str) -> np.dtype[Any]:
    """Give the type of number to compute with."""
    for known in (np.float64, np.float32):
        if dtype in (known, known.__name__, np.dtype(known)):
            return np.dtype(known)
    raise InputError(f"The dtype of {who} must be 'float64' or 'float32'. Got {dtype!r}.")


def _tolerance(given: float | None, dtype: np.dtype[Any], who: str) -> float:
    """Give the residual to stop at: by default well above rounding."""
    if given is None:
        return 1e-8 if dtype == np.float64 else 2e-6
    tolerance = as_number(given, who, "tolerance")
    if tolerance < 0:
        raise InputError(f"The tolerance of {who} must be at least 0. Got {given}.")
    return tolerance


def as_counting(given: Any, scopes: Any, who: str = "Loopy belief propagation") -> F64 | None:
    """Check counting numbers: one for all factors, or one for each; None for one everywhere."""
    if given is None:
        return None
    numbers = as_floats(given, who, "counting numbers")
    if numbers.ndim == 0:
        numbers = np.full(len(scopes), float(numbers))
    bad = numbers[~(np.isfinite(numbers) & (numbers > 0))]
    if numbers.shape != (len(scopes),) or bad.size:
        got = f"{bad[0]:.4g}" if bad.size else f"shape {numbers.shape}"
        raise InputError(
            f"The counting numbers of {who} must be one positive number, or one for each of the "
            f"{len(scopes)} factors of two variables or more. Got {got}."
        )
    return numbers
