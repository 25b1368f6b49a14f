"""Belief propagation on pictures with NumPy and with PGMax, each in an interpreter of its own.

``python _grid_peers.py '{"job": "turns", "who": "PGMax", "kind": "ising", "side": 128, ...}'``

Needs NumPy, PGMax for that peer, and Python 3.10 or newer. A contestant sets up, runs once, says so
as a line of JSON, then runs once for each line it is sent and says how long that took.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from _grid_planes import STYLES
from _loopy_peers import Late, Row, Run, grid, peak_bytes, say

#: Share of flipped pixels, the coupling of signs, the momentum, and how many sweeps over signs.
FLIP, COUPLING, MOMENTUM, SWEEPS = 0.1, 0.6, 0.5, 20
#: The coupling of labels, the cost of a step between levels, and the share of levels that a step
#: may count at most.
POTTS, SLOPE, REACH = 1.0, 0.5, 0.25
#: Squares along a side of the picture.
SQUARES = 8
#: Pixels whose beliefs are compared between contestants, spread over the picture.
COMPARED = 1000


class Picture(NamedTuple):
    """A picture's potentials, as logs."""

    nodes: Any  #: (height, width, k)
    pair: Any  #: (k, k), of each edge


def half_log_odds(flip: Any) -> Any:
    """Give the field that a flip probability stands for."""
    return 0.5 * np.log((1.0 - flip) / flip)


def squares(side: int, levels: int, rows: Any = None) -> Any:
    """Draw squares of levels side by side: the whole picture, or some rows of it."""
    down = np.arange(side) if rows is None else np.asarray(rows)
    across = np.arange(side) * SQUARES // side * (1 + levels // 3)
    return (down[:, None] * SQUARES // side + across) % levels


def draw(job: Row) -> Picture:
    """Draw the noisy picture of a job: flipped signs, or levels with Gaussian noise."""
    side, k = job["side"], job.get("labels", 2)
    rng = np.random.default_rng(0)
    clean = squares(side, k)
    if job["kind"] == "ising":
        seen = np.where(rng.random((side, side)) < FLIP, 1 - clean, clean)
        plane = (half_log_odds(FLIP) * (2 * seen - 1)).astype(np.float32)
        return Picture(np.stack([-plane, plane], axis=-1), pair_of(job))
    spread = k / 8.0
    seen = (clean + spread * rng.standard_normal((side, side))).astype(np.float32)
    away = (seen[..., None] - np.arange(k, dtype=np.float32)) / np.float32(spread)
    return Picture(np.float32(-0.5) * away**2, pair_of(job))


def pair_of(job: Row) -> Any:
    """Write out the log potential of an edge."""
    k = job.get("labels", 2)
    steps = np.abs(np.subtract.outer(np.arange(k), np.arange(k)))
    tables = {
        "ising": COUPLING * np.where(steps == 0, 1.0, -1.0),
        "potts": POTTS * (steps == 0),
        "linear": -SLOPE * np.minimum(steps, REACH * k),
    }
    return tables[job["kind"]].astype(np.float32)


def edges_of(side: int) -> int:
    """Count the edges of a square picture."""
    return 2 * side * (side - 1)


def serve(job: Row, make: Callable[[Picture, Row], Run]) -> None:
    """Set up, run once, and then once for each line that is sent.

    With ``warm`` a tiny picture of the same kind is run before, so that the memory told is that of
    the picture and not that of the library.
    """
    if "core" in job and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {job["core"]})
    if job.get("warm"):
        tiny = job | {"side": 16}
        make(draw(tiny), tiny)()
    picture = draw(job)
    before = peak_bytes()
    start = time.perf_counter()
    run = make(picture, job)
    ready = time.perf_counter()
    beliefs = run()
    done = time.perf_counter()
    say(
        {
            "set-up": ready - start,
            "first": done - ready,
            "edges": edges_of(job["side"]),
            "sweeps": beliefs.sweeps,
            "bytes": peak_bytes() - before,
            "beliefs": spread_out(beliefs.read()).tolist(),
        }
    )
    del beliefs
    for _ in sys.stdin:
        start = time.perf_counter()
        run()
        say({"seconds": time.perf_counter() - start})


