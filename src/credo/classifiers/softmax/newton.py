"""Newton's method that keeps a Hessian as long as it serves.

A full pass for gradients costs a fraction of one for second moments. Steps solve with the last
Hessian, corrected by the changes of the gradient seen since (BFGS); only if the gradient does not
fall fast is a new Hessian summed up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from credo._types import F64
from credo.classifiers.softmax.flat import flat_space
from credo.classifiers.softmax.metric import Metric, null_space
from credo.classifiers.softmax.objective import Objective, Value
from credo.classifiers.softmax.search import search

#: A Hessian is kept while each step brings the gradient below this share: ten such gradients
#: cost about one Hessian, and gain three digits.
_KEEP = 0.5


@dataclass(frozen=True, slots=True)
class Rules:
    """When to stop, whom to tell, and when to ask whether there is a minimum at all.

    ``told`` gets the iteration and the value; ``doubt`` gets coefficients, value and the last
    step, and stops the search by giving True.
    """

    tol: float
    max_iter: int
    told: Callable[[int, Value], None] = lambda _iteration, _value: None
    doubt: Callable[[F64, Value, F64 | None], bool] = lambda _theta, _value, _step: False

    def met(self, norm: float, loss: float) -> bool:
        """Tell whether a gradient is small, also beside a loss that is small itself.

        A residual is at most the loss of its row, so the rounding of a gradient is far below.
        """
        return norm <= self.tol * min(1.0, loss)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where a search ended."""

    theta: F64
    value: Value
    n_iter: int
    converged: bool


@dataclass(slots=True)
class _Secants:
    """A metric and the changes seen since it was made."""

    metric: Metric
    moves: list[tuple[F64, F64, float]] = field(default_factory=list)

    def add(self, step: F64, change: F64) -> None:
        """Learn from a step and the change of the gradient along it."""
        product = float((step * change).sum())
        if product > 0:
            self.moves.append((step, change, product))

    def direction(self, gradient: F64) -> F64:
        """Give minus the corrected inverse Hessian times the gradient: two loops."""
        rest = gradient.copy()
        amounts = []
        for step, change, product in reversed(self.moves):
            amount = float((step * rest).sum()) / product
            rest -= amount * change
            amounts.append(amount)
        answer = self.metric.solve(rest)
        for (step, change, product), amount in zip(self.moves, reversed(amounts), strict=True):
            answer += (amount - float((change * answer).sum()) / product) * step
        return -answer


def minimise(
    objective: Objective, theta: F64, rules: Rules, metric: Metric | None = None
) -> Outcome:
    """Search from ``theta``; a metric from elsewhere saves the first Hessian."""
    state = _State(objective, metric)
    value = state.refreshed(theta) if metric is None else objective.value(theta)
    step: F64 | None = None
    for iteration in range(rules.max_iter):
        rules.told(iteration, value)
        is_met = rules.met(value.norm, value.loss)
        if is_met or rules.doubt(theta, value, step):
            return Outcome(theta, value, iteration, is_met)
        move = search(objective, theta, value, state.secants.direction(value.gradient))
        if move is None:
            if state.is_fresh:
                return Outcome(theta, value, iteration, converged=False)
            value = state.refreshed(theta)
            continue
        before, value, step = value, move.value, move.theta - theta
        theta, state.is_fresh = move.theta, False
        if value.norm > _KEEP * before.norm and not rules.met(value.norm, value.loss):
            value = state.refreshed(theta)
        else:
            state.secants.add(step, value.gradient - before.gradient)
    return Outcome(theta, value, rules.max_iter, rules.met(value.norm, value.loss))


class _State:
    """The metric of a search, and how it is renewed."""

    secants: _Secants

    def __init__(self, objective: Objective, metric: Metric | None) -> None:
        self._objective = objective
        self._null: F64 | None = None
        self.is_fresh = False
        if metric is not None:
            self.secants = _Secants(metric)

    def refreshed(self, theta: F64) -> Value:
        """Sum up a new Hessian; the first tells which directions do not matter."""
        value = self._objective.value(theta, curved=True)
        moments = np.asarray(value.moments)
        ridge = self._objective.ridge
        if self._null is None:
            bare = not ridge.any()
            self._null = (
                flat_space(self._objective.design, null_space(moments))
                if bare
                else np.empty((len(ridge), 0))
            )
        metric = Metric(moments, self._objective.design.n_classes, ridge, self._null)
        self.secants = _Secants(metric)
        self.is_fresh = True
        return value
