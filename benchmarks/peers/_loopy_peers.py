"""Loopy belief propagation of other libraries, each in an interpreter of its own.

``python _loopy_peers.py '{"who": "PGMax", "graph": "regular", "size": 10000, "states": 2, ...}'``

Needs NumPy and the library that is asked for, and Python 3.10 or newer. A contestant sets up, runs
once, says so as a line of JSON, then runs once for each line it is sent and says how long that
took.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Row = dict[str, Any]
#: A run of all sweeps; contestants give :class:`Late` beliefs, one row per variable.
Run = Callable[[], Any]

#: Standard deviation of log potentials by number of states, and how much larger it is on grids:
#: messages contract, but so slowly that they still move after 50 sweeps; nobody stops early.
SPREAD, GRIDS = {2: 0.7, 4: 0.8, 16: 1.0}, 1.3
#: Variables whose beliefs are compared between contestants.
COMPARED = 200


class Potentials(NamedTuple):
    """A pairwise model: logs of potentials of nodes and edges."""

    nodes: Any  #: (n, k)
    edges: Any  #: (m, 2)
    pairs: Any  #: (m, k, k)


def regular(n: int, degree: int, seed: int = 0) -> Any:
    """Draw a simple random regular graph: pair up stubs, and mix the pairs that will not do."""
    rng = np.random.default_rng(seed)
    edges = rng.permutation(np.repeat(np.arange(n), degree)).reshape(-1, 2)
    while True:
        key = edges.min(axis=1) * n + edges.max(axis=1)
        order = np.argsort(key, kind="stable")
        bad = edges[:, 0] == edges[:, 1]
        bad[order[1:]] |= key[order[1:]] == key[order[:-1]]
        if not bad.any():
            return edges
        wrong = np.flatnonzero(bad)
        mixed = np.union1d(wrong, rng.choice(len(edges), len(wrong) + 1))
        edges[mixed] = rng.permutation(edges[mixed].ravel()).reshape(-1, 2)


def grid(side: int) -> Any:
    """List the edges of a square grid."""
    at = np.arange(side * side).reshape(side, side)
    down = np.stack([at[:-1].ravel(), at[1:].ravel()], axis=1)
    across = np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], axis=1)
    return np.concatenate([down, across])


def draw(job: Row) -> Potentials:
    """Draw the model of a job."""
    n, k = job["size"], job["states"]
    is_grid = job["graph"] == "grid"
    edges = grid(round(n**0.5)) if is_grid else regular(n, 6)
    n = int(edges.max()) + 1
    spread = np.float32(SPREAD[k] * (GRIDS if is_grid else 1.0))
    rng = np.random.default_rng(1)
    nodes = spread * rng.standard_normal((n, k), np.float32)
    pairs = rng.standard_normal((len(edges), k, k), np.float32)
    pairs *= spread
    return Potentials(nodes, edges, pairs)


def peak_bytes() -> int:
    """Read the largest memory that this process has held so far."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


def serve(job: Row, make: Callable[[Potentials, Row], Run]) -> None:
    """Set up, run once, and then once for each line that is sent.

    With ``warm`` a tiny model of the same kind is run before, so that the memory told is that of
    the model and not that of the library.
    """
    if "core" in job and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {job["core"]})
    if job.get("warm"):
        tiny = job | {"size": 16}
        make(draw(tiny), tiny)()
    model = draw(job)
    before = peak_bytes()
    start = time.perf_counter()
    run = make(model, job)
    ready = time.perf_counter()
    beliefs = run()
    done = time.perf_counter()
    say(
        {
            "set-up": ready - start,
            "first": done - ready,
            "edges": len(model.edges),
            "variables": len(model.nodes),
            "sweeps": beliefs.sweeps,
            "bytes": peak_bytes() - before,
            "beliefs": np.asarray(beliefs[:COMPARED], np.float64).tolist(),
        }
    )
    for _ in sys.stdin:
        start = time.perf_counter()
        run()
        say({"seconds": time.perf_counter() - start})


def say(answer: Row) -> None:
    """Print a line of JSON at once."""
    print(json.dumps(answer), flush=True)


