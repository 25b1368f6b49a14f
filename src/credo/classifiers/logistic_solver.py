r"""The minimum of the penalised mean cross-entropy, by passes over rows that may be anywhere.

.. math:: f(\theta) = \frac{1}{W} \sum_i w_i \ell(\theta u_i, y_i)
          + \sum_{k,j} \left( \tfrac{1}{2} \rho_j \theta_{kj}^2 + \lambda_j |\theta_{kj}| \right)

Rows are scaled, :math:`u = ((x - c) / s, 1)`. Whatever a solver asks of the rows (loss, gradient,
second moments, products with the Hessian) is made of blocks and merged: ``Design.reduce`` is the
only way to the rows, so that arrays, streams and clusters give the same answer. Few coefficients
are found by Newton's method with a Hessian that is kept while it serves, many by conjugate
gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg

from credo._types import F64, Bool, Int
from credo.classifiers.logistic_rows import FirstPass, LabelledBatch, Reader, RowBatch, Scaling
from credo.exceptions import InputError, NumericalError
from credo.families.moments import Rows

T = TypeVar("T")

#: Up to so many coefficients a Hessian is summed up and factored: measured, beyond that products
#: with it are faster; and up to so many classes, as it has a block for each pair of them.
MOST_FOR_HESSIAN, _MOST_CLASSES = 1000, 32
#: A sample must be a small part of all rows to be worth a fit of its own.
_WORTH = 4
#: The fit to a sample stops at this gradient, with this ridge in pseudo-rows: its own is off by
#: more.
_SAMPLE_TOL, _SAMPLE_ITER, _SAMPLE_RIDGE = 1e-4, 12, 1e-3
#: A Hessian is kept while each step brings the gradient below this share, as ten such gradients
#: cost less than a Hessian and gain three digits. One whose first step had to be cut short, far
#: from the minimum, where the next would do no better, is kept, corrected by what is learned on
#: the way, until trials have cost as much as it did: one per so many coefficients (measured: 6 to
#: 40).
_KEEP, _PER_TRIAL = 0.5, 16
#: Share of the promised decrease that is enough; rounding of a loss; trials along a direction.
_ENOUGH, _ROUNDING, _MOST_TRIALS = 1e-4, 1e-14, 40
#: Eigenvalues of a matrix with unit diagonal below this times its size are rounding.
_RANK = 1e-12
#: Share of the gradient that conjugate gradients may leave, and most products per step.
_FORCING, _MOST_PRODUCTS = 0.3, 200
#: Probabilities are kept between products if they take at most so many bytes.
_KEPT_BYTES = 2**31


class Passes(Protocol):
    """Rows that can be gone over again and again, wherever they are."""

    @property
    def in_memory(self) -> bool:
        """Whether a pass visits the same blocks in this process, one after the other."""
        ...

    def reduce(
        self, function: Callable[[LabelledBatch], T], merge: Callable[[T, T], T]
    ) -> T | None:
        """Return a function of each batch, merged in the order of the rows; None if no rows.

        Functions and merges can be pickled, are small and depend on nothing else.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class InMemory:
    """All rows in one batch."""

    rows: LabelledBatch
    in_memory: bool = True

    def reduce(self, function: Callable[[LabelledBatch], T], _merge: Callable[[T, T], T]) -> T:
        """Return the function of all rows."""
        return function(self.rows)


def _over_blocks(
    labelled: LabelledBatch, cut: Any, reader: Reader, function: Any, merge: Any
) -> Any:
    """Merge a function of blocks over those of a batch; it travels to the rows."""
    return reduce(merge, map(function, reader.batch(labelled).cut(*cut)))


def add(first: list[Any], second: list[Any]) -> list[Any]:
    """Add sums, one by one."""
    return [a + b for a, b in zip(first, second, strict=True)]


