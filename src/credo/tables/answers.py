"""Answers to the rows of Dask and Spark data frames, in their partitions: scores and beliefs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from threading import get_ident
from typing import Any, Literal, final

import numpy as np
import pyarrow as pa

from credo import _checks as check
from credo._types import Label
from credo.decisions import Loss
from credo.exceptions import InputError, LabelError
from credo.inference.many import ManyEngine
from credo.storage import pack, unpack
from credo.tables import dask, spark
from credo.tables.predict import Scoring

#: As ``credo infer --rows`` calls it.
_LOG_EVIDENCE = "ln P(evidence)"
_ASKER = "infer_partitions"


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
    return _library(frame, "predict_partitions").answer(frame, Scoring(model, loss, keep))


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
        If a column is not a variable. A cell that is not a state is found when its partition is
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
    library = _library(frame, _ASKER)
    asking = Asking(network, tuple(frame.columns), query, keep, ignore, options)
    return library.answer(frame, asking)


def _library(frame: Any, owner: str) -> Any:
    """Return what answers the rows of a frame where they are; refuse what has no partitions."""
    if dask.is_dask_frame(frame):
        return dask
    if spark.is_spark_frame(frame):
        return spark
    raise InputError(
        f"{owner} needs a data frame of Dask or Spark. Got {type(frame).__name__}. For files and "
        "frames in memory use credo.predict_table, or credo.infer_many."
    )


@final
class Asking:
    """Beliefs of a network's variables, given the evidence in each row.

    Parameters
    ----------
    network
        It travels as a model file.
    names
        The columns of the frame.
    query
        Variables that are wanted; None for all.
    keep, ignore
        Columns to hand on, and columns to leave out.
    options
        Of ``credo.infer_many``.
    """

    def __init__(
        self,
        network: Any,
        names: Sequence[str],
        query: Sequence[Label] | None,
        keep: Sequence[str],
        ignore: Sequence[str],
        options: Mapping[str, Any],
    ) -> None:
        known: dict[str, Label] = {str(name): name for name in network.names}
        for name in (*keep, *ignore):
            check.position(name, tuple(names), "column", _ASKER)
        for name in names:
            if name not in {*known, *keep, *ignore}:
                variables = tuple(known)
                raise LabelError(
                    f"{_ASKER}: the column {name!r} is not a variable. The network has "
                    f"{check.listing(variables)}.{check.hint(name, variables)} Pass "
                    f"keep=[{name!r}] to hand it on, or ignore=[{name!r}]."
                )
        self.keep = tuple(keep)
        self._evidence = {
            name: known[name] for name in names if name in known and name not in ignore
        }
        if not self._evidence:
            raise InputError(f"{_ASKER}: no column of the frame is a variable of the network.")
        self.columns = tuple(name for name in names if name in {*keep, *self._evidence})
        self._query = tuple(network.names) if query is None else tuple(query)
        self._network = pack(network)
        self._options = tuple({"threads": 1, **options}.items())
        self._names = _answer_names(network, self._query, self.keep)

    def __call__(self, table: pa.Table) -> pa.Table:
        """Infer the beliefs for each row."""
        engine = _engine(self._network, self._query, self._options, get_ident())
        found = engine.run(self._rows(table))
        beliefs = [column for name in self._query for column in found.probabilities(name).T]
        columns = [table[name] for name in self.keep]
        answers = [pa.array(np.ascontiguousarray(each)) for each in (*beliefs, found.log_evidence)]
        return pa.table([*columns, *answers], names=[*self.keep, *self._names])

    def _rows(self, table: pa.Table) -> Any:
        """Return the evidence as infer_many takes it."""
        if all(name == label for name, label in self._evidence.items()):
            return table.select(list(self._evidence))
        return {label: table[name].to_pylist() for name, label in self._evidence.items()}


@lru_cache(maxsize=8)
def _engine(network: bytes, query: tuple[Label, ...], options: Any, _thread: int) -> ManyEngine:
    """Compile a network, once for each thread: an engine serves one at a time."""
    return ManyEngine(unpack(network), query=query, **dict(options))


def _answer_names(network: Any, query: tuple[Label, ...], keep: tuple[str, ...]) -> list[str]:
    """Name the columns of the beliefs, each once."""
    states = [f"{name}={state}" for name in query for state in network[name].states]
    names = [*states, _LOG_EVIDENCE]
    for name, n in Counter([*keep, *names]).items():
        if n > 1:
            raise InputError(
                f"{_ASKER}: the result would have two columns {name!r}. Rename the one in the "
                "frame, or leave it out of keep."
            )
    return names
