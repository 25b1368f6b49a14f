"""Maxima against the product written out, on a thousand small random graphs."""

import numpy as np
import pytest
from tests.oracles import maxima as oracle

from credo.exceptions import InputError
from credo.graphs import FactorGraph
from credo.inference.maximum import k_best, marginal_map, max_marginals, mpe

#: Blocks of graphs: a failure names one of them, and the seed is in the message.
BLOCKS = range(5)
PER_BLOCK = 200
#: Distance between equal logs: some ten terms of at most 10 each, in float64.
CLOSE = 1e-11


def question(seed):
    """A random graph with evidence, the logs of its product, and a generator for more."""
    rng = np.random.default_rng(seed)
    shape, factors = oracle.random_factors(rng) if seed % 10 else oracle.dense_factors(rng)
    graph = FactorGraph()
    variables = [graph.variable(f"v{i}", k) for i, k in enumerate(shape)]
    for axes, table in factors:
        graph.factor([variables[axis] for axis in axes], table)
    evidence, likelihood, kept = {}, {}, {}
    for axis, k in enumerate(shape):
        kind = rng.random()
        if kind < 0.15:
            kept[axis] = [int(rng.integers(k))]
            evidence[f"v{axis}"] = kept[axis][0]
        elif kind < 0.25:
            kept[axis] = sorted(set(rng.integers(k, size=2).tolist()))
            evidence[f"v{axis}"] = kept[axis]
        elif kind < 0.4:
            likelihood[f"v{axis}"] = rng.uniform(0.1, 2.0, k)
            factors.append(([axis], likelihood[f"v{axis}"]))
    logs = oracle.observed_only(oracle.log_product(shape, factors), kept)
    return graph, evidence, likelihood, logs, rng


def questions(block, *, possible=True):
    for seed in range(block * PER_BLOCK, (block + 1) * PER_BLOCK):
        graph, evidence, likelihood, logs, rng = question(seed)
        if (logs.max() > -np.inf) == possible:
            yield seed, graph, evidence, {"likelihood": likelihood}, logs, rng


def assert_best(found, axes, logs, seed):
    """The score is the maximum, the states attain it, and exactly the tied variables are named."""
    largest, best = oracle.best_configurations(logs)
    assert list(found.states) == [f"v{axis}" for axis in axes]
    assert tuple(found.states.values()) in best, seed
    assert found.log_score == pytest.approx(largest, rel=1e-12, abs=1e-12), seed
    assert found.tied == tuple(f"v{axes[i]}" for i in oracle.tied_axes(best)), seed
    assert found.ties == (len(best) > 1)


@pytest.mark.parametrize("block", BLOCKS)
def test_the_most_probable_configuration_is_the_best_of_all_written_out(block):
    for seed, graph, evidence, soft, logs, _ in questions(block):
        assert_best(mpe(graph, evidence, **soft), range(logs.ndim), logs, seed)


@pytest.mark.parametrize("block", BLOCKS)
def test_max_marginals_are_the_best_scores_with_each_state(block):
    for seed, graph, evidence, soft, logs, _ in questions(block):
        found = max_marginals(graph, evidence, **soft)
        assert_best(found.best, range(logs.ndim), logs, seed)
        for axis in range(logs.ndim):
            np.testing.assert_allclose(
                found.log_values(f"v{axis}"),
                oracle.max_marginal(logs, axis),
                rtol=CLOSE,
                atol=CLOSE,
                err_msg=str(seed),
            )


@pytest.mark.parametrize("block", BLOCKS)
def test_marginal_map_is_the_best_of_the_sums_written_out(block):
    for seed, graph, evidence, soft, logs, rng in questions(block):
        axes = sorted(rng.permutation(logs.ndim)[: int(rng.integers(0, logs.ndim + 1))].tolist())
        found = marginal_map(graph, [f"v{axis}" for axis in axes], evidence, **soft)
        assert_best(found, axes, oracle.summed(logs, axes), seed)


@pytest.mark.parametrize("block", BLOCKS)
def test_the_k_best_are_the_first_of_all_in_order(block):
    for seed, graph, evidence, soft, logs, rng in questions(block):
        k = int(rng.integers(1, 40))
        found = k_best(graph, k, evidence, **soft)
        wanted = oracle.scores_in_order(logs)[:k]
        places = [tuple(best.states.values()) for best in found]
        scores = [best.log_score for best in found]
        assert len(set(places)) == len(found) == len(wanted), seed
        np.testing.assert_allclose(scores, wanted, rtol=CLOSE, atol=CLOSE, err_msg=str(seed))
        np.testing.assert_allclose(
            [logs[place] for place in places], wanted, rtol=CLOSE, atol=CLOSE, err_msg=str(seed)
        )
        assert scores == sorted(scores, reverse=True)
        assert found[0].states == mpe(graph, evidence, **soft).states


@pytest.mark.parametrize("block", BLOCKS)
def test_where_nothing_is_possible_every_maximum_says_so(block):
    for _, graph, evidence, soft, logs, _ in questions(block, possible=False):
        for ask in (mpe, max_marginals):
            with pytest.raises(InputError, match=f"{ask.__name__}: the (evidence|model)"):
                ask(graph, evidence, **soft)
        with pytest.raises(InputError, match="k_best: the (evidence|model)"):
            k_best(graph, 3, evidence, **soft)
        with pytest.raises(InputError, match="marginal_map: the (evidence|model)"):
            marginal_map(graph, ["v0"], evidence, **soft)
        assert logs.max() == -np.inf


def test_the_random_graphs_have_ties_and_impossible_evidence():
    found = [question(seed)[3] for seed in range(PER_BLOCK)]
    possible = [logs for logs in found if logs.max() > -np.inf]
    assert len(found) - len(possible) > 5
    assert sum(len(oracle.best_configurations(logs)[1]) > 1 for logs in possible) > 25
