"""Gaussian classifiers against scikit-learn: fit, predict, missing values, streams.

``python benchmarks/peers/gaussian.py [--quick] [--only fit predict missing stream]``
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from _gaussian_problems import Problem
from _measure import (
    Row,
    arguments,
    in_fresh_process,
    significant,
    verdict,
    write,
    write_machine,
)

JOBS = Path(__file__).parent / "_gaussian_jobs.py"
THREADS = (1, 2)
DTYPES = ("float64", "float32")
MODELS = ("tied", "full", "diagonal")
PEERS = {
    "tied": "LinearDiscriminantAnalysis",
    "full": "QuadraticDiscriminantAnalysis",
    "diagonal": "GaussianNB",
}


@dataclass(frozen=True, slots=True)
class Scale:
    """How large everything is."""

    problems: tuple[Problem, ...]
    missing: Problem
    patterns: int
    batch: Problem
    batches: int
    turns: int


FULL = Scale(
    problems=(
        Problem(1_000_000, 20, 5),
        Problem(100_000, 200, 10),
        Problem(20_000, 1000, 3),
    ),
    missing=Problem(100_000, 50, 5),
    patterns=1000,
    batch=Problem(1_000_000, 20, 5),
    batches=50,
    turns=7,
)
QUICK = Scale(
    problems=(Problem(5_000, 20, 5), Problem(3_000, 40, 10)),
    missing=Problem(1_000, 20, 5),
    patterns=10,
    batch=Problem(2_000, 20, 5),
    batches=10,
    turns=2,
)


def main() -> None:
    """Run the parts asked for, write their tables, print them and the verdicts."""
    read = arguments(__doc__, tuple(PARTS))
    scale = QUICK if read.quick else FULL
    for part in read.only:
        PARTS[part](scale, read.into)
    write_machine(read.into)
    print(f"\nThe tables are in {read.into}")


def fit(scale: Scale, into: Path) -> None:
    """Ask whether a fit is faster than every solver, and close to the bare reduction."""
    table = [fit_row(*each) for each in measured("fit", scale)]
    write("gaussian_fit", table, into)
    write("fit_ratios", map(fit_glance, at_a_glance(table)), into)
    for model in MODELS:
        rows = of_model(table, model)
        verdict(f"fit {model}", rows, "default / credo", ">= 4")
        verdict(f"fit {model}", rows, "fastest / credo", ">= 1.5")
        verdict(f"fit {model}", rows, "credo / floor", "<= 1.3")


def fit_row(place: Row, took: Row) -> Row:
    """Make a row of the table of fits."""
    solvers = {name: took[name] for name in ("default", "lsqr", "eigen") if name in took}
    fastest = min(solvers, key=lambda name: solvers[name])
    return place | {
        "credo s": significant(took["credo"]),
        "floor s": significant(took["floor"]),
        "default s": significant(took["default"]),
        "lsqr s": significant(took["lsqr"]) if "lsqr" in took else "",
        "eigen s": significant(took["eigen"]) if "eigen" in took else "",
        "fastest": fastest,
        "default / credo": significant(took["default"] / took["credo"]),
        "fastest / credo": significant(took[fastest] / took["credo"]),
        "credo / floor": significant(took["credo"] / took["floor"]),
        "covariances differ from floor by": significant(took["difference"], 2),
    }


def fit_glance(row: Row) -> Row:
    """Make a row of the README."""
    return {
        "fit": in_words(row),
        "credo, s": row["credo s"],
        "scikit-learn takes": f"{row['default / credo']} ×",
        "with its fastest solver": f"{row['fastest / credo']} × ({row['fastest']})",
        "credo / bare NumPy sums": row["credo / floor"],
    }


def predict(scale: Scale, into: Path) -> None:
    """Ask whether posteriors are faster than scikit-learn's, in how much memory."""
    spaces = {
        problem: in_fresh_process(JOBS, job("memory", problem), 1)
        for problem in typed_problems(scale)
    }
    table = [
        predict_row(place, took, spaces[problem_at(place)][place["model"]])
        for place, took in measured("predict", scale)
    ]
    write("gaussian_predict", table, into)
    write("predict_ratios", map(predict_glance, at_a_glance(table)), into)
    for model, bar in {"tied": ">= 1", "full": ">= 2", "diagonal": ">= 4"}.items():
        verdict(f"predict_proba {model}", of_model(table, model), "peer / credo", bar)
    verdict("predict_proba", table, "credo extra MB", "< 64")


def predict_row(place: Row, took: Row, space: Row) -> Row:
    """Make a row of the table of posteriors."""
    return place | {
        "credo s": significant(took["credo"]),
        "peer s": significant(took["peer"]),
        "peer / credo": significant(took["peer"] / took["credo"]),
        "credo extra MB": round(space["credo"], 1),
        "peer extra MB": round(space["peer"], 1),
        "posteriors differ by": significant(took["difference"], 2),
    }


