"""What the peer scripts share: turns, memory, fresh processes, tables and verdicts."""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from operator import ge, le, lt
from pathlib import Path
from typing import Any

import credo

RESULTS = Path(__file__).parent / "results"
#: The pages that quote tables.
PAGES = [
    Path(__file__).parents[2] / each
    for each in ("README.md", "docs/reference/benchmarks.md", "docs/how-to/denoising.md")
]
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")

#: What stands in the place of a figure of a peer that is not installed.
ABSENT = "not measured"

Row = dict[str, Any]

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_HOLDS = {">=": ge, "<=": le, "<": lt}
_PLACE = ("rows", "features", "classes", "dtype", "threads", "model")


def arguments(description: str | None, parts: Sequence[str] = ()) -> argparse.Namespace:
    """Read the command line: ``--quick``, and which parts to run if there are several."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="tiny sizes, to see that it runs; tables go to a temporary directory",
    )
    if parts:
        parser.add_argument("--only", nargs="+", choices=parts, default=parts, metavar="PART")
    read = parser.parse_args()
    read.into = Path(tempfile.mkdtemp(prefix="credo-bench-")) if read.quick else RESULTS
    read.into.mkdir(exist_ok=True)
    return read


def seconds(run: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """Time one call."""
    start = clock()
    run()
    return clock() - start


def best_of(
    contestants: Mapping[str, Callable[[], Any]],
    turns: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Time contestants turn by turn, so that noise hits all alike; keep the best of each."""
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(turns):
        for name, run in contestants.items():
            best[name] = min(best[name], seconds(run, clock))
    return best


def extra_megabytes(run: Callable[[], Any], kept: Callable[[Any], float]) -> float:
    """Measure the peak of a run minus what it returns, of which ``kept`` tells the bytes."""
    tracemalloc.start()
    result = run()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (peak - kept(result)) / 1e6


def in_fresh_process(
    script: Path, job: Row, threads: int, environment: Mapping[str, str] | None = None
) -> Any:
    """Run a job in a new interpreter whose linear algebra has so many threads; give its answer.

    The script takes the job as JSON and prints its answer as JSON on the last line.
    """
    variables = os.environ | dict.fromkeys(_THREADS, str(threads)) | dict(environment or {})
    done = subprocess.run(
        [sys.executable, str(script), json.dumps(job | {"threads": threads})],
        check=True,
        env=variables,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def write(name: str, rows: Iterable[Row], into: Path = RESULTS) -> None:
    """Write a table as CSV, print it as Markdown, and put it in its place in the pages.

    A table without a place, ``<!-- name -->``, and one written elsewhere leave the pages alone.
    """
    table = list(rows)
    if not table:
        print(f"{name}: {ABSENT}", flush=True)
        return
    with (into / f"{name}.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, table[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    lines = [table[0].keys(), *(row.values() for row in table)]
    text = ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]
    text.insert(1, "|" + "---|" * len(table[0]))
    shown = "\n".join(text)
    print(shown, end="\n\n", flush=True)
    if into == RESULTS:
        place = re.compile(f"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        for page in PAGES:
            quoted = place.sub(lambda m: f"{m[1]}{shown}\n{m[2]}", page.read_text("utf-8"))
            page.write_text(quoted, encoding="utf-8")


def write_machine(into: Path = RESULTS) -> None:
    """Write down where the tables were made, and with which versions."""
    machine = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        **{name: version(name) for name in PACKAGES},
        "credo": credo.__version__,
    }
    (into / "machine.json").write_text(json.dumps(machine, indent=1) + "\n")


def verdict(title: str, rows: Sequence[Row], column: str, bar: str) -> None:
    """Print whether all rows keep to a bar such as ``"<= 1.3"``, the worst, and all that do not.

    Rows without a figure, as of a peer that is not there, do not count.
    """
    rows = [row for row in rows if not isinstance(row[column], str)]
    if not rows:
        print(f"no verdict on {title}: {column} was {ABSENT}", flush=True)
        return
    relation, limit = bar.split()
    missed = [row for row in rows if not _HOLDS[relation](row[column], float(limit))]
    choose = min if relation == ">=" else max
    worst = choose(rows, key=lambda row: row[column])
    print(
        f"{'MISSED' if missed else 'kept  '} {title}: {column} {bar} in "
        f"{len(rows) - len(missed)} of {len(rows)}; worst {worst[column]} at {_place(worst)}",
        *(f"\n         missed: {row[column]} at {_place(row)}" for row in missed),
        sep="",
        flush=True,
    )


def _place(row: Row) -> str:
    """Name a row of a table."""
    return ", ".join(f"{key} {row[key]}" for key in _PLACE if key in row)


def told_columns(table: Sequence[Row]) -> list[Row]:
    """Leave out the columns that nobody filled, such as those of peers that are not there."""
    told = [name for name in table[0] if any(row[name] not in ("", ABSENT) for row in table)]
    return [{name: row[name] for name in told} for row in table]


def significant(value: float, digits: int = 3) -> float:
    """Round to so many significant digits."""
    return float(f"{value:.{digits}g}")


def figure(found: Row, peer: str, unit: float = 1.0) -> float | str:
    """Return a peer's seconds in a unit, rounded; or say that it was not measured."""
    return significant(found[peer] / unit) if peer in found else ABSENT


def ratio(found: Row, peer: str) -> float | str:
    """Return a peer's seconds over credo's, rounded; or say that it was not measured."""
    return figure(found, peer, found["credo"])
