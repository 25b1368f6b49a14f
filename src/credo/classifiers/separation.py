r"""Fits without a penalty: the maximum of the likelihood, or a proof that there is none.

The likelihood has no maximum if and only if there is a direction d, not flat, with margins
:math:`m_{ik} = (d_{y_i} - d_k)^T u_i \ge 0` for all rows i and classes k. Only a few margins bind:
a linear programme is solved for some rows, checked on all in a pass, and solved again with those
that were violated. Where there is no maximum, a small ridge, which is told, gives coefficients all
the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from credo._types import F64, Bool, Int
from credo.classifiers.logistic_rows import RowBatch, Scaling
from credo.classifiers.logistic_solver import (
    Design,
    Hessian,
    Objective,
    Place,
    Products,
    Solution,
    StopRules,
    fit,
    is_small,
    minimise,
)

Kind = Literal["complete", "quasi-complete"]

#: Strength of the ridge, on coefficients of columns at one scale, that stands in for a maximum.
FALL_BACK = 0.01
#: Near a maximum a step brings each entry of the gradient below this share, along a separating
#: direction to 1 / e; entries below this share of the tolerance do not count.
_FALLS, _ABOVE_ROUNDING = 0.2, 1e-3
#: Steps longer than this, so many in a row that do not bring the gradient down, raise doubts.
_LONG, _PATIENCE = 0.1, 6
#: Margins of a direction whose absolute entries sum to one are zero up to this.
_ZERO = 1e-9
#: Programmes of more variables take minutes; of more than the first, seconds.
_MOST_FOR_WIDEST, MOST_VARIABLES = 200, 2000
#: Rows added per variable and pass, but no more entries than this; and most passes.
_ROWS_PER_VARIABLE, _MOST_ENTRIES, _MOST_PASSES = 4, 2**22, 40
#: The tightest tolerance that HiGHS accepts.
_FEASIBLE = 1e-10


@dataclass(frozen=True, slots=True)
class Direction:
    """A direction (n_logits, P) of scaled columns that separates; and which pairs of classes."""

    kind: Kind
    theta: F64
    pairs: tuple[tuple[int, int], ...]


def maximise_likelihood(
    bare: Objective, rules: StopRules, start: F64 | None = None
) -> tuple[Solution, Direction | None]:
    """Fit without a penalty; with a direction that separates, give the fit of a small ridge."""
    design = bare.design
    doubts = _Doubts(design)
    found, direction = fit(bare, replace(rules, doubt=doubts), start), doubts.found
    if direction is None:
        found, direction = _settle(bare, found, rules)
    if direction is None:
        return found, None
    features = np.ones(len(design.scaling.scale))
    ridge = np.pad(features, (0, design.scaling.intercept)) * (FALL_BACK / design.total)
    theta = design.start() if start is None else start
    fitted = minimise(replace(bare, ridge=ridge), theta, rules, few=is_small(bare))
    n_iter = found.n_iter + fitted.n_iter
    return replace(fitted, n_iter=n_iter, converged=False), direction


def _settle(
    objective: Objective, found: Solution, rules: StopRules
) -> tuple[Solution, Direction | None]:
    """Take one more step: at a maximum it is the last, and if not, look for separation."""
    design, few, here = objective.design, is_small(objective), found.place
    if found.converged and here.theta.size > MOST_VARIABLES:
        return found, None
    model = (Hessian if few else Products)(objective, here)
    there = objective.at(here.theta + model.step(here, 0.01))
    floor = _ABOVE_ROUNDING * rules.tol * min(1.0, here.loss)
    if few:
        stays = np.abs(there.gradient) > np.maximum(_FALLS * np.abs(here.gradient), floor)
    else:
        stays = np.array(there.norm > max(_FALLS * here.norm, floor))
    if stays.any() or model.is_unclear or not found.converged:
        direction = find_separation(design, here.theta)
        if direction is not None:
            return found, direction
    if there.norm <= here.norm and there.loss <= (1.0 + 1e-14) * here.loss:
        here = there
    if model.null is not None and model.null.size:
        here = replace(here, theta=_least(here.theta, model.null, design))
    converged = found.converged or rules.met(here)
    return Solution(here, found.n_iter, converged, model.reduced, model.null), None


def _least(theta: F64, null: F64, design: Design) -> F64:
    """Take out what no row can tell, so that the coefficients of features are least."""
    n_features = len(design.scaling.scale)
    amounts = np.linalg.lstsq(null[:n_features], theta[:, :n_features].T, rcond=None)[0]
    return theta - (null @ amounts).T


class _Doubts:
    """Asks during a search whether the classes are separated."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self.found: Direction | None = None
        self._norm, self._slow, self._most = np.inf, 0, _PATIENCE

    def __call__(self, place: Place, step: F64) -> bool:
        """Look closer if all rows are on their own side, or steps stay long all the time."""
        falls = place.norm <= 0.3 * self._norm or np.abs(step).max() < _LONG
        self._slow, self._norm = 0 if falls else self._slow + 1, place.norm
        if not place.all_right and self._slow < self._most:
            return False
        self._most, self._slow = 2 * self._most, 0
        self.found = find_separation(self._design, place.theta)
        return self.found is not None