@dataclass(frozen=True, slots=True)
class Design:
    """Rows, and what the first pass learned of them: all that a solver knows of its source."""

    passes: Passes
    reader: Reader
    scaling: Scaling
    class_weights: F64
    n_rows: int
    #: Means of the columns.
    means: F64
    is_sparse: bool = False
    #: Some of the rows, if these are much fewer.
    sample: Design | None = None

    @classmethod
    def of(cls, passes: Passes, reader: Reader, survey: FirstPass, *, intercept: bool) -> Design:
        """Take what a survey says; and its sample, if that is worth a fit of its own."""
        moments: Any = survey.moments
        reader, some = replace(reader, classes=survey.classes), survey.sample
        rows = survey.scaling(intercept=intercept), survey.class_weights, int(moments.counts[0])
        design = cls(passes, reader, *rows, moments.means[0], survey.is_sparse)
        if some is None or survey.every < _WORTH:
            return design
        local = InMemory((Rows(some.x, some.codes, some.weights, len(rows[1])), survey.classes))
        weights = np.bincount(some.codes, some.weights, len(rows[1])).astype(np.float64)
        sample = replace(design, passes=local, class_weights=weights, n_rows=len(some))
        return replace(design, sample=sample)

    @property
    def n_classes(self) -> int:
        """Number of classes, K."""
        return len(self.class_weights)

    @property
    def total(self) -> float:
        """Sum of all weights."""
        return float(self.class_weights.sum())

    @property
    def maps_rows(self) -> bool:
        """Whether rows are scaled one by one: mapping the coefficients instead is cheaper."""
        return self.scaling.is_far and not self.is_sparse

    @property
    def sums(self) -> Scaling:
        """The scaling that is still to be applied to sums over blocks."""
        if not self.maps_rows:
            return self.scaling
        n = len(self.scaling.scale)
        return Scaling(np.zeros(n), np.ones(n), self.scaling.intercept)

    @property
    def n_logits(self) -> int:
        """Number of scores per row: one for two classes."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def n_coefficients(self) -> int:
        """Number of coefficients, one class of several left out."""
        return (self.n_classes - 1) * self.scaling.n_columns

    def start(self) -> F64:
        """Return the coefficients of the class frequencies alone."""
        theta = np.zeros((self.n_logits, self.scaling.n_columns))
        if self.scaling.intercept:
            logs = np.log(self.class_weights)
            theta[:, -1] = logs[1] - logs[0] if len(theta) == 1 else logs - logs.mean()
        return theta

    def reduce(self, function: Callable[[RowBatch], T], merge: Callable[[T, T], T]) -> T:
        """Return a function of each block of rows, merged."""
        cut = self.n_logits, self.scaling if self.maps_rows else None
        over = partial(_over_blocks, cut=cut, reader=self.reader, function=function, merge=merge)
        found: T | None = self.passes.reduce(over, merge)
        if found is None:
            raise InputError("A later pass over the rows gave none. Every pass must give them all.")
        return found

    def sum(self, function: Callable[[RowBatch], list[Any]]) -> list[Any]:
        """Sum what a function makes of each block: arrays or numbers."""
        return self.reduce(function, add)


def link(scores: F64, codes: Int) -> tuple[F64, F64, F64]:
    """Return cross-entropies, p - y, and p: of the second class if there is one logit.

    Nothing cancels; the scores are overwritten.
    """
    if len(scores) == 1:
        sign = 2.0 * codes - 1.0
        margin = scores[0] * sign
        small = np.exp(-np.abs(margin))
        losses = np.log1p(small) - np.minimum(margin, 0.0)
        residuals = -sign * np.where(margin >= 0, small, 1.0) / (1.0 + small)
        return losses, residuals[None], (residuals + codes)[None]
    own = codes, np.arange(scores.shape[1])
    scores -= scores.max(axis=0)
    score = scores[own]
    p = np.exp(scores, out=scores)
    weight, p[own] = p[own], 0.0
    others = p.sum(axis=0)  # apart from the own class, so that nothing cancels
    totals = others + weight
    losses = np.where(score == 0, np.log1p(others), np.log(totals) - score)
    residuals = p / totals
    residuals[own] = -others / totals
    p[own] = weight
    p /= totals
    return losses, residuals, p


def _gradient(block: RowBatch, at: tuple[F64, F64]) -> list[Any]:
    """Sum losses and residuals; and count rows that are not clearly on their own side."""
    losses, residuals, _ = link(block.scores(at), block.codes)
    unsure = int(np.count_nonzero(losses >= np.log(2.0)))
    if block.weights is None:
        return [losses.sum(), unsure, block.times(residuals)]
    return [block.weights @ losses, unsure, block.times(residuals * block.weights)]


def _pairs(n_classes: int) -> list[tuple[int, int]]:
    """List the pairs of classes."""
    return [(k, j) for k in range(n_classes) for j in range(k)]


def _moments(block: RowBatch, at: tuple[F64, F64]) -> list[Any]:
    """Sum w p_k p_j (x, 1)(x, 1)ᵀ for each pair of classes."""
    is_start = not at[0].any()  # all rows have the same probabilities
    some = block[:1] if is_start else block
    p = link(some.scores(at), some.codes)[-1]
    p = np.vstack([1.0 - p, p]) if len(p) == 1 else p
    if is_start:
        gram = block.gram(np.sqrt(block.amounts))
        return [np.stack([p[k] * p[j] * gram for k, j in _pairs(len(p))])]
    roots = np.sqrt(p)
    if block.weights is not None:
        roots *= block.weights**0.25
    return [np.stack([block.gram(roots[k] * roots[j]) for k, j in _pairs(len(p))])]


@dataclass(frozen=True, slots=True)
class Place:
    """Coefficients, and what a pass found there."""

    theta: F64
    #: Mean cross-entropy, alone and with the penalty.
    mean: float
    loss: float
    #: Of all but the L1 penalty; and the largest entry of the least subgradient of all.
    gradient: F64
    norm: float
    #: Every row has a probability above one half.
    all_right: bool


@dataclass(frozen=True, slots=True)
class Objective:
    """Penalised mean cross-entropy; penalties are per scaled column."""

    design: Design
    ridge: F64
    lasso: F64

    @classmethod
    def of(cls, design: Design, strength: float, l1_ratio: float) -> Self:
        """Put the penalty of the user's columns on scaled ones; none on the intercept."""
        amounts = np.pad(1.0 / design.scaling.scale, (0, design.scaling.intercept))
        ridge = (1.0 - l1_ratio) * strength * amounts**2 / design.total
        return cls(design, ridge, l1_ratio * strength * amounts / design.total)

    @property
    def is_bare(self) -> bool:
        """Whether there is no penalty."""
        return not (self.ridge.any() or self.lasso.any())

    def at(self, theta: F64) -> Place:
        """Pass over the rows for the value and the gradient."""
        design, sums = self.design, self.design.sums
        loss, unsure, raw = design.sum(partial(_gradient, at=sums.coefficients(theta)))
        mean, gradient = float(loss) / design.total, sums.first(raw) / design.total
        gradient += self.ridge * theta
        penalty = 0.5 * (self.ridge * theta**2).sum() + (self.lasso * np.abs(theta)).sum()
        at_zero = np.maximum(np.abs(gradient) - self.lasso, 0.0)
        rest = np.where(theta == 0, at_zero, np.abs(gradient + self.lasso * np.sign(theta)))
        norm = float(rest.max(initial=0.0))
        return Place(theta, mean, mean + float(penalty), gradient, norm, unsure == 0)