def spread_out(beliefs: Any) -> Any:
    """Take the beliefs of some pixels from all over the picture."""
    rows = np.asarray(beliefs, np.float64)
    rows = rows.reshape(-1, rows.shape[-1])
    return rows[:: max(1, len(rows) // COMPARED)]


def of_two(second: Any) -> Any:
    """Give the beliefs of both labels, from those of the second."""
    return np.stack([1 - second, second], axis=-1)


def planes(style: str) -> Callable[[Picture, Row], Run]:
    """Give a maker of a contestant in NumPy."""

    def make(picture: Picture, job: Row) -> Run:
        plane = np.ascontiguousarray(picture.nodes[..., 1])

        def run() -> Late:
            second = STYLES[style](plane, COUPLING, job["sweeps"], MOMENTUM)
            return Late(job["sweeps"], lambda: of_two(second))

        return run

    return make


class PGMax:
    """A picture in PGMax: its sweeps compiled as one function, as its examples do."""

    def __init__(self, pair: Any, side: int, sweeps: int, *, maximum: bool) -> None:
        import jax  # noqa: PLC0415 - a peer, loaded where it is measured
        from pgmax import fgraph, fgroup, infer, vgroup  # noqa: PLC0415

        self.pixels = vgroup.NDVarArray(num_states=len(pair), shape=(side, side))
        graph = fgraph.FactorGraph(variable_groups=[self.pixels])
        each = [self.pixels[i, j] for i in range(side) for j in range(side)]
        joined = [[each[a], each[b]] for a, b in grid(side).tolist()]
        graph.add_factors(
            fgroup.PairwiseFactorGroup(variables_for_factors=joined, log_potential_matrix=pair)
        )
        heat = 0.0 if maximum else 1.0
        self._wait = jax.block_until_ready
        self._marginals = infer.get_marginals
        self.engine = infer.BP(graph.bp_state, temperature=heat)
        self._sweep = jax.jit(
            lambda a: self.engine.run(a, num_iters=sweeps, damping=1.0 - MOMENTUM, temperature=heat)
        )

    def ready(self, nodes: Any) -> Any:
        """Hand over node potentials."""
        return self.engine.init(evidence_updates={self.pixels: nodes})

    def run(self, arrays: Any) -> Any:
        """Sweep, and wait until it is done."""
        done = self._sweep(arrays)
        self._wait(done.ftov_msgs)
        return done

    def beliefs(self, done: Any) -> Any:
        """Read beliefs off."""
        return np.asarray(self._marginals(self.engine.get_beliefs(done))[self.pixels])


def pgmax(picture: Picture, job: Row) -> Run:
    """Prepare PGMax. It damps logs of messages."""
    maximum = job.get("method") == "max-product"
    peer = PGMax(picture.pair, job["side"], job["sweeps"], maximum=maximum)
    arrays = peer.ready(picture.nodes)

    def run() -> Late:
        done = peer.run(arrays)
        return Late(job["sweeps"], lambda: peer.beliefs(done))

    return run


def turns(job: Row) -> None:
    """Take turns with other contestants."""
    serve(job, pgmax if job["who"] == "PGMax" else planes(job["who"]))


def restore(job: Row) -> None:
    """Restore noisy pictures of signs with PGMax; say which pixels it believes to be white.

    The file has the pictures and the share of pixels that were flipped in each.
    """
    told = np.load(job["file"])
    side = told["seen"].shape[1]
    peer = PGMax(pair_of({"kind": "ising"}), side, job["sweeps"], maximum=False)
    found = []
    for seen, flip in zip(told["seen"], told["flips"]):  # noqa: B905 - Python 3.10
        plane = (half_log_odds(flip) * seen).astype(np.float32)
        done = peer.run(peer.ready(np.stack([-plane, plane], axis=-1)))
        found.append(peer.beliefs(done)[..., 1] > 0.5)
    np.save(job["into"], np.stack(found))
    say({"pictures": len(found)})


JOBS: dict[str, Callable[[Row], None]] = {"turns": turns, "restore": restore}

if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    JOBS[asked["job"]](asked)
