"""``credo infer``: the probabilities of a network's variables."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from credo.cli.method_options import method_options
from credo.cli.options import (
    AsJson,
    BudgetText,
    EvidenceTexts,
    LikelihoodFile,
    NetworkFile,
    QueryTexts,
    as_budget,
)
from credo.inference.engines import ENGINES, ROW_ENGINES, promising


@method_options(ENGINES, ROW_ENGINES, without=("start",))
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
            help="CSV (also .gz or .tsv), Parquet, Arrow or Feather, one question per row: columns "
            "are variables, an empty cell was not observed. '-' reads the standard input.",
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
        typer.Option(
            help="With --rows: 'error' stops at an impossible row, 'blank' leaves it empty."
        ),
    ] = "error",
    method: Annotated[
        str,
        typer.Option(
            help=f"Exact: {promising(ENGINES, 'exact')}, or exact for the cheapest. "
            f"Approximate: {promising(ENGINES, 'estimate', 'lower', 'upper', 'samples')}. auto is "
            "exact, and approximate where that exceeds the budget.",
        ),
    ] = "auto",
    seed: Annotated[int, typer.Option(help="Seed of whatever is random.")] = 0,
    on_failure: Annotated[
        str,
        typer.Option(
            help="If sweeps do not settle: 'warn', 'raise' an error, or 'return' in silence."
        ),
    ] = "warn",
    budget: BudgetText = "4GB",
    as_json: AsJson = False,
    *,
    options: dict[str, Any],
) -> None:
    """Compute the probabilities of a network's variables, given evidence.

    With --rows, once for each row of a file, which may be larger than the memory.
    """
    given = {"keep": keep, "ignore": ignore, "missing": missing, "out": out}
    if rows is None:
        from credo.cli.answers import Ask, answer_one

        _refuse({**given, "on-impossible": on_impossible != "error"}, "goes with --rows only")
        ask = partial(Ask, network, evidence, query, likelihood, jeffrey)
        answer_one(ask(method, as_budget(budget), seed, on_failure, options, as_json))
        return
    from credo.cli.evidence_rows import RowsRequest, answer_rows

    single = {"evidence": evidence, "likelihood": likelihood, "jeffrey": jeffrey}
    _refuse({**single, "on-failure": on_failure != "warn"}, "does not go with --rows")
    answer_rows(
        RowsRequest(
            network=network,
            rows=rows,
            out=out,
            query=query,
            keep=keep or [],
            ignore=ignore or [],
            missing=missing or [],
            on_impossible=on_impossible,
            method=method,
            seed=seed,
            options=options,
            budget=budget,
            as_json=as_json,
        )
    )


def _refuse(given: dict[str, Any], reason: str) -> None:
    """Refuse options that were given and do not fit the question."""
    from credo.exceptions import InputError

    for name, value in given.items():
        if value:
            raise InputError(f"--{name} {reason}. Leave it out.")
