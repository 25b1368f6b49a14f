"""``predict_table``: posteriors, acts and densities for every row of a table."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa

from credo._types import Labels
from credo._validation.labels import as_labels, position
from credo.classifiers.regression import GaussianRegressor
from credo.classifiers.streaming.planning import fitted_learner
from credo.classifiers.streaming.scores import Scores, scores_of, values_of
from credo.decisions import Loss, decide
from credo.exceptions import InputError
from credo.tables.batch_threads import map_in_order, with_starts
from credo.tables.checking import open_checked, schema_of_model
from credo.tables.label_names import label_text, loss_for, own_loss
from credo.tables.sink import open_sink
from credo.tables.source import Progress


def predict_table(
    model: Any,
    source: Any,
    out: str | os.PathLike[str] | None = None,
    *,
    loss: Loss | None = None,
    keep: Sequence[str] = (),
    progress: Progress | None = None,
) -> Any:
    r"""Score every row of a table: posterior, act, expected loss, log density, rejection.

    Parameters
    ----------
    model : fitted model
        Fitted by ``fit_table``, or loaded from a file.
    source : path, list of paths, data frame or Arrow table
        As for ``fit_table``. Its columns may be in another order, and more than the model knows.
    out : path, optional
        File to write, by its ending Parquet, CSV, Arrow or Feather; it appears when it is
        complete.
    loss : Loss, optional
        What errors cost; by default the loss of a ``DecisionClassifier``, else zero-one.
    keep : sequence of str
        Columns of the source to hand on, such as an identifier.
    progress : callable, optional
        Called after each batch with the rows done and their share of all, None if unknown.

    Returns
    -------
    pyarrow.Table or path
        The scored rows, or ``out``. Columns: those kept; ``p_<label>`` for each class; ``act``;
        ``expected_loss``; ``log_density`` of models that have one; ``rejected``. Of a regressor:
        ``mean`` and ``std``.

    Raises
    ------
    InputError
        If a column of the model is missing or of another type.

    See Also
    --------
    credo.fit_table : Fits the model.
    credo.decide : The decision for one posterior.

    Notes
    -----
    Memory is a few batches if ``out`` is given. Missing values are marginalised by generative
    models and refused by logistic regression.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 1.5.

    Examples
    --------
    >>> import credo
    >>> import pyarrow as pa
    >>> rows = pa.table({"x": [1.0, 2.0, 5.0, 7.0], "y": ["no", "no", "yes", "yes"]})
    >>> model = credo.fit_table(credo.GaussianClassifier(covariance="tied"), rows)
    >>> loss = credo.Loss.zero_one(["no", "yes"]).with_reject(0.1)
    >>> new = pa.table({"id": [7, 8], "x": [3.75, 6.0]})
    >>> credo.predict_table(model, new, loss=loss, keep=["id"])["act"].to_pylist()
    ['reject', 'yes']
    """
    if isinstance(keep, str):
        raise InputError(f"predict_table needs keep as a list of columns. Got {keep!r}.")
    scored = scored_batches(model, source, loss, tuple(keep), progress)
    with closing(scored):
        if out is None:
            return pa.Table.from_batches(scored)
        first = next(scored)
        with open_sink(out, first.schema) as sink:
            sink.write(first)
            for batch in scored:
                sink.write(batch)
    return out


def scored_batches(
    model: Any, source: Any, loss: Loss | None, keep: tuple[str, ...], progress: Progress | None
) -> Generator[Any]:
    """Score batch by batch; at least one, which may have no rows."""
    schema = schema_of_model(model, "predict_table")
    opened = open_checked(source, schema, "predict_table", keep=keep)
    columns = (*schema.names, *(name for name in keep if name not in schema.names))

    def score(batch: tuple[int, Any]) -> Any:
        start, rows = batch
        return score_batch(model, rows, loss, keep, start=start)

    nothing = True
    for scored in map_in_order(score, with_starts(opened.batches(columns, progress))):
        yield scored
        nothing = False
    if nothing:
        yield score_batch(model, _no_rows(opened, columns), loss, keep)


def _no_rows(opened: Any, columns: tuple[str, ...]) -> Any:
    """Give a batch without rows."""
    fields = [opened.schema.field(name) for name in columns]
    return pa.RecordBatch.from_pylist([], schema=pa.schema(fields))


def score_batch(
    model: Any, batch: Any, loss: Loss | None = None, keep: Sequence[str] = (), *, start: int = 0
) -> Any:
    """Score one Arrow batch, as ``predict_table`` does for all of a table.

    Parameters
    ----------
    model : fitted model
        Fitted by ``fit_table``, or loaded from a file.
    batch : pyarrow.RecordBatch
        With the columns of the model.
    loss : Loss, optional
        What errors cost; by default the loss of a ``DecisionClassifier``, else zero-one.
    keep : sequence of str
        Columns to hand on.
    start : int
        Number of the first row in its table, for messages.

    Returns
    -------
    pyarrow.RecordBatch
        The columns that ``predict_table`` describes.

    Raises
    ------
    InputError
        If a cell is none that the model can score; names its row.

    See Also
    --------
    credo.predict_table : All of a table.

    Examples
    --------
    >>> import credo
    >>> import pyarrow as pa
    >>> from credo.tables import score_batch
    >>> rows = pa.table({"x": [1.0, 2.0, 5.0, 7.0], "y": ["no", "no", "yes", "yes"]})
    >>> model = credo.fit_table(credo.GaussianClassifier(covariance="tied"), rows)
    >>> score_batch(model, pa.record_batch({"x": [6.0]}))["act"].to_pylist()
    ['yes']
    """
    owner = "predict_table"
    schema, learner = schema_of_model(model, owner), fitted_learner(model)
    known = tuple(batch.schema.names)
    kept = {name: batch.column(position(name, known, owner, "column")) for name in keep}
    if isinstance(learner, GaussianRegressor):
        mean, variance = values_of(learner, batch, schema, owner, start)
        added = {"mean": pa.array(mean), "std": pa.array(np.sqrt(variance))}
    else:
        scores = scores_of(learner, batch, schema, owner, start)
        given = own_loss(model, owner) if loss is None else loss
        labels = as_labels(learner.classes_, owner, "classes")
        added = _decided(learner, scores, loss_for(labels, given))
    twice = [name for name in keep if name in added]
    if twice:
        raise InputError(
            f"{owner}: the kept column {twice[0]!r} has the name of a column of the result. "
            "Rename it."
        )
    return pa.RecordBatch.from_pydict({**kept, **added})


def _acts(acts: Labels) -> Any:
    """Give the names of acts as an Arrow array: as text, if they are not all of one kind."""
    kinds = {type(act) for act in acts}
    plain = len(kinds) == 1 and kinds <= {str, int, bool}
    return pa.array(acts if plain else [label_text(act) for act in acts])


def _decided(learner: Any, scores: Scores, loss: Loss) -> dict[str, Any]:
    """Give the columns of a classifier."""
    labels = learner.classes_.tolist()
    table = np.ascontiguousarray(scores.probabilities.T)
    columns: dict[str, Any] = {
        f"p_{label_text(label)}": pa.array(line) for label, line in zip(labels, table, strict=True)
    }
    chosen = decide(scores.probabilities, loss, labels=learner.classes_)
    columns["act"] = _acts(loss.acts).take(pa.array(chosen.act_index))
    columns["expected_loss"] = pa.array(chosen.risk)
    if scores.log_density is not None:
        columns["log_density"] = pa.array(scores.log_density)
    columns["rejected"] = pa.array(chosen.rejected)
    return columns
