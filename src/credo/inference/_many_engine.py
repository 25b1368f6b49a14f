"""Answer rows of evidence: read, leave out repeats, run, and name what is impossible."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo._validation.labels import listing, one_of
from credo.exceptions import BudgetError, InputError
from credo.inference._explain import impossible
from credo.inference._many_result import ManyPosteriors
from credo.inference._many_routes import Routes, findings
from credo.inference._many_rows import Rows, read_rows
from credo.inference._many_runs import count_threads, distinct, run_blocks
from credo.inference.loopy.many import LoopyRows, Settings
from credo.inference.question import Budget, as_bytes, as_text, ask

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
    method: str = "auto"
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def raises(self) -> bool:
        """Whether impossible rows raise an error."""
        return self.on_impossible == "raise"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows of evidence, node potentials, or both, as the user gives them."""

    rows: Any
    columns: Iterable[Hashable] | None = None
    potentials: Any = None
    log_potentials: Any = None


def open_engine(model: Any, options: Options, owner: str) -> Engine | LoopyEngine:
    """Compile a model for many rows, by the method that is asked for."""
    one_of(options.on_impossible, ("raise", "nan"), owner, "on_impossible")
    one_of(options.method, ("auto", "exact", "loopy"), owner, "method")
    if options.method == "loopy":
        return LoopyEngine(model, options, owner)
    if options.settings:
        raise InputError(
            f"{owner}: {next(iter(options.settings))} is no option of method={options.method!r}. "
            "Options such as sweeps, momentum and until belong to method='loopy'."
        )
    return Engine(model, options, owner)


class LoopyEngine:
    """A compiled model that passes messages, table after table."""

    def __init__(self, model: Any, options: Options, owner: str) -> None:
        known = [setting.name for setting in fields(Settings)]
        for name in options.settings:
            if name not in known:
                raise InputError(
                    f"{owner}: method='loopy' has no option {name!r}. It has {listing(known, 20)}."
                )
        self._rows = LoopyRows(
            model,
            options.query,
            Settings(**options.settings),
            raises=options.raises,
            budget=options.budget,
            threads=options.threads,
            owner=owner,
        )

    def run(self, table: Table, progress: Progress | None, owner: str) -> ManyPosteriors:
        """Answer one table; ``owner`` is how messages call it."""
        potentials = table.potentials, table.log_potentials
        return self._rows.run(table.rows, table.columns, potentials, progress, owner)


class Engine:
    """A compiled model that answers table after table, exactly."""

    def __init__(self, model: Any, options: Options, owner: str) -> None:
        self.memory = as_bytes(options.budget, owner)
        self.threads = count_threads(options.threads, owner)
        self.raises = options.raises
        question = ask(model, None, None, options.query, options.budget, owner)
        self.wiring = question.wiring
        self.routes = Routes(self.wiring, question.query, options.budget, options.seed, owner)

    def run(self, table: Table, progress: Progress | None, owner: str) -> ManyPosteriors:
        """Answer one table; ``owner`` is how messages call it."""
        if table.potentials is not None or table.log_potentials is not None:
            raise InputError(
                f"{owner}: node potentials of rows need method='loopy'. For one row, exactly, use "
                "infer(likelihood=...)."
            )
        read = read_rows(self.wiring, table.rows, table.columns, owner)
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
