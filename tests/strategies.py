"""Every Hypothesis strategy of the suite."""

import numpy as np
from hypothesis import strategies as st

LETTERS = "abcdefghij"


@st.composite
def dyadic_rows(draw, n_labels, n_rows=None):
    """Rows of probabilities that are multiples of 1/64: sums and products are exact."""
    rows = draw(st.integers(1, 6)) if n_rows is None else n_rows
    cuts = st.lists(st.integers(0, 64), min_size=n_labels - 1, max_size=n_labels - 1)
    table = [np.diff([0, *sorted(draw(cuts)), 64]) for _ in range(rows)]
    return np.array(table) / 64.0


@st.composite
def simplices(draw, n_labels, n_rows=None):
    """Rows of probabilities of any kind, zeros and tiny ones included."""
    rows = draw(st.integers(1, 6)) if n_rows is None else n_rows
    entry = st.one_of(st.just(0.0), st.floats(1e-12, 1.0), st.sampled_from([1e-300, 1e-30]))
    row = st.lists(entry, min_size=n_labels, max_size=n_labels).filter(lambda r: sum(r) > 1e-3)
    table = np.array([draw(row) for _ in range(rows)])
    return table / table.sum(axis=1, keepdims=True)


def whole_losses(n_truths, n_acts, low=-50, high=100):
    """Matrices of whole numbers: with dyadic rows, expected losses are exact."""
    cell = st.integers(low, high)
    row = st.lists(cell, min_size=n_acts, max_size=n_acts)
    return st.lists(row, min_size=n_truths, max_size=n_truths).map(
        lambda cells: np.array(cells, dtype=float)
    )


@st.composite
def problems(draw, low=-50):
    """An exact problem: (probability rows, loss matrix, truths, acts)."""
    n_truths, n_acts = draw(st.integers(2, 5)), draw(st.integers(1, 6))
    rows = draw(dyadic_rows(n_truths))
    matrix = draw(whole_losses(n_truths, n_acts, low=low))
    return rows, matrix, list(LETTERS[:n_truths]), [f"act {i}" for i in range(n_acts)]
