"""``evaluate_table``: a model against a labelled table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, final

import numpy as np
import pyarrow as pa

from credo import _checks as check
from credo._results import Plain, as_plain, number
from credo._types import F64, Int, Label, Labels, RandomState
from credo.classifiers._base import GenerativeClassifier
from credo.classifiers.schema import Batch, TableSchema, fitted_learner
from credo.classifiers.summary import ColumnMemory
from credo.decisions import (
    Calibration,
    CostCurve,
    Evaluation,
    Loss,
    RiskCoverage,
    calibration,
    cost_curve,
    decide,
    evaluate,
)
from credo.decisions.loss import as_loss
from credo.exceptions import InputError, LabelError, TableWarning
from credo.posterior import Posterior
from credo.tables.column_report import (
    ColumnSummary,
    ColumnTally,
    Contributions,
    How,
    compare_columns,
    telling_words,
    weighted_mean,
)
from credo.tables.fit import open_checked, schema_of_model
from credo.tables.passes import Engine, TableJob
from credo.tables.predict import codes_of, label_text, log_posterior, loss_for, own_loss
from credo.tables.source import Progress, as_missing

_OWNER = "evaluate_table"
#: Rows times classes that are held at once: 0.4 GB of probabilities. With what is sorted for the
#: curves it is about eight times that (measured at a million rows of five classes).
_MOST_NUMBERS = 50_000_000
#: Rows in which columns are hidden: the standard error of a rise is then a fiftieth of its spread.
_MOST_SAMPLED = 2_000
#: Fewer would say little of any column.
_LEAST_SAMPLED = 200
#: Multiplications for the contributions: K D² for each row and each of D hidden columns, which is
#: what a full covariance takes, the dearest model. Measured: some 5 seconds for it, on one core.
_MOST_WORK = 10_000_000_000
#: With more columns the work, which grows with the cube of them, is not worth its answer.
_MOST_COLUMNS = 300
#: Sums of the same numbers, in any order, differ by less; other rows that are so near to those of
#: the fit in all columns at once, and in the numbers of their classes, are the same to a model.
_SAME = 1e-8
#: Unseen labels that are named in a message.
_MOST_TOLD = 8
#: Points of a risk-coverage curve that are kept: more than a screen has room for.
_MOST_POINTS = 400


def evaluate_table(  # noqa: PLR0913 - a table is named by its columns, as in fit_table
    model: Any,
    source: Any,
    *,
    target: str | None = None,
    loss: Loss | None = None,
    weight: str | None = None,
    missing: Sequence[str] | None = None,
    engine: Engine | None = None,
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
        Losses by true class and act; by default that of a DecisionClassifier, else zero-one. The
        names of a loss from a file are matched with labels that are numbers.
    weight : str, optional
        A column of weights; by default all rows count the same.
    missing : sequence of str, optional
        Texts that stand for a missing value in a CSV file.
    engine : optional
        ``credo.tables.DaskEngine`` or ``SparkEngine``: score on a cluster; what is measured
        comes here.
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
        If no label is one of the model's classes, or the loss lacks one of these.
    InputError
        If the model has no schema, a label is missing, or the table is too long: all
        probabilities are held in memory, at most fifty million numbers.

    See Also
    --------
    credo.decisions.evaluate : The same on probabilities, without a table.

    Notes
    -----
    Labels unseen in fit are told by a warning, and counted in ``unseen``. Such rows cost what the
    loss says where it has a row for that true class, and one where no loss is given, as any error
    does; they are errors to the accuracy, and left out of log loss, Brier score and calibration.
    Where a loss has no row for them they are left out of everything.

    A warning, and ``is_of_fit``, tell the rows that the model was fitted to, in any order, file or
    format: there are as many of each class, and the mean and the deviation of each column, or the
    shares of its categories, are those that the summary of the model remembers, to rounding; of
    logistic regression, the likelihood. This costs nothing. It does not tell a part of these rows,
    nor rows that were fitted with weights, nor a text model or one saved without its summary.

    One pass over the table, and time O(n K log n) for the curves. Columns are hidden in a random
    sample of at most 2 000 rows: generative models leave a hidden column out exactly, by
    marginalising; for logistic regression its values are dealt out to other rows instead. Rows are
    drawn by their number in the table, with an engine in its part, so that there the sample may be
    another one; all other numbers are the same.

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
    >>> other = pa.table({"age": [23, 33, 45, 50], "y": ["no", "no", "no", "yes"]})
    >>> found = evaluate_table(model, other, loss=credo.Loss.class_costs({"no": 1, "yes": 4}))
    >>> found.n_rows, found.accuracy, found.mean_loss
    (4, 0.75, 0.25)
    """
    schema = _roles(schema_of_model(model, _OWNER), target, weight, missing)
    learner = _classifier(model)
    labels = check.labels(learner.classes_, f"classes of {_OWNER}")
    given = own_loss(model, _OWNER) if loss is None else loss
    used = loss_for(labels, given)
    _truths_of(used, labels)  # which refuses other names before the rows are read
    rows = open_checked(source, schema, _OWNER, also=(schema.target,), engine=engine)
    rng = check.generator(random_state)
    size = _sample_size(learner, len(schema.names), len(labels))
    gather = _Gather(learner, schema, labels, rows.name, size, int(rng.integers(2**63)))
    found = TableJob(schema.columns, gather, gather.merge).run(rows, engine, progress)
    if found is None:
        raise InputError(f"{_OWNER}: {rows.name} has no rows.")
    truth, used = _with_unseen(found, labels, used, is_given=given is not None)
    unseen, n_left_out = Counter(found.others), int((truth < 0).sum())
    if len(found.others) == len(truth):
        raise LabelError(
            f"{_OWNER}: no row of {rows.name} has a label in column {schema.target!r} that the "
            f"model knows. It knows {check.listing(labels)}; got {check.listing(tuple(unseen))}."
            f"{check.hint(found.others[0], labels)}"
        )
    kept: Any = truth >= 0 if n_left_out else slice(None)
    _tell_unseen(unseen, labels, rows.name, n_left_out, is_given=given is not None)
    summary: Any = getattr(learner, "summary_", None)
    memory = summary.describe(schema.names) if hasattr(summary, "describe") else {}
    told = None if progress is None else partial(progress, len(truth) if engine is None else 0)
    columns = tuple(each.summary(memory.get(each.spec.name)) for each in found.tallies)
    weights = np.concatenate(found.weights)[kept] if found.weights else None
    measures = measure(labels, truth[kept], np.concatenate(found.tables)[kept], used, weights)
    return TableEvaluation(
        model=type(learner).__name__,
        source=rows.name,
        target=schema.target,
        weight=weight,
        columns=columns,
        contributions=_contributions(gather, found.sample, rng, told),
        measures=measures,
        unseen=dict(unseen),
        n_left_out=n_left_out,
        is_of_fit=not unseen and _is_of_fit(learner, measures, columns, memory),
    )


