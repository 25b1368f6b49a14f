"""Maximise trees out of a field, exactly, and put their best states back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64, Bool
from credo.inference.maxima.fields import Field

Int64: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """Nodes that hang by one pair or none, in the order in which they can be maximised out."""

    order: Int64
    edge: Int64

    @classmethod
    def of(cls, field: Field) -> Leaves:
        """List the leaves of a field."""
        from credo._kernels.trws_messages import leaves  # noqa: PLC0415

        n = len(field.n_states)
        order, edge = np.empty(n, np.int64), np.empty(n, np.int64)
        count = leaves(n, field.pairs, order, edge)
        return cls(order[:count].copy(), edge[:count].copy())

    def is_core(self, n: int) -> Bool:
        """Mark the nodes that stay."""
        stays = np.ones(n, np.bool_)
        stays[self.order] = False
        return stays

    def absorbed(self, field: Field) -> Field:
        """Add the best that each leaf can do to the node it hangs by."""
        from credo._kernels.trws_messages import absorb_leaves  # noqa: PLC0415

        values = field.values.copy()
        rest = absorb_leaves(self.order, self.edge, *arrays_of(field, values))
        return replace(field, values=values, constant=field.constant + rest)

    def decoded(self, field: Field, nodes: Int64, states: Int64) -> Int64:
        """Put the best states of the leaves beside those of the other nodes."""
        from credo._kernels.trws_messages import decode_leaves  # noqa: PLC0415

        every: Int64 = np.zeros(len(field.n_states), np.int64)
        every[nodes] = states
        decode_leaves(every, self.order, self.edge, *arrays_of(field, field.values))
        return every


def arrays_of(field: Field, values: F64) -> tuple[npt.NDArray[np.generic], ...]:
    """Give the arrays of a field in the order of the kernels."""
    return (
        field.pairs,
        field.n_states,
        field.start,
        values,
        field.codes,
        field.stride,
        field.table,
        field.tables,
    )
