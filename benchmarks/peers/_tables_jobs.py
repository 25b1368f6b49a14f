"""How a contestant of ``tables.py`` is run: alone in its process, once on few rows, then timed.

Each script ``_tables_<library>.py`` imports its library first, and gives its contestants here.
The job is JSON, and so is the answer: the seconds after imports and warm-up, those on a core,
those of the warm-up, the most memory that the process had, and what was found.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Row = dict[str, Any]
#: Rows of a batch, where a contestant asks for batches.
BATCH = 65_536


def answer(contestants: Mapping[str, Callable[[Row], Any]]) -> None:
    """Run the contestant that the command line names, and print what it took and found."""
    job = json.loads(sys.argv[1])
    run = contestants[job["job"]]
    start = time.perf_counter()
    if "warm" in job:
        run(job | job["warm"])
    warm, worked = time.perf_counter(), time.process_time()
    found = run(job)
    took, cpu = time.perf_counter() - warm, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    told = {"seconds": took, "cpu": cpu, "warm": warm - start, "peak": peak}
    print(json.dumps(told | {"found": found}, default=_as_lists))


def _as_lists(value: Any) -> Any:
    """Put arrays and their numbers in lists."""
    return value.tolist()


def features_of(job: Row) -> list[str]:
    """Name the columns that are features."""
    return [f"x{j}" for j in range(job["features"])]


def pairs_of(job: Row) -> Iterator[tuple[str, str]]:
    """Name all pairs of features, once each."""
    names = features_of(job)
    return ((a, b) for i, a in enumerate(names) for b in names[i:])


def moments(means: Any, spread: Any) -> Row:
    """Tell what a fit found: means of classes, and variances or covariances."""
    return {"means": means, "spread": spread}
