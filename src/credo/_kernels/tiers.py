"""Kernels at two speeds: plain Python while a job is small, compiled as soon as that pays.

Loading Numba takes half a second and compiling a kernel about as long again; a network of a hundred
variables is answered in less by the very same functions, uncompiled. So a kernel starts plain, and
compiles once the work it was given in this process would have paid for compiling: at most about
twice the time of whoever knows the future (the ski-rental rule). Work is counted in array elements,
never by the clock, so that a run can be repeated; the price is the length of the kernel's code, and
next to nothing where compiled code was kept from an earlier time.

Nothing is reordered or fused, so both speeds give the same bits in float64, and nobody can tell
from an answer which one it was. Float32 always compiles: plain Python would compute in float64.

``CREDO_KERNELS=python`` never compiles, ``compiled`` always does, and ``both`` runs every kernel at
both speeds and compares. ``CREDO_KERNEL_CACHE=0`` keeps no compiled code.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from credo.exceptions import CompilingWarning, InputError

#: Seconds of compiling per byte of Python's own code: 284 kernels of 184 kB took 97 s.
_SECONDS = 0.53e-3
#: Seconds that a plain visit of an element takes: measured from 0.1 to 2 µs, mostly about this.
_VISIT = 0.7e-6
#: Elements that all kernels together visit plain before Numba is loaded, which takes 0.6 s.
PAYS = 1_000_000
#: Elements that a kernel visits plain before its kept code is loaded, which takes 20 ms.
_LOADING = 30_000
#: What a call costs plain beside its elements, in elements.
_CALL = 100
#: Seconds of compiling above which it is said.
_LONG = 2.0

#: Values of CREDO_KERNELS; by default kernels compile when that pays.
_WISHES = ("", "python", "compiled", "both")

_lock = threading.RLock()


class Kernel:
    """A function of arrays and numbers that can run plain or compiled.

    Parameters
    ----------
    function
        Valid as plain Python and for Numba.
    visits
        How often a call visits each element of its arrays, about: sweeps do so many times.
    """

    #: Elements that all kernels together have visited in this process.
    total = 0.0

    def __init__(self, function: Any, visits: int = 1) -> None:
        self.function = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.__module__ = function.__module__
        self._visits = visits
        self._done = 0.0
        self._price: float | None = None
        self._plain: Any = None
        self._compiled: Any = None
        self._run: Any = self._choose

    def __call__(self, *arguments: Any) -> Any:
        return self._run(*arguments)

    def _choose(self, *arguments: Any) -> Any:
        """Run at the speed that pays; stay with the compiled function once there is one."""
        wish = os.environ.get("CREDO_KERNELS", "")
        if wish not in _WISHES:
            raise InputError(
                f"CREDO_KERNELS must be one of {', '.join(_WISHES[1:])}. Got {wish!r}."
            )
        if wish == "both":
            return self.compare(*arguments)
        if wish != "python" and (wish == "compiled" or self._pays(arguments)):
            self._run = self.compiled()
            return self._run(*arguments)
        return self.plain()(*arguments)

    def _pays(self, arguments: tuple[Any, ...]) -> bool:
        """Add the work of a call up; tell whether it is time to compile."""
        self.expect(_CALL + sum(array.size for array in _arrays(arguments)))
        if _is_single(arguments):
            return True
        if self._done < _LOADING or Kernel.total < PAYS:
            return False
        if self._price is None:
            self._price = _LOADING if self._is_kept() else _seconds(self) / _VISIT
        return self._done > self._price

    def expect(self, elements: float) -> None:
        """Count elements as visited; said ahead of a long run, it is compiled from the start."""
        self._done += self._visits * elements
        Kernel.total += self._visits * elements

    def _is_kept(self) -> bool:
        """Tell whether compiled code lies beside the source, where Numba puts it if it may."""
        file = Path(self.function.__code__.co_filename)
        start = f"{file.stem}.{self.__name__}-"
        return _KEEPS and any(name.startswith(start) for name in _kept(file.parent))

    def plain(self) -> Any:
        """Return the function as it was written."""
        if self._plain is None:
            self._plain = self._twin(Kernel.plain)
        return self._plain

    def compiled(self) -> Any:
        """Return the compiled function; the plain one where there is no compiler."""
        with _lock:
            if self._compiled is None:
                compile_ = _compiler()
                if compile_ is None:
                    return self.plain()
                self._compiled = compile_(self._twin(Kernel.compiled))
                if _KEEPS:
                    kept = self._compiled._cache._cache_file  # noqa: SLF001 - Numba has no door
                    kept._source_stamp = self.fingerprint()  # noqa: SLF001
                    # looked at before the types are read, among them classes that may be gone
                    kept._version = f"{kept._version} {kept._source_stamp}"  # noqa: SLF001
                    kept._load_index = functools.partial(_load_index, kept._load_index)  # noqa: SLF001
        return self._compiled

    def callees(self) -> Iterator[Kernel]:
        """Yield the kernel and all that it calls, each once."""
        found, waiting = {id(self)}, [self]
        while waiting:
            kernel = waiting.pop()
            yield kernel
            names = kernel.function.__globals__
            for name in kernel.function.__code__.co_names:
                other = names.get(name)
                if isinstance(other, Kernel) and id(other) not in found:
                    found.add(id(other))
                    waiting.append(other)

    def fingerprint(self) -> str:
        """Return a hash of the code, constants and named tuples that the function is made of.

        Numba itself looks at the file of the function only, and would go on with old code when a
        function that it calls has changed in another.
        """
        parts = []
        for kernel in self.callees():
            code, names = kernel.function.__code__, kernel.function.__globals__
            used = {name: names[name] for name in code.co_names if name in names}
            constants = {k: v for k, v in used.items() if isinstance(v, (int, float, str, tuple))}
            tuples = {k: v._fields for k, v in names.items() if hasattr(v, "_fields")}
            where = kernel.__module__, kernel.__name__  # kept code looks its callees' modules up
            parts.append(repr((where, _parts_of(code), constants, tuples)))
        return hashlib.sha256("".join(sorted(parts)).encode()).hexdigest()

    def _twin(self, translate: Callable[[Kernel], Any]) -> Any:
        """Copy the function, with the kernels that it calls at the same speed."""
        function = self.function
        names = dict(function.__globals__)
        for name in function.__code__.co_names:
            if isinstance(names.get(name), Kernel):
                names[name] = translate(names[name])
        twin = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
        twin.__qualname__, twin.__module__ = function.__qualname__, function.__module__
        twin.kernel = self
        return twin

    def compare(self, *arguments: Any) -> Any:
        """Run at both speeds, on copies; raise if a bit differs."""
        compiled = self.compiled()
        if _is_single(arguments):
            return compiled(*arguments)
        copies = _copied(arguments, {})
        ours, theirs = self.plain()(*arguments), compiled(*copies)
        if not (_same(ours, theirs) and _same(arguments, copies)):
            raise AssertionError(f"{self.__module__}.{self.__name__} differs when compiled")
        return ours


def kernel(function: Any = None, *, visits: int = 1) -> Any:
    """Decorate a function of arrays and numbers that may be compiled."""
    return Kernel(function, visits) if function else functools.partial(Kernel, visits=visits)


#: Whether compiled code is kept beside the source, or in the user's cache where that is read-only.
_KEEPS = os.environ.get("CREDO_KERNEL_CACHE", "1") == "1"


@functools.cache
def _compiler() -> Any:
    """Return Numba's compiler with the flags of the house, or None in a browser."""
    try:
        from numba import njit  # noqa: PLC0415 - takes half a second
        from numba.core import event  # noqa: PLC0415
    except ImportError:
        return None

    class Told(event.Listener):
        """Says once that compiling takes a while; Numba speaks only if nothing was kept."""

        said = False

        def on_start(self, event: Any) -> None:
            ours = getattr(event.data["dispatcher"].py_func, "kernel", None)
            if not self.said and ours is not None:
                beside = vars(sys.modules[ours.__module__]).values()
                seconds = _seconds(*(each for each in beside if isinstance(each, Kernel)))
                self.said = seconds > _LONG
                if self.said:
                    text = _NOTICE.format(seconds, 2 * seconds)
                    warnings.warn(text, CompilingWarning, stacklevel=2)

        def on_end(self, event: Any) -> None:
            """Do nothing."""

    event.register("numba:compile", Told())
    return njit(cache=_KEEPS, error_model="numpy", nogil=True)


