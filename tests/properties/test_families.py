"""Laws of learning from summaries, for all families alike."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.oracles.families import CASES, EVERY

ALL = pytest.mark.parametrize("name", EVERY)
#: Those whose summaries take rows with missing entries.
WITH_MISSING = pytest.mark.parametrize("name", CASES)
#: What rounding may leave of a spread, in units of the values.
ROUNDING = 1e-14
#: Numbers that events are made of.
ENTRIES = {
    "Gaussian": st.one_of(
        st.floats(-1e6, 1e6), st.integers(0, 3).map(float), st.floats(0, 1).map(lambda u: 1e8 + u)
    ),
    "Bernoulli": st.integers(0, 1).map(float),
    "Categorical": st.integers(0, 4).map(float),
    "Multinomial": st.integers(0, 5).map(float),
    "Poisson": st.integers(0, 40).map(float),
    "Exponential": st.one_of(st.just(0.0), st.floats(1e-8, 1e6)),
    "Gamma": st.one_of(st.floats(1e-8, 1e6), st.floats(0, 1).map(lambda u: 1 + 1e-6 * u)),
    "Beta": st.one_of(st.floats(1e-8, 0.999), st.floats(0, 1).map(lambda u: 0.3 + 1e-6 * u)),
}
ENTRIES["DiagonalGaussian"] = ENTRIES["Laplace"] = ENTRIES["Gaussian"]
ENTRIES["Histogram"] = ENTRIES["Gaussian"]
ENTRIES["MultivariateGaussian"] = ENTRIES["Gaussian"]
ENTRIES["Dirichlet"] = st.floats(1e-6, 1.0)
#: Length of an event.
LENGTHS = {"DiagonalGaussian": 2, "MultivariateGaussian": 2, "Multinomial": 3, "Dirichlet": 3}


@st.composite
def tables(draw, name, least=1, most=12):
    """Rows of two columns with weights, some entries missing if a summary takes that."""
    n = draw(st.integers(least, most))
    shape = (n, 2, LENGTHS[name]) if name in LENGTHS else (n, 2)
    size = int(np.prod(shape))
    flat = draw(st.lists(ENTRIES[name], min_size=size, max_size=size))
    rows = np.array(flat).reshape(shape)
    if name == "Dirichlet":
        rows /= rows.sum(axis=-1, keepdims=True)
    holes = np.array(draw(st.lists(st.integers(0, 4), min_size=2 * n, max_size=2 * n))) == 0
    if name in CASES:
        rows[holes.reshape(n, 2)] = np.nan
    weight = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 0.1]), min_size=n, max_size=n))
    return rows, np.array(weight)


def assert_same(first, second, digits=1e-9):
    """Compare summaries field by field, spreads up to the rounding of the values they come from."""
    assert type(first) is type(second)
    for field in fields(first):
        if field.name in ("family", "rest"):
            continue
        a, b = getattr(first, field.name), getattr(second, field.name)
        assert a.shape == b.shape
        if a.ndim == first.weight.ndim + 2:
            _assert_same_matrices(first, a, b, digits)
        else:
            np.testing.assert_allclose(a, b, rtol=digits, atol=_blur(first, field.name))


def _assert_same_matrices(summary, first, second, digits):
    """Compare scatter matrices; what an entry may be off goes with the spread of its columns."""
    blur = summary.weight[..., None] * (ROUNDING * np.abs(summary.mean)) ** 2
    blur += 1e-300  # where squares underflow
    allowed = np.sqrt(digits * np.diagonal(first, axis1=-2, axis2=-1) + blur)
    assert (np.abs(first - second) <= allowed[..., :, None] * allowed[..., None, :]).all()
    np.testing.assert_array_equal(first, first.swapaxes(-1, -2))


def _blur(summary, name):
    """How much of a field is rounding, at most."""
    if name == "scatter":
        return (summary.weight * (ROUNDING * np.abs(summary.mean)) ** 2).max(initial=0.0)
    if name == "divergence":
        return summary.weight.max(initial=0.0) * ROUNDING**2
    return 1e-300


def _pad(first, second):
    """Give two summaries of codes as many categories."""
    if hasattr(first, "counts"):
        size = max(first.counts.shape[-1], second.counts.shape[-1])
        return [type(s)(s.family, s.weight, s.padded(size)) for s in (first, second)]
    if hasattr(first, "points"):
        size = max(first.points.shape[-1], second.points.shape[-1])
        return [_with_points(s, size) for s in (first, second)]
    return [first, second]


def _with_points(summary, size):
    """Give a sketch so many points, the last ones empty."""
    spare = [(0, 0)] * summary.weight.ndim + [(0, size - summary.points.shape[-1])]
    points = np.pad(summary.points, spare, constant_values=np.nan)
    weights = np.pad(summary.point_weights, spare)
    return type(summary)(summary.family, summary.weight, points, weights, summary.rank_error)


@ALL
@given(data=st.data())
def test_merging_summaries_equals_summarising_the_union(name, data):
    family = EVERY[name].family
    rows, weight = data.draw(tables(name))
    owner = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))))
    order = data.draw(st.permutations(range(4)))
    parts = [family.summarise(rows[owner == k], weight[owner == k]) for k in order]
    left = parts[0].merge(parts[1]).merge(parts[2]).merge(parts[3])
    pairs = parts[3].merge(parts[2]).merge(parts[1].merge(parts[0]))
    whole = family.summarise(rows, weight)
    assert_same(*_pad(left, whole))
    assert_same(*_pad(pairs, whole))
    assert_same(left, pairs)


@ALL
@given(data=st.data())
def test_a_weight_of_two_is_the_row_twice_and_of_zero_no_row(name, data):
    family = EVERY[name].family
    rows, _ = data.draw(tables(name))
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))))
    assert_same(family.summarise(rows, times), family.summarise(np.repeat(rows, times, axis=0)))


@WITH_MISSING
@given(data=st.data())
def test_a_missing_entry_is_a_row_less_in_that_column(name, data):
    family = EVERY[name].family
    rows, weight = data.draw(tables(name))
    whole = family.summarise(rows, weight)
    for column in range(2):
        hidden = np.isnan(rows[:, column])
        seen = ~hidden.reshape(len(rows), -1).any(axis=1)
        alone = family.summarise(rows[seen, column], weight[seen])
        assert_same(*_pad(_column(whole, column), alone))


def _column(summary, column):
    """Take one column out of a summary."""
    parts = [getattr(summary, field.name) for field in fields(summary)][1:]
    return type(summary)(summary.family, *(part[column].copy() for part in parts))


@ALL
@given(data=st.data())
def test_groups_are_separate_summaries(name, data):
    family = EVERY[name].family
    rows, weight = data.draw(tables(name))
    groups = np.array(
        data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    )
    together = family.summarise(rows, weight, groups, n_groups=4)
    assert together.weight.shape[0] == 4
    for g in range(4):
        alone = family.summarise(rows[groups == g], weight[groups == g])
        assert_same(*_pad(_column(together, g), alone))
