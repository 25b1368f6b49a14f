"""``credo uai``: the tasks of the inference competitions, in their formats."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credo.cli.options import BudgetText, as_budget

if TYPE_CHECKING:
    from credo._types import Label
    from credo.inference.configurations import Configuration


def uai(
    task: Annotated[str, typer.Argument(help="PR, MAR, MAP or MMAP.", metavar="TASK")],
    model: Annotated[Path, typer.Argument(help="The model, .uai, also with .gz.")],
    evidence: Annotated[
        Path | None,
        typer.Argument(help="What was observed, .evid; nothing by default.", show_default=False),
    ] = None,
    query_file: Annotated[
        Path | None,
        typer.Option(
            help="The variables of MMAP: their number, then each of them.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write to this file instead of the terminal.", show_default=False),
    ] = None,
    budget: BudgetText = "4GB",
) -> None:
    """Solve a task of the UAI inference competitions and write the result as they do."""
    from credo.cli.destinations import refuse_overwriting, say
    from credo.cli.networks import spoken_warnings
    from credo.formats.uai import read_uai, read_uai_evidence, write_uai_result

    kind = _known_task(task, query_file)
    refuse_overwriting(
        out,
        {
            "the model": model,
            "the evidence": evidence or model,
            "the query": query_file or model,
        },
    )
    with spoken_warnings():
        net = read_uai(model)
        findings = {} if evidence is None else read_uai_evidence(evidence, net)
        chosen = [] if query_file is None else _query(query_file, list(net.names))
        value = _TASKS[kind](net, findings, chosen, as_budget(budget))
    if out is not None and str(out) != "-":
        write_uai_result(out, kind, value)
        return
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder, "result")
        write_uai_result(written, kind, value)
        text = written.read_text(encoding="utf-8")
    say(text.removesuffix("\n"))


def _known_task(task: str, query_file: Path | None) -> str:
    """Check the task, and that MMAP alone has a query."""
    from credo._validation.labels import one_of
    from credo.exceptions import InputError

    kind: str = one_of(task.upper(), tuple(_TASKS), "credo uai", "task")
    if (kind == "MMAP") != (query_file is not None):
        raise InputError(
            "MMAP needs --query-file, the variables that are asked for."
            if kind == "MMAP"
            else f"--query-file is for MMAP. Leave it out with {kind}."
        )
    return kind


def _query(path: Path, names: list[Label]) -> list[Label]:
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


def _log10_partition(net: Any, findings: Any, _: Any, budget: str | None) -> float:
    from credo.inference._infer import infer

    return infer(net, findings, query=[], method="exact", budget=budget).log_evidence / math.log(10)


def _marginals(net: Any, findings: Any, _: Any, budget: str | None) -> list[Any]:
    from credo.inference._infer import infer

    post = infer(net, findings, method="exact", budget=budget)
    return [post.probabilities(name) for name in post]


def _best(net: Any, findings: Any, _: Any, budget: str | None) -> list[int]:
    from credo.inference.maximum import mpe

    found = mpe(net, findings, method="junction_tree", budget=budget)
    return list(_numbers(net, found).values())


def _best_of_some(net: Any, findings: Any, chosen: Any, budget: str | None) -> dict[int, int]:
    from credo.inference.maximum import marginal_map

    return _numbers(net, marginal_map(net, chosen, findings, budget=budget))


def _numbers(net: Any, found: Configuration) -> dict[int, int]:
    """Give variables and states as the numbers that they have in the file."""
    places = {name: number for number, name in enumerate(net.names)}
    return {places[name]: net[name].index(state) for name, state in found.states.items()}


_TASKS: dict[str, Callable[[Any, Any, Any, str | None], Any]] = {
    "PR": _log10_partition,
    "MAR": _marginals,
    "MAP": _best,
    "MMAP": _best_of_some,
}
