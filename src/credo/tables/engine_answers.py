"""Answers to the rows of a table, wherever they are: scores of a model, beliefs of a network."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from threading import get_ident
from typing import Any, final

import numpy as np
import pyarrow as pa

from credo._types import Label
from credo._validation.labels import position
from credo.decisions import Loss
from credo.exceptions import InputError, LabelError
from credo.inference.many import ManyEngine
from credo.storage import pack, unpack
from credo.tables.checking import schema_of_model
from credo.tables.pieces import BATCH_ROWS
from credo.tables.scoring import score_batch

#: As ``credo infer --rows`` calls it.
_LOG_EVIDENCE = "ln P(evidence)"
_ASKER = "infer_partitions"


class Answering(ABC):
    """Turns rows into answers, one for each; it travels to wherever the rows are.

    Attributes
    ----------
    columns
        The columns that are read.
    keep
        Those among them that are handed on.
    """

    columns: tuple[str, ...]
    keep: tuple[str, ...]

    @abstractmethod
    def __call__(self, table: pa.Table) -> pa.Table:
        """Answer the rows of a table, in their order."""

    def schema(self, columns: pa.Schema) -> pa.Schema:
        """Give the columns of the answers to rows with such columns."""
        return self(columns.empty_table()).schema


@final
class Scoring(Answering):
    """Scores of a model, which travels as a model file."""

    def __init__(self, model: Any, loss: Loss | None = None, keep: Sequence[str] = ()) -> None:
        names = schema_of_model(model, "predict_partitions").names
        self.keep = tuple(keep)
        self.columns = (*names, *(name for name in self.keep if name not in names))
        self._model, self._loss = pack(model), loss

    def __call__(self, table: pa.Table) -> pa.Table:
        """Score the rows."""
        model = _unpacked(self._model)
        batches = table.combine_chunks().to_batches(BATCH_ROWS) or [_no_rows(table)]
        return pa.Table.from_batches(
            [score_batch(model, batch, self._loss, self.keep) for batch in batches]
        )

    def part(self, part: Any) -> pa.Table:
        """Score the rows of a part of a table."""
        opened = part.open()
        schema = pa.schema([opened.schema.field(name) for name in self.columns])
        return self(pa.Table.from_batches(opened.batches(self.columns), schema))


@final
class Asking(Answering):
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
            position(name, tuple(names), _ASKER, "column")
        self.keep = tuple(keep)
        self._evidence = {
            name: known[name] for name in names if _is_evidence(name, known, keep, ignore)
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
        """Give the evidence as infer_many takes it."""
        if all(name == label for name, label in self._evidence.items()):
            return table.select(list(self._evidence))
        return {label: table[name].to_pylist() for name, label in self._evidence.items()}


@lru_cache(maxsize=8)
def _engine(network: bytes, query: tuple[Label, ...], options: Any, _thread: int) -> ManyEngine:
    """Compile a network, once for each thread: an engine serves one at a time."""
    return ManyEngine(unpack(network), query=query, **dict(options))


@lru_cache(maxsize=4)
def _unpacked(model: bytes) -> Any:
    """Open a model, once in a process."""
    return unpack(model)


def _answer_names(network: Any, query: tuple[Label, ...], keep: tuple[str, ...]) -> list[str]:
    """Name the columns of the beliefs, each once."""
    states = [f"{name}={state}" for name in query for state in network[name].states]
    names = [*states, _LOG_EVIDENCE]
    seen = set(keep)
    for name in names:
        if name in seen:
            raise InputError(
                f"{_ASKER}: the result would have two columns {name!r}. Rename the one in the "
                "frame, or leave it out of keep."
            )
        seen.add(name)
    return names


def _no_rows(table: pa.Table) -> Any:
    """Give a batch without rows."""
    return pa.RecordBatch.from_pylist([], schema=table.schema)


def _is_evidence(
    name: str, known: Mapping[str, Label], keep: Sequence[str], ignore: Sequence[str]
) -> bool:
    """Tell whether a column holds findings; one that nobody knows is an error."""
    if name in ignore:
        return False
    if name in known or name in keep:
        return name in known
    try:
        position(name, tuple(known), "the network", "variable")
    except LabelError as error:
        raise LabelError(
            f"{_ASKER}: the column {name!r} is no variable. {error} Pass keep=[{name!r}] "
            f"to hand it on, or ignore=[{name!r}]."
        ) from None
    return True
