"""Who fits the tables of ``tables.py``, and how they compare."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from _measure import Row, significant, verdict
from _peers import blank, is_there
from _tables_contest import Contestant, apart

MODELS = ("naive Bayes", "tied", "full")
FLOOR, WHOLE_FLOOR = "Arrow, read and discard", "Arrow, whole process"
CREDO, COMMAND = "credo", "credo, whole command"
IN_MEMORY = "scikit-learn, in memory"
STREAMED = "scikit-learn, partial_fit"
#: Ways of reading that are no floor, as they are slower or take more memory.
OTHER_WAYS = {
    "defaults": "Arrow's defaults",
    "dataset": "Arrow's dataset",
    "whole": "Arrow, at once",
}
#: Solvers of scikit-learn for each model; the first is its default.
SOLVERS = {"naive Bayes": ("",), "tied": ("svd", "lsqr"), "full": ("svd", "eigen")}
#: As ``credo fit`` calls the models.
OPTIONS = {
    "naive Bayes": ["--model", "naive-bayes"],
    "tied": ["--model", "gaussian", "--covariance", "tied"],
    "full": ["--model", "gaussian", "--covariance", "full"],
}
#: Megabytes that ``credo fit`` may take, whatever the file's size.
MEMORY = 400
_DISCARD = {
    ".parquet": (
        "import sys, pyarrow.parquet as pq\n"
        "for _ in pq.ParquetFile(sys.argv[1], pre_buffer=False).iter_batches(): pass"
    ),
    ".csv": "import sys, pyarrow.csv as pc\nfor _ in pc.open_csv(sys.argv[1]): pass",
}


def floors(job: Row, cores: int = 1) -> list[Contestant]:
    """Read and discard: after imports, and imports and all."""
    words = [sys.executable, "-c", _DISCARD[Path(job["path"]).suffix], job["path"]]
    return [
        Contestant(FLOOR, "", "arrow", job | {"job": "floor"}, cores),
        Contestant(WHOLE_FLOOR, "", None, {"command": words}, cores),
    ]


def other_ways(job: Row) -> list[Contestant]:
    """Read and discard in other ways that Arrow has."""
    return [Contestant(name, "", "arrow", job | {"job": way}) for way, name in OTHER_WAYS.items()]


def ours(job: Row, folder: Path, cores: int = 1) -> list[Contestant]:
    """Fit all models by a call from Python, and by the whole command."""
    return [
        *(Contestant(CREDO, model, "credo", job | {"job": "fit"}, cores) for model in MODELS),
        *(command(model, job, folder, cores) for model in MODELS),
    ]


def command(model: str, job: Row, folder: Path, cores: int = 1) -> Contestant:
    """Fit by the whole command ``credo fit``."""
    options = [*OPTIONS[model], "--target", "y", "--out", str(folder / "model.credo")]
    words = [sys.executable, "-m", "credo", "fit", job["path"], *options]
    return Contestant(COMMAND, model, None, {"command": words}, cores)


def queries(job: Row, models: Sequence[str], cores: int = 1) -> list[Contestant]:
    """Fit by queries of Polars and DuckDB."""
    return [
        Contestant(name, model, name.lower(), job | {"job": "fit"}, cores)
        for model in models
        for name in ("Polars", "DuckDB")
        if is_there(name)
    ]


def others(job: Row, models: Sequence[str]) -> list[Contestant]:
    """Fit by hand with NumPy, with scikit-learn in memory and streamed, and with dask-ml."""
    by_hand = [Contestant("NumPy by hand", m, "arrow", job | {"job": "numpy"}) for m in models]
    in_memory = [
        Contestant(f"{IN_MEMORY} {solver}".strip(), model, "sklearn", job | asked)
        for model in models
        for solver in SOLVERS[model]
        for asked in [{"job": "fit", "solver": solver}]
    ]
    streamed = Contestant(STREAMED, "naive Bayes", "sklearn", job | {"job": "batches"})
    dask_ml = Contestant("dask-ml", "naive Bayes", "dask_ml", job | {"job": "fit"})
    is_asked = is_there("dask-ml") and job["path"].endswith(".parquet")
    return [*by_hand, *in_memory, streamed, *([dask_ml] if is_asked else [])]


def fit_rows(who: Sequence[Contestant]) -> list[Row]:
    """Make a row of each contestant; a whole command is held against a whole process."""
    fitted = {each.model: each for each in who if each.library == CREDO}
    read = {each.library: each.best for each in who if not each.model}
    return [
        _fit_row(each, read[FLOOR if each.script else WHOLE_FLOOR], fitted.get(each.model))
        for each in who
    ]


def _fit_row(each: Contestant, floor: float, credo: Contestant | None) -> Row:
    """Make a row."""
    return {
        "model": each.model,
        "library": each.library,
        "seconds": significant(each.best),
        "time / floor": significant(each.best / floor),
        "time / credo": significant(each.best / credo.best) if credo else "",
        "peak MB": significant(each.peak / 1e6),
        "difference": _difference(credo, each),
    }


def _difference(credo: Contestant | None, other: Contestant) -> float | str:
    """Compare means, and variances or covariances, relative to the greatest."""
    if credo is None or not other.found:
        return ""
    parts = ("means", "spread")
    return significant(max(apart(credo.found[name], other.found[name]) for name in parts), 2)


def short(model: str, table: Sequence[Row]) -> Row:
    """Make the short row of a model: ratios side by side."""
    here = {row["library"]: row for row in table if row["model"] == model}
    told: Row = {"fit": model, "credo, s": here[CREDO]["seconds"]}
    told["credo / reading"] = here[CREDO]["time / floor"]
    for name in ("NumPy by hand", "Polars", "DuckDB", STREAMED, "dask-ml"):
        told[f"{name} / credo"] = here[name]["time / credo"] if name in here else blank(name)
    memory = [row for name, row in here.items() if name.startswith(IN_MEMORY)]
    quickest = min(memory, key=lambda row: row["seconds"])
    told[f"{IN_MEMORY} / credo"] = quickest["time / credo"]
    told["MB: credo"] = here[COMMAND]["peak MB"]
    told[IN_MEMORY] = quickest["peak MB"]
    return told


def named(row: Row) -> Row:
    """Let a verdict name the library too."""
    return row | {"model": f"{row['model']}, {row['library']}"}


def fit_verdicts(title: str, table: Sequence[Row], bars: Mapping[str, float]) -> None:
    """Hold the fits against their bars, and against their peers."""
    for model, bar in bars.items():
        rows = [named(row) for row in table if row["model"] == model]
        fitted = [row for row in rows if row["library"] == CREDO]
        verdict(f"{title}, {model}", fitted, "time / floor", f"<= {bar}")
        peers = [row for row in rows if not row["library"].startswith(CREDO)]
        verdict(f"{title}, {model}, peers", peers, "time / credo", ">= 1")
        verdict(f"{title}, {model}, agreement", rows, "difference", "<= 1e-9")
    commands = [row for row in table if row["library"] == COMMAND]
    verdict(f"{title}, whole command", commands, "peak MB", f"< {MEMORY}")
