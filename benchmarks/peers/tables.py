"""Fitting and scoring files: next to reading them with Arrow, and to what people do today.

``python benchmarks/peers/tables.py [--quick] [--only PART ...]``; parts: fit, threads, csv,
predict, memory, scale, load.

The files are generated once, in the folder for temporary files or in ``CREDO_BENCH_FILES``: 8 GB
for all parts. Each turn is a process of its own, on one core unless told otherwise, and its clock
starts after its imports and a run on few rows; only of whole commands all is timed.

``CREDO_DASK_ML_PYTHON``
    dask-ml's interpreter: ``python -m venv dask-ml``, then ``dask-ml/bin/pip install dask-ml
    'dask[dataframe]' pyarrow``. Not measured if it is not named.

The others come with the extras ``dev`` and ``peers``; Spark needs Java.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _measure import Row, arguments, significant, told_columns, verdict, write, write_machine
from _peers import is_there, say_absent
from _tables_contest import Contestant, apart, contest, make_file
from _tables_fits import (
    COMMAND,
    CREDO,
    FLOOR,
    MEMORY,
    MODELS,
    command,
    fit_rows,
    fit_verdicts,
    floors,
    named,
    other_ways,
    others,
    ours,
    queries,
    short,
)

CLASSES = 5
#: What a fit may take, over reading the same file with Arrow: from Parquet, and from CSV.
BARS = {"naive Bayes": 1.4, "tied": 1.8, "full": 2.6}
CSV_BARS = dict.fromkeys(MODELS, 1.3)


@dataclass(frozen=True, slots=True)
class Scale:
    """How large everything is."""

    rows: int
    csv_rows: int
    copies: int
    large: int
    turns: int


FULL = Scale(5_000_000, 1_000_000, copies=4, large=1000, turns=5)
QUICK = Scale(20_000, 5_000, copies=2, large=50, turns=2)


def main() -> None:
    """Run the parts asked for, write their tables, print them and the verdicts."""
    read = arguments(__doc__, tuple(PARTS))
    say_absent("Polars", "DuckDB", "dask-ml", "Spark")
    with tempfile.TemporaryDirectory() as folder:
        for part in read.only:
            PARTS[part](QUICK if read.quick else FULL, read.into, Path(folder))
    write_machine(read.into)
    print(f"\nThe tables are in {read.into}")


def parquet(scale: Scale, **more: Any) -> Row:
    """Make the Parquet file, and describe it to a job."""
    return _job({"kind": "parquet", "rows": scale.rows, "features": 20} | more)


def csv(scale: Scale, **more: Any) -> Row:
    """Make the CSV file, and describe it to a job."""
    return _job({"kind": "csv", "rows": scale.csv_rows, "features": 50} | more)


def _job(spec: Row) -> Row:
    """Make a file, and one with few rows to warm up on."""
    few = {"kind": spec["kind"], "rows": 2000, "features": spec["features"]}
    job = {"path": make_file(spec), "features": spec["features"], "classes": CLASSES}
    return job | {"warm": {"path": make_file(few)}}


def fit(scale: Scale, into: Path, folder: Path) -> None:
    """Ask what a fit costs beyond reading the file, and what others take."""
    job = parquet(scale)
    peers = [*queries(job, MODELS), *others(job, MODELS)]
    who = [*floors(job), *ours(job, folder), *peers, *other_ways(job)]
    contest(who, scale.turns)
    table = fit_rows(who)
    write("tables_fit", table, into)
    write("tables_ratios", told_columns([short(model, table) for model in MODELS]), into)
    fit_verdicts("fit", table, BARS)


def threads(scale: Scale, into: Path, folder: Path) -> None:
    """Ask the same on two cores."""
    job = parquet(scale)
    who = [*floors(job, 2), *ours(job, folder, 2), *queries(job, MODELS, 2)]
    contest(who, scale.turns)
    table = fit_rows(who)
    write("tables_threads", table, into)
    fit_verdicts("two cores", table, BARS)


def from_csv(scale: Scale, into: Path, folder: Path) -> None:
    """Ask what a fit from text costs beyond reading it."""
    job, models = csv(scale), MODELS[:1]
    who = [*floors(job), *ours(job, folder), *queries(job, models), *others(job, models)]
    contest(who, scale.turns)
    table = fit_rows(who)
    write("tables_csv", table, into)
    fit_verdicts("csv", table, CSV_BARS)


def predict(scale: Scale, into: Path, folder: Path) -> None:
    """Score a file into another: posteriors and acts of all rows."""
    job = parquet(scale)
    job |= {"job": "predict", "fitted": job["path"], "out": str(folder / "scored.parquet")}
    who = [*_scoring(job, folder), *_scoring_peers(job)]
    contest(who, scale.turns)
    table = _predict_rows(who, scale.rows)
    write("tables_predict", table, into)
    fitted = [named(row) for row in table if row["library"].startswith(CREDO)]
    verdict("predict", fitted, "million rows / s", ">= 1")
    peers = [named(row) for row in table if not row["library"].startswith(CREDO)]
    verdict("predict, peers", peers, "time / credo", ">= 1")
    verdict("predict, agreement", peers, "difference", "<= 1e-9")


def _scoring(job: Row, folder: Path) -> list[Contestant]:
    """Score by a call from Python, and by the whole command."""
    who = [Contestant(CREDO, model, "credo", job) for model in MODELS]
    for model in MODELS:
        saved = str(folder / f"{model}.credo".replace(" ", "_"))
        contest([Contestant(CREDO, model, "credo", job | {"job": "save", "saved": saved})], 1)
        words = [sys.executable, "-m", "credo", "predict", saved, job["path"], "--out", job["out"]]
        who.append(Contestant(COMMAND, model, None, {"command": words}))
    return who


def _scoring_peers(job: Row) -> list[Contestant]:
    """Score with scikit-learn: all in memory, and batch by batch."""
    who = []
    for model, solver in (("naive Bayes", ""), ("tied", "lsqr"), ("full", "eigen")):
        asked = job | {"solver": solver}
        who += [
            Contestant("scikit-learn, in memory", model, "sklearn", asked),
            Contestant(
                "scikit-learn, batches", model, "sklearn", asked | {"job": "predict batches"}
            ),
        ]
    return who


def _predict_rows(who: Sequence[Contestant], n_rows: int) -> list[Row]:
    """Make a row of each contestant."""
    fitted = {each.model: each for each in who if each.library == CREDO}
    rows = []
    for each in who:
        credo = fitted[each.model]
        gap = apart(credo.found["head"], each.found["head"]) if each.found else None
        rows.append(
            {
                "model": each.model,
                "library": each.library,
                "seconds": significant(each.best),
                "million rows / s": significant(n_rows / each.best / 1e6),
                "time / credo": significant(each.best / credo.best),
                "peak MB": significant(each.peak / 1e6),
                "difference": "" if gap is None else significant(gap, 2),
            }
        )
    return rows


def memory(scale: Scale, into: Path, folder: Path) -> None:
    """Ask whether ``credo fit`` takes more memory for a larger file, or a larger row group."""
    times = f"× {scale.copies}"
    files = {
        "Parquet": parquet(scale),
        f"Parquet {times}": parquet(scale, copies=scale.copies),
        "Parquet, one row group": parquet(scale, one_group=True),
        "CSV": csv(scale),
        f"CSV {times}": csv(scale, copies=scale.copies),
    }
    table = []
    for name, job in files.items():
        who = [*floors(job), *(command(model, job, folder) for model in MODELS)]
        contest(who, 1)
        table += [
            {
                "file": name,
                "GB": significant(Path(job["path"]).stat().st_size / 1e9),
                "model": each.model,
                "library": each.library,
                "seconds": significant(each.best),
                "peak MB": significant(each.peak / 1e6),
            }
            for each in who
        ]
    write("tables_memory", table, into)
    verdict("memory", [r for r in table if r["library"] == COMMAND], "peak MB", f"< {MEMORY}")


def scaling(scale: Scale, into: Path, _folder: Path) -> None:
    """Ask what two workers gain, what Spark costs, and how long its own MLlib takes."""
    table = []
    for name, copies in (("1", 1), (str(scale.copies), scale.copies)):
        job = parquet(scale, copies=copies)
        who = [
            Contestant(FLOOR, "", "arrow", job | {"job": "floor"}),
            *(_engines(job, "naive Bayes")),
            *(_engines(job, "full")),
        ]
        who += _mllib(job) if copies == 1 and is_there("Spark") else []
        contest(who, scale.turns)
        table += _scale_rows(name, who)
    write("tables_scale", table, into)
    workers = [row for row in table if row["library"] == "credo, two workers of Dask"]
    verdict("two workers of Dask", workers, "one process / this", ">= 1.4")


def _engines(job: Row, model: str) -> list[Contestant]:
    """Fit here, on one core and on two, and with two workers of Dask and of Spark."""
    workers = job | {"workers": 2}
    spark = Contestant(
        "credo, two tasks of Spark", model, "credo", workers | {"job": "spark"}, 2, 1
    )
    return [
        Contestant(CREDO, model, "credo", job | {"job": "fit"}),
        Contestant("credo, two cores", model, "credo", job | {"job": "fit"}, 2),
        Contestant("credo, two workers of Dask", model, "credo", workers | {"job": "dask"}, 2),
        *([spark] if is_there("Spark") else []),
    ]


def _mllib(job: Row) -> list[Contestant]:
    """Fit with Spark's own library, on one core and on two; it is slow, and takes one turn."""
    return [
        Contestant("Spark MLlib", "naive Bayes", "spark", job | {"job": "naive Bayes"}, 1, 1),
        Contestant("Spark MLlib", "naive Bayes", "spark", job | {"job": "naive Bayes"}, 2, 1),
        Contestant("Spark MLlib", "logistic", "spark", job | {"job": "logistic"}, 1, 1),
    ]


