"""Where results go: a file that is written whole, or the standard output."""

from __future__ import annotations

import io
import json
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def destination(out: Path | None) -> Iterator[IO[str]]:
    """Give a stream that reaches the file or the terminal only if all goes well."""
    from credo._files import written_whole
    from credo.exceptions import InputError

    if out is not None and str(out) != "-":
        with written_whole(out) as stream:
            yield stream
        return
    if sys.stdout is None:
        raise InputError("There is no standard output to write to. Pass --out.")
    with (
        tempfile.TemporaryFile() as spool,
        io.TextIOWrapper(spool, encoding="utf-8", newline="", write_through=True) as stream,
    ):
        yield stream
        spool.seek(0)
        try:
            sys.stdout.flush()
            shutil.copyfileobj(spool, sys.stdout.buffer)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader has seen enough, as in `credo … | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """Print a result; UTF-8 whatever the terminal speaks, and no complaint if nobody reads."""
    with destination(None) as stream:
        stream.write(f"{text}\n")


def say_json(record: Mapping[str, Any]) -> None:
    """Print a result for another program; numbers that JSON lacks become text."""
    say(json.dumps(_jsonable(record), ensure_ascii=False, allow_nan=False))


def refuse_overwriting(out: Path | None, inputs: Mapping[str, str | Path]) -> None:
    """Refuse an output file that is one of the inputs; ``inputs`` are by their role."""
    from credo.exceptions import InputError

    if out is None or str(out) == "-" or not out.is_file():
        return
    for role, path in inputs.items():
        if Path(path).exists() and out.samefile(path):
            raise InputError(f"The output {out} is also {role}. Choose another name.")


def _jsonable(value: Any) -> Any:
    """Write keys as text, and infinite numbers as 'inf' and '-inf'."""
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
