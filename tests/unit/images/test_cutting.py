"""Minimum cuts find the best of all labellings of two labels."""

import itertools

import numpy as np
import pytest

import credo
from credo.exceptions import InputError
from credo.graphs import GridField, Ising, Potts, TruncatedLinear, TruncatedQuadratic
from credo.images.cutting import best_by_cut

RNG = np.random.default_rng(0)
SMOOTHNESS = {
    "ising": lambda: Ising(0.6),
    "potts": lambda: Potts((0.4, 1.3)),
    "linear": lambda: TruncatedLinear(0.7, limit=0.5),
    "quadratic": lambda: TruncatedQuadratic((0.2, 0.9), limit=3),
    "per edge": lambda: Potts((RNG.random((2, 4)), RNG.random((3, 3)))),
    "no coupling": lambda: Ising(0.0),
    "repulsive": lambda: Ising(-0.8),
    "repulsive per edge": lambda: Potts((-RNG.random((2, 4)), -RNG.random((3, 3)))),
}


def most_energy(field):
    """Try all labellings, adding up potentials pixel by pixel and edge by edge."""
    pixels = list(np.ndindex(*field.shape))
    every = np.array(list(itertools.product((0, 1), repeat=len(pixels))))
    state = {pixel: every[:, i] for i, pixel in enumerate(pixels)}
    unit = field.smoothness.unit_table(2)
    total = sum(field.log_potentials[pixel][state[pixel]] for pixel in pixels)
    for axis, strength in zip(field.axes, field.strengths, strict=True):
        inside = tuple(n - abs(step) for n, step in zip(field.shape, axis, strict=True))
        for place in np.ndindex(*inside):
            one = tuple(np.add(place, np.maximum(np.negative(axis), 0)))
            other = tuple(np.add(one, axis))
            weight = np.broadcast_to(strength, inside)[place]
            total = total + weight * unit[state[one], state[other]]
    return total.max()


@pytest.mark.parametrize("name", SMOOTHNESS)
def test_a_cut_is_the_best_of_all_labellings(name):
    for _ in range(4):
        field = GridField(RNG.normal(size=(3, 4, 2)), SMOOTHNESS[name](), labels=(0, 255))
        assert field.energy(best_by_cut(field)) == pytest.approx(most_energy(field), abs=1e-9)


def test_diagonal_neighbours_and_volumes_are_cut_too():
    strengths = Potts((0.3, 0.8, RNG.random((2, 3)), 0.5))
    around = GridField(RNG.normal(size=(3, 4, 2)), strengths, neighbours=8)
    assert around.energy(best_by_cut(around)) == pytest.approx(most_energy(around), abs=1e-9)
    for coupling in (0.7, -0.7):
        volume = GridField(RNG.normal(size=(2, 2, 3, 2)), Ising(coupling))
        assert volume.energy(best_by_cut(volume)) == pytest.approx(most_energy(volume), abs=1e-9)


@pytest.mark.parametrize("coupling", [0.9, -0.9])
def test_certain_pixels_stay_what_they_are(coupling):
    field = RNG.normal(size=(3, 4))
    field[0, 0], field[0, 1], field[2, 3] = np.inf, -np.inf, np.inf
    certain = GridField.ising(field, coupling)
    best = best_by_cut(certain)
    assert (best[0, 0], best[0, 1], best[2, 3]) == (1, -1, 1)
    finite = GridField.ising(np.clip(field, -50, 50), coupling)
    assert (best == best_by_cut(finite)).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("coupling", [0.4, 1.1, -0.6])
def test_a_cut_agrees_with_the_general_search(kind, coupling):
    field = GridField.ising(RNG.normal(size=(13, 17)).astype(kind), coupling)
    best, general = best_by_cut(field), credo.mpe(field)
    assert general.is_exact
    assert field.energy(best) == pytest.approx(general.log_score, rel=1e-11)
    assert (best.ravel() == [general[name] for name in field.names]).all()


def test_labels_come_back_as_they_are_called():
    field = GridField([[[0.0, 1.0], [2.0, 0.0]]], Potts(0.1), labels=("sky", "sea"))
    assert best_by_cut(field).tolist() == [["sea", "sky"]]


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (GridField(np.zeros((2, 2, 3)), Potts(1.0)), "two labels. This one has 3. Use credo.mpe"),
        (GridField(np.zeros((2, 2, 2)), Potts((1.0, -0.5))), "some repel; the least .* is -0.5"),
        (GridField(np.zeros((2, 2, 2)), Ising(-2.0), neighbours=8), "across corners"),
    ],
    ids=["three labels", "mixed", "diagonals"],
)
def test_a_field_that_no_cut_solves_is_refused(field, text):
    with pytest.raises(InputError, match=text):
        best_by_cut(field)
