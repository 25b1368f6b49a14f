"""All pictures of a folder restored, one after the other."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from credo.cli.image_jobs import Settings, restore
from credo.cli.image_places import Places
from credo.exceptions import CredoError, InputError


def restore_folder(places: Places, settings: Settings) -> Iterator[dict[str, Any]]:
    """Restore picture by picture; give for each what was found, or why it was skipped."""
    _check(places)
    names = sorted(
        path.name
        for path in places.noisy.iterdir()
        if not path.is_dir() and not path.name.startswith(".")
    )
    if not names:
        raise InputError(f"There are no files in {places.noisy}.")
    for _, folder in places.written():
        folder.mkdir(parents=True, exist_ok=True)
    for name in _watched(names):
        try:
            yield restore(places.of(name), settings)
        except (CredoError, OSError) as error:
            yield {"noisy": str(places.noisy / name), "failure": _named(name, error)}


def _check(places: Places) -> None:
    """Refuse files where folders are needed."""
    places.check_distinct()
    for option, folder in places.written():
        if folder.exists() and not folder.is_dir():
            raise InputError(
                f"NOISY is a folder, so {option} must be one too. {folder} is a file; name a "
                "folder, which is made if need be."
            )
    if places.compare is not None and not places.compare.is_dir():
        raise InputError(
            "NOISY is a folder, so --compare must be one with the same names. "
            f"Got {places.compare}."
        )


def _named(name: str, error: Exception) -> str:
    """Word an error so that it names the file."""
    return str(error) if name in str(error) else f"{name}: {error}"


def _watched(names: Sequence[str]) -> Iterator[str]:
    """Give names, with a bar on stderr if somebody watches."""
    if not sys.stderr.isatty():
        yield from names
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=len(names))
        for name in names:
            bar.update(task, description=name)
            yield name
            bar.advance(task)
