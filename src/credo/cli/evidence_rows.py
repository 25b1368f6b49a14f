"""``credo infer --rows``: one answer for each row of a file, block by block."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from credo._types import Label
    from credo.cli.networks import Network
    from credo.cli.row_columns import Columns
    from credo.tables import CsvRows, RowBlock

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
    from credo.cli.destinations import destination, refuse_overwriting, say_json
    from credo.cli.findings import names_of
    from credo.cli.networks import Network, spoken_warnings
    from credo.cli.progress import file_progress
    from credo.tables import open_csv

    out = None if request.out is None or str(request.out) == "-" else request.out
    _check(request, out)
    refuse_overwriting(out, {"the network": request.network, "the file of rows": request.rows})
    with (
        spoken_warnings(),
        destination(out) as stream,
        file_progress("inferring") as progress,
        open_csv(request.rows, progress) as rows,
    ):
        network = Network(request.network)
        job = _Job(request, network, rows, names_of(network, request.query, "--query"))
        job.write(stream)
    if request.as_json:
        say_json({**job.summary(), "out": str(out)})
    else:
        typer.echo(job.sentence(), err=True)


def _check(request: RowsRequest, out: Path | None) -> None:
    """Refuse options that do not go together, before anything is read."""
    from credo._validation.labels import one_of
    from credo.exceptions import InputError
    from credo.inference.engines import ROW_ENGINES, check_options, lookup

    engine = lookup(request.method, ROW_ENGINES, "--method of credo infer --rows")
    check_options(engine, request.options, ROW_ENGINES, "infer --rows")
    one_of(request.on_impossible, ("error", "blank"), "credo infer", "--on-impossible")
    if request.as_json and out is None:
        raise InputError("With --rows, --json prints a summary. Pass --out for the posteriors.")
    if out is not None and out.suffix == ".gz":
        raise InputError(f"--out writes plain text. Name it {out.with_suffix('')}.")


class _Job:
    """One run over a file: what is counted on the way and how rows are written."""

    def __init__(
        self, request: RowsRequest, network: Network, rows: CsvRows, query: list[Label] | None
    ) -> None:
        from credo.cli.options import as_budget
        from credo.cli.row_columns import Columns, output_names
        from credo.inference.many import ManyEngine

        self.network = network
        self.rows = rows
        self.on_impossible = request.on_impossible
        self.columns: Columns = Columns.of(
            network, rows, request.keep, request.ignore, request.missing
        )
        self.query = list(network.model.names) if query is None else query
        self.names = output_names(network, self.columns.kept, self.query, _LOG_EVIDENCE)
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
        self.n_rows = 0
        self.n_impossible = 0
        self.n_unsettled = 0

    def write(self, stream: IO[str]) -> None:
        """Answer block by block and write rows of text."""
        writer = csv.writer(stream, lineterminator="\n")
        careful = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        odd = any("\r" in name for name in self.names)
        (careful if odd else writer).writerow(self.names)
        width = len(self.names) + len(self.rows.header)
        size = max(1, min(2**14, _BLOCK_CELLS // width))
        for block in self.rows.blocks([], self.columns.texts, size):
            inside = any("\r" in cell for row in block.texts for cell in row)
            (careful if inside else writer).writerows(self._lines(block))

    def _lines(self, block: RowBlock) -> Iterator[list[Any]]:
        """Answer a block and put together its output rows."""
        import numpy as np

        codes = self.columns.codes(block, self.rows.name)
        found = self.engine.run(codes, columns=self.columns.variables)
        self.n_rows += len(codes)
        self.n_unsettled += int((found.statuses == "MAX_SWEEPS").sum())
        blank = [""] * (len(self.names) - len(self.columns.kept))
        answers = np.hstack([found.probabilities(name) for name in self.query]).tolist()
        for i, log_evidence in enumerate(found.log_evidence.tolist()):
            kept = self.columns.kept_cells(block.texts[i])
            if log_evidence == -math.inf:
                self._count_impossible(codes[i], block.lines[i])
                yield [*kept, *blank]
            else:
                yield [*kept, *answers[i], log_evidence]

    def _count_impossible(self, codes: npt.NDArray[np.int32], line: int) -> None:
        """Count a row that cannot be, or say which of its findings conflict."""
        from credo.exceptions import ImpossibleEvidence
        from credo.inference._infer import infer

        self.n_impossible += 1
        if self.on_impossible == "blank":
            return
        findings = self.columns.evidence(codes)
        try:
            infer(self.network.model, findings, query=[], method="exact", budget=self.budget)
        except ImpossibleEvidence as error:
            raise ImpossibleEvidence(
                f"{self.rows.name}, line {line}: {error.reason} Or pass --on-impossible blank.",
                error.conflict,
            ) from None

    def summary(self) -> dict[str, Any]:
        """Give the counts."""
        return {
            "rows": self.n_rows,
            "impossible": self.n_impossible,
            "not_converged": self.n_unsettled,
            "observed": [str(name) for name in self.columns.variables],
            "variables": [str(name) for name in self.query],
        }

    def sentence(self) -> str:
        """Give the same for a person."""
        rows = "1 row" if self.n_rows == 1 else f"{self.n_rows} rows"
        each = "1 variable" if len(self.query) == 1 else f"{len(self.query)} variables"
        unsettled = f", {self.n_unsettled} not converged" if self.n_unsettled else ""
        return f"{rows}: {self.n_impossible} impossible{unsettled}; {each} each"
