"""Maxima of grids whose loops are frustrated: annealed forests, and the portfolio of ``auto``."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from credo import MarkovNetwork, mpe
from credo.exceptions import ApproximationWarning, InputError
from credo.formats import read_uai

PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "graphical" / "uai" / "uai2014map"
#: The best log scores known of two grids of the UAI 2014 contest.
BEST_KNOWN = {"Grids_26": 3051.012758, "Grids_29": 1542.664664}


def spin_glass(side, seed):
    """Neighbours that want to be equal or different, as a coin says, in weak random fields."""
    rng, site = np.random.default_rng(seed), np.arange(side * side).reshape(side, side)
    across = np.stack([site[:, :-1], site[:, 1:]], axis=-1).reshape(-1, 2)
    down = np.stack([site[:-1], site[1:]], axis=-1).reshape(-1, 2)
    signs = rng.choice([-1.0, 1.0], 2 * len(across))
    field = rng.normal(0, 0.1, side * side)
    pairs = signs[:, None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    nodes = np.stack([-field, field], axis=1)
    return MarkovNetwork.from_arrays(nodes, np.vstack([across, down]), pairs, log=True)


def test_annealing_comes_nearer_to_the_best_than_moves_that_never_lose():
    lost = {"moved": 0.0, "annealed": 0.0, "auto": 0.0}
    for seed in range(3):
        model = spin_glass(8, seed)
        best = mpe(model, method="junction_tree").log_score
        icm = {"method": "icm", "forests": 50}
        lost["moved"] += best - mpe(model, **icm).log_score
        lost["annealed"] += best - mpe(model, start="annealed", restarts=3, **icm).log_score
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ApproximationWarning)
            found = mpe(model, budget=4_000)
        assert found.engine == "tree_reweighted"
        assert found.log_score <= best + 1e-9
        assert found.bound >= best - 1e-9
        lost["auto"] += best - found.log_score
    assert min(lost.values()) > -1e-9
    assert lost["auto"] <= lost["annealed"] < lost["moved"] / 4


def test_annealing_obeys_the_seed_zeros_and_evidence():
    model = spin_glass(6, 0)
    icm = {"method": "icm", "start": "annealed"}
    once, again = (mpe(model, seed=3, **icm) for _ in range(2))
    assert once.states == again.states
    assert mpe(model, {7: 1}, **icm)[7] == 1
    hard = MarkovNetwork.from_arrays(np.ones((3, 2)), [[0, 1], [1, 2]], [[0.0, 1.0], [1.0, 0.0]])
    assert mpe(hard, **icm).log_score == 0.0
    with pytest.warns(ApproximationWarning, match="found no configuration of positive"):
        assert mpe(hard, {0: 0, 1: 0, 2: 0}, **icm).log_score == -np.inf
    with pytest.raises(InputError, match="'single', 'random', 'annealed' or states. Got 'cold'"):
        mpe(model, method="icm", start="cold")


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in BEST_KNOWN if (PUBLISHED / f"{n}.uai.gz").exists()])
def test_published_grids_are_solved_within_one_percent_of_the_best_known(name):
    with pytest.warns(ApproximationWarning, match="at most"):
        found = mpe(read_uai(PUBLISHED / f"{name}.uai.gz"))
    assert 0.99 * BEST_KNOWN[name] < found.log_score < BEST_KNOWN[name] + 1e-3
