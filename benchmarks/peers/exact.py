"""Exact inference against pyAgrum, pgmpy and toulbar2, on the networks of the bnlearn repository.

``python benchmarks/peers/exact.py [--quick] [--only PART ...]``; parts: networks, memory, load,
rows, query, mpe, map, start.

The networks come inside pgmpy, without which nothing is measured. pyAgrum is given credo's tables
number by number, because its own BIF reader rounds them.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _exact_jobs import bif_file
from _measure import (
    ABSENT,
    Row,
    arguments,
    figure,
    in_fresh_process,
    ratio,
    seconds,
    significant,
    verdict,
    write,
    write_machine,
)
from _peers import is_there, say_absent

JOBS = Path(__file__).parent / "_exact_jobs.py"
NETWORKS = (
    *("asia", "cancer", "earthquake", "sachs", "survey", "alarm", "barley", "child"),
    *("insurance", "mildew", "water", "hailfinder", "hepar2", "win95pts", "andes", "diabetes"),
    *("link", "munin1", "pathfinder", "pigs", "munin", "munin2", "munin3", "munin4"),
)
#: libDAI's seconds for new evidence on its tree over pyAgrum's, both measured once on one machine:
#: libDAI is not packaged, so its time here is taken to be this share of pyAgrum's.
LIBDAI = {
    "asia": 0.00001 / 0.0004,
    "alarm": 0.00009 / 0.0025,
    "insurance": 0.0012 / 0.0043,
    "hepar2": 0.0003 / 0.0082,
    "andes": 0.0115 / 0.049,
    "pigs": 0.046 / 0.064,
    "water": 0.20 / 0.60,
}


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is run."""

    networks: Sequence[str]
    large: Sequence[str]
    read: Sequence[str]
    turns: int
    rows: int
    draws: int


LARGE = ("water", "mildew", "diabetes", "munin", "link")
#: Files that are read: all above 200 kB, and two below.
READ = (
    *("alarm", "pigs", "munin1", "water", "link", "munin2", "munin3", "munin", "munin4"),
    *("pathfinder", "barley", "mildew", "diabetes"),
)
FULL = Scale(NETWORKS, LARGE, READ, 7, 10_000, 20)
QUICK = Scale(("asia", "child", "alarm", "water"), ("water",), ("alarm", "water"), 2, 200, 3)


def main() -> None:
    """Run the parts asked for, write their tables, print them and the verdicts."""
    read = arguments(__doc__, tuple(PARTS))
    scale = QUICK if read.quick else FULL
    say_absent("pgmpy", "pyAgrum", "toulbar2")
    for part in read.only if is_there("pgmpy") else ():
        PARTS[part](scale, read.into)
    write_machine(read.into)
    print(f"\nThe tables are in {read.into}")


def networks(scale: Scale, into: Path) -> None:
    """Time all marginals: from nothing, and with new evidence on what was built."""
    table: list[Row] = []
    for network in scale.networks:
        job = {"job": "marginals", "network": network, "turns": scale.turns, "findings": 5}
        table.append(_network_row(network, in_fresh_process(JOBS, job, 1)))
        print(table[-1], flush=True)
    write("exact_networks", table, into)
    glance = [row for row in table if isinstance(row["first: pyAgrum / credo"], float)]
    if glance:
        short = [_glance(glance, len(table))]
        write("exact_glance", short, into)
        verdict("first answer, all networks", short, "first answer: pyAgrum / credo", ">= 7")
        verdict("next answer, all networks", short, "next answer: pyAgrum / credo", ">= 10")
    verdict("first answer", glance, "first: pyAgrum / credo", ">= 1")
    verdict("next answer", glance, "next: pyAgrum / credo", ">= 1")
    known = [row for row in glance if row["next: libDAI / credo"] != ""]
    slow = [row for row in known if row["next: libDAI ms"] > 1]
    verdict("next answer, above 1 ms", slow, "next: libDAI / credo", ">= 1.5")


def _network_row(network: str, found: Row) -> Row:
    """Make one network's row."""
    first, again = found["first"], found["next"]
    row = {
        "model": network,
        "variables": found["variables"],
        "engine": found["engine"],
        "first: credo ms": significant(1e3 * first),
        "next: credo ms": significant(1e3 * again),
    }
    if "failed" in found:
        reason = "out of memory" if "bad_alloc" in found["failed"] else found["failed"]
        return row | dict.fromkeys(_PEER_COLUMNS[:2], reason) | dict.fromkeys(_PEER_COLUMNS[2:], "")
    their_first, theirs = found["first: pyAgrum"], found["next: pyAgrum"]
    libdai = theirs * LIBDAI[network] if network in LIBDAI else None
    return row | {
        "first: pyAgrum ms": significant(1e3 * their_first),
        "next: pyAgrum ms": significant(1e3 * theirs),
        "first: pyAgrum / credo": significant(their_first / first),
        "next: pyAgrum / credo": significant(theirs / again),
        "next: libDAI ms": significant(1e3 * libdai) if libdai else "",
        "next: libDAI / credo": significant(libdai / again) if libdai else "",
        "largest difference": significant(found["apart"], 2),
    }


