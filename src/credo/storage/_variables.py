"""How the variables of networks are stored: names, and states that many of them share."""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from credo import _checks as check
from credo.graphs.grid_coordinates import Coordinates
from credo.graphs.variables import Same, as_states
from credo.storage._faults import Fault
from credo.storage._json import Json
from credo.storage._kinds import Kind, Labels, Numbers, check_fields
from credo.storage._page import Page, Scope


@final
class Names(Kind):
    """Names of V variables: a tuple, a range, or the pixels of a picture."""

    _listed = Labels("V", tuple, range)

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write names, or the shape of the picture."""
        if isinstance(value, Coordinates) and len(value) == math.prod(value.shape):
            return {"pixels": list(value.shape)}
        return self._listed.write(value if isinstance(value, range) else tuple(value), path, page)

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Read names, which must differ."""
        if isinstance(node, dict) and set(node) == {"pixels"}:
            return _pixels(node["pixels"], path, scope)
        names = self._listed.read(node, path, scope)
        return (
            names
            if isinstance(names, range) or not names
            else check.labels(names, f"names of {path}")
        )


def _pixels(shape: Json, path: str, scope: Scope) -> Coordinates:
    """Name the pixels of a picture."""
    sizes = shape if isinstance(shape, list) else []
    if len(sizes) not in (2, 3) or not all(type(n) is int and n > 0 for n in sizes):
        raise Fault(f"{path} is no shape of a picture")
    scope.bind("V", (math.prod(sizes),), path)
    return Coordinates(tuple(sizes))


@final
class States(Kind):
    """States of V variables: lists of which each is written once."""

    _listed, _which = Labels("N", tuple), Numbers("V", "<i8", least=0)

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write each list of states once; 1, 1.0 and True are not the same state."""
        if isinstance(value, Same):
            return {"same": self._listed.write(tuple(value.item), path, page)}
        numbers: dict[tuple[Any, ...], int] = {}
        which = [numbers.setdefault((s, tuple(map(type, s))), len(numbers)) for s in value]
        distinct = [tuple(states) for states, _ in numbers]
        return {
            "lists": self._listed.write_all(distinct, path, page) if distinct else None,
            "which": self._which.write(np.array(which, dtype=np.int64), f"{path}.which", page),
        }

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Read one list of states per variable."""
        inner = scope.inner(own_sizes=True)
        if isinstance(node, dict) and set(node) == {"same"}:
            states = self._listed.read(node["same"], path, inner)
            return Same(as_states(states, path), scope.sizes["V"])
        check_fields(node, {"lists", "which"}, {"lists", "which"}, path)
        which = self._which.read(node["which"], path, scope)
        count = int(which.max(initial=-1)) + 1
        if count > len(which):  # each list is that of some variable
            raise Fault(f"{path} refers to states that are not there")
        own = [scope.inner(own_sizes=True) for _ in range(count)]
        found = self._listed.read_all(node["lists"], path, own) if count else []
        distinct = [as_states(states, path) for states in found]
        return tuple(distinct[number] for number in which.tolist())
