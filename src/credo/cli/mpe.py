"""``credo mpe``: the most probable states together."""

from __future__ import annotations

from typing import Annotated, Any

from credo.cli import _options as given
from credo.cli._console import Wait, bound_text, say, say_json, shown, table_text
from credo.cli._networks import Network
from credo.cli._options import as_budget, engine_of_method, method_options, opt
from credo.exceptions import InputError
from credo.inference.engines import MAXIMISERS, promising

_VARIABLES = "Only these, a,b; the others are summed out (marginal MAP)."
_METHOD = (
    f"Exact: {promising(MAXIMISERS, 'exact')}. With a bound: {promising(MAXIMISERS, 'upper')}. "
    f"Without: {promising(MAXIMISERS, 'estimate')}. auto takes the first of them that fits."
)


@method_options(MAXIMISERS)
def mpe(
    *,
    network: given.NetworkFile,
    evidence: given.Evidence = None,
    likelihood: given.Likelihood = None,
    variables: Annotated[list[str] | None, opt(_VARIABLES, given.ASK)] = None,
    k: Annotated[int, opt("How many configurations, best first.", given.ASK, "--k", min=1)] = 1,
    method: Annotated[
        str, opt(_METHOD, given.METHOD, autocompletion=lambda: list(MAXIMISERS))
    ] = "auto",
    seed: given.Seed = 0,
    budget: given.Budget = "4GB",
    options: dict[str, Any],
    as_json: given.AsJson = False,
) -> None:
    """Find the most probable states of all variables together, or of some."""
    from credo import inference

    engine = engine_of_method(method, options, MAXIMISERS, "credo mpe")
    if variables and k != 1:
        raise InputError("--k counts configurations of all variables. Leave out --variables.")
    typed = ["method"] * (engine.name != "auto") + [name.replace("_", "-") for name in options]
    if typed and (variables or k != 1):
        other = "variables" if variables else "k"
        raise InputError(f"--{typed[0]} does not go with --{other}, which is exact. Leave it out.")
    with Wait("searching") as wait:
        net = Network(network)
        asked: dict[str, Any] = {
            "evidence": net.evidence(evidence),
            "likelihood": net.weights(likelihood),
            "budget": as_budget(budget),
        }
        names = net.chosen(variables, "--variables")
        if names is not None:
            found = [inference.marginal_map(net.model, names, **asked)]
        elif k != 1:
            found = inference.k_best(net.model, k, **asked)
        else:
            extra = {"seed": seed, "callback": wait.sweeps}
            options |= {name: extra[name] for name in extra if name in engine.options}
            found = [inference.mpe(net.model, **asked, method=method, **options)]
    records = [_record(each) for each in found]
    if as_json:
        say_json({"configurations": records})
    else:
        say(_text(records, "ln P" if net.is_normalised else "ln score"))


def _record(found: Any) -> dict[str, Any]:
    """Return a configuration by name."""
    return {
        "states": {str(name): str(state) for name, state in found.states.items()},
        "log_score": found.log_score,
        "tied": [str(name) for name in found.tied],
        "engine": found.engine,
        "bound": found.bound,
        "gap": found.gap,
        "is_exact": found.is_exact,
    }


def _text(records: list[dict[str, Any]], quantity: str) -> str:
    """Write configurations side by side, their scores, and what is proven of them."""
    best, several = records[0], len(records) > 1
    rows = [["variable", *(range(1, len(records) + 1) if several else ["state"])]]
    rows += [[name, *(each["states"][name] for each in records)] for name in best["states"]]
    rows += [[quantity, *(f"{each['log_score']:.8g}" for each in records)]]
    *table, score = table_text(rows).splitlines()
    facts = [("engine", best["engine"])]
    if not several:
        known = best["bound"] is not None
        facts.append(("gap", bound_text(best["gap"], "upper bound", 3) if known else "not known"))
    width = max(len(shown(row[0])) for row in rows)
    below = [f"{name:<{width}}  {value}" for name, value in facts]
    if best["tied"]:
        tied = ", ".join(map(shown, best["tied"]))
        below.append(f"tied: {tied}; in other states a configuration is as good")
    return "\n".join([*table, "", score, *below])
