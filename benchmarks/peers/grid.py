"""Belief propagation on pictures against PGMax and against planes in NumPy.

``python benchmarks/peers/grid.py [--quick] [--only PART ...]``; parts: sweeps, limit, labels,
start, size, pictures.

``CREDO_PGMAX_PYTHON``
    PGMax's interpreter, if it is not this one; ``loopy.py`` says how to make one.
``CREDO_DATA``
    A folder with ``images/*_128_binary.png``, more pictures to restore, if there is one.

NumPy is written in three ways, see ``_grid_planes.py``: as well as can be in twenty lines, as the
lecture puts it, and in logs as general programs do. All run on one core; credo also on two.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _grid_contest import CREDO, JOBS, OURS, TWO, WHOLE, Contestant, contest
from _grid_peers import COUPLING, FLIP, SWEEPS, draw
from _grid_pictures import by_pgmax, clean_pictures, picture_row
from _grid_planes import STYLES
from _measure import (
    Row,
    arguments,
    in_fresh_process,
    seconds,
    significant,
    told_columns,
    verdict,
    write,
    write_machine,
)
from _peers import blank, is_there, say_absent
from PIL import Image

#: Longest side that a peer is asked for: beyond, memory or patience runs out. PGMax takes over
#: 7 GB at 2048.
ASKED = {"PGMax": 1024, "NumPy": 2048, "NumPy as the lecture": 2048, "NumPy in logs": 512}
#: Longest side of pictures of so many labels for PGMax: some 9 and 7 GB, four times 2.2 and 1.7 GB
#: at half the side.
ASKED_LABELS = {16: 256, 64: 64}
#: Pixels that a contestant may go over in all its turns, and how few and many turns that may be.
PIXELS, TURNS = 2**23, (3, 40)
LEVELS = (0.05, 0.10, 0.15, 0.20)


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is run."""

    sides: Sequence[int]
    limit: int
    labels_side: int
    labels_sweeps: int
    sizes: Sequence[int]
    tiled: Sequence[int]
    turns: int


FULL = Scale(
    sides=(128, 512, 1024, 2048, 4096),
    limit=4096,
    labels_side=512,
    labels_sweeps=10,
    sizes=(512, 1024, 2048, 4096),
    tiled=(4096, 8192, 16384),
    turns=5,
)
QUICK = Scale((32, 64), 128, 32, 3, sizes=(64, 128), tiled=(256, 300), turns=2)


def main() -> None:
    """Run the parts asked for, write their tables, print them and the verdicts."""
    read = arguments(__doc__, tuple(PARTS))
    scale = QUICK if read.quick else FULL
    say_absent("PGMax")
    for part in read.only:
        PARTS[part](scale, read.into)
    write_machine(read.into)
    print(f"\nThe tables are in {read.into}")


def peers_at(side: int) -> list[str]:
    """Name the peers that are there and can restore a picture of this size."""
    return [each for each, most in ASKED.items() if side <= most and is_there(each)]