_PEER_COLUMNS = (
    "first: pyAgrum ms",
    "next: pyAgrum ms",
    "first: pyAgrum / credo",
    "next: pyAgrum / credo",
    "next: libDAI ms",
    "next: libDAI / credo",
    "largest difference",
)


def _glance(rows: Sequence[Row], n: int) -> Row:
    """Average over the networks, geometrically."""
    return {
        "networks": n,
        "answered by pyAgrum within 8 GB": len(rows),
        "first answer: pyAgrum / credo": _mean(rows, "first: pyAgrum / credo"),
        "least": min(row["first: pyAgrum / credo"] for row in rows),
        "next answer: pyAgrum / credo": _mean(rows, "next: pyAgrum / credo"),
        "least ": min(row["next: pyAgrum / credo"] for row in rows),
        "largest difference": max(row["largest difference"] for row in rows),
    }


def _mean(rows: Sequence[Row], column: str) -> float:
    """Take the geometric mean of a column."""
    logs = [math.log(row[column]) for row in rows]
    return significant(math.exp(sum(logs) / len(logs)))


def memory(scale: Scale, into: Path) -> None:
    """Ask how much memory a tree takes, in units of its clique tables."""
    table = []
    for network in scale.large:
        found = in_fresh_process(JOBS, {"job": "memory", "network": network}, 1)
        table.append(
            {
                "model": network,
                "clique tables MB": significant(found["tables"] / 1e6),
                "peak MB": significant(found["peak"] / 1e6),
                "peak / tables": significant(found["peak"] / found["tables"]),
            }
        )
    write("exact_memory", table, into)
    verdict("memory", table, "peak / tables", "<= 2.2")


def load(scale: Scale, into: Path) -> None:
    """Time reading BIF files."""
    table = []
    for network in scale.read:
        job = {"job": "load", "network": network, "turns": scale.turns}
        found = in_fresh_process(JOBS, job, 1)
        table.append(
            {
                "model": network,
                "file MB": significant(found["megabytes"]),
                "credo ms": significant(1e3 * found["credo"]),
                "pyAgrum ms": figure(found, "pyAgrum", 1e-3),
                "pgmpy ms": significant(1e3 * found["pgmpy"]),
                "pyAgrum / credo": ratio(found, "pyAgrum"),
            }
        )
        print(table[-1], flush=True)
    write("exact_load", table, into)
    large = [row for row in table if row["file MB"] > 0.2]
    verdict("load, over 200 kB", large, "pyAgrum / credo", ">= 2")
    for model, column, bar in (("pigs", "pyAgrum / credo", ">= 1"), ("alarm", "credo ms", "< 6")):
        verdict(f"load {model}", [r for r in table if r["model"] == model], column, bar)


def rows(scale: Scale, into: Path) -> None:
    """Time thousands of evidence rows on alarm against a loop."""
    table = []
    for same in (True, False):
        job = {
            "job": "rows",
            "network": "alarm",
            "rows": scale.rows,
            "findings": 5,
            "same": same,
            "turns": 3 * scale.turns,
            "looped": min(scale.rows, 500),
        }
        found = in_fresh_process(JOBS, job, 1)
        table.append(
            {
                "model": "alarm",
                "rows": scale.rows,
                "observed": "5, the same in all rows" if same else "5, others in each row",
                "credo s": significant(found["credo"]),
                "two threads s": significant(found["credo two threads"]),
                "loop over pyAgrum s": figure(found, "pyAgrum"),
                "pyAgrum / credo": ratio(found, "pyAgrum"),
            }
        )
    write("exact_rows", table, into)
    verdict("rows", table, "pyAgrum / credo", ">= 500")


def query(scale: Scale, into: Path) -> None:
    """Time one variable of munin given evidence, everything included."""
    table = []
    for n in (1, 5, 20):
        job = {
            "job": "query",
            "network": "munin" if scale is FULL else "water",
            "findings": n,
            "draws": scale.draws,
            "turns": 5,
        }
        found = in_fresh_process(JOBS, job, 1)
        table.append(
            {
                "model": job["network"],
                "findings": n,
                "questions": scale.draws,
                "credo ms each": significant(1e3 * found["credo"] / scale.draws),
                "pyAgrum ms each": figure(found, "pyAgrum", 1e-3 * scale.draws),
                "pyAgrum / credo": ratio(found, "pyAgrum"),
            }
        )
    write("exact_query", table, into)
    verdict("query", table, "pyAgrum / credo", ">= 3")


