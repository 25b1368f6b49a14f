"""Answer rows of evidence: read, leave out repeats, run, and name what is impossible."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo._validation.labels import one_of
from credo.exceptions import BudgetError
from credo.inference._budget import Budget, as_bytes, as_text
from credo.inference._many_result import ManyPosteriors
from credo.inference._many_routes import Routes, findings
from credo.inference._many_rows import Rows, read_rows
from credo.inference._many_runs import count_threads, distinct, run_blocks
from credo.inference._questions import ask
from credo.inference.conflicts import impossible

Progress: TypeAlias = Callable[[int, int], object]
Int64: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Options:
    """What all doors to many rows have in common."""

    query: Iterable[Hashable] | None
    on_impossible: str
    budget: Budget
    threads: int | None
    seed: int


class Engine:
    """A compiled model that answers table after table."""

    def __init__(self, model: Any, options: Options, owner: str) -> None:
        one_of(options.on_impossible, ("raise", "nan"), owner, "on_impossible")
        self.memory = as_bytes(options.budget, owner)
        self.threads = count_threads(options.threads, owner)
        self.raises = options.on_impossible == "raise"
        question = ask(model, None, None, options.query, options.budget, owner)
        self.wiring = question.wiring
        self.routes = Routes(self.wiring, question.query, options.budget, options.seed, owner)

    def run(
        self,
        rows: Any,
        columns: Iterable[Hashable] | None,
        progress: Progress | None,
        owner: str,
    ) -> ManyPosteriors:
        """Answer one table; ``owner`` is how messages call it."""
        read = read_rows(self.wiring, rows, columns, owner)
        first, which = distinct(read.codes)
        alone = Rows(read.variables, read.codes[first])
        beliefs = self._results(len(first), owner)
        log_z = np.zeros(len(first))
        self._answer(alone, beliefs, log_z, _Done(progress, which, len(first)))
        bad = np.flatnonzero(np.isneginf(log_z))
        if len(bad) and self.raises:
            worst = bad[np.argmin(first[bad])]
            evidence = findings(self.wiring, alone.variables, alone.codes[worst])
            who = f"{owner}, row {first[worst]}"
            raise impossible(self.wiring, evidence, who, self.routes.budget)
        beliefs[bad] = np.nan
        return ManyPosteriors(self.wiring, self.routes.wanted, beliefs, log_z, which)

    def _results(self, n_rows: int, owner: str) -> F64:
        """Make room for the results, if they fit."""
        width = int(self.wiring.n_states[self.routes.wanted].sum())
        needed = 8.0 * n_rows * (width + 1)
        if needed > self.memory:
            raise BudgetError(
                f"{owner}: the marginals of {n_rows} distinct rows, {width} numbers each, take "
                f"{as_text(needed)}; the budget is {as_text(self.memory)}. Ask for fewer variables "
                "(query=[...]), pass the rows in parts (infer_batches), or raise budget=."
            )
        return np.empty((n_rows, width))

    def _answer(self, rows: Rows, beliefs: F64, log_z: F64, done: _Done) -> None:
        """Answer rows that all differ, part by part."""
        for part, tree, columns in self.routes.parts(rows.variables, rows.codes):
            done.start = part.start
            if tree is None:
                for i in range(part.start, part.stop):
                    log_z[i] = self.routes.own(rows.variables, rows.codes[i], beliefs[i])
                    done(slice(i - part.start, i - part.start + 1))
            else:
                codes = np.ascontiguousarray(rows.codes[part][:, columns])
                results = beliefs[part], log_z[part]
                memory = self.memory - beliefs.nbytes - self.routes.held_with(tree)
                run_blocks(tree, codes, *results, threads=self.threads, memory=memory, report=done)


class _Done:
    """Count the rows that are done, repeats too, and tell who wants to know."""

    def __init__(self, progress: Progress | None, which: Int64, n_distinct: int) -> None:
        self.progress, self.total = progress, len(which)
        self.counts = np.bincount(which, minlength=n_distinct)
        self.start = self.done = 0

    def __call__(self, block: slice) -> None:
        part = self.counts[self.start + block.start : self.start + block.stop]
        self.done += int(part.sum())
        if self.progress is not None:
            self.progress(self.done, self.total)
