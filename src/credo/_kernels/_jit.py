"""The one decorator every compiled kernel wears."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

try:
    from numba import njit
except ImportError:  # in a browser: the kernels then run as plain Python
    njit = None

P = ParamSpec("P")
R = TypeVar("R")

#: Sums may be reordered and fused; NaN and infinity keep their meaning.
_FASTMATH = {"nsz", "contract", "reassoc"}
#: Compiled code is kept beside the source, or in the user's cache where that is read-only.
_CACHE = os.environ.get("CREDO_KERNEL_CACHE", "1") == "1"


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` with the house flags; nothing else in credo calls Numba."""
    if njit is None:
        return function
    compiled: Any = njit(cache=_CACHE, fastmath=_FASTMATH, error_model="numpy", nogil=True)
    result: Callable[P, R] = compiled(function)
    return result
