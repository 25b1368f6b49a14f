"""How the messages of pairs lie in memory: ratios, state by state, or edge by edge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.inference.loopy.pairs import Pairs

Order: TypeAlias = npt.NDArray[np.uint32]
Numbers: TypeAlias = npt.NDArray[Any]
#: With more states than this the states of one edge are computed side by side, not many edges.
_FEW = 6


def store_of(pairs: Pairs, order: Order, dtype: np.dtype[Any]) -> Store:
    """Choose the layout that is fastest for a number of states."""
    kind = Ratios if pairs.k == 2 else StateByState if pairs.k <= _FEW else EdgeByEdge
    return kind(pairs, order, dtype)


class Store(ABC):
    """Messages, tables and beliefs of pairs, in the order of the tiles."""

    log_constant: float  #: log of what the tables were divided by

    def __init__(self, pairs: Pairs, order: Order, dtype: np.dtype[Any]) -> None:
        self._pairs, self._order, self._dtype = pairs, order, dtype
        self._ends = (pairs.left[order], pairs.right[order])
        self.factor = pairs.factor[order]
        self.log_constant = 0.0

    @property
    def ends(self) -> Numbers:
        """The two variables of each edge."""
        return np.stack(self._ends, axis=1)

    def _planes(self) -> Numbers:
        """Give all cells of the tables but the first, over the first, of shape (k * k - 1, m)."""
        from credo._kernels.loopy_setup import fill_planes  # noqa: PLC0415

        pairs = self._pairs
        planes = np.empty((pairs.k**2 - 1, len(self.factor)), self._dtype)
        self.log_constant = float(fill_planes(pairs.cold, pairs.arrays, pairs.factor, planes))
        for plane in planes:
            plane[:] = plane[self._order]
        return planes

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

    def __init__(self, pairs: Pairs, order: Order, dtype: np.dtype[Any]) -> None:
        super().__init__(pairs, order, dtype)
        self._tables = tuple(self._planes())
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


class Rows(Store):
    """More states: a belief is a row for this sweep, and one for the next."""

    def __init__(self, pairs: Pairs, order: Order, dtype: np.dtype[Any]) -> None:
        super().__init__(pairs, order, dtype)
        self._potentials = np.exp(pairs.potentials).astype(dtype)
        self._beliefs = np.stack([self._potentials, self._potentials], axis=1)

    def renew(self) -> None:
        """Begin the next sweep."""
        from credo._kernels.loopy_states import renew_states  # noqa: PLC0415

        renew_states(self._beliefs, self._potentials)

    def beliefs(self) -> Numbers:
        """Give the beliefs of all variables, of shape (n, k), of any scale."""
        return self._beliefs[:, 1]


class StateByState(Rows):
    """Few states: entries of many messages lie side by side."""

    def __init__(self, pairs: Pairs, order: Order, dtype: np.dtype[Any]) -> None:
        super().__init__(pairs, order, dtype)
        self._messages = np.full((2, pairs.k, len(order)), 1 / pairs.k, dtype)
        cells = np.ones((pairs.k**2, len(order)), dtype)
        cells[1:] = self._planes()
        self._values = cells.reshape(pairs.k, pairs.k, -1)

    def sweep(self, begin: int, end: int, eta: Any, maximum: bool) -> float:  # noqa: FBT001
        """Pass the messages of some edges; give the largest change."""
        from credo._kernels.loopy_states import sweep_few  # noqa: PLC0415

        args = (self._ends, self._values, self._messages, self._beliefs, eta, maximum)
        return float(sweep_few(begin, end, *args))

    def probabilities(self, step: int = 1) -> Numbers:
        """Give the messages of each edge, or of some, to both ends, of shape (m, 2, k)."""
        return np.moveaxis(self._messages[:, :, ::step], 2, 0).copy()

    def log_z(self) -> float:
        """Give the Bethe estimate of the log of the sum."""
        from credo._kernels.loopy_states import log_sum_few  # noqa: PLC0415

        return float(log_sum_few(self._ends, self._values, self._messages, self._beliefs))

    def put(self, messages: F64) -> None:
        """Put messages, of shape (m, 2, k), in their places."""
        self._messages[:] = np.moveaxis(messages, 0, 2)
        self._beliefs[:, 1] = self._collected(messages)


class EdgeByEdge(Rows):
    """Many states: a message is a row, and tables that edges share are held once."""

    def __init__(self, pairs: Pairs, order: Order, dtype: np.dtype[Any]) -> None:
        super().__init__(pairs, order, dtype)
        wiring = pairs.wiring
        used = np.zeros(len(wiring.log_scale), np.bool_)
        own = wiring.table[self.factor]
        used[own] = True
        self._table = (np.cumsum(used) - 1)[own].astype(np.uint32)
        cells = wiring.table_start[:-1][used][:, np.newaxis] + np.arange(pairs.k**2)
        tables = wiring.values[cells] ** pairs.cold
        top = tables.max(axis=1, initial=0.0)
        self.log_constant = float(np.log(top)[self._table].sum())
        self._values = (tables / top[:, np.newaxis]).astype(dtype).reshape(-1, pairs.k, pairs.k)
        self._turned = np.ascontiguousarray(self._values.transpose(0, 2, 1))
        self._messages = np.full((len(order), 2, pairs.k), 1 / pairs.k, dtype)

    def sweep(self, begin: int, end: int, eta: Any, maximum: bool) -> float:  # noqa: FBT001
        """Pass the messages of some edges; give the largest change."""
        from credo._kernels.loopy_states import sweep_many  # noqa: PLC0415

        tables = (self._table, self._values, self._turned)
        args = (self._ends, *tables, self._messages, self._beliefs)
        return float(sweep_many(begin, end, *args, eta, maximum))

    def probabilities(self, step: int = 1) -> Numbers:
        """Give the messages of each edge, or of some, to both ends, of shape (m, 2, k)."""
        return self._messages[::step].copy()

    def log_z(self) -> float:
        """Give the Bethe estimate of the log of the sum."""
        from credo._kernels.loopy_states import log_sum_many  # noqa: PLC0415

        args = (self._ends, self._table, self._values, self._messages, self._beliefs)
        return float(log_sum_many(*args))

    def put(self, messages: F64) -> None:
        """Put messages, of shape (m, 2, k), in their places."""
        self._messages[:] = messages
        self._beliefs[:, 1] = self._collected(messages)
