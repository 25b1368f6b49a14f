"""Acts that no posterior would ever need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo._types import F64, Label, Labels

#: Far above the rounding of float64, and far below any difference between losses that is meant.
_NEXT_TO_NOTHING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Dominance:
    """An act and the mixture of other acts that is at least as good under every truth.

    Attributes
    ----------
    act
        The act that is never needed.
    mixture
        Share of each act in the mixture that replaces it.
    """

    act: Label
    mixture: dict[Label, float]

    def __str__(self) -> str:
        """Say it in a sentence."""
        parts = [
            repr(act) if share == 1.0 else f"{share:.4g} {act!r}"
            for act, share in self.mixture.items()
        ]
        return f"{self.act!r} is never better than {' + '.join(parts)}"


def dominated_acts(matrix: F64, acts: Labels) -> list[Dominance]:
    """Find dominated acts one by one; a dominated act no longer serves to dominate others.

    Later acts are tried first, so that of two equal acts the later one goes, as in ``decide``,
    where ties go to the earlier act.
    """
    left = list(range(len(acts)))
    found: list[Dominance] = []
    for act in reversed(range(len(acts))):
        others = [a for a in left if a != act]
        mixture = _mixture(matrix, act, others)
        if mixture is not None:
            left = others
            found.append(
                Dominance(
                    acts[act],
                    {acts[a]: share for a, share in zip(others, mixture, strict=True) if share > 0},
                )
            )
    return found[::-1]


def _mixture(matrix: F64, act: int, others: list[int]) -> list[float] | None:
    """Find weights of ``others`` whose mixed loss is nowhere above that of ``act``."""
    for i, other in enumerate(others):
        if (matrix[:, other] <= matrix[:, act]).all():
            return [float(j == i) for j in range(len(others))]
    if len(others) < 2:
        return None
    from scipy.optimize import linprog  # noqa: PLC0415 - half a second that few need

    # Each truth's row on its own scale from 0 to 1; that changes no comparison within a row.
    least, most = matrix.min(axis=1, keepdims=True), matrix.max(axis=1, keepdims=True)
    scaled = (matrix - least) / np.where(most > least, most - least, 1.0)
    # Least t with Σ w_a L_ka ≤ L_k,act + t for every truth, w on the simplex.
    result = linprog(
        c=[0.0] * len(others) + [1.0],
        A_ub=np.column_stack([scaled[:, others], -np.ones(len(matrix))]),
        b_ub=scaled[:, act],
        A_eq=[[1.0] * len(others) + [0.0]],
        b_eq=[1.0],
        bounds=[(0.0, 1.0)] * len(others) + [(None, None)],
    )
    shares = np.where(result.x[:-1] < _NEXT_TO_NOTHING, 0.0, result.x[:-1])
    shares /= shares.sum()
    mixed, own = matrix[:, others] @ shares, matrix[:, act]
    sizes = np.abs(matrix[:, others]) @ shares + np.abs(own)
    if (mixed > own + _NEXT_TO_NOTHING * sizes).any():
        return None
    return [float(share) for share in shares]
