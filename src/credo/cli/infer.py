"""``credo infer``: the probabilities of a network's variables, for one question or many rows."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from credo.cli import _options as given
from credo.cli._console import (
    Wait,
    bound_text,
    check_out,
    note,
    plural,
    say,
    say_json,
    shown,
    table_text,
)
from credo.cli._networks import Network
from credo.cli._options import as_budget, engine_of_method, method_options, opt
from credo.cli._rows import check_names, column_of, open_rows, place_for, write_rows
from credo.exceptions import ImpossibleEvidence, InputError, LabelError
from credo.inference.engines import ENGINES, ROW_ENGINES, promising

#: Details of an engine that a person should see.
_TOLD = {
    "draws": "draws",
    "worst_r_hat": "worst R-hat",
    "least_effective_sample_size": "effective draws",
    "effective_sample_size": "effective draws",
}
#: Cells of a block of rows, in and out together: some tens of megabytes.
_BLOCK_CELLS = 2**20
#: Width of the lines where nobody watches, so that the output is the same everywhere.
_WIDTH = 100

_JEFFREY = (
    "Probabilities that variables must end up with (Jeffrey's rule); a file as for --likelihood."
)
_ROWS = (
    "CSV (also .gz or .tsv), Parquet, Arrow or Feather, one question per row: columns are "
    "variables, an empty cell was not observed. '-' reads the standard input."
)
_KEEP = "With --rows: column to hand through, such as an id; repeatable."
_IGNORE = "With --rows: column that is no evidence, such as a truth; repeatable."
_MISSING = "With --rows: text that means not observed, as ? or NA; repeatable."
_OUT = f"With --rows: {given.ROWS_OUT}"
_IMPOSSIBLE = "With --rows: 'error' stops at an impossible row, 'blank' leaves it empty."
_METHOD = (
    f"Exact: {promising(ENGINES, 'exact')}, or exact for the cheapest. Approximate: "
    f"{promising(ENGINES, 'estimate', 'lower', 'upper', 'samples')}. auto is exact, and "
    "approximate where that exceeds the budget."
)
_FAILURE = "If sweeps do not settle: 'warn', 'raise' an error, or 'return' in silence."


@method_options(ENGINES, ROW_ENGINES, without=("start",))
def infer(
    *,
    network: given.NetworkFile,
    rows: Annotated[str | None, opt(_ROWS, given.READ)] = None,
    ignore: Annotated[list[str] | None, opt(_IGNORE, given.READ)] = None,
    missing: Annotated[list[str] | None, opt(_MISSING, given.READ)] = None,
    evidence: given.Evidence = None,
    query: given.Query = None,
    likelihood: given.Likelihood = None,
    jeffrey: Annotated[Path | None, opt(_JEFFREY, given.ASK)] = None,
    method: Annotated[
        str, opt(_METHOD, given.METHOD, autocompletion=lambda: list(ENGINES))
    ] = "auto",
    seed: given.Seed = 0,
    on_failure: Annotated[Literal["warn", "raise", "return"], opt(_FAILURE, given.METHOD)] = "warn",
    budget: given.Budget = "4GB",
    options: dict[str, Any],
    keep: Annotated[list[str] | None, opt(_KEEP, given.OUTPUT)] = None,
    on_impossible: Annotated[Literal["error", "blank"], opt(_IMPOSSIBLE, given.OUTPUT)] = "error",
    out: Annotated[Path | None, opt(_OUT, given.OUTPUT)] = None,
    as_json: given.AsJson = False,
) -> None:
    """Compute the probabilities of a network's variables, given evidence.

    With --rows, once for each row of a file, which may be larger than the memory.
    """
    registry, command = (
        (ENGINES, "credo infer") if rows is None else (ROW_ENGINES, "credo infer --rows")
    )
    engine = engine_of_method(method, options, registry, command)
    options |= {"method": engine.name, "seed": seed, "budget": as_budget(budget)}
    one = {"evidence": evidence, "likelihood": likelihood, "jeffrey": jeffrey}
    many = {"keep": keep or [], "ignore": ignore or [], "missing": missing or []}
    if rows is None:
        blank = on_impossible != "error"
        _refuse({**many, "out": out, "on-impossible": blank}, "goes with --rows only")
        _answer_one(network, query, one, {**options, "on_failure": on_failure}, as_json)
    else:
        _refuse({**one, "on-failure": on_failure != "warn"}, "does not go with --rows")
        out = check_out(out, {"the network": network, "the file of rows": rows}, or_stream=True)
        if as_json and out is None:
            raise InputError("With --rows, --json prints a summary. Pass --out for the posteriors.")
        _answer_rows(network, rows, out, query, many, on_impossible, options, as_json)


def _refuse(given: dict[str, Any], reason: str) -> None:
    """Refuse options that were given and do not fit the question."""
    for name, value in given.items():
        if value:
            raise InputError(f"--{name} {reason}. Leave it out.")


def _answer_one(
    network: Path,
    query: list[str] | None,
    given: dict[str, Any],
    options: dict[str, Any],
    as_json: bool,
) -> None:
    """Answer a single question and print it."""
    from credo.inference import infer as answer

    with Wait("inferring") as wait:
        net = Network(network)
        if "callback" in ENGINES[options["method"]].options:
            options["callback"] = wait.draws if options["method"] == "samples" else wait.sweeps
        post = answer(
            net.model,
            net.evidence(given["evidence"]),
            likelihood=net.weights(given["likelihood"]),
            jeffrey=net.weights(given["jeffrey"]),
            query=net.chosen(query, "--query"),
            **options,
        )
        record = _record(post)
    if as_json:
        say_json(record)
        return
    temperature = options.get("temperature", 1)
    quantity = net.quantity
    if temperature != 1:  # the log evidence is that of another model
        quantity = f"ln Z at {temperature:g}" if temperature else "ln best score"
    say(f"{_marginals_text(record['variables'])}\n\n{table_text(_facts(record, quantity))}")


def _record(post: Any) -> dict[str, Any]:
    """Return by name what was found, and how."""
    import numpy as np

    from credo import _checks as check

    try:
        log_evidence = post.log_evidence
    except InputError:  # it costs more than the marginals, or was not estimated
        log_evidence = None
    record = {
        "variables": post.to_dict(),
        "log_evidence": log_evidence,
        "log_evidence_is": post.log_evidence_is,
        "engine": post.engine,
        "status": post.status,
    }
    if post.plan is not None:
        return record
    details = {name: each for name, each in post.details.items() if np.isscalar(each)}
    return {
        **record,
        "sweeps": post.sweeps,
        "residual": float(post.residuals[-1]) if post.sweeps else None,
        "updates": post.updates,
        "period": post.period,
        "why": post.why,
        "details": {name: check.plain(each) for name, each in details.items()},
    }


def _facts(record: dict[str, Any], quantity: str) -> Iterator[tuple[str, str]]:
    """Say for a person what was found beside marginals, and how."""
    found, kind = record["log_evidence"], record["log_evidence_is"].lower().replace("_", " ")
    if "sweeps" not in record:
        yield quantity, "needs more memory than the budget" if found is None else f"{found:.8g}"
        yield "engine", record["engine"]
        return
    yield quantity, "not estimated" if found is None else f"{bound_text(found, kind)} ({kind})"
    yield "engine", record["engine"]
    period = f", back after {record['period']} sweeps" if record["period"] else ""
    yield "status", f"{record['status']}{period}"
    if record["sweeps"] and record["status"] != "SAMPLED":
        yield "sweeps", f"{record['sweeps']}"
        yield "last residual", f"{record['residual']:.3g}"
    for name, words in _TOLD.items():
        if (value := record["details"].get(name)) is not None:
            yield words, f"{value:.4g}" if isinstance(value, float) else f"{value}"
    yield from (("" if i else "why", reason) for i, reason in enumerate(record["why"]))


def _marginals_text(marginals: dict[Any, dict[Any, float]]) -> str:
    """List variables, with the probabilities of their states beside them."""
    cells = {
        shown(name): [f"{shown(state)} {p:.6g}" for state, p in states.items()]
        for name, states in marginals.items()
    }
    watched = sys.stdout is not None and sys.stdout.isatty()
    line = shutil.get_terminal_size().columns if watched else _WIDTH
    first = max(len("variable"), *map(len, cells))
    room = max(1, (line - first) // (max(len(each) for row in cells.values() for each in row) + 2))
    rows = [["variable", *[""] * room]]
    for name, states in cells.items():
        row = [*states, *[""] * (-len(states) % room)]
        rows += [["" if i else name, *row[i : i + room]] for i in range(0, len(row), room)]
    _, _, below = table_text(rows).partition("\n")
    return f"{'variable':<{first}}  probabilities\n{below}"


def _answer_rows(
    network: Path,
    path: str,
    out: Path | None,
    query: list[str] | None,
    columns: dict[str, list[str]],
    on_impossible: str,
    options: dict[str, Any],
    as_json: bool,
) -> None:
    """Answer each row of a file and write the posteriors to a file or to the standard output."""
    import pyarrow as pa

    with place_for(out) as place, Wait("inferring") as wait:
        net = Network(network)
        types = dict.fromkeys([*net.names, *columns["keep"]], pa.string())
        with open_rows(path, types) as rows:
            chosen = net.chosen(query, "--query")
            job = _Rows(net, rows, chosen, columns, on_impossible == "blank", options)
            write_rows(place, job.schema, job.answers(wait))
    record = job.record()
    if as_json:
        say_json({**record, "out": str(out)})
        return
    unsettled = f", {record['not_converged']} not converged" if record["not_converged"] else ""
    n, each = plural(record["rows"], "row"), plural(len(record["variables"]), "variable")
    note(f"{n}: {record['impossible']} impossible{unsettled}; {each} each")


class _Rows:
    """One run over a file, and what is counted on the way."""

    def __init__(
        self,
        net: Network,
        rows: Any,
        query: list[Any] | None,
        columns: dict[str, list[str]],
        blank: bool,
        options: dict[str, Any],
    ) -> None:
        import pyarrow as pa

        from credo.inference import ManyEngine

        self.net, self.rows, self.keep, self.blank = net, rows, columns["keep"], blank
        self.columns = self._evidence_columns(columns["ignore"])
        self.variables = [net.names[name] for name in self.columns]
        self.missing = ["", *(text.strip() for text in columns["missing"])]
        for name, text in product(self.variables, self.missing):
            if text in net.states(name):
                raise InputError(
                    f"--missing {text!r} is a state of variable {name!r}. Rename it in the file, "
                    "or leave --missing out."
                )
        self.query = list(net.model.names) if query is None else query
        answers = [f"{name}={state}" for name in self.query for state in net.states(name)]
        check_names([*self.keep, *answers, "ln P(evidence)"])
        numbers = [(name, pa.float64()) for name in (*answers, "ln P(evidence)")]
        self.schema = pa.schema([(name, pa.string()) for name in self.keep] + numbers)
        self.engine = ManyEngine(net.model, query=query, on_impossible="nan", **options)
        self.budget = options["budget"]
        self.n_rows = self.n_impossible = self.n_unsettled = 0

    def _evidence_columns(self, ignore: list[str]) -> list[str]:
        """Return the columns of findings; one that is neither variable nor named is an error."""
        from credo import _checks as check

        header, source = tuple(self.rows.schema.names), self.rows.name
        for name in (*self.keep, *ignore):
            check.position(name, header, "column", source)
        used = [name for name in header if name not in ignore]
        for column in used:
            if column not in self.net.names and column not in self.keep:
                try:
                    self.net.name(column)
                except LabelError as error:
                    raise LabelError(
                        f"{source}: the column {column!r} is no variable. {error} Pass --keep "
                        f"{column!r} to hand it through, or --ignore {column!r}."
                    ) from None
        return [name for name in used if name in self.net.names]

    def answers(self, wait: Wait) -> Iterator[Any]:
        """Answer block by block."""
        import numpy as np
        import pyarrow as pa

        size = max(1, min(2**14, _BLOCK_CELLS // (len(self.schema) + len(self.columns))))
        wanted = list(dict.fromkeys([*self.keep, *self.columns]))
        for batch in self.rows.batches(wanted, wait.rows):
            for start in range(0, batch.num_rows, size):
                block = batch.slice(start, size)
                codes = self._codes(block)
                found = self.engine.run(codes, columns=self.variables)
                self.n_unsettled += int((found.statuses == "MAX_SWEEPS").sum())
                cannot_be = found.log_evidence == -math.inf
                for i in np.flatnonzero(cannot_be).tolist():
                    self._check_impossible(codes[i].tolist(), self.n_rows + i + 1)
                self.n_rows += block.num_rows
                numbers = [each for name in self.query for each in found.probabilities(name).T]
                cells = [column_of(block, name, pa.string()) for name in self.keep]
                cells += [pa.array(each, mask=cannot_be) for each in (*numbers, found.log_evidence)]
                yield pa.RecordBatch.from_arrays(cells, schema=self.schema)

    def _codes(self, block: Any) -> Any:
        """Find the states of a block's cells by their text, -1 where nothing was observed."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        codes = np.empty((block.num_rows, len(self.columns)), np.int32)
        for j, (column, name) in enumerate(zip(self.columns, self.variables, strict=True)):
            cells = column_of(block, column, pa.string())
            words = pc.utf8_trim_whitespace(cells.fill_null(""))
            found = pc.index_in(words, pa.array(self.net.states(name), pa.string()))
            codes[:, j] = found.fill_null(-1).to_numpy()
            known = pc.or_(found.is_valid(), pc.is_in(words, pa.array(self.missing)))
            if (first := pc.index(known, False).as_py()) >= 0:
                try:
                    self.net.state(name, words[first].as_py())
                except LabelError as error:
                    reason = f"{error} Pass --missing TEXT for text that means not observed."
                    raise self.rows.fault_at(reason, self.n_rows + first + 1) from None
        return codes

    def _check_impossible(self, codes: list[int], row: int) -> None:
        """Count a row that cannot be, or say which of its findings conflict."""
        from credo.inference import infer as answer

        self.n_impossible += 1
        if self.blank:
            return
        model = self.net.model
        seen = [pair for pair in zip(self.variables, codes, strict=True) if pair[1] >= 0]
        findings = {name: model[name].states[code] for name, code in seen}
        try:
            answer(model, findings, query=[], method="exact", budget=self.budget)
        except ImpossibleEvidence as error:
            fault = self.rows.fault_at(f"{error.reason} Or pass --on-impossible blank.", row)
            raise ImpossibleEvidence(str(fault), error.conflict) from None

    def record(self) -> dict[str, Any]:
        """Return the counts."""
        return {
            "rows": self.n_rows,
            "impossible": self.n_impossible,
            "not_converged": self.n_unsettled,
            "observed": [str(name) for name in self.variables],
            "variables": [str(name) for name in self.query],
        }
