"""Tables that come later: whether they have the columns a model learned from, as it did."""

from __future__ import annotations

from typing import Any

from credo._validation.labels import listing, position
from credo.classifiers.streaming.planning import kind_of_type
from credo.classifiers.table_schema import ColumnKind, ColumnSpec, TableSchema
from credo.exceptions import InputError
from credo.tables.sources import Source, open_source
from credo.tables.sources.arrow import pa


def schema_of_model(model: Any, owner: str) -> TableSchema:
    """Give the schema of a model that was fitted to a table."""
    schema = getattr(model, "schema_", None)
    if not isinstance(schema, TableSchema) or not _is_current(model, schema):
        raise InputError(
            f"{owner} needs a model that was fitted to a table, which knows its columns. Got a "
            f"{type(model).__name__} without. Fit it with credo.fit_table, or call its own methods."
        )
    return schema


def _is_current(model: Any, schema: TableSchema) -> bool:
    """Tell whether a model has not been fitted to something else since."""
    names = getattr(model, "feature_names_in_", None)
    is_text = all(spec.kind == "text" for spec in schema.features)
    return is_text or (names is not None and tuple(names.tolist()) == schema.inputs)


def open_checked(
    source: Any,
    schema: TableSchema,
    owner: str,
    *,
    labels: bool = False,
    keep: tuple[str, ...] = (),
    engine: Any = None,
) -> Source:
    """Open a table, in which the features of a model must be as they were.

    With ``labels`` the target and the weight must be, too; columns to keep must be there.
    """
    specs = (*schema.features, *_label_specs(schema)) if labels else schema.features
    types = {spec.name: _TYPES[spec.kind]() for spec in specs}
    opening = open_source if engine is None else engine.open
    opened: Source = opening(source, types=types, missing=schema.missing or None)
    known = tuple(opened.schema.names)
    absent = [name for name in schema.names if name not in known]
    if len(absent) > 1:
        raise InputError(
            f"{owner}: {opened.name} lacks the columns {listing(absent)} that the model learned "
            f"from. It has {listing(known)}."
        )
    for name in (*(spec.name for spec in specs), *keep):
        position(name, known, f"{owner}: {opened.name}", "column")
    for spec in specs:
        _check_kind(spec, opened, owner)
    return opened


def _label_specs(schema: TableSchema) -> tuple[ColumnSpec, ...]:
    """Say what the target and the weight are."""
    kind: ColumnKind = "category" if schema.label_kind == "text" else schema.label_kind
    target = ColumnSpec(schema.target, kind)
    return (target,) if schema.weight is None else (target, ColumnSpec(schema.weight, "number"))


def check_weights(opened: Source, weight: str | None, owner: str) -> None:
    """Refuse a column of weights that holds something else."""
    if weight is not None:
        _check_kind(ColumnSpec(weight, "number"), opened, owner)


#: Types that columns of a text file are read as.
_TYPES: dict[ColumnKind, Any] = {
    "number": pa.float64,
    "code": pa.float64,
    "boolean": pa.bool_,
    "category": pa.string,
    "text": pa.string,
}
#: Kinds that serve as another: names that are numbers may come as such, and text is text.
_SERVES: dict[ColumnKind, tuple[ColumnKind, ...]] = {
    "number": ("number", "code"),
    "code": ("code", "number"),
    "boolean": ("boolean",),
    "category": ("category",),
    "text": ("category",),
}
_REMEDIES: dict[ColumnKind, str] = {
    "number": "Convert it to numbers",
    "code": "Convert it to numbers, which the model takes as names",
    "boolean": "Convert it to true and false",
    "category": "Convert it to text",
    "text": "Convert it to text",
}


def _check_kind(spec: ColumnSpec, opened: Source, owner: str) -> None:
    """Refuse a column that is something else than it was when the model was fitted."""
    found = opened.schema.field(spec.name).type
    if kind_of_type(found) in _SERVES[spec.kind]:
        return
    raise InputError(
        f"{owner}: column {spec.name!r} of {opened.name} is {found}, and a {spec.kind} to the "
        f"model. {_REMEDIES[spec.kind]}."
    )
