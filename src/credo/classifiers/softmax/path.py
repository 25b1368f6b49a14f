"""Fits along a path of strengths, each from where the last one ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from credo._types import F64, Bool, Int, Labels
from credo._validation.arrays import as_vector, frozen
from credo.classifiers.softmax.fit import Penalty, Problem, Solution, solve
from credo.classifiers.softmax.newton import Rules
from credo.classifiers.softmax.objective import Objective
from credo.exceptions import InputError

#: The weakest of the strengths chosen, as a share of the strongest.
_L1_RANGE, _L2_RANGE = 1e-3, 1e-6
#: The strongest L2 penalty chosen, in units of the summed squares of a column: it shrinks the
#: coefficients to a few per cent, as a Hessian is at most a quarter of the squares.
_L2_STRONGEST = 10.0


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StrengthPath:
    """Hold the fits along a path of penalty strengths, from the strongest on.

    Made by ``LogisticClassifier.path``.

    Attributes
    ----------
    penalty : {"l1", "l2"}
        Of which kind.
    strengths : ndarray of shape (S,)
        Strengths, falling.
    coefs : ndarray of shape (S, 1, D) or (S, K, D)
        ``coef_`` at each strength.
    intercepts : ndarray of shape (S, 1) or (S, K)
        ``intercept_`` at each strength.
    log_likelihoods : ndarray of shape (S,)
        Of the rows, without the penalty.
    n_nonzero : ndarray of shape (S,)
        How many features have a coefficient that is not zero.
    converged : ndarray of shape (S,)
        Whether the gradient met the tolerance.
    classes, features : tuple of label
        What rows and columns of ``coefs`` are about.
    """

    penalty: str
    strengths: F64
    coefs: F64
    intercepts: F64
    log_likelihoods: F64
    n_nonzero: Int
    converged: Bool
    classes: Labels
    features: Labels

    def __len__(self) -> int:
        return len(self.strengths)

    def __repr__(self) -> str:
        return (
            f"StrengthPath({self.penalty}, {len(self)} strengths from {self.strengths[0]:.4g} to "
            f"{self.strengths[-1]:.4g}, {int(self.n_nonzero[0])} to {int(self.n_nonzero[-1])} of "
            f"{len(self.features)} features)"
        )


def strengths_of(problem: Problem, penalty: Penalty, given: object, n: int, owner: str) -> F64:
    """Check strengths, or choose ``n`` of them; strongest first."""
    if given is not None:
        strengths = np.sort(as_vector(given, owner, "strengths"))[::-1]
        if strengths[-1] <= 0:
            raise InputError(f"The strengths of {owner} must be positive. Got {strengths[-1]:g}.")
        return strengths
    top, reach = _strongest(problem, penalty)
    return top * np.logspace(0.0, np.log10(reach), n)


def _strongest(problem: Problem, penalty: Penalty) -> tuple[float, float]:
    """Give the strongest strength worth a look, and the share of it that is the weakest."""
    design = problem.design
    n_features = len(design.scaling.scale)
    if penalty == "l2":
        return _L2_STRONGEST * design.total * float((design.scaling.scale**2).mean()), _L2_RANGE
    gradient = Objective(design).value(problem.start()).gradient[:, :n_features]
    top = design.total * float((np.abs(gradient) * design.scaling.scale).max())
    return max(top, np.finfo(np.float64).tiny), _L1_RANGE


def follow(problem: Problem, penalty: Penalty, strengths: F64, rules: Rules) -> list[Solution]:
    """Fit at each strength, from the fit before."""
    found: list[Solution] = []
    for strength in strengths:
        start = found[-1].theta if found else problem.start()
        found.append(solve(problem, penalty, float(strength), rules, start))
    return found


def path_of(
    problem: Problem,
    penalty: Penalty,
    strengths: F64,
    solutions: list[Solution],
    names: tuple[Labels, Labels],
) -> StrengthPath:
    """Put the fits into the user's units."""
    scaling = problem.design.scaling
    both = [scaling.coefficients(each.theta) for each in solutions]
    coefs = np.stack([coef for coef, _ in both])
    classes, features = names
    return StrengthPath(
        str(penalty),
        frozen(strengths),
        frozen(coefs),
        frozen(np.stack([intercept for _, intercept in both])),
        frozen(np.array([each.log_likelihood for each in solutions])),
        frozen((coefs != 0).any(axis=1).sum(axis=1)),
        frozen(np.array([each.converged for each in solutions])),
        classes,
        features,
    )
