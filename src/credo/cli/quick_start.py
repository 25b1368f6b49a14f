"""Starting quickly: a small question is answered before the compiler would have been loaded."""

from __future__ import annotations

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
    ) -> None:
        """Load the compiler after all if that many answers take longer than loading it."""
        if not self.is_plain:
            return
        from credo._kernels._jit import use_compiler
        from credo.inference.planning import plan

        if (
            len(model) > _MOST_VARIABLES
            or answers * plan(model, evidence, query, effort=0.0).multiplications > _MOST_PRODUCTS
        ):
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
