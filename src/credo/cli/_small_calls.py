"""Small public calls that reach every kernel.

``credo warm-up`` makes them to compile ahead; with ``CREDO_KERNELS=both`` they show that every
kernel gives the same bits plain and compiled.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import credo
from credo.graphs import Ising, Potts, TruncatedLinear, TruncatedQuadratic


def _networks() -> None:
    """Read, order, answer and explain a small network; single rows and many."""
    net = _network()
    with tempfile.TemporaryDirectory() as folder:
        credo.write_network(net, Path(folder) / "small.bif")
        net = credo.read_bif(Path(folder) / "small.bif")
    _ask(net, {"v1": "b"})
    loop = _loop(3)
    _ask(loop, {2: 1})
    extreme = _loop(3, strength=900.0)
    _ask(extreme, {2: 1})
    post: Any = credo.infer(
        net, {"v1": "b"}, likelihood={"v2": [0.2, 0.5]}, jeffrey={"v0": [0.3, 0.7]}
    )
    post.joint(["v0", "v5"])
    post.sample(5, random_state=0)
    for method in ("elimination", "enumeration"):
        credo.infer(net, {"v1": "b"}, method=method)
    credo.plan(_loop(9, states=3), effort=0.001)
    gates = _gates()
    rows = np.full((70, len(loop.names)), -1)
    rows[1:40, 0] = rows[30:60, 1] = 1
    credo.infer_many(loop, rows, columns=list(loop.names))
    for dtype in ("float64", "float32"):
        for model in (loop, gates):
            seen = rows[:, : len(model.names)]
            names = list(model.names)
            credo.infer_many(model, seen, columns=names, method="loopy", dtype=dtype)


def _ask(model: Any, evidence: Any) -> None:
    """Ask for everything exact."""
    credo.infer(model)["v0" if "v0" in model.names else 0]
    credo.infer(model, evidence).log_evidence  # noqa: B018 - computed when read
    credo.mpe(model, evidence)
    credo.k_best(model, 4, evidence)
    credo.marginal_map(model, list(model.names)[:2], evidence)
    credo.max_marginals(model, evidence)
    tree = credo.JunctionTree(model)
    tree.infer(evidence)


def _chains() -> None:
    """Pass messages on a tree."""
    rng = np.random.default_rng(0)
    pairs = np.stack([np.arange(9), np.arange(1, 10)], 1)
    for spread in (1.0, 900.0):
        logs = spread * rng.normal(size=(10, 3))
        model = credo.MarkovNetwork.from_arrays(logs, pairs, rng.normal(size=(3, 3)), log=True)
        credo.infer(model, {4: 1}, method="tree").message(3, 4)
        credo.mpe(model, {4: 1})


def _network() -> Any:
    """Return a small Bayesian network with two- and three-state variables."""
    rng = np.random.default_rng(0)
    net = credo.BayesianNetwork()
    parents: dict[int, list[int]] = {2: [0], 3: [0, 1], 4: [2, 3], 5: [4], 6: [2, 5]}
    sizes = [2, 3, 2, 2, 3, 2, 2]
    for v, size in enumerate(sizes):
        given = parents.get(v, [])
        net.variable(f"v{v}", list("abc")[:size])
        table = rng.dirichlet(np.ones(size), [sizes[g] for g in given])
        net.cpt(f"v{v}", given=[f"v{g}" for g in given], table=table)
    return net


def _loop(side: int, states: int = 2, strength: float = 1.0) -> Any:
    """Return a small grid."""
    rng = np.random.default_rng(0)
    site = np.arange(side * side).reshape(side, side)
    across = np.stack([site[:, :-1], site[:, 1:]], -1).reshape(-1, 2)
    pairs = np.vstack([across, np.stack([site[:-1], site[1:]], -1).reshape(-1, 2)])
    alone = strength * rng.normal(size=(side * side, states))
    return credo.MarkovNetwork.from_arrays(
        alone, pairs, 1.5 * np.eye(states) + rng.random((states, states)) / 9, log=True
    )


def _loopy() -> None:
    """Pass messages round loops in every schedule, domain and number of states; rules too."""
    gates = _gates()
    for schedule in ("flooding", "sequential", "residual", "random", "tree"):
        for options in ({}, {"domain": "log"}, {"temperature": 0}, {"momentum": "adaptive"}):
            for model in (_loop(3, 3), gates):
                _pass(model, schedule=schedule, **options)
    for states in (2, 3, 20):
        for dtype in ("float64", "float32"):
            for temperature in (1.0, 0.0):
                _pass(_loop(33, states), schedule="flooding", dtype=dtype, temperature=temperature)
    credo.infer(_tree(), method="loopy").message(0, 1)


def _pass(model: Any, **options: Any) -> None:
    """Pass a few messages, and read what they say."""
    post = credo.infer(model, method="loopy", sweeps=3, on_failure="return", **options)
    post.log_evidence  # noqa: B018 - computed when read
    credo.infer(model, method="loopy", sweeps=3, on_failure="return", start=post, **options)


def _gates() -> Any:
    """Return a graph with every kind of rule."""
    graph = credo.FactorGraph()
    for v in range(6):
        graph.variable(v, 2)
        graph.factor([v], [0.3 + v / 10, 0.7 - v / 10])
    graph.factor([0, 1], [[0.2, 0.8], [0.6, 0.4]])
    graph.parity([0, 1, 2, 3])
    graph.parity([2, 4, 5], even=False)
    graph.at_most_one([1, 3, 4])
    return graph


def _tree() -> Any:
    """Return a graph without loops."""
    rng = np.random.default_rng(0)
    pairs = [(v // 2, v) for v in range(1, 8)]
    return credo.MarkovNetwork.from_arrays(rng.random((8, 3)), pairs, rng.random((3, 3)))


def _approximations() -> None:
    """Bound, cluster and draw."""
    for model in (_loop(4), _loop(3, 3), _network()):
        for bound in ("tree_reweighted", "mean_field", "structured_mean_field"):
            credo.infer(model, method=bound, on_failure="return", sweeps=5)
        for cluster in ("generalised", "double_loop"):
            credo.infer(model, method=cluster, on_failure="return", sweeps=200)
        for blocks in (None, "trees"):
            credo.infer(model, method="gibbs", draws=20, on_failure="return", blocks=blocks)
    credo.bounds(_loop(4), rounds=2, restarts=1)
    differ = 1.0 - np.eye(3)
    ring = credo.MarkovNetwork.from_arrays(
        np.ones((5, 3)), [[i, (i + 1) % 5] for i in range(5)], differ
    )
    credo.infer(ring, method="gibbs", draws=20, on_failure="return")


def _maxima() -> None:
    """Search for the most probable configuration."""
    for model in (_loop(5), _loop(5, 3), _network()):
        for method in ("tree_reweighted", "loopy", "icm"):
            credo.mpe(model, method=method)
    credo.mpe(_loop(5), method="graph_cut")
    credo.mpe(credo.MarkovNetwork.from_arrays(np.ones((3, 2)), [[0, 1], [1, 2]], np.eye(2) + 1))
    credo.mpe(_loop(4, 3), method="icm", restarts=1, forests=1, start="random")


def _pictures() -> None:
    """Restore pictures of two levels and of many, and smooth labels."""
    rng = np.random.default_rng(0)
    flips = np.where(rng.random((12, 12)) < 0.5, 1, -1).astype(np.int8)
    for options in ({}, {"method": "max-product"}, {"flip_probability": 0.1, "coupling": 0.7}):
        credo.denoise(flips, **options)
    credo.denoise(rng.integers(0, 255, (12, 12)).astype(np.uint8))
    kinds = (
        Ising(0.4),
        Potts(1.0),
        TruncatedLinear(1.0, limit=2),
        TruncatedQuadratic(1.0, limit=4),
    )
    for smoothness in kinds:
        logs = rng.normal(size=(5, 6, 2 if isinstance(smoothness, Ising) else 4))
        field = credo.GridField(logs, smoothness)
        for dtype in ("float64", "float32"):
            for method in ("sum-product", "max-product"):
                for schedule in ("flooding", "checkerboard", "sweep"):
                    credo.infer_grid(field, method=method, schedule=schedule, dtype=dtype, sweeps=3)


def _models() -> None:
    """Fit and score with missing values, sparse rows and text."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
    X[::7, 1] = X[::5, 2] = np.nan
    for covariance in ("full", "tied", "diagonal"):
        credo.GaussianClassifier(covariance=covariance).fit(X, y).predict_proba(X)
    letters = np.array(list("abcd"))[rng.integers(0, 4, (70_000, 1))]
    credo.NaiveBayes().fit(letters, rng.integers(0, 2, 70_000))
    S = (scipy.sparse.random(60, 30, 0.2, "csr", random_state=0) > 0).astype(float)
    credo.NaiveBayes("multinomial").fit(S, y).predict_proba(S)
    credo.NaiveBayes("bernoulli").fit(S, y).predict_proba(S)


#: What takes longest to compile comes first, so that two processes end at about the same time.
CALLS: dict[str, Callable[[], None]] = {
    "pictures": _pictures,
    "networks": _networks,
    "loopy belief propagation": _loopy,
    "bounds, regions and Gibbs sampling": _approximations,
    "maxima": _maxima,
    "chains": _chains,
    "models": _models,
}