@dataclass(frozen=True, slots=True)
class StopRules:
    """When to stop, whom to tell, and whom to ask whether there is a minimum at all."""

    tol: float
    max_iter: int
    told: Callable[[int, Place], None] = lambda _iteration, _place: None
    doubt: Callable[[Place, F64], bool] = lambda _place, _step: False

    def met(self, place: Place) -> bool:
        """Tell whether a gradient is small, also beside a loss that is small itself."""
        return place.norm <= self.tol * min(1.0, place.loss)


@dataclass(frozen=True, slots=True)
class Solution:
    """Where a search ended; the Hessian is of the mean loss, last of several classes left out."""

    place: Place
    n_iter: int
    converged: bool
    hessian: F64 | None = None
    null: F64 | None = None


class Hessian:
    r"""The Hessian at a place, factored; and steps to the minimum of the quadratic model.

    With :math:`A_{kj} = \sum_i w_i p_{ik} p_{ij} u_i u_i^T`, the blocks are
    :math:`H_{kj} = -A_{kj}` and :math:`H_{kk} = \sum_{j \ne k} A_{kj}`.
    """

    is_kept = True

    def __init__(self, objective: Objective, place: Place) -> None:
        design, self._lasso = objective.design, objective.lasso
        self._secants: list[tuple[F64, F64, float]] = []
        sums = design.sums
        (raw,) = design.sum(partial(_moments, at=sums.coefficients(place.theta)))
        moments = sums.second(raw) / design.total
        n, size = design.n_logits, moments.shape[1]
        blocks = _assemble_hessian(moments, design.n_classes) + np.diag(np.tile(objective.ridge, n))
        kept = max(1, n - 1) * size
        self.reduced = blocks[:kept, :kept].copy()
        #: Directions of collinear columns, and whether others only look like some.
        self.null, self.is_unclear = np.empty((size, 0)), False
        if objective.is_bare:
            unseen = _unseen(moments.sum(axis=0))
            self.null = _flat(design, unseen) if unseen.size else unseen
            self.is_unclear = self.null.shape != unseen.shape
        top = float(np.diagonal(blocks).max())
        if self._lasso.any():
            self.matrix = blocks + 1e-10 * top * np.eye(len(blocks)) if n > 1 else blocks
            return
        if n > 1:  # coefficients of several classes sum to zero
            blocks += np.kron(np.full((n, n), top / n), np.eye(size))
        if self.null.size:
            blocks += np.kron(np.eye(n), top * self.null @ self.null.T)
        self._factor = _factored(blocks)

    def step(self, place: Place, _share: float = 0.0) -> F64:
        """Return the way to the minimum of the model."""
        theta, gradient = place.theta, place.gradient.ravel()
        if not self._lasso.any():
            return self._corrected(gradient).reshape(theta.shape)
        flat = theta.ravel()
        amounts = np.tile(self._lasso, len(theta))
        goal = lasso_minimum(self.matrix, gradient - self.matrix @ flat, amounts, flat)
        return goal.reshape(theta.shape) - theta

    def learn(self, here: Place, there: Place) -> None:
        """Learn from a step how the gradient changed along it (BFGS)."""
        step = (there.theta - here.theta).ravel()
        change = (there.gradient - here.gradient).ravel()
        product = float(step @ change)
        if product > 0:
            self._secants.append((step, change, product))

    def _corrected(self, gradient: F64) -> F64:
        """Return minus the inverse times a gradient, corrected by what was learned: two loops."""
        rest, amounts = gradient.copy(), []
        for step, change, product in reversed(self._secants):
            amounts.append(float(step @ rest) / product)
            rest -= amounts[-1] * change
        answer = cho_solve(self._factor, rest, check_finite=False)
        for (step, change, product), amount in zip(self._secants, reversed(amounts), strict=True):
            answer += (amount - float(change @ answer) / product) * step
        return -answer


