"""``credo mpe``: the most probable states together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from credo.cli.method_options import method_options
from credo.cli.options import (
    AsJson,
    BudgetText,
    EvidenceTexts,
    LikelihoodFile,
    NetworkFile,
    as_budget,
)
from credo.inference.engines import MAXIMISERS, Engine, check_options, lookup, promising

if TYPE_CHECKING:
    from credo._types import Label
    from credo.cli.networks import Network
    from credo.inference.configurations import Configuration


@method_options(MAXIMISERS)
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
    method: Annotated[
        str,
        typer.Option(
            help=f"Exact: {promising(MAXIMISERS, 'exact')}. With a bound: "
            f"{promising(MAXIMISERS, 'upper')}. Without: {promising(MAXIMISERS, 'estimate')}. auto "
            "takes the first of them that fits."
        ),
    ] = "auto",
    likelihood: LikelihoodFile = None,
    seed: Annotated[int, typer.Option(help="Seed of whatever is random.")] = 0,
    budget: BudgetText = "4GB",
    as_json: AsJson = False,
    *,
    options: dict[str, Any],
) -> None:
    """Find the most probable states of all variables together, or of some."""
    from credo.cli.destinations import say, say_json
    from credo.cli.findings import evidence_of, names_of
    from credo.cli.networks import opened
    from credo.cli.weight_files import weights_of

    engine = _check(variables, k, method, budget, options)
    if "seed" in engine.options:
        options["seed"] = seed
    with opened(network) as net:
        asked: dict[str, Any] = {
            "evidence": evidence_of(net, evidence),
            "likelihood": weights_of(net, likelihood),
            "budget": as_budget(budget),
        }
        found = _found(net, asked, names_of(net, variables, "--variables"), k, engine, options)
    if as_json:
        say_json({"configurations": [_record(each) for each in found]})
    else:
        say(_text(net, found))


def _check(
    variables: list[str] | None, k: int, method: str, budget: str, options: dict[str, Any]
) -> Engine:
    """Refuse what does not go together, before a file is read, and find the engine."""
    from credo.exceptions import InputError
    from credo.inference.question import as_bytes

    as_bytes(as_budget(budget), "mpe")
    engine = lookup(method, MAXIMISERS, "--method of credo mpe")
    if variables and k != 1:
        raise InputError("--k counts configurations of all variables. Leave out --variables.")
    given = ["method"] * (engine.name != "auto") + [name.replace("_", "-") for name in options]
    if given and (variables or k != 1):
        other = "variables" if variables else "k"
        raise InputError(f"--{given[0]} does not go with --{other}, which is exact. Leave it out.")
    check_options(engine, options, MAXIMISERS, "mpe")
    return engine


def _found(
    net: Network,
    asked: dict[str, Any],
    names: list[Label] | None,
    k: int,
    engine: Engine,
    options: dict[str, Any],
) -> list[Configuration]:
    """Find one configuration, or several."""
    from credo.cli.progress import sweep_progress
    from credo.inference import maximum

    if names is not None:
        return [maximum.marginal_map(net.model, names, **asked)]
    if k != 1:
        return maximum.k_best(net.model, k, **asked)
    with sweep_progress() as callback:
        if "callback" in engine.options:
            options["callback"] = callback
        return [maximum.mpe(net.model, **asked, method=engine.name, **options)]


def _text(network: Network, found: list[Configuration]) -> str:
    """Write configurations side by side, their scores, and what is proven of them."""
    from credo.cli.text_tables import bound_text, columns_table, shown

    header = ["variable", *(["state"] if len(found) == 1 else map(str, range(1, len(found) + 1)))]
    states = [[name, *(each[name] for each in found)] for name in found[0]]
    quantity = "ln P" if network.is_normalised else "ln score"
    scores = [quantity, *(f"{each.log_score:.8g}" for each in found)]
    *table, last = columns_table(header, [*states, scores]).splitlines()
    width = max(len(shown(row[0])) for row in (header, *states))
    best = found[0]
    below = [f"{'engine':<{width}}  {best.engine}"]
    if len(found) == 1:
        known = "not known" if best.bound is None else bound_text(best.gap, "upper bound", 3)
        below.append(f"{'gap':<{width}}  {known}")
    tied = ", ".join(shown(name) for name in best.tied)
    ties = [f"tied: {tied}; in other states a configuration is as good"] if tied else []
    return "\n".join([*table, "", last, *below, *ties])


def _record(found: Configuration) -> dict[str, object]:
    """Give a configuration by name."""
    return {
        "states": {str(name): str(state) for name, state in found.states.items()},
        "log_score": found.log_score,
        "tied": [str(name) for name in found.tied],
        "engine": found.engine,
        "bound": found.bound,
        "gap": found.gap,
        "is_exact": found.is_exact,
    }
