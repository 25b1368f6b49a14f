"""Loopy belief propagation against PGMax, mrftools, pyAgrum and pgmpy.

``python benchmarks/peers/loopy.py [--quick] [--only PART ...]``; parts: sweeps, memory, size,
schedules, networks, tiny, start.

``make bench`` installs the peers but for mrftools. PGMax and mrftools may live in interpreters of
their own, which are named by environment variables. A peer that is not there is not measured.

``CREDO_PGMAX_PYTHON``
    Another Python with ``pip install jax==0.4.30 scipy numba joblib tqdm`` and ``pip install
    --no-deps pgmax==0.6.1``. With JAX 0.4.38 its sweeps take 15 times as long, with 0.10 they fail.
``CREDO_MRFTOOLS_PYTHON``
    Python 3.10 or newer with NumPy, SciPy and a checkout of VTCSML/mrftools on its path; the
    package of this name that pip finds is about magnetic resonance.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _measure import (
    Row,
    arguments,
    figure,
    in_fresh_process,
    ratio,
    seconds,
    significant,
    told_columns,
    verdict,
    write,
    write_machine,
)
from _peers import blank, is_there, python_of, say_absent
from _turns import Turns

HERE = Path(__file__).parent
JOBS, PEERS = HERE / "_loopy_jobs.py", HERE / "_loopy_peers.py"
#: Cells of edge tables up to which a peer is asked: above, set-up takes minutes or memory runs out.
ASKED = {"PGMax": 8_000_000, "mrftools": 8_000_000}
#: Cells above which tables in float64 leave no room for anything else.
MOST = 100_000_000
SCHEDULES = ("flooding", "sequential", "residual", "random", "tree")
LOOPY = (
    *("child", "alarm", "insurance", "water", "hailfinder", "hepar2"),
    *("win95pts", "andes", "pigs", "link"),
)


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is run."""

    sizes: Sequence[int]
    states: Sequence[int]
    side: int
    largest: int
    networks: Sequence[str]
    grids: Sequence[int]
    turns: int
    sets: int


FULL = Scale(
    (10_000, 100_000, 1_000_000), (2, 4, 16), 512, 1_000_000, LOOPY, (3, 4, 5, 6), turns=5, sets=5
)
QUICK = Scale((1_000,), (2, 4, 16), 32, 10_000, ("child", "alarm"), (3,), turns=2, sets=2)
#: How many times faster than PGMax sweeps have to be, by the number of states.
BARS = {2: 10, 4: 5, 16: 3}


def main() -> None:
    """Run the parts asked for, write their tables, print them and the verdicts."""
    read = arguments(__doc__, tuple(PARTS))
    scale = QUICK if read.quick else FULL
    say_absent(*ASKED, "pgmpy", "pyAgrum")
    for part in read.only:
        PARTS[part](scale, read.into)
    write_machine(read.into)
    print(f"\nThe tables are in {read.into}")


class Contestant(Turns):
    """A model that is set up, and whose sweeps are run by turns."""

    def __init__(self, who: str, job: Row) -> None:
        ours = who == "credo"
        python = None if ours else python_of(who)
        super().__init__(
            python or sys.executable, JOBS if ours else PEERS, job | {"who": who, "core": 0}
        )


def contest(job: Row, turns: int) -> dict[str, Contestant]:
    """Let credo and the peers that are there take turns on a model."""
    cells = _edges(job) * job["states"] ** 2
    there = [who for who, most in ASKED.items() if is_there(who) and cells <= most]
    contestants = {who: Contestant(who, job) for who in ("credo", *there)}
    for _ in range(turns):
        for contestant in contestants.values():
            contestant.run()
    for contestant in contestants.values():
        contestant.close()
    return contestants


def _edges(job: Row) -> int:
    return int(job["size"] * (2 if job["graph"] == "grid" else 3))


def sweeps(scale: Scale, into: Path) -> None:
    """Time 50 sweeps over random regular graphs and grids, per edge and sweep."""
    table = []
    for graph in ("regular", "grid"):
        for k in scale.states:
            for n in scale.sizes:
                job = {"graph": graph, "size": n, "states": k, "sweeps": 50}
                if _edges(job) * k * k <= MOST:
                    table.append(_sweeps_row(job, contest(job, scale.turns)))
                    print(table[-1], flush=True)
    write("loopy_sweeps", told_columns(table), into)
    for k, bar in BARS.items():
        rows = [row for row in table if row["states"] == k]
        verdict(f"sweeps, {k} states", rows, "PGMax / credo", f">= {bar}")
    write("loopy_ratios", told_columns([_short(row) for row in table if row["PGMax ns"]]), into)