def _assemble_hessian(moments: F64, n_classes: int) -> F64:
    """Put the second moments of pairs of classes together to the Hessian."""
    if n_classes == 2:
        return moments[0]
    size = moments.shape[1]
    blocks = np.zeros((n_classes, size, n_classes, size))
    for pair, (k, j) in zip(moments, _pairs(n_classes), strict=True):
        blocks[k, :, j] -= pair
        blocks[j, :, k] -= pair
        blocks[k, :, k] += pair
        blocks[j, :, j] += pair
    return blocks.reshape(n_classes * size, n_classes * size)


def _factored(matrix: F64) -> tuple[F64, bool]:
    """Factor a matrix, with as little added to its diagonal as it takes."""
    if not np.isfinite(matrix).all():
        raise NumericalError(
            "The Hessian of the log-likelihood is not a matrix of finite numbers. Check the units "
            "of the columns and the weights."
        )
    diagonal, extra = np.diagonal(matrix).copy(), 0.0
    least = 1e-14 * max(float(diagonal.max()), 1e-290)
    while True:
        try:
            return cho_factor(matrix, lower=True, check_finite=False)
        except LinAlgError:
            extra = max(10 * extra, least)
            np.fill_diagonal(matrix, diagonal + extra)


def _unseen(pooled: F64) -> F64:
    """Return an orthonormal basis (P, r) of the directions that second moments do not see."""
    scale = np.sqrt(np.maximum(np.diagonal(pooled), 0.0))
    empty = scale <= np.sqrt(_RANK) * scale.max()  # columns of zeros, but for rounding
    inverse = np.where(empty, 0.0, 1.0 / np.where(empty, 1.0, scale))
    values, vectors = np.linalg.eigh(pooled * inverse * inverse[:, None])
    loose = vectors[:, values <= len(scale) * _RANK]
    return np.linalg.qr(loose * np.where(empty, 1.0, inverse)[:, None])[0] if loose.size else loose


