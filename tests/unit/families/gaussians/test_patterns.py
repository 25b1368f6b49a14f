import numpy as np
import pytest
from credo.families.gaussians import patterns
from credo.families.gaussians.patterns import (
    MissingRows,
    by_pattern,
    gathered,
    keys_of,
    rows_with_missing,
)


def holes(n, size, seed=0, share=0.3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, size))
    # few patterns, so that rows share them
    masks = rng.random((5, size)) < share
    x[masks[rng.integers(0, 5, n)]] = np.nan
    return x


@pytest.mark.parametrize("size", [1, 7, 8, 64, 65, 130, 200])
def test_rows_have_equal_keys_if_and_only_if_the_same_entries_are_missing(size):
    x = holes(60, size)
    x[0] = np.nan
    x[1] = 1.0
    x[2] = 1.0
    x[2, -1] = np.nan
    keys = keys_of(x)
    assert keys.dtype == np.uint64
    mask = np.isnan(x)
    for i in range(60):
        same = (keys == keys[i]).all(axis=1)
        np.testing.assert_array_equal(same, (mask == mask[i]).all(axis=1))


@pytest.mark.parametrize("size", [3, 64, 65, 200])
def test_sorting_brings_equal_patterns_together_and_keeps_their_order(size):
    x = holes(80, size)
    order = by_pattern(keys_of(x))
    assert sorted(order) == list(range(80))
    seen = {}
    for place, i in enumerate(order):
        seen.setdefault(np.isnan(x[i]).tobytes(), []).append((place, i))
    for runs in seen.values():
        places, rows = zip(*runs, strict=True)
        assert list(places) == list(range(places[0], places[0] + len(places)))
        assert list(rows) == sorted(rows)


@pytest.mark.parametrize("size", [3, 70])
def test_patterns_are_found_among_sorted_rows(size):
    x = holes(50, size)
    keys = keys_of(x)
    order = by_pattern(keys)
    rows = MissingRows.of(x[order], keys[order])
    assert rows.starts[0] == 0
    assert rows.starts[-1] == 50
    assert len(rows.starts) == len(rows.missing) + 1
    for p, pattern in enumerate(rows.missing):
        part = rows.mask[rows.starts[p] : rows.starts[p + 1]]
        assert len(part)
        assert (part == pattern).all()
    np.testing.assert_array_equal(rows.n_seen(), (~rows.mask).sum(axis=1))
    assert len({pattern.tobytes() for pattern in rows.missing}) == len(rows.missing)


def test_gaps_are_zero_where_nothing_was_observed():
    x = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, 5.0]])
    rows = MissingRows.of(x, keys_of(x))
    np.testing.assert_array_equal(
        rows.gaps(np.array([0.5, 9.0, 1.0])), [[0.5, 0.0, 2.0], [0.0, 0.0, 4.0]]
    )


def test_columns_can_be_left_out():
    x = holes(30, 4)
    keys = keys_of(x)
    order = by_pattern(keys)
    rows = MissingRows.of(x[order], keys[order])
    active = np.array([True, False, True, True])
    fewer = rows.only(active)
    np.testing.assert_array_equal(fewer.x, rows.x[:, active])
    np.testing.assert_array_equal(fewer.missing, rows.missing[:, active])
    assert fewer.x.flags.c_contiguous
    assert fewer.missing.flags.c_contiguous
    assert rows.only(np.ones(4, dtype=bool)) is rows


@pytest.mark.parametrize("most", [1, 7, 100])
def test_gathering_visits_every_row_once(most):
    x = holes(40, 5)
    keys = keys_of(x)
    order = by_pattern(keys)
    visited = []
    for block, rows in gathered(x.astype(np.float32), order, keys[order], most):
        assert len(rows.x) <= most
        assert rows.x.dtype == np.float64
        np.testing.assert_allclose(rows.x, x[order[block]], rtol=1e-6)
        visited.extend(order[block])
    assert sorted(visited) == list(range(40))


@pytest.mark.parametrize("size", [1000, 6])
def test_rows_that_hold_nan_are_found(size, monkeypatch):
    monkeypatch.setattr(patterns, "block_rows", lambda _: size)
    x = np.ones((20, 3))
    assert rows_with_missing(x).tolist() == []
    x[[0, 6, 19], [0, 1, 2]] = np.nan
    assert rows_with_missing(x).tolist() == [0, 6, 19]
    assert rows_with_missing(x[:0]).tolist() == []
    assert rows_with_missing(np.ones((4, 2), dtype=bool)).tolist() == []
