"""Jobs of ``loopy.py`` that credo, pyAgrum and pgmpy do: one model in one fresh process.

``python benchmarks/peers/_loopy_jobs.py '{"job": "turns", "graph": "grid", "size": 10000, ...}'``
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _exact_jobs import as_pyagrum, bif_file
from _loopy_peers import COMPARED, Late, Potentials, Row, Run, draw, peak_bytes, say, serve
from _measure import best_of, seconds
from _peers import is_there

import credo

#: Sweeps of a shorter run: what the run asked for takes beyond it is what sweeps alone cost.
FEWER = 10


def flooding(net: Any, job: Row, sweeps: int) -> Any:
    """Pass all messages so many times, as the peers do: all at once, half of each kept."""
    return credo.infer(
        net,
        method="loopy",
        schedule="flooding",
        momentum=0.5,
        sweeps=sweeps,
        tolerance=0.0,
        dtype=job.get("dtype", "float32"),
        threads=job.get("threads", 1),
        on_failure="return",
    )


def network(model: Potentials) -> credo.MarkovNetwork:
    """Give credo the model of a job."""
    return credo.MarkovNetwork.from_arrays(model.nodes, model.edges, model.pairs, log=True)


def beliefs(post: Any, names: Any) -> list[Any]:
    """Read beliefs off, one row per variable."""
    return [post.probabilities(name) for name in names]


def prepare(model: Potentials, job: Row) -> Run:
    """Prepare credo for turns with the peers."""
    net = network(model)

    def run() -> Late:
        post = flooding(net, job, job["sweeps"])
        return Late(post.sweeps, lambda: beliefs(post, list(net.names[:COMPARED])))

    return run


def turns(job: Row) -> None:
    """Take turns with other contestants."""
    serve(job, prepare)


def size(job: Row) -> None:
    """Time sweeps over a graph: whole calls, sweeps alone, and with one and two threads."""
    model = draw(job)
    net = network(model)
    first = seconds(lambda: flooding(net, job, job["sweeps"]))
    contestants: dict[str, Run] = {}
    for threads in job["over"]:
        for sweeps in (job["sweeps"], FEWER):
            contestants[f"{threads}, {sweeps}"] = _sweeps(net, job | {"threads": threads}, sweeps)
    best = best_of(contestants, job["turns"])
    done = len(model.edges) * job["sweeps"]
    found: Row = {"edges": len(model.edges), "first": first}
    for threads in job["over"]:
        whole = best[f"{threads}, {job['sweeps']}"]
        more = whole - best[f"{threads}, {FEWER}"]
        found[f"whole {threads}"] = 1e9 * whole / done
        found[f"sweeps {threads}"] = 1e9 * more / (done * (1 - FEWER / job["sweeps"]))
    say(found | {"peak": peak_bytes()})


def _sweeps(net: Any, job: Row, sweeps: int) -> Run:
    return lambda: flooding(net, job, sweeps)


def peak(job: Row) -> None:
    """Measure the whole process: a model given as arrays, and its beliefs."""
    model = draw(job)
    net = network(model)
    n_edges = len(model.edges)
    del model
    post = flooding(net, job, job["sweeps"])
    say({"edges": n_edges, "peak": peak_bytes(), "belief": post.probabilities(0).tolist()})


def drawn_findings(net: Any, sets: int, n: int) -> list[dict[Any, Any]]:
    """Draw sets of findings that are possible: states of chosen variables in a drawn row."""
    drawn = credo.infer(net, budget="8GB").sample(sets, random_state=0)
    rng = np.random.default_rng(0)
    names = list(net.names)
    chosen = [sorted(rng.permutation(len(names))[: min(n, len(names) // 4)]) for _ in range(sets)]
    return [{names[v]: drawn[names[v]][i] for v in each} for i, each in enumerate(chosen)]


def loopy_network(job: Row) -> tuple[Any, list[dict[Any, Any]]]:
    """Read a network of the bnlearn repository, and draw findings."""
    net = credo.formats.read_bif(bif_file(job["network"]))
    return net, drawn_findings(net, job["sets"], job["findings"])


def schedules(job: Row) -> None:
    """Count the messages that each schedule computes until none changes by more than 1e-6."""
    net, sets = loopy_network(job)
    found: Row = {"variables": len(net.names)}
    for schedule in job["schedules"]:
        posts = [_converge(net, evidence, schedule, job) for evidence in sets]
        again = {str(i): _again(net, e, schedule, job) for i, e in enumerate(sets)}
        found[schedule] = {
            "updates": [post.updates for post in posts],
            "converged": [post.status in ("CONVERGED", "EXACT") for post in posts],
            "seconds": list(best_of(again, job["turns"]).values()),
        }
    say(found)


def _again(net: Any, evidence: Any, schedule: str, job: Row) -> Run:
    return lambda: _converge(net, evidence, schedule, job)


def _converge(net: Any, evidence: Any, schedule: str, job: Row) -> Any:
    return credo.infer(
        net,
        evidence,
        method="loopy",
        schedule=schedule,
        momentum=job["momentum"],
        sweeps=job["sweeps"],
        tolerance=1e-6,
        on_failure="return",
    )


def directed(job: Row) -> None:
    """Time loopy propagation on a Bayesian network next to pyAgrum's: to 1e-6, beliefs and all."""
    import pyagrum as gum  # noqa: PLC0415 - a peer, loaded where it is measured

    net, sets = loopy_network(job)
    other = as_pyagrum(net)
    evidence = sets[0]
    place = {name: f"v{i}" for i, name in enumerate(net.names)}
    coded = {place[name]: net[name].index(state) for name, state in evidence.items()}
    free = [name for name in net.names if name not in evidence]
    engine = gum.LoopyBeliefPropagation(other)
    engine.setEpsilon(1e-12)  # it measures a square: answers then agree to 1e-6
    engine.setMinEpsilonRate(1e-12)
    engine.setMaxIter(job["sweeps"])
    engine.setEvidence(coded)

    def ours() -> Any:
        post = _converge(net, evidence, "sequential", job)
        return post, beliefs(post, free)

    def theirs() -> Any:
        engine.eraseAllEvidence()
        engine.setEvidence(coded)
        engine.makeInference()
        return [engine.posterior(place[name]).toarray() for name in free]

    post, mine = ours()
    others = theirs()
    sweeps = {"credo": len(post.residuals), "pyAgrum": engine.nbrIterations()}
    apart = max(float(np.abs(a - b).max()) for a, b in zip(mine, others, strict=True))
    took = best_of({"credo": ours, "pyAgrum": theirs}, job["turns"])
    say({"seconds": took, "sweeps": sweeps, "apart": apart, "status": str(post.status)})


