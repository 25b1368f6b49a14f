"""``credo infer``: the probabilities of a network's variables."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

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
from credo.inference.engines import ENGINES, promising


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
        str,
        typer.Option(
            help=f"Exact: {promising(ENGINES, 'exact')}, or exact for the cheapest. "
            f"Approximate: {promising(ENGINES, 'estimate', 'lower', 'upper', 'samples')}. auto is "
            "exact, and approximate where that exceeds the budget.",
        ),
    ] = "auto",
    schedule: Annotated[
        str | None,
        typer.Option(
            help="Of loopy: auto, flooding, sequential, residual, random or tree.",
            show_default=False,
        ),
    ] = None,
    momentum: Annotated[
        str | None,
        typer.Option(
            help="Of loopy and generalised: share of the new message, above 0 and at most 1, or "
            "adaptive.",
            show_default=False,
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(help="Of loopy: 1 sums, 0 maximises.", show_default=False),
    ] = None,
    sweeps: Annotated[
        int | None,
        typer.Option(help="Of approximate methods: sweeps at most.", show_default=False),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="Of approximate methods: change at which sweeps stop.", show_default=False
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            help="Of loopy and gibbs: the answer is the same for any number.", show_default=False
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of whatever is random.")] = 0,
    on_failure: Annotated[
        str,
        typer.Option(
            help="If sweeps do not settle: 'warn', 'raise' an error, or 'return' in silence."
        ),
    ] = "warn",
    budget: BudgetText = "4GB",
    as_json: AsJson = False,
) -> None:
    """Compute the probabilities of a network's variables, given evidence.

    With --rows, once for each row of a file, which may be larger than the memory.
    """
    options = _given(
        schedule=schedule,
        momentum=None if momentum is None else _as_momentum(momentum),
        temperature=temperature,
        sweeps=sweeps,
        tolerance=tolerance,
        threads=threads,
    )
    given = {"keep": keep, "ignore": ignore, "missing": missing, "out": out}
    if rows is None:
        from credo.cli.answers import Ask, answer_one

        _refuse({**given, "on-impossible": on_impossible != "error"}, "goes with --rows only")
        ask = partial(Ask, network, evidence, query, likelihood, jeffrey)
        answer_one(ask(method, as_budget(budget), seed, on_failure, options, as_json))
        return
    from credo.cli.evidence_rows import RowsRequest, answer_rows

    single = {"evidence": evidence, "likelihood": likelihood, "jeffrey": jeffrey}
    other = {"method": method != "auto", "seed": seed, "on-failure": on_failure != "warn"}
    _refuse({**single, **other, **dict.fromkeys(options, True)}, "does not go with --rows")
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
            budget=budget,
            as_json=as_json,
        )
    )


def _given(**options: Any) -> dict[str, Any]:
    """Leave out what was left out."""
    return {name: value for name, value in options.items() if value is not None}


def _as_momentum(text: str) -> float | str:
    """Read a number or the word adaptive."""
    from credo.exceptions import InputError

    if text == "adaptive":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(
            "--momentum is the share of the new message, above 0 and at most 1, or adaptive. "
            f"Got {text!r}."
        ) from None


def _refuse(given: dict[str, Any], reason: str) -> None:
    """Refuse options that were given and do not fit the question."""
    from credo.exceptions import InputError

    for name, value in given.items():
        if value:
            raise InputError(f"--{name} {reason}. Leave it out.")