#: What the file of the first kernel takes; a large problem needs kernels of some others too.
_NOTICE = (
    "Compiling for a large problem, once per machine, about {:.0f} to {:.0f} s. "
    "`credo warm-up` compiles everything ahead."
)


def _load_index(load: Callable[[], dict[Any, str]]) -> dict[Any, str]:
    """Return Numba's index of compiled code; none if a class of arguments has another name now."""
    try:
        return load()
    except (AttributeError, ImportError):
        return {}


@functools.cache
def _kept(folder: Path) -> list[str]:
    """Return the names of Numba's indices of compiled code beside the sources of a folder."""
    return [file.name for file in (folder / "__pycache__").glob("*.nbi")]


def _parts_of(code: CodeType) -> tuple[Any, ...]:
    """Return what a function's code is made of, and that of its comprehensions; no addresses."""
    inner = (_parts_of(c) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.co_code, code.co_names, *inner


def _seconds(*kernels: Kernel) -> float:
    """Return about how long it takes to compile kernels and what they call."""
    needed = {id(each): each for kernel in kernels for each in kernel.callees()}
    return _SECONDS * sum(len(each.function.__code__.co_code) for each in needed.values())


def _arrays(value: Any) -> Iterator[Any]:
    """Yield the arrays among the arguments, also those in tuples."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _arrays(item)


def _is_single(arguments: tuple[Any, ...]) -> bool:
    """Tell whether a float32 array is among the arguments."""
    return any(array.dtype == np.float32 for array in _arrays(arguments))


def _copied(value: Any, known: dict[int, Any]) -> Any:
    """Copy arrays, also those in tuples: read-only ones stay so, and one array stays one."""
    if isinstance(value, tuple):
        items = [_copied(item, known) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if not isinstance(value, np.ndarray):
        return value
    if id(value) not in known:
        known[id(value)] = value.copy()
        known[id(value)].flags.writeable = value.flags.writeable
    return known[id(value)]


def _same(one: Any, other: Any) -> bool:
    """Tell whether two results have the same bits; any NaN equals any other."""
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind == "f")
