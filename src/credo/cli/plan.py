"""``credo plan``: what an exact answer will cost."""

from __future__ import annotations

from credo.cli._console import Wait, say, say_json
from credo.cli._networks import Network
from credo.cli._options import AsJson, Budget, Evidence, NetworkFile, Query, as_budget


def plan(
    network: NetworkFile,
    evidence: Evidence = None,
    query: Query = None,
    budget: Budget = "4GB",
    as_json: AsJson = False,
) -> None:
    """Say what an exact answer will cost, without computing it."""
    from credo.inference import plan as make
    from credo.inference.question import as_bytes

    limit = as_bytes(as_budget(budget), "plan")
    with Wait("planning"):
        net = Network(network)
        made = make(net.model, net.evidence(evidence), net.chosen(query, "--query"))
    fits = made.n_bytes <= limit
    if not as_json:
        over = f"OVER the budget of {budget}: infer would approximate"
        say(f"{made}\nbudget           {f'within {budget}' if fits else over}")
        return
    say_json(
        {
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
            "budget": budget,
            "fits": fits,
        }
    )
