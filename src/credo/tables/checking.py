"""Tables that come later: whether they have the columns a model learned from, as it did."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from credo._validation.labels import listing, position
from credo.classifiers.streaming.planning import kind_of_type
from credo.classifiers.table_schema import ColumnKind, ColumnSpec, LabelKind, TableSchema
from credo.exceptions import InputError
from credo.tables.source import Source, open_source


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


def open_checked(  # noqa: PLR0913 - a table, and what is asked of it
    source: Any,
    schema: TableSchema,
    owner: str,
    *,
    labels: bool = False,
    keep: tuple[str, ...] = (),
    also: tuple[str, ...] = (),
    engine: Any = None,
) -> Source:
    """Open a table, in which the features of a model must be as they were.

    With ``labels`` the target and the weight must be, too. Other columns must be there: those to
    keep come from a text file as they are written, others as what they look like.
    """
    specs = (*schema.features, *_label_specs(schema)) if labels else schema.features
    types = {name: pa.string() for name in keep if name not in schema.names}
    types |= {spec.name: _TYPES[spec.kind]() for spec in specs if spec.kind in _TYPES}
    opening = open_source if engine is None else engine.open
    opened: Source = opening(source, types=types, missing=schema.missing or None)
    known = tuple(opened.schema.names)
    absent = [name for name in schema.names if name not in known]
    if len(absent) > 1:
        raise InputError(
            f"{owner}: {opened.name} lacks the columns {listing(absent)} that the model learned "
            f"from. It has {listing(known)}."
        )
    for name in (*(spec.name for spec in specs), *keep, *also):
        position(name, known, f"{owner}: {opened.name}", "column")
    for spec in specs:
        _check_kind(spec, opened, owner)
    check_weights(opened, schema.weight if labels else None, owner)
    return opened


def _label_specs(schema: TableSchema) -> tuple[ColumnSpec, ...]:
    """Say what the labels are; numbers are names, of as many digits as they may have."""
    kinds: dict[LabelKind, ColumnKind] = {"text": "category", "number": "code"}
    return (ColumnSpec(schema.target, kinds.get(schema.label_kind, "boolean")),)


def check_weights(opened: Source, weight: str | None, owner: str) -> None:
    """Refuse a column of weights that holds something else."""
    if weight is None:
        return
    known = tuple(opened.schema.names)
    kind = opened.schema.field(known[position(weight, known, owner, "column")]).type
    if kind_of_type(kind) not in {"number", "boolean"}:
        raise InputError(
            f"{owner}: the weights in column {weight!r} of {opened.name} must be numbers. Got "
            f"{kind}."
        )


#: Types that columns of a text file are read as; codes are read by what they look like, since a
#: float has not all digits of a long one.
_TYPES: dict[ColumnKind, Any] = {
    "number": pa.float64,
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
