"""The one decorator every compiled kernel wears, and whether it compiles."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

#: Sums may be reordered and fused; NaN and infinity keep their meaning.
_FASTMATH = {"nsz", "contract", "reassoc"}
#: Compiled code is kept beside the source, or in the user's cache where that is read-only.
_CACHE = os.environ.get("CREDO_KERNEL_CACHE", "1") == "1"


def use_compiler(*, wanted: bool) -> None:
    """Choose whether kernels are compiled from now on; those already loaded are forgotten.

    Plain Python is for a short-lived process with a small job, which it finishes before Numba
    would have been imported. ``CREDO_KERNELS=python`` asks for it from outside.
    """
    global njit  # noqa: PLW0603 - one switch for the process
    njit = _compiler() if wanted else None
    room = __name__.rpartition(".")[0]
    for name in [name for name in sys.modules if name.startswith(f"{room}.")]:
        if name != __name__:
            del sys.modules[name]
            vars(sys.modules[room]).pop(name.rpartition(".")[2], None)


def _compiler() -> Any:
    """Give Numba's compiler, or None in a browser."""
    try:
        from numba import njit as compiler  # noqa: PLC0415 - takes half a second
    except ImportError:
        return None
    return compiler


#: Numba's compiler, or None where kernels run as plain Python.
njit = None if os.environ.get("CREDO_KERNELS") == "python" else _compiler()


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` with the house flags; nothing else in credo calls Numba."""
    return _compiled(function, fastmath=_FASTMATH)


def strict_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` operation by operation, as IEEE 754 has them.

    Nothing is fused or reordered, so that a number comes out with the same bits wherever it stands
    in an array: in the middle of a vector or in what is left over at its end.
    """
    return _compiled(function, fastmath=False)


def _compiled(function: Callable[P, R], *, fastmath: Any) -> Callable[P, R]:
    """Compile ``function``, or leave it as it is where there is no compiler."""
    if njit is None:
        return function
    compiled: Any = njit(cache=_CACHE, fastmath=fastmath, error_model="numpy", nogil=True)
    result: Callable[P, R] = compiled(function)
    return result
