"""Logistic regression against scikit-learn's solvers, all to the same gradient.

``python benchmarks/peers/logistic.py [--quick] [--only dense sparse stream]``
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from _logistic_problems import GOAL, Problem
from _measure import (
    Row,
    arguments,
    in_fresh_process,
    significant,
    verdict,
    write,
    write_machine,
)

JOBS = Path(__file__).parent / "_logistic_problems.py"
#: Batches per stream.
BATCHES = 20


@dataclass(frozen=True, slots=True)
class Scale:
    """How large everything is."""

    dense: tuple[Problem, ...]
    sparse: tuple[Problem, ...]
    turns: int
    sparse_turns: int


FULL = Scale(
    dense=(Problem(200_000, 50, 2), Problem(200_000, 50, 5)),
    sparse=(Problem(200_000, 50_000, 20, words=60, strength=1.0),),
    turns=5,
    sparse_turns=1,
)
QUICK = Scale(
    dense=(Problem(20_000, 20, 2), Problem(20_000, 20, 5)),
    sparse=(Problem(4_000, 4_000, 5, words=30, strength=1.0),),
    turns=2,
    sparse_turns=1,
)


def main() -> None:
    """Run the parts asked for, write their tables, print them and the verdicts."""
    read = arguments(__doc__, tuple(PARTS))
    scale = QUICK if read.quick else FULL
    for part in read.only:
        PARTS[part](scale, read.into)
    write_machine(read.into)
    print(f"\nThe tables are in {read.into}")


def dense(scale: Scale, into: Path) -> None:
    """Ask whether unpenalised fits of dense rows, with standard errors, are the fastest."""
    _race("logistic_dense", scale.dense, scale.turns, into)


def sparse(scale: Scale, into: Path) -> None:
    """Ask whether L2-penalised fits of documents are the fastest."""
    _race("logistic_sparse", scale.sparse, scale.sparse_turns, into)


def _race(name: str, problems: tuple[Problem, ...], turns: int, into: Path) -> None:
    """Let all solvers fit all problems; compare credo with the fastest that got there."""
    table: list[Row] = []
    glance: list[Row] = []
    for problem in problems:
        job = {"job": "fit", "problem": asdict(problem), "turns": turns}
        took = in_fresh_process(JOBS, job, 1)
        table += [_row(problem, solver, found, took) for solver, found in took.items()]
        glance.append(_best(problem, took))
    write(name, table, into)
    write(f"{name}_ratios", glance, into)
    verdict(name, glance, "fastest / credo", ">= 1")


def _row(problem: Problem, solver: str, found: Row, took: Row) -> Row:
    """Make a row of the table of all solvers."""
    return _place(problem) | {
        "solver": solver,
        "seconds": significant(found["seconds"]),
        "gradient": significant(found["gradient"], 2),
        f"reached {GOAL:g}": found["reached"],
        "tol": found["tol"],
        "seconds / credo": significant(found["seconds"] / took["credo"]["seconds"]),
    }


def _best(problem: Problem, took: Row) -> Row:
    """Make a row of the table of credo against the fastest that reached the goal."""
    peers = {k: v["seconds"] for k, v in took.items() if k != "credo" and v["reached"]}
    fastest = min(peers, key=lambda solver: peers[solver])
    ours = took["credo"]
    return _place(problem) | {
        "credo s": significant(ours["seconds"]),
        "credo gradient": significant(ours["gradient"], 2),
        "fastest": fastest,
        "fastest s": significant(peers[fastest]),
        "fastest / credo": significant(peers[fastest] / ours["seconds"]),
    }


def _place(problem: Problem) -> Row:
    """Give the first columns of a row."""
    return {
        "rows": problem.rows,
        "features": problem.features,
        "classes": problem.classes,
        "penalty": f"l2, {problem.strength:g}" if problem.strength else "none",
    }


def stream(scale: Scale, into: Path) -> None:
    """Ask what it costs to read batches instead of rows in memory."""
    table = []
    for problem in scale.dense:
        batch = problem.rows // BATCHES
        job = {"job": "stream", "problem": asdict(problem), "turns": scale.turns, "batch": batch}
        took = in_fresh_process(JOBS, job, 1)
        table.append(
            _place(problem)
            | {
                "batch": batch,
                "in memory s": significant(took["memory"]),
                "streamed s": significant(took["stream"]),
                "streamed / in memory": significant(took["stream"] / took["memory"]),
                "coefficients differ by": significant(took["difference"], 2),
            }
        )
    write("logistic_stream", table, into)
    verdict("stream", table, "streamed / in memory", "<= 1.5")


PARTS: dict[str, Callable[[Scale, Path], Any]] = {
    "dense": dense,
    "sparse": sparse,
    "stream": stream,
}

if __name__ == "__main__":
    main()
