"""``predict_table``: posteriors, acts and densities for every row of a table."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from functools import lru_cache, partial
from itertools import chain
from typing import Any, final

import numpy as np
import pyarrow as pa

from credo import _checks as check
from credo._types import F64, Label, Labels
from credo.classifiers import DecisionClassifier
from credo.classifiers._base import Blocks, GenerativeClassifier, log_probabilities
from credo.classifiers.schema import Batch, fitted_learner
from credo.decisions import Loss, decide
from credo.exceptions import InputError
from credo.storage import pack, unpack
from credo.tables.fit import open_checked, schema_of_model
from credo.tables.passes import Engine, map_batches, open_part, with_starts
from credo.tables.sink import open_sink
from credo.tables.source import Part, Progress, Source, open_source

_OWNER = "predict_table"


def predict_table(  # noqa: PLR0913 - a model, a table, and what to do with it
    model: Any,
    source: Any,
    out: str | os.PathLike[str] | None = None,
    *,
    loss: Loss | None = None,
    keep: Sequence[str] = (),
    engine: Engine | None = None,
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
    engine : optional
        ``credo.tables.DaskEngine`` or ``SparkEngine``: score on a cluster.
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
    Memory is a few batches if ``out`` is given; with an engine a few parts of the table, which are
    written in their order, so that the rows are those of one process. Missing values are
    marginalised by generative models; logistic regression refuses them, unless it was fitted with
    ``missing_cells="indicator"``, and tells of categories that it has not seen.

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
        raise InputError(f"{_OWNER} needs keep as a list of columns. Got {keep!r}.")
    scored = scored_batches(model, source, loss, tuple(keep), engine, progress)
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
    model: Any,
    source: Any,
    loss: Loss | None,
    keep: tuple[str, ...],
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Generator[Any]:
    """Score batch by batch; at least one, which may have no rows."""
    opened = open_checked(source, schema_of_model(model, _OWNER), _OWNER, keep=keep, engine=engine)
    columns = _columns(model, keep)
    batches: Iterator[Any]
    if engine is None:
        numbered = with_starts(opened.batches(columns, progress))
        batches = map_batches(partial(_score, model, loss, keep), numbered)
    else:
        scoring = Scoring(model, loss, keep)
        tables = engine.map(scoring.part, opened.parts(), progress, columns)
        batches = (batch for table in tables for batch in table.to_batches() if len(batch))
    first = next(batches, None)
    if first is None:
        first = score_batch(model, _no_rows(opened, columns), loss, keep)
    yield first
    yield from batches


def _columns(model: Any, keep: Sequence[str]) -> tuple[str, ...]:
    """List the columns to read: those of the model, and those to keep."""
    names = schema_of_model(model, _OWNER).names
    return (*names, *(name for name in keep if name not in names))


def _no_rows(source: Source, columns: Sequence[str]) -> Any:
    """Return a batch without rows, of the types of a source."""
    fields = pa.schema([source.schema.field(name) for name in columns])
    return pa.RecordBatch.from_pylist([], schema=fields)


def _score(model: Any, loss: Loss | None, keep: Sequence[str], batch: tuple[int, Any]) -> Any:
    """Score a batch, of which the number of rows before it is known."""
    return score_batch(model, batch[1], loss, keep, start=batch[0])


@final
class Scoring:
    """Scores of a model for the rows of a table or of a part; it travels to where they are.

    Attributes
    ----------
    columns, keep
        The columns that are read, and those among them that are handed on.
    """

    def __init__(self, model: Any, loss: Loss | None = None, keep: Sequence[str] = ()) -> None:
        self.columns, self.keep = _columns(model, keep), tuple(keep)
        self._model, self._loss = pack(model), loss

    def __call__(self, table: pa.Table) -> pa.Table:
        """Score the rows of a table."""
        return self.part(open_source(table, name="the partition"))

    def part(self, part: Part) -> pa.Table:
        """Score the rows of a part of a table."""
        score = partial(_score, _unpacked(self._model), self._loss, self.keep)
        with open_part(part) as source:
            batches = chain(source.batches(self.columns), [_no_rows(source, self.columns)])
            return pa.Table.from_batches(list(map_batches(score, with_starts(batches), 1)))


@lru_cache(maxsize=4)
def _unpacked(model: bytes) -> Any:
    """Open a model, once in a process."""
    return unpack(model)


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
    schema, learner = schema_of_model(model, _OWNER), fitted_learner(model)
    known = tuple(batch.schema.names)
    kept = {name: batch.column(check.position(name, known, "column", _OWNER)) for name in keep}
    rows = Batch(batch, schema, _OWNER, start)
    if hasattr(learner, "classes_"):
        given = own_loss(model, _OWNER) if loss is None else loss
        labels = check.labels(learner.classes_, f"classes of {_OWNER}")
        added = _decide_batch(learner, rows, loss_for(labels, given))
    else:
        mean, variance = _values(learner, rows)
        added = {"mean": pa.array(mean), "std": pa.array(np.sqrt(variance))}
    twice = [name for name in keep if name in added]
    if twice:
        raise InputError(
            f"{_OWNER}: the kept column {twice[0]!r} has the name of a column of the result. "
            "Rename it."
        )
    return pa.RecordBatch.from_pydict({**kept, **added})


def _decide_batch(learner: Any, batch: Batch, loss: Loss) -> dict[str, Any]:
    """Return the columns of a classifier, from one pass over the scores."""
    labels = learner.classes_.tolist()
    table = np.empty((len(labels), len(batch)))
    generative = isinstance(learner, GenerativeClassifier) and learner._has_density  # noqa: SLF001
    density = np.empty(len(batch)) if generative else None
    for block, scores in _scores(learner, batch, densities=generative):
        top = scores.max(axis=0)
        shares = np.exp(scores - top)
        whole = shares.sum(axis=0)
        table[:, block] = shares / whole
        if density is not None:
            density[block] = top + np.log(whole)
    chosen = decide(table.T, loss, labels=learner.classes_)
    names = [f"p_{label_text(label)}" for label in labels]
    columns = dict(zip(names, map(pa.array, table), strict=True))
    columns["act"] = _acts(loss.acts).take(pa.array(chosen.act_index))
    columns["expected_loss"] = pa.array(chosen.risk)
    if density is not None:
        columns["log_density"] = pa.array(density)
    columns["rejected"] = pa.array(chosen.rejected)
    return columns


def _acts(acts: Labels) -> Any:
    """Return the names of acts as an Arrow array: as text, if they are not all of one kind."""
    kinds = {type(act) for act in acts}
    plain = len(kinds) == 1 and kinds <= {str, int, bool}
    return pa.array(acts if plain else [label_text(act) for act in acts])


def _inputs(learner: Any, batch: Batch) -> Any:
    """Return the rows of a batch as a model predicts from them."""
    learner._check_ready()  # noqa: SLF001 - hooks of models, as below
    if learner.kind == "numbers":
        return batch.matrix()
    rows = batch.inputs(learner.kind)
    return learner._rows(rows) if learner.kind == "documents" else rows  # noqa: SLF001


def _scores(learner: Any, batch: Batch, *, densities: bool = False) -> Blocks:
    """Yield the scores of a batch, block by block."""
    if len(batch):
        rows = _inputs(learner, batch)
        with batch.naming_rows():
            yield from learner._scores(rows, densities=densities)  # noqa: SLF001


def _values(learner: Any, batch: Batch) -> tuple[F64, F64]:
    """Return mean and variance of the target of each row."""
    rows = _inputs(learner, batch)
    with batch.naming_rows():
        return learner._fitted.predict(rows)  # noqa: SLF001


def log_posterior(learner: Any, batch: Batch) -> F64:
    """Return the log-probabilities (n, K) of a batch, exact where probabilities are zero."""
    table = np.empty((len(batch), len(learner.classes_)))
    for block, scores in _scores(learner, batch):
        table[block] = log_probabilities(scores).T
    return table


# --- labels as tables and files write them -------------------------------------------------------


def codes_of(labels: Labels) -> dict[Label, int]:
    """Return the place of each label, found by itself or by its text where that is one label's."""
    texts = [label_text(label) for label in labels]
    codes: dict[Label, int] = {
        text: k for k, text in enumerate(texts) if texts.count(text) == 1 and text not in labels
    }
    codes.update((label, k) for k, label in enumerate(labels))
    return codes


