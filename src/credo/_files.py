"""Files of this machine: their names, and writing them whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

from credo.exceptions import InputError

_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")
#: URLs; a path may have joined their slashes.
_URL = re.compile(r"(?i)(file|s3[an]?|g[cs]s?|https?|s?ftp|hdfs|viewfs|abfss?|az|wasbs?|dbfs):/+")
#: What a full disk, a quota and a limit on files say, with no file: only writing meets them.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def local_path(given: Any) -> str:
    """Return the name of a file of this machine, also of a ``file:`` URL; refuse other URLs."""
    try:
        name = os.fsdecode(given)
    except TypeError:
        got = type(given).__name__
        raise InputError(f"A file is named by a path, such as 'rows.csv'. Got {got}.") from None
    url = _URL.match(name)
    if url is None:
        return name
    rest = name[url.end() :]
    if url[1].lower() == "file":
        return f"/{unquote(rest.removeprefix('localhost/'))}"
    raise InputError(
        f"{url[1]}://{rest} is a URL, and Credo works on files of this machine. Download it first; "
        "rows may also come from Arrow: pass pyarrow.dataset.dataset(url) in place of the name."
    )


def refuse_place(path: str | os.PathLike[str]) -> None:
    """Refuse a file to write that has no folder, or is one."""
    folder = Path(path).resolve().parent
    reasons = {
        f"{folder} is a file, not a folder. Choose another place.": folder.is_file(),
        f"the folder {folder} does not exist. Make it first.": not folder.is_dir(),
        "it is a folder. Name a file in it.": Path(path).is_dir(),
    }
    for reason in (reason for reason, holds in reasons.items() if holds):
        raise InputError(f"Cannot write {path}: {reason}")


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
    path = local_path(path)
    if path.startswith(_STREAMS):  # they may lead to a file that others write to as well
        yield Path(path), "w"
        return
    refuse_place(path)
    target = Path(path).resolve()
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
        if isinstance(error, OSError) and (
            error.filename == str(temporary) or error.errno in _FULL
        ):
            reason = os.strerror(error.errno) if error.errno else error.strerror
            raise type(error)(error.errno, reason, path) from error
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
