"""``credo explain``: how much each finding speaks for a state of a variable."""

from __future__ import annotations

from typing import Annotated, Any

from credo.cli import _options as given
from credo.cli._console import Wait, say, say_json
from credo.cli._networks import Network
from credo.cli._options import as_budget, opt

_STATE = "One of its states; the most probable by default."


def explain(
    network: given.NetworkFile,
    target: Annotated[str, opt("The variable to explain.", given.ASK)],
    state: Annotated[str | None, opt(_STATE, given.ASK)] = None,
    evidence: given.Evidence = None,
    likelihood: given.Likelihood = None,
    budget: given.Budget = "4GB",
    as_json: given.AsJson = False,
) -> None:
    """Weigh each finding for or against a state of a variable, in log10 odds (bans)."""
    from credo.inference import explain as weigh, infer

    with Wait("explaining"):
        net = Network(network)
        name = net.name(target)
        post = infer(
            net.model,
            net.evidence(evidence),
            likelihood=net.weights(likelihood),
            query=[name],
            method="exact",
            budget=as_budget(budget),
        )
        found = weigh(post, name, None if state is None else net.state(name, state))
    if not as_json:
        say(str(found))
        return
    findings = [
        {
            "variable": str(weight.variable),
            "finding": _plain(weight.finding),
            "given_others": weight.given_others,
            "alone": weight.alone,
            "in_turn": weight.in_turn,
        }
        for weight in found.weights
    ]
    say_json(
        {
            "target": str(found.target),
            "state": str(found.state),
            "prior": found.prior,
            "posterior": found.posterior,
            "total": found.total,
            "findings": findings,
        }
    )


def _plain(finding: Any) -> Any:
    """Return a finding as text, several states or weights as a list."""
    if isinstance(finding, dict):
        return {str(state): weight for state, weight in finding.items()}
    return [*finding] if isinstance(finding, (list, tuple)) else str(finding)
