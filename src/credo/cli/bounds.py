"""``credo bounds``: intervals that are certain, where no exact answer is possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from credo.cli import _options as given
from credo.cli._console import Wait, bound_text, say, say_json, table_text
from credo.cli._networks import Network
from credo.cli._options import method_options
from credo.inference.engines import BOUNDS


@method_options({"bounds": BOUNDS})
def bounds(
    *,
    network: given.NetworkFile,
    evidence: given.Evidence = None,
    query: given.Query = None,
    likelihood: given.Likelihood = None,
    seed: given.Seed = 0,
    options: dict[str, Any],
    as_json: given.AsJson = False,
) -> None:
    """Bound the probability of the evidence, and with --query those of a few variables."""
    from credo.inference import bounds as make

    with Wait("bounding"):
        net = Network(network)
        names = net.chosen(query, "--query") or []
        findings, weights = net.evidence(evidence), net.weights(likelihood)
        found = make(net.model, findings, likelihood=weights, query=names, seed=seed, **options)
    record: dict[str, dict[Any, Any]] = {
        "log_evidence": {
            "lower": found.lower,
            "upper": found.upper,
            "gap": found.gap,
            "by": found.by,
        },
        "variables": {
            name: dict(zip(net.model[name].states, found.marginal(name).tolist(), strict=True))
            for name in names
        },
    }
    if as_json:
        say_json(record)
        return
    rows = [("", "lower", "upper"), (net.quantity, *_outwards((found.lower, found.upper), 8))]
    for name, states in record["variables"].items():
        rows += [(f"P({name}={state})", *_outwards(pair, 6)) for state, pair in states.items()]
    say(table_text([*rows, ("by", *found.by.values())]))


def _outwards(interval: Sequence[float], digits: int) -> tuple[str, str]:
    """Round an interval so that it holds as printed."""
    lower, upper = interval
    return bound_text(lower, "lower bound", digits), bound_text(upper, "upper bound", digits)
