"""The side-car of a UAI file: names and states, which the format itself does not know."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

from credo.exceptions import FileFormatError
from credo.formats._net_labels import loads, packed, unpacked
from credo.formats._net_output import output
from credo.formats._text import read_bytes


def side_car(path: str | os.PathLike[str]) -> Path:
    """Give the name of the side-car: ``model.uai.names.json``, also beside ``model.uai.gz``."""
    name = os.fspath(path)
    return Path((name[:-3] if name.lower().endswith(".gz") else name) + ".names.json")


def are_plain(names: Sequence[Hashable], states: Sequence[Sequence[Hashable]]) -> bool:
    """Tell whether variables are called 0, 1, ... and their states 0, 1, ..., as in the format."""
    return _counts_up(names) and all(map(_counts_up, states))


def write_names(
    path: Path, names: Sequence[Hashable], states: Sequence[Sequence[Hashable]]
) -> None:
    """Write the side-car."""
    labels = {
        "names": [packed(name) for name in names],
        "states": [[packed(state) for state in each] for each in states],
    }
    with output(path) as stream:
        json.dump(labels, stream, indent=0)
        stream.write("\n")


def read_names(path: Path, sizes: Sequence[int]) -> tuple[list[Any], list[tuple[Any, ...]]]:
    """Read a side-car, which must name as many variables and states as the model has."""
    try:
        value = loads(read_bytes(path))
        names: Any = unpacked(value["names"])
        states: Any = unpacked(value["states"])
    except json.JSONDecodeError as error:
        reason = f"The side-car with the names is damaged: {error.msg}. Restore or delete it."
        raise FileFormatError(reason, os.fspath(path), error.lineno, error.colno) from None
    except FileFormatError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError):
        reason = (
            'The side-car must be JSON with two lists, "names" and "states". Restore or delete it.'
        )
        raise FileFormatError(reason, os.fspath(path)) from None
    if not _fit(names, states, sizes):
        reason = (
            f"The side-car does not fit the model of {len(sizes)} variables: it must have as many "
            "names, and as many states for each, all different. Restore or delete it."
        )
        raise FileFormatError(reason, os.fspath(path))
    return list(names), list(states)


def _fit(names: Any, states: Any, sizes: Sequence[int]) -> bool:
    """Tell whether labels are as many as needed, and different."""
    return (
        isinstance(names, tuple)
        and isinstance(states, tuple)
        and all(isinstance(each, tuple) for each in states)
        and [len(each) for each in states] == list(sizes)
        and len(names) == len(set(names)) == len(sizes)
        and all(len(set(each)) == len(each) for each in states)
    )


def _counts_up(labels: Sequence[Hashable]) -> bool:
    """Tell whether labels are the integers 0, 1, ... in order."""
    return all(type(label) is int and label == index for index, label in enumerate(labels))
