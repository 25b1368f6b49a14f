"""Loopy belief propagation for many rows of evidence, or of node potentials, side by side."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._validation.cores import count_threads
from credo._validation.labels import one_of
from credo.exceptions import BudgetError, ImpossibleEvidence, InputError, ShapeError
from credo.graphs.wiring import ranges, starts
from credo.inference._explain import impossible
from credo.inference.loopy._many_blocks import Lanes, Run, run_blocks
from credo.inference.loopy._many_layout import lay_out_lanes
from credo.inference.loopy._many_logs import LogRows
from credo.inference.loopy._many_weights import RowWeights, read_potentials
from credo.inference.loopy._old_net import build
from credo.inference.loopy.options import Options, check
from credo.inference.many_posteriors import ManyPosteriors
from credo.inference.many_rows import EvidenceRows, read_rows
from credo.inference.question import Budget, as_bytes, as_text, ask

Int64: TypeAlias = npt.NDArray[np.int64]
Progress: TypeAlias = Callable[[int, int], object]
#: A residual below which nothing but rounding moves.
_STILL = 1e-12
#: How rows end, in the order in which the kernels number it; lost ones are not left in the end.
_ENDS = np.array(["", "CONVERGED", "MAX_SWEEPS", "SATISFIED", "IMPOSSIBLE", "LOST"])
_IMPOSSIBLE, _LOST = 4, 5


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of ``method="loopy"`` for many rows, as the user gives them."""

    schedule: str = "flooding"
    sweeps: int = 1000
    tolerance: float | None = None
    momentum: float | str = 1.0
    temperature: float = 1.0
    dtype: Any = "float64"
    until: str = "converged"
    log_evidence: bool = True

    def checked(self) -> Options:
        """Check the settings."""
        one_of(self.schedule, ("flooding",), "infer_many", "schedule")
        one_of(self.until, ("converged", "satisfied"), "infer_many", "until")
        if isinstance(self.momentum, str):
            raise InputError(
                "The momentum of infer_many is the share of the new message, above 0 and at most "
                f"1. Got {self.momentum!r}."
            )
        return check(
            schedule=self.schedule,
            momentum=self.momentum,
            domain="linear",
            temperature=self.temperature,
            sweeps=self.sweeps,
            tolerance=self.tolerance,
            dtype=self.dtype,
            threads=1,
            seed=0,
            callback=None,
        )


