"""Single values: numbers, texts, and tuples of them, as JSON that gives the same value back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from credo._checks import plain
from credo.storage._faults import Fault
from credo.storage._json import Json

if TYPE_CHECKING:
    from credo.storage._page import Page

#: Whole numbers below this fit into 64 bits.
MOST_WHOLE = 2**63
#: Digits of the largest whole number: 512 bits. Python reads no more than 4300 digits.
_MOST_BITS = 512
#: Tuples within tuples, at most.
_MOST_DEEP = 8
_ODD = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def scalar_to(value: Any, path: str, page: Page, depth: int = 0) -> Json:
    """Write a single value."""
    item = plain(value)
    if item is None or type(item) in (bool, str):
        return item
    if type(item) is int and item.bit_length() <= _MOST_BITS:
        return item
    if type(item) is float:
        return item if math.isfinite(item) else {"float": str(item)}
    if type(item) is tuple and depth < _MOST_DEEP:
        return {"tuple": [scalar_to(each, path, page, depth + 1) for each in item]}
    raise page.refuse(path, value, "Model files hold text, numbers, booleans and tuples.")


def scalar_from(node: Json, path: str, depth: int = 0) -> Any:
    """Read a single value back."""
    if node is None or isinstance(node, (bool, str)):
        return node
    if isinstance(node, int) and node.bit_length() <= _MOST_BITS:
        return node
    if isinstance(node, float) and math.isfinite(node):  # 1e999 is not
        return node
    if isinstance(node, dict) and len(node) == 1 and depth < _MOST_DEEP:
        ((kind, value),) = node.items()
        if kind == "float" and isinstance(value, str) and value in _ODD:
            return _ODD[value]
        if kind == "tuple" and isinstance(value, list):
            return tuple(scalar_from(each, path, depth + 1) for each in value)
    raise Fault(f"{path} holds a value of an unknown kind")
