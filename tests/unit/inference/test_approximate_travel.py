"""Approximate answers can be sent to another process."""

import pickle  # noqa: TID251 - to send an answer to another process

import numpy as np
import pytest

import credo

METHODS = (
    *("loopy", "tree_reweighted", "mean_field", "structured_mean_field"),
    *("generalised", "double_loop", "gibbs"),
)


def ring(n=5):
    pairs = [[i, (i + 1) % n] for i in range(n)]
    potentials = np.random.default_rng(0).uniform(0.5, 1.5, (n, 2))
    return credo.MarkovNetwork.from_arrays(potentials, pairs, [[1.5, 1.0], [1.0, 1.5]])


@pytest.mark.parametrize("method", METHODS)
def test_an_answer_that_travelled_reads_the_same(method):
    post = credo.infer(ring(), {0: 1}, method=method)
    there = pickle.loads(pickle.dumps(post))  # noqa: S301 - our own
    assert there.to_dict() == post.to_dict()
    assert (there.status, there.log_evidence) == (post.status, post.log_evidence)
    cell = {1: 0, 2: 1}
    assert there.joint(cell)[cell] == post.joint(cell)[cell]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_messages_travel_too(dtype):
    post = credo.infer(ring(), method="loopy", schedule="flooding", dtype=dtype)
    there = pickle.loads(pickle.dumps(post))  # noqa: S301 - our own
    assert np.array_equal(there.message(0, 1).values, post.message(0, 1).values)
    again = credo.infer(there.question.model, method="loopy", start=there)
    assert again.sweeps <= 3
