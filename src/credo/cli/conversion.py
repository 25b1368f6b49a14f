"""``credo convert``: a network from one format to another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credo.cli.options import NetworkFile

if TYPE_CHECKING:
    from credo.graphs.wiring import Wiring


def convert(
    network: NetworkFile,
    target: Annotated[Path, typer.Argument(help="The file to write; its ending tells the format.")],
) -> None:
    """Write a network in another format, read it back, and say what is lost."""
    from credo.cli.destinations import refuse_overwriting
    from credo.cli.networks import spoken_warnings
    from credo.formats.network_files import read_network, write_network

    refuse_overwriting(target, {"the network to read": network})
    with spoken_warnings():
        model = read_network(network)
        write_network(model, target)
        back = read_network(target) if target.is_file() else model
    typer.echo(f"{target}: {_size(back)}.", err=True)
    for loss in _losses(model, back):
        typer.echo(loss, err=True)
    side_car = target.with_name(f"{target.name.removesuffix('.gz')}.names.json")
    if side_car.is_file():
        typer.echo(f"The names and states are in {side_car}. Keep it beside.", err=True)


def _size(model: Any) -> str:
    """Count variables and table cells."""
    wiring = model.compile()
    return f"{len(wiring.names)} variables, {len(wiring.values)} table cells"


def _losses(model: Any, back: Any) -> Iterator[str]:
    """Say in sentences what the new file does not hold."""
    before, after = model.compile(), back.compile()
    if type(model) is not type(back):
        yield f"A {type(model).__name__} reads back as a {type(back).__name__}."
    if len(after.structured) < len(before.structured):
        count = len(before.structured) - len(after.structured)
        yield f"{count} rule{'s' * (count > 1)} such as noisy-OR became tables."
    yield from _changed(before.names, after.names, "names")
    yield from _changed(before.states, after.states, "states of variables")
    yield from _rounding(before, after)
    yield "Comments, properties and positions of nodes, if there were any, are not carried over."


def _changed(before: Sequence[Any], after: Sequence[Any], what: str) -> Iterator[str]:
    """Say that labels changed; auxiliary variables at the end are no change."""
    pairs = [(old, new) for old, new in zip(before, after, strict=False) if old != new]
    if pairs:
        old, new = pairs[0]
        yield f"{len(pairs)} {what} changed; the first, {old!r}, is {new!r} now."
    if len(after) > len(before) and what == "names":
        yield f"{len(after) - len(before)} auxiliary variables were added for the rules."


def _rounding(before: Wiring, after: Wiring) -> Iterator[str]:
    """Say how far numbers moved, where both hold the same tables."""
    import numpy as np

    if before.structured or after.structured or len(before.values) != len(after.values):
        return
    off = np.abs(before.values - after.values).max(initial=0.0)
    if off > 0:
        yield f"Table entries moved by up to {off:.2g}."
