"""``evaluate_table``: a model against a labelled table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from credo._types import F64, RandomState
from credo._validation.arrays import generator
from credo._validation.labels import as_labels
from credo.classifiers._base import GenerativeClassifier
from credo.classifiers.streaming.planning import fitted_learner
from credo.classifiers.streaming.scores import log_posterior_of
from credo.classifiers.table_schema import TableSchema
from credo.classifiers.text import TextClassifier
from credo.decisions.loss import Loss
from credo.exceptions import InputError
from credo.tables.arrow import plain_batch
from credo.tables.checking import check_weights, open_checked, schema_of_model
from credo.tables.evaluation.contributions import (
    Contributions,
    How,
    compare_columns,
    telling_words,
)
from credo.tables.evaluation.gathering import Gathering, RowSample
from credo.tables.evaluation.measuring import measure
from credo.tables.evaluation.memory import remembered
from credo.tables.evaluation.result import TableEvaluation
from credo.tables.label_names import loss_for, own_loss
from credo.tables.source import Progress, as_missing

_OWNER = "evaluate_table"
#: Rows in which columns are hidden: the standard error of a rise is then a fiftieth of its spread.
_MOST_SAMPLED = 2_000
#: Fewer would say little of any column.
_LEAST_SAMPLED = 200
#: Multiplications for the contributions: K D² for each row and each of D hidden columns, which is
#: what a full covariance takes, the dearest model. Measured: some 5 seconds for it, on one core.
_MOST_WORK = 10_000_000_000
#: With more columns the work, which grows with the cube of them, is not worth its answer.
_MOST_COLUMNS = 300


def evaluate_table(  # noqa: PLR0913 - a table is named by its columns, as in fit_table
    model: Any,
    source: Any,
    *,
    target: str | None = None,
    loss: Loss | None = None,
    weight: str | None = None,
    missing: Sequence[str] | None = None,
    progress: Progress | None = None,
    random_state: RandomState = 0,
) -> TableEvaluation:
    r"""Measure the decisions and the probabilities of a model on a labelled table.

    Beside the mean loss of the decisions, :math:`\bar L = \frac{1}{n} \sum_i L_{y_i a_i}`, it
    gives that of other ways to act, how far the probabilities can be trusted, and what each
    column tells: the rise of the mean log loss when the column is not known.

    Parameters
    ----------
    model : classifier
        Fitted by ``fit_table``, so that it knows its columns; or a DecisionClassifier of one.
    source : path or frame
        A table with the same columns: CSV, Parquet or Arrow files, pandas, Polars, Arrow.
    target : str, optional
        The column of labels; by default that of the model.
    loss : Loss, optional
        Losses by truth and act; by default that of a DecisionClassifier, else zero-one. The names
        of a loss from a file are matched with labels that are numbers.
    weight : str, optional
        A column of weights; by default all rows count the same.
    missing : sequence of str, optional
        Texts that stand for a missing value in a CSV file.
    progress : callable, optional
        Called with the rows done and their share of all, None where that is not known.
    random_state : int or Generator
        Seed of the sample of rows in which columns are hidden.

    Returns
    -------
    TableEvaluation
        Immutable; ``to_dict`` gives plain numbers, ``credo.plots.write_report`` a page.

    Raises
    ------
    LabelError
        If a label is not one of the model's classes, or the loss is about others.
    InputError
        If the model has no schema, a label is missing, or the table is too long: all
        probabilities are held in memory, at most fifty million numbers.

    See Also
    --------
    credo.decisions.evaluate : The same on probabilities, without a table.

    Notes
    -----
    One pass over the table, and time O(n K log n) for the curves. Columns are hidden in a random
    sample of at most 2 000 rows: generative models leave a hidden column out exactly, by
    marginalising; for logistic regression its values are dealt out to other rows instead.

    References
    ----------
    .. [1] A. Fisher, C. Rudin, F. Dominici, "All models are wrong, but many are useful", Journal of
       Machine Learning Research 20 (2019), section 3 (model reliance).

    Examples
    --------
    >>> import credo
    >>> import pyarrow as pa
    >>> from credo.tables import evaluate_table
    >>> table = pa.table({"age": [20, 31, 42, 53, 35], "y": ["no", "no", "yes", "yes", "no"]})
    >>> model = credo.fit_table(credo.NaiveBayes(), table, target="y")
    >>> found = evaluate_table(model, table, loss=credo.Loss.class_costs({"no": 1, "yes": 4}))
    >>> found.n_rows, found.accuracy, found.mean_loss
    (5, 1.0, 0.0)
    """
    schema = _roles(schema_of_model(model, _OWNER), target, weight, missing)
    learner = _classifier(model)
    labels = as_labels(learner.classes_, _OWNER, "classes")
    used = loss_for(labels, own_loss(model, _OWNER) if loss is None else loss)
    extra = (schema.target,) if weight is None else (schema.target, weight)
    rows = open_checked(source, schema, _OWNER, also=extra)
    check_weights(rows, weight, _OWNER)
    rng = generator(random_state, _OWNER)
    sample = RowSample(_sample_size(learner, len(schema.names), len(labels)), rng)

    def score(batch: Any, start: int) -> F64:
        return log_posterior_of(learner, batch, schema, _OWNER, start)

    found = Gathering(rows.name, labels, schema, score, sample)
    for batch in rows.batches([*schema.names, *extra], progress):
        found.add(plain_batch(batch))
    return _evaluated(learner, found, used, rng)


def _evaluated(
    model: Any, found: Gathering, loss: Loss, rng: np.random.Generator
) -> TableEvaluation:
    """Turn what was gathered into numbers."""
    if not found.n_rows:
        raise InputError(f"{_OWNER}: {found.name} has no rows.")
    names = found.schema.names
    before = remembered(model, names)
    contributions = _contributions(model, found, names, rng)
    return TableEvaluation(
        model=type(model).__name__,
        source=found.name,
        target=found.schema.target,
        weight=found.schema.weight,
        measures=measure(
            found.labels, found.truth(), found.log_probabilities(), loss, found.row_weights()
        ),
        columns=tuple(tally.summary(before.get(tally.spec.name)) for tally in found.tallies),
        contributions=contributions,
    )


def _contributions(
    model: Any, found: Gathering, names: tuple[str, ...], rng: np.random.Generator
) -> Contributions:
    """Compare columns in the sample, or list words."""
    if isinstance(model, TextClassifier):
        return telling_words(model)
    sample = found.sample.rows
    if sample is None:
        reason = f"There are {len(names)} columns, too many to hide one after the other."
        return Contributions(None, (), reason=reason)
    truth = found.truths(sample)

    def log_of_truth(rows: Any) -> F64:
        return found.log_posterior(rows, 0)[np.arange(len(truth)), truth]

    how: How = "hidden" if isinstance(model, GenerativeClassifier) else "shuffled"
    weight = None if found.schema.weight is None else found.weights(sample)
    return compare_columns(log_of_truth, sample, names, how, rng, weight)


def _sample_size(model: Any, n_columns: int, n_classes: int) -> int:
    """Say in how many rows columns are hidden."""
    if isinstance(model, TextClassifier) or n_columns > _MOST_COLUMNS:
        return 0
    size = _MOST_WORK // (n_classes * n_columns**3)
    return min(max(size, _LEAST_SAMPLED), _MOST_SAMPLED)


def _roles(
    schema: TableSchema, target: str | None, weight: str | None, missing: Sequence[str] | None
) -> TableSchema:
    """Say which columns hold labels and weights here; weights of fitting are not used again."""
    roles = [*schema.names, schema.target if target is None else target]
    roles += [] if weight is None else [weight]
    twice = [name for place, name in enumerate(roles) if name in roles[:place]]
    if twice:
        raise InputError(
            f"{_OWNER}: column {twice[0]!r} cannot be two of feature, target and weight."
        )
    return replace(
        schema,
        target=schema.target if target is None else target,
        weight=weight,
        missing=schema.missing if missing is None else as_missing(missing),
    )


def _classifier(model: Any) -> Any:
    """Give the fitted classifier."""
    learner = fitted_learner(model)
    if not hasattr(learner, "classes_"):
        raise InputError(
            f"{_OWNER} needs a classifier. {type(learner).__name__} predicts numbers: it has no "
            "classes to decide between."
        )
    return learner
