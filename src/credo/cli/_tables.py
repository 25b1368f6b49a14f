"""What the commands for tables share: models, losses, clusters, and how a fit is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from credo.cli._console import Wait, count_text, plural, say, say_json, shown
from credo.exceptions import InputError

if TYPE_CHECKING:
    from credo.decisions import Loss

#: Classes that are listed on one line.
MOST_CLASSES = 8


def source_of(tables: Sequence[Path]) -> str | list[str]:
    """Return one file or folder by its name, several as a list; all must be there."""
    for table in tables:
        table.stat()
    names = [str(table) for table in tables]
    return names[0] if len(names) == 1 else names


@contextmanager
def engine_of(dask: str | None, spark: str | None) -> Iterator[Any]:
    """Connect to the cluster that was asked for; None for this process."""
    from credo import tables

    if dask is not None and spark is not None:
        raise InputError("--dask and --spark are two places to run. Pass one of them.")
    if dask is not None:
        with tables.DaskEngine(None if dask == "local" else dask) as engine:
            yield engine
    elif spark is not None:
        with tables.SparkEngine(spark) as engine:
            yield engine
    else:
        yield None


# --- models ---------------------------------------------------------------------------------------


def open_model(path: Path) -> Any:
    """Load a model that was fitted to a table, or say what else the file holds."""
    from credo.storage import load
    from credo.tables import TableSchema

    model = load(path)
    if not isinstance(getattr(model, "schema_", None), TableSchema):
        raise InputError(
            f"{path} holds a {type(model).__name__} that knows no table: its columns have no "
            "names to find again. Fit it with credo fit or credo.fit_table."
        )
    return model


def learner_in(model: Any) -> Any:
    """Return the model that learned, which may decide by a loss."""
    return getattr(model, "estimator_", model)


def facts_of(model: Any) -> dict[str, Any]:
    """Return what a model is and from how many rows it learned, weighted, if it keeps a summary."""
    learner = learner_in(model)
    summary = getattr(learner, "summary_", None)
    weights: Any = getattr(summary, "weights", getattr(summary, "documents", None))
    labels: Any = getattr(learner, "classes_", None)
    by_class = None
    if labels is not None and weights is not None:
        by_class = dict(zip(labels.tolist(), weights.tolist(), strict=True))
    return {
        "model": type(learner).__name__,
        "rows": None if weights is None else float(weights.sum()),
        "classes": None if labels is None else labels.tolist(),
        "class_weights": by_class,
    }


def tell_fit(
    model: Any, wait: Wait, out: Path, *, update: bool = False, quiet: bool, as_json: bool
) -> None:
    """Say what a model has learned, from how much, and where it is."""
    record = {"out": str(out), **facts_of(model)}
    if update:
        record["rows_added"] = wait.done or None
    else:
        record["rows"] = wait.done or record["rows"]
    record |= {"features": list(model.schema_.names), "target": model.schema_.target}
    record |= {"bytes": out.stat().st_size, **wait.record()}
    if as_json:
        say_json(record)
    elif not quiet:
        told = [f"{out}: {record['model']}"]
        told += [] if record["rows"] is None else [plural(record["rows"], "row")]
        told += [plural(len(record["features"]), "feature")]
        if record["classes"] is not None:
            number = plural(len(record["classes"]), "class", "classes")
            told += [f"{number}: {classes_text(record, MOST_CLASSES)}"]
        say("\n".join(filter(None, [", ".join(told), wait.sentence()])))


def classes_text(record: dict[str, Any], most: int) -> str:
    """List the classes of a record with their rows, if these are known."""
    weights = record["class_weights"]
    rows = [""] * len(record["classes"]) if weights is None else map(count_text, weights.values())
    pairs = zip(map(shown, record["classes"]), rows, strict=True)
    return listed((f"{label} {n}".rstrip() for label, n in pairs), most)


def listed(texts: Iterable[str], most: int) -> str:
    """List the first few of some texts, and say how many there are."""
    every = list(texts)
    more = "" if len(every) <= most else f", … ({len(every)} in all)"
    return ", ".join(every[:most]) + more


# --- losses ---------------------------------------------------------------------------------------


def read_loss(path: Path, reject: float | None) -> Loss:
    """Read a loss and add the reject act."""
    from credo.decisions import Loss

    return _with_reject(Loss.from_csv(path), reject, str(path))


def refuse_loss(learner: Any) -> None:
    """Refuse losses for a model that decides between no classes."""
    if not hasattr(learner, "predict_proba"):
        raise InputError(
            f"--loss and --reject are for classes, and a {type(learner).__name__} predicts numbers."
        )


def loss_of(
    model: Any, path: Path | None, reject: float | None, *, more: bool = False
) -> Loss | None:
    """Return the loss to decide by: that of a file, or the model's own, None for zero-one.

    With ``more`` that of a file may also be about labels that the model does not know.
    """
    learner, own = learner_in(model), getattr(model, "loss", None)
    if path is None and reject is None:
        return own
    refuse_loss(learner)
    given = None if path is None else read_loss(path, reject)
    return loss_for(learner.classes_.tolist(), given, own, reject, more=more)


def loss_for(
    labels: Sequence[Any],
    given: Loss | None,
    own: Loss | None,
    reject: float | None,
    *,
    more: bool = False,
) -> Loss:
    """Return a loss in terms of the labels.

    ``given`` comes from a file and has its reject act; without one, the reject act is added to
    what the model brings, zero-one by default.
    """
    from credo.decisions import Loss, decide
    from credo.tables.predict import loss_for as matched

    if given is None:
        own = Loss.zero_one(labels) if own is None else own
        return _with_reject(own, reject, "The model's loss")
    loss = matched(tuple(labels), given)
    if not more:
        decide([1 / len(labels)] * len(labels), loss, labels=labels)  # refuses other names
    return loss


def _with_reject(loss: Loss, cost: float | None, name: str) -> Loss:
    """Add a reject act, unless there is one."""
    if cost is None:
        return loss
    if loss.reject is not None or "reject" in loss.acts:
        raise InputError(f"{name} has an act 'reject' already; leave --reject out.")
    return loss.with_reject(cost)
