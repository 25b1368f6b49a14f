"""From a design and a recipe to coefficients: which solver, from where, and what it found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from credo._types import F64
from credo.classifiers.softmax.batches import Batch
from credo.classifiers.softmax.curvature import Curvature, KeptRows
from credo.classifiers.softmax.flat import flat_space
from credo.classifiers.softmax.lasso import Penalised, minimise_lasso, minimise_split
from credo.classifiers.softmax.metric import Metric, hessian_of, null_space
from credo.classifiers.softmax.newton import Outcome, Rules, minimise
from credo.classifiers.softmax.objective import Design, Objective, Value
from credo.classifiers.softmax.separation import MOST_VARIABLES, Direction, find_separation
from credo.classifiers.softmax.truncated import conjugate, minimise_truncated

Penalty = Literal["l1", "l2"] | None

#: Up to so many coefficients a Hessian is summed up and factored; measured, beyond that products
#: with it are faster.
MOST_FOR_HESSIAN = 1000
#: Up to so many classes: beyond, a Hessian is the sum of more than 500 products, one for each pair.
_MOST_CLASSES = 32
#: The fit to a sample stops at this gradient: its own is off by more.
_SAMPLE_TOL, _SAMPLE_ITER = 1e-4, 12
#: Its ridge, in pseudo-rows: little enough to leave nearly collinear columns as they are.
_SAMPLE_RIDGE = 1e-3
#: A last step that does not bring each entry of the gradient below this share asks for an
#: explanation: near a minimum it does, and along a separating direction to 1 / e. Entries that
#: are below this share of the tolerance do not count.
_FALLS, _ABOVE_ROUNDING = 0.2, 1e-3
#: Share of the gradient that such a step by products leaves itself; and its length, of scaled
#: columns, that is none to worry about, as is a curvature above it: in single precision a
#: probability near one is one, so that a step may go so far that nothing else is left to see.
_LEFT, _SHORT = 0.01, 1e-3
#: Losses are right to about this share.
_ROUNDING = 1e-14
#: Steps longer than this, so many in a row that do not bring the gradient down, raise doubts.
_STILL, _PATIENCE = 0.1, 4
#: All rows are on their own side if the worst has less than this.
_LOG2 = float(np.log(2.0))


@dataclass(frozen=True, slots=True)
class Problem:
    """A design, and what the first pass learned of it."""

    design: Design
    class_weights: F64
    n_rows: int
    n_stored: int
    sample: Batch | None
    in_memory: bool

    @property
    def n_coefficients(self) -> int:
        """Give the number of coefficients, one class of several left out."""
        return (self.design.n_classes - 1) * self.design.scaling.n_columns

    @property
    def has_many(self) -> bool:
        """Tell whether there are so many pairs of classes that their moments cost too much."""
        return self.design.n_classes > _MOST_CLASSES

    def start(self) -> F64:
        """Give the coefficients of the class frequencies alone."""
        theta = np.zeros((self.design.n_logits, self.design.scaling.n_columns))
        if self.design.scaling.intercept:
            logs = np.log(self.class_weights)
            theta[:, -1] = logs[1] - logs[0] if len(theta) == 1 else logs - logs.mean()
        return theta


@dataclass(frozen=True, slots=True)
class Solution:
    """What a fit found; the Hessian is that of the mean loss."""

    theta: F64
    value: Value
    log_likelihood: float
    #: Largest entry of the gradient, or of the least subgradient, of the mean penalised loss.
    norm: float
    n_iter: int
    converged: bool
    hessian: F64 | None = None
    null: F64 | None = None
    separation: Direction | None = None


def solve(
    problem: Problem, penalty: Penalty, strength: float, rules: Rules, start: F64 | None = None
) -> Solution:
    """Fit, from ``start`` if one is near."""
    if penalty == "l1":
        return _solve_l1(problem, strength, rules, start)
    objective = Objective(problem.design, _ridge(problem, strength if penalty == "l2" else 0.0))
    if penalty == "l2":
        return _solve_smooth(problem, objective, rules, start)
    return _solve_bare(problem, objective, rules)


def _ridge(problem: Problem, strength: float) -> F64:
    """Give the ridge of scaled columns of the mean loss; none for the intercept."""
    scaling = problem.design.scaling
    ridge = strength / (scaling.scale**2 * problem.design.total)
    return np.append(ridge, 0.0) if scaling.intercept else ridge


def _solve_smooth(
    problem: Problem, objective: Objective, rules: Rules, start: F64 | None
) -> Solution:
    """Minimise a smooth objective by the solver that suits its size."""
    theta = problem.start() if start is None else start
    if problem.n_coefficients > MOST_FOR_HESSIAN or (objective.ridge.any() and problem.has_many):
        kept = None
        if problem.in_memory:
            kept = KeptRows.if_they_fit(problem.design, problem.n_rows, problem.n_stored)
        outcome = minimise_truncated(objective, theta, rules, kept)
    elif problem.sample is not None:
        theta, metric = _from_sample(problem, problem.sample, objective, start)
        outcome = minimise(objective, theta, rules, metric)
    else:
        outcome = minimise(objective, theta, rules)
    return _solution(outcome, objective)


def _solution(outcome: Outcome, objective: Objective) -> Solution:
    """Keep an outcome, with coefficients of several classes that sum to zero."""
    theta, value = outcome.theta, outcome.value
    bare = value.loss - objective.penalty(theta)
    if len(theta) > 1:
        theta = theta - theta.mean(axis=0)
    return Solution(
        theta,
        value,
        -objective.design.total * bare,
        value.norm,
        outcome.n_iter,
        outcome.converged,
    )


def _from_sample(
    problem: Problem, sample: Batch, objective: Objective, start: F64 | None
) -> tuple[F64, Metric]:
    """Fit a sample, a little ridge added: the place is near, and the Hessian much the same.

    If there is a start that is nearer, only the Hessian is taken from the sample.
    """
    extra = _SAMPLE_RIDGE / len(sample)
    of_sample = Objective(_sampled(problem, sample), objective.ridge + extra)
    theta = start
    if theta is None:
        theta = minimise(of_sample, problem.start(), Rules(_SAMPLE_TOL, _SAMPLE_ITER)).theta
    moments = np.asarray(of_sample.value(theta, curved=True).moments)
    return theta, Metric(moments, problem.design.n_classes, of_sample.ridge)


def _sampled(problem: Problem, sample: Batch) -> Design:
    """Give the design of the sample."""
    return replace(problem.design, source=lambda: (sample,), total=sample.total)


def _solve_bare(problem: Problem, objective: Objective, rules: Rules) -> Solution:
    """Minimise without a penalty: separation is looked for, and collinear columns are."""
    doubts = _Doubts(problem.design)
    watched = replace(rules, doubt=doubts)
    found = _solve_smooth(problem, objective, watched, None)
    if doubts.found is not None:
        return replace(found, separation=doubts.found, converged=False)
    if problem.n_coefficients > MOST_FOR_HESSIAN:
        return _doubted(problem, objective, found)
    value = objective.value(found.theta, curved=True)
    moments = np.asarray(value.moments)
    unseen = null_space(moments)
    null = flat_space(problem.design, unseen)
    n_classes = problem.design.n_classes
    step = Metric(moments, n_classes, objective.ridge, null).solve(value.gradient)
    last = objective.value(found.theta - step)
    floor = _ABOVE_ROUNDING * rules.tol * min(1.0, value.loss)
    stays = np.abs(last.gradient) > np.maximum(_FALLS * np.abs(value.gradient), floor)
    if stays.any() or null.shape != unseen.shape or not found.converged:
        separation = find_separation(problem.design, found.theta)
        if separation is not None:
            return replace(found, separation=separation, converged=False)
    better = last.norm <= value.norm and last.loss <= (1.0 + _ROUNDING) * value.loss
    theta = found.theta - step if better else found.theta
    final = last if better else value
    return replace(
        found,
        theta=_least(theta, null, problem.design) if null.size else theta,
        value=final,
        norm=final.norm,
        converged=found.converged or rules.met(final.norm, final.loss),
        log_likelihood=-problem.design.total * final.loss,
        hessian=hessian_of(moments, n_classes, objective.ridge),
        null=null,
    )


def _doubted(problem: Problem, objective: Objective, found: Solution) -> Solution:
    """Look for separation if a column has no curvature left, or another step is no last one."""
    theta, value = found.theta, found.value
    if theta.size > MOST_VARIABLES:
        return found
    curvature = Curvature(objective, theta, None)
    curved = curvature.diagonal.max(axis=0)[theta.any(axis=0)]
    step = conjugate(curvature, -value.gradient, _LEFT)
    is_calm = found.converged and np.abs(step).max() <= _SHORT <= curved.min(initial=1.0)
    if is_calm and objective.value(theta + step).norm <= _FALLS * value.norm:
        return found
    separation = find_separation(problem.design, theta)
    return found if separation is None else replace(found, separation=separation, converged=False)


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

    def __call__(self, theta: F64, value: Value, step: F64 | None) -> bool:
        """Look closer if all rows are on their own side, or steps stay long all the time.

        If all rows can be on their own side, the search goes on until they are.
        """
        all_right = value.worst < _LOG2
        if self.found is not None:
            return all_right
        falls = value.norm <= _FALLS * self._norm
        is_short = step is None or float(np.abs(step).max()) < _STILL
        self._slow = 0 if falls or is_short else self._slow + 1
        self._norm = value.norm
        if not all_right and self._slow < self._most:
            return False
        self._most, self._slow = 2 * self._most, 0
        self.found = find_separation(self._design, theta)
        return self.found is not None and (all_right or self.found.kind != "complete")


def _solve_l1(problem: Problem, strength: float, rules: Rules, start: F64 | None) -> Solution:
    """Minimise with an L1 penalty."""
    scaling = problem.design.scaling
    amounts = strength / (scaling.scale * problem.design.total)
    amounts = np.append(amounts, 0.0) if scaling.intercept else amounts
    penalised = Penalised(Objective(problem.design), amounts)
    theta = problem.start() if start is None else start
    if problem.has_many or problem.design.n_logits * scaling.n_columns > MOST_FOR_HESSIAN:
        outcome = minimise_split(penalised, theta, rules)
    else:
        if start is None and problem.sample is not None:
            few = Penalised(Objective(_sampled(problem, problem.sample)), amounts)
            theta = minimise_lasso(few, theta, Rules(_SAMPLE_TOL, _SAMPLE_ITER)).theta
        outcome = minimise_lasso(penalised, theta, rules)
    theta = outcome.theta
    if len(theta) > 1 and scaling.intercept:
        theta = theta.copy()
        theta[:, -1] -= theta[:, -1].mean()
    norm = penalised.norm(theta, outcome.value)
    return replace(_solution(outcome, penalised.smooth), theta=theta, norm=norm)