def predict_glance(row: Row) -> Row:
    """Make a row of the README."""
    return {
        "predict_proba": in_words(row),
        "credo, s": row["credo s"],
        "scikit-learn takes": f"{row['peer / credo']} ×",
        "MB beyond input and output: credo": row["credo extra MB"],
        "scikit-learn": row["peer extra MB"],
        "posteriors differ by": row["posteriors differ by"],
    }


def missing(scale: Scale, into: Path) -> None:
    """Ask what missing values cost, beyond complete rows."""
    table = [missing_row(scale, model, threads) for threads in THREADS for model in MODELS]
    write("gaussian_missing_speed", table, into)
    verdict("20 % missing, a pattern per row", table, "own / complete", "<= 30")
    verdict(f"20 % missing, {scale.patterns} patterns", table, "few / complete", "<= 5")


def missing_row(scale: Scale, model: str, threads: int) -> Row:
    """Make a row of the table of missing values; the first process compiles, the next loads."""
    asked = job("missing", scale.missing) | {
        "model": model,
        "patterns": scale.patterns,
        "turns": scale.turns,
    }
    with tempfile.TemporaryDirectory() as cache:
        kernels = {"NUMBA_CACHE_DIR": cache}
        compiled = in_fresh_process(JOBS, asked | {"job": "first_call"}, threads, kernels)
        took = in_fresh_process(JOBS, asked, threads, kernels)
    return place_of(scale.missing, threads, model) | {
        "complete s": significant(took["complete"]),
        "own patterns s": significant(took["own"]),
        "few patterns s": significant(took["few"]),
        "own / complete": significant(took["own"] / took["complete"]),
        "few / complete": significant(took["few"] / took["complete"]),
        "first call, compiling s": significant(compiled),
        "first call, compiled s": significant(took["first"]),
        "posteriors differ from SciPy by": significant(took["error"], 2),
    }


def stream(scale: Scale, into: Path) -> None:
    """Ask whether memory stays flat while rows stream by."""
    table = [stream_row(scale, model, threads) for threads in THREADS for model in ("tied", "full")]
    write("gaussian_stream", table, into)
    verdict("stream", table, "second half grows by MB", "< 5")


def stream_row(scale: Scale, model: str, threads: int) -> Row:
    """Make a row of the table of streams."""
    asked = job("stream", scale.batch) | {"model": model, "batches": scale.batches}
    took = in_fresh_process(JOBS, asked, threads)
    n_rows = scale.batch.rows * scale.batches
    growth = max(took["peak growth"], took["resident growth"])
    return place_of(replace(scale.batch, rows=n_rows), threads, model) | {
        "batch": scale.batch.rows,
        "seconds": significant(took["seconds"]),
        "million rows per s": significant(n_rows / took["seconds"] / 1e6),
        "peak MB": round(took["peak"] / 1e6, 1),
        "second half grows by MB": round(growth / 1e6, 2),
        "covariances differ from truth by": significant(took["error"], 2),
    }


def measured(name: str, scale: Scale) -> Iterator[tuple[Row, Row]]:
    """Run a job for all sizes, dtypes and threads; give each model's place and seconds."""
    for problem in typed_problems(scale):
        for threads in THREADS:
            asked = job(name, problem) | {"turns": scale.turns}
            for model, took in in_fresh_process(JOBS, asked, threads).items():
                yield place_of(problem, threads, model), took


def typed_problems(scale: Scale) -> list[Problem]:
    """Give all problems in all precisions."""
    return [replace(problem, dtype=dtype) for problem in scale.problems for dtype in DTYPES]


def job(name: str, problem: Problem) -> Row:
    """Describe a job for a fresh process."""
    return {"job": name, "problem": asdict(problem)}


def place_of(problem: Problem, threads: int, model: str) -> Row:
    """Give the first columns of a row."""
    return asdict(problem) | {"threads": threads, "model": model}


def problem_at(place: Row) -> Problem:
    """Give the problem that the first columns of a row describe."""
    return Problem(*(place[key] for key in ("rows", "features", "classes", "dtype")))


def of_model(table: list[Row], model: str) -> list[Row]:
    """Choose the rows of a model."""
    return [row for row in table if row["model"] == model]


def at_a_glance(table: list[Row]) -> list[Row]:
    """Choose what the README shows: double precision on one thread."""
    return [row for row in table if row["dtype"] == "float64" and row["threads"] == 1]


def in_words(row: Row) -> str:
    """Name a row in the README."""
    n_rows = f"{row['rows']:_}".replace("_", " ")
    size = f"{n_rows} × {row['features']}, {row['classes']} classes"
    return f"{size}: {row['model']} / {PEERS[row['model']]}"


PARTS: dict[str, Callable[[Scale, Path], Any]] = {
    "fit": fit,
    "predict": predict,
    "missing": missing,
    "stream": stream,
}

if __name__ == "__main__":
    main()
