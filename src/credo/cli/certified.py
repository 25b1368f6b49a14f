"""``credo bounds``: intervals that are certain, where no exact answer is possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from credo.cli.method_options import method_options
from credo.cli.options import AsJson, EvidenceTexts, LikelihoodFile, NetworkFile, QueryTexts
from credo.inference.engines import BOUNDS

if TYPE_CHECKING:
    from credo._types import Label
    from credo.cli.networks import Network
    from credo.inference.bounding.certified import Bounds


@method_options({"bounds": BOUNDS})
def bounds(
    network: NetworkFile,
    evidence: EvidenceTexts = None,
    query: QueryTexts = None,
    likelihood: LikelihoodFile = None,
    seed: Annotated[int, typer.Option(help="Seed of starts and of ties.")] = 0,
    as_json: AsJson = False,
    *,
    options: dict[str, Any],
) -> None:
    """Bound the probability of the evidence, and with --query those of a few variables."""
    from credo.cli.destinations import say, say_json
    from credo.cli.findings import evidence_of, names_of
    from credo.cli.networks import opened
    from credo.cli.weight_files import weights_of
    from credo.inference.bounding.certified import bounds as make

    with opened(network) as net:
        findings = evidence_of(net, evidence)
        names = names_of(net, query, "--query") or []
        weights = weights_of(net, likelihood)
        found = make(net.model, findings, likelihood=weights, query=names, seed=seed, **options)
        intervals = {name: _by_state(net, found, name) for name in names}
    if as_json:
        say_json(
            {
                "log_evidence": {
                    "lower": found.lower,
                    "upper": found.upper,
                    "gap": found.gap,
                    "by": found.by,
                },
                "variables": intervals,
            }
        )
    else:
        say(_text(net, found, intervals))


def _by_state(network: Network, found: Bounds, name: Label) -> dict[Any, tuple[float, float]]:
    """Give the lower and the upper bound on the probability of each state."""
    pairs = ((lower, upper) for lower, upper in found.marginal(name).tolist())
    return dict(zip(network.model[name].states, pairs, strict=True))


def _text(
    network: Network, found: Bounds, intervals: dict[Label, dict[Any, tuple[float, float]]]
) -> str:
    """Write intervals for a person; what is printed holds too."""
    from credo.cli.text_tables import columns_table

    quantity = "ln P(evidence)" if network.is_normalised else "ln Z(evidence)"
    rows = [(quantity, *_rounded(found.lower, found.upper, 8))]
    for name, states in intervals.items():
        rows += [(f"P({name}={state})", *_rounded(*pair, 6)) for state, pair in states.items()]
    return columns_table(("", "lower", "upper"), [*rows, ("by", *found.by.values())])


def _rounded(lower: float, upper: float, digits: int) -> tuple[str, str]:
    """Round outwards."""
    from credo.cli.text_tables import bound_text

    return bound_text(lower, "lower bound", digits), bound_text(upper, "upper bound", digits)
