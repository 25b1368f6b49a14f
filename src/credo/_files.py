"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
    with (
        _place(path) as (place, mode),
        place.open(mode, encoding="utf-8", newline="") as stream,
    ):
        yield stream


@contextmanager
def bytes_written_whole(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file of bytes that appears under ``path`` only if the block succeeds."""
    with _place(path) as (place, mode), place.open(f"{mode}b") as stream:
        yield stream


@contextmanager
def path_written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a name that a library may write a file to; rename it on success.

    Whatever the library thinks of permissions, the file gets those of any new file.
    """
    with _place(path) as (place, mode):
        if mode == "w":
            yield place
            return
        place.touch(exist_ok=False)
        usual = stat.S_IMODE(place.stat().st_mode)
        yield place
        place.chmod(usual)


def write_bytes_whole(path: str | os.PathLike[str], content: bytes | memoryview) -> None:
    """Write a file of bytes that appears under ``path`` only when it is whole."""
    with bytes_written_whole(path) as stream:
        stream.write(content)


@contextmanager
def _place(path: str | os.PathLike[str]) -> Iterator[tuple[Path, str]]:
    """Yield the name to write to and how to open it; rename afterwards if the block succeeds."""
    path = os.fsdecode(path)
    if path.startswith(_STREAMS):  # they may lead to a file that others write to as well
        yield Path(path), "w"
        return
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise InputError(f"Cannot write {target}: the folder {target.parent} does not exist.")
    if target.is_dir():
        raise InputError(f"Cannot write {target}: it is a folder. Name a file in it.")
    if target.exists() and not target.is_file():  # a device or a pipe has no half-written state
        yield target, "w"
        return
    temporary = target.with_name(f".credo-{secrets.token_hex(8)}.part")
    try:
        yield temporary, "x"
        _settle(temporary, os.O_RDWR)  # the name must not reach the disk before the content
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == str(temporary):
            raise type(error)(error.errno, error.strerror, str(target)) from error
        raise
    with suppress(OSError):  # Windows and some network disks cannot settle a folder
        _settle(target.parent, os.O_RDONLY)


def _settle(path: Path, access: int) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, access)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
