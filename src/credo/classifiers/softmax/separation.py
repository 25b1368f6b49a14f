r"""Whether a direction separates classes, proven by a linear programme.

The likelihood has no maximum if and only if there is a direction d, not flat, with margins
:math:`m_{ik} = (d_{y_i} - d_k)^T u_i \ge 0` for all rows i and classes k. Only a few margins bind:
the programme is solved for some rows, checked on all in a pass, and solved again with those that
were violated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from credo._types import F64, Bool, Int
from credo.classifiers.softmax.objective import Design, scores_of, times_rows

Kind = Literal["complete", "quasi-complete"]

#: Margins of scaled columns, of a direction whose absolute entries sum to one, up to this are
#: zero: what the solution of the programme leaves, after it has been cleaned.
_ZERO = 1e-9
#: The tightest that HiGHS accepts.
_FEASIBLE = 1e-10
#: Rows added per pass and variable, but no more entries than this; and most passes.
_ROWS_PER_VARIABLE = 4
_MOST_ENTRIES = 2**22
_MOST_PASSES = 40
#: More variables than this take a linear programme a second or more.
_MOST_FOR_WIDEST = 200
#: More variables than this would take a linear programme minutes.
MOST_VARIABLES = 2000


@dataclass(frozen=True, slots=True)
class Direction:
    """A direction (n_logits, P) of scaled columns that separates; and which pairs of classes."""

    kind: Kind
    theta: F64
    pairs: tuple[tuple[int, int], ...]


def find_separation(design: Design, theta: F64) -> Direction | None:
    """Look for a direction, from coefficients that a fit has come to; None if there is none.

    Where the programme would be too large, only ``theta`` itself is tried.
    """
    itself = theta / max(np.abs(theta).sum(), np.finfo(np.float64).tiny)
    if theta.size > _MOST_FOR_WIDEST:  # the direction at hand will do, if it is one
        found = _checked(design, itself)
        if theta.size > MOST_VARIABLES or (found is not None and found.kind == "complete"):
            return found
    rows = _Rows(design.n_logits, design.scaling.n_columns, _reach(design))
    rows.add(*_lowest(design, theta, rows.at_once))
    widest = _solve(design, rows, widest=True)
    found = None if widest is None else _checked(design, widest)
    if found is not None and found.kind == "complete":
        return found
    furthest = _solve(design, rows, widest=False)
    return _checked(design, itself if furthest is None else furthest)


@dataclass(slots=True)
class _Rows:
    """Margins that the programme knows of, as rows of a matrix over the flat direction."""

    n_logits: int
    n_columns: int
    #: The largest entry of a scaled row, which bounds the intercepts of a direction too.
    reach: float
    margins: list[Any] = field(default_factory=list)

    @property
    def at_once(self) -> int:
        """Tell how many rows to add after a pass."""
        n_variables = self.n_logits * self.n_columns
        return max(50, min(_ROWS_PER_VARIABLE * n_variables, _MOST_ENTRIES // n_variables))

    def add(self, u: F64, own: Int, other: Int) -> None:
        """Add margins of scaled rows, of their own class against another."""
        table = np.zeros((len(u), self.n_logits, self.n_columns))
        if self.n_logits == 1:
            table[:, 0] = u * np.where(own == 1, 1.0, -1.0)[:, None]
        else:
            table[np.arange(len(u)), own] += u
            table[np.arange(len(u)), other] -= u
        self.margins.append(sparse.csr_array(table.reshape(len(u), -1)))

    @property
    def matrix(self) -> Any:
        """Give all margins."""
        return sparse.vstack(self.margins, format="csr")


def _solve(design: Design, rows: _Rows, *, widest: bool) -> F64 | None:
    """Solve the programme with as many rows as it needs; None if only flat directions are left.

    ``widest`` maximises the least margin, else their mean; absolute entries sum to at most one.
    """
    mean = None if widest else _mean_margin(design)
    for _ in range(_MOST_PASSES):
        flat, height = _programme(rows, design, mean)
        if height <= _ZERO:
            return None
        theta = _cleaned(flat, rows.matrix).reshape(rows.n_logits, rows.n_columns)
        u, own, other, margins = _lowest_margins(design, theta, rows.at_once)
        bad = margins < (0.5 * height if widest else -_ZERO)
        if not bad.any():
            return theta
        rows.add(u[bad], own[bad], other[bad])
    return None


def _programme(rows: _Rows, design: Design, mean: F64 | None) -> tuple[F64, float]:
    """Solve for the rows that are known; give the direction and what it reaches."""
    matrix = rows.matrix
    n = matrix.shape[1]
    penalised = _features(design, rows.n_logits)
    least = 1 if mean is None else 0  # the least margin, as one more variable
    slack = sparse.csr_array(np.ones((matrix.shape[0], least)))
    norm = np.concatenate([penalised, penalised, np.zeros(least)])[None]
    limits = sparse.vstack([sparse.hstack([-matrix, matrix, slack]), norm], format="csr")
    cost = np.array([-1.0]) if mean is None else -mean.ravel()
    cost = np.concatenate([np.zeros(2 * n), cost]) if least else np.concatenate([cost, -cost])
    found = linprog(
        cost,
        A_ub=limits,
        b_ub=np.append(np.zeros(matrix.shape[0]), 1.0),
        bounds=[(0, 1 if mark else rows.reach) for mark in norm[0, : 2 * n]]
        + [(None, None)] * least,
        method="highs",
        options={
            "primal_feasibility_tolerance": _FEASIBLE,
            "dual_feasibility_tolerance": _FEASIBLE,
        },
    )
    if found.x is None:
        return np.zeros(n), 0.0
    return found.x[:n] - found.x[n : 2 * n], -float(found.fun)


def _reach(design: Design) -> float:
    """Bound the entries of all scaled rows."""
    scaling = design.sums
    largest = np.zeros(len(scaling.scale))
    for block in design.blocks():
        entries = abs(block.x).max(axis=0)
        entries = entries.toarray() if sparse.issparse(entries) else entries
        np.maximum(largest, entries.ravel(), out=largest)
    return float(((largest + np.abs(scaling.centre)) / scaling.scale).max())


def _features(design: Design, n_logits: int) -> F64:
    """Mark the entries that are not intercepts."""
    marks = np.ones((n_logits, design.scaling.n_columns))
    if design.scaling.intercept:
        marks[:, -1] = 0.0
    return marks.ravel()


def _cleaned(flat: F64, matrix: Any) -> F64:
    """Make margins that are zero but for the tolerance of the programme exactly zero."""
    support = flat != 0
    tight = np.abs(matrix @ flat) <= 10 * _ZERO
    if not tight.any():
        return flat
    part = matrix[np.flatnonzero(tight)][:, np.flatnonzero(support)].toarray()
    _, sizes, axes = np.linalg.svd(part, full_matrices=False)
    axes = axes[sizes > _ZERO]  # of rows that are zero themselves, only rounding is left
    answer = flat.copy()
    answer[support] -= axes.T @ (axes @ flat[support])
    return answer


def _mean_margin(design: Design) -> F64:
    """Give the mean margin of all rows as a linear function of the direction."""
    n_logits, scaling = design.n_logits, design.sums
    sums, totals = np.zeros((n_logits, len(scaling.scale))), np.zeros(n_logits)
    n_rows = 0
    for block in design.blocks():
        n_rows += len(block)
        table = np.full((n_logits, len(block)), -1.0 / n_logits)
        if n_logits == 1:
            table[0] = np.where(block.codes == 1, 1.0, -1.0)
        else:
            table[block.codes, np.arange(len(block))] += 1.0
        sums += times_rows(table, block.x)
        totals += table.sum(axis=1)
    return scaling.gradient(sums, totals) / n_rows  # whatever the weights


def _lowest(design: Design, theta: F64, count: int) -> tuple[F64, Int, Int]:
    """Give the scaled rows with the least margins, their class and the nearest other."""
    return _lowest_margins(design, theta, count)[:3]


def _lowest_margins(design: Design, theta: F64, count: int) -> tuple[F64, Int, Int, F64]:
    """Give rows with the least margins, and the margins."""
    scaling = design.sums
    coefficients, offsets = scaling.coefficients(theta)
    kept: list[tuple[F64, Int, Int, F64]] = []
    for block in design.blocks():
        scores = scores_of(coefficients, offsets, block.x)
        margins, other = _margins(scores, block.codes)
        least = np.argsort(margins, kind="stable")[:count]
        u = scaling.rows(_dense(block.x[least]))
        if scaling.intercept:
            u = np.column_stack([u, np.ones(len(u))])
        kept.append((u, block.codes[least], other[least], margins[least]))
        if len(kept) > 8:
            kept = [_fewest(kept, count)]
    return _fewest(kept, count)


def _fewest(kept: list[tuple[F64, Int, Int, F64]], count: int) -> tuple[F64, Int, Int, F64]:
    """Join parts and keep the least margins."""
    u, own, other, margins = (np.concatenate(each) for each in zip(*kept, strict=True))
    least = np.argsort(margins, kind="stable")[:count]
    return u[least], own[least], other[least], margins[least]


def _dense(x: Any) -> F64:
    """Make a few rows dense."""
    return x.toarray() if sparse.issparse(x) else x


def _margins(scores: F64, codes: Int) -> tuple[F64, Int]:
    """Give the least margin of each row, and against which class."""
    if len(scores) == 1:
        return scores[0] * np.where(codes == 1, 1.0, -1.0), 1 - codes
    columns = np.arange(scores.shape[1])
    own = scores[codes, columns]
    rest = scores.copy()
    rest[codes, columns] = -np.inf
    other = rest.argmax(axis=0)
    return own - rest[other, columns], other


def _checked(design: Design, theta: F64) -> Direction | None:
    """Prove a direction on all rows, and tell its kind and the pairs of classes it parts."""
    scaling, n_classes = design.sums, design.n_classes
    coefficients, offsets = scaling.coefficients(theta)
    least, parted = np.inf, np.zeros((n_classes, n_classes), dtype=bool)
    for block in design.blocks():
        scores = scores_of(coefficients, offsets, block.x)
        least = min(least, float(_margins(scores, block.codes)[0].min(initial=np.inf)))
        parted |= _parted(scores, block.codes, n_classes)
    if least < -_ZERO or not parted.any():
        return None
    both = parted | parted.T
    pairs = tuple((a, b) for a in range(n_classes) for b in range(a + 1, n_classes) if both[a, b])
    return Direction("complete" if least > _ZERO else "quasi-complete", theta, pairs)


def _parted(scores: F64, codes: Int, n_classes: int) -> Bool:
    """Tell of which classes some row is strictly on its own side, against which others."""
    parted = np.zeros((n_classes, n_classes), dtype=bool)
    if len(scores) == 1:
        scores = np.vstack([np.zeros_like(scores), scores])
    for k in np.unique(codes):
        own = scores[:, codes == k]
        parted[k] = (own[k] - own).max(axis=1) > _ZERO
    return parted
