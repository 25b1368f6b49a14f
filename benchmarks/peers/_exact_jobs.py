"""Jobs of ``exact.py``: one network, or one instance, in one fresh process.

``python benchmarks/peers/_exact_jobs.py '{"job": "marginals", "network": "asia", ...}'``
"""

from __future__ import annotations

import gzip
import json
import os
import resource
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from _measure import ABSENT, Row, best_of, seconds
from _peers import is_there

import credo

#: Address space of one job: what a laptop has.
MEMORY = 8 * 2**30
#: Seconds that a turn of short calls lasts, and after which a contestant gets no second turn.
SHORT, LONG = 0.05, 5.0
#: Seconds that toulbar2 is given for a proof.
LONGEST = 30.0
#: What single threads are timed by: others may be at work on the machine.
CPU = time.process_time


def bif_file(network: str) -> Path:
    """Unpack a network of the bnlearn repository, which pgmpy carries, into a temporary file."""
    home = find_spec("pgmpy")
    if home is None or home.origin is None:
        raise SystemExit("The networks come with pgmpy, which is not installed.")
    packed = Path(home.origin).parent / "utils" / "example_models" / f"{network}.bif.gz"
    path = Path(tempfile.mkdtemp(prefix="credo-bench-")) / f"{network}.bif"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    return path


def as_pyagrum(net: Any) -> Any:
    """Build the same network in pyAgrum, number by number: its own reader rounds to float32."""
    import pyagrum as gum  # noqa: PLC0415 - a peer, loaded where it is measured

    other = gum.BayesNet()
    for i, name in enumerate(net.names):
        states = [f"s{k}" for k in range(net[name].n_states)]
        other.add(gum.LabelizedVariable(f"v{i}", str(name), states))
    place = {name: f"v{i}" for i, name in enumerate(net.names)}
    for name in net.names:
        for parent in reversed(net.parents(name)):
            other.addArc(place[parent], place[name])
    for name in net.names:
        other.cpt(place[name]).fillWith(net.table(name).ravel().tolist())
    return other


def findings(net: Any, n: int, seed: int) -> list[dict[Any, int]]:
    """Draw two sets of findings that are possible, by state index, to be asked in turn."""
    drawn = credo.infer(net, budget="8GB").sample(2, random_state=seed)
    rng = np.random.default_rng(seed)
    sets = []
    for row in range(2):
        chosen = rng.permutation(len(net.names))[:n]
        names = [net.names[v] for v in sorted(chosen)]
        sets.append({name: net[name].index(drawn[name][row]) for name in names})
    return sets


