"""``credo plan``: what an exact answer will cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from credo.cli.options import (
    AsJson,
    BudgetText,
    EvidenceTexts,
    NetworkFile,
    QueryTexts,
    as_budget,
)

if TYPE_CHECKING:
    from credo.inference import Plan


def plan(
    network: NetworkFile,
    evidence: EvidenceTexts = None,
    query: QueryTexts = None,
    budget: BudgetText = "4GB",
    as_json: AsJson = False,
) -> None:
    """Say what an exact answer will cost, without computing it."""
    from credo.cli.destinations import say, say_json
    from credo.cli.findings import evidence_of, names_of
    from credo.cli.networks import opened
    from credo.inference._plan import plan as make
    from credo.inference.question import as_bytes

    limit = as_bytes(as_budget(budget), "plan")
    with opened(network) as net:
        findings, wanted = evidence_of(net, evidence), names_of(net, query, "--query")
        made = make(net.model, findings, wanted)
    fits = made.n_bytes <= limit
    if as_json:
        say_json({**_plan_record(made), "budget": budget, "fits": fits})
        return
    verdict = (
        f"within {budget}" if fits else f"OVER the budget of {budget}: infer would approximate"
    )
    say(f"{made}\nbudget           {verdict}")


def _plan_record(made: Plan) -> dict[str, Any]:
    """Give a plan's counts by name."""
    return {
        "engine": made.engine,
        "variables": made.n_variables,
        "not_needed": made.n_pruned,
        "heuristic": made.heuristic,
        "width": made.width,
        "largest_table": made.largest_table,
        "largest_clique": [str(name) for name in made.largest_clique],
        "bytes": made.n_bytes,
        "multiplications": made.multiplications,
        "seconds": made.seconds,
    }
