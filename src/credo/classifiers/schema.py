"""``TableSchema``: what columns of a table are to a model; and Arrow batches as it takes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import local
from typing import Annotated, Any, Literal, TypeAlias, final

import numpy as np
from sklearn.base import clone, is_regressor

from credo import _checks as check
from credo._types import F64, Int
from credo.classifiers._base import StoredModel
from credo.classifiers.decision import DecisionClassifier
from credo.columns import Table, read_table
from credo.exceptions import InputError
from credo.families.moments import Rows, RowsView

#: What a column is to a model: numbers, booleans, categories (of text; of numbers that are names),
#: or running text.
ColumnKind: TypeAlias = Literal["number", "boolean", "category", "code", "text"]
#: What the labels are.
LabelKind: TypeAlias = Literal["text", "number", "boolean"]

#: The columns that a model takes, by its kind.
_TAKEN: dict[str, tuple[ColumnKind, ...]] = {
    "numbers": ("number", "boolean"),
    "columns": ("number", "boolean", "category", "code"),
    "documents": ("text",),
}
_FIT = "fit_table"
#: More labels than this in one batch are not classes but names of rows.
_MOST_CLASSES = 2**15
_ROOM = local()
#: How messages of models name a row, counted from zero; not so in quotes.
_ROW = re.compile(r"(?<!['\"])\b([Rr]ow) (\d+)\b")


@final
@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """Say what one column of a table is to a model.

    Parameters
    ----------
    name : str
        The column.
    kind : {"number", "boolean", "category", "code", "text"}
        What its values are; a code is a category whose names are numbers.

    Examples
    --------
    >>> from credo.tables import ColumnSpec
    >>> ColumnSpec("housing", "category").is_category
    True
    """

    name: str
    kind: ColumnKind

    @property
    def is_category(self) -> bool:
        """Whether its values are names, of whatever kind."""
        return self.kind in ("category", "code")


@final
@dataclass(frozen=True, slots=True)
class TableSchema:
    """Say which columns of a table a model learned from, and as what; kept in ``schema_``.

    Parameters
    ----------
    target : str
        The column of labels.
    label_kind : {"text", "number", "boolean"}
        What the labels are.
    features : tuple of ColumnSpec
        The columns of features, in the order of the model.
    weight : str or None
        The column of weights, if there was one.
    missing : tuple of str
        Words that stand for a missing cell in text files, beside those that always do.

    See Also
    --------
    credo.fit_table : Makes one, and checks later tables against it.

    Examples
    --------
    >>> import credo
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [20, 30, 40, 50], "y": ["no", "no", "yes", "yes"]})
    >>> model = credo.fit_table(credo.NaiveBayes(), table, target="y")
    >>> model.schema_.features
    (ColumnSpec(name='age', kind='number'),)
    """

    target: str
    label_kind: LabelKind
    features: tuple[ColumnSpec, ...]
    weight: str | None = None
    missing: Annotated[tuple[str, ...], "M"] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of features."""
        return tuple(feature.name for feature in self.features)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns that a model learns from: features, target and weight."""
        return (*self.names, self.target, *(() if self.weight is None else (self.weight,)))

    def merge(self, other: TableSchema, owner: str) -> TableSchema:
        """Return the schema of a model of the rows of both tables; refuse other columns.

        Parameters
        ----------
        other : TableSchema
            Of the other table.
        owner : str
            Who asks, for messages.

        Returns
        -------
        TableSchema
            With the words for missing cells of both.

        Raises
        ------
        InputError
            If targets, features or the columns of weights differ.
        """
        targets = [(each.target, each.label_kind) for each in (self, other)]
        if targets[0] != targets[1]:
            told = [f"{name!r} ({kind})" for name, kind in targets]
            raise InputError(f"{owner} needs the same target in both. Got {told[0]} and {told[1]}.")
        mine, theirs = ({spec.name: spec.kind for spec in each.features} for each in (self, other))
        odd = [name for name in (*mine, *theirs) if name not in mine or name not in theirs]
        if odd:
            raise InputError(
                f"{owner} needs the same columns in both. Only one of them has "
                f"{check.listing(odd)}."
            )
        for name, kind in mine.items():
            if theirs[name] != kind:
                raise InputError(
                    f"{owner}: column {name!r} is a {kind} to one model and a {theirs[name]} to "
                    "the other. Fit both to columns of the same type."
                )
        if self.names != other.names:
            orders = [check.listing(each.names) for each in (self, other)]
            raise InputError(
                f"{owner} needs the columns in the same order in both: {orders[0]} and "
                f"{orders[1]}. Fit one again with its features in the other's order."
            )
        if self.weight != other.weight:
            told = [f"from {each.weight!r}" if each.weight else "none" for each in (self, other)]
            raise InputError(
                f"{owner} needs weights from the same column in both, so that later tables are "
                f"read alike. Got {told[0]} and {told[1]}. Fit both with that column, all ones in "
                "a table that has no weights."
            )
        return replace(self, missing=tuple(dict.fromkeys((*self.missing, *other.missing))))


# --- models ---------------------------------------------------------------------------------------


def learner_of(model: Any, owner: str) -> Any:
    """Return the model that learns: itself, or a copy of what a DecisionClassifier holds."""
    inner = clone(model.estimator) if isinstance(model, DecisionClassifier) else model
    if isinstance(inner, type) or getattr(inner, "kind", None) not in _TAKEN:
        known = ", ".join(StoredModel.known)
        got = f"the class {inner.__name__}" if isinstance(inner, type) else type(inner).__name__
        raise InputError(
            f"{owner} needs one of {known}, or a DecisionClassifier of one. Got {got}. Read the "
            "table into a frame and call its fit."
        )
    return inner


def fitted_learner(model: Any) -> Any:
    """Return the fitted model itself, or the one that a fitted DecisionClassifier holds."""
    return model.estimator_ if isinstance(model, DecisionClassifier) else model


def summariser_of(model: Any, schema: TableSchema, owner: str, head: Any = None) -> Any:
    """Return a copy of a model that summarises batches of a table; it travels to where they are.

    ``head`` are first rows, by which a model of columns settles what these are; None for an
    update, which keeps what is settled.
    """
    made = clone(model)
    made._check_parameters(())  # noqa: SLF001 - of this room, as all of these
    if model.kind != "documents":
        made.n_features_in_ = len(schema.names)
        made.feature_names_in_ = np.array(schema.names, dtype=object)
    if model.kind == "columns" and head is not None:
        made._settle(Batch(head, schema, owner).inputs(model.kind))  # noqa: SLF001
    elif model.kind == "columns":
        made._keep(model.summary_)  # noqa: SLF001
    return made


def adopt(model: Any, learner: Any, schema: TableSchema) -> Any:
    """Keep the schema of a model that has learned; a DecisionClassifier takes it over."""
    learner.schema_ = schema
    return model if learner is model else model._adopt(learner)  # noqa: SLF001 - of this room


# --- columns --------------------------------------------------------------------------------------


def schema_of(  # noqa: PLR0913 - a table is named by its columns, as in fit_table
    model: Any,
    source: Any,
    target: str,
    *,
    features: Sequence[str] | None,
    weight: str | None,
    drop: Sequence[str],
    missing: Sequence[str],
) -> TableSchema:
    """Say what each column of a source is to a model that is to be fitted."""
    columns, names = source.schema, tuple(source.schema.names)
    taken = (target,) if weight is None else (target, weight)
    for name in taken:
        check.position(name, names, "column", _FIT)
    if weight == target:
        raise InputError(f"{_FIT}: column {target!r} cannot be both the target and the weight.")
    chosen = _chosen(features, drop, names, taken)
    if weight is not None:
        check_weights(columns.field(weight), _FIT)
    for name in (*taken, *chosen):
        if found := source.fault_of(name):
            raise InputError(f"{_FIT}: column {name!r} cannot be read: {found}")
    specs = tuple(_spec(model, columns.field(name)) for name in chosen)
    label_kind = _label_kind(model, columns.field(target))
    return TableSchema(target, label_kind, specs, weight, tuple(missing))


def _chosen(
    features: Sequence[str] | None,
    drop: Sequence[str],
    names: tuple[str, ...],
    taken: tuple[str, ...],
) -> tuple[str, ...]:
    """Return the columns of features; refuse those not there, twice, or with another part."""
    _check_named(features or (), "features", names, taken)
    _check_named(drop, "drop", names, taken)
    free = [name for name in names if name not in (*taken, *drop)]
    chosen = tuple(free if features is None else features)
    for place, name in enumerate(chosen):
        if name in drop:
            raise InputError(f"{_FIT}: features=[…] and drop=[…] both name {name!r}.")
        if name in chosen[:place]:
            raise InputError(f"{_FIT}: the features name column {name!r} twice.")
    if not chosen:
        raise InputError(
            f"{_FIT}: the table has no column of features. Got {check.listing(names)}."
        )
    return chosen


def _check_named(
    given: Sequence[str], part: str, names: tuple[str, ...], taken: tuple[str, ...]
) -> None:
    """Refuse columns that are not there, or that are labels or weights."""
    if isinstance(given, str):
        raise InputError(f"{_FIT} needs {part} as a list of columns. Got {given!r}.")
    for name in given:
        check.position(name, names, "column", _FIT)
        if name in taken:
            raise InputError(
                f"{_FIT}: column {name!r} is the target or the weight. Leave it out of {part}."
            )


def check_weights(field: Any, owner: str) -> None:
    """Refuse a column of weights that holds something else than numbers."""
    if kind_of_type(field.type) not in {"number", "boolean"}:
        raise InputError(
            f"{owner}: the weights in column {field.name!r} must be numbers. Got {field.type}."
        )


def kind_of_type(kind: Any) -> ColumnKind | None:
    """Say what an Arrow type is to a model; None if it is nothing that one learns from."""
    from pyarrow import types  # noqa: PLC0415 - loaded with the first table

    if types.is_dictionary(kind):
        inner = kind_of_type(kind.value_type)
        return "code" if inner in ("number", "boolean") else inner
    if types.is_boolean(kind):
        return "boolean"
    if types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "category"
    return None


def _spec(model: Any, field: Any) -> ColumnSpec:
    """Say what a column is to a model, or why it is nothing to it."""
    kind, known = _kind(field), _TAKEN[model.kind]
    if kind == "category" and "text" in known:
        kind = "text"
    if kind in known:
        return ColumnSpec(field.name, kind)
    name = type(model).__name__
    if "text" in known:
        raise InputError(
            f"{_FIT}: {name} reads text, and column {field.name!r} is {field.type}. Name the "
            "column of text with features=[…]."
        )
    raise InputError(
        f"{_FIT}: {name} takes numbers, and column {field.name!r} holds categories. Use "
        "NaiveBayes or LogisticClassifier, or leave it out with drop=[…]."
    )


def _kind(field: Any) -> ColumnKind:
    """Say what a column is, or why no model learns from it."""
    kind, told = kind_of_type(field.type), str(field.type)
    if kind is not None:
        return kind
    if told.startswith(("date", "time", "duration")):
        raise InputError(
            f"{_FIT}: column {field.name!r} is a date or a time ({told}), which no model takes as "
            "it is. Turn it into a number, such as days since an event, or leave it out with "
            "drop=[…]."
        )
    what = f"is of type {told}. Models learn from numbers, booleans and text."
    what = "has no values." if told == "null" else what
    raise InputError(f"{_FIT}: column {field.name!r} {what} Leave it out with drop=[…].")


def _label_kind(model: Any, field: Any) -> LabelKind:
    """Say what the labels are."""
    kind = _kind(field)
    if is_regressor(model) and kind not in {"number", "boolean"}:
        raise InputError(
            f"{_FIT}: the target {field.name!r} of a {type(model).__name__} must be numbers. Got "
            f"{field.type}."
        )
    kinds: dict[Any, LabelKind] = {"category": "text", "boolean": "boolean"}
    return kinds.get(kind_of_type(getattr(field.type, "value_type", field.type)), "number")


# --- batches --------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Rows of an Arrow batch that begins at row ``start`` of its table, as models take them."""

    rows: Any
    schema: TableSchema
    owner: str
    start: int = 0
    weights: F64 | None = None
    #: Which rows of the batch these are; None if all.
    kept: Int | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def number(self, row: int) -> int:
        """Return the number of a row in the table, counted from one."""
        return self.start + (row if self.kept is None else int(self.kept[row])) + 1

    def weighted(self) -> Batch:
        """Return the rows of positive weight, with their weights, if the schema has any."""
        if self.schema.weight is None:
            return self
        weights = self.read_weights()
        if weights.all():
            return replace(self, weights=weights)
        kept = np.flatnonzero(weights)
        return replace(self, rows=self.rows.take(kept), weights=weights[kept], kept=kept)

    def read_weights(self) -> F64:
        """Return the weights of all rows, none of them missing."""
        name = str(self.schema.weight)
        column = self.rows.column(name)
        self._check_whole(column, f"weight {name!r}")
        values = numbers_of(column)
        if not values.any():  # a batch may have none, as long as the table has some
            return values
        try:
            return check.weights(values, len(column), f"sample weights of {self.owner}")
        except InputError as error:
            raise InputError(f"{self.owner}: the weights in column {name!r}: {error}") from error

    def labelled(self, kind: str, join: Callable[..., Any] | None = None) -> tuple[Rows, Any]:
        """Return features, codes of the labels and weights, and the classes, as models learn.

        A regressor joins features, target and weights by itself.
        """
        column = self.rows.column(self.schema.target)
        inputs = self.inputs(kind)
        if join is not None:
            return join(inputs, numbers_of(column), self.weights)
        classes, codes = self._labels(column)
        if len(classes) > _MOST_CLASSES:
            raise InputError(
                f"{self.owner}: column {self.schema.target!r} has more than {_MOST_CLASSES} "
                "labels. Is it an identifier? Name the column of labels as the target."
            )
        return Rows(inputs, codes, self.weights, len(classes)), classes

    def inputs(self, kind: str) -> Any:
        """Return the features as models of a kind take them: numbers, a table, or documents."""
        if kind == "documents":
            texts = [self._texts(name) for name in self.schema.names]
            return texts[0] if len(texts) == 1 else list(map("\n".join, zip(*texts, strict=True)))
        if kind == "columns":
            return self._table()
        columns = self._numbers()
        return RowsView((len(self), len(columns)), lambda rows: _block(columns, rows))

    def matrix(self) -> F64:
        """Return the features as an array of numbers, (B, D)."""
        return np.stack(self._numbers(), axis=1)

    def _numbers(self) -> list[F64]:
        """Return the columns of features as numbers."""
        return [numbers_of(self.rows.column(name)) for name in self.schema.names]

    def _table(self) -> Table:
        """Return the features as a table of columns, each read as what it is."""
        import pyarrow as pa  # noqa: PLC0415 - the batch has loaded it

        columns = {}
        for spec in self.schema.features:
            column = self.rows.column(spec.name)
            if is_coded(column) and not spec.is_category:
                column = column.dictionary_decode()
            is_decimal = pa.types.is_decimal(column.type)
            columns[spec.name] = column.cast("float64") if is_decimal else column
        return read_table(pa.table(columns), self.owner)

    def _texts(self, name: str) -> list[str]:
        """Return a column of documents, none of them missing."""
        column = self.rows.column(name)
        remedy = "Leave such rows out. In text files, empty cells, NA and null are missing."
        self._check_whole(column, f"text {name!r}", remedy)
        return column.to_pylist()

    def _labels(self, column: Any) -> tuple[Any, Int]:
        """Return the sorted classes of a column of labels, and the code of each row."""
        encoded = column if is_coded(column) else column.dictionary_encode()
        whole = column.dictionary_decode() if encoded.dictionary.null_count else column
        self._check_whole(whole, f"label {self.schema.target!r}", "Leave rows without a label out.")
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.intp)
        used = np.bincount(codes, minlength=len(encoded.dictionary)) > 0
        words = zip(encoded.dictionary.to_pylist(), used, strict=True)
        listed = [value for value, occurs in words if occurs]  # a declared category need not
        classes, places = np.unique(self._label_values(listed), return_inverse=True)
        lookup = np.zeros(len(used), dtype=np.intp)
        lookup[used] = places
        return classes, lookup[codes]

    def _check_whole(self, column: Any, what: str, remedy: str = "") -> None:
        """Refuse a column in which something is missing."""
        if column.null_count:
            row = self.number(int(column.is_null().to_numpy(zero_copy_only=False).argmax()))
            told = f"{self.owner}: the {what} is missing in row {row}. {remedy}"
            raise InputError(told.rstrip())

    def _label_values(self, listed: list[Any]) -> Any:
        """Return labels as an array that sorts."""
        where = f"column {self.schema.target!r}"
        if self.schema.label_kind == "text":
            if any(label.endswith("\0") for label in listed):  # an array of text would lose it
                raise InputError(f"{self.owner}: a label in {where} ends with a null character.")
            return np.array(listed, dtype=str) if listed else np.empty(0, dtype="<U1")
        if self.schema.label_kind == "boolean":
            return np.array(listed, dtype=bool)
        for value in listed:
            if not np.isfinite(float(value)) or value != int(value):
                raise InputError(
                    f"{self.owner}: labels are whole numbers, text or booleans. Got {value!r} in "
                    f"{where}. Is it a quantity? Then fit a GaussianRegressor."
                )
            if not -(2**63) <= value < 2**63:
                raise InputError(
                    f"{self.owner}: labels that are numbers must fit 64 bits with a sign. Got "
                    f"{int(value)} in {where}. Make them text."
                )
        return np.array([int(value) for value in listed], dtype=np.int64)

    # --- what is wrong with a row

    @contextmanager
    def naming_rows(self) -> Iterator[None]:
        """Let errors of a model, which counts the rows of the batch from zero, name those here."""
        try:
            yield
        except InputError as error:
            told = self.first(np.isinf, "infinity") or self._renumbered(error)
            raise InputError(f"{self.owner}: {told}") from error

    def first(self, is_bad: Callable[[F64], Any], what: str) -> str | None:
        """Name the first number that is bad, by its column and row."""
        names = [each.name for each in self.schema.features if each.kind in ("number", "boolean")]
        if self.schema.label_kind == "number" and self.schema.target in self.rows.schema.names:
            names.append(self.schema.target)
        for name in names:
            bad = is_bad(numbers_of(self.rows.column(name)))
            if bad.any():
                return f"column {name!r} has {what} in row {self.number(int(bad.argmax()))}."
        return None

    def _renumbered(self, error: InputError) -> str:
        """Return a message with the numbers that rows have in the table."""
        return _ROW.sub(lambda row: f"{row[1]} {self.number(int(row[2]))}", str(error))