class Engines:
    """The contestants on one network: a first answer, and answers after it."""

    def __init__(self, network: str, n_findings: int) -> None:
        self.net = credo.formats.read_bif(bif_file(network))
        self.names = list(self.net.names)
        self.sets = findings(self.net, min(n_findings, len(self.names) // 2), 0)
        self.turn = 0

    def named(self) -> dict[Any, Any]:
        """Give the next findings for credo."""
        self.turn += 1
        chosen = self.sets[self.turn % 2]
        return {name: self.net[name].states[s] for name, s in chosen.items()}

    def first(self) -> Callable[[], Any]:
        """Prepare credo's first answer: a network that nobody has compiled."""
        fresh = self.net.copy()
        return lambda: self._read(credo.infer(fresh, budget="8GB"))

    def _read(self, post: Any) -> list[Any]:
        return [post.probabilities(name) for name in self.names]

    def kept(self) -> Callable[[], Any]:
        """Prepare credo's further answers."""
        tree = credo.JunctionTree(self.net, budget="8GB")
        return lambda: self._read(tree.infer(self.named()))


class Peer:
    """pyAgrum on the same network."""

    def __init__(self, engines: Engines, engine: str) -> None:
        import pyagrum as gum  # noqa: PLC0415 - a peer, loaded where it is measured

        self.make = getattr(gum, engine)
        self.bn = as_pyagrum(engines.net)
        self.ids = [f"v{i}" for i in range(len(engines.names))]
        self.sets = [
            {f"v{engines.names.index(name)}": s for name, s in chosen.items()}
            for chosen in engines.sets
        ]
        self.turn = 0
        self.engine: Any = None

    def first(self) -> list[Any]:
        """Answer from scratch."""
        self.engine = self.make(self.bn)
        return self.read()

    def again(self) -> list[Any]:
        """Answer with other evidence, the engine kept."""
        self.turn += 1
        self.engine.setEvidence(self.sets[self.turn % 2])
        return self.read()

    def read(self) -> list[Any]:
        """Run and read all posteriors."""
        self.engine.makeInference()
        return [self.engine.posterior(name).toarray() for name in self.ids]


def marginals(job: Row) -> Row:
    """Time first and next answers on one network, in turns, and how far they are apart."""
    engines = Engines(job["network"], job["findings"])
    plan = credo.infer(engines.net, budget="8GB").plan
    found: Row = {"variables": len(engines.names), "engine": plan.engine}
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    peer, again = None, engines.kept()
    if is_there("pyAgrum"):
        try:
            peer = Peer(engines, "LazyPropagation")
            found["apart"] = _apart(engines, peer)
        except Exception as error:  # noqa: BLE001 - a peer's own error type
            found["failed"], peer = f"{type(error).__name__}: {error}"[:200], None
    else:
        found["failed"] = ABSENT
    again()
    for _ in range(job["turns"]):
        _keep_least(found, "first", engines.first)
        _keep_least(found, "next", lambda: again)
        if peer is not None:
            _keep_least(found, "first: pyAgrum", lambda: peer.first)
            _keep_least(found, "next: pyAgrum", lambda: peer.again)
    return found


def _keep_least(found: Row, name: str, prepare: Callable[[], Callable[[], Any]]) -> None:
    """Take a turn: a short call is timed many times, a long one that was timed before no more."""
    end = CPU() + SHORT
    while (least := found.get(name, 0.0)) < LONG:
        took = seconds(prepare(), CPU)
        found[name] = min(took, least) if name in found else took
        if CPU() > end:
            break


def _apart(engines: Engines, peer: Peer) -> float:
    """Return the largest difference between pyAgrum's beliefs and credo's, given findings."""
    peer.first()
    theirs = peer.again()
    last = engines.sets[peer.turn % 2]
    named = {name: engines.net[name].states[s] for name, s in last.items()}
    ours = credo.infer(engines.net, named, budget="8GB")
    return max(
        float(np.abs(ours.probabilities(name) - p).max())
        for name, p in zip(engines.names, theirs, strict=True)
    )


def memory(job: Row) -> Row:
    """Measure the peak of building a tree and asking it once, in bytes of its clique tables."""
    net = credo.formats.read_bif(bif_file(job["network"]))
    credo.JunctionTree(credo.chain([0.5, 0.5], [[0.5, 0.5]] * 2, length=3)).infer()
    tracemalloc.start()
    tree = credo.JunctionTree(net, budget="8GB")
    tree.infer()
    _, peak = tracemalloc.get_traced_memory()
    return {"tables": tree.plan.n_bytes, "peak": peak}


def load(job: Row) -> Row:
    """Time reading one BIF file."""
    path = bif_file(job["network"])
    credo.formats.read_bif(path)
    found = {"megabytes": path.stat().st_size / 1e6}
    readers: dict[str, Callable[[], Any]] = {"credo": lambda: credo.formats.read_bif(path)}
    if is_there("pyAgrum"):
        import pyagrum as gum  # noqa: PLC0415

        readers["pyAgrum"] = lambda: gum.loadBN(str(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.readwrite import BIFReader  # noqa: PLC0415

        found |= best_of(readers, job["turns"], CPU)
        found["pgmpy"] = seconds(lambda: BIFReader(str(path)).get_model(), CPU)
    return found


def rows(job: Row) -> Row:
    """Time many evidence rows on one network against a loop over pyAgrum."""
    engines = Engines(job["network"], job["findings"])
    net, names = engines.net, engines.names
    drawn = credo.infer(net).sample(job["rows"], random_state=1)
    rng = np.random.default_rng(2)
    codes = np.full((job["rows"], len(names)), -1)
    same = rng.permutation(len(names))[: job["findings"]]
    for i in range(job["rows"]):
        chosen = same if job["same"] else rng.permutation(len(names))[: job["findings"]]
        for v in chosen:
            codes[i, v] = net[names[v]].index(drawn[names[v]][i])
    credo.infer_many(net, codes[:10], columns=names, threads=1)
    found = best_of({"credo": _many(net, codes, names, 1)}, job["turns"], CPU)
    found |= best_of({"credo two threads": _many(net, codes, names, 2)}, job["turns"])
    if is_there("pyAgrum"):
        peer = Peer(engines, "LazyPropagation")
        peer.first()
        looped = codes[: job["looped"]]
        found["pyAgrum"] = seconds(lambda: _loop(peer, looped), CPU) * len(codes) / len(looped)
    return found


def _many(net: Any, codes: Any, names: list[Any], threads: int) -> Callable[[], Any]:
    return lambda: credo.infer_many(net, codes, columns=names, threads=threads)


def _loop(peer: Peer, codes: Any) -> None:
    """Ask pyAgrum row by row, its engine kept."""
    for row in codes:
        peer.engine.setEvidence({f"v{v}": int(row[v]) for v in np.flatnonzero(row >= 0)})
        peer.read()


def query(job: Row) -> Row:
    """Time one variable given evidence, engine and all, over several draws of both."""
    engines = Engines(job["network"], 0)
    net, names = engines.net, engines.names
    bn = as_pyagrum(net) if is_there("pyAgrum") else None
    drawn = credo.infer(net).sample(job["draws"], random_state=3)
    rng = np.random.default_rng(4)
    totals = {"credo": 0.0} | ({} if bn is None else {"pyAgrum": 0.0})
    for i in range(job["draws"]):
        order = rng.permutation(len(names))
        target, chosen = int(order[0]), order[1 : 1 + job["findings"]]
        named = {names[v]: drawn[names[v]][i] for v in chosen}
        coded = {f"v{v}": net[names[v]].index(drawn[names[v]][i]) for v in chosen}

        def ask(named: Any = named, target: int = target) -> Any:
            return credo.infer(net, named, query=[names[target]]).probabilities(names[target])

        def peer(coded: Any = coded, target: int = target) -> Any:
            return _asked_pyagrum(bn, coded, f"v{target}")

        ask()
        runs = {"credo": ask, "pyAgrum": peer}
        for who, took in best_of({who: runs[who] for who in totals}, job["turns"], CPU).items():
            totals[who] += took
    return totals


def _asked_pyagrum(bn: Any, coded: Row, target: str) -> Any:
    """Ask pyAgrum for one variable, engine and all."""
    import pyagrum as gum  # noqa: PLC0415 - a peer, loaded where it is measured

    engine = gum.LazyPropagation(bn)
    engine.setEvidence(coded)
    engine.setTargets({target})
    engine.makeInference()
    return engine.posterior(target).toarray()


def mpe(job: Row) -> Row:
    """Time the most probable configuration of one network, and pgmpy's if it finds one."""
    net = credo.read_bif(bif_file(job["network"]))
    ours = credo.mpe(net, budget="8GB")
    found = best_of({"credo": lambda: credo.mpe(net, budget="8GB")}, job["turns"], CPU)
    found["score"] = ours.log_score
    if job["who"] == "credo":
        return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.inference import VariableElimination  # noqa: PLC0415
        from pgmpy.readwrite import BIFReader  # noqa: PLC0415

        other = BIFReader(str(bif_file(job["network"]))).get_model()
        engine = VariableElimination(other)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        try:
            found["pgmpy"] = seconds(
                lambda: engine.map_query(list(other.nodes()), show_progress=False), CPU
            )
        except (MemoryError, ValueError) as error:
            return found | {"failed": f"{type(error).__name__}: {error}"[:80]}
    return found


def map_instance(job: Row) -> Row:
    """Time the best configuration of a competition instance against toulbar2's proof of it."""
    packed = Path(job["file"])
    path = Path(tempfile.mkdtemp(prefix="credo-bench-")) / "model.uai"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    model = credo.formats.read_uai(path)
    found: Row = {}
    try:
        found["score"] = credo.mpe(model, budget="8GB").log_score
        found["credo"] = _repeated(lambda: credo.mpe(model, budget="8GB"), job["turns"])
    except credo.exceptions.BudgetError:
        found["credo"] = None
    if not is_there("toulbar2"):
        return found
    import pytoulbar2  # noqa: PLC0415 - a peer, loaded where it is measured

    def solve() -> Any:
        problem = pytoulbar2.CFN()
        problem.Read(str(path))
        return problem.Solve(timeLimit=int(LONGEST))

    sys.stdout.flush()
    took = _repeated(solve, job["turns"])
    found["toulbar2"] = took if took < LONGEST else None
    return found


def _repeated(run: Callable[[], Any], turns: int) -> float:
    """Take the best of several turns, of one where that is long."""
    best = seconds(run)
    for _ in range(turns - 1 if best < LONG else 0):
        best = min(best, seconds(run))
    return best


JOBS: dict[str, Callable[[Row], Row]] = {
    "marginals": marginals,
    "memory": memory,
    "load": load,
    "rows": rows,
    "query": query,
    "mpe": mpe,
    "map": map_instance,
}

if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    os.environ.setdefault("CREDO_KERNELS", "compiled")  # as in a process that has worked a while
    print(json.dumps(JOBS[asked["job"]](asked)))
