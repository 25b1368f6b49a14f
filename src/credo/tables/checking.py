"""Tables that come later: whether they have the columns a model learned from, as it did."""

from __future__ import annotations

from typing import Any

from credo._validation.labels import listing, position
from credo.classifiers.streaming.planning import kind_of_type
from credo.classifiers.table_schema import ColumnSpec, TableSchema
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
    columns: tuple[str, ...] = (),
    engine: Any = None,
) -> Source:
    """Open a table, in which the features of a model and these columns must be."""
    types = {spec.name: _type_of(spec) for spec in schema.features}
    opening = open_source if engine is None else engine.open
    opened: Source = opening(source, types=types, missing=schema.missing or None)
    known = tuple(opened.schema.names)
    absent = [name for name in schema.names if name not in known]
    if len(absent) > 1:
        raise InputError(
            f"{owner}: {opened.name} lacks the columns {listing(absent)} that the model learned "
            f"from. It has {listing(known)}."
        )
    for name in (*schema.names, *columns):
        position(name, known, f"{owner}: {opened.name}", "column")
    for spec in schema.features:
        _check_kind(spec, opened, owner)
    return opened


def _type_of(spec: ColumnSpec) -> Any:
    """Give the type that a column of a text file is read as."""
    if spec.kind == "number":
        return pa.float64()
    if spec.kind == "boolean":
        return pa.bool_()
    return pa.string()


def _check_kind(spec: ColumnSpec, opened: Source, owner: str) -> None:
    """Refuse a column that is something else than it was when the model was fitted."""
    found = opened.schema.field(spec.name).type
    kind = kind_of_type(found)
    if kind == "category" and spec.kind == "text":
        kind = "text"
    if kind == spec.kind:
        return
    remedy = {
        "number": "Convert it to numbers",
        "boolean": "Convert it to true and false",
        "category": "Convert it to text, as the model learned it",
        "text": "Convert it to text",
    }[spec.kind]
    raise InputError(
        f"{owner}: column {spec.name!r} of {opened.name} is {found}, and the model learned it as "
        f"a {spec.kind}. {remedy}."
    )
