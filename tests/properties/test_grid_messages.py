"""Messages on grids: equal to their slow twins, to the general engine, and to themselves."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.oracles import grids as oracle

import credo
from credo.exceptions import InputError
from credo.graphs import GridField, Ising, Potts, TruncatedLinear, TruncatedQuadratic

KINDS = (Ising, Potts, TruncatedLinear, TruncatedQuadratic)


@st.composite
def problems(draw, labels=(2, 2, 3, 4, 6)):
    """A random field, and what its twin is made of."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    neighbours = draw(st.sampled_from([4, 8, 6]))
    dimensions = 3 if neighbours == 6 else 2
    shape = tuple(draw(st.integers(1, 3 if neighbours == 6 else 5)) for _ in range(dimensions))
    k = draw(st.sampled_from(labels))
    kind = draw(st.sampled_from([c for c in KINDS if k == 2 or c is not Ising]))
    limit = draw(st.sampled_from([np.inf, 1.0, 1.5, 2.0, 4.0]))
    signs = (-1, 1) if kind in (Ising, Potts) else (0, 1)
    steps = [*np.eye(dimensions, dtype=int), (1, 1), (1, 1)][: neighbours // 2]
    strength = {
        "number": float(rng.uniform(*signs)),
        "axis": rng.uniform(*signs, len(steps)).tolist(),
        "edge": [rng.uniform(*signs, np.subtract(shape, step)) for step in steps],
    }[draw(st.sampled_from(["number", "axis", "edge"]))]
    logs = rng.normal(0, draw(st.sampled_from([0.3, 2.0])), (*shape, k))
    smooth = kind(strength) if kind in (Ising, Potts) else kind(strength, limit)
    field = GridField(logs, smooth, neighbours=neighbours)
    return field, partial(
        oracle.Grid, logs, kind.__name__, strength, limit=limit, neighbours=neighbours
    )


@given(
    problems(),
    st.integers(0, 4),
    st.sampled_from([1.0, 0.5, 0.2]),
    st.sampled_from(["flooding", "checkerboard", "sweep"]),
    st.booleans(),
)
def test_every_schedule_is_its_slow_twin(problem, sweeps, eta, schedule, maximum):
    field, twin = problem
    if field.n_neighbours == 8 and schedule == "checkerboard":
        schedule = "flooding"
    slow = twin(maximum=maximum, in_logs=maximum and field.n_labels > 2)
    residuals = slow.sweeps(sweeps, eta, schedule)
    heard = []
    found = credo.infer_grid(
        field,
        method="max-product" if maximum else "sum-product",
        sweeps=sweeps,
        momentum=eta,
        schedule=schedule,
        callback=lambda *seen: heard.append(seen),
    )
    np.testing.assert_allclose(found.posterior.probabilities, slow.beliefs(), atol=1e-11)
    assert [number for number, _ in heard] == list(range(1, sweeps + 1))
    twice = field.n_neighbours == 8 and schedule == "sweep"  # diagonals move along both dimensions
    if not twice and (field.n_labels == 2 or not maximum):
        np.testing.assert_allclose(found.residuals, residuals, atol=1e-10)


@given(problems(), st.integers(0, 6), st.integers(2, 5), st.booleans(), st.booleans())
def test_threads_give_the_same_bits(problem, sweeps, threads, maximum, single):
    field, _ = problem
    options = {
        "sweeps": sweeps,
        "method": "max-product" if maximum else "sum-product",
        "dtype": None if single else "float64",  # float32 where the edges are weak enough
        "schedule": "checkerboard" if field.n_neighbours != 8 and sweeps % 2 else "flooding",
    }
    one = credo.infer_grid(field, **options)
    many = credo.infer_grid(field, **options, threads=threads)
    assert np.array_equal(one.posterior.probabilities, many.posterior.probabilities)


@given(problems(labels=(2, 3)), st.sampled_from([1.0, 0.5]))
def test_the_general_engine_gives_the_same_beliefs(problem, eta):
    field, _ = problem
    general = credo.infer(
        field, method="loopy", schedule="flooding", momentum=eta, sweeps=5, tolerance=0.0,
        on_failure="return",
    )  # fmt: skip
    if general.status == "EXACT":  # on a tree it passes messages in two sweeps
        sweeps = sum(field.shape)
        found = credo.infer_grid(field, sweeps=sweeps, momentum=1.0)
    else:
        found = credo.infer_grid(field, sweeps=5, momentum=eta)
    rows = found.posterior.rows().probabilities
    expected = np.array([general[pixel].probabilities for pixel in field.names])
    np.testing.assert_allclose(rows, expected, atol=1e-9)


@given(problems(), st.integers(0, 3))
def test_float32_is_near_float64_or_refused(problem, sweeps):
    field, _ = problem
    exact, two = (credo.infer_grid(field, sweeps=sweeps, dtype=kind) for kind in ("float64", None))
    if two.posterior.probabilities.dtype == np.float64:  # the edges are too strong for float32
        with pytest.raises(InputError, match="too strong for sums in float32"):
            credo.infer_grid(field, sweeps=sweeps, dtype="float32")
        return
    one = credo.infer_grid(field, sweeps=sweeps, dtype="float32")
    assert one.posterior.probabilities.dtype == two.posterior.probabilities.dtype == np.float32
    single, double = one.posterior.probabilities, exact.posterior.probabilities
    np.testing.assert_allclose(single, double, atol=3e-5)


@pytest.mark.parametrize("labels", [2, 3])
def test_the_first_residual_is_the_same_whatever_the_momentum(labels):
    """It is how far messages are from those that they ask for, before any are mixed."""
    field = GridField(np.random.default_rng(4).normal(size=(4, 5, labels)), Potts(0.8))
    found = [
        credo.infer_grid(field, sweeps=1, momentum=share, tolerance=0.0).residuals[0]
        for share in (1.0, 0.5, 0.1)
    ]
    assert found[0] > 0.1
    np.testing.assert_allclose(found, found[0], rtol=1e-10)


@pytest.mark.parametrize("labels", [2, 3])
def test_on_a_checkerboard_even_pixels_send_first(labels):
    """After a sweep, odd pixels have heard of their neighbours, and even ones of theirs too."""
    logs = np.random.default_rng(5).normal(size=(1, 6, labels))
    heard = np.zeros((6, 6), dtype=bool)

    def beliefs(logs):
        field = GridField(logs, Potts(0.8))
        options = {"schedule": "checkerboard", "sweeps": 1, "momentum": 1.0}
        return credo.infer_grid(field, **options).posterior.probabilities[0]

    before = beliefs(logs)
    for sender in range(6):
        other = logs.copy()
        other[0, sender, 0] += 1.0
        heard[:, sender] = np.abs(beliefs(other) - before).max(axis=1) > 1e-9
    away = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    reach = np.where(np.arange(6) % 2, 1, 2)[:, None]
    np.testing.assert_array_equal(heard, away <= reach)