def _is_of_fit(
    learner: Any,
    measures: Measures,
    columns: Sequence[ColumnSummary],
    memory: Mapping[Any, ColumnMemory],
) -> bool:
    """Tell, and warn of, rows that a model learned from, by what it remembers of them if it does.

    Logistic regression remembers their likelihood; the others how many there were of each class,
    and what each column is like.
    """
    if learner.Summary is None:
        found = -measures.n_rows * measures.outcome.calibration.log_loss
        same = math.isclose(found, getattr(learner, "log_likelihood_", math.nan), rel_tol=_SAME)
    else:
        known = [(each, memory[each.name]) for each in columns if each.name in memory]
        same = bool(known) and np.array_equal(learner.summary_.weights, measures.class_counts)
        same &= all(
            abs(each.shift or 0.0) <= _SAME
            and math.isclose(each.deviation or 0.0, then.deviation or 0.0, rel_tol=_SAME)
            for each, then in known
        )
    if same:
        check.warn(
            f"{_OWNER}: these are the rows that the model was fitted to, or just like them. What "
            "is measured on them promises too much: evaluate on rows that the model has not seen.",
            TableWarning,
        )
    return same


def _truths_of(loss: Loss, labels: Labels) -> tuple[Labels, Int]:
    """Return the labels and then what else may be true by a loss, with the row of each."""
    loss = as_loss(loss, _OWNER, per_row=False)
    more = [truth for truth in loss.truths if truth not in labels]
    names = (*labels, *more) if {*labels} <= {*loss.truths} else labels
    return names, loss.rows_for(names, _OWNER)


