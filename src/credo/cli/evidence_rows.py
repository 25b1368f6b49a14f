"""``credo infer --rows``: one answer for each row of a file, block by block."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import typer

from credo.cli import row_files

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from credo._types import Label
    from credo.cli.networks import Network
    from credo.tables import Source

#: Cells of a block, in and out together: some tens of megabytes as Python objects.
_BLOCK_CELLS = 2**20
_LOG_EVIDENCE = "ln P(evidence)"


@dataclass(frozen=True, slots=True)
class RowsRequest:
    """What the command line asked for."""

    network: Path
    rows: str
    out: Path | None
    query: list[str] | None
    keep: list[str]
    ignore: list[str]
    missing: list[str]
    on_impossible: str
    method: str
    seed: int
    options: dict[str, Any]  #: settings of the method
    budget: str
    as_json: bool


def answer_rows(request: RowsRequest) -> None:
    """Answer each row and write the posteriors to a file or to the standard output."""
    import pyarrow as pa

    from credo import _checks as check
    from credo.cli.destinations import destination, refuse_overwriting, say_json
    from credo.cli.findings import names_of
    from credo.cli.networks import Network, spoken_warnings
    from credo.cli.table_progress import row_progress
    from credo.exceptions import InputError
    from credo.inference.engines import ROW_ENGINES, check_options, lookup

    engine = lookup(request.method, ROW_ENGINES, "--method of credo infer --rows")
    check_options(engine, request.options, ROW_ENGINES, "infer --rows")
    check.one_of(request.on_impossible, ("error", "blank"), "--on-impossible of credo infer")
    out = row_files.checked_out(request.out)
    if request.as_json and out is None:
        raise InputError("With --rows, --json prints a summary. Pass --out for the posteriors.")
    refuse_overwriting(out, {"the network": request.network, "the file of rows": request.rows})
    with spoken_warnings(), destination(out) as stream, row_progress("inferring") as progress:
        network = Network(request.network)
        types = dict.fromkeys([*network.names, *request.keep], pa.string())
        with row_files.open_rows(request.rows, types) as rows:
            job = _Job(request, network, rows, names_of(network, request.query, "--query"))
            job.write(stream, progress)
    if request.as_json:
        say_json({**job.summary(), "out": str(out)})
    else:
        typer.echo(job.sentence(), err=True)


class _Job:
    """One run over a file: what is counted on the way and how rows are written."""

    def __init__(
        self, request: RowsRequest, network: Network, rows: Source, query: list[Label] | None
    ) -> None:
        from credo.cli.options import as_budget
        from credo.exceptions import InputError
        from credo.inference.many import ManyEngine

        self.network, self.rows, self.keep = network, rows, request.keep
        self.on_impossible = request.on_impossible
        self.columns = _evidence_columns(network, rows, request.keep, request.ignore)
        self.variables = [network.names[name] for name in self.columns]
        self.missing = ["", *(text.strip() for text in request.missing)]
        for name, text in product(self.variables, self.missing):
            if text in network.states(name):
                raise InputError(
                    f"--missing {text!r} is a state of variable {name!r}. Rename it in the file, "
                    "or leave --missing out."
                )
        self.query = list(network.model.names) if query is None else query
        answers = [f"{name}={state}" for name in self.query for state in network.states(name)]
        self.names = [*self.keep, *answers, _LOG_EVIDENCE]
        row_files.refuse_twice(self.names)
        self.budget = as_budget(request.budget)
        self.engine = ManyEngine(
            network.model,
            query=query,
            method=request.method,  # type: ignore[arg-type]  # checked
            on_impossible="nan",
            budget=self.budget,
            seed=request.seed,
            **request.options,
        )
        self.n_rows = self.n_impossible = self.n_unsettled = 0

    def write(self, stream: IO[str], progress: Any) -> None:
        """Answer block by block and write rows of text."""
        writer = row_files.RowWriter(stream, self.names)
        size = max(1, min(2**14, _BLOCK_CELLS // (len(self.names) + len(self.columns))))
        wanted = dict.fromkeys([*self.keep, *self.columns])
        for batch in self.rows.batches(list(wanted), progress):
            for start in range(0, batch.num_rows, size):
                block = batch.slice(start, size)
                kept = row_files.as_texts(block, self.keep)
                writer.write(self._lines(kept, self._codes(block)), kept)

    def _codes(self, block: Any) -> npt.NDArray[np.int32]:
        """Find the states of a block's cells by their text, -1 where nothing was observed."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        from credo import _checks as check
        from credo.exceptions import LabelError

        codes = np.empty((block.num_rows, len(self.columns)), np.int32)
        for j, (column, name) in enumerate(zip(self.columns, self.variables, strict=True)):
            cells = row_files.cast_column(block, column, pa.string())
            words = pc.utf8_trim_whitespace(cells.fill_null(""))
            states = tuple(self.network.states(name))
            found = pc.index_in(words, pa.array(states, pa.string()))
            codes[:, j] = np.from_dlpack(found.fill_null(-1))  # an array would load pandas
            known = pc.or_(found.is_valid(), pc.is_in(words, pa.array(self.missing)))
            if (first := pc.index(known, False).as_py()) >= 0:
                try:
                    check.position(words[first].as_py(), states, "state", f"variable {name!r}")
                except LabelError as error:
                    reason = f"{error} Pass --missing TEXT for text that means not observed."
                    raise self.rows.fault_at(reason, self.n_rows + first + 1) from None
        return codes

    def _lines(self, kept: list[list[str]], codes: npt.NDArray[np.int32]) -> Iterator[list[Any]]:
        """Answer a block and put together its output rows."""
        import numpy as np

        found = self.engine.run(codes, columns=self.variables)
        self.n_unsettled += int((found.statuses == "MAX_SWEEPS").sum())
        every = [*(found.probabilities(name) for name in self.query), found.log_evidence[:, None]]
        for cells, answers, observed in zip(kept, np.hstack(every).tolist(), codes, strict=True):
            self.n_rows += 1
            if answers[-1] == -math.inf:
                self._count_impossible(observed)
                answers[:] = [""] * len(answers)
            yield [*cells, *answers]

    def _count_impossible(self, codes: npt.NDArray[np.int32]) -> None:
        """Count a row that cannot be, or say which of its findings conflict."""
        from credo.exceptions import ImpossibleEvidence
        from credo.inference._infer import infer

        self.n_impossible += 1
        if self.on_impossible == "blank":
            return
        findings = {
            name: self.network.model[name].states[code]
            for name, code in zip(self.variables, codes.tolist(), strict=True)
            if code >= 0
        }
        try:
            infer(self.network.model, findings, query=[], method="exact", budget=self.budget)
        except ImpossibleEvidence as error:
            reason = f"{error.reason} Or pass --on-impossible blank."
            place = self.rows.fault_at(reason, self.n_rows)
            raise ImpossibleEvidence(str(place), error.conflict) from None

    def summary(self) -> dict[str, Any]:
        """Return the counts."""
        return {
            "rows": self.n_rows,
            "impossible": self.n_impossible,
            "not_converged": self.n_unsettled,
            "observed": [str(name) for name in self.variables],
            "variables": [str(name) for name in self.query],
        }

    def sentence(self) -> str:
        """Return the same for a person."""
        rows = "1 row" if self.n_rows == 1 else f"{self.n_rows} rows"
        each = "1 variable" if len(self.query) == 1 else f"{len(self.query)} variables"
        unsettled = f", {self.n_unsettled} not converged" if self.n_unsettled else ""
        return f"{rows}: {self.n_impossible} impossible{unsettled}; {each} each"


def _evidence_columns(
    network: Network, rows: Source, keep: list[str], ignore: list[str]
) -> list[str]:
    """Return the columns that hold findings; one that is neither variable nor named is an error."""
    from credo import _checks as check
    from credo.exceptions import LabelError

    header = tuple(rows.schema.names)
    for name in (*keep, *ignore):
        check.position(name, header, "column", rows.name)
    used = [name for name in header if name not in ignore]
    for column in used:
        if column not in network.names and column not in keep:
            try:
                network.name(column)
            except LabelError as error:
                raise LabelError(
                    f"{rows.name}: the column {column!r} is no variable. {error} Pass --keep "
                    f"{column!r} to hand it through, or --ignore {column!r}."
                ) from None
    return [name for name in used if name in network.names]
