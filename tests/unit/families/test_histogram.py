"""Histograms: given by edges, and cut into cells of equal frequency."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate
from tests.oracles.histograms import equal_cuts, histogram_log_density

from credo.exceptions import InputError, ShapeError
from credo.families import Histogram


def test_cells_of_equal_frequency_by_hand():
    """Mid-ranks 2, 4.5, 5.5, 6.5 and 7.5 of 8: the cells are 0, 1, 2, 2, 2 of three, 0.75 each."""
    fitted = Histogram.fit([0, 0, 0, 0, 1, 2, 3, 10], cells=3)
    assert fitted.edges.tolist() == [0, 0.5, 1.5, 10]
    assert fitted.probabilities.tolist() == [0.5, 0.125, 0.375]
    assert fitted.log_density(0.3) == pytest.approx(np.log(1.0))
    assert fitted.log_density(10) == pytest.approx(np.log(0.375 / 8.5))
    assert np.isneginf(fitted.log_density([-0.1, 10.1])).all()


@pytest.mark.parametrize("cells", [1, 2, 5, 10, 50])
def test_cells_are_those_of_a_loop_over_mid_ranks(cells):
    rng = np.random.default_rng(cells)
    x = np.round(rng.exponential(2.0, 200), 1)
    fitted = Histogram.fit(x, cells=cells)
    real = fitted.edges[np.append(np.diff(fitted.edges) > 0, True)]
    assert real[1:-1] == pytest.approx(equal_cuts(x.tolist(), cells))
    counts = np.histogram(x, real)[0]  # no value is on a cut
    assert fitted.probabilities[fitted.probabilities > 0] == pytest.approx(counts / 200)
    assert fitted.n_parameters == len(real) - 2


def test_columns_with_fewer_cells_have_empty_ones_in_front():
    x = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [5.0, 4.0]])
    both = Histogram.fit(x, cells=4)
    assert both.edges.tolist() == [[0, 0, 0, 2.5, 5], [1, 1.5, 2.5, 3.5, 4]]
    assert both.probabilities.tolist() == [[0, 0, 0.75, 0.25], [0.25] * 4]
    for column in range(2):
        alone = Histogram.fit(x[:, column], cells=4)
        inner = [0.0, 1.0, 2.4, 2.5, 5.0, 5.1, -0.1]
        values = np.full((7, 2), 2.0)
        values[:, column] = inner
        assert both.log_density(values)[:, column].tolist() == alone.log_density(inner).tolist()


@pytest.mark.parametrize("edges", [[-2.0, 3.0], [-2.0, 0.5, 3.0], [0.0, 0.0, 1.0, 4.0]])
def test_a_density_with_tails_is_positive_everywhere_and_integrates_to_one(edges):
    shares = np.where(np.diff(edges) > 0, 1.0, 0.0)
    shares /= shares.sum()
    family = Histogram(edges, shares, tails=True)
    mean = family.mean
    cuts = [edges[0] - 100, *edges, mean, edges[-1] + 100]
    parts = [
        integrate.quad(lambda x: np.exp(family.log_density(x)), a, b)[0]
        for a, b in pairwise(sorted(cuts))
    ]
    assert sum(parts) == pytest.approx(1.0, abs=1e-8)
    assert np.isfinite(family.log_density([-50.0, 0.0, 80.0])).all()
    draws = family.sample(20_000, 3)
    assert abs(draws.mean() - mean) < 5 * np.sqrt(family.variance / 20_000)


def test_a_single_cell_with_tails_is_a_laplace_distribution():
    family = Histogram([1.0, 4.0], [1.0], tails=True)
    x = np.array([-3.0, 1.0, 2.5, 3.0, 9.0])
    expected = [histogram_log_density(v, [1.0, 4.0], [1.0], tails=True) for v in x]
    assert family.log_density(x) == pytest.approx(expected)
    assert (family.mean, family.variance) == (2.5, 4.5)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (([0, 1, 2], [0.5, 0.5, 0.0]), ShapeError, "one edge more than probabilities"),
        (([0, 2, 1], [0.5, 0.5]), InputError, "must ascend"),
        (([0, 0, 1], [0.5, 0.5]), InputError, "must ascend"),
        (([0, 1, 1], [1.0, 0.0]), InputError, "and not the last"),
        (([0, 1, 2], [0.5, 0.6]), InputError, "probabilities"),
        (([0, 1, 2], [0.5, 0.5], 2), InputError, "tails of Histogram must be between 0 and 1"),
        (([0, 1, 1e200], [0.5, 0.5]), InputError, "edges of Histogram must be between"),
    ],
)
def test_what_is_no_histogram_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        Histogram(*given)


def test_the_number_of_cells_is_checked():
    with pytest.raises(InputError, match="cells of Histogram.estimate must be a whole number"):
        Histogram.fit([1.0, 2.0], cells=0)