def _with_unseen(
    found: _Gathered, labels: Labels, loss: Loss, *, is_given: bool
) -> tuple[Int, Loss]:
    """Return the place of each row's truth, -1 where the loss has none, and the loss.

    If no loss was given, whatever is done costs one where the truth is unseen.
    """
    truth = np.concatenate(found.truths)
    names = tuple(dict.fromkeys(found.others))
    if names and not is_given:
        cells = np.concatenate([loss.matrix, np.ones((len(names), len(loss.acts)))])
        loss = Loss(cells, (*loss.truths, *names), loss.acts)
    codes = codes_of(_truths_of(loss, labels)[0])
    places = [codes.get(label, codes.get(label_text(label), -1)) for label in found.others]
    truth[truth < 0] = places
    return truth, loss


def _tell_unseen(
    unseen: Counter[Any], labels: Labels, name: str, n_left_out: int, *, is_given: bool
) -> None:
    """Warn of labels that no row had in fit, and say how they are counted."""
    if not unseen:
        return
    most, n = unseen.most_common(_MOST_TOLD), unseen.total()
    told = ", ".join(f"{label!r} {count}" for label, count in most)
    told += f" and {len(unseen) - len(most)} more" * (len(unseen) > len(most))
    how = "They cost one each, as any error does."
    if is_given:
        how = (
            f"They cost what the loss says, but for {n_left_out} left out: it has no row for them."
        )
    check.warn(
        f"{_OWNER}: {name} has labels unseen in fit in {n} row{'s' * (n > 1)}: {told}. "
        f"{how}{check.hint(most[0][0], labels)}",
        TableWarning,
    )


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Gathered:
    """What is kept of some rows of a table."""

    truths: tuple[Int, ...]
    tables: tuple[F64, ...]
    weights: tuple[F64, ...]
    tallies: tuple[ColumnTally, ...]
    #: Labels of the rows whose truth is -1: no row had them in fit.
    others: tuple[Label, ...]
    #: A sample: each row has drawn a number, and those with the smallest are kept, in their order.
    keys: F64
    sample: Any


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Gather:
    """Scores the rows of a batch, and counts its columns; it travels to where the rows are."""

    learner: Any
    schema: TableSchema
    labels: Labels
    name: str
    n_sampled: int
    seed: int

    def __call__(self, rows: Any, start: int) -> _Gathered:
        """Keep true classes, posteriors, weights, counts and a sample of a batch."""
        batch = Batch(rows, self.schema, _OWNER, start)
        drawn = np.random.Generator(np.random.PCG64(self.seed).advance(start))
        truth, others = self.truths(batch)
        found = _Gathered(
            (truth,),
            (log_posterior(self.learner, batch),),
            () if self.schema.weight is None else (batch.read_weights(),),
            tuple(ColumnTally.of(spec, rows.column(spec.name)) for spec in self.schema.features),
            others,
            drawn.random(len(rows)),
            rows,
        )
        return self._within_bounds(found)

    def merge(self, first: _Gathered, second: _Gathered) -> _Gathered:
        """Join what was kept of rows that follow each other."""
        found = _Gathered(
            first.truths + second.truths,
            first.tables + second.tables,
            first.weights + second.weights,
            tuple(map(ColumnTally.merge, first.tallies, second.tallies)),
            first.others + second.others,
            np.concatenate([first.keys, second.keys]),
            pa.concat_batches([first.sample, second.sample]),
        )
        return self._within_bounds(found)

    def _within_bounds(self, found: _Gathered) -> _Gathered:
        """Cut the sample to its size; refuse more rows than there is room for."""
        most = _MOST_NUMBERS // len(self.labels)
        if sum(map(len, found.truths)) > most:
            raise InputError(
                f"{_OWNER}: {self.name} has more than {most} rows. The probabilities of all rows "
                f"are held in memory, at most {_MOST_NUMBERS} numbers ({len(self.labels)} classes "
                "for each row). Evaluate a random part of the rows."
            )
        best = np.sort(np.argsort(found.keys, kind="stable")[: self.n_sampled])
        return replace(found, keys=found.keys[best], sample=found.sample.take(pa.array(best)))

    def truths(self, batch: Batch) -> tuple[Int, tuple[Label, ...]]:
        """Find the class of each row, -1 where it is unseen, and what it is there.

        A missing label is named with its row.
        """
        column, codes = batch.rows.column(self.schema.target), codes_of(self.labels)
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        names = column.dictionary.to_pylist()
        places = [
            -2 if name is None else codes.get(name, codes.get(label_text(name), -1))
            for name in names
        ]
        index = column.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)
        found = np.array([*places, -2], dtype=np.intp)[index.astype(np.intp)]
        if (found < -1).any():
            row = batch.number(int(np.argmax(found < -1)))
            raise InputError(
                f"{_OWNER}: row {row} of {self.name} has no label in column "
                f"{self.schema.target!r}. Leave such rows out."
            )
        return found, tuple(names[i] for i in index[found < 0])


