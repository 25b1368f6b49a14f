"""``merge_models``: one model from several, as if fitted to the rows of all."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo._validation.labels import listing
from credo.classifiers.decision import DecisionClassifier
from credo.classifiers.streaming.planning import adopt, fitted_learner
from credo.classifiers.table_schema import TableSchema
from credo.decisions import Loss
from credo.exceptions import InputError
from credo.tables.checking import schema_of_model

_OWNER = "merge_models"


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
        If models, parameters, columns or losses differ, or one keeps no summary of its rows.

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
    schemas = [schema_of_model(model, _OWNER) for model in (first, second)]
    learners = [fitted_learner(model) for model in (first, second)]
    _check_models(first, second, learners)
    _check_schemas(*schemas)
    for learner in learners:
        if getattr(learner, "summary_", None) is None:
            raise InputError(
                f"{_OWNER}: the {type(learner).__name__} keeps no summary of its rows to merge. "
                "Fit all rows at once; or, if it was saved without its summary, fit it again."
            )
    merged = learners[0].merge(learners[1])
    if not isinstance(first, DecisionClassifier):
        return adopt(merged, merged, schemas[0])
    return adopt(DecisionClassifier(first.estimator, first.loss), merged, schemas[0])


def _check_models(first: Any, second: Any, learners: list[Any]) -> None:
    """Refuse models that are not alike: another kind, other parameters, another loss."""
    kinds = [type(learner).__name__ for learner in learners]
    if kinds[0] != kinds[1]:
        raise InputError(f"{_OWNER} needs models of one kind. Got {kinds[0]} and {kinds[1]}.")
    options = [learner.get_params(deep=False) for learner in learners]
    for name, value in options[0].items():
        if name != "progress" and not _same(value, options[1][name]):
            raise InputError(
                f"{_OWNER} needs the same parameters in both. Got {name}={value!r} and "
                f"{options[1][name]!r}."
            )
    if not _same(getattr(first, "loss", None), getattr(second, "loss", None)):
        raise InputError(
            f"{_OWNER}: the models decide by different losses. Fit both with the same, or without."
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


def _check_schemas(first: TableSchema, second: TableSchema) -> None:
    """Refuse models of tables with other columns."""
    targets = [(each.target, each.label_kind) for each in (first, second)]
    if targets[0] != targets[1]:
        told = [f"{name!r} ({kind})" for name, kind in targets]
        raise InputError(f"{_OWNER} needs the same target in both. Got {told[0]} and {told[1]}.")
    kinds = [{spec.name: spec.kind for spec in each.features} for each in (first, second)]
    odd = [name for name in (*kinds[0], *kinds[1]) if name not in kinds[0] or name not in kinds[1]]
    if odd:
        raise InputError(
            f"{_OWNER} needs the same columns in both. One has {listing(odd)}, the other has not."
        )
    for name, kind in kinds[0].items():
        if kinds[1][name] != kind:
            raise InputError(
                f"{_OWNER}: column {name!r} is a {kind} to one model and a {kinds[1][name]} to "
                "the other. Fit both to columns of the same type."
            )
    if first.names != second.names:
        raise InputError(
            f"{_OWNER} needs the columns in the same order in both: {listing(first.names)} and "
            f"{listing(second.names)}. Fit one again with its features in the other's order."
        )
