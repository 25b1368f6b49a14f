"""Rows without weight are absent: they are left out before anything is read."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from credo._types import Bool
from credo.classifiers.columns.frames import frame_of


def with_weight(X: Any, kept: Bool, owner: str) -> Any:
    """Keep the rows that have a weight, of an array, a sparse array, a list or a data frame."""
    if isinstance(X, (list, tuple)):
        return [row for row, keep in zip(X, kept.tolist(), strict=True) if keep]
    if issparse(X):
        return X.tocsr()[kept]
    frame = None if isinstance(X, np.ndarray) else frame_of(X, owner)
    if frame is not None:
        return frame.filter(kept.tolist()).to_native()
    return X[kept] if isinstance(X, np.ndarray) else np.asarray(X)[kept]
