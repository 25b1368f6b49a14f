"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from credo.exceptions import InputError

_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[IO[str]]:
    """Open a text file that appears under ``path`` only if the block succeeds.

    The text goes to a temporary name beside ``path``; on success it is renamed, on an error it is
    removed and whatever stood under ``path`` before is untouched.
    """
    if os.fspath(path).startswith(_STREAMS):  # they may lead to a file that others write to as well
        with Path(path).open("w", encoding="utf-8", newline="") as stream:
            yield stream
        return
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise InputError(f"Cannot write {target}: the folder {target.parent} does not exist.")
    if target.is_dir():
        raise InputError(f"Cannot write {target}: it is a folder. Name a file in it.")
    if target.exists() and not target.is_file():  # a device or a pipe has no half-written state
        with target.open("w", encoding="utf-8", newline="") as stream:
            yield stream
        return
    temporary = target.with_name(f".credo-{secrets.token_hex(8)}.part")
    try:
        with temporary.open("x", encoding="utf-8", newline="") as stream:
            yield stream
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
