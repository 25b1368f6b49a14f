"""Labels in JSON: names and states that a format itself cannot write down."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from credo.exceptions import InputError

#: The key under which a file keeps labels that its format cannot write: a property, an attribute.
NOTE = "credo_labels"


def in_quotes(text: str) -> str:
    """Write text between quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def packed(label: Hashable) -> Any:
    """Give a label as JSON knows it: text, a number, a truth value, None, or a list for a tuple."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, tuple):
        return [packed(part) for part in label]
    if label is None or isinstance(label, str | int) or _is_finite(label):
        return label
    raise InputError(
        f"The label {label!r} cannot be written to a file: it is neither text nor a number. "
        "Rename it."
    )


def unpacked(value: Any) -> Hashable:
    """Turn a value of JSON into a label again; raise ValueError if it cannot be one."""
    if isinstance(value, list):
        return tuple(unpacked(part) for part in value)
    if value is None or isinstance(value, str | int) or _is_finite(value):
        return value  # what JSON gave, seen to be a label
    raise ValueError(f"{value!r} is no label")


def loads(text: str | bytes) -> Any:
    """Read JSON; all that can be wrong with it is a ValueError."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def noted(name: Hashable, states: Sequence[Hashable], written: tuple[str, list[str]]) -> str:
    """Give the note on a variable that could not be written as it is called, or nothing."""
    note: dict[str, Any] = {}
    if not _same(name, written[0]):
        note["name"] = packed(name)
    if not all(map(_same, states, written[1])):
        note["states"] = [packed(state) for state in states]
    return json.dumps(note) if note else ""


def apply_note(note: str, name: Hashable, states: tuple[Hashable, ...]) -> tuple[Any, Any]:
    """Give name and states as the note says; raise ValueError if it does not fit."""
    try:
        value = loads(note)
        name = unpacked(value.get("name", name))
        found = unpacked(value.get("states", list(states)))
    except (AttributeError, RecursionError):
        raise ValueError("it is no JSON object of labels") from None
    if not isinstance(found, tuple) or len(found) != len(states):
        raise ValueError(f"it does not name {len(states)} states")
    return name, found


def distinct(labels: Iterable[Hashable], text: Callable[[str], str]) -> list[str]:
    """Write labels as the format can; equal ones are told apart by a number."""
    given = [text(str(label)) for label in labels]
    taken = set(given)
    counts: dict[str, int] = {}
    for index, word in enumerate(given):
        counts[word] = counts.get(word, 0) + 1
        if counts[word] > 1:
            while (new := f"{word}_{counts[word]}") in taken:
                counts[word] += 1
            taken.add(new)
            given[index] = new
    return given


def identifier(text: str) -> str:
    """Make a word of ASCII letters, digits and underscores that begins with no digit."""
    word = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return word if word[:1].isalpha() or word.startswith("_") else f"x{word}"


def printable(text: str) -> str:
    """Make text that has no line ends or control characters, and no blanks around it."""
    clean = "".join(letter if letter.isprintable() else "_" for letter in text).strip()
    return clean or "_"


def _same(label: Hashable, written: str) -> bool:
    """Tell whether a label is read back as it is without a note."""
    return type(label) is str and label == written


def _is_finite(value: object) -> bool:
    """Tell whether it is a number with a JSON form."""
    return isinstance(value, float) and bool(np.isfinite(value))
