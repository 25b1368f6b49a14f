"""``credo mpe``: the most probable states together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

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
    from credo.cli.networks import Network
    from credo.inference.maximum import Configuration


def mpe(
    network: NetworkFile,
    evidence: EvidenceTexts = None,
    variables: Annotated[
        list[str] | None,
        typer.Option(
            help="Only these, a,b; the others are summed out (marginal MAP).", show_default=False
        ),
    ] = None,
    k: Annotated[int, typer.Option("--k", help="How many configurations, best first.")] = 1,
    likelihood: LikelihoodFile = None,
    budget: BudgetText = "4GB",
    as_json: AsJson = False,
) -> None:
    """Find the most probable states of all variables together, or of some."""
    from credo.cli.destinations import say, say_json
    from credo.cli.findings import evidence_of, names_of
    from credo.cli.networks import opened
    from credo.cli.weight_files import weights_of
    from credo.exceptions import InputError
    from credo.inference import maximum

    if variables and k != 1:
        raise InputError("--k counts configurations of all variables. Leave out --variables.")
    with opened(network) as net:
        findings = evidence_of(net, evidence)
        weights = weights_of(net, likelihood)
        names = names_of(net, variables, "--variables")
        limit = as_budget(budget)
        net.start.settle(net.model, findings, answers=k if names is None else math.inf)
        if names is not None:
            found = [
                maximum.marginal_map(net.model, names, findings, likelihood=weights, budget=limit)
            ]
        elif k == 1:
            found = [maximum.mpe(net.model, findings, likelihood=weights, budget=limit)]
        else:
            found = maximum.k_best(net.model, k, findings, likelihood=weights, budget=limit)
    if as_json:
        say_json({"configurations": [_record(each) for each in found]})
    else:
        say(_text(net, found))


def _text(network: Network, found: list[Configuration]) -> str:
    """Write configurations side by side, and their scores."""
    from credo.cli.text_tables import columns_table, shown

    header = ["variable", *(["state"] if len(found) == 1 else map(str, range(1, len(found) + 1)))]
    states = [[name, *(each[name] for each in found)] for name in found[0]]
    quantity = "ln P" if network.is_normalised else "ln score"
    scores = [quantity, *(f"{each.log_score:.8g}" for each in found)]
    *table, last = columns_table(header, [*states, scores]).splitlines()
    tied = ", ".join(shown(name) for name in found[0].tied)
    ties = [f"tied: {tied}; in other states a configuration is as good"] if tied else []
    return "\n".join([*table, "", last, *ties])


def _record(found: Configuration) -> dict[str, object]:
    """Give a configuration by name."""
    return {
        "states": {str(name): str(state) for name, state in found.states.items()},
        "log_score": found.log_score,
        "tied": [str(name) for name in found.tied],
    }
