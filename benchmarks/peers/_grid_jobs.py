"""Jobs of ``grid.py`` that credo does: one picture, or one question, in one fresh process.

``python benchmarks/peers/_grid_jobs.py '{"job": "turns", "kind": "ising", "side": 128, ...}'``
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _grid_peers import (
    COUPLING,
    FLIP,
    MOMENTUM,
    POTTS,
    REACH,
    SLOPE,
    Picture,
    draw,
    edges_of,
    of_two,
    serve,
    squares,
)
from _loopy_peers import Late, Row, Run, peak_bytes, say
from _measure import best_of

import credo
from credo.graphs import GridField, Potts, TruncatedLinear
from credo.images import denoise_tiled
from credo.inference.grids import infer_grid

#: Sweeps of a shorter run: what the run asked for takes beyond it is what sweeps alone cost.
FEWER = 10
#: Planes of float32 that a sweep of signs reads and writes: the field, and four messages each way.
PLANES = 9
#: Rows of a large picture that are drawn at a time.
ROWS = 256


def field_of(picture: Picture, job: Row) -> GridField:
    """Give credo the picture of a job."""
    if job["kind"] == "ising":
        return GridField.ising(np.ascontiguousarray(picture.nodes[..., 1]), COUPLING)
    reach = REACH * job["labels"]
    smoothness = Potts(POTTS) if job["kind"] == "potts" else TruncatedLinear(SLOPE, reach)
    return GridField(picture.nodes, smoothness)


def flooding(field: GridField, job: Row, sweeps: int) -> Any:
    """Pass all messages so many times, as the peers do, and read off all beliefs."""
    found = infer_grid(
        field,
        method=job.get("method", "sum-product"),
        sweeps=sweeps,
        momentum=MOMENTUM,
        schedule="flooding",
        dtype="float32",
        threads=job.get("threads", 1),
    )
    return found.sweeps, found.posterior


def prepare(picture: Picture, job: Row) -> Run:
    """Prepare the engine for turns with the peers."""
    field = field_of(picture, job)

    def run() -> Late:
        sweeps, posterior = flooding(field, job, job["sweeps"])
        return Late(sweeps, lambda: posterior.probabilities)

    return run


def whole_call(picture: Picture, job: Row) -> Run:
    """Prepare ``credo.denoise``, which also reads the image, decides and writes the image."""
    return restoring(np.where(picture.nodes[..., 1] > 0, np.uint8(255), np.uint8(0)), job)


def restoring(image: Any, job: Row) -> Run:
    """Prepare ``credo.denoise`` for an image of 0 and 255."""

    def run() -> Late:
        found = credo.denoise(
            image,
            flip_probability=FLIP,
            coupling=COUPLING,
            sweeps=job["sweeps"],
            momentum=MOMENTUM,
            dtype="float32",
            threads=job.get("threads", 1),
        )
        return Late(found.sweeps, lambda: of_two(found.posterior.of(255)))

    return run


def turns(job: Row) -> None:
    """Take turns with other contestants."""
    serve(job, whole_call if job["who"] == "credo.denoise" else prepare)


def limit(job: Row) -> None:
    """Time sweeps over signs next to copying the planes that a sweep could not do without."""
    field = field_of(draw(job), job)
    side = job["side"]
    source = np.ones((PLANES, side, side), np.float32)
    target = np.zeros_like(source)
    flooding(field, job, FEWER)
    took = best_of(
        {
            "whole": lambda: flooding(field, job, job["sweeps"]),
            "fewer": lambda: flooding(field, job, FEWER),
            "copy": lambda: np.copyto(target, source),
        },
        job["turns"],
    )
    say(
        {
            "whole": took["whole"] / job["sweeps"],
            "sweep": (took["whole"] - took["fewer"]) / (job["sweeps"] - FEWER),
            "copy": took["copy"],
        }
    )


def labels(job: Row) -> None:
    """Time sweeps over pictures of few and of many labels; say nanoseconds per edge and sweep."""
    contestants = {}
    for k in job["over"]:
        given = job | {"labels": k}
        contestants[str(k)] = _sweeps(field_of(draw(given), given), given)
    for run in contestants.values():
        run()
    took = best_of(contestants, job["turns"])
    work = edges_of(job["side"]) * job["sweeps"]
    say({k: 1e9 * best / work for k, best in took.items()})


def _sweeps(field: GridField, job: Row) -> Run:
    return lambda: flooding(field, job, job["sweeps"])


def size(job: Row) -> None:
    """Restore a picture in memory; say megapixels per second and the peak of the process."""
    image = np.empty((job["side"], job["side"]), np.uint8)
    spoil(image)
    run = restoring(image, job)
    run()
    took = best_of({"": run}, job["turns"])[""]
    say({"rate": image.size / took / 1e6, "peak": peak_bytes()})


def tiles(job: Row) -> None:
    """Restore a picture in a file tile by tile; say megapixels per second and the peak."""
    with tempfile.TemporaryDirectory() as folder:
        given, into = (_in_file(Path(folder) / name, job["side"]) for name in ("noisy", "clean"))
        spoil(given)
        given.flush()
        options = {"flip_probability": FLIP, "coupling": COUPLING, "momentum": MOMENTUM}
        options |= {"sweeps": job["sweeps"], "threads": job["threads"]}
        denoise_tiled(np.eye(64, dtype=np.uint8), **options)
        took = best_of({"": lambda: denoise_tiled(given, into, **options)}, job["turns"])[""]
        say({"rate": given.size / took / 1e6, "peak": peak_bytes()})


def _in_file(path: Path, side: int) -> Any:
    return np.lib.format.open_memmap(path, "w+", np.uint8, (side, side))


def spoil(image: Any) -> None:
    """Draw squares of 0 and 255 and flip pixels, some rows at a time."""
    side = len(image)
    rng = np.random.default_rng(0)
    for row in range(0, side, ROWS):
        clean = squares(side, 2, range(row, min(row + ROWS, side)))
        image[row : row + ROWS] = 255 * (clean ^ (rng.random(clean.shape) < FLIP))


JOBS: dict[str, Callable[[Row], None]] = {
    "turns": turns,
    "limit": limit,
    "labels": labels,
    "size": size,
    "tiles": tiles,
}

if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    JOBS[asked["job"]](asked)
