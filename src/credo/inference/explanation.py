"""``explain``: how much each finding speaks for a state of a variable."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo._results import Drawable
from credo._types import Label
from credo._validation.labels import position
from credo.exceptions import InputError
from credo.graphs.evidence import Evidence
from credo.inference._questions import Question
from credo.inference.result import GraphPosterior


@dataclass(frozen=True, slots=True)
class FindingWeight:
    """One finding's weight of evidence, in bans (powers of ten of the odds).

    Attributes
    ----------
    variable : Hashable
        The observed variable.
    finding : object
        What was observed.
    alone : float
        The weight if nothing else were known.
    given_others : float
        The weight given all other findings: what dropping this one would take away.
    in_turn : float
        The weight given the findings that come before it in the evidence; these add up.
    """

    variable: Label
    finding: Any
    alone: float
    given_others: float
    in_turn: float


@dataclass(frozen=True, slots=True)
class Explanation(Drawable):
    """How the findings moved the odds of one state of a variable.

    Attributes
    ----------
    target, state : Hashable
        The variable and the state whose odds are explained.
    prior, posterior : float
        Its probability before and after the evidence.
    prior_log_odds, posterior_log_odds : float
        The same as log odds in bans, which tell certainties apart.
    weights : tuple of FindingWeight
        One per finding, the most telling (in size of ``given_others``) first.
    """

    target: Label
    state: Label
    prior: float
    posterior: float
    prior_log_odds: float
    posterior_log_odds: float
    weights: tuple[FindingWeight, ...]

    @property
    def total(self) -> float:
        """The weight of all findings together, in bans."""
        return _change(self.prior_log_odds, self.posterior_log_odds)

    def __str__(self) -> str:
        change = f"{self.prior:.4g} -> {self.posterior:.4g} ({self.total:+.3f} bans)"
        lines = [f"{self.target} = {self.state}: {change}"]
        width = max((len(f"{w.variable} = {w.finding}") for w in self.weights), default=0)
        for w in self.weights:
            what = f"{w.variable} = {w.finding}"
            lines.append(
                f"  {what:<{width}}  {w.given_others:+8.3f} given the others  {w.alone:+8.3f} alone"
            )
        return "\n".join(lines)


def explain(post: GraphPosterior, target: Any, state: Any = None) -> Explanation:
    r"""Weigh each finding for or against a state of a variable.

    Good's weight of evidence of a finding :math:`e` for :math:`t`, given :math:`r`, is the change
    of the log odds that it makes:

    .. math:: W(t : e \mid r) = \log_{10} \frac{p(e \mid t, r)}{p(e \mid \bar t, r)}

    Parameters
    ----------
    post : GraphPosterior
        The answer to explain.
    target : Hashable
        The variable.
    state : Hashable, optional
        One of its states; the most probable one by default.

    Returns
    -------
    Explanation
        Prior, posterior, and a weight per finding: alone, given all others, and in turn.

    Raises
    ------
    InputError
        If there is no evidence, or the target is itself observed.

    See Also
    --------
    credo.infer : Makes the answer.

    Notes
    -----
    Exact. A finding needs three more answers. Weights of single findings add up only where the
    findings are independent given the target; those in turn always do. A weight is infinite where a
    finding proves or excludes the state.

    References
    ----------
    .. [1] I. J. Good, *Probability and the Weighing of Evidence*, Griffin, 1950, chapter 6.

    Examples
    --------
    >>> import credo
    >>> net = credo.BayesianNetwork()
    >>> for name in ("ill", "test", "again"):
    ...     _ = net.variable(name, ["no", "yes"])
    >>> _ = net.cpt("ill", table=[0.99, 0.01])
    >>> for name in ("test", "again"):
    ...     _ = net.cpt(name, given=["ill"], table=[[0.9, 0.1], [0.3, 0.7]])
    >>> print(credo.explain(credo.infer(net, {"test": "yes", "again": "no"}), "ill", "yes"))
    ill = yes: 0.01 -> 0.02303 (+0.368 bans)
      test = yes    +0.845 given the others    +0.845 alone
      again = no    -0.477 given the others    -0.477 alone
    """
    if not isinstance(post, GraphPosterior):
        raise InputError(
            f"explain needs the exact answer of infer. Got {type(post).__name__}; use "
            "infer(..., method='exact')."
        )
    question = post.question
    findings = question.evidence.findings
    v = question.wiring.index(target)
    if not findings:
        raise InputError("explain needs an answer with evidence: there is nothing to weigh.")
    if any(f.variable == v for f in findings):
        raise InputError(f"explain: {target!r} is observed itself. Choose a variable that is not.")
    known = tuple(question.wiring.states[v])
    s = int(post.probabilities(target).argmax())
    if state is not None:
        s = position(state, known, f"Variable {target!r}", "state")
    everything = list(range(len(findings)))
    belief = _Beliefs(question, v, s)
    turns = [belief.odds(everything[:i]) for i in range(len(findings) + 1)]
    weights = [
        FindingWeight(
            finding.name,
            finding.given,
            _change(turns[0], belief.odds([i])),
            _change(belief.odds([j for j in everything if j != i]), turns[-1]),
            _change(turns[i], turns[i + 1]),
        )
        for i, finding in enumerate(findings)
    ]
    weights.sort(key=lambda w: -abs(w.given_others))
    return Explanation(
        target,
        known[s],
        belief.of([])[0],
        belief.of(everything)[0],
        turns[0],
        turns[-1],
        tuple(weights),
    )


class _Beliefs:
    """Probabilities of one state given parts of the evidence, each computed once."""

    def __init__(self, question: Question, variable: int, state: int) -> None:
        self.question = question
        self.variable = variable
        self.state = state
        self.known: dict[tuple[int, ...], tuple[float, float]] = {}

    def of(self, chosen: list[int]) -> tuple[float, float]:
        """Give the probability of the state, and of all others, given these findings."""
        from credo.inference.asking import answer  # noqa: PLC0415

        key = tuple(chosen)
        if key not in self.known:
            evidence: Evidence = self.question.evidence.only(chosen)
            asked = self.question.narrowed(evidence, [self.variable])
            marginal = asked.marginal(answer(asked), self.variable)
            others = np.delete(marginal, self.state).sum()  # 1 - p would lose small ones
            self.known[key] = float(marginal[self.state]), float(others)
        return self.known[key]

    def odds(self, chosen: list[int]) -> float:
        """Give the log odds of the state, in bans."""
        return _odds(*self.of(chosen))


def _odds(p: float, others: float) -> float:
    """Give log odds in bans; infinite for certainty."""
    if p <= 0:
        return -math.inf
    return math.inf if others <= 0 else math.log10(p) - math.log10(others)


def _change(before: float, after: float) -> float:
    """Subtract log odds; no change between equal infinities."""
    return 0.0 if before == after else after - before
