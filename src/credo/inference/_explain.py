"""``explain``: how much each finding weighs for a state; and which findings cannot all be true."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from credo import _checks as check
from credo._results import Drawable
from credo._types import Label
from credo.exceptions import BudgetError, ImpossibleEvidence, InputError
from credo.graphs.evidence import Evidence, Finding
from credo.graphs.problems import pose
from credo.graphs.wiring import Wiring
from credo.inference._plan import make_plan
from credo.inference.cliques import sum_out
from credo.inference.engines import ENGINES
from credo.inference.question import Budget

if TYPE_CHECKING:
    from credo.inference.graph_posterior import GraphPosterior


@dataclass(frozen=True, slots=True)
class FindingWeight:
    """One finding's weight of evidence in log10 odds, also called bans.

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
class WeightOfEvidence(Drawable):
    """How the findings moved the odds of one state of a variable.

    Attributes
    ----------
    target, state : Hashable
        The variable and the state whose odds are explained.
    prior, posterior : float
        Its probability before and after the evidence.
    prior_log_odds, posterior_log_odds : float
        The same as log10 odds, which tell certainties apart.
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
        """The weight of all findings together, in log10 odds."""
        return _change(self.prior_log_odds, self.posterior_log_odds)

    def __str__(self) -> str:
        change = f"{self.prior:.4g} -> {self.posterior:.4g} ({self.total:+.3f} in log10 odds)"
        lines = [f"{self.target} = {self.state}: {change}"]
        width = max((len(f"{w.variable} = {w.finding}") for w in self.weights), default=0)
        for w in self.weights:
            what = f"{w.variable} = {w.finding}"
            lines.append(
                f"  {what:<{width}}  {w.given_others:+8.3f} given the others  {w.alone:+8.3f} alone"
            )
        return "\n".join(lines)


def explain(post: GraphPosterior, target: Any, state: Any = None) -> WeightOfEvidence:
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
    WeightOfEvidence
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
    ill = yes: 0.01 -> 0.02303 (+0.368 in log10 odds)
      test = yes    +0.845 given the others    +0.845 alone
      again = no    -0.477 given the others    -0.477 alone
    """
    if getattr(post, "plan", None) is None:
        engine = getattr(post, "engine", None)
        got = type(post).__name__ if engine is None else f"that of engine {engine!r}"
        raise InputError(
            f"explain needs the exact answer of infer. Got {got}; use infer(..., method='exact')."
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
        s = check.position(state, known, "state", f"Variable {target!r}")

    @cache
    def belief(*chosen: int) -> tuple[float, float]:
        asked = replace(question, evidence=question.evidence.only(chosen), query=[v])
        plan = make_plan(asked, effort=0.0)
        marginal = asked.marginal(ENGINES[plan.engine].run(asked, plan).beliefs, v)
        others = np.delete(marginal, s).sum()  # 1 - p would lose small ones
        return float(marginal[s]), float(others)

    def odds(*chosen: int) -> float:
        return _odds(*belief(*chosen))

    every = range(len(findings))
    before, after = odds(), odds(*every)
    weights = [
        FindingWeight(
            finding.name,
            finding.given,
            alone=_change(before, odds(i)),
            given_others=_change(odds(*(j for j in every if j != i)), after),
            in_turn=_change(odds(*every[:i]), odds(*every[: i + 1])),
        )
        for i, finding in enumerate(findings)
    ]
    weights.sort(key=lambda w: -abs(w.given_others))
    prior, posterior = belief()[0], belief(*every)[0]
    return WeightOfEvidence(target, known[s], prior, posterior, before, after, tuple(weights))


def _odds(p: float, others: float) -> float:
    """Return log10 odds; infinite for certainty."""
    if p <= 0:
        return -math.inf
    return math.inf if others <= 0 else math.log10(p) - math.log10(others)


def _change(before: float, after: float) -> float:
    """Subtract log odds; no change between equal infinities."""
    return 0.0 if before == after else after - before


def impossible(
    wiring: Wiring,
    evidence: Evidence,
    owner: str = "infer",
    budget: Budget = "4GB",
    judge: Callable[[Evidence], bool] | None = None,
) -> InputError:
    """Return the error for evidence of probability zero, with a smallest conflicting set.

    Parameters
    ----------
    wiring
        The model, of tables.
    evidence
        Findings whose probability was found to be zero.
    owner
        Who asks.
    budget
        Memory for the search. Fewer findings can mean larger tables; if these do not fit, all
        findings are named.
    judge
        Tells whether findings are possible as far as it can see, in place of an exact sum; what it
        calls impossible must be so.

    Returns
    -------
    InputError
        ``ImpossibleEvidence`` to raise; an ``InputError`` where the model itself allows nothing.
    """

    def is_possible(chosen: list[int]) -> bool:
        if judge is not None:
            return judge(evidence.only(chosen))
        problem = pose(wiring, evidence.only(chosen), [])
        return sum_out(problem, owner, budget)[1] > -np.inf

    try:
        if not is_possible([]):
            return InputError(
                f"{owner}: the model allows no configuration at all: its factors multiply to zero "
                "everywhere, with no evidence too. Look for a factor whose table is zero where "
                "the others are not."
            )
        chosen = smallest_conflict(is_possible, len(evidence.findings))
    except BudgetError:
        chosen = list(range(len(evidence.findings)))
    findings = [evidence.findings[i] for i in chosen]
    words = ", ".join(_words(finding) for finding in findings)
    rest = len(evidence.findings) - len(findings)
    also = f" (the other {rest} may be true)" if rest else ""
    return ImpossibleEvidence(
        f"{owner}: the evidence has probability zero. These findings cannot all be true: "
        f"{words}{also}. Drop or correct one of them, or give the model's zeros a small "
        "probability.",
        _by_name(findings),
    )


def _by_name(findings: list[Finding]) -> dict[Any, Any]:
    """Return findings by variable; two on the same variable as a list."""
    named: dict[Any, Any] = {}
    for finding in findings:
        name, given = finding.name, finding.given
        named[name] = [named[name], given] if name in named else given
    return named


def _words(finding: Finding) -> str:
    """Write a finding for people."""
    if finding.weights is None:
        return f"{finding.name} = {check.plain(finding.given)}"
    if set(finding.weights.tolist()) == {0.0, 1.0} and not isinstance(finding.given[0], float):
        return f"{finding.name} in {finding.given}"
    return f"{finding.name} weighted by {finding.given}"


def smallest_conflict(is_possible: Callable[[list[int]], bool], n: int) -> list[int]:
    """Find a set of findings that is impossible while each smaller part of it is possible.

    Junker's QuickXplain: about 2 k log2(n / k) + 2 k questions for a conflict of k findings.

    References
    ----------
    .. [1] U. Junker, QuickXplain: Preferred explanations and relaxations for over-constrained
       problems, AAAI 2004, section 4.
    """
    if is_possible(list(range(n))):
        return []
    return sorted(_divide(is_possible, [], list(range(n)), enlarged=False))


def _divide(
    is_possible: Callable[[list[int]], bool],
    background: list[int],
    candidates: list[int],
    *,
    enlarged: bool,
) -> list[int]:
    """Find the part of the candidates that a smallest conflict with the background needs.

    The depth is the logarithm of the number of findings.
    """
    if enlarged and not is_possible(background):
        return []
    if len(candidates) == 1:
        return candidates
    half = len(candidates) // 2
    left, right = candidates[:half], candidates[half:]
    need_right = _divide(is_possible, background + left, right, enlarged=bool(left))
    need_left = _divide(is_possible, background + need_right, left, enlarged=bool(need_right))
    return need_left + need_right
