"""Restoring pictures at several levels of noise: what credo, NumPy and PGMax leave wrong."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _grid_contest import PEERS
from _grid_peers import COUPLING, FLIP, MOMENTUM, SWEEPS, half_log_odds
from _grid_planes import STYLES
from _measure import Row, best_of, significant
from _peers import blank, python_of
from _turns import ONE_THREAD
from PIL import Image

import credo

DATA = "CREDO_DATA"


def clean_pictures() -> dict[str, Any]:
    """Give pictures of signs: the portrait drawn by code, and those that are there."""
    folder = Path(os.environ.get(DATA, Path(__file__).parents[3] / "shared" / "data")) / "images"
    found = {"portrait": np.where(credo.images.portrait(128), 1, -1)}
    for path in sorted(folder.glob("*_128_binary.png")):
        found[path.stem] = np.where(np.asarray(Image.open(path).convert("L")) > 127, 1, -1)
    return found


def by_pgmax(seen: Any, flips: Sequence[float]) -> Sequence[Any]:
    """Restore with PGMax, if it is there."""
    python = python_of("PGMax")
    if python is None:
        return [None] * len(seen)
    with tempfile.TemporaryDirectory() as folder:
        given, into = Path(folder) / "seen.npz", Path(folder) / "white.npy"
        np.savez(given, seen=seen, flips=flips)
        job = {"job": "restore", "file": str(given), "into": str(into), "sweeps": SWEEPS}
        command = [python, str(PEERS), json.dumps(job)]
        subprocess.run(command, check=True, env=os.environ | ONE_THREAD, stdout=subprocess.DEVNULL)
        return list(np.load(into))


def picture_row(name: str, flip: float, clean: Any, seen: Any, theirs: Any) -> Row:
    """Restore one picture: with the true share of flips, with one for all, and with neither told.

    The first is what the peers are told too.
    """

    def run(told: Any = flip, coupling: Any = COUPLING) -> Any:
        return credo.denoise(seen, told, coupling, SWEEPS, MOMENTUM)

    def share(image: Any) -> float:
        return significant(float((image != clean).mean()))

    fixed, learnt = run(), run("estimate", "estimate")
    plane = (half_log_odds(flip) * seen).astype(np.float32)
    planes = STYLES["NumPy"](plane, COUPLING, SWEEPS, MOMENTUM)
    return {
        "model": name,
        "flip": flip,
        "U true": round(fixed.field.energy(clean)),
        "U noisy": round(fixed.energy.noisy),
        "U restored": round(fixed.energy.restored),
        "ms": significant(1e3 * best_of({"": run}, 5)[""]),
        "noisy": share(seen),
        "credo": share(fixed.image),
        "NumPy": share(np.where(planes > 0.5, 1, -1)),
        "PGMax": share(np.where(theirs, 1, -1)) if theirs is not None else blank("PGMax"),
        "default": share(run(FLIP).image),
        "estimated": share(learnt.image),
        "estimated flip": significant(learnt.flip_probability),
        "estimated coupling": significant(learnt.coupling),
    }