class LoopyRows:
    """A compiled model whose messages pass for many rows side by side.

    Parameters
    ----------
    model
        The model.
    query
        The wanted variables; None for all.
    settings
        How messages pass.
    raises
        Whether impossible rows raise an error.
    budget, threads
        Memory, and the number of threads.
    owner
        Who asks.
    """

    def __init__(  # noqa: PLR0913 - what all doors to many rows have in common
        self,
        model: Any,
        query: Iterable[Hashable] | None,
        settings: Settings,
        *,
        raises: bool,
        budget: Budget,
        threads: int | None,
        owner: str,
    ) -> None:
        self._budget, self._memory = budget, as_bytes(budget, owner)
        self._threads, self._raises = count_threads(threads, owner), raises
        self._settings, self._options = settings, settings.checked()
        question = ask(model, None, None, query, budget, owner, keep_rules=True)
        self.wiring = question.wiring
        everything = range(len(self.wiring.names))
        self.wanted = np.array(everything if question.query is None else question.query, np.int64)
        sums = self._options.temperature == 1.0
        self._net = build(self.wiring, question.evidence, None, sum_product=sums)
        self._lanes: dict[Any, Lanes] = {}
        self._in_logs: LogRows | None = None

    def run(
        self,
        rows: Any,
        columns: Iterable[Hashable] | None,
        potentials: tuple[Any, Any],
        progress: Progress | None,
        owner: str,
    ) -> ManyPosteriors:
        """Answer one table; ``owner`` is how messages call it.

        Potentials come as they are, or as logs, or None for both.
        """
        weights, first, which = self._read(rows, columns, potentials, owner)
        run = Run.empty(len(weights), self._width(len(weights), owner))
        done = _Done(progress, which, run)
        left = np.arange(len(weights))
        for dtype in dict.fromkeys([self._options.dtype, np.dtype(np.float64)]):
            lanes = self._side_by_side(dtype)
            if lanes.layout.is_wide:
                run.report[left, 0] = _LOST
            else:
                threads = self._fitting(lanes, run, owner)
                run_blocks(lanes, weights, left, run, threads, done)
            left = np.flatnonzero(run.ends == _LOST)
        for row in left.tolist():
            self._one_by_one(weights, row, run)
            done(np.array([row]))
        if self._raises:
            self._refuse_impossible(weights, run, first, owner)
        return self._result(run, which)

    def _read(
        self,
        rows: Any,
        columns: Iterable[Hashable] | None,
        potentials: tuple[Any, Any],
        owner: str,
    ) -> tuple[RowWeights, Int64, Int64]:
        """Read rows and potentials; without potentials, rows that are alike are run once.

        Gives the weights, the row that each of them was first, and which of them each row is.
        """
        given = read_potentials(self.wiring, *potentials, owner)
        if rows is None and given is None:
            raise InputError(f"{owner} needs rows of evidence, or potentials. Got neither.")
        if rows is None and given is not None:
            read = EvidenceRows((), np.zeros((len(given.values), 0), np.int32))
        else:
            read = read_rows(self.wiring, rows, columns, owner)
        heat, n_states = self._options.temperature or 1.0, self._net.n_states
        if given is None:
            alone, first, which = read.distinct()
            return RowWeights(alone, None, n_states, heat), first, which
        if len(given.values) != len(read.codes):
            raise ShapeError(
                f"{owner}: there are {len(read.codes)} rows of evidence and {len(given.values)} of "
                "potentials. Give as many of both."
            )
        everyone = np.arange(len(read.codes))
        return RowWeights(read, given, n_states, heat), everyone, everyone

    def _width(self, n_rows: int, owner: str) -> int:
        """Count the numbers of a row of results, if they fit."""
        width = int(self.wiring.n_states[self.wanted].sum())
        needed = 8.0 * n_rows * (width + 4)
        if needed > self._memory:
            raise BudgetError(
                f"{owner}: the marginals of {n_rows} rows, {width} numbers each, take "
                f"{as_text(needed)}; the budget is {as_text(self._memory)}. Ask for fewer "
                "variables (query=[...]), pass the rows in parts (infer_batches), or raise budget=."
            )
        return width

    def _side_by_side(self, dtype: Any) -> Lanes:
        """Give the net as rows side by side need it."""
        if dtype not in self._lanes:
            options, settings = self._options, self._settings
            layout = lay_out_lanes(self._net, self.wanted, dtype, options.temperature)
            until_possible = settings.until == "satisfied"
            lanes = Lanes(layout, options, dtype, until_possible, bool(settings.log_evidence))
            self._lanes[dtype] = lanes
        return self._lanes[dtype]

    def _fitting(self, lanes: Lanes, run: Run, owner: str) -> int:
        """Choose so many threads that their messages fit."""
        each = lanes.n_bytes(len(run.log_z))
        left = self._memory - run.beliefs.nbytes
        if each > left:
            raise BudgetError(
                f"{owner}: the messages of rows side by side take {as_text(each)}; the budget "
                f"leaves {as_text(max(left, 0.0))}. Raise budget=, or ask row by row: "
                "infer(method='loopy')."
            )
        return int(max(1, min(self._threads, left // each)))

    def _one_by_one(self, weights: RowWeights, row: int, run: Run) -> None:
        """Answer one row in the log domain."""
        if self._in_logs is None:
            until_possible = self._settings.until == "satisfied"
            self._in_logs = LogRows(self.wiring, self._options, until_possible=until_possible)
        found = self._in_logs.run(weights.logs(row))
        run.report[row] = found.end, found.sweeps
        run.residuals[row], run.log_z[row] = found.residual, found.log_z
        if len(found.beliefs):
            start = starts(self._net.n_states)
            cells = ranges(start[self.wanted], self._net.n_states[self.wanted])
            run.beliefs[row] = found.beliefs[cells]

    def _refuse_impossible(self, weights: RowWeights, run: Run, first: Int64, owner: str) -> None:
        """Raise an error that names the first row that is impossible, if there is one."""
        bad = np.flatnonzero(run.ends == _IMPOSSIBLE)
        if not len(bad):
            return
        worst = bad[np.argmin(first[bad])]
        who, evidence = f"{owner}, row {first[worst]}", weights.rows.evidence(self.wiring, worst)
        if weights.potentials is not None:
            raise ImpossibleEvidence(
                f"{who}: potentials and evidence allow no configuration: messages contradict each "
                "other. Give zeros a small potential, or use on_impossible='nan'.",
                {finding.name: finding.given for finding in evidence.findings},
            )
        tables = self.wiring.tabulated(sum_product=True)
        raise impossible(tables, evidence, who, self._budget)

    def _result(self, run: Run, which: Int64) -> ManyPosteriors:
        """Put the result together."""
        bad = run.ends == _IMPOSSIBLE
        run.beliefs[bad], run.residuals[bad], run.log_z[bad] = np.nan, np.nan, -np.inf
        if not self._settings.log_evidence:
            run.log_z[~bad] = np.nan
        return ManyPosteriors(
            self.wiring,
            self.wanted,
            run.beliefs,
            run.log_z,
            which,
            statuses=_ENDS[run.ends],
            sweeps=run.report[:, 1],
            residuals=run.residuals,
            log_evidence_is=self._kind(run),
        )

    def _kind(self, run: Run) -> str:
        """Tell what the sums are: exact on trees, once nothing moves at all; else estimates."""
        settled = np.isin(_ENDS[run.ends], ("CONVERGED", "IMPOSSIBLE")).all()
        still = np.nanmax(run.residuals, initial=0.0) <= _STILL
        return "EXACT" if settled and still and self._net.is_forest else "ESTIMATE"


class _Done:
    """Count the rows that are done, repeats too, and tell who wants to know."""

    def __init__(self, progress: Progress | None, which: Int64, run: Run) -> None:
        self._progress, self._run = progress, run
        self._counts = np.bincount(which, minlength=len(run.log_z))
        self._done = 0

    def __call__(self, block: Int64) -> None:
        done = self._run.ends[block] != _LOST
        self._done += int(self._counts[block[done]].sum())
        if self._progress is not None:
            self._progress(self._done, int(self._counts.sum()))
