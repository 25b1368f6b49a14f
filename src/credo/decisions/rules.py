"""Well-known rules as special cases of ``decide``: they call it, so they agree with it exactly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo._types import Label, PerLabel
from credo._validation.arrays import as_floats, in_unit_interval
from credo._validation.probabilities import as_priors
from credo.decisions.act import Decisions, decide
from credo.decisions.lined_up import column_names
from credo.decisions.loss import Loss
from credo.decisions.loss_matching import as_loss
from credo.exceptions import InputError
from credo.posterior import Posterior


def maximum_posterior(posterior: Any, labels: Iterable[Any] | None = None) -> Decisions:
    r"""Choose the most probable label: the Bayes act for zero-one loss.

    .. math:: a^*(x) = \arg\max_k p(k \mid x)

    Parameters
    ----------
    posterior : Posterior, or array-like of shape (K,) or (n, K)
        Probabilities.
    labels
        Names of the columns, if ``posterior`` is an array.

    Returns
    -------
    Decisions
        The risk is the probability of a mistake.

    Notes
    -----
    Time O(n K²), exact. Ties go to the first label.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 1.5.1.

    Examples
    --------
    >>> from credo.decisions import maximum_posterior
    >>> maximum_posterior([0.2, 0.5, 0.3], labels=["a", "b", "c"])
    Decisions('b', risk 0.5)
    """
    return decide(posterior, Loss.zero_one(column_names(posterior, labels)), labels)


@dataclass(frozen=True, slots=True)
class RejectBelow:
    """The rule made by ``reject_below``; call it with a posterior."""

    theta: float
    name: Label = "reject"

    def loss(self, labels: Iterable[Any]) -> Loss:
        """Give the loss behind the rule: zero-one, and 1 − θ for rejecting."""
        return Loss.zero_one(labels).with_reject(1.0 - self.theta, self.name)

    def __call__(self, posterior: Any, labels: Iterable[Any] | None = None) -> Decisions:
        """Choose the most probable label, or reject."""
        return decide(posterior, self.loss(column_names(posterior, labels)), labels)


def reject_below(theta: float, name: Label = "reject") -> RejectBelow:
    r"""Make the rule that rejects when the largest probability is below θ.

    It is Chow's rule with reject cost :math:`\lambda = 1 - \theta`: zero-one loss with one more
    act of loss :math:`\lambda` rejects if and only if :math:`\max_k p_k < 1 - \lambda`.

    Parameters
    ----------
    theta
        Threshold between 0 and 1. At most 1/K never rejects; 1 rejects all but certainty.
    name
        Name of the reject act.

    Returns
    -------
    RejectBelow
        Call it with a Posterior, or with an array and ``labels``.

    See Also
    --------
    Loss.with_reject : The same by its cost.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 1.5.3.

    Examples
    --------
    >>> from credo.decisions import reject_below
    >>> reject_below(0.8)([[0.9, 0.1], [0.6, 0.4]], labels=["a", "b"]).acts
    array(['a', 'reject'], dtype='<U6')
    """
    return RejectBelow(in_unit_interval(theta, "reject_below", "threshold"), name)


def likelihood_ratio_threshold(loss: Loss, priors: PerLabel) -> float:
    r"""Give the threshold of the likelihood-ratio test for two truths and two acts.

    The first act is right when

    .. math:: \frac{p(x \mid 0)}{p(x \mid 1)} > T^* =
        \frac{(L_{10} - L_{11})\, \pi_1}{(L_{01} - L_{00})\, \pi_0}

    with :math:`L_{ka}` the loss of act :math:`a` under truth :math:`k`.

    Parameters
    ----------
    loss
        Two truths, two acts; the diagonal need not be zero.
    priors
        Prior of each truth: ``{truth: p}`` or in the order of the loss.

    Returns
    -------
    float
        The threshold. Infinite if the second act is never worse, zero if the first never is.

    Raises
    ------
    InputError
        If the loss is not 2 × 2, or each act suits the other's truth, so that the test would turn
        round.

    See Also
    --------
    likelihood_ratio_test : Apply it.

    References
    ----------
    .. [1] S. M. Kay, *Fundamentals of Statistical Signal Processing: Detection Theory*, 1998,
       section 3.7 (Bayes risk).

    Examples
    --------
    >>> import credo
    >>> from credo.decisions import likelihood_ratio_threshold
    >>> loss = credo.Loss.class_costs({"cancer": 1000, "normal": 1})
    >>> round(likelihood_ratio_threshold(loss, {"cancer": 0.004, "normal": 0.996}), 6)
    0.249
    """
    _two_by_two(loss, "likelihood_ratio_threshold")
    first, second = as_priors(priors, loss.truths, "likelihood_ratio_threshold")
    (l00, l01), (l10, l11) = loss.matrix.tolist()
    gain, harm = (l01 - l00) * (first > 0), (l10 - l11) * (second > 0)
    if gain < 0 and harm < 0:
        raise InputError(
            f"likelihood_ratio_threshold: act {loss.acts[0]!r} suits truth {loss.truths[1]!r} and "
            f"{loss.acts[1]!r} suits {loss.truths[0]!r}. List the acts in the order of the truths."
        )
    if gain > 0:  # ratios first: products of small losses and small priors would underflow
        return float(max(harm, 0.0) / gain * (second / first))
    return 0.0 if gain == 0 and harm <= 0 else float("inf")


def likelihood_ratio_test(log_ratio: Any, loss: Loss, priors: PerLabel) -> Decisions:
    r"""Choose between two acts by :math:`\log p(x \mid 0) - \log p(x \mid 1)`.

    Parameters
    ----------
    log_ratio : float or array-like of shape (n,)
        Log-likelihood ratio of the first truth against the second.
    loss
        Two truths, two acts.
    priors
        Prior of each truth: ``{truth: p}`` or in the order of the loss.

    Returns
    -------
    Decisions
        The first act where the ratio exceeds ``likelihood_ratio_threshold(loss, priors)``.

    Notes
    -----
    Time O(n). Computed as ``decide`` on the posterior, so the two agree exactly and the risk comes
    with the act.

    Examples
    --------
    >>> import credo
    >>> from credo.decisions import likelihood_ratio_test
    >>> loss = credo.Loss.zero_one(["signal", "noise"])
    >>> likelihood_ratio_test([-1.0, 2.0], loss, priors=[0.5, 0.5]).acts
    array(['noise', 'signal'], dtype='<U6')
    """
    _two_by_two(loss, "likelihood_ratio_test")
    ratio = as_floats(log_ratio, "likelihood_ratio_test", "log ratio")
    prior = as_priors(priors, loss.truths, "likelihood_ratio_test")
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior)
    # min(r, 0) and min(-r, 0) differ by r, and an infinite ratio rules one truth out.
    scores = np.stack([np.minimum(ratio, 0.0), np.minimum(-ratio, 0.0)], axis=-1)
    return decide(Posterior.from_log_joint(scores + log_prior, loss.truths), loss)


def _two_by_two(loss: Loss, owner: str) -> None:
    """Check for two truths and two acts."""
    if as_loss(loss, owner).matrix.shape != (2, 2):
        raise InputError(
            f"{owner} needs a loss of two truths and two acts, shape (2, 2). Got shape "
            f"{loss.matrix.shape}. Use credo.decide for more."
        )
