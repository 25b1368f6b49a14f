"""How fields on grids are stored."""

from __future__ import annotations

from typing import Any, final

from credo.graphs import GridField, Ising, Potts, TruncatedLinear, TruncatedQuadratic
from credo.graphs.grid_field import as_plane
from credo.storage._json import Json
from credo.storage._kinds import Choice, Count, Kind, Labels, Numbers, Record, Single
from credo.storage._page import Page, Scope
from credo.storage._values import Value

_SMOOTHNESS: dict[str, Any] = {
    cls.__name__: cls for cls in (Ising, Potts, TruncatedLinear, TruncatedQuadratic)
}
#: Axes of the pixels: height and width, or depth too; and labels, if each has a plane.
_AXES = {"odds": ("H W", "Z H W"), "logs": ("H W L", "Z H W L")}


@final
class _Smoothness(Kind):
    """A kind of smoothness, its strength, and its limit if it has one."""

    _fields = Record(
        dict, {"kind": Choice(*_SMOOTHNESS), "strength": Value(), "limit": Single(float)}
    )

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write the fields."""
        limit = getattr(value, "limit", 0.0)
        found = _Fields(kind=type(value).__name__, strength=value.strength, limit=limit)
        return self._fields.write(found, path, page)

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Make the smoothness, which checks itself."""
        found = self._fields.read(node, path, scope)
        make = _SMOOTHNESS[found["kind"]]
        if make in (Ising, Potts):
            return make(found["strength"])
        return make(found["strength"], found["limit"])


@final
class _Fields:
    """Something with the fields that it was given."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def _field(form: str, pixels: Any, smoothness: Any, labels: Any, neighbours: int) -> GridField:
    """Make a field, which checks itself."""
    nodes = as_plane(pixels, "GridField") if form == "odds" else pixels
    return GridField(nodes, smoothness, labels=labels, neighbours=neighbours)


_FIELD = Record(
    _field,
    {
        "form": Choice(*_AXES),
        "pixels": Numbers(_AXES, "<f8|<f4", by="form", finite=False),
        "smoothness": _Smoothness(),
        "labels": Labels("L", tuple),
        "neighbours": Count(),
    },
)


@final
class _GridFieldKind(Kind):
    """A field as its pixels, its smoothness and its labels."""

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write the pixels as they are held."""
        found = _Fields(
            form="odds" if value._is_odds else "logs",  # noqa: SLF001 - both would be larger
            pixels=value._planes,  # noqa: SLF001
            smoothness=value.smoothness,
            labels=value.labels,
            neighbours=value.neighbours,
        )
        return _FIELD.write(found, path, page)

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Read the field."""
        return _FIELD.read(node, path, scope)


KINDS: dict[type, Kind] = {GridField: _GridFieldKind()}
