"""Parity-check matrices in David MacKay's alist format."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from credo.formats._text import NumberFile, TextFile
from credo.graphs.wiring import ranges, starts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Int64: TypeAlias = npt.NDArray[np.int64]
#: From a hash to the end of the line; put out, so that places in the file stay what they are.
_COMMENT = re.compile(r"#[^\r\n]*")
#: The first four numbers: columns, rows, and the most ones of either.
_HEADER = 4


def read_alist(path: str | os.PathLike[str]) -> csr_array:
    r"""Read the parity-check matrix of a binary code from an alist file.

    Parameters
    ----------
    path : str or path
        The file; gzipped or not. Lists may be padded with zeros, or not; lines that begin with a
        hash are passed over.

    Returns
    -------
    scipy.sparse.csr_array of shape (n_checks, n_bits)
        Ones, as uint8, where a check takes a bit; each row lists its bits in order.

    Raises
    ------
    FileFormatError
        If the file is damaged: it ends too soon, a number is out of range, or the lists of rows
        and of columns tell different matrices. The text names the file, the line and the column.

    See Also
    --------
    credo.graphs.parity_graph : Make a factor graph of it.

    Notes
    -----
    Time and memory are linear in the size of the file; a header that promises more than the file
    holds is refused first.

    References
    ----------
    .. [1] D. J. C. MacKay, "Encyclopedia of sparse graph codes", section on alist format,
       inference.org.uk/mackay/codes/alist.html.

    Examples
    --------
    >>> from credo.formats.alist import read_alist
    >>> file = getfixture("tmp_path") / "small.alist"
    >>> _ = file.write_text("3 2\n2 2\n1 2 1\n2 2\n1 0\n1 2\n2 0\n1 2\n2 3\n")
    >>> read_alist(file).toarray()
    array([[1, 1, 0],
           [0, 1, 1]], dtype=uint8)
    """
    from scipy.sparse import csr_array  # noqa: PLC0415 - takes a tenth of a second

    lists = _Lists(NumberFile.of(TextFile.read(path, _COMMENT)))
    bits = lists.indices
    start = starts(lists.row_weights)
    ones = np.ones(len(bits), np.uint8)
    return csr_array((ones, bits, start), shape=(lists.n_rows, lists.n_columns))


class _Lists:
    """The numbers of an alist file, checked; ``indices`` are the columns of the ones, by row."""

    def __init__(self, found: NumberFile) -> None:
        self._found = found
        self.n_columns = found.whole(0, "the number of columns")
        self.n_rows = found.whole(1, "the number of rows")
        first = _HEADER + self.n_columns
        self._columns = self._weights(_HEADER, self.n_columns, 2, "column")
        self.row_weights = self._weights(first, self.n_rows, 3, "row")
        if self._columns.sum() != self.row_weights.sum():
            reason = (
                f"The weights of the columns add up to {self._columns.sum()}, those of the rows to "
                f"{self.row_weights.sum()}. Both count the ones of the matrix; correct one of them."
            )
            found.fail(_HEADER, reason)
        first += self.n_rows
        widths = self._widths(first)
        rows_of, end = self._part(first, self._columns, widths[0], self.n_rows)
        columns_of, _ = self._part(end, self.row_weights, widths[1], self.n_columns)
        self.indices = self._check_agreement(rows_of, columns_of, first)

    def _weights(self, start: int, count: int, limit: int, what: str) -> Int64:
        """Read how many ones each column or row has; number ``limit`` says how many at most."""
        most = self._found.whole(limit, f"the largest {what} weight")
        weights = np.array(self._found.wholes(start, count, f"a {what} weight"), np.int64)
        if (weights > most).any():
            worst = int(np.argmax(weights > most))
            reason = f"Got {what} weight {weights[worst]}, where the header says at most {most}."
            self._found.fail(start + worst, reason)
        return weights

    def _widths(self, first: int) -> tuple[Int64, Int64]:
        """Tell from the length of the file which lists are filled up with zeros; give lengths."""
        left = len(self._found) - first
        most = self._found.whole(2, "a weight"), self._found.whole(3, "a weight")
        full = np.full(self.n_columns, most[0]), np.full(self.n_rows, most[1])
        bare = self._columns, self.row_weights
        ways = (full, bare, (full[0], bare[1]), (bare[0], full[1]))
        fitting = [way for way in ways if way[0].sum() + way[1].sum() == left]
        if not fitting:
            reason = (
                f"Expected {2 * bare[0].sum()} indices, or {full[0].sum() + full[1].sum()} with "
                f"zeros that fill lists up, got {left}. The file is cut off, or weights are wrong."
            )
            self._found.fail(len(self._found) - 1, reason)
        return fitting[0]

    def _part(self, start: int, weights: Int64, widths: Int64, limit: int) -> tuple[Int64, int]:
        """Read lists of indices, counted from one; give them from zero, and where they end."""
        begins = starts(widths)
        values = np.array(self._found.wholes(start, int(begins[-1]), "an index"), np.int64)
        is_index = np.zeros(len(values), np.bool_)
        is_index[ranges(begins[:-1], weights)] = True
        wrong = np.where(is_index, (values < 1) | (values > limit), values != 0)
        if wrong.any():
            worst = int(np.argmax(wrong))
            wanted = f"an index from 1 to {limit}" if is_index[worst] else "0, to fill the list up"
            self._found.fail(start + worst, f"Expected {wanted}, got {values[worst]}.")
        return values[is_index] - 1, start + len(values)

    def _check_agreement(self, rows_of: Int64, columns_of: Int64, first: int) -> Int64:
        """Check that both lists tell the same ones, each once; give the columns, row by row."""
        by_column = np.repeat(np.arange(self.n_columns), self._columns)
        by_row = np.repeat(np.arange(self.n_rows), self.row_weights)
        one = np.sort(rows_of * self.n_columns + by_column)
        other = np.sort(by_row * self.n_columns + columns_of)
        for keys, said in (
            (one[1:][one[1:] == one[:-1]], "is listed twice"),
            (np.setxor1d(one, other), "is in the lists of rows or of columns only"),
        ):
            if len(keys):
                row, column = divmod(int(keys[0]), self.n_columns)
                self._found.fail(first, f"The one in row {row + 1}, column {column + 1} {said}.")
        return one % max(self.n_columns, 1)
