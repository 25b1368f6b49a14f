"""Data frames of Dask and Spark: scored and inferred where their partitions are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from credo._types import Label
from credo.decisions import Loss
from credo.exceptions import InputError
from credo.tables import dask_frames, spark_frames
from credo.tables.engine_answers import Answering, Asking, Scoring


def predict_partitions(
    model: Any, frame: Any, loss: Loss | None = None, keep: Sequence[str] = ()
) -> Any:
    """Score the rows of a Dask or Spark data frame where they are; lazily.

    Parameters
    ----------
    model : fitted model
        Fitted by ``fit_table``, or loaded from a file.
    frame : dask.dataframe.DataFrame or pyspark.sql.DataFrame
        With the columns of the model; others are not read.
    loss : Loss, optional
        What errors cost; by default the loss of a ``DecisionClassifier``, else zero-one.
    keep : sequence of str
        Columns to hand on, such as an identifier.

    Returns
    -------
    data frame
        Of the same library, nothing of it computed yet. Columns as ``predict_table`` has them. A
        Dask data frame has the partitions and the index of the one that was passed.

    Raises
    ------
    InputError
        If it is no such frame, or a kept column has the name of one of the result. A wrong cell
        is found when its partition is computed.

    See Also
    --------
    credo.predict_table : The same for files and for frames in memory.

    Notes
    -----
    The model travels as a model file, and is opened once in each process. The numbers are those of
    ``predict_table``.

    Examples
    --------
    >>> import credo, dask.dataframe as dd, pandas as pd
    >>> rows = pd.DataFrame({"x": [1.0, 2.0, 5.0, 7.0], "y": ["no", "no", "yes", "yes"]})
    >>> model = credo.fit_table(credo.GaussianClassifier("tied"), rows)
    >>> scored = predict_partitions(model, dd.from_pandas(rows, npartitions=2), keep=["x"])
    >>> scored.compute()["act"].tolist()
    ['no', 'no', 'yes', 'yes']
    """
    return _answered(frame, Scoring(model, loss, keep), "predict_partitions")


def infer_partitions(
    network: Any,
    frame: Any,
    *,
    query: Sequence[Label] | None = None,
    keep: Sequence[str] = (),
    ignore: Sequence[str] = (),
    on_impossible: Literal["raise", "nan"] = "raise",
    **options: Any,
) -> Any:
    """Infer a network's variables for each row of a Dask or Spark data frame; lazily.

    Parameters
    ----------
    network : BayesianNetwork, MarkovNetwork or FactorGraph
        The model.
    frame : dask.dataframe.DataFrame or pyspark.sql.DataFrame
        Columns are variables, cells are states; null where nothing was observed.
    query : sequence, optional
        The variables that are wanted; all by default.
    keep : sequence of str
        Columns to hand on. One that is a variable is evidence too.
    ignore : sequence of str
        Columns to leave out. A column that is no variable must be kept or ignored.
    on_impossible : {"raise", "nan"}
        What to do about rows of probability zero.
    **options
        As for :func:`credo.infer_many`: ``method``, ``budget``, ``seed`` and others.

    Returns
    -------
    data frame
        Of the same library, nothing of it computed yet. Columns: those kept; ``variable=state``
        for each state of each variable; ``ln P(evidence)``. As ``credo infer --rows`` writes them.

    Raises
    ------
    LabelError
        If a column is no variable. A cell that is no state is found when its partition is
        computed.

    See Also
    --------
    credo.infer_many : The same for rows in memory.

    Notes
    -----
    The network is compiled once in each process, and runs there on one thread.

    Examples
    --------
    >>> import credo, dask.dataframe as dd, pandas as pd
    >>> net = credo.chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=3)
    >>> rows = dd.from_pandas(pd.DataFrame({"x0": [0, 1]}), npartitions=2)
    >>> infer_partitions(net, rows, query=["x1"]).compute()["x1=1"].round(3).tolist()
    [0.1, 0.8]
    """
    options["on_impossible"] = on_impossible
    _check(frame, "infer_partitions")
    asking = Asking(network, tuple(frame.columns), query, keep, ignore, options)
    return _answered(frame, asking, "infer_partitions")


def _answered(frame: Any, answering: Answering, owner: str) -> Any:
    """Answer the rows with the library that holds them."""
    _check(frame, owner)
    if dask_frames.is_dask_frame(frame):
        return dask_frames.answered(frame, answering)
    return spark_frames.answered(frame, answering)


def _check(frame: Any, owner: str) -> None:
    """Refuse what is no frame in partitions."""
    if not dask_frames.is_dask_frame(frame) and not spark_frames.is_spark_frame(frame):
        raise InputError(
            f"{owner} needs a data frame of Dask or Spark. Got {type(frame).__name__}. For files "
            "and frames in memory use credo.predict_table, or credo.infer_many."
        )
