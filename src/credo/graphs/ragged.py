"""Parts of different lengths, one after the other in one array."""

from __future__ import annotations

import numpy as np

from credo._types import F64, Int
from credo.graphs._tables import WIDE_LOGS


def starts(lengths: Int | F64) -> Int:
    """Give where each part starts, and where the last ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)


def ranges(start: Int, length: Int) -> Int:
    """List the integers of many ranges, one range after the other."""
    shift = start - (np.cumsum(length) - length)
    return np.repeat(shift, length) + np.arange(int(length.sum()))


def from_logs(logs: F64, start: Int) -> tuple[F64, F64, F64 | None]:
    """Turn tables of logs, none of them all -inf, into potentials of which the largest is one.

    Gives the potentials, the log of what each table was divided by, and, if float64 does not hold
    all potentials, their logs.
    """
    top = np.maximum.reduceat(logs, start[:-1]) if len(start) > 1 else np.empty(0)
    below = logs - np.repeat(top, np.diff(start))
    wide = float(below.min(where=below > -np.inf, initial=0.0)) < -WIDE_LOGS
    with np.errstate(under="ignore"):
        return np.exp(below), top, below if wide else None
