"""Dask data frames: rows to learn from, and answers to each partition, lazily."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, final

import pyarrow as pa

from credo.exceptions import MissingExtraError
from credo.tables.arrow import blaming_input
from credo.tables.pieces import Step
from credo.tables.source import Part, Source, open_source

if TYPE_CHECKING:  # workers that only learn need not load all that answers
    from credo.tables.engine_answers import Answering

_NAME = "the Dask data frame"


def delayed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Put a call off; what the function holds is sent as it is."""
    from dask.delayed import delayed as put_off  # noqa: PLC0415 - an extra, loaded when it is used

    return put_off(function, pure=False, traverse=False)


def distributed() -> ModuleType:
    """Load Dask's clusters, or say how to install them."""
    try:
        import distributed as clusters  # noqa: PLC0415 - an extra, loaded when it is used
    except ImportError as error:
        raise MissingExtraError(
            "A Dask cluster needs dask and distributed, which are not installed. Run: pip install "
            "'credo[dask]'."
        ) from error
    return clusters


def is_dask_frame(frame: Any) -> bool:
    """Tell a Dask data frame from others, without loading Dask."""
    return type(frame).__module__.startswith("dask") and hasattr(frame, "to_delayed")


@final
class DaskSource(Source):
    """Rows of a Dask data frame, partition by partition, computed by a client if there is one."""

    def __init__(self, frame: Any, client: Any = None) -> None:
        self.name = _NAME
        self._frame, self._client = frame, client
        self._schema = _schema_of(frame)

    @property
    def schema(self) -> pa.Schema:
        """Names and Arrow types of all columns."""
        return self._schema

    def parts(self) -> list[Part]:
        """Make each partition a part."""
        count = self._frame.npartitions
        return [DaskPart(self._frame, place, self._client) for place in range(count)]

    def steps(self, names: list[str]) -> Iterator[Step]:
        """Compute one partition after the other."""
        chosen = DaskSource(self._frame[names], self._client)
        for done, part in enumerate(chosen.parts(), start=1):
            share = done / self._frame.npartitions
            yield from ((batch, share) for batch in part.open().batches())


@final
@dataclass(frozen=True, slots=True, eq=False)
class DaskPart:
    """A partition that is yet to be computed."""

    frame: Any
    place: int
    client: Any

    def open(self) -> Source:
        """Compute it, and fetch its rows."""
        rows = self.frame.get_partition(self.place).compute(scheduler=self.client)
        return open_source(_loaded(_schema_of(self.frame), rows), name=_NAME)


def lazy_parts(
    function: Callable[[Any], Any], parts: Sequence[Any], columns: Sequence[str] | None = None
) -> list[Any]:
    """Put off the work on each part; of a data frame only these columns are computed."""
    if not isinstance(parts[0], DaskPart):
        return [delayed(partial(function, part))() for part in parts]
    frame = parts[0].frame if columns is None else parts[0].frame[list(columns)]
    work = delayed(partial(_on_partition, function, _schema_of(frame)))
    pieces = frame.to_delayed()
    return [work(pieces[part.place]) for part in parts]


def answered(frame: Any, answering: Answering) -> Any:
    """Give the answers to a frame's rows as another frame with the same partitions and index."""
    chosen = frame[list(answering.columns)]
    work = partial(_answers, answering, _schema_of(chosen))
    return chosen.map_partitions(work, meta=work(chosen._meta))  # noqa: SLF001 - its name in Dask


def _answers(answering: Answering, schema: pa.Schema, frame: Any) -> Any:
    """Answer the rows of a pandas data frame; what is kept stays as it was."""
    answers = answering(_loaded(schema, frame)).to_pandas()
    answers.index = frame.index
    for name in answering.keep:
        answers[name] = frame[name]
    return answers


def _on_partition(function: Callable[[Any], Any], schema: pa.Schema, frame: Any) -> Any:
    """Work on a partition that is here as a pandas data frame."""
    return function(open_source(_loaded(schema, frame), name=_NAME))


def _loaded(schema: pa.Schema, frame: Any) -> pa.Table:
    """Take a pandas data frame over into Arrow."""
    with blaming_input(_NAME):
        table = pa.Table.from_pandas(frame, schema, preserve_index=False)
    return table.replace_schema_metadata()


def _schema_of(frame: Any) -> pa.Schema:
    """Find the Arrow types of a frame's columns from what Dask knows of them."""
    from dask.dataframe import utils  # noqa: PLC0415 - the frame has loaded it

    types = frame._meta  # noqa: SLF001 - Dask's name for a frame without rows
    example = utils.meta_nonempty(types)  # type: ignore[attr-defined]  # not listed in __all__
    with blaming_input(_NAME):
        return pa.Schema.from_pandas(example, preserve_index=False).remove_metadata()