def loss_for(labels: Labels, loss: Loss | None) -> Loss:
    """Return the loss with the labels' own names; zero-one by default.

    A file knows text only, so its true classes and acts ``"1"`` and ``"2"`` become the labels 1 and
    2 where the text of every label is a true class.
    """
    if loss is None:
        return Loss.zero_one(labels)
    names = {label_text(label): label for label in labels}
    known = len(names) == len(labels) and names.keys() <= {label_text(t) for t in loss.truths}
    if set(labels) <= set(loss.truths) or not known:
        return loss
    acts = [names.get(label_text(act), act) for act in loss.acts]
    reject = None if loss.reject is None else acts[loss.acts.index(loss.reject)]
    truths = [names.get(label_text(truth), truth) for truth in loss.truths]
    return Loss(loss.matrix, truths, acts, reject=reject)


def own_loss(model: Any, owner: str) -> Loss | None:
    """Return the loss that a DecisionClassifier brings with it."""
    own = model.loss if isinstance(model, DecisionClassifier) else None
    if own is not None and not isinstance(own, Loss):
        raise InputError(
            f"{owner}: the loss of this DecisionClassifier is a function of the rows. Pass loss=, "
            "one matrix for all rows."
        )
    return own


def label_text(label: Label) -> str:
    """Write a label as a table would: whole numbers without a point, booleans in lower case."""
    if isinstance(label, bool):
        return str(label).lower()
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)
