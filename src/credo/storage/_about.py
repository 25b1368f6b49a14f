"""What a model file says of itself to people: never used to rebuild the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.storage._json import Json

#: Names shown of a longer list.
_SHOWN = 50
#: Characters shown of a name.
_WIDTH = 80


def about(model: Any) -> dict[str, Json]:
    """Describe a model: labels, features, rows; whatever of it there is."""
    classes = getattr(model, "classes_", getattr(model, "classes", None))
    found = {
        "labels": _listed(classes),
        "label_type": None if classes is None else str(np.asarray(classes).dtype),
        "features": _listed(getattr(model, "feature_names_in_", None)),
        "n_features": getattr(model, "n_features_in_", None),
        "rows": _rows(getattr(model, "estimator_", model)),
        "schema": _schema(getattr(model, "schema_", None)),
        "variables": len(model) if hasattr(model, "compile") else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def shown(node: Json) -> Any:
    """Show a parameter as it is written in a tree; what is in arrays is left out."""
    if isinstance(node, list):
        return [shown(each) for each in node[:_SHOWN]]
    if not isinstance(node, dict):
        return node[:_WIDTH] if isinstance(node, str) else node
    form, value = next(iter(node.items()), ("", None))
    if form in ("class", "float"):
        return str(value)[:_WIDTH]
    if form in ("list", "tuple", "set", "frozenset") and isinstance(value, list):
        return shown(value)
    return _pairs(value) if form == "dict" else "…"


def _pairs(node: Json) -> Any:
    """Show a mapping as pairs."""
    parts = [shown(each) for each in node] if isinstance(node, list) else []
    if len(parts) != 2 or not all(isinstance(part, list) for part in parts):
        return "…"
    return [list(pair) for pair in zip(*parts, strict=False)]


def _listed(names: Any) -> Json:
    """List names as text, cut after some."""
    if names is None:
        return None
    shown = [str(name)[:_WIDTH] for name in names[:_SHOWN]]
    return shown if len(names) <= _SHOWN else [*shown, f"… ({len(names)} in all)"]


def _rows(model: Any) -> float | None:
    """Return the total weight of the rows that a model or a summary was made from."""
    for holder in (getattr(model, "summary_", None), getattr(model, "_fitted", None), model):
        weights = getattr(holder, "weights", getattr(holder, "documents", None))
        if isinstance(weights, np.ndarray) and np.isfinite(weights.sum()):
            return float(weights.sum())
    return None


def _schema(schema: Any) -> Json:
    """Describe the table that a model was fitted to."""
    if schema is None:
        return None
    columns = [[each.name[:_WIDTH], each.kind] for each in schema.features[:_SHOWN]]
    return {"target": schema.target[:_WIDTH], "columns": columns, "weight": schema.weight}