def sweeps(scale: Scale, into: Path) -> None:
    """Time 20 sweeps over signs: per edge and sweep, memory, and the first call."""
    table = []
    for side in scale.sides:
        job = {"kind": "ising", "side": side, "sweeps": SWEEPS}
        who = [*OURS, *peers_at(side)]
        took = contest(who, job, int(np.clip(PIXELS // side**2, *TURNS)))
        memory = {each: Contestant(each, job | {"warm": True}) for each in who}
        for each in memory.values():
            each.close()
        table += _sweeps_rows(side, took, {w: each.ready["bytes"] for w, each in memory.items()})
        print(*table[-len(who) :], sep="\n", flush=True)
    write("grid_sweeps", table, into)
    write("grid_ratios", told_columns([_short(side, table) for side in scale.sides]), into)
    _sweeps_verdicts(table)


def _sweeps_rows(side: int, took: Mapping[str, Contestant], memory: Mapping[str, int]) -> list[Row]:
    """Make the rows of one size.

    PGMax damps logs of messages, and messages still move: its beliefs agree nearly.
    """
    ours = took[CREDO]
    return [
        {
            "model": _square(side),
            "library": who,
            "seconds": significant(each.best),
            "ns per edge and sweep": significant(1e9 * each.best / (ours.ready["edges"] * SWEEPS)),
            "time / credo": significant(each.best / ours.best),
            "extra MB": significant(memory[who] / 1e6),
            "first call s": significant(each.first),
            "difference": significant(_apart(ours.ready, each.ready), 2),
        }
        for who, each in took.items()
    ]


def _square(side: int) -> str:
    return f"{side}×{side}"


def _apart(one: Row, other: Row) -> float:
    return float(np.abs(np.array(one["beliefs"]) - np.array(other["beliefs"])).max())


def _short(side: int, table: Sequence[Row]) -> Row:
    """Make the short row of one size: nanoseconds and ratios, side by side."""
    here = {row["library"]: row for row in table if row["model"] == _square(side)}
    told: Row = {"model": _square(side)}
    for who in (CREDO, TWO, *STYLES, "PGMax"):
        told[f"{who} ns"] = here[who]["ns per edge and sweep"] if who in here else blank(who)
    for who in (*STYLES, "PGMax"):
        told[f"{who} / credo"] = here[who]["time / credo"] if who in here else blank(who)
    return told


def _sweeps_verdicts(table: Sequence[Row]) -> None:
    """Hold the times against their bars."""
    large = [row for row in table if row["model"] != _square(128)]
    for who, bar in (*((style, 25) for style in STYLES), ("PGMax", 30)):
        known = [row for row in large if row["library"] == who]
        verdict(f"sweeps, {who}", known, "time / credo", f">= {bar}")
    two = [row for row in large if row["library"] == TWO]
    gains = [r | {"one / two threads": significant(1.0 / r["time / credo"])} for r in two]
    verdict("threads", gains, "one / two threads", ">= 1.7")
    small = [row for row in table if (row["model"], row["library"]) == (_square(128), WHOLE)]
    if small:
        verdict("the lecture's size", small, "seconds", "< 0.002")


def limit(scale: Scale, into: Path) -> None:
    """Ask whether a sweep costs no more than copying its planes once."""
    job = {"job": "limit", "kind": "ising", "side": scale.limit, "sweeps": SWEEPS}
    found = in_fresh_process(JOBS, job | {"turns": scale.turns}, 1)
    table = [
        {
            "model": f"{_square(scale.limit)}, float32",
            "sweep of 20, ms": significant(1e3 * found["whole"]),
            "without set-up, ms": significant(1e3 * found["sweep"]),
            "copying nine planes, ms": significant(1e3 * found["copy"]),
            "sweep / copy": significant(found["whole"] / found["copy"]),
        }
    ]
    write("grid_limit", table, into)
    verdict("limit", table, "sweep / copy", "<= 1")


def labels(scale: Scale, into: Path) -> None:
    """Ask whether time is linear in the number of labels, and how long PGMax takes."""
    table = []
    for kind in ("potts", "linear"):
        for method in ("sum-product", "max-product"):
            job = {"kind": kind, "method": method, "sweeps": scale.labels_sweeps}
            table += _labels_rows(job, scale)
            print(*table[-2:], sep="\n", flush=True)
    write("grid_labels", told_columns(table), into)
    verdict("labels", table[1::2], "64 / 16", "< 4.5")
    verdict("labels, PGMax", table, "PGMax / credo", ">= 20")


def _labels_rows(job: Row, scale: Scale) -> list[Row]:
    """Make the rows of one kind: 16 and 64 labels, and PGMax at the size that it can do."""
    over = {"job": "labels", "side": scale.labels_side, "over": [16, 64], "turns": scale.turns}
    found = in_fresh_process(JOBS, job | over, 1)
    rows = []
    for k in over["over"]:
        row: Row = {"model": f"{job['kind']}, {k} labels", "method": job["method"]}
        row["side"] = scale.labels_side
        row["credo ns"] = significant(found[str(k)])
        row["64 / 16"] = significant(found["64"] / found["16"]) if k == 64 else ""
        side = min(ASKED_LABELS[k], scale.labels_side)
        given = job | {"side": side, "labels": k}
        both = contest((CREDO, "PGMax"), given, scale.turns) if is_there("PGMax") else {}
        row |= _next_to_pgmax(side, both, scale.labels_sweeps)
        rows.append(row)
    return rows


def _next_to_pgmax(side: int, both: Mapping[str, Contestant], n_sweeps: int) -> Row:
    """Tell times per edge and sweep of a picture that PGMax can do; nothing if it is not there."""
    names = ("side there", "credo ns there", "PGMax ns there", "PGMax / credo", "difference")
    if not both:
        return dict.fromkeys(names, blank("PGMax"))
    ours, theirs = both[CREDO], both["PGMax"]
    work = 1e-9 * ours.ready["edges"] * n_sweeps
    times = (ours.best / work, theirs.best / work, theirs.best / ours.best)
    apart = significant(_apart(ours.ready, theirs.ready), 2)
    return dict(zip(names, (side, *map(significant, times), apart), strict=True))


def start(scale: Scale, into: Path) -> None:
    """Time the whole command on a picture of the lecture's size, kernels compiled before or not."""
    with tempfile.TemporaryDirectory() as folder:
        noisy, clean = (str(Path(folder) / name) for name in ("noisy.png", "clean.png"))
        seen = draw({"kind": "ising", "side": 128}).nodes[..., 1] > 0
        Image.fromarray(np.where(seen, np.uint8(255), np.uint8(0))).save(noisy)
        options = ["--flip", str(FLIP), "--coupling", str(COUPLING), "--sweeps", str(SWEEPS)]
        command = [sys.executable, "-m", "credo", "denoise", noisy, clean, *options]
        variables = os.environ | {"NUMBA_CACHE_DIR": str(Path(folder) / "kernels")}

        def run() -> float:
            return seconds(
                lambda: subprocess.run(
                    command, check=True, env=variables, stdout=subprocess.DEVNULL
                )
            )

        first = run()
        later = min(run() for _ in range(scale.turns))
    table = [
        {"model": "first, nothing compiled", "seconds": significant(first)},
        {"model": "later", "seconds": significant(later)},
    ]
    write("grid_start", table, into)
    verdict("first start", [table[0]], "seconds", "< 4")
    verdict("later start", [table[1]], "seconds", "< 1")


def size(scale: Scale, into: Path) -> None:
    """Ask whether megapixels per second stay the same, from small pictures to ones in files."""
    table = []
    for how, sides in (("size", scale.sizes), ("tiles", scale.tiled)):
        for side in sides:
            job = {"job": how, "kind": "ising", "side": side, "sweeps": SWEEPS}
            found = in_fresh_process(JOBS, job | {"turns": 1 if how == "tiles" else scale.turns}, 1)
            row: Row = {"model": _square(side), "how": "whole" if how == "size" else "by tiles"}
            row["Mpixel/s"] = significant(found["rate"])
            row["whole process MB"] = significant(found["peak"] / 1e6)
            table.append(row)
            print(row, flush=True)
    write("grid_size", table, into)
    fastest = max(row["Mpixel/s"] for row in table)
    shares = [row | {"of the fastest": significant(row["Mpixel/s"] / fastest)} for row in table]
    verdict("size", shares, "of the fastest", ">= 0.7")
    verdict("tiles", table[-1:], "whole process MB", "< 2000")


def pictures(scale: Scale, into: Path) -> None:
    """Restore pictures at the lecture's noise levels: energies and errors, next to the peers."""
    clean = clean_pictures()
    if scale is QUICK:
        clean = {name: x[32:96, 32:96] for name, x in list(clean.items())[:1]}
    cases = [
        (name, flip, x, np.where(np.random.default_rng(0).random(x.shape) < flip, -x, x))
        for name, x in clean.items()
        for flip in LEVELS
    ]
    theirs = by_pgmax(np.stack([seen for *_, seen in cases]), [flip for _, flip, *_ in cases])
    table = [picture_row(*case, theirs[i]) for i, case in enumerate(cases)]
    write("grid_pictures", told_columns(table), into)
    for who in ("NumPy", "PGMax"):
        known = [row for row in table if not isinstance(row[who], str)]
        more = [row | {"more": row["credo"] - row[who]} for row in known]
        verdict(f"errors, credo less {who}", more, "more", "<= 0")
    totals = [
        {"model": name, "estimated / default": significant(_total("estimated", name, table))}
        for name in clean
    ]
    verdict("errors, all levels", totals, "estimated / default", "<= 1")


def _total(who: str, name: str, table: Sequence[Row]) -> float:
    """Compare errors over all levels with those of one setting for all."""
    rows = [row for row in table if row["model"] == name]
    return float(sum(row[who] for row in rows) / sum(row["default"] for row in rows))


PARTS: dict[str, Callable[[Scale, Path], Any]] = {
    "sweeps": sweeps,
    "limit": limit,
    "labels": labels,
    "start": start,
    "size": size,
    "pictures": pictures,
}

if __name__ == "__main__":
    main()
