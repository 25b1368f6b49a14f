"""The kernels that reduce a model to a question: compiled, and as plain Python."""

import importlib

import numpy as np
import pytest
from tests.speeds import plain_kernels


@pytest.fixture(params=["compiled", "plain"])
def kernels(request, monkeypatch):
    if request.param == "plain":
        plain_kernels(monkeypatch)
    return importlib.import_module("credo._kernels.evidence_slices")


def packed(scopes):
    """Scopes as starts and one flat array."""
    flat = np.array([v for scope in scopes for v in scope], np.int32)
    return np.cumsum([0, *map(len, scopes)]), flat


class TestSlices:
    def test_equal_those_of_arrays(self, kernels):
        rng = np.random.default_rng(0)
        for _ in range(80):
            n = int(rng.integers(1, 6))
            sizes = rng.integers(1, 4, size=n)
            scopes = [
                rng.permutation(n)[: rng.integers(0, n + 1)].tolist()
                for _ in range(rng.integers(1, 6))
            ]
            tables = [rng.random(sizes[scope]) for scope in scopes]
            observed = np.where(rng.random(n) < 0.4, rng.integers(0, sizes), -1)
            keep = rng.random(len(scopes)) < 0.8
            free = observed < 0
            new = np.cumsum(free) - 1
            start, scope = packed(scopes)
            out_start, out_scope, cells, values = kernels.sliced_factors(
                sizes,
                start,
                scope,
                scope,
                np.arange(len(scopes)),
                np.cumsum([0, *(table.size for table in tables)]),
                np.concatenate([table.ravel() for table in tables]),
                keep,
                observed,
                new,
            )
            kept = [f for f in range(len(scopes)) if keep[f]]
            assert len(out_start) == len(cells) == len(kept) + 1
            for g, f in enumerate(kept):
                place = tuple(slice(None) if free[v] else observed[v] for v in scopes[f])
                expected = np.ravel(tables[f][place])
                np.testing.assert_array_equal(values[cells[g] : cells[g + 1]], expected)
                left = [new[v] for v in scopes[f] if free[v]]
                assert out_scope[out_start[g] : out_start[g + 1]].tolist() == left

    def test_factors_may_share_a_table(self, kernels):
        table = np.arange(6.0)
        _, _, cells, values = kernels.sliced_factors(
            np.array([2, 3, 2]),
            *packed([[0, 1], [2, 1]]),
            packed([[0, 1], [2, 1]])[1],
            np.array([0, 0]),
            np.array([0, 6]),
            table,
            np.array([True, True]),
            np.array([1, -1, 0]),
            np.array([0, 0, 0]),
        )
        assert cells.tolist() == [0, 3, 6]
        assert values.tolist() == [3.0, 4.0, 5.0, 0.0, 1.0, 2.0]


class TestNeeds:
    def needed(self, kernels, scopes, owner, wanted, n):
        marks = np.zeros(n, np.bool_)
        marks[wanted] = True
        return kernels.needed_factors(n, *packed(scopes), np.array(owner, np.int32), marks).tolist()

    def test_a_chain_of_barren_children_falls_from_its_end(self, kernels):
        scopes, owner = [[0], [0, 1], [1, 2], [2, 3]], [0, 1, 2, 3]
        assert self.needed(kernels, scopes, owner, [1], 4) == [True, True, False, False]
        assert self.needed(kernels, scopes, owner, [3], 4) == [True] * 4
        assert self.needed(kernels, scopes, owner, [], 4) == [False] * 4

    def test_what_another_factor_mentions_stays(self, kernels):
        scopes, owner = [[0], [0, 1], [1]], [0, 1, -1]
        assert self.needed(kernels, scopes, owner, [0], 2) == [True, True, True]

    def test_a_factor_that_is_nobodys_conditional_stays(self, kernels):
        assert self.needed(kernels, [[0, 1]], [-1], [], 2) == [True]
