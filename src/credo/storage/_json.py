"""JSON that is strict: no repeated keys, no NaN, no deep nests."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from credo.storage._faults import Fault

#: What JSON can hold.
Json: TypeAlias = Any


def parsed(text: str | bytes, what: str) -> Json:
    """Parse a text, or say that it is damaged; nests are as deep as Python's own calls at most."""
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        return json.loads(decoded, object_pairs_hook=_table, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Fault(f"it is damaged: {what} cannot be read ({str(error)[:200]})") from None


def written(tree: Json) -> str:
    """Write a tree as short as it can be; the same tree gives the same text."""
    return json.dumps(tree, allow_nan=False, separators=(",", ":"), ensure_ascii=True)


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a table; a key that comes twice could mean two things."""
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a key comes twice")
    return table


def _refuse(constant: str) -> None:
    """Refuse what is not JSON."""
    raise ValueError(f"{constant} is not JSON")
