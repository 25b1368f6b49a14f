"""``credo uai``: the tasks of the inference competitions, in their formats."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

from credo.cli._console import Wait, check_out
from credo.cli._options import ASK, METHOD, OUTPUT, Budget, arg, as_budget, opt
from credo.cli._rows import place_for
from credo.exceptions import BudgetError, InputError

_QUERY = "The variables of MMAP: their number, then each of them."
_METHOD = (
    "auto: approximate, with a warning, where the exact answer needs more memory than --budget; "
    "exact: never. MMAP is always exact."
)


def uai(
    task: Annotated[
        Literal["PR", "MAR", "MAP", "MMAP"],
        arg("PR, MAR, MAP or MMAP.", "TASK", case_sensitive=False),
    ],
    model: Annotated[Path, arg("The network, .uai, also with .gz.", "NETWORK")],
    evidence: Annotated[
        Path | None, arg("What was observed, .evid; nothing by default.", "EVIDENCE")
    ] = None,
    query_file: Annotated[Path | None, opt(_QUERY, ASK)] = None,
    method: Annotated[Literal["auto", "exact"], opt(_METHOD, METHOD)] = "auto",
    budget: Budget = "4GB",
    out: Annotated[Path | None, opt("Write to this file instead of the terminal.", OUTPUT)] = None,
) -> None:
    """Solve a task of the UAI inference competitions and write the result as they do."""
    from credo.formats import read_uai, read_uai_evidence, write_uai_result
    from credo.inference import marginal_map

    if (task == "MMAP") != (query_file is not None):
        raise InputError(
            "MMAP needs --query-file, the variables that are asked for."
            if task == "MMAP"
            else f"--query-file is for MMAP. Leave it out with {task}."
        )
    roles = {"the model": model, "the evidence": evidence, "the query": query_file}
    out = check_out(out, roles, or_stream=True)
    with Wait("solving"):
        net = read_uai(model)
        findings = {} if evidence is None else read_uai_evidence(evidence, net)
        chosen = [] if query_file is None else _query(query_file, list(net.names))
        if task == "MMAP":
            best = marginal_map(net, chosen, findings, budget=as_budget(budget)).states.items()
            places = {name: number for number, name in enumerate(net.names)}
            value: Any = {places[name]: net[name].index(state) for name, state in best}
        else:
            value = _solved(task, net, findings, method, as_budget(budget))
    with place_for(out) as place:
        write_uai_result(place, task, value)


def _solved(task: str, net: Any, findings: Any, method: str, budget: str | None) -> Any:
    """Return the result of a task; an approximate one warns that it is."""
    from credo import inference

    if task == "MAP":
        way = "junction_tree" if method == "exact" else method
        best = inference.mpe(net, findings, method=way, budget=budget)
        return [net[name].index(state) for name, state in best.states.items()]
    if task == "PR":
        return _log_evidence(net, findings, method, budget) / math.log(10)
    post = inference.infer(net, findings, method=method, budget=budget)
    return [post.probabilities(name) for name in post]


def _log_evidence(net: Any, findings: Any, method: str, budget: str | None) -> float:
    """Return ln Z: in one pass, which takes less memory than the marginals; else approximately."""
    from credo.inference import infer

    try:
        return infer(net, findings, query=[], method="exact", budget=budget).log_evidence
    except BudgetError:
        if method == "exact":
            raise
    return infer(net, findings, budget=budget).log_evidence


def _query(path: Path, names: list[Any]) -> list[Any]:
    """Read the variables that are asked for: their number, then each of them."""
    from credo.formats._text import NumberFile, TextFile

    found = NumberFile.of(TextFile.read(path))
    count = found.whole(0, "the number of variables")
    chosen = found.wholes(1, count, "a variable")
    if len(found) > 1 + count:
        found.fail(1 + count, f"Expected {count} variables, got {len(found) - 1}.")
    for place, variable in enumerate(chosen, 1):
        if variable >= len(names):
            found.fail(place, f"There is no variable {variable}: the model has {len(names)}.")
    return [names[variable] for variable in chosen]
