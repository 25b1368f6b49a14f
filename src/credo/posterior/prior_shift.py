"""Priors of unlabelled rows, by expectation maximisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo import _checks as check
from credo._types import F64, Label, Labels, PerLabel
from credo.exceptions import InputError, NumericalError

#: One over a smaller number squared is no longer finite.
_LEAST = 1e-150


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
        Trace over the steps, relative to the old priors; but for rounding it never falls.
    converged
        Whether the log-likelihood is certainly within the tolerance of its maximum.

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
        """Return ``{label: prior}``."""
        return dict(zip(self.labels, self.priors.tolist(), strict=True))


def estimate_priors(
    p: F64, old: F64, labels: Labels, tol: float, max_iterations: int
) -> PriorEstimate:
    """Run accelerated EM on posterior rows ``p`` made with priors ``old``.

    The log-likelihood is concave, so its maximum is at most n (max_k g_k - 1) above the present
    one, where g is the factor by which an EM step multiplies the priors.
    """
    most = check.count(max_iterations, "max_iterations of Posterior.estimate_priors")
    if not check.number(tol, "tol of Posterior.estimate_priors") > 0:
        raise InputError(f"The tol of Posterior.estimate_priors must be positive. Got {tol}.")
    ratio = np.divide(p, old, out=np.zeros_like(p), where=old > 0)
    here = _Step(ratio, old)
    trace = [here.log_likelihood]
    while here.gap > tol and len(trace) <= most:
        here = _ahead(ratio, here)
        trace.append(here.log_likelihood)
    errors = _standard_errors(ratio / (ratio @ here.priors)[:, None])
    priors, errors, rise = map(check.frozen, (here.priors, errors, np.array(trace) - trace[0]))
    return PriorEstimate(labels, priors, errors, rise, here.gap <= tol)


class _Step:
    """Priors, their log-likelihood, how much larger it can become, and the priors EM goes to."""

    def __init__(self, ratio: F64, priors: F64) -> None:
        mixture = ratio @ priors
        factors = ((1.0 / mixture) @ ratio) / len(ratio)  # their mean is one
        self.priors, self.log_likelihood = priors, float(np.log(mixture).sum())
        self.gap = len(ratio) * (float(factors.max()) - 1.0)
        self.after = priors * factors / (priors * factors).sum()


def _ahead(ratio: F64, here: _Step) -> _Step:
    """Take two EM steps and extrapolate them, unless that is worse than the two steps."""
    first = _Step(ratio, here.after)
    second = _Step(ratio, first.after)
    move = first.priors - here.priors
    turn = (second.priors - first.priors) - move
    bend = float(turn @ turn)
    reach = float(np.sqrt(move @ move / bend)) if bend > 0 else 1.0
    far = here.priors + 2 * reach * move + reach**2 * turn
    if reach > 1 and far.min() > 0:
        leap = _Step(ratio, _Step(ratio, far / far.sum()).after)
        if leap.log_likelihood >= second.log_likelihood:
            return leap
    return second


def settled_priors(estimate: PriorEstimate) -> F64:
    """Return the priors of an estimate, or say that it is none yet."""
    if not estimate.converged:
        raise NumericalError(
            f"Posterior.with_priors: the estimate of the new priors did not settle in "
            f"{estimate.n_iterations} steps. Call estimate_priors with more max_iterations or a "
            "larger tol, and pass its priors."
        )
    return estimate.priors


def old_priors(old: PerLabel, log_p: F64, labels: Labels) -> F64:
    """Check the priors a posterior is said to be made with against the posterior."""
    before = check.priors(old, labels, "old priors of Posterior")
    if (before[before > 0] < _LEAST).any():
        raise InputError(f"Posterior: an old prior below {_LEAST:g} cannot be divided by.")
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
    # Each entry is a sum of n products, so it is off by at most n units of rounding.
    rounding = max(len(scores), n_labels) * np.finfo(np.float64).eps * np.trace(products)
    if np.linalg.matrix_rank(information, tol=rounding) < n_labels - 1:
        return np.full(n_labels, np.inf)
    covariance = tangent @ np.linalg.inv(information) @ tangent.T
    return np.sqrt(np.diag(covariance))
