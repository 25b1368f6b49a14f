"""Parameters: whatever a user may pass as one, but no code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from credo.storage._faults import Fault
from credo.storage._json import Json
from credo.storage._kinds import Kind
from credo.storage._page import Page, Scope
from credo.storage._scalars import scalar_from, scalar_to
from credo.storage._sequences import read_labels, read_sequence, write_labels, write_sequence

#: Longer lists are written as arrays, so that the header stays short.
_SHORT = 8
#: Lists within lists, at most.
_MOST_DEEP = 16
_FORMS: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


@final
class Value(Kind):
    """A parameter: None, numbers, texts, arrays, and lists, sets and mappings of them."""

    def write(self, value: Any, path: str, page: Page, depth: int = 0) -> Json:
        """Write a value and all that it holds."""
        if callable(value):
            raise page.refuse(path, value, "A model file holds no code. Pass a value by name.")
        if depth > _MOST_DEEP:
            raise page.refuse(path, value, f"It is nested more than {_MOST_DEEP} deep.")
        if isinstance(value, np.ndarray):
            return {"array": write_labels(value, path, page)}
        if isinstance(value, Mapping):
            keys = self.write(list(value), f"{path}.keys", page, depth + 1)
            return {"dict": [keys, self.write(list(value.values()), path, page, depth + 1)]}
        for form, kind in _FORMS.items():
            if type(value) is kind:
                is_set = isinstance(value, set | frozenset)
                items = sorted(value, key=repr) if is_set else list(value)
                return {form: self._write_items(items, path, page, depth)}
        return scalar_to(value, path, page)

    def _write_items(self, items: list[Any], path: str, page: Page, depth: int) -> Json:
        """Write a short list as it is, a long one of single values as arrays."""
        nested = (list, tuple, set, frozenset, Mapping, np.ndarray)
        if len(items) > _SHORT and not any(isinstance(item, nested) for item in items):
            return write_sequence(items, path, page)
        return [self.write(item, f"{path}.{i}", page, depth + 1) for i, item in enumerate(items)]

    def read(self, node: Json, path: str, scope: Scope, depth: int = 0) -> Any:
        """Read a value and all that it holds."""
        if not isinstance(node, dict):
            return scalar_from(node, path)
        if len(node) != 1 or depth > _MOST_DEEP:
            raise Fault(f"{path} holds a value of an unknown kind")
        ((form, value),) = node.items()
        if form == "array":
            return read_labels(value, path, scope)
        if form == "dict":
            return self._read_dict(value, path, scope, depth)
        if form not in _FORMS:
            return scalar_from(node, path)
        items = self._read_items(value, path, scope, depth)
        try:
            return _FORMS[form](items)
        except TypeError:
            raise Fault(f"{path} is a set of what cannot be in one") from None

    def _read_items(self, node: Json, path: str, scope: Scope, depth: int) -> list[Any]:
        """Read a list, short or long."""
        if not isinstance(node, list):
            return read_sequence(node, path, scope)
        return [self.read(each, f"{path}.{i}", scope, depth + 1) for i, each in enumerate(node)]

    def _read_dict(self, node: Json, path: str, scope: Scope, depth: int) -> dict[Any, Any]:
        """Read the keys and the values of a mapping."""
        if not isinstance(node, list) or len(node) != 2:
            raise Fault(f"{path} is no mapping")
        keys, values = (self.read(each, path, scope, depth + 1) for each in node)
        if not isinstance(keys, list) or not isinstance(values, list) or len(keys) != len(values):
            raise Fault(f"{path} is no mapping")
        try:
            return dict(zip(keys, values, strict=True))
        except TypeError:
            raise Fault(f"{path} is a mapping of what cannot be a key") from None