def pgmax(model: Potentials, job: Row) -> Run:
    """Prepare PGMax: its sweeps compiled as one function, as its examples do."""
    import jax  # noqa: PLC0415 - a peer, loaded where it is measured
    from pgmax import fgraph, fgroup, infer, vgroup  # noqa: PLC0415

    n, k = model.nodes.shape
    variables = vgroup.NDVarArray(num_states=k, shape=(n,))
    graph = fgraph.FactorGraph(variable_groups=[variables])
    each = [variables[i] for i in range(n)]
    joined = [[each[a], each[b]] for a, b in model.edges.tolist()]
    graph.add_factors(
        fgroup.PairwiseFactorGroup(variables_for_factors=joined, log_potential_matrix=model.pairs)
    )
    engine = infer.BP(graph.bp_state, temperature=1.0)
    arrays = engine.init(evidence_updates={variables: model.nodes})
    sweep = jax.jit(lambda a: engine.run(a, num_iters=job["sweeps"], damping=0.5, temperature=1.0))
    rows = np.arange(COMPARED)

    def run() -> Any:
        done = sweep(arrays)
        jax.block_until_ready(done.ftov_msgs)
        return Late(
            job["sweeps"],
            lambda: infer.get_marginals(engine.get_beliefs(done))[variables][rows],
        )

    return run


class Late:
    """Beliefs that are read off only when they are looked at, outside of what is timed."""

    def __init__(self, sweeps: int, read: Callable[[], Any]) -> None:
        self.sweeps = sweeps
        self.read = read

    def __getitem__(self, rows: Any) -> Any:
        return np.asarray(self.read())[rows]


def mrftools(model: Potentials, job: Row) -> Run:
    """Prepare mrftools, whose messages are matrices. It has no damping."""
    from mrftools.MarkovNet import MarkovNet  # noqa: PLC0415 - a peer
    from mrftools.MatrixBeliefPropagator import MatrixBeliefPropagator  # noqa: PLC0415

    net = MarkovNet()
    for i, potential in enumerate(model.nodes.astype(np.float64)):
        net.set_unary_factor(i, potential)
    for (a, b), pair in zip(model.edges.tolist(), model.pairs.astype(np.float64)):  # noqa: B905
        net.set_edge_factor((a, b), pair)
    engine = MatrixBeliefPropagator(net)
    engine.set_max_iter(job["sweeps"])

    def beliefs() -> Any:
        engine.compute_beliefs()
        places = [net.var_index[i] for i in range(min(COMPARED, len(model.nodes)))]
        return np.exp(engine.belief_mat[:, places].T)

    def run() -> Any:
        engine.initialize_messages()
        engine.infer(tolerance=0.0, display="off")
        return Late(job["sweeps"], beliefs)

    return run


def decode(job: Row) -> None:
    """Decode frames with the package ``ldpc`` and say what is left of the errors.

    The file has the parity checks and, for each frame, the log odds of zero against one.
    """
    sys.path.pop(0)  # the script beside this one has the package's name
    from ldpc import BpDecoder  # noqa: PLC0415 - a peer
    from scipy.sparse import csr_matrix  # noqa: PLC0415

    told = np.load(job["file"])
    odds = told["odds"]
    shape = (int(told["checks"].max()) + 1, odds.shape[1])
    ones = np.ones(len(told["checks"]), np.uint8)
    matrix = csr_matrix((ones, (told["checks"], told["bits"])), shape=shape)
    decoder = BpDecoder(
        matrix,
        error_rate=0.1,
        max_iter=job["sweeps"],
        bp_method="product_sum",
        schedule=job["schedule"],
        input_vector_type="syndrome",
    )
    hard = (odds < 0).astype(np.uint8)
    flips = 1.0 / (1.0 + np.exp(np.abs(odds)))
    syndromes = (matrix.astype(np.int64) @ hard.T.astype(np.int64) % 2).T.astype(np.uint8)
    decoded = np.empty_like(hard)
    sweeps = 0
    start = time.perf_counter()
    for frame in range(len(hard)):
        decoder.update_channel_probs(flips[frame])
        decoded[frame] = hard[frame] ^ decoder.decode(syndromes[frame])
        sweeps += decoder.iter
    took = time.perf_counter() - start
    say({"seconds": took, "sweeps": sweeps, "wrong": decoded.sum(axis=1, dtype=int).tolist()})


MAKERS: dict[str, Callable[[Potentials, Row], Run]] = {"PGMax": pgmax, "mrftools": mrftools}

if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    if asked["who"] == "ldpc":
        decode(asked)
    else:
        serve(asked, MAKERS[asked["who"]])
