"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

NetworkFile: TypeAlias = Annotated[
    Path,
    typer.Argument(
        help="The network: .bif, .xml, .bifxml, .xmlbif, .net, .xdsl or .uai, also with .gz.",
        metavar="NETWORK",
    ),
]
EvidenceTexts: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--evidence",
        help="What was observed: variable=state,variable=state. One of several states is "
        "variable=state|state; names with commas go in double quotes. Repeatable.",
        show_default=False,
    ),
]
QueryTexts: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--query", help="Variables that are wanted, a,b; all by default.", show_default=False
    ),
]
LikelihoodFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--likelihood",
        help="Uncertain evidence: weights on states, as JSON {variable: {state: weight}} or as "
        "CSV with columns variable, state, weight.",
        show_default=False,
    ),
]
BudgetText: TypeAlias = Annotated[
    str, typer.Option("--budget", help="Memory for the tables, such as 500MB; 'none' for no limit.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def as_budget(text: str) -> str | None:
    """Read a budget; the word none is no limit."""
    return None if text.strip().lower() == "none" else text