def _scale_rows(copies: str, who: Sequence[Contestant]) -> list[Row]:
    """Make a row of each contestant."""
    one = {each.model: each.best for each in who if each.library == CREDO}
    return [
        {
            "copies of the rows": copies,
            "model": each.model,
            "library": each.library,
            "cores": each.cores,
            "seconds": significant(each.best),
            "start and few rows, s": significant(each.told["warm"]),
            "one process / this": significant(one[each.model] / each.best)
            if each.model in one
            else "",
        }
        for each in who
    ]


def load(scale: Scale, into: Path, folder: Path) -> None:
    """Load a model of many classes and features, and ask it for a posterior."""
    table = []
    for model in ("naive Bayes", "tied"):
        for size in (3, scale.large):
            job = {"features": size, "classes": size, "saved": str(folder / f"{size}.credo")}
            making = Contestant(CREDO, model, "credo", job | {"job": "save large"})
            contest([making], 1)
        job |= {"warm": {"saved": str(folder / "3.credo")}}
        ways = {"load": CREDO, "load joblib": "credo, by joblib"}
        ways |= {"load peer": "GaussianNB, by joblib"} if model == "naive Bayes" else {}
        for ask in (False, True):
            who = [
                Contestant(name, model, "credo", job | {"job": way, "ask": ask})
                for way, name in ways.items()
            ]
            contest(who, scale.turns)
            table += [_load_row(each, making.found["bytes"], ask=ask) for each in who]
    write("tables_load", table, into)
    plain = [r for r in table if r["library"] == CREDO and r["what"] == "load"]
    verdict("load", plain, "ms", "< 50")


def _load_row(each: Contestant, size: int, *, ask: bool) -> Row:
    """Make a row."""
    return {
        "model": each.model,
        "file MB": significant(size / 1e6),
        "what": "load, and one posterior" if ask else "load",
        "library": each.library,
        "ms": significant(1e3 * each.best),
    }


PARTS: dict[str, Callable[[Scale, Path, Path], Any]] = {
    "fit": fit,
    "threads": threads,
    "csv": from_csv,
    "predict": predict,
    "memory": memory,
    "scale": scaling,
    "load": load,
}

if __name__ == "__main__":
    main()