def tiny(job: Row) -> None:
    """Time pgmpy's belief propagation on a grid: it sums exactly, on a tree of cliques."""
    model = draw(job)
    net = network(model)
    names = list(net.names)

    def ours() -> Any:
        return beliefs(flooding(net, job, job["sweeps"]), names)

    ours()
    found = best_of({"credo": ours}, job["turns"])
    if is_there("pgmpy"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found["pgmpy"] = seconds(_pgmpy(model))
    say(found)


def _pgmpy(model: Potentials) -> Run:
    """Prepare pgmpy."""
    from pgmpy.factors.discrete import DiscreteFactor  # noqa: PLC0415 - a peer
    from pgmpy.inference import BeliefPropagation  # noqa: PLC0415
    from pgmpy.models import DiscreteMarkovNetwork  # noqa: PLC0415

    other = DiscreteMarkovNetwork([(str(a), str(b)) for a, b in model.edges.tolist()])
    k = model.nodes.shape[1]
    nodes = (
        DiscreteFactor([str(i)], [k], np.exp(row).astype(float))
        for i, row in enumerate(model.nodes)
    )
    pairs = (
        DiscreteFactor([str(a), str(b)], [k, k], np.exp(pair).astype(float))
        for (a, b), pair in zip(model.edges.tolist(), model.pairs, strict=True)
    )
    other.add_factors(*nodes, *pairs)

    def run() -> Any:
        engine = BeliefPropagation(other)
        engine.calibrate()
        return [engine.query([str(i)], show_progress=False) for i in range(len(model.nodes))]

    return run


def start(job: Row) -> None:
    """Answer once: what a fresh process is timed for."""
    net = network(draw(job))
    post = flooding(net, job, job["sweeps"])
    say({"belief": post.probabilities(0).tolist()})


JOBS: dict[str, Callable[[Row], None]] = {
    "turns": turns,
    "size": size,
    "peak": peak,
    "schedules": schedules,
    "directed": directed,
    "tiny": tiny,
    "start": start,
}

if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    JOBS[asked["job"]](asked)
