"""How the messages of pairs lie in memory: ratios, state by state, or edge by edge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.inference.loopy.pairs import Pairs

Int64: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.NDArray[Any]
#: With more states than this the states of one edge are computed side by side, not many edges.
_FEW = 6


def store_of(pairs: Pairs, order: Int64, dtype: np.dtype[Any]) -> Store:
    """Choose the layout that is fastest for a number of states."""
    kind = Ratios if pairs.k == 2 else StateByState if pairs.k <= _FEW else EdgeByEdge
    return kind(pairs, order, dtype)


class Store(ABC):
    """Messages, tables and beliefs of pairs, in the order of the tiles."""

    def __init__(self, pairs: Pairs, order: Int64, dtype: np.dtype[Any]) -> None:
        self._pairs, self._order, self._dtype = pairs, order, dtype
        self._ends = (pairs.left[order].astype(np.uint32), pairs.right[order].astype(np.uint32))

    @abstractmethod
    def renew(self) -> None:
        """Begin the next sweep."""

    @abstractmethod
    def sweep(self, begin: int, end: int, eta: Any, maximum: bool) -> float:  # noqa: FBT001
        """Pass the messages of some edges; give the largest change."""

    @abstractmethod
    def probabilities(self, step: int = 1) -> Numbers:
        """Give the messages of each edge, or of some, to both ends, of shape (m, 2, k)."""

    @abstractmethod
    def beliefs(self) -> Numbers:
        """Give the beliefs of all variables, of shape (n, k), of any scale."""

    @abstractmethod
    def log_z(self) -> float:
        """Give the Bethe estimate of the log of the sum."""

    @abstractmethod
    def put(self, messages: F64) -> None:
        """Put messages, of shape (m, 2, k), in their places."""

    def _collected(self, messages: F64) -> F64:
        """Multiply potentials and messages, scaled to largest one."""
        logs = self._pairs.potentials.copy()
        with np.errstate(divide="ignore"):
            said = np.log(messages)
        for way, ends in enumerate(self._ends):
            for x in range(self._pairs.k):
                logs[:, x] += np.bincount(ends, said[:, way, x], len(logs))
        return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


class Ratios(Store):
    """Two states: a message is one number, the second entry over the first."""

    def __init__(self, pairs: Pairs, order: Int64, dtype: np.dtype[Any]) -> None:
        super().__init__(pairs, order, dtype)
        cells = np.exp(pairs.tables).reshape(-1, 4).astype(dtype)
        table = pairs.table[order]
        self._tables = tuple(np.ascontiguousarray(cells[:, c])[table] for c in range(4))
        self._messages = (np.ones(len(order), dtype), np.ones(len(order), dtype))
        self._potentials = np.exp(pairs.potentials[:, 1] - pairs.potentials[:, 0]).astype(dtype)
        self._beliefs = np.repeat(self._potentials, 2).reshape(-1, 2)

    def renew(self) -> None:
        """Begin the next sweep."""
        from credo._kernels.loopy_pairs import renew  # noqa: PLC0415

        renew(self._beliefs, self._potentials)

    def sweep(self, begin: int, end: int, eta: Any, maximum: bool) -> float:  # noqa: FBT001
        """Pass the messages of some edges; give the largest change."""
        from credo._kernels.loopy_pairs import sweep_two  # noqa: PLC0415

        args = (self._ends, self._tables, self._messages, self._beliefs, eta, maximum)
        return float(sweep_two(begin, end, *args))

    def probabilities(self, step: int = 1) -> Numbers:
        """Give the messages of each edge, or of some, to both ends, of shape (m, 2, k)."""
        ratios = np.stack([message[::step] for message in self._messages], axis=1)
        return np.stack([1 / (1 + ratios), ratios / (1 + ratios)], axis=2)

    def beliefs(self) -> Numbers:
        """Give the beliefs of all variables, of shape (n, k), of any scale."""
        ratio = self._beliefs[:, 1].astype(np.float64)
        return np.stack([np.ones_like(ratio), ratio], axis=1)

    def log_z(self) -> float:
        """Give the Bethe estimate of the log of the sum."""
        from credo._kernels.loopy_pairs import log_sum_two  # noqa: PLC0415

        log_sum = log_sum_two(self._ends, self._tables, self._messages, self._beliefs)
        return float(log_sum) + float(self._pairs.potentials[:, 0].sum())

    def put(self, messages: F64) -> None:
        """Put messages, of shape (m, 2, k), in their places."""
        for way in range(2):
            self._messages[way][:] = messages[:, way, 1] / messages[:, way, 0]
        collected = self._collected(messages)
        self._beliefs[:, 1] = collected[:, 1] / collected[:, 0]


class EdgeByEdge(Store):
    """Many states: a message is a row."""

    def __init__(self, pairs: Pairs, order: Int64, dtype: np.dtype[Any]) -> None:
        super().__init__(pairs, order, dtype)
        self._table = pairs.table[order].astype(np.uint32)
        self._values = np.exp(pairs.tables).astype(dtype)
        self._messages = np.full((len(order), 2, pairs.k), 1 / pairs.k, dtype)
        self._potentials = np.exp(pairs.potentials).astype(dtype)
        self._beliefs = np.stack([self._potentials, self._potentials], axis=1)

    def renew(self) -> None:
        """Begin the next sweep."""
        from credo._kernels.loopy_states import renew_states  # noqa: PLC0415

        renew_states(self._beliefs, self._potentials)

    def sweep(self, begin: int, end: int, eta: Any, maximum: bool) -> float:  # noqa: FBT001
        """Pass the messages of some edges; give the largest change."""
        from credo._kernels.loopy_states import sweep_states  # noqa: PLC0415

        args = (self._ends, self._table, self._values, self._messages, self._beliefs)
        return float(sweep_states(begin, end, *args, eta, maximum))

    def probabilities(self, step: int = 1) -> Numbers:
        """Give the messages of each edge, or of some, to both ends, of shape (m, 2, k)."""
        return self._messages[::step].copy()

    def beliefs(self) -> Numbers:
        """Give the beliefs of all variables, of shape (n, k), of any scale."""
        return self._beliefs[:, 1]

    def log_z(self) -> float:
        """Give the Bethe estimate of the log of the sum."""
        from credo._kernels.loopy_states import log_sum_states  # noqa: PLC0415

        messages = np.ascontiguousarray(self.probabilities())
        return float(log_sum_states(self._ends, self._table, self._values, messages, self._beliefs))

    def put(self, messages: F64) -> None:
        """Put messages, of shape (m, 2, k), in their places."""
        self._messages[:] = messages
        self._beliefs[:, 1] = self._collected(messages)


class StateByState(EdgeByEdge):
    """Few states: entries of many messages lie side by side."""

    def __init__(self, pairs: Pairs, order: Int64, dtype: np.dtype[Any]) -> None:
        super().__init__(pairs, order, dtype)
        self._messages = np.full((2, pairs.k, len(order)), 1 / pairs.k, dtype)
        cells = np.exp(pairs.tables).astype(dtype)
        table = pairs.table[order]
        self._planes = np.empty((pairs.k, pairs.k, len(order)), dtype)
        for x in range(pairs.k):
            for y in range(pairs.k):
                self._planes[x, y] = np.ascontiguousarray(cells[:, x, y])[table]

    def sweep(self, begin: int, end: int, eta: Any, maximum: bool) -> float:  # noqa: FBT001
        """Pass the messages of some edges; give the largest change."""
        from credo._kernels.loopy_states import sweep_few  # noqa: PLC0415

        args = (self._ends, self._planes, self._messages, self._beliefs, eta, maximum)
        return float(sweep_few(begin, end, *args))

    def probabilities(self, step: int = 1) -> Numbers:
        """Give the messages of each edge, or of some, to both ends, of shape (m, 2, k)."""
        return np.moveaxis(self._messages[:, :, ::step], 2, 0).copy()

    def put(self, messages: F64) -> None:
        """Put messages, of shape (m, 2, k), in their places."""
        self._messages[:] = np.moveaxis(messages, 0, 2)
        self._beliefs[:, 1] = self._collected(messages)
