"""``credo infer``: the probabilities of a network's variables."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credo.cli.options import (
    AsJson,
    BudgetText,
    EvidenceTexts,
    LikelihoodFile,
    NetworkFile,
    QueryTexts,
    as_budget,
)

if TYPE_CHECKING:
    from credo.cli.networks import Network
    from credo.inference import ApproximatePosterior, GraphPosterior


def infer(
    network: NetworkFile,
    evidence: EvidenceTexts = None,
    query: QueryTexts = None,
    likelihood: LikelihoodFile = None,
    jeffrey: Annotated[
        Path | None,
        typer.Option(
            help="Probabilities that variables must end up with (Jeffrey's rule); a file as for "
            "--likelihood.",
            show_default=False,
        ),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated file, one question per row: columns are variables, an empty "
            "cell was not observed. '.gz' is unpacked, '-' reads the standard input.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="With --rows: write to this file.", show_default=False)
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="With --rows: column to hand through, such as an id; repeatable."),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="With --rows: column that is no evidence, such as a truth; repeatable."),
    ] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option(help="With --rows: text that means not observed, as ? or NA; repeatable."),
    ] = None,
    on_impossible: Annotated[
        str,
        typer.Option(help="With --rows: 'error' stops at an impossible row, 'blank' leaves gaps."),
    ] = "error",
    method: Annotated[
        str, typer.Option(help="auto, tree, junction_tree, elimination or enumeration.")
    ] = "auto",
    budget: BudgetText = "4GB",
    as_json: AsJson = False,
) -> None:
    """Compute the probabilities of a network's variables, exactly.

    With --rows, once for each row of a file, which may be larger than the memory.
    """
    given = {"keep": keep, "ignore": ignore, "missing": missing, "out": out}
    if rows is None:
        _refuse({**given, "on-impossible": on_impossible != "error"}, "goes with --rows only")
        _answer_one(network, evidence, query, likelihood, jeffrey, method, budget, as_json)
        return
    from credo.cli.evidence_rows import RowsRequest, answer_rows

    single = {"evidence": evidence, "likelihood": likelihood, "jeffrey": jeffrey}
    _refuse({**single, "method": method != "auto"}, "does not go with --rows")
    request = RowsRequest(
        network=network,
        rows=rows,
        out=out,
        query=query,
        keep=keep or [],
        ignore=ignore or [],
        missing=missing or [],
        on_impossible=on_impossible,
        budget=budget,
        as_json=as_json,
    )
    answer_rows(request)


def _answer_one(
    network: Path,
    evidence: list[str] | None,
    query: list[str] | None,
    likelihood: Path | None,
    jeffrey: Path | None,
    method: str,
    budget: str,
    as_json: bool,
) -> None:
    """Answer a single question and print it."""
    from credo.cli.destinations import say, say_json
    from credo.cli.findings import evidence_of, names_of
    from credo.cli.networks import opened
    from credo.cli.weight_files import weights_of
    from credo.inference.asking import infer as ask

    with opened(network) as net:
        findings = evidence_of(net, evidence)
        wanted = names_of(net, query, "--query")
        net.start.settle(net.model, findings, wanted, _answers(method, jeffrey))
        post = ask(
            net.model,
            findings,
            likelihood=weights_of(net, likelihood),
            jeffrey=weights_of(net, jeffrey),
            query=wanted,
            method=method,  # type: ignore[arg-type]  # infer names the words it knows
            budget=as_budget(budget),
        )
        log_evidence = _log_evidence(post)
    if as_json:
        say_json(
            {
                "variables": post.to_dict(),
                "log_evidence": log_evidence,
                "engine": post.engine,
                "status": post.status,
            }
        )
    else:
        say(_posterior_text(net, post, log_evidence))


def _answers(method: str, jeffrey: Path | None) -> float:
    """Tell how much more than the plan of one answer a question costs."""
    if method != "auto":
        return math.inf
    return 1 if jeffrey is None else 100  # rounds of proportional fitting


def _posterior_text(
    network: Network, post: GraphPosterior | ApproximatePosterior, log_evidence: float | None
) -> str:
    """Write the marginals and what else was found, for a person."""
    from credo.cli.text_tables import marginals_table

    quantity = "ln P(evidence)" if network.is_normalised else "ln Z(evidence)"
    value = "needs more memory than the budget" if log_evidence is None else f"{log_evidence:.8g}"
    return (
        f"{marginals_table(post.to_dict())}\n\n{quantity}  {value}\nengine          {post.engine}"
    )


def _log_evidence(post: GraphPosterior | ApproximatePosterior) -> float | None:
    """Give the log evidence; None if it costs more than the marginals that were asked for."""
    from credo.exceptions import BudgetError

    try:
        return post.log_evidence
    except BudgetError:
        return None


def _refuse(given: dict[str, Any], reason: str) -> None:
    """Refuse options that were given and do not fit the question."""
    from credo.exceptions import InputError

    for name, value in given.items():
        if value:
            raise InputError(f"--{name} {reason}. Leave it out.")
