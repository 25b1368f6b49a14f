"""Starting quickly: a small question is answered before the compiler would have been loaded."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: Plain Python reads a million bytes, or makes two million products, in the second that loading
#: Numba and the compiled kernels takes (and compiling them the first time takes a minute).
_MOST_BYTES, _MOST_PRODUCTS = 2**17, 1e6
#: Looking for an elimination order takes as long for this many variables as reading such a file.
_MOST_VARIABLES = 200
#: Cells of factors that engines which sweep visit in that second, at about 20 µs each.
_MOST_VISITS = 50_000

_SWITCH = "CREDO_KERNELS"
_KERNELS = "credo._kernels"


class QuickStart:
    """Whether kernels run as plain Python for now."""

    def __init__(self, *, is_plain: bool) -> None:
        self.is_plain = is_plain

    def settle(
        self,
        model: Any,
        evidence: Mapping[Hashable, Any] | None = None,
        query: Sequence[Hashable] | None = None,
        answers: float = 1,
        most_bytes: float = math.inf,
    ) -> None:
        """Load the compiler after all if that many answers take longer than loading it.

        Above ``most_bytes`` of tables there will be no exact answer, but many sweeps.
        """
        if not self.is_plain:
            return
        from credo.inference.planning import plan

        if len(model) > _MOST_VARIABLES:
            self.end()
            return
        made = plan(model, evidence, query, effort=0.0)
        if answers * made.multiplications > _MOST_PRODUCTS or made.n_bytes > most_bytes:
            self.end()

    def settle_sweeps(self, model: Any, sweeps: float) -> None:
        """Load the compiler after all if that many sweeps take longer than loading it."""
        if self.is_plain and sweeps > self.most_sweeps(model):
            self.end()

    @staticmethod
    def most_sweeps(model: Any) -> int:
        """Give the number of sweeps that take as long as loading the compiler."""
        wiring = model.compile()
        return _MOST_VISITS // max(1, len(wiring.values) + len(wiring.scope))

    def end(self) -> None:
        """Load the compiler."""
        from credo._kernels._jit import use_compiler

        use_compiler(wanted=True)
        self.is_plain = False


@contextmanager
def quick_start(path: Path) -> Iterator[QuickStart]:
    """Run kernels as plain Python in the block if the file is small and none is loaded yet."""
    if f"{_KERNELS}._jit" in sys.modules or _SWITCH in os.environ or not _is_small(path):
        yield QuickStart(is_plain=False)
        return
    start = QuickStart(is_plain=True)
    os.environ[_SWITCH] = "python"
    try:
        yield start
    finally:
        del os.environ[_SWITCH]
        if start.is_plain:
            _forget_kernels()


def _forget_kernels() -> None:
    """Let whoever needs kernels after this load them anew, compiled."""
    for name in [name for name in sys.modules if name.startswith(f"{_KERNELS}.")]:
        del sys.modules[name]
        vars(sys.modules[_KERNELS]).pop(name.rpartition(".")[2], None)


def _is_small(path: Path) -> bool:
    """Tell whether a file is read in no time; networks pack to about a tenth."""
    size = path.stat().st_size if path.is_file() else 0
    return size * (10 if path.suffix == ".gz" else 1) <= _MOST_BYTES
