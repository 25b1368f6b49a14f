"""Value of information: what it is worth to know more before acting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo import _checks as check
from credo._results import Plain, number
from credo._types import F64, Labels
from credo.decisions._decide import as_array, column_names, decide
from credo.decisions.loss import Loss, as_loss
from credo.exceptions import InputError, ShapeError
from credo.posterior import Posterior

_OUTCOMES = "outcomes of value_of_test"


def value_of_perfect_information(
    posterior: Any, loss: Loss, labels: Iterable[Any] | None = None
) -> Any:
    r"""Return the most one should pay to learn the truth before acting.

    .. math:: \min_a \sum_k p_k L_{ka} - \sum_k p_k \min_a L_{ka}
              = \min_a \sum_k p_k \bigl(L_{ka} - \min_{b} L_{kb}\bigr)

    Parameters
    ----------
    posterior : Posterior, or array-like of shape (K,) or (n, K)
        What is believed now.
    loss
        Losses by true class and act.
    labels
        Names of the columns, if ``posterior`` is an array.

    Returns
    -------
    float or ndarray of shape (n,)
        At least zero, in the units of the loss.

    See Also
    --------
    value_of_test : The value of evidence that is not perfect.

    Notes
    -----
    Time O(n K A). The right-hand form is computed: it is a risk of regrets, which are at least
    zero, so nothing cancels.

    References
    ----------
    .. [1] H. Raiffa, R. Schlaifer, *Applied Statistical Decision Theory*, 1961, chapter 4.

    Examples
    --------
    >>> import credo
    >>> from credo.decisions import value_of_perfect_information
    >>> loss = credo.Loss([[0, 1000], [1, 0]], ["cancer", "normal"], ["treat", "discharge"])
    >>> value_of_perfect_information([0.004, 0.996], loss, labels=["cancer", "normal"])
    0.996
    """
    regrets = as_loss(loss, "value_of_perfect_information").regrets()
    return decide(posterior, regrets, labels).risk


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class InformationValue(Plain):
    """What a test is worth, and what to do after each outcome.

    For a single case the attributes are numbers and arrays over the outcomes; for n rows each has
    a leading axis of n.

    Attributes
    ----------
    value
        Risk without the test minus risk with it, at least zero.
    price
        What the test costs.
    risk_now, risk_after
        Expected loss without the test, and with it (its price not counted).
    outcomes
        Names of the outcomes.
    outcome_probabilities
        Probability of each outcome.
    acts
        Best act after each outcome; after an impossible one, the best act now.
    """

    value: Any
    price: float
    risk_now: Any
    risk_after: Any
    outcomes: Labels
    outcome_probabilities: F64
    acts: Any
    _joint: F64
    _truths: Labels
    _also = ("net", "buy")

    @property
    def net(self) -> Any:
        """Value minus price."""
        return self.value - self.price

    @property
    def buy(self) -> Any:
        """Whether the test is worth more than its price (per row)."""
        return self.net > 0

    def posterior_after(self, outcome: Any) -> Posterior:
        """Return the posterior after an outcome; an impossible outcome is an error."""
        o = check.position(outcome, self.outcomes, "outcome", "value_of_test")
        if not (self.outcome_probabilities[..., o] > 0).all():
            raise InputError(f"value_of_test: outcome {check.plain(outcome)!r} has probability 0.")
        return Posterior.from_probabilities(self._joint[..., o], self._truths, normalise=True)

    def __repr__(self) -> str:
        if np.ndim(self.value):
            bought = int(np.count_nonzero(self.buy))
            return f"A test for {len(self.value)} rows, worth its price for {bought} of them"
        verdict = "buy" if self.buy else "do not buy"
        after = zip(self.outcomes, self.outcome_probabilities, self.acts, strict=True)
        return (
            f"A test worth {number(self.value)} at price {number(self.price)}: {verdict}\n"
            f"risk now {number(self.risk_now)}, after the test {number(self.risk_after)}"
            + "".join(f"\n  {name} (probability {number(p)}): {act}" for name, p, act in after)
        )


def value_of_test(
    posterior: Any,
    loss: Loss,
    likelihood: Mapping[Any, Mapping[Any, float]] | Any,
    *,
    outcomes: Sequence[Any] | None = None,
    price: float = 0.0,
    labels: Iterable[Any] | None = None,
) -> InformationValue:
    r"""Return the value of a test before acting: buy it or not.

    .. math:: \min_a \sum_k p_k L_{ka} - \sum_o \min_a \sum_k p_k\, p(o \mid k)\, L_{ka}

    Parameters
    ----------
    posterior : Posterior, or array-like of shape (K,) or (n, K)
        What is believed before the test.
    loss
        Losses by true class and act, the same for all rows.
    likelihood : {truth: {outcome: p}} or array-like of shape (K, O)
        Probability of each outcome under each truth; an array has its rows in the order of the
        posterior's labels.
    outcomes
        Names of the outcomes, if ``likelihood`` is an array; numbers from 0 by default.
    price
        What the test costs, in the units of the loss.
    labels
        Names of the columns, if ``posterior`` is an array.

    Returns
    -------
    InformationValue
        ``value``, ``net``, ``buy``, and the act after each outcome.

    Raises
    ------
    InputError
        If a truth's outcome probabilities do not sum to one; the truth is named.

    See Also
    --------
    value_of_perfect_information : The upper bound.

    Notes
    -----
    Time O(n K A O), memory O(n K O). Exact up to rounding; never negative.

    References
    ----------
    .. [1] H. Raiffa, R. Schlaifer, *Applied Statistical Decision Theory*, 1961, chapter 4.

    Examples
    --------
    >>> import credo
    >>> from credo.decisions import value_of_test
    >>> loss = credo.Loss([[0, 100], [1, 0]], ["cancer", "normal"], ["treat", "discharge"])
    >>> prior = credo.Posterior.from_probabilities([0.004, 0.996], ["cancer", "normal"])
    >>> print(value_of_test(prior, loss, {"cancer": {"+": 0.8, "-": 0.2},
    ...                                   "normal": {"+": 0.1, "-": 0.9}}, price=0.1))
    A test worth 0.2204 at price 0.1: buy
    risk now 0.4, after the test 0.1796
      + (probability 0.1028): treat
      - (probability 0.8972): discharge
    """
    regrets = as_loss(loss, "value_of_test", per_row=False).regrets()
    truths = column_names(posterior, labels)
    cost = check.number(price, "price of value_of_test")
    table, names = _outcome_table(likelihood, truths, outcomes)
    now = decide(posterior, regrets, labels)
    p = posterior.probabilities if isinstance(posterior, Posterior) else as_array(posterior)
    joint = p[..., :, None] * table
    chance = joint.sum(axis=-2)
    # One case for each outcome; an impossible one as if there were no test.
    after = np.where(chance[..., None, :] > 0, joint, p[..., :, None])
    cases = np.moveaxis(after, -1, -2).reshape(-1, len(truths))
    chosen = decide(cases / cases.sum(axis=1, keepdims=True), regrets, truths)
    # What each outcome saves is the regret of going on with the act of now; none if that act
    # stays best. Nothing cancels, so a useless test is worth exactly nothing.
    before = np.repeat(np.atleast_1d(now.act_index), len(names))
    kept = np.take_along_axis(chosen.expected_losses, before[:, None], axis=1)[:, 0]
    saved = np.where(chosen.act_index == before, 0.0, np.maximum(kept - chosen.risk, 0.0))
    worth = (chance * saved.reshape(chance.shape)).sum(axis=-1)
    value = worth if worth.ndim else float(worth)
    risk_now = decide(posterior, loss, labels).risk
    return InformationValue(
        value=value,
        price=cost,
        risk_now=risk_now,
        risk_after=risk_now - value,
        outcomes=names,
        outcome_probabilities=check.frozen(chance),
        acts=check.names_array(loss.acts)[chosen.act_index.reshape(chance.shape)],
        _joint=joint,
        _truths=truths,
    )


def _outcome_table(likelihood: Any, truths: Labels, outcomes: Any) -> tuple[F64, Labels]:
    """Line up p(outcome | truth) with the truths; rows must sum to one."""
    if isinstance(likelihood, Mapping):
        rows = {check.plain(truth): row for truth, row in likelihood.items()}
        check.order(truths, tuple(rows), "likelihood of value_of_test")
        if not all(isinstance(row, Mapping) for row in rows.values()):
            raise InputError(
                "value_of_test needs {truth: {outcome: probability}}; for rows without names pass "
                "an array and outcomes=[...]."
            )
        names = check.labels(rows[truths[0]] if outcomes is None else outcomes, _OUTCOMES)
        table = np.array([check.per_label(rows[t], names, f"likelihood of {t!r}") for t in truths])
    else:
        table = check.finite(likelihood, "likelihood of value_of_test")
        n_outcomes = table.shape[-1] if table.ndim else 0
        names = check.labels(range(n_outcomes) if outcomes is None else outcomes, _OUTCOMES)
        if table.shape != (len(truths), len(names)):
            raise ShapeError(
                f"value_of_test needs a likelihood with one row per truth, {len(truths)}, and one "
                f"column per outcome, {len(names)}. Got shape {table.shape}."
            )
    for truth, row in zip(truths, table, strict=True):
        check.distributions(row[None], f"value_of_test, p(outcome | {truth!r})", first_row=None)
    return table, names
