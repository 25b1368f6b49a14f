"""``credo explain``: how much each finding speaks for a state of a variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from credo.cli.options import (
    AsJson,
    BudgetText,
    EvidenceTexts,
    LikelihoodFile,
    NetworkFile,
    as_budget,
)

if TYPE_CHECKING:
    from credo.inference import WeightOfEvidence


def explain(
    network: NetworkFile,
    target: Annotated[str, typer.Option(help="The variable to explain.")],
    evidence: EvidenceTexts = None,
    state: Annotated[
        str | None,
        typer.Option(help="One of its states; the most probable by default.", show_default=False),
    ] = None,
    likelihood: LikelihoodFile = None,
    budget: BudgetText = "4GB",
    as_json: AsJson = False,
) -> None:
    """Weigh each finding for or against a state of a variable, in bans."""
    from credo.cli.destinations import say, say_json
    from credo.cli.findings import evidence_of
    from credo.cli.networks import opened
    from credo.cli.weight_files import weights_of
    from credo.inference._explain import explain as weigh
    from credo.inference._infer import infer

    with opened(network) as net:
        name = net.name(target)
        findings = evidence_of(net, evidence)
        weights = weights_of(net, likelihood)
        post = infer(
            net.model,
            findings,
            likelihood=weights,
            query=[name],
            method="exact",
            budget=as_budget(budget),
        )
        found = weigh(post, name, None if state is None else net.state(name, state))
    if as_json:
        say_json(_explanation_record(found))
    else:
        say(str(found))


def _explanation_record(found: WeightOfEvidence) -> dict[str, Any]:
    """Give an explanation by name; weights are in bans."""
    return {
        "target": str(found.target),
        "state": str(found.state),
        "prior": found.prior,
        "posterior": found.posterior,
        "total": found.total,
        "findings": [
            {
                "variable": str(weight.variable),
                "finding": _plain(weight.finding),
                "given_others": weight.given_others,
                "alone": weight.alone,
                "in_turn": weight.in_turn,
            }
            for weight in found.weights
        ],
    }


def _plain(finding: Any) -> Any:
    """Give a finding as text, several states or weights as a list."""
    if isinstance(finding, dict):
        return {str(state): weight for state, weight in finding.items()}
    return [*finding] if isinstance(finding, (list, tuple)) else str(finding)