def _contributions(
    gather: _Gather,
    sample: Any,
    rng: np.random.Generator,
    told: Callable[[float], None] | None,
) -> Contributions:
    """Compare columns in the sample, or list words."""
    model, schema = gather.learner, gather.schema
    if _has_words(model):
        return telling_words(model)
    if not gather.n_sampled:
        reason = f"There are {len(schema.names)} columns, too many to hide one after the other."
        return Contributions(None, (), reason=reason)
    sample = sample.filter(pa.array(gather.truths(Batch(sample, schema, _OWNER))[0] >= 0))
    batch = Batch(sample, schema, _OWNER)
    truth, _ = gather.truths(batch)

    def log_of_truth(rows: Any) -> F64:
        return log_posterior(model, Batch(rows, schema, _OWNER))[np.arange(len(truth)), truth]

    how: How = "hidden" if isinstance(model, GenerativeClassifier) else "shuffled"
    weight = None if schema.weight is None else batch.read_weights()
    return compare_columns(log_of_truth, sample, schema.names, how, rng, weight=weight, told=told)


def _has_words(model: Any) -> bool:
    """Tell a model of text, whose words tell more than its columns."""
    return hasattr(model, "top_words")


def _sample_size(model: Any, n_columns: int, n_classes: int) -> int:
    """Say in how many rows columns are hidden."""
    if _has_words(model) or n_columns > _MOST_COLUMNS:
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
    """Return the fitted classifier."""
    learner = fitted_learner(model)
    if not hasattr(learner, "classes_"):
        raise InputError(
            f"{_OWNER} needs a classifier. {type(learner).__name__} predicts numbers: it has no "
            "classes to decide between."
        )
    return learner


# --- numbers, from true classes, posterior and loss -----------------------------------------------


@dataclass(frozen=True, slots=True)
class Alternative(Plain):
    """Another way to act on the same rows, next to the decisions of the model.

    Attributes
    ----------
    act
        The one act that is always taken; None if the act depends on the row.
    loss
        Its mean loss.
    saved
        What the decisions of the model cost less, per row; negative if they cost more.
    standard_error
        Standard error of ``saved``; the two are compared row by row.
    """

    act: Label | None
    loss: float
    saved: float
    standard_error: float


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """What the decisions of a model did on labelled rows.

    Attributes
    ----------
    classes
        The labels.
    class_counts : ndarray of shape (K,)
        Rows of each class.
    n_rows
        Number of rows.
    loss
        The losses, with true classes and acts in the terms of the labels.
    outcome
        Mean loss, confusion, calibration of the most probable label, risk and coverage.
    standard_error
        Standard error of the mean loss.
    accuracy
        Share of the rows whose most probable label is the true one.
    most_probable
        Acting as if the most probable label were certain.
    constant
        The single act that would have cost least on these rows.
    informed
        The best act for the true class itself: no model can cost less.
    reliability
        Calibration of the label that costs more to miss, if there are two; else that of
        ``outcome``.
    cost_curve
        For two labels; None if there is none.
    no_cost_curve
        Why there is none.
    """

    classes: Labels
    class_counts: Int
    n_rows: int
    loss: Loss
    outcome: Evaluation
    standard_error: float
    accuracy: float
    most_probable: Alternative
    constant: Alternative
    informed: Alternative
    reliability: Calibration
    cost_curve: CostCurve | None
    no_cost_curve: str


