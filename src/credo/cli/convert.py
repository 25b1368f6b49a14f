"""``credo convert``: a network from one format to another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from credo.cli._console import Wait, check_out, note
from credo.cli._options import NetworkFile, arg


def convert(
    network: NetworkFile,
    target: Annotated[Path, arg("The file to write; its ending tells the format.", "TARGET")],
) -> None:
    """Write a network in another format, read it back, and say what is lost."""
    from credo.formats import read_network, write_network

    check_out(target, {"the network to read": network})
    with Wait("converting"):
        model = read_network(network)
        write_network(model, target)
        back = read_network(target) if target.is_file() else model
        before, after = model.compile(), back.compile()
    note(f"{target}: {len(after.names)} variables, {len(after.values)} table cells.")
    if type(model) is not type(back):
        note(f"A {type(model).__name__} reads back as a {type(back).__name__}.")
    for loss in _losses(before, after):
        note(loss)
    note(
        "Not carried over, if there were any: comments, properties, positions of nodes; rules such "
        "as noisy-MAX are tables now."
    )
    side_car = target.with_name(f"{target.name.removesuffix('.gz')}.names.json")
    if side_car.is_file():
        note(f"The names and states are in {side_car}. Keep it beside.")


def _losses(before: Any, after: Any) -> Iterator[str]:
    """Say in sentences what changed."""
    import numpy as np

    if list(before.names) != list(after.names) and set(before.names) == set(after.names):
        yield "The variables are in another order now."
        return
    kinds = {
        "names": (before.names, after.names),
        "states of variables": (before.states, after.states),
    }
    for what, sides in kinds.items():
        pairs = [(old, new) for old, new in zip(*sides, strict=True) if old != new]
        if pairs:
            yield "{} {} changed; the first, {!r}, is {!r} now.".format(len(pairs), what, *pairs[0])
    old, new = _logs(before), _logs(after)
    if len(old) != len(new):
        yield f"The tables have {len(new)} cells; they had {len(old)}."
    elif (differ := old != new).any():
        most = np.abs(np.expm1(old[differ] - new[differ])).max()
        yield f"{differ.sum()} table entries moved, by up to a factor of 1 ± {most:.2g}."


def _logs(wiring: Any) -> Any:
    """Return the log of each table entry; -inf for zero."""
    import numpy as np

    with np.errstate(divide="ignore"):
        logs = np.log(wiring.values) if wiring.log_values is None else wiring.log_values
    return logs + np.repeat(wiring.log_scale, np.diff(wiring.table_start))
