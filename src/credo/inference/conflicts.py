"""Findings that cannot all be true: a smallest set of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from credo._validation.labels import plain
from credo.exceptions import BudgetError, ImpossibleEvidence, InputError
from credo.graphs.evidence import Evidence, Finding
from credo.graphs.problems import pose
from credo.graphs.wiring import Wiring
from credo.inference._budget import Budget
from credo.inference.cliques import sum_out


def impossible(
    wiring: Wiring,
    evidence: Evidence,
    owner: str = "infer",
    budget: Budget = "4GB",
    judge: Callable[[Evidence], bool] | None = None,
) -> InputError:
    """Word the error for evidence of probability zero, with a smallest conflicting set.

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
    """Give findings by variable; two on the same variable as a list."""
    named: dict[Any, Any] = {}
    for finding in findings:
        name, given = finding.name, finding.given
        named[name] = [named[name], given] if name in named else given
    return named


def _words(finding: Finding) -> str:
    """Write a finding for people."""
    if finding.weights is None:
        return f"{finding.name} = {plain(finding.given)}"
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