def _sweeps_row(job: Row, took: Mapping[str, Contestant]) -> Row:
    """Make one model's row: nanoseconds per edge and sweep, and how far answers are apart.

    PGMax damps logs of messages, and messages still move: answers agree nearly. mrftools does not
    damp, and so is elsewhere.
    """
    ours = took["credo"]
    work = ours.ready["edges"] * job["sweeps"]
    if any(other.ready["sweeps"] != job["sweeps"] for other in took.values()):
        raise SystemExit(f"A contestant stopped early on {job}: the times cannot be compared.")
    row: Row = {
        "model": f"{job['graph']}, k={job['states']}, n={job['size']}",
        "states": job["states"],
        "edges": ours.ready["edges"],
        "credo ns": significant(1e9 * ours.best / work),
    }
    for who in ASKED:
        known = who in took
        row[f"{who} ns"] = significant(1e9 * took[who].best / work) if known else blank(who)
    for who in ASKED:
        known = who in took
        row[f"{who} / credo"] = significant(took[who].best / ours.best) if known else blank(who)
    damped = took.get("PGMax")
    apart = _apart(ours.ready, damped.ready) if damped else 0.0
    row["credo first s"] = significant(_first(ours))
    row["PGMax first s"] = significant(_first(damped)) if damped else blank("PGMax")
    row["PGMax: difference"] = significant(apart, 2) if damped else blank("PGMax")
    return row


def _first(contestant: Contestant) -> float:
    return float(contestant.ready["set-up"] + contestant.ready["first"])


def _apart(one: Row, other: Row) -> float:
    return float(np.abs(np.array(one["beliefs"]) - np.array(other["beliefs"])).max())


def _short(row: Row) -> Row:
    kept = ("model", "credo ns", "PGMax ns", "mrftools ns", "PGMax / credo", "mrftools / credo")
    return {key: row[key] for key in kept}


def memory(scale: Scale, into: Path) -> None:
    """Measure what a binary grid takes above what the library itself takes, and the first call."""
    job = {"graph": "grid", "size": scale.side**2, "states": 2, "sweeps": 50}
    warm, cold = contest(job | {"warm": True}, 0), contest(job, 0)
    ours = warm["credo"].ready["bytes"]
    table = [
        {
            "model": f"{scale.side}×{scale.side}, 2 states",
            "library": who,
            "extra MB": significant(warm[who].ready["bytes"] / 1e6),
            "memory / credo": significant(warm[who].ready["bytes"] / ours),
            "set-up and first call s": significant(_first(cold[who])),
        }
        for who in warm
    ]
    write("loopy_memory", table, into)
    known = [row for row in table if row["library"] == "PGMax"]
    verdict("memory", known, "memory / credo", ">= 10")


def size(scale: Scale, into: Path) -> None:
    """Ask whether time per edge stays the same, what a second thread brings, and peak memory."""
    table = []
    for n in scale.sizes if scale is FULL else (1_000, scale.largest):
        job = {"job": "size", "graph": "regular", "size": n, "states": 2, "sweeps": 50}
        over = [1, 2] if n == scale.largest else [1]
        found = in_fresh_process(JOBS, job | {"over": over, "turns": scale.turns}, 1)
        row: Row = {"model": f"regular, k=2, n={n}", "edges": found["edges"]}
        row["ns per edge and sweep"] = significant(found["whole 1"])
        row["without set-up"] = significant(found["sweeps 1"])
        row["over the least"] = 0.0
        two = found.get("whole 2")
        row["two threads"] = significant(two) if two else ""
        row["one / two threads"] = significant(found["whole 1"] / two) if two else ""
        table.append(row)
    least = min(row["ns per edge and sweep"] for row in table)
    for row in table:
        row["over the least"] = significant(row["ns per edge and sweep"] / least)
    write("loopy_size", table, into)
    verdict("size", table, "over the least", "<= 1.6")
    verdict("threads", [table[-1]], "one / two threads", ">= 1.6")
    job = {"job": "peak", "graph": "regular", "size": scale.largest, "states": 2, "sweeps": 50}
    found = in_fresh_process(JOBS, job, 1)
    peak = [
        {
            "model": f"regular, k=2, n={scale.largest}, float32",
            "edges": found["edges"],
            "whole process MB": significant(found["peak"] / 1e6),
        }
    ]
    write("loopy_peak", peak, into)
    verdict("peak", peak, "whole process MB", "< 1000")


