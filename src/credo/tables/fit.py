"""``fit_table``, ``update_table``, ``merge_models``: models learn from tables of any size."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from credo import _checks as check
from credo.classifiers import DecisionClassifier
from credo.classifiers.schema import (
    ColumnKind,
    ColumnSpec,
    LabelKind,
    TableSchema,
    adopt,
    check_weights,
    fitted_learner,
    kind_of_type,
    learner_of,
    schema_of,
    summariser_of,
)
from credo.decisions import Loss
from credo.exceptions import InputError, TableWarning
from credo.tables.arrow import plain_batch
from credo.tables.passes import Engine, Labelling, TablePasses, open_table
from credo.tables.source import Progress, Source

#: Rows from which on one expects words to repeat.
_MANY = 30


def fit_table(  # noqa: PLR0913 - what to learn from, and how to get at it
    model: Any,
    source: Any,
    target: str = "y",
    features: Sequence[str] | None = None,
    weight: str | None = None,
    *,
    drop: Sequence[str] = (),
    missing: Sequence[str] = (),
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Any:
    r"""Fit a model to a table of any size, in one pass and bounded memory.

    Models with closed-form estimates learn from a summary of the rows, which is merged batch by
    batch; logistic regression reads the table in each of its passes.

    Parameters
    ----------
    model : GaussianClassifier, GaussianRegressor, NaiveBayes, TextClassifier, LogisticClassifier
        Or a ``DecisionClassifier`` of one. It is fitted in place.
    source : path, list of paths, data frame or Arrow table
        CSV (also gzipped), Parquet, Arrow and Feather files, folders of them, frames of pandas and
        Polars, Arrow tables, batches and data sets; frames of Dask and Spark with their engine.
    target : str
        Column of labels (of numbers for a regressor).
    features : list of str, optional
        Columns to learn from; by default all but the target and the weight.
    weight : str, optional
        Column of weights: 2 counts as the row twice, 0 as no row.
    drop : sequence of str
        Columns to leave out, such as an identifier; later tables may lack them.
    missing : sequence of str
        Words for a missing cell in text files, such as ``"?"``; empty cells, NA and NaN always
        are, and among numbers ``?``, ``-``, ``.``, ``na`` and ``Null``, which a warning tells.
    engine : optional
        ``credo.tables.DaskEngine`` or ``SparkEngine``: summarise on a cluster.
    progress : callable, optional
        Called after each batch with the rows done and their share of all, None if unknown.
        Logistic regression begins anew with each pass, and calls it from another thread.

    Returns
    -------
    model
        The same object, with ``schema_``: which columns it learned from, and as what.

    Raises
    ------
    LabelError
        If a column is not there; names the nearest.
    InputError
        If a column is nothing that the model learns from (dates, text for a Gaussian), or a label
        is missing.

    See Also
    --------
    credo.predict_table : Score a table with the model.
    credo.update_table : Add the rows of another table.

    Notes
    -----
    One pass; memory is a few batches of 65 536 rows and the summary. Numbers equal those of
    ``fit`` on all rows at once to rounding. Numbers and booleans are taken as they are, text as
    categories; logistic regression sees a category as one column of zeros and ones for each
    value but the first. ``NaiveBayes(families="auto")`` chooses families by the first 65 536 rows.
    Missing values: ``NaiveBayes`` and diagonal Gaussians leave them out, the others refuse them;
    ``LogisticClassifier(missing_cells="indicator")`` learns from them.

    References
    ----------
    .. [1] T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for computing the sample
       variance", The American Statistician 37, 1983, section 3.

    Examples
    --------
    >>> import credo
    >>> import pyarrow as pa
    >>> table = pa.table({"size": [1.0, 2.0, 5.0, 7.0], "colour": ["red", "red", "blue", "red"],
    ...                   "y": ["no", "no", "yes", "yes"]})
    >>> model = credo.fit_table(credo.NaiveBayes(), table, target="y")
    >>> model.families_
    {'size': 'gaussian', 'colour': 'categorical'}
    """
    owner = "fit_table"
    learner = learner_of(model, owner)
    opened = open_table(source, engine, missing=missing or None)
    schema = schema_of(
        *(learner, opened, target), features=features, weight=weight, drop=drop, missing=missing
    )
    opened.tell_marks(schema.columns)
    _ask_of_names(opened, schema, owner)
    passes = TablePasses(opened, Labelling.of(learner, schema, owner), engine, progress)
    if learner.Summary is None:
        learner._fit_passes(passes, schema.names)  # noqa: SLF001 - how such models learn
    else:
        head = _head(opened, schema) if learner.kind == "columns" else None
        _fit(learner, _summarise(passes, learner, head), schema)
    return adopt(model, learner, schema)


def update_table(
    model: Any,
    source: Any,
    *,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Any:
    """Add the rows of another table to a model; the result is that of one fit to all rows.

    Parameters
    ----------
    model : fitted model
        Fitted by ``fit_table``, or loaded from a file with its summary. Changed in place.
    source : path, list of paths, data frame or Arrow table
        As for ``fit_table``; with the same columns, in any order.
    engine : optional
        ``credo.tables.DaskEngine`` or ``SparkEngine``: summarise on a cluster.
    progress : callable, optional
        Called after each batch with the rows done and their share of all, None if unknown.

    Returns
    -------
    model
        The same object.

    Raises
    ------
    InputError
        If the model keeps no summary (logistic regression, EM), or a column is missing or retyped.

    See Also
    --------
    credo.fit_table : The first fit.

    Notes
    -----
    One pass over the new rows only. New classes and categories may appear.

    Examples
    --------
    >>> import credo
    >>> import pyarrow as pa
    >>> first = pa.table({"x": [1.0, 2.0, 5.0, 7.0], "y": ["no", "no", "yes", "yes"]})
    >>> model = credo.fit_table(credo.GaussianClassifier(), first)
    >>> model = credo.update_table(model, pa.table({"x": [9.0], "y": ["yes"]}))
    >>> model.means_
    array([[1.5],
           [7. ]])
    """
    owner = "update_table"
    schema, learner = schema_of_model(model, owner), fitted_learner(model)
    before = getattr(learner, "summary_", None)
    if before is None:
        raise InputError(
            f"{owner}: the {type(learner).__name__} keeps no summary of its rows to add to. Fit "
            "all rows at once."
        )
    opened = open_checked(source, schema, owner, labels=True, engine=engine)
    passes = TablePasses(opened, Labelling.of(learner, schema, owner), engine, progress)
    added = _summarise(passes, learner)
    changed = learner if learner is model else copy.copy(learner)  # a policy may refuse it yet
    _fit(changed, before.merge(added), schema)
    return adopt(model, changed, schema)


def _head(source: Source, schema: TableSchema) -> Any:
    """Read the first rows, of which there must be some."""
    head = source.head(schema.names)
    if not head.num_rows:
        raise InputError(f"fit_table: {source.name} has no rows.")
    return plain_batch(head.combine_chunks().to_batches()[0])


def _ask_of_names(source: Source, schema: TableSchema, owner: str) -> None:
    """Ask whether columns of words that hardly repeat, such as identifiers or days, are needed."""
    words = [spec.name for spec in schema.features if spec.kind == "category"]
    if not words:
        return
    told, names = [], []
    head = source.head(words)
    for name in words:
        cells = head.column(name).drop_null()
        values = cells.unique()
        if len(cells) >= _MANY and len(values) > len(cells) / 2:
            told.append(
                f"column {name!r} has {len(values)} different words in {len(cells)} rows, such as "
                f"{values[0].as_py()!r}"
            )
            names.append(name)
    if told:
        check.warn(
            f"{owner}: {'; '.join(told)}. Words that hardly repeat, such as names and dates, teach "
            f"nothing about other rows: pass drop={names}; but write numbers as 1234.5.",
            TableWarning,
        )


def _summarise(passes: TablePasses, learner: Any, head: Any = None) -> Any:
    """Return the summary of all rows, for a model that is learning."""
    maker = summariser_of(learner, passes.labelling.schema, passes.labelling.owner, head)
    return passes.reduce(maker._summarise, learner.Summary.merge)  # noqa: SLF001 - how models learn


def _fit(learner: Any, summary: Any, schema: TableSchema) -> None:
    """Fit a model from the summary of all rows."""
    names = None if learner.kind == "documents" else schema.names
    n_features = None if names is None else len(names)
    learner._fit_summary(summary, n_features, names)  # noqa: SLF001 - how models learn


# --- merging --------------------------------------------------------------------------------------

_MERGE = "merge_models"


def merge_models(first: Any, second: Any) -> Any:
    r"""Merge two models that were fitted to tables with the same columns.

    The summaries are joined, :math:`s(A \cup B) = s(A) \oplus s(B)`, and the model is estimated
    from all rows.

    Parameters
    ----------
    first, second : fitted models
        Of one kind, fitted by ``fit_table`` to different rows; neither is changed.

    Returns
    -------
    model
        A new one, with the parameters and the loss of both.

    Raises
    ------
    InputError
        If models, parameters, columns, the column of weights or losses differ, or one keeps no
        summary of its rows.

    See Also
    --------
    credo.update_table : Add the rows of a table.

    Notes
    -----
    Equal to one fit to all rows, to rounding; cost independent of the number of rows. New classes
    and categories may appear in either.

    References
    ----------
    .. [1] T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for computing the sample
       variance", The American Statistician 37, 1983, section 3.

    Examples
    --------
    >>> import credo
    >>> import pyarrow as pa
    >>> from credo.tables import merge_models
    >>> here = pa.table({"x": [1.0, 2.0, 6.0, 7.0], "y": ["no", "no", "yes", "yes"]})
    >>> there = pa.table({"x": [3.0, 4.0, 8.0, 9.0, 5.0, 1.0],
    ...                   "y": ["no", "no", "yes", "yes", "no", "no"]})
    >>> models = [credo.fit_table(credo.NaiveBayes(), table) for table in (here, there)]
    >>> merge_models(*models).priors_
    array([0.6, 0.4])
    """
    schemas = [schema_of_model(model, _MERGE) for model in (first, second)]
    learners = [fitted_learner(model) for model in (first, second)]
    _check_models(first, second, learners)
    schema = schemas[0].merge(schemas[1], _MERGE)
    for learner in learners:
        if getattr(learner, "summary_", None) is None:
            raise InputError(
                f"{_MERGE}: the {type(learner).__name__} keeps no summary of its rows to merge. "
                "Fit all rows at once; or, if it was saved without its summary, fit it again."
            )
    merged = learners[0].merge(learners[1])
    if not isinstance(first, DecisionClassifier):
        return adopt(merged, merged, schema)
    return adopt(DecisionClassifier(first.estimator, first.loss), merged, schema)


def _check_models(first: Any, second: Any, learners: list[Any]) -> None:
    """Refuse models that are not alike: another kind, other parameters, another loss."""
    kinds = [type(learner).__name__ for learner in learners]
    if kinds[0] != kinds[1]:
        raise InputError(f"{_MERGE} needs models of one kind. Got {kinds[0]} and {kinds[1]}.")
    options = [learner.get_params(deep=False) for learner in learners]
    for name, value in options[0].items():
        if name != "progress" and not _same(value, options[1][name]):
            raise InputError(
                f"{_MERGE} needs the same parameters in both. Got {name}={value!r} and "
                f"{options[1][name]!r}."
            )
    if not _same(getattr(first, "loss", None), getattr(second, "loss", None)):
        raise InputError(
            f"{_MERGE}: the models decide by different losses. Fit both with the same, or without."
        )


def _same(one: Any, other: Any) -> bool:
    """Tell whether two parameters are equal: values, arrays, losses or settings of an object."""
    if isinstance(one, Loss) and isinstance(other, Loss):
        names = [(loss.truths, loss.acts, loss.reject) for loss in (one, other)]
        return names[0] == names[1] and np.array_equal(one.matrix, other.matrix)
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if hasattr(one, "get_params"):
        return type(one) is type(other) and one.get_params() == other.get_params()
    return bool(one == other)


# --- later tables ---------------------------------------------------------------------------------


def schema_of_model(model: Any, owner: str) -> TableSchema:
    """Return the schema of a model that was fitted to a table."""
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
    return is_text or (names is not None and tuple(names.tolist()) == schema.names)


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

    With ``labels`` the target must be, too. Other columns must be there: those to keep come from a
    text file as they are written, others as what they look like.
    """
    specs = (*schema.features, *_label_specs(schema)) if labels else schema.features
    types = {name: pa.string() for name in keep if name not in schema.names}
    types |= {spec.name: _LATER[spec.kind][0] for spec in specs if spec.kind != "code"}
    opened = open_table(source, engine, types=types, missing=schema.missing or None)
    known = tuple(opened.schema.names)
    absent = [name for name in schema.names if name not in known]
    if len(absent) > 1:
        raise InputError(
            f"{owner}: {opened.name} lacks the columns {check.listing(absent)} that the model "
            f"learned from. It has {check.listing(known)}."
        )
    for name in (*(spec.name for spec in specs), *keep, *also):
        check.position(name, known, "column", f"{owner}: {opened.name}")
    for spec in specs:
        found, (_, served, remedy) = opened.schema.field(spec.name).type, _LATER[spec.kind]
        if kind_of_type(found) not in served:
            raise InputError(
                f"{owner}: column {spec.name!r} of {opened.name} is {found}, and a {spec.kind} to "
                f"the model. Convert it to {remedy}."
            )
    if schema.weight is not None and (labels or also):
        check.position(schema.weight, known, "column", f"{owner}: {opened.name}")
        check_weights(opened.schema.field(schema.weight), f"{owner}: {opened.name}")
    opened.tell_marks([spec.name for spec in specs])
    return opened


def _label_specs(schema: TableSchema) -> tuple[ColumnSpec, ...]:
    """Say what the labels are; numbers are names, of as many digits as they may have."""
    kinds: dict[LabelKind, ColumnKind] = {"text": "category", "number": "code"}
    return (ColumnSpec(schema.target, kinds.get(schema.label_kind, "boolean")),)


#: Of each kind: the type that its columns of a text file are read as (codes by what they look
#: like, since a float has not all digits of a long one), the kinds that serve as it, a remedy.
_LATER: dict[ColumnKind, tuple[Any, tuple[ColumnKind, ...], str]] = {
    "number": (pa.float64(), ("number", "code"), "numbers"),
    "code": (None, ("code", "number"), "numbers, which the model takes as names"),
    "boolean": (pa.bool_(), ("boolean",), "true and false"),
    "category": (pa.string(), ("category",), "text"),
    "text": (pa.string(), ("category",), "text"),
}