def mpe(scale: Scale, into: Path) -> None:
    """Time most probable configurations against pgmpy, the peer that has them."""
    table = []
    for network in scale.networks:
        job = {"job": "mpe", "network": network, "turns": scale.turns}
        ours = in_fresh_process(JOBS, job | {"who": "credo"}, 1)
        theirs: Row = {}
        if network in ASKED:
            theirs = in_fresh_process(JOBS, job | {"who": "pgmpy"}, 1)
        table.append(
            {
                "model": network,
                "ln P": significant(ours["score"], 9),
                "credo ms": significant(1e3 * ours["credo"]),
                "pgmpy ms": _pgmpy_time(network, theirs),
                "pgmpy / credo": ratio(theirs, "pgmpy") if "pgmpy" in theirs else "",
            }
        )
        print(table[-1], flush=True)
    write("exact_mpe", table, into)
    verdict("mpe", table, "pgmpy / credo", ">= 1")


def _pgmpy_time(network: str, took: Row) -> float | str:
    if "pgmpy" in took:
        return significant(1e3 * took["pgmpy"])
    return "out of memory" if network in ASKED else "not asked"


#: Networks that pgmpy is asked about: on larger ones it runs for hours, or out of memory as here.
ASKED = ("asia", "cancer", "earthquake", "sachs", "survey", "alarm", "child", "insurance")


def best_configurations(scale: Scale, into: Path) -> None:
    """Time the best configuration of competition instances against toulbar2's proof.

    The instances, ``*.uai.gz``, are looked for beside the project.
    """
    beside = Path(__file__).parents[3] / "shared/data/graphical/uai"
    kinds = ("Alchemy", "CSP", "DBN", "Grids", "Segmentation") if scale is FULL else ("DBN_11",)
    found = [p for kind in kinds for p in sorted(beside.glob(f"uai2014*/{kind}*.uai.gz"))]
    table = []
    for path in [p for p in found if _is_free(p)]:
        job = {"job": "map", "file": str(path), "turns": 3}
        took = in_fresh_process(JOBS, job, 1)
        table.append(_map_row(path.name.removesuffix(".uai.gz"), took))
        print(table[-1], flush=True)
    if table:
        write("exact_map", table, into)


def _map_row(model: str, took: Row) -> Row:
    """Make one instance's row."""
    theirs = took.get("toulbar2", ABSENT)
    both = took["credo"] and theirs not in (None, ABSENT)
    return {
        "model": model,
        "credo s": significant(took["credo"]) if took["credo"] else "over 8 GB",
        "toulbar2 s": "over 30 s" if theirs is None else figure(took, "toulbar2"),
        "toulbar2 / credo": ratio(took, "toulbar2") if both else "",
    }


def _is_free(path: Path) -> bool:
    """Tell whether an instance comes without evidence, which toulbar2 would have to be given."""
    evidence = path.with_suffix("").with_suffix(".uai.evid")
    return evidence.exists() and evidence.read_text().split()[:1] in ([], ["0"])


def start(_: Scale, into: Path) -> None:
    """Time the command line from nothing, with kernels compiled before and not."""
    path = bif_file("asia")
    command = [sys.executable, "-m", "credo", "infer", str(path), "--evidence", "smoke=yes"]

    def run(cache: str) -> float:
        variables = os.environ | {"NUMBA_CACHE_DIR": cache}
        return seconds(
            lambda: subprocess.run(command, check=True, env=variables, stdout=subprocess.DEVNULL)
        )

    with tempfile.TemporaryDirectory() as cache:
        cold = run(cache)
        warm = min(run(cache) for _ in range(5))
    table = [
        {"model": "cold cache", "seconds": significant(cold), "bar": 4.0},
        {"model": "warm cache", "seconds": significant(warm), "bar": 1.0},
    ]
    write("exact_start", table, into)
    for row in table:
        verdict(f"start, {row['model']}", [row], "seconds", f"<= {row['bar']}")


PARTS: dict[str, Callable[[Scale, Path], Any]] = {
    "networks": networks,
    "memory": memory,
    "load": load,
    "rows": rows,
    "query": query,
    "mpe": mpe,
    "map": best_configurations,
    "start": start,
}

if __name__ == "__main__":
    main()