def is_coded(column: Any) -> bool:
    """Tell whether an Arrow column holds codes and a dictionary."""
    return str(column.type).startswith("dictionary")


def numbers_of(column: Any) -> F64:
    """Return an Arrow column of numbers or booleans as float64, NaN where null.

    Whole numbers beyond 2**53 are rounded, as in any array of float64.
    """
    if str(column.type) == "double" and not column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if is_coded(column):
        column = column.dictionary_decode()
    if str(column.type) == "bool":
        column = column.cast("uint8")
    return column.cast("float64", safe=False).to_numpy(zero_copy_only=False)


def _block(columns: Sequence[F64], rows: Any) -> F64:
    """Return some rows of columns, put together in memory that the blocks of a thread share.

    New memory for each block would cost as much as the sums that are made of it.
    """
    whole = isinstance(rows, slice)
    size = len(range(*rows.indices(len(columns[0])))) if whole else len(rows)
    kept: Any = getattr(_ROOM, "kept", np.empty(0))
    if kept.size < len(columns) * size:
        kept = _ROOM.kept = np.empty(len(columns) * size)
    lines = kept[: len(columns) * size].reshape(len(columns), size)
    for column, line in zip(columns, lines, strict=True):
        if whole:
            line[:] = column[rows]
        else:
            np.take(column, rows, out=line, mode="clip")
    return lines.T
