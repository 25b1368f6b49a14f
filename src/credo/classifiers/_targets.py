"""Labels that are missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.classifiers.columns.dictionary import is_missing
from credo.exceptions import InputError


def refuse_gaps(y: Any, owner: str) -> None:
    """Refuse labels that are missing or infinite."""
    if y.dtype.kind == "O":
        gaps = np.array([is_missing(label) for label in y.tolist()], dtype=bool)
    else:
        gaps = ~np.isfinite(y) if y.dtype.kind == "f" else np.zeros(0, dtype=bool)
    if gaps.any():
        row = int(gaps.argmax())
        raise InputError(
            f"{owner}: Input y contains NaN or infinity, in row {row}. Every row needs a label."
        )
