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
    if list(before.names) != list(after.names) and set(before.names) == set(after.names):
        yield "The variables are in another order now."
    else:
        yield from _changed(before.names, after.names, "names")
        yield from _changed(before.states, after.states, "states of variables")
        yield from _moved(before, after)
    yield (
        "Not carried over, if there were any: comments, properties, positions of nodes; rules such "
        "as noisy-MAX are tables now."
    )


def _changed(before: Sequence[Any], after: Sequence[Any], what: str) -> Iterator[str]:
    """Say how many labels changed."""
    pairs = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    if pairs:
        old, new = pairs[0]
        yield f"{len(pairs)} {what} changed; the first, {old!r}, is {new!r} now."


def _moved(before: Wiring, after: Wiring) -> Iterator[str]:
    """Say how far the numbers in the tables moved."""
    import numpy as np

    old, new = _logs(before), _logs(after)
    if len(old) != len(new):
        yield f"The tables have {len(new)} cells; they had {len(old)}."
        return
    differ = old != new
    if differ.any():
        most = np.abs(np.expm1(old[differ] - new[differ])).max()
        yield f"{differ.sum()} table entries moved, by up to a factor of 1 ± {most:.2g}."


def _logs(wiring: Wiring) -> Any:
    """Give the log of each table entry; -inf for zero."""
    import numpy as np

    if wiring.log_values is not None:
        logs = wiring.log_values
    else:
        with np.errstate(divide="ignore"):
            logs = np.log(wiring.values)
    return logs + np.repeat(wiring.log_scale, np.diff(wiring.table_start))
