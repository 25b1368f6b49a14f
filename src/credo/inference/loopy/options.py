"""How messages are to be passed, checked at the door."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo._types import F64
from credo._validation.arrays import as_floats, as_number, positive_int
from credo._validation.labels import one_of
from credo.exceptions import InputError
from credo.inference.question import Callback

#: Below this, logs over the temperature have too few digits left to be worth anything.
_COLDEST = 1e-9
_WHO = "Loopy belief propagation"
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
    one_of(schedule, SCHEDULES, _WHO, "schedule")
    one_of(domain, ("linear", "log"), _WHO, "domain")
    number = _number(dtype)
    if callback is not None and not callable(callback):
        raise InputError(f"The callback of {_WHO} must be a function of sweep and residual.")
    return Options(
        schedule=schedule,
        eta=_share(momentum),
        is_adaptive=isinstance(momentum, str),
        in_logs=domain == "log",
        temperature=_heat(temperature),
        sweeps=positive_int(sweeps, _WHO, "sweeps"),
        tolerance=_tolerance(tolerance, number),
        dtype=number,
        threads=positive_int(threads, _WHO, "threads"),
        seed=positive_int(seed, _WHO, "seed", least=0),
        callback=callback,
    )


def _share(momentum: float | str) -> float:
    """Give the share of the new message, to begin with."""
    if isinstance(momentum, str):
        one_of(momentum, ("adaptive",), _WHO, "momentum")
        return 1.0
    eta = as_number(momentum, _WHO, "momentum")
    if not 0.0 < eta <= 1.0:
        raise InputError(
            f"The momentum of {_WHO} is the share of the new message, above 0 and at most 1, or "
            f"'adaptive'. Got {momentum!r}."
        )
    return eta


def _heat(temperature: float) -> float:
    """Check a temperature."""
    heat = as_number(temperature, _WHO, "temperature")
    if heat != 0.0 and not _COLDEST <= heat < np.inf:
        raise InputError(
            f"The temperature of {_WHO} must be 0, which maximises, or at least {_COLDEST}; 1 "
            f"sums. Got {temperature}."
        )
    return heat


def _number(dtype: Any) -> np.dtype[Any]:
    """Give the type of number to compute with."""
    for known in (np.float64, np.float32):
        if isinstance(dtype, (str, type, np.dtype)) and dtype in (
            known,
            known.__name__,
            np.dtype(known),
        ):
            return np.dtype(known)
    raise InputError(f"The dtype of {_WHO} must be 'float64' or 'float32'. Got {dtype!r}.")


def _tolerance(given: float | None, dtype: np.dtype[Any]) -> float:
    """Give the residual to stop at: by default well above rounding."""
    if given is None:
        return 1e-8 if dtype == np.float64 else 2e-6
    tolerance = as_number(given, _WHO, "tolerance")
    if tolerance < 0:
        raise InputError(f"The tolerance of {_WHO} must be at least 0. Got {given}.")
    return tolerance


def as_counting(given: Any, n_factors: int) -> F64 | None:
    """Check counting numbers: one for all factors, or one for each; None for one everywhere."""
    if given is None:
        return None
    numbers = as_floats(given, _WHO, "counting numbers")
    if numbers.ndim == 0:
        numbers = np.full(n_factors, float(numbers))
    bad = numbers[~(np.isfinite(numbers) & (numbers > 0))]
    if numbers.shape != (n_factors,) or bad.size:
        got = f"{bad[0]:.4g}" if bad.size else f"shape {numbers.shape}"
        raise InputError(
            f"The counting numbers of {_WHO} must be one positive number, or one for each of the "
            f"{n_factors} factors of the model, in their order. Got {got}."
        )
    return numbers