def _flat(design: Design, basis: F64) -> F64:
    """Return those of the directions along which no row differs; moments lose light rows."""
    (squares,) = design.sum(partial(_squares, at=design.sums.coefficients(basis.T)))
    values, vectors = np.linalg.eigh(squares / design.n_rows)
    return basis @ vectors[:, values <= len(basis) * _RANK]


def _squares(block: RowBatch, at: tuple[F64, F64]) -> list[Any]:
    """Sum products of scores, whatever the weights."""
    scores = block.scores(at)
    return [scores @ scores.T]


def lasso_minimum(hessian: F64, linear: F64, amounts: F64, start: F64) -> F64:
    r"""Return the minimum of :math:`\frac{1}{2} u^T H u + q^T u + \sum_j \lambda_j |u_j|`.

    Feature-sign search: guess the signs, solve for the entries that are not zero, and walk towards
    the solution, past entries that reach zero if that is lower. Each walk lowers the objective and
    there are finitely many patterns, so it ends.
    """
    u, signs, free = start.copy(), np.sign(start), amounts == 0
    for _ in range(10 * len(u) + 10):
        gradient = hessian @ u + linear
        slack = 1e-11 * (np.abs(hessian) @ np.abs(u) + np.abs(linear))  # what rounding leaves
        active = (u != 0) | free
        if (np.abs(gradient + amounts * signs) <= slack)[active].all():
            excess = np.where(active, 0.0, np.abs(gradient) - amounts - slack)
            worst = int(excess.argmax())
            if excess[worst] <= 0:
                return u
            active[worst], signs[worst] = True, -np.sign(gradient[worst])
        u = _walk(hessian, linear, amounts, u, active, signs)
        signs = np.sign(u)
    return u


def _walk(hessian: F64, linear: F64, amounts: F64, u: F64, active: Bool, signs: F64) -> F64:
    """Go towards the minimum for these signs, as far as the objective falls."""
    goal, part = np.zeros_like(u), hessian[np.ix_(active, active)]
    right = -(linear + amounts * signs)[active]
    try:
        goal[active] = cho_solve(cho_factor(part, check_finite=False), right, check_finite=False)
    except LinAlgError:
        goal[active] = np.linalg.lstsq(part, right, rcond=None)[0]
    step = goal - u
    with np.errstate(divide="ignore", invalid="ignore"):
        crossings = np.where((u != 0) & (amounts > 0), -u / step, np.inf)
    shares = np.append(np.sort(crossings[(crossings > 0) & (crossings < 1)]), 1.0)
    slope, bend = float(linear @ step + u @ hessian @ step), float(step @ hessian @ step)
    sizes = np.abs(u + shares[:, None] * step) @ amounts
    best = shares[int(np.argmin(shares * slope + 0.5 * shares**2 * bend + sizes))]
    place: F64 = u + best * step if best < 1 else goal
    place[crossings == best] = 0.0
    return place


