"""Plant described faults in a copy of the source, one at a time, and see whether tests notice.

``make mutants`` runs all tables of this folder, ``make mutants ROOM=decisions`` those whose name
begins so. A table is a TOML file with one ``[[fault]]`` each: what the fault ``is`` in plain words,
the ``file`` below ``src/credo``, the piece of its ``code`` (which must occur exactly once), what it
``becomes``, and the tests that it is ``noticed_by``, as node ids below ``tests``.
"""

from __future__ import annotations

import argparse
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLES = Path(__file__).parent
#: A fault that makes tests run on for ever is noticed too.
_MOST_SECONDS = 300
_NOTICED, _BROKEN = 1, "BROKEN: pytest could not run the tests"


@dataclass(frozen=True, slots=True)
class Fault:
    """One described fault, where it goes, and who is expected to notice."""

    room: str
    words: str
    file: str
    code: str
    becomes: str
    tests: tuple[str, ...]

    @property
    def is_in_kernels(self) -> bool:
        """Whether the fault sits in a kernel: planted there, kernels run as plain Python.

        Compiling them anew would take longer than the tests.
        """
        return self.file.startswith("_kernels/") or self.file.endswith("kernels.py")

    def occurrences(self, source: Path) -> int:
        """Count how often the piece of code stands in its file below ``source``."""
        file = source / "credo" / self.file
        return file.read_text(encoding="utf-8").count(self.code) if file.exists() else 0

    @contextmanager
    def planted(self, source: Path) -> Iterator[None]:
        """Put the fault into its file; afterwards the file is as old as it was, as caches ask."""
        file = source / "credo" / self.file
        text, was = file.read_text(encoding="utf-8"), file.stat()
        file.write_text(text.replace(self.code, self.becomes), encoding="utf-8")
        try:
            yield
        finally:
            file.write_text(text, encoding="utf-8")
            os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a fault."""

    fault: Fault
    words: str
    is_good: bool
    seconds: float


def read_faults(room: str = "") -> list[Fault]:
    """Read the tables whose name begins with ``room``."""
    return [
        Fault(
            table.stem,
            entry["is"],
            entry["file"],
            entry["code"].strip("\n"),
            entry["becomes"].strip("\n"),
            tuple(f"tests/{test}" for test in entry["noticed_by"]),
        )
        for table in sorted(TABLES.glob(f"{room}*.toml"))
        for entry in tomllib.loads(table.read_text(encoding="utf-8"))["fault"]
    ]


def _pytest(source: Path, tests: Iterable[str], *, plain: bool, first: bool) -> tuple[int, str]:
    """Run tests against the package below ``source``; give pytest's exit code and its words.

    ``plain``: kernels as plain Python. ``first``: up to the first failure, and not for ever.
    """
    kernels = {"CREDO_KERNELS": "python"} if plain else {}
    fixed = {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *(["-x"] if first else []), *tests],
        cwd=ROOT,
        env=os.environ | fixed | kernels,
        capture_output=True,
        text=True,
        check=False,
        timeout=_MOST_SECONDS if first else None,
    )
    return done.returncode, done.stdout + done.stderr


def _try(fault: Fault, source: Path) -> Outcome:
    """Plant one fault and run its tests."""
    start = time.perf_counter()
    if fault.occurrences(source) != 1:
        return Outcome(fault, "NOT PLANTED: the code has moved", is_good=False, seconds=0.0)
    try:
        with fault.planted(source):
            code, words = _pytest(source, fault.tests, plain=fault.is_in_kernels, first=True)
    except subprocess.TimeoutExpired:
        code, words = _NOTICED, f"FAILED the limit of {_MOST_SECONDS} seconds"
    seconds = time.perf_counter() - start
    if code == _NOTICED:
        first = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", words, re.MULTILINE)
        return Outcome(fault, first[1] if first else words, is_good=True, seconds=seconds)
    return Outcome(fault, "SURVIVED" if code == 0 else _BROKEN, is_good=False, seconds=seconds)


def _without_faults(faults: list[Fault], *, plain: bool) -> str:
    """Run the tests of faults on the source as it is; give their words where one fails."""
    tests = {test: None for fault in faults if fault.is_in_kernels is plain for test in fault.tests}
    code, words = _pytest(ROOT / "src", tests, plain=plain, first=False) if tests else (0, "")
    return words if code else ""


def _outcomes(faults: list[Fault], jobs: int) -> Iterator[Outcome]:
    """Try faults, so many at a time, each in a copy of the source that no other uses just now."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        free: queue.Queue[Path] = queue.Queue()
        for job in range(jobs):  # with their times, so that compiled kernels stay good
            free.put(Path(shutil.copytree(ROOT / "src", Path(folder) / str(job))))

        def in_a_copy(fault: Fault) -> Outcome:
            source = free.get()
            try:
                return _try(fault, source)
            finally:
                free.put(source)

        for future in as_completed([pool.submit(in_a_copy, fault) for fault in faults]):
            yield future.result()


def _run(faults: list[Fault], jobs: int) -> bool:
    """Try all faults and print what became of each; tell whether all were noticed."""
    start = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        sound = list(pool.map(lambda plain: _without_faults(faults, plain=plain), (True, False)))
    if any(sound):
        print("Tests fail before any fault is planted:", *sound, sep="\n")
        return False
    print(f"The tests pass without a fault ({time.perf_counter() - start:.0f} s).", flush=True)
    outcomes = []
    for outcome in _outcomes(faults, jobs):
        outcomes.append(outcome)
        fault, took = outcome.fault, f"{outcome.seconds:5.1f} s"
        print(f"{fault.room:21} {took}  {fault.words}\n{'':31}{outcome.words}", flush=True)
    good = sum(outcome.is_good for outcome in outcomes)
    print(f"{good} of {len(faults)} faults noticed in {time.perf_counter() - start:.0f} s.")
    for outcome in outcomes:
        if not outcome.is_good:
            print(f"{outcome.words}: {outcome.fault.words} ({outcome.fault.file})")
    return good == len(faults)


def main() -> int:
    """Read the command line and try the faults of the tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--room", default="", help="how the names of the tables begin")
    parser.add_argument("--jobs", type=int, default=2, help="faults tried at a time")
    options = parser.parse_args()
    faults = read_faults(options.room)
    if not faults:
        parser.error(f"No table in {TABLES.name} begins with {options.room!r}.")
    return 0 if _run(faults, options.jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
