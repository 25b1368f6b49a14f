"""Flooding on pairs, fast: numbers in one pass over the edges, on any number of threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.inference.loopy._pair_stores import Store, store_of
from credo.inference.loopy.options import Options
from credo.inference.loopy.pairs import Pairs

#: Edges from which on they are cut into tiles, the ranges of variables between which tiles lie, and
#: the columns that stay in a cache. They depend on the size of the graph alone, so that the answer
#: does not depend on threads.
_TILED, _RANGES, _COLUMN = 100_000, 8, 32_768
#: Messages that are looked at to find out whether a run goes round in circles.
_SAMPLE = 4096


class Pairwise:
    """The messages of pairs, and the passing of all of them from those of the sweep before."""

    def __init__(self, pairs: Pairs, options: Options) -> None:
        from credo._kernels.loopy_pairs import tile  # noqa: PLC0415

        self.pairs = pairs
        self._maximum = options.maximum
        self.dtype = options.dtype if pairs.fits(options.dtype) else np.dtype(np.float64)
        n, m = len(pairs.potentials), len(pairs.left)
        self._n_ranges = _RANGES if m >= _TILED else 1
        columns = max(1, -(-n // (_COLUMN * self._n_ranges)))
        order, self._start = tile(n, pairs.left, pairs.right, self._n_ranges, columns)
        self.order: npt.NDArray[np.uint32] = order
        self._store: Store = store_of(pairs, order, self.dtype)
        self._threads = min(options.threads, self._n_ranges // 2)
        self._pool = ThreadPoolExecutor(self._threads) if self._threads > 1 else None
        self.updates = 0

    def __getstate__(self) -> dict[str, Any]:
        """Leave the threads behind."""
        return self.__dict__ | {"_pool": None}

    @property
    def rounding(self) -> float:
        """How far equal messages may be apart by rounding."""
        return 64 * float(np.finfo(self.dtype).eps)

    def sweep(self, eta: float) -> float:
        """Pass all messages once; give the largest change."""
        share = self.dtype.type(eta)
        self._store.renew()
        largest = 0.0
        for tiles in self._rounds():
            work = [t for t in tiles if self._start[t + 1] > self._start[t]]
            if self._pool is None or len(work) < 2:
                largest = max([largest, *(self._pass(t, share) for t in work)])
            else:
                largest = max([largest, *self._pool.map(self._pass, work, [share] * len(work))])
        self.updates += 2 * len(self.order)
        return largest

    def _pass(self, t: int, eta: Any) -> float:
        """Pass the messages of one tile."""
        begin, end = self._start[t], self._start[t + 1]
        return float(self._store.sweep(begin, end, eta, self._maximum))

    def _rounds(self) -> list[list[int]]:
        """List tiles in rounds; those of one round share no variable (a round-robin tournament)."""
        n = self._n_ranges
        rounds = [[a * n + a for a in range(n)]]
        for turn in range(n - 1):
            circle = [0, *((turn + i) % (n - 1) + 1 for i in range(n - 1))]
            meet = ((circle[i], circle[n - 1 - i]) for i in range(n // 2))
            rounds.append([min(a, b) * n + max(a, b) for a, b in meet])
        return rounds

    def snapshot(self) -> F64:
        """Give a copy of all messages as probabilities."""
        return self._store.probabilities().ravel().astype(np.float64)

    def sample(self) -> F64:
        """Give a copy of some of them."""
        step = max(1, len(self.order) // _SAMPLE)
        return self._store.probabilities(step).ravel().astype(np.float64)

    def beliefs(self) -> F64:
        """Give the beliefs of all variables, one after the other."""
        beliefs = self._store.beliefs().astype(np.float64)
        return np.asarray(beliefs / beliefs.sum(axis=1, keepdims=True)).ravel()

    def log_z(self) -> float:
        """Give the Bethe estimate of the log of the sum."""
        return self._store.log_z() + self._store.log_constant + self.pairs.log_constant

    def log_messages(self) -> F64:
        """Give both messages of each edge, in the order of the tiles, as logs, (m, 2, k)."""
        return np.asarray(np.log(self._store.probabilities().astype(np.float64)))

    def start_from(self, messages: F64) -> None:
        """Begin with given messages, as logs, in the order of the edges, (m, 2, k).

        Those of another temperature may be steeper than any of this one; they are cut.
        """
        logs = messages[self.order]
        logs = np.maximum(logs - logs.max(axis=2, keepdims=True), -self.pairs.deep)
        messages = np.exp(logs)
        self._store.put(messages / messages.sum(axis=2, keepdims=True))

    def close(self) -> None:
        """Let the threads go."""
        if self._pool is not None:
            self._pool.shutdown()