class Products:
    r"""Products with the Hessian at a place, and steps by conjugate gradients.

    .. math:: H v = \frac{1}{W} \sum_i w_i \left(p_i \circ (s_i - p_i^T s_i)\right) u_i^T + \rho v,
              \qquad s_i = v u_i
    """

    is_kept = is_unclear = False
    reduced = null = None

    def __init__(self, objective: Objective, place: Place) -> None:
        self._objective, design = objective, objective.design
        self._at = design.sums.coefficients(place.theta)
        n_bytes = 8 * design.n_logits * design.n_rows
        #: Probabilities of each block, if they can be kept.
        is_kept = design.passes.in_memory and n_bytes <= _KEPT_BYTES
        self._known: list[F64] | None = [] if is_kept else None
        squares, firsts = design.sum(partial(_diagonal, at=self._at, kept=self._known))
        centre, scale = design.sums.centre, design.sums.scale
        squares -= 2 * centre * firsts[:, :-1] - firsts[:, -1:] * centre**2
        diagonal = np.maximum(squares / scale**2, 0.0)
        if design.sums.intercept:
            diagonal = np.column_stack([diagonal, firsts[:, -1]])
        diagonal = diagonal / design.total + objective.ridge
        self._root = np.sqrt(np.maximum(diagonal, 1e-12 * diagonal.max()))

    def times(self, direction: F64) -> F64:
        """Return the Hessian times a direction, shape (n_logits, P)."""
        design = self._objective.design
        along = design.sums.coefficients(direction)
        known = None if self._known is None else iter(self._known)
        (raw,) = design.sum(partial(_hessian_times, at=self._at, along=along, known=known))
        return design.sums.first(raw) / design.total + self._objective.ridge * direction

    def step(self, place: Place, share: float) -> F64:
        """Solve until that share of the gradient is left; the diagonal is divided out."""
        shape, root = place.theta.shape, self._root

        def scaled(v: Any) -> F64:
            return (self.times(v.reshape(shape) / root) / root).ravel()

        size = place.theta.size
        system = LinearOperator((size, size), matvec=scaled, dtype=np.float64)
        right = -(place.gradient / root).ravel()
        found, _ = cg(system, right, rtol=share, maxiter=_MOST_PRODUCTS)
        return found.reshape(shape) / root


def _diagonal(block: RowBatch, at: tuple[F64, F64], kept: list[F64] | None) -> list[Any]:
    """Sum what the diagonal needs, and keep the probabilities on the way."""
    p = link(block.scores(at), block.codes)[-1]
    if kept is not None:
        kept.append(p)
    weights = p * (1.0 - p)
    if block.weights is not None:
        weights *= block.weights
    return [block.times_squares(weights), block.times(weights)]


def _hessian_times(
    block: RowBatch, at: tuple[F64, F64], along: tuple[F64, F64], known: Iterator[F64] | None
) -> list[Any]:
    """Sum the product with a direction; probabilities are those of the block, if known."""
    p = link(block.scores(at), block.codes)[-1] if known is None else next(known)
    scores = block.scores(along)
    if len(p) == 1:
        scores *= p * (1.0 - p)
    else:
        scores -= np.einsum("kb,kb->b", p, scores)
        scores *= p
    return [block.times(scores if block.weights is None else scores * block.weights)]


def minimise(
    objective: Objective, theta: F64, rules: StopRules, *, few: bool, model: Any = None
) -> Solution:
    """Search from ``theta``; a quadratic model from elsewhere saves the first one."""
    make: Any = Hessian if few else Products
    here = objective.at(theta)
    step, first, is_fresh, is_cut, trials = np.zeros_like(theta), here.norm, False, False, 0
    most_trials = 0 if objective.lasso.any() else objective.design.n_coefficients // _PER_TRIAL
    for iteration in range(rules.max_iter):
        rules.told(iteration, here)
        is_met = rules.met(here)
        if is_met or rules.doubt(here, step):
            return Solution(here, iteration, is_met)
        if model is None:
            model, is_fresh, trials = make(objective, here), True, 0
        least = _FORCING * rules.tol * min(1.0, here.loss) / here.norm
        share = max(min(_FORCING, here.norm / first), least)
        there, tried = _search(objective, here, model.step(here, share))
        is_cut = tried > 1 if not trials else is_cut
        trials += tried
        if there is None:
            if is_fresh:
                return Solution(here, iteration, converged=False)
            model = None
            continue
        is_kept = there.norm <= _KEEP * here.norm or (is_cut and trials < most_trials)
        if is_kept and model.is_kept:
            model.learn(here, there)
        else:
            model = None
        is_fresh = False
        step, here = there.theta - here.theta, there
    return Solution(here, rules.max_iter, rules.met(here))


