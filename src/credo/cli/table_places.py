"""Files that are written at the end of long work: whether they can be, before it begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path


def check_place(out: Path) -> None:
    """Refuse a name that nothing can be written to."""
    from credo.exceptions import InputError

    folder = out.resolve().parent
    if not folder.is_dir():
        raise InputError(f"Cannot write {out}: the folder {folder} does not exist.")
    if out.is_dir():
        raise InputError(f"Cannot write {out}: it is a folder. Name a file in it.")


def refuse_inputs(out: Path | None, inputs: Mapping[str, Sequence[Path]]) -> None:
    """Refuse an output that is one of the inputs, or lies in a folder of inputs."""
    from credo.cli.destinations import refuse_overwriting
    from credo.exceptions import InputError

    if out is None:
        return
    for role, paths in inputs.items():
        for path in paths:
            refuse_overwriting(out, {role: path})
            if path.is_dir() and out.resolve().parent == path.resolve():
                raise InputError(
                    f"The output {out} would lie in the folder {path}, which is {role}. Choose "
                    "another place."
                )
