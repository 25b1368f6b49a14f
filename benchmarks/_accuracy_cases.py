"""Models of ``accuracy.py`` whose exact answers are known."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import credo

sys.path.insert(0, str(Path(__file__).parent / "peers"))

from _exact_jobs import bif_file
from _loopy_jobs import drawn_findings
from _loopy_peers import grid, regular
from _peers import is_there, say_absent

#: Fields are drawn between minus and plus this: so weak that under strong couplings all spins agree
#: but may be up or down, which loopy propagation is too sure of.
FIELD = 0.25


class Case(NamedTuple):
    """A model, what is observed, and where it belongs in the tables."""

    kind: str  #: a column of the short table
    group: str  #: averaged over in the long one
    name: str
    coupling: float | None
    model: Any
    evidence: dict[Any, Any]


def ising(edges: Any, coupling: float, *, mixed: bool, seed: int) -> credo.MarkovNetwork:
    """Make a model of spins, log potential J s t on edges and h s on nodes.

    Couplings J are all equal or, if mixed, uniform between minus and plus the coupling.
    """
    rng = np.random.default_rng(seed)
    n = int(edges.max()) + 1
    spins = np.array([-1.0, 1.0])
    fields = rng.uniform(-FIELD, FIELD, n)
    strengths = rng.uniform(-coupling, coupling, len(edges)) if mixed else coupling
    pairs = np.broadcast_to(strengths, len(edges))[:, None, None] * np.outer(spins, spins)
    return credo.MarkovNetwork.from_arrays(
        fields[:, None] * spins, edges, pairs, log=True, states=(-1, 1)
    )


def grids(sides: Sequence[int], couplings: Sequence[float], draws: int) -> Iterator[Case]:
    """Draw square Ising grids."""
    for mixed in (False, True):
        for side in sides:
            kind = f"{'mixed' if mixed else 'attractive'} grids"
            group = f"{kind} {side}×{side}"
            for coupling in couplings:
                for seed in range(draws):
                    model = ising(grid(side), coupling, mixed=mixed, seed=seed)
                    yield Case(kind, group, f"{group}, draw {seed}", coupling, model, {})


def graphs(n: int, couplings: Sequence[float], draws: int) -> Iterator[Case]:
    """Draw Ising models on random graphs where every node has three neighbours."""
    for mixed in (False, True):
        kind = f"{'mixed' if mixed else 'attractive'} graphs"
        group = f"{kind}, {n} nodes"
        for coupling in couplings:
            for seed in range(draws):
                model = ising(regular(n, 3, seed), coupling, mixed=mixed, seed=seed)
                yield Case(kind, group, f"{group}, draw {seed}", coupling, model, {})


def networks(names: Sequence[str], draws: int) -> Iterator[Case]:
    """Read networks of the bnlearn repository, and draw five findings several times.

    There are none without pgmpy, which brings them.
    """
    say_absent("pgmpy")
    if not is_there("pgmpy"):
        return
    for name in names:
        net = credo.formats.read_bif(bif_file(name))
        for findings in drawn_findings(net, draws, 5):
            yield Case("bnlearn networks", name, name, None, net, findings)


def instances(data: Path | None, patterns: Sequence[str]) -> Iterator[Case]:
    """Read instances of the UAI competitions with their evidence, those that are exactly solved."""
    if data is None:
        return
    folder = data / "graphical" / "uai"
    for pattern in patterns:
        for packed in sorted(folder.glob(f"{pattern}.uai.gz")):
            model = credo.formats.read_network(packed)
            told = packed.with_name(packed.name.removesuffix(".gz") + ".evid")
            evidence = credo.formats.read_uai_evidence(told, model) if told.exists() else {}
            name = packed.name.removesuffix(".uai.gz")
            group = "UAI, " + name.split("_")[0]
            yield Case("UAI instances", group, name, None, model, evidence)