def measure(
    labels: Labels, truth: Int, log_probabilities: F64, loss: Loss, weight: F64 | None = None
) -> Measures:
    """Measure decisions under a loss, from log-probabilities (n, K) in the order of the labels.

    ``truth`` holds the place of each row's label among the labels, and behind them what else may
    be true by the loss, to which the model gives no probability. Inside, labels are their places,
    because a million numbers are found faster than a million names; the results have the names.
    """
    names, order = _truths_of(loss, labels)
    coded = Loss(loss.matrix[order], range(len(names)), loss.acts, reject=loss.reject)
    posterior = seen = Posterior(log_probabilities, range(len(labels)))
    if len(names) > len(labels):
        none = np.full((len(truth), len(names) - len(labels)), -np.inf)
        posterior = Posterior(np.concatenate([log_probabilities, none], axis=1), range(len(names)))
    choice = decide(posterior, coded)
    outcome = evaluate(truth, posterior, coded, acts=choice, sample_weight=weight)
    top = posterior.log_probabilities.argmax(axis=1)
    counted = np.ones(len(truth)) if weight is None else weight
    own = coded.matrix[truth, choice.act_index]
    constant = outcome.expected_loss.constant_act
    known, within = truth < len(labels), coded
    seen_truth, seen_weight = truth, weight
    if posterior is not seen:  # of what is unseen no probability can be right
        rows = loss.matrix[order[: len(labels)]]
        within = Loss(rows, range(len(labels)), loss.acts, reject=loss.reject)
        seen, seen_truth = Posterior(log_probabilities[known], range(len(labels))), truth[known]
        seen_weight = None if weight is None else weight[known]
        measured = calibration(seen_truth, seen, sample_weight=seen_weight)
        outcome = replace(outcome, calibration=measured)
    curve, reason = _cost_curve(labels, seen_truth, seen, within, seen_weight)

    def instead(losses: F64, act: Label | None = None) -> Alternative:
        mean, _ = weighted_mean(losses, counted)
        return Alternative(act, mean, *weighted_mean(losses - own, counted))

    return Measures(
        classes=labels,
        class_counts=check.frozen(np.bincount(seen_truth, minlength=len(labels))),
        n_rows=len(truth),
        loss=loss,
        outcome=replace(
            outcome,
            confusion=replace(outcome.confusion, truths=names),
            risk_coverage=_thinned(outcome.risk_coverage),
        ),
        standard_error=weighted_mean(own, counted)[1],
        accuracy=weighted_mean((top == truth).astype(np.float64), counted)[0],
        most_probable=instead(coded.matrix[truth, _best_acts(coded)[top]]),
        constant=instead(coded.matrix[truth, loss.acts.index(constant)], constant),
        informed=instead(coded.matrix.min(axis=1)[truth]),
        reliability=_reliability(labels, seen_truth, seen, curve, outcome, seen_weight),
        cost_curve=curve,
        no_cost_curve=reason,
    )


def _best_acts(loss: Loss) -> Int:
    """Return the best act for each true class, the reject act aside."""
    allowed = [a for a, act in enumerate(loss.acts) if loss.reject is None or act != loss.reject]
    return np.array(allowed)[loss.without_reject().matrix.argmin(axis=1)]


def _thinned(curve: RiskCoverage | None) -> RiskCoverage | None:
    """Keep some points of a long curve, evenly spread, with the last; areas are those of all."""
    if curve is None or len(curve.coverage) <= _MOST_POINTS:
        return curve
    kept = np.linspace(0, len(curve.coverage) - 1, _MOST_POINTS).round().astype(np.intp)
    parts = (curve.coverage[kept], curve.risk[kept], curve.threshold[kept])
    coverage, risk, threshold = (check.frozen(part) for part in parts)
    return replace(curve, coverage=coverage, risk=risk, threshold=threshold)


def _cost_curve(
    labels: Labels, truth: Int, posterior: Posterior, loss: Loss, weight: F64 | None
) -> tuple[CostCurve | None, str]:
    """Trace the cost curve, or say why there is none."""
    if len(labels) != 2:
        n = len(labels)
        return None, f"A cost curve weighs two classes against each other; this model has {n}."
    counts = np.bincount(truth, weight, minlength=2)
    if not counts.all():
        name = labels[int(counts.argmin())]
        return None, f"A cost curve needs rows of both classes; there are none of {name!r}."
    try:
        found = cost_curve(truth, posterior, loss, sample_weight=weight)
    except InputError as error:
        return None, str(error)
    return replace(found, positive=labels[0 if found.positive == 0 else 1]), ""


