"""All marginals of all networks of the bnlearn repository against pyAgrum's, which is slow."""

import importlib
import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest

import credo

PGMPY = importlib.util.find_spec("pgmpy")
PYAGRUM = importlib.util.find_spec("pyagrum")
NETWORKS = {}
if PGMPY is not None and PYAGRUM is not None:  # the peers extra
    found = sorted((Path(PGMPY.origin).parent / "utils" / "example_models").glob("*.bif.gz"))
    NETWORKS = {path.name.removesuffix(".bif.gz"): path for path in found}
#: pyAgrum needs more than 8 GB for the other one.
FITTING = [name for name in NETWORKS if name != "link"]


@pytest.fixture(scope="module")
def gum():
    with warnings.catch_warnings():  # importing pyAgrum warns, and crashes if that is an error
        warnings.simplefilter("ignore")
        return importlib.import_module("pyagrum")


def as_pyagrum(net, gum):
    """Build the same network in pyAgrum, number by number: its reader rounds to float32."""
    other = gum.BayesNet()
    place = {name: f"v{i}" for i, name in enumerate(net.names)}
    for name in net.names:
        states = [f"s{k}" for k in range(net[name].n_states)]
        other.add(gum.LabelizedVariable(place[name], place[name], states))
    for name in net.names:
        for parent in reversed(net.parents(name)):
            other.addArc(place[parent], place[name])
    for name in net.names:
        other.cpt(place[name]).fillWith(net.table(name).ravel().tolist())
    return other, place


@pytest.mark.slow
@pytest.mark.parametrize("name", FITTING)
@pytest.mark.parametrize("share", [0.0, 0.05, 0.2])
def test_all_marginals_equal_those_of_pyagrum(name, share, gum):
    net = credo.read_bif(NETWORKS[name])
    other, place = as_pyagrum(net, gum)
    drawn = credo.infer(net, budget="8GB").sample(1, random_state=0)
    n = round(share * len(net))
    chosen = [net.names[v] for v in np.random.default_rng(1).permutation(len(net))[:n]]
    evidence = {variable: drawn[variable][0] for variable in chosen}
    post = credo.infer(net, evidence, budget="8GB")
    tree = credo.JunctionTree(net, budget="8GB").infer(evidence)
    engine = gum.LazyPropagation(other)
    engine.setEvidence({place[v]: net[v].index(state) for v, state in evidence.items()})
    engine.makeInference()
    for variable in net.names:
        theirs = engine.posterior(place[variable]).toarray()
        np.testing.assert_allclose(post.probabilities(variable), theirs, rtol=0, atol=1e-9)
        np.testing.assert_allclose(tree.probabilities(variable), theirs, rtol=0, atol=1e-9)