def schedules(scale: Scale, into: Path) -> None:
    """Count the messages until none changes by more than 1e-6, schedule by schedule."""
    if not is_there("pgmpy"):  # it brings the networks
        return
    table = []
    for network in scale.networks:
        job = {
            "job": "schedules",
            "network": network,
            "schedules": SCHEDULES,
            "sets": scale.sets,
            "findings": 5,
            "sweeps": 2000,
            "momentum": 1.0,
            "turns": scale.turns,
        }
        table.append(_schedules_row(network, in_fresh_process(JOBS, job, 1), scale.sets))
        print(table[-1], flush=True)
    write("loopy_schedules", table, into)
    kept = ("flooding updates", "residual updates", "flooding / residual")
    times = ("flooding ms", "residual ms")
    write("loopy_residual", [{k: row[k] for k in ("model", *kept, *times)} for row in table], into)
    verdict("schedules", table, "flooding / residual", ">= 2")


def _schedules_row(network: str, found: Row, sets: int) -> Row:
    """Add up over the sets of findings on which every schedule converged."""
    good = [all(found[s]["converged"][i] for s in SCHEDULES) for i in range(sets)]
    row: Row = {"model": network, "variables": found["variables"]}
    row["converged"] = f"{sum(good)} of {sets}"
    updates = {
        s: sum(u for u, kept in zip(found[s]["updates"], good, strict=True) if kept)
        for s in SCHEDULES
    }
    for s in SCHEDULES:
        row[f"{s} updates"] = updates[s] if any(good) else ""
    for s in SCHEDULES:
        took = sum(t for t, kept in zip(found[s]["seconds"], good, strict=True) if kept)
        row[f"{s} ms"] = significant(1e3 * took) if any(good) else ""
    many = any(good) and updates["residual"] > 0
    row["flooding / residual"] = (
        significant(updates["flooding"] / updates["residual"]) if many else ""
    )
    return row


def networks(scale: Scale, into: Path) -> None:
    """Time loopy propagation on Bayesian networks next to pyAgrum's."""
    if not (is_there("pgmpy") and is_there("pyAgrum")):
        return
    table = []
    for network in ("alarm", "hepar2", "win95pts") if scale is FULL else ("alarm",):
        job = {"job": "directed", "network": network, "sets": 1, "findings": 5}
        found = in_fresh_process(
            JOBS, job | {"sweeps": 1000, "momentum": 1.0, "turns": scale.turns}, 1
        )
        took = found["seconds"]
        table.append(
            {
                "model": network,
                "credo ms": significant(1e3 * took["credo"]),
                "pyAgrum ms": significant(1e3 * took["pyAgrum"]),
                "credo sweeps": found["sweeps"]["credo"],
                "pyAgrum sweeps": found["sweeps"]["pyAgrum"],
                "pyAgrum / credo": significant(took["pyAgrum"] / took["credo"]),
                "largest difference": significant(found["apart"], 2),
            }
        )
    write("loopy_networks", table, into)
    verdict("networks", table, "pyAgrum / credo", ">= 1")


def tiny(scale: Scale, into: Path) -> None:
    """Time 50 sweeps over tiny grids next to pgmpy, which sums exactly."""
    table = []
    for side in scale.grids:
        job = {"job": "tiny", "graph": "grid", "size": side**2, "states": 2, "sweeps": 50}
        found = in_fresh_process(JOBS, job | {"turns": scale.turns}, 1)
        table.append(
            {
                "model": f"{side}×{side}",
                "credo ms": significant(1e3 * found["credo"]),
                "pgmpy ms": figure(found, "pgmpy", 1e-3),
                "pgmpy / credo": ratio(found, "pgmpy"),
            }
        )
    write("loopy_tiny", table, into)


def start(_: Scale, into: Path) -> None:
    """Time a first answer in a fresh process, with kernels compiled before and not."""
    job = {"job": "start", "graph": "grid", "size": 100, "states": 2, "sweeps": 50}
    command = [sys.executable, str(JOBS), json.dumps(job)]

    def run(cache: str) -> float:
        variables = os.environ | {"NUMBA_CACHE_DIR": cache}
        return seconds(
            lambda: subprocess.run(command, check=True, env=variables, stdout=subprocess.DEVNULL)
        )

    with tempfile.TemporaryDirectory() as cache:
        cold = run(cache)
        warm = min(run(cache) for _ in range(5))
    table = [
        {"model": "cold cache", "seconds": significant(cold)},
        {"model": "warm cache", "seconds": significant(warm)},
    ]
    write("loopy_start", table, into)
    verdict("start", [table[1]], "seconds", "< 1.2")


PARTS: dict[str, Callable[[Scale, Path], Any]] = {
    "sweeps": sweeps,
    "memory": memory,
    "size": size,
    "schedules": schedules,
    "networks": networks,
    "tiny": tiny,
    "start": start,
}

if __name__ == "__main__":
    main()
