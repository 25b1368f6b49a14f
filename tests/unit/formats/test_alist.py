"""Parity-check matrices in alist files."""

import gzip
import re

import numpy as np
import pytest
from scipy.sparse import csr_array

from credo.exceptions import FileFormatError, InputError, ShapeError
from credo.formats import read_alist
from credo.graphs import parity_graph

READ = read_alist
#: The (7, 4) Hamming code.
HAMMING = np.array([[1, 0, 1, 0, 1, 0, 1], [0, 1, 1, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1, 1]])


def alist(matrix, *, column_zeros=True, row_zeros=True, comments=False):
    """Write a matrix as MacKay does: lists filled up with zeros, or not."""
    columns = [np.flatnonzero(column) + 1 for column in matrix.T]
    rows = [np.flatnonzero(row) + 1 for row in matrix]
    wide = [max(map(len, columns), default=0), max(map(len, rows), default=0)]

    def lines(lists, width, zeros):
        return [" ".join(map(str, [*x, *[0] * (zeros * (width - len(x)))])) for x in lists]

    text = [
        f"{matrix.shape[1]} {matrix.shape[0]}",
        f"{wide[0]} {wide[1]}",
        " ".join(str(len(x)) for x in columns),
        " ".join(str(len(x)) for x in rows),
        *lines(columns, wide[0], column_zeros),
        *lines(rows, wide[1], row_zeros),
    ]
    if comments:
        text = [part for line in text for part in ("# 1 2 3", line)]
    return "\n".join(text) + "\n"


@pytest.mark.parametrize("column_zeros", [True, False])
@pytest.mark.parametrize("row_zeros", [True, False])
@pytest.mark.parametrize("comments", [True, False])
def test_a_matrix_comes_back(column_zeros, row_zeros, comments, tmp_path):
    path = tmp_path / "code.alist"
    rng = np.random.default_rng(0)
    for matrix in (
        HAMMING,
        rng.integers(0, 2, (5, 9)),
        np.zeros((2, 3), int),
        np.eye(4, dtype=int),
    ):
        path.write_text(
            alist(matrix, column_zeros=column_zeros, row_zeros=row_zeros, comments=comments)
        )
        found = read_alist(path)
        assert isinstance(found, csr_array)
        assert found.dtype == np.uint8
        assert found.has_sorted_indices
        np.testing.assert_array_equal(found.toarray(), matrix)


def test_a_packed_file_is_unpacked(tmp_path):
    path = tmp_path / "code.alist.gz"
    path.write_bytes(gzip.compress(alist(HAMMING).encode()))
    np.testing.assert_array_equal(read_alist(path).toarray(), HAMMING)


GOOD = "3 2\n2 2\n1 2 1\n2 2\n1 0\n1 2\n2 0\n1 2\n2 3\n"


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("3 2\n2", "3 x\n2", 1, "Expected a number, got 'x'"),
        ("3 2\n2", "3 2.5\n2", 1, "Expected the number of rows"),
        ("3 2\n2", "-3 2\n2", 1, "Expected the number of columns"),
        ("3 2\n2", "1000000000000 2\n2", 10, "ends where a column weight should stand"),
        ("1 2 1\n", "1 3 1\n", 3, "Got column weight 3, where the header says at most 2"),
        ("1 2 1\n", "1 1 1\n", 3, "columns add up to 3, those of the rows to 4"),
        ("2 3\n", "2 4\n", 9, "Expected an index from 1 to 3, got 4"),
        ("1 0\n", "1 2\n", 5, "Expected 0, to fill the list up, got 2"),
        ("1 0\n", "0 1\n", 5, "Expected an index from 1 to 2, got 0"),
        ("1 2\n2 0\n1", "1 1\n2 0\n1", 5, "The one in row 1, column 2 is listed twice"),
        ("1 0\n", "2 0\n", 5, "The one in row 1, column 1 is in the lists of rows or of columns"),
        ("2 3\n", "2\n", 9, "Expected 8 indices, or 10 with zeros .* got 9"),
        ("2 3\n", "2 3 0\n", 9, "got 11"),
        (GOOD, "", 1, "The file ends where the number of columns should stand"),
        (GOOD, "3 2 2 2 1 2", 1, "ends where a column weight should stand"),
    ],
)
def test_damage_is_named_with_its_place(refused, old, new, line, said):
    error = refused(GOOD.replace(old, new, 1))
    assert re.search(said, error.reason)
    assert error.line == line


def test_no_file_is_no_surprise(tmp_path):
    with pytest.raises(FileFormatError, match="no such file"):
        read_alist(tmp_path / "missing.alist")


@pytest.mark.parametrize("kind", [np.asarray, csr_array, lambda h: h.tolist()])
def test_a_graph_has_a_parity_rule_for_each_check(kind):
    graph = parity_graph(kind(HAMMING), syndrome=[0, 1, 0])
    assert list(graph.names) == list(range(7))
    assert [rule.even for rule in graph.factors] == [True, False, True]
    scopes = [[variable.name for variable in rule.variables] for rule in graph.factors]
    assert scopes == [np.flatnonzero(row).tolist() for row in HAMMING]


def test_a_check_of_nothing_is_left_out():
    graph = parity_graph([[1, 1], [0, 0]])
    assert len(graph.factors) == 1
    with pytest.raises(InputError, match="row 1 of the matrix has no one"):
        parity_graph([[1, 1], [0, 0]], syndrome=[0, 1])


@pytest.mark.parametrize(
    ("checks", "syndrome", "error", "said"),
    [
        ([1, 0], None, ShapeError, "needs a matrix"),
        ([[1, 2]], None, InputError, "Got 2 in row 0, column 1"),
        (csr_array([[1.0, 0.5]]), None, InputError, "Got 0.5 in row 0, column 1"),
        ([[1, 1]], [0, 0], ShapeError, r"must have shape \(1,\)"),
        ([[1, 1]], [2], InputError, "must be zeros and ones"),
    ],
)
def test_what_is_no_code_is_refused(checks, syndrome, error, said):
    with pytest.raises(error, match=said):
        parity_graph(checks, syndrome)
