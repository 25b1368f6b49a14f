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
    where ties go to the earlier act. Acts that a single one dominates go before mixtures are tried.
    """
    left = list(range(len(acts)))
    found: dict[int, Dominance] = {}
    for replacement in (_single, _mixture):
        for act in reversed(left.copy()):
            others = [a for a in left if a != act]
            shares = replacement(matrix, act, others)
            if shares is not None:
                left = others
                mixture = {acts[a]: w for a, w in zip(others, shares, strict=True) if w > 0}
                found[act] = Dominance(acts[act], mixture)
    return [found[act] for act in sorted(found)]


def _single(matrix: F64, act: int, others: list[int]) -> list[float] | None:
    """Find another act whose loss is nowhere above that of ``act``."""
    for i, other in enumerate(others):
        if (matrix[:, other] <= matrix[:, act]).all():
            return [float(j == i) for j in range(len(others))]
    return None


def _mixture(matrix: F64, act: int, others: list[int]) -> list[float] | None:
    """Find weights of ``others`` whose mixed loss is nowhere above that of ``act``."""
    if len(others) < 2:
        return None
    from scipy.optimize import linprog  # noqa: PLC0415 - half a second that few need

    # Each truth's row from zero, and for the solver on a scale of its own; neither changes a
    # comparison within a row.
    competing = matrix[:, [*others, act]]
    shifted = competing - competing.min(axis=1, keepdims=True)
    most = shifted.max(axis=1, keepdims=True)
    scaled = shifted / np.where(most > 0, most, 1.0)
    # Least t with Σ w_a L_ka ≤ L_k,act + t for every truth, w on the simplex.
    result = linprog(
        c=[0.0] * len(others) + [1.0],
        A_ub=np.column_stack([scaled[:, :-1], -np.ones(len(matrix))]),
        b_ub=scaled[:, -1],
        A_eq=[[1.0] * len(others) + [0.0]],
        b_eq=[1.0],
        bounds=[(0.0, 1.0)] * len(others) + [(None, None)],
    )
    shares = np.where(result.x[:-1] < _NEXT_TO_NOTHING, 0.0, result.x[:-1])
    shares /= shares.sum()
    mixed, own = shifted[:, :-1] @ shares, shifted[:, -1]
    if (mixed > own + _NEXT_TO_NOTHING * (mixed + own)).any():
        return None
    return [float(share) for share in shares]