def _search(objective: Objective, here: Place, step: F64) -> tuple[Place | None, int]:
    """Go along ``step``, all of it if that is progress; None if no part of it is; and trials."""
    theta, share = here.theta, 1.0
    lasso = objective.lasso
    slope = float((here.gradient * step).sum())
    promise = slope + float((lasso * (np.abs(theta + step) - np.abs(theta))).sum())
    if not promise < 0:
        return None, 0
    for trial in range(_MOST_TRIALS):
        there = objective.at(theta + share * step)
        gain = here.loss - there.loss
        is_enough = gain >= -_ENOUGH * share * promise
        if is_enough or (gain >= -_ROUNDING * here.loss and there.norm < 0.9 * here.norm):
            return there, trial + 1
        new_slope = float((there.gradient * step).sum())
        is_known = np.isfinite(new_slope) and new_slope > 0 and not lasso.any()
        share *= float(np.clip(slope / (slope - new_slope), 0.1, 0.5)) if is_known else 0.5
    return None, _MOST_TRIALS


def _split(objective: Objective, theta: F64, rules: StopRules) -> Solution:
    """Search with an L1 penalty on many coefficients: θ = a - b with a, b ≥ 0, by L-BFGS-B."""
    shape, size = theta.shape, theta.size
    amounts = np.tile(objective.lasso, len(theta))
    places, count = [objective.at(theta)], [0]

    def at(parts: F64) -> tuple[float, F64]:
        place = places[0] = objective.at((parts[:size] - parts[size:]).reshape(shape))
        gradient = place.gradient.ravel()
        loss = place.loss + 2.0 * float(amounts @ np.minimum(parts[:size], parts[size:]))
        return loss, np.concatenate([gradient + amounts, amounts - gradient])

    def tell(_: Any) -> None:
        rules.told(count[0], places[0])
        count[0] += 1

    flat, goal = theta.ravel(), 0.25 * rules.tol * min(1.0, places[0].loss)
    limits = {"maxiter": rules.max_iter, "maxfun": 10 * rules.max_iter}
    found = minimize(
        at,
        np.concatenate([np.maximum(flat, 0.0), np.maximum(-flat, 0.0)]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * (2 * size),
        callback=tell,
        options={**limits, "gtol": goal, "ftol": 0.0, "maxcor": 20},
    )
    place = objective.at((found.x[:size] - found.x[size:]).reshape(shape))
    return Solution(place, int(found.nit), rules.met(place))


def fit(objective: Objective, rules: StopRules, start: F64 | None = None) -> Solution:
    """Minimise by the method that suits the size, from ``start`` if one is near."""
    design, is_lasso = objective.design, bool(objective.lasso.any())
    theta = design.start() if start is None else start
    few = is_small(objective)
    if is_lasso and not few:
        found = _split(objective, theta, rules)
    else:
        model = None
        if few and design.sample is not None:  # its minimum is near, its Hessian much the same
            ridge = 0.0 if is_lasso else _SAMPLE_RIDGE / design.sample.n_rows
            near = replace(objective, design=design.sample, ridge=objective.ridge + ridge)
            if start is None:
                first = StopRules(_SAMPLE_TOL, _SAMPLE_ITER)
                theta = minimise(near, theta, first, few=True).place.theta
            model = Hessian(near, near.at(theta))
        found = minimise(objective, theta, rules, few=few, model=model)
    theta = found.place.theta.copy()
    if len(theta) > 1:  # coefficients of several classes sum to zero; with L1, only intercepts
        free = slice(len(design.scaling.scale), None) if is_lasso else slice(None)
        theta[:, free] -= theta[:, free].mean(axis=0)
    return replace(found, place=replace(found.place, theta=theta))


def is_small(objective: Objective) -> bool:
    """Tell whether a Hessian is worth its sum."""
    design = objective.design
    is_narrow = design.n_classes <= _MOST_CLASSES or objective.is_bare
    return is_narrow and design.n_coefficients <= MOST_FOR_HESSIAN