def find_separation(design: Design, theta: F64) -> Direction | None:
    """Look for a direction, from coefficients that a fit has come to; None if there is none.

    Where the programme would be too large, only ``theta`` itself is tried.
    """
    itself = theta / max(np.abs(theta).sum(), np.finfo(np.float64).tiny)
    if theta.size > _MOST_FOR_WIDEST:  # the direction at hand will do, if it is one
        found = _proven(design, itself)
        if theta.size > MOST_VARIABLES or (found is not None and found.kind == "complete"):
            return found
    programme = _Programme(design, theta)
    widest = programme.solve(None)
    found = None if widest is None else _proven(design, widest)
    if found is not None and found.kind == "complete":
        return found
    furthest = programme.solve(_mean_margin(design))
    return _proven(design, itself if furthest is None else furthest)


class _Programme:
    """The linear programme for those margins that it knows of, as rows over the flat direction."""

    def __init__(self, design: Design, theta: F64) -> None:
        self._design, self._shape = design, theta.shape
        self._at_once = max(50, min(_ROWS_PER_VARIABLE * theta.size, _MOST_ENTRIES // theta.size))
        #: The largest entry of a scaled row, which bounds the intercepts of a direction too.
        self._reach = max(1.0, design.reduce(partial(_largest, scaling=design.sums), max))
        self._margins: Any = sparse.csr_array((0, theta.size))
        self._add(*self._lowest(theta)[:3])

    def solve(self, mean: F64 | None) -> F64 | None:
        """Maximise the least margin, or the mean one, adding rows until none is violated.

        None if only flat directions are left; absolute entries sum to at most one.
        """
        for _ in range(_MOST_PASSES):
            flat, height = self._solve(mean)
            if height <= _ZERO:
                return None
            theta = self._clean(flat).reshape(self._shape)
            u, own, other, margins = self._lowest(theta)
            bad = margins < (0.5 * height if mean is None else -_ZERO)
            if not bad.any():
                return theta
            self._add(u[bad], own[bad], other[bad])
        return None

    def _add(self, u: F64, own: Int, other: Int) -> None:
        """Add margins of scaled rows, of their own class against another."""
        table, rows = np.zeros((len(u), *self._shape)), np.arange(len(u))
        if self._shape[0] == 1:
            table[:, 0] = u * (2.0 * own - 1.0)[:, None]
        else:
            table[rows, own] += u
            table[rows, other] -= u
        new = sparse.csr_array(table.reshape(len(u), -1))
        self._margins = sparse.vstack([self._margins, new], format="csr")

    def _solve(self, mean: F64 | None) -> tuple[F64, float]:
        """Solve for the rows that are known; return the direction and what it reaches."""
        known, n = self._margins, self._margins.shape[1]
        marks = np.ones(self._shape)
        if self._design.scaling.intercept:
            marks[:, -1] = 0.0  # the sum bounds features, the reach intercepts
        least = 1 if mean is None else 0  # the least margin, as one more variable
        norm = np.concatenate([marks.ravel(), marks.ravel(), np.zeros(least)])
        slack = sparse.csr_array(np.ones((known.shape[0], least)))
        limits = sparse.vstack([sparse.hstack([-known, known, slack]), norm[None]], format="csr")
        cost = np.zeros(2 * n) if mean is None else np.concatenate([-mean.ravel(), mean.ravel()])
        found = linprog(
            np.append(cost, np.full(least, -1.0)),
            A_ub=limits,
            b_ub=np.append(np.zeros(known.shape[0]), 1.0),
            bounds=[(0, 1 if mark else self._reach) for mark in norm[: 2 * n]]
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

    def _clean(self, flat: F64) -> F64:
        """Make margins that are zero but for the tolerance of the programme exactly zero."""
        support, tight = flat != 0, np.abs(self._margins @ flat) <= 10 * _ZERO
        if not tight.any():
            return flat
        part = self._margins[np.flatnonzero(tight)][:, np.flatnonzero(support)].toarray()
        _, sizes, axes = np.linalg.svd(part, full_matrices=False)
        axes = axes[sizes > _ZERO]  # of rows that are zero themselves, only rounding is left
        answer = flat.copy()
        answer[support] -= axes.T @ (axes @ flat[support])
        return answer

    def _lowest(self, theta: F64) -> tuple[Any, ...]:
        """Return scaled rows with the least margins, own and nearest other class, and margins."""
        sums, most = self._design.sums, self._at_once
        function = partial(_low_rows, at=sums.coefficients(theta), scaling=sums, most=most)
        return self._design.reduce(function, partial(_lower, most=most))


def _low_rows(block: RowBatch, at: tuple[F64, F64], scaling: Scaling, most: int) -> tuple[Any, ...]:
    """Return the rows of a block with the least margins."""
    gaps = _gaps(block, at)
    gaps[block.codes, np.arange(len(block))] = np.inf
    margins, other = gaps.min(axis=0), gaps.argmin(axis=0)
    least = np.argsort(margins, kind="stable")[:most]
    u = scaling.rows(block.x[least])
    if scaling.intercept:
        u = np.column_stack([u, np.ones(len(u))])
    return u, block.codes[least], other[least], margins[least]


def _lower(first: tuple[Any, ...], second: tuple[Any, ...], most: int) -> tuple[Any, ...]:
    """Join two sets of rows and keep the least margins."""
    parts = [np.concatenate(each) for each in zip(first, second, strict=True)]
    least = np.argsort(parts[-1], kind="stable")[:most]
    return tuple(part[least] for part in parts)


def _largest(block: RowBatch, scaling: Scaling) -> float:
    """Bound the entries of scaled rows."""
    sizes = abs(block.x).max(axis=0)
    sizes = sizes.toarray().ravel() if sparse.issparse(block.x) else sizes
    return float(((sizes + np.abs(scaling.centre)) / scaling.scale).max())


def _mean_margin(design: Design) -> F64:
    """Return the mean margin of all rows, whatever their weight, per entry of a direction."""
    (total,) = design.sum(partial(_margin_sums, n_logits=design.n_logits))
    return design.sums.first(total) / design.n_rows


def _margin_sums(block: RowBatch, n_logits: int) -> list[Any]:
    """Sum the mean margins of rows, as a function of the direction."""
    if n_logits == 1:
        return [block.times(2.0 * block.codes[None].astype(np.float64) - 1.0)]
    return [block.times(np.eye(n_logits)[:, block.codes] - 1.0 / n_logits)]


def _gaps(block: RowBatch, at: tuple[F64, F64]) -> F64:
    """Return by how much the own class of each row scores above each class, (K, B)."""
    scores = block.scores(at)
    scores = scores if len(scores) > 1 else np.vstack([np.zeros_like(scores), scores])
    return scores[block.codes, np.arange(len(block))] - scores


def _proven(design: Design, theta: F64) -> Direction | None:
    """Prove a direction on all rows; tell its kind and the pairs of classes that it parts."""
    at, n_classes = design.sums.coefficients(theta), design.n_classes
    least, parted = design.reduce(partial(_find_parted, at=at, n_classes=n_classes), _least_of)
    if least < -_ZERO or not parted.any():
        return None
    pairs = tuple((int(a), int(b)) for a, b in np.argwhere(np.triu(parted | parted.T)))
    return Direction("complete" if least > _ZERO else "quasi-complete", theta, pairs)


def _find_parted(block: RowBatch, at: tuple[F64, F64], n_classes: int) -> tuple[float, Bool]:
    """Return the least margin, and which classes (rows) are parted from which others."""
    parted, gaps = np.zeros((n_classes, n_classes), dtype=bool), _gaps(block, at)
    for k in np.unique(block.codes):
        parted[k] = gaps[:, block.codes == k].max(axis=1) > _ZERO
    gaps[block.codes, np.arange(len(block))] = np.inf
    return float(gaps.min()), parted


def _least_of(first: tuple[float, Bool], second: tuple[float, Bool]) -> tuple[float, Bool]:
    """Join what two sets of rows say of a direction."""
    return min(first[0], second[0]), first[1] | second[1]