def _reliability(
    labels: Labels,
    truth: Int,
    posterior: Posterior,
    curve: CostCurve | None,
    outcome: Evaluation,
    weight: F64 | None,
) -> Calibration:
    """Choose the label that costs more to miss, of two, or at the most probable one of many."""
    if len(labels) != 2:
        return outcome.calibration
    k = 1 if curve is None else labels.index(curve.positive)
    found = calibration(truth, posterior, label=k, sample_weight=weight)
    return replace(found, label=labels[k], _labels=labels)


# --- the result -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class TableEvaluation:
    """A model on a labelled table. Made by ``evaluate_table``.

    Attributes
    ----------
    model
        Name of the model's class.
    source
        Name of the table.
    target, weight
        The columns of labels and of weights; None for no weights.
    measures
        Everything about decisions and probabilities: mean loss, alternatives, confusion, curves.
    columns
        What is in each column of features.
    contributions
        What each column tells.
    unseen
        Labels unseen in fit, with their numbers of rows.
    n_left_out
        How many of these rows are left out of all measures, since the loss has no row for them.
    is_of_fit
        Whether the rows are those that the model was fitted to, or just like them.

    See Also
    --------
    credo.tables.evaluate_table : Makes one.
    credo.plots.write_report : Shows it as a page.
    """

    model: str
    source: str
    target: str
    weight: str | None
    measures: Measures
    columns: tuple[ColumnSummary, ...]
    contributions: Contributions
    unseen: Mapping[Label, int] = field(default_factory=dict)
    n_left_out: int = 0
    is_of_fit: bool = False

    @property
    def n_rows(self) -> int:
        """Number of rows that were measured."""
        return self.measures.n_rows

    @property
    def class_counts(self) -> dict[Label, int]:
        """Number of rows of each class."""
        return dict(zip(self.measures.classes, self.measures.class_counts.tolist(), strict=True))

    @property
    def accuracy(self) -> float:
        """Share of the rows whose most probable class is the true one."""
        return self.measures.accuracy

    @property
    def mean_loss(self) -> float:
        """Mean loss of the decisions."""
        return self.measures.outcome.expected_loss.value

    @property
    def predicted_loss(self) -> float:
        """Mean loss that the model itself expected of them."""
        return self.measures.outcome.predicted_risk

    @property
    def rejected_share(self) -> float:
        """Share of the rows that got the reject act."""
        return 1.0 - self.measures.outcome.confusion.coverage

    @property
    def log_loss(self) -> float:
        """Mean of minus the log-probability of the true class."""
        return self.measures.outcome.calibration.log_loss

    @property
    def brier(self) -> float:
        """Mean squared error of the probabilities, summed over the classes."""
        return self.measures.outcome.calibration.brier

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, names and numbers; what is not finite becomes None."""
        found = self.measures
        own = ("model", "source", "target", "weight", "n_rows", "n_left_out", "is_of_fit")
        loss, others = (
            ("truths", "acts", "reject", "matrix"),
            ("most_probable", "constant", "informed"),
        )
        told: dict[str, Any] = as_plain(
            {
                **{name: getattr(self, name) for name in own},
                "unseen": {str(label): n for label, n in self.unseen.items()},
                "classes": found.classes,
                "class_counts": found.class_counts,
                "accuracy": self.accuracy,
                "error": 1.0 - self.accuracy,
                "log_loss": self.log_loss,
                "brier": self.brier,
                "loss": {name: getattr(found.loss, name) for name in loss},
                "mean_loss": self.mean_loss,
                "standard_error": found.standard_error,
                "predicted_loss": self.predicted_loss,
                "rejected_share": self.rejected_share,
                "alternatives": {name: getattr(found, name) for name in others},
                **found.outcome.to_dict(),
                "reliability": found.reliability,
                "cost_curve": found.cost_curve,
                "no_cost_curve": found.no_cost_curve or None,
                "contributions": self.contributions,
                "columns": self.columns,
            }
        )
        return told

    def __repr__(self) -> str:
        found = self.measures
        head = f"{self.model} on {self.source}"
        plain = found.most_probable
        saved = f"{number(plain.saved)} more per row, standard error {number(plain.standard_error)}"
        lines = [f"  most probable class {number(plain.loss)} ({saved})"]
        if found.loss.reject is not None:
            lines.append(f"  rejected            {100 * self.rejected_share:.4g} %")
        return "\n".join([head, repr(found.outcome), *lines])
