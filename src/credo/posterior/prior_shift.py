"""Priors of unlabelled rows, by expectation maximisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo._types import F64, Label, Labels, PerLabel
from credo._validation.arrays import frozen
from credo._validation.probabilities import as_priors
from credo.exceptions import InputError, NumericalError


@dataclass(frozen=True, slots=True, eq=False)
class PriorEstimate:
    """The estimated priors of unlabelled rows, and how the estimate was reached.

    Attributes
    ----------
    labels
        Names, in the order of ``priors``.
    priors
        Maximum-likelihood priors.
    standard_errors
        From the observed information; all infinite if the rows do not tell some labels apart, and
        no guide where a prior is estimated as 0.
    log_likelihood
        Trace over the steps, relative to the old priors; it never falls.
    converged
        Whether the last step moved no prior by more than the tolerance.

    Examples
    --------
    >>> from credo import Posterior
    >>> rows = Posterior.from_probabilities([[0.9, 0.1]] * 3 + [[0.2, 0.8]], ["a", "b"])
    >>> estimate = rows.estimate_priors(old=[0.5, 0.5])
    >>> estimate.log_likelihood[-1] > estimate.log_likelihood[0]
    np.True_
    """

    labels: Labels
    priors: F64
    standard_errors: F64
    log_likelihood: F64
    converged: bool

    @property
    def n_iterations(self) -> int:
        """Number of steps taken."""
        return len(self.log_likelihood) - 1

    def to_dict(self) -> dict[Label, float]:
        """Give ``{label: prior}``."""
        return dict(zip(self.labels, self.priors.tolist(), strict=True))


def estimate_priors(
    p: F64, old: F64, labels: Labels, tol: float, max_iterations: int
) -> PriorEstimate:
    """Run EM on posterior rows ``p`` made with priors ``old``."""
    ratio = np.divide(p, old, out=np.zeros_like(p), where=old > 0)
    priors, mixed, trace = old, ratio @ old, [0.0]
    converged = False
    for _ in range(max_iterations):
        moved = priors * ((1.0 / mixed) @ ratio)
        moved /= moved.sum()
        converged = bool(np.abs(moved - priors).max() <= tol)
        priors, mixed = moved, ratio @ moved
        trace.append(float(np.log(mixed).sum()))
        if converged:
            break
    errors = _standard_errors(ratio / mixed[:, None])
    return PriorEstimate(labels, frozen(priors), frozen(errors), frozen(np.array(trace)), converged)


def converged_priors(estimate: PriorEstimate) -> F64:
    """Give the priors of an estimate, or say that it is none yet."""
    if not estimate.converged:
        raise NumericalError(
            f"Posterior.with_priors: the estimate of the new priors did not settle in "
            f"{estimate.n_iterations} steps. Call estimate_priors with more max_iterations or a "
            "larger tol, and pass its priors."
        )
    return estimate.priors


def old_priors(old: PerLabel, log_p: F64, labels: Labels) -> F64:
    """Check the priors a posterior is said to be made with against the posterior."""
    before = as_priors(old, labels, "Posterior", "old priors")
    for k in np.flatnonzero(before == 0):
        if np.isfinite(log_p[..., k]).any():
            raise InputError(
                f"Posterior: the old prior of {labels[k]!r} is 0, yet the posterior gives it some "
                "probability. Pass the priors the posterior was made with."
            )
    return before


def _standard_errors(scores: F64) -> F64:
    """Invert the observed information on the simplex's tangent space, where priors sum to one."""
    n_labels = scores.shape[1]
    tangent = np.linalg.qr(np.eye(n_labels) - 1.0 / n_labels)[0][:, : n_labels - 1]
    products = scores.T @ scores
    information = tangent.T @ products @ tangent
    rounding = n_labels * np.finfo(np.float64).eps * np.trace(products)
    if np.linalg.matrix_rank(information, tol=rounding) < n_labels - 1:
        return np.full(n_labels, np.inf)
    covariance = tangent @ np.linalg.inv(information) @ tangent.T
    return np.sqrt(np.diag(covariance))
