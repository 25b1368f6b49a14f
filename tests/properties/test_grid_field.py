"""Fields on grids against loops over all their maps."""

import math

import numpy as np
from hypothesis import given, strategies as st
from tests.oracles import grids as oracle, joint as graph_oracle

from credo.graphs import GridField, Ising, Potts, TruncatedLinear, TruncatedQuadratic

SHAPES = [(1, 1), (1, 5), (4, 1), (2, 2), (2, 3), (3, 2), (1, 2, 2), (2, 1, 3), (2, 2, 2)]
KINDS = {
    "Ising": lambda strength, _: Ising(strength),
    "Potts": lambda strength, _: Potts(strength),
    "TruncatedLinear": TruncatedLinear,
    "TruncatedQuadratic": TruncatedQuadratic,
}
numbers = st.floats(-3, 3)


@st.composite
def strengths(draw, shape, neighbours, least):
    """One number, or per axis a number or an array with an entry per edge."""
    values = st.floats(least, 2)
    if draw(st.booleans()):
        return draw(values)
    found = []
    for axis, along in enumerate(oracle.edges(shape, neighbours)):
        size = list(shape)
        if axis < len(shape):
            size[axis] -= 1
        else:
            size = [length - 1 for length in shape]
        count = math.prod(size)
        assert count == len(along)
        many = st.lists(values, min_size=count, max_size=count).map(np.array)
        found.append(draw(values | many.map(lambda flat, size=size: flat.reshape(size))))
    return found


@st.composite
def fields(draw):
    """A field, and the arguments with which the oracle makes the same."""
    shape = draw(st.sampled_from(SHAPES))
    kind = draw(st.sampled_from(sorted(KINDS)))
    k = 2 if kind == "Ising" or math.prod(shape) > 6 else draw(st.integers(1, 3))
    neighbours = draw(st.sampled_from([4, 8])) if len(shape) == 2 else 6
    least = 0 if kind.startswith("Truncated") else -2
    strength = draw(strengths(shape, neighbours, least))
    limit = draw(st.sampled_from([math.inf, 0.5, 1.0, 3.0]))
    size = math.prod(shape) * k
    flat = draw(st.lists(numbers, min_size=size, max_size=size))
    logs = np.reshape(np.array(flat), (*shape, k))
    field = GridField(logs, KINDS[kind](strength, limit), neighbours=neighbours)
    return field, (logs, kind, strength), {"limit": limit, "neighbours": neighbours}


@given(fields())
def test_the_wiring_is_the_product_of_all_potentials(case):
    field, given_as, options = case
    joint = oracle.joint(*given_as, **options)
    np.testing.assert_allclose(graph_oracle.of_wiring(field.compile()), joint, rtol=1e-11)


@given(fields(), st.randoms(use_true_random=False))
def test_the_energy_is_the_sum_of_all_log_potentials(case, random):
    field, given_as, options = case
    places = [random.randrange(field.n_labels) for _ in range(len(field))]
    positions = np.reshape(places, field.shape)
    expected = oracle.energy(positions, *given_as, **options)
    np.testing.assert_allclose(field.energy(positions), expected, rtol=1e-11, atol=1e-11)


@given(fields())
def test_the_strength_planes_hold_every_edge_once(case):
    field, (_, _, strength), options = case
    for axis, along in enumerate(oracle.edges(field.shape, options["neighbours"])):
        expected = np.zeros(field.shape)
        for entry, lower, upper in along:
            expected[lower] = oracle.strength_at(strength, axis, entry)
            assert tuple(np.add(lower, field.axes[axis])) == upper
        np.testing.assert_array_equal(field.strength_plane(axis), expected)


@given(st.integers(1, 40), st.integers(1, 40), st.floats(0.001, 0.999), st.floats(-2, 2))
def test_flips_have_the_energy_of_the_lecture(height, width, epsilon, coupling):
    rng = np.random.default_rng(height * 41 + width)
    x, y = rng.choice([-1, 1], size=(2, height, width))
    field = GridField.from_flips(y, epsilon, coupling, labels=(-1, 1))
    expected = oracle.lecture_energy(x, oracle.half_log_odds(epsilon) * y, coupling)
    np.testing.assert_allclose(field.energy(x), expected, rtol=1e-11, atol=1e-9)
