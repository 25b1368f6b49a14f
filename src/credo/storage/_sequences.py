"""Sequences of labels: numbers as they are, texts as bytes and ends, anything else as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from credo._checks import plain
from credo.storage._faults import Fault
from credo.storage._json import Json, parsed, written
from credo.storage._page import Page, Scope
from credo.storage._scalars import MOST_WHOLE, scalar_from, scalar_to

#: Ends of texts that are Python numbers at one time.
_AT_A_TIME = 4096
#: Code points end here.
_MOST_CODE = 0x10FFFF
#: Kinds of items that have a tensor of their own type.
_NUMBERS: dict[type, str] = {bool: "<?", int: "<i8", float: "<f8"}


#: Refuses a number of items.
Check: TypeAlias = Callable[[int], None]


def _anything(count: int) -> None:
    """Take any number of items."""


def write_sequence(items: Sequence[Any], path: str, page: Page) -> Json:
    """Write plain items, in order."""
    kinds = {type(item) for item in items}
    if kinds == {str}:
        return {"texts": _write_texts(items, path, page)}
    if len(kinds) == 1 and (kind := kinds.pop()) in _NUMBERS and _fit(items, kind):
        return {"numbers": page.array(path, np.array(items, dtype=_NUMBERS[kind]))}
    texts = [written(scalar_to(item, path, page)) for item in items]
    return {"json": _write_texts(texts, path, page)}


def _fit(items: Sequence[Any], kind: type) -> bool:
    """Tell whether whole numbers fit into 64 bits."""
    return kind is not int or (min(items) >= -MOST_WHOLE and max(items) < MOST_WHOLE)


def _write_texts(items: Sequence[str], path: str, page: Page) -> list[Json]:
    """Write texts as bytes, one after the other, and where each ends."""
    parts = [item.encode("utf-8", "surrogatepass") for item in items]
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    joined = np.frombuffer(b"".join(parts), dtype=np.uint8)
    return [page.array(path, joined), page.array(f"{path}.ends", ends)]


def read_sequence(node: Json, path: str, scope: Scope, check: Check = _anything) -> list[Any]:
    """Read items back into a list; their number is checked before they are made."""
    if not isinstance(node, dict) or len(node) != 1:
        raise Fault(f"{path} is no sequence")
    ((kind, value),) = node.items()
    if kind == "numbers":
        array = scope.array(value, path)
        if array.ndim != 1 or array.dtype.str.replace("|", "<") not in ("<b1", "<i8", "<f8"):
            raise Fault(f"{path} is no sequence of numbers")
        check(len(array))
        scope.spend(len(array), path)
        return array.tolist()
    if kind not in ("texts", "json"):
        raise Fault(f"{path} is a sequence of an unknown kind")
    texts = _read_texts(value, path, scope, check)
    if kind == "texts":
        return texts
    return [scalar_from(parsed(text, path), path) for text in texts]


def _read_texts(node: Json, path: str, scope: Scope, check: Check) -> list[str]:
    """Cut bytes at their ends."""
    if not isinstance(node, list) or len(node) != 2:
        raise Fault(f"{path} is no sequence of texts")
    joined, ends = (scope.array(reference, path) for reference in node)
    if joined.dtype != np.uint8 or ends.dtype != np.int64 or joined.ndim != 1 or ends.ndim != 1:
        raise Fault(f"{path} is no sequence of texts")
    check(len(ends))
    scope.spend(len(ends), path)
    if (np.diff(ends, prepend=0) < 0).any() or joined.size != (ends[-1] if ends.size else 0):
        raise Fault(f"the ends of the texts of {path} do not fit")
    whole = joined.tobytes()
    if whole.isascii():
        text = whole.decode("ascii")
        return [text[a:b] for a, b in _bounds(ends)]
    try:
        return [whole[a:b].decode("utf-8", "surrogatepass") for a, b in _bounds(ends)]
    except UnicodeDecodeError:
        raise Fault(f"{path} holds a text that is not UTF-8") from None


def _bounds(ends: Any) -> Iterator[tuple[int, int]]:
    """Return where each text starts and ends, a few at a time: whole numbers take 32 bytes each."""
    start = 0
    for first in range(0, len(ends), _AT_A_TIME):
        for end in ends[first : first + _AT_A_TIME].tolist():
            yield start, end
            start = end


def write_labels(labels: Any, path: str, page: Page) -> Json:
    """Write labels in an array, a tuple, a list or a range, so that the same comes back."""
    if isinstance(labels, range):
        return {"range": [labels.start, labels.stop, labels.step]}
    if isinstance(labels, np.ndarray):
        return _write_array(labels, path, page)
    form = "list" if isinstance(labels, list) else "tuple"
    return {form: write_sequence([plain(label) for label in labels], path, page)}


def _write_array(labels: Any, path: str, page: Page) -> Json:
    """Write an array of labels; text of fixed width as code points."""
    if labels.dtype.kind in "biuf":
        return {"array": page.array(path, labels)}
    if labels.dtype.kind == "U" and labels.ndim == 1:
        width = labels.dtype.itemsize // 4
        native = np.ascontiguousarray(labels, labels.dtype.newbyteorder("="))
        return {"wide": page.array(path, native.view(np.uint32).reshape(len(labels), width))}
    if labels.dtype.kind in "OT" and labels.ndim == 1:
        form = "objects" if labels.dtype.kind == "O" else "strings"
        return {form: write_sequence([plain(label) for label in labels], path, page)}
    raise page.refuse(path, labels, f"Labels of type {labels.dtype} are not stored; use text.")


def read_labels(node: Json, path: str, scope: Scope, check: Check = _anything) -> Any:
    """Read labels back, in the form in which they were given."""
    if not isinstance(node, dict) or len(node) != 1:
        raise Fault(f"{path} holds no labels")
    ((form, value),) = node.items()
    if form == "range":
        return _read_range(value, path)
    if form == "array":
        return scope.array(value, path)
    if form == "wide":
        return _read_wide(scope.array(value, path), path)
    items = read_sequence(value, path, scope, check)
    if form == "objects":
        result = np.empty(len(items), dtype=object)
        result[:] = items
        return result
    if form == "strings" and all(isinstance(item, str) for item in items):
        return np.array(items, dtype=np.dtypes.StringDType())
    if form not in ("tuple", "list"):
        raise Fault(f"{path} holds labels in an unknown form")
    return items if form == "list" else tuple(items)


def _read_range(value: Json, path: str) -> range:
    """Read a range, which costs nothing however long it is."""
    whole = isinstance(value, list) and len(value) == 3 and all(type(v) is int for v in value)
    if not whole or not value[2] or max(map(abs, value)) >= MOST_WHOLE:
        raise Fault(f"{path} is no range")
    return range(*value)


def _read_wide(codes: Any, path: str) -> Any:
    """Read text of fixed width from its code points."""
    if codes.dtype != np.uint32 or codes.ndim != 2 or not codes.shape[1]:
        raise Fault(f"{path} is no array of texts")
    if codes.max(initial=0) > _MOST_CODE:
        raise Fault(f"{path} holds what is no character")
    if not codes.size:
        return np.empty(len(codes), dtype=f"U{codes.shape[1]}")
    return codes.view(f"<U{codes.shape[1]}").reshape(len(codes))
