"""From the columns of a table to the ``TableSchema`` of a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sklearn.base import clone, is_regressor

from credo import _checks as check
from credo.classifiers._base import LearnsFromSummary
from credo.classifiers.decision import DecisionClassifier
from credo.classifiers.logistic import LogisticClassifier
from credo.classifiers.table_schema import ColumnKind, ColumnSpec, LabelKind, TableSchema
from credo.exceptions import InputError

#: The columns that a model takes, by its kind; "coded" turns categories into zeros and ones.
_TAKEN: dict[str, tuple[ColumnKind, ...]] = {
    "numbers": ("number", "boolean"),
    "columns": ("number", "boolean", "category", "code"),
    "coded": ("number", "boolean", "category", "code"),
    "documents": ("text",),
}


def learner_of(model: Any, owner: str) -> Any:
    """Return the model that learns: itself, or a copy of what a DecisionClassifier holds."""
    inner = clone(model.estimator) if isinstance(model, DecisionClassifier) else model
    if isinstance(inner, type) or getattr(inner, "kind", None) not in _TAKEN:
        known = ", ".join((*LearnsFromSummary.known, LogisticClassifier.__name__))
        got = f"the class {inner.__name__}" if isinstance(inner, type) else type(inner).__name__
        raise InputError(
            f"{owner} needs one of {known}, or a "
            f"DecisionClassifier of one. Got {got}. Read the table into a frame "
            "and call its fit."
        )
    return inner


def fitted_learner(model: Any) -> Any:
    """Return the fitted model itself, or the one that a fitted DecisionClassifier holds."""
    return model.estimator_ if isinstance(model, DecisionClassifier) else model


def adopt(model: Any, learner: Any, schema: TableSchema) -> Any:
    """Keep the schema of a model that has learned; a DecisionClassifier takes it over."""
    learner.schema_ = schema
    return model if learner is model else model._adopt(learner)  # noqa: SLF001 - of this room


def schema_of(  # noqa: PLR0913 - a model, a table, and what its columns are for
    model: Any,
    columns: Any,
    target: str,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    *,
    owner: str = "fit_table",
    fault: Callable[[str], str | None] = lambda _: None,
) -> TableSchema:
    """Say what each column of an Arrow schema is to a model.

    ``fault`` tells why a column cannot be read, if so.
    """
    names = tuple(columns.names)
    taken = [target] if weight is None else [target, weight]
    for name in taken:
        check.position(name, names, "column", owner)
    if weight == target:
        raise InputError(f"{owner}: column {target!r} cannot be both the target and the weight.")
    if features is None:
        features = [name for name in names if name not in taken]
    if isinstance(features, str):
        raise InputError(f"{owner} needs features as a list of columns. Got {features!r}.")
    chosen = tuple(features)
    _check_features(chosen, names, taken, owner)
    if weight is not None and kind_of_type(columns.field(weight).type) not in {"number", "boolean"}:
        raise InputError(
            f"{owner}: the weights in column {weight!r} must be numbers. Got "
            f"{columns.field(weight).type}."
        )
    for name in (*taken, *chosen):
        if found := fault(name):
            raise InputError(f"{owner}: column {name!r} cannot be read: {found}")
    specs = tuple(_spec(model, columns.field(name), owner) for name in chosen)
    return TableSchema(target, _label_kind(model, columns.field(target), owner), specs, weight)


def _check_features(chosen: tuple[str, ...], names: Any, taken: list[str], owner: str) -> None:
    """Refuse columns that are not there, repeat, or have another part to play."""
    for place, name in enumerate(chosen):
        check.position(name, names, "column", owner)
        if name in taken:
            raise InputError(f"{owner}: column {name!r} is the target or the weight, no feature.")
        if name in chosen[:place]:
            raise InputError(f"{owner}: the features name column {name!r} twice.")
    if not chosen:
        raise InputError(
            f"{owner}: the table has no column of features. Got {check.listing(names)}."
        )


def kind_of_type(kind: Any) -> ColumnKind | None:
    """Say what an Arrow type is to a model; None if it is nothing that one learns from."""
    from pyarrow import types  # noqa: PLC0415 - loaded with the first batch

    if types.is_dictionary(kind):
        inner = kind_of_type(kind.value_type)
        return "code" if inner == "number" else inner
    if types.is_boolean(kind):
        return "boolean"
    if types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view":
        return "category"
    return None


def _spec(model: Any, field: Any, owner: str) -> ColumnSpec:
    """Say what a column is to a model, or why it is nothing to it."""
    kind, known = kind_of_type(field.type), _TAKEN[model.kind]
    if kind == "category" and "text" in known:
        kind = "text"
    if kind in known:
        return ColumnSpec(field.name, kind)
    name = type(model).__name__
    if kind is None:
        raise InputError(_unusable(field, owner))
    if "text" in known:
        raise InputError(
            f"{owner}: {name} reads text, and column {field.name!r} is {field.type}. Name the "
            "column of text with features=[…]."
        )
    raise InputError(
        f"{owner}: {name} takes numbers, and column {field.name!r} holds categories. Use "
        "NaiveBayes or LogisticClassifier, or leave it out with features=[…]."
    )


def _unusable(field: Any, owner: str) -> str:
    """Word the refusal of a column that is neither numbers nor categories."""
    kind = str(field.type)
    if kind.startswith(("date", "time", "duration")):
        return (
            f"{owner}: column {field.name!r} is a date or a time ({kind}), which no model takes as "
            "it is. Turn it into a number, such as days since an event, or leave it out with "
            "features=[…]."
        )
    if kind == "null":
        return f"{owner}: column {field.name!r} has no values. Leave it out with features=[…]."
    return (
        f"{owner}: column {field.name!r} is of type {kind}. Models learn from numbers, "
        "booleans and text. Leave it out with features=[…]."
    )


def _label_kind(model: Any, field: Any, owner: str) -> LabelKind:
    """Say what the labels are."""
    kind = kind_of_type(field.type)
    if kind is None:
        raise InputError(_unusable(field, owner))
    if is_regressor(model) and kind not in {"number", "boolean"}:
        raise InputError(
            f"{owner}: the target {field.name!r} of a {type(model).__name__} must be numbers. Got "
            f"{field.type}."
        )
    kinds: dict[str, LabelKind] = {"category": "text", "code": "number", "boolean": "boolean"}
    return kinds.get(kind, "number")


def schema_for_one_hot(
    schema: TableSchema, categories: dict[str, tuple[Any, ...]], owner: str
) -> TableSchema:
    """Return the schema with the categories that were found in columns of text."""
    features = tuple(
        replace(each, categories=categories.get(each.name, ())) for each in schema.features
    )
    coded = replace(schema, features=features)
    inputs = coded.inputs
    if not inputs:
        raise InputError(f"{owner}: every column has one category only, so none tells anything.")
    twice = [name for place, name in enumerate(inputs) if name in inputs[:place]]
    if twice:
        raise InputError(
            f"{owner}: the category {twice[0]!r} has the name of another column. Rename one."
        )
    return coded
