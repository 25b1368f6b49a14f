"""Numbers behind the losses of a value: rounding, and the exponential without its first terms."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import hyp1f1

from credo._types import F64


def rounding(value: Any, truth: Any) -> Any:
    """Give four units in the last place of the larger number."""
    return 4.0 * np.finfo(np.float64).eps * np.maximum(np.abs(value), np.abs(truth))


def log_excess(y: Any) -> F64:
    """Give log(exp(y) - 1 - y), without cancellation near 0 and without overflow."""
    y = np.asarray(y, dtype=np.float64)
    near, far, low = np.clip(y, -1.0, 1.0), np.maximum(y, 1.0), np.minimum(y, -1.0)
    with np.errstate(divide="ignore"):  # y = 0 has no excess: log 0
        # exp(y) - 1 - y = y**2 / 2 * 1F1(1; 3; y), from the power series of both sides.
        small = 2.0 * np.log(np.abs(near)) + np.log(0.5 * hyp1f1(1.0, 3.0, near))
    large = far + np.log1p(-(1.0 + far) * np.exp(-far))
    return np.where(y >= 1.0, large, np.where(y <= -1.0, np.log(np.exp(low) - 1 - low), small))
